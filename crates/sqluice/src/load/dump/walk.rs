//! The walk over the statements of a dump, which decides about each statement: the engine carries it out, or SQLite runs it afterwards.
//!
//! Two databases in memory run the declarations of the dump, without its rows. `all` runs every declaration, so that later statements can
//! be prepared. `by_pages` runs only the declarations of the tables and indexes that the engine writes.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use rusqlite::Connection;
use sqluice_core::affinity::Affinity;
use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::progress::Context;
use sqluice_core::schema::token::{self, Token};
use sqluice_core::schema::{Schema, Table};
use sqluice_core::source::columns::Constant;
use sqluice_core::sqlite_error::failed;
use sqluice_format::page::PageSize;
use sqluice_sources::dump::rows::{Shape, TableRows};
use sqluice_sources::dump::split::{Item, RowsOfItem, Script};
use sqluice_sources::dump::{DumpFile, Header};

use super::super::files::default_value;
use super::super::request::options::Load;
use super::declared::Declared;
use super::guard::{Guard, Seen, is_schema};
use super::selection::{self, Deferred, Effect, Selection};
use super::statement::{explained, first_words, text_of};
use crate::expressions::functions::Functions;

/// The result of a walk.
pub(super) struct Walked {
    /// The tables, indexes, views and triggers that the engine makes.
    pub(super) schema: Schema,
    /// The rows that are written as pages, for each table of the schema in order.
    pub(super) rows: Vec<Arc<TableRows>>,
    /// The statements that SQLite runs after the pages are written.
    pub(super) last: Vec<Deferred>,
    /// The number of rows that the statements of `last` insert as literals.
    pub(super) rows_by_sqlite: u64,
    /// `true` if the dump turns the check of foreign keys on, and the parents of all loaded tables are loaded.
    pub(super) foreign_keys: bool,
    /// `true` if the dump inserts rows into `sqlite_schema`, or changes the text in its rows.
    pub(super) writes_schema: bool,
    /// `true` if rows given as literals are written as pages where possible; `false` if SQLite inserts all of them.
    pub(super) by_pages: bool,
    /// `true` if a statement asks for the last rowid, which only a session that inserts the rows knows.
    pub(super) asks_session: bool,
    /// `true` if the dump allows its first rows to break a CHECK. If it changes that later, SQLite inserts the later rows.
    pub(super) ignores_checks: bool,
    /// The page size that the dump asks for before it makes a table; `None` if it asks for none.
    pub(super) page_size: Option<PageSize>,
    /// `true` if some tables of the dump are not loaded.
    pub(super) selects: bool,
    pub(super) notes: Vec<Message>,
}

/// A walk; see the module's description.
pub(super) struct Walk<'d> {
    load: &'d Load,
    functions: &'d Functions,
    file: &'d DumpFile,
    script: &'d Script,
    all: Declared,
    guard: Guard,
    by_pages: Declared,
    /// The names and statements of the tables that the engine writes, by their names in lower case.
    tables: HashMap<String, (String, String)>,
    /// The tables with triggers.
    with_triggers: HashSet<String>,
    /// The rows of each table, by the name of the table in lower case.
    rows: HashMap<String, TableRows>,
    /// The tables whose rows come with rowids that are in no column of the table.
    with_rowids: HashSet<String>,
    /// The tables that a statement for SQLite has read or changed.
    touched: HashSet<String>,
    /// `true` once a statement may have read or changed every table.
    all_touched: bool,
    /// A cache: the table and the shape of rows, by the position of their INSERT's header in the `headers` of the script. It is cleared
    /// when a declaration changes.
    shapes: HashMap<usize, Option<(String, Arc<Shape>)>>,
    last: Vec<Deferred>,
    /// The distinct effects of the statements for SQLite.
    effects: HashSet<Arc<Effect>>,
    /// The CREATE VIRTUAL TABLE statements of the dump.
    virtual_tables: Vec<String>,
    foreign_keys: bool,
    writes_schema: bool,
    asks_session: bool,
    /// `true` if `ignore_check_constraints` was on when the first rows came.
    ignores_checks: bool,
    page_size: Option<PageSize>,
    /// The present state of `ignore_check_constraints`.
    ignores_checks_now: bool,
    /// The offset of the BEGIN of the open transaction; `None` outside of a transaction.
    transaction: Option<u64>,
    rolled_back: Option<u64>,
    notes: Vec<Message>,
    literal: bool,
}

