//! The experiment `billion-variants`: filling a table of a billion rows in Rust and in Python. The seconds in the publication are for 100
//! million rows, and are converted to rows per second.

use std::fs;
use std::path::Path;
use std::process::Command;

use sqluice::batch::{Batch, Value};
use sqluice::r#gen::Spec;
use sqluice::generate::{Generate, Preset};
use sqluice::source::{Refused, Source};

use crate::case::{Case, Digest, Experiment, Found, Ground, Result, RowHash, Took};
use crate::insert::{Insert, Way};
use crate::record::Skip;
use crate::scale::{Counts, Scale};
use crate::sql::{self, BILLION, Pragma};
use crate::table::{Filled, Table};

use super::inserts::ROWS;

/// The seconds in the publication are for this number of rows.
const PUBLISHED_ROWS: f64 = 1e8;

/// The number of rows in a statement of the publication's batched variants.
const BATCH: usize = 50;

const SCRIPT: &str = include_str!("billion.py");

/// The PRAGMAs of the publication on a billion rows that have an effect on an in-memory database.
const IN_MEMORY: &[Pragma] = &[("journal_mode", "OFF"), ("synchronous", "OFF"), ("temp_store", "MEMORY")];

pub(super) fn all(scale: Scale) -> Vec<Experiment> {
    let rows = Counts::new(10_000, 1_000_000, 100_000_000).at(scale);
    let table = Table::user(rows, false);
    let rust = |way| Insert::new(&table, way).pragmas(BILLION).case();
    let rate = |seconds: f64| PUBLISHED_ROWS / seconds;
    let (python, pypy) = (interpreter("python3"), interpreter("pypy3"));
    let script = |interpreter: &Option<&'static str>, what| script(*interpreter, what, &table);
    let experiment = Experiment::new("billion-variants", "rows/s", rows)
        .published_as("CPython, naive loop", script(&python, "naive"), rate)
        .published_as("CPython, batched", script(&python, "batched"), rate)
        .published_as("PyPy, batched", script(&pypy, "batched"), rate)
        .published_as("Rust, naive (SQL text per row)", rust(Way::Text(1)), rate)
        .published_as(
            "Rust, sqlx (async)",
            Case::skipped("sqlx::query(\"INSERT INTO user ...\")", Skip::NotInstalled),
            rate,
        )
        .published_as("Rust, prepared statement reused", rust(Way::Bound(1)), rate)
        .published_as("Rust, prepared, 50 rows per statement", rust(Way::Bound(BATCH)), rate)
        .published_as(
            "Rust, 50 rows per statement, 4 producers and 1 writer",
            rust(Way::Producers(BATCH, 4)),
            rate,
        )
        .published_as(
            "Rust, in memory",
            Insert::new(&table, Way::Bound(BATCH)).pragmas(IN_MEMORY).in_memory().case(),
            rate,
        )
        .published_as("busy loop only, CPython", script(&python, "busy"), rate)
        .published_as("busy loop only, PyPy", script(&pypy, "busy"), rate)
        .published_as("busy loop only, Rust", busy(&table), rate)
        .sqluice("sqluice_rows", rust(Way::Rows(ROWS)))
        .sqluice("sqluice pages, the same rows (synced)", Insert::new(&table, Way::Pages).case())
        .sqluice("sqluice generate (synced)", generate(rows))
        .note("The publication states seconds for 100 million rows, which are shown as rows per second.");
    vec![experiment]
}

