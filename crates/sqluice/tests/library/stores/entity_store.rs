//! The entity store: searches by index, changed definitions, unique fields, errors, transactions and threads.
#![cfg(feature = "entity-store")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use sqluice::entity_store::{Entities, EntityStore, EntityType, Written, all, field};
use sqluice::error::{Error, ErrorKind, Result};
use tempfile::TempDir;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Person {
    id: i64,
    email: Option<String>,
    city: String,
    age: u32,
}

fn person(id: i64) -> Person {
    let city = ["Oslo", "Osaka", "Rome"][id as usize % 3].to_owned();
    Person { id, email: Some(format!("p{id}@example.com")), city, age: id as u32 % 90 }
}

fn with_email(id: i64, email: &str) -> Person {
    Person { email: Some(email.to_owned()), ..person(id) }
}

fn people_type() -> EntityType<Person> {
    EntityType::integer("person", |person: &Person| person.id)
        .unique("email", "$.email")
        .index("city", "$.city")
        .index("age", "$.age")
}

fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("people.db");
    (folder, file)
}

fn open(file: &Path) -> (EntityStore, Entities<Person>) {
    let store = EntityStore::open(file).unwrap();
    let people = store.define(people_type()).unwrap();
    (store, people)
}

fn assert_error<T: std::fmt::Debug>(result: Result<T>, kind: ErrorKind, parts: &[&str]) {
    let error = result.unwrap_err();
    let told = told(&error);
    assert_eq!(error.kind(), kind, "{told}");
    for part in parts {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// Returns the message, the cause and the hint.
fn told(error: &Error) -> String {
    let cause = std::error::Error::source(error).map(ToString::to_string).unwrap_or_default();
    format!("{error}: {cause} ({})", error.hint_text().unwrap_or_default())
}

#[test]
fn every_comparison_of_an_indexed_field_uses_the_index() {
    let (_folder, file) = folder();
    let (_store, people) = open(&file);
    people.write_many(&(0..2000).map(person).collect::<Vec<_>>()).unwrap();
    let search = |what: &str| format!("SEARCH person USING INDEX person.{what}");
    for (query, plan) in [
        (field("email").is("p7@example.com").into(), search("email (email=?)")),
        (field("age").less_than(3).into(), search("age (age<?)")),
        (field("age").at_most(3).into(), search("age (age<?)")),
        (field("age").greater_than(80).into(), search("age (age>?)")),
        (field("age").at_least(80).and(field("age").less_than(85)).into(), search("age (age>? AND age<?)")),
        (field("city").one_of(["Oslo", "Rome"]).into(), search("city (city=?)")),
        (field("city").prefix("Os").into(), search("city (city>? AND city<?)")),
        (field("city").is("Oslo").and(field("age").at_least(18)).into(), search("city (city=?)")),
        (field("key").is(7).into(), "SEARCH person USING INTEGER PRIMARY KEY (rowid=?)".to_owned()),
        (all().order("age").limit(3), "SCAN person USING INDEX person.age".to_owned()),
        (all().order_descending("email").limit(3), "SCAN person USING INDEX person.email".to_owned()),
        (field("age").at_least(80).order("age"), search("age (age>?)")),
    ] {
        let lines = people.plan(query).unwrap();
        assert_eq!(lines[0], plan, "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains("TEMP B-TREE")), "{lines:?}");
    }
}

#[test]
fn queries_for_text_keys_use_the_index_of_the_keys() {
    #[derive(Serialize, Deserialize)]
    struct Page {
        url: String,
    }
    let (_folder, file) = folder();
    let store = EntityStore::open(&file).unwrap();
    let pages = store.define(EntityType::text("page", |page: &Page| &page.url)).unwrap();
    let lines = pages.plan(field("key").prefix("https:")).unwrap();
    assert_eq!(lines, ["SEARCH page USING INDEX page.key (key>? AND key<?)"]);
    assert_eq!(pages.plan(all().order("key")).unwrap(), ["SCAN page USING INDEX page.key"]);
}

#[test]
fn limit_and_skip_apply_to_the_ordered_entities_of_a_query() {
    let (_folder, file) = folder();
    let (_store, people) = open(&file);
    people.write_many(&(0..100).map(person).collect::<Vec<_>>()).unwrap();
    let found = people.query(all().order_descending("age").order("key").skip(11).limit(3)).unwrap();
    assert_eq!(found.iter().map(|person| person.id).collect::<Vec<_>>(), [78, 77, 76]);
    assert_eq!(people.query(all().limit(0)).unwrap(), []);
    assert_eq!(people.query(all().order("key").skip(99)).unwrap(), [person(99)]);
    assert_eq!(people.query(all().limit(u64::MAX)).unwrap().len(), 100);
}

/// Returns the numbers of new, changed and unchanged entities.
fn counts(written: Written) -> (u64, u64, u64) {
    (written.new, written.changed, written.same)
}

#[test]
fn writing_unchanged_entities_writes_nothing_to_the_file() {
    let (_folder, file) = folder();
    let (_store, people) = open(&file);
    let batch: Vec<Person> = (0..3000).map(person).collect();
    assert_eq!(counts(people.write_many(&batch).unwrap()), (3000, 0, 0));
    let log = file.with_extension("db-wal");
    let before = std::fs::read(&log).unwrap();
    assert_eq!(counts(people.write_many(&batch).unwrap()), (0, 0, 3000));
    assert!(before == std::fs::read(&log).unwrap(), "something was written");
    let changed = Person { age: 91, ..person(7) };
    assert_eq!(counts(people.write(&changed).unwrap()), (0, 1, 0));
    assert_eq!(people.read(7).unwrap(), Some(changed));
}

#[test]
fn the_last_of_several_entities_with_the_same_key_in_a_batch_is_stored() {
    let (_folder, file) = folder();
    let (_store, people) = open(&file);
    let twice = [with_email(1, "a"), with_email(2, "b"), with_email(1, "c")];
    assert_eq!(people.write_many(&twice).unwrap().new, 2);
    assert_eq!(people.read(1).unwrap(), Some(with_email(1, "c")));
    // Each key comes in many chunks of the batch, and the last entity with a key is stored.
    let many: Vec<Person> = (0..10_000).map(|at| Person { age: at as u32, ..person(at % 100) }).collect();
    people.write_many(&many).unwrap();
    assert_eq!(people.count(&field("age").at_least(9900)).unwrap(), 100);
    assert_eq!(people.count(&all()).unwrap(), 100);
}

#[test]
fn the_error_about_a_repeated_unique_value_names_both_entities_and_nothing_is_written() {
    let (_folder, file) = folder();
    let (_store, people) = open(&file);
    people.write_many(&[with_email(1, "a"), with_email(2, "b")]).unwrap();
    let parts = ["person 1 and person 3 have the same email, 'a'", "nothing of the batch was written"];
    assert_error(people.write_many(&[with_email(4, "d"), with_email(3, "a")]), ErrorKind::Input, &parts);
    let parts = ["person 5 and person 6 have the same email, 'e'"];
    assert_error(people.write_many(&[with_email(5, "e"), with_email(6, "e")]), ErrorKind::Input, &parts);
    let parts = ["person 2 and person 1 have the same email, 'b'"];
    assert_error(people.write(&with_email(1, "b")), ErrorKind::Input, &parts);
    // With this many entities the index is rebuilt.
    let mut many: Vec<Person> = (10..9000).map(person).collect();
    many.push(with_email(20_000, "p8000@example.com"));
    let parts = ["person 8000 and person 20000 have the same email, 'p8000@example.com'"];
    assert_error(people.write_many(&many), ErrorKind::Input, &parts);
    assert_eq!(people.query(all().order("key")).unwrap(), [with_email(1, "a"), with_email(2, "b")]);
    assert_eq!(people.plan(field("city").is("Oslo")).unwrap().len(), 1);
}

#[test]
fn entities_can_exchange_unique_values_and_several_can_have_null() {
    let (_folder, file) = folder();
    let (_store, people) = open(&file);
    people.write_many(&[with_email(1, "a"), with_email(2, "b")]).unwrap();
    people.write_many(&[with_email(1, "b"), with_email(2, "a")]).unwrap();
    assert_eq!(people.query(field("email").is("a")).unwrap(), [with_email(2, "a")]);
    // A new entity takes a unique value that another entity of a later chunk gives up.
    let mut many: Vec<Person> = (3..6000).map(person).collect();
    people.write_many(&many).unwrap();
    many.insert(0, with_email(0, "p5999@example.com"));
    many[5997] = with_email(5999, "z");
    people.write_many(&many).unwrap();
    assert_eq!(people.query(field("email").is("p5999@example.com")).unwrap()[0].id, 0);
    let none = |id| Person { email: None, ..person(id) };
    people.write_many(&[none(1), none(2), none(7000)]).unwrap();
    assert_eq!(people.count(&field("email").is(sqluice::entity_store::Field::Null)).unwrap(), 3);
}

#[test]
fn an_entity_type_defined_with_other_fields_is_rebuilt() {
    let (_folder, file) = folder();
    let batch: Vec<Person> = (0..3000).map(person).collect();
    open(&file).1.write_many(&batch).unwrap();
    let store = EntityStore::open(&file).unwrap();
    let people = store
        .define(
            EntityType::integer("person", |person: &Person| person.id)
                .index("city", "$.city")
                .unique("mail", "$.email")
                .index_by("decade", |person| (person.age / 10).into()),
        )
        .unwrap();
    assert_eq!(people.query(all().order("key")).unwrap(), batch);
    assert_eq!(people.count(&field("decade").is(4)).unwrap(), 330);
    assert_eq!(
        people.plan(field("decade").is(4)).unwrap(),
        ["SEARCH person USING INDEX person.decade (decade=?)"]
    );
    assert_error(people.query(field("age").is(4)), ErrorKind::Usage, &["\"age\"", "key, city, mail, decade"]);
    let db = Connection::open(&file).unwrap();
    let names = "SELECT group_concat(name, ' ') FROM (SELECT name FROM sqlite_schema WHERE name LIKE 'person%' ORDER BY 1)";
    let names: String = db.query_row(names, [], |row| row.get(0)).unwrap();
    assert_eq!(names, "person person.city person.decade person.mail");
}

#[test]
fn a_failed_rebuild_leaves_the_entity_type_unchanged() {
    let (_folder, file) = folder();
    let batch: Vec<Person> = (0..100).map(person).collect();
    open(&file).1.write_many(&batch).unwrap();
    let store = EntityStore::open(&file).unwrap();
    let by_age = EntityType::integer("person", |person: &Person| person.id).unique("age", "$.age");
    let parts = ["person 0 and person 90 have the same age, 0"];
    assert_error(store.define(by_age), ErrorKind::Input, &parts);
    let people = store.define(people_type()).unwrap();
    assert_eq!(people.query(all().order("key")).unwrap(), batch);
}

#[test]
fn a_write_is_refused_after_another_program_rebuilt_the_entity_type() {
    let (_folder, file) = folder();
    let (_store, people) = open(&file);
    let other = EntityStore::open(&file).unwrap();
    let by_age = EntityType::integer("person", |person: &Person| person.id).index("age", "$.age");
    other.define(by_age).unwrap();
    let parts = ["another program has changed the definition of type person", "must agree"];
    assert_error(people.write(&person(1)), ErrorKind::Target, &parts);
}

#[test]
fn invalid_definitions_of_entity_types_are_refused() {
    let (_folder, file) = folder();
    let (store, people) = open(&file);
    let ty = |name: &str| EntityType::integer(name, |person: &Person| person.id);
    let usage =
        |ty: EntityType<Person>, parts: &[&str]| assert_error(store.define(ty), ErrorKind::Usage, parts);
    usage(
        ty("town").index("x", "email"),
        &["\"email\" is not a JSON path", "at byte 0", "field \"x\"", "type \"town\""],
    );
    usage(ty("town").index("x", "$.a[").index("y", "$"), &["at byte 3"]);
    usage(ty("town").index("Value", "$.a"), &["\"Value\" can't be the name of a field", "taken"]);
    usage(ty("town").index("a", "$.a").index("A", "$.b"), &["\"A\" can't be", "taken"]);
    usage(ty("town").index("a.b", "$.a"), &["\"a.b\" can't be the name of a field", "no \".\""]);
    usage(ty(""), &["\"\" can't be the name of a type"]);
    usage(ty("sqlite_x"), &["\"sqlite_x\" can't be the name of a type"]);
    usage(ty("person"), &["type person has been defined differently", "open the store again"]);
    assert_error(people.read("7"), ErrorKind::Usage, &["person has keys of integers, and '7' is not one"]);
    assert_error(people.read_many(["7"]), ErrorKind::Usage, &["'7' is not one"]);
    for filter in [field("key").prefix("7"), field("key").is("7"), field("key").one_of(["7"])] {
        assert_error(people.count(&filter), ErrorKind::Usage, &["person has keys of integers"]);
    }
    drop((store, people));
    let store = EntityStore::open(&file).unwrap();
    let by_city = EntityType::text("person", |person: &Person| &person.city);
    assert_error(store.define(by_city), ErrorKind::Usage, &["keys of type person are of another kind"]);
    let taken = EntityType::integer("sqlUICE_entity_type", |person: &Person| person.id);
    assert_error(store.define(taken), ErrorKind::Usage, &["can't be the name of a type"]);
}

#[test]
fn a_file_that_is_no_entity_store_is_refused_and_not_changed() {
    let (folder, file) = folder();
    std::fs::write(&file, "not a database, but long enough to look like one: ".repeat(20)).unwrap();
    let parts = ["SQLite cannot open", "people.db", "not a database"];
    assert_error(EntityStore::open(&file), ErrorKind::Target, &parts);
    std::fs::remove_file(&file).unwrap();
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE t (a)").unwrap();
    let before = std::fs::read(&file).unwrap();
    let parts = ["is a database of another program", "a file of its own"];
    assert_error(EntityStore::open(&file), ErrorKind::Target, &parts);
    assert_eq!(std::fs::read(&file).unwrap(), before);
    assert_error(EntityStore::open(folder.path()), ErrorKind::Target, &["SQLite cannot open"]);
    let nowhere = Path::new("no").join("people.db");
    let parts = ["SQLite cannot open", &nowhere.display().to_string()];
    assert_error(EntityStore::open(folder.path().join(&nowhere)), ErrorKind::Target, &parts);
}

#[test]
fn a_table_of_another_program_is_not_used_as_an_entity_type() {
    let (_folder, file) = folder();
    drop(EntityStore::open(&file).unwrap());
    Connection::open(&file).unwrap().execute_batch("CREATE TABLE Person (a)").unwrap();
    let store = EntityStore::open(&file).unwrap();
    let parts = ["another table or index of the store has the name of type person"];
    assert_error(store.define(people_type()), ErrorKind::Target, &parts);
}

#[test]
fn a_value_that_does_not_deserialise_is_an_error_that_names_the_entity() {
    let (_folder, file) = folder();
    let (_store, people) = open(&file);
    people.write_many(&[person(1), person(2)]).unwrap();
    let db = Connection::open(&file).unwrap();
    db.execute_batch("UPDATE person SET value = '{\"id\":2}' WHERE key = 2").unwrap();
    assert_error(
        people.read(2),
        ErrorKind::Input,
        &["JSON of person 2 does not fit", "missing field `city`"],
    );
    assert_error(people.query(all()), ErrorKind::Input, &["JSON of person 2 does not fit"]);
    assert_error(people.read_many([1, 2]), ErrorKind::Input, &["JSON of person 2 does not fit"]);
    assert_eq!(people.read(1).unwrap(), Some(person(1)));
}

#[test]
fn a_transaction_of_entities_that_fails_or_panics_stores_nothing() {
    let (_folder, file) = folder();
    let (store, people) = open(&file);
    let failed: Result<()> = store.transaction(|transaction| {
        transaction.write(&people, &person(1))?;
        assert_eq!(transaction.count(&people, &all())?, 1);
        assert_eq!(people.count(&all())?, 0);
        Err(Error::usage("changed my mind"))
    });
    assert_error(failed, ErrorKind::Usage, &["changed my mind"]);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.transaction(|transaction| {
            transaction.write(&people, &person(1))?;
            panic!("on purpose");
            #[allow(unreachable_code)]
            Ok(())
        })
    }));
    assert!(panicked.is_err());
    assert_eq!(people.count(&all()).unwrap(), 0);
    // A batch that fails undoes only itself.
    store
        .transaction(|transaction| {
            transaction.write(&people, &with_email(1, "a"))?;
            assert!(transaction.write_many(&people, &[with_email(2, "b"), with_email(3, "a")]).is_err());
            assert_error(
                people.write(&person(9)),
                ErrorKind::Usage,
                &["a transaction is under way in this thread"],
            );
            transaction.delete_where(&people, &field("city").is("Oslo")).map(drop)
        })
        .unwrap();
    assert_eq!(people.query(all()).unwrap(), [with_email(1, "a")]);
    let (_other_folder, other) = folder_of_another();
    assert_error(
        store.transaction(|transaction| transaction.write(&other.1, &person(1))),
        ErrorKind::Usage,
        &["type person belongs to another store"],
    );
}

