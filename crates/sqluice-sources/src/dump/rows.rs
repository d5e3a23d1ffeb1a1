//! A source of the rows of a table in a dump.
//!
//! ```text
//!  pieces of INSERT INTO t VALUES ...       ──> parts of about 1 MiB ──> threads decode literals to batches
//!  pieces of INSERT INTO t(b, a) VALUES ...
//! ```
//!
//! Text that is not UTF-8 is stored unchanged if the dump was written for SQLite, because SQLite itself would store such text unchanged.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::affinity::Affinity;
use sqluice_core::batch::{Batch, Column, ROWS_MAX, Value, Values as ColumnValues, describe};
use sqluice_core::error::{Assumption, Error, Place, Result, Setting, message};
use sqluice_core::progress::Amount;
use sqluice_core::source::columns::Constant;
use sqluice_core::source::{PART_BYTES, Part, Sink, Source};

use super::columns::LiteralColumn;
use super::conversion::{Conversion, Converted};
use super::copy;
use super::file::DumpFile;
use super::insert::{Begins, begins};
use super::lex::{Dialect, Rules};
use super::literal::{Literal, Undecoded, Values};
use super::split::Piece;

/// Describes the rows of a statement: the column for each of their values, and how the values are read and converted.
#[derive(Debug)]
pub struct Shape {
    /// The rules for reading the literals.
    pub rules: Rules,
    /// `true` for COPY data, which have a row on each line.
    pub copy: bool,
    /// For each value of a row, the column of the table; `None` for a value that is not stored.
    pub targets: Vec<Option<usize>>,
    /// For each value of a row, its conversion; empty if no value is converted.
    pub conversions: Vec<Conversion>,
    /// The name of the table in the dump, for messages.
    pub table: String,
    /// The name of the SQLite table for the rows.
    pub into: String,
    /// For each column of the table that the statement does not name, its constant value.
    pub defaults: Vec<Option<Constant>>,
    /// For each column of the table, its affinity, and `true` if it is an alias of the rowid.
    pub columns: Vec<(Affinity, bool)>,
    /// For each column of the table, the value of DEFAULT in a row; `None` if it is not known.
    pub default_values: Vec<Option<Constant>>,
    /// For each column of the table, its name if the column is NOT NULL and its conversion may make a value NULL.
    pub refuses_null: Vec<Option<String>>,
}

/// The rows of a table: pieces of a dump, or rows that a server sends.
#[derive(Clone, Debug, Default)]
pub struct TableRows {
    /// The pieces of the dump with rows of the table, in the order of the dump, each with the description of its rows.
    pub pieces: Vec<(Piece, Arc<Shape>)>,
    /// For rows that a server sends: the tables of the server whose rows are stored in this table, such as its partitions. Each is given by
    /// its position in the list of the server's tables, and with the description of its rows.
    pub sent: Vec<(usize, Arc<Shape>)>,
}

impl TableRows {
    /// Returns the number of rows of all pieces. The number of rows that a server sends is not known.
    pub fn rows(&self) -> u64 {
        self.pieces.iter().map(|(piece, _)| piece.rows).sum()
    }

    /// Returns the size of all pieces in bytes.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|(piece, _)| piece.end - piece.start).sum()
    }

    /// Returns the offset of a row in the dump, for messages. `row` is the number of the row among all rows of the table, counted from 0.
    pub fn offset_of(&self, file: &DumpFile, row: u64) -> Option<u64> {
        let mut first = 0;
        for (piece, shape) in &self.pieces {
            if row < first + piece.rows {
                let mut text = Vec::new();
                file.read(piece.start, (piece.end - piece.start) as usize, &mut text).ok()?;
                if shape.copy {
                    let lines = memchr::memchr_iter(b'\n', &text);
                    let before = lines.take((row - first) as usize).last();
                    return Some(piece.start + before.map_or(0, |end| end as u64 + 1));
                }
                let end = text.len();
                let mut walk = Walk::new(&mut text, shape, end);
                for _ in first..row {
                    walk.begin_row().then_some(())?;
                    walk.skip_row().ok()?;
                }
                walk.begin_row().then_some(())?;
                return Some(piece.start + walk.values.at as u64);
            }
            first += piece.rows;
        }
        None
    }

    /// Returns the rows as a source.
    pub fn source(self: Arc<Self>, file: Arc<DumpFile>) -> DumpRows {
        DumpRows { rows: self, file, buffers: Arc::default(), next: 0, first_row: 0 }
    }
}

