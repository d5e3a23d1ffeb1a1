//! Rules: the constraints of a table that generated rows may break, as SQL terms that SQLite computes for a row.

use std::collections::HashSet;

use sqluice_core::schema::declaration::{ConstraintKind, Declaration};
use sqluice_core::schema::index::{Index, IndexOrigin, Indexed};
use sqluice_core::schema::token::{Token, TokenKind, enclosed, tokens};
use sqluice_core::schema::{Reference, Schema, Table, quoted};

use crate::generator::{Generate, Parent};
use crate::parse::{Expr, ExprNode, parse};
use crate::table_spec::{ColumnSpec, TableSpec};

/// The number of rows up to which all CHECKs and keys of several columns of a table are tested. In larger tables, the test skips keys that
/// are unique by construction, and CHECKs of one column that a sample of rows satisfies.
pub(super) const ALL_TESTED: u64 = 1_000_000;

/// A constraint of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Constraint {
    /// A CHECK, with its text.
    Check(String),
    /// A PRIMARY KEY or UNIQUE constraint, with its columns.
    Key(Vec<usize>),
    /// A unique index that a statement creates, with its name.
    Index(String),
    /// A foreign key: its index in [`Table::references`].
    Foreign(usize),
}

impl Constraint {
    /// Returns the constraint in words, for a report.
    pub fn in_words(&self, table: &Table) -> String {
        let list = |columns: &[usize]| {
            columns.iter().map(|column| table.columns[*column].name.clone()).collect::<Vec<_>>().join(", ")
        };
        match self {
            Constraint::Check(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
            Constraint::Key(columns) if table.primary_key().as_ref() == Some(columns) => {
                format!("PRIMARY KEY ({})", list(columns))
            }
            Constraint::Key(columns) => format!("UNIQUE ({})", list(columns)),
            Constraint::Index(name) => format!("UNIQUE of index {name}"),
            Constraint::Foreign(number) => {
                let Reference { columns, parent, .. } = &table.references[*number];
                format!("FOREIGN KEY ({}) REFERENCES {parent}", list(columns))
            }
        }
    }
}

/// The condition that the terms of a rule must satisfy.
#[derive(Clone, Debug)]
pub(super) enum Condition {
    /// The term is not false.
    True,
    /// No two rows have equal terms.
    Different,
    /// The terms equal a key of the parent table. The set has the hashes of all these keys.
    Among(HashSet<u64>),
}

/// A constraint, as SQL terms and the condition that their values must satisfy.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) constraint: Constraint,
    pub(super) condition: Condition,
    /// The WHERE, if the constraint is a partial index: the rule applies only to rows for which the WHERE is true.
    pub(super) filter: Option<String>,
    pub(super) terms: Vec<String>,
    /// The columns that the terms and the filter name.
    pub(super) columns: Vec<usize>,
}

/// A table whose rules are built, with its spec and its row count.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject<'t> {
    pub(super) schema: &'t Schema,
    pub(super) table: &'t Table,
    pub(super) spec: &'t TableSpec,
    pub(super) rows: u64,
}

