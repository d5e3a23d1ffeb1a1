//! Transcripts of `load` with keys and indexes, and rows with the same key.

use crate::transcript::{Transcript, sqluice};

const USERS: &str = "id,area,mail\n3,north,C@x\n1,south,a@x\n2,north,b@x\n";

fn load(args: &str) -> Transcript {
    sqluice(&format!("load x.db user.csv {args}")).file("user.csv", USERS)
}

#[test]
fn a_primary_key_orders_the_rows_whatever_their_order_in_the_input() {
    for flag in ["--primary-key id", "--pk ID", "--primary-key=id"] {
        load(flag)
            .succeeds()
            .says("Loaded 3 rows into x.db: [..]\nuser: id INTEGER, area TEXT, mail TEXT")
            .holds("SELECT id, rowid, area FROM user", "1|1|'south'\n2|2|'north'\n3|3|'north'")
            .holds("SELECT name FROM sqlite_schema", "'user'");
    }
    load("--pk area,id --without-rowid").succeeds().holds(
        "SELECT sql FROM sqlite_schema UNION ALL SELECT group_concat(id) FROM user",
        "'CREATE TABLE \"user\" (\n  \"id\" INTEGER NOT NULL,\n  \"area\" TEXT NOT NULL,\n  \"mail\" TEXT,\n  \
         PRIMARY KEY (\"area\", \"id\")\n) WITHOUT ROWID'\n'2,3,1'",
    );
    load("--pk mail")
        .succeeds()
        .holds("SELECT name FROM sqlite_schema", "'user'\n'sqlite_autoindex_user_1'")
        .holds("SELECT id FROM user WHERE mail = 'b@x'", "2");
}

#[test]
fn an_empty_integer_primary_key_gets_the_next_rowid_and_an_empty_composite_key_is_an_error() {
    let with = |args: &str| sqluice(&format!("load x.db t.csv {args}")).file("t.csv", "id,a\n7,x\n,y\n3,z\n");
    with("--pk id").succeeds().holds("SELECT * FROM t", "3|'z'\n7|'x'\n8|'y'");
    with("--pk id,a").fails(1, "error: t.csv:3:1: NULL in column id, which is NOT NULL");
}

#[test]
fn requested_indexes_are_created_and_used_by_queries() {
    let done = load("--index area --index 'mail collate nocase, id desc' --unique mail").succeeds();
    let plan = done.found("EXPLAIN QUERY PLAN SELECT * FROM user WHERE area = 'north'");
    assert!(plan.contains("SEARCH user USING INDEX idx_user_area (area=?)"), "{plan}");
    done.holds(
        "SELECT name FROM sqlite_schema WHERE type = 'index'",
        "'idx_user_mail'\n'idx_user_area'\n'idx_user_mail_id'",
    )
    .holds("SELECT id FROM user INDEXED BY idx_user_area WHERE area = 'north' ORDER BY id", "2\n3")
    .holds("SELECT id FROM user INDEXED BY idx_user_mail_id WHERE mail = 'c@X' COLLATE NOCASE", "3");
}

#[test]
fn a_verbose_load_prints_the_phases_and_the_indexes() {
    load("--index area -v -j 1").succeeds().prints("").says(
        "Loaded 3 rows into x.db: 12.3 kB in [..] ([..] rows/s)\n\
         checksum [..]\n\
         1 thread, [..] writes, 3 pages of 4096 bytes\n\
         sample [..]s, plan [..]s, load [..]s[..], sync [..]s\n  \
         user: 3 rows; 1 leaf, 0 interior, 0 overflow pages, root 2\n  \
         idx_user_area: 3 entries; 1 leaf, 0 interior, 0 overflow pages, root 3\n\
         user:\n  id INTEGER\n  area TEXT\n  mail TEXT",
    );
    let report = load("--index area --json").succeeds().ran.json();
    let index = &report["tables"][0]["indexes"][0];
    assert_eq!((&index["name"], &index["write_path"]), (&"idx_user_area".into(), &"sorted".into()));
    assert_eq!((&index["entries"], &index["leaf_pages"]), (&3.into(), &1.into()));
    assert_eq!(report["phases"][0]["name"], "sample");
}

#[test]
fn a_printed_plan_has_the_keys_and_indexes_and_can_be_used_as_a_schema() {
    let printed = load("--pk id --index 'area desc' --unique mail --dry-run").succeeds().ran.stdout;
    for line in [
        "--   path   sorted: rows may be in any order of id",
        "  \"id\" INTEGER PRIMARY KEY,",
        "-- index    idx_user_area",
        "--   path   sorted: a new index",
        "CREATE INDEX \"idx_user_area\" ON \"user\" (\"area\" DESC);",
        "CREATE UNIQUE INDEX \"idx_user_mail\" ON \"user\" (\"mail\");",
    ] {
        assert!(printed.lines().any(|printed| printed == line), "{line}:\n{printed}");
    }
    let again = load("--schema s.sql --dry-run").file("s.sql", &printed).succeeds().ran.stdout;
    assert_eq!(again, printed);
}

#[test]
fn rows_with_the_same_key_are_reported_ignored_or_replaced() {
    let with = |args: &str| {
        sqluice(&format!("load x.db t.csv --pk id {args}")).file("t.csv", "id,a\n1,x\n2,y\n1,z\n")
    };
    for flag in ["", "--on-conflict abort"] {
        with(flag).fails(
            1,
            "error: t.csv:4:1: UNIQUE constraint failed: t.id = 1 (rows 1 and 3: lines 2 and 4)\n\n\
             hint: --on-conflict ignore keeps the first such row, --on-conflict replace the last",
        );
    }
    with("--on-conflict ignore").succeeds().holds("SELECT * FROM t", "1|'x'\n2|'y'");
    with("--on-conflict replace").succeeds().holds("SELECT * FROM t", "1|'z'\n2|'y'");
    with("--on-conflict skip").fails(
        2,
        "error: invalid value 'skip' for '--on-conflict <WHAT>'\n  [possible values: abort, ignore, replace]\n\n\
         For more information, try '--help'.",
    );
}

#[test]
fn the_flag_analyze_writes_statistics() {
    load("--index area --analyze")
        .succeeds()
        .holds("SELECT tbl, idx, stat FROM sqlite_stat1", "'user'|'idx_user_area'|'3 2'");
}

#[test]
fn invalid_keys_and_indexes_are_refused() {
    load("--without-rowid").fails(
        2,
        "error: the following required arguments were not provided:\n  --primary-key <A,B,...>\n\n\
         Usage: sqluice load --primary-key <A,B,...> --without-rowid <DB> <FILE>...\n\n\
         For more information, try '--help'.",
    );
    load("--index no").fails(
        2,
        "error: --index names the column \"no\", which no table has\n\nhint: the columns are: id, area, mail",
    );
    load("--pk id,no").fails(
        2,
        "error: --primary-key names the column \"no\", which no table has\n\nhint: the columns are: id, area, mail",
    );
    load("--index 'id,'").fails(
        2,
        "error: --index \"id,\": a column is missing\n\n\
         hint: columns with commas between them, each with COLLATE NOCASE or DESC if need be: 'area, name DESC'",
    );
}

#[test]
fn a_load_that_sorts_accepts_the_flag_temp_dir() {
    load("--pk id --temp-dir d").file("d/", "").succeeds().holds("SELECT count(*) FROM user", "3");
}
