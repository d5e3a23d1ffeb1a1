//! Checks that an expression computes one value from one row, and names only existing columns. SQLite itself does most of the checks.
//!
//! ```text
//!  max(a), a IN (SELECT ...), ?1, "x"    CREATE TABLE checked (..., CHECK (...)) WITHOUT ROWID refuses them
//!  random(), load_extension('x')         refused by name
//! ```

use sqluice_core::affinity::Affinity;
use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::rows::{self, Evaluator, NamedColumn};
use sqluice_core::schema::quoted;
use sqluice_core::schema::token;
use sqluice_core::similar::nearest;

use super::functions::Functions;

/// The reason why a function is refused.
#[derive(Clone, Copy)]
enum Reason {
    /// The function returns another value in each call, so two runs would differ.
    Random,
    /// The function reads or writes something that is no part of the row.
    Outside,
    /// The function returns the state of the connection, such as the last rowid.
    Connection,
}

/// Functions that are refused, each with the reason.
const REFUSED: [(&str, Reason); 14] = [
    ("random", Reason::Random),
    ("randomblob", Reason::Random),
    ("load_extension", Reason::Outside),
    ("readfile", Reason::Outside),
    ("writefile", Reason::Outside),
    ("lsdir", Reason::Outside),
    ("edit", Reason::Outside),
    ("eval", Reason::Outside),
    ("fts3_tokenizer", Reason::Outside),
    ("sqlite_log", Reason::Outside),
    ("changes", Reason::Connection),
    ("total_changes", Reason::Connection),
    ("last_insert_rowid", Reason::Connection),
    ("sqlite_offset", Reason::Connection),
];

/// The functions that exist only with the cargo feature `expressions`.
const OF_FEATURE: [&str; 4] = ["sha256", "regexp", "regexp_replace", "regexp_extract"];

/// The words by which SQLite's messages show that an expression needs more than one row: aggregates, subqueries, windows.
const MORE_THAN_A_ROW: [&str; 4] = ["misuse of", "subqueries prohibited", "OVER", "DISTINCT"];

/// The words that begin a clause of a query, or join queries.
const CLAUSES: [&str; 12] = [
    "FROM",
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "UNION",
    "INTERSECT",
    "EXCEPT",
    "JOIN",
    "SELECT",
    "WINDOW",
];

/// The words of messages, which differ between `load` and `copy`.
#[derive(Debug)]
pub(crate) struct Words {
    /// The noun for a row, such as `record`.
    pub(crate) row: &'static str,
    /// The reason why random values are refused.
    pub(crate) random: &'static str,
    /// The reason why an expression can't name the rowid.
    pub(crate) no_rowid: &'static str,
    /// The remedy for an expression over several rows.
    pub(crate) one_row: &'static str,
    /// The remedy for a refused function.
    pub(crate) instead: &'static str,
    /// The setting that chooses rows at random; `None` if the command has no such setting.
    pub(crate) sample: Option<Setting>,
}

/// The columns of a row, under the names that expressions use.
pub(crate) struct RowColumns<'a> {
    pub(crate) functions: &'a Functions,
    pub(crate) table: &'a str,
    /// The names. No name is repeated.
    pub(crate) names: Vec<&'a str>,
    /// The number of `names`, from the first on, that messages may list.
    pub(crate) listed: usize,
    pub(crate) words: &'a Words,
}

