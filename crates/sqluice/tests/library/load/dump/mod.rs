//! Loads of dumps: the database is what SQLite makes of the same statements.

#![cfg(feature = "load")]

mod databases;
mod files;
mod hostile;
#[cfg(target_os = "linux")] // The peak of memory is in /proc.
mod memory;
mod selection;
#[cfg(feature = "dialects")]
mod servers;
mod statements;

use std::path::Path;

use sqluice::error::Result;
use sqluice::load::Load;
use sqluice::options::WriteOptions;
use sqluice::report::Report;

/// Loads a dump. Small chunks and few threads make several parts of small dumps.
fn load(dump: &Path, db: &Path, threads: usize) -> Result<Report> {
    let write = WriteOptions::new().threads(threads).tune(|tuning| tuning.chunk_bytes = 16 << 10);
    Load::new(db, [dump]).write(write).run()
}
