//! Checks the expressions of a load: each must compute one value from one record, and name existing columns. SQLite itself does most of
//! the checks.
//!
//! ```text
//!  max(a), a IN (SELECT ...), ?1, rowid, "x"    CREATE TABLE checked (..., CHECK (...)) WITHOUT ROWID refuses them
//!  random(), load_extension('x')                refused by name
//! ```
//!
//! Expressions are evaluated in layers. An expression that uses the result of another one is in a later layer:
//!
//! ```text
//!  layer 0   id, email of the file     lower(email) ──> email
//!  layer 1   email of layer 0          substr(email, instr(email, '@') + 1) ──> domain
//! ```

use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::schema::token::{self, TokenKind};

use super::list;
use crate::expressions::functions::Functions;
use crate::expressions::row::{RowColumns, Words, try_patterns};
use crate::load::request::options::Load;

/// The source of a value that an expression uses, or of a column of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The input with this index.
    Input(usize),
    /// The result of the expression with this index.
    Result(usize),
}

/// An expression of the user.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) sql: String,
    /// The setting with the expression, as the user gave it, for messages.
    pub(super) given: Message,
    /// The names that the expression uses, each with its origin.
    pub(super) uses: Vec<(String, Origin)>,
}

/// Expressions that are evaluated together.
#[derive(Clone, Debug, Default)]
pub(super) struct Layer {
    /// The names that the expressions use, each with its origin.
    pub(super) names: Vec<(String, Origin)>,
    /// The expressions of the layer, as indexes in [`Checked::expressions`].
    pub(super) expressions: Vec<usize>,
}

/// The expressions of one table, after all checks.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// The columns that expressions can use: first those of the file, under the names that they have in a table without expressions; then
    /// those of [`SOURCES`], except if the file has a column of this name.
    pub(crate) inputs: Vec<String>,
    /// The names of [`SOURCES`] that expressions use and that mean a column of the file, because the file has a column of this name.
    pub(crate) own_sources: Vec<&'static str>,
    /// The position of the record's line in `used`; `None` if no expression uses the line.
    place_of_line: Option<usize>,
    /// The columns of the table, each with the origin of its values.
    pub(crate) results: Vec<(String, Origin)>,
    /// The inputs that expressions use, in ascending order.
    pub(crate) used: Vec<usize>,
    pub(super) filter: Option<Expression>,
    pub(super) expressions: Vec<Expression>,
    pub(super) layers: Vec<Layer>,
    pub(super) functions: Functions,
}

/// The name by which expressions see the name of the file.
pub(crate) const SOURCE_FILE: &str = "source_file";

/// The name by which expressions see the line of the record in its file, or the number of the record if the file has no lines.
pub(crate) const SOURCE_LINE: &str = "source_line";

/// The names by which expressions see the file and the line of a record, with the declared types.
pub(crate) const SOURCES: [(&str, &str); 2] = [(SOURCE_FILE, "TEXT"), (SOURCE_LINE, "INTEGER")];

/// The words of messages about the expressions of a load.
const WORDS: Words = Words {
    row: "record",
    random: "gives other values each time, and a load may read the file twice",
    no_rowid: "a record has no rowid before it is stored",
    one_row: "each record makes one row: load the file, then use SQL on the table",
    instead: "load the file, then use SQL on the table",
    sample: None,
};