/// Returns `name` if this program exists and has SQLite; otherwise `None`.
fn interpreter(name: &'static str) -> Option<&'static str> {
    let output = Command::new(name).args(["-c", "import sqlite3"]).output().ok()?;
    output.status.success().then_some(name)
}

fn script(interpreter: Option<&'static str>, what: &'static str, table: &Table) -> Case {
    let command = format!("billion.py {what} lab.db {}", table.rows);
    let Some(interpreter) = interpreter else { return Case::skipped(command, Skip::NotInstalled) };
    let (busy, run, expected) = (what == "busy", table.clone(), table.clone());
    let case = Case::new(
        format!("{interpreter} {command}"),
        move |ground| run_script(ground, interpreter, what, &run),
        move || Ok(if busy { vec![sum(&expected, expected.rows)] } else { expected.expected() }),
    );
    if busy { case } else { case.settings(sql::statements(BILLION)).disk(table.bytes()) }
}

fn run_script(ground: &Ground<'_>, interpreter: &str, what: &str, table: &Table) -> Result<Took> {
    let (script, file) = (ground.path("billion.py"), ground.file());
    fs::write(&script, SCRIPT)?;
    let rows = if what == "busy" { ground.count(table.rows) } else { table.rows };
    ground.sync()?;
    let mut command = Command::new(interpreter);
    let output = command.arg(&script).arg(what).arg(&file).arg(rows.to_string()).output()?;
    if !output.status.success() {
        return Err(format!("{interpreter}: {}", String::from_utf8_lossy(&output.stderr).trim()).into());
    }
    let said = String::from_utf8(output.stdout)?;
    let mut words = said.split_whitespace();
    let mut word = || words.next().ok_or("the script printed too few values");
    let seconds: f64 = word()?.parse()?;
    let found = if what == "busy" {
        vec![Digest { rows: word()?.parse()?, sum: word()?.parse()? }]
    } else {
        let db = sql::open(&file, &[])?;
        sql::maybe_drop(&db, ground, table.name)?;
        sql::sound(&db)?;
        table.queries().iter().map(|query| sql::digest(&db, query)).collect::<Result<Found>>()?
    };
    Ok(Took::rate(table.rows, seconds, found))
}

/// Returns a case that generates the rows and only sums them up, without SQLite.
fn busy(table: &Table) -> Case {
    let (run, expected) = (table.clone(), table.clone());
    Case::new(
        "the rows are made, and summed up",
        move |ground| {
            let rows = ground.count(run.rows);
            let (found, seconds) = ground.time(|| Ok(vec![sum(&run, rows)]))?;
            Ok(Took::rate(run.rows, seconds, found))
        },
        // The expected sum is computed row by row, without blocks.
        move || {
            let users = (0..expected.rows).map(crate::random::mixed);
            let sums = users.map(|random| {
                random % 1_000_000 + [5, 10, 15][((random >> 32) % 3) as usize] + (random >> 63)
            });
            Ok(vec![Digest { rows: expected.rows, sum: sums.sum() }])
        },
    )
}

fn sum(table: &Table, rows: u64) -> Digest {
    let mut digest = Digest::default();
    let done: Result<(), std::convert::Infallible> = table.blocks(0..rows, 1024, |block| {
        for row in 0..block.rows {
            let values = block.columns.iter().map(|column| match column {
                Filled::Ints(ints) => ints[row] as u64,
                Filled::Text(..) => column.text(row).parse().unwrap_or_default(),
            });
            digest = Digest { rows: digest.rows + 1, sum: digest.sum + values.sum::<u64>() };
        }
        Ok(())
    });
    match done {
        Ok(()) => digest,
    }
}

/// Returns a case that runs `sqluice generate --preset user`: the same table with other values.
fn generate(rows: u64) -> Case {
    const SEED: u64 = 1;
    let make = move |file: &Path| -> Result {
        let generate = Generate::new(file.to_owned(), Preset::find("user")?.schema()?).rows(rows).seed(SEED);
        generate.run()?;
        Ok(())
    };
    let expected = move || {
        let spec = Spec::new(&Preset::find("user")?.schema()?)?;
        let table = spec.table("user").ok_or("the preset has the table")?;
        let mut source = table.source(SEED, rows)?;
        let mut digest = Digest::default();
        while let Some(mut part) = source.next_part()? {
            let mut sink = |batch: &Batch<'_>| -> Result<(), Refused> {
                (0..batch.rows).for_each(|row| digest.add(hash(batch, row)));
                Ok(())
            };
            part.decode(&mut sink)?;
        }
        Ok(vec![digest])
    };
    let run = move |ground: &Ground<'_>| {
        let file = ground.file();
        let ((), seconds) = ground.time(|| make(&file))?;
        let db = sql::open(&file, &[])?;
        sql::maybe_drop(&db, ground, "user")?;
        sql::sound(&db)?;
        let found = vec![sql::digest(&db, "SELECT id, area, age, active FROM user")?];
        Ok(Took::rate(rows, seconds, found).with("database_bytes", sql::file_bytes(&file)? as f64))
    };
    Case::new(format!("sqluice generate lab.db --preset user --rows {rows}"), run, expected).disk(rows * 24)
}

fn hash(batch: &Batch<'_>, row: usize) -> RowHash {
    let mut hash = RowHash::NEW;
    for column in &batch.columns {
        match column.get(row) {
            Value::Null => hash.null(),
            Value::Int(int) => hash.int(int),
            Value::Real(real) => hash.real(real),
            Value::Text(text) => hash.text(text),
            Value::Blob(blob) => hash.blob(blob),
        }
    }
    hash
}
