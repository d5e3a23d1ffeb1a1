//! The spec: for each column of a schema, the expression that makes its values.

use std::fmt;
use std::sync::Arc;

use super::Fault;
use super::comments::{Comment, comments};
use super::defaults::{Defaults, broken_checks};
use super::generator::{Generate, World};
use super::names::Names;
use super::parse::parse;
use super::table::GeneratedTable;
use crate::error::{Error, Result};
use crate::schema::index::{Index, Indexed};
use crate::schema::{Column, Schema, Table};

/// Bytes of a rowid in an entry of an index, roughly.
const ROWID_BYTES: u64 = 3;

/// Bytes of what SQLite computes, roughly.
const EXPRESSION_BYTES: u64 = 8;

/// Rows that every table has when constraints are tried.
const TRIED_ROWS: u64 = 1000;

/// What all tables of a schema are filled with.
#[derive(Clone, Debug)]
pub struct Spec {
    /// In the order of the schema's tables.
    pub tables: Vec<TableSpec>,
    /// What the schema asks for and its columns may not keep, with what to do about it.
    pub notes: Vec<String>,
}

/// What a table is filled with.
#[derive(Clone, Debug)]
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
pub struct ColumnSpec {
    /// The column.
    pub name: String,
    /// The expression that makes its values; empty where SQLite computes them.
    pub expression: String,
    /// Who says so.
    pub origin: Origin,
    pub(super) generator: Option<Arc<dyn Generate>>,
}

/// Where an expression comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A comment in the schema.
    Comment,
    /// The column's declaration.
    Declaration,
    /// Nowhere: SQLite computes the column from others.
    Computed,
}

impl Spec {
    /// Reads the comments of a schema.
    ///
    /// # Errors
    /// When one is malformed or belongs to no column that takes values.
    pub fn new(schema: &Schema) -> Result<Spec> {
        let in_file = |fault: Fault| fault.in_file(schema);
        let comments = comments_of(schema).map_err(in_file)?;
        let made = |ordered: &[bool]| {
            let Defaults { expressions, notes } = Defaults::of(schema, &comments, ordered)?;
            let tables = Spec::build(schema, &comments, expressions).map_err(in_file)?;
            let spec = Spec { tables, notes };
            let broken = spec.broken_checks(schema)?;
            Ok::<_, Error>((spec, broken))
        };
        let (mut spec, mut broken) = made(&vec![true; schema.tables.len()])?;
        if broken.iter().any(|checks| !checks.is_empty()) {
            // A CHECK may ask for another order than names do.
            let kept: Vec<bool> = broken.iter().map(Vec::is_empty).collect();
            (spec, broken) = made(&kept)?;
        }
        for (table, checks) in schema.tables.iter().zip(broken) {
            spec.notes.extend(checks.iter().map(|check| format!(
                "rows of {} break CHECK ({check}), which ends the run: say in comments what its columns hold, as -- gen: int(1, 9)",
                table.name
            )));
        }
        Ok(spec)
    }

    /// Makes some rows of each table; the CHECKs that they break.
    fn broken_checks(&self, schema: &Schema) -> Result<Vec<Vec<String>>> {
        let all = vec![TRIED_ROWS; schema.tables.len()];
        schema.tables.iter().zip(&self.tables).map(|(table, spec)| broken_checks(table, spec, &all)).collect()
    }

    fn build(
        schema: &Schema,
        comments: &[Comment<'_>],
        expressions: Vec<Vec<Option<String>>>,
    ) -> Result<Vec<TableSpec>, Fault> {
        let mut origins = Vec::new();
        let mut exprs = Vec::new();
        for (table, defaults) in schema.tables.iter().zip(expressions) {
            let at = schema.place_of_table(&table.name).byte.unwrap_or(0) as usize;
            let (mut row, mut of_row) = (Vec::new(), Vec::new());
            for (index, default) in defaults.into_iter().enumerate() {
                let name = &table.columns[index].name;
                let comment = comments.iter().find(|comment| comment.is_of(&table.name, name));
                let (expr, origin) = match (comment, default) {
                    (Some(comment), _) if table.columns[index].generated.is_some() => {
                        let message =
                            format!("{name} of {} is computed by SQLite and takes no values", table.name);
                        return Err(Fault::new(comment.start, message).hint("drop the comment"));
                    }
                    (Some(comment), _) => (Some(parse(comment.text, comment.start)?), Origin::Comment),
                    (None, Some(default)) => (Some(parse(&default, at)?), Origin::Declaration),
                    (None, None) => (None, Origin::Computed),
                };
                row.push(expr);
                of_row.push(origin);
            }
            exprs.push(row);
            origins.push(of_row);
        }
        let names = Names::new(schema, exprs);
        // Mistakes in comments are told before what follows from them.
        for origin in [Origin::Comment, Origin::Declaration] {
            for (table, origins) in origins.iter().enumerate() {
                for column in (0..origins.len()).filter(|&column| origins[column] == origin) {
                    let at = names.expr(table, column).map_or(0, |expr| expr.at.start);
                    names.make(table, column, at).map_err(|fault| match origin {
                        Origin::Comment => fault,
                        _ => Fault { at, ..fault },
                    })?;
                }
            }
        }
        let build = |number: usize| TableSpec::build(schema, number, &origins[number], &names);
        (0..schema.tables.len()).map(build).collect()
    }

    /// The table of that name, compared as SQLite does.
    pub fn table(&self, name: &str) -> Option<&TableSpec> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }
}

