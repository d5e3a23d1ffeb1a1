//! Parses the statements of a dump, by their first words.

use sqlparser::tokenizer::Token;
use sqluice_core::error::{Error, Place, Result};

use super::create::source_type;
use super::model::{Check, CreatedType, Domain, Index, Name, Table};
use super::sequences::{counter, whole_number};
use super::tokens::{Cursor, Near, Parsed, split, text_of, tokens};
use super::{Dialect, Translator};

/// The kinds of objects that SQLite does not have or that are left out: the words after CREATE. The first kind that matches counts, so
/// `OPERATOR CLASS` comes before `OPERATOR`.
const KINDS: [&str; 36] = [
    "MATERIALIZED VIEW",
    "FOREIGN TABLE",
    "FOREIGN DATA WRAPPER",
    "EVENT TRIGGER",
    "CONSTRAINT TRIGGER",
    "TEXT SEARCH CONFIGURATION",
    "TEXT SEARCH DICTIONARY",
    "TEXT SEARCH PARSER",
    "TEXT SEARCH TEMPLATE",
    "OPERATOR CLASS",
    "OPERATOR FAMILY",
    "USER MAPPING",
    "ACCESS METHOD",
    "PROCEDURAL LANGUAGE",
    "RECURSIVE VIEW",
    "PACKAGE BODY",
    "VIEW",
    "TRIGGER",
    "PROCEDURE",
    "FUNCTION",
    "EVENT",
    "EXTENSION",
    "AGGREGATE",
    "CAST",
    "COLLATION",
    "CONVERSION",
    "LANGUAGE",
    "OPERATOR",
    "POLICY",
    "PUBLICATION",
    "RULE",
    "SERVER",
    "STATISTICS",
    "SUBSCRIPTION",
    "TRANSFORM",
    "PACKAGE",
];

/// The first words of statements that change neither rows nor tables, or that do not affect the schema.
const SILENT: [&str; 32] = [
    "SET",
    "RESET",
    "USE",
    "LOCK",
    "UNLOCK",
    "START",
    "BEGIN",
    "COMMIT",
    "GRANT",
    "REVOKE",
    "ANALYZE",
    "VACUUM",
    "FLUSH",
    "DELIMITER",
    "REFRESH",
    "SECURITY",
    "DISCARD",
    "SHOW",
    "CHECKPOINT",
    "OPTIMIZE",
    "REINDEX",
    "CLUSTER",
    "END",
    "NOTIFY",
    "LISTEN",
    "SAVEPOINT",
    "RELEASE",
    "HANDLER",
    "INSTALL",
    "CHANGE",
    "EXPLAIN",
    "CALL",
];

/// The first words of statements that change rows or tables.
const CHANGES: [&str; 11] = [
    "INSERT", "UPDATE", "DELETE", "REPLACE", "TRUNCATE", "RENAME", "MERGE", "COPY", "LOAD", "ROLLBACK",
    "WITH",
];

impl Translator {
    /// Applies a statement without rows, given without its semicolon. `line` is the line of its first byte.
    ///
    /// # Errors
    /// If the statement may change rows or tables, and can't be parsed, or if it changes rows as only a server can, such as UPDATE. The
    /// place of the error has the line; the caller adds the file.
    pub fn take(&mut self, sql: &str, line: u64) -> Result<()> {
        if self.dialect == Dialect::MySql {
            self.sql_mode.take(sql);
        }
        let Some(tokens) = tokens(sql, self.dialect, self.sql_mode.ansi_quotes()) else {
            return self.take_words(sql, line);
        };
        // A statement that begins with a backslash is a command of psql.
        if matches!(tokens.first(), None | Some(Token::Backslash)) {
            return Ok(());
        }
        let mut cursor = Cursor::new(&tokens, self.dialect);
        if CHANGES.iter().any(|word| cursor.is_word(word)) {
            return Err(only_by_server(sql, line));
        }
        self.statement(&mut cursor, line)
            .map_err(|Near(near)| refused(sql, line, &format!("can't be parsed at {near}")))
    }

