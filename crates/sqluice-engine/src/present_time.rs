//! Finds rows for which a schema would depend on the present time. SQLite refuses to store such rows.
//!
//! An index on `date(a)` takes any row but those in which `a` means the present time, such as `'now'`: "non-deterministic use of date() in
//! an index". A query raises no such error, so the expressions of a batch alone would store today's date.
//!
//! ```text
//!  expression                             rows to test
//!  date(a), CHECK (date(a, b) > 'x')      rows in which a or b is a blob, or a text with one of WORDS
//!  date(trim(a)), date(), date('now')     all rows: only SQLite knows what the function gets
//! ```
//!
//! The rows to test are inserted into a table with the same expressions, so SQLite decides. The table is in the private connection of the
//! evaluator. It has no keys, so that an INSERT fails for reasons of the row alone. Failures for other reasons than the present time are
//! ignored here: the evaluation of the expressions reports them.

use rusqlite::ErrorCode;
use sqluice_core::batch::Value;
use sqluice_core::rows::{Evaluator, NamedColumn, Query, Rows};
use sqluice_core::schema::quoted;
use sqluice_core::schema::token::{self, Token, TokenKind};
use sqluice_core::sqlite_error::{is_of_present_time, said};

/// The functions that return the present time without arguments, as words.
const WITHOUT_ARGUMENTS: [&str; 3] = ["current_date", "current_time", "current_timestamp"];

/// The functions of dates and times. From this number of arguments on, the result depends on the arguments alone, unless one of them has a
/// word of [`WORDS`].
const WITH_ARGUMENTS: [(&str, usize); 7] = [
    ("date", 1),
    ("datetime", 1),
    ("julianday", 1),
    ("strftime", 2),
    ("time", 1),
    ("timediff", 2),
    ("unixepoch", 1),
];

/// The words in an argument that make a function of date and time depend on more than its arguments: on the present time or time zone.
const WORDS: [&str; 4] = ["now", "subsec", "localtime", "utc"];

/// The name of the table that takes the rows in question.
const TABLE: &str = "\"sqluice present time\"";

/// The expressions that a table evaluates for its rows, in SQL.
#[derive(Clone, Debug, Default)]
pub(crate) struct Declared<'a> {
    /// The generated columns: for each column its position in the table, its expression, and `true` if the column is STORED.
    pub(crate) generated: Vec<(usize, &'a str, bool)>,
    /// The conditions of the CHECKs.
    pub(crate) checks: Vec<&'a str>,
    /// The terms and the WHERE of each index. Terms that are columns can be left out.
    pub(crate) indexes: Vec<(&'a [String], Option<&'a str>)>,
}

/// The rows that SQLite must test.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Suspects {
    /// The rows in which one of these columns may have a word of [`WORDS`].
    With(Vec<usize>),
    All,
}

/// Finds the rows of batches that SQLite would refuse because of the present time.
#[derive(Debug)]
pub(crate) struct PresentTime {
    suspects: Suspects,
    /// The name of the table and its columns in SQL, as they stand after INSERT INTO.
    target: String,
    /// The columns of the batch in SQL, as they stand after SELECT.
    values: String,
    /// The indexes of the columns of the batch that the table takes, in ascending order.
    columns: Vec<usize>,
}

/// Returns `true` if expressions name a function of date and time.
pub(crate) fn names_time(query: &Query) -> bool {
    let is_of_time = |function: &String| {
        let with_arguments = WITH_ARGUMENTS.iter().any(|(name, _)| name == function);
        with_arguments || WITHOUT_ARGUMENTS.contains(&function.as_str())
    };
    query.named().functions.iter().any(is_of_time)
}

