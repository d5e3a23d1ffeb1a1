//! Transcripts of loads into existing databases: added, replaced and updated rows, refused requests, and reports.

use std::fs;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::{generate, names, run};
use crate::transcript::{ONE_ROW, Transcript, sqluice};

const MORE: &str = "B,a\n8,7\n";

/// Returns a command line in a folder with `x.db`, made by `sql`, `one.csv` and `more.csv`.
fn with(sql: &str, args: &str) -> Transcript {
    let transcript = sqluice(args).file(ONE_ROW.0, ONE_ROW.1).file("more.csv", MORE);
    Connection::open(transcript.folder().join("x.db")).unwrap().execute_batch(sql).unwrap();
    transcript
}

const ONE: &str = "CREATE TABLE one (a INTEGER, b TEXT DEFAULT 'none'); INSERT INTO one VALUES (0, 'old')";

#[test]
fn a_load_adds_a_new_table_to_an_existing_database_without_a_flag() {
    with("CREATE TABLE old (a); INSERT INTO old VALUES (1)", "load x.db one.csv more.csv --primary-key a")
        .succeeds()
        .says("Loaded 2 rows into x.db, now [..], in [..] ([..] rows/s)\n[..]\n[..]")
        .holds("SELECT * FROM one", "1|2")
        .holds("SELECT * FROM more", "8|7")
        .holds("SELECT * FROM old", "1")
        .then("load x.db one.csv --table other --index b --without-rowid --pk a,b --strict")
        .succeeds()
        .holds("SELECT * FROM other", "1|2");
}

#[test]
fn a_target_of_zero_bytes_is_used_as_an_empty_database() {
    for args in ["load x.db one.csv", "load x.db one.csv --append"] {
        sqluice(args)
            .file("x.db", "")
            .file(ONE_ROW.0, ONE_ROW.1)
            .succeeds()
            .holds("SELECT * FROM one", "1|2");
    }
    sqluice("generate x.db --preset user --rows 3")
        .file("x.db", "")
        .succeeds()
        .holds("SELECT count(*) FROM user", "3");
}

#[test]
fn a_load_into_an_existing_table_without_a_flag_is_an_error_that_names_the_flags() {
    let error = "\
error: x.db already has a table one

hint: --append adds to its rows, --replace-table replaces them, --upsert KEYS changes those whose keys are repeated";
    for args in ["load x.db one.csv", "load x.db more.csv --table ONE", "load x.db one.csv --dry-run"] {
        let error = error.replace("table one", if args.contains("ONE") { "table ONE" } else { "table one" });
        with(ONE, args).fails(1, &error);
    }
    with(ONE, "load x.db more.csv one.csv").fails(1, error);
}

#[test]
fn the_flag_append_adds_rows_to_an_existing_table() {
    with(ONE, "load x.db one.csv --append")
        .succeeds()
        .says("Loaded 1 row into x.db, now [..], in [..] ([..] rows/s)\none: a INTEGER, b TEXT")
        .holds("SELECT rowid, * FROM one", "1|0|'old'\n2|1|'2'")
        .then("load x.db more.csv -t ONE --append -q")
        .succeeds()
        .says("")
        .holds("SELECT * FROM one WHERE a = 7", "7|'8'");
}

#[test]
fn a_full_text_table_without_triggers_gets_rows_only_if_a_flag_names_the_table() {
    let sql = format!("{ONE}; CREATE VIRTUAL TABLE f USING fts5(b, content=one)");
    let found = "SELECT rowid FROM f WHERE f MATCH '2'";
    with(&sql, "load x.db one.csv --append").succeeds().holds(found, "");
    with(&sql, "load x.db one.csv --append --fts F").succeeds().holds(found, "2");
    with(&sql, "load x.db one.csv --append --fts one")
        .fails(1, "error: one is no full-text table (FTS5) over a table that gets rows\n\nhint: [..]");
    let own = "CREATE VIRTUAL TABLE f USING fts5(a, b); INSERT INTO f(rowid, b) VALUES (5, 2)";
    with(own, "load x.db one.csv --table f --append").succeeds().holds(found, "5\n6");
}

