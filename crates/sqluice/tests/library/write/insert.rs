//! Rows of a source that SQLite inserts through the virtual table `sqluice_rows`, compared with the same rows inserted by a plain prepared
//! statement.

use proptest::prelude::*;
use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params_from_iter};
use sqluice::encode::Coercion;
use sqluice::error::{Error, Result};
use sqluice::insert::{Insert, Inserted, insert};
use sqluice::options::OnConflict;
use sqluice::progress::{Cancel, Context};
use sqluice::schema::{Schema, Table};

use crate::support::rows::{Owned, OwnedBatch, OwnedColumn};
use crate::support::source::InMemory;
use crate::support::{Random, cases};

/// A table with constraints, and the rows to insert.
#[derive(Clone, Debug)]
struct Case {
    sql: String,
    rows: Vec<Vec<Owned>>,
    /// The columns that are given.
    columns: Vec<usize>,
    on_conflict: OnConflict,
    upsert: Vec<String>,
    batch_rows: usize,
    part_batches: Vec<usize>,
    workers: usize,
}

/// Columns of the table, in its order; all can be given but the last two, which are generated.
const COLUMNS: [&str; 8] = ["k", "a", "b", "c", "d", "e", "v", "s"];

fn case(random: &mut Random) -> Case {
    let key = random.pick(&[
        "INTEGER PRIMARY KEY",
        "INTEGER PRIMARY KEY AUTOINCREMENT",
        "INT PRIMARY KEY",
        "TEXT PRIMARY KEY",
    ]);
    let without_rowid = !key.contains("INTEGER") && random.one_in(2);
    let unique = random.pick(&["", "UNIQUE", "UNIQUE ON CONFLICT IGNORE", "COLLATE NOCASE UNIQUE"]);
    let check = random.pick(&["", "CHECK (d IS NULL OR d < 90)", "CHECK (typeof(d) <> 'blob')"]);
    let not_null = random.pick(&["", "NOT NULL"]);
    let stored = random.pick(&["VIRTUAL", "STORED"]);
    let mut sql = format!(
        "CREATE TABLE log (n INTEGER PRIMARY KEY, what, x);
         CREATE TABLE parent (p INTEGER PRIMARY KEY);
         INSERT INTO parent VALUES (1), (2), (3), (4), (5);
         CREATE TABLE t (k {key}, a TEXT {unique}, b REAL DEFAULT 2.5, c {not_null} DEFAULT 'none', d NUMERIC {check},
         e INTEGER DEFAULT 1 REFERENCES parent (p), v AS (coalesce(a, '') || d) VIRTUAL, s AS (b * 2) {stored}){};",
        if without_rowid { "WITHOUT ROWID" } else { "" },
    );
    let indexes = [
        "CREATE INDEX t_b ON t (b);",
        "CREATE UNIQUE INDEX t_bd ON t (d, b);",
        "CREATE INDEX t_p ON t (c) WHERE d > 5;",
        "CREATE INDEX t_e ON t (abs(b));",
    ];
    let triggers = [
        "CREATE TRIGGER after AFTER INSERT ON t BEGIN INSERT INTO log (what, x) VALUES ('new', new.k || typeof(new.b)); END;",
        "CREATE TRIGGER before BEFORE INSERT ON t WHEN new.b = 7 BEGIN SELECT RAISE(IGNORE); END;",
        "CREATE TRIGGER refuse BEFORE INSERT ON t WHEN new.d = 66 BEGIN SELECT RAISE(ABORT, 'not this one'); END;",
        "CREATE TRIGGER fails AFTER INSERT ON t WHEN new.d = 67 BEGIN SELECT RAISE(FAIL, 'nor this'); END;",
        "CREATE TRIGGER change AFTER UPDATE ON t BEGIN INSERT INTO log (what, x) VALUES ('old', old.k); END;",
    ];
    let with_triggers = random.one_in(2);
    indexes.iter().filter(|_| random.one_in(3)).for_each(|index| sql += index);
    triggers.iter().filter(|_| with_triggers && random.one_in(3)).for_each(|trigger| sql += trigger);

    let spread = random.pick(&[10, 200, 100_000]);
    let careless = random.one_in(3);
    let n = random.below(120);
    // In half of the cases the keys ascend from a first one, with few exceptions.
    let counted = random.one_in(2).then(|| random.pick(&[1, 1, 7, -20, i64::MAX - 50]));
    let rows = (0..n).map(|row| {
        let number = random.below(spread) as i64;
        let key = match random.below(12) {
            _ if let Some(first) = counted
                && !random.one_in(40) =>
            {
                Owned::Int(first.saturating_add(row as i64))
            }
            0 if careless => Owned::Null,
            1 => Owned::Text(format!(" {number}").into_bytes()),
            2 => Owned::Real(number as f64),
            _ => Owned::Int(number),
        };
        let text = |random: &mut Random| {
            Owned::Text(format!("{}{}", random.pick(&["x", "X", ""]), random.below(spread)).into_bytes())
        };
        let any = |random: &mut Random| match random.below(9) {
            0 => Owned::Null,
            1 => text(random),
            2 => Owned::Blob(vec![1, 2, 3]),
            3 => Owned::Real(random.below(100) as f64 / 4.0),
            4 if careless => Owned::Real(f64::NAN),
            5 => Owned::Text(b"12".to_vec()),
            _ => Owned::Int(random.below(if careless { 100 } else { 60 }) as i64),
        };
        let c = if careless && random.one_in(30) { Owned::Null } else { Owned::Int(row as i64) };
        let e = Owned::Int(1 + random.below(if careless { 6 } else { 5 }) as i64);
        vec![key, text(random), any(random), c, any(random), e]
    });
    let rows = rows.collect();
    let on_conflict = random.pick(&[OnConflict::Abort, OnConflict::Ignore, OnConflict::Replace]);
    let upsert = if random.one_in(4) { vec!["K".to_owned()] } else { Vec::new() };
    // SQLite checks FOREIGN KEYs at the end of a statement: it accepts a row without a parent if a later row of the same statement replaces
    // it. So they are on only without REPLACE and upsert.
    let keys_hold = on_conflict != OnConflict::Replace && upsert.is_empty() && random.one_in(3);
    sql += &format!("PRAGMA foreign_keys = {};", if keys_hold { "ON" } else { "OFF" });
    let mut columns: Vec<usize> = (1..6).filter(|_| !random.one_in(5)).collect();
    columns.push(0);
    let by = random.below(columns.len());
    columns.rotate_left(by);
    Case {
        sql,
        rows,
        columns,
        on_conflict,
        upsert,
        batch_rows: random.pick(&[1, 7, 64, 4096]),
        part_batches: (0..4).map(|part| random.below(3) + usize::from(part == 0)).collect(),
        workers: 1 + random.below(3),
    }
}

