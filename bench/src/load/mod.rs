//! Loading a file into a new database: `sqluice load` compared with other loaders. The rows are TPC-H's `lineitem`.
//!
//! ```text
//!  csv:      import    -> verified     sqlite3, its defaults, into the declared table: the usual way
//!            unsafe    -> verified     `import` with unsafe PRAGMAs, and an fsync at the end
//!            declared  -> verified     sqluice load --schema
//!            inferred  -> verified     sqluice load, which infers the columns' types
//!            ten       -> verified     `declared` with ten times the rows
//!  parquet:  adbc      -> verified     pyarrow reads, ADBC ingests; without Python's start and imports
//!            parquet   -> verified     sqluice load
//!  json:     sqlite_utils  -> verified   sqlite-utils insert --nl; a tenth of the rows, like the following ways
//!            serde_json    -> verified   serde_json into a struct, 50 rows in each prepared INSERT, unsafe PRAGMAs, fsync
//!            json          -> verified   sqluice load
//!  files:    files_import  -> counted    sqlite3, .import of each of 1,500 small files into its own table, one transaction
//!            files, files_older          sqluice load of all of them, a table for each: counted; also by an older sqluice, if given
//!            files_table, ..._older      sqluice load --table, all files into one table: verified; also by the older sqluice
//!  dump:     shell         -> verified   sqlite3, .read of the .dump of a million rows with an index
//!            dump          -> verified   sqluice load of this .dump
//!            my_sql_dump, postgres_dump  sqluice load of these rows in the formats of mysqldump and of pg_dump: verified
//!  archives: archive_unzip -> counted    unzip of a ZIP archive with 20 CSV files, and sqluice load of the folder
//!            archive       -> counted    sqluice load of the archive
//!            folder_import -> counted    sqlite3, .import of each of 1,000 CSV files in a folder
//!            folder        -> counted    sqluice load of the folder
//!  spreadsheets:
//!            pandas        -> verified   pandas.read_excel and to_sql of a million cells; without Python's start and imports
//!            spreadsheet   -> verified   sqluice load of the same workbook
//!  expressions:
//!            whole     -> verified     sqluice load of the CSV file
//!            filtered  -> verified     `whole` with --where on a number, which keeps all rows
//!            added     -> verified     `whole` with three columns that --set adds
//!            half      -> verified     `added` with half of the rows
//!            duckdb    -> verified     as `half`: DuckDB, CREATE TABLE ... AS SELECT in an attached SQLite file; without Python's start
//! ```
//!
//! "Counted" means that only the rows are counted. Every second round runs in reverse order. Before each lap the input is read into the
//! page cache. All ways with the same rows must store the same values in all columns. SQLite's quick_check is run at least once for each
//! way.

mod archives;
mod data;
mod dumps;
mod expressions;
mod files;
mod ndjson;
mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::Args;
use serde_json::{Value, json};

use self::data::{COLUMNS, Input, SCHEMA, lineitem};
use self::expressions::Content;
use self::verify::Sums;
use crate::house::{House, Start, said};
use crate::lap::{Lap, cores, memory, rate, seconds, spread};
use crate::options::{Options, factor, say};
use crate::process::{Runner, Took};
use crate::ratio::{self, Compared, processors};
use crate::rounds::{Way, laps, only, rounds, way};
use crate::shell::{quoted, version_of};
use crate::sqluice::Sqluice;
use crate::words::Words;
use crate::{UNSAFE_PRAGMAS, grouped, lap, size, sync, words};

/// The command line of the comparison of loads.
#[derive(Clone, Debug, Args)]
#[command(
    about = "Compares loading CSV, Parquet, NDJSON, SQL and XLSX files with other programs, in alternating rounds"
)]
pub struct Settings {
    /// Scale of TPC-H: 1 is 6 million rows
    #[arg(long, default_value = "1", value_name = "SF", value_parser = factor)]
    scale: f64,
    /// Loads a part only: csv, parquet, json, files, dump, archives, spreadsheets, expressions; can be repeated
    #[arg(long, value_name = "PART")]
    only: Vec<String>,
    /// Leaves out the load of ten times the rows
    #[arg(long)]
    no_ten: bool,
    /// An older sqluice, for the part `files`
    #[arg(long, value_name = "FILE")]
    older: Option<PathBuf>,
    #[command(flatten)]
    options: Options,
}