impl RowColumns<'_> {
    /// Checks an expression. Returns the indexes in `names` of the names that the expression uses. For messages, `setting` is the name of
    /// the setting with the expression, and `given` the setting with its value.
    ///
    /// # Errors
    /// If the expression does not compute one value from one row, or names an unknown column or a refused function.
    pub(crate) fn check(&self, sql: &str, setting: Message, given: Message) -> Result<Vec<usize>> {
        let tokens = token::tokens(sql);
        if tokens.iter().all(token::Token::is_comment) {
            return Err(Error::usage(message![setting, " has no expression"]));
        }
        let mut depth = 0i64;
        for token in &tokens {
            match token.text(sql) {
                "(" => depth += 1,
                ")" => depth -= 1,
                ";" => {
                    let error = Error::usage(message![given, ": a semicolon is not part of an expression"]);
                    return Err(error.hint("give one expression"));
                }
                _ => {}
            }
            if depth < 0 {
                break;
            }
        }
        if depth != 0 {
            let what = if depth < 0 {
                "a parenthesis is closed that is not open"
            } else {
                "a parenthesis is not closed"
            };
            return Err(Error::usage(message![given, ": ", what]));
        }
        let connection = self.functions.connect().map_err(cannot_check)?;
        let declared: String = self.names.iter().map(|name| quoted(name) + ", ").collect();
        let with_check = format!(
            "CREATE TEMP TABLE checked ({declared}\"sqluice key\" PRIMARY KEY, CHECK ({sql}\n)) WITHOUT ROWID"
        );
        let refused = |error: rusqlite::Error| self.refuse(setting.clone(), given.clone(), &words(&error));
        connection.execute(&with_check, []).map_err(refused)?;
        let names = self.names.iter().map(|name| NamedColumn::new(*name, Affinity::Blob));
        let columns: Vec<NamedColumn> = names.chain([no_column()]).collect();
        let mut evaluator = Evaluator::new(connection, &columns).map_err(cannot_check)?;
        let query = evaluator.query(&[sql], None).map_err(refused)?;
        let functions = &query.named().functions;
        if let Some(error) = functions.iter().find_map(|name| self.refused_function(&given, name)) {
            return Err(error);
        }
        Ok(query.named().columns.iter().copied().filter(|at| *at < self.names.len()).collect())
    }

    /// Returns the error about an expression that SQLite refuses.
    pub(crate) fn refuse(&self, setting: Message, given: Message, why: &str) -> Error {
        let why = why.split(" in CREATE").next().unwrap_or(why);
        if let Some(name) = after(why, "no such column: ") {
            let name = name.split(" - should this be").next().unwrap_or(name);
            let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
            let is_rowid = ["rowid", "oid", "_rowid_"].iter().any(|other| name.eq_ignore_ascii_case(other));
            let names = &self.names[..self.listed];
            let what = format!(" names the column {name:?}, which table {} does not have", self.table);
            let near = nearest(name, names.iter().copied())
                .map_or(String::new(), |near| format!("did you mean {near}? "));
            let hint = match is_rowid {
                true => self.words.no_rowid.to_owned(),
                false => format!("{near}the columns are: {}", listed(names)),
            };
            return Error::usage(message![setting, what]).hint(hint);
        }
        if let Some(name) = after(why, "no such function: ") {
            if let Some(error) = self.refused_function(&given, name) {
                return error;
            }
            let is_ours = OF_FEATURE.iter().any(|ours| name.eq_ignore_ascii_case(ours));
            if is_ours && !cfg!(feature = "expressions") {
                let what = message![given, format!(": this build lacks the function {name}")];
                return Error::without_feature(what, "expressions");
            }
            return Error::usage(message![given, format!(": there is no function {name}")])
                .hint("functions are those of SQLite, mathematics, sha256, regexp, regexp_replace and regexp_extract");
        }
        refuse(given, why, self.words)
    }

    fn refused_function(&self, given: &Message, name: &str) -> Option<Error> {
        let (_, reason) = REFUSED.iter().find(|(refused, _)| refused.eq_ignore_ascii_case(name))?;
        let row = self.words.row;
        let why = match reason {
            Reason::Random => self.words.random.to_owned(),
            Reason::Outside => format!("reads, writes or loads something outside of the {row}"),
            Reason::Connection => format!("is about a connection, not about the {row}"),
        };
        let error = Error::usage(message![given, format!(": {}() {why}", name.to_ascii_lowercase())]);
        let sample = self.words.sample.filter(|_| matches!(reason, Reason::Random));
        Some(match sample {
            Some(setting) => {
                error.hint(message![setting.to("TABLE=1%"), " chooses rows at random, by a seed"])
            }
            None => error.hint(self.words.instead),
        })
    }
}

/// Evaluates an expression for a row of NULLs, to find malformed regular expressions in it before any row is read. `names` are the names
/// that the expression uses.
///
/// # Errors
/// If a pattern is not a valid regular expression.
pub(crate) fn try_patterns(
    sql: &str,
    names: &[&str],
    given: &Message,
    functions: &Functions,
    of_verb: &Words,
) -> Result<()> {
    let names = names.iter().map(|name| NamedColumn::new(*name, Affinity::Blob));
    let columns: Vec<NamedColumn> = names.chain([no_column()]).collect();
    let refused = |error: rusqlite::Error| refuse(given.clone(), &words(&error), of_verb);
    let connection = functions.connect().map_err(cannot_check)?;
    let mut evaluator = Evaluator::new(connection, &columns).map_err(refused)?;
    let query = evaluator.query(&[sql], None).map_err(refused)?;
    let row = rows::Rows::new(columns.iter().map(|_| rows::Column::from(&[None::<i64>])))?;
    if let Err(fault) = evaluator.evaluate(&query, &row, |_, _| Ok(())) {
        let why = words(&fault.error);
        if why.contains("is no regular expression") {
            return Err(refuse(given.clone(), &why, of_verb));
        }
    }
    Ok(())
}

/// Returns the error about an expression that SQLite refuses for `why`.
fn refuse(given: Message, why: &str, words: &Words) -> Error {
    let why = why.replace(" in CHECK constraints", "");
    let error = Error::usage(message![given, ": ", &why]);
    let near = after(&why, "near \"").and_then(|rest| rest.split('"').next()).unwrap_or_default();
    let is_clause = CLAUSES.iter().any(|word| near.eq_ignore_ascii_case(word));
    if is_clause || MORE_THAN_A_ROW.iter().any(|words| why.contains(words)) {
        return error.hint(words.one_row);
    }
    if why.contains("parameters prohibited") {
        return error.hint("write the value into the expression");
    }
    error
}

/// Returns a column with a name that no expression can use, for evaluators, which need at least one column.
pub(crate) fn no_column() -> NamedColumn {
    NamedColumn { hidden: true, ..NamedColumn::new("sqluice record", Affinity::Blob) }
}

/// Returns SQLite's message of an error, without the SQL text.
pub(crate) fn words(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(words)) => words.clone(),
        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
        error => error.to_string(),
    }
}

/// Lists names for a hint. Of many names, only the first ones are listed.
pub(crate) fn listed(names: &[&str]) -> String {
    const NAMES_MAX: usize = 20;
    let shown = names[..names.len().min(NAMES_MAX)].join(", ");
    match names.len().saturating_sub(NAMES_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn cannot_check(error: rusqlite::Error) -> Error {
    Error::usage("the expressions can't be checked").because(error)
}

fn after<'w>(words: &'w str, before: &str) -> Option<&'w str> {
    words.find(before).map(|at| words[at + before.len()..].trim())
}
