//! `Load`: the options of a load.

use std::path::PathBuf;

use sqluice_core::error::{Result, Setting};
use sqluice_core::given::{TakesSettings, Value};
use sqluice_core::schema::Schema;
use sqluice_core::setters;
use sqluice_engine::options::{Tuning, WriteOptions};
use sqluice_sources::convert::Convert;
use sqluice_sources::formats::FormatOptions;

use super::server::ServerOptions;

/// The bytes of text at the start of each file that are read before the load is planned.
pub const SAMPLE_BYTES: usize = Tuning::DEFAULT.sample_bytes;

/// A load of files into a database, as new tables or as rows of existing tables.
///
/// ```
/// use sqluice::load::Load;
/// use sqluice::options::WriteOptions;
///
/// let load = Load::new("sales.db", ["2024.csv", "2025.csv"])
///     .table("sales")
///     .primary_key(["id"])
///     .write(WriteOptions::new().threads(4));
/// assert_eq!(load.tables, ["sales"]);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Load {
    /// The path or URL of the database that is written.
    pub target: PathBuf,
    /// The files, folders, archives and URLs of files, or the URL of one database of a server; `-` is standard input. A name with `*`, `?`
    /// or `[` stands for all files that match, unless a file has exactly this name.
    pub files: Vec<PathBuf>,
    /// The settings about the format of the files: delimiter, header, encoding and so on.
    pub format: FormatOptions,
    /// The one table that all files fill; empty for a table per file, named after the file. For an SQL dump or a database: the tables of
    /// the source to load; empty for all.
    pub tables: Vec<String>,
    /// The part of a file's path that names its table, if `tables` is empty.
    pub name_from: NameFrom,
    /// The schema that declares the tables; `None` for tables with the columns of the files, and types that follow from the values.
    /// Existing tables stay as they are, and must be declared the same.
    pub schema: Option<Schema>,
    /// Declared types of columns, by name, instead of types that follow from the values. Not with a schema.
    pub types: Vec<(String, String)>,
    /// Columns whose text is converted, by name: dates, booleans, numbers with a decimal comma, thousands separators, signs of accounting
    /// or a percent sign. Only for text formats. In JSON files, only strings are converted.
    pub convert: Vec<(String, Convert)>,
    /// `true` if new tables are STRICT. Not with a schema.
    pub strict: bool,
    /// The columns to load, in this order; `None` for all. If a file has no header, these are the names of its columns.
    pub columns: Option<Vec<String>>,
    /// An SQL expression: only records for which it is true are loaded; `None` for all records. It sees the values of the file.
    pub filter: Option<String>,
    /// Columns that are added or replaced, by name, each with the SQL expression of its values. An expression sees the columns that were
    /// set before it.
    pub sets: Vec<(String, String)>,
    /// The columns that are left out, after all expressions.
    pub excluded: Vec<String>,
    /// Pairs of a column and its new name. Columns are renamed after all expressions.
    pub renames: Vec<(String, String)>,
    /// The columns and SQL expressions to load, as after SELECT; `None` for the columns of the file. Can't be combined with `sets`,
    /// `excluded` and `renames`.
    pub select: Option<String>,
    /// `true` if columns of a file are added to a table that lacks them. If `false`, such a column is an error.
    pub add_columns: bool,
    /// The maximum number of records to read for each table; `None` for all.
    pub limit: Option<u64>,
    /// The storage of decimals and timestamps from Parquet and Arrow files.
    #[cfg(feature = "parquet")]
    pub arrow: sqluice_sources::arrow::ArrowOptions,
    /// `true` if values may lose precision in SQLite's conversions, such as digits of `'12345678901234567890'` in an INTEGER column.
    pub lossy: bool,
    /// The file for bad rows; `None` if the first bad row ends the load.
    pub reject: Option<PathBuf>,
    /// `true` if an existing `reject` file is replaced. Otherwise an existing file is an error.
    pub overwrite_reject: bool,
    /// The number of bad rows that the load accepts. If it is not set, a load with more than 100 bad rows and fewer good ones still ends,
    /// and so does a file whose header is odd and whose sample has only bad rows.
    pub rejects_max: u64,
    /// `true` if files that can't be loaded are left out and listed in the report
    /// ([`Report::skipped`](sqluice_engine::report::Report::skipped)). Otherwise a file that can't be loaded ends the load. At least one
    /// file must be left.
    pub skip_bad_files: bool,
    /// The database to load, if an SQL dump has several; `None` for the only one with tables.
    pub database: Option<String>,
    /// `true` if an SQL dump that has a ROLLBACK, ends within a transaction or lacks its last line is loaded as if it were complete.
    /// Otherwise such a dump is an error.
    pub commit_anyway: bool,
    /// The columns of the PRIMARY KEY of each table that has them all. A single INTEGER column is another name for the rowid, except in
    /// tables WITHOUT ROWID. Other key columns can't be NULL. Not with a schema.
    pub primary_key: Vec<String>,
    /// Indexes, each as columns with commas between them: `name [COLLATE collation] [ASC|DESC], ...`; a name may be quoted as in SQL. Each
    /// table that has all columns of an index gets the index.
    pub indexes: Vec<String>,
    /// Unique indexes, written as `indexes` are. Not with a schema.
    pub uniques: Vec<String>,
    /// `true` if tables with a `primary_key` are WITHOUT ROWID.
    pub without_rowid: bool,
    /// The options for the database of a server.
    pub server: ServerOptions,
    /// The options for writing the database. Their `temp_dir` also gets copies of pipes that must be read twice.
    pub write: WriteOptions,
}

