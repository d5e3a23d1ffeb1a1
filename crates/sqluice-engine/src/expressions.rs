//! The expressions of a table's declaration: generated columns, CHECKs, and the terms and the WHERE of its indexes.
//!
//! SQLite evaluates the expressions for batches of rows, in a connection of each thread ([`Evaluator`]). SQLite's PRAGMAs do not list their
//! texts, so they are taken from the tokens of the statements. SQLite prepares each expression once, which shows the columns and functions
//! that the expression names.
//!
//! ```text
//!  CREATE TABLE t (a INT CHECK (a > 0), b TEXT, c AS (a * 2), d AS (c || b))      CREATE INDEX i ON t (lower(b), a) WHERE a > 5
//!
//!  columns of a batch     a | b | c | d | rowid, oid, _rowid_ (hidden)
//!  layers                 c, then d, which names c: the value of c gets the affinity of its column before d is computed
//!  CHECKs                 a > 0
//!  terms                  lower(b), for rows with a > 5: a further column after those of the table
//! ```
//!
//! Some expressions can be evaluated only in the database itself: those that depend on more than the row (functions about the connection),
//! and those that SQLite can't prepare here (functions and collations of an application). Rows for which an expression depends on the
//! present time are refused, as SQLite refuses them ([`PresentTime`]).

use rusqlite::{Connection, Statement};
use sqluice_core::affinity::Affinity;
use sqluice_core::rows::{COLUMNS_MAX, Evaluator, NamedColumn, Query};
use sqluice_core::schema::declaration::Declaration;
use sqluice_core::schema::index::{Index, Indexed};
use sqluice_core::schema::token::{self, Token, enclosed};
use sqluice_core::schema::{Generated, Table, quoted};
use sqluice_core::sqlite_error::said;

use crate::present_time::{Declared, PresentTime};

/// The functions whose result depends on the connection.
const OF_CONNECTION: &[&str] = &["changes", "last_insert_rowid", "total_changes"];

/// The largest number of CHECKs that one query evaluates: SQLite limits the depth of expressions.
const CHECKS_TOGETHER: usize = 50;

/// The expressions of a table that are evaluated for batches of its rows.
#[derive(Clone, Debug)]
pub(crate) struct Expressions {
    columns: Vec<NamedColumn>,
    /// The positions in `columns` of the columns that any expression names, in ascending order.
    named: Vec<usize>,
    /// The generated columns, with their expressions. A column is in a later layer than the columns that it names.
    layers: Vec<Layer>,
    /// The reason why SQLite must compute the generated columns, if any.
    generated_by_sqlite: Option<String>,
    /// The expressions of the CHECKs; `None` if SQLite must check the rows.
    checks: Option<Vec<String>>,
    /// For each index, in the order of [`Table::indexes`]: the parts that are computed, or the reason why SQLite must compute the entries.
    indexes: Vec<Result<Computed, String>>,
    /// The text encoding in which the expressions are evaluated, as `PRAGMA encoding` names it.
    encoding: &'static str,
}

/// The generated columns of one layer: for each column its position in the table and its expression. Columns of one layer do not name each
/// other.
pub(crate) type Layer = Vec<(usize, String)>;

/// The parts of an index that are computed from a row: expressions in its key, and its WHERE.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Computed {
    /// The expressions among the terms of the key, in order. SQLite stores their values as they are, whatever their affinity.
    pub(crate) terms: Vec<String>,
    /// The WHERE of the index, if it is partial.
    pub(crate) filter: Option<String>,
}

impl Expressions {
    /// Finds the expressions of a table in a UTF-8 database. Returns `None` if the table has no expressions.
    pub(crate) fn of(table: &Table) -> Option<Expressions> {
        Expressions::of_database(table, "UTF-8")
    }

