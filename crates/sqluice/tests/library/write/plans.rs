//! Plans: write paths, memory, threads and estimates, decided before anything is written.

use std::path::Path;

use crate::support::files::Home;
use sqluice::error::{Error, ErrorKind};
use sqluice::generate::Generate;
use sqluice::options::{OnConflict, WriteOptions};
use sqluice::plan::Plan;
use sqluice::progress::Context;
use sqluice::schema::Schema;
use sqluice::write::write_tables;

fn generate(sql: &str, rows: &[(Option<&str>, u64)], write: WriteOptions) -> Result<Plan, Error> {
    let schema = Schema::parse(sql.to_owned(), Path::new("x.sql"))?;
    let mut generate = Generate::without_target(schema).seed(7).write(write);
    generate.rows = rows.iter().map(|(name, rows)| (name.map(str::to_owned), *rows)).collect();
    Ok(generate.prepare(&Context::default())?.plan().clone())
}

fn refused(sql: &str) -> Error {
    generate(sql, &[(None, 1)], WriteOptions::default()).unwrap_err()
}

/// Returns the write path of the only table, and of each of its indexes.
fn write_paths(sql: &str, write: WriteOptions) -> String {
    let plan = generate(sql, &[(None, 1)], write).unwrap();
    let [table] = &plan.tables[..] else { panic!("{sql}: one table") };
    let write_paths =
        std::iter::once(table.write_path).chain(table.indexes.iter().map(|index| index.write_path));
    write_paths.map(|write_path| write_path.name()).collect::<Vec<_>>().join(" ")
}

#[test]
fn each_table_and_index_takes_the_fastest_write_path_that_can_make_it() {
    // A table with these columns has more columns than a virtual table for expressions may have.
    let wide: String = (0..1998).map(|column| format!(", c{column}")).collect();
    for (sql, expected) in [
        ("CREATE TABLE t (a)", "pages"),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY)", "pages"),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY -- gen: int(1, 9)\n)", "sorted"),
        ("CREATE TABLE t (a PRIMARY KEY) WITHOUT ROWID", "sorted"),
        ("CREATE TABLE t (a INT PRIMARY KEY)", "pages sorted"),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY DESC)", "pages sorted"),
        ("CREATE TABLE t (a UNIQUE, b); CREATE INDEX i ON t (b, a)", "pages sorted sorted"),
        ("CREATE TABLE t (a); CREATE INDEX i ON t (a) WHERE a > 1", "pages sorted"),
        ("CREATE TABLE t (a); CREATE INDEX i ON t (a + 1)", "pages sorted"),
        ("CREATE TABLE t (a, b AS (a)); CREATE INDEX i ON t (b)", "pages sorted"),
        ("CREATE TABLE t (a, b AS (a) STORED); CREATE INDEX i ON t (a)", "pages sorted"),
        ("CREATE TABLE t (a); CREATE INDEX i ON t (a) WHERE date(a) > 1", "pages sorted"),
        ("CREATE TABLE t (a, b AS (date(a)), CHECK (a <> date())); CREATE INDEX i ON t (b)", "pages sorted"),
        (&format!("CREATE TABLE t (a{wide}); CREATE INDEX i ON t (a) WHERE a > 1"), "pages sqlite"),
        (&format!("CREATE TABLE t (a{wide}); CREATE INDEX i ON t (abs(a))"), "pages sqlite"),
        (&format!("CREATE TABLE t (a{wide}, b AS (a)); CREATE INDEX i ON t (b)"), "sqlite sqlite"),
        (&format!("CREATE TABLE t (a{wide}, b AS (a) STORED); CREATE INDEX i ON t (a)"), "sqlite sqlite"),
        ("CREATE TABLE t (a CHECK (changes() >= 0)); CREATE INDEX i ON t (a)", "sqlite sqlite"),
    ] {
        assert_eq!(write_paths(sql, WriteOptions::default()), expected, "{sql}");
    }
    let ignore = || WriteOptions::new().on_conflict(OnConflict::Ignore);
    assert_eq!(write_paths("CREATE TABLE t (a INTEGER PRIMARY KEY)", ignore()), "sorted");
    assert_eq!(write_paths("CREATE TABLE t (a UNIQUE)", ignore()), "sorted sorted");
    assert_eq!(write_paths("CREATE TABLE t (a); CREATE INDEX i ON t (a)", ignore()), "pages sorted");
}

#[test]
fn a_schema_without_tables_is_refused() {
    let error = refused("CREATE VIEW v AS SELECT 1");
    assert_eq!((error.kind(), error.message().as_str()), (ErrorKind::Input, "the schema declares no table"));
}

