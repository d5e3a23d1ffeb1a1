//! The parts of the comparison, each in rounds.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, ensure};
use rusqlite::Connection;

use super::data::{disk_bytes, make, sync, verify, warm_all};
use super::read::Reading;
use super::record::{Record, Round, Taken, Way};
use super::{Section, Settings};
use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::say;
use crate::process::{Runner, Took};
use crate::scratch::{Scratch, remove};
use crate::sqluice::Sqluice;
use crate::{copy, warm};

/// The maximum disk space of a run for each file, in bytes: the folder and two databases; and of the data of a round that is kept until
/// the run ends: five folders.
const FILE_BYTES_MAX: u64 = 40_000;
const FILE_ROUND_BYTES_MAX: u64 = 5 * 13_000;

/// The maximum number of overwritten files.
const OVERWRITTEN: u64 = 10_000;

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let (options, files) = (&settings.options, settings.files);
    let wanted = |part: &Section| settings.only.is_empty() || settings.only.contains(part);
    let sqluice = Sqluice::new(runner, options.sqluice()?);
    let file_bytes = FILE_BYTES_MAX + u64::from(options.rounds) * FILE_ROUND_BYTES_MAX;
    let scratch = Scratch::new(&options.dir(), files * file_bytes)?;
    let machine = Machine::here(scratch.folder());
    let (taken, version) = (machine::now(), sqluice.version()?);
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;

    let track = Track {
        files,
        runner,
        sqluice: &sqluice,
        scratch: &scratch,
        folder: scratch.file("files"),
        aside: Cell::new(0),
    };
    make(&track.folder, files)?;
    let mut base_bytes = None;
    let mut rounds = vec![Round::new(); usize::from(options.rounds)];
    for part in Section::ALL.into_iter().filter(wanted) {
        if part != Section::Folder && base_bytes.is_none() {
            base_bytes = Some(track.prepare(settings.fill)?);
        }
        let mut found = None;
        for (round, number) in rounds.iter_mut().zip(1..) {
            say(&format!("\n{}: round {number} of {}\n", part.name(), options.rounds))?;
            let mut ways: Vec<Way> = Way::ALL.into_iter().filter(|way| way.part() == part).collect();
            if number % 2 == 0 {
                ways.reverse();
            }
            for way in ways {
                let lap = track.lap(way, &mut found);
                round.insert(way, lap.with_context(|| format!("the way {:?}", way.name()))?);
            }
        }
    }
    let folder_bytes = disk_bytes(&track.folder)?;
    let with = Taken { taken, sqluice: version, machine, files, folder_bytes, base_bytes };
    let record = Record::new(with, rounds);
    let saved = save(&record, record.benchmark, &record.taken, &options.results())?;
    say(&format!("\n{}\nrecord: {}\n", record.table(), saved.display()))
}

/// The data that all laps share.
struct Track<'a> {
    files: u64,
    runner: &'a Runner,
    sqluice: &'a Sqluice<'a>,
    scratch: &'a Scratch,
    folder: PathBuf,
    /// The number of folders that were put aside.
    aside: Cell<u32>,
}

