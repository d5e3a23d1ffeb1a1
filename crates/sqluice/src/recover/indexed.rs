//! Finds lost rows of which entries of indexes are left: an entry has the rowid of its row, and the values of some columns. The report
//! lists the rowids, and on request a table `lost_and_found_N` gets the values.
//!
//! ```text
//!  index on t (name, born)    'Ada'    1815   rowid 41     lost_and_found_1    source_rowid | name | born | city
//!  index on t (city)          'London'        rowid 41                                   41 | Ada  | 1815 | London
//! ```

use sqluice_core::affinity::Affinity;
use sqluice_core::schema::Table;
use sqluice_format::check::spec;
use sqluice_reader::salvage::{Finding, Rowids, SoughtTree, Witness};

use super::layout::free_column;
use super::report::{RowidRange, WitnessReport};

/// The largest number of ranges of rowids that a report lists for each index.
const LISTED_MAX: usize = 20;

/// The lost rows of a table, and the indexes that have columns of them.
#[derive(Debug)]
pub(super) struct IndexedRows {
    /// The position of the table's tree among the sought trees.
    pub(super) table: usize,
    /// The columns that some index has, each with its declared type.
    pub(super) columns: Vec<(String, &'static str)>,
    /// The rowids of the lost rows.
    pub(super) rowids: Rowids,
    pub(super) indexes: Vec<IndexFields>,
}

/// An index that has columns of lost rows.
#[derive(Debug)]
pub(super) struct IndexFields {
    /// The position in [`Finding::witnesses`].
    pub(super) witness: usize,
    /// The description of the entries.
    pub(super) entries: spec::Table,
    /// For each field of an entry but the rowid, the index of its column in [`IndexedRows::columns`]; `None` if an earlier field of the
    /// index has the same column.
    pub(super) columns: Vec<Option<usize>>,
}

/// Returns, for each table, the lost rows of which indexes have entries. `table_of` returns a table by the position of its tree in `trees`.
pub(super) fn indexed_rows<'t>(
    finding: &Finding,
    trees: &[SoughtTree],
    table_of: impl Fn(usize) -> Option<&'t Table>,
) -> Vec<IndexedRows> {
    let mut all: Vec<IndexedRows> = Vec::new();
    for (number, witness) in finding.witnesses.iter().enumerate() {
        let (Some(entries), Some(table)) = (&trees[witness.index].entries, table_of(witness.table)) else {
            continue;
        };
        let at = all.iter().position(|rows| rows.table == witness.table).unwrap_or_else(|| {
            let (columns, indexes) = (Vec::new(), Vec::new());
            all.push(IndexedRows { table: witness.table, columns, rowids: Rowids::default(), indexes });
            all.len() - 1
        });
        let rows = &mut all[at];
        rows.rowids.add_all(&witness.rowids);
        let mut columns: Vec<Option<usize>> = Vec::new();
        // The last field is the rowid.
        let fields = entries.fields.split_last().map_or(&[][..], |(_, fields)| fields);
        for (field, name) in fields.iter().zip(column_names(entries)) {
            let is_name = |column: &str| column.eq_ignore_ascii_case(&name);
            let declared = table.columns.iter().find(|column| is_name(&column.name));
            // An expression gets a column of its own, because no column of the table has its values.
            let is_expression = field.name.is_empty();
            let known = rows.columns.iter().position(|(column, _)| is_name(column));
            let column = known.filter(|_| !is_expression).unwrap_or_else(|| {
                let declared = declared.map_or("", |column| declared_type(column.affinity));
                let taken = rows.columns.iter().map(|(column, _)| column.clone());
                let taken: Vec<String> = match is_expression {
                    true => taken.chain(table.columns.iter().map(|column| column.name.clone())).collect(),
                    false => taken.collect(),
                };
                rows.columns.push((free_column(&taken, &name), if is_expression { "" } else { declared }));
                rows.columns.len() - 1
            });
            columns.push(Some(column).filter(|column| !columns.contains(&Some(*column))));
        }
        rows.indexes.push(IndexFields { witness: number, entries: entries.clone(), columns });
    }
    all
}

/// Returns the declared type of a column with an affinity.
fn declared_type(affinity: Affinity) -> &'static str {
    match affinity {
        Affinity::Blob => "",
        Affinity::Text => "TEXT",
        Affinity::Numeric => "NUMERIC",
        Affinity::Integer => "INT",
        Affinity::Real => "REAL",
    }
}

/// Returns the names of an index's columns: those of the table, or the name of the index and a number for an expression.
fn column_names(entries: &spec::Table) -> Vec<String> {
    let Some((_, fields)) = entries.fields.split_last() else { return Vec::new() };
    let name = |(at, field): (usize, &spec::Field)| match field.name.is_empty() {
        true => format!("{}_{}", entries.name, at + 1),
        false => field.name.clone(),
    };
    fields.iter().enumerate().map(name).collect()
}

/// Returns the report on an index that has entries of lost rows.
pub(super) fn report_of(witness: &Witness, trees: &[SoughtTree]) -> WitnessReport {
    let tree = &trees[witness.index];
    let range = |(first, last): (i64, i64)| RowidRange { first, last };
    WitnessReport {
        index: tree.name.clone(),
        columns: tree.entries.as_ref().map_or_else(Vec::new, column_names),
        rows: witness.rowids.count(),
        rowids: witness.rowids.ranges().take(LISTED_MAX).map(range).collect(),
    }
}
