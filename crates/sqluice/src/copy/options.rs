//! What can be asked of a copy.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use sqluice_core::error::{Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_engine::options::{WriteOptions, given_page_size};
use sqluice_format::database::Header;
use sqluice_format::page::PageSize;

use super::{MaskFile, Masking, Purpose, read_key};

/// A copy of a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Copy {
    /// The database that is copied.
    pub source: PathBuf,
    /// The new file.
    pub target: PathBuf,
    /// Whether all leaves are written anew, so that no deleted bytes are copied.
    pub compact: bool,
    /// The page size of the copy; `None`: that of the source.
    pub page_size: Option<PageSize>,
    /// Only these tables and views; empty: all.
    pub tables: Vec<String>,
    /// Tables and views that are left out.
    pub exclude_tables: Vec<String>,
    /// Whether indexes are left out that make nothing unique.
    pub no_indexes: bool,
    /// Whether views, triggers and references may break because of what is left out.
    pub force: bool,
    /// `true` if index entries are not compared with rows, nor values with their columns. Pages and records are always verified.
    pub no_verify: bool,
    /// How long the source may be read while that keeps other processes from committing; `None`: as long as it takes.
    pub busy_limit: Option<Duration>,
    /// The journal mode of the copy; `None`: a rollback journal, or that of the source if the copy takes its place.
    pub journal_mode: Option<JournalMode>,
    /// The auto_vacuum mode of the copy; `None`: that of the source. A copy that has one is written by SQLite: objects are in the order of
    /// `VACUUM INTO`, and interior pages anywhere.
    pub auto_vacuum: Option<AutoVacuum>,
    /// `PRAGMA user_version` of the copy; `None`: that of the source.
    pub user_version: Option<i32>,
    /// `PRAGMA application_id` of the copy; `None`: that of the source.
    pub application_id: Option<i32>,
    /// Whether all interior pages follow page 1, for readers that fetch ranges of the file. The source is read twice for that. Not with
    /// auto_vacuum.
    pub interior_first: bool,
    /// What the copy is for, which chooses settings; `None`: nothing in particular.
    pub purpose: Option<Purpose>,
    /// Which columns get other values; `None`: the copy has those of the source. All pages of a masked copy are packed again.
    pub mask: Option<Masking>,
    /// Threads, memory, temporary space, whether a database at the target is replaced, how long to wait for the source.
    pub write: WriteOptions,
}

/// A journal mode that a file keeps ([docs](https://www.sqlite.org/pragma.html#pragma_journal_mode)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JournalMode {
    /// A rollback journal, which is deleted.
    #[default]
    Delete,
    /// A write-ahead log.
    Wal,
}

/// Whether a database gives free pages back ([docs](https://www.sqlite.org/pragma.html#pragma_auto_vacuum)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AutoVacuum {
    /// No.
    #[default]
    None,
    /// At every commit.
    Full,
    /// When it is asked to.
    Incremental,
}

impl AutoVacuum {
    /// That of a database with this header.
    pub(crate) fn of(header: &Header) -> AutoVacuum {
        match (header.largest_root, header.incremental_vacuum) {
            (0, _) => AutoVacuum::None,
            (_, 0) => AutoVacuum::Full,
            (_, _) => AutoVacuum::Incremental,
        }
    }

    /// Its number in SQLite.
    pub(crate) fn number(self) -> u8 {
        self as u8
    }
}

impl Copy {
    /// A copy of the whole database `source` in the new file `target`.
    pub fn new(source: impl Into<PathBuf>, target: impl Into<PathBuf>) -> Copy {
        Copy {
            source: source.into(),
            target: target.into(),
            compact: false,
            page_size: None,
            tables: Vec::new(),
            exclude_tables: Vec::new(),
            no_indexes: false,
            force: false,
            no_verify: false,
            busy_limit: None,
            journal_mode: None,
            auto_vacuum: None,
            user_version: None,
            application_id: None,
            interior_first: false,
            purpose: None,
            mask: None,
            write: WriteOptions::default(),
        }
    }
}

impl fmt::Display for JournalMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            JournalMode::Delete => "delete",
            JournalMode::Wal => "wal",
        })
    }
}

