//! The items to sort, in memory: their bytes, their keys and their order.
//!
//! Modules, the lowest layer first:
//!
//! * `halves`: keys as u64 numbers; `first_bytes`: the first bytes of a key as one number; `order`: the order of items, and their stored
//!   fields
//! * `item`: items as bytes; `radix`: sorting by prefixes of keys; `keys`: key-only items, which are stored as their keys
//! * `sample`: the sample of items that determines the cuts between ranges

pub(in crate::sort) mod first_bytes;
pub(in crate::sort) mod halves;
pub(in crate::sort) mod item;
pub(in crate::sort) mod keys;
pub(in crate::sort) mod order;
pub(in crate::sort) mod radix;
pub(in crate::sort) mod sample;
