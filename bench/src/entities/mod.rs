//! Writing entities (JSON documents with two indexed fields): `Entities::write_many` compared with statements for each entity. A lap
//! writes 10,000 entities, then the same entities again, then other content under the same keys, and reports the times of the three writes.
//!
//! ```text
//!  way          write_many   all entities by `Entities::write_many`
//!               rows         the tables of the store, and a prepared INSERT ... ON CONFLICT DO UPDATE for each entity
//!               published    the tables of a published article, entities and index rows: four prepared statements for each entity
//!
//!  part         small        entities of about 150 bytes of JSON, into a new store
//!               into         small entities, into a store that has 100,000 others
//!               large        entities of about 10 kB of JSON, into a new store
//! ```
//!
//! Each write is one transaction of one process in WAL mode, synchronous = FULL, 16 MiB of page cache, with prepared statements. The time
//! is from the entities in memory to the end of the COMMIT, including serialization to JSON.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use anyhow::ensure;
use clap::Args;
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqluice::entity_store::{Entities, EntityStore, EntityType, all};

use crate::db::First;
use crate::house::{House, said};
use crate::lap::{Column, Lap, memory, mib, spread};
use crate::options::{Options, say};
use crate::process::{Runner, Took};
use crate::random::{mixed, permuted};
use crate::ratio::Compared;
use crate::rounds::{Round, Way, rounds, table, way};
use crate::words::Words;
use crate::{db, grouped, words};

/// The command line of the comparison of entities.
#[derive(Debug, Args)]
#[command(
    about = "Compares writing entities thousands at a time with one statement for each, in alternating rounds"
)]
pub struct Settings {
    /// Scales the number of entities
    #[arg(long, default_value = "1", value_name = "FACTOR", value_parser = crate::options::factor)]
    rows_scale: f64,
    #[command(flatten)]
    options: Options,
}

/// The number of entities that are written.
const ENTITIES: f64 = 10_000.0;

/// In the part `into`, the store already has this many entities for each entity that is written.
const THERE: u64 = 10;

type Ran = anyhow::Result<(Took, Done)>;

fn ways<'a>() -> Vec<Way<Track<'a>, Ran>> {
    vec![
        way("small", "small_write_many", "entities of 150 bytes: `write_many`", |track| {
            track.lap("write_many", "small")
        }),
        way("small", "small_rows", "... a statement for each, the same tables", |track| {
            track.lap("rows", "small")
        }),
        way("small", "small_published", "... statements for each, the tables of the article", |track| {
            track.lap("published", "small")
        }),
        way("into", "into_write_many", "the same, among ten times as many: `write_many`", |track| {
            track.lap("write_many", "into")
        }),
        way("into", "into_rows", "... a statement for each, the same tables", |track| {
            track.lap("rows", "into")
        }),
        way("into", "into_published", "... statements for each, the tables of the article", |track| {
            track.lap("published", "into")
        }),
        way("large", "large_write_many", "entities of 10 kB: `write_many`", |track| {
            track.lap("write_many", "large")
        }),
        way("large", "large_rows", "... a statement for each, the same tables", |track| {
            track.lap("rows", "large")
        }),
        way("large", "large_published", "... statements for each, the tables of the article", |track| {
            track.lap("published", "large")
        }),
    ]
}

const TWICE: &str = "at least 2, aim 3";
const NO_SLOWER: &str = "at least 1, aim 2";