    /// Finds the expressions of a table in a database of this text encoding, which matters if a blob is used as a number: SQLite reads the
    /// blob as text in this encoding. Returns `None` if the table has no expressions.
    pub(crate) fn of_database(table: &Table, encoding: &'static str) -> Option<Expressions> {
        let is_computed = |index: &Index| {
            index.partial || index.columns.iter().any(|column| column.value == Indexed::Expression)
        };
        let generates = (0..table.columns.len()).any(|column| is_generated_by_schema(table, column));
        if table.is_virtual || !(generates || table.checks || table.indexes.iter().any(is_computed)) {
            return None;
        }
        let columns = columns(table);
        let mut evaluator = match evaluator(&columns, encoding) {
            Ok(evaluator) => evaluator,
            Err(why) => return Some(Expressions::by_sqlite(table, columns, &why)),
        };
        let (layers, layers_named, generated_by_sqlite) = match layers(table, &mut evaluator) {
            Ok((layers, named)) => (layers, named, None),
            Err(why) => (Vec::new(), Vec::new(), Some(why)),
        };
        let is_generated = |column: &usize| is_generated_by_schema(table, *column);
        let mut named = layers_named;
        let mut prepared = |results: &[String], filter: Option<&str>| {
            let query = prepared(&mut evaluator, results, filter)?;
            named.extend_from_slice(&query.named().columns);
            match &generated_by_sqlite {
                Some(why) if query.named().columns.iter().any(is_generated) => Err(why.clone()),
                _ => Ok(query),
            }
        };
        let checks: Vec<String> = token::checks(&table.sql).into_iter().map(str::to_owned).collect();
        let checks =
            checks.iter().all(|check| prepared(std::slice::from_ref(check), None).is_ok()).then_some(checks);
        let indexes = table.indexes.iter().map(|index| {
            let of_generated = |column: Indexed| match column {
                Indexed::Column(column) => is_generated(&column),
                Indexed::Rowid | Indexed::Expression => false,
            };
            match &generated_by_sqlite {
                Some(why) if index.columns.iter().any(|column| of_generated(column.value)) => {
                    return Err(why.clone());
                }
                _ if !is_computed(index) => return Ok(Computed::default()),
                _ => {}
            }
            let Terms { key, filter } = terms(index, table).ok_or("its statement is not understood")?;
            let is_expression = |(at, _): &(usize, String)| index.columns[*at].value == Indexed::Expression;
            let expressions: Vec<String> =
                key.into_iter().enumerate().filter(is_expression).map(|(_, term)| term).collect();
            prepared(&expressions, filter.as_deref())?;
            Ok(Computed { terms: expressions, filter })
        });
        let indexes = indexes.collect();
        named.sort_unstable();
        named.dedup();
        let found = Expressions { columns, named, layers, generated_by_sqlite, checks, indexes, encoding };
        let of_table = table.columns.len();
        let present = PresentTime::new(&mut evaluator, (&found.columns, of_table), &found.declared(table));
        match present {
            Ok(_) => Some(found),
            Err(error) => Some(Expressions::by_sqlite(table, found.columns, &said(error))),
        }
    }

