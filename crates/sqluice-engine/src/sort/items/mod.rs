//! What is sorted: items as bytes and as keys, in memory.
//!
//! Modules, from the bottom up:
//!
//! * `halves`: keys as machine words; `order`: how items are ordered, and what of them is kept
//! * `item`: items as bytes; `radix`: sorting by prefixes of keys; `keys`: items that are their keys
//! * `sample`: where to cut items into ranges

pub(in crate::sort) mod halves;
pub(in crate::sort) mod item;
pub(in crate::sort) mod keys;
pub(in crate::sort) mod order;
pub(in crate::sort) mod radix;
pub(in crate::sort) mod sample;
