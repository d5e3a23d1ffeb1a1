//! Finds the places of bad rows that are detected after parsing: two rows with the same key, or a row that SQLite refuses. The files of the
//! table are read again up to the later row.
//!
//! ```text
//!  the error of the engine                       its rows          is reported as
//!  UNIQUE constraint failed: orders.id = (7)     5 and 900         orders.csv:901:1: UNIQUE constraint failed: ...
//!    (when keys are sorted)                                        ... (rows 5 and 900: lines 6 and 901)
//!  record 900: CHECK constraint failed: a > 0    900               orders.csv:901: record 900: CHECK ...
//!    (when SQLite inserts the rows)
//! ```
//!
//! A part tells the place of a row only in the error for a refused row. So [`Finder`] is a sink that refuses exactly the wanted rows.

use sqluice_core::affinity::{Rowid, to_rowid};
use sqluice_core::batch::Batch;
use sqluice_core::error::{Duplicate, DuplicateRows, Error, Place, Result, Setting, message};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::schema::index::Indexed;
use sqluice_core::schema::{Schema, Table};
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::kept::Kept;
use sqluice_core::source::{BadRow, Part, Refused, RefusedRow, Sink};

use crate::load::files::file::FileMap;
use crate::load::request::Request;
use crate::load::tables::table::LoadTable;

/// Adds the places of both rows to an error about two rows with the same key, or the place of the record to an error about one record. If
/// the rows are not found, the error stays without a place.
pub(crate) fn located(
    mut error: Error,
    load: &Request,
    tables: &mut [LoadTable],
    schema: &Schema,
    context: &Context<'_>,
) -> Error {
    let duplicate = error.take_duplicate();
    let wanted = match (&duplicate, error.record()) {
        (Some(duplicate), _) => Blamed::Duplicate(duplicate),
        (None, Some((table, number))) if error.place().is_none() => Blamed::Record(table, number),
        _ => return error,
    };
    let table = tables.iter_mut().find(|table| table.name().eq_ignore_ascii_case(wanted.table()));
    let found = table.map(|table| find(&wanted, load, table, schema, context));
    let found = found.and_then(Result::ok).unwrap_or_default();
    match (duplicate, &found[..]) {
        (Some(duplicate), [first, second]) => error
            .with_words(words(first, second))
            .of_record(duplicate.table, second.record + 1)
            .at(second.place.clone().unwrap_or_default()),
        // If the message names both rows already, one of them is in the existing table, and only the other has a place.
        (Some(Duplicate { rows, .. }), _) if error.message().ends_with(&rows.to_string()) => {
            error.hint(message![
                Setting::OnConflict.to("ignore"),
                " keeps the existing row; ",
                Setting::OnConflict.to("replace"),
                " puts the new row in its place"
            ])
        }
        (Some(duplicate), _) => error.with_words(format!(" ({})", duplicate.rows)),
        // The error is about the whole row, not about a column.
        (None, [Found { place: Some(place), .. }]) => {
            error.at(Place { column: None, byte: None, ..place.clone() })
        }
        (None, _) => error,
    }
}

/// The rows that an error is about: two rows with the same key, or one record that SQLite has refused.
enum Blamed<'e> {
    Duplicate(&'e Duplicate),
    /// A table, and the number of the record, counted from 1 over all files of the table.
    Record(&'e str, u64),
}

impl Blamed<'_> {
    fn table(&self) -> &str {
        match self {
            Blamed::Duplicate(duplicate) => &duplicate.table,
            Blamed::Record(table, _) => table,
        }
    }
}

/// A wanted row that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    /// The number of the row, counted from 0 over all files.
    record: u64,
    place: Option<Place>,
}

fn words(first: &Found, second: &Found) -> String {
    let rows = DuplicateRows::Records(first.record, second.record);
    let line = |found: &Found| found.place.as_ref().and_then(|place| place.line);
    match (&first.place, &second.place) {
        (Some(one), Some(other)) if one.file == other.file => match (line(first), line(second)) {
            (Some(one), Some(other)) => format!(" ({rows}: lines {one} and {other})"),
            _ => format!(" ({rows})"),
        },
        (Some(one), Some(other)) => {
            let [one, other] = [one, other].map(|place| Place { column: None, ..place.clone() });
            format!(" ({rows}: {one} and {other})")
        }
        _ => format!(" ({rows})"),
    }
}

