//! The rounds of the comparison.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context, ensure};

use super::Settings;
use super::record::{Record, Round};
use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::say;
use crate::process::{Runner, Took};
use crate::scratch::{Scratch, remove};
use crate::sqluice::{Report, Sqluice};

/// The maximum size of a row in a file, in bytes: the table takes 20, and SQLite leaves a little more of its pages unused.
const ROW_BYTES_MAX: u64 = 24;

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    for (name, rows) in
        [("rows", settings.rows), ("sql-rows", settings.sql_rows), ("discard-rows", settings.discard_rows)]
    {
        ensure!(rows > 0, "--{name} must not be 0");
    }
    let options = &settings.options;
    let sqluice = Sqluice::new(runner, options.sqluice()?);
    // The big file or the raw one, and two small files.
    let scratch = Scratch::new(&options.dir(), (settings.rows + 2 * settings.sql_rows) * ROW_BYTES_MAX)?;
    let machine = Machine::here(scratch.folder());
    let taken = machine::now();
    let version = sqluice.version()?;
    let mut track = Track { settings, runner, sqluice, scratch: &scratch, checksum: None };
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;
    let source = scratch.file("source.db");
    track.generate(Some(&source), settings.sql_rows)?;

    let mut rounds = Vec::new();
    let mut bytes = None;
    for number in 1..=options.rounds {
        say(&format!("\nround {number} of {}\n", options.rounds))?;
        let round = track.round(bytes.filter(|_| number % 2 == 0), &source)?;
        bytes = Some(round.generate.bytes);
        rounds.push(round);
    }
    let checksum = track.checksum.take().context("something was generated")?;
    let record = Record::new(taken, version, machine, checksum, rounds);
    let saved = save(&record, record.benchmark, &record.taken, &options.results())?;
    say(&format!("\n{}\nrecord: {}\n", record.table(), saved.display()))
}

/// The data that all laps share.
struct Track<'a> {
    settings: &'a Settings,
    runner: &'a Runner,
    sqluice: Sqluice<'a>,
    scratch: &'a Scratch,
    /// The checksum of the big file, which is the same in each round and with --discard.
    checksum: Option<String>,
}

impl Track<'_> {
    /// Runs one round. The raw write precedes the generation if its number of bytes is given, and follows it otherwise.
    fn round(&mut self, raw_first: Option<u64>, source: &Path) -> anyhow::Result<Round> {
        let first = raw_first.map(|bytes| self.raw(bytes)).transpose()?;
        let generate = self.big()?;
        let raw = first.map_or_else(|| self.raw(generate.bytes), Ok)?;
        let insert =
            self.sql("insert", &["insert".as_ref()], &[self.settings.sql_rows.to_string().as_ref()])?;
        // Reads the source right before the copy, so that it is in the page cache.
        self.verify(source, self.settings.sql_rows)?;
        let attach = self.sql("attach", &["attach".as_ref()], &[source.as_os_str()])?;
        let discard = self.discard()?;
        Ok(Round { raw, generate, insert, attach, discard })
    }

    fn big(&mut self) -> anyhow::Result<Lap> {
        let (file, rows) = (self.scratch.file("big.db"), self.settings.rows);
        let (took, report) = self.generate(Some(&file), rows)?;
        let bytes = file.metadata().context("there is a file")?.len();
        ensure!(bytes == report.bytes, "the file has {bytes} bytes, and {} were reported", report.bytes);
        self.same_checksum(report.checksum)?;
        Lap::new(&took, rows, bytes, Some(report.output)).verified("generate", || {
            self.verify(&file, rows)?;
            Ok(remove(&file)?)
        })
    }

    fn raw(&self, bytes: u64) -> anyhow::Result<Lap> {
        let file = self.scratch.file("raw");
        let took = self.lap(&["raw".as_ref(), file.as_os_str(), bytes.to_string().as_ref()])?;
        let written = file.metadata().context("there is a file")?.len();
        ensure!(written == bytes, "the raw file has {written} bytes instead of {bytes}");
        Lap::new(&took, 0, bytes, Some(took.stdout.clone())).verified("raw", || Ok(remove(&file)?))
    }

    /// Runs a lap of this program with the arguments `before FILE after`.
    fn sql(&self, name: &str, before: &[&OsStr], after: &[&OsStr]) -> anyhow::Result<Lap> {
        let (file, rows) = (self.scratch.file("sql.db"), self.settings.sql_rows);
        let took = self.lap(&[before, &[file.as_os_str()], after].concat())?;
        let bytes = file.metadata().context("there is a file")?.len();
        Lap::new(&took, rows, bytes, None).verified(name, || {
            self.verify(&file, rows)?;
            Ok(remove(&file)?)
        })
    }

    fn discard(&mut self) -> anyhow::Result<Lap> {
        let rows = self.settings.discard_rows;
        let (took, report) = self.generate(None, rows)?;
        if rows == self.settings.rows {
            self.same_checksum(report.checksum)?;
        }
        Lap::new(&took, rows, report.bytes, Some(report.output)).verified("discard", || Ok(()))
    }

    fn generate(&self, target: Option<&Path>, rows: u64) -> anyhow::Result<(Took, Report)> {
        let target = target.map_or(OsStr::new("--discard"), Path::as_os_str);
        let number = rows.to_string();
        let rest = ["--preset", "user", "--rows", &number].map(OsStr::new);
        self.sqluice.write(&[&["generate".as_ref(), target], &rest[..]].concat(), rows)
    }

    fn same_checksum(&mut self, checksum: String) -> anyhow::Result<()> {
        let first = self.checksum.get_or_insert_with(|| checksum.clone());
        ensure!(*first == checksum, "the same seed made pages with checksum {first}, and now {checksum}");
        Ok(())
    }

    fn verify(&self, file: &Path, rows: u64) -> anyhow::Result<()> {
        self.lap(&["verify".as_ref(), file.as_os_str(), rows.to_string().as_ref()]).map(|_| ())
    }

    fn lap(&self, arguments: &[&OsStr]) -> anyhow::Result<Took> {
        let lap = self.runner.run(self.runner.this()?.args(arguments));
        lap.with_context(|| format!("the lap {}", arguments[0].display()))
    }
}
