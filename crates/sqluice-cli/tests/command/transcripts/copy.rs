//! Transcripts of `copy`: plans, reports, selections, purposes, masks, and errors.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use crate::support::{folder, generate, integrity, names, run};
use crate::transcript::matches;

/// Makes a database with an index, a view, a reference and free pages.
fn shop(folder: &Path) {
    let sql = "CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT);
        CREATE TABLE orders (id INTEGER PRIMARY KEY, customer REFERENCES customer, day TEXT);
        CREATE INDEX by_day ON orders (day);
        CREATE VIEW sale AS SELECT name, day FROM orders JOIN customer ON customer.id = customer;
        CREATE TABLE churn (a);
        INSERT INTO customer VALUES (1, 'Ann'), (2, 'Bob');
        WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)
        INSERT INTO orders SELECT i, i % 2 + 1, date('2026-01-01', i || ' days') FROM n;
        INSERT INTO churn SELECT hex(zeroblob(500)) FROM orders;
        DROP TABLE churn";
    Connection::open(folder.join("shop.db")).unwrap().execute_batch(sql).unwrap();
}

/// Returns the number and the text of the rows of the shop's view, and the schema of the database.
fn content(db: &Path) -> (i64, String, String) {
    let db = Connection::open(db).unwrap();
    db.query_row(
        "SELECT (SELECT count(*) FROM sale), (SELECT group_concat(name || day) FROM sale),
         (SELECT group_concat(sql, ';') FROM sqlite_schema)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
    )
    .unwrap()
}

#[test]
fn a_copy_has_the_same_content_as_its_source_and_reports_both_sizes() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let ran = run(folder, ["copy", "shop.db", "copy.db"]).ok();
    let expected = "Copied 2,002 rows of 2 tables and 1 index to copy.db: [..] kB (source: 2.[..] MB) in [..]s ([..] rows/s)\n";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    assert_eq!(ran.stdout, "");
    assert_eq!(content(&folder.join("copy.db")), content(&folder.join("shop.db")));
    assert_eq!(integrity(&folder.join("copy.db")), "ok");
    assert_eq!(names(folder), ["copy.db", "shop.db"]);

    let ran = run(folder, ["copy", "shop.db", "again.db", "-v", "-j2", "--compact"]).ok();
    let expected = "\
Copied 2,002 rows of 2 tables and 1 index to again.db: [..] in [..]s ([..] rows/s)
  2 threads, [..] writes, [..] pages of 4096 bytes
  0 leaf pages copied as they are, [..] rewritten
  copy [..]s, sync [..]s
  customer: 2 rows, 1 leaf page, 0 copied as they are, 0 overflow pages, root [..]
  orders: 2,000 rows, [..] leaf pages, 0 copied as they are, 0 overflow pages, root [..]
  by_day: 2,000 entries, [..] leaf pages, 0 copied as they are, root [..]
";
    assert!(matches(&ran.stderr, expected), "{ran:?}");

    let report = run(folder, ["copy", "shop.db", "json.db", "--json"]).ok().json();
    assert_eq!((&report["rows"], &report["tables"][1]["name"]), (&2002.into(), &"orders".into()));
    assert_eq!((&report["indexes"][0]["sorted"], &report["others"]), (&false.into(), &1.into()));
    let bytes = fs::metadata(folder.join("json.db")).unwrap().len();
    assert_eq!((&report["bytes"], &report["source_journal_mode"]), (&bytes.into(), &"delete".into()));
}

