//! Expressions over rows in memory: SQLite evaluates them, in a private connection, without a copy of the rows.
//!
//! ```text
//!  Rows [ id, name, ... ] ──lent──> batch("id" INTEGER, "name" TEXT COLLATE NOCASE, ...)
//!                                     lower(name), id * 2 of the rows WHERE name <> ''  ──> results, row by row
//! ```
//!
//! The columns have names, and the affinity and collation that comparisons use. Values are not converted: apply the affinity before.
//! Hidden columns can be named, and are not in `*`.
//!
//! ```
//! use sqluice_core::affinity::Affinity;
//! use sqluice_core::rows::{Column, Evaluator, NamedColumn, Rows};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let columns = [NamedColumn::new("town", Affinity::Text), NamedColumn::new("height", Affinity::Real)];
//! let mut evaluator = Evaluator::new(rusqlite::Connection::open_in_memory()?, &columns)?;
//! let query = evaluator.query(&["upper(town)"], Some("height > 5"))?;
//!
//! let rows = Rows::new([Column::from(&["Oslo", "Rome"]), Column::from(&[2.5, 21.0])])?;
//! let mut found = Vec::new();
//! evaluator.evaluate(&query, &rows, |number, results| {
//!     found.push((number, results.get::<String>(0)?));
//!     Ok(())
//! }).map_err(|fault| fault.error)?;
//! assert_eq!(found, [(1, "ROME".to_owned())]);
//! # Ok(()) }
//! ```

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;

use super::taking::{self, Results, Taker};
use super::{Rows, table};
use crate::affinity::Affinity;
use crate::schema::quoted;

/// The name of the virtual table that has the lent rows: statements with expressions read from it.
const TABLE: &str = "batch";

/// The number of prepared statements that the connection caches.
const STATEMENTS: usize = 64;

/// A column of a batch, as expressions see it.
#[derive(Clone, Debug)]
pub struct NamedColumn {
    /// The name of the column.
    pub name: String,
    /// The affinity, by which values are compared.
    pub affinity: Affinity,
    /// The name of the collation.
    pub collation: String,
    /// `true` if `*` does not include the column.
    pub hidden: bool,
}

impl NamedColumn {
    /// Creates a column that compares texts byte by byte.
    pub fn new(name: impl Into<String>, affinity: Affinity) -> NamedColumn {
        NamedColumn { name: name.into(), affinity, collation: "BINARY".to_owned(), hidden: false }
    }

    /// Returns the declaration of the column, in SQL.
    pub fn declaration(&self) -> String {
        let declared = match self.affinity {
            // Any other name than these five would declare NUMERIC.
            Affinity::Blob => "BLOB",
            Affinity::Text => "TEXT",
            Affinity::Numeric => "NUMERIC",
            Affinity::Integer => "INTEGER",
            Affinity::Real => "REAL",
        };
        let hidden = if self.hidden { " HIDDEN" } else { "" };
        format!("{} {declared}{hidden} COLLATE {}", quoted(&self.name), quoted(&self.collation))
    }
}

/// Evaluates expressions over rows, in a connection of its own.
#[derive(Debug)]
pub struct Evaluator {
    connection: Connection,
    /// The names of the columns, in lower case.
    names: Vec<String>,
    taker: Taker,
    /// The largest number of arguments that the connection permits for a function.
    arguments_max: usize,
}

/// Expressions that SQLite has accepted, with the condition on the rows that they are evaluated for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    sql: String,
    results: Vec<String>,
    filter: Option<String>,
    named: Named,
}

/// The columns and functions that expressions name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// The indexes of the columns, each once, in ascending order. They are positions in the list that [`Evaluator::new`] got.
    pub columns: Vec<usize>,
    /// The functions in lower case, each once, in alphabetic order. `a LIKE b` names `like`.
    pub functions: Vec<String>,
}

impl Query {
    /// Returns the expressions of the query, in SQL.
    pub fn results(&self) -> &[String] {
        &self.results
    }

    /// Returns the condition on the rows, if any.
    pub fn filter(&self) -> Option<&str> {
        self.filter.as_deref()
    }