type Ran = anyhow::Result<(Took, Option<String>)>;

/// Returns the ways, in the order of a round. Other loaders precede sqluice, because their content is the expected content.
fn ways<'a>() -> Vec<Way<Track<'a>, Ran>> {
    vec![
        way("csv", "import", "`sqlite3`, `.import` into declared columns", |track| track.import("")),
        way("csv", "unsafe", "the same with unsafe PRAGMAs, fsync", Track::import_unsafe),
        way("csv", "declared", "`sqluice load --schema`, durable", Track::load_declared),
        way("csv", "inferred", "`sqluice load`, inferred, durable", Track::load),
        way("csv", "ten", "`sqluice load --schema`, ten times the rows", Track::load_declared),
        way(
            "parquet",
            "adbc",
            "`pyarrow.parquet.read_table`, `adbc_ingest`, without Python's start",
            |track| track.python(FRAMES, "ingest", &[]),
        ),
        way("parquet", "parquet", "`sqluice load`, durable", Track::load),
        way("json", "sqlite_utils", "`sqlite-utils insert --nl`", Track::sqlite_utils),
        way(
            "json",
            "serde_json",
            "`serde_json`, 50 rows a prepared INSERT, unsafe PRAGMAs, fsync",
            |track| Ok((track.house.own(&words!["insert", track.input.file, track.target()])?, None)),
        ),
        way("json", "json", "`sqluice load`, durable", Track::load),
        way("files", "files_import", "`sqlite3`, `.import` of each file", |track| {
            track.import_files(files::FILES)
        }),
        way("files", "files_older", "an older `sqluice load`, a table for each file, durable", |track| {
            track.load_files(true, &[])
        }),
        way("files", "files", "`sqluice load`, a table for each file, durable", |track| {
            track.load_files(false, &[])
        }),
        way("files", "files_table", "`sqluice load --table`, durable", |track| {
            track.load_files(false, &words!["--table", "lineitem"])
        }),
        way("files", "files_table_older", "an older `sqluice load --table`, durable", |track| {
            track.load_files(true, &words!["--table", "lineitem"])
        }),
        way("dump", "shell", "`sqlite3`, `.read` of its `.dump`", |track| track.read(&track.input.file)),
        way("dump", "dump", "`sqluice load` of the `.dump`, durable", Track::load),
        way("dump", "my_sql_dump", "`sqluice load` of a dump as of mysqldump, durable", Track::load),
        way("dump", "postgres_dump", "`sqluice load` of a dump as of pg_dump, durable", Track::load),
        way(
            "archives",
            "archive_unzip",
            "`unzip`, and `sqluice load` of the 20 files, durable",
            Track::unzip_and_load,
        ),
        way("archives", "archive", "`sqluice load` of the archive, durable", Track::load),
        way("archives", "folder_import", "`sqlite3`, `.import` of each of 1,000 files", |track| {
            track.import_files(archives::FILES)
        }),
        way("archives", "folder", "`sqluice load` of the folder of 1,000 files, durable", Track::load),
        way("spreadsheets", "pandas", "`pandas.read_excel`, `to_sql`, without Python's start", |track| {
            track.python(SHEETS, "load", &[])
        }),
        way("spreadsheets", "spreadsheet", "`sqluice load`, durable", Track::load),
        way("expressions", "whole", "`sqluice load`, without expressions, durable", |track| {
            track.load_some(&[])
        }),
        way("expressions", "filtered", "with `--where` on a number, which keeps all rows", |track| {
            track.load_some(&words!["--where", expressions::ALL])
        }),
        way(
            "expressions",
            "added",
            "with `lower(l_comment)`, `l_extendedprice * (1 - l_discount)`, `substr(l_shipdate, 1, 7)`",
            |track| track.load_some(&expressions::added()),
        ),
        way("expressions", "half", "the same with half of the rows", |track| {
            let filter = words!["--where", expressions::HALF];
            track.load_some(&[&expressions::added()[..], &filter].concat())
        }),
        way(
            "expressions",
            "duckdb",
            "DuckDB, `CREATE TABLE ... AS SELECT` of the same in an attached SQLite file, without Python's start",
            |track| track.python(DUCK, "select", &words![expressions::columns(), expressions::HALF]),
        ),
    ]
}

