//! Experiments that write entities (a JSON document with two indexed fields), and then write them again: with statements for each entity,
//! with statements of many rows, and with `EntityStore`.
//!
//! ```text
//!  entity (type, key, value)                person  person-00000001  {"id": ...}
//!  field (type, entity, name, value)        person  person-00000001  email  p7@example.com
//!                                           person  person-00000001  age    41
//! ```
//!
//! The figure is the time of the first write, in milliseconds; `rewrite_ms` is the time to write the same entities again. Each write is one
//! transaction. If fewer entities are written than the variant's name says, the time is extrapolated.

use rusqlite::types::ToSql;
use rusqlite::{Connection, params};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use sqluice::entity_store::{EntityStore, EntityType};
use sqluice_platform::memory;

use crate::case::{Case, Digest, Experiment, Found, Ground, Result, RowHash, Took};
use crate::published::Figure;
use crate::random::{mixed, permuted};
use crate::scale::{Counts, Scale};
use crate::sql::{self, Pragma};
use crate::table::letters;

/// The PRAGMAs with which `EntityStore` opens its connections. All variants use them, so that they sync equally often.
const PRAGMAS: &[Pragma] = &[("journal_mode", "WAL"), ("synchronous", "FULL"), ("cache_size", "-16384")];

const TABLES: &str = "CREATE TABLE entity (type TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (type, key));
    CREATE TABLE field (type TEXT NOT NULL, entity TEXT NOT NULL, name TEXT NOT NULL, value, PRIMARY KEY (type, entity, name));
    CREATE INDEX by_value ON field (type, name, value);";

/// The maximum number of parameters in a statement of SQLite.
const PARAMETERS_MAX: usize = 32_766;

/// An entity before it is serialized: a struct of the application.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Person {
    id: String,
    email: String,
    age: i64,
    name: String,
    notes: String,
}

/// An entity whose JSON was written before the measurement.
#[derive(Clone, Debug)]
struct Made {
    person: Person,
    json: Box<RawValue>,
}

impl Serialize for Made {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Made {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Made, D::Error> {
        let json = Box::<RawValue>::deserialize(deserializer)?;
        let person = serde_json::from_str(json.get()).map_err(serde::de::Error::custom)?;
        Ok(Made { person, json })
    }
}

/// The method that writes entities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Three prepared statements for each entity.
    Each,
    /// Statements with as many rows as SQLite's parameters permit.
    Many,
    Store,
}

/// The parameters of a variant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Writing {
    count: u64,
    /// The number of entities in the variant's name.
    named: u64,
    notes_bytes: usize,
    /// `true` if the measured time includes serialization to JSON.
    serialize: bool,
    index: bool,
}

pub(super) fn all(scale: Scale) -> Vec<Experiment> {
    let mut experiment =
        Experiment::new("write-many", "ms", Counts::new(200, 10_000, 10_000).at(scale)).less_is_better();
    let figures: &'static [Figure] = experiment.figures();
    for figure in figures {
        let writing = Writing::named(&figure.variant, scale);
        let case = |way, figures: Option<[f64; 2]>| {
            let published = figures.map(|[first, _]| first);
            let published_note = figures.map(|[_, again]| format!("the same again: {again} ms"));
            Case { published, published_note, ..writing.case(way) }
        };
        let name = &figure.variant;
        experiment = experiment
            .published(name, case(Way::Many, figure.new))
            .published(&format!("{name}, old"), case(Way::Each, figure.old))
            .sqluice(&format!("{name}, EntityStore"), case(Way::Store, None));
    }
    let experiment = experiment
        .note("A published name stands for the publication's new way, one REPLACE of many rows; its old way, REPLACE statements for each entity, has the suffix \"old\".")
        .note("The figure is the time of the first write. rewrite_ms, and the second figure of the publication, is the time to write the same entities again.");
    vec![experiment]
}

/// The experiment `write-many-no-index`: the time to write entities without index rows, and the memory that it takes.
pub(super) fn without_index(scale: Scale) -> Experiment {
    let count = Counts::new(200, 10_000, 10_000).at(scale);
    let writing = Writing { count, named: count, notes_bytes: 30, serialize: true, index: false };
    let large =
        Writing { notes_bytes: 9_900, count: (count / 10).max(1), named: (count / 10).max(1), ..writing };
    Experiment::new("write-many-no-index", "ms", count)
        .less_is_better()
        .added("small JSON, a statement each", writing.case(Way::Each))
        .added("small JSON, one statement", writing.case(Way::Many))
        .sqluice("small JSON, EntityStore", writing.case(Way::Store))
        .added("10 kB JSON, a statement each", large.case(Way::Each))
        .added("10 kB JSON, one statement", large.case(Way::Many))
        .sqluice("10 kB JSON, EntityStore", large.case(Way::Store))
        .note("There are a tenth as many entities of 10 kB. peak_memory_bytes is the most memory that the process used beyond its memory before the measurement.")
}

