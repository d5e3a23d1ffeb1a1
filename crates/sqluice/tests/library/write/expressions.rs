//! Random tables with CHECKs, generated columns, and indexes of all kinds: what a load stores is what an INSERT of SQLite stores, and
//! entries of indexes are those of CREATE INDEX, to the byte.
//!
//! ```text
//!                ┌─ load, on any number of threads ──> ours.db ─┐
//!  schema, rows ─┤                                              ├─ rows by type and value; entries of indexes; sound
//!                └─ INSERT of each row ──────────────> twin.db ─┘
//! ```
#![cfg(feature = "load")]

use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;
use rusqlite::{Connection, params_from_iter, types::Value};
use sqluice::error::ErrorKind;
use sqluice::load::Load;
use sqluice::options::{IfExists, OnConflict, WriteOptions, WritePath};
use sqluice::report::Report;
use sqluice::schema::Schema;
use sqluice_format::page::PENDING_BYTE;

use crate::support::files::{Home, assert_sound, integrity, open};
use crate::support::lived_in::{entries, root_page};
use crate::support::{Random, cases};

const TYPES: [&str; 7] = ["INT", "TEXT", "REAL", "NUMERIC", "BLOB", "", "INTEGER"];
const STRICT_TYPES: [&str; 6] = ["INT", "TEXT", "REAL", "ANY", "INTEGER", "BLOB"];
const COLLATIONS: [&str; 4] = ["", "", " COLLATE NOCASE", " COLLATE RTRIM"];

/// Expressions over the columns a, b and "c d".
const EXPRESSIONS: [&str; 62] = [
    "a * 2",
    "a + 1",
    "b || '!'",
    "lower(b)",
    "upper(b) || a",
    "length(b)",
    "\"c d\"",
    "-\"c d\"",
    "a % 4",
    "substr(b, 1, 2) -- a comment",
    "CAST(b AS INTEGER)",
    "CAST(a AS TEXT)",
    "CAST(\"c d\" AS REAL)",
    "CAST(b AS NUMERIC)",
    "coalesce(a, b, [c d])",
    "abs(a)",
    "round(`c d`, 1)",
    "typeof(a)",
    "a IS NULL",
    "b = 'x'",
    "b LIKE 'x%'",
    "b COLLATE NOCASE",
    "'it''s' || a",
    "json_extract('{\"k\":' || a || '}', '$.k')",
    "b ->> '$.k'",
    "max(a, \"c d\")",
    "min(a, b)",
    "iif(a > 3, b, \"c d\")",
    "hex(b)",
    "a || b || \"c d\"",
    "\"c d\" * 1.5",
    "\"c d\" / 0",
    "a / 2.0",
    "b > a",
    "instr(b, 'z')",
    "printf('%05d', a)",
    "x'41' || b",
    "a BETWEEN 1 AND 5",
    "a IN (1, 2, 'x')",
    "b GLOB 'x*'",
    "(a, b) > (2, 'x')",
    "NULL",
    "unicode(b)",
    "trim(b)",
    "json_array(a, b)",
    "CASE WHEN a > 4 THEN json_array_length(b) ELSE 1 END",
    "likely(a > 2)",
    "+a",
    "(\"c d\")",
    "date(b)",
    "datetime(b, '+1 day')",
    "strftime('%Y', b)",
    "julianday(b) + a",
    "unixepoch(b, \"c d\")",
    "timediff(b, '2020-01-01')",
    "time(trim(b))",
    "date('n' || b)",
    "CASE WHEN a > 12 THEN date() ELSE a END",
    "a > 12 OR b < datetime('now')",
    "iif(a > 11, strftime('%s'), date('2024-01-31', b))",
    "date(\"c d\", 'unixepoch', b)",
    "coalesce(b, current_date)",
];

/// A schema with the table `t`, and the columns of `t` that take values.
pub(crate) struct Made {
    pub(crate) sql: String,
    pub(crate) columns: Vec<&'static str>,
    without_rowid: bool,
}

