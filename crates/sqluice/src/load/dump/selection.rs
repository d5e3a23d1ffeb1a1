//! Selects the tables of a dump that are loaded, if the user names some: with their rows, indexes and triggers.
//!
//! ```text
//!  Only table a is to be loaded. A statement of the dump is treated by the tables that it changes and needs:
//!
//!  changes | needs           | the statement
//!  --------+-----------------+-------------------------------------------
//!  a       | a               | runs
//!  b       | a or b          | is left out, because b is not loaded
//!  a       | b               | is an error: its effect is unknown without b
//!  nothing | no table        | runs: it concerns the whole database
//! ```
//!
//! A shadow table is loaded if its virtual table is. Views belong to no table, and are not loaded. The rows of SQLite's own tables are
//! removed if they are about tables that are not loaded.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use rusqlite::Connection;
use sqluice_core::error::{Error, Message, Place, Result, Setting, message};
use sqluice_core::schema::Schema;
use sqluice_core::schema::token::{Token, tokens};
use sqluice_core::similar;
use sqluice_core::sqlite_error::failed;
use sqluice_sources::dump::DumpFile;

use super::guard::{Guard, Seen};

/// One or more statements of a dump that SQLite runs after the pages are written.
#[derive(Clone, Debug)]
pub(super) struct Deferred {
    pub(super) range: Range<u64>,
    /// `true` if the statement is CREATE, ALTER, DROP or ANALYZE.
    pub(super) declares: bool,
    /// The number of rows that the statements insert as literals.
    pub(super) rows: u64,
    /// The tables that the statements change and need; `None` if they concern the whole database, or if all tables are loaded.
    pub(super) effect: Option<Arc<Effect>>,
    /// The internal table that SQLite creates for the statement: `sqlite_sequence`, or `sqlite_stat1` for all tables of statistics; `None`
    /// if it creates none.
    pub(super) makes: Option<&'static str>,
}

/// The tables that a statement for SQLite changes and needs, in lower case.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Effect {
    pub(super) changed: BTreeSet<String>,
    needed: BTreeSet<String>,
    /// The reason why the statement needs all tables of the dump, in words; `None` if it needs only `needed`.
    needs_all: Option<&'static str>,
}

impl Effect {
    /// Returns the effect of a statement, from the actions that the authorizer has seen.
    pub(super) fn of(seen: &Seen) -> Effect {
        Effect {
            changed: seen.changed.clone(),
            needed: seen.touched.iter().cloned().collect(),
            needs_all: match seen {
                Seen { reads_schema: true, .. } => Some("reads sqlite_schema"),
                Seen { asks_session: true, .. } => Some("asks for the last rowid"),
                _ => None,
            },
        }
    }

    /// Returns the effect of a statement that changes these tables and needs no others.
    pub(super) fn on(tables: impl IntoIterator<Item = impl AsRef<str>>) -> Effect {
        let changed = tables.into_iter().map(|table| lower(table.as_ref())).collect();
        Effect { changed, ..Effect::default() }
    }

    fn changes(&self, names: impl Fn(&str) -> bool) -> bool {
        self.changed.iter().any(|table| names(table))
    }
}

/// The tables that are loaded.
pub(super) struct Selection<'l> {
    tables: &'l [String],
    /// For each shadow table, its virtual table; both in lower case.
    owners: HashMap<String, String>,
}

