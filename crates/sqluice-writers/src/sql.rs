//! Rows as INSERT statements of a limited length.
//!
//! ```text
//!  INSERT INTO "t" ("a","b") VALUES (1,'x'),(2,NULL),...;      as many rows as fit the limit
//! ```
//!
//! SQLite stores the same value for each literal: floats have a point or an exponent, blobs are `X'...'`, infinities are `9e999`. No
//! literal can have text with NUL bytes or bytes that are not UTF-8; such text is `CAST(X'...' AS TEXT)`.

use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::quoted;
use sqluice_core::source::{BadText, Part, Refused, Sink};

use crate::digits::{push_int, push_real};
use crate::in_order::Encode;

/// An encoder of parts as statements.
pub struct SqlEncoder {
    /// The beginning of each statement: `INSERT INTO ... VALUES `.
    head: Vec<u8>,
    statement_bytes_max: usize,
}

/// The rows of a part as statements.
#[derive(Debug, Default)]
pub struct SqlPiece {
    /// The statements, each on a line.
    pub bytes: Vec<u8>,
    /// The end of each statement in `bytes`.
    pub ends: Vec<usize>,
    /// The number of rows.
    pub rows: u64,
    /// The input bytes of the part.
    pub input_bytes: u64,
}

/// The end of a statement: a semicolon and a line feed.
const END: &[u8] = b";\n";

impl SqlEncoder {
    /// Creates an encoder for the rows of a table with these columns. No statement is longer than `statement_bytes_max` bytes.
    pub fn new(table: &str, columns: &[String], statement_bytes_max: usize) -> SqlEncoder {
        let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
        let head = format!("INSERT INTO {} ({}) VALUES ", quoted(table), columns.join(","));
        SqlEncoder { head: head.into_bytes(), statement_bytes_max }
    }
}

impl Encode for SqlEncoder {
    type Piece = SqlPiece;

    fn encode(&self, part: &mut dyn Part) -> Result<SqlPiece> {
        let mut sink =
            SqlSink { encoder: self, piece: SqlPiece::default(), statement_at: 0, row: Vec::new() };
        part.decode(&mut sink)?;
        sink.finish_statement();
        Ok(SqlPiece { input_bytes: part.input_bytes(), ..sink.piece })
    }
}

struct SqlSink<'e> {
    encoder: &'e SqlEncoder,
    piece: SqlPiece,
    /// The start of the open statement; the length of `bytes` if no statement is open.
    statement_at: usize,
    /// The row that is being encoded.
    row: Vec<u8>,
}

impl SqlSink<'_> {
    fn finish_statement(&mut self) {
        let SqlPiece { bytes, ends, .. } = &mut self.piece;
        if bytes.len() > self.statement_at {
            bytes.extend_from_slice(END);
            ends.push(bytes.len());
            self.statement_at = bytes.len();
        }
    }
}

impl Sink for SqlSink<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let SqlEncoder { head, statement_bytes_max } = self.encoder;
        for row in 0..batch.rows {
            self.row.clear();
            let mut longest = (0, 0);
            for (index, column) in batch.columns.iter().enumerate() {
                self.row.push(if index == 0 { b'(' } else { b',' });
                let at = self.row.len();
                push_literal(&mut self.row, &column.get(row));
                longest = longest.max((self.row.len() - at, index));
            }
            self.row.push(b')');
            let alone = head.len() + self.row.len() + END.len();
            if alone > *statement_bytes_max {
                let at = Some((row, longest.1));
                return Err(Refused::Stop { at, error: too_long(alone, *statement_bytes_max) });
            }
            let open = self.piece.bytes.len() - self.statement_at;
            if open > 0 && open + 1 + self.row.len() + END.len() > *statement_bytes_max {
                self.finish_statement();
            }
            let bytes = &mut self.piece.bytes;
            match bytes.len() == self.statement_at {
                true => bytes.extend_from_slice(head),
                false => bytes.push(b','),
            }
            bytes.extend_from_slice(&self.row);
        }
        self.piece.rows += batch.rows as u64;
        Ok(())
    }

    fn bad_text(&mut self, _column: usize) -> BadText {
        BadText::Keep
    }
}

fn too_long(bytes: usize, most: usize) -> Error {
    Error::input(format!(
        "the row would be a statement of {bytes} bytes, longer than the {most} that are allowed"
    ))
    .hint("leave its table out, or keep such values elsewhere, as in a store of objects")
}

/// Appends a value as a literal.
fn push_literal(out: &mut Vec<u8>, value: &Value<'_>) {
    match *value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(int) => push_int(out, int),
        Value::Real(real) if real.is_finite() => push_real(out, real),
        Value::Real(real) => out.extend_from_slice(if real > 0.0 { b"9e999" } else { b"-9e999" }),
        Value::Text(text) if text.contains(&0) || std::str::from_utf8(text).is_err() => {
            out.extend_from_slice(b"CAST(");
            push_blob(out, text);
            out.extend_from_slice(b" AS TEXT)");
        }
        Value::Text(text) => {
            out.push(b'\'');
            for piece in text.split_inclusive(|byte| *byte == b'\'') {
                out.extend_from_slice(piece);
                if piece.last() == Some(&b'\'') {
                    out.push(b'\'');
                }
            }
            out.push(b'\'');
        }
        Value::Blob(blob) => push_blob(out, blob),
    }
}

fn push_blob(out: &mut Vec<u8>, blob: &[u8]) {
    let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
    out.extend_from_slice(b"X'");
    out.extend(blob.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
    out.push(b'\'');
}
