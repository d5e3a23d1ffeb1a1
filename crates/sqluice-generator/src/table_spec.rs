//! What a table is filled with: for each column, the expression that makes its values.

use std::fmt;
use std::sync::Arc;

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_core::schema::{Column, Schema, Table};

use super::Fault;
use super::generator::{Generate, World};
use super::names::Names;
use super::random::Key;
use super::table::{Filler, GeneratedTable};

/// Bytes of a rowid in an entry of an index, roughly.
const ROWID_BYTES: u64 = 3;

/// Bytes of what SQLite computes, roughly.
const EXPRESSION_BYTES: u64 = 8;

/// What a table is filled with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableSpec {
    /// The table.
    pub name: String,
    /// One for each of its columns.
    pub columns: Vec<ColumnSpec>,
    rowid_alias: Option<usize>,
    /// Which table of the schema it is, and of how many.
    number: (usize, usize),
}

/// What a column is filled with.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ColumnSpec {
    /// The column.
    pub name: String,
    /// The expression that makes its values; empty where SQLite computes them.
    pub expression: String,
    /// Who says so.
    pub origin: Origin,
    pub(super) generator: Option<Arc<dyn Generate>>,
}

/// The origin of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A comment in the schema.
    Comment,
    /// The column's declaration.
    Declaration,
    /// Nowhere: SQLite computes the column from others.
    Computed,
}

impl TableSpec {
    pub(super) fn build(
        schema: &Schema,
        number: usize,
        origins: &[Origin],
        names: &Names<'_>,
    ) -> Result<TableSpec, Fault> {
        let table = &schema.tables[number];
        let column = |(index, &origin): (usize, &Origin)| {
            let Column { name, not_null, .. } = &table.columns[index];
            let Some(expr) = names.expr(number, index) else {
                let (name, expression) = (name.clone(), String::new());
                return Ok(ColumnSpec { name, expression, origin, generator: None });
            };
            let generator = names.make(number, index, expr.at.start)?;
            if *not_null && generator.nullable() && table.rowid_alias != Some(index) {
                let message = format!("{name} of {} is NOT NULL, and {expr} may be NULL", table.name);
                return Err(Fault::new(expr.at.start, message).hint("drop the NOT NULL, or the NULLs"));
            }
            let (name, expression) = (name.clone(), expr.to_string());
            Ok(ColumnSpec { name, expression, origin, generator: Some(generator) })
        };
        let columns = origins.iter().enumerate().map(column).collect::<Result<_, _>>()?;
        let number = (number, schema.tables.len());
        Ok(TableSpec { name: table.name.clone(), columns, rowid_alias: table.rowid_alias, number })
    }

    /// A source of the table's first `rows` rows.
    ///
    /// # Errors
    /// When there are more than SQLite can number.
    pub fn source(&self, seed: u64, rows: u64) -> Result<GeneratedTable> {
        self.source_from(seed, 0, rows)
    }

    /// A source of the `rows` rows that come after the table's first `first`. Columns that refer to other tables need
    /// [`TableSpec::source_among`].
    ///
    /// # Errors
    /// When there are more than SQLite can number.
    pub fn source_from(&self, seed: u64, first: u64, rows: u64) -> Result<GeneratedTable> {
        let mut all = vec![None; self.number.1];
        all[self.number.0] = Some(first.saturating_add(rows));
        self.source_in(World { seed, rows: all }, first, rows)
    }

    /// Like [`TableSpec::source_from`], where `all` has the number of rows of each table of the schema: those that rows can refer to.
    ///
    /// # Errors
    /// When there are more than SQLite can number.
    pub fn source_among(&self, seed: u64, all: &[u64], first: u64, rows: u64) -> Result<GeneratedTable> {
        self.source_in(World { seed, rows: all.iter().copied().map(Some).collect() }, first, rows)
    }

    fn source_in(&self, world: World, first: u64, rows: u64) -> Result<GeneratedTable> {
        let last = first.saturating_add(rows);
        if i64::try_from(last).is_err() {
            return Err(Error::usage(format!("{last} rows are more than a table can have"))
                .hint(format!("SQLite numbers rows up to {}", i64::MAX)));
        }
        let columns = self.columns.iter().map(|column| {
            let key = Key::of_column(world.seed, &self.name, &column.name);
            column.generator.clone().map(|generator| Filler { key, generator })
        });
        let bytes = (self.row_bytes(), self.row_bytes_max());
        Ok(GeneratedTable::new(columns.collect(), bytes, world, (first, rows)))
    }

