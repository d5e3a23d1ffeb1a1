//! New databases compared with a twin: the same tables, which SQLite fills by INSERTs with bound values.

use std::path::Path;

use crate::support::cases;
use crate::support::files::{Home, assert_sound, checksum, integrity, open, records};
use crate::support::rows::OwnedBatch;
use crate::support::source::InMemory;
use crate::support::tables::{RandomTable, page_bytes, quoted, table};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rusqlite::{Connection, params_from_iter};
use sqluice::options::WriteOptions;
use sqluice::progress::Context;
use sqluice::schema::Schema;
use sqluice::source::{NoRows, Source};
use sqluice::write::write_tables;
use sqluice_format::page::{PENDING_BYTE, PageSize};
use sqluice_testkit::sqlite::sqlite3;

/// The description of a database and its rows.
#[derive(Clone, Debug)]
struct Case {
    tables: Vec<RandomTable>,
    /// `true` if the schema has views and triggers. In the twin they are created after the rows.
    others: bool,
    page_bytes: u32,
    chunk_bytes: usize,
    threads: usize,
    part_batches: Vec<usize>,
}

const NAMES: [&str; 9] = [
    "t",
    "a table",
    "SELECT",
    "quote\"d",
    "Größe",
    "it's",
    "[x]",
    "comma, -- no comment",
    "\u{1f600}\n/* new line */",
];

fn case() -> impl Strategy<Value = Case> {
    (
        prop::collection::vec(table(12, 6, 400), 0..5),
        prop::sample::subsequence(NAMES.to_vec(), 5),
        any::<bool>(),
        page_bytes(),
        prop_oneof![Just(1), Just(20_000), Just(100_000), Just(8 << 20)],
        1..4usize,
        prop_oneof![Just(vec![1]), Just(vec![100]), Just(vec![0, 2, 1])],
    )
        .prop_map(|(mut tables, names, others, page_bytes, chunk_bytes, threads, part_batches)| {
            for (table, name) in tables.iter_mut().zip(names) {
                name.clone_into(&mut table.name);
            }
            Case { tables, others, page_bytes, chunk_bytes, threads, part_batches }
        })
}

type Rows = Vec<(OwnedBatch, Vec<i64>)>;

impl Case {
    fn tables_sql(&self) -> String {
        self.tables.iter().map(RandomTable::ddl).collect()
    }

    fn others_sql(&self) -> String {
        let make = |(index, table): (usize, &RandomTable)| {
            let name = quoted(&table.name);
            format!(
                "CREATE VIEW \"view {index}\" AS SELECT *, rowid AS number FROM {name};
                 CREATE TRIGGER \"on '{index}'\" AFTER DELETE ON {name} BEGIN SELECT 1; END;\n"
            )
        };
        if self.others { self.tables.iter().enumerate().map(make).collect() } else { String::new() }
    }

    fn rows(&self) -> Vec<Rows> {
        let renumber = |table: &RandomTable| {
            let mut rows = table.rows(self.page_bytes as usize);
            if table.alias().is_none() {
                let mut next = 1..;
                rows.iter_mut()
                    .flat_map(|(_, rowids)| rowids)
                    .zip(&mut next)
                    .for_each(|(rowid, n)| *rowid = n);
            }
            rows
        };
        self.tables.iter().map(renumber).collect()
    }

