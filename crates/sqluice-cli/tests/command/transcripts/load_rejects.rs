//! Transcripts of `load` with each kind of bad row: as the error that ends a load, and as a row of the reject file.

use crate::transcript::{ONE_ROW, Transcript, fails, sqluice};

const HEADER: &str = "file,line,column,reason,record\n";

/// Returns a load of `t.csv` into the table that `schema` declares; an empty `schema` declares none.
fn load(flags: &str, schema: &str, content: &[u8]) -> Transcript {
    let declared = if schema.is_empty() { "" } else { "--schema s.sql" };
    sqluice(&format!("load x.db t.csv {declared} {flags}")).file("t.csv", content).file("s.sql", schema)
}

/// A test case with one bad row: the schema, the file, the expected place, reason, hint and rejected record.
struct Bad {
    flags: &'static str,
    schema: &'static str,
    content: &'static [u8],
    place: (u64, u64),
    reason: &'static str,
    hint: &'static str,
    /// The record in the reject file.
    record: &'static [u8],
    /// The rows of the table without the bad row.
    rest: &'static str,
}

impl Bad {
    #[track_caller]
    fn check(&self) {
        let (line, column) = self.place;
        let hint = if self.hint.is_empty() { String::new() } else { format!("\n\nhint: {}", self.hint) };
        load(self.flags, self.schema, self.content)
            .fails(1, &format!("error: t.csv:{line}:{column}: {}{hint}", self.reason));

        let needs_quotes = self.reason.contains([',', '"']);
        let reason = self.reason.replace('"', "\"\"");
        let reason = if needs_quotes { format!("\"{reason}\"") } else { reason };
        let rejected =
            [format!("{HEADER}t.csv,{line},{column},{reason},").as_bytes(), self.record, b"\n"].concat();
        let done = load(&format!("{} --reject bad.csv", self.flags), self.schema, self.content).succeeds();
        done.says("Loaded [..] into x.db: [..]\n1 row[..] rejected, see bad.csv\n[..]")
            .file_is("bad.csv", rejected)
            .holds("SELECT * FROM t", self.rest);
    }
}

const SHORT: &str =
    "--pad fills missing fields with NULL; --reject FILE writes such rows to a file and goes on";
const LONG: &str = "--reject FILE writes such rows to a file and goes on";
const LOSSY: &str = "declare the column TEXT, or accept SQLite's conversion: --lossy";

#[test]
fn a_malformed_record_is_reported_at_the_place_of_its_fault() {
    let malformed = |content, place, reason, hint, record, rest| {
        Bad { flags: "", schema: "", content, place, reason, hint, record, rest }.check();
    };
    malformed(
        b"a,b\n1,2\n3\n4,5\n",
        (3, 2),
        "the record ends after field 1: the header has 2",
        SHORT,
        b"3",
        "1|2\n4|5",
    );
    malformed(
        b"a,b\n1,2\n3,4,\"5,\"\n",
        (3, 5),
        "field 3 of this record: the header has only 2",
        LONG,
        b"\"3,4,\"\"5,\"\"\"",
        "1|2",
    );
    malformed(
        b"a,b\n\"1\nx\"y,2\n3,4\n",
        (2, 1),
        "the quoted field that begins here closes in line 3 before 'y', where a comma or the end of the line should be",
        "a quote inside a quoted field is written twice: \"\"",
        b"\"\"\"1\nx\"\"y,2\"",
        "3|4",
    );
    malformed(
        b"a,b\n1,\"2\"\n3,\"4\n5,6\n",
        (3, 3),
        "the quoted field that begins here never ends",
        "is its closing quote missing? --reject FILE writes such rows to a file and goes on",
        b"\"3,\"\"4\"",
        "1|2\n5|6",
    );
    malformed(
        b"a,b\n1,x\0y\n3,4\n",
        (2, 4),
        "a NUL byte, which is not text",
        "is this a file of text? --reject FILE writes such rows to a file and goes on",
        b"\"1,x\0y\"",
        "3|4",
    );
    malformed(
        b"a,b\r\n1,\xc3\xa4\xff\r\n3,4\r\n",
        (2, 4),
        "this is not UTF-8: byte 0xff",
        "if the file is in another encoding, name it: --encoding NAME",
        b"\"1,\xc3\xa4\xff\"",
        "3|4",
    );
}