const RATIOS: &[Compared] = &[
    (
        "time of `.import` to `load --schema`",
        |round| ratio::time(round, "import", "declared"),
        "at least 10, aim 20",
    ),
    (
        "time of `.import` with unsafe PRAGMAs to `load --schema`",
        |round| ratio::time(round, "unsafe", "declared"),
        "",
    ),
    (
        "time of `load`, inferred, to `load --schema`",
        |round| ratio::time(round, "inferred", "declared"),
        "at most 1.40",
    ),
    ("time of ten times the rows to once", |round| ratio::time(round, "ten", "declared"), "10 within 15%"),
    (
        "peak memory of ten times the rows to once",
        |round| ratio::ratio(round, "ten", "declared", |lap| lap.memory_bytes as f64),
        "",
    ),
    (
        "time of pyarrow and ADBC to `load`, Parquet",
        |round| ratio::time(round, "adbc", "parquet"),
        "at least 4",
    ),
    (
        "time of `sqlite-utils insert --nl` to `load`, NDJSON",
        |round| ratio::time(round, "sqlite_utils", "json"),
        "at least 5",
    ),
    (
        "time of `serde_json` and a 50-row INSERT to `load`, NDJSON",
        |round| ratio::time(round, "serde_json", "json"),
        "at least 3",
    ),
    (
        "time of `load` of many files to that of the older one",
        |round| ratio::time(round, "files", "files_older"),
        "at most 0.5",
    ),
    (
        "time of `load --table` of many files to that of the older one",
        |round| ratio::time(round, "files_table", "files_table_older"),
        "at most 0.5",
    ),
    ("time of `.import` of many files to `load`", |round| ratio::time(round, "files_import", "files"), ""),
    ("time of `sqlite3` to `load` of its dump", |round| ratio::time(round, "shell", "dump"), "aim 20"),
    (
        "processor time of `sqlite3` to `load` of its dump",
        |round| processors(round, "shell", "dump"),
        "aim 12",
    ),
    (
        "time of `load` of a dump as of mysqldump to the `.dump`",
        |round| ratio::time(round, "my_sql_dump", "dump"),
        "at most 1.5",
    ),
    (
        "time of `load` of a dump as of pg_dump to the `.dump`",
        |round| ratio::time(round, "postgres_dump", "dump"),
        "at most 1.5",
    ),
    (
        "processor time of `unzip` and `load` to `load` of the archive",
        |round| processors(round, "archive_unzip", "archive"),
        "at least 1",
    ),
    (
        "time of `unzip` and `load` to `load` of the archive",
        |round| ratio::time(round, "archive_unzip", "archive"),
        "",
    ),
    (
        "time of `.import` of the files in a folder to `load` of the folder",
        |round| ratio::time(round, "folder_import", "folder"),
        "",
    ),
    (
        "time of `pandas.read_excel` and `to_sql` to `load`, XLSX",
        |round| ratio::time(round, "pandas", "spreadsheet"),
        "at least 15",
    ),
    (
        "processor time of `load` with a filter to without",
        |round| processors(round, "filtered", "whole"),
        "at most 1.3",
    ),
    (
        "processor time of `load` with three computed columns to without",
        |round| processors(round, "added", "whole"),
        "at most 4",
    ),
    (
        "time of DuckDB to `load`, half of the rows and computed columns",
        |round| ratio::time(round, "duckdb", "half"),
        "at least 4",
    ),
    ("processor time of DuckDB to `load`, the same", |round| processors(round, "duckdb", "half"), ""),
];

/// The Python programs of ways that use pyarrow, pandas or DuckDB.
const FRAMES: &str = include_str!("frames.py");
const SHEETS: &str = include_str!("sheets.py");
const DUCK: &str = include_str!("duck.py");

