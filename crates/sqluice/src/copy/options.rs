//! `Copy`: the options of a copy, and the types of their values.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use serde::{Serialize, Serializer};
use sqluice_core::error::{Error, Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::message;
use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_core::size::grouped;
use sqluice_engine::options::{WriteOptions, given_page_size};
use sqluice_format::database::Header;
use sqluice_format::page::PageSize;

use super::{MaskFile, Masking, Purpose, read_key};
use crate::references::Orphans;

/// A copy of a database.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Copy {
    /// The database to copy.
    pub source: PathBuf,
    /// The new file; for [`Purpose::D1`], the folder of the SQL files.
    pub target: PathBuf,
    /// `true` if all leaves are rewritten, so that no deleted bytes are copied.
    pub compact: bool,
    /// The page size of the copy; `None` for the page size of the source.
    pub page_size: Option<PageSize>,
    /// The tables and views to copy; empty for all.
    pub tables: Vec<String>,
    /// The tables and views to leave out.
    pub exclude_tables: Vec<String>,
    /// `true` if indexes that are not unique are left out. Unique indexes are copied.
    pub no_indexes: bool,
    /// `true` if the copy is written even if views, triggers or references break because of left-out objects.
    pub force: bool,
    /// `true` if two checks are skipped: that index entries match their rows, and that values suit their columns. Pages and records are
    /// always verified.
    pub no_verify: bool,
    /// The maximum time for which reading the source may keep other processes from committing; `None` for no limit.
    pub busy_limit: Option<Duration>,
    /// The journal mode of the copy; `None` for a rollback journal, or for the mode of the source if the copy replaces the source.
    pub journal_mode: Option<JournalMode>,
    /// The auto_vacuum mode of the copy; `None` for the mode of the source. SQLite itself writes a copy with auto_vacuum: the order of
    /// objects is that of `VACUUM INTO`, and interior pages may be anywhere.
    pub auto_vacuum: Option<AutoVacuum>,
    /// `PRAGMA user_version` of the copy; `None` for the version of the source.
    pub user_version: Option<i32>,
    /// `PRAGMA application_id` of the copy; `None` for the ID of the source.
    pub application_id: Option<i32>,
    /// `true` if all interior pages directly follow page 1, for readers that fetch ranges of the file. The source is then read twice.
    /// Can't be combined with auto_vacuum.
    pub interior_first: bool,
    /// The purpose of the copy, which implies other settings; `None` for no particular purpose.
    pub purpose: Option<Purpose>,
    /// Tables, each with an SQL condition that is true for the rows to copy. Several conditions on a table must all be true.
    pub filters: Vec<(String, String)>,
    /// Tables, each with the sample of its rows to copy.
    pub samples: Vec<(String, Sample)>,
    /// The seed of samples: the same seed chooses the same rows.
    pub seed: u64,
    /// `true` if rows that refer to left-out rows are left out, too.
    pub sample_children: bool,
    /// The treatment of rows that refer to left-out rows, unless `sample_children` leaves them out.
    pub orphans: Orphans,
    /// The columns that refer to a key without REFERENCES, such as `visits.place_id=places.id`. Used if rows are left out.
    pub references: Vec<String>,
    /// The columns that seem to refer to a key but do not, such as `visits.place_id`. Used if rows are left out.
    pub no_references: Vec<String>,
    /// The masks of columns; `None` if the copy has the values of the source. All pages of a masked copy are rewritten.
    pub mask: Option<Masking>,
    /// The options for threads, memory, temporary space, replacement of a database at the target, and the wait for the source.
    pub write: WriteOptions,
}

/// A sample of the rows of a table.
///
/// A hash of the seed and of a row's PRIMARY KEY decides if the row is in the sample. So the same seed chooses the same rows, whatever
/// the order of the rows or the number of threads. In a table without a PRIMARY KEY, the rowid takes its place; VACUUM may change such
/// rowids.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sample {
    /// This percentage of the rows: each row is in the sample with this probability, independently of other rows.
    Percent(f64),
    /// Exactly this number of rows, or all if the table has fewer: the rows with the smallest hashes.
    Rows(u64),
}

impl FromStr for Sample {
    type Err = Error;

    /// Parses `1%`, or a number of rows.
    fn from_str(text: &str) -> Result<Sample> {
        let sample = match text.trim().strip_suffix('%') {
            Some(percent) => percent.trim().parse().ok().map(Sample::Percent),
            None => text.trim().replace('_', "").parse().ok().map(Sample::Rows),
        };
        let is_share = |sample: &Sample| match sample {
            Sample::Percent(percent) => (0.0..=100.0).contains(percent),
            Sample::Rows(_) => true,
        };
        sample.filter(is_share).ok_or_else(|| {
            Error::usage(message![
                Setting::Sample,
                format!(": {text:?} is neither a percentage nor a number of rows")
            ])
            .hint(message![
                "write ",
                Setting::Sample.to("TABLE=1%"),
                " or ",
                Setting::Sample.to("TABLE=1000")
            ])
        })
    }
}

impl Serialize for Sample {
    /// Serializes the text that [`Sample::from_str`] parses.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Sample::Percent(_) => serializer.collect_str(self),
            Sample::Rows(rows) => serializer.collect_str(rows),
        }
    }
}

impl fmt::Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sample::Percent(percent) => write!(f, "{percent}%"),
            Sample::Rows(1) => write!(f, "1 row"),
            Sample::Rows(rows) => write!(f, "{} rows", grouped(*rows)),
        }
    }
}

