//! Exports to each format: the files and their content, and settings and values that are refused.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sqluice::export::{Export, ExportReport, Mixed, formats};
use sqluice::load::Load;
use sqluice::progress::{Amount, Cancel, Context, Progress};
use sqluice_testkit::names;
use sqluice_testkit::tables::{Exact, by_sqlite};

struct Shop {
    folder: tempfile::TempDir,
}

impl Shop {
    fn new(sql: &str) -> Shop {
        let shop = Shop { folder: tempfile::tempdir().unwrap() };
        Connection::open(shop.db()).unwrap().execute_batch(sql).unwrap();
        shop
    }

    fn db(&self) -> PathBuf {
        self.at("shop.db")
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn export(&self, to: &str) -> Export {
        Export::new(self.db(), self.at(to)).threads(2)
    }

    fn text(&self, export: &Export, to: &str) -> String {
        run(export);
        fs::read_to_string(self.at(to)).unwrap()
    }
}

fn run(export: &Export) -> ExportReport {
    export.run().unwrap()
}

fn refused(export: &Export) -> String {
    export.run().unwrap_err().to_string()
}

const ITEMS: &str = "CREATE TABLE items (id INTEGER PRIMARY KEY, name TEXT, price REAL);
    INSERT INTO items VALUES (1, 'tea', 2.5), (2, '', NULL), (3, NULL, 1e300), (9, 'a \"b\", c' || char(10), -7.0)";

#[test]
fn csv_exports_distinguish_null_from_empty_text() {
    let shop = Shop::new(ITEMS);
    let expected = "id,name,price\n1,tea,2.5\n2,\"\",\n3,,1e+300\n9,\"a \"\"b\"\", c\n\",-7.0\n";
    assert_eq!(shop.text(&shop.export("x.csv"), "x.csv"), expected);
    let expected = "id\tname\tprice\n1\ttea\t2.5\n2\t\"\"\t\n3\t\t1e+300\n9\t\"a \"\"b\"\", c\n\"\t-7.0\n";
    assert_eq!(shop.text(&shop.export("x.tsv"), "x.tsv"), expected);
}

#[test]
fn json_exports_are_one_object_per_line_or_an_array_of_objects() {
    let shop = Shop::new(ITEMS);
    let export = shop.export("x.ndjson").columns(vec!["name".to_owned(), "ID".to_owned()]);
    let lines = [
        r#"{"name":"tea","id":1}"#,
        r#"{"name":"","id":2}"#,
        r#"{"name":null,"id":3}"#,
        r#"{"name":"a \"b\", c\n","id":9}"#,
    ];
    assert_eq!(shop.text(&export, "x.ndjson"), lines.map(|line| format!("{line}\n")).concat());
    let export = shop.export("x.json").columns(vec!["name".to_owned(), "ID".to_owned()]);
    assert_eq!(shop.text(&export, "x.json"), format!("[\n{}\n]\n", lines.join(",\n")));
    let export = shop.export("none.json").filter("id > 100".to_owned());
    assert_eq!(shop.text(&export, "none.json"), "[\n]\n");
}

#[test]
fn json_exports_keep_nulls_and_values_of_several_types_in_a_column() {
    let shop = Shop::new(
        "CREATE TABLE t (a INTEGER, b REAL, c TEXT, d);
         INSERT INTO t VALUES (7, 2.5, 'x', 0), (NULL, NULL, NULL, NULL), (0, -0.25, '', 'y'), (-1, 1e300, 'z', 0.5)",
    );
    let lines = [
        r#"{"a":7,"b":2.5,"c":"x","d":0}"#,
        r#"{"a":null,"b":null,"c":null,"d":null}"#,
        r#"{"a":0,"b":-0.25,"c":"","d":"y"}"#,
        r#"{"a":-1,"b":1e+300,"c":"z","d":0.5}"#,
    ];
    assert_eq!(
        shop.text(&shop.export("x.ndjson"), "x.ndjson"),
        lines.map(|line| format!("{line}\n")).concat()
    );
}

#[test]
fn selected_columns_selected_rows_and_queries_are_exported() {
    let shop = Shop::new(ITEMS);
    let export =
        shop.export("1.csv").columns(vec!["price".to_owned(), "id".to_owned()]).filter("id > 1".to_owned());
    assert_eq!(shop.text(&export, "1.csv"), "price,id\n,2\n1e+300,3\n-7.0,9\n");
    assert_eq!(shop.text(&shop.export("2.csv").limit(1), "2.csv"), "id,name,price\n1,tea,2.5\n");
    assert_eq!(shop.text(&shop.export("3.csv").limit(0), "3.csv"), "id,name,price\n");
    let query = "SELECT count(*) AS n, max(name) AS last FROM items".to_owned();
    assert_eq!(shop.text(&shop.export("4.csv").query(query), "4.csv"), "n,last\n4,tea\n");
}

#[test]
fn all_tables_of_a_database_are_exported_to_a_folder() {
    let shop = Shop::new(
        "CREATE TABLE a (x); CREATE TABLE b (y); CREATE VIEW v AS SELECT y FROM b; INSERT INTO b VALUES (7)",
    );
    let report = run(&shop.export("new/out").format(&formats::NDJSON));
    assert_eq!(names(&shop.at("new/out")), ["a.ndjson", "b.ndjson"]);
    assert_eq!((report.files.len(), report.rows()), (2, 1));
    let view = shop.export("new/out/").tables(["v"]).format(&formats::CSV);
    assert_eq!(shop.text(&view, "new/out/v.csv"), "y\n7\n");
    for (export, message) in [
        (shop.export("new/out"), "format"),
        (shop.export("x.csv"), "has several tables: a, b"),
        (shop.export("new/out").format(&formats::NDJSON), "already exists"),
    ] {
        let refused = refused(&export);
        assert!(refused.contains(message), "{refused}");
    }
    run(&shop.export("new/out").format(&formats::NDJSON).overwrite(true));
    assert_eq!(names(&shop.at("new/out")), ["a.ndjson", "b.ndjson", "v.csv"]);
}

#[test]
fn a_value_that_the_format_cannot_store_is_an_error_with_the_place_and_leaves_no_file() {
    let sql = "CREATE TABLE t (id INTEGER PRIMARY KEY, v); CREATE TABLE w (k TEXT PRIMARY KEY, v INT) WITHOUT ROWID;
        INSERT INTO t VALUES (1, 'a'), (2, 'b'), (5, x'00ff'); INSERT INTO w VALUES ('a', 1), ('b', 'two')";
    let shop = Shop::new(sql);
    for (to, table, place) in [
        ("x.csv", "t", "a blob of 2 bytes (table t, rowid 5, column v)"),
        ("x.json", "t", "a blob of 2 bytes (table t, rowid 5, column v)"),
        ("x.parquet", "t", "a column of text (table t, rowid 5, column v)"),
        ("x.arrow", "w", "'two' in a column of integers (table w, key 'b', column v)"),
    ] {
        let message = refused(&shop.export(to).tables([table]));
        assert!(message.contains(place), "{to}: {message}");
        assert_eq!(names(shop.folder.path()), ["shop.db"]);
    }
    let report = run(&shop.export("x.csv").tables(["t"]).mixed(Mixed::Null));
    assert_eq!(report.files[0].nulled, [("v".to_owned(), 1)]);
    assert_eq!(fs::read_to_string(shop.at("x.csv")).unwrap(), "id,v\n1,a\n2,b\n5,\n");
    run(&shop.export("w.arrow").tables(["w"]).mixed(Mixed::Text));
    Load::new(shop.at("w.db"), [shop.at("w.arrow")]).run().unwrap();
    let texts = by_sqlite(&shop.at("w.db"), "SELECT v FROM w");
    assert_eq!(texts, [[Exact::Text(b"1".to_vec())], [Exact::Text(b"two".to_vec())]]);
}

#[test]
fn a_csv_export_notes_a_column_that_has_both_numbers_and_text() {
    let shop = Shop::new("CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2), ('1', 3)");
    let report = run(&shop.export("x.csv"));
    assert_eq!(report.files[0].notes.len(), 1, "{:?}", report.files[0].notes);
    assert!(report.files[0].notes[0].contains("column a"));
    assert!(run(&shop.export("x.ndjson")).files[0].notes.is_empty());
}

#[test]
fn text_is_exported_as_dates_only_on_request() {
    let sql = "CREATE TABLE t (d DATE, m TIMESTAMP); INSERT INTO t VALUES ('2024-02-29', '2024-02-29 12:30:05.5'), (NULL, NULL)";
    let shop = Shop::new(sql);
    for (dates, types) in [(false, ["TEXT", "TEXT"]), (true, ["TEXT", "TEXT"])] {
        let (file, db) = (shop.at(&format!("{dates}.parquet")), shop.at(&format!("{dates}.db")));
        run(&Export::new(shop.db(), &file).dates(dates));
        let schema = parquet_types(&file);
        let expected = if dates { ["Date32", "Timestamp(µs)"] } else { ["Utf8", "Utf8"] };
        assert_eq!(schema, expected);
        let table = file.file_stem().unwrap().to_str().unwrap().to_owned();
        Load::new(&db, [&file]).run().unwrap();
        let found = by_sqlite(&db, &format!("SELECT type FROM pragma_table_info('{table}')"));
        assert_eq!(found, types.map(|name| vec![Exact::Text(name.as_bytes().to_vec())]));
        let day = by_sqlite(&db, &format!("SELECT d FROM \"{table}\""));
        assert_eq!(day, [[Exact::Text(b"2024-02-29".to_vec())], [Exact::Null]]);
    }
    Connection::open(shop.db()).unwrap().execute_batch("UPDATE t SET d = 'soon'").unwrap();
    let message = refused(&shop.export("x.parquet").dates(true));
    assert!(message.contains("'soon' in a column of dates (table t, rowid 1, column d)"), "{message}");
}

fn parquet_types(file: &Path) -> Vec<String> {
    let file = fs::File::open(file).unwrap();
    let reader = parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
    reader.schema().fields().iter().map(|field| field.data_type().to_string()).collect()
}

#[test]
fn parquet_columns_of_decimals_are_doubles_and_untyped_ones_get_the_type_of_their_values() {
    let sql = "CREATE TABLE t (a DECIMAL(10, 2), b NUMERIC, c, d BOOLEAN, e, f BLOB, g DECIMAL);
        INSERT INTO t VALUES (1, 2, 'x', 1, NULL, x'00', 9007199254740993), (1.5, 3, 'y', 0, NULL, NULL, 1)";
    let shop = Shop::new(sql);
    run(&shop.export("x.parquet"));
    let expected = ["Float64", "Float64", "Utf8", "Int64", "Utf8", "Binary", "Int64"];
    assert_eq!(parquet_types(&shop.at("x.parquet")), expected);
}

#[test]
fn the_bytes_of_an_exported_file_do_not_depend_on_threads() {
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c REAL);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
        INSERT INTO t SELECT i, 'row ' || i, i / 7.0 FROM n";
    let shop = Shop::new(sql);
    for format in ["csv.gz", "json", "ndjson.zst", "parquet", "arrow"] {
        let bytes = |threads: usize| {
            let to = format!("{threads}.{format}");
            run(&shop.export(&to).threads(threads));
            fs::read(shop.at(&to)).unwrap()
        };
        assert!(bytes(1) == bytes(3), "{format}");
    }
}