    /// Returns all expressions of the table that are evaluated for new rows.
    fn declared<'a>(&'a self, table: &Table) -> Declared<'a> {
        let is_stored = |column: usize| table.columns[column].generated == Some(Generated::Stored);
        let of_index = |index: &'a Computed| (index.terms.as_slice(), index.filter.as_deref());
        Declared {
            generated: self
                .layers
                .iter()
                .flatten()
                .map(|(at, sql)| (*at, sql.as_str(), is_stored(*at)))
                .collect(),
            checks: self.checks.iter().flatten().map(String::as_str).collect(),
            indexes: self.indexes.iter().flatten().map(of_index).collect(),
        }
    }

    fn by_sqlite(table: &Table, columns: Vec<NamedColumn>, why: &str) -> Expressions {
        let of_index = |index: &Index| match is_computed(index, table) {
            true => Err(why.to_owned()),
            false => Ok(Computed::default()),
        };
        let generates = (0..table.columns.len()).any(|column| is_generated_by_schema(table, column));
        let indexes = table.indexes.iter().map(of_index).collect();
        let generated_by_sqlite = generates.then(|| why.to_owned());
        Expressions {
            columns,
            named: Vec::new(),
            layers: Vec::new(),
            generated_by_sqlite,
            checks: (!table.checks).then(Vec::new),
            indexes,
            encoding: "UTF-8",
        }
    }

    /// Creates an evaluator of the expressions.
    ///
    /// # Errors
    /// Returns the reason: the table has too many columns for a batch, SQLite lacks a collation of a column, or SQLite has no memory.
    pub(crate) fn evaluator(&self) -> Result<Evaluator, String> {
        evaluator(&self.columns, self.encoding)
    }

    /// Returns the columns that any expression names, in ascending order. The names of the rowid follow the columns of the table.
    pub(crate) fn named(&self) -> &[usize] {
        &self.named
    }

    /// Returns the generated columns, in layers.
    pub(crate) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Returns `true` if any expression is evaluated for batches of rows.
    pub(crate) fn evaluates(&self) -> bool {
        let is_computed = |index: &Result<Computed, String>| {
            index.as_ref().is_ok_and(|computed| *computed != Computed::default())
        };
        !self.layers.is_empty()
            || self.checks.as_ref().is_some_and(|checks| !checks.is_empty())
            || self.indexes.iter().any(is_computed)
    }

    /// Returns the reason why SQLite must compute the generated columns, if any.
    pub(crate) fn generated_by_sqlite(&self) -> Option<&str> {
        self.generated_by_sqlite.as_deref()
    }

    /// Returns the CHECKs, in groups that are small enough for a query; `None` if SQLite must check the rows.
    pub(crate) fn checks(&self) -> Option<impl Iterator<Item = &[String]>> {
        self.checks.as_ref().map(|checks| checks.chunks(CHECKS_TOGETHER))
    }

    /// Returns `true` if all CHECKs and generated columns are evaluated while rows are encoded, so that SQLite need not check the rows
    /// again.
    pub(crate) fn check_rows(&self) -> bool {
        self.checks.is_some() && self.generated_by_sqlite.is_none()
    }

    /// Returns the computed parts of the index at position `index` of [`Table::indexes`], or the reason why SQLite must compute the
    /// entries.
    pub(crate) fn of_index(&self, index: usize) -> Result<&Computed, &str> {
        self.indexes[index].as_ref().map_err(String::as_str)
    }

    /// Returns the columns on which the entries of the indexes depend, also by way of generated columns.
    ///
    /// # Errors
    /// If SQLite can't prepare an expression.
    pub(crate) fn needed_by(
        &self,
        indexes: &[usize],
        table: &Table,
        evaluator: &mut Evaluator,
    ) -> rusqlite::Result<Vec<usize>> {
        let mut needed = Vec::new();
        for index in indexes {
            needed.extend(table.indexes[*index].columns.iter().filter_map(|column| match column.value {
                Indexed::Column(column) => Some(column),
                Indexed::Rowid | Indexed::Expression => None,
            }));
            if let Ok(Computed { terms, filter }) = &self.indexes[*index] {
                needed.extend(&evaluator.query(terms, filter.as_deref())?.named().columns);
            }
        }
        for (column, expression) in self.layers.iter().rev().flatten() {
            if needed.contains(column) {
                needed.extend(&evaluator.query(&[expression], None)?.named().columns);
            }
        }
        Ok(needed)
    }

    /// Returns the names of the columns that a batch has for the evaluator: those of the table, then those of its rowid.
    pub(crate) fn columns(&self) -> &[NamedColumn] {
        &self.columns
    }
}