#[test]
fn a_plan_that_sorts_needs_memory_for_sorting() {
    let plan = |sql, memory_bytes| {
        let options = WriteOptions::new()
            .memory_bytes(memory_bytes)
            .threads(1)
            .tune(|tuning| tuning.chunk_bytes = 1 << 20);
        generate(sql, &[(None, 1)], options)
    };
    for sql in ["CREATE TABLE t (a UNIQUE)", "CREATE TABLE t (a INTEGER PRIMARY KEY -- gen: int(1, 9)\n)"] {
        let sorting = plan(sql, 16 << 20).unwrap();
        assert!(sorting.sort_bytes >= 4 << 20 && sorting.buffer_bytes <= 16 << 20, "{sql}");
        let error = plan(sql, 3 << 20).unwrap_err();
        let said = (error.kind(), error.message(), error.hint_text());
        let expected = "3 MiB of memory is too little to sort with: 4 MiB is enough";
        let hint = "give at least `memory = 4MiB`";
        assert_eq!(said, (ErrorKind::Usage, expected.to_owned(), Some(hint.to_owned())), "{sql}");
    }
    assert_eq!(plan("CREATE TABLE t (a)", 16 << 20).unwrap().sort_bytes, 0);
}

#[test]
fn a_printed_plan_is_a_schema_that_makes_the_same_plan() {
    let sql = "CREATE TABLE \"a\nb\" (x INTEGER PRIMARY KEY, y UNIQUE, z TEXT COLLATE NOCASE);
        CREATE TABLE c (d, e INTEGER, PRIMARY KEY (e DESC, d)) WITHOUT ROWID;
        CREATE TABLE s (n INTEGER PRIMARY KEY AUTOINCREMENT);
        CREATE UNIQUE INDEX i ON c (d COLLATE RTRIM) -- a comment;
        ; CREATE INDEX \"j k\" ON \"a\nb\" (z DESC, x);
        CREATE INDEX p ON c (e) WHERE d IS NOT NULL;
        CREATE VIEW v AS SELECT 1; PRAGMA user_version = 7;
        CREATE INDEX last ON c (e) -- no end";
    let options = || WriteOptions::new().analyze(true).on_conflict(OnConflict::Replace);
    let printed = generate(sql, &[(None, 3)], options()).unwrap().to_string();
    let again = generate(&printed, &[(None, 3)], options()).unwrap().to_string();
    assert_eq!(again, printed);
    for line in [
        "\n-- analyze  at the end\n",
        "\n-- conflict an earlier row with the same key is left out\n",
        "\n-- sorting  in ",
    ] {
        assert!(printed.contains(line), "{line} {printed}");
    }
}

#[test]
fn a_row_count_for_a_named_table_overrides_the_general_one_and_later_ones_override_earlier_ones() {
    let sql = "CREATE TABLE a (x); CREATE TABLE b (x); CREATE TABLE c (x);";
    let rows = |rows: &[(Option<&str>, u64)]| -> Vec<u64> {
        let plan = generate(sql, rows, WriteOptions::default()).unwrap();
        plan.tables.iter().map(|table| table.rows.unwrap()).collect()
    };
    assert_eq!(rows(&[(None, 5)]), [5, 5, 5]);
    assert_eq!(rows(&[(Some("B"), 7), (None, 5)]), [5, 7, 5]);
    assert_eq!(rows(&[(None, 5), (Some("b"), 7), (Some("b"), 0), (None, 6)]), [6, 0, 6]);
    assert_eq!(rows(&[(Some("a"), 1), (Some("b"), 2), (Some("c"), 3)]), [1, 2, 3]);

    let nobody = generate(sql, &[(Some("a"), 1), (Some("c"), 1)], WriteOptions::default()).unwrap_err();
    assert_eq!(
        (nobody.kind(), nobody.message().as_str()),
        (ErrorKind::Usage, "the row count of b is missing")
    );
    let unknown = generate(sql, &[(None, 1), (Some("d"), 1)], WriteOptions::default()).unwrap_err();
    assert_eq!(unknown.without_hint(), "x.sql:1:14: the schema has no table d, only: a, b, c");
}

#[test]
fn a_plan_has_the_requested_number_of_threads_or_as_many_as_the_memory_allows() {
    let plan = |options| generate("CREATE TABLE t (a)", &[(None, 1)], options);
    let options = WriteOptions::new().tune(|tuning| tuning.chunk_bytes = 1 << 20);
    let threads = |threads, memory_bytes| {
        plan(options.clone().threads(threads).memory_bytes(memory_bytes)).map(|plan| plan.threads)
    };
    assert_eq!(threads(5, 256 << 20).unwrap(), 5);
    assert_eq!(threads(5, 6 << 20).unwrap(), 2);
    assert_eq!(threads(1, 3 << 20).unwrap(), 1);
    let error = threads(1, (3 << 20) - 1).unwrap_err();
    assert_eq!(
        (error.kind(), error.message().as_str()),
        (ErrorKind::Usage, "2.9 MiB of memory is too little: 3 MiB is enough")
    );
    assert_eq!(threads(0, 256 << 20).unwrap_err().kind(), ErrorKind::Usage);
    assert!(plan(options).unwrap().threads > 0);
}

