//! Command lines that newcomers type: each works, or its hint is a command line that works when it is pasted.

use crate::transcript::{ONE_ROW, fails, sqluice};

const ORDERS: (&str, &str) = ("orders.csv", "id,total\n1,2.5\n2,3\n");

/// Asserts that a command line is refused with this hint, and that the hint is a command line that works. Both run in a folder with
/// `orders.csv`, and with `shop.db`, which has the rows of that file.
#[track_caller]
fn is_corrected(args: &str, line: &str) {
    let start = || sqluice("load shop.db orders.csv").file(ORDERS.0, ORDERS.1).succeeds();
    let refused = start().then(args).exits(2);
    let hint = refused.ran.stderr.lines().find_map(|said| said.strip_prefix("hint: ")).map(str::to_owned);
    assert_eq!(hint.as_deref(), Some(line), "{args}: {}", refused.ran.stderr);
    refused.then(line.strip_prefix("sqluice ").unwrap()).succeeds();
}

#[test]
fn a_command_line_of_files_alone_loads_them_into_a_new_database() {
    let said = "\
Loaded 2 rows into orders.db: [..]
orders: id INTEGER, total REAL
Go on with:
sqluice info orders.db
sqluice export orders.db orders --to - --format csv --limit 10";
    let loaded = sqluice("orders.csv").file(ORDERS.0, ORDERS.1).succeeds().says(said);
    loaded
        .then("export orders.db orders --to - --format csv --limit 10")
        .succeeds()
        .prints("id,total\n1,2.5\n2,3.0\n");
}

#[test]
fn a_command_line_of_files_alone_takes_the_flags_of_load() {
    let loaded = sqluice("--quiet orders.csv x.db -t t --primary-key id").file(ORDERS.0, ORDERS.1).succeeds();
    loaded.says("").holds(
        "SELECT id, total FROM t",
        "1|2.5
2|3.0",
    );
    let loaded = sqluice("--table t one.csv x.db").file(ONE_ROW.0, ONE_ROW.1).succeeds();
    loaded.holds("SELECT * FROM t", "1|2");
}

#[test]
fn a_command_line_of_a_database_alone_shows_its_tables() {
    let loaded = sqluice("load x.db orders.csv").file(ORDERS.0, ORDERS.1).succeeds();
    let shown = loaded.then("x.db").succeeds();
    let info = shown.ran.stdout.clone();
    assert!(info.contains("orders"), "{info}");
    shown.then("info x.db").succeeds().prints(&info);
}

#[test]
fn a_command_line_of_files_alone_changes_no_existing_database() {
    let loaded = sqluice("orders.csv").file(ORDERS.0, ORDERS.1).succeeds();
    loaded.then("orders.csv").fails(
        2,
        "error: orders.db exists, so name the database\n\nhint: sqluice load orders-2.db orders.csv",
    );
}

#[test]
fn commands_of_other_tools_are_answered_with_the_equivalent_command() {
    is_corrected("import new.db orders.csv", "sqluice load new.db orders.csv");
    is_corrected("import orders.csv new.db --csv", "sqluice load new.db orders.csv --format csv");
    is_corrected("insert new.db orders.csv", "sqluice load new.db orders.csv");
    is_corrected("convert orders.csv new.db", "sqluice load new.db orders.csv");
    is_corrected("convert shop.db orders out.csv", "sqluice export shop.db orders --to out.csv");
    is_corrected(
        "query shop.db 'SELECT 1 AS a'",
        "sqluice export shop.db --query 'SELECT 1 AS a' --to - --format csv",
    );
    is_corrected(
        "shop.db 'SELECT 1 AS a'",
        "sqluice export shop.db --query 'SELECT 1 AS a' --to - --format csv",
    );
    is_corrected("sql shop.db", "sqluice info shop.db");
    is_corrected("tables shop.db", "sqluice info shop.db");
    is_corrected("schema shop.db", "sqluice info shop.db");
    is_corrected("verify shop.db", "sqluice check shop.db");
    is_corrected("backup shop.db new.db", "sqluice copy shop.db new.db");
    is_corrected("dump shop.db --out all.sql", "sqluice export shop.db --to all.sql");
    is_corrected("version", "sqluice --version");
}

#[test]
fn mistyped_commands_are_corrected() {
    is_corrected("lod new.db orders.csv", "sqluice load new.db orders.csv");
    is_corrected("Load new.db orders.csv", "sqluice load new.db orders.csv");
    is_corrected("exprot shop.db orders --to o.csv", "sqluice export shop.db orders --to o.csv");
    is_corrected("--quiet chekc shop.db", "sqluice --quiet check shop.db");
}

#[test]
fn the_hint_corrects_misplaced_arguments_and_missing_flags() {
    is_corrected("load orders.csv new.db", "sqluice load new.db orders.csv");
    is_corrected("load orders.csv shop.db -t t", "sqluice load shop.db orders.csv -t t");
    is_corrected("export shop.db orders o.csv", "sqluice export shop.db orders --to o.csv");
    is_corrected("export shop.db orders", "sqluice export shop.db orders --to orders-2.csv");
    is_corrected("export shop.db", "sqluice export shop.db --to shop/ --format csv");
}

