//! The entity store compared with a map over random operations, with reopening, and its fields compared with SQLite's `json_extract`.
#![cfg(feature = "entity-store")]

use std::collections::BTreeMap;
use std::path::Path;

use crate::support::cases;
use proptest::prelude::*;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sqluice::entity_store::{Entities, EntityStore, EntityType, Field, Filter, Options, all, field};

/// An entity of these tests: a key, and any JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Thing {
    key: String,
    city: Value,
    #[serde(default)]
    more: Value,
}

/// The fields, by their paths.
const PATHS: [(&str, &str); 4] =
    [("city", "$.city"), ("deep", "$.more.a[1]"), ("odd", "$.more.\"odd name\""), ("text", "$.key")];

fn thing() -> EntityType<Thing> {
    let ty = EntityType::text("thing", |thing: &Thing| &thing.key);
    let ty = PATHS.into_iter().fold(ty, |ty, (name, path)| ty.index(name, path));
    ty.index_by("length", |thing| (thing.key.len() as i64).into())
}

/// Opens the store without fsync, which these tests do not need.
fn open(file: &Path) -> (EntityStore, Entities<Thing>) {
    let options = Options::new().durable(false);
    let store = EntityStore::open_with(file, &options).unwrap();
    let things = store.define(thing()).unwrap();
    (store, things)
}

#[derive(Clone, Debug)]
enum Operation {
    Write(Vec<Thing>),
    WriteInTransaction(Vec<Thing>, bool),
    Delete(Vec<String>),
    DeleteWhere(usize),
    Rebuild,
    Reopen,
}

fn keys() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => (0..40u8).prop_map(|number| format!("k{number}")),
        1 => any::<String>(),
        1 => prop_oneof![Just(String::new()), Just("a\0b".to_owned()), Just("'\"\u{10ffff}".to_owned())],
    ]
}

fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..3i64).prop_map(Value::from),
        prop_oneof![Just(i64::MAX), Just(i64::MIN), Just((1 << 53) + 1), any::<i64>()].prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-4..4i32).prop_map(|half| Value::from(f64::from(half) / 2.0)),
        any::<f64>().prop_map(Value::from),
        prop_oneof![Just("Oslo"), Just("Osaka"), Just("Os"), Just(""), Just("größe\u{10ffff}")]
            .prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    scalars().prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            (inner.clone(), inner).prop_map(|(a, b)| json!({"a": a, "odd name": b})),
        ]
    })
}

fn things() -> impl Strategy<Value = Thing> {
    (keys(), values(), values()).prop_map(|(key, city, more)| Thing { key, city, more })
}

fn batches() -> impl Strategy<Value = Vec<Thing>> {
    proptest::collection::vec(things(), 0..12)
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let operation = prop_oneof![
        6 => batches().prop_map(Operation::Write),
        2 => (batches(), any::<bool>()).prop_map(|(batch, commit)| Operation::WriteInTransaction(batch, commit)),
        2 => proptest::collection::vec(keys(), 0..6).prop_map(Operation::Delete),
        1 => (0..4usize).prop_map(Operation::DeleteWhere),
        1 => Just(Operation::Rebuild),
        1 => Just(Operation::Reopen),
    ];
    proptest::collection::vec(operation, 1..12)
}

type Model = BTreeMap<String, Thing>;

fn put(model: &mut Model, batch: &[Thing]) {
    model.extend(batch.iter().map(|thing| (thing.key.clone(), thing.clone())));
}

/// Returns the JSON as it is read back from SQLite's text, in which equal numbers look the same.
fn stored(thing: &Thing) -> Thing {
    serde_json::from_str(&serde_json::to_string(thing).unwrap()).unwrap()
}