/// The number of copies of the rows in the input of the way `ten`.
const TIMES: u64 = 10;

/// The divisor of the row count for the part `json`.
const TENTH: u64 = 10;

/// The maximum number of rows of a dump.
const DUMP_ROWS: u64 = 1_000_000;

/// The maximum number of cells of a workbook.
const CELLS: u64 = 1_000_000;

/// Returns the format of a part's files, and the maximum disk space of the files that are derived from the CSV file, in bytes.
fn format_of(part: &str, csv: &Input, times: u64) -> (&'static str, f64) {
    let bytes = csv.bytes as f64;
    match part {
        "csv" => ("CSV", if times == 1 { 0.0 } else { times as f64 * bytes }),
        "parquet" => ("Parquet", bytes),
        // Each line repeats the names of the columns.
        "json" => ("NDJSON", 5.0 * bytes / TENTH as f64),
        "files" => ("CSV", bytes / 10.0),
        // Three dumps, and the database of the first.
        "dump" => ("SQL", 7.0 * bytes * DUMP_ROWS.min(csv.rows) as f64 / csv.rows as f64),
        // The archive, its members before it is written or after it is extracted, and the small files.
        "archives" => ("ZIP", 2.0 * bytes + bytes / archives::SMALL as f64),
        // A workbook has only some of the rows, and is compressed.
        "spreadsheets" => ("XLSX", bytes),
        _ => ("CSV", 0.0),
    }
}

/// Runs the lap `name` in this process, which the comparison has started for this lap. Returns the result of the lap.
///
/// # Errors
/// The errors of the lap.
pub fn lap(name: &str, words: &mut Words) -> anyhow::Result<Value> {
    let file = words.path()?;
    match name {
        "insert" => said(ndjson::insert(&file, &words.path()?)?),
        _ => said(verify::verify(&file, words.ends_with("quick_check")?)?),
    }
}