    /// Handles a statement that can't be split into tokens: returns an error if its first words say that it may change rows or tables, and
    /// otherwise leaves it out with a note.
    fn take_words(&mut self, sql: &str, line: u64) -> Result<()> {
        let words: Vec<String> = sql
            .lines()
            .filter(|line| !line.trim_start().starts_with("--"))
            .flat_map(str::split_whitespace)
            .take(2)
            .map(|word| word.trim_start_matches('(').to_uppercase())
            .collect();
        let first = words.first().map_or("", String::as_str);
        let of_table =
            words.get(1).is_some_and(|word| ["TABLE", "TEMPORARY", "UNLOGGED"].contains(&word.as_str()));
        if CHANGES.contains(&first) || (["CREATE", "ALTER", "DROP"].contains(&first) && of_table) {
            return Err(refused(sql, line, "can't be split into words: is a quote not closed?"));
        }
        self.leave_out("statement", words.join(" "), line, "it can't be parsed");
        Ok(())
    }

    fn statement(&mut self, cursor: &mut Cursor<'_>, line: u64) -> Parsed<()> {
        if cursor.word("CREATE") {
            self.create(cursor, line)
        } else if cursor.word("ALTER") {
            self.alter(cursor, line)
        } else if cursor.word("DROP") {
            self.drop(cursor)
        } else if cursor.words(&["COMMENT", "ON"]) {
            self.comment(cursor)
        } else if cursor.word("SET") {
            self.set(cursor);
            Ok(())
        } else if cursor.is_word("SELECT") || cursor.is_word("DO") {
            self.set_value(cursor);
            Ok(())
        } else if SILENT.iter().any(|word| cursor.is_word(word)) {
            Ok(())
        } else {
            let words: Vec<String> = cursor.rest().iter().take(3).map(ToString::to_string).collect();
            self.leave_out("statement", words.join(" "), line, "it can't be parsed");
            Ok(())
        }
    }

    /// Parses a SET statement, and applies it if it decides the meaning of names.
    fn set(&mut self, cursor: &mut Cursor<'_>) {
        if self.dialect == Dialect::Postgres && cursor.word("SEARCH_PATH") {
            cursor.next();
            self.schema = match cursor.peek() {
                Some(Token::SingleQuotedString(name)) if !name.is_empty() => Some(name.clone()),
                Some(Token::Word(_)) => cursor.name().ok().filter(|name| name != "pg_catalog"),
                _ => None,
            };
        }
    }

    fn create(&mut self, cursor: &mut Cursor<'_>, line: u64) -> Parsed<()> {
        let start = cursor.clone();
        cursor.words(&["OR", "REPLACE"]);
        cursor.one_of(&["TEMPORARY", "TEMP"]);
        cursor.one_of(&["UNLOGGED", "GLOBAL", "LOCAL"]);
        if cursor.word("TABLE") {
            return self.create_table(cursor, line);
        }
        let unique = cursor.word("UNIQUE");
        if cursor.word("INDEX") {
            return self.create_index(cursor, unique, line);
        }
        if cursor.words(&["FULLTEXT", "INDEX"]) || cursor.words(&["SPATIAL", "INDEX"]) {
            let name = cursor.name()?;
            self.leave_out("index", name, line, "SQLite has no such index");
            return Ok(());
        }
        if cursor.word("TYPE") {
            let name = self.resolved(cursor.qualified()?);
            if cursor.words(&["AS", "ENUM"]) {
                let values = cursor.group()?.iter().filter_map(text_of).map(str::to_owned).collect();
                self.types.insert(name, CreatedType::Enum(values));
            } else {
                self.leave_out("type", name.1, line, "its values are TEXT");
            }
            return Ok(());
        }
        if cursor.word("DOMAIN") {
            return self.create_domain(cursor, line);
        }
        if cursor.word("SEQUENCE") {
            return self.create_sequence(cursor, line);
        }
        if ["DATABASE", "SCHEMA", "ROLE", "USER", "GROUP", "TABLESPACE"]
            .iter()
            .any(|word| cursor.is_word(word))
        {
            return Ok(());
        }
        // MySQL writes DEFINER, ALGORITHM and other clauses before the kind of the object.
        *cursor = start;
        while !cursor.at_end() {
            for kind in KINDS {
                let words: Vec<&str> = kind.split(' ').collect();
                if cursor.words(&words) {
                    cursor.words(&["IF", "NOT", "EXISTS"]);
                    let name = match cursor.qualified() {
                        Ok((_, name)) => name,
                        Err(_) => cursor
                            .rest()
                            .iter()
                            .take(5)
                            .map(ToString::to_string)
                            .collect::<Vec<_>>()
                            .join(" "),
                    };
                    self.leave_out(&kind.to_lowercase(), name, line, "SQLite has no counterpart");
                    return Ok(());
                }
            }
            cursor.next();
        }
        self.leave_out("statement", "CREATE".to_owned(), line, "it can't be parsed");
        Ok(())
    }