#[test]
fn a_value_that_its_column_refuses_is_reported_at_its_field() {
    let refused = |schema, content, place, reason, hint, record, rest| {
        Bad { flags: "", schema, content, place, reason, hint, record, rest }.check();
    };
    refused(
        "CREATE TABLE t (a, b TEXT NOT NULL)",
        b"a,b\n1,x\n2,\n",
        (3, 3),
        "NULL in column b, which is NOT NULL",
        "",
        b"\"2,\"",
        "'1'|'x'",
    );
    refused(
        "CREATE TABLE t (a INTEGER, b TEXT) STRICT",
        b"a,b\n1,x\ntwo,y\n",
        (3, 1),
        "'two' in column a, which is INTEGER of a STRICT table",
        "",
        b"\"two,y\"",
        "1|'x'",
    );
    refused(
        "CREATE TABLE t (a, id INTEGER PRIMARY KEY)",
        b"a,id\nx,5\ny,six\nz,7\n",
        (3, 3),
        "'six' in column id, which is INTEGER PRIMARY KEY",
        "",
        b"\"y,six\"",
        "'x'|5\n'z'|7",
    );
    refused(
        "CREATE TABLE t (a INTEGER)",
        b"a\n1\n12345678901234567890\n",
        (3, 1),
        "'12345678901234567890' in column a has more than 64 bits, and would become a float",
        LOSSY,
        b"12345678901234567890",
        "1",
    );
    refused(
        "CREATE TABLE t (a INTEGER)",
        b"a\n1\n9007199254740993.0\n",
        (3, 1),
        "'9007199254740993.0' in column a would be rounded to 9007199254740992",
        LOSSY,
        b"9007199254740993.0",
        "1",
    );
    refused(
        "CREATE TABLE t (a REAL)",
        b"a\n1\n1e999\n",
        (3, 1),
        "'1e999' in column a is beyond the largest float, and would become infinity",
        LOSSY,
        b"1e999",
        "1.0",
    );
    refused(
        "CREATE TABLE t (a REAL)",
        b"a\n1\n1e-999\n",
        (3, 1),
        "'1e-999' in column a is below the smallest float, and would become 0",
        LOSSY,
        b"1e-999",
        "1.0",
    );
}

#[test]
fn the_flag_lossy_accepts_numbers_that_lose_digits_or_overflow() {
    load("--lossy", "CREATE TABLE t (a INTEGER, b REAL)", b"a,b\n12345678901234567890,1e999\n1,1e-999\n")
        .succeeds()
        .holds("SELECT * FROM t", "1.2345678901234567e19|inf\n1|0.0");
}

#[test]
fn rowids_may_be_in_any_order_and_a_repeated_rowid_ends_the_load_even_with_a_reject_file() {
    let schema = "CREATE TABLE t (id INTEGER PRIMARY KEY, a)";
    for flags in ["", "--reject bad.csv"] {
        let sorted = |csv: &[u8], expected: &str| {
            load(flags, schema, csv).succeeds().holds("SELECT * FROM t", expected);
        };
        sorted(b"id,a\n1,x\n3,y\n2,z\n", "1|'x'\n2|'z'\n3|'y'");
        sorted(b"id,a\n5,x\n,y\n", "5|'x'\n6|'y'");
        load(flags, schema, b"id,a\n1,x\n1,y\n").fails(
            1,
            "error: t.csv:3:1: UNIQUE constraint failed: t.id = 1 (rows 1 and 2: lines 2 and 3)\n\n\
             hint: --on-conflict ignore keeps the first such row, --on-conflict replace the last",
        );
    }
}

