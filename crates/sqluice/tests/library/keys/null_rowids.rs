//! NULL for an INTEGER PRIMARY KEY means one more than the largest so far: beside bad rows, among rows with the same key, and in
//! AUTOINCREMENT tables. Also tests the rows of sqlite_sequence, whatever the tables are called.

#![cfg(feature = "load")]

use crate::support::cases;
use crate::support::files::{Home, integrity, open};
use crate::support::load::{Way, run, schema, shown};
use proptest::prelude::*;
use rusqlite::{Connection, params};
use sqluice::load::Load;
use sqluice::options::{OnConflict, WriteOptions};

/// Rows of `(id, v, w)`.
type Rows = Vec<(Option<i64>, Option<i64>, i64)>;

fn rows() -> impl Strategy<Value = Rows> {
    let id = prop_oneof![2 => Just(None), 3 => (-9..30_i64).prop_map(Some)];
    let v = prop_oneof![1 => Just(None), 6 => (0..12_i64).prop_map(Some)];
    prop::collection::vec((id, v, 0..12_i64), 1..25)
}

fn csv(rows: &Rows) -> String {
    let number = |value: &Option<i64>| value.map_or(String::new(), |value| value.to_string());
    let lines = rows.iter().map(|(id, v, w)| format!("{},{},{w}\n", number(id), number(v)));
    format!("id,v,w\n{}", lines.collect::<String>())
}

/// Returns the rows of the table, and the counters of sqlite_sequence.
fn held(database: &Connection) -> (Vec<(i64, i64, i64)>, Vec<i64>) {
    let mut statement = database.prepare("SELECT id, v, w FROM t ORDER BY id").unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
    let rows = rows.collect::<Result<_, _>>().unwrap();
    let sequence = database.prepare("SELECT seq FROM sqlite_sequence");
    let sequence = sequence.map_or(Vec::new(), |mut statement| {
        statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    });
    (rows, sequence)
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn rows_with_a_null_rowid_get_the_numbers_that_sqlite_gives(
        rows in rows(),
        autoincrement: bool,
        unique: bool,
        on_conflict in prop::sample::select(vec![OnConflict::Abort, OnConflict::Ignore, OnConflict::Replace]),
        reject: bool,
    ) {
        let declared = format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY{}, v INTEGER NOT NULL{}, w INTEGER)",
            if autoincrement { " AUTOINCREMENT" } else { "" },
            if unique { " UNIQUE" } else { "" },
        );
        let twin = Connection::open_in_memory().unwrap();
        twin.execute_batch(&declared).unwrap();
        let verb = match on_conflict {
            OnConflict::Abort => "INSERT",
            OnConflict::Ignore => "INSERT OR IGNORE",
            OnConflict::Replace => "INSERT OR REPLACE",
        };
        let mut failed = false;
        for (id, v, w) in &rows {
            // Bad rows go to the reject file, and are not inserted by SQLite either.
            if v.is_none() && reject {
                continue;
            }
            let good = v.is_some();
            let insert = format!("{verb} INTO t VALUES (?, ?, ?)");
            if !good || twin.execute(&insert, params![id, v, w]).is_err() {
                failed = true;
                break;
            }
        }
        let home = Home::new();
        let file = Way::Path.put(&home, "t.csv", csv(&rows).as_bytes());
        let mut load = Load::new(home.path("x.db"), [file])
            .schema(schema(&declared))
            // All rows may be bad, so the limit of bad rows is above their number.
            .rejects_max(1_000_000)
            .write(WriteOptions::new().on_conflict(on_conflict))
            .tune(|tuning| (tuning.part_bytes, tuning.sample_bytes) = (30, 40));
        load.reject = reject.then(|| home.path("bad.csv"));
        let loaded = run(load);
        prop_assert_eq!(failed, loaded.is_err(), "{:?}", loaded.map_err(|error| shown(&error, &home)));
        if failed {
            return Ok(());
        }
        let ours = open(&home.path("x.db"));
        prop_assert_eq!(integrity(&ours), "ok");
        let (ours, twin) = (held(&ours), held(&twin));
        // Without ids in the file, rows that are left out are counted, too, and leave gaps between our rowids. So only the other columns
        // are compared.
        let counted = rows.iter().all(|(id, ..)| id.is_none());
        if counted {
            let values = |rows: &[(i64, i64, i64)]| rows.iter().map(|(_, v, w)| (*v, *w)).collect::<Vec<_>>();
            prop_assert_eq!(values(&ours.0), values(&twin.0));
        } else {
            prop_assert_eq!(ours, twin);
        }
    }
}

#[test]
fn autoincrement_sequences_of_tables_with_long_names_are_stored() {
    for (page_bytes, name_bytes) in [(512, 420), (512, 470), (512, 480), (4096, 4100), (4096, 20_000)] {
        let home = Home::new();
        let names: Vec<String> = (0..30).map(|i| format!("{}{i:02}", "n".repeat(name_bytes - 2))).collect();
        let sql = names
            .iter()
            .map(|name| format!("CREATE TABLE {name} (id INTEGER PRIMARY KEY AUTOINCREMENT, a);"));
        let file = Way::Path.put(&home, "t.csv", b"id,a\n7,x\n3,y\n");
        let write = WriteOptions::new().page_size(sqluice_format::page::PageSize::new(page_bytes).unwrap());
        run(Load::new(home.path("x.db"), [file])
            .schema(schema(&sql.collect::<String>()))
            .table(names[7].clone())
            .write(write))
        .unwrap();
        let database = open(&home.path("x.db"));
        assert_eq!(integrity(&database), "ok");
        let kept: (String, i64) = database
            .query_row("SELECT name, seq FROM sqlite_sequence", [], |row| Ok((row.get(0)?, row.get(1)?)))
            .unwrap();
        assert_eq!(kept, (names[7].clone(), 7));
    }
}

#[test]
fn two_rows_with_the_same_key_are_reported_by_their_lines_with_and_without_rowids() {
    let told = |sql: &str, csv: &str| {
        let home = Home::new();
        let file = Way::Path.put(&home, "t.csv", csv.as_bytes());
        let load = Load::new(home.path("x.db"), [file])
            .schema(schema(sql))
            .tune(|tuning| (tuning.part_bytes, tuning.sample_bytes) = (8, 8));
        shown(&run(load).unwrap_err(), &home)
    };
    let keyed = "CREATE TABLE t (k INTEGER PRIMARY KEY, b UNIQUE) WITHOUT ROWID";
    let csv = "k,b\n100,x\n200,y\n300,x\n";
    assert!(told(keyed, csv).contains("(rows 1 and 3: lines 2 and 4)"), "{}", told(keyed, csv));
    let least = "k,b\n-9223372036854775808,x\n200,y\n300,x\n";
    assert!(told(keyed, least).contains("(rows 1 and 3: lines 2 and 4)"), "{}", told(keyed, least));
    let rowid = "CREATE TABLE t (id INTEGER PRIMARY KEY, b UNIQUE)";
    let nulls = "id,b\n3,x\n,b\n1,y\n,c\n9,b\n";
    assert!(told(rowid, nulls).contains("(rows 2 and 5: lines 3 and 6)"), "{}", told(rowid, nulls));
}
