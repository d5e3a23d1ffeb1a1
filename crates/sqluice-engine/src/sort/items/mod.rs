//! The items to sort, in memory: their bytes, their keys and their order.
//!
//! Modules, from the bottom up:
//!
//! * `halves`: keys as machine words; `order`: the order of items, and their stored fields
//! * `item`: items as bytes; `radix`: sorting by prefixes of keys; `keys`: items that are their keys
//! * `sample`: the cuts of items into ranges

pub(in crate::sort) mod halves;
pub(in crate::sort) mod item;
pub(in crate::sort) mod keys;
pub(in crate::sort) mod order;
pub(in crate::sort) mod radix;
pub(in crate::sort) mod sample;
