//! The input of the part `dump`: dumps of `lineitem` with an index, in the formats of three programs.
//!
//! ```text
//!  sqlite3 .dump    INSERT INTO lineitem VALUES(1,155190,...);            a statement for each row; the shell itself writes it
//!  mysqldump        INSERT INTO `lineitem` VALUES (1,...),(2,...),...;    statements of 1 MB, quotes after backslashes
//!  pg_dump          COPY public.lineitem (...) FROM stdin;                a row on each line, its values separated by tabs
//! ```

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};
use rusqlite::{Connection, params_from_iter};

use super::data::{COLUMNS, NUMBERS, SCHEMA};
use super::ndjson::unquoted;

/// The index of the table in each dump.
const INDEX: &str = "CREATE INDEX by_part ON lineitem (l_partkey)";

/// The number of bytes of a statement of mysqldump: its `net_buffer_length`.
const STATEMENT_BYTES: usize = 1_046_528;

const BUFFER_BYTES: usize = 1 << 20;

/// The names of the columns, and the values of the first rows of a CSV file.
struct Rows {
    names: Vec<String>,
    lines: BufReader<File>,
    line: String,
    left: u64,
}

impl Rows {
    fn open(csv: &Path, rows: u64) -> io::Result<Rows> {
        let mut lines = BufReader::with_capacity(BUFFER_BYTES, File::open(csv)?);
        let mut line = String::new();
        lines.read_line(&mut line)?;
        let names = line.trim_end().split(',').map(str::to_owned).collect();
        Ok(Rows { names, lines, line, left: rows })
    }

    /// Returns the values of the next row.
    fn next(&mut self) -> io::Result<Option<Vec<String>>> {
        self.line.clear();
        if self.left == 0 || self.lines.read_line(&mut self.line)? == 0 {
            return Ok(None);
        }
        self.left -= 1;
        // Only the last field, the comment, is quoted and may have commas.
        Ok(Some(self.line.trim_end_matches('\n').splitn(COLUMNS, ',').map(unquoted).collect()))
    }

    /// Returns the declarations of the columns, with the names of types in another database.
    fn columns(&self, quote: &str, types: [&str; 3]) -> String {
        let [integer, real, text] = types;
        let of = |column: usize| match column {
            0..4 => integer,
            4..NUMBERS => real,
            _ => text,
        };
        let names = self.names.iter().enumerate();
        names
            .map(|(column, name)| format!("  {quote}{name}{quote} {}", of(column)))
            .collect::<Vec<_>>()
            .join(",\n")
    }
}

/// Writes the first rows of a CSV file as the `.dump` of SQLite's shell. `database` is a temporary file for the rows.
pub(crate) fn sqlite(
    csv: &Path,
    rows: u64,
    shell: &Path,
    database: &Path,
    file: &Path,
) -> anyhow::Result<()> {
    let db = Connection::open(database)?;
    db.execute_batch(&format!("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN; {SCHEMA}"))?;
    let marks = vec!["?"; COLUMNS].join(",");
    let mut insert = db.prepare(&format!("INSERT INTO lineitem VALUES ({marks})"))?;
    let mut values = Rows::open(csv, rows)?;
    while let Some(row) = values.next()? {
        insert.execute(params_from_iter(row))?;
    }
    drop(insert);
    db.execute_batch(&format!("{INDEX}; COMMIT"))?;
    drop(db);
    let mut command = Command::new(shell);
    command.args(["-batch", "-init", "/dev/null"]).arg(database).arg(".dump").stdout(File::create(file)?);
    ensure!(command.status()?.success(), "{} does not dump", shell.display());
    std::fs::remove_file(database).context("cannot remove the database of the dump")
}