#[test]
fn contradictory_settings_of_an_export_are_refused() {
    let shop = Shop::new(ITEMS);
    fs::write(shop.at("there.csv"), "").unwrap();
    let query = || "SELECT 1 AS one".to_owned();
    for (export, message) in [
        (shop.export("x.csv").query(query()).tables(["items"]), "tables are too"),
        (shop.export("x.csv").query(query()).filter("1".to_owned()), "do not go together"),
        (shop.export("x.csv").threads(0), "at least 1"),
        (shop.export("x"), "no format is known"),
        (shop.export("x.parquet.gz"), "not compressed as a whole"),
        (shop.export("there.csv"), "already exists"),
        (shop.export("shop.db").format(&formats::CSV).overwrite(true), "is the database that is read"),
        (shop.export("no/where.csv"), "mkdir"),
        (shop.export("x.csv").tables(["itms"]), "did you mean items?"),
        (shop.export("x.csv").filter("prise > 1".to_owned()), "prise"),
        (shop.export("x.csv").columns(Vec::new()), "at least one column"),
    ] {
        let error = export.run().unwrap_err();
        let cause = std::error::Error::source(&error).map_or(String::new(), ToString::to_string);
        assert!(format!("{error} {cause}").contains(message), "{message}: {error} {cause}");
    }
    assert_eq!(names(shop.folder.path()), ["shop.db", "there.csv"]);
}

