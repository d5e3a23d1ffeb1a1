//! `check` of full-text tables: it finds no fault in indexes that SQLite wrote, and finds faults that SQLite's own check misses.

use std::path::Path;

use proptest::prelude::*;
use rusqlite::Connection;
use sqluice::check::{Check, Checked};

/// A full-text table and its changes.
#[derive(Clone, Debug)]
struct History {
    seed: u64,
    content: &'static str,
    options: Vec<&'static str>,
    page_bytes: usize,
    secure_delete: bool,
    steps: usize,
}

fn any_history() -> impl Strategy<Value = History> {
    let options = prop::sample::subsequence(
        vec![
            "prefix='1 3'",
            "columnsize=0",
            "tokenize='porter'",
            "tokenize='trigram'",
            "detail=column",
            "detail=none",
            "tokendata=1",
        ],
        0..4,
    );
    let contents = ["", "content='t', content_rowid='id'", "content=''", "content='', contentless_delete=1"];
    let page = prop_oneof![32_usize..100, 100usize..5000];
    (any::<u64>(), 0..4_usize, options, page, any::<bool>(), 1..30_usize).prop_map(
        move |(seed, content, mut options, page_bytes, secure_delete, steps)| {
            let is_first = |options: &[&'static str], at: usize| {
                let name = |option: &str| option.split('=').next().unwrap().to_owned();
                options[..at].iter().all(|other| name(other) != name(options[at]))
            };
            options = (0..options.len()).filter(|at| is_first(&options, *at)).map(|at| options[at]).collect();
            if content == 3 {
                options.retain(|option| *option != "columnsize=0");
            }
            History { seed, content: contents[content], options, page_bytes, secure_delete, steps }
        },
    )
}

fn text(random: &mut fastrand::Rng) -> String {
    let words = [5, 60][usize::from(random.u8(..6) == 0)];
    let words = (0..random.usize(..words)).map(|_| match random.u8(..20) {
        0 => "long".repeat(random.usize(1..40)),
        1..8 => "every".to_owned(),
        8 => "東京都 жизнь".chars().skip(random.usize(..9)).collect(),
        9 => format!("{}w{}", ["é", "жи", "京"][random.usize(..3)], random.u8(..100)),
        _ => format!("wé{}", random.u8(..60)),
    });
    words.collect::<Vec<String>>().join(" ")
}

/// Makes a table `f` over a table `t`, whose rows are inserted, deleted and replaced.
fn made(path: &Path, history: &History) -> Connection {
    let random = &mut fastrand::Rng::with_seed(history.seed);
    let connection = Connection::open(path).unwrap();
    let mut options = history.options.clone();
    options.extend([history.content].iter().filter(|content| !content.is_empty()));
    let options: String = options.iter().map(|option| format!(", {option}")).collect();
    connection
        .execute_batch(&format!(
            "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
             CREATE TABLE t (id INTEGER PRIMARY KEY, a, b);
             CREATE VIRTUAL TABLE f USING fts5(a, b{options});
             INSERT INTO f(f, rank) VALUES ('pgsz', {}), ('secure-delete', {})",
            history.page_bytes,
            u8::from(history.secure_delete),
        ))
        .unwrap();
    let is_external = history.content.contains("'t'");
    let can_delete = history.content.is_empty() || is_external || history.content.contains("delete");
    let mut live: Vec<(i64, String, String)> = Vec::new();
    for _ in 0..history.steps {
        connection.execute_batch("BEGIN").unwrap();
        for _ in 0..random.usize(1..12) {
            if can_delete && !live.is_empty() && random.u8(..4) == 0 {
                let (rowid, a, b) = live.swap_remove(random.usize(..live.len()));
                if is_external {
                    connection.execute("DELETE FROM t WHERE id = ?1", [rowid]).unwrap();
                    connection
                        .execute("INSERT INTO f(f, rowid, a, b) VALUES ('delete', ?1, ?2, ?3)", (rowid, a, b))
                        .unwrap();
                } else {
                    connection.execute("DELETE FROM f WHERE rowid = ?1", [rowid]).unwrap();
                }
                continue;
            }
            let rowid = [random.i64(-50..200), random.i64(..)][usize::from(random.u8(..9) == 0)];
            if live.iter().any(|(other, ..)| *other == rowid) {
                continue;
            }
            let (a, b) = (text(random), text(random));
            if is_external {
                connection.execute("INSERT INTO t VALUES (?1, ?2, ?3)", (rowid, &a, &b)).unwrap();
            }
            connection.execute("INSERT INTO f(rowid, a, b) VALUES (?1, ?2, ?3)", (rowid, &a, &b)).unwrap();
            live.push((rowid, a, b));
        }
        connection.execute_batch("COMMIT").unwrap();
        if random.u8(..8) == 0 {
            let pages = random.i32(-10..20);
            connection.execute("INSERT INTO f(f, rank) VALUES ('merge', ?1)", [pages]).unwrap();
        }
    }
    connection
}

