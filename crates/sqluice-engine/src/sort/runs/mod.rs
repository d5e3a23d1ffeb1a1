//! Sorted runs, in temporary space or in memory.
//!
//! Modules, from the bottom up:
//!
//! * `run`: one run; `feed`: the bytes of a run, piece by piece
//! * `key_reader`, `item_reader`: a part of a run, item by item
//! * `merged_items`, `merged_keys`: several runs as one sequence in order; `in_order`: the choice between the two

pub(in crate::sort) mod feed;
pub(in crate::sort) mod in_order;
pub(in crate::sort) mod item_reader;
pub(in crate::sort) mod key_reader;
pub(in crate::sort) mod merged_items;
pub(in crate::sort) mod merged_keys;
pub(in crate::sort) mod run;