#[test]
fn a_printed_plan_names_target_pages_rows_and_schema() {
    let plan = generate("CREATE TABLE t (a)", &[(None, 3)], WriteOptions::default()).unwrap();
    let printed = plan.to_string();
    for part in [
        "target   none",
        "pages    of 4096 bytes, 2048 at a time",
        "t: 3 rows from the generator, seed 7",
        "CREATE TABLE t (a)",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
}

#[test]
fn estimated_sizes_of_generated_databases_are_within_a_tenth() {
    for (sql, rows) in [
        ("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT -- gen: text(3, 20)\n)", 100_000),
        ("CREATE TABLE t (a INTEGER, -- gen: int(1, 10000)\n b REAL -- gen: real(1, 500)\n)", 100_000),
        ("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT -- gen: null(0.1, digits(5))\n)", 100_000),
        ("CREATE TABLE t (a TEXT -- gen: text(200, 400)\n)", 20_000),
    ] {
        let generate = Generate::without_target(Schema::parse(sql.to_owned(), Path::new("x.sql")).unwrap())
            .rows(rows)
            .seed(7);
        let prepared = generate.prepare(&Context::default()).unwrap();
        let estimated = prepared.plan().estimated_bytes.unwrap() as f64;
        let bytes = prepared.run(&Context::default()).unwrap().bytes as f64;
        assert!((0.9..1.1).contains(&(estimated / bytes)), "{sql}: {estimated} of {bytes}");
    }
}

#[test]
fn a_plan_replaces_an_existing_database_only_on_request() {
    let home = Home::new();
    let path = home.path("x.db");
    let plan = |overwrite| {
        let generate = Generate::new(
            path.clone(),
            Schema::parse("CREATE TABLE t (a)".to_owned(), Path::new("x.sql")).unwrap(),
        )
        .rows(3)
        .seed(7)
        .write(WriteOptions::new().overwrite(overwrite));
        generate.prepare(&Context::default()).unwrap().plan().clone()
    };
    assert_eq!([false, true].map(|overwrite| plan(overwrite).replaces), [false, false]);
    std::fs::write(&path, "").unwrap();
    assert_eq!([false, true].map(|overwrite| plan(overwrite).replaces), [false, true]);
    let said = format!("-- target   {} (replaces the old one)\n", path.display());
    assert!(plan(true).to_string().starts_with(&said));
    // An empty file is an empty database, which gets the table.
    assert!(plan(false).wanted().is_none());
    plan(false).refuse().unwrap();
    plan(true).wanted().unwrap().refuse().unwrap();
}

#[test]
fn a_refused_plan_writes_no_file() {
    let home = Home::new();
    let path = home.path("x.db");
    let schema = Schema::parse("CREATE TABLE t (a UNIQUE)".to_owned(), Path::new("x.sql")).unwrap();
    let write = |sources| {
        let options = WriteOptions::new().memory_bytes(1);
        write_tables(Some(&path), &schema, sources, &options, &Context::default()).unwrap_err()
    };
    assert_eq!(write(vec![Box::new(sqluice::source::NoRows)]).kind(), ErrorKind::Usage);
    assert_eq!(write(vec![]).message(), "0 sources of rows for 1 tables");
    assert_eq!(home.names(), Vec::<String>::new());
}

#[test]
fn a_plan_notes_triggers_that_would_fire_for_the_rows_and_are_not_replaced_by_a_filled_full_text_table() {
    let sql = "CREATE TABLE t (a); CREATE VIRTUAL TABLE f USING fts5(a, content=t); CREATE VIRTUAL TABLE other USING fts5(a);
        CREATE TRIGGER later AFTER INSERT ON t BEGIN DELETE FROM t; END;
        CREATE TRIGGER updated AFTER UPDATE ON t BEGIN DELETE FROM t; END;
        CREATE TRIGGER deleted BEFORE DELETE ON t BEGIN SELECT 1; END;
        CREATE TRIGGER filled AFTER INSERT ON t BEGIN INSERT INTO f(rowid, a) VALUES (new.rowid, new.a); END;
        CREATE TRIGGER not_filled AFTER INSERT ON t BEGIN INSERT INTO other(rowid, a) VALUES (new.rowid, new.a); END;";
    let generate =
        Generate::without_target(Schema::parse(sql.to_owned(), Path::new("s.sql")).unwrap()).rows(3).seed(1);
    let plan = generate.prepare(&Context::default()).unwrap().plan().to_string();
    let notes: Vec<&str> = plan.lines().filter(|line| line.starts_with("-- note     trigger")).collect();
    let of = |trigger: &str| {
        format!("-- note     trigger {trigger} is made after the rows, and does not fire for them")
    };
    assert_eq!(notes, [of("later"), of("not_filled")], "{plan}");
}