pub(crate) fn schema(random: &mut Random) -> Made {
    let strict = random.one_in(6);
    let types: &[&str] = if strict { &STRICT_TYPES } else { &TYPES };
    let mut items = Vec::new();
    let mut columns = vec!["a", "b", "c d"];
    let (key, without_rowid) = match random.below(3) {
        0 => (None, false),
        1 => (Some("id INTEGER PRIMARY KEY"), false),
        _ => (Some("id INT NOT NULL PRIMARY KEY"), true),
    };
    if let Some(key) = key {
        items.push(key.to_owned());
        columns.insert(0, "id");
    }
    for column in ["a", "b", "\"c d\""] {
        items.push(format!("{column} {}{}", random.pick(types), random.pick(&COLLATIONS)));
    }
    let mut names: Vec<String> = ["a", "b", "\"c d\""].map(str::to_owned).to_vec();
    for number in 0..[0, 0, 1, 2, 3][random.below(5)] {
        let mut expression = random.pick(&EXPRESSIONS).to_owned();
        if names.len() > 3 && random.one_in(2) {
            expression = format!("{} || ({expression}\n)", names[names.len() - 1]);
        }
        let (declared, collation) = (random.pick(types), random.pick(&COLLATIONS));
        let kind = random.pick(&["AS", "GENERATED ALWAYS AS"]);
        let stored = random.pick(&["STORED", "VIRTUAL", ""]);
        let constraints = if random.one_in(8) { random.pick(&[" NOT NULL", " UNIQUE"]) } else { "" };
        items.push(format!("g{number} {declared}{collation} {kind} ({expression}\n) {stored}{constraints}"));
        names.push(format!("g{number}"));
    }
    for number in 0..[0, 0, 0, 1, 2][random.below(5)] {
        let expression = random.pick(&EXPRESSIONS);
        let name = &names[random.below(names.len())];
        let rowid = if without_rowid { "id" } else { random.pick(&["rowid", "oid", "_ROWID_"]) };
        items.push(match random.below(5) {
            0 => format!("CHECK (({expression}\n) IS NOT 'zz9')"),
            1 => format!("CONSTRAINT k{number} CHECK (NOT (({expression}\n) = 7))"),
            2 => format!("CHECK (({expression}\n) OR 1)"),
            3 => format!("CHECK ({name} IS NOT 12)"),
            _ => format!("CHECK ({rowid} < 390)"),
        });
    }
    let options: Vec<&str> =
        [("STRICT", strict), ("WITHOUT ROWID", without_rowid)].iter().filter(|o| o.1).map(|o| o.0).collect();
    let mut sql = format!("CREATE TABLE t ({}) {};\n", items.join(", "), options.join(", "));
    for number in 0..random.below(4) {
        let terms: Vec<String> = (0..1 + random.below(2))
            .map(|_| {
                let term = match random.one_in(2) {
                    true => format!("({}\n)", random.pick(&EXPRESSIONS)),
                    false => names[random.below(names.len())].clone(),
                };
                format!("{term}{}{}", random.pick(&COLLATIONS), random.pick(&["", " DESC"]))
            })
            .collect();
        let filter = match random.below(4) {
            0 => format!(" WHERE {}", random.pick(&EXPRESSIONS)),
            1 => format!(" WHERE {} > 3", names[random.below(names.len())]),
            _ => String::new(),
        };
        let unique = if random.one_in(7) { "UNIQUE " } else { "" };
        writeln!(sql, "CREATE {unique}INDEX i{number} ON t ({}){filter}\n;", terms.join(", ")).unwrap();
    }
    Made { sql, columns, without_rowid }
}

pub(crate) fn value(random: &mut Random) -> Value {
    match random.below(12) {
        0 | 1 => Value::Null,
        2..6 => Value::Integer(random.below(16) as i64 - 3),
        6 => Value::Real(random.pick(&[0.5, 1.5, 2.0, 123_456.75, -7.25])),
        _ => {
            let texts =
                ["x", "X", "xy", "z ", "y", "7", "1.0", "007", "x'", "", "now", "{\"k\": 1}", "2024-01-31"];
            Value::Text(random.pick(&texts).to_owned())
        }
    }
}

