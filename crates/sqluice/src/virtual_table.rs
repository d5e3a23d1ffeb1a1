//! CREATE VIRTUAL TABLE statements.

use sqluice_core::schema::token::{Token, TokenKind, tokens};

/// A CREATE VIRTUAL TABLE statement.
pub(crate) struct VirtualTableSql {
    /// The module of the table.
    pub(crate) module: String,
    /// The names and values of arguments that are options, such as `content = 'notes'`.
    options: Vec<(String, String)>,
}

impl VirtualTableSql {
    pub(crate) fn of(sql: &str) -> VirtualTableSql {
        let Parts { head, arguments } = Parts::of(sql);
        let module = head.last().and_then(|module| module.name(sql)).unwrap_or_default();
        let options = arguments.iter().filter_map(|argument| {
            let [name, equal, value, ..] = &argument[..] else { return None };
            if !equal.is_symbol(sql, "=") {
                return None;
            }
            let text = match value.kind {
                TokenKind::Word | TokenKind::QuotedName => value.name(sql)?,
                _ => value.text(sql).trim_matches('\'').replace("''", "'"),
            };
            Some((name.name(sql)?, text))
        });
        VirtualTableSql { module, options: options.collect() }
    }

    /// Returns the value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<String> {
        let mut options = self.options.iter();
        options.find(|(option, _)| option.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    }
}

/// The parts of a CREATE VIRTUAL TABLE statement, without comments.
pub(crate) struct Parts {
    /// The tokens up to the name of the module.
    pub(crate) head: Vec<Token>,
    /// The tokens of each argument.
    pub(crate) arguments: Vec<Vec<Token>>,
}

impl Parts {
    /// Returns the parts of a statement.
    pub(crate) fn of(sql: &str) -> Parts {
        let mut head: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
        let using = head.iter().position(|token| token.is_word(sql, "USING")).unwrap_or(head.len());
        let rest = head.split_off((using + 2).min(head.len()));
        let (mut arguments, mut depth) = (Vec::new(), 0);
        for token in rest {
            if token.is_symbol(sql, "(") {
                depth += 1;
                if depth == 1 {
                    arguments.push(Vec::new());
                    continue;
                }
            } else if token.is_symbol(sql, ")") {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            } else if token.is_symbol(sql, ",") && depth == 1 {
                arguments.push(Vec::new());
                continue;
            }
            arguments.last_mut().into_iter().for_each(|argument| argument.push(token.clone()));
        }
        Parts { head, arguments }
    }
}