#[test]
fn the_hint_for_a_load_without_a_database_names_one_after_the_file() {
    is_corrected("load orders.csv", "sqluice load orders.db orders.csv");
    is_corrected("import orders.csv -t t", "sqluice load orders.db orders.csv -t t");
}

#[test]
fn flags_of_other_tools_are_corrected() {
    is_corrected("load new.db orders.csv --sep ,", "sqluice load new.db orders.csv --delimiter ,");
    is_corrected("load new.db orders.csv --sep=';'", "sqluice load new.db orders.csv '--delimiter=;'");
    is_corrected("load new.db orders.csv --primary id", "sqluice load new.db orders.csv --primary-key id");
    is_corrected("load new.db orders.csv --detect-types", "sqluice load new.db orders.csv");
    is_corrected(
        "load new.db orders.csv --csv --batch-size 9",
        "sqluice load new.db orders.csv --format csv",
    );
    is_corrected("load shop.db orders.csv --if-exists append", "sqluice load shop.db orders.csv --append");
    is_corrected("load new.db orders.csv --replace", "sqluice load new.db orders.csv --on-conflict replace");
    is_corrected("load new.db orders.csv --no_header", "sqluice load new.db orders.csv --no-header");
    is_corrected("load new.db orders.csv --tabel t", "sqluice load new.db orders.csv --table t");
    is_corrected("check shop.db --deep", "sqluice check shop.db --full");
    is_corrected(
        "import new.db orders.csv --separator , --nrows 1",
        "sqluice load new.db orders.csv --delimiter , --limit 1",
    );
}

#[test]
fn the_hint_for_standard_input_names_a_database_and_a_table() {
    let refused = sqluice("load x.db").stdin("a\n1\n").exits(2);
    let refused = refused.says(
        "error: a load names the database, and then the files; - is standard input\n\nhint: sqluice load x.db - --table x",
    );
    refused.then("load x.db - --table x").stdin("a\n1\n").succeeds().holds("SELECT a FROM x", "1");
    let refused = sqluice("-").stdin("a\n1\n").exits(2);
    let refused = refused.says(
        "error: the database and the table of standard input are not named\n\nhint: sqluice load data.db - --table data",
    );
    refused.then("load data.db - --table data").stdin("a\n1\n").succeeds();
}

#[test]
fn the_hint_quotes_a_file_name_with_spaces_that_became_several_arguments() {
    let named = ("my new orders.csv", ONE_ROW.1);
    fails(
        &[named],
        "load x.db my new orders.csv --table t",
        2,
        "error: my new orders.csv is one file, and its name has spaces\n\nhint: sqluice load x.db 'my new orders.csv' --table t",
    );
}

#[test]
fn several_databases_without_a_command_are_an_error_that_suggests_merge() {
    let two = sqluice("load a.db orders.csv").file(ORDERS.0, ORDERS.1).succeeds();
    let two = two.then("copy a.db b.db").succeeds();
    let refused = two.then("a.db b.db").exits(2).says(
        "error: several databases are named, and no command\n\nhint: sqluice merge merged.db a.db b.db",
    );
    refused.then("merge merged.db a.db b.db").succeeds();
}

#[test]
fn hints_do_not_print_secrets_of_urls() {
    let refused = sqluice("import x.db http://ann:secret@localhost:1/x.csv?token=secret").exits(2);
    refused.says(
        "error: sqluice has no command import\n\nhint: sqluice load x.db 'http://...@localhost:1/x.csv?...'",
    );
}

#[test]
fn help_about_a_word_finds_commands_and_flags() {
    for (args, said) in [
        ("--help load", "Usage: sqluice load"),
        ("-h export", "Usage: sqluice export"),
        ("help types", "--type <COL=TYPE>"),
        ("help stdin", "sqluice load"),
        ("help memory", "--memory <SIZE>"),
    ] {
        let help = sqluice(args).succeeds().ran.stdout;
        assert!(help.contains(said), "{args}: {help}");
    }
    fails(&[], "help frob", 2, "error: the help has nothing about frob\n\nhint: sqluice --help");
}

#[test]
fn the_error_in_json_has_the_suggested_command_line_as_its_hint() {
    let refused = sqluice("import new.db orders.csv --json").exits(2);
    let report: serde_json::Value = serde_json::from_str(&refused.ran.stdout).unwrap();
    assert_eq!(report["error"]["hint"], "sqluice load new.db orders.csv --json");
}

#[test]
fn commands_such_as_anonymize_do_not_suggest_a_copy_without_a_mask() {
    for command in ["anonymize", "anonymise", "mask"] {
        let refused = sqluice(&format!("{command} a.db b.db")).exits(2);
        assert!(!refused.ran.stderr.contains("sqluice copy"), "{}", refused.ran.stderr);
    }
}

#[test]
fn a_command_line_of_files_alone_with_json_prints_nothing_but_the_report() {
    sqluice("orders.csv --json").file(ORDERS.0, ORDERS.1).succeeds().says("");
}