impl Case {
    fn database(&self) -> (Connection, Schema) {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&self.sql).unwrap();
        let declared: String =
            self.sql.split(';').filter(|s| !s.contains("INSERT INTO parent")).collect::<Vec<_>>().join(";");
        let declared =
            declared.replace("PRAGMA foreign_keys = ON", "").replace("PRAGMA foreign_keys = OFF", "");
        (connection, Schema::parse(declared, std::path::Path::new("x.sql")).unwrap())
    }

    fn how(&self, table: &Table) -> Insert {
        Insert {
            columns: self.columns.clone(),
            coercion: Coercion::All,
            on_conflict: self.on_conflict,
            upsert: self.upsert.clone(),
            workers: self.workers,
            batch_rows: self.batch_rows,
            ..Insert::new(table)
        }
    }

    /// Returns the number of rows in a batch of the source.
    fn chunk(&self) -> usize {
        self.batch_rows.clamp(1, 50)
    }

    fn source(&self) -> InMemory {
        let batches = self.rows.chunks(self.chunk()).map(|rows| {
            let column = |column: usize| {
                OwnedColumn::of(
                    rows.iter().map(|row| row.get(column).cloned().unwrap_or(Owned::Null)).collect(),
                )
            };
            OwnedBatch { rows: rows.len(), columns: (0..COLUMNS.len()).map(column).collect() }
        });
        InMemory::new(batches.collect(), &self.part_batches)
    }

    /// Inserts row by row. Returns the number of the first record that SQLite refuses, and its message.
    fn by_statements(&self, connection: &Connection, schema: &Schema) -> Result<(), (usize, String)> {
        let names: Vec<&str> = self.columns.iter().map(|&column| COLUMNS[column]).collect();
        let marks = vec!["?"; names.len()].join(", ");
        let names_told = names.join(", ");
        let set = || {
            let others =
                names.iter().filter(|name| **name != "k").map(|name| format!("{name} = excluded.{name}"));
            others.collect::<Vec<_>>().join(", ")
        };
        let insert = match (self.upsert.is_empty(), self.on_conflict) {
            (false, _) if names.len() == 1 => {
                format!("INSERT OR ABORT INTO t ({names_told}) VALUES ({marks}) ON CONFLICT (k) DO NOTHING")
            }
            (false, _) => format!(
                "INSERT OR ABORT INTO t ({names_told}) VALUES ({marks}) ON CONFLICT (k) DO UPDATE SET {}",
                set()
            ),
            (true, OnConflict::Abort) => format!("INSERT OR ABORT INTO t ({names_told}) VALUES ({marks})"),
            (true, OnConflict::Ignore) => {
                format!("INSERT OR ABORT INTO t ({names_told}) VALUES ({marks}) ON CONFLICT DO NOTHING")
            }
            (true, OnConflict::Replace) => {
                format!("INSERT OR REPLACE INTO t ({names_told}) VALUES ({marks})")
            }
        };
        let table = table(schema);
        let mut insert = connection.prepare(&insert).unwrap();
        for (number, row) in self.rows.iter().enumerate() {
            for &column in &self.columns {
                let null =
                    row[column] == Owned::Null || matches!(row[column], Owned::Real(real) if real.is_nan());
                if null && table.columns[column].not_null && table.rowid_alias != Some(column) {
                    return Err((number, format!("NULL in column {}, which is NOT NULL", COLUMNS[column])));
                }
            }
            let values = self.columns.iter().map(|&column| &row[column]);
            if let Err(error) = insert.execute(params_from_iter(values)) {
                let message = match error {
                    rusqlite::Error::SqliteFailure(_, Some(message)) => message,
                    error => error.to_string(),
                };
                return Err((number, message));
            }
        }
        Ok(())
    }
}

