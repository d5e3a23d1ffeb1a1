//! The parts of a database that this crate's check can't verify: only SQLite, or the application that wrote them, can.

use std::fmt;

use serde::Serialize;
use sqluice_format::check::spec::{Index, Source, Table};

use sqluice_core::schema::Schema;
use sqluice_core::schema::token::{self, Token};
use sqluice_engine::sqlite::is_virtual_table;

/// A part that was not verified, and its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[non_exhaustive]
pub struct Unverified {
    /// The kind of the part.
    pub what: UnverifiedKind,
    /// The name of the table or index. If the reason why it was not verified is known, the reason follows in parentheses.
    pub name: String,
}

/// A kind of unverified part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum UnverifiedKind {
    /// The set of rows with entries in a partial index.
    PartialIndex,
    /// The values in an index on expressions or virtual columns, or in an index with an entry that could not be computed.
    ExpressionIndex,
    /// The CHECK constraints of a table.
    CheckConstraint,
    /// The foreign keys of a table.
    ForeignKey,
    /// The content of a full-text table (FTS3, FTS4, FTS5).
    FullText,
    /// The content of an R*Tree.
    RTree,
    /// The content of another virtual table.
    VirtualTable,
    /// The order of an index or a WITHOUT ROWID table by a collation of an application.
    Collation,
    /// A table that SQLite could not check, because it needs a collation, function or tokenizer of an application, or its name is a number.
    IntegrityCheck,
}

impl UnverifiedKind {
    /// Returns `true` if SQLite's `integrity_check` verifies this kind.
    pub(super) fn is_known_to_sqlite(self) -> bool {
        use UnverifiedKind::{CheckConstraint, ExpressionIndex, FullText, PartialIndex, RTree};
        matches!(self, PartialIndex | ExpressionIndex | CheckConstraint | FullText | RTree)
    }
}

/// Formats the kind as a prefix of the name.
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

/// A part that this crate's reader does not verify, and its table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    pub(super) unverified: Unverified,
    pub(super) table: String,
}

/// Returns the parts of these tables that this crate's reader does not verify. `refused` has the indexes whose entries SQLite can't
/// compute, with the reasons.
pub(super) fn of_schema(schema: &Schema, tables: &[Table], refused: &[(String, String)]) -> Vec<Found> {
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
        for Index { name, fields, key, partial, computed } in &spec.indexes {
            let why =
                refused.iter().find(|(index, _)| index == name).map(|(_, why)| format!("{name} ({why})"));
            let said = why.as_ref().unwrap_or(name);
            if *partial && !computed {
                add(UnverifiedKind::PartialIndex, said);
            } else if fields.contains(&Source::Computed) && !computed {
                add(UnverifiedKind::ExpressionIndex, said);
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

/// Adds the indexes of `uncompared` to `found`: an entry of each of these indexes could not be computed from its row.
pub(super) fn with_uncompared(mut found: Vec<Found>, uncompared: &[(String, String)]) -> Vec<Found> {
    found.extend(uncompared.iter().map(|(table, index)| {
        let name = format!("{index} (an entry can't be computed)");
        Found { unverified: Unverified { what: UnverifiedKind::ExpressionIndex, name }, table: table.clone() }
    }));
    found.sort();
    found
}

/// Returns the kind of part for a virtual table, by the module in its CREATE VIRTUAL TABLE statement.
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
