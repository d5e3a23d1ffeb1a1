//! Has SQLite insert rows, one by one: the rows of damaged pages or, if the engine does not write the new database, all rows.
//!
//! ```text
//!  row ──> its table ── a key that another row has ──> the same row?  counted
//!              │                                       another row:   conflicts_<table>
//!              └─────── NOT NULL, UNIQUE, CHECK ─────> rejected_<table>, with the reason
//! ```

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ErrorCode, params_from_iter};
use sqluice_core::batch::Value;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::schema::{Schema, Table, quoted};
use sqluice_core::sqlite_error::{failed, said};
use sqluice_reader::salvage::schema::text_of;
use sqluice_reader::salvage::{DamagedFile, Leaf, PageRows, SavedRow};

use super::found::{Found, FoundTable};
use super::layout::{Layout, free_column};
use super::report::SavedTable;
use super::source::is_ordinary;

/// The number of rows between two checks for cancellation.
const CHECKED_ROWS: u64 = 1024;

/// The largest number of values of a row in a `lost_and_found` table. SQLite allows 2,000 columns, and two of them have the page and the
/// rowid of the row.
const FOUND_COLUMNS_MAX: usize = 1998;

/// The largest number of columns of a row that a table of conflicts or of rejected rows keeps. Of the 2,000 columns that SQLite allows,
/// three have the page, the rowid and the reason.
const ASIDE_COLUMNS_MAX: usize = 1997;

/// A value to insert. Text is bound as UTF-8, so UTF-16 text is converted. UTF-16 text that is not valid is bound as a blob, and the
/// statement casts the blob to TEXT.
pub(super) enum Bound<'r> {
    Plain(Value<'r>),
    Text(String),
    Raw(&'r [u8]),
}

impl<'r> Bound<'r> {
    /// Returns the value to bind for a value of a record. `encoding` is the text encoding of the damaged database. NaN becomes NULL.
    pub(super) fn of(value: Value<'r>, encoding: u32) -> Bound<'r> {
        match value {
            Value::Text(bytes) if encoding != 1 => match text_of(value, encoding) {
                Some(text) => Bound::Text(text),
                None => Bound::Raw(bytes),
            },
            Value::Real(real) if real.is_nan() => Bound::Plain(Value::Null),
            value => Bound::Plain(value),
        }
    }

    fn given(&self) -> ToSqlOutput<'_> {
        ToSqlOutput::Borrowed(match self {
            Bound::Plain(Value::Null) => ValueRef::Null,
            Bound::Plain(Value::Int(int)) => ValueRef::Integer(*int),
            Bound::Plain(Value::Real(real)) => ValueRef::Real(*real),
            Bound::Plain(Value::Text(text)) => ValueRef::Text(text),
            Bound::Plain(Value::Blob(blob)) => ValueRef::Blob(blob),
            Bound::Text(text) => ValueRef::Text(text.as_bytes()),
            Bound::Raw(bytes) => ValueRef::Blob(bytes),
        })
    }

    fn place(&self) -> &'static str {
        if matches!(self, Bound::Raw(_)) { "CAST(? AS TEXT)" } else { "?" }
    }
}

/// Inserts a row into named columns. A row that breaks a constraint is an error, whatever ON CONFLICT clauses the table has. `upsert` is an
/// ON CONFLICT clause of the statement, or empty.
pub(super) fn insert_row(
    connection: &Connection,
    (table, columns): (&str, &str),
    values: &[Bound<'_>],
    upsert: &str,
) -> rusqlite::Result<()> {
    let places: Vec<&str> = values.iter().map(Bound::place).collect();
    let sql = format!("INSERT OR ABORT INTO {table} ({columns}) VALUES ({}) {upsert}", places.join(", "));
    let mut insert = connection.prepare_cached(&sql)?;
    insert.execute(params_from_iter(values.iter().map(Bound::given))).map(drop)
}

/// Inserts the rows of a table.
pub(super) struct Insertion<'a> {
    pub(super) connection: &'a Connection,
    pub(super) file: &'a DamagedFile,
    pub(super) context: &'a Context<'a>,
    name: String,
    columns: Vec<String>,
    layout: Layout,
    with_rowid: bool,
    spec: &'a sqluice_format::check::spec::Table,
    found: &'a Found,
    conflicts: Option<String>,
    rejected: Option<String>,
    /// The numbers of rows.
    pub(super) counts: SavedTable,
    done: u64,
}

impl<'a> Insertion<'a> {
    /// Creates the insertion of rows of a table.
    pub(super) fn new(
        (connection, context): (&'a Connection, &'a Context<'a>),
        found: &'a Found,
        FoundTable { table, spec, .. }: &'a FoundTable,
    ) -> Insertion<'a> {
        let layout = Layout::new(table, spec);
        let mut columns: Vec<String> =
            layout.given.iter().map(|&column| quoted(&table.columns[column].name)).collect();
        let rowid = rowid_column(table);
        columns.extend(rowid.map(str::to_owned));
        Insertion {
            connection,
            file: &found.file,
            context,
            name: table.name.clone(),
            columns,
            layout,
            with_rowid: rowid.is_some(),
            spec,
            found,
            conflicts: None,
            rejected: None,
            counts: SavedTable::default(),
            done: 0,
        }
    }