    /// Returns the columns and functions that the expressions name.
    pub fn named(&self) -> &Named {
        &self.named
    }
}

/// An expression that could not be evaluated.
#[derive(Debug)]
pub struct Fault {
    /// The row, counted from 0; `None` if no single row is at fault.
    pub row: Option<usize>,
    /// The result at fault, counted from 0; `None` for the condition, or if no result alone is at fault.
    pub result: Option<usize>,
    /// The error of SQLite.
    pub error: rusqlite::Error,
}

impl Evaluator {
    /// Creates an evaluator for rows with these columns. The connection must be in memory; its functions, collations, limits and settings
    /// hold for all expressions.
    ///
    /// # Errors
    /// The error of SQLite: two columns have one name, a collation does not exist, or the columns are too many.
    pub fn new(connection: Connection, columns: &[NamedColumn]) -> rusqlite::Result<Evaluator> {
        let is_taken = |name: &str| columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
        let names = (0..).map(|number| format!("sqluice row {number}"));
        let argument = names.into_iter().find(|name| !is_taken(name)).unwrap_or_default();
        let declared: Vec<String> = columns.iter().map(NamedColumn::declaration).collect();
        table::register_named(&connection)?;
        let taker = Taker::register(&connection)?;
        let arguments_max = usize::try_from(connection.limit(Limit::SQLITE_LIMIT_FUNCTION_ARG)?).unwrap_or(0);
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        connection.execute_batch(&format!(
            "CREATE VIRTUAL TABLE temp.{TABLE} USING {}({} HIDDEN, {})",
            table::NAMED_NAME.to_string_lossy(),
            quoted(&argument),
            declared.join(", ")
        ))?;
        let names = columns.iter().map(|column| column.name.to_ascii_lowercase()).collect();
        Ok(Evaluator { connection, names, taker, arguments_max })
    }

    /// Prepares expressions, to be evaluated for the rows for which `filter` is true.
    ///
    /// # Errors
    /// The error of SQLite.
    pub fn query(&mut self, results: &[impl AsRef<str>], filter: Option<&str>) -> rusqlite::Result<Query> {
        let results: Vec<String> = results.iter().map(|result| result.as_ref().to_owned()).collect();
        let sql = self.sql(&results, filter);
        let named = self.named(&sql)?;
        Ok(Query { sql, results, filter: filter.map(str::to_owned), named })
    }