#[test]
fn a_missing_column_takes_its_default_and_an_unknown_column_is_an_error_or_added_on_request() {
    let csv = "c,a\nx,5\n";
    let with = |args: &str| with(ONE, &format!("load x.db c.csv -t one --append {args}")).file("c.csv", csv);
    with("--columns a").succeeds().holds("SELECT * FROM one", "0|'old'\n5|'none'");
    with("").fails(
        1,
        "\
error: c.csv:1:1: table one has no column \"c\"

hint: its columns are a, b; --add-columns adds what is missing, --columns names those to load",
    );
    with("--add-columns").succeeds().holds("SELECT a, b, c FROM one", "0|'old'|NULL\n5|'none'|'x'").holds(
        "SELECT sql FROM sqlite_schema",
        "'CREATE TABLE one (a INTEGER, b TEXT DEFAULT ''none'', \"c\" TEXT)'".replace("''", "'").as_str(),
    );
    with("--add-columns --type 'c=BLOB'")
        .succeeds()
        .holds("SELECT type FROM pragma_table_info('one') WHERE name = 'c'", "'BLOB'");
}

#[test]
fn a_default_that_is_no_constant_is_computed_by_sqlite() {
    let sql = "CREATE TABLE t (a INTEGER, b DEFAULT (abs(-7)), c DEFAULT CURRENT_DATE)";
    with(sql, "load x.db one.csv -t t --columns a --append")
        .succeeds()
        .holds("SELECT a, b, c > '2020' FROM t", "1|7|1");
}

#[test]
fn fields_of_a_file_without_a_header_go_into_the_columns_of_the_table_in_order() {
    let load = |csv: &str| with(ONE, "load x.db n.csv -t one --no-header --append").file("n.csv", csv);
    load("5,five\n").succeeds().holds("SELECT * FROM one", "0|'old'\n5|'five'");
    load("5\n").fails(
        1,
        "\
error: n.csv has 1 columns, and table one has 2

hint: --columns names the columns of a file without a header, in their order",
    );
}

#[test]
fn the_flag_replace_table_replaces_the_rows_and_keeps_indexes_and_triggers() {
    let sql = "CREATE TABLE one (a INTEGER PRIMARY KEY, b INTEGER); INSERT INTO one VALUES (1, 1), (9, 9);
               CREATE INDEX i ON one (b); CREATE TABLE log (gone);
               CREATE TRIGGER t AFTER DELETE ON one BEGIN INSERT INTO log VALUES (old.a); END;";
    with(sql, "load x.db one.csv --replace-table")
        .succeeds()
        .holds("SELECT * FROM one", "1|2")
        .holds("SELECT name FROM sqlite_schema", "'one'\n'i'\n'log'\n't'")
        .holds("SELECT * FROM log", "1\n9")
        .then("load x.db more.csv --replace-table --table one")
        .succeeds()
        .holds("SELECT * FROM one INDEXED BY i WHERE b = 8", "7|8");
    with(ONE, "load x.db one.csv --replace-table -v -j 1").succeeds().holds("SELECT * FROM one", "1|'2'");
}

#[test]
fn the_flag_upsert_updates_the_columns_of_the_file_in_rows_with_the_same_key() {
    let sql = "CREATE TABLE one (a INTEGER PRIMARY KEY, b INTEGER, c); INSERT INTO one VALUES (1, 1, 'stays'), (9, 9, 9)";
    with(sql, "load x.db one.csv --upsert A")
        .succeeds()
        .holds("SELECT * FROM one", "1|2|'stays'\n9|9|9")
        .then("load x.db more.csv --table one --upsert a")
        .succeeds()
        .holds("SELECT * FROM one WHERE a = 7", "7|8|NULL");
    let no_key = "\
error: no PRIMARY KEY or UNIQUE constraint of table one is on b

hint: --upsert can name a";
    with(sql, "load x.db one.csv --upsert b").fails(2, no_key);
    with(ONE, "load x.db one.csv --upsert b").fails(
        2,
        "\
error: no PRIMARY KEY or UNIQUE constraint of table one is on b

hint: create one: CREATE UNIQUE INDEX ... ON one (b)",
    );
    with(sql, "load x.db one.csv --upsert d").fails(
        2,
        "\
error: --upsert names the column \"d\", which table one does not have

hint: the columns are: a, b, c",
    );
    with(sql, "load x.db one.csv --upsert c").fails(
        2,
        "\
error: --upsert names the column \"c\", which no file has

hint: rows are found by the values of these columns",
    );
    with(ONE, "load x.db more.csv --upsert a").fails(
        1,
        "\
error: x.db has no table more whose rows could be changed

hint: create it first: load without --upsert, and with --primary-key a",
    );
}

