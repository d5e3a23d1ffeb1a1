//! CREATE VIRTUAL TABLE statements.

use sqluice_core::schema::token::{self, Token, TokenKind};

/// A CREATE VIRTUAL TABLE statement.
pub(crate) struct VirtualTableSql {
    /// The module of the table.
    pub(crate) module: String,
    /// The names and values of arguments that are options, such as `content = 'notes'`.
    options: Vec<(String, String)>,
}

impl VirtualTableSql {
    pub(crate) fn of(sql: &str) -> VirtualTableSql {
        let tokens: Vec<Token> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
        let using = tokens.iter().position(|token| token.is_word(sql, "USING"));
        let module = using.and_then(|using| tokens.get(using + 1)?.name(sql)).unwrap_or_default();
        let options = tokens.windows(3).filter(|some| some[1].is_symbol(sql, "=")).filter_map(|some| {
            let value = &some[2];
            let text = match value.kind {
                TokenKind::Word | TokenKind::QuotedName => value.name(sql)?,
                _ => value.text(sql).trim_matches('\'').replace("''", "'"),
            };
            Some((some[0].name(sql)?, text))
        });
        VirtualTableSql { module, options: options.collect() }
    }

    /// Returns the value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<String> {
        let mut options = self.options.iter();
        options.find(|(option, _)| option.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    }
}
