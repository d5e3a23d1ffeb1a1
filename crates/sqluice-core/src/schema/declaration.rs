//! The parts of a CREATE TABLE statement: its columns and constraints, some of which no PRAGMA of SQLite shows.
//!
//! ```text
//!  CREATE TABLE t ( a INT NOT NULL , b TEXT UNIQUE CHECK (b <> '') , PRIMARY KEY (a, b) CHECK (a > 0) ) STRICT
//!                   └── column ──┘   └───────── column ─────────┘    └─── constraints ──────────────┘
//! ```
//!
//! SQLite has accepted the statement already, so its syntax is not checked.

use std::ops::Range;

use super::token::{self, Token, TokenKind, tokens};

/// A CREATE TABLE statement, cut into parts.
#[derive(Clone, Debug)]
pub struct Declaration<'s> {
    sql: &'s str,
    /// The tokens without comments.
    tokens: Vec<Token>,
    /// The index of the token that opens the list of columns, a parenthesis.
    open: usize,
    /// The index of the token that closes the list of columns.
    close: usize,
    columns: Vec<Range<usize>>,
    constraints: Vec<Range<usize>>,
}

/// A column as it is declared.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeclaredColumn<'s> {
    /// The name of the column.
    pub name: String,
    /// The whole text, without comments at its ends.
    pub text: &'s str,
    /// The name of the collation in capitals; `None`: the column declares none, which means BINARY.
    pub collation: Option<String>,
    /// The DEFAULT in normal form: words and names in lower case, quotes only where they matter; `None` without a DEFAULT.
    pub default: Option<String>,
    /// The expression that computes the column, in normal form, and `stored` after it if the column is STORED; `None` for a column that is
    /// not generated.
    pub generated: Option<String>,
    /// The expression that computes the column, as it is written; `None` for a column that is not generated.
    pub expression: Option<&'s str>,
    /// NOT NULL with its ON CONFLICT clause, in normal form; `None` without NOT NULL.
    pub not_null: Option<String>,
}

/// A constraint of a table, or of one of its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Constraint<'s> {
    /// The kind of the constraint.
    pub kind: ConstraintKind,
    /// The columns of the key, in lower case; for a CHECK, all names in it.
    pub columns: Vec<String>,
    /// The definition of the constraint in normal form: equal constraints have equal definitions.
    pub says: String,
    /// The constraint as it is written.
    pub text: &'s str,
    /// The column whose declaration has the constraint, in lower case; `None`: the constraint follows the columns.
    pub column: Option<String>,
}

/// The kind of a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConstraintKind {
    /// PRIMARY KEY.
    PrimaryKey,
    /// UNIQUE.
    Unique,
    /// CHECK.
    Check,
    /// FOREIGN KEY, or REFERENCES of a column.
    References,
}

impl<'s> Declaration<'s> {
    /// Cuts a statement into parts. Returns `None` if it has no list in parentheses, such as `CREATE TABLE t AS SELECT 1`.
    pub fn of(sql: &'s str) -> Option<Declaration<'s>> {
        let tokens: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
        let open = tokens.iter().position(|token| token.is_symbol(sql, "("))?;
        let (items, close) = items(sql, &tokens, open)?;
        let is_constraint = |item: &Range<usize>| {
            let words = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
            tokens.get(item.start).is_some_and(|token| words.iter().any(|word| token.is_word(sql, word)))
        };
        let behind = items.iter().position(is_constraint).unwrap_or(items.len());
        let (columns, constraints) = (items[..behind].to_vec(), items[behind..].to_vec());
        Some(Declaration { sql, tokens, open, close, columns, constraints })
    }

    /// Returns the tokens before the list of columns, the tokens of each item of the list, and the tokens from its closing parenthesis on.
    pub fn lines(&self) -> (&[Token], Vec<&[Token]>, &[Token]) {
        let items = self.columns.iter().chain(&self.constraints).map(|item| &self.tokens[item.clone()]);
        (&self.tokens[..self.open], items.collect(), &self.tokens[self.close..])
    }

    /// Returns the number of items that are columns.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// Returns the columns.
    pub fn columns(&self) -> Vec<DeclaredColumn<'s>> {
        self.columns.iter().map(|item| Walk::of(self, item.clone()).column()).collect()
    }

