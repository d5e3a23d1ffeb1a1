//! The threads that read rows from the server and write them as INSERT statements.

use std::sync::Arc;
use std::thread;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::source::blocks::{BLOCK_BYTES, Block};

use super::connection::{Connection, failure};
use super::values::{Form, form, write_row};
use crate::pieces::{Gone, Pieces, Reader, Rows, pieces};

/// The last line of a complete dump.
pub(super) const FOOTER: &str = "\n-- Dump completed\n";

/// A SELECT statement that reads a table, a range of its rows, or a query. `what` names the table or the query in errors; `insert` is the
/// text of each INSERT statement before its rows.
pub(super) struct Piece {
    pub(super) what: Arc<str>,
    pub(super) insert: Arc<str>,
    pub(super) select: String,
}

/// Returns the beginning of a dump, as mysqldump writes it.
pub(super) fn header(version: &str) -> String {
    // Remove control characters: a version with a line end, from something that is not a MySQL server, could add SQL to the dump.
    let version: String = version.chars().filter(|letter| !letter.is_control()).collect();
    let program = if version.contains("MariaDB") { "MariaDB" } else { "MySQL" };
    format!(
        "-- {program} dump of sqluice\n-- Server version\t{version}\n\n/*!40101 SET NAMES utf8mb4 */;\n\
         /*!40103 SET TIME_ZONE='+00:00' */;\n/*!40014 SET FOREIGN_KEY_CHECKS=0 */;\n\
         /*!40101 SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;\n"
    )
}

/// Starts a thread for each connection. The threads read the pieces in `list`; the returned reader gets their rows in order.
pub(super) fn start(
    readers: Vec<Connection>,
    list: Vec<(usize, Piece)>,
    blocks_max: usize,
    stop: &Cancel,
) -> Reader {
    let (pieces, mut reader) = pieces(list, blocks_max, stop.clone());
    let pieces = Arc::new(pieces);
    for mut connection in readers {
        let (pieces, stop) = (Arc::clone(&pieces), stop.clone());
        reader.watch(thread::spawn(move || read_pieces(&mut connection, &pieces, &stop)));
    }
    reader
}

/// Reads pieces until none is left, or until one fails.
fn read_pieces(connection: &mut Connection, pieces: &Pieces<Piece>, stop: &Cancel) {
    while let Some((piece, mut rows)) = pieces.take() {
        match read_rows(connection, &piece, &mut rows, stop) {
            Ok(()) => {
                if rows.finish().is_err() {
                    return;
                }
            }
            Err(Some(error)) => return rows.fail(error),
            // The reader is gone. The statement on the server ends with the connection.
            Err(None) => return,
        }
    }
}

/// Reads the rows of a SELECT statement; each block that is sent is a whole INSERT statement. Returns `Err(None)` if the reader is gone.
fn read_rows(
    connection: &mut Connection,
    piece: &Piece,
    rows: &mut Rows,
    stop: &Cancel,
) -> Result<(), Option<Error>> {
    let doing = format!("reading {}", piece.what);
    let failed = |fault| Some(failure(fault, &doing));
    let columns = connection.query(&piece.select).map_err(failed)?;
    let forms: Vec<Form> = columns.iter().map(form).collect();
    loop {
        let row = match connection.row() {
            Ok(Some(row)) => row,
            Ok(None) => break,
            Err(fault) => {
                let fault = connection.end_if_stopped::<()>(Err(fault)).err();
                return Err(fault.map(|fault| failure(fault, &doing)));
            }
        };
        let Block { text, rows: count } = &mut rows.block;
        let before = if *count == 0 { piece.insert.as_bytes() } else { b",\n" };
        text.extend_from_slice(before);
        write_row(row, &forms, text).map_err(failed)?;
        *count += 1;
        if text.len() >= BLOCK_BYTES {
            stop.check().map_err(Some)?;
            text.extend_from_slice(b";\n");
            rows.send().map_err(|Gone| None)?;
        }
    }
    if rows.block.rows > 0 {
        rows.block.text.extend_from_slice(b";\n");
    }
    Ok(())
}
