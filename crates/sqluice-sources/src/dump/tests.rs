//! Tests of the splitter of dumps.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::Dialect;
use super::split::Item;
use super::twins::{difference, fast as split};

/// Returns the text of each statement, and for consecutive rows their number and table.
fn items(text: &str, dialect: Dialect) -> Vec<String> {
    let script = split(text.as_bytes(), dialect, 1 << 20).unwrap();
    let of = |range: &std::ops::Range<u64>| text[range.start as usize..range.end as usize].to_owned();
    let item = |item: &Item| match item {
        Item::Statement(range) | Item::Command(range) => of(range),
        Item::Rows(rows) => {
            let count: u64 = script.pieces[rows.pieces.clone()].iter().map(|piece| piece.rows).sum();
            format!("{count} rows of {}", script.headers[rows.header].table)
        }
    };
    script.items.iter().map(item).collect()
}

#[test]
fn semicolons_in_strings_names_comments_and_triggers_do_not_end_a_statement() {
    let sqlite = "SELECT ';', \";\", [;], `;` -- ;\n/* ; */ ; CREATE TRIGGER t BEGIN SELECT 1; END; SELECT 2;.open x\n#x;\nEND";
    let expected = [
        "SELECT ';', \";\", [;], `;` -- ;\n/* ; */ ",
        "CREATE TRIGGER t BEGIN SELECT 1; END",
        "SELECT 2",
        ".open x",
        "END",
    ];
    assert_eq!(items(sqlite, Dialect::Sqlite), expected);
    let mysql =
        "SELECT 'a\\';', \"b;\" # ;\n;DELIMITER ;;\nCREATE TRIGGER t BEGIN x; END ;;\nDELIMITER ;\nSELECT 1";
    let expected = ["SELECT 'a\\';', \"b;\" # ;\n", "CREATE TRIGGER t BEGIN x; END ", "SELECT 1"];
    assert_eq!(items(mysql, Dialect::MySql), expected);
    let dollars = "DELIMITER $$\nCREATE TRIGGER t BEGIN x; END$$\nDELIMITER ;\nSELECT 1";
    assert_eq!(items(dollars, Dialect::MySql), ["CREATE TRIGGER t BEGIN x; END", "SELECT 1"]);
    let rule = "CREATE RULE r AS ON INSERT TO t DO (INSERT INTO u VALUES (1); DELETE FROM v;);SELECT 1;";
    let expected =
        ["CREATE RULE r AS ON INSERT TO t DO (INSERT INTO u VALUES (1); DELETE FROM v;)", "SELECT 1"];
    assert_eq!(items(rule, Dialect::Postgres), expected);
    let postgres = "SELECT 'a\\', E'\\';', $$;$$, $a$;$$;$a$ /* /* ; */ ; */;CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE 1 END; END;SELECT 3;";
    let expected = [
        "SELECT 'a\\', E'\\';', $$;$$, $a$;$$;$a$ /* /* ; */ ; */",
        "CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE 1 END; END",
        "SELECT 3",
    ];
    assert_eq!(items(postgres, Dialect::Postgres), expected);
}

#[test]
fn rows_of_literals_are_counted_and_other_rows_stay_statements() {
    let sqlite = "INSERT INTO t VALUES(1,'x',NULL,x'00',-1.5e3);INSERT INTO t VALUES(2),(3);INSERT INTO t VALUES(random());\
                  INSERT INTO u(a) VALUES(replace('a\\nb','\\n',char(10)));INSERT INTO u(a) VALUES(1+1)";
    let expected =
        ["3 rows of t", "INSERT INTO t VALUES(random())", "1 rows of u", "INSERT INTO u(a) VALUES(1+1)"];
    assert_eq!(items(sqlite, Dialect::Sqlite), expected);
    let postgres = "COPY public.t (a, b) FROM stdin;\n1\t;\n\\N\t'\n\\.\nSELECT 1;";
    assert_eq!(items(postgres, Dialect::Postgres), ["2 rows of t", "SELECT 1"]);
}

#[test]
fn copy_data_without_an_end_are_refused() {
    let error = split(b"COPY t (a) FROM stdin;\n1\n2\n", Dialect::Postgres, 100).unwrap_err();
    assert_eq!(error, "the data of this COPY statement have no end");
}

const DIALECTS: [Dialect; 3] = [Dialect::Sqlite, Dialect::MySql, Dialect::Postgres];

/// Parts of statements, which the tests combine at random.
const PARTS: &[&str] = &[
    ";",
    "'",
    "''",
    "\"",
    "`",
    "[",
    "]",
    "--",
    "\n",
    "/*",
    "*/",
    "/*!40101 ",
    "#",
    "$$",
    "$a$",
    "E'",
    "\\",
    "(",
    ")",
    ",",
    " ",
    "1",
    "x'00'",
    "INSERT INTO t VALUES",
    "INSERT INTO u (a,b) VALUES ",
    "CREATE TRIGGER x BEGIN ",
    "END",
    "NULL",
    "DELIMITER ;;\n",
    ".open\n",
    "COPY t FROM stdin;\n",
    "\\.\n",
    "é",
    "(1,'a'),(2,NULL);",
    "INSERT INTO t VALUES (1,'a'),\n(2,NULL);\n",
    "INSERT INTO t VALUES(3,'b');",
    "CREATE FUNCTION f() BEGIN ATOMIC ",
    "CREATE OR REPLACE PROCEDURE p() ",
    "CASE",
    "BEGIN",
    "DELIMITER $$\n",
    "DELIMITER //\n",
    "END$$",
    "//",
    "SET NAMES latin1;",
    "SET sql_mode='NO_BACKSLASH_ESCAPES';",
    "SET @a=@@sql_mode, sql_mode='';",
    "SET standard_conforming_strings = off;",
    "SET client_encoding = 'LATIN1';",
    "/*!999999",
    "/*M!100101 ",
    "-- \n",
    "\r\n",
    "\0",
    "DO (SELECT 1; SELECT 2);",
    "x",
];

proptest! {
    #[test]
    fn the_statements_do_not_depend_on_the_size_of_blocks(
        parts in vec(select(PARTS), 0..60),
        block_bytes in 1_usize..40,
        dialect in select(&DIALECTS[..]),
    ) {
        let text = parts.concat();
        let whole = split(text.as_bytes(), dialect, 1 << 20);
        let blocks = split(text.as_bytes(), dialect, block_bytes);
        match (whole, blocks) {
            (Ok(whole), Ok(blocks)) => {
                prop_assert_eq!(whole.items, blocks.items);
                prop_assert_eq!(whole.headers, blocks.headers);
                prop_assert_eq!(whole.pieces, blocks.pieces);
                prop_assert_eq!(whole.encodings, blocks.encodings);
            }
            (whole, blocks) => prop_assert_eq!(whole.err(), blocks.err()),
        }
    }

    #[test]
    fn the_fast_splitter_returns_the_statements_of_the_slow_one(
        parts in vec(select(PARTS), 0..60),
        junk in vec((0_usize..400, any::<u8>()), 0..3),
        block_bytes in 1_usize..40,
        dialect in select(&DIALECTS[..]),
    ) {
        let mut text = parts.concat().into_bytes();
        for (at, byte) in junk {
            text.insert(at.min(text.len()), byte);
        }
        let difference = difference(&text, dialect, block_bytes);
        prop_assert!(difference.is_none(), "{}\n{}", difference.unwrap_or_default(), String::from_utf8_lossy(&text));
    }
}