impl Checked {
    /// Creates the expressions of DEFAULTs, in order. They use no columns.
    pub(crate) fn of_defaults<'s>(
        defaults: impl Iterator<Item = &'s String>,
        functions: &Functions,
    ) -> Checked {
        let expression = |sql: &String| Expression {
            sql: sql.clone(),
            given: format!("DEFAULT {sql}").into(),
            uses: Vec::new(),
        };
        let expressions: Vec<Expression> = defaults.map(expression).collect();
        let layer = Layer { names: Vec::new(), expressions: (0..expressions.len()).collect() };
        Checked {
            inputs: Vec::new(),
            own_sources: Vec::new(),
            place_of_line: None,
            results: Vec::new(),
            used: Vec::new(),
            filter: None,
            expressions,
            layers: vec![layer],
            functions: functions.of_schema(),
        }
    }

    /// If the filter is known to be NULL only where one of its columns is, returns the positions of these columns in `used`; otherwise
    /// `None`.
    pub(super) fn nulls_of_filter(&self) -> Option<Vec<usize>> {
        let filter = self.filter.as_ref()?;
        let has_column = |name: &str| filter.uses.iter().any(|(used, _)| used.eq_ignore_ascii_case(name));
        if !only_compares(&filter.sql, has_column) {
            return None;
        }
        let place = |(_, origin): &(String, Origin)| match origin {
            Origin::Input(input) => self.used.iter().position(|used| used == input),
            Origin::Result(_) => None,
        };
        filter.uses.iter().map(place).collect()
    }

    /// Checks the expressions of a load for the table `table`. `inputs` are the columns that the files of the table have.
    pub(crate) fn new(
        load: &Load,
        functions: &Functions,
        table: &str,
        inputs: Vec<String>,
    ) -> Result<Checked> {
        let has = |source: &str| inputs.iter().any(|name| name.eq_ignore_ascii_case(source));
        let sources = SOURCES.iter().map(|(source, _)| *source).filter(|source| !has(source));
        let hidden: Vec<(String, Origin)> =
            sources.zip(inputs.len()..).map(|(name, at)| (name.to_owned(), Origin::Input(at))).collect();
        let mut scope = Scope {
            table,
            functions,
            hidden,
            names: inputs.iter().enumerate().map(|(at, name)| (name.clone(), Origin::Input(at))).collect(),
            expressions: Vec::new(),
        };
        let filter = load
            .filter
            .as_ref()
            .map(|sql| scope.check(sql, Setting::Where.into(), Setting::Where.to(sql.clone()).into()));
        let filter = filter.transpose()?;
        for (column, sql) in &load.sets {
            let given = Setting::Set.to(format!("{column}={sql}"));
            let expression = scope.check(sql, Setting::Set.into(), given.into())?;
            scope.set(column, expression);
        }
        match &load.select {
            Some(list) => scope.select(list)?,
            None => scope.exclude_and_rename(load)?,
        }
        let Scope { names: results, expressions, hidden, .. } = scope;
        let own = inputs.len();
        let mut inputs = inputs;
        inputs.extend(hidden.into_iter().map(|(name, _)| name));
        if results.is_empty() {
            return Err(Error::usage(message![
                Setting::ExcludeColumns,
                format!(" leaves out all columns of table {table}")
            ]));
        }
        for (at, (name, _)) in results.iter().enumerate() {
            if results[..at].iter().any(|(other, _)| other.eq_ignore_ascii_case(name)) {
                let message = format!("table {table} would have two columns named {name:?}");
                return Err(Error::usage(message)
                    .hint(message![Setting::Rename.to("OLD=NEW"), " gives one of them another name"]));
            }
        }
        let mut used: Vec<usize> = Vec::new();
        for (_, origin) in filter.iter().chain(&expressions).flat_map(|expression| &expression.uses) {
            if let Origin::Input(input) = origin {
                used.push(*input);
            }
        }
        used.sort_unstable();
        used.dedup();
        let layers = layers(filter.as_ref(), &expressions);
        let is = |input: usize, source: &str| inputs[input].eq_ignore_ascii_case(source);
        let uses_own = |source: &&str| used.iter().any(|input| *input < own && is(*input, source));
        let own_sources = SOURCES.iter().map(|(source, _)| *source).filter(uses_own).collect();
        let place_of_line = used.iter().position(|input| *input >= own && is(*input, SOURCE_LINE));
        let functions = functions.clone();
        let checked = Checked {
            inputs,
            own_sources,
            place_of_line,
            results,
            used,
            filter,
            expressions,
            layers,
            functions,
        };
        checked.try_patterns()?;
        Ok(checked)
    }

    /// Returns the position of the record's line in `used`; `None` if no expression uses the line.
    pub(crate) fn place_of_line(&self) -> Option<usize> {
        self.place_of_line
    }

    /// Returns `true` if SQLite must evaluate at least one expression for each record.
    pub(crate) fn evaluates(&self) -> bool {
        self.filter.is_some() || !self.expressions.is_empty()
    }

    /// Evaluates all expressions for a record of NULLs, to find malformed regular expressions before the file is read.
    fn try_patterns(&self) -> Result<()> {
        for layer in &self.layers {
            let expressions = layer.expressions.iter().map(|at| &self.expressions[*at]);
            for expression in self.filter.iter().chain(expressions) {
                let names: Vec<&str> = expression.uses.iter().map(|(name, _)| name.as_str()).collect();
                try_patterns(&expression.sql, &names, &expression.given, &self.functions, &WORDS)?;
            }
        }
        Ok(())
    }
}