/// A source of the rows of a table in a dump.
pub struct DumpRows {
    rows: Arc<TableRows>,
    file: Arc<DumpFile>,
    /// Buffers of finished parts, to be reused.
    buffers: Arc<Mutex<Vec<Vec<u8>>>>,
    next: usize,
    first_row: u64,
}

impl Source for DumpRows {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let pieces = &self.rows.pieces[self.next..];
        let mut bytes = 0;
        let fits = |(piece, _): &&(Piece, Arc<Shape>)| {
            bytes += piece.end - piece.start;
            bytes <= PART_BYTES as u64
        };
        let count = pieces.iter().take_while(fits).count().max(1).min(pieces.len());
        if count == 0 {
            return Ok(None);
        }
        let part = DumpPart {
            rows: Arc::clone(&self.rows),
            pieces: self.next..self.next + count,
            file: Arc::clone(&self.file),
            buffers: Arc::clone(&self.buffers),
            first_row: self.first_row,
        };
        self.next += count;
        self.first_row += pieces[..count].iter().map(|(piece, _)| piece.rows).sum::<u64>();
        Ok(Some(Box::new(part)))
    }

    fn total(&self) -> Option<Amount> {
        Some(Amount { rows: self.rows.rows(), bytes: self.rows.bytes() })
    }
}

struct DumpPart {
    rows: Arc<TableRows>,
    pieces: std::ops::Range<usize>,
    file: Arc<DumpFile>,
    buffers: Arc<Mutex<Vec<Vec<u8>>>>,
    first_row: u64,
}

impl DumpPart {
    fn pieces(&self) -> &[(Piece, Arc<Shape>)] {
        &self.rows.pieces[self.pieces.clone()]
    }
}

impl Part for DumpPart {
    fn first_row(&self) -> u64 {
        self.first_row
    }

    fn input_bytes(&self) -> u64 {
        self.pieces().iter().map(|(piece, _)| piece.end - piece.start).sum()
    }

    fn place(&self) -> Option<Place> {
        Some(self.file.place_without_line(self.pieces().first()?.0.start))
    }

    fn is_typed(&self) -> bool {
        true
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let buffers = || self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = buffers().pop().unwrap_or_default();
        for (piece, shape) in self.pieces() {
            self.file.read_over(piece.start, (piece.end - piece.start) as usize, &mut text)?;
            let origin = Origin::File { file: &self.file, start: piece.start };
            Decoder::new(origin, shape).decode(&mut text, sink)?;
        }
        // A large buffer, which had a long row, is freed.
        if text.capacity() <= 4 * PART_BYTES {
            buffers().push(text);
        }
        Ok(())
    }
}

/// A reader that walks over the rows of a piece.
struct Walk<'t> {
    values: Values<'t>,
    values_of_row: usize,
    /// The beginning of the last INSERT statement. The next statement often has the same beginning.
    header: Vec<u8>,
    /// The length of the piece's text. Converted values are appended after it.
    end: usize,
}