impl<'d> Walk<'d> {
    /// Begins a walk. If `literal` is `false`, SQLite inserts all rows.
    pub(super) fn new(
        (load, functions): (&'d Load, &'d Functions),
        file: &'d DumpFile,
        script: &'d Script,
        literal: bool,
    ) -> Result<Walk<'d>> {
        let open = || Declared::open().map_err(|error| failed(error, "open a database in memory"));
        let mut all = open()?;
        enforce_foreign_keys(all.known(), load.write.foreign_keys.unwrap_or(false))?;
        let guard = Guard::set(all.known_mut())?;
        Ok(Walk {
            load,
            functions,
            file,
            script,
            all,
            guard,
            by_pages: open()?,
            tables: HashMap::new(),
            with_triggers: HashSet::new(),
            rows: HashMap::new(),
            with_rowids: HashSet::new(),
            touched: HashSet::new(),
            all_touched: !literal,
            shapes: HashMap::new(),
            last: Vec::new(),
            effects: HashSet::new(),
            virtual_tables: Vec::new(),
            foreign_keys: false,
            writes_schema: false,
            asks_session: false,
            ignores_checks: false,
            page_size: None,
            ignores_checks_now: false,
            transaction: None,
            rolled_back: None,
            notes: Vec::new(),
            literal,
        })
    }

    /// Walks over all statements.
    pub(super) fn run(mut self, context: &Context<'_>) -> Result<Walked> {
        for item in &self.script.items {
            context.cancel.check()?;
            match item {
                Item::Rows(rows) => self.take_rows(rows)?,
                Item::Statement(range) => self.statement(range)?,
                Item::Command(range) => self.command(range)?,
            }
        }
        self.refuse_rolled_back()?;
        let schema = self
            .by_pages
            .whole()
            .and_then(|connection| Schema::from_catalogue(connection, String::new(), self.file.name()));
        let mut schema = schema.map_err(|error| failed(error, "read the schema of the dump"))?;
        if schema.tables.is_empty() && self.last.is_empty() {
            return Err(Error::input("this SQL makes no table")
                .at(sqluice_core::error::Place::file(self.file.name()))
                .hint("a dump has CREATE TABLE and INSERT statements"));
        }
        self.select(&mut schema)?;
        let rows = schema.tables.iter_mut().map(|table| {
            let name = table.name.to_ascii_lowercase();
            if self.with_rowids.contains(&name)
                && let Some(rowid) = table.rowid_name()
            {
                *table = table.with_rowid_column(rowid);
            }
            Arc::new(self.rows.remove(&name).unwrap_or_default())
        });
        let rows = rows.collect();
        Ok(Walked {
            schema,
            rows,
            rows_by_sqlite: self.last.iter().map(|work| work.rows).sum(),
            last: self.last,
            foreign_keys: self.foreign_keys,
            writes_schema: self.writes_schema,
            by_pages: self.literal,
            asks_session: self.asks_session,
            ignores_checks: self.ignores_checks,
            page_size: self.page_size,
            selects: !self.load.tables.is_empty(),
            notes: self.notes,
        })
    }

    /// Removes the tables that the user does not name, and the statements about them.
    fn select(&mut self, schema: &mut Schema) -> Result<()> {
        if self.load.tables.is_empty() {
            return Ok(());
        }
        let mut known = self.table_names()?;
        known.extend(self.virtual_tables.iter().filter_map(|sql| selection::name_of_virtual(sql)));
        let selection = Selection::new(&self.load.tables, self.file, &known, &self.virtual_tables)?;
        selection.keep_in(schema);
        self.last = selection.statements(std::mem::take(&mut self.last), schema, self.file)?;
        let lost = selection.lost_parents(schema, &known);
        self.foreign_keys &= lost.is_empty();
        self.notes.extend(selection::notes(&lost));
        Ok(())
    }

    /// Returns the names of the tables that the dump has made so far.
    fn table_names(&mut self) -> Result<Vec<String>> {
        // Tell the guard that the next statement may read and write `sqlite_schema`.
        self.guard.begin(true);
        let mut names = || -> rusqlite::Result<Vec<String>> {
            let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'";
            self.all.whole()?.prepare(sql)?.query_map([], |row| row.get(0))?.collect()
        };
        names().map_err(|error| failed(error, "read the schema of the dump"))
    }

    /// Refuses a dump that ends in a transaction, or has a ROLLBACK anywhere: SQLite would undo changes. `commit_anyway` accepts both.
    fn refuse_rolled_back(&mut self) -> Result<()> {
        let (at, what) = match (self.rolled_back, self.transaction) {
            (Some(at), _) => (at, "the dump takes its rows back, because errors were found when it was made"),
            (None, Some(at)) => (at, "the dump ends within the transaction that begins here"),
            (None, None) => return Ok(()),
        };
        if self.load.commit_anyway {
            return Ok(());
        }
        Err(Error::input(what)
            .at(self.file.place(at))
            .hint(message!["make the dump again, or load what it has: ", Setting::CommitAnyway]))
    }

    /// Handles a line that is a command of the `sqlite3` shell.
    fn command(&mut self, range: &Range<u64>) -> Result<()> {
        let line = self.file.text(range.clone())?;
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.len() == 3 && words[..2] == [".dbconfig", "defensive"] {
            return Ok(());
        }
        let command = words.first().copied().unwrap_or_default();
        Err(Error::input(format!("{command} is a command of the shell sqlite3, which is not run here"))
            .at(self.file.place(range.start))
            .hint("take the line out, if the rows do not need it"))
    }

    fn statement(&mut self, range: &Range<u64>) -> Result<()> {
        let sql = text_of(self.file, range.clone())?;
        let first = first_words(&sql);
        let words: Vec<&str> = first.iter().map(String::as_str).collect();
        match words[..] {
            ["BEGIN", ..] => self.transaction = Some(range.start),
            ["COMMIT" | "END", ..] => self.transaction = None,
            ["ROLLBACK", ..] => (self.transaction, self.rolled_back) = (None, Some(range.start)),
            ["SAVEPOINT" | "RELEASE", ..] => {}
            ["PRAGMA", ..] => return self.pragma(&sql, range),
            ["CREATE", ..] => return self.create(&sql, range, &words),
            ["DROP" | "ALTER", ..] => return self.change(&sql, range),
            ["VACUUM", "INTO", ..] | ["VACUUM", _, "INTO", ..] => {
                return Err(Error::input(
                    "a dump only fills its database, and VACUUM INTO writes another file",
                )
                .at(self.file.place(range.start))
                .hint("take the statement out"));
            }
            ["VACUUM", ..] => {}
            ["EXPLAIN", ..] => {}
            // A query changes nothing, so it is not run. It is prepared to find errors.
            ["SELECT" | "VALUES", ..] => {
                self.guard.begin(false);
                let prepared = self.all.known().prepare(&sql).map(drop);
                prepared.map_err(|error| explained(self.file, range, &sql, &self.guard, error))?;
            }
            _ => return self.work(&sql, range, &words),
        }
        Ok(())
    }

    /// Adds a statement to those that SQLite runs after the pages are written.
    fn defer(&mut self, range: &Range<u64>, declares: bool, effect: Option<Effect>) {
        let effect = effect.filter(|_| !self.load.tables.is_empty()).map(|effect| self.interned(effect));
        self.last.push(Deferred { range: range.clone(), declares, rows: 0, effect, makes: None });
    }

    /// Returns the only copy of an effect: a dump may have many statements about the same tables.
    fn interned(&mut self, effect: Effect) -> Arc<Effect> {
        if let Some(known) = self.effects.get(&effect) {
            return Arc::clone(known);
        }
        let effect = Arc::new(effect);
        self.effects.insert(Arc::clone(&effect));
        effect
    }

    /// Runs a declaration in `all`, the database with every declaration.
    fn run_in_all(&mut self, sql: &str, range: &Range<u64>, declares: bool) -> Result<()> {
        // Tell the guard that the statement may read and write `sqlite_schema`.
        self.guard.begin(true);
        let ready = match is_plain_create(sql) {
            true => self.all.take_aside(),
            false if declares && self.changes_nothing(sql) => Ok(()),
            false => self.all.put_back(),
        };
        ready.map_err(|error| failed(error, "read the schema of the dump"))?;
        self.guard.begin(declares);
        self.shapes.clear();
        let run = self.all.known().execute_batch(sql);
        run.map_err(|error| explained(self.file, range, sql, &self.guard, error))
    }

    /// Returns `true` for DROP ... IF EXISTS of something that does not exist.
    fn changes_nothing(&self, sql: &str) -> bool {
        self.all.known().prepare(sql).is_ok_and(|statement| statement.readonly())
    }

    /// Runs a declaration in `by_pages`, the database that describes the tables and indexes of the engine.
    fn run_by_pages(&mut self, sql: &str, range: &Range<u64>) -> Result<()> {
        let ready = match is_plain_create(sql) {
            true => self.by_pages.take_aside(),
            false => self.by_pages.put_back(),
        };
        let run = ready.and_then(|()| self.by_pages.known().execute_batch(sql));
        run.map_err(|error| explained(self.file, range, sql, &self.guard, error))
    }

    /// Records the tables that a statement for SQLite touches, and returns its effect; `None` if the effect is unknown. `sql` is the
    /// statement, or another statement that touches the same tables.
    fn touch(&mut self, sql: &str, range: &Range<u64>) -> Result<Option<Effect>> {
        self.guard.begin(false);
        if let Err(error) = self.all.known().prepare(sql).map(drop) {
            // The statement may name a virtual table that the dump has inserted into `sqlite_schema`, which `all` does not have.
            if self.writes_schema && !self.guard.denies() {
                self.all_touched = true;
                return Ok(None);
            }
            return Err(explained(self.file, range, sql, &self.guard, error));
        }
        let seen = self.guard.take();
        let effect = Effect::of(&seen);
        self.writes_schema |= seen.writes_schema;
        self.asks_session |= seen.asks_session;
        // A statement that reads the schema must not see later tables, so SQLite runs the later declarations after it.
        self.all_touched |= seen.reads_schema;
        self.touched.extend(seen.touched);
        self.shapes.clear();
        Ok(Some(effect))
    }

    fn pragma(&mut self, sql: &str, range: &Range<u64>) -> Result<()> {
        // PRAGMAs that change the session, and neither a declaration nor a row. They are skipped, also a `journal_mode` that the file would
        // keep.
        const OF_SESSIONS: [&str; 12] = [
            "ANALYSIS_LIMIT",
            "AUTOMATIC_INDEX",
            "BUSY_TIMEOUT",
            "CACHE_SIZE",
            "CASE_SENSITIVE_LIKE",
            "COUNT_CHANGES",
            "JOURNAL_MODE",
            "LEGACY_ALTER_TABLE",
            "LOCKING_MODE",
            "SYNCHRONOUS",
            "TEMP_STORE",
            "TRUSTED_SCHEMA",
        ];
        let tokens: Vec<Token> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
        let word = |index: usize| tokens.get(index).map_or("", |token| token.text(sql)).to_ascii_uppercase();
        let at = if word(2) == "." { 3 } else { 1 };
        let (name, value) = (word(at), word(at + 2));
        let is_on = matches!(value.trim_matches('\''), "ON" | "1" | "TRUE" | "YES");
        match &*name {
            "FOREIGN_KEYS" => {
                self.foreign_keys = is_on;
                enforce_foreign_keys(self.all.known(), self.load.write.foreign_keys.unwrap_or(is_on))?;
            }
            "WRITABLE_SCHEMA" => {
                self.guard.begin(false);
                self.defer(range, false, None);
                return self.run_in_all(sql, range, false);
            }
            "USER_VERSION" | "APPLICATION_ID" => {
                self.run_in_all(sql, range, false)?;
                return self.run_by_pages(sql, range);
            }
            "ENCODING" if !value.contains("UTF-8") && !value.contains("UTF8") => {
                self.notes.push(format!("the database is UTF-8, and the dump asks for {value}").into());
            }
            "ENCODING" => {}
            // SQLite ignores a page size once the database has pages, and a size that is not allowed. So does this code.
            "PAGE_SIZE" if self.tables.is_empty() && self.last.is_empty() => {
                let size = value.trim_matches('\'').parse().ok().and_then(PageSize::new);
                self.page_size = size.or(self.page_size);
            }
            "PAGE_SIZE" => {}
            "AUTO_VACUUM" if is_on || matches!(&*value, "2" | "FULL" | "INCREMENTAL") => {
                self.notes.push("PRAGMA auto_vacuum of the dump is left out".into());
            }
            "AUTO_VACUUM" => {}
            "DEFER_FOREIGN_KEYS" | "RECURSIVE_TRIGGERS" => self.defer(range, false, None),
            "IGNORE_CHECK_CONSTRAINTS" => {
                if self.rows.is_empty() {
                    self.ignores_checks = is_on;
                } else if is_on != self.ignores_checks_now {
                    self.all_touched = true;
                }
                self.ignores_checks_now = is_on;
                self.defer(range, false, None);
            }
            name if OF_SESSIONS.contains(&name) => {}
            name => {
                return Err(Error::input(format!("PRAGMA {} is not run here", name.to_ascii_lowercase()))
                    .at(self.file.place(range.start))
                    .hint("take the statement out, if the rows do not need it"));
            }
        }
        Ok(())
    }

    fn create(&mut self, sql: &str, range: &Range<u64>, words: &[&str]) -> Result<()> {
        let before = self.schema_version()?;
        self.run_in_all(sql, range, true)?;
        // Nothing has changed: the object exists already, and the statement has IF NOT EXISTS.
        if before == self.schema_version()? {
            return Ok(());
        }
        let seen = self.guard.take();
        let effect = Effect::of(&seen);
        let Seen { touched, made, .. } = seen;
        let kind = words.iter().skip(1).find(|word| !matches!(**word, "UNIQUE" | "TEMP" | "TEMPORARY"));
        let of_touched = || touched.iter().any(|table| self.touched.contains(table));
        let by_sqlite = match kind.copied() {
            Some("VIRTUAL") => {
                self.virtual_tables.push(sql.to_owned());
                true
            }
            // SQLite allows the names of its own tables only with `writable_schema`, so SQLite runs the statement.
            Some("TABLE") if made.as_ref().is_some_and(|name| selection::is_internal(name)) => true,
            Some("TABLE") => {
                // The rows of CREATE TABLE ... AS come from a query, so SQLite runs the statement, after all rows that the query may read.
                let is_query = token::tokens(sql)
                    .iter()
                    .take_while(|token| !token.is_symbol(sql, "("))
                    .any(|token| token.is_word(sql, "AS"));
                self.all_touched |= is_query;
                is_query
            }
            // If statements for SQLite wait, the view waits, too, so that the order is kept.
            Some("VIEW") => !self.last.is_empty(),
            Some("TRIGGER") => {
                self.with_triggers.extend(made.as_ref().map(|table| table.to_ascii_lowercase()));
                !self.last.is_empty()
            }
            _ => of_touched(),
        };
        if self.all_touched || by_sqlite {
            self.defer(range, true, Some(effect));
            let is_sequence = token::tokens(sql).iter().any(|token| token.is_word(sql, "AUTOINCREMENT"));
            let of_sqlite = made.as_deref().and_then(selection::of_sqlite);
            self.last_makes(of_sqlite.or(is_sequence.then_some(selection::SEQUENCE)));
            return Ok(());
        }
        self.run_by_pages(sql, range)?;
        if let (Some("TABLE"), Some(name)) = (kind.copied(), made) {
            self.tables.entry(name.to_ascii_lowercase()).or_insert_with(|| (name, sql.to_owned()));
        }
        Ok(())
    }

    /// Handles a DROP or ALTER statement.
    fn change(&mut self, sql: &str, range: &Range<u64>) -> Result<()> {
        let selects = !self.load.tables.is_empty();
        let before = (self.schema_version()?, if selects { self.table_names()? } else { Vec::new() });
        self.run_in_all(sql, range, true)?;
        // Nothing has changed: the object does not exist, and the statement has IF EXISTS.
        if before.0 == self.schema_version()? {
            return Ok(());
        }
        let is_first = self.rows.is_empty() && self.last.is_empty() && !self.all_touched;
        if is_first && !self.has_sequences()? {
            self.run_by_pages(sql, range)?;
            return self.list_tables();
        }
        self.all_touched = true;
        let mut effect = Effect::of(&self.guard.take());
        if selects {
            // ALTER TABLE may have given a table a new name.
            let new = self.table_names()?.into_iter().filter(|name| !before.1.contains(name));
            effect.changed.extend(new.map(|name| name.to_ascii_lowercase()));
        }
        self.defer(range, true, Some(effect));
        Ok(())
    }

    fn schema_version(&self) -> Result<i64> {
        let version = self.all.known().query_row("PRAGMA main.schema_version", [], |row| row.get(0));
        version.map_err(|error| failed(error, "read the version of the schema"))
    }

    /// Returns `true` if a table was AUTOINCREMENT: SQLite keeps `sqlite_sequence` after the table is dropped, and the engine would not
    /// create it.
    fn has_sequences(&self) -> Result<bool> {
        let exists = self.by_pages.known().table_exists(None, "sqlite_sequence");
        exists.map_err(|error| failed(error, "read the schema of the dump"))
    }

    /// Reads the names and statements of the tables in `by_pages` again, after a declaration has changed them.
    fn list_tables(&mut self) -> Result<()> {
        let mut list = || -> rusqlite::Result<_> {
            let mut tables = self.by_pages.whole()?.prepare(
                "SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
            )?;
            let tables = tables.query_map([], |row| {
                let (name, sql): (String, Option<String>) = (row.get(0)?, row.get(1)?);
                Ok((name.to_ascii_lowercase(), (name, sql.unwrap_or_default())))
            })?;
            tables.collect::<rusqlite::Result<HashMap<_, _>>>()
        };
        self.tables = list().map_err(|error| failed(error, "read the schema of the dump"))?;
        Ok(())
    }

    /// Handles a statement that reads or changes rows, which SQLite must run.
    fn work(&mut self, sql: &str, range: &Range<u64>, words: &[&str]) -> Result<()> {
        if words.first() == Some(&"ANALYZE") {
            // Run ANALYZE also in `all`: later statements may read the tables of statistics.
            self.run_in_all(sql, range, true)?;
            let of_schema = words.get(1).is_some_and(|name| name.starts_with("SQLITE_"));
            self.all_touched |= !of_schema;
            let tokens = token::tokens(sql);
            let of_all = of_schema || tokens.iter().filter(|token| !token.is_comment()).count() == 1;
            let changed = self.guard.take().changed;
            let analyzed = changed.into_iter().filter(|_| !of_all).chain([selection::STATISTICS.to_owned()]);
            self.defer(range, true, Some(Effect::on(analyzed)));
            self.last_makes(Some(selection::STATISTICS));
            return Ok(());
        }
        let effect = self.touch(sql, range)?;
        let is_unknown = match &effect {
            Some(effect) => {
                effect.changed.iter().any(|table| is_schema(table)) && words.first() != Some(&"UPDATE")
            }
            None => true,
        };
        if is_unknown && !self.load.tables.is_empty() {
            return Err(self.of_unknown_table(range));
        }
        self.defer(range, false, effect);
        Ok(())
    }

    /// Handles rows that are given as literals: they are written as pages or, if this is not possible, inserted by SQLite.
    fn take_rows(&mut self, rows: &RowsOfItem) -> Result<()> {
        let header = &self.script.headers[rows.header];
        let table = header.table.to_ascii_lowercase();
        if !self.all_touched && !self.touched.contains(&table) {
            if !self.shapes.contains_key(&rows.header) {
                let shape = self.shape(header, rows)?;
                self.shapes.insert(rows.header, shape);
            }
            if let Some((table, shape)) = &self.shapes[&rows.header] {
                let pieces = &self.script.pieces[rows.pieces.clone()];
                let of_table = self.rows.entry(table.clone()).or_default();
                of_table.pieces.extend(pieces.iter().map(|piece| (*piece, Arc::clone(shape))));
                return Ok(());
            }
        }
        // It is enough to prepare the first statement, because all of them begin in the same way.
        let first = self.script.pieces[rows.pieces.start];
        let probe = self.first_statement(first.start..rows.range.end)?;
        let effect = self.touch(&probe, &rows.range)?;
        if is_schema(&table) && !self.load.tables.is_empty() {
            return self.defer_entries(rows);
        }
        self.defer_rows(rows, &effect.unwrap_or_else(|| Effect::on([&table])))
    }

    /// Adds INSERT statements to those that SQLite runs afterwards, one group for each piece of the script. A statement that continues in
    /// further pieces stays whole.
    fn defer_rows(&mut self, rows: &RowsOfItem, effect: &Effect) -> Result<()> {
        let pieces = &self.script.pieces[rows.pieces.clone()];
        let mut start = rows.range.start;
        for piece in &pieces[1..] {
            let mut first = Vec::new();
            self.file.read(piece.start, 1, &mut first)?;
            // A piece that begins with `(` is the continuation of a statement with many rows.
            if first != b"(" {
                self.defer(&(start..piece.start), false, Some(effect.clone()));
                start = piece.start;
            }
        }
        self.defer(&(start..rows.range.end), false, Some(effect.clone()));
        if let Some(last) = self.last.last_mut() {
            last.rows = pieces.iter().map(|piece| piece.rows).sum();
        }
        Ok(())
    }

    /// Adds INSERTs into `sqlite_schema` to the statements that SQLite runs afterwards, if some tables are not loaded: each statement
    /// concerns the tables that its rows name.
    fn defer_entries(&mut self, rows: &RowsOfItem) -> Result<()> {
        let sql = text_of(self.file, rows.range.clone())?;
        let tokens: Vec<Token> =
            token::tokens(&sql).into_iter().filter(|token| !token.is_comment()).collect();
        for statement in tokens.split(|token| token.is_symbol(&sql, ";")) {
            let (Some(first), Some(last)) = (statement.first(), statement.last()) else { continue };
            let range = rows.range.start + first.at.start as u64..rows.range.start + last.at.end as u64;
            let values = statement.iter().find(|token| token.is_word(&sql, "VALUES")).unwrap_or(first);
            let (tables, texts) = self.entries(&sql[values.at.start..last.at.end], rows.header, &range)?;
            self.virtual_tables
                .extend(texts.into_iter().filter(|text| selection::name_of_virtual(text).is_some()));
            self.defer(&range, false, Some(Effect::on(&tables)));
            if let Some(last) = self.last.last_mut() {
                last.rows = tables.len() as u64;
            }
        }
        Ok(())
    }

    /// Reads rows that a dump inserts into `sqlite_schema`: returns the names of their tables, and their SQL statements. `values` is the
    /// text `VALUES (...)`.
    fn entries(&self, values: &str, header: usize, range: &Range<u64>) -> Result<(Vec<String>, Vec<String>)> {
        let position = |column: &str| match &self.script.headers[header].columns {
            None => ["type", "name", "tbl_name", "rootpage", "sql"].iter().position(|known| *known == column),
            Some(names) => names.iter().position(|name| name.eq_ignore_ascii_case(column)),
        };
        let read = || -> rusqlite::Result<Vec<(Option<String>, Option<String>)>> {
            let mut rows = self.by_pages.known().prepare(values)?;
            let of_row = |row: &rusqlite::Row<'_>, column| match position(column) {
                Some(at) => row.get(at),
                None => Ok(None),
            };
            rows.query_map([], |row| Ok((of_row(row, "tbl_name")?, of_row(row, "sql")?)))?.collect()
        };
        let found = read().map_err(|error| failed(error, "read the schema of the dump"))?;
        let tables: Option<Vec<String>> = found.iter().map(|(table, _)| table.clone()).collect();
        let texts = found.into_iter().filter_map(|(_, text)| text).collect();
        match tables {
            Some(tables) => Ok((tables, texts)),
            None => Err(self.of_unknown_table(range)),
        }
    }

    /// Returns the error for a statement about a table that is not known before SQLite runs the statement, if some tables are not loaded.
    fn of_unknown_table(&self, range: &Range<u64>) -> Error {
        Error::usage("only SQLite knows which tables this statement is about, and not all tables are loaded")
            .at(self.file.place(range.start))
            .hint(message!["load all tables: leave ", Setting::Table, " out"])
    }

    /// Records that SQLite creates an internal table for the last statement.
    fn last_makes(&mut self, table: Option<&'static str>) {
        if let Some(last) = self.last.last_mut() {
            last.makes = table;
        }
    }

    /// Returns the first of some INSERT statements, with NULLs or DEFAULT VALUES in place of its values. SQLite prepares this text in place
    /// of the statements.
    fn first_statement(&self, range: Range<u64>) -> Result<String> {
        const BYTES_MAX: u64 = 1 << 16;
        let text = self.file.text(range.start..range.end.min(range.start + BYTES_MAX))?;
        let tokens = token::tokens(&text);
        let values = tokens.iter().find(|token| token.is_word(&text, "VALUES"));
        let head = values.map_or(&*text, |values| &text[..values.at.start]);
        let columns = {
            let open = tokens
                .iter()
                .take_while(|token| values.is_none_or(|values| token.at.start < values.at.start));
            open.filter(|token| token.is_symbol(&text, ",")).count() + 1
        };
        let named = head.contains('(');
        Ok(match named {
            true => format!("{head} SELECT {}", vec!["NULL"; columns].join(",")),
            false => format!("{head} DEFAULT VALUES"),
        })
    }

    /// Returns the table for rows that are written as pages, and the shape of the rows; `None` if SQLite must insert the rows.
    fn shape(&mut self, header: &Header, rows: &RowsOfItem) -> Result<Option<(String, Arc<Shape>)>> {
        if header.schema.as_ref().is_some_and(|schema| !schema.eq_ignore_ascii_case("main")) {
            return Ok(None);
        }
        let Some(table) = self.table(&header.table)? else { return Ok(None) };
        // An earlier statement depends on `sqlite_sequence`, which the engine would write.
        if table.autoincrement && self.touched.contains("sqlite_sequence") {
            return Ok(None);
        }
        let given: Vec<usize> =
            (0..table.columns.len()).filter(|&column| table.columns[column].generated.is_none()).collect();
        let (targets, rowid) = match &header.columns {
            None => (given.clone(), false),
            Some(names) => {
                let mut targets = Vec::new();
                let mut rowid = false;
                for name in names {
                    match table.column(name) {
                        Some(column) if given.contains(&column) && !targets.contains(&column) => {
                            targets.push(column)
                        }
                        None if is_rowid(name) && !table.without_rowid && !rowid => match table.rowid_alias {
                            Some(alias) if !targets.contains(&alias) => targets.push(alias),
                            Some(_) => return Ok(None),
                            None => {
                                rowid = true;
                                targets.push(table.columns.len());
                            }
                        },
                        _ => return Ok(None),
                    }
                }
                (targets, rowid)
            }
        };
        if rowid && table.columns.iter().any(|column| column.generated.is_some()) {
            return Ok(None);
        }
        let name = table.name.to_ascii_lowercase();
        // Either all rows of a table come with rowids, or none do.
        let known = self.rows.contains_key(&name);
        if known && rowid != self.with_rowids.contains(&name) {
            return Ok(None);
        }
        let mut columns: Vec<(Affinity, bool)> = table
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| (column.affinity, table.rowid_alias == Some(index)))
            .collect();
        let mut defaults: Vec<Option<Constant>> = Vec::new();
        for (index, column) in table.columns.iter().enumerate() {
            defaults.push(match () {
                () if targets.contains(&index) => None,
                () if column.generated.is_some() => Some(Constant::Null),
                () => match default_value::constant(column, self.functions) {
                    Ok(constant) => Some(constant),
                    Err(_) => return Ok(None),
                },
            });
        }
        if rowid {
            self.with_rowids.insert(name.clone());
            columns.push((Affinity::Integer, true));
            defaults.push(None);
        }
        let targets = targets.into_iter().map(Some).collect();
        let shape = Shape {
            rules: rows.rules,
            copy: false,
            targets,
            conversions: Vec::new(),
            table: table.name.clone(),
            into: table.name.clone(),
            defaults,
            columns,
            default_values: Vec::new(),
            refuses_null: Vec::new(),
        };
        Ok(Some((name, Arc::new(shape))))
    }

    /// Returns the declaration of a table that the engine writes. Returns `None` if SQLite must insert its rows, for example because of
    /// triggers.
    fn table(&self, name: &str) -> Result<Option<Table>> {
        let name = name.to_ascii_lowercase();
        let Some((stored, sql)) = self.tables.get(&name).filter(|_| !self.with_triggers.contains(&name))
        else {
            return Ok(None);
        };
        // With ON CONFLICT, SQLite may skip or replace rows without an error, so SQLite must insert the rows.
        if token::tokens(sql).iter().any(|token| token.is_word(sql, "CONFLICT")) {
            return Ok(None);
        }
        let table = Table::of_connection(self.by_pages.known(), stored, sql);
        table.map(Some).map_err(|error| failed(error, "read the schema of the dump"))
    }
}

/// Turns foreign keys on or off. While they are on, SQLite reports that a statement also touches the parents and children of its tables.
fn enforce_foreign_keys(connection: &Connection, enforced: bool) -> Result<()> {
    let set = connection.pragma_update(None, "foreign_keys", enforced);
    set.map_err(|error| failed(error, "change the check of foreign keys"))
}

/// Returns `true` for a CREATE that needs no rows of `sqlite_schema` but its own. Virtual tables run statements of their own, which may
/// need others. A query after CREATE TABLE ... AS may read rows, but only its columns matter here.
fn is_plain_create(sql: &str) -> bool {
    let words = first_words(sql);
    words.first().is_some_and(|word| word == "CREATE") && words.get(1).is_none_or(|word| word != "VIRTUAL")
}

fn is_rowid(name: &str) -> bool {
    ["rowid", "_rowid_", "oid"].iter().any(|rowid| name.eq_ignore_ascii_case(rowid))
}
