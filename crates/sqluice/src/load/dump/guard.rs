//! An SQLite authorizer for the statements of a dump: they may fill the database, and have no effect outside of it.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use sqluice_core::error::Result;
use sqluice_core::sqlite_error::failed;

/// Functions with effects outside of the database or on the process, and `fts5_source_id`, whose result depends on the build of SQLite.
const FUNCTIONS: [&str; 6] =
    ["load_extension", "fts3_tokenizer", "readfile", "writefile", "edit", "fts5_source_id"];

/// Functions that return the number of changes by earlier statements. They would return too little, because the engine stores rows
/// without statements.
const OF_CHANGES: [&str; 2] = ["changes", "total_changes"];

/// PRAGMAs that a dump may read or set. SQLite itself runs some of them as parts of other statements.
const PRAGMAS: [&str; 12] = [
    "application_id",
    "data_version",
    "defer_foreign_keys",
    "encoding",
    "foreign_keys",
    "ignore_check_constraints",
    "integrity_check",
    "page_size",
    "quick_check",
    "recursive_triggers",
    "user_version",
    "writable_schema",
];

/// The effects of a statement, which SQLite reports when it prepares the statement.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// The tables that the statement reads or changes, also through triggers and views, in lower case.
    pub(super) touched: HashSet<String>,
    /// The tables and views that the statement changes, declares or drops, and the tables of the indexes and triggers that it creates or
    /// drops, in lower case.
    pub(super) changed: BTreeSet<String>,
    /// The forbidden effect of the statement, in words: `attaches x.db`; `None` if it has none.
    pub(super) denied: Option<String>,
    /// The table that the statement creates, or for which it creates a trigger. CREATE VIRTUAL TABLE creates shadow tables, so the first
    /// of them is here. `None` for other statements.
    pub(super) made: Option<String>,
    /// `true` if the statement reads `sqlite_schema`, and `declares` is `false`.
    pub(super) reads_schema: bool,
    /// `true` if the statement inserts rows into `sqlite_schema` or changes the text in its rows, and `declares` is `false`.
    pub(super) writes_schema: bool,
    /// `true` if the statement asks for the last rowid of the session.
    pub(super) asks_session: bool,
    /// `true` if the statement may read and change `sqlite_schema` without being reported: it is CREATE, ALTER, DROP or ANALYZE, or a
    /// statement of this crate.
    declares: bool,
}

/// An authorizer that is set on a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard(Arc<Mutex<Seen>>);

