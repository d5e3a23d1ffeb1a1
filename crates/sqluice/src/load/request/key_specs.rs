//! The keys and indexes of new tables that the user requests by the names of columns.
//!
//! ```text
//!  --primary-key id                   "id" INTEGER PRIMARY KEY                  the rowid itself, if id is INTEGER
//!  --primary-key region,code          "region" TEXT NOT NULL, ...               else a constraint, and no NULL:
//!                                     PRIMARY KEY ("region", "code")            a key identifies rows
//!  --index 'area, name COLLATE nocase DESC'
//!                                     CREATE INDEX "idx_user_area_name" ON "user" ("area", "name" COLLATE NOCASE DESC);
//!  --unique mail                      CREATE UNIQUE INDEX "idx_user_mail" ON "user" ("mail");
//! ```
//!
//! With several tables, each table that has all the columns gets the key or the index; at least one table must.

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::quoted;
use sqluice_core::schema::token::{Token, TokenKind, tokens};

use super::names::refuse_twice;
use super::options::Load;

/// SQLite's own collations, the only ones that an index can use here.
const COLLATIONS: [&str; 3] = ["BINARY", "NOCASE", "RTRIM"];

/// An index that the user asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct IndexSpec {
    unique: bool,
    columns: Vec<KeyPart>,
}

/// A column of an index.
#[derive(Debug, PartialEq, Eq)]
struct KeyPart {
    name: String,
    collation: Option<&'static str>,
    descending: bool,
}

/// Checks the settings for keys and indexes for contradictions, before any file is read.
pub(crate) fn check(load: &Load) -> Result<()> {
    let declares = [
        (Setting::PrimaryKey, !load.primary_key.is_empty()),
        (Setting::WithoutRowid, load.without_rowid),
        (Setting::Unique, !load.uniques.is_empty()),
    ];
    if let (Some(_), Some((flag, _))) = (&load.schema, declares.into_iter().find(|(_, given)| *given)) {
        return Err(Error::usage(message![
            "the schema declares the keys of its tables, and ",
            flag,
            " can't change them"
        ])
        .hint(message!["write it into the schema; ", Setting::Index, " adds indexes to it"]));
    }
    if load.without_rowid && load.primary_key.is_empty() {
        return Err(Error::usage("a table WITHOUT ROWID needs a key to find its rows by")
            .hint(message!["name its columns: ", Setting::PrimaryKey.to("A,B")]));
    }
    refuse_twice(Setting::PrimaryKey, &load.primary_key)?;
    specs(load).map(drop)
}

/// Returns the names of all columns of the requested indexes.
pub(crate) fn indexed(load: &Load) -> Vec<String> {
    let specs = specs(load).unwrap_or_default().into_iter();
    specs.flat_map(|spec| spec.columns).map(|column| column.name).collect()
}

/// Returns the requested indexes: first the unique ones, then the others.
pub(crate) fn specs(load: &Load) -> Result<Vec<IndexSpec>> {
    let uniques = load.uniques.iter().map(|text| IndexSpec::parse(text, true));
    uniques.chain(load.indexes.iter().map(|text| IndexSpec::parse(text, false))).collect()
}

impl IndexSpec {
    /// Parses the columns of an index from the text of the setting, such as `area, name DESC`.
    pub(crate) fn parse(text: &str, unique: bool) -> Result<IndexSpec> {
        let mut spec = IndexSpec { unique, columns: Vec::new() };
        let tokens = tokens(text);
        for part in tokens.split(|token| token.is_symbol(text, ",")) {
            let column = KeyPart::parse(text, part).map_err(|why| {
                Error::usage(message![spec.flag(), format!(" {text:?}: {why}")])
                    .hint("columns with commas between them, each with COLLATE NOCASE or DESC if need be: 'area, name DESC'")
            })?;
            spec.columns.push(column);
        }
        Ok(spec)
    }

    /// Returns the setting that requests the index: `unique` or `index`.
    pub(crate) fn flag(&self) -> Setting {
        if self.unique { Setting::Unique } else { Setting::Index }
    }