#[test]
fn on_conflict_has_the_same_effect_on_existing_keys_as_in_sqlite() {
    let sql = "CREATE TABLE one (a INTEGER PRIMARY KEY, b INTEGER); INSERT INTO one VALUES (1, 'old')";
    with(sql, "load x.db one.csv --append").fails(
        1,
        "\
error: one.csv:2: [..]UNIQUE constraint failed: one.a[..]

hint: [..]",
    );
    let count =
        |what: &str| with(sql, &format!("load x.db one.csv --append --on-conflict {what}")).succeeds();
    count("ignore")
        .says("Loaded 0 rows into x.db, now [..], in [..]\n1 row ignored (repeated key, or a trigger)\n[..]")
        .holds("SELECT * FROM one", "1|'old'");
    count("replace")
        .says("Loaded 1 row into x.db, now [..], in [..]\n1 row replaced by a later row with the same key\n[..]")
        .holds("SELECT * FROM one", "1|2");
}

#[test]
fn the_report_counts_added_ignored_updated_and_replaced_rows() {
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)";
    let file = "a,b\n2,9\n4,9\n3,9\n4,10\n";
    for (flags, rows, ignored, updated, replaced, left) in [
        ("--append --on-conflict ignore", 1, 3, 0, 0, 4),
        ("--append --on-conflict replace", 4, 0, 0, 3, 4),
        ("--upsert a", 4, 0, 3, 0, 4),
        ("--overwrite --primary-key a --on-conflict ignore", 3, 1, 0, 0, 3),
        ("--overwrite --primary-key a --on-conflict replace", 3, 0, 0, 1, 3),
    ] {
        let done = with(sql, &format!("load x.db t.csv {flags} --json")).file("t.csv", file).succeeds();
        let report = done.ran.json();
        let table = &report["tables"][0];
        let counted = [&table["rows"], &table["ignored"], &table["updated"], &table["replaced"]];
        assert_eq!(
            counted.map(|count| count.as_u64().unwrap()),
            [rows, ignored, updated, replaced],
            "{flags}"
        );
        assert_eq!(report["ignored"], ignored, "{flags}");
        done.holds("SELECT count(*) FROM t", &left.to_string());
    }
    // With triggers, the number of rows in the table does not show how many were updated, so the report has no such number.
    let trigger = format!("{sql}; CREATE TRIGGER x AFTER INSERT ON t BEGIN DELETE FROM t WHERE a = 1; END");
    let done = with(&trigger, "load x.db t.csv --upsert a --json").file("t.csv", file).succeeds();
    assert!(done.ran.json()["tables"][0]["updated"].is_null());
}

#[test]
fn a_new_table_whose_name_resembles_an_existing_one_has_a_note() {
    let sql = "CREATE TABLE people (a, b); CREATE TABLE log_1 (a, b)";
    let note = "note: table peeple is new: x.db has a table people, which gets no rows";
    let done = with(sql, "load x.db one.csv --append --table peeple").succeeds();
    let done = done.says(&format!("{note}\n[..]\n[..]")).holds("SELECT count(*) FROM peeple", "1");
    let again = done.then("load x.db one.csv --append --table peopel --json").succeeds();
    assert_eq!(again.ran.json()["notes"][0], note.replace("note: ", "").replace("peeple", "peopel"));
    // These loads get no note: log_2 and log_1 differ only by a number, orders resembles no table, and without --append a new table is
    // meant.
    for args in ["--append --table log_2", "--append --table orders", "--table peeple"] {
        let done = with(sql, &format!("load x.db one.csv {args}")).succeeds();
        assert!(!done.ran.stderr.contains("note:"), "{args}: {:?}", done.ran);
    }
}

#[test]
fn a_load_fires_triggers_enforces_checks_and_computes_generated_columns() {
    let sql =
        "CREATE TABLE one (a INTEGER CHECK (a < 5), b INTEGER, c AS (a + b) STORED); CREATE TABLE log (a);
               CREATE TRIGGER t AFTER INSERT ON one BEGIN INSERT INTO log VALUES (new.c); END;";
    with(sql, "load x.db one.csv --append").succeeds().holds("SELECT * FROM log", "3");
    with(sql, "load x.db more.csv -t one --append")
        .fails(1, "error: more.csv:2: record 1: CHECK constraint failed: a < 5\n\nhint: it has a = 7, b = 8");
}

