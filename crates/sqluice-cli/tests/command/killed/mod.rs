//! SIGKILL while the command writes: a new database, also of a dump or an archive, an existing one, a copy, a merge, a recovery, files of an export, and temporary space.

mod archive;
mod copy;
mod dump;
#[cfg(target_os = "linux")] // strace, which kills the command at a call, is a program of Linux.
mod existing;
mod export;
mod full_text;
#[cfg(target_os = "linux")]
// Containers, in which a run sees no other process, are made by a program of Linux.
mod in_place;
mod merge;
mod new;
mod recover;
mod spill;