fn table(schema: &Schema) -> &Table {
    schema.tables.iter().find(|table| table.name == "t").unwrap()
}

fn content(connection: &Connection) -> Vec<Vec<(String, Sql)>> {
    let mut all = Vec::new();
    for sql in ["SELECT k, a, b, c, d, e, v, s FROM t ORDER BY k, c", "SELECT n, what, x FROM log ORDER BY n"]
    {
        let mut select = connection.prepare(sql).unwrap();
        let columns = select.column_count();
        let mut rows = select.raw_query();
        while let Some(row) = rows.next().unwrap() {
            let value = |column| {
                let value: Sql = row.get(column).unwrap();
                (format!("{:?}", value.data_type()), value)
            };
            all.push((0..columns).map(value).collect());
        }
    }
    all
}

fn run(case: &Case, connection: &Connection, schema: &Schema) -> Result<Inserted> {
    let table = table(schema);
    let source = Box::new(case.source());
    insert(connection, table, source, &case.how(table), None, &Context::default())
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn rows_inserted_through_sqluice_rows_equal_rows_inserted_by_plain_statements(seed: u64) {
        let random = &mut Random(seed);
        let case = case(random);
        let ((ours, schema), (twin, _)) = (case.database(), case.database());
        let before: i64 = ours.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        prop_assert_eq!(before, 0);
        ours.execute_batch("BEGIN").unwrap();
        twin.execute_batch("BEGIN").unwrap();
        let done = run(&case, &ours, &schema);
        match (case.by_statements(&twin, &schema), done) {
            (Ok(()), Ok(inserted)) => {
                prop_assert_eq!(inserted.rows + inserted.ignored, case.rows.len() as u64);
                if case.on_conflict != OnConflict::Replace && case.upsert.is_empty() {
                    let rows: i64 = ours.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
                    prop_assert_eq!(inserted.rows, rows.cast_unsigned());
                }
                prop_assert_eq!(content(&ours), content(&twin));
                let sound: String = ours.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
                prop_assert_eq!(sound, "ok");
            }
            (Err((number, message)), Err(error)) => {
                let told = error.message();
                let refused = told.strip_prefix("row ").and_then(|told| told.split(',').next()?.parse::<usize>().ok());
                match (refused, error.record()) {
                    // If the source refuses a row, SQLite gets no row of its batch, and reports no earlier error of that batch. So the
                    // error may be about a later row of the same batch.
                    (Some(row), None) if row > number => {
                        prop_assert_eq!(row / case.chunk(), number / case.chunk(), "{}", told);
                    }
                    (Some(row), None) => {
                        prop_assert_eq!(row, number, "{}", told);
                        let mismatch = message == "datatype mismatch" && told.contains("INTEGER PRIMARY KEY");
                        prop_assert!(mismatch || told.contains(&message), "{} but {}", told, message);
                    }
                    (_, record) => {
                        prop_assert_eq!(record, Some(("t", number as u64 + 1)), "{}", told);
                        prop_assert_eq!(told, format!("record {}: {message}", number + 1));
                    }
                }
            }
            (expected, done) => prop_assert!(false, "{expected:?} but {done:?}"),
        }
    }
}

