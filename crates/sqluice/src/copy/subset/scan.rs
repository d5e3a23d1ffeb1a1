//! Finds the rows that the condition and the sample of a table leave out, on all cores.
//!
//! ```text
//!  rows ──> columns that the conditions use ──> SQLite, one evaluator per thread ──> rows for which the condition is true
//!           columns of the key ───────────────> hash ─────────────────────────────> rows of the sample
//! ```
//!
//! For a sample of a given number of rows, the largest hash of the sample must be known first. Two passes over the rows find it: the
//! first counts hashes by their upper 16 bits (buckets), the second collects the hashes of the bucket with the limit, about one row in
//! 65,536.

use std::sync::Mutex;

use sqluice_core::affinity::Affinity;
use sqluice_core::batch::{Batch, Column};
use sqluice_core::error::{Error, Result, message};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::rows::{Cells, Evaluator, Fault, NamedColumn, Query, Rows};
use sqluice_core::schema::Table;
use sqluice_core::source::{BadText, Part, Refused, WithBadText, scan};
use sqluice_engine::plan::Memory;
use sqluice_reader::rows::{self, PART_BYTES, Selection};

use super::given::Condition;
use super::hash::KeyHash;
use super::keys::{KeyFile, RowKey};
use super::report::LeftOutRows;
use crate::copy::Opened;
use crate::copy::options::Sample;
use crate::expressions::row::{no_column, words};

/// The number of counters for the upper bits of hashes.
const BUCKETS: usize = 1 << 16;

/// The bound of the hashes in a sample.
#[derive(Clone, Copy)]
enum Limit {
    /// All rows are in the sample.
    None,
    /// Hashes below this number are in the sample.
    Below(u128),
}

/// A table whose rows are read, with its condition and sample.
struct Reading<'a> {
    opened: &'a Opened,
    condition: &'a Condition,
    table: &'a Table,
    key: RowKey,
    /// The columns to read, as their positions in the table. The position after the last column means the rowid.
    read: Vec<usize>,
    /// The indexes in `read` of the key's columns.
    key_places: Vec<usize>,
    /// The indexes in `read` of the columns whose hash decides about the sample.
    sample_places: Vec<usize>,
    /// The columns under the names that the conditions use, each with its index in `read`.
    named: Vec<(NamedColumn, usize)>,
    /// The conditions of the user, joined by AND; `None` without a condition.
    filter: Option<String>,
    threads: usize,
    context: &'a Context<'a>,
}

/// The prepared condition of a thread.
struct Judge {
    evaluator: Evaluator,
    kept: Query,
    nulls: Query,
}

/// Finds the rows that a condition leaves out, and adds their keys to `file`.
///
/// # Errors
/// If the table can't be read, or the condition fails for a row.
pub(super) fn leave_out(
    opened: &Opened,
    condition: &Condition,
    file: &KeyFile,
    context: &Context<'_>,
) -> Result<LeftOutRows> {
    let reading = Reading::new(opened, condition, context)?;
    let limit = reading.limit()?;
    let totals = Mutex::new(LeftOutRows { table: reading.table.name.clone(), ..LeftOutRows::default() });
    let look = |keys: &mut Vec<Cells>, batch: &Batch<'_>, kept: &[u32], nulls: u64| {
        let mut not_sampled = 0;
        let mut next = kept.iter().copied().peekable();
        for row in 0..batch.rows {
            let is_true = next.next_if_eq(&(row as u32)).is_some();
            if is_true && reading.is_in(limit, batch, row) {
                continue;
            }
            not_sampled += u64::from(is_true);
            for (cells, place) in keys.iter_mut().zip(&reading.key_places) {
                cells.push(batch.columns[*place].get(row));
            }
        }
        let mut totals = totals.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        totals.filtered += (batch.rows - kept.len()) as u64;
        totals.filtered_null += nulls;
        totals.not_sampled += not_sampled;
    };
    let none = || vec![Cells::default(); reading.key_places.len()];
    let after = |keys: &mut Vec<Cells>| {
        let rows = keys.first().map_or(0, Cells::len);
        file.insert(condition.table, &Rows::from_cells(rows, std::mem::replace(keys, none())))
    };
    reading.pass(none, look, after)?;
    let mut totals = totals.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    totals.rows = totals.filtered + totals.not_sampled;
    Ok(totals)
}

