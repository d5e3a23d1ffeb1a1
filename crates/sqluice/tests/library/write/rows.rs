//! The virtual table `sqluice_rows`: its values equal those that are bound one by one, SQLite plans scans and lookups well, and wrong uses
//! are errors.

use std::ffi::CStr;

use proptest::prelude::*;
use rusqlite::types::{ToSqlOutput, Value as Sql};
use rusqlite::{Connection, ToSql, params};
use sqluice::batch::Value;
use sqluice::rows::{self, COLUMNS_MAX, Cells, Column, Rows};

use crate::support::rows::{Owned, OwnedBatch, OwnedColumn, Takes};
use crate::support::{Random, cases};

fn connection() -> Connection {
    let connection = Connection::open_in_memory().unwrap();
    rows::register(&connection).unwrap();
    connection
}

/// `typeof`, and the bytes of the value.
type Told = (String, Sql);

fn told(row: &rusqlite::Row<'_>, column: usize) -> Told {
    (row.get(2 * column).unwrap(), row.get(2 * column + 1).unwrap())
}

/// Returns the rows as SQLite reads them through `sqluice_rows`. With `lent`, the statement borrows them.
fn through_rows(connection: &Connection, rows: &Rows<'_>, columns: usize, lent: bool) -> Vec<Vec<Told>> {
    let select: Vec<String> = (1..=columns).map(|c| format!("typeof(c{c}), c{c}")).collect();
    let sql = format!("SELECT {} FROM sqluice_rows(?1)", select.join(", "));
    let mut statement = connection.prepare(&sql).unwrap();
    let row = |row: &rusqlite::Row<'_>| Ok((0..columns).map(|column| told(row, column)).collect());
    if lent {
        let read = |lent: &mut rows::Lent<'_, '_>| lent.query().mapped(row).map(Result::unwrap).collect();
        rows.lend(&mut statement, 1, read).unwrap()
    } else {
        let owned = rows.clone().into_owned();
        statement.query_map([&owned], row).unwrap().map(Result::unwrap).collect()
    }
}

/// Returns the rows of a batch as SQLite returns their values after these were bound one by one.
fn bound(connection: &Connection, batch: &OwnedBatch) -> Vec<Vec<Told>> {
    let mut select = connection.prepare("SELECT typeof(?1), ?1").unwrap();
    let mut told_of = |value: &Owned| select.query_row([value], |row| Ok(told(row, 0))).unwrap();
    (0..batch.rows).map(|row| batch.row(row).into_iter().map(&mut told_of).collect()).collect()
}

fn random_batch(seed: u64, rows: usize, columns: usize) -> OwnedBatch {
    let random = &mut Random(seed);
    let mut budget = 400_000;
    let takes = [Takes::Anything, Takes::Ints, Takes::Numbers, Takes::Texts, Takes::Blobs];
    let columns = (0..columns).map(|_| {
        let takes = random.pick(&takes);
        OwnedColumn::random(random, takes, rows, 4096, &mut budget)
    });
    OwnedBatch { rows, columns: columns.collect() }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn values_of_sqluice_rows_equal_those_that_are_bound_one_by_one(seed: u64, rows in 1_usize..200, columns in 1_usize..6) {
        let connection = connection();
        let batch = random_batch(seed, rows, columns);
        let expected = bound(&connection, &batch);
        batch.with(|given| {
            let rows = Rows::from_batch(given).unwrap();
            prop_assert_eq!(&through_rows(&connection, &rows, columns, true), &expected);
            prop_assert_eq!(&through_rows(&connection, &rows, columns, false), &expected);
            Ok(())
        })?;
    }

    #[test]
    fn conditions_on_the_rowid_of_sqluice_rows_find_the_same_rows_as_in_a_table(
        rows in 0_i64..40,
        low in proptest::sample::select(VALUES.to_vec()),
        high in proptest::sample::select(VALUES.to_vec()),
        operators in proptest::sample::select(OPERATORS.to_vec()),
    ) {
        let connection = connection();
        connection.execute_batch("CREATE TABLE t (c1)").unwrap();
        let given = Rows::column((1..=rows).map(|row| row * 10).collect::<Vec<i64>>());
        connection.execute("INSERT INTO t SELECT c1 FROM sqluice_rows(?1)", [&given]).unwrap();
        let condition = operators.replace("LOW", low).replace("HIGH", high);
        for order in ["", "ORDER BY rowid", "ORDER BY rowid DESC"] {
            let select = |from: &str| format!("SELECT rowid, c1 FROM {from} WHERE {condition} {order}");
            let pair = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
            let mut statement = connection.prepare(&select("t")).unwrap();
            let mut expected: Vec<_> = statement.query_map([], pair).unwrap().map(Result::unwrap).collect();
            let mut statement = connection.prepare(&select("sqluice_rows(?1)")).unwrap();
            let mut found: Vec<_> = statement.query_map([&given], pair).unwrap().map(Result::unwrap).collect();
            if order.is_empty() {
                expected.sort_unstable();
                found.sort_unstable();
            }
            prop_assert_eq!(found, expected, "{}", condition);
        }
    }
}