/// The parts of a file's path that become the name of its table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum NameFrom {
    /// The name of the file: `sales` for `2024/sales.csv`. If files in several folders have the name, those that were found in a folder or
    /// an archive are named as by `Path`.
    #[default]
    File,
    /// The names of the folders below the folder that contains all files, and the name of the file: `2024_sales`.
    Path,
}

impl NameFrom {
    const WORDS: [(&str, NameFrom); 2] = [("file", NameFrom::File), ("path", NameFrom::Path)];
}

impl TakesSettings for Load {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Table => self.tables = value.to()?,
            Setting::NameFrom => self.name_from = value.word(setting, &NameFrom::WORDS)?,
            Setting::Schema => self.schema = Some(Schema::given(value, "schema")?),
            Setting::Type => self.types = value.to()?,
            Setting::Date => self.convert.extend(Convert::all(&value.to::<Vec<_>>()?, &[], &[], &[])),
            Setting::Boolean => self.convert.extend(Convert::all(&[], &value.to::<Vec<_>>()?, &[], &[])),
            Setting::DecimalComma => self.convert.extend(Convert::all(&[], &[], &value.to::<Vec<_>>()?, &[])),
            Setting::Thousands => self.convert.extend(Convert::all(&[], &[], &[], &value.to::<Vec<_>>()?)),
            Setting::Accounting => self.convert_each(value.to()?, &Convert::Accounting),
            Setting::Percent => self.convert_each(value.to()?, &Convert::Percent),
            Setting::Strict => self.strict = value.to()?,
            Setting::Columns => self.columns = Some(value.to()?),
            Setting::Where => self.set_conditions(value.to()?)?,
            Setting::Set => self.sets = value.to()?,
            Setting::ExcludeColumns => self.excluded = value.to()?,
            Setting::Rename => self.renames = value.to()?,
            Setting::Select => self.select = Some(value.to()?),
            Setting::AddColumns => self.add_columns = value.to()?,
            Setting::Limit => self.limit = Some(value.to()?),
            Setting::Lossy => self.lossy = value.to()?,
            Setting::Reject => self.reject = Some(value.to()?),
            Setting::OverwriteReject => self.overwrite_reject = value.to()?,
            Setting::MaxRejects => self.rejects_max = value.to()?,
            Setting::SkipBadFiles => self.skip_bad_files = value.to()?,
            Setting::Database => self.database = Some(value.to()?),
            Setting::CommitAnyway => self.commit_anyway = value.to()?,
            Setting::PrimaryKey => self.primary_key = value.to()?,
            Setting::Index => self.indexes = value.to()?,
            Setting::Unique => self.uniques = value.to()?,
            Setting::WithoutRowid => self.without_rowid = value.to()?,
            #[cfg(feature = "parquet")]
            Setting::Decimal | Setting::Timestamp => return self.arrow.set(setting, value),
            // A build without Parquet and Arrow ignores the settings for their decimals and timestamps.
            #[cfg(not(feature = "parquet"))]
            Setting::Decimal | Setting::Timestamp => {}
            _ => {
                let taken = self.server.set(setting, value)? || self.format.set(setting, value)?;
                return Ok(taken || self.write.set(setting, value)?);
            }
        }
        Ok(true)
    }
}