impl<'t> Walk<'t> {
    fn new(text: &'t mut Vec<u8>, shape: &Shape, end: usize) -> Walk<'t> {
        Walk {
            end,
            header: Vec::new(),
            values: Values { text, at: 0, rules: shape.rules },
            values_of_row: shape.targets.len(),
        }
    }

    /// Moves to the opening parenthesis of the next row, over the end of a statement and the beginning of the next statement. Returns `false` if
    /// the piece has no further row.
    fn begin_row(&mut self) -> bool {
        loop {
            self.values.skip();
            if self.values.at >= self.end {
                return false;
            }
            match self.values.text[self.values.at] {
                b'(' => return true,
                b',' | b';' => self.values.at += 1,
                _ => self.values.at = self.behind_header(),
            }
        }
    }

    /// Returns the position after the beginning of an INSERT statement.
    fn behind_header(&mut self) -> usize {
        let Values { text, at, rules } = &self.values;
        if !self.header.is_empty() && text[*at..].starts_with(&self.header) {
            return at + self.header.len();
        }
        match begins(text, *at, *rules, true) {
            Begins::Rows(_, to) => {
                self.header.clear();
                self.header.extend_from_slice(&text[*at..to]);
                to
            }
            // The byte belongs to a longer delimiter, or to `ON CONFLICT DO NOTHING`.
            _ => at + 1,
        }
    }

    fn skip_row(&mut self) -> Result<(), Undecoded> {
        self.values.at += 1;
        for index in 0.. {
            self.values.skip();
            self.values.value()?;
            self.values.skip();
            if self.values.eat(b')') {
                break;
            }
            if !self.values.eat(b',') || index > self.values_of_row {
                return Err(Undecoded);
            }
        }
        Ok(())
    }
}

/// The origin of the text that is decoded, for messages.
#[derive(Clone, Copy)]
pub(super) enum Origin<'p> {
    /// The text is from a dump, at this offset.
    File { file: &'p DumpFile, start: u64 },
    /// The text is from a server. Its first row has this number, counted from 0.
    Sent { name: &'p Path, first_row: u64 },
}

/// Decodes the rows of a piece into batches.
pub(super) struct Decoder<'p> {
    origin: Origin<'p>,
    /// The number of rows in previous batches.
    rows_before: u64,
    shape: &'p Shape,
    columns: Vec<LiteralColumn>,
    /// The position of each row of the current batch in the text.
    starts: Vec<usize>,
    /// The beginning of the last INSERT statement.
    header: Vec<u8>,
    /// The bytes of a converted value.
    scratch: Vec<u8>,
    /// `true` if the piece has text that is not UTF-8, in a dump of MySQL or Postgres.
    has_other_bytes: bool,
    /// `true` if no value has to be converted.
    is_plain: bool,
}

impl<'p> Decoder<'p> {
    pub(super) fn new(origin: Origin<'p>, shape: &'p Shape) -> Decoder<'p> {
        let keeps_digits = shape.rules.dialect != Dialect::Sqlite;
        let column =
            |&(affinity, rowid): &(Affinity, bool)| LiteralColumn::new(affinity, rowid, keeps_digits);
        let columns = shape.columns.iter().map(column);
        Decoder {
            origin,
            rows_before: 0,
            shape,
            columns: columns.collect(),
            starts: Vec::new(),
            header: Vec::new(),
            scratch: Vec::new(),
            has_other_bytes: false,
            is_plain: false,
        }
    }

    /// Decodes all rows of a text and passes them to `sink`.
    pub(super) fn decode(&mut self, text: &mut Vec<u8>, sink: &mut dyn Sink) -> Result<()> {
        self.has_other_bytes = self.shape.rules.dialect != Dialect::Sqlite && str::from_utf8(text).is_err();
        self.is_plain = !self.has_other_bytes
            && self.shape.rules.encoding.is_none()
            && self.shape.conversions.iter().all(|conversion| matches!(conversion, Conversion::None));
        if self.shape.copy {
            return self.decode_lines(text, sink);
        }
        let mut at = 0;
        // Converted values are appended after the text of the piece.
        let end = text.len();
        loop {
            let mut walk = Walk::new(text, self.shape, end);
            walk.values.at = at;
            walk.header = std::mem::take(&mut self.header);
            let mut ended = false;
            while self.starts.len() < ROWS_MAX {
                if !walk.begin_row() {
                    ended = true;
                    break;
                }
                self.starts.push(walk.values.at);
                self.row(&mut walk.values)?;
            }
            at = walk.values.at;
            self.header = walk.header;
            if !self.starts.is_empty() {
                self.give(text, sink)?;
                text.truncate(end);
            }
            if ended {
                return Ok(());
            }
        }
    }

