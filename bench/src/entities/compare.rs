//! Entities with two indexed fields, written by the thousand into a new store, then again unchanged, then changed with the same keys.
//!
//! ```text
//!  write_many   `Entities::write_many` of all
//!  rows         the tables of the store, and a prepared INSERT ... ON CONFLICT DO UPDATE for each entity
//!  published    a table of entities and one of index rows: four prepared statements for each entity
//!
//!  small        10,000 of about 150 bytes of JSON          into      10,000 small ones among 100,000 other existing entities
//!  large        10,000 of about 10 kB
//! ```
//!
//! Each write is one transaction of one process in WAL mode, synchronous = FULL, 16 MiB of page cache, with prepared statements. The time
//! is from the entities in memory to the end of the COMMIT, including serialization to JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, ensure};
use clap::ValueEnum;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use sqluice::entity_store::{Entities, EntityStore, EntityType, all};

use crate::machine::{self, Machine};
use crate::options::{Options, say};
use crate::process::Runner;
use crate::random::{mixed, permuted};
use crate::ratio::{self, Compared, Ratio};
use crate::scratch::{Scratch, remove};
use crate::stats::Spread;
use crate::{grouped, lap};

/// The number of entities in a batch at scale 1, and the factor of existing entities, if any.
const ENTITIES: f64 = 10_000.0;
const THERE: u64 = 10;

/// A method to write entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Way {
    /// `Entities::write_many`
    WriteMany,
    /// A prepared statement for each entity
    Rows,
    /// Four for each, of the tables of the article
    Published,
}

/// The entities that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Size {
    /// Entities of 150 bytes
    Small,
    /// The same among ten times as many
    Into,
    /// Entities of 10 kB
    Large,
}

impl Way {
    const ALL: [Way; 3] = [Way::WriteMany, Way::Rows, Way::Published];

    /// Returns the name on the command line, and the title in the table.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Way::WriteMany => ("write-many", "`write_many`"),
            Way::Rows => ("rows", "a statement for each, the same tables"),
            Way::Published => ("published", "statements for each, the tables of the article"),
        }
    }
}

impl Size {
    const ALL: [Size; 3] = [Size::Small, Size::Into, Size::Large];

    fn names(self) -> (&'static str, &'static str) {
        match self {
            Size::Small => ("small", "entities of 150 bytes"),
            Size::Into => ("into", "the same, ten times as many there"),
            Size::Large => ("large", "entities of 10 kB"),
        }
    }

    fn notes_bytes(self) -> usize {
        if self == Size::Large { 9_900 } else { 30 }
    }
}

/// An entity as applications have it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Person {
    id: String,
    email: String,
    age: i64,
    name: String,
    visits: u64,
    notes: String,
}

impl Person {
    fn new(number: u64, turn: u64, size: Size) -> Person {
        let random = mixed(number * 8 + turn);
        let letters = (0..size.notes_bytes() as u64 / 8).flat_map(|at| mixed(random ^ at).to_le_bytes());
        Person {
            id: format!("person-{number:08}"),
            email: format!("p{}@example.com", random % 1_000_000_007),
            age: (random >> 40) as i64 % 100,
            name: format!("Name of {}", random % 1000),
            visits: turn,
            notes: letters.map(|byte| char::from(b'a' + byte % 26)).collect(),
        }
    }
}

fn person() -> EntityType<Person> {
    EntityType::text("person", |person: &Person| &person.id).index("email", "$.email").index("age", "$.age")
}

/// The seconds of the three writes, and the final content.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Done {
    first: f64,
    same: f64,
    changed: f64,
    found: Found,
}

/// The content that all ways must produce: the number of entities, the size of their JSON, the number of index rows, and a sum of `age`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Found(i64, i64, i64, i64);

