//! Parses CREATE TABLE, and the clauses that ALTER TABLE also has: columns, keys, constraints.

use sqlparser::tokenizer::Token;

use super::model::{Check, Column, ForeignKey, Generated, Index, Name, Part, SourceType, Table};
use super::sequences::whole_number;
use super::tokens::{Cursor, Parsed, split, text_of};
use super::{Dialect, Translator};

/// The words that can follow the expression of a DEFAULT.
const ENDS: [&str; 22] = [
    "NOT",
    "NULL",
    "CONSTRAINT",
    "CHECK",
    "GENERATED",
    "UNIQUE",
    "PRIMARY",
    "REFERENCES",
    "COLLATE",
    "COMMENT",
    "ON",
    "AUTO_INCREMENT",
    "KEY",
    "COLUMN_FORMAT",
    "INVISIBLE",
    "VISIBLE",
    "VIRTUAL",
    "STORED",
    "PERSISTENT",
    "COMPRESSED",
    "DEFERRABLE",
    "AS",
];

impl Translator {
    /// Parses a CREATE TABLE statement after the word TABLE.
    pub(super) fn create_table(&mut self, cursor: &mut Cursor<'_>, line: u64) -> Parsed<()> {
        cursor.words(&["IF", "NOT", "EXISTS"]);
        let name = self.resolved(cursor.qualified()?);
        let mut table = Table { name, line, ..Table::default() };
        if cursor.words(&["PARTITION", "OF"]) {
            let parent = self.resolved(cursor.qualified()?);
            let Some(&place) = self.places.get(&parent) else { return cursor.near() };
            for column in self.tables[place].iter().flat_map(|parent| &parent.columns) {
                table.put(column.clone(), self.dialect);
            }
            table.partition_of = Some(parent);
            self.put_table(table);
            return Ok(());
        }
        let body = cursor.group()?;
        let mut own = Vec::new();
        for item in split(body) {
            let mut item = Cursor::new(item, self.dialect);
            if !self.constraint(&mut table, &mut item, line)? {
                own.push(self.column(&mut table, &mut item, line)?);
            }
        }
        self.table_options(&mut table, cursor, line)?;
        for column in own {
            table.put(column, self.dialect);
        }
        self.put_table(table);
        Ok(())
    }

    /// Parses the options after the columns of CREATE TABLE.
    fn table_options(&mut self, table: &mut Table, cursor: &mut Cursor<'_>, line: u64) -> Parsed<()> {
        let mut charset = None;
        let mut collation = None;
        while !cursor.at_end() {
            if cursor.word("INHERITS") {
                for parent in split(cursor.group()?) {
                    let parent = self.resolved(Cursor::new(parent, self.dialect).qualified()?);
                    let Some(&place) = self.places.get(&parent) else { return cursor.near() };
                    let Some(parent) = &self.tables[place] else { return cursor.near() };
                    let (columns, checks) = (parent.columns.clone(), parent.checks.clone());
                    for column in columns {
                        table.put(column, self.dialect);
                    }
                    table.checks.extend(checks);
                }
            } else if cursor.words(&["PARTITION", "BY"]) {
                if self.dialect == Dialect::MySql {
                    self.note(line, format!("table {}: PARTITION BY is left out", table.name.1));
                }
                while cursor.next().is_some() {}
            } else if cursor.words(&["AS"]) || cursor.words(&["SELECT"]) {
                return cursor.near();
            } else if cursor.words(&["CHARACTER", "SET"]) || cursor.word("CHARSET") {
                cursor.symbol(&Token::Eq);
                charset = Some(cursor.name()?);
            } else if cursor.word("COLLATE") {
                cursor.symbol(&Token::Eq);
                collation = Some(cursor.name()?);
            } else if cursor.word("COMMENT") {
                cursor.symbol(&Token::Eq);
                table.comment = Some(cursor.text()?);
            } else if cursor.word("AUTO_INCREMENT") {
                cursor.symbol(&Token::Eq);
                table.next_number =
                    cursor.next().and_then(|number| whole_number(std::slice::from_ref(number)));
            } else if cursor.words(&["WITH", "SYSTEM", "VERSIONING"]) {
                self.note(line, format!("table {}: WITH SYSTEM VERSIONING is left out", table.name.1));
            } else {
                cursor.next();
            }
        }
        if self.dialect == Dialect::MySql {
            table.ignores_case = ignores_case(charset.as_deref(), collation.as_deref());
        }
        Ok(())
    }

