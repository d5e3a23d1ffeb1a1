//! The plan and the report of a recovery.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;
use sqluice_core::size::grouped;
use sqluice_engine::phases::PhaseReport;

/// The rows that can be saved, which [`Recover::prepare`](super::Recover::prepare) finds.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct RecoverPlan {
    /// The damaged database.
    pub source: PathBuf,
    /// The new database.
    pub target: PathBuf,
    /// `true` if damage was found.
    pub damaged: bool,
    /// The number of rows that can be saved, with those of no table.
    pub rows: u64,
    /// The size of the damaged file.
    pub source_bytes: u64,
    /// The number of pages.
    pub pages: u32,
    /// The page size in bytes.
    pub page_bytes: usize,
    /// The text encoding.
    pub encoding: &'static str,
    /// `true` if the whole freelist was read. If not, rows that were found on pages of no tree may be deleted rows.
    pub freelist_whole: bool,
    /// The number of damaged pages: lost pages, pages with a fault, and pages of tables that have the bytes of another page.
    pub damaged_pages: u64,
    /// The tables.
    pub tables: Vec<SavedTable>,
    /// The rows that could not be assigned to a table, and the columns of lost rows that are in indexes.
    pub lost_and_found: Vec<FoundRows>,
    /// The lost pages of indexes, which are built anew.
    pub lost_index_pages: u64,
    /// The remarks: what was used, and what could not be made again.
    pub remarks: Vec<String>,
}

/// A table, and what is left of it.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct SavedTable {
    /// The name.
    pub name: String,
    /// The number of saved rows.
    pub rows: u64,
    /// The number of these rows on leaves that no tree names, and that belong to the table because their rowids fill a gap of its tree.
    pub by_gap: u64,
    /// The number of these rows for which nothing shows that they are rows of the table, except that it can have rows with this number of
    /// values, of these types.
    pub by_shape: u64,
    /// The number of rows whose key another row has; they are in the table `conflicts_` and the name.
    pub conflicts: u64,
    /// The number of rows that were found twice with the same values, and are kept once.
    pub repeated: u64,
    /// The number of rows that break a constraint; they are in the table `rejected_` and the name.
    pub rejected: u64,
    /// The number of foreign keys of saved rows that refer to no row. They are counted if damage was found, when the rows are written.
    pub orphans: u64,
    /// The number of rows that can't be read, although their leaf was found.
    pub lost_rows: u64,
    /// The number of lost pages.
    pub lost_page_count: u64,
    /// The first lost pages.
    pub lost_pages: Vec<LostPageReport>,
    /// The number of lost rows of which an index has columns.
    pub indexed_lost_rows: u64,
    /// The indexes that have columns of lost rows.
    pub witnesses: Vec<WitnessReport>,
}

/// An index that has columns of lost rows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct WitnessReport {
    /// The name of the index.
    pub index: String,
    /// The columns that the index has.
    pub columns: Vec<String>,
    /// The number of lost rows of which the index has these columns.
    pub rows: u64,
    /// The rowids of these rows, in order: the first twenty ranges without gaps.
    pub rowids: Vec<RowidRange>,
}

/// Rowids without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RowidRange {
    /// The first rowid.
    pub first: i64,
    /// The last rowid.
    pub last: i64,
}

/// A lost page of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LostPageReport {
    /// The page.
    pub page: u32,
    /// The reason why the page is lost, such as `all its bytes are zeros`.
    pub why: &'static str,
    /// The rowid after which the rowids of the page began, if it is known.
    pub after_rowid: Option<i64>,
    /// The largest rowid that the page could have, if it is known.
    pub last_rowid: Option<i64>,
}

/// The content of a `lost_and_found` table: rows that could not be assigned to a table and have the same number and kinds of values, or the
/// columns of a table's lost rows that are in indexes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FoundRows {
    /// The name of the table that has the rows.
    pub table: String,
    /// The number of rows.
    pub rows: u64,
    /// The number of columns.
    pub columns: usize,
    /// The table whose lost rows these are, if their columns come from indexes.
    pub of_table: Option<String>,
}

/// The report of a recovery: the plan, with the numbers of written rows.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct RecoverReport {
    /// The rows that were found and written.
    #[serde(flatten)]
    pub saved: RecoverPlan,
    /// The size of the new database.
    pub bytes: u64,
    /// The duration of the run in seconds.
    pub seconds: f64,
    /// The time of each phase, in order.
    pub phases: Vec<PhaseReport>,
}

impl fmt::Display for SavedTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} rows", self.name, grouped(self.rows))?;
        let parts = [
            (self.by_gap, "by their rowids"),
            (self.by_shape, "by shape"),
            (self.conflicts, "in conflict"),
            (self.repeated, "found twice"),
            (self.rejected, "rejected"),
            (self.orphans, "foreign keys without a row"),
            (self.lost_rows, "lost on damaged pages"),
        ];
        for (number, what) in parts.into_iter().filter(|(number, _)| *number > 0) {
            write!(f, ", {} {what}", grouped(number))?;
        }
        match self.lost_page_count {
            0 => Ok(()),
            1 => write!(f, ", 1 page lost"),
            pages => write!(f, ", {} pages lost", grouped(pages)),
        }
    }
}

impl fmt::Display for WitnessReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns = match self.columns.is_empty() {
            true => "the rowids".to_owned(),
            false => self.columns.join(", "),
        };
        write!(f, "index {} has {columns} of {} lost rows (rowids", self.index, grouped(self.rows))?;
        let mut rows = 0;
        for (at, RowidRange { first, last }) in self.rowids.iter().enumerate() {
            rows += last.abs_diff(*first) + 1;
            let before = if at == 0 { " " } else { ", " };
            match first == last {
                true => write!(f, "{before}{first}")?,
                false => write!(f, "{before}{first} to {last}")?,
            }
        }
        if rows < self.rows {
            write!(f, " and others")?;
        }
        write!(f, ")")
    }
}

impl fmt::Display for FoundRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = if self.rows == 1 { "row" } else { "rows" };
        match &self.of_table {
            None => write!(f, "{}: {} {rows} of no known table", self.table, grouped(self.rows)),
            Some(table) => {
                write!(f, "{}: columns of {} lost {rows} of {table}", self.table, grouped(self.rows))
            }
        }
    }
}

impl fmt::Display for LostPageReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "page {}: {}", self.page, self.why)?;
        match (self.after_rowid, self.last_rowid) {
            (None, None) => Ok(()),
            (Some(after), None) => write!(f, " (rowids after {after})"),
            (None, Some(last)) => write!(f, " (rowids up to {last})"),
            (Some(after), Some(last)) => write!(f, " (rowids after {after}, up to {last})"),
        }
    }
}

impl fmt::Display for RecoverPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.damaged { "is damaged" } else { "shows no damage" };
        writeln!(
            f,
            "{} {verdict}: {} pages of {} bytes, {} rows can be saved to {}",
            self.source.display(),
            grouped(u64::from(self.pages)),
            self.page_bytes,
            grouped(self.rows),
            self.target.display()
        )?;
        for table in &self.tables {
            writeln!(f, "  {table}")?;
            for page in &table.lost_pages {
                writeln!(f, "    {page}")?;
            }
            for witness in &table.witnesses {
                writeln!(f, "    {witness}")?;
            }
        }
        for found in &self.lost_and_found {
            writeln!(f, "  {found}")?;
        }
        self.remarks.iter().try_for_each(|remark| writeln!(f, "  {remark}"))
    }
}