    /// Returns the keys, CHECKs and references. The constraints in column declarations come first.
    pub fn constraints(&self) -> Vec<Constraint<'s>> {
        let of_columns = self.columns.iter().flat_map(|item| Walk::of(self, item.clone()).constraints());
        let of_table = self.constraints.iter().flat_map(|item| {
            let walk = Walk { sql: self.sql, tokens: &self.tokens[item.clone()], at: 0, own: None };
            walk.constraints()
        });
        of_columns.chain(of_table).collect()
    }

    /// Returns the statement with `columns` added after its last column, and `constraints` added at the end of the list.
    pub fn with(&self, columns: &[&str], constraints: &[&str]) -> String {
        let end_of = |token: usize| self.tokens[token].at.end;
        let last = self.columns.last().map_or(self.open, |item| item.end - 1);
        let (behind_columns, end) = (end_of(last), end_of(self.close - 1));
        let listed = |texts: &[&str]| texts.iter().map(|text| format!(", {text}")).collect::<String>();
        let (before, rest) = self.sql.split_at(behind_columns);
        let (between, after) = rest.split_at(end - behind_columns);
        format!("{before}{}{between}{}{after}", listed(columns), listed(constraints))
    }
}

/// Returns the items of the list that opens at token `open`, as ranges of tokens, and the index of the token that closes the list; `None`
/// if the list is not closed.
fn items(sql: &str, tokens: &[Token], open: usize) -> Option<(Vec<Range<usize>>, usize)> {
    let mut items = Vec::new();
    let (mut depth, mut begin) = (1, open + 1);
    for (at, token) in tokens.iter().enumerate().skip(open + 1) {
        match token.text(sql) {
            "(" => depth += 1,
            ")" if depth == 1 => {
                items.push(begin..at);
                return Some((items, at));
            }
            ")" => depth -= 1,
            "," if depth == 1 => {
                items.push(begin..at);
                begin = at + 1;
            }
            _ => {}
        }
    }
    None
}

/// Words that are values if they are not quoted.
const VALUES: &[&str] = &["null", "true", "false", "current_date", "current_time", "current_timestamp"];

/// Returns tokens in normal form: words and names in lower case, and quotes only where they matter.
fn normal(sql: &str, tokens: &[Token]) -> String {
    let word = |token: &Token| match token.kind {
        TokenKind::Word => token.text(sql).to_ascii_lowercase(),
        TokenKind::QuotedName => {
            let name = token.name(sql).unwrap_or_default().to_ascii_lowercase();
            let is_plain = name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
                && !name.starts_with(|letter: char| letter.is_ascii_digit())
                && !name.is_empty();
            if is_plain && !VALUES.contains(&&*name) { name } else { super::quoted(&name) }
        }
        _ => token.text(sql).to_owned(),
    };
    let mut text = String::new();
    for (at, token) in tokens.iter().enumerate() {
        if at > 0 && !is_one_operator(sql, &tokens[at - 1], token) {
            text.push(' ');
        }
        text.push_str(&word(token));
    }
    text
}

/// Returns `true` if two tokens are one operator, such as `<>` or `||`.
fn is_one_operator(sql: &str, first: &Token, second: &Token) -> bool {
    let is_part = |token: &Token| matches!(token.text(sql), "<" | ">" | "=" | "!" | "|");
    first.at.end == second.at.start && is_part(first) && is_part(second)
}

/// Returns the tokens without pairs of parentheses that enclose all of the tokens.
fn bare<'t>(sql: &str, mut tokens: &'t [Token]) -> &'t [Token] {
    while let [first, .., _] = tokens
        && first.is_symbol(sql, "(")
        && group(sql, tokens) == tokens.len()
    {
        tokens = &tokens[1..tokens.len() - 1];
    }
    tokens
}

/// Returns the number of tokens from the parenthesis that `tokens` begins with to the end of that parenthesis; 0 if `tokens` does not begin
/// with a parenthesis.
fn group(sql: &str, tokens: &[Token]) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match token.text(sql) {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return if at == 0 { 0 } else { at + 1 };
        }
    }
    tokens.len()
}

/// A walk through the tokens of a column or of constraints.
struct Walk<'s, 't> {
    sql: &'s str,
    tokens: &'t [Token],
    at: usize,
    /// The name of the column whose declaration has the tokens; `None` for constraints after the columns.
    own: Option<String>,
}