/// The names that the next expression sees.
struct Scope<'a> {
    table: &'a str,
    functions: &'a Functions,
    names: Vec<(String, Origin)>,
    /// The columns with the name of the file and the line of the record, which `*` does not include. A column of the same name takes
    /// precedence.
    hidden: Vec<(String, Origin)>,
    expressions: Vec<Expression>,
}

impl Scope<'_> {
    /// Returns the names that an expression sees.
    fn seen(&self) -> impl Iterator<Item = &(String, Origin)> {
        let is_hidden = |(hidden, _): &&(String, Origin)| {
            self.names.iter().any(|(name, _)| name.eq_ignore_ascii_case(hidden))
        };
        self.names.iter().chain(self.hidden.iter().filter(move |hidden| !is_hidden(hidden)))
    }

    /// Returns the columns that an expression may name.
    fn columns(&self) -> RowColumns<'_> {
        RowColumns {
            functions: self.functions,
            table: self.table,
            names: self.seen().map(|(name, _)| name.as_str()).collect(),
            listed: self.names.len(),
            words: &WORDS,
        }
    }

    /// Checks an expression. For messages, `setting` is the name of the setting with the expression, and `given` the setting with its
    /// value.
    fn check(&self, sql: &str, setting: Message, given: Message) -> Result<Expression> {
        let used = self.columns().check(sql, setting, given.clone())?;
        let uses = used.into_iter().filter_map(|at| self.seen().nth(at).cloned()).collect();
        Ok(Expression { sql: sql.to_owned(), given, uses })
    }

    /// Adds a column with the results of an expression, or replaces the column of this name.
    fn set(&mut self, column: &str, expression: Expression) {
        let origin = Origin::Result(self.expressions.len());
        self.expressions.push(expression);
        match self.names.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case(column)) {
            Some((_, before)) => *before = origin,
            None => self.names.push((column.to_owned(), origin)),
        }
    }

    fn place(&self, column: &str, setting: Setting) -> Result<usize> {
        let found = self.names.iter().position(|(name, _)| name.eq_ignore_ascii_case(column));
        found.ok_or_else(|| {
            self.columns().refuse(setting.into(), setting.into(), &format!("no such column: {column}"))
        })
    }

    fn exclude_and_rename(&mut self, load: &Load) -> Result<()> {
        let excluded = load.excluded.iter().map(|column| self.place(column, Setting::ExcludeColumns));
        let excluded: Vec<usize> = excluded.collect::<Result<_>>()?;
        let renames = load.renames.iter().map(|(old, new)| {
            let place = self.place(old, Setting::Rename)?;
            if excluded.contains(&place) {
                let message = message![Setting::Rename, format!(" renames {old:?}, which is left out")];
                return Err(Error::usage(message));
            }
            Ok((place, new.clone()))
        });
        for (place, new) in renames.collect::<Result<Vec<_>>>()? {
            self.names[place].0 = new;
        }
        let mut at = 0;
        self.names.retain(|_| {
            at += 1;
            !excluded.contains(&(at - 1))
        });
        Ok(())
    }

    /// Replaces the visible columns by the columns and expressions of a list, as after SELECT.
    fn select(&mut self, list: &str) -> Result<()> {
        let given = || Message::from(Setting::Select.to(list.to_owned()));
        let mut selected: Vec<(String, Origin)> = Vec::new();
        for item in list::items(list)? {
            if item.expression == "*" {
                selected.extend(self.names.iter().cloned());
                continue;
            }
            // The last word is a name without AS if the words before it are an expression, but all words together are none.
            let whole = self.check(&item.expression, Setting::Select.into(), given());
            let (sql, name, checked) = match (whole, item.name, item.last) {
                (Err(_), None, Some((before, name)))
                    if self.check(&before, Setting::Select.into(), given()).is_ok() =>
                {
                    let checked = self.check(&before, Setting::Select.into(), given())?;
                    (before, Some(name), checked)
                }
                (whole, name, _) => (item.expression, name, whole?),
            };
            let column = self.column_named_by(&sql);
            let name = match (name, column) {
                (Some(name), _) => name,
                (None, Some(place)) => self.names[place].0.clone(),
                (None, None) => sql.clone(),
            };
            let origin = match column {
                Some(place) => self.names[place].1,
                None => {
                    self.expressions.push(checked);
                    Origin::Result(self.expressions.len() - 1)
                }
            };
            selected.push((name, origin));
        }
        self.names = selected;
        Ok(())
    }

    /// Returns the index of a column if the whole expression is its name; otherwise `None`.
    fn column_named_by(&self, sql: &str) -> Option<usize> {
        let tokens: Vec<_> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
        let [only] = &tokens[..] else { return None };
        let name = only.name(sql).filter(|_| matches!(only.kind, TokenKind::Word | TokenKind::QuotedName))?;
        self.names.iter().position(|(other, _)| other.eq_ignore_ascii_case(&name))
    }
}

