//! SQLite is the oracle: our records equal those that it writes, and it finds our databases sound and can change them.

use crate::support::*;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};
use sqluice_format::cell;
use sqluice_format::page::Geometry;
use sqluice_format::record;
use sqluice_format::tree::{Child, TableTree};
use sqluice_format::value::Value;

struct Bound<'a>(Value<'a>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Int(i) => ValueRef::Integer(i),
            Value::Real(r) => ValueRef::Real(r),
            Value::Text(text) => ValueRef::Text(text),
            Value::Blob(blob) => ValueRef::Blob(blob),
        }))
    }
}

/// Returns the file that SQLite writes for rows of one to many values.
fn written_by_sqlite(page_bytes: u32, rows: &[Vec<Value<'_>>]) -> Vec<u8> {
    let home = Home::new();
    let db = open(&home.path);
    let columns = rows.iter().map(Vec::len).max().unwrap();
    let names: Vec<String> = (0..columns).map(|i| format!("c{i}")).collect();
    db.execute_batch(&format!(
        "PRAGMA page_size = {page_bytes}; CREATE TABLE t ({}); BEGIN;",
        names.join(",")
    ))
    .unwrap();
    let marks = vec!["?"; columns].join(",");
    let mut insert = db.prepare(&format!("INSERT INTO t VALUES ({marks})")).unwrap();
    for row in rows {
        let row = row.iter().copied().chain(std::iter::repeat(Value::Null)).take(columns);
        insert.execute(rusqlite::params_from_iter(row.map(Bound))).unwrap();
    }
    drop(insert);
    db.execute_batch("COMMIT").unwrap();
    drop(db);
    home.bytes()
}

fn assert_records_equal(page_bytes: u32, values: &[Vec<Value<'_>>]) {
    let columns = values.iter().map(Vec::len).max().unwrap();
    let bytes = written_by_sqlite(page_bytes, values);
    let theirs = rows(&bytes, 2);
    assert_eq!(theirs.len(), values.len());
    for ((rowid, theirs), (number, row)) in theirs.iter().zip((1..).zip(values)) {
        let mut row = row.clone();
        row.resize(columns, Value::Null);
        let mut ours = Vec::new();
        record::encode(&row, &mut ours);
        assert_eq!((number, &ours), (*rowid, theirs), "{row:?}");
        assert_eq!(record::decode(theirs), Ok(row));
    }
}

#[test]
fn integers_are_encoded_as_sqlite_writes_them() {
    let powers = (0..63).map(|bits| 1i64 << bits).flat_map(|power| [power - 1, power, -power, -power - 1]);
    let values = powers.chain([0, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 56, 123_456_789_012]);
    assert_records_equal(512, &values.map(|i| vec![Value::Int(i)]).collect::<Vec<_>>());
}

#[test]
fn floats_are_encoded_as_sqlite_writes_them() {
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.1,
        1e300,
        -1e-300,
        f64::MIN_POSITIVE,
        5e-324,
        f64::MAX,
        f64::MIN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        140_737_488_355_328.0,
    ];
    assert_records_equal(512, &values.map(|r| vec![Value::Real(r)]));
}

#[test]
fn text_and_blobs_are_encoded_as_sqlite_writes_them() {
    let bytes: Vec<u8> = (0..300_000u32).map(|i| (i % 251 + 1) as u8 & 0x7f).collect();
    let lengths = [0, 1, 2, 56, 57, 58, 59, 100, 8183, 8184, 8185, 8186, 8187, 20_000, 300_000];
    let row = |n: usize| [vec![Value::Text(&bytes[..n])], vec![Value::Blob(&bytes[..n])]];
    assert_records_equal(4096, &lengths.into_iter().flat_map(row).collect::<Vec<_>>());
    let odd: [&[u8]; 4] = [b"a\0b", "Grüße, 世界 🦀".as_bytes(), b"\xff\xfe", b"\xf0\x9f"];
    assert_records_equal(512, &odd.map(|text| vec![Value::Text(text), Value::Null, Value::Blob(text)]));
}

#[test]
fn headers_of_many_columns_are_encoded_as_sqlite_writes_them() {
    for columns in [1, 2, 125, 126, 127, 128, 1000] {
        let row = |value: Value<'static>| vec![value; columns];
        let values = [Value::Null, Value::Int(1), Value::Int(300), Value::Text(b"x")].map(row);
        assert_records_equal(1024, &values);
    }
}

/// Opens a database with the table `t (a)`, and compares its rows with the expected ones, by SQL and from the pages.
fn assert_sqlite_takes(bytes: &[u8], expected: &[Row]) -> (Home, Connection) {
    let report = assert_sound(bytes);
    assert_eq!(
        (report.trees[1].rows, &rows(bytes, report.trees[1].root_page)[..]),
        (expected.len() as u64, expected)
    );
    let home = Home::new();
    let db = home.open_with(bytes);
    assert_eq!(integrity(&db), "ok");
    let mut select = db.prepare("SELECT rowid, a FROM t ORDER BY rowid").unwrap();
    let mut found = select.query([]).unwrap();
    for (rowid, record) in expected {
        let row = found.next().unwrap().expect("no row is missing");
        assert_eq!(row.get::<_, i64>(0).unwrap(), *rowid);
        let value = match row.get_ref(1).unwrap() {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(i) => Value::Int(i),
            ValueRef::Real(r) => Value::Real(r),
            ValueRef::Text(text) => Value::Text(text),
            ValueRef::Blob(blob) => Value::Blob(blob),
        };
        assert_eq!(record::decode(record).unwrap()[0], value);
    }
    assert!(found.next().unwrap().is_none());
    drop(found);
    drop(select);
    (home, db)
}

/// Inserts, updates and deletes rows by SQLite, and asserts that SQLite and our checker still find the file sound.
fn assert_sqlite_can_change(home: &Home, db: &Connection) {
    for sql in [
        "INSERT INTO t (a) SELECT randomblob(100) FROM t LIMIT 50",
        "INSERT INTO t (rowid, a) VALUES ((SELECT coalesce(min(rowid), 9) - 1 FROM t), zeroblob(5000))",
        "CREATE TABLE u AS SELECT * FROM t LIMIT 10; CREATE INDEX i ON t (a)",
        "DELETE FROM t WHERE rowid % 2 = 0",
        "UPDATE t SET a = randomblob(300) WHERE rowid % 5 = 0",
        "VACUUM",
        "DELETE FROM t",
    ] {
        db.execute_batch(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(integrity(db), "ok", "{sql}");
        assert_sound(&home.bytes());
    }
}

fn rows_of(sizes: impl IntoIterator<Item = usize>) -> Vec<Row> {
    (1..).zip(sizes).map(|(rowid, bytes)| (rowid, record_of(bytes, rowid as u8))).collect()
}

fn assert_round_trip(geometry: Geometry, rows: &[Row], capacity: u32) {
    let (home, db) = assert_sqlite_takes(&database(geometry, rows, capacity), rows);
    assert_sqlite_can_change(&home, &db);
}

#[test]
fn tables_of_every_page_size_are_read_and_changed_by_sqlite() {
    for page_bytes in PAGE_SIZES {
        for reserved in [0, 1, 8, 32, 255] {
            if page_bytes == 512 && reserved > 32 {
                continue;
            }
            let large = page_bytes as usize;
            let sizes = (0..150).map(|i| if i % 50 == 7 { large * 2 + i } else { 3 + i * 3 });
            assert_round_trip(geometry(page_bytes, reserved), &rows_of(sizes), 8);
        }
    }
}

#[test]
fn table_payloads_around_every_overflow_boundary_are_read_by_sqlite() {
    for (page_bytes, reserved) in [(512, 0), (512, 32), (1024, 3), (4096, 0), (65536, 0)] {
        let geometry = geometry(page_bytes, reserved);
        let (max, page) = (cell::table_leaf_local_max(geometry), cell::overflow_page_payload(geometry));
        let min = (geometry.usable_bytes() - 12) * 32 / 255 - 23;
        let edges = [max, min + page, max + page, min + 2 * page, max + 2 * page];
        let sizes = edges.into_iter().flat_map(|edge| edge - 2..=edge + 2);
        let rows = rows_of(sizes.chain([2, 3, 4]));
        assert_sqlite_takes(&database(geometry, &rows, 4), &rows);
        assert_sqlite_takes(&database(geometry, &rows, 1000), &rows);
    }
}

#[test]
fn rowids_of_every_length_are_read_by_sqlite() {
    let mut rowids: Vec<i64> = (0..63).flat_map(|bits| [1 << bits, -(1 << bits)]).collect();
    rowids.extend([0, i64::MAX, i64::MIN]);
    rowids.sort_unstable();
    let rows: Vec<Row> = rowids.into_iter().map(|rowid| (rowid, record_of(200, 1))).collect();
    let bytes = database(geometry(512, 0), &rows, 5);
    assert_sqlite_takes(&bytes, &rows);
}

#[test]
fn an_empty_table_is_an_empty_leaf() {
    let mut pages = Pages::new(geometry(512, 0));
    let mut chunk = sqluice_format::chunk::Chunk::new(geometry(512, 0), 1);
    assert_eq!(chunk.place_run(10, 1, 0, &mut Vec::new()), 0);
    assert!(chunk.is_empty());
    let mut leaf = vec![0; 512];
    sqluice_format::page::write_header(&mut leaf, sqluice_format::page::PageKind::LeafTable, 0, 512);
    let root = sqluice_format::tree::AppendPage::append_page(&mut pages, &leaf);
    let bytes = pages.finish(&[entry("t", root, "CREATE TABLE t (a)")]);
    let (home, db) = assert_sqlite_takes(&bytes, &[]);
    assert_sqlite_can_change(&home, &db);
}

/// Returns a database whose table has `leaves` leaves of one row each, with rowids from `first` on.
fn of_leaves(leaves: i64, first: i64) -> (Vec<u8>, Vec<Row>) {
    let rows: Vec<Row> = (first..first + leaves).map(|rowid| (rowid, record_of(300, 5))).collect();
    (database(geometry(512, 0), &rows, 50), rows)
}

#[test]
fn tables_with_about_as_many_leaves_as_fill_a_level_are_read_by_sqlite() {
    // With rowids of 4 bytes, a child takes 10 bytes, and a page has 51 children. With rowids of 9 bytes, a child takes 15 bytes, and a
    // page has 34 children.
    for (first, fanout) in [(1 << 21, 51), (1 << 60, 34)] {
        for leaves in
            [1, 2, fanout - 1, fanout, fanout + 1, fanout + 2, 2 * fanout - 1, 2 * fanout, 2 * fanout + 1]
        {
            let (bytes, rows) = of_leaves(leaves, first);
            assert_sqlite_takes(&bytes, &rows);
        }
        for leaves in [fanout * fanout, fanout * fanout + 1, fanout * fanout + 2, fanout * (fanout + 1) + 1] {
            let (bytes, rows) = of_leaves(leaves, first);
            let report = assert_sound(&bytes);
            assert_eq!(report.trees[1].rows, leaves as u64);
            let home = Home::new();
            assert_eq!(integrity(&home.open_with(&bytes)), "ok");
            assert_eq!(crate::support::rows(&bytes, report.trees[1].root_page), rows);
        }
    }
    let (bytes, rows) = of_leaves(2 * 34 + 1, 1 << 60);
    let (home, db) = assert_sqlite_takes(&bytes, &rows);
    assert_sqlite_can_change(&home, &db);
}

#[test]
fn a_table_has_no_more_levels_and_interior_pages_than_its_leaves_need() {
    // An interior page has at most 34 children, so a level needs a 34th of the pages of the level below it, rounded up.
    let interior = |leaves: i64| {
        let (mut level, mut pages, mut depth) = (leaves, 0, 1);
        while level > 1 {
            level = (level + 33) / 34;
            pages += level;
            depth += 1;
        }
        (depth, pages as u32)
    };
    for leaves in (1..250).chain([34 * 34 - 1, 34 * 34, 34 * 34 + 1, 34 * 34 + 2, 34 * 35, 34 * 35 + 1]) {
        let (bytes, _) = of_leaves(leaves, 1 << 60);
        let tree = &assert_sound(&bytes).trees[1];
        assert_eq!((tree.depth, tree.interior_pages), interior(leaves), "{leaves} leaves");
        assert_eq!(i64::from(tree.leaf_pages), leaves);
    }
}

#[test]
fn a_root_on_page_1_may_have_one_child_or_many() {
    let geometry = geometry(512, 0);
    for leaves in [1u32, 2, 28, 29, 30, 34, 35, 36, 37, 60] {
        let mut pages = Pages::new(geometry);
        let mut tree = TableTree::new(geometry);
        for i in 0..leaves {
            tree.add_leaf(Child { page: 1000 + i, last_rowid: (1 << 60) + i64::from(i) }, &mut pages);
        }
        let children = tree.finish_root(100, &mut pages);
        let mut page = vec![0; 512];
        sqluice_format::tree::write_interior(&mut page, 100, geometry, &children);
        // Page 1 has 400 bytes for cells: 26 cells of 15 bytes. With the right-most child, the root has up to 27 children.
        let written = pages.bytes.len() / 512 - 1;
        assert_eq!(
            (children.len(), written),
            if leaves <= 27 { (leaves as usize, 0) } else { (2, 2) },
            "{leaves}"
        );
    }
}

fn schema(sql_bytes: impl IntoIterator<Item = usize>) -> Vec<(String, String)> {
    let with_length = |(i, bytes): (usize, usize)| {
        let sql = format!("CREATE TABLE t{i} (a /* */)");
        let fill = "x".repeat(bytes.saturating_sub(sql.len()));
        (format!("t{i}"), sql.replace("/* */", &format!("/* {fill}*/")))
    };
    sql_bytes.into_iter().enumerate().map(with_length).collect()
}

/// Writes tables of one row each, and lets SQLite read them.
fn assert_schema(geometry: Geometry, tables: &[(String, String)]) {
    let mut pages = Pages::new(geometry);
    let entries: Vec<_> =
        tables.iter().map(|(name, sql)| entry(name, pages.table(&[(1, record_of(3, 9))], 1), sql)).collect();
    let bytes = pages.finish(&entries);
    let report = assert_sound(&bytes);
    assert_eq!(report.trees.len(), tables.len() + 1);
    let home = Home::new();
    let db = home.open_with(&bytes);
    assert_eq!(integrity(&db), "ok");
    let mut select = db.prepare("SELECT name, sql FROM sqlite_schema ORDER BY rowid").unwrap();
    let found = select.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(found.collect::<Result<Vec<(String, String)>, _>>().unwrap(), tables);
    drop(select);
    for (name, _) in tables {
        let blob: Vec<u8> = db.query_row(&format!("SELECT a FROM {name}"), [], |row| row.get(0)).unwrap();
        assert_eq!(blob, [9]);
    }
    db.execute_batch("CREATE TABLE more (x); INSERT INTO more VALUES (1); DROP TABLE t0; VACUUM").unwrap();
    assert_eq!(integrity(&db), "ok");
    assert_sound(&home.bytes());
}

#[test]
fn schemas_of_1_to_300_tables_are_read_by_sqlite() {
    for page_bytes in [512, 4096] {
        let geometry = geometry(page_bytes, 0);
        for tables in [1, 2, 7, 50, 300] {
            assert_schema(geometry, &schema(vec![60; tables]));
        }
    }
}

#[test]
fn statements_of_lengths_around_page_boundaries_are_read_by_sqlite() {
    // Sizes around the room of page 1, the room of a leaf, and the limit of overflow.
    for bytes in (340..=420).step_by(4).chain(430..=490).chain([1000, 2000, 5000]) {
        assert_schema(geometry(512, 0), &schema([bytes]));
    }
    for bytes in (3900..=4060).step_by(10) {
        assert_schema(geometry(4096, 0), &schema([bytes]));
    }
    assert_schema(geometry(512, 8), &schema([30, 900, 30, 470, 30, 30, 2000, 30]));
}

#[test]
fn a_view_has_a_row_in_the_schema_table() {
    let geometry = geometry(1024, 0);
    let mut pages = Pages::new(geometry);
    let root = pages.table(&[(1, record_of(3, 9))], 4);
    let mut view = entry("v", 0, "CREATE VIEW v AS SELECT a FROM t");
    view.kind = "view".to_owned();
    let bytes = pages.finish(&[entry("t", root, "CREATE TABLE t (a)"), view]);
    assert_sound(&bytes);
    let home = Home::new();
    let db = home.open_with(&bytes);
    let blob: Vec<u8> = db.query_row("SELECT a FROM v", [], |row| row.get(0)).unwrap();
    assert_eq!((blob, integrity(&db)), (vec![9], "ok".to_owned()));
}