/// Returns a line of JSON: numbers and texts keep their types.
fn line(columns: &[&str], row: &[Value]) -> String {
    let fields = columns.iter().zip(row).map(|(column, value)| {
        let value = match value {
            Value::Null | Value::Blob(_) => "null".to_owned(),
            Value::Integer(int) => int.to_string(),
            Value::Real(real) => format!("{real:?}"),
            Value::Text(text) => format!("\"{}\"", text.replace('"', "\\\"")),
        };
        format!("\"{column}\": {value}")
    });
    format!("{{{}}}\n", fields.collect::<Vec<_>>().join(", "))
}

/// Inserts rows as SQLite does it. The first row has `number` as its rowid, if nothing else determines it.
fn insert(
    twin: &Connection,
    made: &Made,
    rows: &[Vec<Value>],
    number: Option<i64>,
    on_conflict: OnConflict,
) -> rusqlite::Result<()> {
    let (or, on) = match on_conflict {
        OnConflict::Abort => ("ABORT", ""),
        OnConflict::Ignore => ("ABORT", "ON CONFLICT DO NOTHING"),
        OnConflict::Replace => ("REPLACE", ""),
    };
    let mut names: Vec<String> = made.columns.iter().map(|column| format!("\"{column}\"")).collect();
    let numbered = number.filter(|_| made.columns[0] != "id");
    names.extend(numbered.map(|_| "rowid".to_owned()));
    let marks = vec!["?"; names.len()].join(", ");
    let sql = format!("INSERT OR {or} INTO t ({}) VALUES ({marks}) {on}", names.join(", "));
    let mut statement = twin.prepare(&sql)?;
    for (row, number) in rows.iter().zip(number.unwrap_or(1)..) {
        let mut values = row.clone();
        values.extend(numbered.map(|_| Value::Integer(number)));
        statement.execute(params_from_iter(values))?;
    }
    Ok(())
}

/// Returns all rows with the types of their values, in the order of their keys.
fn stored(connection: &Connection, made: &Made) -> Vec<String> {
    let all = connection.prepare("SELECT * FROM t").unwrap().column_names().count();
    let mut sql = String::from("SELECT *");
    let names: Vec<String> = {
        let statement = connection.prepare("SELECT * FROM t").unwrap();
        statement.column_names().map(|name| format!("\"{name}\"")).collect()
    };
    names.iter().for_each(|name| write!(sql, ", typeof({name})").unwrap());
    let key = if made.without_rowid { "id" } else { "rowid" };
    let mut statement =
        connection.prepare(&format!("{sql}, {key} FROM t NOT INDEXED ORDER BY {key}")).unwrap();
    let rows = statement.query_map([], |row| {
        let values = (0..2 * all + 1).map(|at| Ok(format!("{:?}", row.get_ref(at)?)));
        Ok(values.collect::<rusqlite::Result<Vec<_>>>()?.join(" "))
    });
    rows.unwrap().map(Result::unwrap).collect()
}

/// Compares the entries of all indexes that were written as pages with those that SQLite makes from the same rows.
fn compare_entries(path: &Path, report: &Report, sql: &str) {
    let of_t = report.tables.iter().find(|table| table.name == "t").unwrap();
    let names = of_t.indexes.iter().filter(|index| index.write_path == WritePath::Sorted);
    let names: Vec<&String> = names.map(|index| &index.name).collect();
    let read = |name: &str| entries(&std::fs::read(path).unwrap(), root_page(&open(path), name));
    let ours: Vec<Vec<Vec<u8>>> = names.iter().map(|name| read(name)).collect();
    Connection::open(path).unwrap().execute_batch("REINDEX").unwrap();
    for (name, ours) in names.iter().zip(ours) {
        assert_eq!(ours, read(name), "{name} of {sql}");
    }
}