#[test]
fn a_dry_run_of_copy_says_how_tables_are_copied_and_whether_other_processes_can_commit() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let ran = run(folder, ["copy", "shop.db", "copy.db", "--dry-run", "--no-indexes"]).ok();
    let expected = "\
shop.db to copy.db: [..] MB
the source is in journal mode delete: other processes can read it meanwhile, and wait with their commits
pages of 4096 bytes
table customer: full leaves as they are, others anew
table orders: full leaves as they are, others anew
left out: index by_day
";
    assert!(matches(&ran.stdout, expected), "{ran:?}");
    let args =
        ["copy", "shop.db", "copy.db", "--dry-run", "--json", "--page-size", "8192", "--journal-mode", "wal"];
    let plan = run(folder, args).ok().json();
    assert_eq!((&plan["page_bytes"], &plan["journal_mode"]), (&8192.into(), &"wal".into()));
    assert_eq!((&plan["others_can_commit"], &plan["in_place"]), (&false.into(), &false.into()));
    assert_eq!(plan["trees"][2]["how"], "all leaves anew; order verified, sorted again if it does not hold");
    assert_eq!(names(folder), ["shop.db"]);

    let ran = run(folder, ["copy", "shop.db", "copy.db", "--dry-run", "--interior-first"]).ok();
    let said = "\ninterior pages first: the source is read twice, the first time to count them\n";
    assert!(ran.stdout.contains(said), "{ran:?}");

    Connection::open(folder.join("shop.db")).unwrap().execute_batch("PRAGMA journal_mode = WAL").unwrap();
    let ran = run(folder, ["copy", "shop.db", "copy.db", "--dry-run"]).ok();
    assert!(ran.stdout.contains("journal mode wal: other processes can write to it meanwhile"), "{ran:?}");
    let plan = run(folder, ["copy", "shop.db", "shop.db", "--dry-run", "--json"]).ok().json();
    assert_eq!((&plan["others_can_commit"], &plan["in_place"]), (&false.into(), &true.into()));
}

#[test]
fn copy_replaces_an_existing_file_only_on_request() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    run(folder, generate("old.db", "100")).ok();
    let old = fs::read(folder.join("old.db")).unwrap();
    for flag in ["--dry-run", "--compact"] {
        let ran = run(folder, ["copy", "shop.db", "old.db", flag]).failed(1, "old.db already exists");
        assert!(ran.stderr.contains("\n\nhint: ") && ran.stderr.contains("--overwrite"), "{ran:?}");
        assert_eq!(fs::read(folder.join("old.db")).unwrap(), old);
    }
    let ran = run(folder, ["copy", "shop.db", "old.db", "--overwrite"]).ok();
    assert!(ran.stderr.contains("replaced") && ran.stderr.contains("100 rows"), "{ran:?}");
    assert_eq!(content(&folder.join("old.db")), content(&folder.join("shop.db")));
    assert_eq!(names(folder), ["old.db", "shop.db"]);
}

#[test]
fn an_impossible_copy_is_an_error_that_leaves_no_file() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    fs::write(folder.join("rows.csv"), "a,b\n1,2\n".repeat(1000)).unwrap();
    fs::create_dir(folder.join("dir")).unwrap();
    let before = names(folder);
    for (args, code, error) in [
        (&["none.db", "copy.db"][..], 1, "none.db"),
        (&["dir", "copy.db"], 1, "dir is a folder"),
        (&["rows.csv", "copy.db"], 1, "rows.csv is not a SQLite database"),
        (&["shop.db", "dir"], 1, "dir is a folder"),
        (&["shop.db", "none/copy.db"], 1, "none"),
        (&["shop.db"], 2, "<TARGET>"),
        (&["", "copy.db"], 2, "a value is required for '<SOURCE>'"),
        (&["shop.db", ""], 2, "a value is required for '<TARGET>'"),
        (&["shop.db", "copy.db", "--page-size", "1000"], 2, "1000"),
        (&["shop.db", "copy.db", "--table", "order"], 2, "did you mean orders?"),
        (&["shop.db", "copy.db", "--busy-limit", "soon"], 2, "soon"),
    ] {
        let ran = run(folder, [&["copy"], args].concat());
        ran.failed(code, error);
        assert_eq!(names(folder), before, "{args:?}");
    }
}

