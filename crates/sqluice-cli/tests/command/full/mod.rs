//! Writes that fail, by full disks, limits on file sizes, and system calls: for new and existing databases, dumps, copies, merges,
//! recoveries and temporary files.

mod copy;
mod dump;
mod existing;
mod merge;
mod new;
mod recover;
mod spill;
