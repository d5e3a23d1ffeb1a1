//! The input of the part `json`, NDJSON written from a CSV file, and the way `serde_json`: serde_json and prepared INSERTs, as is usual in
//! Rust.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use anyhow::Context;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement};
use serde::Deserialize;

use super::data::{COLUMNS, NUMBERS, SCHEMA};
use crate::UNSAFE_PRAGMAS;
use crate::db::{close, open};

/// The number of rows in an INSERT.
const ROWS: usize = 50;

const BUFFER_BYTES: usize = 1 << 20;

/// Writes the first rows of a CSV file as one object a line: numbers unchanged, everything else as strings.
pub(crate) fn write(csv: &Path, rows: u64, file: &Path) -> io::Result<()> {
    let mut lines = BufReader::with_capacity(BUFFER_BYTES, File::open(csv)?).lines();
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(file)?);
    let header = lines.next().transpose()?.unwrap_or_default();
    let names: Vec<&str> = header.split(',').collect();
    for line in lines.take(usize::try_from(rows).unwrap_or(usize::MAX)) {
        let line = line?;
        // Only the last field, the comment, is quoted and may have commas.
        for (column, (name, value)) in names.iter().zip(line.splitn(names.len(), ',')).enumerate() {
            let before = if column == 0 { '{' } else { ',' };
            write!(out, "{before}{name:?}:")?;
            match column < NUMBERS {
                true => out.write_all(value.as_bytes())?,
                false => serde_json::to_writer(&mut out, &unquoted(value))?,
            }
        }
        out.write_all(b"}\n")?;
    }
    out.flush()
}

/// Returns the value of a CSV field, without its quotes.
pub(super) fn unquoted(field: &str) -> String {
    match field.strip_prefix('"').and_then(|field| field.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => field.to_owned(),
    }
}

/// A row whose texts borrow from the line. (A map of values would be slower.)
#[derive(Debug, Deserialize)]
struct Item<'a> {
    l_orderkey: i64,
    l_partkey: i64,
    l_suppkey: i64,
    l_linenumber: i64,
    l_quantity: f64,
    l_extendedprice: f64,
    l_discount: f64,
    l_tax: f64,
    l_returnflag: &'a str,
    l_linestatus: &'a str,
    l_shipdate: &'a str,
    l_commitdate: &'a str,
    l_receiptdate: &'a str,
    l_shipinstruct: &'a str,
    l_shipmode: &'a str,
    l_comment: &'a str,
}

impl Item<'_> {
    fn values(&self) -> [ValueRef<'_>; COLUMNS] {
        [
            ValueRef::Integer(self.l_orderkey),
            ValueRef::Integer(self.l_partkey),
            ValueRef::Integer(self.l_suppkey),
            ValueRef::Integer(self.l_linenumber),
            ValueRef::Real(self.l_quantity),
            ValueRef::Real(self.l_extendedprice),
            ValueRef::Real(self.l_discount),
            ValueRef::Real(self.l_tax),
            ValueRef::from(self.l_returnflag),
            ValueRef::from(self.l_linestatus),
            ValueRef::from(self.l_shipdate),
            ValueRef::from(self.l_commitdate),
            ValueRef::from(self.l_receiptdate),
            ValueRef::from(self.l_shipinstruct),
            ValueRef::from(self.l_shipmode),
            ValueRef::from(self.l_comment),
        ]
    }

    fn bind(&self, insert: &mut Statement<'_>, row: usize) -> rusqlite::Result<()> {
        for (place, value) in (row * COLUMNS + 1..).zip(self.values()) {
            insert.raw_bind_parameter(place, ToSqlOutput::Borrowed(value))?;
        }
        Ok(())
    }
}

/// Inserts the rows of an NDJSON file into the declared table, in one transaction, and syncs the database.
pub(crate) fn insert(file: &Path, target: &Path) -> anyhow::Result<()> {
    let db = open(target, &format!("{UNSAFE_PRAGMAS} {SCHEMA}; BEGIN"))?;
    let lines = File::open(file).with_context(|| format!("cannot open {}", file.display()))?;
    fill(&db, BufReader::with_capacity(BUFFER_BYTES, lines))?;
    db.execute_batch("COMMIT")?;
    close(db, target)
}

