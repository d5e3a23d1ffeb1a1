//! Lists of columns and expressions, as after SELECT.

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::token::{self, Token, TokenKind};

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Item {
    /// The expression; `*` for all columns.
    pub(super) expression: String,
    /// The name after AS; `None` without AS.
    pub(super) name: Option<String>,
    /// The expression before the last word, and the last word, which may be a name without AS; `None` with AS, or if the last token is no
    /// word or the only one.
    pub(super) last: Option<(String, String)>,
}

/// The words of a query that are no part of an expression, with the reason why they are refused; an empty reason if a setting does the
/// same.
const CLAUSES: [(&str, &str); 12] = [
    ("FROM", "the rows are those of the file"),
    ("WHERE", ""),
    ("GROUP", "each record makes one row"),
    ("HAVING", "each record makes one row"),
    ("ORDER", "rows stay in the order of the file"),
    ("LIMIT", ""),
    ("OFFSET", "rows stay in the order of the file"),
    ("UNION", "each record makes one row"),
    ("INTERSECT", "each record makes one row"),
    ("EXCEPT", "each record makes one row"),
    ("JOIN", "each record makes one row"),
    ("WINDOW", "each record makes one row"),
];

/// Cuts a list at its commas.
pub(super) fn items(list: &str) -> Result<Vec<Item>> {
    let tokens: Vec<Token> = token::tokens(list).into_iter().filter(|token| !token.is_comment()).collect();
    let refused = |what: String| Error::usage(message![Setting::Select, ": ", what]);
    if let Some(first) = tokens.first()
        && ["SELECT", "DISTINCT", "ALL"].iter().any(|word| first.is_word(list, word))
    {
        let word = first.text(list).to_ascii_uppercase();
        let error = refused(format!("{word} is not part of the list"));
        return Err(error.hint("write the columns and expressions alone: id, lower(email) AS email"));
    }
    let mut items = Vec::new();
    let (mut depth, mut begin) = (0usize, 0);
    for (at, token) in tokens.iter().enumerate() {
        match token.text(list) {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                items.push(
                    item(list, &tokens[begin..at]).ok_or_else(|| refused("an item is missing".into()))?,
                );
                begin = at + 1;
            }
            _ if depth > 0 => {}
            _ => {
                let clause = CLAUSES.iter().find(|(word, _)| token.is_word(list, word));
                if let Some((word, why)) = clause {
                    return Err(refuse_clause(word, why));
                }
            }
        }
    }
    items.push(item(list, &tokens[begin..]).ok_or_else(|| refused("an item is missing".into()))?);
    Ok(items)
}

fn refuse_clause(word: &str, why: &str) -> Error {
    let error = Error::usage(message![Setting::Select, format!(" takes no {word}")]);
    match word {
        "WHERE" => error.hint(message![Setting::Where, " has the condition"]),
        "LIMIT" => error.hint(message![Setting::Limit, " has the number of records"]),
        _ => error.hint(format!("{why}: load the file, then use SQL on the table")),
    }
}

fn item(list: &str, tokens: &[Token]) -> Option<Item> {
    let (first, last) = (tokens.first()?, tokens.last()?);
    let text = |from: &Token, to: &Token| list[from.at.start..to.at.end].to_owned();
    let whole = text(first, last);
    if let [.., before, as_word, name] = tokens
        && as_word.is_word(list, "AS")
        && let Some(name) = name.name(list)
    {
        return Some(Item { expression: text(first, before), name: Some(name), last: None });
    }
    let last = match tokens {
        [.., before, name] if matches!(name.kind, TokenKind::Word | TokenKind::QuotedName) => {
            name.name(list).map(|name| (text(first, before), name))
        }
        _ => None,
    };
    Some(Item { expression: whole, name: None, last })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_expressions_is_split_at_its_commas_and_its_result_names_are_found() {
        let items = items("*, id, max(a, 'x, y') AS \"b c\", lower(d) e -- f, g").unwrap();
        let shown: Vec<_> = items
            .iter()
            .map(|item| {
                (
                    item.expression.as_str(),
                    item.name.as_deref(),
                    item.last.as_ref().map(|last| last.1.as_str()),
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("*", None, None),
                ("id", None, None),
                ("max(a, 'x, y')", Some("b c"), None),
                ("lower(d) e", None, Some("e"))
            ]
        );
    }

    #[test]
    fn an_expression_list_with_a_clause_of_a_query_is_refused_by_an_error_that_names_the_clause() {
        for list in [
            "a FROM t",
            "a WHERE b",
            "a ORDER BY b",
            "a LIMIT 1",
            "a UNION SELECT 1",
            "DISTINCT a",
            "SELECT a",
        ] {
            let error = items(list).unwrap_err().message();
            let word =
                list.split(' ').find(|word| word.len() > 1 && word.to_ascii_uppercase() == **word).unwrap();
            assert!(error.contains(word), "{list}: {error}");
        }
        assert!(items("a,").is_err() && items("").is_err() && items(", a").is_err());
    }
}
