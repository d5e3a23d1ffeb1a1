//! How fast a load of NDJSON is beside serde_json and a prepared INSERT of 50 rows, in turns, on TPC-H lineitem:
//! `cargo run --release -p sqluice --example json_speed [SCALE]`. Both make the same table, which is compared.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use sqluice::load::Load;
use sqluice::progress::{Cancel, Silent};
use tpchgen::csv::LineItemCsv;
use tpchgen::generators::LineItemGenerator;

const ROUNDS: usize = 3;

/// Rows of an INSERT.
const ROWS: usize = 50;

/// The columns of lineitem that are text.
const TEXTS: [usize; 7] = [8, 9, 10, 11, 12, 13, 14];

fn main() -> Result<(), Box<dyn Error>> {
    let scale = std::env::args().nth(1).map_or(Ok(0.1), |scale| scale.parse())?;
    let folder = tempfile::tempdir_in(".")?;
    let (file, ours, theirs) = (
        folder.path().join("lineitem.ndjson"),
        folder.path().join("ours.db"),
        folder.path().join("theirs.db"),
    );
    let rows = write(&file, scale)?;
    let bytes = std::fs::metadata(&file)?.len();
    println!("{rows} rows, {} MB", bytes / 1_000_000);
    let mut best = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        let (_, _) = (std::fs::remove_file(&ours), std::fs::remove_file(&theirs));
        let start = Instant::now();
        Load::new(&ours, [&file]).prepare(&Cancel::new())?.run(&Silent)?;
        best[0] = best[0].min(start.elapsed());
        let start = Instant::now();
        insert(&file, &theirs)?;
        best[1] = best[1].min(start.elapsed());
    }
    same(&ours, &theirs)?;
    let [ours, theirs] = best.map(|best| best.as_secs_f64());
    println!("sqluice {ours:.2} s, {:.0} MB/s", bytes as f64 / 1e6 / ours);
    println!("serde_json and INSERT {theirs:.2} s: {:.1} times as long", theirs / ours);
    Ok(())
}

/// Writes lineitem, one object a line; how many rows that is.
fn write(file: &Path, scale: f64) -> Result<usize, Box<dyn Error>> {
    let mut out = BufWriter::new(File::create(file)?);
    let names: Vec<&str> = LineItemCsv::header().split(',').collect();
    let mut rows = 0;
    for line in LineItemGenerator::new(scale, 1, 1).iter().map(LineItemCsv::new) {
        let line = line.to_string();
        // The comment comes last, and is quoted if it must be.
        let values = line.splitn(names.len(), ',').enumerate().map(|(column, value)| {
            let value = value.trim_matches('"');
            let is_text = TEXTS.contains(&column) || column == names.len() - 1;
            if is_text {
                format!("{:?}:{value:?}", names[column])
            } else {
                format!("{:?}:{value}", names[column])
            }
        });
        writeln!(out, "{{{}}}", values.collect::<Vec<_>>().join(","))?;
        rows += 1;
    }
    out.flush()?;
    Ok(rows)
}

/// The other way.
fn insert(file: &Path, target: &Path) -> Result<(), Box<dyn Error>> {
    let db = Connection::open(target)?;
    db.execute_batch("PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA locking_mode = exclusive")?;
    let names: Vec<&str> = LineItemCsv::header().split(',').collect();
    db.execute_batch(&format!("CREATE TABLE lineitem ({}); BEGIN", names.join(", ")))?;
    let row = format!("({})", vec!["?"; names.len()].join(", "));
    let sql = |rows| format!("INSERT INTO lineitem VALUES {}", vec![row.as_str(); rows].join(", "));
    let mut full = db.prepare(&sql(ROWS))?;
    let mut values: Vec<Value> = Vec::new();
    for line in BufReader::new(File::open(file)?).lines() {
        let object: serde_json::Map<String, serde_json::Value> = serde_json::from_str(&line?)?;
        values.extend(names.iter().map(|name| match &object[*name] {
            serde_json::Value::String(text) => Value::Text(text.clone()),
            number => number.as_i64().map_or_else(|| Value::from(number.as_f64()), Value::Integer),
        }));
        if values.len() == ROWS * names.len() {
            full.execute(params_from_iter(values.drain(..)))?;
        }
    }
    let left = values.len() / names.len();
    if left > 0 {
        db.execute(&sql(left), params_from_iter(values))?;
    }
    db.execute_batch("COMMIT")?;
    Ok(())
}

fn same(one: &Path, other: &Path) -> Result<(), Box<dyn Error>> {
    let db = Connection::open(one)?;
    db.execute("ATTACH ?1 AS other", [other.to_string_lossy()])?;
    let sql = "SELECT count(*) FROM (SELECT * FROM main.lineitem EXCEPT SELECT * FROM other.lineitem)";
    let differ: i64 = db.query_row(sql, [], |row| row.get(0))?;
    let sql = "SELECT (SELECT count(*) FROM main.lineitem) = (SELECT count(*) FROM other.lineitem)";
    let as_many: bool = db.query_row(sql, [], |row| row.get(0))?;
    if differ == 0 && as_many { Ok(()) } else { Err(format!("{differ} rows differ").into()) }
}
