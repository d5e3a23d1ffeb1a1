//! The options of a merge.

use std::path::PathBuf;
use std::time::Duration;

use sqluice_core::error::{Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::setters;
use sqluice_engine::options::WriteOptions;

use super::place::Placed;

/// A merge of databases.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Merge {
    /// The database that gets all of it. One that exists is the first of the sources, and is replaced by the result.
    pub target: PathBuf,
    /// The databases that are merged, in the order in which their rows are inserted.
    pub sources: Vec<PathBuf>,
    /// Whether rows keep their rowids even in tables that do not show them: two with the same are a repeated key then.
    pub keep_rowids: bool,
    /// Tables whose INTEGER PRIMARY KEY gets new numbers where sources share some.
    pub renumber: Vec<String>,
    /// Whether foreign keys that refer to such numbers follow them.
    pub rewrite_references: bool,
    /// Columns that refer to a key without REFERENCES, as `visits.place_id=places.id`. Names may be in double quotes.
    pub references: Vec<String>,
    /// Columns that look as if they referred to a key, and do not, as `visits.place_id`.
    pub no_references: Vec<String>,
    /// Refuses or keeps rows whose parents are left out because other rows have their keys.
    pub orphans: Orphans,
    /// Whether a table may lack columns in some sources: their rows get the default there.
    pub add_columns: bool,
    /// A column that is added to every table, with the name of the source.
    pub source_column: Option<String>,
    /// Tables that are left out.
    pub exclude_tables: Vec<String>,
    /// Whether all leaves are written anew.
    pub compact: bool,
    /// `true` if index entries are not compared with rows, nor values with their columns. Pages and records are always verified.
    pub no_verify: bool,
    /// Where the leaves of a table are, if they have been written already: all places that [`Merge::places`] gave.
    pub placed: Vec<Placed>,
    /// How long a source may be read while that keeps other processes from committing; `None`: as long as it takes.
    pub busy_limit: Option<Duration>,
    /// Threads, memory, temporary space, how repeated keys are handled, whether ANALYZE is run, whether a database at the target is
    /// replaced instead of being the first source, how long to wait for a source.
    pub write: WriteOptions,
}

/// The treatment of rows that refer to rows which are left out because other rows have their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Orphans {
    /// The merge ends with an error that counts them.
    #[default]
    Refuse,
    /// They are kept, and refer to nothing. The report counts them.
    Keep,
}

impl Merge {
    /// A merge of `sources` into `target`.
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

impl Orphans {
    const WORDS: [(&str, Orphans); 2] = [("refuse", Orphans::Refuse), ("keep", Orphans::Keep)];
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
    /// Keeps rowids even in tables that do not show them.
    keep_rowids(keep: bool) = keep;
    /// Gives the INTEGER PRIMARY KEY of these tables new numbers where sources share some.
    renumber(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Lets foreign keys follow new numbers.
    rewrite_references(rewrite: bool) = rewrite;
    /// Declares columns that refer to a key without REFERENCES.
    references(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Declares columns that do not refer to a key, although they look so.
    no_references(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Sets what is done with rows whose parents are left out.
    orphans(orphans: Orphans) = orphans;
    /// Adds columns that a table lacks in some sources.
    add_columns(add: bool) = add;
    /// Adds a column to every table, with the name of the source.
    source_column(name: impl Into<Option<String>>) = name.into();
    /// Leaves these tables out.
    exclude_tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Writes all leaves anew: no deleted bytes are copied.
    compact(compact: bool) = compact;
    /// Compares no index entries with rows, and no values with their columns.
    no_verify(no_verify: bool) = no_verify;
    /// Takes the leaves of a table from the places where they have been written.
    placed(placed: impl IntoIterator<Item = Placed>) = placed.into_iter().collect();
    /// Sets how long a source may be read while that keeps other processes from committing.
    busy_limit(limit: impl Into<Option<Duration>>) = limit.into();
    /// Sets threads, memory, temporary space, how repeated keys are handled, and whether a database at the target is replaced.
    write(options: WriteOptions) = options;
}