#[test]
fn foreign_keys_are_checked_in_an_existing_database_on_request() {
    let sql = "CREATE TABLE p (k PRIMARY KEY); INSERT INTO p VALUES (3);
               CREATE TABLE one (a INT REFERENCES p, b INT REFERENCES p);";
    with(sql, "load x.db one.csv --append").succeeds().holds("SELECT * FROM one", "1|2");
    with(sql, "load x.db one.csv --append --foreign-keys")
        .fails(1, "error: one.csv:2: record 1: FOREIGN KEY constraint failed\n\nhint: it has a = 1, b = 2");
}

#[test]
fn the_flag_replace_table_is_refused_if_checked_foreign_keys_would_delete_or_change_referring_rows() {
    let sql = |on_delete: &str| {
        format!(
            "CREATE TABLE one (a INTEGER PRIMARY KEY, b INT); INSERT INTO one VALUES (1, 0);
             CREATE TABLE child (p REFERENCES one ON DELETE {on_delete}); INSERT INTO child VALUES (1);"
        )
    };
    for on_delete in ["CASCADE", "SET NULL"] {
        let error = format!(
            "error: replacing the rows of one would change child, which refers to it ON DELETE {on_delete}\n\nhint: [..]"
        );
        with(&sql(on_delete), "load x.db one.csv --replace-table --foreign-keys").fails(1, &error);
        let replaced = with(&sql(on_delete), "load x.db one.csv --replace-table").succeeds();
        replaced.holds("SELECT b, p FROM one, child", "2|1");
    }
    // The row is inserted again before the constraint is checked, so the load succeeds.
    let replaced = with(&sql("NO ACTION"), "load x.db one.csv --replace-table --foreign-keys").succeeds();
    replaced.holds("SELECT b, p FROM one, child", "2|1");
}

#[test]
fn an_error_about_used_up_rowids_does_not_mention_a_full_disk() {
    let sql = "CREATE TABLE one (id INTEGER PRIMARY KEY AUTOINCREMENT, a, b); INSERT INTO one VALUES (9223372036854775807, 0, 0)";
    with(sql, "load x.db one.csv --append").fails(
        1,
        "error: table one has no rowid left: AUTOINCREMENT uses no rowid a second time, and the largest possible one, 9223372036854775807, has been used\n\n\
         hint: [..]",
    );
}

#[test]
fn foreign_keys_of_a_new_table_may_refer_to_existing_rows() {
    let sql = "CREATE TABLE p (k INTEGER PRIMARY KEY); INSERT INTO p VALUES (2)";
    let load = |column: &str| {
        with(sql, "load x.db one.csv --schema s.sql --foreign-keys").file(
            "s.sql",
            format!("CREATE TABLE one (a INT, b INT, FOREIGN KEY ({column}) REFERENCES p); CREATE INDEX i ON one (b);"),
        )
    };
    load("b").succeeds().holds("SELECT * FROM one INDEXED BY i WHERE b = 2", "1|2");
    load("a").fails(1, "error: one.csv:2: table one, row 1: p has no row for a = 1\n\nhint: [..]");
}

#[test]
fn flags_that_describe_a_new_table_are_refused_for_an_existing_one() {
    for (flags, error) in [
        ("--strict", "--strict is for new tables, and x.db has table one"),
        ("--pk a", "--primary-key is for new tables, and x.db has table one"),
        ("--pk a --without-rowid", "--primary-key is for new tables, and x.db has table one"),
        ("--index a", "--index is for new tables, and x.db has table one"),
        ("--unique a", "--unique is for new tables, and x.db has table one"),
        (
            "--type a=TEXT",
            "--type can't change the type of column a: the existing table has this column already",
        ),
        ("--page-size 8KiB", "x.db exists, and has its own page size"),
    ] {
        with(ONE, &format!("load x.db one.csv --append {flags}"))
            .fails(2, &format!("error: {error}\n\nhint: [..]"));
    }
    for flags in ["--append --overwrite", "--append --upsert a", "--upsert a --on-conflict ignore"] {
        let error = "error: the argument [..]\n\nUsage: [..]\n\nFor more information, try '--help'.";
        with(ONE, &format!("load x.db one.csv {flags}")).fails(2, error);
    }
    // If some tables exist, the flags apply to the new tables.
    with(ONE, "load x.db one.csv more.csv --append --pk a --index b --type 'B=TEXT'")
        .succeeds()
        .holds("SELECT name FROM sqlite_schema", "'one'\n'more'\n'idx_more_B'");
}