/// Reads the files of a table, in their order, up to the last wanted row. Returns the rows that were found; none if a
/// file can be read only once.
fn find(
    wanted: &Blamed<'_>,
    load: &Request,
    table: &mut LoadTable,
    schema: &Schema,
    context: &Context<'_>,
) -> Result<Vec<Found>> {
    if !table.files.iter().all(|file| file.can_reopen()) {
        return Ok(Vec::new());
    }
    let declared = &schema.tables[table.index_in(schema)];
    let (wanted, column) = match wanted {
        Blamed::Duplicate(duplicate) => {
            let alias = gives_rowids(table, load, declared)?;
            (Wanted::two(duplicate.rows, alias), blamed(duplicate, declared))
        }
        Blamed::Record(_, number) => (Wanted::Records(vec![number.saturating_sub(1)]), 0),
    };
    let rows = wanted.rows();
    let mut finder = Finder { wanted, column, next: 0, refused: None, found: Vec::new() };
    context.progress.phase("find", table.bytes().map(|bytes| Amount { rows: 0, bytes }));
    let mut source = table.source(load, schema)?;
    // The end of a part is known only when the next part has been read, so each part is searched one step later.
    let mut before: Option<Box<dyn Part>> = None;
    while finder.found.len() < rows {
        context.cancel.check()?;
        let part = source.next_part()?;
        let end = part.as_ref().map_or(u64::MAX, |part| part.first_row());
        if let Some(mut before) = before {
            finder.look_into(&mut *before, end)?;
            context.progress.advance(Amount { rows: 0, bytes: before.input_bytes() });
        }
        if part.is_none() {
            break;
        }
        before = part;
    }
    Ok(finder.found)
}

/// Returns the index of the rowid column, if a file has values for it.
fn gives_rowids(table: &LoadTable, load: &Request, declared: &Table) -> Result<Option<usize>> {
    let Some(alias) = declared.rowid_alias else { return Ok(None) };
    let gives = |map: &FileMap| matches!(map.from[alias], ColumnFrom::Field(_));
    Ok(table.maps(declared, load)?.iter().any(gives).then_some(alias))
}

/// Returns the column that a message points at: the first column of the key.
fn blamed(duplicate: &Duplicate, table: &Table) -> usize {
    let named = table.indexes.iter().find(|index| index.name.eq_ignore_ascii_case(&duplicate.index));
    let first = named.or(table.clustered.as_ref()).and_then(|index| index.columns.first());
    match first.map(|column| column.value) {
        Some(Indexed::Column(column)) => column,
        _ => table.rowid_alias.unwrap_or(0),
    }
}

/// The wanted rows, by the numbers of their records or by their rowids.
enum Wanted {
    /// The numbers of the records, counted from 0.
    Records(Vec<u64>),
    /// The rowids not found yet, as values of the column `alias`.
    Rowids { alias: usize, left: Vec<i64> },
}

impl Wanted {
    fn two(rows: DuplicateRows, alias: Option<usize>) -> Wanted {
        match (rows, alias) {
            (DuplicateRows::Records(first, second), _) => Wanted::Records(vec![first, second]),
            // The two rows are in different databases, which the message already names. No file is searched.
            (DuplicateRows::Databases, _) => Wanted::Records(Vec::new()),
            (DuplicateRows::Rowids(first, second), Some(alias)) => {
                Wanted::Rowids { alias, left: vec![first, second] }
            }
            // Without a rowid column, the rowid of a record is its number.
            (DuplicateRows::Rowids(first, second), None) => {
                Wanted::Records([first, second].map(|rowid| rowid.wrapping_sub(1).cast_unsigned()).to_vec())
            }
        }
    }

    fn rows(&self) -> usize {
        match self {
            Wanted::Records(records) => records.len(),
            Wanted::Rowids { left, .. } => left.len(),
        }
    }
}

/// A sink that refuses the wanted rows: a part returns the place of a row only in the error about it.
struct Finder {
    wanted: Wanted,
    column: usize,
    /// The number of the next row of the part that is decoded, counted from 0 over all files.
    next: u64,
    /// The number of the row that was refused and will be returned as a bad row.
    refused: Option<u64>,
    found: Vec<Found>,
}

