//! Objects in a store, and files of a web server, in the place of files.
//!
//! The store is `moto`, which checks parts as S3 does; `tools/environment` installs it. Between it and the command is a server of these tests,
//! which counts requests, refuses them, and closes connections.

mod faults;
mod inputs;
mod secrets;
mod servers;
mod targets;