fn fill(db: &Connection, mut lines: impl BufRead) -> anyhow::Result<()> {
    let mut insert = db.prepare(&statement(ROWS))?;
    let mut text = Vec::new();
    loop {
        let mut rows = 0;
        text.clear();
        while rows < ROWS && lines.read_until(b'\n', &mut text)? > 0 {
            rows += 1;
        }
        match rows {
            0 => return Ok(()),
            ROWS => {}
            _ => insert = db.prepare(&statement(rows))?,
        }
        for (row, item) in serde_json::Deserializer::from_slice(&text).into_iter::<Item<'_>>().enumerate() {
            item.context("a line is no line item")?.bind(&mut insert, row)?;
        }
        insert.raw_execute()?;
    }
}

fn statement(rows: usize) -> String {
    let row = format!("({})", ["?"; COLUMNS].join(", "));
    format!("INSERT INTO lineitem VALUES {}", vec![row.as_str(); rows].join(", "))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    fn names() -> Vec<String> {
        let db = Connection::open_in_memory().unwrap();
        db.execute_batch(SCHEMA).unwrap();
        let mut names = db.prepare("SELECT name FROM pragma_table_info('lineitem')").unwrap();
        names.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    }

    /// Writes a CSV file of `rows + 1` rows with the comment `comment`, and its first `rows` rows as NDJSON. Returns the NDJSON file.
    fn lines(folder: &Path, rows: usize, comment: &str) -> PathBuf {
        let (csv, file) = (folder.join("x.csv"), folder.join("x.ndjson"));
        let row = |row| {
            format!("{row},2,3,4,5,6.5,0.10,0.08,N,O,1996-03-13,1996-02-12,1996-03-22,NONE,AIR,\"{comment}\"")
        };
        let text: Vec<String> = [names().join(",")].into_iter().chain((0..=rows).map(row)).collect();
        fs::write(&csv, text.join("\n") + "\n").unwrap();
        write(&csv, rows as u64, &file).unwrap();
        file
    }

    #[test]
    fn ndjson_lines_have_the_first_rows_of_the_input_with_unchanged_numbers() {
        let folder = tempfile::tempdir().unwrap();
        let text = fs::read_to_string(lines(folder.path(), 2, r#"a, ""b"" \"#)).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[1].starts_with(r#"{"l_orderkey":1,"l_partkey":2,"#), "{text}");
        assert!(lines[1].contains(r#","l_discount":0.10,"l_tax":0.08,"l_returnflag":"N","#), "{text}");
        assert!(lines[1].ends_with(r#","l_shipmode":"AIR","l_comment":"a, \"b\" \\"}"#), "{text}");
    }

    #[test]
    fn inserted_rows_equal_the_ndjson_lines_as_sqlite_reads_them() {
        let same: Vec<String> = names().iter().map(|name| format!("{name} = ?2 ->> '{name}'")).collect();
        let sql = format!("SELECT count(*) FROM lineitem WHERE rowid = ?1 AND {}", same.join(" AND "));
        // Includes row counts that do not fill a statement.
        for rows in [1, ROWS - 1, ROWS, 2 * ROWS + 7] {
            let folder = tempfile::tempdir().unwrap();
            let (lines, target) = (lines(folder.path(), rows, "a, b"), folder.path().join("x.db"));
            insert(&lines, &target).unwrap();
            let db = Connection::open(&target).unwrap();
            let stored: i64 = db.query_row("SELECT count(*) FROM lineitem", [], |row| row.get(0)).unwrap();
            assert_eq!(stored, rows as i64);
            for (line, rowid) in fs::read_to_string(&lines).unwrap().lines().zip(1..) {
                let found: i64 = db.query_row(&sql, (rowid, line), |row| row.get(0)).unwrap();
                assert_eq!(found, 1, "{line}");
            }
        }
    }

    #[test]
    fn a_malformed_line_of_ndjson_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let lines = lines(folder.path(), 3, "a, b");
        let text = fs::read_to_string(&lines).unwrap();
        fs::write(&lines, text.replacen("\"l_tax\":0.08", "\"l_tax\":\"x\"", 1)).unwrap();
        assert!(insert(&lines, &folder.path().join("x.db")).is_err());
    }
}
