//! Reads a table once, on all cores, and returns counts, sketches and a sample of its values.
//!
//! ```text
//!  parts of the table ──> threads: sketches of the columns, a sample of the rows ──> merged ──> TableFacts
//! ```
//!
//! The numbers of NULLs, of each kind of value and of equal values, and the smallest and the largest integer, come from all rows.
//! Everything else is derived from the sample.

use sqluice_core::batch::{Batch, Column, Value, Values};
use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Context};
use sqluice_core::source::{BadText, Part, Refused, WithBadText, scan};
use sqluice_reader::rows::{PART_BYTES, Rows};

use super::lineage::Lineage;
use super::sample::Sample;
use super::sketch::{Counts, hash_bytes, hash_int, hash_pair, hash_real};

/// The counts and the sample of a table.
#[derive(Clone, Debug)]
pub(super) struct TableFacts {
    pub(super) rows: u64,
    pub(super) columns: Vec<ColumnFacts>,
    /// The counts of equal values in each requested group of columns, without rows that have a NULL.
    pub(super) groups: Vec<Counts>,
    pub(super) sample: Sample,
    /// The trees of each reference of the table to itself, in the order of all references; `None` for the other references.
    pub(super) lineages: Vec<Option<Lineage>>,
}

/// The counts and bounds of a column's values.
#[derive(Clone, Debug)]
pub(super) struct ColumnFacts {
    pub(super) ints: u64,
    pub(super) reals: u64,
    pub(super) texts: u64,
    pub(super) blobs: u64,
    /// The smallest and the largest integer.
    pub(super) bounds: (i64, i64),
    /// The counts of equal values; `None` if a key of the schema makes all values different.
    pub(super) counts: Option<Counts>,
}

impl ColumnFacts {
    fn new(is_counted: bool) -> ColumnFacts {
        let counts = is_counted.then(Counts::new);
        ColumnFacts { ints: 0, reals: 0, texts: 0, blobs: 0, bounds: (i64::MAX, i64::MIN), counts }
    }

    /// Returns the number of values that are not NULL.
    pub(super) fn values(&self) -> u64 {
        self.ints + self.reals + self.texts + self.blobs
    }

    /// Returns the number of different values.
    pub(super) fn different(&self) -> f64 {
        let values = self.values() as f64;
        self.counts.as_ref().map_or(values, |counts| counts.different().min(values))
    }

    /// Adds the values of some rows. `hashes` is a buffer for their hashes.
    fn add(&mut self, column: &Column<'_>, rows: usize, hashes: &mut Vec<u64>) {
        hashes.clear();
        match (&column.values, column.validity) {
            (Values::Int(ints), None) => {
                self.ints += rows as u64;
                let (mut least, mut most) = self.bounds;
                for int in &ints[..rows] {
                    (least, most) = (least.min(*int), most.max(*int));
                }
                self.bounds = (least, most);
                if self.counts.is_some() {
                    hashes.extend(ints[..rows].iter().map(|int| hash_int(*int)));
                    self.count(hashes);
                }
            }
            (Values::Text(bytes), None) => {
                self.texts += rows as u64;
                if self.counts.is_some() {
                    hashes.extend((0..rows).map(|row| hash_bytes(bytes.get(row), 0)));
                    self.count(hashes);
                }
            }
            _ => (0..rows).for_each(|row| self.add_value(column.get(row))),
        }
    }

    fn count(&mut self, hashes: &[u64]) {
        if let Some(counts) = &mut self.counts {
            hashes.iter().for_each(|hash| counts.add(*hash));
        }
    }

    fn add_value(&mut self, value: Value<'_>) {
        let Some(hash) = hash_of(value) else { return };
        match value {
            Value::Null => {}
            Value::Int(int) => {
                self.ints += 1;
                self.bounds = (self.bounds.0.min(int), self.bounds.1.max(int));
            }
            Value::Real(_) => self.reals += 1,
            Value::Text(_) => self.texts += 1,
            Value::Blob(_) => self.blobs += 1,
        }
        if let Some(counts) = &mut self.counts {
            counts.add(hash);
        }
    }

