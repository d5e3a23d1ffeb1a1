//! Searches all rows of the columns without a mask for personal data, and for texts that also stand in masked columns.
//!
//! ```text
//!  masked columns ──── distinct texts ──> KnownTexts ─┐
//!                                                     ├──> findings: column, kind, number of values          on all cores
//!  other columns ──── texts, JSON, blobs ─────────────┘
//! ```
//!
//! Invariant: a finding contains no value, and is the same for any number of threads.
//!
//! Modules, from the bottom up: `masked_texts`: the texts of masked columns; `inside`: values inside JSON and blobs; `column`: the findings
//! in one column; `pairs`: tables of keys and values.

mod column;
mod inside;
mod masked_texts;
mod pairs;

use sqluice_core::affinity::Affinity;
use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::Result;
use sqluice_core::progress::{Amount, Context};
use sqluice_core::schema::{Generated, Table};
use sqluice_core::source::{BadRow, BadText, Part, Refused, Sink, scan};
use sqluice_engine::plan::Memory;
use sqluice_reader::rows::{PART_BYTES, Rows, Selection};

use super::columns::{Masks, TableMasks, column_names};
use super::report::Remark;
use crate::copy::Opened;
use column::{ColumnFindings, Keys};
use masked_texts::{KnownTexts, MaskedTexts, hash_of};

/// A search of the columns without a mask.
pub(super) struct Search<'a> {
    opened: &'a Opened,
    threads: usize,
    texts: KnownTexts,
    /// The names of the masked columns. The texts in `texts` refer to their column by its index in this list.
    masked: Vec<String>,
    is_strict: bool,
    context: &'a Context<'a>,
}

/// The findings in a column.
pub(super) struct Findings {
    /// The number of values that are not NULL.
    pub(super) values: u64,
    pub(super) has_blobs: bool,
    pub(super) has_json: bool,
    /// The kinds of personal data that values show, each with the number of values.
    pub(super) kinds: Vec<(&'static str, u64)>,
    /// The kinds of personal data that keys of values suggest, each with the number of values.
    pub(super) keyed: Vec<(&'static str, u64)>,
    /// The masked columns that share values with the column, each with the number of shared values.
    pub(super) places: Vec<(String, u64)>,
}

impl<'a> Search<'a> {
    /// Reads the texts of the masked columns.
    ///
    /// # Errors
    /// If the run is cancelled, the memory is too small, or a strict copy can't read a table.
    pub(super) fn new(
        opened: &'a Opened,
        masks: &Masks,
        is_strict: bool,
        context: &'a Context<'a>,
    ) -> Result<Search<'a>> {
        let write = &opened.settled.copy.write;
        let threads = Memory::divide(write, false)?.threads;
        let (texts, masked) = (MaskedTexts::new(write.memory_bytes / 4 * 3), Vec::new());
        let nothing = MaskedTexts::new(0).finish();
        let mut search = Search { opened, threads, texts: nothing, masked, is_strict, context };
        for (&number, of_table) in &masks.tables {
            let table = &opened.schema.tables[number];
            let names = table.columns.iter().map(|column| column.name.clone()).collect();
            search.collect(of_table, names, |column| may_have_texts(table, column), &texts)?;
        }
        for of_table in masks.virtual_tables.values() {
            let names = column_names(&opened.snapshot.connection(), &of_table.table);
            search.collect(of_table, names, |_| true, &texts)?;
        }
        search.texts = texts.finish();
        Ok(search)
    }

    /// Adds the texts of a table's masked columns.
    fn collect(
        &mut self,
        masks: &TableMasks,
        names: Vec<String>,
        may_have_texts: impl Fn(usize) -> bool,
        texts: &MaskedTexts,
    ) -> Result<()> {
        let first = self.masked.len();
        let wanted: Vec<String> = (names.into_iter().enumerate())
            .filter(|(column, _)| masks.has(*column) && may_have_texts(*column))
            .map(|(_, name)| name)
            .collect();
        self.masked.extend(wanted.iter().map(|name| format!("{}.{name}", masks.table)));
        let numbers: Vec<u16> =
            (first..self.masked.len()).map(|number| u16::try_from(number).unwrap_or(u16::MAX)).collect();
        let begin = || vec![0_u64; numbers.len()];
        let take = |last: &mut Vec<u64>, batch: &Batch<'_>| {
            for ((column, &number), last) in batch.columns.iter().zip(&numbers).zip(last) {
                let hash = |row: usize| match column.get(row) {
                    Value::Text(text) => hash_of(text),
                    _ => None,
                };
                for hash in (0..batch.rows).filter_map(hash) {
                    // Equal values are often neighbours: add each run of them once.
                    if std::mem::replace(last, hash) != hash {
                        texts.add(hash, number);
                    }
                }
            }
        };
        self.read(&masks.table, wanted, begin, take).map(drop)
    }