impl<'a> Reading<'a> {
    fn new(opened: &'a Opened, condition: &'a Condition, context: &'a Context<'a>) -> Result<Reading<'a>> {
        let table = &opened.schema.tables[condition.table];
        let key = RowKey::of(table)?;
        let sampled: Vec<usize> = match condition.sample {
            // The rowid is hashed, too, if the PRIMARY KEY has NULLs: SQLite allows several such rows.
            Some(_) => table.primary_key().into_iter().flatten().chain(key.columns.iter().copied()).collect(),
            None => Vec::new(),
        };
        let used = condition.filters.iter().flat_map(|filter| filter.uses.iter().map(|(_, column)| *column));
        let mut read: Vec<usize> = key.columns.iter().copied().chain(sampled.clone()).chain(used).collect();
        read.sort_unstable();
        read.dedup();
        let place = |column: &usize| read.iter().position(|read| read == column).unwrap_or_default();
        let mut named: Vec<(NamedColumn, usize)> = Vec::new();
        let connection = opened.snapshot.connection();
        for (name, column) in condition.filters.iter().flat_map(|filter| &filter.uses) {
            if named.iter().any(|(other, _)| other.name.eq_ignore_ascii_case(name)) {
                continue;
            }
            let of_table = table.columns.get(*column);
            let affinity = of_table.map_or(Affinity::Integer, |column| column.affinity);
            let about = of_table.and_then(|declared| {
                connection.column_metadata(Some("main"), &table.name, &declared.name).ok()
            });
            let collation =
                about.and_then(|(_, collation, ..)| Some(collation?.to_string_lossy().into_owned()));
            let collation = collation.unwrap_or_else(|| "BINARY".to_owned());
            named.push((NamedColumn { collation, ..NamedColumn::new(name, affinity) }, place(column)));
        }
        drop(connection);
        let filters: Vec<String> =
            condition.filters.iter().map(|filter| format!("({}\n)", filter.sql)).collect();
        Ok(Reading {
            opened,
            condition,
            table,
            key_places: key.columns.iter().map(place).collect(),
            sample_places: sampled.iter().map(place).collect(),
            key,
            named,
            filter: (!filters.is_empty()).then(|| filters.join(" AND ")),
            read,
            threads: Memory::divide(&opened.settled.copy.write, false)?.threads,
            context,
        })
    }

    /// Returns the bound of the hashes in the sample.
    fn limit(&self) -> Result<Limit> {
        let wanted = match self.condition.sample {
            None => return Ok(Limit::None),
            Some(Sample::Percent(percent)) => {
                // 2^128 does not fit into a `u128`, so 100 percent has no bound.
                let share = percent / 100.0 * 2f64.powi(128);
                return Ok(if percent >= 100.0 { Limit::None } else { Limit::Below(share as u128) });
            }
            Some(Sample::Rows(rows)) => rows,
        };
        let count = |counts: &mut Vec<u64>, batch: &Batch<'_>, kept: &[u32], _| {
            for row in kept {
                counts[(self.hash(batch, *row as usize) >> 112) as usize] += 1;
            }
        };
        let counts = self.pass(|| vec![0; BUCKETS], count, |_| Ok(()))?;
        let (mut before, mut bucket) = (0, 0);
        while bucket < BUCKETS {
            let of_bucket: u64 = counts.iter().map(|counts| counts[bucket]).sum();
            if before + of_bucket > wanted {
                break;
            }
            before += of_bucket;
            bucket += 1;
        }
        if bucket == BUCKETS {
            return Ok(Limit::None);
        }
        let collect = |hashes: &mut Vec<u128>, batch: &Batch<'_>, kept: &[u32], _| {
            let of_kept = kept.iter().map(|row| self.hash(batch, *row as usize));
            hashes.extend(of_kept.filter(|hash| (hash >> 112) as usize == bucket));
        };
        let hashes = self.pass(Vec::new, collect, |_| Ok(()))?;
        let mut hashes: Vec<u128> = hashes.into_iter().flatten().collect();
        hashes.sort_unstable();
        // This hash belongs to the first row that is not in the sample.
        Ok(hashes.get((wanted - before) as usize).map_or(Limit::None, |hash| Limit::Below(*hash)))
    }

    fn is_in(&self, limit: Limit, batch: &Batch<'_>, row: usize) -> bool {
        match limit {
            Limit::None => true,
            Limit::Below(limit) => self.hash(batch, row) < limit,
        }
    }

    /// Returns the hash of the key of a row. The rowid is added only if the PRIMARY KEY has a NULL, or does not exist.
    fn hash(&self, batch: &Batch<'_>, row: usize) -> u128 {
        use sqluice_core::batch::Value;
        let mut hash = KeyHash::new(self.opened.settled.copy.seed);
        let (of_key, of_row) = self.sample_places.split_at(self.sample_places.len() - self.key_places.len());
        let mut is_known = !of_key.is_empty();
        for place in of_key {
            let value = batch.columns[*place].get(row);
            is_known &= !matches!(value, Value::Null);
            hash.add(value);
        }
        if !is_known {
            of_row.iter().for_each(|place| hash.add(batch.columns[*place].get(row)));
        }
        hash.finish()
    }

    /// Reads all rows on all cores. `look` gets each batch, the positions of the rows for which the condition is true, and the number of
    /// rows for which it is NULL. `after` is called at the end of each part. Returns the state of each thread.
    fn pass<S: Send>(
        &self,
        begin: impl Fn() -> S + Sync,
        look: impl Fn(&mut S, &Batch<'_>, &[u32], u64) + Sync,
        after: impl Fn(&mut S) -> Result<()> + Sync,
    ) -> Result<Vec<S>> {
        let Opened { snapshot, schema, .. } = self.opened;
        let Context { progress, cancel, .. } = self.context;
        cancel.check()?;
        let names = self.read.iter().map(|column| match self.table.columns.get(*column) {
            Some(column) => column.name.clone(),
            None => self.key.names[0].clone(),
        });
        let selection = Selection::default().columns(names.collect::<Vec<_>>());
        let mut rows = rows::Rows::of_table(snapshot, schema, &self.table.name, &selection)?;
        if self.opened.settled.copy.mask.is_some() {
            rows = rows.with_secret_keys();
        }
        let mut source = rows.source(PART_BYTES, cancel)?;
        progress.phase(&format!("select {}", self.table.name), source.total());
        // A condition sees UTF-8 text with its stored bytes. Text in UTF-16 is converted, and malformed characters are replaced, as
        // SQLite does.
        let is_utf8 = snapshot.header().used_text_encoding() == 1;
        let bad_text = if is_utf8 { BadText::Keep } else { BadText::Replace };
        let work = |(judge, state): &mut (Option<Judge>, S), _: u64, part: &mut dyn Part| {
            if judge.is_none() {
                *judge = self.judge()?;
            }
            let mut rows = 0;
            let take = |batch: &Batch<'_>| -> Result<(), Refused> {
                rows += batch.rows as u64;
                let (kept, nulls) = self.judged(judge.as_ref(), batch)?;
                look(state, batch, &kept, nulls);
                Ok(())
            };
            part.decode(&mut WithBadText(bad_text, take))?;
            progress.advance(Amount { rows, bytes: part.input_bytes() });
            after(state)
        };
        let (states, end) = scan::scan(&mut *source, self.threads, cancel, || (None, begin()), work);
        cancel.check()?;
        end?;
        Ok(states.into_iter().map(|(_, state)| state).collect())
    }

    /// Prepares the condition for a thread.
    fn judge(&self) -> Result<Option<Judge>> {
        let (Some(filter), Some(functions)) = (&self.filter, &self.opened.conditions.functions) else {
            return Ok(None);
        };
        let cannot = |error: rusqlite::Error| {
            let message = format!("the condition on table {} can't be prepared", self.table.name);
            Error::usage(message).because(error)
        };
        let connection = functions.connect().map_err(cannot)?;
        let mut columns: Vec<NamedColumn> = self.named.iter().map(|(column, _)| column.clone()).collect();
        columns.push(no_column());
        let mut evaluator = Evaluator::new(connection, &columns).map_err(cannot)?;
        let nothing: &[&str] = &[];
        let kept = evaluator.query(nothing, Some(filter)).map_err(cannot)?;
        let nulls = evaluator.query(nothing, Some(&format!("({filter}) IS NULL"))).map_err(cannot)?;
        Ok(Some(Judge { evaluator, kept, nulls }))
    }

    /// Returns the positions in a batch of the rows for which the condition is true, and the number of rows for which it is NULL.
    fn judged(&self, judge: Option<&Judge>, batch: &Batch<'_>) -> Result<(Vec<u32>, u64)> {
        let Some(judge) = judge else { return Ok(((0..batch.rows as u32).collect(), 0)) };
        let columns = self.named.iter().map(|(_, place)| batch.columns[*place]).chain([Column::NULL]);
        let rows = Rows::from_batch(&Batch { rows: batch.rows, columns: columns.collect() })?;
        let (mut kept, mut nulls) = (Vec::new(), 0);
        let take = judge.evaluator.evaluate(&judge.kept, &rows, |row, _| {
            kept.push(row as u32);
            Ok(())
        });
        take.map_err(|fault| self.failed(batch, &fault))?;
        if kept.len() < batch.rows {
            let count = judge.evaluator.evaluate(&judge.nulls, &rows, |_, _| {
                nulls += 1;
                Ok(())
            });
            count.map_err(|fault| self.failed(batch, &fault))?;
        }
        Ok((kept, nulls))
    }

    /// Returns the error for a row on which the condition fails. In a masked copy, the error does not show the key of the row.
    fn failed(&self, batch: &Batch<'_>, fault: &Fault) -> Error {
        let given = match &self.condition.filters[..] {
            [only] => only.given.clone(),
            [first, ..] => {
                message![first.given.clone(), format!(" and other conditions on {}", self.table.name)]
            }
            [] => message![self.table.name.clone()],
        };
        let shown = fault.row.filter(|_| self.opened.settled.copy.mask.is_none()).map(|row| {
            let values = self.key.names.iter().zip(&self.key_places).map(|(name, place)| {
                format!("{name} {}", sqluice_core::batch::describe(&batch.columns[*place].get(row)))
            });
            format!(" (row with {})", values.collect::<Vec<_>>().join(", "))
        });
        let why = words(&fault.error);
        Error::input(message![given, format!(": {why}{}", shown.unwrap_or_default())])
            .hint("let the condition skip such rows, as by CASE WHEN")
    }
}