    fn create_index(&mut self, cursor: &mut Cursor<'_>, unique: bool, line: u64) -> Parsed<()> {
        cursor.one_of(&["CONCURRENTLY", "NONCONCURRENTLY"]);
        cursor.words(&["IF", "NOT", "EXISTS"]);
        let name = cursor.qualified()?.1;
        if cursor.word("USING") {
            cursor.next();
        }
        if !cursor.word("ON") {
            return cursor.near();
        }
        cursor.word("ONLY");
        let table = self.resolved(cursor.qualified()?);
        if cursor.word("USING") {
            let method = cursor.name()?;
            if !["btree", "hash", "lsm"].contains(&method.to_lowercase().as_str()) {
                self.leave_out(&format!("{method} index"), name, line, "SQLite has no such index");
                return Ok(());
            }
        }
        let parts = self.parts(cursor.group()?)?;
        let mut filter = None;
        while !cursor.at_end() {
            if cursor.words(&["NULLS", "NOT", "DISTINCT"]) {
                self.note(
                    line,
                    format!("index {name}: UNIQUE takes several NULLs, which NULLS NOT DISTINCT forbids"),
                );
            } else if cursor.word("WHERE") {
                filter = Some(cursor.rest().to_vec());
                break;
            } else {
                cursor.next();
            }
        }
        match self.table_mut(&table) {
            Some(table) => table.indexes.push(Index { name: Some(name), unique, parts, filter, line }),
            None => self.leave_out("index", name, line, "its table is not in the dump"),
        }
        Ok(())
    }

    fn create_domain(&mut self, cursor: &mut Cursor<'_>, line: u64) -> Parsed<()> {
        let name = self.resolved(cursor.qualified()?);
        cursor.word("AS");
        let base = source_type(cursor, self.dialect)?;
        let mut domain = Domain { base, not_null: false, default: None, checks: Vec::new() };
        let mut check = None;
        while !cursor.at_end() {
            if cursor.word("CONSTRAINT") {
                check = Some(cursor.name()?);
            } else if cursor.words(&["NOT", "NULL"]) {
                domain.not_null = true;
            } else if cursor.word("DEFAULT") {
                domain.default =
                    Some(cursor.expression(&["NOT", "NULL", "CONSTRAINT", "CHECK", "COLLATE"])?.to_vec());
            } else if cursor.word("CHECK") {
                let expression = cursor.group()?.to_vec();
                domain.checks.push(Check { name: check.take(), expression, line });
            } else {
                cursor.next();
            }
        }
        self.types.insert(name, CreatedType::Domain(domain));
        Ok(())
    }