    /// Parses a constraint, key or index of a table. Returns `false` if the item is a column.
    pub(super) fn constraint(&mut self, table: &mut Table, item: &mut Cursor<'_>, line: u64) -> Parsed<bool> {
        let start = item.clone();
        let mut name = None;
        if item.word("CONSTRAINT") {
            let unnamed = ["PRIMARY", "UNIQUE", "FOREIGN", "CHECK"].iter().any(|word| item.is_word(word));
            name = if unnamed { None } else { Some(item.name()?) };
        }
        // An unquoted keyword is the name of a column if neither a group in parentheses nor KEY follows.
        let group_follows = item.peek_at(1) == Some(&Token::LParen);
        if item.words(&["PRIMARY", "KEY"]) {
            item.words(&["USING", "BTREE"]);
            item.words(&["USING", "HASH"]);
            table.primary_key = Some(self.parts(item.group()?)?);
        } else if item.words(&["FOREIGN", "KEY"]) {
            if item.peek() != Some(&Token::LParen) {
                let index = item.name()?;
                name = name.or(Some(index));
            }
            let columns = names(item.group()?, self.dialect)?;
            let key = self.references(name, columns, item, line)?;
            table.foreign_keys.push(key);
        } else if item.is_word("CHECK") && group_follows {
            item.next();
            let expression = item.group()?.to_vec();
            if item.words(&["NOT", "ENFORCED"]) {
                let name = name.unwrap_or_default();
                self.note(line, format!("table {}: CHECK {name} is not enforced and left out", table.name.1));
            } else {
                table.checks.push(Check { name, expression, line });
            }
        } else if item.word("EXCLUDE") {
            let name = name.unwrap_or_else(|| format!("of {}", table.name.1));
            self.leave_out("exclusion constraint", name, line, "SQLite has no EXCLUDE");
        } else if item.words(&["NOT", "NULL"]) {
            // NOT NULL as a constraint with a name, which PostgreSQL 18 writes.
            let column = item.name()?;
            let Some(column) = table.column(&column, self.dialect) else { return item.near() };
            column.not_null = true;
        } else if (item.is_word("FULLTEXT") || item.is_word("SPATIAL") || item.is_word("VECTOR"))
            && !group_follows
            && self.dialect == Dialect::MySql
        {
            let kind = item.name()?.to_lowercase();
            item.one_of(&["KEY", "INDEX"]);
            let index = if item.peek() == Some(&Token::LParen) { String::new() } else { item.name()? };
            self.leave_out(
                &format!("{kind} index"),
                format!("{}.{index}", table.name.1),
                line,
                "SQLite has no such index",
            );
        } else if item.word("UNIQUE") {
            item.one_of(&["KEY", "INDEX"]);
            let distinct = item.words(&["NULLS", "NOT", "DISTINCT"]);
            item.words(&["NULLS", "DISTINCT"]);
            if item.peek() != Some(&Token::LParen) && !item.is_word("USING") {
                let index = item.name()?;
                name = Some(index).or(name);
            }
            self.index_type(item);
            let parts = self.parts(item.group()?)?;
            if distinct {
                self.note(
                    line,
                    format!(
                        "table {}: UNIQUE takes several NULLs, which NULLS NOT DISTINCT forbids",
                        table.name.1
                    ),
                );
            }
            table.indexes.push(Index { name, unique: true, parts, filter: None, line });
        } else if self.dialect == Dialect::MySql && (item.is_word("KEY") || item.is_word("INDEX")) {
            item.next();
            if item.peek() != Some(&Token::LParen) && !item.is_word("USING") {
                name = Some(item.name()?);
            }
            self.index_type(item);
            let parts = self.parts(item.group()?)?;
            table.indexes.push(Index { name, unique: false, parts, filter: None, line });
        } else if self.dialect == Dialect::MySql && item.words(&["PERIOD", "FOR"]) {
            self.note(line, format!("table {}: PERIOD is left out", table.name.1));
        } else if name.is_some() {
            return item.near();
        } else {
            *item = start;
            return Ok(false);
        }
        Ok(true)
    }