    fn merge(&mut self, other: &ColumnFacts) {
        self.ints += other.ints;
        self.reals += other.reals;
        self.texts += other.texts;
        self.blobs += other.blobs;
        self.bounds = (self.bounds.0.min(other.bounds.0), self.bounds.1.max(other.bounds.1));
        if let (Some(counts), Some(others)) = (&mut self.counts, &other.counts) {
            counts.merge(others);
        }
    }
}

/// Returns the hash of a value, or `None` for NULL.
fn hash_of(value: Value<'_>) -> Option<u64> {
    match value {
        Value::Null => None,
        Value::Int(int) => Some(hash_int(int)),
        Value::Real(real) => Some(hash_real(real)),
        Value::Text(text) => Some(hash_bytes(text, 0)),
        Value::Blob(blob) => Some(hash_bytes(blob, 1)),
    }
}

/// The columns and groups of columns whose equal values a scan counts.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// `true` for each column whose values may repeat, so that they are counted.
    pub(super) is_counted: Vec<bool>,
    /// The groups of columns whose values are counted together.
    pub(super) groups: Vec<Vec<usize>>,
}

impl TableFacts {
    pub(super) fn new(wanted: &Wanted) -> TableFacts {
        TableFacts {
            rows: 0,
            columns: wanted.is_counted.iter().map(|is_counted| ColumnFacts::new(*is_counted)).collect(),
            groups: vec![Counts::new(); wanted.groups.len()],
            sample: Sample::new(wanted.is_counted.len()),
            lineages: Vec::new(),
        }
    }

    fn add(&mut self, batch: &Batch<'_>, wanted: &Wanted, part: u32, first: u32, hashes: &mut Vec<u64>) {
        self.rows += batch.rows as u64;
        for (facts, column) in self.columns.iter_mut().zip(&batch.columns) {
            facts.add(column, batch.rows, hashes);
        }
        for (group, counts) in wanted.groups.iter().zip(&mut self.groups) {
            for row in 0..batch.rows {
                let hashes = group.iter().map(|column| hash_of(batch.columns[*column].get(row)));
                let all = hashes.reduce(|all, hash| Some(hash_pair(all?, hash?))).flatten();
                all.into_iter().for_each(|hash| counts.add(hash));
            }
        }
        self.sample.add(batch, part, first);
    }

    fn merge(&mut self, other: TableFacts) {
        self.rows += other.rows;
        for (facts, others) in self.columns.iter_mut().zip(&other.columns) {
            facts.merge(others);
        }
        for (counts, others) in self.groups.iter_mut().zip(&other.groups) {
            counts.merge(others);
        }
        self.sample.merge(other.sample);
    }
}

/// Reads all rows.
///
/// # Errors
/// If the table can't be read, or the run is cancelled.
pub(super) fn scan(
    rows: &Rows,
    wanted: &Wanted,
    threads: usize,
    context: &Context<'_>,
) -> Result<TableFacts> {
    let mut source = rows.source(PART_BYTES, &context.cancel)?;
    context.progress.phase(&format!("profile {}", rows.name()), source.total());
    let begin = || (TableFacts::new(wanted), Vec::new());
    let look = |(facts, hashes): &mut (TableFacts, Vec<u64>), number: u64, part: &mut dyn Part| {
        let before = facts.rows;
        let take = |batch: &Batch<'_>| -> std::result::Result<(), Refused> {
            facts.add(batch, wanted, number as u32, (facts.rows - before) as u32, hashes);
            Ok(())
        };
        part.decode(&mut WithBadText(BadText::Replace, take))?;
        context.progress.advance(Amount { rows: facts.rows - before, bytes: part.input_bytes() });
        Ok(())
    };
    let (all, read) = scan::scan(&mut *source, threads, &context.cancel, begin, look);
    read?;
    let mut facts = TableFacts::new(wanted);
    all.into_iter().for_each(|(some, _)| facts.merge(some));
    facts.sample.sort();
    Ok(facts)
}