const VALUES: [&str; 18] = [
    "0",
    "1",
    "2",
    "7",
    "39",
    "40",
    "41",
    "-1",
    "NULL",
    "3.5",
    "4.0",
    "'5'",
    "'x'",
    "x'00'",
    "9223372036854775807",
    "-9223372036854775808",
    "1e300",
    "(SELECT 6)",
];

const OPERATORS: [&str; 12] = [
    "rowid = LOW OR (rowid = HIGH AND c1 <> 70)",
    "c1 = 20 OR rowid = LOW",
    "(rowid > LOW AND rowid < 7) OR (rowid = HIGH AND c1 > 0) OR rowid = 39",
    "rowid = LOW",
    "rowid IN (LOW, HIGH)",
    "rowid IS LOW",
    "rowid > LOW",
    "rowid >= LOW AND rowid < HIGH",
    "rowid BETWEEN LOW AND HIGH",
    "rowid <= HIGH",
    "rowid <> LOW AND rowid > LOW AND rowid > HIGH",
    "rowid = LOW OR rowid > HIGH",
];

fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let mut rows = explain.raw_query();
    let mut plan = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        plan.push(row.get::<_, String>(3).unwrap());
    }
    plan
}

#[test]
fn two_sqluice_rows_tables_are_joined_by_rowid_without_a_nested_scan() {
    let connection = connection();
    let sql = "SELECT a.c1, b.c1 FROM sqluice_rows(?1) AS a JOIN sqluice_rows(?2) AS b ON a.rowid = b.rowid";
    // The second array is looked up: bit 2 of `idxNum` is EQUAL.
    assert_eq!(plan(&connection, sql), ["SCAN a VIRTUAL TABLE INDEX 1:", "SCAN b VIRTUAL TABLE INDEX 3:"]);
    // The steps of the virtual machine show the lookup, too, as they grow with the number of rows, not with its square.
    let steps = |rows: i64| {
        let [a, b] = [1, 2].map(|n| Rows::column((0..rows).map(|row| row * n).collect::<Vec<i64>>()));
        let mut join = connection.prepare(sql).unwrap();
        let pairs = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?));
        let joined: Vec<_> = join.query_map([&a, &b], pairs).unwrap().map(Result::unwrap).collect();
        assert_eq!(joined, (0..rows).map(|row| (row, 2 * row)).collect::<Vec<_>>());
        join.get_status(rusqlite::StatementStatus::VmStep)
    };
    assert!(steps(4000) < 3 * steps(2000), "{} {}", steps(4000), steps(2000));
}

#[test]
fn a_table_joined_with_sqluice_rows_is_searched_by_key_and_not_scanned() {
    let connection = connection();
    connection.execute_batch("CREATE TABLE t (id INTEGER PRIMARY KEY, a)").unwrap();
    let lookup = plan(&connection, "SELECT a FROM t WHERE id IN (SELECT c1 FROM sqluice_rows(?1))");
    assert_eq!(lookup[0], "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)");
    let join = plan(&connection, "SELECT a FROM t JOIN sqluice_rows(?1) AS r ON t.id = r.c1");
    assert_eq!(join, ["SCAN r VIRTUAL TABLE INDEX 1:", "SEARCH t USING INTEGER PRIMARY KEY (rowid=?)"]);
}

