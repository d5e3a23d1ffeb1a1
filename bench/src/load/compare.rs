//! The rounds of the comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, ensure};

use super::Settings;
use super::archives;
use super::data::{Input, SCHEMA, lineitem, version_of};
use super::dumps;
use super::expressions::{self, Content, Ducks};
use super::files;
use super::frames::Frames;
use super::ndjson;
use super::record::{Inputs, Record, Round};
use super::sheets::Sheets;
use super::verify::{self, Sums};
use super::way::{Section, Way};
use crate::lap::{Lap, save};
use crate::machine::{self, Machine};
use crate::options::say;
use crate::process::{Runner, Took};
use crate::scratch::{Scratch, remove};
use crate::sqluice::Sqluice;
use crate::{UNSAFE_PRAGMAS, grouped, sync};

/// The number of repetitions of the rows in the long file.
const TIMES: u64 = 10;

/// The divisor of the row count for NDJSON.
const TENTH: u64 = 10;

/// The maximum size of a database for two bytes of its CSV, in bytes; texts take about as many as in CSV.
const DATABASE_BYTES_FOR_TWO: u64 = 3;

/// The maximum size of NDJSON for a byte of CSV, in bytes: each row has the names of the columns.
const NDJSON_BYTES_FOR_ONE: u64 = 5;

/// The maximum number of rows of a dump.
const DUMP_ROWS: u64 = 1_000_000;

/// The maximum size of the three dumps, and of the database of the first, for a byte of CSV, in bytes.
const DUMPS_BYTES_FOR_ONE: f64 = 7.0;

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let options = &settings.options;
    let wanted = |part: &Section| settings.only.is_empty() || settings.only.contains(part);
    let parts: Vec<Section> = Section::ALL.into_iter().filter(wanted).collect();
    let ways = Way::ALL.into_iter().filter(|way| parts.contains(&way.part()));
    let ways = ways.filter(|way| *way != Way::Ten || !settings.no_ten);
    let ways: Vec<Way> = ways.filter(|way| !way.is_older() || settings.older.is_some()).collect();
    let frames = Frames { runner, python: &settings.python };
    let sheets = Sheets { runner, python: &settings.python };
    let ducks = Ducks { runner, python: &settings.python };

    let dir = options.dir();
    std::fs::create_dir_all(&dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let sqluice = Sqluice::new(runner, options.sqluice()?);
    let version = sqluice.version()?;
    let (mut machine, mut beside) = (Machine::here(&dir), Vec::new());
    for part in &parts {
        match part {
            Section::Csv => machine.facts.sqlite = shell_version(runner, &settings.sqlite3)?,
            Section::Parquet => beside.push(frames.versions()?),
            Section::Spreadsheets => beside.push(sheets.versions()?),
            Section::Expressions => beside.push(ducks.versions()?),
            Section::Json => beside.push(version_of(runner, &settings.sqlite_utils)?),
            Section::Dump | Section::Archives => {
                machine.facts.sqlite = shell_version(runner, &settings.sqlite3)?;
            }
            Section::Files => {
                machine.facts.sqlite = shell_version(runner, &settings.sqlite3)?;
                if let Some(older) = &settings.older {
                    beside.push(format!("older {}", version_of(runner, older)?));
                }
            }
        }
    }
    let taken = machine::now();
    say(&format!("machine: {machine}\nprogram: {version}\n"))?;

    let (once, made_by) = lineitem(runner, &settings.tpchgen, &dir, settings.scale)?;
    say(&format!("input: {} rows, made by {made_by}\n", grouped(once.rows)))?;
    let times = if ways.contains(&Way::Ten) { TIMES } else { 1 };
    let scratch = Scratch::new(&dir, bytes_needed(&once, &parts, times))?;
    let schema = scratch.file("lineitem.sql");
    std::fs::write(&schema, SCHEMA).context("cannot write the schema")?;
    let ten = match times {
        1 => None,
        _ => Some(once.repeated(times, scratch.file("lineitem.csv"))?),
    };
    let mut others = match parts.contains(&Section::Dump) {
        true => dumps(&once, &scratch)?,
        false => BTreeMap::new(),
    };
    if parts.contains(&Section::Archives) {
        let folder = archives::write_folder(&once, &scratch.file("small"))?;
        others.extend([(Way::FolderImport, folder.clone()), (Way::Folder, folder)]);
    }
    let files = parts.into_iter().map(|part| Ok((part, input(part, &once, settings, runner, &scratch)?)));
    let files = files.collect::<anyhow::Result<BTreeMap<Section, Input>>>()?;
    let mut track = Track {
        settings,
        runner,
        sqluice,
        frames,
        sheets,
        ducks,
        scratch: &scratch,
        schema,
        files,
        others,
        ten,
        stored: BTreeMap::new(),
        content: None,
        checked: BTreeSet::new(),
    };

    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        say(&format!("\nround {number} of {}\n", options.rounds))?;
        rounds.push(track.round(&ways, number % 2 == 0)?);
    }
    let inputs = Inputs { scale: settings.scale, made_by, files: track.files, dumps: track.others, beside };
    let record = Record::new(taken, version, machine, inputs, rounds);
    let saved = save(&record, record.benchmark, &record.taken, &options.results())?;
    say(&format!("\n{}\nrecord: {}\n", record.table(), saved.display()))
}