/// Sets the cancel flag at the first report of rows.
struct Stops(Cancel);

impl Progress for Stops {
    fn advance(&self, done: Amount) {
        if done.rows > 0 {
            self.0.cancel();
        }
    }
}

#[test]
fn an_export_that_is_cancelled_leaves_no_file() {
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
        INSERT INTO t SELECT i, 'row ' || i FROM n";
    let shop = Shop::new(sql);
    for to in ["x.csv", "x.parquet", "x.arrow"] {
        let cancel = Cancel::new();
        let stops = Stops(cancel.clone());
        let context = Context::default().progress(&stops).cancel(&cancel);
        let error = shop.export(to).run_with(&context).unwrap_err();
        assert_eq!(error.kind(), sqluice::error::ErrorKind::Interrupted, "{to}: {error}");
        assert_eq!(names(shop.folder.path()), ["shop.db"]);
    }
}

#[test]
fn tables_and_views_of_a_database_are_loaded_into_another_database() {
    let sql = "CREATE TABLE a (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE b (x REAL, y);
        CREATE VIEW v AS SELECT name FROM a; INSERT INTO a VALUES (5, 'five'), (7, NULL);
        INSERT INTO b VALUES (1, x'00'), (2.5, 'text'), (NULL, 3)";
    let shop = Shop::new(sql);
    let load = |to: &str, table: Option<&str>| {
        let mut load = Load::new(shop.at(to), [shop.db()]);
        load.tables = table.map(str::to_owned).into_iter().collect();
        load.run().unwrap()
    };
    assert_eq!(load("all.db", None).rows, 5);
    for sql in ["SELECT * FROM a", "SELECT * FROM b"] {
        assert_eq!(by_sqlite(&shop.at("all.db"), sql), by_sqlite(&shop.db(), sql));
    }
    assert_eq!(load("view.db", Some("v")).rows, 2);
    assert_eq!(by_sqlite(&shop.at("view.db"), "SELECT * FROM v"), by_sqlite(&shop.db(), "SELECT * FROM v"));
    let mut unknown = Load::new(shop.at("no.db"), [shop.db()]);
    unknown.tables = vec!["c".to_owned()];
    let error = unknown.prepare(&Context::default()).err().unwrap();
    assert!(error.message().contains("has no table c"), "{error}");
}

