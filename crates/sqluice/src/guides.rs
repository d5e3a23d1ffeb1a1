//! The Rust blocks of README and documentation site, compiled and run by `cargo test --doc`.

#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"))]
struct Readme;

#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rust.md"))]
struct Rust;
