//! The library by topic, in one program: linking SQLite, Arrow and Parquet once saves minutes. A test that changes or measures its process
//! runs in one of its own (`sqluice_testkit::own_process`).

mod check;
mod copy;
mod existing;
#[cfg(feature = "export")]
mod export;
mod full_text;
mod generate;
mod keys;
mod load;
mod lookalike;
mod masked;
mod merge;
mod recover;
mod stores;
mod support;
#[cfg(feature = "export")]
mod verbs;
mod write;