    fn index_type(&self, item: &mut Cursor<'_>) {
        if item.word("USING") {
            item.next();
        }
    }

    /// Parses the columns and expressions of a key.
    pub(super) fn parts(&self, tokens: &[Token]) -> Parsed<Vec<Part>> {
        split(tokens).into_iter().map(|part| self.part(part)).collect()
    }

    fn part(&self, tokens: &[Token]) -> Parsed<Part> {
        let mut cursor = Cursor::new(tokens, self.dialect);
        let is_name = match cursor.peek() {
            Some(Token::Word(_)) => {
                !matches!(cursor.peek_at(1), Some(Token::LParen | Token::Period))
                    || (self.dialect == Dialect::MySql
                        && matches!(cursor.peek_at(2), Some(Token::Number(..)))
                        && matches!(cursor.peek(), Some(Token::Word(word)) if word.quote_style.is_some()))
            }
            Some(Token::DoubleQuotedString(_)) => self.dialect == Dialect::MySql,
            _ => false,
        };
        let descending = |tokens: &[Token]| tokens.iter().any(|token| super::tokens::is_word(token, "DESC"));
        if is_name {
            let name = cursor.name()?;
            return Ok(Part::Column { name, descending: descending(cursor.rest()) });
        }
        // An expression is in parentheses, or is a function call. A sort order and an operator class may follow.
        let start = cursor.rest();
        while !cursor.at_end() && cursor.peek() != Some(&Token::LParen) {
            cursor.next();
        }
        cursor.group()?;
        let length = start.len() - cursor.rest().len();
        Ok(Part::Expression { tokens: start[..length].to_vec(), descending: descending(cursor.rest()) })
    }

    /// Parses REFERENCES and its clauses.
    fn references(
        &mut self,
        name: Option<String>,
        columns: Vec<String>,
        cursor: &mut Cursor<'_>,
        line: u64,
    ) -> Parsed<ForeignKey> {
        if !cursor.word("REFERENCES") {
            return cursor.near();
        }
        let parent = self.resolved(cursor.qualified()?);
        let parent_columns = match cursor.peek() {
            Some(Token::LParen) => names(cursor.group()?, self.dialect)?,
            _ => Vec::new(),
        };
        let mut clauses = String::new();
        loop {
            if cursor.word("MATCH") {
                cursor.next();
            } else if cursor.is_word("ON")
                && (cursor.is_word_at(1, "DELETE") || cursor.is_word_at(1, "UPDATE"))
            {
                cursor.next();
                let event = if cursor.word("DELETE") { "DELETE" } else { "UPDATE" };
                cursor.words(&[event]);
                let action = if cursor.word("CASCADE") {
                    "CASCADE"
                } else if cursor.word("RESTRICT") {
                    "RESTRICT"
                } else if cursor.words(&["SET", "NULL"]) {
                    "SET NULL"
                } else if cursor.words(&["SET", "DEFAULT"]) {
                    "SET DEFAULT"
                } else if cursor.words(&["NO", "ACTION"]) {
                    "NO ACTION"
                } else {
                    return cursor.near();
                };
                if cursor.peek() == Some(&Token::LParen) {
                    cursor.group()?;
                }
                clauses += &format!(" ON {event} {action}");
            } else if cursor.words(&["NOT", "DEFERRABLE"]) {
                clauses += " NOT DEFERRABLE";
            } else if cursor.word("DEFERRABLE") {
                clauses += " DEFERRABLE";
            } else if cursor.words(&["INITIALLY", "DEFERRED"]) {
                clauses += " INITIALLY DEFERRED";
            } else if cursor.words(&["INITIALLY", "IMMEDIATE"]) {
                clauses += " INITIALLY IMMEDIATE";
            } else if !cursor.words(&["NOT", "VALID"]) && !cursor.words(&["NOT", "ENFORCED"]) {
                break;
            }
        }
        Ok(ForeignKey { name, columns, parent, parent_columns, clauses, line })
    }