#[test]
fn sqluice_rows_are_in_rowid_order_without_sorting() {
    let connection = connection();
    let plan_of =
        |order: &str| plan(&connection, &format!("SELECT c1 FROM sqluice_rows(?1) ORDER BY {order}"));
    assert_eq!(plan_of("rowid").len(), 1);
    assert_eq!(plan_of("rowid DESC").len(), 2);
    assert_eq!(plan_of("c1").len(), 2);
}

#[test]
fn rowid_conditions_joined_by_or_are_one_scan_of_sqluice_rows() {
    let connection = connection();
    let sql = "SELECT c1 FROM sqluice_rows(?1) WHERE rowid = 1 OR rowid > ?2 ORDER BY rowid DESC";
    // A MULTI-INDEX OR would compare the pointer argument with other values, which SQLite can't do.
    assert_eq!(plan(&connection, sql)[0], "SCAN sqluice_rows VIRTUAL TABLE INDEX 1:");
}

fn error(connection: &Connection, sql: &str, argument: impl ToSql) -> String {
    let mut statement = connection.prepare(sql).unwrap();
    let mut rows = statement.query([argument]).unwrap();
    loop {
        match rows.next() {
            Ok(Some(_)) => {}
            Ok(None) => return "none".to_owned(),
            Err(error) => return error.to_string(),
        }
    }
}

/// A pointer with another type name.
struct Stranger(&'static CStr);

impl ToSql for Stranger {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        static ELSE: u64 = 0;
        Ok(ToSqlOutput::Pointer(((&raw const ELSE).cast(), self.0, None)))
    }
}

#[test]
fn arguments_of_sqluice_rows_that_are_no_rows_are_refused() {
    let connection = connection();
    let one = "SELECT c1 FROM sqluice_rows(?1)";
    let value = "the argument of sqluice_rows is a value, and must be rows that are bound to a parameter";
    assert_eq!(error(&connection, one, 5), value);
    assert_eq!(error(&connection, one, "5"), value);
    assert_eq!(error(&connection, one, 5.5), value);
    assert_eq!(error(&connection, one, vec![1_u8]), value);
    let stranger =
        "the argument of sqluice_rows is a pointer to something else than rows of this copy of sqluice";
    assert_eq!(error(&connection, one, Stranger(c"carray")), stranger);
    assert_eq!(error(&connection, one, None::<i64>), "none", "NULL means no rows");
    let rows = Rows::column(vec![1, 2]);
    assert_eq!(error(&connection, one, &rows), "none");
    let error = |sql| error(&connection, sql, &rows);
    let absent = "sqluice_rows takes its rows as an argument: sqluice_rows(?1)";
    assert_eq!(error("SELECT c1 FROM sqluice_rows WHERE ?1 IS NULL"), absent);
    assert_eq!(error("SELECT c1 FROM sqluice_rows() WHERE ?1 IS NULL"), absent);
    assert_eq!(error("SELECT c2 FROM sqluice_rows(?1)"), "no column c2: the rows of sqluice_rows have 1");
    assert_eq!(error("SELECT argument FROM sqluice_rows(?1)"), "none");
    let too_many = connection.prepare("SELECT c1 FROM sqluice_rows(?1, ?2)").unwrap_err().to_string();
    assert!(too_many.starts_with("too many arguments on sqluice_rows() - max 1"), "{too_many}");
    let view = connection.execute_batch("CREATE VIEW v AS SELECT c1 FROM sqluice_rows(NULL)");
    let viewed = view.and_then(|()| connection.execute_batch("SELECT * FROM v"));
    assert!(viewed.unwrap_err().to_string().contains("unsafe use of virtual table"));
}

