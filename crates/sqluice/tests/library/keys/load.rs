//! Loads of files whose rows are in any order of their INTEGER PRIMARY KEY, compared with SQLite's INSERT of the same fields as text.
//!
//! Samples and parts are small, so that later rows refute what a sample showed, and the load begins again.

#![cfg(feature = "load")]

use crate::support::cases;
use crate::support::files::{Home, integrity, open};
use crate::support::keys::{Row, ask, insert};
use crate::support::load::{plain, run, schema};
use crate::support::rows::Owned;
use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::error::{Error, ErrorKind};
use sqluice::load::Load;
use sqluice::options::{OnConflict, WriteOptions};

/// A file, and the table that it is loaded into.
#[derive(Clone, Debug)]
struct Case {
    /// The rowids in the order of the rows; `None` is NULL.
    ids: Vec<Option<i64>>,
    autoincrement: bool,
    /// `true` if the table has another key, which no two rows may share.
    unique: bool,
    /// The number of rows in the file that have the same value of the other key.
    times: usize,
    on_conflict: OnConflict,
    sample_bytes: usize,
    part_bytes: usize,
    threads: usize,
}

/// Generates rowids in some order, some of them twice.
fn ids() -> impl Strategy<Value = Vec<i64>> {
    let ascending = prop::collection::vec(1..4i64, 1..250).prop_map(|gaps| {
        let sum = |sum: &mut i64, gap: i64| {
            *sum += gap;
            Some(*sum)
        };
        gaps.into_iter().scan(-50, sum).collect::<Vec<i64>>()
    });
    let swapped = (ascending.clone(), any::<prop::sample::Index>(), any::<prop::sample::Index>());
    prop_oneof![
        1 => ascending.clone(),
        2 => ascending.clone().prop_shuffle(),
        2 => swapped.prop_map(|(mut ids, a, b)| {
            let (a, b) = (a.index(ids.len()), b.index(ids.len()));
            ids.swap(a, b);
            ids
        }),
        1 => (ascending, any::<prop::sample::Index>(), any::<prop::sample::Index>()).prop_map(|(mut ids, a, b)| {
            let (a, b) = (a.index(ids.len()), b.index(ids.len()));
            ids[a] = ids[b];
            ids
        }),
        1 => prop::collection::vec(-5..60i64, 1..80),
        1 => prop::collection::vec(any::<i64>(), 1..80),
    ]
}

fn case() -> impl Strategy<Value = Case> {
    let conflict = prop_oneof![
        2 => Just(OnConflict::Abort), 1 => Just(OnConflict::Ignore), 1 => Just(OnConflict::Replace)
    ];
    let nulls = prop_oneof![2 => Just(0u8), 1 => Just(1), 1 => Just(8), 1 => Just(10)];
    let keys = (any::<bool>(), any::<bool>(), 1..3usize, conflict);
    let sizes = (prop_oneof![Just(40usize), Just(2 << 20)], 30..3000usize, 1..4usize);
    (ids(), nulls, any::<u64>(), keys, sizes).prop_map(
        |(
            ids,
            nulls,
            seed,
            (autoincrement, unique, times, on_conflict),
            (sample_bytes, part_bytes, threads),
        )| {
            // Rowids are not NULL if the next automatic rowid would depend on rows that SQLite left out, or would follow the largest rowid.
            let others = unique && on_conflict != OnConflict::Abort;
            let full = ids.iter().any(|id| *id > i64::MAX / 2);
            let nulls = if others || full { 0 } else { nulls };
            let mut random = crate::support::Random(seed);
            let ids = ids.into_iter().map(|id| (random.below(10) >= nulls.into()).then_some(id)).collect();
            Case { ids, autoincrement, unique, times, on_conflict, sample_bytes, part_bytes, threads }
        },
    )
}

impl Case {
    fn sql(&self) -> String {
        let autoincrement = if self.autoincrement { " AUTOINCREMENT" } else { "" };
        let unique = if self.unique { " UNIQUE" } else { "" };
        format!(
            "CREATE TABLE t (a TEXT COLLATE NOCASE, id INTEGER PRIMARY KEY{autoincrement}, b INTEGER{unique});
             CREATE INDEX by_a ON t (a DESC, b)"
        )
    }

    /// Returns the fields of the file: text or nothing.
    fn rows(&self) -> Vec<Row> {
        let text = |text: String| Owned::Text(text.into_bytes());
        let row = |(number, id): (usize, &Option<i64>)| {
            let a = text(["x", "X", "y ", "z"][number * 7 % 4].to_owned());
            let id = id.map_or(Owned::Null, |id| text(id.to_string()));
            vec![a, id, text((number / self.times).to_string())]
        };
        self.ids.iter().enumerate().map(row).collect()
    }

    fn csv(&self) -> String {
        let field = |field: &Owned| match field {
            Owned::Text(text) => String::from_utf8(text.clone()).unwrap(),
            _ => String::new(),
        };
        let line = |row: &Row| row.iter().map(field).collect::<Vec<_>>().join(",") + "\n";
        "a,id,b\n".to_owned() + &self.rows().iter().map(line).collect::<String>()
    }

