//! The spec of a table: for each column, the expression that generates its values.

use std::fmt;
use std::sync::Arc;

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_core::schema::{Column, Schema, Table};

use super::Fault;
use super::generator::{Generate, World};
use super::moves::Moves;
use super::names::Names;
use super::random::Key;
use super::table::{Filler, GeneratedTable};

/// The average size of a rowid in an index entry, roughly, in bytes.
const ROWID_BYTES: u64 = 3;

/// The average size of a value that SQLite computes, roughly, in bytes.
const EXPRESSION_BYTES: u64 = 8;

/// The spec of a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TableSpec {
    /// The name of the table.
    pub name: String,
    /// The specs of the table's columns.
    pub columns: Vec<ColumnSpec>,
    rowid_alias: Option<usize>,
    /// The index of the table in the schema, and the number of tables.
    number: (usize, usize),
    /// The rows of all tables that take values of other rows, so that all rows satisfy the constraints.
    pub(super) moves: Moves,
}

/// The spec of a column.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ColumnSpec {
    /// The name of the column.
    pub name: String,
    /// The expression that generates the column's values; empty if SQLite computes them.
    pub expression: String,
    /// The origin of the expression.
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
    /// No expression: SQLite computes the column from other columns.
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
                return Err(Fault::new(expr.at.start, message)
                    .hint("remove NOT NULL from the column, or write an expression that is never NULL"));
            }
            let (name, expression) = (name.clone(), expr.to_string());
            Ok(ColumnSpec { name, expression, origin, generator: Some(generator) })
        };
        let columns = origins.iter().enumerate().map(column).collect::<Result<_, _>>()?;
        let number = (number, schema.tables.len());
        let rowid_alias = table.rowid_alias;
        Ok(TableSpec { name: table.name.clone(), columns, rowid_alias, number, moves: Moves::NONE })
    }

    /// Returns the inputs of the generators.
    pub(super) fn world(&self, seed: u64, rows: Vec<Option<u64>>) -> World {
        World { moves: self.moves.clone(), ..World::new(seed, rows) }
    }

    /// Returns a source of the table's first `rows` rows.
    ///
    /// # Errors
    /// When SQLite's rowids can't number this many rows.
    pub fn source(&self, seed: u64, rows: u64) -> Result<GeneratedTable> {
        self.source_from(seed, 0, rows)
    }

    /// Returns a source of `rows` rows from row `first` on. Columns that refer to other tables need [`TableSpec::source_among`].
    ///
    /// # Errors
    /// When SQLite's rowids can't number this many rows.
    pub fn source_from(&self, seed: u64, first: u64, rows: u64) -> Result<GeneratedTable> {
        let mut all = vec![None; self.number.1];
        all[self.number.0] = Some(first.saturating_add(rows));
        self.source_in(self.world(seed, all), first, rows)
    }

    /// Returns a source like [`TableSpec::source_from`] for columns that refer to other tables. `all` has the row count of each table.
    ///
    /// # Errors
    /// When SQLite's rowids can't number this many rows.
    pub fn source_among(&self, seed: u64, all: &[u64], first: u64, rows: u64) -> Result<GeneratedTable> {
        self.source_in(self.world(seed, all.iter().copied().map(Some).collect()), first, rows)
    }

    fn source_in(&self, world: World, first: u64, rows: u64) -> Result<GeneratedTable> {
        let last = first.saturating_add(rows);
        if i64::try_from(last).is_err() {
            return Err(Error::usage(format!("{last} rows are more than a table can have"))
                .hint(format!("SQLite numbers rows up to {}", i64::MAX)));
        }
        let columns = self.columns.iter().enumerate().map(|(index, column)| {
            let key = Key::of_column(world.seed, &self.name, &column.name);
            let moved = world.moves.of(self.number.0, index);
            column.generator.clone().map(|generator| Filler { key, generator, moved })
        });
        let bytes = (self.row_bytes(), self.row_bytes_max());
        Ok(GeneratedTable::new(columns.collect(), bytes, world, (first, rows)))
    }

    /// Returns the maximum number of rows for which all columns have values, and the column that sets this limit; `None` if there is no
    /// limit. `all` has the row count of each table.
    fn limit(&self, seed: u64, all: &[u64]) -> Result<Option<(u64, &ColumnSpec)>> {
        let world = self.world(seed, all.iter().copied().map(Some).collect());
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

    /// Returns the maximum number of rows for which all columns have values, if there is a limit. `all` has the row count of each table.
    ///
    /// # Errors
    /// When a table that other tables refer to has no rows.
    pub fn rows_max(&self, seed: u64, all: &[u64]) -> Result<Option<u64>> {
        Ok(self.limit(seed, all)?.map(|(most, _)| most))
    }

    /// Checks that the columns have enough values for the requested rows of the table. `all` has the row count of each table.
    ///
    /// # Errors
    /// When the table has too many rows, or a table that it refers to has no rows.
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

    /// Returns the column that is an alias of the rowid; `None` if the table has none.
    pub fn rowids(&self) -> Option<&ColumnSpec> {
        self.rowid_alias.map(|index| &self.columns[index])
    }

    /// Returns `true` if the rowids are 1, 2, 3 and so on: the table has no rowid alias, or the alias counts rows.
    pub fn counts_rows(&self) -> bool {
        let alias = self.rowid_alias.and_then(|index| self.columns[index].generator.as_ref());
        alias.is_none_or(|generator| generator.counts_rows())
    }

    /// Returns the average size of a row as SQLite stores it, roughly, in bytes.
    pub fn row_bytes(&self) -> u64 {
        // One header byte for each column and one for the header's length; two bytes of payload length; four of rowid and cell
        // pointer together, on average.
        // The rowid alias is not stored twice.
        let stored = self.columns.iter().enumerate().filter(|(index, _)| Some(*index) != self.rowid_alias);
        let generators = stored.filter_map(|(_, column)| column.generator.as_deref());
        let values: u64 = generators.map(|generator| generator.size().mean).sum();
        values + self.columns.len() as u64 + 1 + 6
    }

    /// Returns the average size of an index entry as SQLite stores it, roughly, in bytes.
    pub fn entry_bytes(&self, table: &Table, index: &Index) -> u64 {
        let bytes = index.columns.iter().map(|column| match column.value {
            Indexed::Column(column) if Some(column) == table.rowid_alias => ROWID_BYTES,
            Indexed::Column(column) => {
                self.columns[column].generator.as_deref().map_or(0, |generator| generator.size().mean)
            }
            Indexed::Rowid => ROWID_BYTES,
            Indexed::Expression => EXPRESSION_BYTES,
        });
        // One header byte for each column and one for the header's length; one byte of payload length and two of cell pointer.
        bytes.sum::<u64>() + index.columns.len() as u64 + 1 + 3
    }

    /// Returns the maximum number of bytes that a row's values take in memory.
    pub(super) fn row_bytes_max(&self) -> u64 {
        self.generators().map(|generator| generator.size().max).sum()
    }

    fn generators(&self) -> impl Iterator<Item = &dyn Generate> {
        self.columns.iter().filter_map(|column| column.generator.as_deref())
    }
}

impl ColumnSpec {
    /// Returns `true` if some values of the column may be NULL.
    pub fn is_nullable(&self) -> bool {
        self.generator.as_deref().is_some_and(Generate::nullable)
    }
}

/// Writes a line with the table's name, and one line for each column.
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