    fn write(&self, path: &Path, rows: &[Rows]) {
        let schema = Schema::parse(self.tables_sql() + &self.others_sql(), Path::new("test.sql")).unwrap();
        let sources = rows.iter().map(|rows| -> Box<dyn Source> {
            if rows.is_empty() {
                return Box::new(NoRows);
            }
            let batches = rows.iter().map(|(batch, _)| batch.clone()).collect();
            Box::new(InMemory::new(batches, &self.part_batches))
        });
        let options = WriteOptions::new()
            .threads(self.threads)
            .page_size(PageSize::new(self.page_bytes).unwrap())
            .tune(|tuning| tuning.chunk_bytes = self.chunk_bytes);
        let report =
            write_tables(Some(path), &schema, sources.collect(), &options, &Context::default()).unwrap();
        let bytes = std::fs::read(path).unwrap();
        assert_eq!(report.bytes, bytes.len() as u64);
        assert_eq!(report.checksum, checksum(&bytes));
        let counted: Vec<u64> = report.tables.iter().map(|table| table.rows).collect();
        let given = |rows: &Rows| rows.iter().map(|(batch, _)| batch.rows as u64).sum();
        assert_eq!(counted, rows.iter().map(given).collect::<Vec<u64>>());
        let sound = assert_sound(&bytes, PENDING_BYTE);
        for (report, tree) in report.tables.iter().zip(&sound.trees[1..]) {
            assert_eq!(report.root_page, tree.root_page);
            assert_eq!(
                [report.leaf_pages, report.interior_pages, report.overflow_pages],
                [tree.leaf_pages, tree.interior_pages, tree.overflow_pages].map(u64::from)
            );
        }
    }

    /// Fills the twin, and creates views and triggers afterwards.
    fn fill_twin(&self, twin: &mut Connection, rows: &[Rows]) {
        twin.execute_batch(&format!("PRAGMA page_size = {};", self.page_bytes)).unwrap();
        let transaction = twin.transaction().unwrap();
        transaction.execute_batch(&self.tables_sql()).unwrap();
        for (table, rows) in self.tables.iter().zip(rows) {
            let places = vec!["?"; table.columns()].join(", ");
            let sql = format!("INSERT INTO {} VALUES ({places})", quoted(&table.name));
            let mut insert = transaction.prepare(&sql).unwrap();
            for (batch, _) in rows {
                for row in 0..batch.rows {
                    insert.execute(params_from_iter(batch.row(row))).unwrap();
                }
            }
        }
        transaction.execute_batch(&self.others_sql()).unwrap();
        transaction.commit().unwrap();
    }

    fn compare(&self) {
        let rows = self.rows();
        let home = Home::new();
        let (path, twin_path) = (home.path("ours.db"), home.path("twin.db"));
        self.write(&path, &rows);
        let mut twin = open(&twin_path);
        self.fill_twin(&mut twin, &rows);
        let ours = open(&path);
        assert_eq!(integrity(&ours), "ok");
        assert_eq!(objects(&ours), objects(&twin));
        let (bytes, twin_bytes) = (std::fs::read(&path).unwrap(), std::fs::read(&twin_path).unwrap());
        for (table, rows) in self.tables.iter().zip(&rows) {
            let (mine, theirs) =
                (records(&ours, &bytes, &table.name), records(&twin, &twin_bytes, &table.name));
            let rowids: Vec<i64> = rows.iter().flat_map(|(_, rowids)| rowids.clone()).collect();
            assert_eq!(mine.iter().map(|(rowid, _)| *rowid).collect::<Vec<_>>(), rowids);
            assert_eq!(mine.len(), theirs.len());
            for (mine, theirs) in mine.iter().zip(&theirs) {
                assert_eq!(mine, theirs, "table {}", table.name);
            }
            assert_eq!(values(&ours, table), values(&twin, table));
        }
        self.change(&ours);
    }

    /// Inserts and deletes rows, and creates indexes and a table by SQLite. The database must stay sound.
    fn change(&self, database: &Connection) {
        for table in &self.tables {
            let name = quoted(&table.name);
            // The largest rowid may be taken: then SQLite looks for a free one.
            let sql = format!(
                "BEGIN;
                 INSERT INTO {name} (c0) VALUES (NULL);
                 INSERT INTO {name} SELECT * FROM {name} WHERE rowid % 9 = 0 AND {};
                 COMMIT;
                 CREATE INDEX \"index of \"\"{}\" ON {name} (c0, rowid);
                 DELETE FROM {name} WHERE abs(rowid % 3) = 1;
                 DELETE FROM {name} WHERE rowid % 100 > 90;",
                if table.alias().is_some() { "0" } else { "1" },
                table.name.replace('"', ""),
            )
            .replace(", rowid)", ")");
            database.execute_batch(&sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
        }
        assert_eq!(integrity(database), "ok");
        database.execute_batch("VACUUM").unwrap();
        assert_eq!(integrity(database), "ok");
        for table in &self.tables {
            database.execute_batch(&format!("DELETE FROM {}", quoted(&table.name))).unwrap();
        }
        database.execute_batch("CREATE TABLE \"one more\" (a, b)").unwrap();
        assert_eq!(integrity(database), "ok");
    }
}

/// Returns the rows of sqlite_schema without root pages.
fn objects(database: &Connection) -> Vec<[Option<String>; 4]> {
    let mut statement = database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema").unwrap();
    let objects =
        statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?])).unwrap();
    objects.collect::<Result<_, _>>().unwrap()
}

