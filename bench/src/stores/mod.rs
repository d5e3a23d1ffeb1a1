//! A folder of small files as one database: packed, read and written, compared with files, `cp` and `sqlite3 -A`.
//!
//! ```text
//!  folder:  100,000 files of 8,000 to 12,000 bytes of words, in one folder
//!           copy, copy_sync          cp -r; cp -r and `sync -f`
//!           archive, pack, deflate   sqlite3 -Ac; sqluice pack; sqluice pack --compress deflate
//!           extract, unpack          sqlite3 -Ax; sqluice unpack, both of the archive that `pack` wrote
//!  read:    all files, in random order, by name, each into the same buffer if the way has one
//!           files                    openat, fstat, read, close
//!           read_files               std::fs::read of the whole path, a new Vec each
//!           kvtest_files             stat, fopen, malloc, fread, fclose of the whole path, like SQLite's kvtest
//!           get_into, get            BlobStore, a new Vec each by `get`
//!           get_mapped, get_shared   with a memory map; with other writers allowed
//!           select                   SQLite itself: a prepared SELECT in one transaction
//!           range, range_files       100 bytes in the middle: BlobStore::range; openat, pread, close
//!  write:   10,000 files overwritten and synced
//!           put_many, put_files      BlobStore in one batch; files, then `syncfs`
//! ```
//!
//! Files and databases are in the page cache. The writes of a lap are synced before the next lap begins, so that no lap waits for the
//! writes of another. `cp` does not sync its files, `sqlite3` does before its COMMIT, `sqluice` always does. The claims are about `cp`
//! without a sync, and `copy_sync` shows the time of the missing sync. Reading laps report their own time, without opening the store. Parts
//! run one after the other; ratios are computed within a round, and every second round runs in reverse order.

mod data;
mod read;
mod stdio;
mod write;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::{Value, json};

use self::data::{disk_bytes, make, sync, verify, warm_all};
use self::read::Reading;
use crate::db::{First, numbers};
use crate::house::{House, said};
use crate::lap::{Column, Lap, memory, rows, seconds, spread};
use crate::options::Options;
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared};
use crate::rounds::{Round, Way, add_rounds, only, table, way};
use crate::words::Words;
use crate::{copy, db, warm, words};

/// The command line of the comparison of stores.
#[derive(Clone, Debug, Args)]
#[command(
    about = "Compares a folder stored in one database with plain files, cp and sqlite3 -A, in alternating rounds"
)]
pub struct Settings {
    /// The number of files
    #[arg(long, default_value = "100000", value_name = "N", value_parser = crate::count)]
    files: u64,
    /// Runs a part only: folder, read, write; can be repeated
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    /// Fills the store by BlobStore and not by `sqluice pack`
    #[arg(long)]
    fill: bool,
    #[command(flatten)]
    options: Options,
}

/// The maximum disk space for each file, in bytes: the file itself and its copies in databases.
const FILE_BYTES_MAX: u64 = 40_000;

/// The maximum disk space in bytes, for each file, of the copies that the laps of one round put aside.
const FILE_ROUND_BYTES_MAX: u64 = 5 * 13_000;

/// The maximum number of files that are overwritten.
const OVERWRITTEN: u64 = 10_000;

type Ran = anyhow::Result<Took>;