#[test]
fn reading_a_row_that_a_batch_declares_but_lacks_is_an_error() {
    use sqluice::batch::{Batch, Bitmap, Bytes, Column, Span, Spans, Values};
    let connection = connection();
    let (ints, spans) = ([1_i64, 2], [Span { start: 0, len: 1 }, Span { start: 1, len: u32::MAX }]);
    let bytes = |spans| Values::Text(Bytes { data: b"ab", spans });
    let columns = [
        Column::new(Values::Int(&ints[..1])),
        Column::new(bytes(Spans::Fixed(2))),
        Column::new(bytes(Spans::Fixed(usize::MAX))),
        Column::new(bytes(Spans::Offsets(&[0, 1]))),
        Column::new(bytes(Spans::Offsets(&[0, 2, 1]))),
        Column::new(bytes(Spans::Anywhere(&spans))),
        Column { values: Values::Null, validity: Some(Bitmap(&[])) },
    ];
    for column in columns {
        let rows = Rows::from_batch(&Batch { rows: 2, columns: vec![column] }).unwrap();
        let mut statement = connection.prepare("SELECT c1 FROM sqluice_rows(?1) WHERE rowid = 2").unwrap();
        let error =
            rows.lend(&mut statement, 1, |lent| lent.query().next().map(|_| ()).unwrap_err()).unwrap();
        assert_eq!(error.to_string(), "column c1 of sqluice_rows has no row 2");
    }
}

#[test]
fn sqluice_rows_have_at_most_1999_columns() {
    let connection = connection();
    let columns = |n: usize| (0..n as i64).map(|column| Column::from(vec![column, -column]));
    let rows = Rows::new(columns(COLUMNS_MAX)).unwrap();
    let sql = "SELECT c1, c64, c1998, c1999 FROM sqluice_rows(?1)";
    let last = connection
        .query_row(sql, [&rows], |row| Ok([row.get::<_, i64>(0)?, row.get(1)?, row.get(2)?, row.get(3)?]));
    assert_eq!(last.unwrap(), [0_i64, 63, 1997, 1998]);
    let all = connection.prepare("SELECT * FROM sqluice_rows(?1)").unwrap();
    assert_eq!(all.column_count(), COLUMNS_MAX);
    assert!(connection.prepare("SELECT c2000 FROM sqluice_rows(?1)").is_err());
    let error = Rows::new(columns(COLUMNS_MAX + 1)).unwrap_err();
    assert_eq!(error.message(), "2000 columns are too many: at most 1999 can be passed at a time");
}

#[test]
fn sqluice_rows_of_columns_with_different_lengths_are_refused() {
    let error = Rows::new([Column::from(&[1, 2]), Column::from(&["a"])]).unwrap_err();
    assert_eq!(
        error.message(),
        "all columns must have the same number of rows: column 1 has 2, and column 2 has 1"
    );
    assert_eq!(Rows::new([]).unwrap().len(), 0);
}

#[test]
fn slices_and_vectors_of_all_supported_types_make_a_column() {
    let connection = connection();
    let (strings, blobs) = (vec!["ä".to_owned(), String::new()], vec![vec![0_u8], Vec::new()]);
    let slices = [b"a".as_slice(), b""];
    let optional = [Some(strings[0].clone()), None];
    let mut cells = Cells::default();
    [Value::Text(b"x"), Value::Null].into_iter().for_each(|value| cells.push(value));
    let columns = vec![
        Column::from(&[1_i64, 2]),
        Column::from(vec![1_i64, 2]),
        Column::from(&[1.5, f64::NAN]),
        Column::from(vec![1.5, -0.0]),
        Column::from(&["a", ""]),
        Column::from(&strings),
        Column::from(&slices),
        Column::from(&blobs),
        Column::from(&[Some(1_i64), None]),
        Column::from(&[Some(0.5), None]),
        Column::from(&[Some("a"), None]),
        Column::from(&optional),
        Column::from(cells),
        [Value::Int(1), Value::Null].into_iter().collect(),
    ];
    let rows = Rows::new(columns.clone()).unwrap();
    let literals = connection
        .query_row(
            "SELECT group_concat(literals, char(10)) FROM (SELECT quote(c1)||' '||quote(c2)||' '||quote(c3)||' '||quote(c4)
             ||' '||quote(c5)||' '||quote(c6)||' '||quote(c7)||' '||quote(c8)||' '||quote(c9)||' '||quote(c10)||' '||quote(c11)
             ||' '||quote(c12)||' '||quote(c13)||' '||quote(c14) AS literals FROM sqluice_rows(?1))",
            [rows.clone().into_owned()],
            |row| row.get::<_, String>(0),
        )
        .unwrap();
    let expected = "1 1 1.5 1.5 'a' 'ä' X'61' X'00' 1 0.5 'a' 'ä' 'x' 1\n2 2 NULL 0.0 '' '' X'' X'' NULL NULL NULL NULL NULL NULL";
    assert_eq!(literals, expected);
    assert_eq!((rows.len(), rows.columns(), rows.is_empty()), (2, 14, false));
    assert_eq!((rows.get(1, 0), rows.get(2, 0), rows.get(0, 14)), (Some(Value::Int(2)), None, None));
}