/// Asserts that the store equals the model, that its fields are what SQLite extracts from the values, and that it is sound.
fn assert_same(things: &Entities<Thing>, model: &Model, file: &Path) {
    let found = things.query(all().order("key")).unwrap();
    let expected: Vec<Thing> = model.values().map(stored).collect();
    assert_eq!(found, expected);
    let db = Connection::open(file).unwrap();
    assert_eq!(sqluice_testkit::sqlite::integrity(&db), "ok");
    for (name, path) in PATHS {
        let sql = format!(
            "SELECT group_concat(value) FROM thing
             WHERE \"{name}\" IS NOT json_extract(value, ?1) OR typeof(\"{name}\") <> typeof(json_extract(value, ?1))"
        );
        let wrong: Option<String> = db.query_row(&sql, [path], |row| row.get(0)).unwrap();
        assert_eq!(wrong, None, "{name}");
    }
    let sql = "SELECT count(*) FROM thing WHERE length IS NOT octet_length(key)";
    let wrong: i64 = db.query_row(sql, [], |row| row.get(0)).unwrap();
    assert_eq!(wrong, 0);
}

/// Returns true if the city of a thing is a text for which `is` is true.
fn in_city(thing: &Thing, is: impl Fn(&str) -> bool) -> bool {
    thing.city.as_str().is_some_and(is)
}

