//! Tests of the statements of dumps.

use std::io::Write;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use sqluice_core::progress::Context;

use super::split::{Item, Script, Splitter};
use super::{Dialect, DumpFile};
use crate::input::{InputFile, InputOptions};

/// Splits a dump that is read in blocks of `block_bytes` bytes.
fn split(text: &[u8], dialect: Dialect, block_bytes: usize) -> Result<Script, String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text).unwrap();
    let input = InputFile::new(file.path(), InputOptions::new()).unwrap();
    let file = DumpFile::new(&input).unwrap();
    let context = Context::default();
    let splitter = Splitter::new(&file, dialect.rules(), 1 << 20, &context).blocks_of(block_bytes);
    splitter.split().map_err(|error| error.message())
}

/// Returns the text of each statement, and the number of rows of each run of rows.
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
fn semicolons_in_strings_names_comments_and_triggers_end_no_statement() {
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
    let postgres = "SELECT 'a\\', E'\\';', $$;$$, $a$;$$;$a$ /* /* ; */ ; */;CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE 1 END; END;SELECT 3;";
    let expected = [
        "SELECT 'a\\', E'\\';', $$;$$, $a$;$$;$a$ /* /* ; */ ; */",
        "CREATE FUNCTION f() BEGIN ATOMIC SELECT CASE 1 END; END",
        "SELECT 3",
    ];
    assert_eq!(items(postgres, Dialect::Postgres), expected);
}

#[test]
fn literal_rows_are_counted_and_other_rows_are_statements() {
    let sqlite = "INSERT INTO t VALUES(1,'x',NULL,x'00',-1.5e3);INSERT INTO t VALUES(2),(3);INSERT INTO t VALUES(random());\
                  INSERT INTO u(a) VALUES(replace('a\\nb','\\n',char(10)));INSERT INTO u(a) VALUES(1+1)";
    let expected =
        ["3 rows of t", "INSERT INTO t VALUES(random())", "1 rows of u", "INSERT INTO u(a) VALUES(1+1)"];
    assert_eq!(items(sqlite, Dialect::Sqlite), expected);
    let postgres = "COPY public.t (a, b) FROM stdin;\n1\t;\n\\N\t'\n\\.\nSELECT 1;";
    assert_eq!(items(postgres, Dialect::Postgres), ["2 rows of t", "SELECT 1"]);
}

#[test]
fn data_of_copy_without_an_end_are_refused() {
    let error = split(b"COPY t (a) FROM stdin;\n1\n2\n", Dialect::Postgres, 100).unwrap_err();
    assert_eq!(error, "the data of this COPY statement have no end");
}

/// Parts of statements, which any text may put together.
const PARTS: [&str; 34] = [
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
];

proptest! {
    #[test]
    fn the_statements_do_not_depend_on_the_size_of_blocks(
        parts in vec(select(&PARTS[..]), 0..60),
        block_bytes in 1_usize..40,
        dialect in select(&[Dialect::Sqlite, Dialect::MySql, Dialect::Postgres][..]),
    ) {
        let text = parts.concat();
        let whole = split(text.as_bytes(), dialect, 1 << 20);
        let blocks = split(text.as_bytes(), dialect, block_bytes);
        match (whole, blocks) {
            (Ok(whole), Ok(blocks)) => {
                prop_assert_eq!(whole.items, blocks.items);
                prop_assert_eq!(whole.headers, blocks.headers);
                prop_assert_eq!(whole.pieces, blocks.pieces);
            }
            (whole, blocks) => prop_assert_eq!(whole.err(), blocks.err()),
        }
    }
}