#[test]
fn an_error_names_the_views_and_foreign_keys_that_a_selection_breaks_and_the_flag_force() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let ran = run(folder, ["copy", "shop.db", "copy.db", "--exclude-table", "customer"]);
    let expected = "\
error: the copy would break view sale; the foreign key of table orders to customer

hint: leave these out, too, or copy anyway: --force
";
    assert_eq!((ran.code(), &*ran.stderr), (Some(2), expected), "{ran:?}");
    assert_eq!(names(folder), ["shop.db"]);
    let forced = ["copy", "shop.db", "copy.db", "--exclude-table", "customer", "--force"];
    let ran = run(folder, [&forced[..], &["--dry-run"]].concat()).ok();
    assert!(ran.stdout.ends_with(
        "left out: table customer\nwill not work: view sale\nwill not work: the foreign key of table orders to customer\n"
    ), "{ran:?}");
    let ran = run(folder, forced).ok();
    assert!(ran.stderr.contains("left out: table customer\n"), "{ran:?}");
    assert!(ran.stderr.contains("warning: view sale does not work in the copy\n"), "{ran:?}");
}

#[test]
fn copy_counts_the_rows_left_out_and_the_rows_that_refer_to_them() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let condition = "customer=name <> 'Bob'";
    let ran = run(folder, ["copy", "shop.db", "few.db", "--where", condition]).failed(1, "kept rows refer");
    let expected = "\
error: kept rows refer to rows that are left out: 1,000 rows of orders (customer) to customer

hint: leave these out, too: --sample-children; or keep them, although the rows that they refer to are missing: --orphans keep
";
    assert!(ran.stderr.starts_with(expected), "{ran:?}");
    assert_eq!(names(folder), ["shop.db"]);

    let ran = run(folder, ["copy", "shop.db", "few.db", "--where", condition, "--sample-children"]).ok();
    let expected = "\
Copied 1,001 rows of 2 tables and 1 index to few.db: [..] in [..]s ([..] rows/s)
  left out: 1 row of customer: 1 by the condition
  left out: 1,000 rows of orders: 1,000 whose parents are left out
  orders (customer) refers to customer: 1,000 rows left out with their parents
";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    assert_eq!(integrity(&folder.join("few.db")), "ok");

    let ran = run(folder, ["copy", "shop.db", "kept.db", "--where", condition, "--orphans", "keep"]).ok();
    assert!(
        ran.stderr
            .contains("warning: orders (customer) refers to customer: 1,000 rows kept without their parents"),
        "{ran:?}"
    );

    let sampled = ["copy", "shop.db", "sample.db", "--sample", "orders=100", "--seed", "7", "--json"];
    let report = run(folder, sampled).ok().json();
    assert_eq!(report["selected"]["tables"][0]["not_sampled"], 1900);
    assert_eq!(report["tables"][1]["rows"], 100);

    let ran = run(folder, ["copy", "shop.db", "plan.db", "--sample", "orders=1%", "--dry-run"]).ok();
    assert!(ran.stdout.contains("table orders: made of the kept rows\n"), "{ran:?}");
    assert!(ran.stdout.contains("table orders: only rows of a sample of 1% by id\n"), "{ran:?}");

    for (arguments, said) in [
        (["--where", "order=1"], "--where names \"order\", but shop.db has no such table"),
        (["--where", "orders"], "\"orders\" does not begin with TABLE=, such as orders="),
        (["--sample", "orders=101%"], "--sample: \"101%\" is neither a percentage nor a number of rows"),
        (["--sample", "sale=5"], "--sample names sale, which is a view"),
        (["--where", "orders=dy > 1"], "--where names the column \"dy\", which table orders does not have"),
        (["--orphans", "keep"], "--orphans is for copies that leave rows out, and this copy has all rows"),
    ] {
        run(folder, ["copy", "shop.db", "x.db", arguments[0], arguments[1]]).failed(2, said);
    }
}