    /// The number of rows that all columns have values for, if there is a limit, and the column that sets it. `all` has the number of
    /// rows of each table.
    fn limit(&self, seed: u64, all: &[u64]) -> Result<Option<(u64, &ColumnSpec)>> {
        let world = World { seed, rows: all.iter().copied().map(Some).collect() };
        let mut least: Option<(u64, &ColumnSpec)> = None;
        for column in &self.columns {
            let most =
                column.generator.as_deref().map_or(Ok(None), |generator| generator.rows_max(&world))?;
            if let Some(most) = most.filter(|most| least.is_none_or(|(least, _)| *most < least)) {
                least = Some((most, column));
            }
        }
        Ok(least)
    }

    /// The number of rows that all columns have values for, if there is a limit. `all` has the number of rows of each table.
    ///
    /// # Errors
    /// When a table that others refer to has no rows.
    pub fn rows_max(&self, seed: u64, all: &[u64]) -> Result<Option<u64>> {
        Ok(self.limit(seed, all)?.map(|(most, _)| most))
    }

    /// Refuses more rows than a column has values for.
    ///
    /// # Errors
    /// When there are more.
    pub fn refuse_more_rows(&self, seed: u64, all: &[u64]) -> Result<()> {
        let rows = all[self.number.0];
        if rows == 0 {
            return Ok(());
        }
        match self.limit(seed, all)? {
            Some((most, ColumnSpec { name, expression, .. })) if most < rows => {
                let message =
                    format!("{rows} rows for {}, whose column {name} has values for {most}", self.name);
                Err(Error::usage(message).hint(format!(
                    "{name} is filled with {expression}: ask for fewer rows, or allow more values"
                )))
            }
            _ => Ok(()),
        }
    }

    /// The column that names the rowid.
    pub fn rowids(&self) -> Option<&ColumnSpec> {
        self.rowid_alias.map(|index| &self.columns[index])
    }

    /// Whether the rows' rowids are 1, 2, 3 and so on: the column that names the rowid, if there is one, counts rows.
    pub fn counts_rows(&self) -> bool {
        let alias = self.rowid_alias.and_then(|index| self.columns[index].generator.as_ref());
        alias.is_none_or(|generator| generator.counts_rows())
    }

    /// Bytes of a row as SQLite stores it, roughly, on average.
    pub fn row_bytes(&self) -> u64 {
        // A byte of header for each column and one for its length; two of payload length, four of rowid and cell
        // pointer together, on average.
        // The column that names the rowid is not stored twice.
        let stored = self.columns.iter().enumerate().filter(|(index, _)| Some(*index) != self.rowid_alias);
        let generators = stored.filter_map(|(_, column)| column.generator.as_deref());
        let values: u64 = generators.map(|generator| generator.size().mean).sum();
        values + self.columns.len() as u64 + 1 + 6
    }

    /// Bytes of an entry of an index as SQLite stores it, roughly, on average.
    pub fn entry_bytes(&self, table: &Table, index: &Index) -> u64 {
        let bytes = index.columns.iter().map(|column| match column.value {
            Indexed::Column(column) if Some(column) == table.rowid_alias => ROWID_BYTES,
            Indexed::Column(column) => {
                self.columns[column].generator.as_deref().map_or(0, |generator| generator.size().mean)
            }
            Indexed::Rowid => ROWID_BYTES,
            Indexed::Expression => EXPRESSION_BYTES,
        });
        // A byte of header for each column and one for its length; one of payload length and two of cell pointer.
        bytes.sum::<u64>() + index.columns.len() as u64 + 1 + 3
    }

    /// Bytes that a row's values take in memory at most.
    pub(super) fn row_bytes_max(&self) -> u64 {
        self.generators().map(|generator| generator.size().max).sum()
    }

    fn generators(&self) -> impl Iterator<Item = &dyn Generate> {
        self.columns.iter().filter_map(|column| column.generator.as_deref())
    }
}

impl ColumnSpec {
    /// Whether some of its values may be NULL.
    pub fn is_nullable(&self) -> bool {
        self.generator.as_deref().is_some_and(Generate::nullable)
    }
}

/// A line with the table's name, and one for each column.
impl fmt::Display for TableSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.name)?;
        let width = self.columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
        for ColumnSpec { name, expression, origin, .. } in &self.columns {
            match origin {
                Origin::Comment => writeln!(f, "  {name:width$}  {expression}")?,
                Origin::Declaration => writeln!(f, "  {name:width$}  {expression}  (from its declaration)")?,
                Origin::Computed => writeln!(f, "  {name:width$}  computed by SQLite")?,
            }
        }
        Ok(())
    }
}