#[test]
fn a_statement_can_be_bound_to_other_rows_and_keeps_dropped_rows_alive() {
    let connection = connection();
    let mut sum = connection.prepare("SELECT sum(c1) FROM sqluice_rows(?1)").unwrap();
    for n in 1..4 {
        let rows = Rows::column((1..=n).collect::<Vec<i64>>());
        assert_eq!(sum.query_row([&rows], |row| row.get::<_, i64>(0)).unwrap(), n * (n + 1) / 2);
        drop(rows);
        // The parameter still owns the rows.
        let again = sum.raw_query().next().unwrap().unwrap().get::<_, i64>(0).unwrap();
        assert_eq!(again, n * (n + 1) / 2);
    }
    sum.clear_bindings();
    assert_eq!(sum.raw_query().next().unwrap().unwrap().get::<_, Option<i64>>(0).unwrap(), None);
}

#[test]
fn a_running_scan_keeps_its_rows_after_the_bindings_are_cleared() {
    let connection = connection();
    let text: Vec<String> = (0..100).map(|n| format!("text number {n}")).collect();
    let mut statement = connection
        .prepare("SELECT c1, (SELECT max(c1) FROM sqluice_rows(?1)) FROM sqluice_rows(?1)")
        .unwrap();
    let owned = Rows::column(&text).into_owned();
    let mut rows = statement.query([owned]).unwrap();
    rows.next().unwrap();
    std::mem::forget(rows);
    statement.clear_bindings();
    let mut rows = statement.raw_query();
    for text in &text[1..100] {
        let row = rows.next().unwrap().unwrap();
        assert_eq!(row.get_ref(0).unwrap().as_str().unwrap(), *text);
        assert_eq!(row.get_ref(1).unwrap().as_str().unwrap(), "text number 99");
    }
    assert!(rows.next().unwrap().is_none());
}

#[test]
fn borrowed_rows_are_unbound_when_the_borrow_ends() {
    let connection = connection();
    connection.execute_batch("CREATE TABLE t (a, b)").unwrap();
    let mut insert = connection.prepare("INSERT INTO t SELECT c1, ?2 FROM sqluice_rows(?1)").unwrap();
    {
        let text = ["a".to_owned(), "b".to_owned()];
        let rows = Rows::column(&text);
        let inserted = rows.lend(&mut insert, 1, |insert| {
            insert.bind(2, "first")?;
            insert.execute()?;
            insert.bind(2, "second")?;
            assert!(insert.bind(1, 5).is_err(), "the rows stay");
            assert!(insert.bind(3, 5).is_err());
            insert.execute()
        });
        assert_eq!(inserted.unwrap().unwrap(), 2);
    }
    assert_eq!(insert.raw_execute().unwrap(), 0, "the parameter is NULL");
    let all = "SELECT group_concat(a || b, ' ') FROM t";
    let all = connection.query_row(all, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(all, "afirst bfirst asecond bsecond");
}

#[test]
fn a_running_query_on_borrowed_rows_ends_when_the_borrow_ends() {
    let connection = connection();
    let mut query = connection.prepare("SELECT c1 FROM sqluice_rows(?1)").unwrap();
    {
        let text = vec!["one".to_owned(), "two".to_owned()];
        Rows::column(&text)
            .lend(&mut query, 1, |query| {
                let mut rows = query.query();
                rows.next().unwrap();
                std::mem::forget(rows);
            })
            .unwrap();
    }
    assert!(query.raw_query().next().unwrap().is_none());
}

#[test]
fn borrowed_rows_are_unbound_after_a_panic() {
    let connection = connection();
    let mut query = connection.prepare("SELECT c1 FROM sqluice_rows(?1)").unwrap();
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let text = vec!["one".to_owned()];
        Rows::column(&text).lend(&mut query, 1, |query| {
            assert!(query.query().next().unwrap().is_none(), "there is one");
        })
    }));
    assert!(panicked.is_err());
    assert!(query.raw_query().next().unwrap().is_none());
}

