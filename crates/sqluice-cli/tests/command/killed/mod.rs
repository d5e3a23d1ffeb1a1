//! SIGKILL while the command writes: new, existing and replaced databases, full-text indexes, dumps, archives, copies, merges, recoveries,
//! exported files and temporary files.

mod archive;
mod copy;
mod dump;
#[cfg(target_os = "linux")] // strace, which kills the command at a call, is a program of Linux.
mod existing;
mod export;
mod full_text;
#[cfg(target_os = "linux")]
// The test hides processes from a run by unshare, a program of Linux.
mod in_place;
mod merge;
mod new;
mod recover;
mod spill;
