//! Compares a partial index with other indexes: five million users, of whom one in fifty is active, and a query for the active users of an
//! area.
//!
//! `cargo run --release -p sqluice --example partial_index [ROWS]`
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::Connection;
use sqluice::generate::Generate;
use sqluice::schema::Schema;

const SCHEMA: &str = "CREATE TABLE user (
  id     INTEGER NOT NULL PRIMARY KEY,
  area   CHAR(6),            -- gen: digits(6)
  age    INTEGER NOT NULL,   -- gen: choice(5, 10, 15)
  active INTEGER NOT NULL    -- gen: choice(0: 49, 1)
);";

/// The number of times that the query runs, each time for another area.
const QUESTIONS: u32 = 20;

fn main() -> Result<(), Box<dyn Error>> {
    let rows = std::env::args().nth(1).map_or(Ok(5_000_000), |rows| rows.parse())?;
    let folder = tempfile::tempdir()?;
    let target = folder.path().join("user.db");
    let generate = Generate::new(target.clone(), Schema::parse(SCHEMA.to_owned(), Path::new("user.sql"))?)
        .rows(rows)
        .seed(1);
    let report = generate.run()?;
    println!("{rows} users in {:.2} s, {} MB", report.seconds, report.bytes / 1_000_000);
    println!("{:44} {:>10} {:>8} {:>14}", "", "made in", "size", "a question");
    let connection = Connection::open(&target)?;
    for (told, index) in [
        ("no index", None),
        ("all users: (area)", Some("ON user (area)")),
        ("all users: (area, active)", Some("ON user (area, active)")),
        ("active users alone: (area) WHERE active = 1", Some("ON user (area) WHERE active = 1")),
    ] {
        let before = pages(&connection)?;
        let started = Instant::now();
        if let Some(index) = index {
            connection.execute_batch(&format!("CREATE INDEX i {index}"))?;
        }
        let (made, bytes) = (started.elapsed(), pages(&connection)? - before);
        let question = ask(&connection)?;
        let (made, megabytes) = (made.as_secs_f64(), bytes as f64 / 1e6);
        println!("{told:44} {made:8.2} s {megabytes:5.1} MB {:11.1} us", question.as_secs_f64() * 1e6);
        // VACUUM removes the free pages, so that the next index is counted alone.
        connection.execute_batch("DROP INDEX IF EXISTS i; VACUUM")?;
    }
    Ok(())
}

/// Returns the number of bytes of the database.
fn pages(connection: &Connection) -> rusqlite::Result<u64> {
    connection.query_row(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size",
        [],
        |row| row.get::<_, i64>(0).map(i64::unsigned_abs),
    )
}

/// Returns the average time of a query for the active users of an area.
fn ask(connection: &Connection) -> rusqlite::Result<Duration> {
    let mut question = connection
        .prepare("SELECT count(*), max(age) FROM user WHERE active = 1 AND area = printf('%06d', ?1)")?;
    let started = Instant::now();
    for area in 0..QUESTIONS {
        question.query_row([area * 7919], |row| row.get::<_, i64>(0))?;
    }
    Ok(started.elapsed() / QUESTIONS)
}