fn open(sql: &str) -> (Connection, Schema) {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    connection.execute_batch("BEGIN").unwrap();
    (connection, Schema::parse(sql.to_owned(), std::path::Path::new("x.sql")).unwrap())
}

/// Inserts rows of integers: `ints` in the first column, and 0, 2, 4 and so on in each other column.
fn insert_ints(
    (connection, schema): &(Connection, Schema),
    ints: &[i64],
    change: impl FnOnce(Insert) -> Insert,
) -> Result<Inserted> {
    let table = &schema.tables[0];
    let columns = (0..table.columns.len()).map(|column| match column {
        0 => OwnedColumn::ints(ints.to_vec()),
        _ => OwnedColumn::ints((0..ints.len() as i64).map(|row| row * 2).collect()),
    });
    let batch = OwnedBatch { rows: ints.len(), columns: columns.collect() };
    let source = Box::new(InMemory::new(vec![batch], &[1]));
    insert(connection, table, source, &change(Insert::new(table)), None, &Context::default())
}

fn told(error: &Error, expected: (String, Option<u64>, &str)) {
    let (message, record, hint) = expected;
    let said =
        (error.message(), error.record().map(|(_, record)| record), error.hint_text().unwrap_or_default());
    assert_eq!(said, (message, record, hint.to_owned()));
}

#[test]
fn a_repeated_key_is_reported_with_the_record_and_its_values() {
    let database = open("CREATE TABLE t (a INTEGER PRIMARY KEY, b)");
    let error = insert_ints(&database, &[1, 5, 3, 5, 4, 1], |how| how).unwrap_err();
    let expected = "record 4: UNIQUE constraint failed: t.a".to_owned();
    told(&error, (expected, Some(4), "it has a = 5, b = 6"));
}

#[test]
fn a_trigger_that_rolls_back_ends_the_load() {
    let trigger =
        "CREATE TRIGGER r BEFORE INSERT ON t WHEN new.a = 3 BEGIN SELECT RAISE(ROLLBACK, 'away'); END";
    let database = open(&format!("CREATE TABLE t (a, b); {trigger}"));
    let error = insert_ints(&database, &[1, 2, 3, 4], |how| how).unwrap_err();
    let expected = "table t, one of the records 1 to 4: away".to_owned();
    let hint = "RAISE(ROLLBACK) in a trigger, or ON CONFLICT ROLLBACK, has ended the transaction of the load: use ABORT there";
    told(&error, (expected, None, hint));
}

