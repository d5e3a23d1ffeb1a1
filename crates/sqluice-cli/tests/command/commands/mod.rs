//! Commands and what surrounds them: damaged input, old databases under the target's name, other processes and signals; and the bytes
//! that they write.

mod damaged;
mod overwrite;
mod pack;
mod readers;
mod recorded_bytes;
mod signals;
