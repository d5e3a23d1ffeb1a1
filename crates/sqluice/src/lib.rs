//! Fill SQLite databases at the speed of the disk.
//!
//! sqluice encodes rows into database pages on all cores and writes these pages in order, instead of running an INSERT for each
//! row. The result is an ordinary SQLite database: a new file appears only once it is complete, and an existing database changes in
//! one transaction.
//!
//! # Examples
//!
//! Load a CSV file. Delimiter, header and the types of the columns are recognised unless [`load::FormatOptions`] and the methods of
//! [`load::Load`] state them:
//!
//! ```
//! use sqluice::load::Load;
//!
//! # let folder = tempfile::tempdir()?;
//! # let (db, csv) = (folder.path().join("shop.db"), folder.path().join("sales.csv"));
//! std::fs::write(&csv, "id,item,price\n1,tea,2.50\n2,cake,3.75\n")?;
//!
//! let load = Load::new(&db, [&csv]).table("sales").primary_key(["id"]).indexes(["item"]);
//! let report = load.run()?;
//! assert_eq!(report.rows, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Write structs, one row for each. The fields are the columns; [`write::WriteRows`] has options for keys, indexes and existing tables:
//!
//! ```
//! # #[cfg(feature = "serde")] {
//! #[derive(serde::Serialize)]
//! struct Reading {
//!     sensor: u32,
//!     celsius: f64,
//! }
//!
//! # let folder = tempfile::tempdir()?;
//! # let db = folder.path().join("readings.db");
//! let readings = (0..50_000).map(|n| Reading { sensor: n % 40, celsius: f64::from(n) / 1e3 });
//! let report = sqluice::write::write_rows(&db, "reading", readings)?;
//! assert_eq!(report.rows, 50_000);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Write columns of your own. A source hands out parts, and a part makes batches of columns on any core:
//!
//! ```
//! use sqluice::batch::{Batch, Column, Values};
//! use sqluice::error::Result;
//! use sqluice::schema::Schema;
//! use sqluice::source::{Part, Sink, Source};
//! use sqluice::write::{NamedRows, Write};
//!
//! struct Squares {
//!     next: i64,
//! }
//!
//! struct Thousand {
//!     first: i64,
//! }
//!
//! impl Source for Squares {
//!     fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
//!         if self.next == 50_000 {
//!             return Ok(None);
//!         }
//!         let part = Thousand { first: self.next };
//!         self.next += 1000;
//!         Ok(Some(Box::new(part)))
//!     }
//! }
//!
//! impl Part for Thousand {
//!     fn first_row(&self) -> u64 {
//!         self.first as u64
//!     }
//!
//!     fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
//!         let numbers: Vec<i64> = (self.first..self.first + 1000).collect();
//!         let squares: Vec<i64> = numbers.iter().map(|number| number * number).collect();
//!         let columns = vec![Column::new(Values::Int(&numbers)), Column::new(Values::Int(&squares))];
//!         sink.rows(&Batch { rows: 1000, columns }).map_err(|refused| refused.first().1)
//!     }
//! }
//!
//! # let folder = tempfile::tempdir()?;
//! # let db = folder.path().join("squares.db");
//! let sql = "CREATE TABLE squares (number INTEGER PRIMARY KEY, square INTEGER)";
//! let schema = Schema::parse(sql, "schema.sql".as_ref())?;
//! let write = Write::new(&db, schema).rows([NamedRows::new("squares", ["number", "square"])]);
//! let report = write.run(vec![Box::new(Squares { next: 0 })])?;
//! assert_eq!(report.rows, 50_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Generate test data. Comments in the schema describe the values; the same seed makes the same file:
//!
//! ```
//! use sqluice::generate::Generate;
//! use sqluice::schema::Schema;
//!
//! # let folder = tempfile::tempdir()?;
//! # let db = folder.path().join("people.db");
//! let sql = "CREATE TABLE people (
//!     id   INTEGER PRIMARY KEY,
//!     kind TEXT NOT NULL, -- gen: choice('guest', 'member')
//!     born INTEGER        -- gen: int(1940, 2010)
//! )";
//! let schema = Schema::parse(sql, "schema.sql".as_ref())?;
//! let report = Generate::new(&db, schema).rows(10_000).seed(7).run()?;
//! assert_eq!(report.rows, 10_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Build an index of an existing database, sorted on all cores:
//!
//! ```
//! use sqluice::index::Index;
//!
//! # use sqluice::generate::Generate;
//! # use sqluice::schema::Schema;
//! # let folder = tempfile::tempdir()?;
//! # let db = folder.path().join("people.db");
//! # let schema = Schema::parse("CREATE TABLE people (born INT)", "schema.sql".as_ref())?;
//! # Generate::new(&db, schema).rows(10_000).run()?;
//! let index = Index::new(&db, ["CREATE INDEX people_by_birth ON people (born)"]);
//! let report = index.run()?;
//! assert_eq!(report.indexes[0].entries, 10_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Copy a database while others use it, without its free pages and without the bytes of deleted rows:
//!
//! ```
//! use sqluice::copy::Copy;
//!
//! # use sqluice::generate::Generate;
//! # use sqluice::schema::Schema;
//! # let folder = tempfile::tempdir()?;
//! # let (db, backup) = (folder.path().join("people.db"), folder.path().join("backup.db"));
//! # let schema = Schema::parse("CREATE TABLE people (born INT)", "schema.sql".as_ref())?;
//! # Generate::new(&db, schema).rows(10_000).run()?;
//! let report = Copy::new(&db, &backup).compact(true).run()?;
//! assert_eq!(report.rows, 10_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Merge databases into one. Tables with the same declaration become one table:
//!
//! ```
//! use sqluice::merge::Merge;
//!
//! # use sqluice::generate::Generate;
//! # use sqluice::schema::Schema;
//! # let folder = tempfile::tempdir()?;
//! # let [north, south, all] = ["north.db", "south.db", "all.db"].map(|name| folder.path().join(name));
//! # for db in [&north, &south] {
//! #     let schema = Schema::parse("CREATE TABLE people (born INT)", "schema.sql".as_ref())?;
//! #     Generate::new(db, schema).rows(10_000).run()?;
//! # }
//! let report = Merge::new(&all, [&north, &south]).run()?;
//! assert_eq!(report.rows, 20_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Check a database:
//!
//! ```
//! use sqluice::check::Check;
//!
//! # use sqluice::generate::Generate;
//! # use sqluice::schema::Schema;
//! # let folder = tempfile::tempdir()?;
//! # let db = folder.path().join("people.db");
//! # let schema = Schema::parse("CREATE TABLE people (born INT)", "schema.sql".as_ref())?;
//! # Generate::new(&db, schema).rows(10_000).run()?;
//! let checked = Check::new(&db).threads(2).run()?;
//! assert!(checked.is_sound(), "{:?}", checked.report.problems);
//! assert_eq!(checked.rows(), 10_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Save what is left of a damaged database:
//!
//! ```
//! use sqluice::recover::Recover;
//!
//! # use sqluice::generate::Generate;
//! # use sqluice::schema::Schema;
//! # let folder = tempfile::tempdir()?;
//! # let (db, new) = (folder.path().join("people.db"), folder.path().join("new.db"));
//! # let schema = Schema::parse("CREATE TABLE people (born INT)", "schema.sql".as_ref())?;
//! # Generate::new(&db, schema).rows(10_000).run()?;
//! let report = Recover::new(&db, &new).run()?;
//! assert_eq!(report.saved.tables[0].rows, 10_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Verbs
//!
//! Each verb is a type ([`load::Load`], [`generate::Generate`], [`copy::Copy`], [`check::Check`], ...), and all of them are used in the
//! same way:
//!
//! - `Verb::new(...)`, methods that set options, and `run()`, which returns a report
//! - `run_with(&context)` runs with a [`Context`](progress::Context): a [`Progress`](progress::Progress) to watch the run and a
//!   [`Cancel`](progress::Cancel) to stop it
//! - `prepare(&context)`, for verbs with a plan, examines the inputs and writes nothing. The prepared verb has `plan()` and `run(&context)`
//!
//! ```
//! use sqluice::copy::Copy;
//! use sqluice::error::ErrorKind;
//! use sqluice::progress::{Cancel, Context};
//!
//! # use sqluice::generate::Generate;
//! # use sqluice::schema::Schema;
//! # let folder = tempfile::tempdir()?;
//! # let (db, backup) = (folder.path().join("people.db"), folder.path().join("backup.db"));
//! # let schema = Schema::parse("CREATE TABLE people (born INT)", "schema.sql".as_ref())?;
//! # Generate::new(&db, schema).rows(10_000).run()?;
//! let cancel = Cancel::new();
//! let prepared = Copy::new(&db, &backup).prepare(&Context::default())?;
//! println!("{}", prepared.plan());
//!
//! // Usually, another thread or a handler of Ctrl-C does this during the run.
//! cancel.cancel();
//! let error = prepared.run(&Context::default().cancel(&cancel)).unwrap_err();
//! assert_eq!(error.kind(), ErrorKind::Interrupted);
//! assert!(!backup.exists());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rows of the caller's own are the first argument of a run: `Write::run(sources)`, `WriteRows::run_with(rows, &context)`.
//!
//! # Features
//!
//! All but `cloud`, `mysql` and `postgres` are on by default. Without any of them, [`write::write_tables`], [`generate`], [`profile`],
//! [`index`], [`check`], [`mod@copy`], [`merge`] and [`recover`] remain.
//!
//! - `load`: the module [`load`], which loads CSV and JSON files, and [`write::Write`]
//! - `arrow`: sources of Arrow IPC files, streams and record batches; includes `load`
//! - `parquet`: loads Parquet and Arrow files; includes `arrow`
//! - `avro`: loads Avro files; includes `parquet`
//! - `archives`: loads the files in ZIP and tar archives; includes `load`
//! - `expressions`: the functions `sha256`, `regexp`, `regexp_replace` and `regexp_extract` in expressions of loads and conditions of
//!   copies; includes `load`
//! - `spreadsheets`: loads sheets of workbooks: XLSX, XLSB, ODS and XLS; includes `load`
//! - `bzip2-xz`: loads files that are compressed with bzip2 or xz; includes `load`. gzip and zstd need no feature
//! - `dialects`: loads dumps of MySQL and PostgreSQL; includes `load`
//! - `postgres`, `mysql`: load databases of servers; include `dialects`. Off by default
//! - `serde`: structs as rows, by [`write::write_rows`]; includes `load`
//! - `tpch`: the module [`tpch`], the database of the TPC-H benchmark
//! - `blob-store`: the module [`blob_store`], blobs by key
//! - `entity-store`: the module [`entity_store`], typed objects
//! - `archive`: the module [`archive`], which packs a folder into a database and unpacks it; includes `blob-store`
//! - `cloud`: URLs (`s3://`, `gs://`, `az://`, `https://`) in the place of paths; see [`remote`]. Off by default
//! - `export`: the module [`export`], tables, queries and whole databases as files; with `parquet`, these may be Parquet and Arrow files;
//!   in [`copy`], copies for Datasette and D1
//!
//! # Existing databases
//!
//! New tables, rows after the last row, and indexes are written as pages into an existing database, too, with any build of SQLite: no
//! compile-time option or environment variable is needed. [`Plan`](plan::Plan) and [`Report`](report::Report) have the
//! [`WritePath`](options::WritePath) of each table, and the reason.
//!
//! A database in WAL mode whose WAL has pages needs a build with `SQLITE_ENABLE_DBPAGE_VTAB`: [`mod@copy`], [`check`], [`merge`] and
//! [`export`] read these pages through the virtual table `sqlite_dbpage`, and without it ask for a checkpoint (`PRAGMA
//! wal_checkpoint(TRUNCATE)`) first. To include the virtual table, set `LIBSQLITE3_FLAGS="-DSQLITE_ENABLE_DBPAGE_VTAB"` in the environment
//! of the build, or in `[env]` of a `.cargo/config.toml`.
//!
//! With `-DSQLITE_DEFAULT_MEMSTATUS=0` in the same variable, threads that evaluate expressions with texts do not wait for each other:
//! otherwise SQLite counts each allocation under a mutex of the process. An index on `lower(name)` then takes half of the time on two
//! cores.
//!
//! # Modules
//!
//! The modules, from the bottom up. Each module uses only modules above it in this list:
//!
//! * [`remote`]: URLs in the place of paths; `full_text`: full-text tables of loads and generated databases; `personal`: detection of
//!   personal columns; `expressions`: SQL expressions over one row; `references`: detection of undeclared references; `schema_text`:
//!   literals and comments in statements; `inserts`: rows as INSERT statements
//! * [`load`]: loads files into a database; [`write`](mod@write): writes rows of the caller
//! * [`generate`], [`tpch`]: test data
//! * [`profile`]: describes the data of a database as a schema for the generator
//! * [`index`]: creates indexes and full-text indexes in an existing database; [`tokenizers`]: tokenizers of the program for full-text
//!   indexes; [`check`]: verifies a database
//! * [`copy`]: copies a database, or some of its tables, to a new file without free pages
//! * [`merge`]: merges several databases into one
//! * [`recover`]: saves what is left of a damaged database
//! * [`archive`]: packs a folder into a database, and unpacks it
//! * [`export`]: writes tables, queries and whole databases to files; `read`: returns them as Arrow record batches
//! * `guides`: the Rust examples of README and documentation site, as tests
//!
//! The modules [`error`], [`options`], [`plan`], [`progress`], [`report`], [`schema`] and [`source`] have the types that all of them share.