fn compare(seed: u64, existing: bool, on_conflict: OnConflict, threads: usize) -> Result<(), TestCaseError> {
    let mut random = Random(seed);
    let mut made = schema(&mut random);
    // Skip random statements that SQLite does not accept as a schema.
    while Connection::open_in_memory().unwrap().execute_batch(&made.sql).is_err() {
        made = schema(&mut random);
    }
    let count = random.pick(&[1, 3, 10, 40, 400]);
    let rows: Vec<Vec<Value>> = (0..count)
        .map(|number| {
            let id = if random.one_in(50) { 1 + random.below(40) as i64 } else { number + 1 };
            let id = (made.columns[0] == "id").then_some(Value::Integer(id));
            id.into_iter().chain((0..3).map(|_| value(&mut random))).collect()
        })
        .collect();
    let (before, rows) = rows.split_at(if existing { rows.len() / 3 } else { 0 });
    let home = Home::new();
    let (ours, twin, file) = (home.path("ours.db"), home.path("twin.db"), home.path("t.jsonl"));
    let twin = Connection::open(twin).unwrap();
    twin.execute_batch(&made.sql).unwrap();
    let mut load = Load::new(&ours, [&file]).table("t").lossy(true);
    let mut write = WriteOptions::new().threads(threads).on_conflict(on_conflict).memory_bytes(64 << 20);
    if existing {
        let old = Connection::open(&ours).unwrap();
        old.execute_batch(&made.sql).unwrap();
        // The existing rows are those that SQLite accepts.
        for row in before {
            let row = std::slice::from_ref(row);
            let taken = insert(&old, &made, row, None, OnConflict::Abort).is_ok();
            prop_assert_eq!(taken, insert(&twin, &made, row, None, OnConflict::Abort).is_ok());
        }
        old.close().unwrap();
        write = write.if_exists(IfExists::Append).tune(|tuning| tuning.many_rows = 20);
    } else {
        load = load.schema(Schema::parse(made.sql.clone(), Path::new("t.sql")).unwrap());
    }
    let lines: String = rows.iter().map(|row| line(&made.columns, row)).collect();
    std::fs::write(&file, lines).unwrap();
    let wanted = twin
        .execute_batch("BEGIN")
        .and_then(|()| insert(&twin, &made, rows, if existing { None } else { Some(1) }, on_conflict));
    let loaded = load.write(write).run();
    let report = match (wanted, loaded) {
        (Err(_), Err(error)) => {
            prop_assert_eq!(error.kind(), ErrorKind::Input, "{}\n{}", error, made.sql);
            return Ok(());
        }
        (Ok(()), Ok(report)) => report,
        (wanted, loaded) => {
            let loaded = loaded.map(drop).map_err(|error| error.to_string());
            return Err(TestCaseError::fail(format!("{}\nSQLite: {wanted:?}, ours: {loaded:?}", made.sql)));
        }
    };
    twin.execute_batch("COMMIT").unwrap();
    let connection = open(&ours);
    prop_assert_eq!(stored(&connection, &made), stored(&twin, &made), "{}", made.sql);
    prop_assert_eq!(integrity(&connection), "ok", "{}", made.sql);
    drop(connection);
    assert_sound(&std::fs::read(&ours).unwrap(), PENDING_BYTE);
    compare_entries(&ours, &report, &made.sql);
    Ok(())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn loaded_rows_and_index_entries_equal_those_that_sqlite_computes(
        seed in any::<u64>(),
        existing in any::<bool>(),
        on_conflict in prop::sample::select(vec![OnConflict::Abort, OnConflict::Ignore, OnConflict::Replace]),
        threads in 1..4usize,
    ) {
        compare(seed, existing, on_conflict, threads)?;
    }
}

/// Expressions that depend on the present time for some values of `a`, `b` and `c`.
const OF_TIME: [&str; 16] = [
    "date(a)",
    "datetime(a, b)",
    "strftime('%Y', a, b)",
    "strftime(b, a)",
    "julianday(a, '+1 day', b)",
    "unixepoch(trim(a))",
    "time(a || b)",
    "date(lower(b))",
    "timediff(a, '2020-01-01')",
    "date('2024-01-31', a, b)",
    "CASE WHEN c > 1 THEN datetime(a) ELSE b END",
    "c > 2 OR date(a) > '2024'",
    "iif(c > 2, date('now'), a)",
    "coalesce(c, current_time)",
    "CASE c WHEN 3 THEN date() END",
    "substr(date(a), 1, 4) || time(\"now\")",
];

