//! Writes that fail: full disks, limits on file sizes and system calls that fail, for new databases, also of dumps, existing ones, copies, merges, recoveries and
//! temporary space.

mod copy;
mod dump;
mod existing;
mod merge;
mod new;
mod recover;
mod spill;
