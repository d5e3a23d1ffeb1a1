//! Commands and what surrounds them: damaged input, old databases under the target's name, other processes and signals; and the bytes
//! that they write.

#[path = "../support/mod.rs"]
mod support;

mod damaged;
#[cfg(unix)]
mod overwrite;
mod pack;
#[cfg(target_os = "linux")]
mod readers;
#[cfg(unix)]
mod recorded_bytes;
#[cfg(target_os = "linux")]
mod signals;