#[test]
fn the_reject_file_has_all_bad_rows_in_the_order_of_the_files() {
    sqluice("load x.db a.csv b.csv --reject bad.csv --json")
        .file("a.csv", "n,m\n1\n2,3\n4,5,6\n")
        .file("b.csv", "n,m\n7,1\n\"8\",\"9\"x\n9,3\n")
        .succeeds()
        .says("")
        .file_is(
            "bad.csv",
            format!(
                "{HEADER}a.csv,2,2,the record ends after field 1: the header has 2,1\n\
                 a.csv,4,5,field 3 of this record: the header has only 2,\"4,5,6\"\n\
                 b.csv,3,5,\"the quoted field that begins here closes in column 8 before 'x', where a comma or the end of the line should be\",\"\"\"8\"\",\"\"9\"\"x\"\n"
            ),
        )
        .holds("SELECT n, m FROM a UNION ALL SELECT n, m FROM b", "2|3\n7|1\n9|3");
    let done =
        sqluice("load x.db a.csv --reject bad.csv --json").file("a.csv", "n,m\n1\n2,3\n4,5,6\n").succeeds();
    let report = done.ran.json();
    assert_eq!((&report["rows"], &report["rejected"]), (&1.into(), &2.into()));
    assert_eq!(report["tables"][0]["rejected"], 2);
}

#[test]
fn the_report_counts_the_rejected_rows() {
    let with = |flags: &str| load(&format!("--reject bad.csv {flags}"), "", b"a,b\n1\n2\n3\n4,5\n");
    with("").succeeds().says("Loaded 1 row into x.db: [..]\n3 rows rejected, see bad.csv\n[..]");
    with("-q").succeeds().says("");
    load("--reject bad.csv", "", b"a\n1\n")
        .succeeds()
        .says("Loaded 1 row into x.db: [..]\nno rows rejected\n[..]")
        .file_is("bad.csv", HEADER);
}

#[test]
fn the_reject_file_can_itself_be_loaded() {
    load("--reject bad.csv", "", b"a,b\n1,x\"\n\"2\ny\n3,\",4\n")
        .succeeds()
        .then("load y.db bad.csv")
        .succeeds();
}

#[test]
fn more_bad_rows_than_allowed_end_the_load_and_are_all_kept() {
    let with =
        |most: u64| load(&format!("--reject bad.csv --max-rejects {most}"), "", b"a,b\n1\n2\n3,4\n5\n");
    with(3).succeeds().says("Loaded 1 row into x.db: [..]\n3 rows rejected, see bad.csv\n[..]");
    let row = |line: u64, record: u64| {
        format!("t.csv,{line},2,the record ends after field 1: the header has 2,{record}\n")
    };
    let hint = "hint: all of them are in bad.csv; --max-rejects lets more pass";
    with(2).fails_leaving(
        &[("bad.csv", &[HEADER, &row(2, 1), &row(3, 2), &row(5, 5)].concat())],
        1,
        &format!("error: t.csv:5:2: the record ends after field 1: the header has 2 (bad row 3; the limit is 2)\n\n{hint}"),
    );
    with(0).fails_leaving(
        &[("bad.csv", &[HEADER, &row(2, 1)].concat())],
        1,
        &format!("error: t.csv:2:2: the record ends after field 1: the header has 2 (bad row 1; the limit is 0)\n\n{hint}"),
    );
    load("--max-rejects 3", "", b"a\n1\n").fails(
        2,
        "error: the following required arguments were not provided:\n  --reject <FILE>\n\n\
         Usage: [..]\n\nFor more information, try '--help'.",
    );
}

