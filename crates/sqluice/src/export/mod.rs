//! `export`: writes tables, views and queries to CSV, TSV, JSON, Parquet and Arrow files, and databases to files of SQL.
//!
//! ```text
//!  one committed state ──> rows of a table ──> parts on all cores: read, encode, compress ──> in order ──> .NAME.sqluice-tmp
//!                                                                                                          fsync, rename
//! ```
//!
//! Invariant: all files have the same committed state of the database. Each file is complete when it appears. If an export fails, no file
//! appears, except for a damaged database: the files of its readable tables do.
//!
//! Invariant: the bytes of the files depend on the database and the options, not on threads.
//!
//! Modules, from the bottom up: `options`: the options; `dump`: a database as SQL statements; `plan`: the rows and columns of each file;
//! `out`: a file or standard output; `report`: the report; `typed`: the types of columns; `run`: the run.

mod dump;
mod options;
mod out;
mod plan;
mod report;
mod run;
#[cfg(feature = "parquet")]
pub(crate) mod typed;

#[cfg(feature = "parquet")]
pub(crate) use options::given_mixed;
pub use options::{Export, Target};
pub use plan::{ExportPlan, PlannedFile};
pub use report::{DumpedTable, ExportReport, ExportedFile};
pub use run::PreparedExport;
pub use sqluice_reader::snapshot::ReadOptions;
pub use sqluice_writers::formats::{self, OutputFormat};
pub use sqluice_writers::unfit::Mixed;