const RATIOS: &[Compared] = &[
    (
        "small, first write: the article's statements to `write_many`",
        |r| step(r, "first", "small_published"),
        TWICE,
    ),
    ("small, the same again", |r| step(r, "same", "small_published"), TWICE),
    ("small, others with the same keys", |r| step(r, "changed", "small_published"), TWICE),
    ("small, first write: a statement for each, same tables", |r| step(r, "first", "small_rows"), TWICE),
    ("small, the same again, same tables", |r| step(r, "same", "small_rows"), TWICE),
    ("small, others with the same keys, same tables", |r| step(r, "changed", "small_rows"), TWICE),
    (
        "among ten times as many, first write: the article's statements",
        |r| step(r, "first", "into_published"),
        "",
    ),
    ("among ten times as many, the same again", |r| step(r, "same", "into_published"), ""),
    ("among ten times as many, others with the same keys", |r| step(r, "changed", "into_published"), ""),
    (
        "among ten times as many, first write: a statement for each, same tables",
        |r| step(r, "first", "into_rows"),
        "",
    ),
    ("among ten times as many, the same again, same tables", |r| step(r, "same", "into_rows"), ""),
    (
        "among ten times as many, others with the same keys, same tables",
        |r| step(r, "changed", "into_rows"),
        "",
    ),
    ("10 kB, first write: the article's statements", |r| step(r, "first", "large_published"), NO_SLOWER),
    ("10 kB, the same again", |r| step(r, "same", "large_published"), NO_SLOWER),
    ("10 kB, others with the same keys", |r| step(r, "changed", "large_published"), NO_SLOWER),
    ("10 kB, first write: a statement for each, same tables", |r| step(r, "first", "large_rows"), NO_SLOWER),
    ("10 kB, the same again, same tables", |r| step(r, "same", "large_rows"), NO_SLOWER),
    ("10 kB, others with the same keys, same tables", |r| step(r, "changed", "large_rows"), NO_SLOWER),
];

/// Returns the time of the write `step` (first, same or changed) of a way, divided by the time of that write with `write_many`; `None` if
/// the round lacks a lap.
fn step(round: &Round, step: &str, way: &str) -> Option<f64> {
    let of = |way: &str| round.get(way)?.also.get(step).copied();
    Some(of(way)? / of(&format!("{}_write_many", way.split('_').next()?))?)
}

/// Runs the lap in this process, which the comparison has started for this lap. Returns the result of the lap.
///
/// # Errors
/// The errors of the lap.
pub fn lap(_: &str, words: &mut Words) -> anyhow::Result<Value> {
    said(write(&words.path()?, &words.take::<String>()?, &words.take::<String>()?, words.take()?)?)
}

/// Runs the comparison, prints the results and saves the record.
///
/// # Errors
/// When a lap fails, or leaves other entities than another.
pub fn run(settings: &Settings, runner: &Runner) -> anyhow::Result<()> {
    let entities = (ENTITIES * settings.rows_scale).max(1.0) as u64;
    let house = House::open(&settings.options, runner, (1e9 * settings.rows_scale) as u64)?;
    let mut track = Track { house: &house, entities, found: First::default() };
    let ways = ways();
    let rounds = rounds(settings.options.rounds, &ways, |way, _| {
        let (took, Done { first, same, changed, .. }) = (way.run)(&mut track)?;
        let [one, two, three] = [first, same, changed].map(|seconds| seconds * 1e3);
        let peak = mib(took.memory_bytes as f64);
        say(&format!("  {:16} {one:8.1} {two:8.1} {three:8.1} ms  {peak:.0} MiB\n", way.name))?;
        let also = BTreeMap::from([("first", first), ("same", same), ("changed", changed)]);
        Ok(Some(Lap { seconds: first, also, ..Lap::new(&took, entities, 0, None) }))
    })?;
    let milliseconds = |laps: &[&Lap], step: &str| {
        format!("{:.1}", spread(laps, |lap| lap.also.get(step).map_or(f64::NAN, |seconds| seconds * 1e3)))
    };
    let columns: [Column<'_>; 4] = [
        ("ms: first write", &|laps| milliseconds(laps, "first")),
        ("the same again", &|laps| milliseconds(laps, "same")),
        ("others with the same keys", &|laps| milliseconds(laps, "changed")),
        ("peak memory", &memory),
    ];
    let first = format!("{} entities", grouped(entities));
    let facts = json!({ "entities": entities });
    let text = table(&first, &columns, &ways, &rounds);
    house.finish("entities", facts, &ways, &rounds, RATIOS, &text)
}