impl Writing {
    /// Parses a published name: `10,000 of 10 kB JSON`, `1,000 small, no serialization`.
    fn named(name: &str, scale: Scale) -> Writing {
        let digits: String = name.chars().take_while(|c| *c != ' ').filter(char::is_ascii_digit).collect();
        let named: u64 = digits.parse().unwrap_or(1_000);
        let large = name.contains("large") || name.contains("10 kB");
        Writing {
            count: Counts::new(named / 50, named, named).at(scale),
            named,
            notes_bytes: if large { 9_900 } else { 30 },
            serialize: !name.contains("no serialization"),
            index: true,
        }
    }

    fn case(self, way: Way) -> Case {
        let command = match way {
            Way::Each => {
                "REPLACE INTO entity VALUES ('person', ?1, ?2); REPLACE INTO field VALUES ('person', ?1, ?2, ?3): for each"
            }
            Way::Many => {
                "REPLACE INTO entity VALUES (?, ?, ?), ...; REPLACE INTO field VALUES (?, ?, ?, ?), ..."
            }
            Way::Store => "Entities::write_many",
        };
        let bytes = self.count * (self.notes_bytes as u64 + 1000);
        let run = move |ground: &Ground<'_>| {
            if self.serialize {
                self.run(ground, way, &self.people())
            } else {
                let made = self.people().into_iter().map(|person| {
                    let json = RawValue::from_string(serde_json::to_string(&person)?)?;
                    Ok(Made { person, json })
                });
                self.run(ground, way, &made.collect::<Result<Vec<_>>>()?)
            }
        };
        Case::new(command, run, move || self.expected())
            .settings(sql::statements(PRAGMAS))
            .disk(4 * bytes)
            .memory(6 * bytes)
    }

    fn people(self) -> Vec<Person> {
        let person = |at| {
            let number = permuted(at, self.count.max(2));
            let random = mixed(number);
            let mut notes = vec![0; self.notes_bytes];
            letters(random, &mut notes);
            Person {
                id: format!("person-{number:08}"),
                email: format!("p{}@example.com", random % 1_000_000_007),
                age: (random >> 40) as i64 % 100,
                name: format!("Name of {}", random % 1000),
                notes: String::from_utf8(notes).unwrap_or_default(),
            }
        };
        (0..self.count).map(person).collect()
    }

    fn run<T: Entity>(self, ground: &Ground<'_>, way: Way, people: &[T]) -> Result<Took> {
        let file = ground.file();
        let before = memory::of_process().filter(|_| memory::forget_peak());
        let (mut first, mut again) = (0.0, 0.0);
        if way == Way::Store {
            let store = EntityStore::open(&file)?;
            let ty = EntityType::text("person", |entity: &T| &entity.person().id);
            let ty = if self.index { ty.index("email", "$.email").index("age", "$.age") } else { ty };
            let entities = store.define(ty)?;
            for seconds in [&mut first, &mut again] {
                *seconds = ground.time(|| Ok(entities.write_many(people)?))?.1;
            }
        } else {
            let db = sql::open(&file, PRAGMAS)?;
            db.execute_batch(TABLES)?;
            for seconds in [&mut first, &mut again] {
                *seconds = ground.time(|| self.write(&db, way, people))?.1;
            }
            sql::close(db)?;
        }
        let peak = before.and_then(|before| Some(memory::peak_of_process()?.saturating_sub(before)));
        let found = self.found(ground, way)?;
        // The time is extrapolated to the number of entities in the variant's name.
        let times = self.named as f64 / self.count as f64 * 1e3;
        let took = Took::rate(self.count, first, found).with("rewrite_ms", again * times);
        let took = Took { sample: first * times, ..took };
        Ok(match peak {
            Some(peak) => took.with("peak_memory_bytes", peak as f64),
            None => took,
        })
    }

    fn write<T: Entity>(self, db: &Connection, way: Way, people: &[T]) -> Result {
        db.execute_batch("BEGIN IMMEDIATE")?;
        match way {
            Way::Each => self.write_each(db, people)?,
            _ => self.write_many(db, people)?,
        }
        Ok(db.execute_batch("COMMIT")?)
    }

    fn write_each<T: Entity>(self, db: &Connection, people: &[T]) -> Result {
        let mut write = db.prepare("REPLACE INTO entity VALUES ('person', ?1, ?2)")?;
        let mut index = db.prepare("REPLACE INTO field VALUES ('person', ?1, ?2, ?3)")?;
        for entity in people {
            let Person { id, email, age, .. } = entity.person();
            write.execute(params![id, serde_json::to_string(entity)?])?;
            if self.index {
                index.execute(params![id, "email", email])?;
                index.execute(params![id, "age", age])?;
            }
        }
        Ok(())
    }

    fn write_many<T: Entity>(self, db: &Connection, people: &[T]) -> Result {
        let json = people.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        let rows = people.iter().zip(&json);
        let rows: Vec<[&dyn ToSql; 3]> =
            rows.map(|(entity, json)| [&"person" as &dyn ToSql, &entity.person().id, json]).collect();
        replace(db, "entity", &rows)?;
        if self.index {
            let rows = people.iter().map(Entity::person).flat_map(|Person { id, email, age, .. }| {
                let of = |name: &'static &str, value| [&"person" as &dyn ToSql, id, name, value];
                [of(&"email", email), of(&"age", age)]
            });
            replace(db, "field", &rows.collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn found(self, ground: &Ground<'_>, way: Way) -> Result<Found> {
        let db = sql::open(&ground.file(), &[])?;
        let (table, queries) = match way {
            Way::Store => (
                "person",
                [
                    "SELECT key, CAST(value AS TEXT) FROM person",
                    "SELECT key, 'email', email FROM person UNION ALL SELECT key, 'age', age FROM person",
                ],
            ),
            _ => ("entity", ["SELECT key, value FROM entity", "SELECT entity, name, value FROM field"]),
        };
        sql::maybe_drop(&db, ground, table)?;
        sql::sound(&db)?;
        let queries = queries.iter().take(if self.index { 2 } else { 1 });
        queries.map(|query| sql::digest(&db, query)).collect()
    }

    fn expected(self) -> Result<Found> {
        let (mut entities, mut fields) = (Digest::default(), Digest::default());
        for person in self.people() {
            let row = |name: &str| {
                let mut row = RowHash::NEW;
                row.text(person.id.as_bytes());
                row.text(name.as_bytes());
                row
            };
            entities.add(row(&serde_json::to_string(&person)?));
            let (mut email, mut age) = (row("email"), row("age"));
            email.text(person.email.as_bytes());
            age.int(person.age);
            fields.add(email);
            fields.add(age);
        }
        Ok(if self.index { vec![entities, fields] } else { vec![entities] })
    }
}

/// The common interface of [`Person`] and [`Made`].
trait Entity: Serialize + for<'de> Deserialize<'de> + Sync + 'static {
    fn person(&self) -> &Person;
}

impl Entity for Person {
    fn person(&self) -> &Person {
        self
    }
}

impl Entity for Made {
    fn person(&self) -> &Person {
        &self.person
    }
}

/// Runs REPLACE INTO for `rows`, with as many rows in each statement as SQLite's parameters permit.
fn replace<const COLUMNS: usize>(db: &Connection, table: &str, rows: &[[&dyn ToSql; COLUMNS]]) -> Result {
    let row = format!("({})", vec!["?"; COLUMNS].join(", "));
    for rows in rows.chunks(PARAMETERS_MAX / COLUMNS) {
        let sql = format!("REPLACE INTO {table} VALUES {}", vec![row.as_str(); rows.len()].join(", "));
        let mut statement = db.prepare(&sql)?;
        for (value, parameter) in rows.iter().flatten().zip(1..) {
            statement.raw_bind_parameter(parameter, value)?;
        }
        statement.raw_execute()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_variant_follow_from_its_published_name() {
        for (name, named, large, serialize) in [
            ("1,000 small JSON", 1_000, false, true),
            ("10,000 of 10 kB JSON", 10_000, true, true),
            ("10,000 large, no serialization", 10_000, true, false),
        ] {
            let writing = Writing::named(name, Scale::Small);
            assert_eq!(
                (writing.named, writing.count, writing.serialize),
                (named, named, serialize),
                "{name}"
            );
            assert_eq!(writing.notes_bytes > 9_000, large, "{name}");
        }
    }
}