    fn load(&self, home: &Home) -> Result<(), Error> {
        let (file, target) = (home.path("t.csv"), home.path("ours.db"));
        std::fs::write(&file, self.csv()).unwrap();
        let write = WriteOptions::new().threads(self.threads).on_conflict(self.on_conflict);
        let load =
            Load::new(target, [file]).schema(schema(&self.sql())).format(plain()).write(write).tune(
                |tuning| (tuning.sample_bytes, tuning.part_bytes) = (self.sample_bytes, self.part_bytes),
            );
        run(load).map(drop)
    }

    fn compare(&self) {
        let home = Home::new();
        let loaded = self.load(&home);
        let twin = Connection::open_in_memory().unwrap();
        twin.execute_batch(&self.sql()).unwrap();
        match (loaded, insert(&twin, "t", self.on_conflict, &self.rows())) {
            (Ok(()), Ok(())) => {
                let ours = open(&home.path("ours.db"));
                assert_eq!(integrity(&ours), "ok");
                for sql in [
                    "SELECT * FROM t NOT INDEXED",
                    "SELECT a, id, b FROM t INDEXED BY by_a ORDER BY a DESC, b",
                    "SELECT name, seq FROM sqlite_sequence",
                ] {
                    assert_eq!(ask(&ours, sql, &[]), ask(&twin, sql, &[]), "{sql}");
                }
            }
            (Err(error), Err(refused)) => {
                assert_eq!(home.names(), ["t.csv"], "nothing is left behind");
                assert_eq!(error.kind(), ErrorKind::Input, "{error}");
                let place = error.place().unwrap_or_else(|| panic!("{error} has no place; {refused}"));
                assert_eq!(place.file, home.path("t.csv"));
                assert!(place.line.is_some(), "{error}");
            }
            (loaded, inserted) => panic!("ours: {loaded:?}, the twin: {inserted:?}"),
        }
    }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn rows_whose_keys_are_in_any_order_are_stored_as_sqlite_stores_them(case in case()) {
        case.compare();
    }
}

#[test]
fn two_rows_with_one_key_are_reported_with_their_lines() {
    let shuffled: Vec<Option<i64>> = (0..200).map(|row| Some(row * 37 % 200)).collect();
    for (twice, again) in [(3, 6), (0, 199), (60, 150)] {
        for (sample_bytes, part_bytes) in [(40, 100), (2 << 20, 1 << 20)] {
            let mut ids = shuffled.clone();
            ids[again] = ids[twice];
            let case = Case {
                ids,
                autoincrement: false,
                unique: true,
                times: 1,
                on_conflict: OnConflict::Abort,
                sample_bytes,
                part_bytes,
                threads: 2,
            };
            let home = Home::new();
            let error = case.load(&home).unwrap_err();
            let place = error.place().unwrap_or_else(|| panic!("{error} has no place"));
            // The header is line 1.
            assert_eq!(place.line, Some(again as u64 + 2), "{error}");
            let said = format!("{error}");
            assert!(said.contains(&format!("lines {} and {}", twice + 2, again + 2)), "{said}");
            assert!(said.contains("UNIQUE constraint failed: t.id = "), "{said}");
        }
    }
}

#[test]
fn rows_without_rowids_are_in_the_order_of_the_collation_and_the_direction_of_their_key() {
    // Under a collation other than the declared one, some of the rows would be in another order.
    let words = [
        "b", "A", "a x", "B z", "c", "D", "d1", "_", "[", "Z", "z1", "f ", "f\t", "g", "10", "9", "\u{e9}",
        "\u{c9}",
    ];
    for key in ["", "DESC", "COLLATE NOCASE", "COLLATE NOCASE DESC", "COLLATE RTRIM", "COLLATE RTRIM DESC"] {
        let sql = format!("CREATE TABLE x (v INTEGER, k TEXT, PRIMARY KEY (k {key}, v)) WITHOUT ROWID");
        let home = Home::new();
        let lines = (0..).zip(words).map(|(number, word)| format!("{number},{word}\n"));
        std::fs::write(home.path("x.csv"), format!("v,k\n{}", lines.collect::<String>())).unwrap();
        run(Load::new(home.path("x.db"), [home.path("x.csv")]).schema(Some(schema(&sql))).format(plain()))
            .unwrap();
        let ours = open(&home.path("x.db"));
        assert_eq!(integrity(&ours), "ok", "{key}");
        let twin = Connection::open_in_memory().unwrap();
        twin.execute_batch(&sql).unwrap();
        for (number, word) in (0_i64..).zip(words) {
            twin.execute("INSERT INTO x VALUES (?, ?)", (number, word)).unwrap();
        }
        let rows = |database: &Connection| ask(database, "SELECT v, k FROM x", &[]).unwrap();
        assert_eq!(rows(&ours), rows(&twin), "{key}");
    }
}