impl Load {
    /// Adds the same conversion for each of some columns.
    fn convert_each(&mut self, columns: Vec<String>, convert: &Convert) {
        self.convert.extend(columns.into_iter().map(|column| (column, convert.clone())));
    }

    /// Creates a load of `files` into the database `target`, with default options.
    pub fn new(target: impl Into<PathBuf>, files: impl IntoIterator<Item = impl Into<PathBuf>>) -> Load {
        Load {
            target: target.into(),
            files: files.into_iter().map(Into::into).collect(),
            format: FormatOptions::default(),
            tables: Vec::new(),
            name_from: NameFrom::File,
            schema: None,
            types: Vec::new(),
            convert: Vec::new(),
            strict: false,
            columns: None,
            filter: None,
            sets: Vec::new(),
            excluded: Vec::new(),
            renames: Vec::new(),
            select: None,
            add_columns: false,
            limit: None,
            #[cfg(feature = "parquet")]
            arrow: sqluice_sources::arrow::ArrowOptions::default(),
            lossy: false,
            reject: None,
            overwrite_reject: false,
            rejects_max: u64::MAX,
            skip_bad_files: false,
            database: None,
            commit_anyway: false,
            primary_key: Vec::new(),
            indexes: Vec::new(),
            uniques: Vec::new(),
            without_rowid: false,
            server: ServerOptions::default(),
            write: WriteOptions::default(),
        }
    }

    /// Loads all files into this table. If the source is an SQL dump or a database, loads its table of this name.
    #[must_use]
    pub fn table(self, name: impl Into<String>) -> Load {
        self.tables([name])
    }

    /// Returns `true` if the table's columns or rows differ from those of the files.
    pub(crate) fn has_expressions(&self) -> bool {
        let changes_names = !self.excluded.is_empty() || !self.renames.is_empty();
        self.filter.is_some() || !self.sets.is_empty() || self.select.is_some() || changes_names
    }