/// A clause of a column or a table.
enum Clause<'s> {
    Constraint(Constraint<'s>),
    NotNull(String),
    Collate(String),
    Default(String),
    Generated { says: String, expression: &'s str },
}

impl<'s, 't> Walk<'s, 't> {
    /// Begins a walk through a column, behind its name.
    fn of(declaration: &'t Declaration<'s>, item: Range<usize>) -> Walk<'s, 't> {
        let (sql, tokens) = (declaration.sql, &declaration.tokens[item]);
        Walk { sql, tokens, at: 1, own: tokens.first().and_then(|name| name.name(sql)) }
    }

    fn column(mut self) -> DeclaredColumn<'s> {
        let mut column = DeclaredColumn {
            name: self.own.clone().unwrap_or_default(),
            text: "",
            collation: None,
            default: None,
            generated: None,
            expression: None,
            not_null: None,
        };
        column.text = match self.tokens {
            [first, .., last] => &self.sql[first.at.start..last.at.end],
            [only] => only.text(self.sql),
            [] => "",
        };
        while let Some(clause) = self.next() {
            match clause {
                Clause::Constraint(_) => {}
                Clause::NotNull(says) => column.not_null = Some(says),
                Clause::Collate(name) => column.collation = Some(name),
                Clause::Default(says) => column.default = Some(says),
                Clause::Generated { says, expression } => {
                    (column.generated, column.expression) = (Some(says), Some(expression));
                }
            }
        }
        column
    }

    fn constraints(mut self) -> Vec<Constraint<'s>> {
        let mut constraints = Vec::new();
        while let Some(clause) = self.next() {
            if let Clause::Constraint(constraint) = clause {
                constraints.push(constraint);
            }
        }
        constraints
    }

    fn is(&self, words: &[&str]) -> bool {
        let at = |(place, word): (usize, &&str)| {
            self.tokens.get(self.at + place).is_some_and(|token| token.is_word(self.sql, word))
        };
        words.iter().enumerate().all(at)
    }

    /// Skips these words and returns `true`, if they come next.
    fn takes(&mut self, words: &[&str]) -> bool {
        let takes = self.is(words);
        self.at += if takes { words.len() } else { 0 };
        takes
    }

    /// Skips a list in parentheses, and returns it with the parentheses.
    fn group(&mut self) -> &'t [Token] {
        let rest = &self.tokens[self.at.min(self.tokens.len())..];
        let group = &rest[..group(self.sql, rest)];
        self.at += group.len();
        group
    }

    /// Returns the text from a token to the token before the current one.
    fn text(&self, from: usize) -> &'s str {
        let last = self.at.clamp(from + 1, self.tokens.len().max(from + 1)) - 1;
        match (self.tokens.get(from), self.tokens.get(last)) {
            (Some(first), Some(last)) => &self.sql[first.at.start..last.at.end],
            _ => "",
        }
    }

    /// Skips an ON CONFLICT clause, and returns it in normal form; empty if there is none, or if it is ABORT, SQLite's default.
    fn conflict(&mut self) -> String {
        if !self.takes(&["ON", "CONFLICT"]) {
            return String::new();
        }
        self.at += 1;
        match normal(self.sql, &self.tokens[self.at - 1..self.at.min(self.tokens.len())]).as_str() {
            "abort" => String::new(),
            other => format!(" on conflict {other}"),
        }
    }

    /// Returns the next clause; `None` after the last.
    fn next(&mut self) -> Option<Clause<'s>> {
        while self.at < self.tokens.len() {
            let from = self.at;
            if self.takes(&["CONSTRAINT"]) {
                self.at += 1;
            } else if self.takes(&["PRIMARY", "KEY"]) {
                return Some(self.key(from, ConstraintKind::PrimaryKey));
            } else if self.takes(&["UNIQUE"]) {
                return Some(self.key(from, ConstraintKind::Unique));
            } else if self.takes(&["CHECK"]) {
                return Some(self.check(from));
            } else if self.takes(&["NOT", "NULL"]) {
                return Some(Clause::NotNull(format!("not null{}", self.conflict())));
            } else if self.takes(&["COLLATE"]) {
                self.at += 1;
                let name = self.tokens.get(self.at - 1).and_then(|token| token.name(self.sql));
                return Some(Clause::Collate(name.unwrap_or_default().to_ascii_uppercase()));
            } else if self.takes(&["DEFAULT"]) {
                return Some(Clause::Default(self.default()));
            } else if self.takes(&["GENERATED", "ALWAYS", "AS"]) || self.takes(&["AS"]) {
                let group = self.group();
                let expression = token::enclosed(self.sql, group).unwrap_or_default();
                let says = normal(self.sql, bare(self.sql, group));
                let stored = if self.takes(&["STORED"]) { " stored" } else { "" };
                return Some(Clause::Generated { says: format!("({says}){stored}"), expression });
            } else if self.is(&["FOREIGN", "KEY"]) || self.is(&["REFERENCES"]) {
                return Some(self.references(from));
            } else {
                // Skip a word of the declared type, or of a clause that no caller needs.
                self.at += usize::from(self.group().is_empty());
            }
        }
        None
    }

    /// Returns the names of the columns in a list in parentheses, in lower case.
    fn names(&self, list: &[Token]) -> Vec<String> {
        let starts = list
            .windows(2)
            .filter(|pair| pair[0].is_symbol(self.sql, "(") || pair[0].is_symbol(self.sql, ","));
        starts.filter_map(|pair| Some(pair[1].name(self.sql)?.to_ascii_lowercase())).collect()
    }

    fn own(&self) -> Vec<String> {
        self.own.iter().map(|name| name.to_ascii_lowercase()).collect()
    }

    fn constraint(
        &self,
        from: usize,
        kind: ConstraintKind,
        columns: Vec<String>,
        says: String,
    ) -> Clause<'s> {
        let (text, column) = (self.text(from), self.own.as_ref().map(|name| name.to_ascii_lowercase()));
        Clause::Constraint(Constraint { kind, columns, says, text, column })
    }

    /// Returns the clause of a key. Its normal form leaves out AUTOINCREMENT, and the order and the direction (ASC, DESC) of the columns,
    /// because they do not change which values the key accepts.
    fn key(&mut self, from: usize, kind: ConstraintKind) -> Clause<'s> {
        let list = self.group();
        let columns = if list.is_empty() { self.own() } else { self.names(list) };
        let mut parts: Vec<String> = match list {
            [] => columns.clone(),
            _ => (list[1..list.len() - 1].split(|token| token.is_symbol(self.sql, ",")))
                .map(|part| {
                    let says_nothing = ["ASC", "DESC", "AUTOINCREMENT"];
                    let part = part
                        .iter()
                        .filter(|token| !says_nothing.iter().any(|word| token.is_word(self.sql, word)));
                    normal(self.sql, &part.cloned().collect::<Vec<_>>())
                })
                .collect(),
        };
        parts.sort_unstable();
        let _ = self.takes(&["ASC"]) || self.takes(&["DESC"]);
        let conflict = self.conflict();
        let _ = self.takes(&["AUTOINCREMENT"]);
        self.constraint(from, kind, columns, format!("({}){conflict}", parts.join(", ")))
    }

    fn check(&mut self, from: usize) -> Clause<'s> {
        let list = bare(self.sql, self.group());
        let is_name = |token: &&Token| matches!(token.kind, TokenKind::Word | TokenKind::QuotedName);
        let names = list.iter().filter(is_name).filter_map(|token| token.name(self.sql));
        let columns = names.map(|name| name.to_ascii_lowercase()).collect();
        let says = format!("({})", normal(self.sql, list));
        let clause = self.constraint(from, ConstraintKind::Check, columns, says);
        // The ON CONFLICT clause of a CHECK is skipped, and is no part of the normal form.
        self.conflict();
        clause
    }

    /// Returns a DEFAULT in normal form: a literal with its sign, a name, or an expression in parentheses.
    fn default(&mut self) -> String {
        let list = self.group();
        if !list.is_empty() {
            return normal(self.sql, bare(self.sql, list));
        }
        let from = self.at;
        let is_sign = |token: &Token| token.is_symbol(self.sql, "-") || token.is_symbol(self.sql, "+");
        while self.tokens.get(self.at).is_some_and(is_sign) {
            self.at += 1;
        }
        self.at = (self.at + 1).min(self.tokens.len());
        normal(self.sql, &self.tokens[from..self.at])
    }

    fn references(&mut self, from: usize) -> Clause<'s> {
        let columns = match self.takes(&["FOREIGN", "KEY"]) {
            true => {
                let list = self.group();
                self.names(list)
            }
            false => self.own(),
        };
        let begin = self.at;
        self.takes(&["REFERENCES"]);
        self.at += 1;
        self.group();
        loop {
            if self.takes(&["ON", "DELETE"]) || self.takes(&["ON", "UPDATE"]) || self.takes(&["ON", "INSERT"])
            {
                let _ = self.takes(&["SET"]) || self.takes(&["NO"]);
                self.at += 1;
            } else if self.takes(&["MATCH"]) {
                self.at += 1;
            } else if self.takes(&["NOT", "DEFERRABLE"]) || self.takes(&["DEFERRABLE"]) {
                if self.takes(&["INITIALLY"]) {
                    self.at += 1;
                }
            } else {
                break;
            }
        }
        let end = self.at.min(self.tokens.len());
        let says = format!("({}) {}", columns.join(", "), normal(self.sql, &self.tokens[begin..end]));
        self.constraint(from, ConstraintKind::References, columns, says)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(sql: &str) -> Vec<String> {
        let declaration = Declaration::of(sql).unwrap();
        let constraints = declaration.constraints();
        constraints.iter().map(|one| format!("{:?} {}", one.kind, one.says)).collect()
    }

    #[test]
    fn a_constraint_of_a_column_equals_the_same_constraint_of_the_table() {
        let of_columns = "CREATE TABLE t (a INTEGER PRIMARY KEY AUTOINCREMENT, b TEXT UNIQUE CHECK (b <> ''), c INT REFERENCES p (x) ON DELETE SET NULL DEFERRABLE INITIALLY DEFERRED NOT NULL)";
        let of_table = "CREATE TABLE t (\"a\" integer, [b] text, c int not null, constraint k Primary Key (A AUTOINCREMENT) UNIQUE (b), \
            CHECK ((\"b\" <> '')) FOREIGN KEY (C) references \"P\" (x) on delete set null deferrable initially deferred)";
        let (mut one, mut other) = (says(of_columns), says(of_table));
        one.sort();
        other.sort();
        assert_eq!(one, other);
        assert_eq!(one[0], "Check (b <> '')");
        assert_eq!(one[1], "PrimaryKey (a)");
        assert_eq!(one[3], "Unique (b)");
    }

    #[test]
    fn a_parsed_column_has_its_text_its_default_its_collation_and_its_other_clauses() {
        let sql = "CREATE TABLE t (a DECIMAL(10, 2) DEFAULT -5 NOT NULL ON CONFLICT IGNORE, -- the first\n \
            \"b c\" TEXT COLLATE nocase DEFAULT ('x') /* two */, d AS (a * 2) STORED, \"check\" DEFAULT \"null\", e DEFAULT NULL)";
        let columns = Declaration::of(sql).unwrap().columns();
        assert_eq!(columns[0].text, "a DECIMAL(10, 2) DEFAULT -5 NOT NULL ON CONFLICT IGNORE");
        assert_eq!(columns[0].default.as_deref(), Some("- 5"));
        assert_eq!(columns[0].not_null.as_deref(), Some("not null on conflict ignore"));
        assert_eq!((&*columns[1].name, columns[1].collation.as_deref()), ("b c", Some("NOCASE")));
        assert_eq!(
            (columns[1].text, columns[1].default.as_deref()),
            ("\"b c\" TEXT COLLATE nocase DEFAULT ('x')", Some("'x'"))
        );
        assert_eq!(columns[2].generated.as_deref(), Some("(a * 2) stored"));
        assert_eq!(columns[3].name, "check");
        assert_ne!(columns[3].default, columns[4].default);
    }

    #[test]
    fn an_added_column_stands_before_the_comment_behind_the_last_column() {
        let sql = "CREATE TABLE t (a INT, b TEXT -- last\n, UNIQUE (a) -- end\n) STRICT";
        let declaration = Declaration::of(sql).unwrap();
        let longer = declaration.with(&["c INT", "d ANY"], &["CHECK (c > 0)"]);
        let expected = "CREATE TABLE t (a INT, b TEXT, c INT, d ANY -- last\n, UNIQUE (a), CHECK (c > 0) -- end\n) STRICT";
        assert_eq!(longer, expected);
        assert_eq!(
            Declaration::of("CREATE TABLE t (a)").unwrap().with(&["b"], &["UNIQUE (b)"]),
            "CREATE TABLE t (a, b, UNIQUE (b))"
        );
    }
}