    fn alter(&mut self, cursor: &mut Cursor<'_>, line: u64) -> Parsed<()> {
        if cursor.word("TABLE") {
            return self.alter_table(cursor, line);
        }
        if cursor.word("TYPE") {
            let name = self.resolved(cursor.qualified()?);
            if cursor.words(&["ADD", "VALUE"]) {
                cursor.words(&["IF", "NOT", "EXISTS"]);
                let value = cursor.text()?;
                let before = cursor.word("BEFORE");
                let beside = if before || cursor.word("AFTER") { Some(cursor.text()?) } else { None };
                if let Some(CreatedType::Enum(values)) = self.types.get_mut(&name) {
                    let at = beside.and_then(|beside| values.iter().position(|value| *value == beside));
                    values.insert(at.map_or(values.len(), |at| at + usize::from(!before)), value);
                }
            }
            return Ok(());
        }
        if cursor.word("SEQUENCE") {
            return self.alter_sequence(cursor);
        }
        // The statement changes an owner or privileges, attaches the index of a partition, or changes an object that was left out.
        Ok(())
    }

    fn table_mut(&mut self, name: &Name) -> Option<&mut Table> {
        self.places.get(name).and_then(|&place| self.tables[place].as_mut())
    }

    fn alter_table(&mut self, cursor: &mut Cursor<'_>, line: u64) -> Parsed<()> {
        cursor.words(&["IF", "EXISTS"]);
        cursor.word("ONLY");
        let name = self.resolved(cursor.qualified()?);
        cursor.symbol(&Token::Mul);
        // The table is taken out of the list, so that the table and the translator can both be changed.
        let place = self.places.get(&name).copied();
        let taken = place.and_then(|place| self.tables[place].take());
        let known = taken.is_some();
        let mut table = taken.unwrap_or_default();
        let mut result = Ok(());
        for action in split(cursor.rest()) {
            let mut action = Cursor::new(action, self.dialect);
            result = self.alter_action(known.then_some(&mut table), &name, &mut action, line);
            if result.is_err() {
                break;
            }
        }
        if let (true, Some(place)) = (known, place) {
            self.tables[place] = Some(table);
        }
        result
    }

    fn alter_action(
        &mut self,
        table: Option<&mut Table>,
        name: &Name,
        action: &mut Cursor<'_>,
        line: u64,
    ) -> Parsed<()> {
        const SILENT: [&str; 17] = [
            "OWNER",
            "ENABLE",
            "DISABLE",
            "FORCE",
            "NO",
            "REPLICA",
            "CLUSTER",
            "SET",
            "RESET",
            "VALIDATE",
            "COMMENT",
            "ENGINE",
            "PARTITION",
            "INHERIT",
            "ROW_FORMAT",
            "DEFAULT",
            "ORDER",
        ];
        if action.words(&["ATTACH", "PARTITION"]) {
            let partition = self.resolved(action.qualified()?);
            if let Some(partition) = self.table_mut(&partition) {
                partition.partition_of = Some(name.clone());
            }
            return Ok(());
        }
        if !action.words(&["SET", "SCHEMA"]) && SILENT.iter().any(|word| action.is_word(word)) {
            return Ok(());
        }
        let dialect = self.dialect;
        let Some(table) = table else {
            // With `--clean`, dumps drop constraints before they create the tables.
            if ["DROP", "DETACH", "ALTER"].iter().any(|word| action.is_word(word)) {
                return Ok(());
            }
            // The table is a view or a foreign table, or is in another dump.
            self.leave_out(
                "statement",
                format!("ALTER TABLE {}", name.1),
                line,
                "its table is not in the dump",
            );
            return Ok(());
        };
        if action.word("AUTO_INCREMENT") {
            action.symbol(&Token::Eq);
            table.next_number = whole_number(action.rest());
        } else if action.word("ADD") {
            if self.constraint(table, action, line)? {
                return Ok(());
            }
            action.word("COLUMN");
            action.words(&["IF", "NOT", "EXISTS"]);
            let column = self.column(table, action, line)?;
            table.put(column, dialect);
        } else if action.words(&["DROP", "CONSTRAINT"]) || action.words(&["DROP", "FOREIGN", "KEY"]) {
            action.words(&["IF", "EXISTS"]);
            let name = action.name()?;
            if !table.drop_constraint(&name, dialect) {
                return action.near();
            }
        } else if action.word("MODIFY") {
            action.word("COLUMN");
            let column = self.column(table, action, line)?;
            if table.place(&column.name, dialect).is_none() {
                return action.near();
            }
            table.put(column, dialect);
        } else if action.word("CHANGE") {
            action.word("COLUMN");
            let old = action.name()?;
            let column = self.column(table, action, line)?;
            if old != column.name || !table.change(&old, column, dialect) {
                return action.near();
            }
        } else if action.word("ALTER") {
            action.word("COLUMN");
            let name = action.name()?;
            let Some(column) = table.column(&name, dialect) else { return action.near() };
            if action.words(&["SET", "DEFAULT"]) {
                column.default = Some(action.rest().to_vec());
            } else if action.words(&["DROP", "DEFAULT"]) {
                column.default = None;
            } else if action.words(&["SET", "NOT", "NULL"]) {
                column.not_null = true;
            } else if action.words(&["DROP", "NOT", "NULL"]) {
                column.not_null = false;
            } else if action.words(&["ADD", "GENERATED"]) {
                column.auto = true;
                while !action.at_end() && action.peek() != Some(&Token::LParen) {
                    action.next();
                }
                column.sequence = self.identity(action, line)?;
            } else if action.words(&["RESTART", "WITH"]) {
                let next = whole_number(action.rest());
                let at = table.place(&name, dialect).unwrap_or_default();
                let counter = counter(table, at);
                self.sequences.entry(counter).and_modify(|sequence| sequence.next = next);
            } else if !action.word("SET") && !action.word("RESET") {
                return action.near();
            }
        } else {
            return action.near();
        }
        Ok(())
    }