/// Returns a filter, and the same condition for the model.
fn filters(number: usize) -> (Filter, fn(&Thing) -> bool) {
    match number {
        0 => (field("city").is("Oslo"), |thing| in_city(thing, |city| city == "Oslo")),
        1 => (field("city").prefix("Os"), |thing| in_city(thing, |city| city.starts_with("Os"))),
        2 => (field("city").one_of(["Osaka", "Os"]), |thing| {
            in_city(thing, |city| ["Osaka", "Os"].contains(&city))
        }),
        _ => (field("length").at_most(2).and(field("key").prefix("k")), |thing| {
            thing.key.len() <= 2 && thing.key.starts_with('k')
        }),
    }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn random_operations_on_an_entity_store_equal_those_on_a_map(operations in operations()) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("things.db");
        let (mut store, mut things) = open(&file);
        let mut model = Model::new();
        for operation in operations {
            match operation {
                Operation::Write(batch) => {
                    let before = model.clone();
                    put(&mut model, &batch);
                    let written = things.write_many(&batch).unwrap();
                    prop_assert_eq!(written.new as usize, model.len() - before.len());
                    let same = |(key, thing): &(&String, &Thing)| before.get(*key).is_some_and(|old| {
                        serde_json::to_string(old).unwrap() == serde_json::to_string(thing).unwrap()
                    });
                    let mut last = Model::new();
                    put(&mut last, &batch);
                    prop_assert_eq!(written.same as usize, last.iter().filter(same).count());
                    prop_assert_eq!((written.new + written.changed + written.same) as usize, last.len());
                }
                Operation::WriteInTransaction(batch, commit) => {
                    let done = store.transaction(|transaction| {
                        for thing in &batch {
                            transaction.write(&things, thing)?;
                            let back = transaction.read(&things, &thing.key)?;
                            assert_eq!(back, Some(stored(thing)));
                        }
                        if commit { Ok(()) } else { Err(sqluice::error::Error::usage("no")) }
                    });
                    prop_assert_eq!(done.is_ok(), commit);
                    if commit {
                        put(&mut model, &batch);
                    }
                }
                Operation::Delete(keys) => {
                    let before = model.len();
                    keys.iter().for_each(|key| drop(model.remove(key)));
                    prop_assert_eq!(things.delete_many(&keys).unwrap() as usize, before - model.len());
                }
                Operation::DeleteWhere(number) => {
                    let (filter, is) = filters(number);
                    let before = model.len();
                    model.retain(|_, thing| !is(thing));
                    prop_assert_eq!(things.delete_where(&filter).unwrap() as usize, before - model.len());
                }
                Operation::Rebuild => things.rebuild().unwrap(),
                Operation::Reopen => {
                    drop((store, things));
                    (store, things) = open(&file);
                }
            }
        }
        assert_same(&things, &model, &file);
        for number in 0..4 {
            let (filter, is) = filters(number);
            let expected: Vec<Thing> = model.values().filter(|thing| is(thing)).map(stored).collect();
            prop_assert_eq!(things.count(&filter).unwrap() as usize, expected.len());
            prop_assert_eq!(things.query(filter.order("key")).unwrap(), expected);
        }
        let asked: Vec<String> = (0..45).rev().map(|number| format!("k{number}")).collect();
        let expected: Vec<Option<Thing>> = asked.iter().map(|key| model.get(key).map(stored)).collect();
        prop_assert_eq!(things.read_many(&asked).unwrap(), expected);
    }

    #[test]
    fn comparisons_in_entity_queries_have_the_results_of_sqlite(
        cities in proptest::collection::vec(scalars(), 1..40),
        with in scalars(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("things.db");
        let (_store, things) = open(&file);
        let batch: Vec<Thing> = cities
            .into_iter()
            .enumerate()
            .map(|(at, city)| Thing { key: format!("{at:03}"), city, more: Value::Null })
            .collect();
        things.write_many(&batch).unwrap();
        let db = Connection::open(&file).unwrap();
        let with: Field<'static> = match &with {
            Value::Null => Field::Null,
            Value::Bool(is) => (*is).into(),
            Value::String(text) => text.clone().into(),
            number => number.as_i64().map_or_else(|| Field::Real(number.as_f64().unwrap()), Field::Int),
        };
        let bound = match &with {
            Field::Null => rusqlite::types::Value::Null,
            Field::Int(int) => (*int).into(),
            Field::Real(real) => (*real).into(),
            Field::Text(text) => text.to_string().into(),
        };
        let city = || field("city");
        for (filter, sql) in [
            (city().is(with.clone()), "city IS ?1"),
            (city().is_not(with.clone()), "city IS NOT ?1"),
            (city().less_than(with.clone()), "city < ?1"),
            (city().at_most(with.clone()), "city <= ?1"),
            (city().greater_than(with.clone()), "city > ?1"),
            (city().at_least(with.clone()), "city >= ?1"),
            (city().one_of([with.clone()]), "city IN (?1)"),
        ] {
            // The expected rows come from the values, since the fields could be wrong.
            let sql = format!("SELECT key FROM (SELECT key, json_extract(value, '$.city') AS city FROM thing) WHERE {sql} ORDER BY city DESC, key");
            let mut statement = db.prepare(&sql).unwrap();
            let expected: Vec<String> =
                statement.query_map([&bound], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
            let found = things.query(filter.order_descending("city").order("key")).unwrap();
            let found: Vec<String> = found.into_iter().map(|thing| thing.key).collect();
            prop_assert_eq!(found, expected, "{}", sql);
        }
    }
}

#[test]
fn large_and_small_batches_of_entities_make_the_same_store() {
    let folder = tempfile::tempdir().unwrap();
    let thing = |number: u64, turn: u64| Thing {
        key: format!("{:05}", number * 7919 % 9000),
        city: json!(number * turn % 50),
        more: json!({"a": [turn, number % 3], "odd name": "x".repeat((number % 40) as usize)}),
    };
    // The first batch has new entities. The second has new and changed ones. The third changes nothing. The fourth changes a third of them.
    let batches: Vec<Vec<Thing>> = [(0..5000, 1), (3000..9000, 2), (3000..9000, 2), (0..9000, 2)]
        .into_iter()
        .map(|(numbers, turn)| numbers.map(|number| thing(number, turn)).collect())
        .collect();
    let files = [folder.path().join("large.db"), folder.path().join("small.db")];
    for (file, chunk) in files.iter().zip([100_000, 700]) {
        let (_store, things) = open(file);
        let mut model = Model::new();
        for batch in &batches {
            for batch in batch.chunks(chunk) {
                things.write_many(batch).unwrap();
            }
            put(&mut model, batch);
            assert_same(&things, &model, file);
        }
    }
}