#[test]
fn the_error_about_a_trigger_that_cannot_run_names_no_record() {
    let database = open(
        "CREATE TABLE t (a, b); CREATE TRIGGER r AFTER INSERT ON t BEGIN INSERT INTO gone VALUES (1); END",
    );
    let error = insert_ints(&database, &[1], |how| how).unwrap_err();
    assert_eq!((error.message().as_str(), error.record()), ("SQLite cannot insert into table t", None));
}

#[test]
fn the_conflict_clause_of_a_triggers_statement_is_obeyed() {
    for (on_conflict, upsert) in
        [(OnConflict::Abort, vec![]), (OnConflict::Ignore, vec![]), (OnConflict::Abort, vec!["a".to_owned()])]
    {
        let database = open(
            "CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE TABLE seen (odd PRIMARY KEY);
             CREATE TRIGGER note AFTER INSERT ON t BEGIN INSERT OR IGNORE INTO seen VALUES (new.a % 2); END",
        );
        let how = |how| Insert { on_conflict, upsert, ..how };
        assert_eq!(insert_ints(&database, &[1, 2, 3, 4], how).unwrap().rows, 4);
        let seen: i64 = database.0.query_row("SELECT count(*) FROM seen", [], |row| row.get(0)).unwrap();
        assert_eq!(seen, 2);
    }
}

#[test]
fn on_conflict_clauses_of_the_table_declaration_are_ignored() {
    let database = open(
        "CREATE TABLE t (a INTEGER PRIMARY KEY ON /* or not */ CONFLICT IGNORE, b);
         CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
    );
    let error = insert_ints(&database, &[1, 2, 1], |how| how).unwrap_err();
    assert_eq!(error.message(), "record 3: UNIQUE constraint failed: t.a");
}

#[test]
fn a_row_whose_parent_comes_later_is_no_error() {
    let database = open("CREATE TABLE t (a INTEGER PRIMARY KEY, b REFERENCES t)");
    database.0.execute_batch("COMMIT; PRAGMA foreign_keys = ON; BEGIN").unwrap();
    // The column b has 0, 2, 4, 6: only 0 refers to no row.
    let error = insert_ints(&database, &[6, 4, 3, 2], |how| how).unwrap_err();
    let expected = "table t, one of the records 1 to 4: FOREIGN KEY constraint failed".to_owned();
    told(&error, (expected, None, ""));
    database.0.execute_batch("INSERT INTO t VALUES (0, NULL)").unwrap();
    assert_eq!(insert_ints(&database, &[6, 4, 3, 2], |how| how).unwrap().rows, 4);
}

#[test]
fn an_upsert_by_columns_that_are_no_unique_key_is_refused() {
    let database = open(
        "CREATE TABLE t (a INTEGER PRIMARY KEY, b, c, d, UNIQUE (c, b)); CREATE UNIQUE INDEX p ON t (d) WHERE d > 0;
         CREATE UNIQUE INDEX x ON t (abs(d))",
    );
    let refused = |keys: &[&str]| {
        let upsert = keys.iter().map(|key| (*key).to_owned()).collect();
        let error = insert_ints(&database, &[1], |how| Insert { upsert, ..how }).unwrap_err();
        assert_eq!(
            error.hint_text().as_deref(),
            (!keys.starts_with(&["b", "b"])).then_some("its keys are (a), (c, b)")
        );
        error.message().to_owned()
    };
    assert_eq!(refused(&["d"]), "(d) is not a key of table t");
    assert_eq!(refused(&["b"]), "(b) is not a key of table t");
    assert_eq!(refused(&["a", "b", "c"]), "(a, b, c) is not a key of table t");
    assert_eq!(refused(&["nope"]), "table t has no column nope");
    assert_eq!(refused(&["b", "b"]), "rows are matched by b twice");
    let both = vec!["B".to_owned(), "c".to_owned()];
    let done = insert_ints(&database, &[1, 2], |how| Insert { upsert: both, ..how }).unwrap();
    assert_eq!(done, Inserted { rows: 2, ignored: 0, rejected: Default::default() });
    let without =
        insert_ints(&database, &[1], |how| Insert { upsert: vec!["a".into()], columns: vec![1], ..how });
    assert_eq!(without.unwrap_err().message(), "rows are matched by a, but the input has no column a");
    let none = open("CREATE TABLE t (a, b)");
    let error = insert_ints(&none, &[1], |how| Insert { upsert: vec!["a".into()], ..how }).unwrap_err();
    assert_eq!(
        error.hint_text().as_deref(),
        Some("table t has no PRIMARY KEY and nothing UNIQUE: make a unique index first")
    );
}

