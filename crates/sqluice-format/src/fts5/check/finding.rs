//! The faults that the check of a full-text index finds, and their messages.

use std::fmt;

use super::super::read::Damage;

/// A fault of a full-text index. Pages are leaves of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A row of `t_data` can't be parsed, or is missing.
    Damaged(Damage),
    /// A row of `t_data` belongs to no segment.
    Foreign {
        /// The `id` of the row.
        row: i64,
    },
    /// A page has no row in `t_idx`, so that a search doesn't find its terms.
    NoSplitKey {
        /// The number of the segment.
        segment: u16,
        /// The number of the page in the segment.
        page: u32,
    },
    /// The split key of a page, its row in `t_idx`, does not separate the terms of the page from those of the page before.
    SplitKey {
        /// The number of the segment.
        segment: u16,
        /// The number of the page in the segment.
        page: u32,
    },
    /// A row of `t_idx` names a page on which no term starts.
    StraySplitKey {
        /// The number of the segment.
        segment: u16,
        /// The number of the page in the segment.
        page: i64,
    },
    /// A term has a doclist index, or needs one, and its row in `t_idx` doesn't say so: a search reads pages that it could skip.
    Unmarked {
        /// The number of the segment.
        segment: u16,
        /// The number of the page with the term.
        page: u32,
    },
    /// The doclist index of a term is missing, or doesn't list the pages of its doclist.
    DoclistIndex {
        /// The number of the segment.
        segment: u16,
        /// The number of the page with the term.
        page: u32,
    },
    /// A term belongs to no index of the table.
    Index {
        /// The number of the segment.
        segment: u16,
        /// The number of the page with the term.
        page: u32,
    },
    /// A row has a term in a column that the table doesn't have. The caller finds it by [`Digest::add_stored`](super::Digest::add_stored),
    /// which reads the positions.
    Column {
        /// The rowid of the row.
        rowid: i64,
    },
}

impl Finding {
    /// Returns `true` if the fault changes no result of a search.
    pub fn is_harmless(&self) -> bool {
        matches!(self, Finding::Unmarked { .. } | Finding::Foreign { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Damaged(damage) => write!(f, "{damage}"),
            Finding::Foreign { row } => write!(f, "row {row} belongs to no segment"),
            Finding::NoSplitKey { segment, page } => {
                write!(f, "page {page} of segment {segment} has no split key: searches miss its terms")
            }
            Finding::SplitKey { segment, page } => {
                write!(f, "the split key of page {page} of segment {segment} is wrong: searches miss terms")
            }
            Finding::StraySplitKey { segment, page } => {
                write!(f, "a split key of segment {segment} is of page {page}, on which no term starts")
            }
            Finding::Unmarked { segment, page } => {
                write!(
                    f,
                    "the split key of page {page} of segment {segment} is not marked for a doclist index"
                )
            }
            Finding::DoclistIndex { segment, page } => {
                write!(f, "the doclist index of page {page} of segment {segment} does not list its pages")
            }
            Finding::Index { segment, page } => {
                write!(f, "a term on page {page} of segment {segment} is of no index of the table")
            }
            Finding::Column { rowid } => write!(f, "row {rowid} has a term in a column that does not exist"),
        }
    }
}