/// Runs the comparison, prints the results and saves the record.
///
/// # Errors
/// When a program is missing, or a way stores other values than another.
pub fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let (options, programs) = (&settings.options, &settings.options.programs);
    let mut ways = only(ways(), &settings.only)?;
    ways.retain(|way| way.name != "ten" || !settings.no_ten);
    ways.retain(|way| !way.name.ends_with("_older") || settings.older.is_some());
    let mut parts: Vec<&'static str> = ways.iter().map(|way| way.part).collect();
    parts.dedup();
    let mut start = Start::new(options, runner)?;
    if parts.iter().any(|part| ["csv", "files", "dump", "archives"].contains(part)) {
        start = start.with_shell()?;
    }
    for part in &parts {
        let beside = match (*part, &settings.older) {
            ("parquet", _) => programs.versions(runner, FRAMES, "pyarrow or ADBC")?,
            ("spreadsheets", _) => programs.versions(runner, SHEETS, "openpyxl or pandas")?,
            ("expressions", _) => programs.versions(runner, DUCK, "DuckDB or its extension for SQLite")?,
            ("json", _) => version_of(runner, &programs.sqlite_utils)?,
            ("files", Some(older)) => format!("older {}", version_of(runner, older)?),
            _ => continue,
        };
        start.beside.push(beside);
    }
    start.introduce()?;

    let (once, made_by) = lineitem(runner, &programs.tpchgen, &options.dir(), settings.scale)?;
    say(&format!("input: {} rows, made by {made_by}\n", grouped(once.rows)))?;
    start.beside.push(format!("input by {made_by}"));
    let times = if ways.iter().any(|way| way.name == "ten") { TIMES } else { 1 };
    // A database takes at most 1.5 times the bytes of the CSV file.
    let database = times as f64 * once.bytes as f64 * 1.5;
    let bytes = database + parts.iter().map(|part| format_of(part, &once, times).1).sum::<f64>();
    let house = start.house(bytes as u64)?;
    house.write("lineitem.sql", SCHEMA)?;
    let mut files = BTreeMap::new();
    for way in &ways {
        for name in [way.part, way.name] {
            if !files.contains_key(name)
                && let Some(input) = input(name, &once, &house)?
            {
                files.insert(name, input);
            }
        }
    }
    let mut track = Track {
        settings,
        house: &house,
        input: once.clone(),
        stored: BTreeMap::new(),
        content: None,
        checked: BTreeSet::new(),
    };
    let of = |way: &Way<_, _>| {
        let own = if way.name == "folder_import" { "folder" } else { way.name };
        files.get(own).or_else(|| files.get(way.part))
    };
    let rounds = rounds(options.rounds, &ways, |way, _| {
        track.input = of(way).cloned().context("every way has its file")?;
        track.input.warm()?;
        let (took, output) = (way.run)(&mut track)?;
        let lap = Lap::new(&took, track.input.rows, size(&track.target())?, output);
        let lap = lap.verified(way.name, || {
            track.verify(way).with_context(|| format!("the database of {:?}", way.name))?;
            house.remove(TARGET)
        });
        lap.map(Some)
    })?;

    let mut text = String::new();
    for part in parts {
        let (format, _) = format_of(part, &once, times);
        let Some(input) = files.get(part) else { continue };
        let per_second = format!("MB/s of {format}");
        let first = format!(
            "`lineitem` at scale {}: {} rows, {:.0} MB of {format}",
            settings.scale,
            grouped(input.rows),
            input.bytes as f64 / 1e6
        );
        for (at, way) in ways.iter().filter(|way| way.part == part).enumerate() {
            // The mean size of a row, which is the same in the input of `ten`.
            let row_bytes = of(way).map_or(0.0, |input| input.bytes as f64 / input.rows as f64);
            let megabytes =
                |laps: &[&Lap]| format!("{:.0}", spread(laps, |lap| lap.rate() * row_bytes / 1e6));
            let columns: [lap::Column<'_>; 5] = [
                ("seconds: median (min..max)", &seconds),
                ("on cores", &cores),
                ("M rows/s", &rate),
                (&per_second, &megabytes),
                ("peak memory", &memory),
            ];
            if at == 0 {
                text += &lap::head(&first, &columns);
            }
            text += &lap::row(way.title, &columns, &laps(&rounds, way.name));
        }
        text.push('\n');
    }
    let facts = json!({ "scale": settings.scale, "made_by": made_by, "files": files });
    house.finish("load", facts, &ways, &rounds, RATIOS, &text)
}

/// Creates the input of a part, or of a way with an input of its own, from the rows of a CSV file.
fn input(name: &str, csv: &Input, house: &House<'_>) -> anyhow::Result<Option<Input>> {
    let (programs, runner) = (&house.options.programs, house.runner);
    let cannot = |file: &PathBuf| format!("cannot write {}", file.display());
    Ok(Some(match name {
        "csv" | "expressions" => csv.clone(),
        "ten" => csv.repeated(TIMES, house.file("lineitem.csv"))?,
        "parquet" => {
            let file = house.file("lineitem.parquet");
            programs.python(runner, FRAMES, &words!["parquet", csv.file, file])?;
            Input::made(file, csv.rows)?
        }
        "json" => {
            let (file, rows) = (house.file("lineitem.ndjson"), csv.rows / TENTH);
            ndjson::write(&csv.file, rows, &file).with_context(|| cannot(&file))?;
            Input::made(file, rows)?
        }
        "files" => files::write(&csv.file, &house.file("files"))?,
        "dump" | "my_sql_dump" | "postgres_dump" => {
            let (file, rows) = (house.file(&format!("{name}.sql")), csv.rows.min(DUMP_ROWS));
            match name {
                "dump" => dumps::sqlite(&csv.file, rows, &programs.sqlite3, &house.file("dump.db"), &file)?,
                "my_sql_dump" => dumps::mysql(&csv.file, rows, &file).with_context(|| cannot(&file))?,
                _ => dumps::postgres(&csv.file, rows, &file).with_context(|| cannot(&file))?,
            }
            Input::made(file, rows)?
        }
        "archives" => {
            archives::write_archive(runner, csv, &house.file("members"), &house.file("lineitem.zip"))?
        }
        "folder" => archives::write_folder(csv, &house.file("small"))?,
        "spreadsheets" => {
            let (file, rows) = (house.file("lineitem.xlsx"), csv.rows.min(CELLS / COLUMNS as u64));
            programs.python(runner, SHEETS, &words!["book", csv.file, rows, file])?;
            Input::made(file, rows)?
        }
        _ => return Ok(None),
    }))
}