#[test]
fn rows_can_not_be_loaded_into_views_indexes_and_most_virtual_tables() {
    let sql = "CREATE TABLE t (a); CREATE VIEW one AS SELECT a FROM t; CREATE INDEX more ON t (a);
               CREATE VIRTUAL TABLE f USING fts5(a); CREATE VIRTUAL TABLE r USING rtree(a, b, c)";
    let error = |what: &str| {
        format!("error: {what} of x.db, and no table that can be loaded\n\nhint: name another table")
    };
    with(sql, "load x.db one.csv --append").fails(1, &error("one is a view"));
    with(sql, "load x.db more.csv").fails(1, &error("more is an index"));
    with(sql, "load x.db one.csv -t r --append").fails(1, &error("r is a virtual table"));
    // A full-text table accepts rows, but no new columns.
    let unknown = "error: one.csv:1:3: table f has no column \"b\"\n\nhint: its columns are rowid, a; --columns names those to load[..]";
    for flag in ["", " --add-columns"] {
        with(sql, &format!("load x.db one.csv -t f --append{flag}")).fails(1, unknown);
    }
    with(sql, "load x.db one.csv -t f --append --columns a")
        .succeeds()
        .holds("SELECT count(*) > 0 FROM f", "1");
}

#[test]
fn a_schema_must_declare_existing_tables_as_they_are() {
    let load =
        |schema: &str| with(ONE, "load x.db one.csv more.csv --schema s.sql --append").file("s.sql", schema);
    let more = "create table more (a INT, b INT); CREATE INDEX i ON more (a); CREATE VIEW v AS SELECT 1;";
    load(&format!("create table ONE(a INTEGER, -- the same\n b text default 'none'); {more}"))
        .succeeds()
        .holds("SELECT name FROM sqlite_schema", "'one'\n'more'\n'i'\n'v'")
        .holds("SELECT * FROM more", "7|8");
    load(&format!("CREATE TABLE one (a INTEGER, b TEXT DEFAULT 'some'); {more}"))
        .fails(1, "error: s.sql:1:14: x.db does not have table one as the schema declares it\n\nhint: [..]");
}

#[test]
fn a_table_that_needs_functions_or_collations_of_an_application_is_refused_by_name() {
    let sql = "CREATE TABLE one (a, b COLLATE nocase UNIQUE); PRAGMA writable_schema = ON;
               UPDATE sqlite_schema SET sql = replace(sql, 'nocase', 'german')";
    with(sql, "load x.db one.csv --append").fails(
        1,
        "\
error: no rows can be added to table one of x.db: no such collation sequence: german

hint: load into another table, and copy its rows with the application whose functions this table needs",
    );
    let sql = "CREATE TABLE one (a CHECK (abs(a)), b); PRAGMA writable_schema = ON;
               UPDATE sqlite_schema SET sql = replace(sql, 'abs', 'mine')";
    with(sql, "load x.db one.csv --append")
        .fails(1, "error: no rows can be added to table one of x.db: unknown function: mine()\n\nhint: [..]");
}

#[test]
fn a_database_with_an_unknown_schema_format_is_refused() {
    let transcript = with(ONE, "load x.db one.csv --append");
    let path = transcript.folder().join("x.db");
    let mut bytes = fs::read(&path).unwrap();
    bytes[47] = 5;
    fs::write(path, bytes).unwrap();
    transcript.fails(1, "error: SQLite cannot read x.db\n  caused by: unsupported file format");
}

#[test]
fn the_plan_for_an_existing_database_shows_the_growth_and_the_write_paths() {
    let sql = "PRAGMA journal_mode = wal; CREATE TABLE one (a INTEGER, b); CREATE INDEX i ON one (b);
               INSERT INTO one VALUES (1, 1)";
    with(sql, "load x.db one.csv more.csv --append --dry-run -j 1").succeeds().says("").prints(
        "\
-- target   x.db (existing)
-- holds    12.3 kB; its journal mode remains wal
-- growth   about [..] kB
-- pages    of 4096 bytes, 2048 at a time
-- threads  1 and a writer, [..] bytes of buffers
-- table    one: rows from one.csv ([..])
--   exists rows are added to those that it has
--   path   insert: too few rows for pages of their own: about 1
CREATE TABLE one (a INTEGER, b);
-- index    i
--   path   insert: entries are written with the rows
CREATE INDEX i ON one (b);
-- table    more: rows from more.csv ([..])
--   path   pages: a new rowid table without indexes
CREATE TABLE \"more\" (
  \"B\" INTEGER,
  \"a\" INTEGER
);",
    );
}