/// Writes the first rows of a CSV file as mysqldump does.
pub(crate) fn mysql(csv: &Path, rows: u64, file: &Path) -> io::Result<()> {
    let mut values = Rows::open(csv, rows)?;
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(file)?);
    let columns =
        values.columns("`", ["bigint DEFAULT NULL", "double DEFAULT NULL", "varchar(44) DEFAULT NULL"]);
    write!(
        out,
        "-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)\n--\n-- Host: localhost    Database: tpch\n\
         -- ------------------------------------------------------\n\n/*!50503 SET NAMES utf8mb4 */;\n\n\
         DROP TABLE IF EXISTS `lineitem`;\nCREATE TABLE `lineitem` (\n{columns},\n  KEY `by_part` (`l_partkey`)\n\
         ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;\n\nLOCK TABLES `lineitem` WRITE;\n"
    )?;
    let mut statement = Vec::with_capacity(STATEMENT_BYTES);
    let mut row_text = Vec::new();
    while let Some(row) = values.next()? {
        row_text.clear();
        for (column, value) in row.iter().enumerate() {
            row_text.push(if column == 0 { b'(' } else { b',' });
            match column < NUMBERS {
                true => row_text.extend_from_slice(value.as_bytes()),
                false => push_escaped(value, &mut row_text),
            }
        }
        row_text.push(b')');
        if !statement.is_empty() && statement.len() + row_text.len() + 2 > STATEMENT_BYTES {
            statement.extend_from_slice(b";\n");
            out.write_all(&statement)?;
            statement.clear();
        }
        match statement.is_empty() {
            true => statement.extend_from_slice(b"INSERT INTO `lineitem` VALUES "),
            false => statement.push(b','),
        }
        statement.extend_from_slice(&row_text);
    }
    statement.extend_from_slice(b";\nUNLOCK TABLES;\n\n-- Dump completed on 2026-11-01 12:00:00\n");
    out.write_all(&statement)?;
    out.flush()
}

/// Appends a text as mysqldump quotes it.
fn push_escaped(text: &str, to: &mut Vec<u8>) {
    to.push(b'\'');
    for byte in text.bytes() {
        let escape = match byte {
            b'\'' | b'"' | b'\\' => byte,
            b'\n' => b'n',
            b'\r' => b'r',
            0 => b'0',
            0x1a => b'Z',
            _ => {
                to.push(byte);
                continue;
            }
        };
        to.extend_from_slice(&[b'\\', escape]);
    }
    to.push(b'\'');
}

/// Writes the first rows of a CSV file as pg_dump does.
pub(crate) fn postgres(csv: &Path, rows: u64, file: &Path) -> io::Result<()> {
    let mut values = Rows::open(csv, rows)?;
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::create(file)?);
    let columns = values.columns("", ["bigint", "double precision", "text"]);
    write!(
        out,
        "--\n-- PostgreSQL database dump\n--\n\nSET client_encoding = 'UTF8';\nSET standard_conforming_strings = on;\n\n\
         CREATE TABLE public.lineitem (\n{columns}\n);\n\nCOPY public.lineitem ({}) FROM stdin;\n",
        values.names.join(", ")
    )?;
    while let Some(row) = values.next()? {
        for (column, value) in row.iter().enumerate() {
            if column > 0 {
                out.write_all(b"\t")?;
            }
            match value.contains(['\\', '\t', '\n', '\r']) {
                true => {
                    let escaped = value.replace('\\', "\\\\").replace('\t', "\\t");
                    out.write_all(escaped.replace('\n', "\\n").replace('\r', "\\r").as_bytes())?;
                }
                false => out.write_all(value.as_bytes())?,
            }
        }
        out.write_all(b"\n")?;
    }
    out.write_all(
        b"\\.\n\nCREATE INDEX by_part ON public.lineitem USING btree (l_partkey);\n\n--\n-- PostgreSQL database dump complete\n--\n",
    )?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_escape_text_as_mysqldump_and_pg_dump_do() {
        let folder = tempfile::tempdir().unwrap();
        let [csv, mysql_file, postgres_file] =
            ["x.csv", "mysql.sql", "postgres.sql"].map(|name| folder.path().join(name));
        let names: Vec<String> = (0..COLUMNS).map(|column| format!("c{column}")).collect();
        let row = "1,2,3,4,5,6.5,0.1,0.2,N,O,1996-03-13,a,b,c,TRUCK,\"it's \"\"a\\b\"\", so\"";
        std::fs::write(&csv, format!("{}\n{row}\n{row}\n", names.join(","))).unwrap();
        mysql(&csv, 1, &mysql_file).unwrap();
        let text = std::fs::read_to_string(mysql_file).unwrap();
        let values = "VALUES (1,2,3,4,5,6.5,0.1,0.2,'N','O','1996-03-13','a','b','c','TRUCK','it\\'s \\\"a\\\\b\\\", so');\n";
        assert!(text.contains(values), "{text}");
        postgres(&csv, 2, &postgres_file).unwrap();
        let text = std::fs::read_to_string(postgres_file).unwrap();
        let line = "1\t2\t3\t4\t5\t6.5\t0.1\t0.2\tN\tO\t1996-03-13\ta\tb\tc\tTRUCK\tit's \"a\\\\b\", so\n";
        assert!(text.contains(&format!("FROM stdin;\n{line}{line}\\.\n")), "{text}");
    }
}