    /// Prepares a statement, and returns the columns and functions that it names: SQLite asks an authorizer for each of them.
    fn named(&mut self, sql: &str) -> rusqlite::Result<Named> {
        let asked: Arc<Mutex<Named>> = Arc::default();
        let (answers, names) = (Arc::clone(&asked), self.names.clone());
        self.connection.authorizer(Some(move |context: AuthContext<'_>| {
            let mut named = answers.lock().unwrap_or_else(PoisonError::into_inner);
            match context.action {
                AuthAction::Read { column_name, .. } => {
                    let column_name = column_name.to_ascii_lowercase();
                    named.columns.extend(names.iter().position(|name| *name == column_name));
                }
                AuthAction::Function { function_name }
                    if function_name.as_bytes() != taking::NAME.to_bytes() =>
                {
                    named.functions.push(function_name.to_ascii_lowercase());
                }
                _ => {}
            }
            Authorization::Allow
        }))?;
        let prepared = self.connection.prepare(sql).map(drop);
        self.connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>)?;
        prepared?;
        let mut named = std::mem::take(&mut *asked.lock().unwrap_or_else(PoisonError::into_inner));
        named.columns.sort_unstable();
        named.columns.dedup();
        named.functions.sort_unstable();
        named.functions.dedup();
        Ok(named)
    }

    /// Returns the affinity of an expression: the affinity of the column or CAST that it consists of, or BLOB for any other expression.
    ///
    /// # Errors
    /// The error of SQLite.
    pub fn affinity(&self, expression: &str) -> rusqlite::Result<Affinity> {
        self.connection.execute_batch(&format!(
            "CREATE TEMP TABLE \"sqluice result\" AS SELECT ({expression}\n) AS result FROM {TABLE}(NULL)"
        ))?;
        let declared: String =
            self.connection
                .query_row("SELECT type FROM pragma_table_info('sqluice result')", [], |row| row.get(0))?;
        self.connection.execute_batch("DROP TABLE temp.\"sqluice result\"")?;
        Ok(match declared.is_empty() {
            true => Affinity::Blob,
            false => Affinity::of_declared_type(&declared),
        })
    }

    /// Runs statements in the private connection, such as those that create tables for [`Evaluator::insert`].
    ///
    /// # Errors
    /// The error of SQLite.
    pub fn run_statements(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.execute_batch(sql)
    }

    /// Inserts rows into a table of the private connection. `target` names the table and its columns, as after INSERT INTO, and `values`
    /// are the expressions for the columns. An INSERT that fails inserts nothing.
    ///
    /// # Errors
    /// The error of SQLite.
    pub fn insert(&self, target: &str, values: &str, rows: &Rows<'_>) -> rusqlite::Result<()> {
        let sql = format!("INSERT INTO {target} SELECT {values} FROM {TABLE}(?1)");
        self.run(&sql, 0, rows, &mut |_| Ok(()))
    }

    /// Returns the statement that passes the results to the function [`taking::NAME`]. If there are more results than a function may have
    /// arguments, the statement returns the results as its columns instead.
    fn sql(&self, results: &[String], filter: Option<&str>) -> String {
        // The line break ends a comment at the end of an expression.
        let listed: Vec<String> = results.iter().map(|result| format!("({result}\n)")).collect();
        let listed = listed.join(", ");
        let taken = match results.len() <= self.arguments_max {
            true => format!("\"{}\"({listed})", taking::NAME.to_string_lossy()),
            false => listed,
        };
        let filter = filter.map_or_else(String::new, |filter| format!(" WHERE ({filter}\n)"));
        format!("SELECT {taken} FROM {TABLE}(?1){filter}")
    }

    /// Evaluates expressions. `take` gets the number of each row for which the filter is true, counted from 0, and its results, in the
    /// order of the rows.
    ///
    /// # Errors
    /// The error of SQLite, or of `take`, for the first row at fault.
    pub fn evaluate(
        &self,
        query: &Query,
        rows: &Rows<'_>,
        mut take: impl FnMut(usize, Results<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), Fault> {
        let mut take = |results: Results<'_>| take(rows.stopped_at(), results);
        let evaluated = self.run(&query.sql, query.results.len(), rows, &mut take);
        evaluated.map_err(|error| self.fault(query, rows, error))
    }

    fn run(
        &self,
        sql: &str,
        results: usize,
        rows: &Rows<'_>,
        take: &mut dyn FnMut(Results<'_>) -> rusqlite::Result<()>,
    ) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached(sql)?;
        rows.lend(&mut statement, 1, |statement| {
            let mut found = statement.query();
            if results <= self.arguments_max {
                return self.taker.run(take, || found.next().map(drop));
            }
            while let Some(row) = found.next()? {
                take(Results::of_row(row))?;
            }
            Ok(())
        })?
    }

    /// Finds the row and the expression that an error is about. Rows are evaluated alone until one fails: first the row at which the scan
    /// stopped, then all in their order.
    fn fault(&self, query: &Query, rows: &Rows<'_>, error: rusqlite::Error) -> Fault {
        let stopped_at = rows.stopped_at();
        let fails = |row: usize, sql: &str, results: usize| {
            let mut read = |found: Results<'_>| (0..results).try_for_each(|at| found.value(at).map(drop));
            self.run(sql, results, &rows.alone(row), &mut read).err()
        };
        let all = 0..rows.len();
        let mut candidates = all.clone().filter(|row| *row == stopped_at).chain(all);
        let Some((row, error)) =
            candidates.find_map(|row| Some((row, fails(row, &query.sql, query.results.len())?)))
        else {
            return Fault { row: None, result: None, error };
        };
        let fails_alone =
            |expression: &String| fails(row, &self.sql(std::slice::from_ref(expression), None), 1).is_some();
        let result = match query.filter.as_ref().is_some_and(fails_alone) {
            true => None,
            false => query.results.iter().position(fails_alone),
        };
        Fault { row: Some(row), result, error }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::affinity;
    use crate::batch::Value;
    use crate::rows::{Cells, Column};

    fn value() -> impl Strategy<Value = rusqlite::types::Value> {
        use rusqlite::types::Value as Sql;
        prop_oneof![
            Just(Sql::Null),
            (-3i64..100).prop_map(Sql::Integer),
            any::<i64>().prop_map(Sql::Integer),
            (-1e3..1e3f64).prop_map(Sql::Real),
            "[0-9aA ]{0,4}".prop_map(Sql::Text),
            "\\{\"a\": ?[0-9]\\}".prop_map(Sql::Text),
            prop::collection::vec(any::<u8>(), 0..4).prop_map(Sql::Blob),
        ]
    }

    const AFFINITIES: [Affinity; 5] =
        [Affinity::Blob, Affinity::Text, Affinity::Numeric, Affinity::Integer, Affinity::Real];
    const COLLATIONS: [&str; 3] = ["BINARY", "NOCASE", "RTRIM"];
    const NAMES: [&str; 6] = ["a", "a hidden", "order", "x\"y, (z", "größe", "rowid"];
    const EXPRESSIONS: [&str; 12] = [
        "{a} = {b}",
        "{a} < '5'",
        "{a} > 9",
        "lower({a}) || {b}",
        "{a} IN ('A', 1, '7 ')",
        "CASE {a} WHEN {b} THEN 1 ELSE typeof({a}) END",
        "CAST({a} AS INTEGER) + {b} -- a comment",
        "max({a}, {b})",
        "{a} BETWEEN {b} AND 10",
        "+{a}",
        "{a} LIKE '%a%'",
        "quote({a})",
    ];

    /// Returns an expression for the type and the bytes of a result.
    fn shown(result: &String) -> String {
        format!("typeof({result}\n) || hex({result}\n)")
    }

    /// Returns the results of a row in words.
    fn in_words(results: Results<'_>, count: usize) -> rusqlite::Result<Vec<String>> {
        (0..count).map(|at| Ok(format!("{:?}", results.value(at)?))).collect()
    }

    fn cells(values: impl IntoIterator<Item = rusqlite::types::Value>, affinity: Affinity) -> Cells {
        let (mut cells, mut text) = (Cells::default(), Vec::new());
        for value in values {
            use rusqlite::types::Value as Sql;
            let given = match &value {
                Sql::Null => Value::Null,
                Sql::Integer(int) => Value::Int(*int),
                Sql::Real(real) => Value::Real(*real),
                Sql::Text(text) => Value::Text(text.as_bytes()),
                Sql::Blob(blob) => Value::Blob(blob),
            };
            cells.push(match (affinity::apply(given, affinity, &mut text), affinity) {
                // A REAL column stores small whole numbers as integers, and reads them as floats.
                (Value::Int(int), Affinity::Real) => Value::Real(int as f64),
                (value, _) => value,
            });
        }
        cells
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn an_evaluator_gives_the_results_that_a_table_with_the_same_rows_gives(
            rows in prop::collection::vec((value(), value()), 1..20),
            (names, affinities) in (prop::sample::subsequence(NAMES.to_vec(), 2), [0..5usize, 0..5usize]),
            collations in [0..3usize, 0..3usize],
            (expressions, filter) in (prop::sample::subsequence(EXPRESSIONS.to_vec(), 1..5), 0..EXPRESSIONS.len()),
            encoding in prop::sample::select(vec!["UTF-8", "UTF-16le"]),
        ) {
            let columns: Vec<NamedColumn> = (0..2)
                .map(|at| NamedColumn {
                    collation: COLLATIONS[collations[at]].to_owned(),
                    ..NamedColumn::new(names[at], AFFINITIES[affinities[at]])
                })
                .collect();
            let [a, b] = [quoted(names[0]), quoted(names[1])];
            let of_names = |text: &&str| text.replace("{a}", &a).replace("{b}", &b);
            let expressions: Vec<String> = expressions.iter().map(of_names).collect();
            let filter = of_names(&EXPRESSIONS[filter]);

            let connect = || {
                let connection = Connection::open_in_memory().unwrap();
                connection.pragma_update(None, "encoding", encoding).unwrap();
                connection
            };
            let twin = connect();
            let declared: Vec<String> = columns.iter().map(NamedColumn::declaration).collect();
            twin.execute_batch(&format!("CREATE TABLE t({})", declared.join(", "))).unwrap();
            for row in &rows {
                twin.execute("INSERT INTO t VALUES (?1, ?2)", (&row.0, &row.1)).unwrap();
            }
            let wanted_results: Vec<String> =
                expressions.iter().map(shown).chain(expressions.iter().map(|result| format!("({result}\n)"))).collect();
            let mut wanted = twin
                .prepare(&format!(
                    "SELECT {}, _rowid_ - 1 FROM t WHERE {filter}\n ORDER BY _rowid_",
                    wanted_results.join(", ")
                ))
                .unwrap();
            let all = wanted_results.len();
            let wanted: Vec<(usize, Vec<String>)> = wanted
                .query_map([], |row| Ok((row.get::<_, i64>(all)? as usize, in_words(Results::of_row(row), all)?)))
                .unwrap()
                .map(Result::unwrap)
                .collect();

            let mut evaluator = Evaluator::new(connect(), &columns).unwrap();
            let given = Rows::new([
                Column::from(cells(rows.iter().map(|row| row.0.clone()), columns[0].affinity)),
                Column::from(cells(rows.iter().map(|row| row.1.clone()), columns[1].affinity)),
            ])
            .unwrap();
            // In the first round, the statement passes the results to a function. In the second round, functions take fewer arguments than
            // there are results, so the statement returns the results as its columns.
            for arguments_max in [evaluator.arguments_max, all - 1] {
                evaluator.arguments_max = arguments_max;
                let query = evaluator.query(&wanted_results, Some(&filter)).unwrap();
                for _ in 0..2 {
                    let mut found = Vec::new();
                    evaluator
                        .evaluate(&query, &given, |row, results| {
                            found.push((row, in_words(results, all)?));
                            Ok(())
                        })
                        .unwrap();
                    prop_assert_eq!(&found, &wanted);
                }
            }
        }

        #[test]
        fn a_fault_names_the_first_row_that_fails_and_its_expression(bad in 0..50usize, further in 0..50usize) {
            let columns = ["n", "doc", "unnamed"].map(|name| NamedColumn::new(name, Affinity::Text));
            let mut evaluator = Evaluator::new(Connection::open_in_memory().unwrap(), &columns).unwrap();
            let texts: Vec<&str> =
                (0..50).map(|row| if row == bad || row == further { "{" } else { "{}" }).collect();
            let numbers: Vec<i64> = (0..50).collect();
            let mut doc = Cells::default();
            texts.iter().for_each(|text| doc.push(Value::Text(text.as_bytes())));
            let mut n = Cells::default();
            n.extend_ints(&numbers);
            let rows = Rows::from_cells(50, vec![n, doc, Cells::default()]);
            let first = bad.min(further);

            let query = evaluator.query(&["n + 1", "doc ->> '$.a'"], None).unwrap();
            let fault = evaluator.evaluate(&query, &rows, |_, _| Ok(())).unwrap_err();
            prop_assert_eq!((fault.row, fault.result), (Some(first), Some(1)));
            prop_assert!(fault.error.to_string().contains("malformed JSON"));

            let query = evaluator.query(&["n + 1"], Some("doc ->> '$.a' IS NULL")).unwrap();
            let mut taken = 0;
            let fault = evaluator.evaluate(&query, &rows, |_, _| { taken += 1; Ok(()) }).unwrap_err();
            prop_assert_eq!((fault.row, fault.result), (Some(first), None));
            prop_assert_eq!(taken, first);
        }
    }

    #[test]
    fn an_error_or_a_panic_of_the_closure_ends_the_evaluation() {
        let mut evaluator = Evaluator::new(
            Connection::open_in_memory().unwrap(),
            &[NamedColumn::new("n", Affinity::Integer)],
        )
        .unwrap();
        let rows = Rows::column(vec![1, 2, 3, 4]);
        for arguments_max in [evaluator.arguments_max, 0] {
            evaluator.arguments_max = arguments_max;
            let query = evaluator.query(&["n"], None).unwrap();
            let mut taken = 0;
            let fault = evaluator.evaluate(&query, &rows, |row, results| {
                taken += results.get::<i64>(0)?;
                if row == 2 { Err(rusqlite::Error::InvalidQuery) } else { Ok(()) }
            });
            let fault = fault.unwrap_err();
            assert_eq!((taken, fault.row, fault.error), (6, None, rusqlite::Error::InvalidQuery));
            let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                evaluator.evaluate(&query, &rows, |row, _| if row == 1 { panic!("enough") } else { Ok(()) })
            }));
            assert_eq!(ended.unwrap_err().downcast_ref(), Some(&"enough"));
            let mut sum = 0;
            let evaluated = evaluator.evaluate(&query, &rows, |_, results| {
                sum += results.get::<i64>(0)?;
                Ok(())
            });
            evaluated.unwrap();
            assert_eq!(sum, 10);
        }
    }

    #[test]
    fn the_function_that_takes_results_fails_outside_of_an_evaluation() {
        let evaluator = Evaluator::new(
            Connection::open_in_memory().unwrap(),
            &[NamedColumn::new("n", Affinity::Integer)],
        )
        .unwrap();
        assert!(evaluator.connection.execute_batch("SELECT \"sqluice take\"(1)").is_err());
    }

    #[test]
    fn a_query_lists_the_columns_and_functions_that_it_names() {
        let columns = ["a", "B", "rowid"].map(|name| NamedColumn::new(name, Affinity::Text));
        let mut evaluator = Evaluator::new(Connection::open_in_memory().unwrap(), &columns).unwrap();
        let query = evaluator.query(&["lower(b) || LOWER(b)", "b LIKE 'x%'"], Some("rowid > 1")).unwrap();
        assert_eq!(query.named().columns, [1, 2]);
        assert_eq!(query.named().functions, ["like", "lower"]);
        let nothing = evaluator.query(&["1"], None).unwrap();
        assert_eq!(nothing.named(), &Named::default());
    }

    #[test]
    fn the_affinity_of_an_expression_is_that_of_a_column_or_a_cast() {
        let columns = [NamedColumn::new("t", Affinity::Text), NamedColumn::new("n", Affinity::Integer)];
        let evaluator = Evaluator::new(Connection::open_in_memory().unwrap(), &columns).unwrap();
        for (expression, affinity) in [
            ("t", Affinity::Text),
            ("n", Affinity::Integer),
            ("+n", Affinity::Blob),
            ("n * 2", Affinity::Blob),
            ("t || 'x' -- a comment", Affinity::Blob),
            ("abs(n)", Affinity::Blob),
            ("CAST(t AS NUMERIC)", Affinity::Numeric),
            ("CAST(t AS REAL)", Affinity::Real),
            ("CAST(n AS TEXT)", Affinity::Text),
            ("t COLLATE NOCASE", Affinity::Text),
        ] {
            assert_eq!(evaluator.affinity(expression).unwrap(), affinity, "{expression}");
        }
    }

    #[test]
    fn hidden_columns_can_be_named_but_are_not_in_select_star() {
        let rowid = NamedColumn { hidden: true, ..NamedColumn::new("rowid", Affinity::Integer) };
        let columns = [NamedColumn::new("sqluice row 0", Affinity::Text), rowid];
        let mut evaluator = Evaluator::new(Connection::open_in_memory().unwrap(), &columns).unwrap();
        let query = evaluator.query(&["rowid", "\"sqluice row 0\""], None).unwrap();
        let rows = Rows::new([Column::from(&["x"]), Column::from(&[70])]).unwrap();
        let taken = evaluator.evaluate(&query, &rows, |row, results| {
            assert_eq!((row, results.get(0)?, results.get(1)?), (0, 70, "x".to_owned()));
            Ok(())
        });
        taken.unwrap();
        let all = evaluator.connection.prepare("SELECT * FROM batch(?1)").unwrap();
        assert_eq!(all.column_names().collect::<Vec<_>>(), ["sqluice row 0"]);
    }
}