fn folder_of_another() -> (TempDir, (EntityStore, Entities<Person>)) {
    let (folder, file) = folder();
    let opened = open(&file);
    (folder, opened)
}

#[test]
fn readers_of_an_entity_store_see_only_whole_batches() {
    const PEOPLE: i64 = 2000;
    let (_folder, file) = folder();
    let (_store, people) = open(&file);
    let batch = |turn: u32| (0..PEOPLE).map(|id| Person { age: turn, ..person(id) }).collect::<Vec<_>>();
    people.write_many(&batch(0)).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut seen = 0;
                    while !done.load(Ordering::Relaxed) {
                        let found = people.query(all()).unwrap();
                        assert_eq!(found.len() as i64, PEOPLE);
                        let age = found[0].age;
                        assert!(found.iter().all(|person| person.age == age), "half a batch");
                        assert!(age >= seen, "back in time");
                        seen = age;
                    }
                })
            })
            .collect();
        for turn in 1..20 {
            people.write_many(&batch(turn)).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        readers.into_iter().for_each(|reader| reader.join().unwrap());
    });
}

#[test]
fn threads_that_write_to_an_entity_store_wait_for_each_other() {
    let (_folder, file) = folder();
    let (store, people) = open(&file);
    people.write(&Person { age: 0, ..person(1) }).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..25 {
                    let more = store.transaction(|transaction| {
                        let mut one = transaction.read(&people, 1)?.expect("it is there");
                        one.age += 1;
                        transaction.write(&people, &one)
                    });
                    more.unwrap();
                }
            });
        }
    });
    assert_eq!(people.read(1).unwrap().unwrap().age, 100);
}

