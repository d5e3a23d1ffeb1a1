//! Full-text tables of a schema: those that take rows of their own, and those over other tables.
//!
//! | text | rows of a load | rows of a generated database (`generate --like`) |
//! |---|---|---|
//! | stored in the table | given | generated as those of any table |
//! | in another table or view | none: the index is made after that table | none: the index is made after that table |
//! | not kept | given (FTS5), for the index | none: a profile has no text to follow; a schema may describe them |
//!
//! A full-text table that takes rows is a table of [`Schema::tables`] here, so that its rows are described, counted, generated and loaded
//! like those of other tables.

use rusqlite::Connection;
use sqluice_core::error::{Message, Result};
use sqluice_core::schema::{Object, Schema, Table, quoted};
use sqluice_core::sqlite_error::{failed, said};
use sqluice_engine::full_text::declaration::{self, Declaration};
use sqluice_engine::plan::Plan;
use sqluice_engine::sqlite::is_virtual_table;

use sqluice_core::schema::virtual_table::VirtualTableSql;

/// The source of the rows of a virtual table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A full-text table that stores its text.
    Own,
    /// A full-text table whose text is in another table or view.
    Other,
    /// A full-text table that does not keep its text.
    Missing,
    /// A full-text table whose text only functions of an application can read.
    Compressed,
    /// A virtual table of another module.
    NoText,
}

impl Content {
    /// Returns the source of the rows of a CREATE VIRTUAL TABLE statement's table.
    fn of(sql: &str) -> Content {
        let made = VirtualTableSql::of(sql);
        let module = made.module.to_ascii_lowercase();
        // FTS3 has no options but its tokenizer.
        let option = |name: &str| made.option(name).filter(|_| module != "fts3");
        match (&*module, option("content")) {
            ("fts3" | "fts4" | "fts5", Some(content)) if content.trim().is_empty() => Content::Missing,
            ("fts3" | "fts4" | "fts5", Some(_)) => Content::Other,
            ("fts4", None) if option("compress").is_some() || option("uncompress").is_some() => {
                Content::Compressed
            }
            ("fts3" | "fts4" | "fts5", None) => Content::Own,
            _ => Content::NoText,
        }
    }

    /// Returns the reason why no rows are generated for a table.
    fn why_no_rows(self) -> &'static str {
        match self {
            Content::Own => "SQLite can't create it without an application",
            Content::Other => "its text is in another table",
            Content::Missing => "it does not keep its text",
            Content::Compressed => "an application compresses its text",
            Content::NoText => "rows are made for full-text tables alone",
        }
    }
}

/// Returns the virtual tables of a schema, with their statements.
fn virtual_tables(schema: &Schema) -> impl Iterator<Item = (&Object, &str)> {
    let tables = schema.others.iter().filter(|object| is_virtual_table(object));
    tables.filter_map(|object| Some((object, object.sql.as_deref()?)))
}

/// Returns the full-text tables of a schema that take rows of their own.
#[cfg(feature = "load")]
pub(crate) fn taking_rows(schema: &Schema) -> Vec<Table> {
    // A table that SQLite can't create here needs a tokenizer of an application.
    let table = |(object, sql): (&Object, &str)| {
        let connection = Connection::open_in_memory().ok()?;
        connection.execute_batch(sql).ok()?;
        sqluice_engine::full_text::given::table(&connection, &object.name, sql).ok()?
    };
    virtual_tables(schema).filter_map(table).collect()
}

/// Adds those of `tables` to the schema that `has` selects.
#[cfg(feature = "load")]
pub(crate) fn add_taking_rows(schema: &mut Schema, tables: &[Table], has: impl Fn(&str) -> bool) {
    schema.tables.extend(tables.iter().filter(|table| has(&table.name)).cloned());
}

/// Replaces the virtual tables in `schema.tables` by the full-text tables that store their text and that `has` selects.
pub(crate) fn add_tables(schema: &mut Schema, has: impl Fn(&str) -> bool) {
    add_tables_with(schema, |content, _| content == Content::Own, has);
}