impl Finder {
    /// Searches a part for wanted rows. `end` is the number of the first row after the part. A part that can't have a wanted row is not
    /// decoded.
    fn look_into(&mut self, part: &mut dyn Part, end: u64) -> Result<()> {
        self.next = part.first_row();
        match &self.wanted {
            Wanted::Records(records) if !records.iter().any(|record| (self.next..end).contains(record)) => {
                Ok(())
            }
            _ => part.decode(self),
        }
    }

    /// Returns the position of the first wanted row in a batch, and removes its rowid from the wanted ones, if it was wanted by rowid.
    fn first_in(&mut self, batch: &Batch<'_>) -> Option<usize> {
        let next = self.next;
        match &mut self.wanted {
            Wanted::Records(records) => {
                let rows = self.next..self.next + batch.rows as u64;
                let first = records.iter().filter(|record| rows.contains(record)).min();
                first.map(|record| (record - self.next) as usize)
            }
            Wanted::Rowids { alias, left } => (0..batch.rows).find(|&row| {
                let rowid = match to_rowid(batch.columns[*alias].get(row)) {
                    Rowid::Given(rowid) => rowid,
                    // A record without a given rowid has its number as rowid.
                    Rowid::Next => (next + row as u64 + 1).cast_signed(),
                    Rowid::Mismatch => return false,
                };
                let wanted = left.iter().position(|left| *left == rowid);
                wanted.map(|wanted| left.swap_remove(wanted)).is_some()
            }),
        }
    }
}

