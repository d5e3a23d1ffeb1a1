//! Commands in difficult surroundings: damaged input, an existing database at the target, other processes, signals. Also checksums of the
//! databases that commands write.

mod damaged;
mod in_place;
mod overwrite;
mod pack;
mod readers;
mod recorded_bytes;
mod signals;
