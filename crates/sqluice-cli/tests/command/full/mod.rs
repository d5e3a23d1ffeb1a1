//! Writes that fail: full disks, limits on file sizes and system calls that fail, for new databases, existing ones, copies, merges and
//! temporary space.

mod copy;
mod existing;
mod merge;
mod new;
mod spill;