impl Subject<'_> {
    /// Returns the constraints that rows may break. `broken` has the CHECKs that a sample of rows breaks.
    pub(super) fn rules(&self, broken: &[String]) -> Vec<Rule> {
        let mut rules = self.checks(broken);
        let indexes = self.table.clustered.iter().chain(&self.table.indexes).filter(|index| index.unique);
        rules.extend(indexes.filter(|index| !self.holds(index)).filter_map(|index| self.unique(index)));
        rules.extend((0..self.table.references.len()).filter_map(|number| self.foreign(number)));
        rules
    }

    fn checks(&self, broken: &[String]) -> Vec<Rule> {
        let Some(declaration) = Declaration::of(&self.table.sql) else { return Vec::new() };
        let constraints = declaration.constraints();
        let checks = constraints.iter().filter(|constraint| constraint.kind == ConstraintKind::Check);
        let rule = |text: &str| {
            let list: Vec<Token> = tokens(text).into_iter().filter(|token| !token.is_comment()).collect();
            let expression = enclosed(text, list.get(1..)?)?;
            let columns = named(expression, self.table);
            let short = expression.split_whitespace().collect::<Vec<_>>().join(" ");
            let is_tested = self.rows <= ALL_TESTED || columns.len() > 1 || broken.contains(&short);
            is_tested.then(|| Rule {
                constraint: Constraint::Check(text.to_owned()),
                condition: Condition::True,
                filter: None,
                terms: vec![expression.to_owned()],
                columns,
            })
        };
        checks.filter_map(|check| rule(check.text)).collect()
    }

    /// Returns `true` if the expressions of the columns already ensure that no two rows have the same key in a unique index.
    fn holds(&self, index: &Index) -> bool {
        if index.partial {
            return false;
        }
        let key = &index.columns[..index.key_columns];
        let columns: Vec<usize> = key
            .iter()
            .filter_map(|column| match column.value {
                Indexed::Column(of) if column.collation == "BINARY" => Some(of),
                _ => None,
            })
            .collect();
        if columns.len() == 1 && key.len() == 1 {
            return self.is_different(columns[0]);
        }
        let groups = || columns.iter().map(|column| self.table.columns[*column].name.as_str());
        self.rows > ALL_TESTED
            && columns.iter().any(|column| {
                self.is_different(*column)
                    || self.spec.columns.get(*column).is_some_and(|spec| differs_within(spec, groups()))
            })
    }

    /// Returns `true` if the expression of a column ensures that no value is repeated.
    fn is_different(&self, column: usize) -> bool {
        let different = ["distinct", "row", "keys", "numbered", "uuid4", "uuid7", "permutation"];
        let Some(Ok(expression)) = self.spec.columns.get(column).map(|spec| parse(&spec.expression, 0))
        else {
            return false;
        };
        let mut expression = &expression;
        loop {
            match &expression.node {
                ExprNode::Call { name, arguments }
                    if is_one(name, &["nulls", "null"]) && arguments.len() == 2 =>
                {
                    expression = &arguments[1].value;
                }
                ExprNode::Binary { left, right, .. } => {
                    expression = if let ExprNode::Literal(_) = left.node { right } else { left };
                }
                ExprNode::Call { name, .. } => return is_one(name, &different),
                _ => return false,
            }
        }
    }

    fn unique(&self, index: &Index) -> Option<Rule> {
        let written = index.sql.as_deref().and_then(Written::of);
        let mut terms = Vec::new();
        let mut columns = Vec::new();
        for (at, column) in index.columns[..index.key_columns].iter().enumerate() {
            let term = match column.value {
                Indexed::Column(of) => {
                    columns.push(of);
                    quoted(&self.table.columns[of].name)
                }
                Indexed::Expression => {
                    let term = written.as_ref()?.terms.get(at)?.clone();
                    columns.extend(named(&term, self.table));
                    term
                }
                Indexed::Rowid => return None,
            };
            // The terms of texts that are equal in the collation of the index must be equal.
            let folded = match &*column.collation {
                "NOCASE" => "lower",
                "RTRIM" => "rtrim",
                _ => "",
            };
            terms.push(match folded {
                "" => format!("({term}\n)"),
                function => {
                    format!("CASE typeof({term}\n) WHEN 'text' THEN {function}({term}\n) ELSE ({term}\n) END")
                }
            });
        }
        let filter = written.and_then(|written| written.filter);
        if let Some(filter) = &filter {
            columns.extend(named(filter, self.table));
        }
        columns.sort_unstable();
        columns.dedup();
        let constraint = match index.origin {
            IndexOrigin::Statement => Constraint::Index(index.name.clone()),
            _ => Constraint::Key(columns.clone()),
        };
        let constraint = match (constraint, self.table.primary_key()) {
            // Name the columns in the order of the declared key.
            (Constraint::Key(columns), Some(key)) if sorted(&key) == columns => Constraint::Key(key),
            (constraint, _) => constraint,
        };
        Some(Rule { constraint, condition: Condition::Different, filter, terms, columns })
    }

    /// Returns the rule of a foreign key, or `None` if the generator takes the values from the parent rows. The caller adds the hashes of
    /// the parent's keys.
    fn foreign(&self, number: usize) -> Option<Rule> {
        let reference = &self.table.references[number];
        let (parent, key) = self.parent(number)?;
        if let ([column], [key]) = (&reference.columns[..], &key[..]) {
            let generator = self.spec.columns[*column].generator.as_deref();
            let made = generator.and_then(Generate::parent);
            if made.is_some_and(|made| made.table() == parent && Parent::column(made) == Some(*key)) {
                return None;
            }
        }
        let terms = reference.columns.iter().map(|column| quoted(&self.table.columns[*column].name));
        Some(Rule {
            constraint: Constraint::Foreign(number),
            condition: Condition::Among(HashSet::new()),
            filter: None,
            terms: terms.collect(),
            columns: reference.columns.clone(),
        })
    }

    /// Returns the index in the schema of the parent table of a reference, and the referenced columns. Returns `None` if the schema does
    /// not have this table or these columns. `number` is the index of the reference in [`Table::references`].
    pub(super) fn parent(&self, number: usize) -> Option<(usize, Vec<usize>)> {
        let reference = &self.table.references[number];
        let parent = self.schema.place(&reference.parent)?;
        let table = &self.schema.tables[parent];
        let key = match reference.parent_columns.is_empty() {
            true => table.primary_key()?,
            false => reference.parent_columns.iter().map(|name| table.column(name)).collect::<Option<_>>()?,
        };
        (key.len() == reference.columns.len()).then_some((parent, key))
    }
}