#[test]
fn a_copy_with_auto_vacuum_refuses_interior_first_and_reports_no_root_pages() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let args = ["copy", "shop.db", "copy.db", "--auto-vacuum", "full"];
    for flag in ["--verbose", "--dry-run"] {
        let ran = run(folder, [&args[..], &["--interior-first", flag]].concat());
        let expected = "\
error: interior pages cannot be first in a copy with auto_vacuum: SQLite needs the root pages there

hint: make a copy without auto_vacuum: --auto-vacuum none
";
        assert_eq!((ran.code(), &*ran.stderr), (Some(2), expected), "{ran:?}");
        assert_eq!(names(folder), ["shop.db"]);
    }
    let ran = run(folder, [&args[..], &["--verbose", "--journal-mode", "wal"]].concat()).ok();
    let last = ran.stderr.lines().last().unwrap();
    assert!(matches(last, "  by_day: 2,000 entries, [..] leaf pages, [..] copied as they are"), "{ran:?}");
    assert!(!ran.stderr.contains("root"), "{ran:?}");
    assert_eq!(content(&folder.join("copy.db")), content(&folder.join("shop.db")));
    assert_eq!(names(folder), ["copy.db", "shop.db"]);
    let report = run(folder, [&args[..], &["--overwrite", "--json"]].concat()).ok().json();
    assert_eq!((&report["tables"][1]["rows"], report["tables"][1].get("root_page")), (&2000.into(), None));
    assert_eq!(report["indexes"][0].get("root_page"), None);
}

#[test]
fn a_copy_in_place_shrinks_the_file_and_keeps_its_content() {
    let folder = folder();
    let folder = folder.path();
    for mode in ["delete", "wal"] {
        shop(folder);
        let db = folder.join("shop.db");
        let set_mode = format!("PRAGMA journal_mode = {mode}");
        Connection::open(&db).unwrap().execute_batch(&set_mode).unwrap();
        let (before, bytes) = (content(&db), fs::metadata(&db).unwrap().len());
        let ran = run(folder, ["copy", "shop.db", "shop.db"]).ok();
        assert!(
            matches(&ran.stderr, "Copied 2,002 rows of 2 tables and 1 index to shop.db: [..]\n"),
            "{ran:?}"
        );
        assert!(fs::metadata(&db).unwrap().len() * 4 < bytes, "{mode}");
        assert_eq!((content(&db), integrity(&db)), (before, "ok".to_owned()), "{mode}");
        assert_eq!(names(folder), ["shop.db"], "{mode}");

        let other = Connection::open(&db).unwrap();
        other.execute_batch("BEGIN; SELECT count(*) FROM orders").unwrap();
        let ran = run(folder, ["copy", "shop.db", "shop.db", "--busy-timeout", "0"]).failed(1, "in use");
        assert!(ran.stderr.contains("\n\nhint: "), "{ran:?}");
        drop(other);
        fs::remove_file(&db).unwrap();
    }
}

#[test]
fn the_report_of_a_copy_for_a_purpose_lists_the_chosen_settings() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    let ran = run(folder, ["copy", "shop.db", "served.db", "--for", "datasette"]).ok();
    let expected = "\
Copied 2,002 rows of 2 tables and 1 index to served.db: [..]
  for datasette: compact true: Datasette serves it as immutable
  for datasette: journal mode delete: an immutable file has no log
  for datasette: auto vacuum none: an immutable file has no free pages
  for datasette: served-inspect.json; serve both with: datasette -i served.db --inspect-file served-inspect.json