    /// Inserts the rows of leaves. A leaf with `true` gives only the rows that the engine does not take.
    pub(super) fn rows(&mut self, leaves: impl IntoIterator<Item = (Leaf, bool)>) -> Result<()> {
        self.rows_that(leaves, |_| true)
    }

    /// Inserts the rows of leaves. If the table has a unique index, sound rows must get their keys before damaged rows can take them. So
    /// rows without overflow pages come first, then rows with overflow pages, and last the rows whose overflow pages may be of another row,
    /// or are beyond the end of the file.
    pub(super) fn sound_rows_first(&mut self, leaves: &[Leaf]) -> Result<()> {
        let all = || leaves.iter().map(|leaf| (*leaf, false));
        if !self.spec.indexes.iter().any(|index| index.key.unique_fields.is_some()) {
            return self.rows(all());
        }
        self.rows_that(all(), |row| !row.overflows && !row.is_doubtful)?;
        self.rows_that(all(), |row| row.overflows && !row.is_doubtful)?;
        self.rows_that(all(), |row| row.is_doubtful)
    }

    fn rows_that(
        &mut self,
        leaves: impl IntoIterator<Item = (Leaf, bool)>,
        is_wanted: impl Fn(&SavedRow<'_>) -> bool,
    ) -> Result<()> {
        let mut reader = self.layout.reader();
        let found = self.found;
        for (leaf, only_others) in leaves {
            self.context.cancel.check()?;
            reader.read(self.file, &found.finding.chains, leaf.page, |row| {
                if !is_wanted(&row) || only_others && row.in_order && is_ordinary(self.spec, row.types) {
                    return Ok(());
                }
                self.row(leaf.page, &row)
            })?;
        }
        Ok(())
    }

    fn row(&mut self, page: u32, row: &SavedRow<'_>) -> Result<()> {
        let encoding = self.file.encoding;
        let mut values: Vec<Bound<'_>> =
            self.layout.given.iter().map(|_| Bound::Plain(Value::Null)).collect();
        let layout = self.layout.clone();
        layout.values(row, |place, value| values[place] = Bound::of(value, encoding));
        if self.with_rowid {
            values.push(Bound::Plain(Value::Int(row.rowid)));
        }
        let inserted =
            insert_row(self.connection, (&quoted(&self.name), &self.columns.join(", ")), &values, "");
        self.done += 1;
        if self.done.is_multiple_of(CHECKED_ROWS) {
            self.context.progress.advance(Amount { rows: CHECKED_ROWS, bytes: 0 });
            self.context.cancel.check()?;
        }
        let error = match inserted {
            Ok(()) => {
                self.counts.rows += 1;
                return Ok(());
            }
            Err(error) => error,
        };
        use ErrorCode::{ConstraintViolation, TypeMismatch};
        if !matches!(error.sqlite_error_code(), Some(ConstraintViolation | TypeMismatch)) {
            return Err(failed(error, &format!("fill table {}", self.name)));
        }
        if self.is_there(&values).map_err(|error| failed(error, "look for a row"))? {
            self.counts.repeated += 1;
            return Ok(());
        }
        let code = error.sqlite_error().map(|error| error.extended_code);
        let is_conflict = matches!(
            code,
            Some(rusqlite::ffi::SQLITE_CONSTRAINT_ROWID | rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY)
        );
        self.put_aside(is_conflict, (page, row.rowid), said(error), values)
    }

    /// Returns `true` if the table has a row with these values.
    fn is_there(&self, values: &[Bound<'_>]) -> rusqlite::Result<bool> {
        // Compare all columns at once: a condition for each column, joined by AND, may exceed SQLite's maximum depth of an expression.
        let places: Vec<&str> = values.iter().map(Bound::place).collect();
        let (columns, places) = (self.columns.join(", "), places.join(", "));
        let sql = format!("SELECT 1 FROM {} WHERE ({columns}) IS ({places}) LIMIT 1", quoted(&self.name));
        let mut select = self.connection.prepare_cached(&sql)?;
        select.exists(params_from_iter(values.iter().map(Bound::given)))
    }

    /// Puts a row into the table of conflicts, or of rejected rows.
    fn put_aside(
        &mut self,
        is_conflict: bool,
        (page, rowid): (u32, i64),
        reason: String,
        mut values: Vec<Bound<'_>>,
    ) -> Result<()> {
        let of = |kind: &str| format!("{kind}_{}", self.name);
        let known = if is_conflict { &self.conflicts } else { &self.rejected };
        let cannot = |error| failed(error, "write rows that are put aside");
        let kept = self.layout.given.len().min(ASIDE_COLUMNS_MAX);
        let reason = match kept < self.layout.given.len() {
            true => format!("{reason}; the columns after number {kept} are not here"),
            false => reason,
        };
        let columns: Vec<String> = std::iter::once("source_page")
            .chain(["source_rowid", "reason"])
            .map(|name| quoted(&free_column(&self.columns, name)))
            .chain(self.columns.iter().take(kept).cloned())
            .collect();
        let table = match known {
            Some(table) => table.clone(),
            None => {
                let name =
                    free_table(self.connection, &of(if is_conflict { "conflicts" } else { "rejected" }))?;
                let sql = format!("CREATE TABLE {} ({})", quoted(&name), columns.join(", "));
                self.connection.execute_batch(&sql).map_err(cannot)?;
                name
            }
        };
        values.truncate(kept);
        let about =
            [Bound::Plain(Value::Int(page.into())), Bound::Plain(Value::Int(rowid)), Bound::Text(reason)];
        values.splice(0..0, about);
        insert_row(self.connection, (&quoted(&table), &columns.join(", ")), &values, "").map_err(cannot)?;
        let (known, count) = match is_conflict {
            true => (&mut self.conflicts, &mut self.counts.conflicts),
            false => (&mut self.rejected, &mut self.counts.rejected),
        };
        *known = Some(table);
        *count += 1;
        Ok(())
    }
}

/// Returns a name of the rowid, if no column of the table is the rowid.
pub(super) fn rowid_column(table: &Table) -> Option<&'static str> {
    table.rowid_name().filter(|_| table.rowid_alias.is_none() && !table.without_rowid)
}

/// Returns a name that no object of the database has.
pub(super) fn free_table(connection: &Connection, wanted: &str) -> Result<String> {
    let mut name = wanted.to_owned();
    let cannot = |error| failed(error, "look for a free name");
    let mut find = connection
        .prepare_cached("SELECT 1 FROM sqlite_schema WHERE lower(name) = lower(?1)")
        .map_err(cannot)?;
    while find.exists([&name]).map_err(cannot)? {
        name.push('_');
    }
    Ok(name)
}

/// Creates the tables `lost_and_found_N`, and inserts the rows that could not be assigned to a table.
pub(super) fn lost_and_found(connection: &Connection, found: &Found, context: &Context<'_>) -> Result<()> {
    let cannot = |error| failed(error, "write rows of no table");
    let mut reader = PageRows::default();
    for (group, about) in found.finding.groups.iter().zip(&found.plan.lost_and_found) {
        let mut types = vec![0u8; group.kinds.fields().min(FOUND_COLUMNS_MAX)];
        let types_of = &mut types;
        for &page in &group.leaves {
            reader.read(&found.file, &found.finding.chains, page, |row| {
                for (seen, serial) in types_of.iter_mut().zip(row.types) {
                    *seen |= kind_of(*serial);
                }
                Ok(())
            })?;
        }
        let declared: Vec<String> =
            types.iter().enumerate().map(|(at, seen)| format!("c{at} {}", declared_type(*seen))).collect();
        let table = quoted(&about.table);
        let more = if declared.is_empty() { String::new() } else { format!(", {}", declared.join(", ")) };
        connection
            .execute_batch(&format!("CREATE TABLE {table} (source_page INTEGER, source_rowid INTEGER{more})"))
            .map_err(cannot)?;
        let names: Vec<String> = (0..types.len()).map(|at| format!(", c{at}")).collect();
        let columns = format!("source_page, source_rowid{}", names.concat());
        for &page in &group.leaves {
            context.cancel.check()?;
            reader.read(&found.file, &found.finding.chains, page, |row| {
                let Ok(values) = sqluice_format::record::decode(row.record) else { return Ok(()) };
                let rowid = if group.is_index { Value::Null } else { Value::Int(row.rowid) };
                let about = [Value::Int(i64::from(page)), rowid].map(Bound::Plain);
                let values = values.into_iter().map(|value| Bound::of(value, found.file.encoding));
                let mut values: Vec<Bound<'_>> = about.into_iter().chain(values).collect();
                values.truncate(types.len() + 2);
                while values.len() < types.len() + 2 {
                    values.push(Bound::Plain(Value::Null));
                }
                insert_row(connection, (&table, &columns), &values, "").map_err(cannot)
            })?;
        }
    }
    Ok(())
}

/// Returns the kind of values with a serial type, as a bit: integers, floats, text, blobs; 0 for NULL.
fn kind_of(serial: u64) -> u8 {
    match serial {
        0 | 10 | 11 => 0,
        7 => 2,
        1..=9 => 1,
        text if text % 2 == 1 => 4,
        _ => 8,
    }
}

/// Returns the declared type that keeps all values of these kinds as they are.
fn declared_type(kinds: u8) -> &'static str {
    match kinds {
        1 => "INTEGER",
        2 => "REAL",
        4 => "TEXT",
        8 => "BLOB",
        _ => "",
    }
}

/// Returns the schema without tables that SQLite makes itself.
pub(super) fn without_own_tables(schema: &Schema) -> Schema {
    let mut schema = schema.clone();
    let is_own = |name: &str| name.to_ascii_lowercase().starts_with("sqlite_");
    schema.tables.retain(|table| !is_own(&table.name));
    schema.objects.retain(|(kind, name)| kind == "index" || !is_own(name));
    schema.others.clear();
    schema
}

/// Returns the error for a schema that can't be made again.
pub(super) fn cannot_make(error: rusqlite::Error) -> Error {
    failed(error, "make the schema again")
}