#[test]
fn the_report_has_the_journal_modes_and_the_write_path_of_each_table() {
    for mode in ["delete", "wal"] {
        let sql = format!("PRAGMA journal_mode = {mode}; CREATE TABLE one (a INTEGER, b INTEGER)");
        let done = with(&sql, "load x.db one.csv --append --json").succeeds();
        let report = done.ran.json();
        let existing = &report["existing"];
        assert_eq!(
            (&existing["journal_mode_before"], &existing["journal_mode_after"]),
            (&mode.into(), &mode.into())
        );
        assert_eq!(
            (&report["tables"][0]["action"], &report["tables"][0]["write_path"]),
            (&"append".into(), &"insert".into())
        );
        assert_eq!(report["rows"], 1);
        done.holds("PRAGMA journal_mode", &format!("'{mode}'")).holds("SELECT * FROM one", "1|2");
    }
}

#[test]
fn bad_rows_go_to_the_reject_file_and_good_rows_into_the_existing_table() {
    let csv = "a,b\n1,x\nno,y\n3,z\n";
    let sql = "CREATE TABLE one (a INTEGER, b) STRICT".replace(", b)", ", b TEXT)");
    with(&sql, "load x.db in.csv -t one --append --reject bad.csv")
        .file("in.csv", csv)
        .succeeds()
        .says(
            "Loaded 2 rows into x.db, now [..], in [..]\n1 row rejected, see bad.csv\none: a INTEGER, b TEXT",
        )
        .holds("SELECT * FROM one", "1|'x'\n3|'z'");
    with(&sql, "load x.db in.csv -t one --append").file("in.csv", csv).fails(1, "error: in.csv:3:1: [..]");
}

#[test]
fn a_load_waits_for_another_writer_up_to_the_busy_timeout() {
    for mode in ["delete", "wal"] {
        let transcript = with(
            &format!("PRAGMA journal_mode = {mode}; {ONE}"),
            "load x.db one.csv --append --busy-timeout 100ms",
        );
        let path = transcript.folder().join("x.db");
        let writer = Connection::open(&path).unwrap();
        writer.execute_batch("BEGIN IMMEDIATE; UPDATE one SET a = 5").unwrap();
        let before = names(transcript.folder());
        let started = Instant::now();
        let ran =
            run(transcript.folder(), ["load", "x.db", "one.csv", "--append", "--busy-timeout", "100ms"]);
        assert!(started.elapsed() > Duration::from_millis(100), "{ran:?}");
        ran.failed(1, "error: x.db is in use: it was locked for 0.");
        assert_eq!(names(transcript.folder()), before, "{mode}");
        writer.execute_batch("COMMIT").unwrap();
        drop(writer);
        transcript.succeeds().holds("SELECT a FROM one", "5\n1");
    }
    with(ONE, "load x.db one.csv --append --busy-timeout soon").fails(
        2,
        "\
error: invalid value 'soon' for '--busy-timeout <DURATION>': \"soon\" is not a duration such as 5, 0.5, 500ms or 2min

For more information, try '--help'.",
    );
}

#[test]
fn generated_rows_are_added_after_existing_ones() {
    let done = sqluice("generate x.db --preset user --rows 5").succeeds();
    done.then("generate x.db --preset user --rows 3").fails(
        1,
        "error: x.db already has a table user\n\nhint: --append adds to its rows\n\
             sqluice generate x.db --preset user --rows 3 --append",
    );
    let whole = sqluice("generate x.db --preset user --rows 8").succeeds();
    let rows = "SELECT * FROM user";
    let expected = whole.found(rows);
    sqluice("generate x.db --preset user --rows 5")
        .succeeds()
        .then("generate x.db --preset user --rows 3 --append")
        .succeeds()
        .says("Generated 3 rows into x.db, now [..], in [..] ([..] rows/s)")
        .holds(rows, &expected);
    let folder = crate::support::folder();
    run(folder.path(), [&generate("x.db", "3")[..], &["--append"]].concat()).ok();
    run(folder.path(), [&generate("x.db", "3")[..], &["--append", "--overwrite"]].concat())
        .failed(2, "cannot be used");
}