";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    let about: serde_json::Value =
        serde_json::from_slice(&fs::read(folder.join("served-inspect.json")).unwrap()).unwrap();
    // wine has no sha256sum.
    if cfg!(unix) {
        let sum = std::process::Command::new("sha256sum").arg(folder.join("served.db")).output();
        let sum = String::from_utf8(sum.unwrap().stdout).unwrap();
        assert_eq!(about["served"]["hash"].as_str(), sum.split_whitespace().next());
    }
    assert_eq!(about["served"]["tables"]["orders"]["count"], 2000);

    let ran = run(folder, ["copy", "shop.db", "statements", "--for", "d1"]).ok();
    let expected = "\
Copied 2,002 rows of 2 tables to statements: [..]
  1 file; run them in order: for f in statements/*.sql; do npx wrangler d1 execute DATABASE --remote --file \"$f\"; done
";
    assert!(matches(&ran.stderr, expected), "{ran:?}");
    let sql = fs::read_to_string(folder.join("statements/0001.sql")).unwrap();
    let back = folder.join("back.db");
    Connection::open(&back).unwrap().execute_batch(&sql).unwrap();
    assert_eq!(content(&back).0, content(&folder.join("shop.db")).0);
    run(folder, ["copy", "shop.db", "statements", "--for", "d1"])
        .failed(1, "the folder statements is not empty");
    run(folder, ["copy", "shop.db", "t.db", "--for", "turso", "--page-size", "8192"])
        .failed(2, "--page-size 8192 is not possible in a copy for turso");
}

const MASK: &str = "CREATE TABLE customer (\n  id,   -- gen: permute()\n  name  -- gen: shape()\n);\n";

#[test]
fn a_masked_copy_is_planned_previewed_made_and_reported() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    fs::write(folder.join("mask.sql"), MASK).unwrap();
    fs::write(folder.join("key"), "a key that only the tests have").unwrap();
    let masked = ["copy", "shop.db", "safe.db", "--mask", "mask.sql", "--key-file", "key"];
    let with = |more: &[&str]| run(folder, masked.iter().chain(more).copied()).ok();
    let ran = with(&["--dry-run"]);
    let expected = "\
shop.db to safe.db: [..] MB
the source is in journal mode delete: other processes can read it meanwhile, and wait with their commits
pages of 4096 bytes
table customer: made of masked rows
table orders: made of masked rows
index by_day: made of the entries of masked rows
masked with a key of yours: the same key gives the same values
mask customer.id: permute(); different values stay different
mask customer.name: shape(); different values stay different
mask orders.customer: permute(), as customer.id, which it refers to; different values stay different
weak mask: orders.customer: the first 2000 values have 2 different values, and keep their row counts, which show which value is which
";
    assert!(matches(&ran.stdout, expected), "{ran:?}");
    let ran = with(&["--preview", "1"]);
    assert!(ran.stdout.starts_with("customer\n") && !ran.stdout.contains("Ann"), "{ran:?}");
    assert_eq!(names(folder), ["key", "mask.sql", "shop.db"]);

    let ran = with(&[]);
    let expected = "\
Copied 2,002 rows of 2 tables and 1 index to safe.db: [..] (source: [..]) in [..]s ([..] rows/s)
  3 columns masked; the same key gives the same values
  weak mask: orders.customer: the first 2000 values have 2 different values, and keep their row counts, which show which value is which
";
    assert!(ran.stderr.starts_with("Copied") && matches(&ran.stderr, expected), "{ran:?}");
    let (rows, sales, _) = content(&folder.join("safe.db"));
    assert!(rows == 2000 && !sales.contains("Ann") && !sales.contains("Bob"));
    assert_eq!(integrity(&folder.join("safe.db")), "ok");

    let random = ["copy", "shop.db", "other.db", "--mask", "mask.sql", "--json"];
    let report = run(folder, random).ok().json();
    assert_eq!(report["mask"]["random_key"], true);
    assert_eq!(report["mask"]["columns"][2]["follows"], "customer.id");
}

#[test]
fn errors_about_undeclared_references_and_masked_values_elsewhere_name_the_flags_that_help() {
    let folder = folder();
    let folder = folder.path();
    let sql = "CREATE TABLE book (id INTEGER PRIMARY KEY, writer TEXT); CREATE TABLE loan (book_id INT, line TEXT);
        INSERT INTO book VALUES (1, 'Ann Onymous'), (2, 'Bob'); INSERT INTO loan VALUES (1, 'Ann Onymous'), (2, '');";
    Connection::open(folder.join("books.db")).unwrap().execute_batch(sql).unwrap();
    let mask = "CREATE TABLE book (id /* gen: permute() */, writer /* gen: name() */)";
    fs::write(folder.join("mask.sql"), mask).unwrap();
    let with = |more: &[&'static str]| {
        run(folder, ["copy", "books.db", "safe.db", "--mask", "mask.sql"].iter().chain(more).copied())
    };
    let expected = "\
error: columns seem to refer to masked keys without REFERENCES, and would refer to nothing: loan.book_id (2 of 2 values are keys of book)

