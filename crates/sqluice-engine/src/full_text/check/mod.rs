//! Checks the index of a full-text table: its rows among themselves, and beside the text that it indexes.
//!
//! ```text
//!  t_data, t_idx ──> sqluice_format::fts5::check ──> findings
//!                       └──> entries ──> sums by rowid ──┐
//!  rows of the content ──all cores──> tokens ──> sums ───┴──> rows that differ
//!                       └──> sizes <──beside──> t_docsize ──> averages
//! ```
//!
//! Sums need no order, so nothing is sorted. If newer segments hide entries of older ones, the segments are read again, merged.
//!
//! * `rows`: the rows of the index, which SQLite reads; `texts`: the workers, which sum up texts

mod rows;
mod texts;

use std::sync::Mutex;

use rusqlite::{Connection, OptionalExtension};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Cancel, Progress};
use sqluice_format::fts5::check::{self, Checked, Declared, Digest, Entry, Finding, TermHash};
use sqluice_format::fts5::read::{
    Damage, MergedReader, MergedRow, Positions, ReadError, Structure, parse_averages, parse_docsize,
};
use sqluice_format::fts5::{AVERAGES_ID, Detail, index_byte};

use super::declaration::{Content, Declaration};
use super::query::{NotCollected, Query};
use super::shadow::Shadows;
use super::{TextIndex, tokenize_option};
use rows::ShadowRows;
use texts::{OfText, TextDigest};

/// The number of entries between two checks for cancellation.
const CHECKED: u64 = 1 << 16;

/// The largest number of rows that a finding names.
const NAMED_MAX: usize = 5;

/// The number of bytes of texts that wait for the workers.
const BATCH_BYTES: usize = 16 << 20;

/// The findings of a check.
#[derive(Clone, Debug, Default)]
pub struct TextFindings {
    /// The faults.
    pub problems: Vec<String>,
    /// The deviations that are no faults: they don't change which rows a search finds, or may be wanted, as in an index behind its content.
    pub remarks: Vec<String>,
    /// The reason why the index was not compared with the text, as a sentence.
    pub uncompared: Option<String>,
}

/// The check of a full-text table. The connection is in a read transaction.
pub struct TextCheck<'c> {
    /// The connection.
    pub connection: &'c Connection,
    /// The table.
    pub declaration: &'c Declaration,
    /// The number of worker threads.
    pub workers: usize,
    /// The cancellation.
    pub cancel: &'c Cancel,
    /// The progress.
    pub progress: &'c dyn Progress,
}

/// The reason why a part of the check did not end.
enum Stop {
    Sqlite(rusqlite::Error),
    Failed(Error),
    Damaged(Damage),
}