/// Returns the disk space in bytes of the files that are made from the CSV file, the longest of which repeats it `times` times, and of
/// the largest database.
fn bytes_needed(once: &Input, parts: &[Section], times: u64) -> u64 {
    let database = times * once.bytes * DATABASE_BYTES_FOR_TWO / 2;
    let file = |part: &Section| match part {
        Section::Csv if times == 1 => 0,
        Section::Expressions => 0,
        Section::Csv => times * once.bytes,
        // A workbook has a part of the rows, and is deflated.
        Section::Parquet | Section::Spreadsheets => once.bytes,
        Section::Json => once.bytes * NDJSON_BYTES_FOR_ONE / TENTH,
        Section::Files => once.bytes / TENTH,
        // The archive, its members while it is made and after it is extracted, and the small files.
        Section::Archives => once.bytes * 2 + once.bytes / archives::SMALL,
        Section::Dump => {
            (once.bytes as f64 * DUMPS_BYTES_FOR_ONE * DUMP_ROWS.min(once.rows) as f64 / once.rows as f64)
                as u64
        }
    };
    database + parts.iter().map(file).sum::<u64>()
}

/// Creates the input of a part from the rows of a CSV file.
fn input(
    part: Section,
    csv: &Input,
    settings: &Settings,
    runner: &Runner,
    scratch: &Scratch,
) -> anyhow::Result<Input> {
    let python = &settings.python;
    match part {
        Section::Csv | Section::Expressions => Ok(csv.clone()),
        Section::Parquet => {
            let file = scratch.file("lineitem.parquet");
            Frames { runner, python }.parquet(&csv.file, &file)?;
            Input::made(file, csv.rows)
        }
        Section::Json => {
            let (file, rows) = (scratch.file("lineitem.ndjson"), csv.rows / TENTH);
            ndjson::write(&csv.file, rows, &file)
                .with_context(|| format!("cannot write {}", file.display()))?;
            Input::made(file, rows)
        }
        Section::Files => files::write(&csv.file, &scratch.file("files")),
        Section::Dump => {
            let (file, rows) = (scratch.file("lineitem.dump.sql"), csv.rows.min(DUMP_ROWS));
            dumps::sqlite(&csv.file, rows, &settings.sqlite3, &scratch.file("dump.db"), &file)?;
            Input::made(file, rows)
        }
        Section::Archives => {
            archives::write_archive(runner, csv, &scratch.file("members"), &scratch.file("lineitem.zip"))
        }
        Section::Spreadsheets => Sheets { runner, python }.book(csv, &scratch.file("lineitem.xlsx")),
    }
}

/// Creates the dumps of other databases from the rows of a CSV file.
fn dumps(csv: &Input, scratch: &Scratch) -> anyhow::Result<BTreeMap<Way, Input>> {
    let rows = csv.rows.min(DUMP_ROWS);
    let (mysql, postgres) = (scratch.file("lineitem.mysql.sql"), scratch.file("lineitem.postgres.sql"));
    dumps::mysql(&csv.file, rows, &mysql).context("cannot write a dump as of mysqldump")?;
    dumps::postgres(&csv.file, rows, &postgres).context("cannot write a dump as of pg_dump")?;
    Ok(BTreeMap::from([
        (Way::MySqlDump, Input::made(mysql, rows)?),
        (Way::PostgresDump, Input::made(postgres, rows)?),
    ]))
}

/// The data that all laps share.
struct Track<'a> {
    settings: &'a Settings,
    runner: &'a Runner,
    sqluice: Sqluice<'a>,
    frames: Frames<'a>,
    sheets: Sheets<'a>,
    ducks: Ducks<'a>,
    scratch: &'a Scratch,
    schema: PathBuf,
    files: BTreeMap<Section, Input>,
    /// The dumps of other databases, and the folder of small files.
    others: BTreeMap<Way, Input>,
    ten: Option<Input>,
    /// The first way that stored the rows, and their sums, by the number of rows.
    stored: BTreeMap<u64, (Way, Sums)>,
    /// The content of all rows, of the first way with expressions.
    content: Option<Content>,
    /// The ways whose databases SQLite has checked.
    checked: BTreeSet<Way>,
}