/// Writes entities, the same again, and changed ones with the same keys; prints the time of each write.
pub(crate) fn lap(file: &Path, way: Way, size: Size, entities: u64) -> anyhow::Result<()> {
    let there = if size == Size::Into { entities * THERE } else { 0 };
    let all = there + entities;
    // The entities of a batch lie anywhere among the existing ones, and are written in random order of their keys.
    let numbers = |from: u64, to: u64| (from..to).map(move |at| permuted(at, all));
    let batch =
        |turn: u64| numbers(there, all).map(|number| Person::new(number, turn, size)).collect::<Vec<_>>();
    let before: Vec<Person> = numbers(0, there).map(|number| Person::new(number, 1, size)).collect();
    let (first, changed) = (batch(1), batch(2));
    let mut writer = Writer::open(file, way)?;
    if !before.is_empty() {
        writer.write(&before)?;
    }
    let mut seconds = [0.0; 3];
    for (seconds, batch) in seconds.iter_mut().zip([&first, &first, &changed]) {
        let start = Instant::now();
        writer.write(batch)?;
        *seconds = start.elapsed().as_secs_f64();
    }
    drop(writer);
    let found = find(file, way)?;
    let [first, same, changed] = seconds;
    Ok(serde_json::to_writer(io::stdout(), &Done { first, same, changed, found })?)
}

enum Writer {
    Store(Entities<Person>),
    Rows(Connection),
    Published(Connection),
}

impl Writer {
    fn open(file: &Path, way: Way) -> anyhow::Result<Writer> {
        Ok(match way {
            Way::WriteMany => Writer::Store(EntityStore::open(file)?.define(person())?),
            Way::Rows => {
                EntityStore::open(file)?.define(person())?;
                Writer::Rows(open(file)?)
            }
            Way::Published => {
                let db = open(file)?;
                db.execute_batch(PUBLISHED)?;
                Writer::Published(db)
            }
        })
    }

    fn write(&mut self, batch: &[Person]) -> anyhow::Result<()> {
        match self {
            Writer::Store(people) => Ok(people.write_many(batch).map(|_| ())?),
            Writer::Rows(db) => write_rows(db, batch),
            Writer::Published(db) => write_published(db, batch),
        }
    }
}

/// Opens a connection with the settings of a store.
fn open(file: &Path) -> anyhow::Result<Connection> {
    let db = Connection::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384")?;
    Ok(db)
}

/// Writes each entity with one statement, to the tables of a store.
fn write_rows(db: &Connection, batch: &[Person]) -> anyhow::Result<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    {
        let mut write = db.prepare(
            "INSERT INTO person (key, email, age, value) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (key) DO UPDATE SET email = excluded.email, age = excluded.age, value = excluded.value",
        )?;
        for person in batch {
            let json = serde_json::to_string(person)?;
            write.execute(params![person.id, person.email, person.age, json])?;
        }
    }
    Ok(db.execute_batch("COMMIT")?)
}

/// The tables of the article.
const PUBLISHED: &str = "CREATE TABLE entity (type TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (type, key));
    CREATE TABLE field (type TEXT NOT NULL, entity TEXT NOT NULL, name TEXT NOT NULL, value, PRIMARY KEY (type, entity, name));
    CREATE INDEX by_value ON field (type, name, value);";

/// Writes each entity with four statements.
fn write_published(db: &Connection, batch: &[Person]) -> anyhow::Result<()> {
    db.execute_batch("BEGIN IMMEDIATE")?;
    {
        let mut write = db.prepare("REPLACE INTO entity VALUES ('person', ?1, ?2)")?;
        let mut forget = db.prepare("DELETE FROM field WHERE type = 'person' AND entity = ?1")?;
        let mut index = db.prepare("REPLACE INTO field VALUES ('person', ?1, ?2, ?3)")?;
        for person in batch {
            write.execute(params![person.id, serde_json::to_string(person)?])?;
            forget.execute([&person.id])?;
            index.execute(params![person.id, "email", person.email])?;
            index.execute(params![person.id, "age", person.age])?;
        }
    }
    Ok(db.execute_batch("COMMIT")?)
}