/// The state that all laps of a run of this comparison share.
struct Track<'a> {
    house: &'a House<'a>,
    entities: u64,
    /// The content of the first way's database, by the size of entities. Later ways must have the same content.
    found: First<String, Found>,
}

impl Track<'_> {
    fn lap(&mut self, way: &str, size: &str) -> Ran {
        let words = words!["write", self.house.file("lap.db"), way, size, self.entities];
        let (took, done): (Took, Done) = self.house.asked(&words)?;
        self.found.same(size.to_owned(), done.found.clone())?;
        ["lap.db", "lap.db-wal", "lap.db-shm"].iter().try_for_each(|name| self.house.remove(name))?;
        Ok((took, done))
    }
}

/// The number of letters in the field of an entity that is not indexed.
fn notes_bytes(size: &str) -> usize {
    if size == "large" { 9_900 } else { 30 }
}

/// An entity before it is serialized: a struct of the application.
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
    fn new(number: u64, turn: u64, size: &str) -> Person {
        let random = mixed(number * 8 + turn);
        let letters = (0..notes_bytes(size) as u64 / 8).flat_map(|at| mixed(random ^ at).to_le_bytes());
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
type Found = Vec<i64>;

/// Writes entities into a new store, then the same ones again, then changed ones with the same keys.
fn write(file: &Path, way: &str, size: &str, entities: u64) -> anyhow::Result<Done> {
    let there = if size == "into" { entities * THERE } else { 0 };
    let all = there + entities;
    // Keys are shuffled over existing and new entities, so new ones are inserted anywhere among the existing ones.
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
    Ok(Done { first, same, changed, found })
}

enum Writer {
    Store(Entities<Person>),
    Rows(Connection),
    Published(Connection),
}

impl Writer {
    fn open(file: &Path, way: &str) -> anyhow::Result<Writer> {
        Ok(match way {
            "write_many" => Writer::Store(EntityStore::open(file)?.define(person())?),
            "rows" => {
                EntityStore::open(file)?.define(person())?;
                Writer::Rows(db::open(file, PRAGMAS)?)
            }
            _ => Writer::Published(db::open(file, &format!("{PRAGMAS} {PUBLISHED}"))?),
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

/// The PRAGMAs of all ways, which are those of `EntityStore`.
const PRAGMAS: &str = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;";

/// Writes each entity with one statement to the tables of an `EntityStore`.
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

/// The tables of the article "Speeding up batch inserts in SQLite using dynamic statements": `entity` has a row for each entity, `field` a
/// row for each indexed field of an entity.
const PUBLISHED: &str = "CREATE TABLE entity (type TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (type, key));
    CREATE TABLE field (type TEXT NOT NULL, entity TEXT NOT NULL, name TEXT NOT NULL, value, PRIMARY KEY (type, entity, name));
    CREATE INDEX by_value ON field (type, name, value);";

/// Writes each entity with four statements to the tables of [`PUBLISHED`].
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
fn find(file: &Path, way: &str) -> anyhow::Result<Found> {
    let db = db::open(file, PRAGMAS)?;
    db::sound(&db, "integrity_check")?;
    let sql = match way {
        "published" => {
            "SELECT count(*), sum(length(value)), (SELECT count(*) FROM field),
                 (SELECT sum(value) FROM field WHERE name = 'age') FROM entity"
        }
        _ => "SELECT count(*), sum(length(value)), 2 * count(email), sum(age) FROM person",
    };
    if way != "published" {
        // Only counted: the tests of `EntityStore` check that entities are read back unchanged.
        let people = EntityStore::open(file)?.define(person())?;
        ensure!(
            people.query(all().limit(3))?.len() == 3 || people.count(&all())? < 3,
            "entities are missing"
        );
    }
    db::numbers(&db, sql)
}
