//! Objects in S3, Google Cloud Storage and Azure, and files of web servers. Objects are read in ranges and uploaded in parts.
//!
//! ```text
//!  caller's threads            runtime: two threads of this crate
//!  Object::read    ──────────> GET of a range ──────────────┐
//!  Object::stream  ──────────> GETs of some blocks ahead ───┼──> the store
//!  Upload::write   ── parts ─> PUTs of some parts ──────────┘
//! ```
//!
//! The client is the crate `object_store`, which is asynchronous. Callers only see blocking calls, and no future leaves this crate.
//!
//! Modules, the lowest layer first. Each module uses only modules that come before it in this list:
//!
//! * `address`: the address in a URL; `tries`: repeated requests; `failure`: errors for failed requests, without secrets
//! * `runtime`: futures as blocking calls; `answers`: answers of unknown size; `store`: the client for an address
//! * `stream`: an object read from start to end; `object`: objects read in ranges; `list`: the objects that match a pattern
//! * `upload`: an object that appears once it is complete
//!
//! Invariant: until the last request of an upload succeeds, the object is the old object, or absent.
//!
//! Invariant: messages contain no credentials, no queries of URLs, and no part of a store's answer about signatures.

#![deny(unsafe_code)]

mod address;
mod answers;
mod failure;
mod list;
mod object;
mod runtime;
mod store;
mod stream;
mod tries;
mod upload;

pub use list::expand;
pub use object::Object;
pub use upload::{Destination, PART_BYTES_MIN, Upload, UploadOptions, memory_bytes};
