//! URLs in the place of files: objects in a store, and files of a web server.
//!
//! The store is `moto`, which checks parts as S3 does; `tools/environment` installs it. A proxy of these tests is between the command and
//! the store. It counts requests, refuses them, and closes connections.

mod faults;
mod inputs;
mod secrets;
mod servers;
mod targets;