    /// Parses a column. Its keys and constraints are added to the table.
    pub(super) fn column(&mut self, table: &mut Table, item: &mut Cursor<'_>, line: u64) -> Parsed<Column> {
        let mut column = Column { name: item.name()?, ..Column::default() };
        column.declared = source_type(item, self.dialect)?;
        let (mut charset, mut collation, mut name) = (None, None, None);
        let key = |column: &Column| vec![Part::Column { name: column.name.clone(), descending: false }];
        while !item.at_end() {
            if item.word("CONSTRAINT") {
                name = Some(item.name()?);
                continue;
            }
            if item.words(&["NOT", "NULL"]) {
                column.not_null = true;
            } else if item.word("NULL") {
                column.not_null = false;
            } else if item.word("DEFAULT") {
                column.default = Some(item.expression(&ENDS)?.to_vec());
            } else if item.word("AUTO_INCREMENT") {
                column.auto = true;
            } else if item.words(&["PRIMARY", "KEY"]) || item.word("KEY") {
                table.primary_key = Some(key(&column));
            } else if item.word("UNIQUE") {
                item.word("KEY");
                let parts = key(&column);
                table.indexes.push(Index { name: name.take(), unique: true, parts, filter: None, line });
            } else if item.word("COMMENT") {
                column.comment = Some(item.text()?);
            } else if item.words(&["CHARACTER", "SET"]) || item.word("CHARSET") {
                charset = Some(item.name()?);
            } else if item.word("COLLATE") {
                collation = Some(item.qualified()?.1);
            } else if item.words(&["ON", "UPDATE"]) {
                item.expression(&ENDS)?;
                self.note(
                    line,
                    format!(
                        "column {}.{}: ON UPDATE CURRENT_TIMESTAMP is left out",
                        table.name.1, column.name
                    ),
                );
            } else if item.word("CHECK") {
                let expression = item.group()?.to_vec();
                item.words(&["NO", "INHERIT"]);
                table.checks.push(Check { name: name.take(), expression, line });
            } else if item.is_word("REFERENCES") {
                let reference = self.references(name.take(), vec![column.name.clone()], item, line)?;
                table.foreign_keys.push(reference);
            } else if item.words(&["GENERATED", "BY", "DEFAULT", "AS", "IDENTITY"])
                || item.words(&["GENERATED", "ALWAYS", "AS", "IDENTITY"])
            {
                column.auto = true;
                column.sequence = self.identity(item, line)?;
            } else if item.words(&["GENERATED", "ALWAYS", "AS", "ROW"]) || item.words(&["AS", "ROW"]) {
                item.next();
            } else if item.words(&["GENERATED", "ALWAYS", "AS"]) || item.word("AS") {
                let expression = item.group()?.to_vec();
                column.generated = Some(Generated { expression, stored: false });
            } else if item.one_of(&["STORED", "PERSISTENT"]) {
                if let Some(generated) = &mut column.generated {
                    generated.stored = true;
                }
            } else if item.one_of(&["STORAGE", "COLUMN_FORMAT", "COMPRESSION", "ENGINE_ATTRIBUTE", "SRID"]) {
                item.next();
            } else if item.word("REF_SYSTEM_ID") {
                item.symbol(&Token::Eq);
                item.next();
            } else if item.one_of(&["FIRST", "VIRTUAL", "INVISIBLE", "VISIBLE", "BINARY", "ASCII", "UNICODE"])
                || item.one_of(&["DEFERRABLE", "COMPRESSED"])
                || item.words(&["WITHOUT", "SYSTEM", "VERSIONING"])
                || item.words(&["WITH", "SYSTEM", "VERSIONING"])
                || item.words(&["NOT", "DEFERRABLE"])
            {
                // These options do not affect the values.
            } else if item.one_of(&["AFTER", "INITIALLY"]) {
                item.next();
            } else {
                return item.near();
            }
        }
        if self.dialect == Dialect::MySql {
            column.ignores_case = ignores_case(charset.as_deref(), collation.as_deref());
        }
        if column.declared.name.1.contains("serial") && column.declared.name.0.is_none() {
            (column.auto, column.not_null) = (true, true);
        }
        Ok(column)
    }
}