fn check(path: &Path) -> Checked {
    Check::new(path).threads(2).run().unwrap()
}

fn problems(path: &Path) -> Vec<String> {
    check(path).report.problems.iter().map(ToString::to_string).collect()
}

fn remarks(path: &Path) -> Vec<String> {
    let remarks = check(path).report.remarks;
    remarks.iter().map(ToString::to_string).filter(|remark| !remark.contains("to no segment")).collect()
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(60))]
    #[test]
    fn a_full_text_index_that_sqlite_has_written_is_sound(history in any_history()) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        drop(made(&path, &history));
        prop_assert_eq!(problems(&path), Vec::<String>::new());
        prop_assert_eq!(remarks(&path), Vec::<String>::new());
        let unverified = check(&path).unverified;
        prop_assert_eq!(unverified.is_empty(), !history.content.contains("''"), "{:?}", unverified);
    }

    #[test]
    fn a_text_that_differs_from_its_index_entries_is_found(history in any_history(), number: u32) {
        prop_assume!(!history.content.contains("''"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let connection = made(&path, &history);
        let (table, id, column) = match history.content {
            "" => ("f_content", "id", "c0"),
            _ => ("t", "id", "a"),
        };
        let count: i64 = connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        prop_assume!(count > 0);
        let sql = format!("SELECT {id} FROM {table} ORDER BY {id} LIMIT 1 OFFSET ?1");
        let rowid: i64 = connection.query_row(&sql, [i64::from(number) % count], |row| row.get(0)).unwrap();
        let sql = format!("UPDATE {table} SET {column} = {column} || ' otherwise' WHERE {id} = ?1");
        connection.execute(&sql, [rowid]).unwrap();
        drop(connection);
        let (found, said) = match history.content {
            "" => (problems(&path), format!("f: the index differs from the text of row {rowid}")),
            _ => (remarks(&path), format!("f: the index differs from its content in row {rowid}: it is behind")),
        };
        prop_assert_eq!(found.first(), Some(&said), "{:?}", found);
    }
}

/// Makes a database with a full-text table of these options, in which one word is in every row, breaks it, and returns the problems and
/// remarks.
fn broken(options: &str, sql: &str) -> (Vec<String>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(&format!(
            "CREATE TABLE t (id INTEGER PRIMARY KEY, a);
             CREATE VIRTUAL TABLE f USING fts5(a{options});
             INSERT INTO f(f, rank) VALUES ('pgsz', 64);
             WITH n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n LIMIT 2000)
             INSERT INTO t SELECT n, 'every every word' || n FROM n;
             INSERT INTO f(rowid, a) SELECT id, a FROM t;
             INSERT INTO f(f) VALUES ('optimize');
             {sql}"
        ))
        .unwrap();
    drop(connection);
    (problems(&path), remarks(&path))
}

#[test]
fn planted_faults_are_found() {
    assert_eq!(broken("", ""), (vec![], vec![]));
    let of_segment = "(SELECT segid FROM f_idx ORDER BY segid DESC LIMIT 1)";
    let last = "(SELECT max(pgno) FROM f_idx)";
    let unmarked = "(SELECT min(pgno) FROM f_idx WHERE pgno % 2 = 0 AND term <> x'')";
    let marked = "(SELECT min(pgno) FROM f_idx WHERE pgno % 2)";
    let cases: &[(&str, &str, &str)] = &[
        (
            "the last split key",
            &format!("DELETE FROM f_idx WHERE pgno = {last}"),
            "has no split key: searches miss its terms",
        ),
        (
            "a split key",
            &format!("DELETE FROM f_idx WHERE pgno = {unmarked}"),
            "has no split key: searches miss its terms",
        ),
        (
            "a wrong split key",
            &format!("UPDATE f_idx SET term = CAST(term || 'z' AS BLOB) WHERE pgno = {last}"),
            "is wrong: searches miss terms",
        ),
        (
            "a split key of no page",
            &format!("INSERT INTO f_idx VALUES ({of_segment}, x'31', 99999998)"),
            "on which no term starts",
        ),
        (
            "a mark without an index",
            &format!("UPDATE f_idx SET pgno = pgno + 1 WHERE pgno = {unmarked}"),
            "does not list its pages",
        ),
        ("no doclist index", "DELETE FROM f_data WHERE id >> 36 & 1", "does not list its pages"),
        ("a page", "DELETE FROM f_data WHERE id & 0x7fffffff = 30 AND id > 99", "the row is missing"),
        ("the averages", "UPDATE f_data SET block = x'010203' WHERE id = 1", "the averages are damaged"),
        (
            "other averages",
            "UPDATE f_data SET block = x'0102' WHERE id = 1",
            "are those of 1 rows and 2 tokens, not of 2000 and 6000",
        ),
        ("a size", "UPDATE f_docsize SET sz = x'07' WHERE id = 7", "the stored sizes of row 7 are wrong"),
        (
            "a size of no row",
            "INSERT INTO f_docsize VALUES (9999, x'01')",
            "sizes of 2001 rows are stored, and there are 2000 rows",
        ),
        ("no size", "DELETE FROM f_docsize WHERE id = 7", "the stored sizes of row 7 are wrong"),
        (
            "a text",
            "UPDATE f_content SET c0 = 'every other' WHERE id IN (3, 9)",
            "the index differs from the text of rows 3, 9",
        ),
        ("no text", "DELETE FROM f_content WHERE id = 5", "the index differs from the text of row 5"),
    ];
    for (fault, sql, said) in cases {
        let (problems, _) = broken("", sql);
        assert!(problems.iter().any(|problem| problem.contains(said)), "{fault}: {problems:?}");
    }
    // This fault does not change the result of a search, so it is a remark.
    let (problems, remarks) = broken("", &format!("UPDATE f_idx SET pgno = pgno - 1 WHERE pgno = {marked}"));
    assert_eq!(problems, Vec::<String>::new());
    assert!(remarks[0].contains("is not marked for a doclist index"), "{remarks:?}");
}

