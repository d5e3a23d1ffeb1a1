//! What a check did not look at: only SQLite, or only the application, knows what is right.

use std::fmt;

use serde::Serialize;
use sqluice_format::check::spec::{Index, Source, Table};

use sqluice_core::schema::Schema;
use sqluice_core::schema::token::{self, Token};
use sqluice_engine::sqlite::is_virtual_table;

/// Something that was not verified, and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Unverified {
    /// What kind of thing.
    pub what: UnverifiedKind,
    /// The table or index; followed by what SQLite said, if SQLite's own check of a table did not run.
    pub name: String,
}

/// A kind of thing that is not verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnverifiedKind {
    /// Which rows a partial index has entries for.
    PartialIndex,
    /// The values in an index on expressions, or on columns that are computed when they are read.
    ExpressionIndex,
    /// The CHECK constraints of a table.
    CheckConstraint,
    /// The foreign keys of a table.
    ForeignKey,
    /// What a full-text table (FTS3, FTS4, FTS5) holds.
    FullText,
    /// What an R*Tree holds.
    RTree,
    /// What another virtual table holds.
    VirtualTable,
    /// The order of an index, or of a table without rowids, by a collation that an application brings.
    Collation,
    /// The findings of SQLite's own check of a table, which needs a collation, function or tokenizer of an application.
    IntegrityCheck,
}

impl UnverifiedKind {
    /// Whether SQLite's `integrity_check` looks at it.
    pub(super) fn is_known_to_sqlite(self) -> bool {
        use UnverifiedKind::{CheckConstraint, ExpressionIndex, FullText, PartialIndex, RTree};
        matches!(self, PartialIndex | ExpressionIndex | CheckConstraint | FullText | RTree)
    }
}

/// As it stands before a name.
impl fmt::Display for UnverifiedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            UnverifiedKind::PartialIndex => "partial index",
            UnverifiedKind::ExpressionIndex => "index on expressions",
            UnverifiedKind::CheckConstraint => "CHECK of",
            UnverifiedKind::ForeignKey => "foreign keys of",
            UnverifiedKind::FullText => "full-text table",
            UnverifiedKind::RTree => "R*Tree",
            UnverifiedKind::VirtualTable => "virtual table",
            UnverifiedKind::Collation => "order by the application's collation in",
            UnverifiedKind::IntegrityCheck => "what SQLite's integrity_check finds in",
        })
    }
}

/// Something that our reader does not verify, and its table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub(super) unverified: Unverified,
    pub(super) table: String,
}

/// Returns what our reader does not verify of these tables.
pub(super) fn of_schema(schema: &Schema, tables: &[Table]) -> Vec<Found> {
    let mut all = Vec::new();
    let add = |all: &mut Vec<Found>, table: &str, what, name: &str| {
        let unverified = Unverified { what, name: name.to_owned() };
        all.push(Found { unverified, table: table.to_owned() });
    };
    for (table, spec) in schema.tables.iter().zip(tables) {
        let mut add = |what, name: &str| add(&mut all, &table.name, what, name);
        if table.checks {
            add(UnverifiedKind::CheckConstraint, &table.name);
        }
        if table.foreign_keys {
            add(UnverifiedKind::ForeignKey, &table.name);
        }
        if spec.key.as_ref().is_some_and(|key| key.order.is_none()) {
            add(UnverifiedKind::Collation, &table.name);
        }
        for Index { name, fields, key, partial } in &spec.indexes {
            if *partial {
                add(UnverifiedKind::PartialIndex, name);
            } else if fields.contains(&Source::Computed) {
                add(UnverifiedKind::ExpressionIndex, name);
            }
            if key.order.is_none() {
                add(UnverifiedKind::Collation, name);
            }
        }
    }
    for object in schema.others.iter().filter(|object| is_virtual_table(object)) {
        let what = of_module(object.sql.as_deref().unwrap_or_default());
        add(&mut all, &object.name, what, &object.name);
    }
    all.sort();
    all
}

/// What the module of a CREATE VIRTUAL TABLE keeps.
fn of_module(sql: &str) -> UnverifiedKind {
    let tokens = token::tokens(sql);
    let mut words = tokens.iter().filter(|token: &&Token| !token.is_comment());
    let _ = words.by_ref().find(|word| word.is_word(sql, "USING"));
    let module = words.next().map(|word| word.text(sql).trim_matches(['"', '[', ']', '`', '\'']));
    match module.unwrap_or_default().to_ascii_lowercase().as_str() {
        "fts3" | "fts4" | "fts5" => UnverifiedKind::FullText,
        "rtree" | "rtree_i32" | "geopoly" => UnverifiedKind::RTree,
        _ => UnverifiedKind::VirtualTable,
    }
}
