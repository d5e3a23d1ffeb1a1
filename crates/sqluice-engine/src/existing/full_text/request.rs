//! A full-text index that a user wants, such as `products(name, description)`, and its options.

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::token::{Token, tokens};

pub use crate::full_text::declaration::TextColumn;

/// The place of the text that a full-text table shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Content {
    /// The indexed table itself.
    #[default]
    External,
    /// A copy in the full-text table.
    Own,
}

/// A full-text index to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The table whose rows are indexed.
    pub table: String,
    /// The columns.
    pub columns: Vec<TextColumn>,
    /// The name of the full-text table.
    pub name: String,
    /// The place of the text.
    pub content: Content,
    /// The tokenizer and its arguments; `None` for FTS5's default.
    pub tokenize: Option<String>,
    /// The numbers of characters of prefix indexes, such as `2 3`.
    pub prefix: Option<String>,
    /// Other options of FTS5, such as `detail` with `none`.
    pub options: Vec<(String, String)>,
    /// `true` for triggers that keep the index up to date.
    pub triggers: bool,
}

impl Request {
    /// Parses a table and its columns, such as `products(name, note UNINDEXED)`. The full-text table is called `products_fts`, and has no
    /// options.
    ///
    /// # Errors
    /// If the text is malformed.
    pub fn parse(text: &str) -> Result<Request> {
        let malformed = || {
            Error::usage(format!("{text:?} is no table with columns"))
                .hint("write the table and the columns to search, such as 'products(name, description)'; a name with other characters than letters, digits and _ must be in double quotes")
        };
        let tokens: Vec<Token> = tokens(text).into_iter().filter(|token| !token.is_comment()).collect();
        let [table, open, columns @ .., close] = &tokens[..] else { return Err(malformed()) };
        if !open.is_symbol(text, "(") || !close.is_symbol(text, ")") {
            return Err(malformed());
        }
        let table = table.name(text).ok_or_else(malformed)?;
        let columns = columns.split(|token| token.is_symbol(text, ",")).map(|column| {
            let (name, is_indexed) = match column {
                [name] => (name, true),
                [name, word] if word.is_word(text, "UNINDEXED") => (name, false),
                _ => return Err(malformed()),
            };
            Ok(TextColumn { name: name.name(text).ok_or_else(malformed)?, is_indexed })
        });
        Ok(Request {
            name: format!("{table}_fts"),
            columns: columns.collect::<Result<_>>()?,
            table,
            content: Content::External,
            tokenize: None,
            prefix: None,
            options: Vec::new(),
            triggers: false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(text: &str) -> Option<(String, Vec<(String, bool)>)> {
        let request = Request::parse(text).ok()?;
        let columns = request.columns.into_iter().map(|column| (column.name, column.is_indexed));
        Some((request.table, columns.collect()))
    }

    #[test]
    fn a_table_with_columns_is_parsed() {
        let of = |table: &str, columns: &[(&str, bool)]| {
            let columns = columns.iter().map(|(name, is_indexed)| (name.to_string(), *is_indexed));
            Some((table.to_owned(), columns.collect::<Vec<_>>()))
        };
        assert_eq!(columns("t(a)"), of("t", &[("a", true)]));
        assert_eq!(
            columns(" \"my t\" ( a , [b c] unindexed, \"d\"\"e\" )"),
            of("my t", &[("a", true), ("b c", false), ("d\"e", true)])
        );
        for text in ["", "t", "t()", "t(a,)", "t(a b)", "t(a) x", "(a)", "t(a UNINDEXED UNINDEXED)", "t((a))"]
        {
            assert_eq!(columns(text), None, "{text}");
        }
    }
}