/// Checks the integrity of the database and returns its content.
fn find(file: &Path, way: Way) -> anyhow::Result<Found> {
    let db = open(file)?;
    let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    ensure!(check == "ok", "{} is broken: {check}", file.display());
    let sql = match way {
        Way::Published => {
            "SELECT count(*), sum(length(value)), (SELECT count(*) FROM field),
                 (SELECT sum(value) FROM field WHERE name = 'age') FROM entity"
        }
        _ => "SELECT count(*), sum(length(value)), 2 * count(email), sum(age) FROM person",
    };
    if way != Way::Published {
        // Tests of the store cover that entities are read back unchanged.
        let people = EntityStore::open(file)?.define(person())?;
        ensure!(
            people.query(all().limit(3))?.len() == 3 || people.count(&all())? < 3,
            "entities are not there"
        );
    }
    Ok(db.query_row(sql, [], |row| Ok(Found(row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?)
}

/// The result of one way for one size in one round.
#[derive(Clone, Debug, Serialize)]
struct Lap {
    done: Done,
    /// The peak memory of the process, including the batches that it writes.
    memory_bytes: u64,
}

type Round = BTreeMap<Size, BTreeMap<Way, Lap>>;

/// Returns the ratio of another way's time to that of `write_many`.
fn times(round: &Round, size: Size, way: Way, step: fn(&Done) -> f64) -> Option<f64> {
    let laps = round.get(&size)?;
    Some(step(&laps.get(&way)?.done) / step(&laps.get(&Way::WriteMany)?.done))
}

macro_rules! compared {
    ($($what:literal: $size:ident $step:ident $way:ident $claim:expr;)*) => {
        [$(Compared {
            what: $what,
            ratio: |round| times(round, Size::$size, Way::$way, |done| done.$step),
            claim: $claim,
        }),*]
    };
}

const AT_LEAST_2: Option<(&str, std::ops::RangeInclusive<f64>)> =
    Some(("at least 2, aim 3", 2.0..=f64::INFINITY));
const NO_SLOWER: Option<(&str, std::ops::RangeInclusive<f64>)> =
    Some(("at least 1, aim 2", 1.0..=f64::INFINITY));

const COMPARED: [Compared<Round>; 18] = compared! {
    "small, first write: the article's statements to `write_many`": Small first Published AT_LEAST_2;
    "small, the same again": Small same Published AT_LEAST_2;
    "small, others with the same keys": Small changed Published AT_LEAST_2;
    "small, first write: a statement for each, same tables": Small first Rows AT_LEAST_2;
    "small, the same again, same tables": Small same Rows AT_LEAST_2;
    "small, others with the same keys, same tables": Small changed Rows AT_LEAST_2;
    "among ten times as many, first write: the article's statements": Into first Published None;
    "among ten times as many, the same again": Into same Published None;
    "among ten times as many, others with the same keys": Into changed Published None;
    "among ten times as many, first write: a statement for each, same tables": Into first Rows None;
    "among ten times as many, the same again, same tables": Into same Rows None;
    "among ten times as many, others with the same keys, same tables": Into changed Rows None;
    "10 kB, first write: the article's statements": Large first Published NO_SLOWER;
    "10 kB, the same again": Large same Published NO_SLOWER;
    "10 kB, others with the same keys": Large changed Published NO_SLOWER;
    "10 kB, first write: a statement for each, same tables": Large first Rows NO_SLOWER;
    "10 kB, the same again, same tables": Large same Rows NO_SLOWER;
    "10 kB, others with the same keys, same tables": Large changed Rows NO_SLOWER;
};

/// The record of a run.
#[derive(Debug, Serialize)]
struct Record {
    benchmark: &'static str,
    taken: String,
    machine: Machine,
    entities: u64,
    rounds: Vec<Round>,
    ratios: Vec<Ratio>,
}

/// Runs the comparison, prints the results and saves the record.
pub(crate) fn run(options: &Options, scale: f64, runner: &Runner) -> anyhow::Result<()> {
    let entities = (ENTITIES * scale).max(1.0) as u64;
    let scratch = Scratch::new(&options.dir(), (1e9 * scale) as u64)?;
    let (machine, taken) = (Machine::here(scratch.folder()), machine::now());
    say(&format!("machine: {machine}\n"))?;
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        say(&format!("\nentities: round {number} of {}\n", options.rounds))?;
        rounds.push(round(number % 2 == 0, entities, runner, &scratch)?);
    }
    let ratios = Ratio::all(&COMPARED, &rounds);
    let record = Record { benchmark: "entities", taken, machine, entities, rounds, ratios };
    let saved = lap::save(&record, record.benchmark, &record.taken, &options.results())?;
    say(&format!("\n{}\nrecord: {}\n", record.table(), saved.display()))
}

/// Runs one round, in either order, so that no way always follows the same.
fn round(backwards: bool, entities: u64, runner: &Runner, scratch: &Scratch) -> anyhow::Result<Round> {
    let mut round = Round::new();
    for size in Size::ALL {
        let mut ways = Way::ALL;
        if backwards {
            ways.reverse();
        }
        let mut found = None;
        for way in ways {
            let file = scratch.file("lap.db");
            let number = entities.to_string();
            let arguments: [&std::ffi::OsStr; 5] = [
                "entities".as_ref(),
                file.as_ref(),
                way.names().0.as_ref(),
                size.names().0.as_ref(),
                number.as_ref(),
            ];
            let took = runner.own(&arguments, scratch.folder())?;
            let done: Done = serde_json::from_str(&took.stdout).context("what was done is JSON")?;
            let first = found.get_or_insert_with(|| done.found.clone());
            ensure!(done.found == *first, "{:?}, where another way has {first:?}", done.found);
            for suffix in ["lap.db", "lap.db-wal", "lap.db-shm"] {
                remove(&scratch.file(suffix))?;
            }
            let [first, same, changed] = [done.first, done.same, done.changed].map(|seconds| seconds * 1e3);
            say(&format!(
                "  {:5} {:10} {first:8.1} {same:8.1} {changed:8.1} ms  {:.0} MiB\n",
                size.names().0,
                way.names().0,
                lap::mib(took.memory_bytes as f64)
            ))?;
            round.entry(size).or_default().insert(way, Lap { done, memory_bytes: took.memory_bytes });
        }
    }
    Ok(round)
}

impl Record {
    /// Formats the tables: median, minimum and maximum of all rounds.
    fn table(&self) -> String {
        let mut text = "| | ms: first write | the same again | others with the same keys | peak memory |\n|---|---|---|---|---|\n".to_owned();
        for (size, way) in Size::ALL.into_iter().flat_map(|size| Way::ALL.map(|way| (size, way))) {
            let laps: Vec<&Lap> =
                self.rounds.iter().filter_map(|round| round.get(&size)?.get(&way)).collect();
            let spread = |value: &dyn Fn(&Lap) -> f64| Spread::of(laps.iter().map(|lap| value(lap)));
            let _ = writeln!(
                text,
                "| {} {}: {} | {:.1} | {:.1} | {:.1} | {:.0} MiB |",
                grouped(self.entities),
                size.names().1,
                way.names().1,
                spread(&|lap| lap.done.first * 1e3),
                spread(&|lap| lap.done.same * 1e3),
                spread(&|lap| lap.done.changed * 1e3),
                lap::mib(spread(&|lap| lap.memory_bytes as f64).max),
            );
        }
        let _ = write!(text, "\n{}\nmachine: {}\n", ratio::table(&self.ratios), self.machine);
        text
    }
}