    fn decode_lines(&mut self, text: &mut Vec<u8>, sink: &mut dyn Sink) -> Result<()> {
        let (mut at, end) = (0, text.len());
        while at < end {
            while at < end && self.starts.len() < ROWS_MAX {
                self.starts.push(at);
                self.line(text, end, &mut at)?;
            }
            self.give(text, sink)?;
            text.truncate(end);
        }
        Ok(())
    }

    /// Decodes the row at the position of `values`, which is its opening parenthesis.
    fn row(&mut self, values: &mut Values<'_>) -> Result<()> {
        let start = values.at;
        values.at += 1;
        let targets = &self.shape.targets;
        for (index, &target) in targets.iter().enumerate() {
            values.skip();
            let literal = values.value().map_err(|Undecoded| self.not_literal(start))?;
            self.push(index, target, literal, values.text, start)?;
            values.skip();
            let is_last = index + 1 == targets.len();
            if !values.eat(if is_last { b')' } else { b',' }) {
                return Err(match values.text.get(values.at) {
                    Some(b',' | b')') => self.other_number(values, index, start),
                    _ => self.not_literal(start),
                });
            }
        }
        Ok(())
    }

    /// Appends a value to its column.
    #[inline]
    fn push(
        &mut self,
        index: usize,
        target: Option<usize>,
        literal: Literal,
        text: &mut Vec<u8>,
        row_start: usize,
    ) -> Result<()> {
        let Some(target) = target else { return Ok(()) };
        if matches!(literal, Literal::Default) {
            let literal = self.default_value(target, text, row_start)?;
            self.columns[target].push(literal, text);
            return Ok(());
        }
        // A blob may have to become text.
        if self.is_plain && !matches!(literal, Literal::Blob { .. }) {
            self.columns[target].push(literal, text);
            return Ok(());
        }
        self.push_changed(index, target, literal, text, row_start)
    }

    /// Converts a value if necessary, and appends it to its column. Returns an error if the value is not permitted.
    fn push_changed(
        &mut self,
        index: usize,
        target: usize,
        literal: Literal,
        text: &mut Vec<u8>,
        row_start: usize,
    ) -> Result<()> {
        let literal = match self.shape.conversions.get(index) {
            None | Some(Conversion::None) => self.decoded(literal, text, row_start)?,
            Some(conversion) => {
                // Binary values have no encoding, so they are not decoded as text.
                let literal = match conversion {
                    Conversion::Blob | Conversion::Bit => literal,
                    _ => self.decoded(literal, text, row_start)?,
                };
                match self.converted(conversion, literal, text, row_start)? {
                    Literal::Null if literal != Literal::Null => {
                        self.new_null(target, literal, text, row_start)?
                    }
                    converted => converted,
                }
            }
        };
        let literal = match literal {
            // MySQL may write text as `X'6162'`.
            Literal::Blob { start, end }
                if self.shape.rules.dialect == Dialect::MySql
                    && self.shape.columns[target].0 == Affinity::Text
                    && str::from_utf8(&text[start..end]).is_ok() =>
            {
                Literal::Text { start, end }
            }
            literal => literal,
        };
        self.columns[target].push(literal, text);
        Ok(())
    }