impl PresentTime {
    /// Creates the table for expressions over `columns`: first the `of_table` columns of the table, then the names of its rowid. Returns
    /// `None` if no expression has a function of date and time.
    ///
    /// # Errors
    /// The error of SQLite.
    pub(crate) fn new(
        evaluator: &mut Evaluator,
        (columns, of_table): (&[NamedColumn], usize),
        declared: &Declared<'_>,
    ) -> rusqlite::Result<Option<PresentTime>> {
        let generated = |column: usize| declared.generated.iter().find(|generated| generated.0 == column);
        let Declared { generated: of_columns, checks, indexes } = declared;
        let expressions =
            of_columns.iter().map(|(_, expression, _)| *expression).chain(checks.iter().copied());
        let of_indexes = indexes
            .iter()
            .flat_map(|(terms, filter)| terms.iter().map(String::as_str).chain(filter.iter().copied()));
        let (mut suspects, mut named, mut is_of_time) = (Suspects::With(Vec::new()), Vec::new(), false);
        for expression in expressions.chain(of_indexes) {
            let query = evaluator.query(&[expression], None)?;
            named.extend_from_slice(&query.named().columns);
            if names_time(&query) {
                is_of_time = true;
                suspects = suspects.and(Suspects::of(expression, columns));
            }
        }
        if !is_of_time {
            return Ok(None);
        }
        named.retain(|column| generated(*column).is_none());
        named.sort_unstable();
        named.dedup();
        let mut items: Vec<String> = Vec::new();
        for (at, column) in columns[..of_table].iter().enumerate() {
            let column = NamedColumn { hidden: false, ..column.clone() }.declaration();
            items.push(match generated(at) {
                Some((_, expression, true)) => format!("{column} AS ({expression}\n) STORED"),
                Some((_, expression, false)) => format!("{column} AS ({expression}\n)"),
                None => column,
            });
        }
        items.extend(checks.iter().map(|check| format!("CHECK ({check}\n)")));
        let mut sql = format!("CREATE TABLE main.{TABLE} ({});\n", items.join(", "));
        for (number, (terms, filter)) in indexes.iter().enumerate() {
            let terms: Vec<String> = match terms {
                [] => vec![quoted(&columns[0].name)],
                terms => terms.iter().map(|term| format!("({term}\n)")).collect(),
            };
            let filter = filter.map_or_else(String::new, |filter| format!(" WHERE {filter}\n"));
            sql += &format!(
                "CREATE INDEX main.\"sqluice present time {number}\" ON {TABLE} ({}){filter};\n",
                terms.join(", ")
            );
        }
        evaluator.run_statements(&sql)?;
        // One name of the rowid is enough.
        let of_rowid = named.iter().position(|column| *column >= of_table).map_or(named.len(), |at| at + 1);
        named.truncate(of_rowid);
        let names: Vec<String> = named.iter().map(|column| quoted(&columns[*column].name)).collect();
        let (target, values) = match names.is_empty() {
            true => (format!("main.{TABLE} (rowid)"), "NULL".to_owned()),
            false => (format!("main.{TABLE} ({})", names.join(", ")), names.join(", ")),
        };
        Ok(Some(PresentTime { suspects, target, values, columns: named }))
    }

    /// Returns the first row that SQLite refuses because of the present time, SQLite's message, and the columns that may be the reason.
    /// Returns `None` if SQLite refuses no row for this reason.
    ///
    /// # Errors
    /// If SQLite fails for another reason than a row.
    pub(crate) fn first_refused(
        &self,
        evaluator: &Evaluator,
        rows: &Rows<'_>,
    ) -> rusqlite::Result<Option<(usize, String, &[usize])>> {
        let suspects: Vec<usize> = match &self.suspects {
            Suspects::All if self.refusal(evaluator, rows)?.is_ok() => return Ok(None),
            Suspects::All => (0..rows.len()).collect(),
            Suspects::With(columns) => {
                let is_suspect = |row: &usize| {
                    columns.iter().any(|column| rows.get(*row, *column).as_ref().is_some_and(may_be_present))
                };
                (0..rows.len()).filter(is_suspect).collect()
            }
        };
        for row in suspects {
            if let Err(Some(message)) = self.refusal(evaluator, &rows.alone(row))? {
                let columns = match &self.suspects {
                    Suspects::With(columns) => columns,
                    Suspects::All => &self.columns,
                };
                return Ok(Some((row, message, columns)));
            }
        }
        Ok(None)
    }

    /// Inserts rows, and deletes them again. If SQLite refuses a row, returns as the inner error SQLite's message, or `None` if the reason
    /// is not the present time.
    fn refusal(
        &self,
        evaluator: &Evaluator,
        rows: &Rows<'_>,
    ) -> rusqlite::Result<Result<(), Option<String>>> {
        match evaluator.insert(&self.target, &self.values, rows) {
            Ok(()) => evaluator.run_statements(&format!("DELETE FROM main.{TABLE}")).map(Ok),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::OutOfMemory) => Err(error),
            Err(error) => Ok(Err(is_of_present_time(&error).then(|| said(error)))),
        }
    }
}