    /// Returns the columns of the index, as the user names them.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|column| column.name.as_str()).collect()
    }

    /// Returns the statement that creates the index for a table. `own` has the names of the columns as the table spells them. `taken` has
    /// the names in use; the name of the index is added to them.
    pub(crate) fn statement(&self, table: &str, own: &[&str], taken: &mut Vec<String>) -> String {
        let base = format!("idx_{table}_{}", own.join("_"));
        let mut name = base.clone();
        let mut number = 2;
        while taken.contains(&name.to_ascii_lowercase()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        taken.push(name.to_ascii_lowercase());
        let columns = self.columns.iter().zip(own).map(|(column, name)| {
            let collate = column.collation.map_or(String::new(), |collation| format!(" COLLATE {collation}"));
            format!("{}{collate}{}", quoted(name), if column.descending { " DESC" } else { "" })
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let unique = if self.unique { "UNIQUE " } else { "" };
        format!("CREATE {unique}INDEX {} ON {} ({columns});\n", quoted(&name), quoted(table))
    }
}

impl KeyPart {
    /// Parses `name [COLLATE c] [ASC|DESC]`. The name may have spaces, or be quoted as in SQL.
    fn parse(text: &str, part: &[Token]) -> Result<KeyPart, String> {
        let mut name = part;
        let mut descending = false;
        if let [rest @ .., order] = name
            && !rest.is_empty()
            && (order.is_word(text, "ASC") || order.is_word(text, "DESC"))
        {
            (name, descending) = (rest, order.is_word(text, "DESC"));
        }
        let mut collation = None;
        if let [rest @ .., collate, named] = name
            && !rest.is_empty()
            && collate.is_word(text, "COLLATE")
        {
            let named = named.name(text).unwrap_or_else(|| named.text(text).to_owned());
            let own = COLLATIONS.into_iter().find(|own| own.eq_ignore_ascii_case(&named));
            let unknown = || format!("no collation is called {named}, only {}", COLLATIONS.join(", "));
            (name, collation) = (rest, Some(own.ok_or_else(unknown)?));
        }
        let name = match name {
            [] => return Err("a column is missing".to_owned()),
            [Token { kind: TokenKind::QuotedName | TokenKind::String, .. }] => name[0].name(text),
            [first, ..] => Some(text[first.at.start..name[name.len() - 1].at.end].to_owned()),
        };
        let name = name.ok_or("a quote is not closed")?;
        Ok(KeyPart { name, collation, descending })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name of a column, its collation, and `true` if the order descends.
    type Part = (String, Option<&'static str>, bool);

    fn parsed(text: &str) -> Result<Vec<Part>, String> {
        let spec = IndexSpec::parse(text, false).map_err(|error| error.message().to_owned())?;
        let parts = spec.columns.into_iter().map(|part| (part.name, part.collation, part.descending));
        Ok(parts.collect())
    }

    #[test]
    fn a_key_specification_names_columns_with_their_collation_and_direction() {
        let part = |name: &str, collation, descending| (name.to_owned(), collation, descending);
        assert_eq!(parsed("a"), Ok(vec![part("a", None, false)]));
        assert_eq!(parsed(" a desc,b ASC "), Ok(vec![part("a", None, true), part("b", None, false)]));
        assert_eq!(parsed("a collate nocase"), Ok(vec![part("a", Some("NOCASE"), false)]));
        assert_eq!(parsed("a COLLATE \"rtrim\" DESC"), Ok(vec![part("a", Some("RTRIM"), true)]));
    }

    #[test]
    fn a_column_name_in_a_key_specification_needs_quotes_only_where_the_text_has_another_meaning() {
        let name = |text: &str| match parsed(text).as_deref() {
            Ok([(name, None, false)]) => Some(name.clone()),
            _ => None,
        };
        for (text, expected) in [
            ("order date", "order date"),
            ("order-date", "order-date"),
            ("Größe [m]", "Größe [m]"),
            ("50%", "50%"),
            ("\"a, b\"", "a, b"),
            ("\"a desc\"", "a desc"),
            ("[a collate nocase]", "a collate nocase"),
            ("`a\"b`", "a\"b"),
            ("'a b'", "a b"),
            ("\"a \"\"b\"\"\"", "a \"b\""),
            ("desc", "desc"),
            ("collate", "collate"),
            ("collate nocase", "collate nocase"),
        ] {
            assert_eq!(name(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn an_invalid_key_specification_is_refused_with_the_reason() {
        for (text, why) in [
            ("", "a column is missing"),
            ("a,", "a column is missing"),
            ("a,,b", "a column is missing"),
            ("a collate german", "no collation is called german, only BINARY, NOCASE, RTRIM"),
            ("a collate 5 desc", "no collation is called 5, only BINARY, NOCASE, RTRIM"),
        ] {
            assert_eq!(parsed(text), Err(format!("`index` {text:?}: {why}")));
        }
    }
}
