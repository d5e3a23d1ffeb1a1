//! The Rust examples of README and documentation site, which `cargo test --doc` compiles and runs.

#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md"))]
struct Readme;

#[doc = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rust.md"))]
struct Rust;