#[test]
fn an_upsert_changes_the_existing_row() {
    let database = open("CREATE TABLE t (a INTEGER PRIMARY KEY, b, c DEFAULT 'kept')");
    database.0.execute_batch("INSERT INTO t VALUES (5, 'old', 'mine')").unwrap();
    let how = |how| Insert { upsert: vec!["a".into()], columns: vec![0, 1], ..how };
    let done = insert_ints(&database, &[4, 5, 4], how).unwrap();
    assert_eq!(done, Inserted { rows: 3, ignored: 0, rejected: Default::default() });
    let all = "SELECT group_concat(a || ' ' || b || ' ' || c, ', ') FROM t";
    let all: String = database.0.query_row(all, [], |row| row.get(0)).unwrap();
    assert_eq!(all, "4 4 kept, 5 2 mine");
}

#[test]
fn inserted_numbers_that_lose_digits_are_refused_unless_losses_are_allowed() {
    let (connection, schema) = open("CREATE TABLE t (a INTEGER, b REAL)");
    let text = |text: &str| Owned::Text(text.as_bytes().to_vec());
    let columns = vec![
        OwnedColumn::of(vec![text("1"), text("12345678901234567890")]),
        OwnedColumn::of(vec![text("1e3"), text("5")]),
    ];
    let insert = |conversions| {
        let source = Box::new(InMemory::new(vec![OwnedBatch { rows: 2, columns: columns.clone() }], &[1]));
        let how = Insert { coercion: conversions, ..Insert::new(&schema.tables[0]) };
        insert(&connection, &schema.tables[0], source, &how, None, &Context::default())
    };
    let error = insert(Coercion::Lossless).unwrap_err();
    let expected =
        "row 1, column 0: '12345678901234567890' in column a has more than 64 bits, and would become a float";
    assert_eq!(error.message(), expected);
    assert_eq!(insert(Coercion::All).unwrap().rows, 2);
}

#[test]
fn inserting_rows_needs_an_open_transaction() {
    let database = open("CREATE TABLE t (a, b)");
    database.0.execute_batch("COMMIT").unwrap();
    let error = insert_ints(&database, &[1], |how| how).unwrap_err();
    assert_eq!(error.message(), "rows are inserted in a transaction, and none is open");
}

#[test]
fn a_cancelled_insert_returns_an_error_of_kind_interrupted() {
    let (connection, schema) = open("CREATE TABLE t (a, b)");
    let cancel = Cancel::new();
    cancel.cancel();
    let batch = OwnedBatch { rows: 1, columns: vec![OwnedColumn::ints(vec![1]), OwnedColumn::ints(vec![1])] };
    let source = Box::new(InMemory::new(vec![batch], &[1]));
    let how = Insert::new(&schema.tables[0]);
    let error =
        insert(&connection, &schema.tables[0], source, &how, None, &Context::default().cancel(&cancel))
            .unwrap_err();
    assert_eq!(error.kind(), sqluice::error::ErrorKind::Interrupted);
}