#![deny(unsafe_code)]

pub use sqluice_core::{affinity, batch, checksum, error, progress, rows, schema, size};
#[doc(hidden)]
pub use sqluice_core::{given, setters, settings, splitmix, waits};
#[doc(hidden)]
pub use sqluice_engine::{encode, existing, insert, output, sort, trees};
pub use sqluice_engine::{options, plan, report};
#[doc(hidden)]
pub use sqluice_generator as r#gen;
#[cfg(feature = "load")]
pub use sqluice_sources::{convert, infer, input};
#[cfg(feature = "blob-store")]
pub use sqluice_stores::blob_store;
#[cfg(feature = "entity-store")]
pub use sqluice_stores::entity_store;

#[cfg(feature = "archive")]
pub mod archive;
pub mod check;
pub mod copy;
#[cfg(feature = "export")]
pub mod export;
mod expressions;
mod full_text;
pub mod generate;
#[cfg(doctest)]
mod guides;
pub mod index;
#[cfg(feature = "export")]
mod inserts;
#[cfg(feature = "load")]
pub mod load;
pub mod merge;
mod personal;
pub mod profile;
#[cfg(all(feature = "export", feature = "parquet"))]
pub mod read;
pub mod recover;
mod references;
pub mod remote;
mod schema_text;
pub mod tokenizers;
#[cfg(feature = "tpch")]
pub mod tpch;
pub mod write;

/// Sources of rows: the trait, and the sources that read files.
pub mod source {
    pub use sqluice_core::source::*;
    #[cfg(feature = "arrow")]
    pub use sqluice_sources::arrow;
    #[cfg(feature = "parquet")]
    pub use sqluice_sources::parquet;
    #[cfg(feature = "tpch")]
    pub use sqluice_sources::tpch;
    #[cfg(feature = "load")]
    pub use sqluice_sources::{csv, json};
}

/// Returns the version of the built-in SQLite.
pub fn sqlite_version() -> &'static str {
    rusqlite::version()
}