#[test]
fn a_reject_file_must_be_new_and_differ_from_database_and_inputs() {
    let with = |reject: &str| load(&format!("--reject {reject}"), "CREATE TABLE t (a)", b"a\n1\n");
    with("old.csv").file("old.csv", "precious").fails(
        1,
        "error: cannot write the rejected rows to old.csv\n  caused by: File exists (os error 17)\n\nhint: [..]",
    );
    with("no/bad.csv").fails(
        1,
        "error: cannot write the rejected rows to no/bad.csv\n  caused by: No such file or directory (os error 2)\n\n\
         hint: make its folder first, or name another file",
    );
    with("d")
        .file("d/", "")
        .fails(1, "error: cannot write the rejected rows to d\n  caused by: [..]\n\nhint: [..]");
    let hint = "hint: name another file: --reject FILE";
    for (reject, is) in [
        ("t.csv", "is read by this load"),
        ("./t.csv", "is read by this load"),
        ("s.sql", "is read by this load"),
        ("x.db", "is the database"),
        ("./x.db", "is the database"),
        ("x.db-journal", "is a sidecar file of the database"),
        ("x.db-wal", "is a sidecar file of the database"),
    ] {
        with(reject).fails(2, &format!("error: {reject} {is}, and can't have the rejected rows\n\n{hint}"));
    }
    if cfg!(unix) {
        with("/dev/null").succeeds().says("Loaded 1 row into x.db: [..]\nno rows rejected\n[..]");
    }
}

#[test]
fn a_record_that_is_too_long_for_the_memory_setting_ends_the_load() {
    let content = format!("a,b\n1,2\n3,\"{}\n", "x".repeat(4 << 20));
    for reject in ["", "--reject bad.csv"] {
        load(&format!("--memory 24MiB {reject}"), "", content.as_bytes()).fails(
            1,
            "error: t.csv:3:1: the record that begins here is longer than 3145728 bytes\n\n\
             hint: is a closing quote missing? if the record is that long, give more memory: --memory",
        );
    }
    let long = format!("a,b\n1,2\n3,\"{}\"\n", "x".repeat(4 << 20));
    load("", "", long.as_bytes()).succeeds().holds("SELECT a, length(b) FROM t", "1|1\n3|4194304");
}

#[test]
fn a_failed_load_does_not_change_the_reject_file_of_another_load() {
    let old = ("bad.csv", "precious\n");
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY)";
    let twice =
        "error: t.csv:3:1: UNIQUE constraint failed: t.a = 1 (rows 1 and 2: lines 2 and 3)\n\nhint: [..]";
    load("--reject bad.csv --overwrite-reject", sql, b"a\n1\n1\n").file(old.0, old.1).fails(1, twice);
    // A failed load that has rejected rows replaces the file.
    let row = "t.csv,2,1,\"'x' in column a, which is INTEGER PRIMARY KEY\",x\n";
    load("--reject bad.csv --overwrite-reject", sql, b"a\nx\n1\n1\n").file(old.0, old.1).fails_leaving(
        &[("bad.csv", &format!("file,line,column,reason,record\n{row}"))],
        1,
        "error: t.csv:4:1: UNIQUE constraint failed: t.a = 1 (rows 2 and 3: lines 3 and 4)\n\nhint: [..]",
    );
}

#[test]
fn the_flag_overwrite_reject_replaces_the_reject_file_and_not_the_database() {
    let refused = "error: cannot write the rejected rows to bad.csv\n  caused by: [..]\n\n\
                   hint: name another file, or replace this one: --overwrite-reject";
    for more in ["", "--overwrite"] {
        sqluice(&format!("load x.db t.csv --table t --reject bad.csv {more}"))
            .file("t.csv", "a,b\n1,2\n3\n")
            .file("bad.csv", "old")
            .fails(1, refused);
    }
    sqluice("load x.db one.csv --table kept")
        .file(ONE_ROW.0, ONE_ROW.1)
        .file("t.csv", "a,b\n1,2\n3\n4,5\n6,7\n")
        .file("bad.csv", "old")
        .succeeds()
        .then("load x.db t.csv --table t --reject bad.csv --overwrite-reject")
        .succeeds()
        .holds("SELECT (SELECT count(*) FROM kept), count(*) FROM t", "1|3");
    fails(
        &[ONE_ROW],
        "load x.db one.csv --overwrite-reject",
        2,
        "error: the following required arguments [..]\n  --reject <FILE>\n\nUsage: [..]\n\nFor more information, try '--help'.",
    );
}