/// A journal mode that is stored in the database file ([docs](https://www.sqlite.org/pragma.html#pragma_journal_mode)).
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
    /// The database never releases free pages.
    #[default]
    None,
    /// Every commit releases free pages.
    Full,
    /// Free pages are released on request, by `PRAGMA incremental_vacuum`.
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

    /// Returns SQLite's number for the mode, as in `PRAGMA auto_vacuum`.
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
            filters: Vec::new(),
            samples: Vec::new(),
            seed: 1,
            sample_children: false,
            orphans: Orphans::default(),
            references: Vec::new(),
            no_references: Vec::new(),
            mask: None,
            write: WriteOptions::default(),
        }
    }

    /// Copies only the rows of a table for which an SQL condition is true. Rows for which it is NULL are left out.
    ///
    /// ```
    /// use sqluice::copy::Copy;
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let [db, small] = ["shop.db", "small.db"].map(|name| folder.path().join(name));
    /// # let connection = rusqlite::Connection::open(&db)?;
    /// # connection.execute_batch(
    /// #     "CREATE TABLE customers (id INTEGER PRIMARY KEY, country TEXT);
    /// #      INSERT INTO customers VALUES (1, 'NO'), (2, 'SE'), (3, NULL);
    /// #      CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INT REFERENCES customers);
    /// #      INSERT INTO orders VALUES (1, 1), (2, 2), (3, 3);",
    /// # )?;
    /// let copy = Copy::new(&db, &small).filter("customers", "country = 'NO'").sample_children(true);
    /// let rows = copy.run()?.selected.unwrap();
    /// assert_eq!((rows.tables[0].filtered, rows.tables[0].filtered_null), (2, 1));
    /// assert_eq!((rows.tables[1].table.as_str(), rows.tables[1].children), ("orders", 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn filter(mut self, table: impl Into<String>, condition: impl Into<String>) -> Copy {
        self.filters.push((table.into(), condition.into()));
        self
    }

    /// Copies only a sample of the rows of a table.
    #[must_use]
    pub fn sample(mut self, table: impl Into<String>, sample: Sample) -> Copy {
        self.samples.push((table.into(), sample));
        self
    }

    /// Returns `true` if a condition or a sample chooses rows.
    pub fn leaves_rows_out(&self) -> bool {
        !self.filters.is_empty() || !self.samples.is_empty()
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
            Setting::Where => self.filters = value.to()?,
            Setting::Sample => {
                let given: Vec<(String, String)> = value.to()?;
                let samples = given.into_iter().map(|(table, sample)| Ok((table, sample.parse()?)));
                self.samples = samples.collect::<Result<_>>()?;
            }
            Setting::Seed => self.seed = value.to()?,
            Setting::SampleChildren => self.sample_children = value.to()?,
            Setting::Orphans => self.orphans = value.word(setting, &Orphans::WORDS)?,
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
                self.references.clone_from(&references);
                self.masked((setting, value), |masking| masking.references(references))?;
            }
            Setting::NoReference => {
                let no_references: Vec<String> = value.to()?;
                self.no_references.clone_from(&no_references);
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
    /// Changes the masks. Settings are applied in the order in which they are declared, so `mask` has been applied already.
    fn masked(
        &mut self,
        (setting, value): (Setting, &Value),
        change: impl FnOnce(Masking) -> Masking,
    ) -> Result<()> {
        match self.mask.take() {
            Some(masking) => self.mask = Some(change(masking)),
            None if matches!(setting, Setting::Reference | Setting::NoReference)
                && self.leaves_rows_out() => {}
            None if matches!(value, Value::Switch(false)) || *value == Value::Texts(Vec::new()) => {}
            None => {
                if matches!(setting, Setting::Reference | Setting::NoReference) {
                    let message = message![setting, " is for copies with masks or without some rows"];
                    return Err(Error::usage(message).hint(message![
                        Setting::Mask,
                        " gives columns masks; ",
                        Setting::Where,
                        " and ",
                        Setting::Sample,
                        " leave rows out"
                    ]));
                }
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
    /// Sets the purpose of the copy, which implies other settings; `None` for no particular purpose.
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
    /// Skips the checks that index entries match their rows, and that values suit their columns.
    no_verify(no_verify: bool) = no_verify;
    /// Sets the maximum time for which reading the source may keep other processes from committing; `None` for no limit.
    busy_limit(limit: impl Into<Option<Duration>>) = limit.into();
    /// Sets the journal mode of the copy; `None` for a rollback journal, or for the mode of the source if the copy replaces the source.
    journal_mode(mode: impl Into<Option<JournalMode>>) = mode.into();
    /// Sets the auto_vacuum mode of the copy; `None` for the mode of the source.
    auto_vacuum(mode: impl Into<Option<AutoVacuum>>) = mode.into();
    /// Sets `PRAGMA user_version` of the copy; `None` for the version of the source.
    user_version(version: impl Into<Option<i32>>) = version.into();
    /// Sets `PRAGMA application_id` of the copy; `None` for the ID of the source.
    application_id(id: impl Into<Option<i32>>) = id.into();
    /// Places all interior pages directly after page 1. Can't be combined with auto_vacuum.
    interior_first(interior_first: bool) = interior_first;
    /// Sets the seed of samples: the same seed chooses the same rows.
    seed(seed: u64) = seed;
    /// Leaves out rows that refer to left-out rows.
    sample_children(sample_children: bool) = sample_children;
    /// Sets the treatment of rows that refer to left-out rows.
    orphans(orphans: Orphans) = orphans;
    /// Declares columns that refer to a key without REFERENCES. Used if rows are left out.
    references(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Declares columns that refer to no key, although they seem to. Used if rows are left out.
    no_references(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Masks columns: gives them other values.
    mask(masking: impl Into<Option<Masking>>) = masking.into();
    /// Sets the options for threads, memory, temporary space, replacement of a database at the target, and the wait for the source.
    write(options: WriteOptions) = options;
}