#[test]
fn rows_can_be_bound_only_to_existing_parameters() {
    let connection = connection();
    let mut query = connection.prepare("SELECT c1 FROM sqluice_rows(?1)").unwrap();
    let rows = Rows::column(&[1]);
    for parameter in [0, 2, usize::MAX] {
        assert!(rows.lend(&mut query, parameter, |_| unreachable!("there is nothing to run")).is_err());
    }
}

#[test]
fn rows_and_a_connection_that_uses_them_can_move_to_another_thread() {
    fn is_shared<T: Send + Sync + 'static>(_: &T) {}
    let rows = Rows::column(vec![1, 2, 3]);
    is_shared(&rows);
    let connection = connection();
    let sql = "SELECT sum(c1) FROM sqluice_rows(?1)";
    let sum = |connection: &Connection, rows: &Rows<'static>| {
        connection.prepare_cached(sql).unwrap().query_row([rows], |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(sum(&connection, &rows), 6);
    let connection = std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            assert_eq!(sum(&connection_of_this_thread(), &rows), 6);
        });
        other.join().unwrap();
        let rows = rows.clone();
        scope
            .spawn(move || {
                assert_eq!(sum(&connection, &rows), 6);
                connection
            })
            .join()
            .unwrap()
    });
    drop(rows);
    connection.close().unwrap();
}

fn connection_of_this_thread() -> Connection {
    connection()
}

#[test]
fn a_blob_of_20_mb_and_long_text_are_inserted_into_a_utf_16_database() {
    let connection = connection();
    connection.execute_batch("PRAGMA encoding = 'UTF-16le'; CREATE TABLE t (a, b)").unwrap();
    let (blob, text) = (vec![7_u8; 20_000_000], "größe\0中".repeat(100_000));
    let rows =
        Rows::new([Column::from(std::slice::from_ref(&blob)), Column::from(std::slice::from_ref(&text))]);
    let mut insert = connection.prepare("INSERT INTO t SELECT c1, c2 FROM sqluice_rows(?1)").unwrap();
    rows.unwrap().lend(&mut insert, 1, |insert| insert.execute()).unwrap().unwrap();
    let same = "SELECT a = ?1 AND b = ?2 AND length(a) = 20000000 FROM t";
    assert!(connection.query_row(same, params![blob, text], |row| row.get::<_, bool>(0)).unwrap());
}

#[test]
fn sqluice_rows_obey_the_column_limit_of_the_connection() {
    let connection = connection();
    set_column_limit(&connection, 10);
    assert!(connection.prepare("SELECT c9 FROM sqluice_rows(NULL)").is_ok());
    assert!(connection.prepare("SELECT c10 FROM sqluice_rows(NULL)").is_err());
}

fn set_column_limit(connection: &Connection, columns: i32) {
    // SAFETY: the connection is open.
    unsafe {
        rusqlite::ffi::sqlite3_limit(connection.handle(), rusqlite::ffi::SQLITE_LIMIT_COLUMN, columns);
    }
}
