//! The options of a copy.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;
use sqluice_core::error::{Error, Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::message;
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
    /// The database to copy.
    pub source: PathBuf,
    /// The new file.
    pub target: PathBuf,
    /// `true` if all leaves are rewritten, so that no deleted bytes are copied.
    pub compact: bool,
    /// The page size of the copy; `None` for the page size of the source.
    pub page_size: Option<PageSize>,
    /// The tables and views to copy; empty for all.
    pub tables: Vec<String>,
    /// The tables and views to leave out.
    pub exclude_tables: Vec<String>,
    /// `true` if indexes that are not unique are left out.
    pub no_indexes: bool,
    /// `true` if left-out objects may break views, triggers and references.
    pub force: bool,
    /// `true` if index entries are not compared with rows, nor values with their columns. Pages and records are always verified.
    pub no_verify: bool,
    /// The largest time for which reading the source may keep other processes from committing; `None` for no limit.
    pub busy_limit: Option<Duration>,
    /// The journal mode of the copy; `None` for a rollback journal, or for the mode of the source if the copy replaces the source.
    pub journal_mode: Option<JournalMode>,
    /// The auto_vacuum mode of the copy; `None` for the mode of the source. SQLite writes a copy with auto_vacuum: objects are in the order
    /// of `VACUUM INTO`, and interior pages anywhere.
    pub auto_vacuum: Option<AutoVacuum>,
    /// `PRAGMA user_version` of the copy; `None` for the version of the source.
    pub user_version: Option<i32>,
    /// `PRAGMA application_id` of the copy; `None` for the ID of the source.
    pub application_id: Option<i32>,
    /// `true` if all interior pages follow page 1, for readers that fetch ranges of the file. The source is then read twice. Not with
    /// auto_vacuum.
    pub interior_first: bool,
    /// The purpose of the copy, which determines settings; `None` for no particular purpose.
    pub purpose: Option<Purpose>,
    /// The masks of columns; `None` if the copy has the values of the source. All pages of a masked copy are rewritten.
    pub mask: Option<Masking>,
    /// The options for threads, memory, temporary space, replacement of a database at the target, and the wait for the source.
    pub write: WriteOptions,
}

/// A journal mode that a file keeps ([docs](https://www.sqlite.org/pragma.html#pragma_journal_mode)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JournalMode {
    /// A rollback journal, which is deleted at commit.
    #[default]
    Delete,
    /// A write-ahead log.
    Wal,
}

/// The mode in which a database releases free pages ([docs](https://www.sqlite.org/pragma.html#pragma_auto_vacuum)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AutoVacuum {
    /// Never.
    #[default]
    None,
    /// At every commit.
    Full,
    /// On request, by `PRAGMA incremental_vacuum`.
    Incremental,
}

impl AutoVacuum {
    /// Returns the mode of a database with this header.
    pub(crate) fn of(header: &Header) -> AutoVacuum {
        match (header.largest_root, header.incremental_vacuum) {
            (0, _) => AutoVacuum::None,
            (_, 0) => AutoVacuum::Full,
            (_, _) => AutoVacuum::Incremental,
        }
    }

    /// Returns the number of the mode in SQLite.
    pub(crate) fn number(self) -> u8 {
        self as u8
    }
}

impl Copy {
    /// Creates a copy of the whole database `source` in the new file `target`.
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
            Setting::KeyFile => {
                let key = read_key(&value.to::<PathBuf>()?)?;
                self.masked((setting, value), |masking| masking.key(key))?;
            }
            Setting::StrictMask => {
                let strict = value.to()?;
                self.masked((setting, value), |masking| masking.strict(strict))?;
            }
            Setting::Allow => {
                let allowed: Vec<String> = value.to()?;
                self.masked((setting, value), |masking| masking.allow(allowed))?;
            }
            Setting::Reference => {
                let references: Vec<String> = value.to()?;
                self.masked((setting, value), |masking| masking.references(references))?;
            }
            Setting::NoReference => {
                let no_references: Vec<String> = value.to()?;
                self.masked((setting, value), |masking| masking.no_references(no_references))?;
            }
            Setting::StripLiterals => {
                let strips = value.to()?;
                self.masked((setting, value), |masking| masking.strip_literals(strips))?;
            }
            _ => return self.write.set(setting, value),
        }
        Ok(true)
    }
}

impl Copy {
    /// Changes the masks. Settings are applied in the order of their declarations, so the masks are already set.
    fn masked(
        &mut self,
        (setting, value): (Setting, &Value),
        change: impl FnOnce(Masking) -> Masking,
    ) -> Result<()> {
        match self.mask.take() {
            Some(masking) => self.mask = Some(change(masking)),
            None if matches!(value, Value::Switch(false)) || *value == Value::Texts(Vec::new()) => {}
            None => {
                return Err(Error::usage(message![
                    setting,
                    " is for masked copies, and this copy has no masks"
                ])
                .hint(message![Setting::Mask, " gives columns masks"]));
            }
        }
        Ok(())
    }
}

setters! { Copy:
    /// Sets the purpose of the copy, which determines settings.
    purpose(purpose: impl Into<Option<Purpose>>) = purpose.into();
    /// Rewrites all leaves: the file becomes as small as possible, and no deleted bytes are copied.
    compact(compact: bool) = compact;
    /// Sets the page size of the copy; `None` for the page size of the source.
    page_size(size: impl Into<Option<PageSize>>) = size.into();
    /// Copies only these tables and views, with the indexes and triggers of the tables.
    tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Leaves these tables and views out, with the indexes and triggers of the tables.
    exclude_tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Leaves out indexes that are not unique.
    no_indexes(no_indexes: bool) = no_indexes;
    /// Copies even if left-out objects break views, triggers or references.
    force(force: bool) = force;
    /// Skips the comparison of index entries with rows, and of values with their columns.
    no_verify(no_verify: bool) = no_verify;
    /// Sets the largest time for which reading the source may keep other processes from committing.
    busy_limit(limit: impl Into<Option<Duration>>) = limit.into();
    /// Sets the journal mode of the copy; `None` for a rollback journal, or for the mode of the source if the copy replaces the source.
    journal_mode(mode: impl Into<Option<JournalMode>>) = mode.into();
    /// Sets the auto_vacuum mode of the copy; `None` for the mode of the source.
    auto_vacuum(mode: impl Into<Option<AutoVacuum>>) = mode.into();
    /// Sets `PRAGMA user_version` of the copy; `None` for the version of the source.
    user_version(version: impl Into<Option<i32>>) = version.into();
    /// Sets `PRAGMA application_id` of the copy; `None` for the ID of the source.
    application_id(id: impl Into<Option<i32>>) = id.into();
    /// Places all interior pages after page 1. Not with auto_vacuum.
    interior_first(interior_first: bool) = interior_first;
    /// Masks columns: gives them other values.
    mask(masking: impl Into<Option<Masking>>) = masking.into();
    /// Sets the options for threads, memory, temporary space, replacement of a database at the target, and the wait for the source.
    write(options: WriteOptions) = options;
}
