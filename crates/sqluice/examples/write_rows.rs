//! Writes a million structs as rows of a table, compares the time with that of a prepared INSERT, and then adds a few thousand rows.
//!
//! `cargo run --release -p sqluice --example write_rows`

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use sqluice::options::IfExists;
use sqluice::write::{WriteRows, write_rows};

#[derive(serde::Serialize)]
struct Reading {
    id: u32,
    sensor: String,
    celsius: f64,
    note: Option<&'static str>,
    tags: Vec<u8>,
}

fn reading(id: u32) -> Reading {
    Reading {
        id,
        sensor: format!("sensor-{}", id % 40),
        celsius: f64::from(id % 500) / 10.0,
        note: id.is_multiple_of(100).then_some("calibrated"),
        tags: vec![1, 2],
    }
}

/// Inserts the rows in one transaction by a prepared INSERT. Returns the seconds that this took.
fn insert(db: &Path, rows: impl Iterator<Item = Reading>) -> Result<f64, Box<dyn Error>> {
    let started = Instant::now();
    let mut connection = rusqlite::Connection::open(db)?;
    let sql = "CREATE TABLE reading (id INTEGER, sensor TEXT, celsius REAL, note TEXT, tags TEXT)";
    connection.execute_batch(sql)?;
    let transaction = connection.transaction()?;
    let mut insert = transaction.prepare("INSERT INTO reading VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for row in rows {
        let tags = serde_json::to_string(&row.tags)?;
        insert.execute((row.id, row.sensor, row.celsius, row.note, tags))?;
    }
    drop(insert);
    transaction.commit()?;
    Ok(started.elapsed().as_secs_f64())
}

#[allow(clippy::print_stdout, reason = "it is what an example is for")]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let db = folder.path().join("readings.db");

    let report = write_rows(&db, "reading", (0..1_000_000).map(reading))?;
    println!("{} rows in {:.2} s", report.rows, report.seconds);
    let seconds = insert(&folder.path().join("inserted.db"), (0..1_000_000).map(reading))?;
    println!("a prepared INSERT takes {seconds:.2} s");

    let more = WriteRows::new(&db, "reading").if_exists(IfExists::Append);
    let report = more.run((1_000_000..1_020_000).map(reading))?;
    println!("{} more, by {}", report.rows, report.tables[0].write_path.name());

    let connection = rusqlite::Connection::open(&db)?;
    let sql = "SELECT sensor, count(*), avg(celsius), max(tags) FROM reading GROUP BY sensor LIMIT 3";
    let mut statement = connection.prepare(sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (sensor, count, celsius): (String, u32, f64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        println!("{sensor}: {count} readings, {celsius:.2} degrees, tags {}", row.get::<_, String>(3)?);
    }
    Ok(())
}