/// The keywords of a condition that is NULL only if one of its columns is.
const KEEPS_NULL: [&str; 5] = ["and", "between", "in", "not", "or"];

/// Returns `true` if an expression only compares columns and literals. It is then NULL only where one of its columns is. Operators
/// that can make NULL of other values, functions, CASE and the word NULL are not allowed.
fn only_compares(sql: &str, has_column: impl Fn(&str) -> bool) -> bool {
    let tokens: Vec<_> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let opens = |at: usize| tokens.get(at).is_some_and(|token| token.is_symbol(sql, "("));
    tokens.iter().enumerate().all(|(at, token)| match token.kind {
        TokenKind::Word => {
            let is_keyword = KEEPS_NULL.iter().any(|keyword| token.is_word(sql, keyword));
            // These words are keywords here: a column of such a name would be in quotes.
            let makes_null = ["case", "null"].iter().any(|keyword| token.is_word(sql, keyword));
            is_keyword || has_column(token.text(sql)) && !makes_null && !opens(at + 1)
        }
        TokenKind::QuotedName => token.name(sql).is_some_and(|name| has_column(&name)) && !opens(at + 1),
        TokenKind::String | TokenKind::Number => true,
        TokenKind::Symbol => matches!(token.text(sql), "(" | ")" | "," | "=" | "<" | ">" | "!"),
        TokenKind::LineComment | TokenKind::BlockComment => true,
    })
}

/// Divides expressions into layers. The filter is part of the first layer.
fn layers(filter: Option<&Expression>, expressions: &[Expression]) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    let mut layer_of: Vec<usize> = Vec::new();
    if let Some(filter) = filter {
        layers.push(Layer { names: filter.uses.clone(), expressions: Vec::new() });
    }
    for (index, expression) in expressions.iter().enumerate() {
        let least = expression.uses.iter().map(|(_, origin)| match origin {
            Origin::Input(_) => 0,
            Origin::Result(before) => layer_of[*before] + 1,
        });
        let mut at = least.max().unwrap_or(0);
        // Within a layer, a name must not have two origins.
        let clashes = |layer: &Layer| {
            expression.uses.iter().any(|(name, origin)| {
                layer
                    .names
                    .iter()
                    .any(|(other, of_other)| other.eq_ignore_ascii_case(name) && of_other != origin)
            })
        };
        while layers.get(at).is_some_and(clashes) {
            at += 1;
        }
        if layers.len() <= at {
            layers.resize_with(at + 1, Layer::default);
        }
        let layer = &mut layers[at];
        let new =
            expression.uses.iter().filter(|used| !layer.names.contains(used)).cloned().collect::<Vec<_>>();
        layer.names.extend(new);
        layer.expressions.push(index);
        layer_of.push(at);
    }
    layers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_only_compare_columns_with_literals_are_recognised() {
        let has_column =
            |name: &str| ["a", "b c", "abs", "null"].iter().any(|known| known.eq_ignore_ascii_case(name));
        for sql in [
            "a > 0",
            "A >= 1.5 AND [b c] <> 'x' OR NOT (a = \"b c\")",
            "a BETWEEN 1 AND 3 -- few",
            "a NOT IN (1, 'x')",
            "abs",
            "a < \"null\"",
        ] {
            assert!(only_compares(sql, has_column), "{sql}");
        }
        for sql in [
            "a / b > 1",
            "a - 1 = 0",
            "abs(a) > 1",
            "\"abs\"(a) > 1",
            "a = NULL",
            "CASE a WHEN 1 THEN 1 END",
            "a -> '$.x'",
            "d = 1",
        ] {
            assert!(!only_compares(sql, has_column), "{sql}");
        }
    }
}