#[test]
fn a_page_of_no_segment_is_a_remark() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let connection = Connection::open(&path).unwrap();
    connection
        .execute_batch(
            "CREATE VIRTUAL TABLE f USING fts5(a); INSERT INTO f VALUES ('word');
             INSERT INTO f_data VALUES (99 << 37 | 1, x'00000004')",
        )
        .unwrap();
    drop(connection);
    let checked = check(&path);
    assert!(checked.is_sound());
    let remarks: Vec<String> = checked.report.remarks.iter().map(ToString::to_string).collect();
    assert_eq!(remarks, ["f: a row of the index belongs to no segment, and only takes space"]);
}

#[test]
fn sizes_without_a_text_are_compared_with_the_index() {
    let (problems, _) = broken(", content=''", "UPDATE f_docsize SET sz = x'02' WHERE id = 7");
    assert!(
        problems.iter().any(|problem| problem.contains("the stored sizes of rows differ from the index")),
        "{problems:?}"
    );
    let (problems, _) = broken(", content=''", "UPDATE f_data SET block = x'0102' WHERE id = 1");
    assert!(
        problems.iter().any(|problem| problem.contains("the averages, by which answers are ranked")),
        "{problems:?}"
    );
    assert_eq!(broken(", content=''", ""), (vec![], vec![]));
}

#[test]
fn averages_that_count_rows_deleted_by_an_older_sqlite_are_a_remark() {
    // 2000 rows with 6000 tokens: one token more is a remark, and one less a fault.
    let averages = |block: &str| {
        let sql = format!("UPDATE f_data SET block = x'{block}' WHERE id = 1");
        broken(", content='', contentless_delete=1", &sql)
    };
    let (problems, remarks) = averages("8f50ae71");
    assert_eq!(problems, Vec::<String>::new());
    assert!(remarks[0].ends_with("SQLite up to 3.49 goes on counting deleted rows"), "{remarks:?}");
    let (problems, remarks) = averages("8f50ae6f");
    assert_eq!((problems.len(), remarks.len()), (1, 0), "{problems:?}");
    assert_eq!(averages("8f50ae70"), (vec![], vec![]));
}

#[test]
fn a_term_in_a_column_that_does_not_exist_is_found() {
    for (detail, is_whole) in [("full", true), ("column", true), ("none", false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let connection = Connection::open(&path).unwrap();
        connection
            .execute_batch(&format!(
                "CREATE VIRTUAL TABLE f USING fts5(a, b, content='', detail={detail}, columnsize=0);
                 INSERT INTO f(rowid, a, b) VALUES (5, 'one', ''), (7, 'one', 'two');
                 PRAGMA writable_schema = on;
                 UPDATE sqlite_schema SET sql = replace(sql, '(a, b,', '(a,') WHERE name = 'f'"
            ))
            .unwrap();
        drop(connection);
        let problems = problems(&path);
        let expected = "f: row 7 has a term in a column that does not exist".to_owned();
        assert_eq!(problems.contains(&expected), is_whole, "{detail}: {problems:?}");
    }
}

#[test]
fn an_index_that_lacks_later_rows_is_a_remark() {
    let (problems, remarks) =
        broken(", content='t', content_rowid='id'", "INSERT INTO t VALUES (3000, 'new')");
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(
        remarks,
        [
            "f: the index differs from its content in row 3000: it is behind",
            "f: the stored sizes of row 3000 are wrong"
        ]
    );
}
