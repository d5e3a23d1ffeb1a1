//! CREATE VIRTUAL TABLE statements: the module, and arguments such as `content = 'notes'`.

use super::token::{Token, tokens};

/// A CREATE VIRTUAL TABLE statement.
pub struct VirtualTableSql {
    /// The module of the table.
    pub module: String,
    /// The names and values of arguments that are options, such as `content = 'notes'`.
    options: Vec<(String, String)>,
}

impl VirtualTableSql {
    /// Parses a statement.
    pub fn of(sql: &str) -> VirtualTableSql {
        let Parts { head, arguments } = Parts::of(sql);
        let module = head.last().and_then(|module| module.name(sql)).unwrap_or_default();
        let options = arguments.iter().filter_map(|argument| {
            let [name, equal, value, ..] = &argument[..] else { return None };
            if !equal.is_symbol(sql, "=") {
                return None;
            }
            Some((name.name(sql)?, value_of(value, sql)))
        });
        VirtualTableSql { module, options: options.collect() }
    }

    /// Returns the value of an option, if the statement has the option.
    pub fn option(&self, name: &str) -> Option<String> {
        let mut options = self.options.iter();
        options.find(|(option, _)| option.eq_ignore_ascii_case(name)).map(|(_, value)| value.clone())
    }
}

/// Returns the value of an option without the quotes around it. A doubled quote within becomes a single one.
pub fn value_of(value: &Token, sql: &str) -> String {
    // A number or a symbol is not a name, and has no quotes.
    value.name(sql).unwrap_or_else(|| value.text(sql).to_owned())
}

/// The parts of a CREATE VIRTUAL TABLE statement, without comments.
pub struct Parts {
    /// The tokens up to the name of the module.
    pub head: Vec<Token>,
    /// The tokens of each argument.
    pub arguments: Vec<Vec<Token>>,
}

impl Parts {
    /// Returns the parts of a statement.
    pub fn of(sql: &str) -> Parts {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_of_a_virtual_table_loses_one_quote_on_each_side() {
        let made = |value: &str| {
            let sql = format!("CREATE VIRTUAL TABLE f USING fts5(a, content={value}, prefix=2)");
            let made = VirtualTableSql::of(&sql);
            (made.option("content").unwrap_or_default(), made.option("PREFIX").unwrap_or_default())
        };
        for (value, content) in [
            ("t", "t"),
            ("'t'", "t"),
            ("'t'''", "t'"),
            ("'''t'", "'t"),
            ("''", ""),
            ("\"t\"\"\"", "t\""),
            ("[t']", "t'"),
        ] {
            assert_eq!(made(value), (content.to_owned(), "2".to_owned()), "{value}");
        }
    }
}