/// Returns `true` if an index is partial, or its key has an expression or a generated column.
fn is_computed(index: &Index, table: &Table) -> bool {
    let is_computed = |value: Indexed| match value {
        Indexed::Column(column) => is_generated_by_schema(table, column),
        Indexed::Rowid => false,
        Indexed::Expression => true,
    };
    index.partial || index.columns.iter().any(|column| is_computed(column.value))
}

/// Returns `true` if the declaration of the table has an expression for a column. A rowid alias that only holds the rowids of given rows
/// counts as generated, but has no expression.
fn is_generated_by_schema(table: &Table, column: usize) -> bool {
    table.rowid_alias != Some(column) && table.columns.get(column).is_some_and(|c| c.generated.is_some())
}

/// Returns the columns of the table as its expressions see them. In a table with rowids, a hidden column follows for each name of the rowid
/// that no column has.
fn columns(table: &Table) -> Vec<NamedColumn> {
    let declaration = Declaration::of(&table.sql);
    let declared = declaration.as_ref().map(Declaration::columns).unwrap_or_default();
    let collation = |name: &str| {
        let declared = declared.iter().find(|declared| declared.name.eq_ignore_ascii_case(name));
        declared.and_then(|declared| declared.collation.clone())
    };
    let mut columns: Vec<NamedColumn> = table
        .columns
        .iter()
        .map(|column| {
            let named = NamedColumn::new(&column.name, column.affinity);
            NamedColumn { collation: collation(&column.name).unwrap_or(named.collation), ..named }
        })
        .collect();
    if !table.without_rowid {
        let rowid = ["rowid", "oid", "_rowid_"].into_iter().filter(|name| table.column(name).is_none());
        let hidden =
            rowid.map(|name| NamedColumn { hidden: true, ..NamedColumn::new(name, Affinity::Integer) });
        columns.extend(hidden.collect::<Vec<_>>());
    }
    columns
}

fn evaluator(columns: &[NamedColumn], encoding: &str) -> Result<Evaluator, String> {
    if columns.len() > COLUMNS_MAX {
        return Err("it has more columns than a batch can have".to_owned());
    }
    let connection = Connection::open_in_memory().map_err(said)?;
    connection.pragma_update(None, "encoding", encoding).map_err(said)?;
    Evaluator::new(connection, columns).map_err(said)
}

/// Prepares expressions. An error is the reason why SQLite must evaluate them in the database itself.
fn prepared(evaluator: &mut Evaluator, results: &[String], filter: Option<&str>) -> Result<Query, String> {
    let query = evaluator.query(results, filter).map_err(said)?;
    let names = |functions: &[&str]| {
        query.named().functions.iter().find(|function| functions.contains(&function.as_str())).cloned()
    };
    match names(OF_CONNECTION) {
        Some(function) => Err(format!("{function}() depends on the connection")),
        None => Ok(query),
    }
}

/// Returns the generated columns of a table in layers, and the columns of the table that their expressions name.
fn layers(table: &Table, evaluator: &mut Evaluator) -> Result<(Vec<Layer>, Vec<usize>), String> {
    let declaration = Declaration::of(&table.sql);
    let declared = declaration.as_ref().map(Declaration::columns).unwrap_or_default();
    let mut waiting = Vec::new();
    let generated = table.columns.iter().enumerate().filter(|(at, _)| is_generated_by_schema(table, *at));
    for (at, column) in generated {
        let declared = declared.iter().find(|declared| declared.name.eq_ignore_ascii_case(&column.name));
        let expression = declared.and_then(|declared| declared.expression);
        let expression = expression.ok_or("its declaration is not understood")?.to_owned();
        let query = prepared(evaluator, std::slice::from_ref(&expression), None)?;
        waiting.push((at, expression, query.named().columns.clone()));
    }
    let named = waiting.iter().flat_map(|(_, _, names)| names.iter().copied()).collect();
    let mut layers = Vec::new();
    while !waiting.is_empty() {
        let still: Vec<usize> = waiting.iter().map(|(at, ..)| *at).collect();
        let (ready, later): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(_, _, names)| !names.iter().any(|name| still.contains(name)));
        if ready.is_empty() {
            return Err("its generated columns name each other".to_owned());
        }
        layers.push(ready.into_iter().map(|(at, expression, _)| (at, expression)).collect());
        waiting = later;
    }
    Ok((layers, named))
}