impl fmt::Display for AutoVacuum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AutoVacuum::None => "none",
            AutoVacuum::Full => "full",
            AutoVacuum::Incremental => "incremental",
        })
    }
}

impl JournalMode {
    const WORDS: [(&str, JournalMode); 2] = [("delete", JournalMode::Delete), ("wal", JournalMode::Wal)];
}

impl AutoVacuum {
    const WORDS: [(&str, AutoVacuum); 3] =
        [("none", AutoVacuum::None), ("full", AutoVacuum::Full), ("incremental", AutoVacuum::Incremental)];
}

impl TakesSettings for Copy {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Purpose => self.purpose = Some(value.word(setting, &Purpose::WORDS)?),
            Setting::Compact => self.compact = value.to()?,
            Setting::PageSize => self.page_size = Some(given_page_size(value)?),
            Setting::Table => self.tables = value.to()?,
            Setting::ExcludeTable => self.exclude_tables = value.to()?,
            Setting::NoIndexes => self.no_indexes = value.to()?,
            Setting::Force => self.force = value.to()?,
            Setting::NoVerify => self.no_verify = value.to()?,
            Setting::BusyLimit => self.busy_limit = Some(value.to()?),
            Setting::JournalMode => self.journal_mode = Some(value.word(setting, &JournalMode::WORDS)?),
            Setting::AutoVacuum => self.auto_vacuum = Some(value.word(setting, &AutoVacuum::WORDS)?),
            Setting::UserVersion => self.user_version = Some(value.to()?),
            Setting::ApplicationId => self.application_id = Some(value.to()?),
            Setting::InteriorFirst => self.interior_first = value.to()?,
            Setting::Mask => self.mask = Some(Masking::new(MaskFile::new(Schema::given(value, "mask")?)?)?),
            // The mask itself is set before: settings are in the order of their declarations.
            Setting::KeyFile => {
                let key = read_key(&value.to::<PathBuf>()?)?;
                self.mask = self.mask.take().map(|masking| masking.key(key));
            }
            Setting::StrictMask => {
                let strict = value.to()?;
                self.mask = self.mask.take().map(|masking| masking.strict(strict));
            }
            _ => return self.write.set(setting, value),
        }
        Ok(true)
    }
}

setters! { Copy:
    /// Chooses settings for what the copy is for.
    purpose(purpose: impl Into<Option<Purpose>>) = purpose.into();
    /// Writes all leaves anew: the file gets as small as it can, and no deleted bytes are copied.
    compact(compact: bool) = compact;
    /// Sets the page size of the copy; `None`: that of the source.
    page_size(size: impl Into<Option<PageSize>>) = size.into();
    /// Copies only these tables and views, with the indexes and triggers of the tables.
    tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Leaves these tables and views out, with the indexes and triggers of the tables.
    exclude_tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Leaves indexes out, but not those that make something unique.
    no_indexes(no_indexes: bool) = no_indexes;
    /// Copies even if views, triggers or references break because of what is left out.
    force(force: bool) = force;
    /// Compares no index entries with rows, and no values with their columns.
    no_verify(no_verify: bool) = no_verify;
    /// Sets how long the source may be read while that keeps other processes from committing.
    busy_limit(limit: impl Into<Option<Duration>>) = limit.into();
    /// Sets the journal mode of the copy; `None`: a rollback journal, or that of the source if the copy takes its place.
    journal_mode(mode: impl Into<Option<JournalMode>>) = mode.into();
    /// Sets the auto_vacuum mode of the copy; `None`: that of the source.
    auto_vacuum(mode: impl Into<Option<AutoVacuum>>) = mode.into();
    /// Sets `PRAGMA user_version` of the copy; `None`: that of the source.
    user_version(version: impl Into<Option<i32>>) = version.into();
    /// Sets `PRAGMA application_id` of the copy; `None`: that of the source.
    application_id(id: impl Into<Option<i32>>) = id.into();
    /// Places all interior pages after page 1. Not with auto_vacuum.
    interior_first(interior_first: bool) = interior_first;
    /// Gives columns other values.
    mask(masking: impl Into<Option<Masking>>) = masking.into();
    /// Sets threads, memory, temporary space, whether a database at the target is replaced, and how long to wait for the source.
    write(options: WriteOptions) = options;
}