fn sorted(columns: &[usize]) -> Vec<usize> {
    let mut sorted = columns.to_vec();
    sorted.sort_unstable();
    sorted
}

fn is_one(name: &str, of: &[&str]) -> bool {
    of.iter().any(|one| name.eq_ignore_ascii_case(one))
}

/// Returns `true` if the values of a column differ within the groups of one of these columns.
fn differs_within<'n>(spec: &ColumnSpec, mut groups: impl Iterator<Item = &'n str>) -> bool {
    let Ok(Expr { node, .. }) = parse(&spec.expression, 0) else { return false };
    let ExprNode::Call { name, arguments } = node else { return false };
    let Some(ExprNode::Column { of: None, name: group }) =
        arguments.first().map(|argument| &argument.value.node)
    else {
        return false;
    };
    is_one(&name, &["ordinal", "within"]) && groups.any(|column| column.eq_ignore_ascii_case(group))
}

/// Returns the columns that an SQL expression names, without duplicates.
pub(super) fn named(expression: &str, table: &Table) -> Vec<usize> {
    let names = tokens(expression).into_iter().filter_map(|token| match token.kind {
        TokenKind::Word | TokenKind::QuotedName => token.name(expression),
        _ => None,
    });
    let columns: HashSet<usize> = names.filter_map(|name| table.column(&name)).collect();
    sorted(&columns.into_iter().collect::<Vec<_>>())
}

/// The terms and the condition of a CREATE INDEX statement.
struct Written {
    terms: Vec<String>,
    filter: Option<String>,
}

impl Written {
    fn of(sql: &str) -> Option<Written> {
        let tokens: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
        let on = tokens.iter().position(|token| token.is_word(sql, "ON"))?;
        let open = on + tokens[on..].iter().position(|token| token.is_symbol(sql, "("))?;
        let mut terms = Vec::new();
        let (mut depth, mut begin, mut close) = (0, open + 1, open);
        for (at, token) in tokens.iter().enumerate().skip(open) {
            match token.text(sql) {
                "(" => depth += 1,
                ")" => depth -= 1,
                _ => {}
            }
            if depth == 0 || depth == 1 && token.is_symbol(sql, ",") {
                let ends = ["ASC", "DESC"];
                let has_order = ends.iter().any(|word| tokens[at - 1].is_word(sql, word));
                let last = if has_order { at - 2 } else { at - 1 };
                terms.push(sql.get(tokens.get(begin)?.at.start..tokens.get(last)?.at.end)?.to_owned());
                begin = at + 1;
            }
            if depth == 0 {
                close = at;
                break;
            }
        }
        let condition = tokens.get(close + 1).filter(|token| token.is_word(sql, "WHERE"));
        let filter = condition.and_then(|token| {
            let last = tokens.iter().rev().find(|token| !token.is_symbol(sql, ";"))?;
            Some(sql.get(token.at.end..last.at.end)?.to_owned())
        });
        Some(Written { terms, filter })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_terms_and_the_condition_in_a_create_index_statement_are_found() {
        let sql = "CREATE UNIQUE INDEX i ON t (lower(a, ',') DESC, b COLLATE NOCASE, (c + 1)) WHERE d > 0 -- end\n;";
        let written = Written::of(sql).unwrap();
        assert_eq!(written.terms, ["lower(a, ',')", "b COLLATE NOCASE", "(c + 1)"]);
        assert_eq!(written.filter.unwrap().trim(), "d > 0");
    }
}