/// The terms of an index, in SQL.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The columns and expressions of the key.
    pub(crate) key: Vec<String>,
    /// The WHERE of the index, if it is partial.
    pub(crate) filter: Option<String>,
}

/// Returns the terms of an index, or `None` if its statement can't be parsed, or its key has the rowid and columns have all names of the
/// rowid.
pub(crate) fn terms(index: &Index, table: &Table) -> Option<Terms> {
    let (said, filter) = match &index.sql {
        Some(sql) => said_of(sql)?,
        None => (Vec::new(), None),
    };
    let key = index.columns[..index.key_columns].iter().enumerate().map(|(at, column)| match column.value {
        Indexed::Column(column) => Some(quoted(&table.columns[column].name)),
        Indexed::Rowid => table.rowid_name().map(str::to_owned),
        Indexed::Expression => said.get(at).cloned(),
    });
    Some(Terms { key: key.collect::<Option<Vec<_>>>()?, filter })
}

/// Prepares `sql`, a query with INDEXED BY. Returns `None` if SQLite can't use that index for the query.
///
/// SQLite drops a condition that always holds, such as `b IS NOT NULL` of a NOT NULL column. If an index has this condition as its WHERE,
/// SQLite can use the index for no query.
pub(crate) fn prepare_by_index<'a>(
    connection: &'a Connection,
    sql: &str,
) -> rusqlite::Result<Option<Statement<'a>>> {
    match connection.prepare(sql) {
        Err(rusqlite::Error::SqliteFailure(_, Some(message))) if message == "no query solution" => Ok(None),
        prepared => prepared.map(Some),
    }
}

/// Parses a CREATE INDEX. Returns its terms without ASC and DESC, and its WHERE, if any.
fn said_of(sql: &str) -> Option<(Vec<String>, Option<String>)> {
    let tokens: Vec<Token> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let on = tokens.iter().position(|token| token.is_word(sql, "ON"))?;
    let open = on + tokens[on..].iter().position(|token| token.is_symbol(sql, "("))?;
    let list = enclosed(sql, &tokens[open..])?;
    let start = tokens[open].at.end;
    let close = tokens.iter().position(|token| token.at.start == start + list.len())?;
    let filter = tokens[close + 1..].first().filter(|token| token.is_word(sql, "WHERE"));
    let filter = filter.map(|token| sql[token.at.end..].to_owned());
    Some((split(sql, &tokens[open + 1..close]), filter))
}

/// Splits a list into terms, without ASC, DESC, NULLS FIRST and NULLS LAST.
fn split(sql: &str, tokens: &[Token]) -> Vec<String> {
    let mut depth = 0;
    let terms = tokens.split(|token| {
        depth += i32::from(token.is_symbol(sql, "(")) - i32::from(token.is_symbol(sql, ")"));
        depth == 0 && token.is_symbol(sql, ",")
    });
    let term = |mut tokens: &[Token]| {
        while let [rest @ .., last] = tokens
            && !rest.is_empty()
            && ["ASC", "DESC", "NULLS", "FIRST", "LAST"].iter().any(|word| last.is_word(sql, word))
        {
            tokens = rest;
        }
        match tokens {
            [first, .., last] => sql[first.at.start..last.at.end].to_owned(),
            [only] => only.text(sql).to_owned(),
            [] => String::new(),
        }
    };
    terms.map(term).collect()
}

/// Formats SQL for a message, on one line and truncated.
pub(crate) fn in_line(sql: &str) -> String {
    const CHARACTERS_MAX: usize = 100;
    let line = sql.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line,
    }
}