    /// Searches the columns `wanted` of a table. `others` are the other columns, in which the keys of values may be. Returns the findings
    /// in each column of `wanted`, in order.
    ///
    /// # Errors
    /// If the run is cancelled, or a strict copy can't read the table.
    pub(super) fn table(&self, table: &str, wanted: &[String], others: &[String]) -> Result<Vec<Findings>> {
        let declared = self.opened.schema.table(table);
        let is_virtual = |name: &&String| {
            let column = declared.and_then(|table| Some(&table.columns[table.column(name)?]));
            column.is_some_and(|column| column.generated == Some(Generated::Virtual))
        };
        // Only SQLite can read columns that it computes; all cores read the others.
        let (computed, stored): (Vec<&String>, Vec<&String>) = wanted.iter().partition(is_virtual);
        let mut findings: Vec<(&String, Findings)> = Vec::new();
        for group in [stored, computed] {
            let names: Vec<String> = group.iter().map(|name| (*name).clone()).collect();
            findings.extend(group.into_iter().zip(self.columns(table, &names, others)?));
        }
        findings.sort_by_key(|(name, _)| wanted.iter().position(|wanted| wanted == *name));
        Ok(findings.into_iter().map(|(_, findings)| findings).collect())
    }

    fn columns(&self, table: &str, wanted: &[String], others: &[String]) -> Result<Vec<Findings>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let begin = || {
            let findings = |_| ColumnFindings::new(wanted.len());
            let columns: Vec<ColumnFindings> = wanted.iter().map(findings).collect();
            (columns, Keys::default())
        };
        let keys = others.iter().filter(|name| pairs::has_keys(name));
        let read: Vec<String> = wanted.iter().chain(keys).cloned().collect();
        let mut pairs = pairs::pairs(&read);
        pairs.retain(|(_, value)| *value < wanted.len());
        let take = |(columns, keys): &mut (Vec<ColumnFindings>, Keys), batch: &Batch<'_>| {
            for (findings, column) in columns.iter_mut().zip(&batch.columns) {
                findings.add(column, batch.rows, &self.texts);
            }
            for &(key, value) in &pairs {
                let kinds = pairs::kinds(&batch.columns[key], &batch.columns[value], batch.rows, keys);
                kinds.for_each(|kind| columns[value].count_key(kind));
            }
        };
        let threads = self.read(table, read, begin, take)?;
        let merged = threads.into_iter().map(|(columns, _)| columns).reduce(|mut all, columns| {
            all.iter_mut().zip(columns).for_each(|(all, column)| all.merge(column));
            all
        });
        Ok(merged.unwrap_or_default().into_iter().map(|column| self.findings(column)).collect())
    }

    fn findings(&self, column: ColumnFindings) -> Findings {
        let name = |(masked, count): (u16, u64)| Some((self.masked.get(usize::from(masked))?.clone(), count));
        Findings {
            values: column.values,
            has_blobs: column.blobs > 0,
            has_json: column.json > 0,
            kinds: column.kinds(),
            keyed: column.keyed.into_iter().collect(),
            places: column.places.into_iter().filter_map(name).collect(),
        }
    }

    /// Returns the remark that only a sample of the masked texts was searched for; `None` if all were.
    pub(super) fn sample_remark(&self) -> Option<Remark> {
        let one_of = self.texts.one_of;
        let what = format!(
            "the masked columns have too many different texts to look for all of them in other columns: one of {one_of} was looked for"
        );
        (one_of > 1).then(|| Remark::new("masked texts", what))
    }

    /// Reads columns of a table on all cores. Returns the state of each thread.
    fn read<S: Send>(
        &self,
        table: &str,
        wanted: Vec<String>,
        begin: impl Fn() -> S + Sync,
        take: impl Fn(&mut S, &Batch<'_>) + Sync,
    ) -> Result<Vec<S>> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let Opened { snapshot, schema, .. } = self.opened;
        let Context { progress, cancel, .. } = self.context;
        cancel.check()?;
        let is_utf8 = snapshot.header().used_text_encoding() == 1;
        let bad_text = if is_utf8 { BadText::Keep } else { BadText::Replace };
        let read = || -> Result<(Vec<S>, Result<()>)> {
            let rows = Rows::of_table(snapshot, schema, table, &Selection::default().columns(wanted))?;
            let mut source = rows.with_secret_keys().source(PART_BYTES, cancel)?;
            progress.phase(&format!("search {table}"), source.total());
            let look = |state: &mut S, _: u64, part: &mut dyn Part| {
                let mut rows = 0;
                let take = |batch: &Batch<'_>| {
                    rows += batch.rows as u64;
                    take(state, batch);
                };
                part.decode(&mut Lenient { bad_text, take })?;
                progress.advance(Amount { rows, bytes: part.input_bytes() });
                Ok(())
            };
            Ok(scan::scan(&mut *source, self.threads, cancel, &begin, look))
        };
        let (states, end) = match read() {
            Ok(read) => read,
            Err(error) => (vec![begin()], Err(error)),
        };
        cancel.check()?;
        match end {
            Err(error) if self.is_strict => Err(error),
            // Without `strict`, a damaged page ends the search without an error: the copy reads the page, too, and reports it.
            _ => Ok(states),
        }
    }
}

/// Returns `false` if SQLite stores only numbers in a column.
fn may_have_texts(table: &Table, column: usize) -> bool {
    let affinity = table.columns[column].affinity;
    let is_number = matches!(affinity, Affinity::Integer | Affinity::Real);
    table.rowid_alias != Some(column) && !(table.strict && is_number)
}

/// A sink that takes all rows, also with malformed text, and skips rows that can't be read.
struct Lenient<F> {
    bad_text: BadText,
    take: F,
}

impl<F: FnMut(&Batch<'_>)> Sink for Lenient<F> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        (self.take)(batch);
        Ok(())
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        Ok(())
    }

    fn bad_text(&mut self, _: usize) -> BadText {
        self.bad_text
    }
}