    /// Returns a text in UTF-8, decoded from the encoding of the dump.
    #[inline]
    fn decoded(&self, literal: Literal, text: &mut Vec<u8>, row_start: usize) -> Result<Literal> {
        match (literal, self.shape.rules.encoding) {
            (Literal::Text { start, end }, Some(encoding)) if !text[start..end].is_ascii() => {
                let decoded = encoding.decode_without_bom_handling(&text[start..end]).0.into_owned();
                Ok(appended(text, decoded.as_bytes()))
            }
            // SQLite would keep bytes that are not UTF-8. A dump of another database names its encoding, unless its program was told not
            // to.
            (Literal::Text { start, end }, None)
                if self.has_other_bytes && str::from_utf8(&text[start..end]).is_err() =>
            {
                let refused = Error::input("a text is not UTF-8, and the dump names no other encoding");
                Err(self
                    .placed(refused, row_start)
                    .hint(message!["name the encoding of the dump: ", Setting::Encoding.to("latin1")]))
            }
            (literal, _) => Ok(literal),
        }
    }

    /// Returns the value of a column for DEFAULT in a row. The bytes of the value are appended to `text`.
    fn default_value(&self, target: usize, text: &mut Vec<u8>, row_start: usize) -> Result<Literal> {
        match self.shape.default_values.get(target).unwrap_or(&None) {
            Some(Constant::Null) => Ok(Literal::Null),
            Some(Constant::Int(int)) => Ok(Literal::Int(*int)),
            Some(Constant::Real(real)) => Ok(Literal::Real(*real)),
            Some(Constant::Text(value)) => Ok(appended(text, value.as_bytes())),
            Some(Constant::Blob(value)) => Ok(as_blob(appended(text, value))),
            None => {
                let table = &self.shape.table;
                let message = format!(
                    "a row of {table} has DEFAULT for a column whose default can't be computed in SQLite"
                );
                Err(self
                    .placed(Error::input(message), row_start)
                    .hint("write the value instead, or take the DEFAULT out of CREATE TABLE"))
            }
        }
    }

    /// Converts a value. The bytes of the converted value are appended to `text`.
    fn converted(
        &mut self,
        conversion: &Conversion,
        literal: Literal,
        text: &mut Vec<u8>,
        row_start: usize,
    ) -> Result<Literal> {
        let (Literal::Text { start, end } | Literal::Blob { start, end } | Literal::Number { start, end }) =
            literal
        else {
            return Ok(literal);
        };
        self.scratch.clear();
        let converted = conversion.convert(&text[start..end], &mut self.scratch).map_err(|why| {
            let value = describe(&Value::Text(&text[start..end]));
            self.placed(Error::input(format!("{value}: {why}")), row_start)
        })?;
        Ok(match converted {
            Converted::Unchanged => literal,
            Converted::Null => Literal::Null,
            Converted::Integer(int) => Literal::Int(int),
            Converted::Real(real) => Literal::Real(real),
            Converted::Text => appended(text, &self.scratch),
            Converted::Blob => as_blob(appended(text, &self.scratch)),
        })
    }

    /// Returns NULL for a value that SQLite stores as NULL, or an error if the column is NOT NULL.
    fn new_null(&self, target: usize, literal: Literal, text: &[u8], row_start: usize) -> Result<Literal> {
        let Some(Some(column)) = self.shape.refuses_null.get(target) else { return Ok(Literal::Null) };
        let value = match literal {
            Literal::Text { start, end } => describe(&Value::Text(&text[start..end])),
            _ => "a value".to_owned(),
        };
        let table = &self.shape.table;
        let message = format!("{value} is NULL in SQLite, and {table}.{column} is NOT NULL");
        Err(self
            .placed(Error::input(message), row_start)
            .of_column(column)
            .hint("load the dump into a new database: the column is declared without NOT NULL there")
            .refuting(Assumption::StoredValues))
    }

