//! `Merge`: the options of a merge.

use std::path::PathBuf;
use std::time::Duration;

use sqluice_core::error::{Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::setters;
use sqluice_engine::options::WriteOptions;

use super::place::Placed;
use crate::references::Orphans;

/// A merge of databases.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Merge {
    /// The database that gets all rows. An existing target is the first source, unless it is empty or `write` says to overwrite it, and
    /// the result replaces it.
    pub target: PathBuf,
    /// The databases to merge, in the order in which their rows are inserted.
    pub sources: Vec<PathBuf>,
    /// `true` if rows keep their rowids even in tables without an INTEGER PRIMARY KEY: two rows with the same rowid are then a repeated
    /// key.
    pub keep_rowids: bool,
    /// The tables whose INTEGER PRIMARY KEY gets new numbers if sources share numbers.
    pub renumber: Vec<String>,
    /// `true` if foreign keys that refer to renumbered keys get the new numbers.
    pub rewrite_references: bool,
    /// The columns that refer to a key without REFERENCES, such as `visits.place_id=places.id`. Names may be in double quotes.
    pub references: Vec<String>,
    /// The columns that seem to refer to a key but do not, such as `visits.place_id`.
    pub no_references: Vec<String>,
    /// The treatment of rows whose parents are left out because other rows have their keys.
    pub orphans: Orphans,
    /// `true` if a table may lack columns in some sources. Rows of these sources get the defaults of the columns.
    pub add_columns: bool,
    /// The name of a column that is added to every table, with the name of the source; `None` for no such column.
    pub source_column: Option<String>,
    /// The tables to leave out.
    pub exclude_tables: Vec<String>,
    /// `true` if all leaves are rewritten.
    pub compact: bool,
    /// `true` if two checks are skipped: that index entries match their rows, and that values suit their columns. Pages and records are
    /// always verified.
    pub no_verify: bool,
    /// The places of a table's leaves, if they have been written already: all places that [`Merge::places`] returned.
    pub placed: Vec<Placed>,
    /// The maximum time for which reading a source may keep other processes from committing; `None` for no limit.
    pub busy_limit: Option<Duration>,
    /// The options for threads, memory, temporary space, repeated keys, ANALYZE, the wait for a source, and the replacement of a database
    /// at the target that would otherwise be the first source.
    pub write: WriteOptions,
}

impl Merge {
    /// Creates a merge of `sources` into `target`.
    pub fn new(target: impl Into<PathBuf>, sources: impl IntoIterator<Item = impl Into<PathBuf>>) -> Merge {
        Merge {
            target: target.into(),
            sources: sources.into_iter().map(Into::into).collect(),
            keep_rowids: false,
            renumber: Vec::new(),
            rewrite_references: false,
            references: Vec::new(),
            no_references: Vec::new(),
            orphans: Orphans::default(),
            add_columns: false,
            source_column: None,
            exclude_tables: Vec::new(),
            compact: false,
            no_verify: false,
            placed: Vec::new(),
            busy_limit: None,
            write: WriteOptions::default(),
        }
    }
}

impl TakesSettings for Merge {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::KeepRowids => self.keep_rowids = value.to()?,
            Setting::Renumber => self.renumber = value.to()?,
            Setting::RewriteReferences => self.rewrite_references = value.to()?,
            Setting::Reference => self.references = value.to()?,
            Setting::NoReference => self.no_references = value.to()?,
            Setting::Orphans => self.orphans = value.word(setting, &Orphans::WORDS)?,
            Setting::AddColumns => self.add_columns = value.to()?,
            Setting::SourceColumn => self.source_column = Some(value.to()?),
            Setting::ExcludeTable => self.exclude_tables = value.to()?,
            Setting::Compact => self.compact = value.to()?,
            Setting::NoVerify => self.no_verify = value.to()?,
            Setting::BusyLimit => self.busy_limit = Some(value.to()?),
            _ => return self.write.set(setting, value),
        }
        Ok(true)
    }
}

setters! { Merge:
    /// Keeps rowids even in tables without an INTEGER PRIMARY KEY.
    keep_rowids(keep: bool) = keep;
    /// Gives the INTEGER PRIMARY KEY of these tables new numbers if sources share numbers.
    renumber(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Gives foreign keys that refer to renumbered keys the new numbers.
    rewrite_references(rewrite: bool) = rewrite;
    /// Declares columns that refer to a key without REFERENCES.
    references(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Declares columns that do not refer to a key, although they seem to.
    no_references(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Sets the treatment of rows whose parents are left out.
    orphans(orphans: Orphans) = orphans;
    /// Adds columns that a table lacks in some sources.
    add_columns(add: bool) = add;
    /// Adds a column to every table, with the name of the source.
    source_column(name: impl Into<Option<String>>) = name.into();
    /// Leaves these tables out.
    exclude_tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Rewrites all leaves, so that no deleted bytes are copied.
    compact(compact: bool) = compact;
    /// Skips the checks that index entries match their rows, and that values suit their columns.
    no_verify(no_verify: bool) = no_verify;
    /// Sets the places of a table's leaves that have been written already.
    placed(placed: impl IntoIterator<Item = Placed>) = placed.into_iter().collect();
    /// Sets the maximum time for which reading a source may keep other processes from committing; `None` for no limit.
    busy_limit(limit: impl Into<Option<Duration>>) = limit.into();
    /// Sets the options for threads, memory, temporary space, repeated keys, and replacement of a database at the target.
    write(options: WriteOptions) = options;
}