impl<'l> Selection<'l> {
    /// Returns the selection of the named tables. `known` has the names of all tables of the dump, and `virtual_tables` the statements of
    /// its virtual tables.
    ///
    /// # Errors
    /// If the dump does not create one of the named tables.
    pub(super) fn new(
        tables: &'l [String],
        file: &DumpFile,
        known: &[String],
        virtual_tables: &[String],
    ) -> Result<Selection<'l>> {
        let mut owners = HashMap::new();
        for sql in virtual_tables {
            owners.extend(shadow_tables(sql)?);
        }
        let of_user = known.iter().map(String::as_str).filter(|name| !owners.contains_key(&lower(name)));
        if let Some(name) = tables.iter().find(|name| !of_user.clone().any(|known| same(known, name))) {
            let message = format!("the dump makes no table {name}");
            let error = Error::usage(message).at(Place::file(file.name()));
            return Err(error.hint(similar::hint(name, of_user)));
        }
        Ok(Selection { tables, owners })
    }

    /// Returns `true` if a table is loaded.
    pub(super) fn has(&self, table: &str) -> bool {
        let owner = self.owners.get(&lower(table)).map_or(table, String::as_str);
        self.tables.iter().any(|name| same(name, owner) || same(name, table))
    }

    /// Removes the tables that are not loaded from a schema, with their indexes and triggers, and all views.
    pub(super) fn keep_in(&self, schema: &mut Schema) {
        schema.tables.retain(|table| self.has(&table.name));
        schema.others.retain(|object| self.has(&object.table));
        let mut kept: HashSet<(&str, &str)> = HashSet::new();
        for table in &schema.tables {
            kept.insert(("table", &table.name));
            let indexes = table.indexes.iter().chain(&table.clustered);
            kept.extend(indexes.map(|index| ("index", &*index.name)));
        }
        kept.extend(schema.others.iter().map(|object| (&*object.kind, &*object.name)));
        schema.objects.retain(|(kind, name)| kept.contains(&(&**kind, &**name)));
    }

    /// Returns the foreign keys of loaded tables that refer to tables of the dump which are not loaded, as pairs of child and parent.
    pub(super) fn lost_parents(&self, schema: &Schema, known: &[String]) -> Vec<(String, String)> {
        let references = schema
            .tables
            .iter()
            .flat_map(|table| table.references.iter().map(move |reference| (&table.name, &reference.parent)));
        let is_lost = |parent: &str| !self.has(parent) && known.iter().any(|known| same(known, parent));
        let mut lost: Vec<(String, String)> = references
            .filter(|(_, parent)| is_lost(parent))
            .map(|(child, parent)| (child.clone(), parent.clone()))
            .collect();
        lost.dedup();
        lost
    }

    /// Returns the statements for SQLite that concern loaded tables, SQLite's own tables or the whole database, in order.
    ///
    /// # Errors
    /// If a statement that is kept needs a table that is not loaded, or has an effect that depends on all tables of the dump.
    pub(super) fn statements(
        &self,
        all: Vec<Deferred>,
        schema: &Schema,
        file: &DumpFile,
    ) -> Result<Vec<Deferred>> {
        // The internal tables that exist so far: SQLite creates them with the first AUTOINCREMENT table and with ANALYZE.
        let mut made_by_sqlite: HashSet<&str> = HashSet::new();
        if schema.tables.iter().any(|table| table.autoincrement) {
            made_by_sqlite.insert(SEQUENCE);
        }
        let mut kept = Vec::new();
        for work in all {
            let Some(effect) = work.effect.as_deref() else {
                kept.push(work);
                continue;
            };
            let is_loaded = effect.changes(|table| !is_internal(table) && self.has(table));
            let is_of_sqlite = !effect.changed.is_empty() && !effect.changes(|table| !is_internal(table));
            if is_loaded || is_of_sqlite {
                made_by_sqlite.extend(work.makes);
            }
            let mut of_sqlite = effect.changed.iter().filter_map(|name| of_sqlite(name));
            // A declaration, or a row of the schema, reads `sqlite_schema` only to find its own entries, so it needs no other table.
            let is_of_schema = is_of_sqlite && of_sqlite.clone().next().is_none();
            if is_of_schema {
                kept.push(work);
            } else if is_loaded || is_of_sqlite && of_sqlite.all(|name| made_by_sqlite.contains(name)) {
                self.refuse(effect, file, work.range.start)?;
                kept.push(work);
            }
        }
        Ok(kept)
    }

    /// Refuses a statement that changes a loaded table, or a table of SQLite, and needs a table that is not loaded.
    fn refuse(&self, effect: &Effect, file: &DumpFile, offset: u64) -> Result<()> {
        let mut tables = effect.changed.union(&effect.needed).filter(|table| !is_internal(table));
        let changed = effect.changed.iter().find(|table| self.has(table) && !is_internal(table));
        let changed = changed.or(effect.changed.first()).map_or("", String::as_str);
        if let Some(needed) = tables.find(|table| !self.has(table)) {
            let message =
                format!("this statement changes {changed}, and needs {needed}, which is not loaded");
            return Err(Error::usage(message)
                .at(file.place(offset))
                .hint(message!["load that table, too: ", Setting::Table.to(needed.clone())]));
        }
        let of_sqlite = effect.needed.difference(&effect.changed).find_map(|table| of_sqlite(table));
        let why = effect.needs_all.map(str::to_owned).or(of_sqlite.map(|table| format!("reads {table}")));
        match why {
            Some(why) => {
                let message = format!(
                    "this statement changes {changed} and {why}, so that its effect depends on all tables of the dump"
                );
                Err(Error::usage(message).at(file.place(offset)).hint(message![
                    "load all tables: leave ",
                    Setting::Table,
                    " out"
                ]))
            }
            None => Ok(()),
        }
    }
}