/// The database of a lap.
const TARGET: &str = "load.db";

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    settings: &'a Settings,
    house: &'a House<'a>,
    /// The input of the current way.
    input: Input,
    /// By number of rows: the first way that stored so many rows, and its sums, which are the expected sums of later ways.
    stored: BTreeMap<u64, (&'static str, Sums)>,
    /// The content that the first way of the part `expressions`, which keeps all rows, has stored; `None` before its first lap.
    content: Option<Content>,
    /// The ways whose databases SQLite has checked.
    checked: BTreeSet<&'static str>,
}

impl Track<'_> {
    fn target(&self) -> PathBuf {
        self.house.file(TARGET)
    }

    fn import(&mut self, pragmas: &str) -> Ran {
        let import = format!(".import --skip 1 {} lineitem", quoted(&self.input.file)?);
        let mut command = self.house.options.programs.shell(&self.target());
        command.args([pragmas, SCHEMA, ".mode csv", &import]);
        Ok((self.house.runner.run(&mut command)?, None))
    }

    /// Runs `.import` with unsafe PRAGMAs, then syncs the file, as all other ways do.
    fn import_unsafe(&mut self) -> Ran {
        let (mut took, _) = self.import(UNSAFE_PRAGMAS)?;
        let start = Instant::now();
        sync(&self.target())?;
        took.seconds += start.elapsed().as_secs_f64();
        Ok((took, None))
    }

    fn load(&mut self) -> Ran {
        self.load_with(&self.input, &[])
    }

    fn load_declared(&mut self) -> Ran {
        self.load_with(&self.input, &words!["--schema", self.house.file("lineitem.sql")])
    }

    fn load_with(&self, input: &Input, more: &[OsString]) -> Ran {
        let words = [&words!["load", self.target(), input.file], more].concat();
        let (took, report) = self.house.sqluice.write(&words, input.rows)?;
        Ok((took, Some(report.output)))
    }

    /// Runs `sqluice load` for an input with only some of the rows.
    fn load_some(&mut self, more: &[OsString]) -> Ran {
        let words = [&words!["load", self.target(), self.input.file], more].concat();
        Ok((self.house.sqluice.run(&words)?, None))
    }

    fn python(&mut self, program: &str, verb: &str, more: &[OsString]) -> Ran {
        let words = [&words![verb, self.input.file, self.target()], more].concat();
        self.house.options.programs.timed(self.house.runner, (program, "reading"), &words)
    }

    fn read(&self, commands: &std::path::Path) -> Ran {
        let mut command = self.house.options.programs.shell(&self.target());
        command.arg(format!(".read {}", quoted(commands)?));
        Ok((self.house.runner.run(&mut command)?, None))
    }

    /// Imports each of these files into its own table, in one transaction.
    fn import_files(&mut self, files: u64) -> Ran {
        let commands = self.house.write("import.txt", &files::imports(&self.input.file, files)?)?;
        self.read(&commands)
    }

    fn unzip_and_load(&mut self) -> Ran {
        let folder = self.house.file("extracted");
        let unzipped = archives::unzip(self.house.runner, &self.input.file, &folder)?;
        let extracted = Input::of_folder(folder.clone(), self.input.rows, self.input.bytes);
        let (took, output) = self.load_with(&extracted, &[])?;
        std::fs::remove_dir_all(&folder)?;
        Ok((unzipped.then(took), output))
    }

    fn load_files(&mut self, older: bool, more: &[OsString]) -> Ran {
        let words = [&words!["load", self.target(), self.input.file.join("part-*.csv")], more].concat();
        let older = self.settings.older.as_ref().filter(|_| older);
        let older = older.map(|file| Sqluice::new(self.house.runner, file.clone()));
        let (took, report) = older.as_ref().unwrap_or(&self.house.sqluice).write(&words, self.input.rows)?;
        Ok((took, Some(report.output)))
    }

    fn sqlite_utils(&mut self) -> Ran {
        let mut command = std::process::Command::new(&self.house.options.programs.sqlite_utils);
        command.args(words!["insert", self.target(), "lineitem", self.input.file, "--nl"]);
        Ok((self.house.runner.run(&mut command)?, None))
    }

    /// Compares the values that a way stored with those of the first way that stored as many rows. Some ways are only counted.
    fn verify(&mut self, way: &Way<Self, Ran>) -> anyhow::Result<()> {
        let (target, rows) = (self.target(), self.input.rows);
        if way.part == "expressions" {
            return self.verify_expressions(way.name);
        }
        let counted = ["files_import", "files_older", "files"].contains(&way.name) || way.part == "archives";
        if counted {
            // Each file is in its own table, so only the total of rows is checked.
            let found = verify::rows_of_all(&target)?;
            ensure!(found == rows, "{found} rows instead of {rows}");
            return Ok(());
        }
        let words = words!["verify", target, "quick_check"];
        let words = if self.checked.insert(way.name) { &words[..] } else { &words[..2] };
        let (_, sums): (_, Sums) = self.house.asked(words)?;
        ensure!(sums.rows == rows, "{} rows instead of {rows}", sums.rows);
        let times = if way.name == "ten" { TIMES } else { 1 };
        let (first, stored) = self.stored.entry(rows / times).or_insert_with(|| (way.name, sums.clone()));
        let expected = stored.times(times);
        let columns = sums.differing(&expected);
        ensure!(sums == expected, "other values than {first:?} stored, in {columns}");
        Ok(())
    }

    /// Compares the content with that of the first way, which keeps all rows.
    fn verify_expressions(&mut self, name: &str) -> anyhow::Result<()> {
        let content = Content::of(!["whole", "filtered"].contains(&name), &self.target())?;
        if ["half", "duckdb"].contains(&name) {
            // The first round begins with the way `whole`, so its content is known even in rounds in reverse order.
            let all = self.content.as_ref().context("the first way keeps all rows")?;
            ensure!(content == all.filtered(), "other rows, or other values");
            return Ok(());
        }
        let (found, rows) = (content.rows(), self.input.rows);
        ensure!(found == rows as i64, "{found} rows instead of {rows}");
        ensure!(content.is_filtered_by_half(), "the filter keeps all rows or none");
        let first = self.content.get_or_insert_with(|| content.clone());
        ensure!(content == *first, "other values than another way stored");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ratio::{lines, ratios_of_parts};

    #[test]
    fn a_claim_is_reported_as_met_or_short() {
        let laps = [
            ("import", 9.9),
            ("declared", 1.0),
            ("inferred", 1.4),
            ("ten", 11.6),
            ("adbc", 4.0),
            ("parquet", 1.0),
            ("serde_json", 2.9),
            ("json", 1.0),
        ];
        let lines = lines(RATIOS, laps);
        assert_eq!(lines.len(), 6, "{lines:?}");
        assert!(lines[0].ends_with("| 9.90 (9.90..9.90) | at least 10, aim 20 | short |"), "{lines:?}");
        assert!(lines[1].ends_with("| at most 1.40 | met |"), "{lines:?}");
        assert!(lines[2].ends_with("| 10 within 15% | short |"), "{lines:?}");
        assert!(lines[3].ends_with("| 1.00 (1.00..1.00) |  |  |"), "{lines:?}");
        assert!(lines[4].ends_with("| 4.00 (4.00..4.00) | at least 4 | met |"), "{lines:?}");
        assert!(lines[5].ends_with("| 2.90 (2.90..2.90) | at least 3 | short |"), "{lines:?}");
    }

    #[test]
    fn every_ratio_compares_ways_of_the_same_part() {
        let parts = ["csv", "parquet", "json", "files", "dump", "archives", "spreadsheets", "expressions"];
        assert_eq!(ratios_of_parts(&ways(), RATIOS, &parts), [5, 1, 2, 3, 4, 3, 1, 4]);
    }
}