#[test]
fn json_paths_find_fields_in_the_form_in_which_serde_writes_them() {
    #[derive(Serialize, Deserialize)]
    enum Kind {
        Plain,
        New(i32),
        Two(i32, String),
        Named { a: f32 },
    }
    #[derive(Serialize, Deserialize)]
    struct Inner {
        #[serde(rename = "the x")]
        x: Option<u64>,
        pair: (bool, char),
    }
    #[derive(Serialize, Deserialize)]
    struct Odd {
        id: i64,
        kind: Kind,
        #[serde(flatten)]
        inner: Inner,
        by_number: std::collections::BTreeMap<u8, f32>,
        huge: u128,
    }
    const PATHS: [&str; 11] = [
        "$.kind",
        "$.kind.New",
        "$.kind.Two",
        "$.kind.Two[1]",
        "$.kind.Named.a",
        "$.\"the x\"",
        "$.pair[0]",
        "$.pair[1]",
        "$.by_number.\"7\"",
        "$.huge",
        "$",
    ];
    let (_folder, file) = folder();
    let store = EntityStore::open(&file).unwrap();
    let ty = EntityType::integer("odd", |odd: &Odd| odd.id);
    let ty = PATHS.iter().enumerate().fold(ty, |ty, (at, path)| ty.index(format!("f{at}"), *path));
    let odds = store.define(ty).unwrap();
    let kinds = [Kind::Plain, Kind::New(7), Kind::Two(1, "two".to_owned()), Kind::Named { a: 0.1 }];
    let batch: Vec<Odd> = (0..)
        .zip(kinds)
        .map(|(id, kind)| Odd {
            id,
            kind,
            inner: Inner { x: [None, Some(u64::MAX)][id as usize % 2], pair: (true, 'ß') },
            by_number: [(7, 0.3)].into(),
            huge: u128::from(u64::MAX) * id as u128,
        })
        .collect();
    odds.write_many(&batch).unwrap();
    let db = Connection::open(&file).unwrap();
    for round in 0..2 {
        for (at, path) in PATHS.iter().enumerate() {
            let sql = format!("SELECT count(*) FROM odd WHERE f{at} IS NOT json_extract(value, ?1)");
            let wrong: i64 = db.query_row(&sql, [path], |row| row.get(0)).unwrap();
            assert_eq!(wrong, 0, "{path}, round {round}");
        }
        odds.rebuild().unwrap();
    }
}
