//! Writes that fail: full disks, limits on file sizes and system calls that fail, for new databases, existing ones, copies, merges and temporary space.
#![cfg(target_os = "linux")] // A disk is filled by mounting a small one, and a file by ulimit.

#[path = "../support/mod.rs"]
mod support;

mod copy;
mod existing;
mod merge;
mod new;
mod spill;