impl Guard {
    /// Sets the authorizer on a connection.
    pub(super) fn set(connection: &mut Connection) -> Result<Guard> {
        let guard = Guard::default();
        let seen = Arc::clone(&guard.0);
        let authorize = move |context: AuthContext<'_>| {
            let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
            match seen.note(&context.action) {
                None => Authorization::Allow,
                Some(what) => {
                    seen.denied.get_or_insert(what);
                    Authorization::Deny
                }
            }
        };
        let set = connection.authorizer(Some(authorize));
        set.map_err(|error| failed(error, "guard the database"))?;
        Ok(guard)
    }

    /// Removes the authorizer from a connection.
    pub(super) fn remove(connection: &mut Connection) -> Result<()> {
        let removed = connection.authorizer(None::<fn(AuthContext<'_>) -> Authorization>);
        removed.map_err(|error| failed(error, "stop to guard the database"))
    }

    /// Forgets the effects of earlier statements. `declares` is the value for the next one ([`Seen::declares`]).
    pub(super) fn begin(&self, declares: bool) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Seen { declares, ..Seen::default() };
    }

    /// Returns `true` if a statement since [`Guard::begin`] has a forbidden effect.
    pub(super) fn denies(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).denied.is_some()
    }

    /// Returns the effects of the statements since [`Guard::begin`].
    pub(super) fn take(&self) -> Seen {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Seen {
    /// Records an action of a statement. Returns the reason if the action is forbidden.
    fn note(&mut self, action: &AuthAction<'_>) -> Option<String> {
        if let Some(table) = changed_table(action) {
            self.changed.insert(table.to_ascii_lowercase());
        }
        let mut touch = |table: &str| {
            self.touched.insert(table.to_ascii_lowercase());
        };
        match *action {
            // A dump may change the text of declarations: the finished database is checked.
            AuthAction::Update { table_name, column_name: "sql" } | AuthAction::Insert { table_name }
                if is_schema(table_name) && !self.declares =>
            {
                self.writes_schema = true;
                None
            }
            AuthAction::Update { table_name, .. } | AuthAction::Delete { table_name }
                if is_schema(table_name) && !self.declares =>
            {
                Some(format!("changes rows of {table_name}"))
            }
            AuthAction::Read { table_name, .. } if is_schema(table_name) && !self.declares => {
                self.reads_schema = true;
                None
            }
            AuthAction::Insert { table_name }
            | AuthAction::Delete { table_name }
            | AuthAction::Update { table_name, .. }
            | AuthAction::Read { table_name, .. } => {
                touch(table_name);
                None
            }
            AuthAction::Attach { filename } => Some(match filename {
                "" => "attaches a database, as VACUUM does".to_owned(),
                name => format!("attaches {name}"),
            }),
            AuthAction::Detach { .. } => Some("detaches a database".to_owned()),
            AuthAction::CreateTempTable { .. }
            | AuthAction::CreateTempIndex { .. }
            | AuthAction::CreateTempTrigger { .. }
            | AuthAction::CreateTempView { .. } => Some("creates a temporary object".to_owned()),
            AuthAction::Recursive => Some("has a recursive query, which may never end".to_owned()),
            AuthAction::Function { function_name } => {
                let is_of =
                    |names: &[&str]| names.iter().any(|name| function_name.eq_ignore_ascii_case(name));
                self.asks_session |= is_of(&["last_insert_rowid"]);
                (is_of(&FUNCTIONS) || is_of(&OF_CHANGES)).then(|| format!("calls {function_name}()"))
            }
            AuthAction::Pragma { pragma_name: "schema_version", pragma_value: None } => None,
            AuthAction::CreateTrigger { table_name, .. } | AuthAction::CreateTable { table_name } => {
                // Keep the first table: SQLite creates `sqlite_sequence` together with the first AUTOINCREMENT table.
                self.made.get_or_insert_with(|| table_name.to_owned());
                None
            }
            AuthAction::Pragma { pragma_name, .. } => {
                let known = PRAGMAS.iter().any(|name| pragma_name.eq_ignore_ascii_case(name));
                (!known).then(|| format!("uses PRAGMA {pragma_name}"))
            }
            _ => None,
        }
    }
}

/// Returns `true` for the names of the schema table: `sqlite_schema` and `sqlite_master`.
pub(super) fn is_schema(table: &str) -> bool {
    ["sqlite_master", "sqlite_schema"].iter().any(|name| table.eq_ignore_ascii_case(name))
}

/// Returns the table or view that an action changes; `None` if it changes none.
fn changed_table<'a>(action: &AuthAction<'a>) -> Option<&'a str> {
    match *action {
        AuthAction::Insert { table_name }
        | AuthAction::Update { table_name, .. }
        | AuthAction::Delete { table_name }
        | AuthAction::CreateTable { table_name }
        | AuthAction::CreateIndex { table_name, .. }
        | AuthAction::CreateTrigger { table_name, .. }
        | AuthAction::CreateVtable { table_name, .. }
        | AuthAction::DropTable { table_name }
        | AuthAction::DropIndex { table_name, .. }
        | AuthAction::DropTrigger { table_name, .. }
        | AuthAction::DropVtable { table_name, .. }
        | AuthAction::AlterTable { table_name, .. }
        | AuthAction::Analyze { table_name } => Some(table_name),
        AuthAction::CreateView { view_name } | AuthAction::DropView { view_name } => Some(view_name),
        _ => None,
    }
}
