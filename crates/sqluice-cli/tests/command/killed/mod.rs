//! SIGKILL while the command writes: a new database, an existing one, a copy, a merge, files of an export, and temporary space.

mod copy;
#[cfg(target_os = "linux")] // strace, which kills the command at a call, is a program of Linux.
mod existing;
mod export;
mod merge;
mod new;
mod spill;