    fn drop(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        cursor.word("TEMPORARY");
        if !cursor.word("TABLE") {
            // Dumps that begin with DROP statements drop indexes together with their tables.
            return Ok(());
        }
        cursor.words(&["IF", "EXISTS"]);
        for table in split(cursor.rest()) {
            let name = self.resolved(Cursor::new(table, self.dialect).qualified()?);
            if let Some(place) = self.places.remove(&name) {
                self.tables[place] = None;
            }
        }
        Ok(())
    }

    fn comment(&mut self, cursor: &mut Cursor<'_>) -> Parsed<()> {
        let dialect = self.dialect;
        if cursor.word("TABLE") {
            let name = self.resolved(cursor.qualified()?);
            cursor.word("IS");
            let comment = cursor.text().ok();
            if let Some(table) = self.table_mut(&name) {
                table.comment = comment;
            }
        } else if cursor.word("COLUMN") {
            let mut parts = vec![cursor.name()?];
            while cursor.symbol(&Token::Period) {
                parts.push(cursor.name()?);
            }
            cursor.word("IS");
            let comment = cursor.text().ok();
            if let (Some(column), Some(table)) = (parts.pop(), parts.pop()) {
                let name = self.resolved((parts.pop(), table));
                if let Some(column) = self.table_mut(&name).and_then(|table| table.column(&column, dialect)) {
                    column.comment = comment;
                }
            }
        }
        Ok(())
    }
}

/// Returns the first words of a statement.
fn start_of(sql: &str) -> String {
    sql.split_whitespace().take(4).collect::<Vec<_>>().join(" ").chars().take(80).collect()
}

/// Returns the error for a statement that changes rows in a way that only a server can execute.
fn only_by_server(sql: &str, line: u64) -> Error {
    let message = format!(
        "the statement \"{} ...\" changes rows in a way that only a database server can execute",
        start_of(sql)
    );
    Error::input(message)
        .at(Place { line: Some(line), ..Place::default() })
        .hint("run the script on a server, and load a dump of the database")
}

/// Returns the error for a statement that can't be parsed but may change rows or tables.
fn refused(sql: &str, line: u64, why: &str) -> Error {
    let start = start_of(sql);
    Error::input(format!("the statement \"{start} ...\" {why}"))
        .at(Place { line: Some(line), ..Place::default() })
        .hint("it may change rows or tables: remove it from the dump if SQLite does not need it")
}
