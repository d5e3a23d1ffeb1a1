//! Sorted runs, in temporary space or in memory. A run has the items that a buffer held when it was sorted, or the items of several runs.
//!
//! Modules, the lowest layer first:
//!
//! * `run`: one run; `feed`: the bytes of a run, block by block
//! * `key_reader`, `item_reader`: the items of a run between two cuts, one by one
//! * `merged_items`, `merged_keys`: merges of several runs, of full items or of keys; `in_order`: the choice between the two

pub(in crate::sort) mod feed;
pub(in crate::sort) mod in_order;
pub(in crate::sort) mod item_reader;
pub(in crate::sort) mod key_reader;
pub(in crate::sort) mod merged_items;
pub(in crate::sort) mod merged_keys;
pub(in crate::sort) mod run;