fn of_time(random: &mut Random) -> String {
    let mut items = vec!["a TEXT, b TEXT COLLATE NOCASE, c INT".to_owned()];
    for number in 0..random.below(3) {
        let stored = random.pick(&["STORED", "VIRTUAL"]);
        items.push(format!("g{number} AS ({}) {stored}", random.pick(&OF_TIME)));
    }
    for _ in 0..random.below(3) {
        items.push(format!("CHECK (({}) IS NOT '2024-01-31')", random.pick(&OF_TIME)));
    }
    let mut sql = format!("CREATE TABLE t ({});\n", items.join(", "));
    for number in 0..random.below(3) {
        let filter =
            if random.one_in(2) { format!(" WHERE {}", random.pick(&OF_TIME)) } else { String::new() };
        let term = if random.one_in(2) { "c" } else { random.pick(&OF_TIME) };
        writeln!(sql, "CREATE INDEX i{number} ON t (({term})){filter};").unwrap();
    }
    sql
}

/// Loads rows one after another, and rejects those that SQLite refuses.
fn compare_rejected(seed: u64, existing: bool, threads: usize) -> Result<(), TestCaseError> {
    let mut random = Random(seed);
    let mut sql = of_time(&mut random);
    while Connection::open_in_memory().unwrap().execute_batch(&sql).is_err() {
        sql = of_time(&mut random);
    }
    let texts = [
        "now",
        "NOW",
        " now",
        "now ",
        "subsec",
        "SubSecond",
        "localtime",
        "utc",
        "auto",
        "no",
        "w",
        "2024-01-31",
        "%Y",
        "+1 day",
        "2460000",
        "start of month",
        "nowhere",
        "UTC ",
        "12:30",
    ];
    // SQLite inserts few rows into an existing table, and its refusal ends the load.
    let count = if existing { 150 } else { random.pick(&[1, 5, 60]) };
    let rows: Vec<Vec<Value>> = (0..count)
        .map(|_| {
            let mut text = || match random.below(8) {
                0 => Value::Null,
                1 => Value::Text("2024-02-29".to_owned()),
                _ => Value::Text(random.pick(&texts).to_owned()),
            };
            vec![text(), text(), Value::Integer(random.below(4) as i64)]
        })
        .collect();
    let home = Home::new();
    let (ours, file, bad) = (home.path("ours.db"), home.path("t.jsonl"), home.path("bad.csv"));
    let twin = Connection::open_in_memory().unwrap();
    twin.execute_batch(&sql).unwrap();
    std::fs::write(&file, rows.iter().map(|row| line(&["a", "b", "c"], row)).collect::<String>()).unwrap();
    let mut load = Load::new(&ours, [&file]).table("t").reject(&bad).rejects_max(1_000_000);
    let mut write = WriteOptions::new().threads(threads);
    if existing {
        Connection::open(&ours).unwrap().execute_batch(&sql).unwrap();
        write = write.if_exists(IfExists::Append).tune(|tuning| tuning.many_rows = 2);
    } else {
        load = load.schema(Schema::parse(sql.clone(), Path::new("t.sql")).unwrap());
    }
    let mut reasons = Vec::new();
    for (number, row) in (1i64..).zip(&rows) {
        let mut values = row.clone();
        values.push(Value::Integer(number));
        let taken =
            twin.execute("INSERT INTO t (a, b, c, rowid) VALUES (?, ?, ?, ?)", params_from_iter(values));
        reasons.extend(taken.err().map(|error| error.to_string()));
    }
    let report = load.write(write).run().unwrap_or_else(|error| panic!("{error}\n{sql}"));
    prop_assert_eq!(report.rejected, reasons.len() as u64, "{}\n{:?}", sql, reasons);
    let bad = std::fs::read_to_string(&bad).unwrap_or_default();
    for (reason, line) in reasons.iter().zip(bad.lines().skip(1)) {
        if reason.starts_with("non-deterministic") {
            prop_assert!(line.contains(reason), "{}\n{}\n{}", sql, reason, line);
        }
    }
    let all = |connection: &Connection| {
        let made = Made { sql: String::new(), columns: Vec::new(), without_rowid: false };
        stored(connection, &made)
    };
    prop_assert_eq!(all(&open(&ours)), all(&twin), "{}", sql);
    prop_assert_eq!(integrity(&open(&ours)), "ok", "{}", sql);
    compare_entries(&ours, &report, &sql);
    Ok(())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_load_rejects_the_rows_that_sqlite_refuses_as_dependent_on_the_present_time(
        seed in any::<u64>(),
        existing in any::<bool>(),
        threads in 1..4usize,
    ) {
        compare_rejected(seed, existing, threads)?;
    }
}
