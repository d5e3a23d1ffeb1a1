//! SIGKILL while the command writes: a new database, also of a dump, an existing one, a copy, a merge, files of an export, and temporary space.

mod copy;
mod dump;
#[cfg(target_os = "linux")] // strace, which kills the command at a call, is a program of Linux.
mod existing;
mod export;
#[cfg(target_os = "linux")]
// Containers, in which a run sees no other process, are made by a program of Linux.
mod in_place;
mod merge;
mod new;
mod spill;