impl From<rusqlite::Error> for Stop {
    fn from(error: rusqlite::Error) -> Stop {
        Stop::Sqlite(error)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

impl From<ReadError<rusqlite::Error>> for Stop {
    fn from(error: ReadError<rusqlite::Error>) -> Stop {
        match error {
            ReadError::Stopped(error) => Stop::Sqlite(error),
            ReadError::Damaged(damage) => Stop::Damaged(damage),
        }
    }
}

/// The difference of the averages from the rows.
struct AveragesDiffer {
    what: String,
    /// `true` if the averages count rows or tokens that are not there, and all that are.
    counts_more: bool,
}

/// The sums of an index.
struct OfIndex {
    digest: Digest,
    /// The sums of the positions alone, without the terms. The sizes of rows, which are numbers of positions, are compared with them.
    places: Digest,
    /// The number of these positions.
    positions: u64,
    /// A row with a term in a column that the table doesn't have.
    beyond: Option<i64>,
}

impl OfIndex {
    fn new() -> OfIndex {
        OfIndex { digest: Digest::default(), places: Digest::default(), positions: 0, beyond: None }
    }
}

impl TextCheck<'_> {
    /// Runs the check. The inner error is that of SQLite, which can't read a row.
    ///
    /// # Errors
    /// If the check is cancelled, or a thread can't be started.
    pub fn run(&self) -> Result<rusqlite::Result<TextFindings>> {
        let mut found = TextFindings::default();
        match self.check(&mut found) {
            Ok(()) => {}
            Err(Stop::Damaged(damage)) => found.problems.push(damage.to_string()),
            Err(Stop::Sqlite(error)) => {
                self.cancel.check()?;
                return Ok(Err(error));
            }
            Err(Stop::Failed(error)) => return Err(error),
        }
        Ok(Ok(found))
    }

    fn index(&self) -> &TextIndex {
        &self.declaration.index
    }

    fn shadow(&self, suffix: &str) -> String {
        Shadows::new(self.connection, &self.declaration.name).table(suffix)
    }

    fn check(&self, found: &mut TextFindings) -> std::result::Result<(), Stop> {
        let name = &self.declaration.name;
        self.progress.phase(&format!("read index of {name}"), None);
        let index = self.index();
        let mut of_index = OfIndex::new();
        let mut rows = ShadowRows::new(self)?;
        let checked = self.entries(&mut rows, &mut |hash, entry| add(&mut of_index, hash, entry, index))?;
        let mut left = 0_u64;
        for finding in &checked.findings {
            match finding {
                // SQLite itself leaves such rows.
                Finding::Foreign { .. } => left += 1,
                finding if finding.is_harmless() => found.remarks.push(finding.to_string()),
                finding => found.problems.push(finding.to_string()),
            }
        }
        if left > 0 {
            found.remarks.push(match left {
                1 => "a row of the index belongs to no segment, and only takes space".to_owned(),
                _ => format!("{left} rows of the index belong to no segment, and only take space"),
            });
        }
        let (Some(structure), true) = (&checked.structure, checked.is_whole) else {
            found.uncompared = Some("its index is damaged".to_owned());
            return Ok(());
        };
        if checked.has_deleted {
            of_index = self.merged(structure, &mut rows)?;
        }
        drop(rows);
        found.problems.extend(of_index.beyond.map(|rowid| Finding::Column { rowid }.to_string()));
        self.compare(found, (&checked, of_index))
    }

    /// Calls `each` with each entry of all segments.
    fn entries(
        &self,
        rows: &mut ShadowRows<'_>,
        each: &mut dyn FnMut(TermHash, &Entry<'_>) -> std::result::Result<(), Damage>,
    ) -> std::result::Result<Checked, Stop> {
        let index = self.index();
        let declared = Declared {
            detail: index.detail,
            columns: index.columns,
            prefixes: index.prefixes.len(),
            is_edited: self.declaration.is_edited,
        };
        let (mut count, mut hash) = (0, TermHash::new(0, &[]));
        check::check::<_, Stop>(rows, &declared, &mut |entry| {
            count += 1;
            if count % CHECKED == 0 {
                self.cancel.check()?;
            }
            if entry.is_first {
                hash = hash_of(entry.term);
            }
            each(hash, entry).map_err(Stop::Damaged)
        })
    }

    /// Returns the sums of the entries that no newer segment hides.
    fn merged(&self, structure: &Structure, rows: &mut ShadowRows<'_>) -> std::result::Result<OfIndex, Stop> {
        let mut of_index = OfIndex::new();
        self.each_merged(structure, rows, &mut |hash, entry| add(&mut of_index, hash, entry, self.index()))?;
        Ok(of_index)
    }

    fn each_merged(
        &self,
        structure: &Structure,
        rows: &mut ShadowRows<'_>,
        each: &mut dyn FnMut(TermHash, &Entry<'_>) -> std::result::Result<(), Damage>,
    ) -> std::result::Result<(), Stop> {
        let mut merged = MergedReader::new(structure, self.index().detail, rows)?;
        let (mut count, mut last, mut hash) = (0_u64, Vec::new(), TermHash::new(0, &[]));
        while let Some(MergedRow { term, rowid, positions }) = merged.next(rows)? {
            count += 1;
            if count.is_multiple_of(CHECKED) {
                self.cancel.check()?;
            }
            let is_first = last != term;
            if is_first {
                last.clear();
                last.extend_from_slice(term);
                hash = hash_of(term);
            }
            each(hash, &Entry { term, rowid, positions, is_first }).map_err(Stop::Damaged)?;
        }
        Ok(())
    }

    /// Compares the index with the text, or with the sizes of rows if the table doesn't keep the text.
    fn compare(
        &self,
        found: &mut TextFindings,
        (checked, of_index): (&Checked, OfIndex),
    ) -> std::result::Result<(), Stop> {
        let name = &self.declaration.name;
        let Some(sql) = self.content_query() else {
            return self.compare_sizes(found, &of_index);
        };
        self.progress.phase(&format!("read texts of {name}"), None);
        let of_text = match self.texts(&sql, &Digest::default()) {
            Ok(of_text) => of_text,
            Err(NotCollected::Failed(error)) => return Err(error.into()),
            Err(NotCollected::Rowids) => {
                found.uncompared = Some("two rows of its content have one rowid".to_owned());
                return Ok(());
            }
            Err(NotCollected::Sqlite(error)) => {
                self.cancel.check()?;
                found.uncompared = Some(format!("its content can't be read: {error}"));
                return Ok(());
            }
        };
        let mut of_index = of_index;
        let mut differ = of_index.digest.differing_buckets(&of_text.digest);
        let structure = checked.structure.as_ref().filter(|structure| structure.segments().count() > 1);
        if let (Some(structure), true) = (structure, differ > 0 && !checked.has_deleted) {
            // Two segments may have an entry of the same row. Merged, the entry counts once.
            of_index = self.merged(structure, &mut ShadowRows::new(self)?)?;
            differ = of_index.digest.differing_buckets(&of_text.digest);
        }
        let is_own = self.declaration.content == Content::Own;
        let said = if is_own { &mut found.problems } else { &mut found.remarks };
        if let (Some(structure), true) = (&checked.structure, differ > 0) {
            let rows = self.rows_that_differ(&sql, structure, &of_index, &of_text)?;
            said.push(match is_own {
                true => format!("the index differs from the text of {}", named(&rows)),
                false => format!("the index differs from its content in {}: it is behind", named(&rows)),
            });
        }
        if self.index().keeps_sizes {
            let mut sizes = of_text.sizes;
            sizes.sort_unstable();
            let stored = self.count("docsize")?;
            if !sizes.is_empty() {
                said.push(format!("the stored sizes of {} are wrong", named(&sizes)));
            } else if stored != of_text.rows {
                said.push(format!("sizes of {stored} rows are stored, and there are {} rows", of_text.rows));
            }
        }
        if self.index().keeps_sizes && !is_own {
            let (rows, tokens, _) = self.stored_sizes(None)?;
            let differ = self.compare_averages(rows, &tokens)?;
            found.problems.extend(differ.map(|differ| differ.what));
            return Ok(());
        }
        let differ = self.compare_averages(of_text.rows, &of_text.tokens)?;
        said.extend(differ.map(|differ| differ.what));
        Ok(())
    }

    /// Compares the sizes of rows with the positions in the index, and with the averages.
    fn compare_sizes(&self, found: &mut TextFindings, of_index: &OfIndex) -> std::result::Result<(), Stop> {
        found.uncompared = Some("it does not keep its text".to_owned());
        if !self.index().keeps_sizes {
            return Ok(());
        }
        let has_places = self.index().detail == Detail::Full;
        let mut places = Digest::default();
        // More positions than the index has are wrong, and could take forever to add.
        let most = of_index.positions;
        let (rows, tokens, damage) = self.stored_sizes(has_places.then_some((&mut places, most)))?;
        found.problems.extend(damage.map(|damage| format!("the size of a row is damaged: {damage}")));
        let is_more = tokens.iter().fold(0, |sum: u64, tokens| sum.saturating_add(*tokens)) > most;
        // Synonyms at one position are several entries of the index, and count once in the size.
        let is_exact = tokenize_option::has_one_term_a_position(&self.index().tokenizer);
        let differs = || is_exact && places.differing_buckets(&of_index.places) > 0;
        if has_places && (is_more || differs()) {
            found.problems.push("the stored sizes of rows differ from the index".to_owned());
        }
        match self.compare_averages(rows, &tokens)? {
            // SQLite can delete rows without their texts only by tombstones.
            Some(AveragesDiffer { what, counts_more: true }) if self.declaration.has_tombstones => {
                found.remarks.push(format!("{what}: SQLite up to 3.49 goes on counting deleted rows"));
            }
            differ => found.problems.extend(differ.map(|differ| differ.what)),
        }
        Ok(())
    }

    /// Compares the averages with the number of rows and the totals of their tokens.
    fn compare_averages(
        &self,
        rows: u64,
        tokens: &[u64],
    ) -> std::result::Result<Option<AveragesDiffer>, Stop> {
        let sql = format!("SELECT block FROM {} WHERE id = {AVERAGES_ID}", self.shadow("data"));
        let block: Option<Vec<u8>> = self.connection.query_row(&sql, [], |row| row.get(0)).optional()?;
        Ok(match parse_averages(&block.unwrap_or_default(), self.index().columns) {
            Err(damage) => Some(AveragesDiffer {
                what: format!("the averages are damaged: {damage}"),
                counts_more: false,
            }),
            Ok((stored, of_columns)) if (stored, &of_columns[..]) != (rows, tokens) => Some(AveragesDiffer {
                what: format!(
                    "the averages, by which answers are ranked, are those of {stored} rows and {} tokens, not of {rows} and {}",
                    of_columns.iter().fold(0, |sum: u64, tokens| sum.saturating_add(*tokens)),
                    tokens.iter().sum::<u64>()
                ),
                counts_more: stored >= rows
                    && of_columns.iter().zip(tokens).all(|(stored, tokens)| stored >= tokens),
            }),
            Ok(_) => None,
        })
    }

    fn count(&self, suffix: &str) -> rusqlite::Result<u64> {
        let sql = format!("SELECT count(*) FROM {}", self.shadow(suffix));
        self.connection.query_row(&sql, [], |row| row.get::<_, i64>(0)).map(i64::cast_unsigned)
    }

    /// Returns the number of stored sizes, their sums by column, and the first damage. Adds a place for each token to `places`, at most the
    /// given number.
    fn stored_sizes(
        &self,
        mut places: Option<(&mut Digest, u64)>,
    ) -> std::result::Result<(u64, Vec<u64>, Option<Damage>), Stop> {
        let columns = self.index().columns;
        let mut query = self.connection.prepare(&format!("SELECT id, sz FROM {}", self.shadow("docsize")))?;
        let mut all = query.query([])?;
        let (mut rows, mut tokens, mut damaged) = (0_u64, vec![0; columns], None);
        while let Some(row) = all.next()? {
            rows += 1;
            if rows.is_multiple_of(CHECKED) {
                self.cancel.check()?;
            }
            let rowid: i64 = row.get(0)?;
            match parse_docsize(rowid, row.get_ref(1)?.as_bytes().unwrap_or_default(), columns) {
                Ok(size) => {
                    for (column, (sum, size)) in tokens.iter_mut().zip(size).enumerate() {
                        *sum = u64::saturating_add(*sum, size);
                        if let Some((places, left)) = &mut places {
                            for position in 0..size.min(*left) {
                                let place = place_hash().at(rowid, column as u32, position as u32);
                                places.add(rowid, place);
                            }
                            *left = left.saturating_sub(size);
                        }
                    }
                }
                Err(damage) => damaged = damaged.or(Some(damage)),
            }
        }
        Ok((rows, tokens, damaged))
    }

    /// Returns the query for the rowids, the indexed columns and the stored sizes of the content.
    fn content_query(&self) -> Option<String> {
        let sql = self.declaration.content_query()?;
        if !self.index().keeps_sizes {
            return Some(sql);
        }
        let sizes = self.shadow("docsize");
        let columns: String = (1..=self.declaration.indexed().len()).map(|n| format!(", x.c{n}")).collect();
        let names: String = (1..=self.declaration.indexed().len()).map(|n| format!(", c{n}")).collect();
        Some(format!(
            "WITH x(r{names}) AS ({sql}) SELECT x.r{columns}, (SELECT d.sz FROM {sizes} AS d WHERE d.id = x.r) FROM x"
        ))
    }

    /// Sums up the text of all rows.
    fn texts(&self, sql: &str, empty: &Digest) -> std::result::Result<OfText, NotCollected> {
        let columns = self.index().columns;
        let mut of_query = self.declaration.indexed();
        // The stored size comes as another column.
        of_query.extend(self.index().keeps_sizes.then_some(columns));
        let all = Mutex::new(OfText { digest: empty.clone(), tokens: vec![0; columns], ..OfText::default() });
        let query =
            Query { connection: self.connection, sql, columns: &of_query, rowids: (i64::MIN, i64::MAX) };
        let index = self.index();
        let sink = || TextDigest::new(index, empty, &all);
        query.collect(&sink, (self.workers, BATCH_BYTES), (self.cancel, self.progress))?;
        Ok(all.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Returns the rows in which the index differs from the text.
    fn rows_that_differ(
        &self,
        sql: &str,
        structure: &Structure,
        of_index: &OfIndex,
        of_text: &OfText,
    ) -> std::result::Result<Vec<i64>, Stop> {
        let mut index = of_index.digest.of_rows_that_differ(&of_text.digest);
        let empty = index.clone();
        let detail = self.index().detail;
        self.each_merged(structure, &mut ShadowRows::new(self)?, &mut |hash, entry| {
            index.add_stored(hash, entry, detail).map(drop)
        })?;
        match self.texts(sql, &empty) {
            Ok(text) => Ok(index.differing_rows(&text.digest)),
            Err(NotCollected::Failed(error)) => Err(error.into()),
            Err(NotCollected::Sqlite(error)) => Err(error.into()),
            Err(NotCollected::Rowids) => Ok(Vec::new()),
        }
    }
}

/// Returns the hash of a term with the byte of its index.
fn hash_of(term: &[u8]) -> TermHash {
    term.split_first().map_or(TermHash::new(0, &[]), |(index, token)| TermHash::new(*index, token))
}

/// Returns the hash by which places are summed without their terms.
fn place_hash() -> TermHash {
    TermHash::new(0, b"place")
}

/// Adds an entry to the sums of an index.
fn add(
    of_index: &mut OfIndex,
    hash: TermHash,
    entry: &Entry<'_>,
    index: &TextIndex,
) -> std::result::Result<(), Damage> {
    let detail = index.detail;
    let last = of_index.digest.add_stored(hash, entry, detail)?;
    if last as usize >= index.columns && of_index.beyond.is_none() {
        of_index.beyond = Some(entry.rowid);
    }
    if detail == Detail::Full && entry.term.first() == Some(&index_byte(0)) {
        for position in Positions::new(detail, 0, entry.positions) {
            let (column, position) = position?;
            of_index.places.add(entry.rowid, place_hash().at(entry.rowid, column, position));
            of_index.positions += 1;
        }
    }
    Ok(())
}

/// Names rows in a message, at most [`NAMED_MAX`].
fn named(rows: &[i64]) -> String {
    let names: Vec<String> = rows.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    match rows.len() - names.len() {
        0 if rows.len() == 1 => format!("row {}", names[0]),
        0 => format!("rows {}", names.join(", ")),
        more => format!("rows {} and {more} more", names.join(", ")),
    }
}