/// Replaces the virtual tables in `schema.tables` by the full-text tables for which rows can be generated and that `has` selects.
pub(crate) fn add_generated(schema: &mut Schema, has: impl Fn(&str) -> bool) {
    let takes_rows = |content, sql: &str| match content {
        // FTS3 and FTS4 need rowids, which are not generated.
        Content::Missing => VirtualTableSql::of(sql).module.eq_ignore_ascii_case("fts5"),
        _ => content == Content::Own,
    };
    add_tables_with(schema, takes_rows, has);
}

fn add_tables_with(
    schema: &mut Schema,
    takes_rows: impl Fn(Content, &str) -> bool,
    has: impl Fn(&str) -> bool,
) {
    schema.tables.retain(|table| !table.is_virtual);
    let added =
        virtual_tables(schema).filter(|(object, sql)| takes_rows(Content::of(sql), sql) && has(&object.name));
    // A table that SQLite can't create here needs a tokenizer of an application.
    let added = added.filter_map(|(object, sql)| {
        Some(Table::of_virtual(&object.name, sql, columns(&object.name, sql).ok()?))
    });
    let added: Vec<Table> = added.collect();
    schema.tables.extend(added);
}

/// Returns the names of the columns of a full-text table.
fn columns(name: &str, sql: &str) -> rusqlite::Result<Vec<String>> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(sql)?;
    declaration::columns(&connection, name)
}

/// Full-text tables whose text is in other tables or views, and the way in which indexes are made.
#[derive(Debug, Default)]
pub(crate) struct OverOthers {
    /// The names of the tables that SQLite can fill.
    pub(crate) filled: Vec<String>,
    /// The names of the other tables, each with SQLite's reason.
    pub(crate) empty: Vec<(String, String)>,
    /// The names of the filled tables whose index only SQLite can make, each with the reason.
    by_sqlite: Vec<(String, String)>,
}

impl OverOthers {
    /// Finds the full-text tables over others, and tests in an empty database whether SQLite can fill them. Also finds the filled tables,
    /// with rows of their own or not, whose index only SQLite can make.
    ///
    /// # Errors
    /// If SQLite can't make the database.
    pub(crate) fn of(schema: &Schema) -> Result<OverOthers> {
        let mut all = OverOthers::default();
        let is_filled = |name: &str| schema.table(name).is_some();
        let with_text: Vec<(&str, &str, Content)> = virtual_tables(schema)
            .map(|(object, sql)| (&*object.name, sql, Content::of(sql)))
            .filter(|(name, _, content)| match content {
                Content::Other => true,
                Content::Own | Content::Missing => is_filled(name),
                _ => false,
            })
            .collect();
        if with_text.is_empty() {
            return Ok(all);
        }
        let failed = |error| failed(error, "make an empty database");
        let connection = Connection::open_in_memory().map_err(failed)?;
        connection.execute_batch(&schema.sql).map_err(failed)?;
        for (name, sql, content) in with_text {
            let quoted = quoted(name);
            let rebuild = format!("INSERT INTO {quoted} ({quoted}) VALUES ('rebuild')");
            if content == Content::Other {
                match connection.execute_batch(&rebuild) {
                    Ok(()) => all.filled.push(name.to_owned()),
                    Err(error) => {
                        all.empty.push((name.to_owned(), said(error)));
                        continue;
                    }
                }
            }
            // SQLite itself makes the index of an FTS3 or FTS4 table, so these tables need no note.
            let is_fts5 = VirtualTableSql::of(sql).module.eq_ignore_ascii_case("fts5");
            if let (true, Ok(Err(why))) = (is_fts5, Declaration::of(&connection, name)) {
                all.by_sqlite.push((name.to_owned(), why));
            }
        }
        Ok(all)
    }