fn ways<'a>() -> Vec<Way<Track<'a>, Ran>> {
    let read: fn(&mut Track<'a>) -> Ran = Track::read;
    let write: fn(&mut Track<'a>) -> Ran = Track::write;
    vec![
        way("folder", "copy", "`cp -r`", |track| track.shell(r#"cp -r "$0" "$1""#)),
        way("folder", "copy_sync", "`cp -r`, then `sync -f`", |track| {
            track.shell(r#"cp -r "$0" "$1" && sync -f "$1""#)
        }),
        // `cd` first, so that names in the archive are relative to the folder, as with `pack`.
        way("folder", "archive", "`sqlite3 -Ac`", |track| track.shell(r#"cd "$0" && sqlite3 "$1" -Ac ."#)),
        way("folder", "pack", "`sqluice pack`", |track| track.pack(&[])),
        way("folder", "deflate", "`sqluice pack --compress deflate`", |track| {
            track.pack(&["--compress", "deflate"])
        }),
        way("folder", "extract", "`sqlite3 -Ax`", |track| {
            track.shell(r#"mkdir "$1" && cd "$1" && sqlite3 "$0" -Ax"#)
        }),
        way("folder", "unpack", "`sqluice unpack`", |track| {
            track.house.sqluice.run(&words!["unpack", track.from, track.to])
        }),
        way("read", "files", "random reads: files, `openat`, `fstat`, `read`, `close`", read),
        way("read", "get_into", "`BlobStore::get_into`", read),
        way("read", "get_mapped", "`BlobStore::get_into`, mmap", read),
        way("read", "read_files", "`std::fs::read` of the path", read),
        way(
            "read",
            "kvtest_files",
            "`stat`, `fopen`, `fread`, `fclose`, as SQLite's kvtest reads them",
            read,
        ),
        way("read", "get", "`BlobStore::get`", read),
        way("read", "get_shared", "`BlobStore::get_into`, shared with writers", read),
        way("read", "select", "prepared `SELECT`, one transaction", read),
        way("read", "range_files", "100 bytes each: files, `openat`, `pread`, `close`", read),
        way("read", "range", "`BlobStore::range`", read),
        way("write", "put_files", "files overwritten, synced at the end", write),
        way("write", "put_many", "`BlobStore::put_many`", write),
    ]
}

const RATIOS: &[Compared] = &[
    ("time of `cp -r` to `pack`", |round| ratio::time(round, "copy", "pack"), "at least 3"),
    ("time of `cp -r` and `sync -f` to `pack`", |round| ratio::time(round, "copy_sync", "pack"), ""),
    ("time of `sqlite3 -Ac` to `pack`", |round| ratio::time(round, "archive", "pack"), "at least 8"),
    (
        "time of `sqlite3 -Ac` to `pack --compress deflate`",
        |round| ratio::time(round, "archive", "deflate"),
        "at least 1.8",
    ),
    ("time of `cp -r` to `unpack`", |round| ratio::time(round, "copy", "unpack"), "at least 1"),
    ("time of `sqlite3 -Ax` to `unpack`", |round| ratio::time(round, "extract", "unpack"), ""),
    (
        "space of `pack` to that of the folder, by `du`",
        |round| ratio::ratio(round, "pack", "copy", |lap| lap.bytes as f64),
        "at most 0.90, aim 0.85",
    ),
    ("time of `std::fs::read` to `get`", |round| ratio::time(round, "read_files", "get"), "at least 1.35"),
    (
        "time of files as kvtest reads them to `get_into`",
        |round| ratio::time(round, "kvtest_files", "get_into"),
        "at least 1.35",
    ),
    (
        "time of files as kvtest reads them to `get_into`, mmap",
        |round| ratio::time(round, "kvtest_files", "get_mapped"),
        "at least 1.8",
    ),
    (
        "time of files with the fewest calls to `get_into`",
        |round| ratio::time(round, "files", "get_into"),
        "",
    ),
    (
        "time of files with the fewest calls to `get_into`, mmap",
        |round| ratio::time(round, "files", "get_mapped"),
        "",
    ),
    (
        "time of files with the fewest calls to `get_into`, shared",
        |round| ratio::time(round, "files", "get_shared"),
        "",
    ),
    ("time of `SELECT` to `get_into`", |round| ratio::time(round, "select", "get_into"), ""),
    ("time of 100 bytes of files to `range`", |round| ratio::time(round, "range_files", "range"), ""),
    ("time of files overwritten to `put_many`", |round| ratio::time(round, "put_files", "put_many"), ""),
];

/// Runs the lap `name` in this process, which the comparison has started for this lap. Returns the result of the lap.
///
/// # Errors
/// The errors of the lap.
pub fn lap(name: &str, words: &mut Words) -> anyhow::Result<Value> {
    let place = words.path()?;
    match name {
        "fill" => said(write::fill(&place, &words.path()?)?),
        "read" => said(read::read(&place, words.take()?, &words.take::<String>()?)?),
        _ => said(write::overwrite(&place, words.take()?, words.take()?, &words.take::<String>()?)?),
    }
}

/// Runs the comparison, prints the results and saves the record.
///
/// # Errors
/// When a lap fails, or leaves other files.
pub fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let (options, files) = (&settings.options, settings.files);
    let ways = only(ways(), &settings.only)?;
    let file_bytes = FILE_BYTES_MAX + u64::from(options.rounds) * FILE_ROUND_BYTES_MAX;
    let house = House::open(options, runner, files * file_bytes)?;
    let mut track = Track {
        house: &house,
        files,
        folder: house.file("files"),
        base: house.file("base.db"),
        name: "",
        from: PathBuf::new(),
        to: PathBuf::new(),
        bytes: 0,
        aside: 0,
        read: First::default(),
    };
    make(&track.folder, files)?;
    if ways.iter().any(|way| way.part != "folder") {
        if settings.fill {
            house.own(&words!["fill", track.base, track.folder])?;
        } else {
            house.sqluice.run(&words!["pack", "--kv", track.base, track.folder])?;
        }
        sync(&track.base)?;
    }
    let mut rounds = vec![Round::new(); usize::from(options.rounds)];
    for part in ["folder", "read", "write"] {
        if ways.iter().any(|way| way.part == part) {
            add_rounds(&mut rounds, part, &ways, |way, _| {
                let lap = track.lap(way).with_context(|| format!("the way {:?}", way.name));
                lap.map(Some)
            })?;
        }
    }
    let microseconds =
        |laps: &[&Lap]| format!("{:.2}", spread(laps, |lap| lap.seconds).median / laps[0].rows as f64 * 1e6);
    let megabytes = |laps: &[&Lap]| format!("{:.0}", spread(laps, |lap| lap.bytes as f64 / 1e6).median);
    let columns: [Column<'_>; 5] = [
        ("files", &rows),
        ("seconds: median (min..max)", &seconds),
        ("us/file", &microseconds),
        ("MB", &megabytes),
        ("peak memory", &memory),
    ];
    let (folder, base) = (disk_bytes(&track.folder)?, track.base.exists().then(|| disk_bytes(&track.base)));
    let base = base.transpose()?;
    let mut text = table("", &columns, &ways, &rounds);
    text += &format!("\nfolder: {:.0} MB by du", folder as f64 / 1e6);
    if let Some(base) = base {
        let part = base as f64 / folder as f64;
        text += &format!("; the database that is read: {:.0} MB, {part:.3} of it", base as f64 / 1e6);
    }
    let facts = json!({ "files": files, "folder_bytes": folder, "base_bytes": base });
    house.finish("stores", facts, &ways, &rounds, RATIOS, &(text + "\n"))
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
    files: u64,
    folder: PathBuf,
    /// The database that is read, and copied for writes.
    base: PathBuf,
    /// The name of the current way, its source and its target.
    name: &'static str,
    from: PathBuf,
    to: PathBuf,
    /// The bytes that a lap reports.
    bytes: u64,
    /// The number of folders that were put aside; see [`Track::clear`].
    aside: u32,
    read: First<(), (u64, u64)>,
}

impl Track<'_> {
    fn lap(&mut self, way: &Way<Self, Ran>) -> anyhow::Result<Lap> {
        self.name = way.name;
        match way.part {
            "folder" => self.folder_lap(way),
            "read" => {
                let took = (way.run)(self)?;
                Lap::new(&took, self.files, self.bytes, None).verified(way.name, || Ok(()))
            }
            _ => {
                let took = (way.run)(self)?;
                let count = self.files.min(OVERWRITTEN);
                let lap = Lap::new(&took, count, self.bytes, None).verified(way.name, || Ok(()))?;
                self.clear()?;
                Ok(lap)
            }
        }
    }

    fn folder_lap(&mut self, way: &Way<Self, Ran>) -> anyhow::Result<Lap> {
        let (packed, target) = (self.house.file("packed.db"), self.house.file("target"));
        (self.from, self.to) = match way.name {
            "extract" | "unpack" => (packed.clone(), target),
            "archive" | "pack" | "deflate" => (self.folder.clone(), packed.clone()),
            _ => (self.folder.clone(), target),
        };
        if self.from == packed {
            self.house.sqluice.run(&words!["pack", packed, self.folder])?;
            warm(&packed)?;
        } else {
            warm_all(&self.folder)?;
        }
        sync(self.house.folder())?;
        let took = (way.run)(self)?;
        sync(self.house.folder())?;
        let made = &self.to;
        let lap = Lap::new(&took, self.files, disk_bytes(made)?, None).verified(way.name, || {
            if made.is_dir() { verify(made, self.files) } else { self.verify_archive(made) }
        })?;
        self.house.remove("packed.db")?;
        self.clear()?;
        Ok(lap)
    }

    fn shell(&mut self, script: &str) -> Ran {
        self.house.runner.run(Command::new("sh").args(["-c", script]).arg(&self.from).arg(&self.to))
    }

    fn pack(&mut self, more: &[&str]) -> Ran {
        let words = words!["pack", self.to, self.from].into_iter().chain(more.iter().map(Into::into));
        self.house.sqluice.run(&words.collect::<Vec<_>>())
    }

    /// Checks the number and the sizes of the files in an archive.
    fn verify_archive(&self, packed: &Path) -> anyhow::Result<()> {
        let sql = "SELECT count(*), coalesce(sum(sz), 0) FROM sqlar WHERE data IS NOT NULL AND sz >= 0";
        let found = numbers(&db::read(packed)?, sql)?;
        let mut wanted = 0;
        for entry in fs::read_dir(&self.folder)? {
            wanted += entry?.metadata()?.len();
        }
        let (files, bytes) = (found[0] as u64, found[1] as u64);
        ensure!(
            (files, bytes) == (self.files, wanted),
            "{files} files of {bytes} bytes instead of {} of {wanted}",
            self.files
        );
        Ok(())
    }

    /// Reads all files in random order. Ways that read whole files must have the same checksum, and so must ways that read ranges.
    fn read(&mut self) -> Ran {
        let from = if self.is_of_files() { &self.folder } else { &self.base };
        if self.is_of_files() {
            warm_all(from)?
        } else {
            warm(from)?
        }
        let (took, Reading { bytes, checksum, seconds }) =
            self.house.asked(&words!["read", from, self.files, self.name])?;
        if self.name.starts_with("range") {
            ensure!(bytes == 100 * self.files, "{bytes} bytes of ranges were read");
        } else {
            self.read.same((), (bytes, checksum))?;
        }
        self.bytes = bytes;
        Ok(Took { seconds, ..took })
    }

    /// Overwrites some files in a copy of the folder or the database.
    fn write(&mut self) -> Ran {
        let target = self.house.file("target");
        if self.is_of_files() {
            (self.from, self.to) = (self.folder.clone(), target.clone());
            self.shell(r#"cp -r "$0" "$1""#)?;
            sync(&target)?;
        } else {
            copy(&self.base, &target)?;
        }
        let count = self.files.min(OVERWRITTEN);
        let words = words!["write", target, self.files, count, self.name];
        let (took, Reading { bytes, seconds, .. }) = self.house.asked(&words)?;
        self.bytes = bytes;
        Ok(Took { seconds, ..took })
    }

    fn is_of_files(&self) -> bool {
        self.name.ends_with("files")
    }

    /// Removes the target of a lap. A folder is only renamed, and removed at the end: removing its files now would slow down the next laps.
    fn clear(&mut self) -> anyhow::Result<()> {
        let target = self.house.file("target");
        if !target.is_dir() {
            return self.house.remove("target");
        }
        self.aside += 1;
        fs::rename(target, self.house.file(&format!("aside-{}", self.aside)))
            .context("cannot rename a folder")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::ratios_of_parts;

    #[test]
    fn every_ratio_compares_ways_of_the_same_part() {
        assert_eq!(ratios_of_parts(&ways(), RATIOS, &["folder", "read", "write"]), [7, 8, 1]);
    }
}