impl Track<'_> {
    /// Creates the database that is read and written; returns its disk space.
    fn prepare(&self, fill: bool) -> anyhow::Result<u64> {
        let base = self.base();
        if fill {
            self.own(&["fill".as_ref(), base.as_os_str(), self.folder.as_os_str()])?;
        } else {
            self.sqluice.run(
                &["pack", "--kv"]
                    .map(OsStr::new)
                    .into_iter()
                    .chain([base.as_os_str(), self.folder.as_os_str()])
                    .collect::<Vec<_>>(),
            )?;
        }
        sync(&base)?;
        disk_bytes(&base)
    }

    fn base(&self) -> PathBuf {
        self.scratch.file("base.db")
    }

    fn lap(&self, way: Way, found: &mut Option<Reading>) -> anyhow::Result<Lap> {
        match way.part() {
            Section::Folder => self.folder_lap(way),
            Section::Read => self.read_lap(way, found),
            Section::Write => self.write_lap(way),
        }
    }

    /// Copies, packs or unpacks the folder, and removes the result.
    fn folder_lap(&self, way: Way) -> anyhow::Result<Lap> {
        let (packed, target) = (self.scratch.file("packed.db"), self.scratch.file("target"));
        let unpacks = matches!(way, Way::Extract | Way::Unpack);
        if unpacks {
            self.pack(&packed, &[])?;
            warm(&packed)?;
        } else {
            warm_all(&self.folder)?;
        }
        sync(self.scratch.folder())?;
        let (took, made) = match way {
            Way::Copy => (self.shell(r#"cp -r "$0" "$1""#, &self.folder, &target)?, &target),
            Way::CopySync => {
                (self.shell(r#"cp -r "$0" "$1" && sync -f "$1""#, &self.folder, &target)?, &target)
            }
            // Names are relative to the folder, like those of `pack`.
            Way::Archive => (self.shell(r#"cd "$0" && sqlite3 "$1" -Ac ."#, &self.folder, &packed)?, &packed),
            Way::Pack => (self.pack(&packed, &[])?, &packed),
            Way::Deflate => (self.pack(&packed, &["--compress", "deflate"])?, &packed),
            Way::Extract => {
                let extract = r#"mkdir "$1" && cd "$1" && sqlite3 "$0" -Ax"#;
                (self.shell(extract, &packed, &target)?, &target)
            }
            _ => {
                let arguments = ["unpack".as_ref(), packed.as_os_str(), target.as_os_str()];
                (self.sqluice.run(&arguments)?, &target)
            }
        };
        sync(self.scratch.folder())?;
        let lap = Lap::new(&took, self.files, disk_bytes(made)?, None).verified(way.name(), || {
            if made.is_dir() { verify(made, self.files) } else { self.verify_archive(made) }
        })?;
        remove(&packed)?;
        self.put_aside(&target)?;
        Ok(lap)
    }

    fn pack(&self, packed: &Path, flags: &[&str]) -> anyhow::Result<Took> {
        let files = ["pack".as_ref(), packed.as_os_str(), self.folder.as_os_str()];
        let flags = flags.iter().map(OsStr::new);
        self.sqluice.run(&files.into_iter().chain(flags).collect::<Vec<_>>())
    }

    /// Checks the number and the total length of the files in an archive.
    fn verify_archive(&self, packed: &Path) -> anyhow::Result<()> {
        let connection = Connection::open(packed)?;
        let sql = "SELECT count(*), coalesce(sum(sz), 0) FROM sqlar WHERE data IS NOT NULL AND sz >= 0";
        let (files, bytes): (i64, i64) =
            connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut wanted = 0;
        for entry in fs::read_dir(&self.folder)? {
            wanted += entry?.metadata()?.len();
        }
        ensure!(
            (files as u64, bytes as u64) == (self.files, wanted),
            "{files} files of {bytes} bytes instead of {} of {wanted}",
            self.files
        );
        Ok(())
    }

    fn read_lap(&self, way: Way, found: &mut Option<Reading>) -> anyhow::Result<Lap> {
        let from = if way.is_of_files() { self.folder.clone() } else { self.base() };
        if way.is_of_files() {
            warm_all(&from)?;
        } else {
            warm(&from)?;
        }
        let (files, title) = (self.files.to_string(), way_argument(way));
        let took = self.own(&["read".as_ref(), from.as_os_str(), files.as_ref(), title.as_ref()])?;
        let reading: Reading = serde_json::from_str(&took.stdout).context("what was read is JSON")?;
        let took = Took { seconds: reading.seconds, ..took };
        Lap::new(&took, self.files, reading.bytes, None).verified(way.name(), || {
            // The ways that read ranges have the same checksum only among themselves.
            if matches!(way, Way::Range | Way::RangeFiles) {
                ensure!(reading.bytes == 100 * self.files, "{} bytes of ranges were read", reading.bytes);
                return Ok(());
            }
            let first = found.get_or_insert_with(|| reading.clone());
            let same = (first.bytes, first.checksum) == (reading.bytes, reading.checksum);
            ensure!(same, "{reading:?}, where another way has {first:?}");
            Ok(())
        })
    }

    /// Overwrites files, or blobs in a copy of the database.
    fn write_lap(&self, way: Way) -> anyhow::Result<Lap> {
        let target = self.scratch.file("target");
        if way.is_of_files() {
            self.shell(r#"cp -r "$0" "$1""#, &self.folder, &target)?;
            sync(&target)?;
        } else {
            copy(&self.base(), &target)?;
        }
        let count = self.files.min(OVERWRITTEN);
        let numbers = [self.files, count].map(|number| number.to_string());
        let [files, overwritten] = numbers.each_ref().map(OsStr::new);
        let title = way_argument(way);
        let took = self.own(&["write".as_ref(), target.as_os_str(), files, overwritten, title.as_ref()])?;
        let reading: Reading = serde_json::from_str(&took.stdout).context("what was written is JSON")?;
        let took = Took { seconds: reading.seconds, ..took };
        let lap = Lap::new(&took, count, reading.bytes, None).verified(way.name(), || Ok(()))?;
        if way.is_of_files() {
            self.put_aside(&target)?;
        } else {
            remove(&target)?;
        }
        Ok(lap)
    }

    /// Renames a folder, if it exists, and keeps it until the run ends. ext4 does not reuse the inodes of files that were removed
    /// in the last minutes, but scans them for each new file: a lap after a removal took ten times as long.
    fn put_aside(&self, folder: &Path) -> anyhow::Result<()> {
        if folder.exists() {
            let aside = self.aside.get();
            self.aside.set(aside + 1);
            fs::rename(folder, self.scratch.file(&format!("aside-{aside}")))
                .context("cannot rename a folder")?;
        }
        Ok(())
    }

    fn shell(&self, script: &str, first: &Path, second: &Path) -> anyhow::Result<Took> {
        self.runner.run(Command::new("sh").args(["-c", script]).arg(first).arg(second))
    }

    fn own(&self, arguments: &[&OsStr]) -> anyhow::Result<Took> {
        self.runner.own(arguments, self.scratch.folder())
    }
}

/// Returns a way as an argument of a lap.
fn way_argument(way: Way) -> String {
    clap::ValueEnum::to_possible_value(&way).map_or_else(String::new, |value| value.get_name().to_owned())
}
