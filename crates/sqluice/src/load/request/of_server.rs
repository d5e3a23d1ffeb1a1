//! Loads from a server: checks that its URL is the only source, and parses the conditions for its tables.

use std::path::Path;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::remote;

use super::options::Load;

impl Load {
    /// Returns the URL of the server, if the load is from a server; otherwise `None`.
    ///
    /// # Errors
    /// If the target is a server, the URL is not the only source, a setting does not apply to the source, a query has no name for its
    /// table, or there are conditions beside a query.
    pub(crate) fn of_server(&self) -> Result<Option<&Path>> {
        if remote::is_server(&self.target) {
            let name = remote::without_secrets(&self.target);
            let message =
                format!("{} is a database of a server, and only files of SQLite are written", name.display());
            return Err(Error::usage(message).hint("name the file first, then the server"));
        }
        let Some(url) = self.files.iter().find(|file| remote::is_server(file)) else {
            return match self.server.given() {
                Some(setting) => Err(Error::usage(message![
                    setting,
                    " is about databases of servers, and no URL of one is named"
                ])
                .hint(message!["leave it out, or name a database, such as postgres://user@host/database"])),
                None => Ok(None),
            };
        };
        let name = remote::without_secrets(url);
        if self.files.len() > 1 {
            let message = format!("{} is a database of a server, which is loaded alone", name.display());
            return Err(Error::usage(message).hint("load the other files afterwards, into the same database"));
        }
        if let Some(setting) = remote::server_scheme(url).and_then(|scheme| self.server.foreign_to(scheme)) {
            let message = message![setting, format!(" is not for {}", name.display())];
            return Err(Error::usage(message).hint("leave it out: it is about another kind of server"));
        }
        if self.server.query.is_some() && self.one_table().is_none() {
            return Err(Error::usage(message![
                "the rows of ",
                Setting::Query,
                " need the name of their table"
            ])
            .hint(message!["name one: ", Setting::Table.to("NAME")]));
        }
        if self.server.query.is_some() && !self.server.filters.is_empty() {
            return Err(Error::usage(message![
                Setting::Query,
                " has the conditions of its rows, and ",
                Setting::Where,
                " is about tables"
            ])
            .hint("write the condition into the query"));
        }
        Ok(Some(url))
    }

    /// Sets the conditions for rows: for files, SQL expressions; for a server, `table=condition`.
    pub(crate) fn set_conditions(&mut self, conditions: Vec<String>) -> Result<()> {
        if self.files.iter().any(|file| remote::is_server(file)) {
            for condition in conditions {
                let (table, condition) = table_and_condition(&condition)?;
                self.server.filters.push((table, condition));
            }
            return Ok(());
        }
        self.filter = match &conditions[..] {
            [only] => Some(only.clone()),
            // A line break before the closing parenthesis, which would otherwise be part of a `--` comment at the end of the condition.
            several => Some(
                several.iter().map(|condition| format!("({condition}\n)")).collect::<Vec<_>>().join(" AND "),
            ),
        };
        Ok(())
    }
}

/// Divides `table=condition`. The name of a table may be in double quotes.
fn table_and_condition(text: &str) -> Result<(String, String)> {
    let malformed = || {
        Error::usage(message![Setting::Where, format!(" names no table: {text}")]).hint(message![
            "for a server, write the table, = and a condition in its SQL: ",
            Setting::Where.to("'orders=total > 10'")
        ])
    };
    let (mut table, mut is_quoted) = (String::new(), false);
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '=' if !is_quoted => {
                let (table, condition) = (table.trim().to_owned(), text[at + 1..].trim().to_owned());
                return match table.is_empty() || condition.is_empty() || text[at + 1..].starts_with('=') {
                    true => Err(malformed()),
                    false => Ok((table, condition)),
                };
            }
            // An operator before the first = shows that no table is named.
            '<' | '>' | '!' | '(' if !is_quoted => return Err(malformed()),
            letter => table.push(letter),
        }
    }
    Err(malformed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_for_a_server_names_the_table_before_an_equals_sign() {
        let pair = |table: &str, condition: &str| Some((table.to_owned(), condition.to_owned()));
        for (text, expected) in [
            ("orders=id = 5", pair("orders", "id = 5")),
            ("sales.orders = a >= 'x=y'", pair("sales.orders", "a >= 'x=y'")),
            ("\"a=b\"=true", pair("a=b", "true")),
            ("id > 5", None),
            ("id >= 5", None),
            ("lower(a)=b", None),
            ("id", None),
            ("=5", None),
            ("orders=", None),
        ] {
            assert_eq!(table_and_condition(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn several_conditions_for_files_must_all_be_true() {
        let mut load = Load::new("x.db", ["a.csv"]);
        load.set_conditions(vec!["a".to_owned(), "b -- c".to_owned()]).unwrap();
        assert_eq!(load.filter.as_deref(), Some("(a\n) AND (b -- c\n)"));
    }
}