/// The comments, each of a column that there is.
fn comments_of(schema: &Schema) -> Result<Vec<Comment<'_>>, Fault> {
    let comments = comments(&schema.sql)?;
    for comment in &comments {
        let table = schema.table(&comment.table);
        if table.and_then(|table| table.column(&comment.column)).is_none() {
            let message = format!("the schema has no column {} of {}", comment.column, comment.table);
            let hint = "was the table or the column renamed further down?";
            return Err(Fault::new(comment.start, message).hint(hint));
        }
    }
    Ok(comments)
}

impl TableSpec {
    fn build(
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

    /// The same, where each table of the schema has so many rows in all, `all`: those that rows of this one can refer to.
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
        Ok(GeneratedTable::new(self, world, (first, rows)))
    }

    /// So many rows there are values for, if every table has so many rows in all, with the column that has the fewest.
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

    /// So many rows there are values for, if there is a limit and every table has so many rows in all.
    ///
    /// # Errors
    /// When a table that others refer to has no rows.
    pub(crate) fn rows_max(&self, seed: u64, all: &[u64]) -> Result<Option<u64>> {
        Ok(self.limit(seed, all)?.map(|(most, _)| most))
    }

    /// Refuses more rows than a column has values for.
    ///
    /// # Errors
    /// When there are more.
    pub(crate) fn refuse_more_rows(&self, seed: u64, all: &[u64]) -> Result<()> {
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
    pub(crate) fn rowids(&self) -> Option<&ColumnSpec> {
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
    pub(crate) fn entry_bytes(&self, table: &Table, index: &Index) -> u64 {
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
    pub(crate) fn is_nullable(&self) -> bool {
        self.generator.as_deref().is_some_and(Generate::nullable)
    }
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables.iter().try_for_each(|table| table.fmt(f))
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r#gen::Preset;
    use std::path::Path;

    fn spec(sql: &str) -> Result<Spec> {
        Spec::new(&Schema::parse(sql.to_owned(), Path::new("s.sql")).unwrap())
    }

    #[test]
    fn a_spec_prints_what_each_column_is_filled_with() {
        let user = Spec::new(&Preset::find("user").unwrap().schema().unwrap()).unwrap();
        let expected = "user\n  id      row()  (from its declaration)\n  area    digits(6)\n  age     choice(5, 10, 15)\n  \
                        active  choice(0, 1)\n";
        assert_eq!(user.to_string(), expected);
        let computed = spec("CREATE TABLE t (a, bc AS (a)) -- no comment").unwrap();
        assert_eq!(
            computed.to_string(),
            "t\n  a   int(0, 1000000)  (from its declaration)\n  bc  computed by SQLite\n"
        );
    }

    #[test]
    fn mistakes_say_file_line_and_column() {
        for (sql, message) in [
            (
                "CREATE TABLE t (\n  é TEXT, -- gen: digts(6)\n  b INT);",
                "s.sql:2:19: no function is called `digts`",
            ),
            (
                "CREATE TABLE t (\n  a INT /* gen:\n int(3,\n  2) */);",
                "s.sql:4:3: int: the second argument is at least the first: 2 is below 3",
            ),
            (
                "CREATE TABLE t (a INT);\n-- gen: int(1, 2)",
                "s.sql:2:1: a gen: comment that belongs to no column",
            ),
            (
                "CREATE TABLE t (a INT,\n UNIQUE (a)\n -- gen: int(1, 2)\n)",
                "s.sql:3:2: a gen: comment on a table constraint",
            ),
            (
                "CREATE TABLE t (a INT, --gen: int(1, 2)\n -- gen: row()\nb)",
                "s.sql:2:2: a second gen: comment for column a of t",
            ),
            (
                "CREATE TABLE t (a, b AS (a) -- gen: int(1, 2)\n)",
                "s.sql:1:36: b of t is computed by SQLite and takes no values",
            ),
            (
                "CREATE TABLE t (a NOT NULL -- gen: choice(1, null(0.1, 2))\n)",
                "s.sql:1:36: a of t is NOT NULL, and choice(1, null(0.1, 2)) may be NULL",
            ),
            (
                "CREATE TABLE t (a -- gen: row()\n); ALTER TABLE t RENAME TO u;",
                "s.sql:1:26: the schema has no column a of t",
            ),
            (
                "CREATE TABLE t (a -- gen:\n);",
                "s.sql:1:26: expected a function or a value, found the end of the comment",
            ),
        ] {
            let error = spec(sql).unwrap_err();
            assert_eq!(error.without_hint(), message);
            assert!(error.remedy().is_some() || message.contains("expected"), "{message}");
        }
    }

    #[test]
    fn names_are_compared_as_sqlite_compares_them() {
        let sql = "CREATE TABLE T (a); ALTER TABLE t ADD COLUMN \"B b\" /* gen: digits(1) */;";
        let spec = spec(sql).unwrap();
        assert_eq!(spec.table("t").unwrap().columns[1].expression, "digits(1)");
    }

    #[test]
    fn rowids_count_unless_their_column_says_otherwise() {
        let counts = |sql| spec(sql).unwrap().tables[0].counts_rows();
        assert!(counts("CREATE TABLE t (a)"));
        assert!(counts("CREATE TABLE t (a INTEGER PRIMARY KEY)"));
        assert!(counts("CREATE TABLE t (a INTEGER PRIMARY KEY -- gen: row()\n)"));
        assert!(!counts("CREATE TABLE t (a INTEGER PRIMARY KEY -- gen: int(1, 9)\n)"));
    }
}