impl Suspects {
    fn and(self, other: Suspects) -> Suspects {
        match (self, other) {
            (Suspects::With(mut all), Suspects::With(more)) => {
                all.extend(more);
                all.sort_unstable();
                all.dedup();
                Suspects::With(all)
            }
            _ => Suspects::All,
        }
    }

    /// Returns the rows that SQLite must test for an expression. If its functions of date and time have all arguments, and these are
    /// columns, numbers, or text literals without a word of [`WORDS`], they are the rows in which such a column can have one of the words;
    /// otherwise all rows.
    fn of(sql: &str, columns: &[NamedColumn]) -> Suspects {
        let tokens: Vec<Token> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
        let mut found = Vec::new();
        for (at, name) in tokens.iter().enumerate() {
            if WITHOUT_ARGUMENTS.iter().any(|word| name.is_word(sql, word)) {
                return Suspects::All;
            }
            let name = name.name(sql).unwrap_or_default();
            let of_time = WITH_ARGUMENTS.iter().find(|(function, _)| name.eq_ignore_ascii_case(function));
            let Some((_, needed)) = of_time else { continue };
            let Some(list) =
                tokens.get(at + 1..).filter(|rest| rest.first().is_some_and(|t| t.is_symbol(sql, "(")))
            else {
                continue;
            };
            let Some(end) = list.iter().position(|token| token.is_symbol(sql, ")")) else {
                return Suspects::All;
            };
            let arguments: Vec<&[Token]> = list[1..end].split(|token| token.is_symbol(sql, ",")).collect();
            if arguments.len() < *needed {
                return Suspects::All;
            }
            for argument in arguments {
                match argument {
                    [literal] if matches!(literal.kind, TokenKind::Number | TokenKind::String) => {
                        let text = literal.text(sql).as_bytes();
                        if text.first().is_some_and(|first| matches!(first, b'x' | b'X')) || has_word(text) {
                            return Suspects::All;
                        }
                    }
                    [column] => {
                        let name = column.name(sql).unwrap_or_default();
                        let is_it = |column: &NamedColumn| column.name.eq_ignore_ascii_case(&name);
                        match columns.iter().position(is_it) {
                            Some(column) => found.push(column),
                            None => return Suspects::All,
                        }
                    }
                    _ => return Suspects::All,
                }
            }
        }
        Suspects::With(found)
    }
}

/// Returns `true` if a function of date and time may take the value for a word of [`WORDS`]. The text of a blob depends on the text
/// encoding.
fn may_be_present(value: &Value<'_>) -> bool {
    match value {
        Value::Null | Value::Int(_) | Value::Real(_) => false,
        Value::Text(text) => has_word(text),
        Value::Blob(_) => true,
    }
}

fn has_word(text: &[u8]) -> bool {
    let begins_with = |rest: &[u8], word: &str| {
        rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    };
    (0..text.len()).any(|at| WORDS.iter().any(|word| begins_with(&text[at..], word)))
}

#[cfg(test)]
mod tests {
    use sqluice_core::affinity::Affinity;

    use super::*;

    fn suspects(sql: &str) -> Suspects {
        Suspects::of(sql, &["a", "b", "date"].map(|name| NamedColumn::new(name, Affinity::Blob)))
    }

    #[test]
    fn only_rows_with_words_such_as_now_in_a_column_that_a_date_function_uses_are_tested() {
        assert_eq!(suspects("date(a) > b"), Suspects::With(vec![0]));
        assert_eq!(suspects("strftime('%Y', \"B\", '+1 day') /* now */ || 'now'"), Suspects::With(vec![1]));
        assert_eq!(suspects("\"date\" || date( [date] , 5)"), Suspects::With(vec![2]));
    }

    #[test]
    fn all_rows_are_tested_if_columns_alone_do_not_tell_which_rows_use_the_current_time() {
        let all = [
            "date()",
            "strftime('%Y')",
            "date('Now')",
            "date(a, 'localtime')",
            "date(x'6e6f77')",
            "date(trim(a))",
            "date(a || b)",
            "date(\"now\")",
            "a < current_timestamp",
            "julianday(-a)",
            "date(t.a)",
        ];
        for sql in all {
            assert_eq!(suspects(sql), Suspects::All, "{sql}");
        }
    }
}