/// Returns rowid, type and SQL literal of every value, as SQLite reads them.
fn values(database: &Connection, table: &RandomTable) -> Vec<String> {
    let columns: String = (0..table.columns()).map(|i| format!(", typeof(c{i}), quote(c{i})")).collect();
    let sql = format!("SELECT rowid{columns} FROM {} ORDER BY rowid", quoted(&table.name));
    let mut statement = database.prepare(&sql).unwrap();
    let mut rows = statement.query([]).unwrap();
    let mut values = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        values.push(row.get::<_, i64>(0).unwrap().to_string());
        // The literal of a text ends at a NUL. Bytes after a NUL are compared elsewhere, with the bytes of the records.
        values.extend((1..=table.columns() * 2).map(|i| row.get::<_, String>(i).unwrap()));
    }
    values
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn databases_of_random_schemas_rows_and_page_sizes_equal_those_of_sqlite(case in case()) {
        case.compare();
    }
}

#[test]
fn the_installed_sqlite3_finds_written_databases_sound_and_can_change_them() {
    let mut runner = TestRunner::deterministic();
    for _ in 0..8 {
        let case = case().new_tree(&mut runner).unwrap().current();
        let home = Home::new();
        let path = home.path("ours.db");
        case.write(&path, &case.rows());
        let name = case.tables.first().map(|table| quoted(&table.name));
        let change = name.map_or(String::new(), |name| format!("DELETE FROM {name} WHERE rowid % 2 = 0;"));
        let sql = format!("PRAGMA integrity_check; {change} VACUUM; PRAGMA integrity_check;");
        let Some(said) = sqlite3(&path, &sql) else { return };
        assert_eq!(said, "ok\nok");
    }
}

#[test]
fn a_schema_of_several_pages_is_stored_unchanged() {
    let columns: Vec<String> = (0..300).map(|i| format!("a_rather_long_name_of_a_column_{i} TEXT")).collect();
    let mut sql = String::from("PRAGMA user_version = -7; PRAGMA application_id = 99;\n");
    for table in 0..60 {
        let columns = if table % 7 == 0 { &columns[..] } else { &columns[..3] };
        sql += &format!("CREATE TABLE t{table} ({});\n", columns.join(", "));
    }
    for page_bytes in [512, 1024, 4096, 65536] {
        let home = Home::new();
        let path = home.path("ours.db");
        let schema = Schema::parse(sql.clone(), Path::new("test.sql")).unwrap();
        let sources = schema.tables.iter().map(|_| Box::new(NoRows) as Box<dyn Source>).collect();
        let options = WriteOptions::new().page_size(PageSize::new(page_bytes).unwrap());
        write_tables(Some(&path), &schema, sources, &options, &Context::default()).unwrap();
        assert_sound(&std::fs::read(&path).unwrap(), PENDING_BYTE);
        let ours = open(&path);
        assert_eq!(integrity(&ours), "ok");
        let twin = Connection::open_in_memory().unwrap();
        twin.execute_batch(&sql).unwrap();
        assert_eq!(objects(&ours), objects(&twin));
        for pragma in ["user_version", "application_id"] {
            let read = |database: &Connection| -> i64 {
                database.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).unwrap()
            };
            assert_eq!(read(&ours), read(&twin));
        }
    }
}
