//! `export`: tables, views and queries as files of CSV, TSV, JSON, Parquet and Arrow.
//!
//! ```text
//!  one committed state ──> rows of a table ──> parts on all cores: read, encode, compress ──> in order ──> .NAME.sqluice-tmp
//!                                                                                                          fsync, rename
//! ```
//!
//! Invariant: all files are of one committed state of the database, and appear complete or not at all. Of a damaged database those appear
//! whose tables can be read.
//!
//! Invariant: the bytes depend on the database and the options, not on threads.
//!
//! Modules, from the bottom up: `options`: what is asked for; `plan`: what that means for this database; `out`, `report`: where
//! bytes go, and what went there; `typed`: the types of columns; `run`.

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
pub use report::{ExportReport, ExportedFile};
pub use run::PreparedExport;
pub use sqluice_reader::snapshot::ReadOptions;
pub use sqluice_writers::formats::{self, OutputFormat};
pub use sqluice_writers::unfit::Mixed;
