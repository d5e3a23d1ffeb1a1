//! A folder of small files as one database: packed, read and written, compared with files, `cp` and `sqlite3 -A`.
//!
//! ```text
//!  folder:  100,000 files of 8,000 to 12,000 bytes of words, in one folder
//!           copy, copy_sync          cp -r; the same and `sync -f`
//!           archive, pack, deflate   sqlite3 -Ac; sqluice pack; sqluice pack --compress deflate
//!           extract, unpack          sqlite3 -Ax; sqluice unpack, of what `pack` wrote
//!  read:    all of them, in random order, by name, each into the same buffer if the way has one
//!           files                    openat, fstat, read, close
//!           read_files               std::fs::read of the whole path, a new Vec each
//!           kvtest_files             stat, fopen, malloc, fread, fclose of the whole path, like SQLite's kvtest
//!           get_into, get            BlobStore, a new Vec each by `get`
//!           get_mapped, get_shared   with a memory map; with other writers allowed
//!           select                   SQLite itself: a prepared SELECT in one transaction
//!           range, range_files       100 bytes in the middle: BlobStore::range; openat, pread, close
//!  write:   10,000 of them overwritten and synced
//!           put_many, put_files      BlobStore in one batch; files, then `syncfs`
//! ```
//!
//! Files and databases are in the page cache. The writes of a lap are synced before the next lap begins, so that no lap waits for
//! another: `cp` need not sync its files, `sqlite3` does before its COMMIT, `sqluice` always does; the claims
//! are about `cp` alone, and `copy_sync` shows the time of the missing sync. Reading laps report their own time, without that of opening
//! the store. Parts run one after the other; ratios are computed within a round, and every second round runs in reverse order.

mod compare;
mod data;
mod read;
mod record;
mod stdio;
mod write;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use self::record::Way;
use crate::options::{Options, compare, ended};

/// The arguments of the comparison.
#[derive(Debug, Args)]
#[command(about = "A folder as one database beside files, cp and sqlite3 -A, in alternating rounds")]
pub struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    lap: Option<Lap>,
}

#[derive(Clone, Debug, Args)]
struct Settings {
    /// How many files
    #[arg(long, default_value = "100000", value_name = "N", value_parser = crate::count)]
    files: u64,
    /// Measure this part alone; may be repeated [default: all]
    #[arg(long, value_name = "PART")]
    only: Vec<Section>,
    /// Have BlobStore fill the database that is read and written, instead of `sqluice pack`
    #[arg(long)]
    fill: bool,
    #[command(flatten)]
    options: Options,
}

/// The parts of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Section {
    /// The folder copied, packed and unpacked
    Folder,
    /// All files read in random order
    Read,
    /// 10,000 files overwritten
    Write,
}

impl Section {
    const ALL: [Section; 3] = [Section::Folder, Section::Read, Section::Write];

    fn name(self) -> &'static str {
        match self {
            Section::Folder => "folder",
            Section::Read => "read",
            Section::Write => "write",
        }
    }
}

/// A lap that the program runs as a process of its own.
#[derive(Clone, Debug, Subcommand)]
enum Lap {
    /// Put all files of a folder into a store
    #[command(hide = true)]
    Fill { store: PathBuf, folder: PathBuf },
    /// Read all files, of the folder or the store, and print what was found and the time that it took
    #[command(hide = true)]
    Read {
        from: PathBuf,
        files: u64,
        #[arg(value_enum)]
        way: Way,
    },
    /// Overwrite this number of files of the folder or the store
    #[command(hide = true)]
    Write {
        to: PathBuf,
        files: u64,
        count: u64,
        #[arg(value_enum)]
        way: Way,
    },
}

/// Runs the comparison, or one of its laps.
pub fn main(arguments: &Arguments) -> ExitCode {
    let done = match &arguments.lap {
        Some(lap) => run(lap),
        None => return compare("stores", |runner| compare::run(&arguments.settings, runner)),
    };
    ended(done.and_then(|()| Ok(io::stdout().flush()?)), false)
}

fn run(lap: &Lap) -> anyhow::Result<()> {
    match lap {
        Lap::Fill { store, folder } => write::fill(store, folder),
        Lap::Read { from, files, way } => {
            Ok(serde_json::to_writer(io::stdout(), &read::read(from, *files, *way)?)?)
        }
        Lap::Write { to, files, count, way } => {
            Ok(serde_json::to_writer(io::stdout(), &write::overwrite(to, *files, *count, *way)?)?)
        }
    }
}
