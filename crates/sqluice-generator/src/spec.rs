//! The spec: for each column of a schema, the expression that generates its values.

use std::collections::{HashMap, HashSet};
use std::fmt;

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::Schema;

use super::Fault;
use super::comments::may_be_dropped;
use super::comments::{Comments, comments, row_counts};
use super::defaults::{Defaults, broken_checks};
use super::functions::compile_in;
use super::names::Names;
use super::parse::parse;
use super::table_spec::{Origin, TableSpec};

/// The row count that each table is taken to have in the test of CHECK constraints.
const TRIED_ROWS: u64 = 1000;

/// The expressions that fill all tables of a schema.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Spec {
    /// The tables, in the order of the schema.
    pub tables: Vec<TableSpec>,
    /// Constraints of the schema that the generated values may break, with advice.
    pub notes: Vec<String>,
}

impl Spec {
    /// Builds the spec of a schema from its comments and, for columns without a comment, from their declarations.
    ///
    /// # Errors
    /// When a comment is malformed or belongs to no column that takes values.
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
            // A CHECK may contradict the order of dates that column names suggest: try again without this order in tables with broken
            // CHECKs.
            let kept: Vec<bool> = broken.iter().map(Vec::is_empty).collect();
            (spec, broken) = made(&kept)?;
        }
        if may_be_dropped(schema) {
            return Ok(spec);
        }
        for (table, checks) in schema.tables.iter().zip(broken) {
            spec.notes.extend(checks.iter().map(|check| format!(
                "rows of {} break CHECK ({check}), which ends the run: give its columns comments with suitable values, as -- gen: int(1, 9)",
                table.name
            )));
        }
        Ok(spec)
    }

    /// Generates some rows of each table and returns the CHECKs that they break.
    fn broken_checks(&self, schema: &Schema) -> Result<Vec<Vec<String>>> {
        let all = vec![TRIED_ROWS; schema.tables.len()];
        schema.tables.iter().zip(&self.tables).map(|(table, spec)| broken_checks(table, spec, &all)).collect()
    }

    fn build(
        schema: &Schema,
        comments: &Comments<'_>,
        expressions: Vec<Vec<Option<String>>>,
    ) -> Result<Vec<TableSpec>, Fault> {
        let mut origins = Vec::new();
        let mut exprs = Vec::new();
        let declared = schema.declared_tables();
        for (table, defaults) in schema.tables.iter().zip(expressions) {
            let at = declared.get(&table.name.to_ascii_lowercase()).copied().unwrap_or(0);
            let (mut row, mut of_row) = (Vec::new(), Vec::new());
            for (index, default) in defaults.into_iter().enumerate() {
                let name = &table.columns[index].name;
                let comment = comments.of(&table.name, name);
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
        let names = Names::new(schema, exprs, compile_in);
        // Comments are built first, so that an error in a comment is reported rather than its consequences in derived expressions.
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

    /// Returns the table called `name`, ignoring ASCII case as SQLite does.
    pub fn table(&self, name: &str) -> Option<&TableSpec> {
        self.tables.iter().find(|table| table.name.eq_ignore_ascii_case(name))
    }
}

/// Returns for each table the row count that the schema's comments state: `-- rows: 10k` between the parentheses of its CREATE TABLE. An
/// element is `None` if the table has no such comment.
pub fn stated_rows(schema: &Schema) -> Vec<Option<u64>> {
    let stated = row_counts(&schema.sql);
    // If a table has several such comments, the last one is used.
    let stated: HashMap<String, u64> =
        stated.into_iter().map(|(table, rows)| (table.to_ascii_lowercase(), rows)).collect();
    schema.tables.iter().map(|table| stated.get(&table.name.to_ascii_lowercase()).copied()).collect()
}

/// Returns the comments of a schema, after checking that the column of each comment exists. Comments of virtual tables without rows are not
/// checked, because their columns are unknown.
fn comments_of(schema: &Schema) -> Result<Comments<'_>, Fault> {
    let comments = comments(&schema.sql)?;
    let others = schema.others.iter().filter(|object| object.kind == "table");
    let virtual_tables: HashSet<String> = others.map(|object| object.name.to_ascii_lowercase()).collect();
    for comment in &comments.list {
        let table = schema.table(&comment.table);
        if table.is_none() && virtual_tables.contains(&comment.table.to_ascii_lowercase()) {
            continue;
        }
        if table.and_then(|table| table.column(&comment.column)).is_none() {
            let message = format!("the schema has no column {} of {}", comment.column, comment.table);
            let hint = "was the table or the column renamed further down?";
            return Err(Fault::new(comment.start, message).hint(hint));
        }
    }
    Ok(comments)
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tables.iter().try_for_each(|table| table.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Preset;
    use std::path::Path;

    fn spec(sql: &str) -> Result<Spec> {
        Spec::new(&Schema::parse(sql.to_owned(), Path::new("s.sql")).unwrap())
    }

    #[test]
    fn a_spec_prints_the_expression_of_each_column() {
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
    fn errors_in_a_schema_name_file_line_and_column() {
        for (sql, message) in [
            (
                "CREATE TABLE t (\n  é TEXT, -- gen: digts(6)\n  b INT);",
                "s.sql:2:19: no function is called `digts`",
            ),
            (
                "CREATE TABLE t (\n  a INT /* gen:\n int(3,\n  2) */);",
                "s.sql:4:3: int: the second argument must be at least the first: 2 is below 3",
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
    fn table_names_ignore_case() {
        let sql = "CREATE TABLE T (a); ALTER TABLE t ADD COLUMN \"B b\" /* gen: digits(1) */;";
        let spec = spec(sql).unwrap();
        assert_eq!(spec.table("t").unwrap().columns[1].expression, "digits(1)");
    }

    #[test]
    fn rowids_count_rows_unless_the_comment_of_their_column_sets_other_values() {
        let counts = |sql| spec(sql).unwrap().tables[0].counts_rows();
        assert!(counts("CREATE TABLE t (a)"));
        assert!(counts("CREATE TABLE t (a INTEGER PRIMARY KEY)"));
        assert!(counts("CREATE TABLE t (a INTEGER PRIMARY KEY -- gen: row()\n)"));
        assert!(!counts("CREATE TABLE t (a INTEGER PRIMARY KEY -- gen: int(1, 9)\n)"));
    }
}