hint: say for each column if it is a reference: --reference loan.book_id=book.id or --no-reference loan.book_id
";
    assert_eq!(with(&[]).stderr, expected);
    let reference = ["--reference", "loan.book_id=book.id"];
    let ran = with(&[&reference[..], &["--strict-mask"]].concat());
    let expected = "\
error: loan.line has no mask, and 1 of its values occurs in book.writer, which is masked

hint: mask it, or say that it may be copied: -- gen: keep() or --allow loan.line
";
    assert_eq!(ran.stderr, expected);
    let planned = with(&[&reference[..], &["--dry-run"]].concat()).ok();
    assert!(
        planned.stdout.contains("mask loan.book_id: permute(), as book.id, which it refers to")
            && planned
                .stdout
                .contains("warning: loan.line has no mask, and 1 of its values occurs in book.writer"),
        "{planned:?}"
    );
    let report = with(&[&reference[..], &["--json"]].concat()).ok().json();
    assert_eq!(report["mask"]["second_places"][0]["masked"], "book.writer");
    assert_eq!(report["mask"]["second_places"][0]["count"], 1);
    assert_eq!(report["mask"]["columns"][2]["follows"], "book.id");
    assert!(!report.to_string().contains("Onymous"));
}

#[test]
fn mistakes_in_masks_are_reported_with_the_flags_that_help() {
    let folder = folder();
    let folder = folder.path();
    shop(folder);
    fs::write(folder.join("mask.sql"), "CREATE TABLE orders (id /* gen: permute() */)").unwrap();
    fs::write(folder.join("key"), "short").unwrap();
    let copy = ["copy", "shop.db", "safe.db", "--mask", "mask.sql"];
    let ran = run(folder, copy.iter().chain(&["--strict-mask"]).copied());
    assert!(
        ran.stderr
            .starts_with("error: customer.name has no mask and looks like a person's name, by its name\n"),
        "{ran:?}"
    );
    let ran = run(folder, copy.iter().chain(&["--key-file", "key"]).copied());
    assert!(
        ran.stderr.starts_with("error: the key in key is too short\n") && ran.stderr.contains("--key-file"),
        "{ran:?}"
    );
    let ran = run(folder, ["copy", "shop.db", "safe.db", "--strict-mask"]);
    assert_eq!(ran.code(), Some(2), "{ran:?}");
    assert_eq!(names(folder), ["key", "mask.sql", "shop.db"]);
    // --allow accepts the column by its name.
    let accepted =
        ["copy", "shop.db", "accepted.db", "--mask", "mask.sql", "--strict-mask", "--allow", "customer.name"];
    let ran = run(folder, accepted).ok();
    assert!(ran.stderr.contains("warning: customer.name has no mask"), "{ran:?}");
    let ran = run(folder, copy.iter().chain(&["--strict-mask", "--allow", "customer.nam"]).copied());
    assert!(
        ran.stderr.starts_with("error: no table has a column customer.nam\n")
            && ran.stderr.contains("did you mean customer.name?"),
        "{ran:?}"
    );
    let ran = run(folder, copy.iter().chain(&["--allow", "customer.name"]).copied());
    assert!(ran.code() == Some(2) && ran.stderr.contains("--strict-mask"), "{ran:?}");
    // Without --strict-mask, the finding is a warning.
    let ran = run(folder, copy).ok();
    assert!(ran.stderr.contains("warning: customer.name has no mask"), "{ran:?}");
}