    /// Adds the tables to the plan of a new database, with a note for each one whose index only SQLite can make, or that gets no rows.
    pub(crate) fn add_to(self, plan: &mut Plan) {
        let empty =
            self.empty.iter().map(|(name, why)| format!("full-text table {name} gets no rows: {why}"));
        let by_sqlite = self
            .by_sqlite
            .iter()
            .map(|(name, why)| format!("SQLite makes the index of full-text table {name}: {why}"));
        plan.notes.extend(empty.chain(by_sqlite).map(Message::from));
        plan.full_text = self.filled;
    }
}

/// Returns the names of full-text tables for which a profile has no text to generate rows from, each with the reason.
pub(crate) fn without_text(schema: &Schema) -> Vec<(&str, &'static str)> {
    let has_none = |content: &Content| matches!(content, Content::Missing | Content::Compressed);
    let why = |sql: &str| Some(Content::of(sql)).filter(has_none).map(Content::why_no_rows);
    virtual_tables(schema).filter_map(|(object, sql)| Some((&*object.name, why(sql)?))).collect()
}

/// Returns each full-text table that gets no rows, and each virtual table whose comments have no effect, with a note. `is_described`
/// returns `true` for tables with comments or a given row count.
pub(crate) fn notes(schema: &Schema, is_described: impl Fn(&str) -> bool) -> Vec<(String, String)> {
    let note = |(object, sql): (&Object, &str)| {
        let content = Content::of(sql);
        let (name, is_described) = (&object.name, is_described(&object.name));
        if schema.table(name).is_some() {
            return None;
        }
        let why = match content {
            Content::Own if !is_described => "no gen: or rows: comment describes it",
            Content::Other | Content::NoText if !is_described => return None,
            _ => content.why_no_rows(),
        };
        let kind = if content == Content::NoText { "virtual" } else { "full-text" };
        Some((name.clone(), format!("{kind} table {name} gets no rows: {why}")))
    };
    virtual_tables(schema).filter_map(note).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tables(sql: &str) -> Vec<(String, Vec<String>)> {
        let mut schema = Schema::parse(sql, "s".as_ref()).unwrap();
        add_tables(&mut schema, |_| true);
        add_tables(&mut schema, |_| true);
        let columns = |table: Table| table.columns.into_iter().map(|column| column.name).collect();
        schema.tables.into_iter().map(|table| (table.name.clone(), columns(table))).collect()
    }

    #[test]
    fn full_text_tables_with_their_own_text_are_tables_with_columns() {
        for (sql, columns) in [
            (
                "CREATE VIRTUAL TABLE t USING fts5(a, [b c] UNINDEXED, 'd', tokenize = 'porter ascii')",
                "a,b c,d",
            ),
            ("CREATE VIRTUAL TABLE t USING FTS4(a TEXT, tokenize=porter, \"b\", order=desc)", "a,b"),
            ("CREATE VIRTUAL TABLE t USING fts3(tokenize porter, a)", "a"),
            ("CREATE VIRTUAL TABLE t USING fts3(content='')", "content"),
            ("CREATE VIRTUAL TABLE t USING fts4", "content"),
            ("CREATE VIRTUAL TABLE t USING fts5(a, -- gen: x('q), b')\n b -- gen: y()\n)", "a,b"),
        ] {
            let found = tables(sql);
            assert_eq!(found.len(), 1, "{sql}");
            assert_eq!(found[0].1.join(","), columns, "{sql}");
        }
    }

    #[test]
    fn other_virtual_tables_are_no_tables() {
        for sql in [
            "CREATE VIRTUAL TABLE t USING fts5(a, content='')",
            "CREATE VIRTUAL TABLE t USING fts5(a, content=\"o\")",
            "CREATE VIRTUAL TABLE t USING fts4(a, content='o')",
            "CREATE VIRTUAL TABLE t USING fts4(a, compress=zip, uncompress=unzip)",
            "CREATE VIRTUAL TABLE t USING rtree(id, a, b)",
        ] {
            assert_eq!(tables(&format!("CREATE TABLE o (a); {sql}")).len(), 1, "{sql}");
        }
    }
}