    /// Returns the table that all files fill, if one is named.
    pub(crate) fn one_table(&self) -> Option<&str> {
        match &self.tables[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// Adds or replaces a column. Its values are the results of an SQL expression over the columns of the same record, including the
    /// columns that earlier calls have set.
    #[must_use]
    pub fn set(mut self, column: impl Into<String>, expression: impl Into<String>) -> Load {
        self.sets.push((column.into(), expression.into()));
        self
    }

    /// Leaves out these columns, after all expressions.
    #[must_use]
    pub fn exclude_columns(mut self, columns: impl IntoIterator<Item = impl Into<String>>) -> Load {
        self.excluded = columns.into_iter().map(Into::into).collect();
        self
    }

    /// Renames a column, after all expressions.
    #[must_use]
    pub fn rename(mut self, column: impl Into<String>, new: impl Into<String>) -> Load {
        self.renames.push((column.into(), new.into()));
        self
    }

    /// Changes sizes and limits for tests.
    #[doc(hidden)]
    #[must_use]
    pub fn tune(mut self, tune: impl FnOnce(&mut Tuning)) -> Load {
        tune(&mut self.write.tuning);
        self
    }
}

setters! { Load:
    /// Sets the format of the files: their delimiter, header, encoding and so on.
    format(options: FormatOptions) = options;
    /// Loads these tables of an SQL dump or a database. Files that are neither fill one table, which [`Load::table`] names.
    tables(names: impl IntoIterator<Item = impl Into<String>>) = names.into_iter().map(Into::into).collect();
    /// Sets the part of a file's path that names its table.
    name_from(name_from: NameFrom) = name_from;
    /// Sets the declarations of the tables, instead of inferring them from the files.
    schema(schema: impl Into<Option<Schema>>) = schema.into();
    /// Declares columns with these types, by name, instead of inferring them.
    types(types: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>) =
        types.into_iter().map(|(column, declared)| (column.into(), declared.into())).collect();
    /// Converts the text of these columns: dates, booleans, numbers with a decimal comma.
    convert(convert: impl IntoIterator<Item = (impl Into<String>, Convert)>) =
        convert.into_iter().map(|(column, convert)| (column.into(), convert)).collect();
    /// Creates STRICT tables.
    strict(strict: bool) = strict;
    /// Loads only these columns, in this order. For files without a header, these are the names of their columns.
    columns(columns: impl IntoIterator<Item = impl Into<String>>) =
        Some(columns.into_iter().map(Into::into).collect());
    /// Loads only the records for which this SQL expression is true, such as `price > 0`. It sees the values of the file.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let [db, csv] = ["people.db", "people.csv"].map(|name| folder.path().join(name));
    /// std::fs::write(&csv, "id,email,age\n1, Ann@Example.org,31\n2,bob@example.org,17\n")?;
    /// let report = sqluice::load::Load::new(&db, [&csv])
    ///     .filter("age >= 18")
    ///     .set("email", "lower(trim(email))")
    ///     .exclude_columns(["age"])
    ///     .rename("id", "person_id")
    ///     .run()?;
    /// assert_eq!((report.rows, report.tables[0].filtered), (1, 1));
    /// # Ok(()) }
    /// ```
    filter(expression: impl Into<String>) = Some(expression.into());
    /// Loads these columns and SQL expressions, in this order, written as after SELECT: `id, lower(email) AS email`.
    select(list: impl Into<String>) = Some(list.into());
    /// Adds columns of the files that a table lacks, instead of refusing them.
    add_columns(add: bool) = add;
    /// Reads at most this many records for each table.
    limit(records: impl Into<Option<u64>>) = records.into();
    /// Sets the storage of decimals and timestamps from Parquet and Arrow files.
    #[cfg(feature = "parquet")]
    arrow(options: sqluice_sources::arrow::ArrowOptions) = options;
    /// Accepts values that SQLite would round or overflow.
    lossy(lossy: bool) = lossy;
    /// Writes bad rows to this file and goes on. By default, the first bad row ends the load.
    reject(file: impl Into<PathBuf>) = Some(file.into());
    /// Replaces an existing file of bad rows.
    overwrite_reject(overwrite: bool) = overwrite;
    /// Sets the number of bad rows that the load accepts.
    rejects_max(rows: u64) = rows;
    /// Skips files that cannot be loaded and lists them in the report.
    skip_bad_files(skip: bool) = skip;
    /// Sets the database to load, if an SQL dump has several; `None` for the only one with tables.
    database(name: impl Into<Option<String>>) = name.into();
    /// Sets whether an SQL dump that has a ROLLBACK, ends within a transaction or lacks its last line is loaded as if it were complete.
    commit_anyway(commit: bool) = commit;
    /// Sets the columns of the PRIMARY KEY of each table that has all of these columns.
    primary_key(columns: impl IntoIterator<Item = impl Into<String>>) =
        columns.into_iter().map(Into::into).collect();
    /// Creates these indexes, each given as its columns with commas between them.
    indexes(indexes: impl IntoIterator<Item = impl Into<String>>) =
        indexes.into_iter().map(Into::into).collect();
    /// Creates these unique indexes, each given as its columns with commas between them.
    uniques(indexes: impl IntoIterator<Item = impl Into<String>>) =
        indexes.into_iter().map(Into::into).collect();
    /// Creates tables that have a primary key as WITHOUT ROWID tables.
    without_rowid(without_rowid: bool) = without_rowid;
    /// Sets the options for the database of a server.
    server(options: ServerOptions) = options;
    /// Sets the options for writing the database.
    write(options: WriteOptions) = options;
}
