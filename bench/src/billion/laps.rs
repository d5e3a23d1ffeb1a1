//! The laps of the bare disk and of SQLite, with which `sqluice generate` is compared: a raw write, INSERTs, and a copy between databases.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use anyhow::Context;
use rusqlite::{Statement, params};
use sqluice::splitmix::SplitMix64;

use crate::db::{close, open};
use crate::{UNSAFE_PRAGMAS, sync};

/// The number of rows in an INSERT, as in the article "Towards Inserting One Billion Rows in SQLite Under A Minute".
const ROWS_PER_INSERT: usize = 50;

/// The table of the article that [`ROWS_PER_INSERT`] names.
const TABLE: &str = "CREATE TABLE user (
    id INTEGER NOT NULL PRIMARY KEY,
    area CHAR(6),
    age INTEGER NOT NULL,
    active INTEGER NOT NULL
)";

const WRITE_BYTES: usize = 8 << 20;
/// The alignment of direct I/O in memory and in the file: a multiple of the block size of every disk.
const DIRECT_BYTES: usize = 4096;

/// Writes `bytes` bytes, a multiple of 4096, to the disk as fast as one thread can; returns the kind of I/O.
pub(crate) fn raw(file: &Path, bytes: u64) -> anyhow::Result<&'static str> {
    let buffer = noise(WRITE_BYTES + DIRECT_BYTES);
    let skip = buffer.as_ptr().align_offset(DIRECT_BYTES);
    let aligned = &buffer[skip..skip + WRITE_BYTES];
    let (opened, how) = match write(file, aligned, bytes, libc::O_DIRECT) {
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            (write(file, aligned, bytes, 0), "buffered")
        }
        done => (done, "direct"),
    };
    let written = opened.with_context(|| format!("cannot write {}", file.display()))?;
    drop(written);
    sync(file)?;
    Ok(how)
}

fn write(file: &Path, buffer: &[u8], bytes: u64, flags: i32) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(file)?;
    let mut offset = 0;
    while offset < bytes {
        let length = usize::try_from(bytes - offset).map_or(buffer.len(), |left| left.min(buffer.len()));
        file.write_all_at(&buffer[..length], offset)?;
        offset += length as u64;
    }
    Ok(file)
}

/// Returns random bytes, which a disk can't compress or deduplicate.
fn noise(length: usize) -> Vec<u8> {
    let mut random = SplitMix64(7);
    let mut bytes: Vec<u8> = (0..length / 8).flat_map(|_| random.next().to_le_bytes()).collect();
    bytes.resize(length, 0);
    bytes
}

/// Fills the table with prepared INSERTs of 50 rows, in one transaction.
pub(crate) fn insert(file: &Path, rows: u64) -> anyhow::Result<()> {
    let db = open(file, UNSAFE_PRAGMAS)?;
    db.execute_batch(TABLE)?;
    db.execute_batch("BEGIN")?;
    {
        let mut random = SplitMix64(42);
        let mut full = db.prepare(&statement(ROWS_PER_INSERT))?;
        for _ in 0..rows / ROWS_PER_INSERT as u64 {
            insert_once(&mut full, ROWS_PER_INSERT, &mut random)?;
        }
        let rest = (rows % ROWS_PER_INSERT as u64) as usize;
        if rest > 0 {
            insert_once(&mut db.prepare(&statement(rest))?, rest, &mut random)?;
        }
    }
    db.execute_batch("COMMIT")?;
    close(db, file)
}

/// Copies the table of `source`: if both declarations are equal, SQLite copies records without decoding them.
pub(crate) fn attach(file: &Path, source: &Path) -> anyhow::Result<()> {
    let db = open(file, UNSAFE_PRAGMAS)?;
    db.execute("ATTACH ? AS a", params![source.to_str().context("a path is UTF-8")?])?;
    let table: String =
        db.query_row("SELECT sql FROM a.sqlite_schema WHERE name = 'user'", [], |row| row.get(0))?;
    db.execute_batch(&table)?;
    db.execute_batch("BEGIN; INSERT INTO main.user SELECT * FROM a.user; COMMIT; DETACH a")?;
    close(db, file)
}

fn statement(rows: usize) -> String {
    format!("INSERT INTO user VALUES {}", vec!["(NULL, ?, ?, ?)"; rows].join(", "))
}

fn insert_once(statement: &mut Statement<'_>, rows: usize, random: &mut SplitMix64) -> rusqlite::Result<()> {
    for row in 0..rows {
        let bits = random.next();
        let mut area = [b'0'; 6];
        let mut number = ((bits >> 32) * 1_000_000) >> 32;
        for digit in area.iter_mut().rev() {
            *digit += (number % 10) as u8;
            number /= 10;
        }
        let area = str::from_utf8(&area).expect("digits are UTF-8");
        statement.raw_bind_parameter(row * 3 + 1, area)?;
        statement.raw_bind_parameter(row * 3 + 2, [5, 10, 15][(bits >> 1) as usize % 3])?;
        statement.raw_bind_parameter(row * 3 + 3, (bits & 1) as i64)?;
    }
    statement.raw_execute()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::billion::verify::verify;

    #[test]
    fn every_way_through_sql_writes_all_rows() {
        let folder = tempfile::tempdir().unwrap();
        let (inserted, copied) = (folder.path().join("i.db"), folder.path().join("a.db"));
        insert(&inserted, 1234).unwrap();
        verify(&inserted, 1234).unwrap();
        attach(&copied, &inserted).unwrap();
        verify(&copied, 1234).unwrap();
    }

    #[test]
    fn the_raw_write_has_the_requested_length() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("raw");
        for bytes in [4096, (20 << 20) + 4096] {
            raw(&file, bytes).unwrap();
            assert_eq!(file.metadata().unwrap().len(), bytes);
        }
    }
}