/// Returns the notes about foreign keys to tables that are not loaded.
pub(super) fn notes(lost_parents: &[(String, String)]) -> impl Iterator<Item = Message> {
    lost_parents.iter().map(|(child, parent)| {
        format!("the foreign key of {child} refers to {parent}, which is not loaded").into()
    })
}

/// The table in which AUTOINCREMENT tables have their largest rowids.
pub(super) const SEQUENCE: &str = "sqlite_sequence";

/// The table that represents all tables of statistics, because ANALYZE creates them together.
pub(super) const STATISTICS: &str = "sqlite_stat1";

/// Returns the constant for a table of SQLite: [`SEQUENCE`], or [`STATISTICS`] for any table of statistics; `None` for other tables.
pub(super) fn of_sqlite(table: &str) -> Option<&'static str> {
    match &*lower(table) {
        SEQUENCE => Some(SEQUENCE),
        table if table.starts_with("sqlite_stat") => Some(STATISTICS),
        _ => None,
    }
}

/// Returns `true` for a table of SQLite.
pub(super) fn is_internal(table: &str) -> bool {
    table.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("sqlite_"))
}

fn lower(name: &str) -> String {
    name.to_ascii_lowercase()
}

fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Returns the shadow tables of a virtual table, each with the name of the virtual table. Returns none if SQLite can't create the
/// virtual table, for example because it does not have the module.
fn shadow_tables(sql: &str) -> Result<Vec<(String, String)>> {
    let cannot = |error| failed(error, "read the schema of the dump");
    let mut probe = Connection::open_in_memory().map_err(cannot)?;
    let guard = Guard::set(&mut probe)?;
    guard.begin(true);
    let made = probe.execute(sql, []);
    Guard::remove(&mut probe)?;
    let Some(name) = name_of_virtual(sql).filter(|_| made.is_ok()) else { return Ok(Vec::new()) };
    let mut tables = probe.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").map_err(cannot)?;
    let tables = tables.query_map([], |row| row.get(0)).map_err(cannot)?;
    let tables = tables.collect::<rusqlite::Result<Vec<String>>>().map_err(cannot)?;
    let shadows = tables.into_iter().filter(|table| !same(table, &name));
    Ok(shadows.map(|table| (lower(&table), lower(&name))).collect())
}

/// Returns the name of the table that a CREATE VIRTUAL TABLE statement creates; `None` for another statement.
pub(super) fn name_of_virtual(sql: &str) -> Option<String> {
    let tokens: Vec<Token> = tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let is = |at: usize, word: &str| tokens.get(at).is_some_and(|token: &Token| token.is_word(sql, word));
    if !(is(0, "CREATE") && is(1, "VIRTUAL") && is(2, "TABLE")) {
        return None;
    }
    let using = tokens.iter().position(|token| token.is_word(sql, "USING"))?;
    tokens.get(using.checked_sub(1)?)?.name(sql)
}