/// Parses a list of names, separated by commas.
fn names(tokens: &[Token], dialect: Dialect) -> Parsed<Vec<String>> {
    split(tokens).into_iter().map(|name| Cursor::new(name, dialect).name()).collect()
}

/// Returns `true` if texts with this character set and collation are compared without case; `None` if neither is given.
///
/// Every collation of MySQL with `_ci` in its name ignores the case of ASCII letters, like NOCASE, except for the Turkish collations, which
/// distinguish I and i. The default collation of each character set except `binary` ends in `_ci`.
fn ignores_case(charset: Option<&str>, collation: Option<&str>) -> Option<bool> {
    match (charset, collation) {
        (_, Some(collation)) => {
            let name = collation.to_lowercase();
            let turkish = name.contains("turkish") || name.contains("_tr_");
            Some(name.contains("_ci") && !turkish)
        }
        (Some(charset), None) => Some(!charset.eq_ignore_ascii_case("binary")),
        (None, None) => None,
    }
}

/// Parses a type with its arguments and attributes.
pub(super) fn source_type(item: &mut Cursor<'_>, dialect: Dialect) -> Parsed<SourceType> {
    let quoted = matches!(item.peek(), Some(Token::Word(word)) if word.quote_style.is_some());
    let (schema, mut name) = item.qualified()?;
    let schema = schema.filter(|schema| schema != "pg_catalog");
    let mut arguments = Vec::new();
    if !quoted {
        name = name.to_lowercase();
    }
    if !quoted && schema.is_none() {
        let second: &[&str] = match name.as_str() {
            "double" => &["precision"],
            "character" | "bit" | "char" | "national" => &["varying", "varchar", "character", "char"],
            "long" => &["varchar", "varbinary", "text"],
            _ => &[],
        };
        if let Some(word) = second.iter().find(|word| item.is_word(word)) {
            item.next();
            name = format!("{name} {word}");
            item.word("varying");
        }
        if name == "interval" {
            while ["YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TO"]
                .iter()
                .any(|word| item.word(word))
            {}
        }
    }
    if item.peek() == Some(&Token::LParen) {
        arguments = split(item.group()?)
            .into_iter()
            .map(|argument| match argument {
                [token] => text_of(token).map_or_else(|| token.to_string(), str::to_owned),
                several => several.iter().map(ToString::to_string).collect(),
            })
            .collect();
    }
    let mut declared = SourceType { name: (schema, name), arguments, unsigned: false, array: false };
    if dialect == Dialect::Postgres {
        if item.words(&["WITH", "TIME", "ZONE"]) {
            declared.name.1 += "tz";
        }
        item.words(&["WITHOUT", "TIME", "ZONE"]);
        declared.array = item.word("ARRAY");
        while item.symbol(&Token::LBracket) {
            declared.array = true;
            while item.next().is_some_and(|token| *token != Token::RBracket) {}
        }
    } else {
        while item.is_word("UNSIGNED") || item.is_word("SIGNED") || item.is_word("ZEROFILL") {
            declared.unsigned |= item.is_word("UNSIGNED") || item.is_word("ZEROFILL");
            item.next();
        }
    }
    Ok(declared)
}

/// Adds the schema to a name without one: the current schema of PostgreSQL's search path. MySQL has no schemas.
pub(super) fn resolved(name: Name, current: Option<&str>, dialect: Dialect) -> Name {
    match (name, dialect) {
        ((None, name), Dialect::Postgres) => (Some(current.unwrap_or("public").to_owned()), name),
        (name, _) => name,
    }
}