#[test]
fn settings_for_text_files_are_refused_in_a_load_from_a_database() {
    let shop = Shop::new(ITEMS);
    let mut delimited = Load::new(shop.at("x.db"), [shop.db()]);
    delimited.format = sqluice::load::FormatOptions::new().header(true);
    let error = delimited.prepare(&Context::default()).err().unwrap().to_string();
    assert!(error.contains("is for CSV") && error.contains("is a database"), "{error}");
    let mut dated = Load::new(shop.at("x.db"), [shop.db()]);
    dated.convert =
        sqluice::convert::Convert::all(&[("name".to_owned(), "%Y-%m-%d".to_owned())], &[], &[], &[]);
    let error = dated.prepare(&Context::default()).err().unwrap().to_string();
    assert!(error.contains("is for text formats, such as CSV and JSON, and"), "{error}");
}

#[test]
#[cfg(unix)] // The test sets a limit of open files, which Windows lacks.
fn more_tables_are_exported_than_the_process_may_have_files_open() {
    use rustix::process::{Resource, Rlimit, setrlimit};
    sqluice_testkit::own_process::in_own_process(|| {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("many.db");
        let script: String = (0..150)
            .map(|number| format!("CREATE TABLE t{number} (a); INSERT INTO t{number} VALUES ({number});"))
            .collect();
        Connection::open(&source).unwrap().execute_batch(&format!("BEGIN; {script} COMMIT")).unwrap();
        setrlimit(Resource::Nofile, Rlimit { current: Some(100), maximum: Some(100) }).unwrap();
        let target = folder.path().join("files");
        let export = Export::new(&source, &target).format(Some(&formats::CSV));
        let report = export.run().unwrap();
        assert_eq!(report.files.len(), 150);
        for number in 0..150 {
            let text = fs::read_to_string(target.join(format!("t{number}.csv"))).unwrap();
            assert_eq!(text, format!("a\n{number}\n"));
        }
        assert_eq!(fs::read_dir(&target).unwrap().count(), 150);
        // Files that are complete already are removed, too, when a later table fails.
        fs::remove_dir_all(&target).unwrap();
        Connection::open(&source)
            .unwrap()
            .execute_batch("CREATE TABLE u (a); INSERT INTO u VALUES (x'ff')")
            .unwrap();
        export.run().unwrap_err();
        assert!(!target.exists());
    });
}