impl Sink for Finder {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        if let Some(row) = self.first_in(batch) {
            self.refused = Some(self.next + row as u64);
            let error = Error::input("here it is");
            return Err(Refused::Rows(vec![RefusedRow { row, column: self.column, error }]));
        }
        self.next += batch.rows as u64;
        Ok(())
    }

    /// Counts all rows, also those that the filter leaves out.
    fn kept_rows(&mut self, batch: &Batch<'_>, _: &Kept<'_>) -> Result<(), Refused> {
        self.rows(batch)
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        if self.refused == Some(self.next) {
            self.found.push(Found { record: self.next, place: bad.error.place().cloned() });
            self.refused = None;
        }
        self.next += 1;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Load, PreparedLoad};
    use std::fs;

    /// Returns the error about two rows of table `t` with the same key, with the places of these rows. The table has these files.
    fn located_rows(files: &[(&str, &str)], with: impl FnOnce(Load) -> Load, rows: DuplicateRows) -> String {
        let duplicate = Duplicate { table: "T".to_owned(), index: "idx_t_b".to_owned(), rows };
        located_in(files, with, Error::input("twice").duplicate(duplicate))
    }

    /// Returns the error with the places of its rows in table `t`. The table has these files. They are cut into small parts.
    fn located_in(files: &[(&str, &str)], with: impl FnOnce(Load) -> Load, error: Error) -> String {
        let folder = tempfile::tempdir().unwrap();
        let paths = files.iter().map(|(name, text)| {
            fs::write(folder.path().join(name), text).unwrap();
            folder.path().join(name)
        });
        let load = Load::new(folder.path().join("x.db"), paths.collect::<Vec<_>>());
        let load = load.table("t").tune(|tuning| (tuning.sample_bytes, tuning.part_bytes) = (16, 8));
        let mut prepared = with(load).prepare(&Context::default()).unwrap();
        let PreparedLoad { load, tables, schema, stop, .. } = &mut prepared;
        let error = located(error, load, tables, schema, &Context::default().cancel(stop));
        assert_eq!(error.hint_text(), None, "hints are of those who find what is wrong");
        let before = format!("{}{}", folder.path().display(), std::path::MAIN_SEPARATOR);
        error.without_hint().replace(&before, "")
    }

    fn by_b(load: Load) -> Load {
        Load { indexes: vec!["b".to_owned()], ..load }
    }

    #[test]
    fn duplicate_rows_of_one_file_are_reported_by_their_lines() {
        let csv = "a,b\n1,x\n\n2,\"y\nz\"\n3,x\n4,v\n5,w\n6,x\n";
        let told =
            |first, second| located_rows(&[("t.csv", csv)], by_b, DuplicateRows::Records(first, second));
        assert_eq!(told(0, 2), "t.csv:6:3: twice (rows 1 and 3: lines 2 and 6)");
        assert_eq!(told(0, 1), "t.csv:4:3: twice (rows 1 and 2: lines 2 and 4)");
        assert_eq!(told(2, 5), "t.csv:9:3: twice (rows 3 and 6: lines 6 and 9)");
        assert_eq!(told(2, 6), "twice (rows 3 and 7)", "there is no such row");
    }

    #[test]
    fn duplicate_rows_of_two_files_are_reported_with_both_files() {
        let files = [("1.csv", "a,b\n1,x\n2,y\n"), ("2.csv", "b,a\nz,3\nx,4\n")];
        let told = located_rows(&files, by_b, DuplicateRows::Records(1, 3));
        assert_eq!(told, "2.csv:3:1: twice (rows 2 and 4: 1.csv:3 and 2.csv:3)");
    }

    #[test]
    fn reported_row_numbers_count_bad_rows() {
        let csv = "a,b\n1,x\n2\n3,y\n4,5,6\n7,x\n";
        let told = located_rows(&[("t.csv", csv)], by_b, DuplicateRows::Records(0, 4));
        assert_eq!(told, "t.csv:6:3: twice (rows 1 and 5: lines 2 and 6)");
    }

    #[test]
    fn duplicate_rows_known_by_their_rowids_are_found_in_the_rowid_column() {
        let csv = "b,a\nx,30\ny,10\nz,5.0\nw,10\nx, 7\n";
        let schema = "CREATE TABLE t (b, a INTEGER PRIMARY KEY); CREATE INDEX idx_t_b ON t (b)";
        let schema = |load| {
            let schema = Schema::parse(schema.to_owned(), std::path::Path::new("x.sql")).unwrap();
            Load { schema: Some(schema), ..load }
        };
        let told =
            |first, second| located_rows(&[("t.csv", csv)], schema, DuplicateRows::Rowids(first, second));
        assert_eq!(told(7, 30), "t.csv:6:1: twice (rows 1 and 5: lines 2 and 6)");
        assert_eq!(told(10, 10), "t.csv:5:1: twice (rows 2 and 4: lines 3 and 5)");
        assert_eq!(told(5, 30), "t.csv:4:1: twice (rows 1 and 3: lines 2 and 4)");
        assert_eq!(told(5, 8), "twice (rowids 5 and 8)");
    }

    #[test]
    fn without_a_rowid_column_duplicate_rowids_are_row_numbers() {
        let told = located_rows(&[("t.csv", "a,b\n1,x\n2,y\n3,x\n")], by_b, DuplicateRows::Rowids(1, 3));
        assert_eq!(told, "t.csv:4:3: twice (rows 1 and 3: lines 2 and 4)");
    }

    #[test]
    fn an_error_about_a_record_is_reported_by_its_file_and_line() {
        let files = [("1.csv", "a,b\n1,x\n2\n\n3,\"y\ny\"\n"), ("2.csv", "b,a\nz,3\nx,4\n")];
        let told = |record| located_in(&files, by_b, Error::input("wrong").of_record("T", record));
        assert_eq!(told(1), "1.csv:2: wrong");
        assert_eq!(told(3), "1.csv:5: wrong", "bad rows and empty lines before it");
        assert_eq!(told(5), "2.csv:3: wrong");
        assert_eq!(told(6), "wrong", "there is no such record");
        let placed = Error::input("wrong").of_record("t", 1).at(Place::file("else"));
        assert_eq!(located_in(&files, by_b, placed), "else: wrong", "what has its place keeps it");
    }

    #[test]
    fn an_error_that_is_not_about_a_row_stays_unchanged() {
        let load = Request::of_new(Load::new("x.db", ["t.csv"]));
        let schema = Schema::parse(String::new(), std::path::Path::new("x.sql")).unwrap();
        let error = located(Error::input("else"), &load, &mut [], &schema, &Context::default());
        assert_eq!((error.without_hint().as_str(), error.hint_text()), ("else", None));
    }
}