impl Track<'_> {
    /// Runs one round, in either order, so that no way always follows the same.
    fn round(&mut self, ways: &[Way], backwards: bool) -> anyhow::Result<Round> {
        let mut ways = ways.to_vec();
        if backwards {
            ways.reverse();
        }
        ways.into_iter().map(|way| Ok((way, self.lap(way)?))).collect()
    }

    fn lap(&mut self, way: Way) -> anyhow::Result<Lap> {
        let input = match way {
            Way::Ten => self.ten.as_ref(),
            _ => self.others.get(&way).or_else(|| self.files.get(&way.part())),
        };
        let input = input.cloned().context("every way has its file")?;
        input.warm()?;
        let target = self.scratch.file("load.db");
        let (took, output) = match way {
            Way::Import => (self.import(&input, &target, "")?, None),
            Way::Unsafe => (self.import_unsafe(&input, &target)?, None),
            Way::Declared | Way::Ten => {
                self.load(&input, &target, &["--schema".as_ref(), self.schema.as_os_str()])?
            }
            Way::Inferred
            | Way::Parquet
            | Way::Json
            | Way::Dump
            | Way::MySqlDump
            | Way::PostgresDump
            | Way::Archive
            | Way::Folder
            | Way::Spreadsheet => self.load(&input, &target, &[])?,
            Way::Whole | Way::Filtered | Way::Added | Way::Half => {
                let flags = expressions::flags(way);
                let files = ["load".as_ref(), target.as_os_str(), input.file.as_os_str()];
                let flags: Vec<&OsStr> = files.into_iter().chain(flags.iter().map(OsStr::new)).collect();
                let took = self.sqluice.run(&flags)?;
                (took, None)
            }
            Way::Duck => self.ducks.load(&input.file, &target)?,
            Way::Shell => (self.read(&input, &target)?, None),
            Way::Adbc => self.frames.ingest(&input.file, &target)?,
            Way::Pandas => self.sheets.load(&input.file, &target)?,
            Way::SqliteUtils => (self.sqlite_utils(&input, &target)?, None),
            Way::FilesImport => (self.import_files(&input, files::FILES, &target)?, None),
            Way::FolderImport => (self.import_files(&input, archives::FILES, &target)?, None),
            Way::ArchiveUnzip => self.unzip_and_load(&input, &target)?,
            Way::FilesOlder | Way::Files => self.load_files(way, &input, &target, &[])?,
            Way::FilesTableOlder | Way::FilesTable => {
                self.load_files(way, &input, &target, &["--table".as_ref(), "lineitem".as_ref()])?
            }
            Way::SerdeJson => {
                let arguments = ["insert".as_ref(), input.file.as_os_str(), target.as_os_str()];
                (self.runner.own(&arguments, self.scratch.folder())?, None)
            }
        };
        let bytes = target.metadata().context("there is a file")?.len();
        Lap::new(&took, input.rows, bytes, output).verified(way.name(), || {
            self.verify(way, &input, &target).with_context(|| format!("the database of {:?}", way.name()))?;
            Ok(remove(&target)?)
        })
    }

    fn import(&self, input: &Input, target: &Path, pragmas: &str) -> anyhow::Result<Took> {
        // The shell parses the words of its own commands with these escapes.
        let file = input.file.to_str().context("a path is UTF-8")?.replace('\\', r"\\").replace('"', "\\\"");
        let mut command = Command::new(&self.settings.sqlite3);
        // The user's settings must not affect the comparison.
        command.args(["-batch", "-bail", "-init", "/dev/null"]).arg(target);
        command.args([pragmas, SCHEMA, ".mode csv", &format!(".import --skip 1 \"{file}\" lineitem")]);
        self.runner.run(&mut command)
    }

    /// Imports with unsafe PRAGMAs; the time includes the sync that they leave out, since the other ways sync, too.
    fn import_unsafe(&self, input: &Input, target: &Path) -> anyhow::Result<Took> {
        let mut took = self.import(input, target, UNSAFE_PRAGMAS)?;
        let start = Instant::now();
        sync(target)?;
        took.seconds += start.elapsed().as_secs_f64();
        Ok(took)
    }

    fn load(&self, input: &Input, target: &Path, flags: &[&OsStr]) -> anyhow::Result<(Took, Option<String>)> {
        let files = ["load".as_ref(), target.as_os_str(), input.file.as_os_str()];
        let (took, report) = self.sqluice.write(&[&files, flags].concat(), input.rows)?;
        Ok((took, Some(report.output)))
    }

    /// Lets the shell run the statements of a dump.
    fn read(&self, input: &Input, target: &Path) -> anyhow::Result<Took> {
        let mut command = Command::new(&self.settings.sqlite3);
        let read = format!(".read \"{}\"", input.file.display());
        command.args(["-batch", "-bail", "-init", "/dev/null"]).arg(target).arg(read);
        self.runner.run(&mut command)
    }

    /// Extracts an archive, and loads the folder.
    fn unzip_and_load(&self, input: &Input, target: &Path) -> anyhow::Result<(Took, Option<String>)> {
        let folder = self.scratch.file("extracted");
        let unzipped = archives::unzip(self.runner, &input.file, &folder)?;
        let extracted = Input::of_folder(folder.clone(), input.rows, input.bytes);
        let (took, output) = self.load(&extracted, target, &[])?;
        std::fs::remove_dir_all(&folder)?;
        Ok((archives::both(&unzipped, took), output))
    }

    fn import_files(&self, input: &Input, files: u64, target: &Path) -> anyhow::Result<Took> {
        let script = self.scratch.file("import.txt");
        std::fs::write(&script, files::imports(&input.file, files)?).context("cannot write the commands")?;
        let read = format!(".read \"{}\"", script.display());
        let mut command = Command::new(&self.settings.sqlite3);
        command.args(["-batch", "-bail", "-init", "/dev/null"]).arg(target).arg(read);
        self.runner.run(&mut command)
    }

    fn load_files(
        &self,
        way: Way,
        input: &Input,
        target: &Path,
        flags: &[&OsStr],
    ) -> anyhow::Result<(Took, Option<String>)> {
        let pattern = input.file.join("part-*.csv");
        let arguments = [&["load".as_ref(), target.as_os_str(), pattern.as_os_str()], flags].concat();
        let older = self.settings.older.as_ref().filter(|_| way.is_older());
        let older = older.map(|file| Sqluice::new(self.runner, file.clone()));
        let (took, report) = older.as_ref().unwrap_or(&self.sqluice).write(&arguments, input.rows)?;
        Ok((took, Some(report.output)))
    }

    fn sqlite_utils(&self, input: &Input, target: &Path) -> anyhow::Result<Took> {
        let mut command = Command::new(&self.settings.sqlite_utils);
        self.runner.run(command.arg("insert").arg(target).arg("lineitem").arg(&input.file).arg("--nl"))
    }

    /// Checks that a database has all rows, with the values that the first way stored.
    fn verify(&mut self, way: Way, input: &Input, target: &Path) -> anyhow::Result<()> {
        if way.part() == Section::Expressions {
            return self.verify_expressions(way, input, target);
        }
        if matches!(way, Way::FilesImport | Way::FilesOlder | Way::Files) || way.part() == Section::Archives {
            // Each file has its own table, so only the rows are counted.
            let rows = verify::rows_of_all(target)?;
            ensure!(rows == input.rows, "{rows} rows instead of {}", input.rows);
            return Ok(());
        }
        let mut command = self.runner.this()?;
        command.arg("verify").arg(target);
        if self.checked.insert(way) {
            command.arg("--quick-check");
        }
        let took = self.runner.run(&mut command)?;
        let sums: Sums = serde_json::from_str(&took.stdout).context("the sums are JSON")?;
        ensure!(sums.rows == input.rows, "{} rows instead of {}", sums.rows, input.rows);
        let times = if way == Way::Ten { TIMES } else { 1 };
        let (first, stored) = self.stored.entry(input.rows / times).or_insert_with(|| (way, sums.clone()));
        let expected = stored.times(times);
        let columns = sums.differing(&expected);
        ensure!(sums == expected, "other values than {:?} stored, in {columns}", first.name());
        Ok(())
    }
}

impl Track<'_> {
    /// Checks that a database has the rows that the filter keeps, with the values of all ways, and the columns that are added.
    fn verify_expressions(&mut self, way: Way, input: &Input, target: &Path) -> anyhow::Result<()> {
        let content = Content::of(way, target)?;
        if expressions::is_half(way) {
            // In a round that runs backwards, the first way of the first round has stored all rows.
            let all = self.content.as_ref().context("the first way keeps all rows")?;
            ensure!(content == all.filtered(), "other rows, or other values");
            return Ok(());
        }
        ensure!(content.rows() == input.rows as i64, "{} rows instead of {}", content.rows(), input.rows);
        ensure!(content.is_filtered_by_half(), "the filter keeps all rows or none");
        let first = self.content.get_or_insert_with(|| content.clone());
        ensure!(content == *first, "other values than another way stored");
        Ok(())
    }
}

/// Returns the version of the shell, the first word of its output.
fn shell_version(runner: &Runner, sqlite3: &Path) -> anyhow::Result<String> {
    let said = runner.run(Command::new(sqlite3).arg("--version"))?.stdout;
    Ok(said.split_whitespace().next().unwrap_or("unknown").to_owned())
}