    /// Decodes a line of COPY data.
    fn line(&mut self, text: &mut Vec<u8>, end: usize, at: &mut usize) -> Result<()> {
        let start = *at;
        let targets = &self.shape.targets;
        for (index, &target) in targets.iter().enumerate() {
            let is_last = index + 1 == targets.len();
            let literal = copy::field(text, end, at);
            let ends = text.get(*at - 1) != Some(&b'\t');
            if ends != is_last {
                let table = &self.shape.table;
                let more = if ends { "fewer" } else { "more" };
                let message =
                    format!("a row of {table} has {more} values than COPY has columns ({})", targets.len());
                return Err(self.placed(Error::input(message), start));
            }
            self.push(index, target, literal, text, start)?;
        }
        Ok(())
    }

    fn not_literal(&self, at: usize) -> Error {
        self.placed(Error::input("this row has a value that is not a literal"), at)
            .refuting(Assumption::LiteralRows)
    }

    /// Returns the error for a row with a wrong number of values, in the words of SQLite.
    fn other_number(&self, values: &mut Values<'_>, read: usize, start: usize) -> Error {
        let mut count = read + 1;
        while values.eat(b',') {
            values.skip();
            if values.value().is_err() {
                return self.not_literal(start);
            }
            count += 1;
            values.skip();
        }
        let Shape { table, targets, .. } = self.shape;
        let message = format!("table {table} has {} columns but {count} values were supplied", targets.len());
        self.placed(Error::input(message), start)
    }

    /// Adds the place of the row at `row_start` to an error: its line in the dump, or its number among the rows from the server.
    fn placed(&self, error: Error, row_start: usize) -> Error {
        match self.origin {
            Origin::File { file, start } => error.at(file.place(start + row_start as u64)),
            Origin::Sent { name, first_row } => {
                let row = self.starts.partition_point(|start| *start < row_start) as u64;
                let number = first_row + self.rows_before + row + 1;
                let Shape { table, into, .. } = self.shape;
                error
                    .with_words(format!(" (row {number} of {table})"))
                    .at(Place::file(name))
                    .of_record(into.as_str(), number)
            }
        }
    }

    /// Passes the rows of the batch to the sink.
    fn give(&mut self, text: &[u8], sink: &mut dyn Sink) -> Result<()> {
        let rows = self.starts.len();
        let mixed: Vec<Vec<Value<'_>>> = self.columns.iter().map(|column| column.mixed(text)).collect();
        let defaults: Vec<Vec<Value<'_>>> = self
            .shape
            .defaults
            .iter()
            .map(|default| default.as_ref().map_or_else(Vec::new, |default| vec![value_of(default); rows]))
            .collect();
        let columns = self.columns.iter().zip(&mixed).zip(&defaults).map(|((column, mixed), default)| {
            match default.is_empty() {
                true => column.column(text, mixed),
                false => Column::new(ColumnValues::Any(default)),
            }
        });
        let batch = Batch { rows, columns: columns.collect() };
        if let Err(refused) = sink.rows(&batch) {
            let (at, error) = refused.first();
            let start = self.starts[at.map_or(0, |(row, _)| row)];
            return Err(match error.place() {
                Some(_) => error,
                None => self.placed(error, start),
            });
        }
        self.rows_before += rows as u64;
        self.starts.clear();
        self.columns.iter_mut().for_each(LiteralColumn::clear);
        Ok(())
    }
}

/// Appends the bytes of a converted value to `text`, and returns it as a text.
fn appended(text: &mut Vec<u8>, bytes: &[u8]) -> Literal {
    let start = text.len();
    text.extend_from_slice(bytes);
    Literal::Text { start, end: text.len() }
}

fn as_blob(literal: Literal) -> Literal {
    match literal {
        Literal::Text { start, end } => Literal::Blob { start, end },
        other => other,
    }
}

fn value_of(constant: &Constant) -> Value<'_> {
    match constant {
        Constant::Null => Value::Null,
        Constant::Int(int) => Value::Int(*int),
        Constant::Real(real) => Value::Real(*real),
        Constant::Text(text) => Value::Text(text.as_bytes()),
        Constant::Blob(blob) => Value::Blob(blob),
    }
}
