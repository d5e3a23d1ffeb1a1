//! Commands with damaged input, with an existing database at the target, beside other processes, and with signals. Also checksums of the
//! databases that commands write.

mod damaged;
mod in_place;
mod overwrite;
mod pack;
mod readers;
mod recorded_bytes;
mod signals;
