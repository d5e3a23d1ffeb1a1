//! Resolves the columns that expressions name, and builds their generators: a column's generator is built before those that depend on it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use sqluice_core::schema::{Schema, Table};
use sqluice_core::similar;

use super::Fault;
use super::generator::Generate;
use super::parse::Expr;

/// The generator of a column, or `None` if it is not built yet.
type Made = Option<Arc<dyn Generate>>;

/// A function that builds the generator of an expression.
type Compile = fn(&Expr, Context<'_>) -> Result<Arc<dyn Generate>, Fault>;

/// The expressions of all columns of a schema, and the generators that have been built from them.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    pub(crate) tables: &'a [Table],
    /// The indexes of the tables in `tables`, by the names of the tables in lower case.
    places: HashMap<String, usize>,
    /// The expression of each table's columns; `None` if SQLite computes the column.
    exprs: Vec<Vec<Option<Expr>>>,
    made: RefCell<Vec<Vec<Made>>>,
    compile: Compile,
    /// The columns whose generators are being built, as (table, column). Each column is needed by the column before it in the list: a
    /// column that is needed again before it is built shows a cycle.
    making: RefCell<Vec<(usize, usize)>>,
}

/// The table and column that an expression belongs to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context<'a> {
    pub(crate) names: &'a Names<'a>,
    /// The index of the table in `names.tables`; out of range if the expression belongs to no table.
    pub(crate) table: usize,
    /// The column that the whole expression generates.
    pub(crate) column: usize,
}

impl<'a> Names<'a> {
    /// Creates names without tables, for expressions that may name no column.
    pub(crate) fn none(compile: Compile) -> Names<'static> {
        Names {
            tables: &[],
            places: HashMap::new(),
            exprs: Vec::new(),
            made: RefCell::default(),
            compile,
            making: RefCell::default(),
        }
    }

    pub(crate) fn new(schema: &'a Schema, exprs: Vec<Vec<Option<Expr>>>, compile: Compile) -> Names<'a> {
        let made = exprs.iter().map(|columns| vec![None; columns.len()]).collect();
        let named = schema.tables.iter().enumerate();
        let places = named.map(|(number, table)| (table.name.to_ascii_lowercase(), number)).collect();
        Names {
            tables: &schema.tables,
            places,
            exprs,
            made: RefCell::new(made),
            making: RefCell::default(),
            compile,
        }
    }

    pub(crate) fn expr(&self, table: usize, column: usize) -> Option<&Expr> {
        self.exprs.get(table)?.get(column)?.as_ref()
    }

    /// Returns the index in [`Names::tables`] of the table called `name`.
    pub(crate) fn table(&self, name: &str, at: usize) -> Result<usize, Fault> {
        self.places.get(&name.to_ascii_lowercase()).copied().ok_or_else(|| {
            let names = self.tables.iter().map(|table| &table.name[..]);
            Fault::new(at, format!("no table is called `{name}`")).hint(similar::hint(name, names))
        })
    }

    /// Returns the index of the column called `name` in a table.
    pub(crate) fn column(&self, table: usize, name: &str, at: usize) -> Result<usize, Fault> {
        let Some(declared) = self.tables.get(table) else {
            return Err(Fault::new(at, format!("unknown column `{name}`"))
                .hint(format!("if it is text, write it in quotes: '{name}'")));
        };
        declared.column(name).ok_or_else(|| {
            let names = declared.columns.iter().map(|column| &column.name[..]);
            Fault::new(at, format!("{} has no column `{name}`", declared.name)).hint(format!(
                "{}; if it is text, write it in quotes: '{name}'; if it is a function, write {name}()",
                similar::hint(name, names)
            ))
        })
    }

    /// Returns the generator of a column, and builds it if needed. `at` is the position of the expression that names the column.
    pub(crate) fn make(&self, table: usize, column: usize, at: usize) -> Result<Arc<dyn Generate>, Fault> {
        if let Some(made) = &self.made.borrow()[table][column] {
            return Ok(Arc::clone(made));
        }
        let name = |(table, column): (usize, usize)| {
            format!("{}.{}", self.tables[table].name, self.tables[table].columns[column].name)
        };
        let Some(expr) = self.expr(table, column) else {
            let message = format!(
                "an expression can't use {}: SQLite computes it later, from the generated row",
                name((table, column))
            );
            return Err(Fault::new(at, message).hint("name the columns that it is computed from"));
        };
        let first = self.making.borrow().iter().position(|&making| making == (table, column));
        if let Some(first) = first {
            let way: Vec<String> = self.making.borrow()[first..].iter().map(|&it| name(it)).collect();
            let message = format!("{} depends on itself", name((table, column)));
            let way = format!("{} needs {}", way.join(" needs "), name((table, column)));
            return Err(Fault::new(at, message).hint(way));
        }
        self.making.borrow_mut().push((table, column));
        let made = (self.compile)(expr, Context { names: self, table, column });
        self.making.borrow_mut().pop();
        let made = made?;
        self.made.borrow_mut()[table][column] = Some(Arc::clone(&made));
        Ok(made)
    }
}
