//! Objects in S3, Google Cloud Storage and Azure, and files of web servers: read by ranges, and uploaded in parts.
//!
//! ```text
//!  caller's threads            runtime: two threads of this crate
//!  Object::read    ──────────> GET of a range ──────────────┐
//!  Object::stream  ──────────> GETs of some blocks ahead ───┼──> the store
//!  Upload::write   ── parts ─> PUTs of some parts ──────────┘
//! ```
//!
//! The client is the crate `object_store`, which is asynchronous. Callers see blocking calls alone, and no future leaves this crate.
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * `address`: what a URL means; `tries`: requests that are sent again; `failure`: what went wrong, in words that show no secret
//! * `runtime`: futures as blocking calls; `answers`: those of unknown size; `store`: the client for an address
//! * `stream`: an object from start to end; `object`: objects that are read; `list`: those that a pattern means
//! * `upload`: an object that appears once it is complete
//!
//! Invariant: an object that is uploaded is the old one, or absent, until its last request succeeds.
//!
//! Invariant: no message has a credential, a query of a URL, or what a store said of a signature.

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
