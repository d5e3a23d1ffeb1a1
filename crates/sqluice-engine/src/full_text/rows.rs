//! A worker that takes rows in ascending order, and pushes their doclists and sizes to the sorters.

use sqluice_core::error::{Error, Result};
use sqluice_core::sqlite_error::failed;
use sqluice_format::fts5::{Doclist, DoclistBuilder, push_docsize};

use super::cell::{each_token, term_bytes};
use super::dictionary::{Dictionary, Key};
use super::occurrences::{self, Occurrence};
use super::query::TextSink;
use super::tokenizer::{NoTokenizer, Tokenizer};
use super::{Collector, TextIndex, Totals, item};
use crate::sort::{Buffer, Item};

/// The number of tokens that are looked up at once: their slots fit into the first-level cache.
const LOOKED_UP: usize = 256;

/// The number of bytes from which a doclist is given to the sorter in several items.
const DOCLIST_BYTES: usize = 64 << 10;

/// The limits of the memory of a worker.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// The number of occurrences from which a run ends.
    pub(super) occurrences: usize,
    /// The size in bytes of a dictionary that is given up.
    pub(super) dictionary_bytes: usize,
}

/// A worker that indexes rows.
pub(crate) struct RowIndexer<'c> {
    collector: &'c Collector<'c>,
    tokenizer: Tokenizer,
    terms: Terms,
    /// The rowids of the rows of the run.
    rowids: Vec<i64>,
    /// The number of tokens of each column of the current row.
    sizes: Vec<u32>,
    size: Vec<u8>,
    totals: Totals,
    doclists: Buffer<'c>,
    docsizes: Option<Buffer<'c>>,
    /// The entries of the doclist that is being built.
    entries: Vec<u8>,
    scratch: Vec<Occurrence>,
}

/// The tokens of a run, as occurrences of terms.
struct Terms {
    prefixes: Vec<usize>,
    dictionary: Dictionary,
    occurrences: Vec<Occurrence>,
    waiting: Waiting,
}

/// Tokens of one cell that wait to be looked up.
#[derive(Default)]
struct Waiting {
    bytes: Vec<u8>,
    /// The end of each token in `bytes`, and its position.
    tokens: Vec<(u32, u32)>,
    /// The terms of the index that is looked up: the start and length in `bytes`, and the position.
    terms: Vec<(u32, u32, u32)>,
    keys: Vec<Key>,
}

impl<'c> RowIndexer<'c> {
    /// Creates a worker.
    ///
    /// # Errors
    /// If SQLite has no such tokenizer.
    pub(super) fn new(collector: &'c Collector<'c>) -> Result<RowIndexer<'c>> {
        let TextIndex { columns, prefixes, tokenizer, .. } = collector.index;
        let tokenizer = Tokenizer::new(tokenizer).map_err(|error| no_tokenizer(&tokenizer[0], error))?;
        // A vector that grows by itself would take up to twice its content. Memory that is never written takes no space.
        let room = collector.limits.occurrences + collector.limits.occurrences / 8;
        Ok(RowIndexer {
            collector,
            tokenizer,
            terms: Terms {
                prefixes: prefixes.clone(),
                dictionary: Dictionary::new(prefixes.len()),
                occurrences: Vec::with_capacity(room),
                waiting: Waiting::default(),
            },
            rowids: Vec::new(),
            sizes: vec![0; *columns],
            size: Vec::new(),
            totals: Totals { rows: 0, tokens: vec![0; *columns] },
            doclists: collector.doclists.buffer(),
            docsizes: collector.docsizes.as_ref().map(|sorter| sorter.buffer()),
            entries: Vec::new(),
            scratch: Vec::new(),
        })
    }

    /// Begins a row. Its rowid is greater than those of the rows before, except after [`RowIndexer::end_part`].
    pub(crate) fn begin_row(&mut self, rowid: i64) {
        self.rowids.push(rowid);
        self.sizes.fill(0);
    }

    /// Takes the text of a column of the row. Columns come in ascending order. NULL has no text, which differs from an empty text for some
    /// tokenizers.
    ///
    /// # Errors
    /// If the tokenizer fails.
    pub(crate) fn text(&mut self, column: usize, text: &[u8]) -> Result<()> {
        let columns = self.sizes.len();
        let cell = ((self.rowids.len() - 1) * columns + column) as u32;
        let terms = &mut self.terms;
        let size =
            each_token(&mut self.tokenizer, text, |token, position| terms.token(token, cell, position))?;
        terms.look_up(cell);
        self.sizes[column] = size;
        self.totals.tokens[column] += u64::from(size);
        Ok(())
    }

    /// Ends a row, and the run if the memory is used up.
    ///
    /// # Errors
    /// If temporary space runs out.
    pub(crate) fn end_row(&mut self) -> Result<()> {
        self.totals.rows += 1;
        if let (Some(docsizes), Some(&rowid)) = (&mut self.docsizes, self.rowids.last()) {
            self.size.clear();
            push_docsize(&mut self.size, &self.sizes);
            docsizes.push(Item { rowid, number: 0, record: &self.size })?;
        }
        let Limits { occurrences, dictionary_bytes } = self.collector.limits;
        let is_full = self.terms.dictionary.is_full(dictionary_bytes);
        // The cells of a run are numbered with 32 bits.
        let has_cells = (self.rowids.len() + 1) * self.sizes.len().max(1) <= u32::MAX as usize;
        if is_full || !has_cells || self.terms.occurrences.len() >= occurrences {
            self.end_run()?;
        }
        if is_full {
            self.terms.dictionary.clear(dictionary_bytes);
        }
        Ok(())
    }

    /// Ends a part: the next row may have any rowid.
    ///
    /// # Errors
    /// If temporary space runs out.
    pub(crate) fn end_part(&mut self) -> Result<()> {
        self.end_run()
    }

    /// Pushes the doclists of the run to the sorter.
    fn end_run(&mut self) -> Result<()> {
        let Terms { dictionary, occurrences, .. } = &mut self.terms;
        occurrences::sort(occurrences, dictionary.len(), &mut self.scratch);
        let columns = self.sizes.len().max(1) as u32;
        let mut builder = DoclistBuilder::new(self.collector.index.detail);
        for of_term in occurrences.chunk_by(|one, other| one.term == other.term) {
            let term = dictionary.term(of_term[0].term);
            // The row, and the cell at which the next row begins.
            let mut row: Option<(u32, u32)> = None;
            for Occurrence { cell, position, .. } in of_term {
                if row.is_none_or(|(_, end)| *cell >= end) {
                    if row.is_some() {
                        builder.end_row(&mut self.entries);
                        if self.entries.len() >= DOCLIST_BYTES {
                            push_doclist(&mut self.doclists, term, &mut builder, &mut self.entries)?;
                        }
                    }
                    let number = cell / columns;
                    row = Some((number * columns, number * columns + columns));
                    builder.begin_row(self.rowids[number as usize], &mut self.entries);
                }
                let start = row.map_or(0, |(start, _)| start);
                builder.occurrence(cell - start, *position, &mut self.entries);
            }
            builder.end_row(&mut self.entries);
            push_doclist(&mut self.doclists, term, &mut builder, &mut self.entries)?;
        }
        occurrences.clear();
        self.rowids.clear();
        Ok(())
    }

    /// Ends the work: hands everything over to the collector.
    ///
    /// # Errors
    /// If temporary space runs out.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.end_run()?;
        // The memory of the run is free before the sorters need some to sort.
        let RowIndexer { collector, terms, mut doclists, docsizes, totals, .. } = self;
        drop(terms);
        doclists.flush()?;
        if let Some(mut docsizes) = docsizes {
            docsizes.flush()?;
        }
        collector.add(&totals);
        Ok(())
    }
}

impl TextSink for RowIndexer<'_> {
    fn begin_row(&mut self, rowid: i64) {
        RowIndexer::begin_row(self, rowid);
    }

    fn text(&mut self, column: usize, text: &[u8]) -> Result<()> {
        RowIndexer::text(self, column, text)
    }

    fn end_row(&mut self) -> Result<()> {
        RowIndexer::end_row(self)
    }

    fn end_part(&mut self) -> Result<()> {
        RowIndexer::end_part(self)
    }

    fn finish(self) -> Result<()> {
        RowIndexer::finish(self)
    }
}

/// Pushes the doclist that was built, and empties `entries`.
fn push_doclist(
    doclists: &mut Buffer<'_>,
    term: &[u8],
    builder: &mut DoclistBuilder,
    entries: &mut Vec<u8>,
) -> Result<()> {
    if let Some((first, last)) = builder.finish() {
        item::push(doclists, term, 0, &Doclist { first, last, entries })?;
    }
    entries.clear();
    Ok(())
}

/// Returns the error for a tokenizer that SQLite can't create.
pub(crate) fn no_tokenizer(name: &str, error: NoTokenizer) -> Error {
    match error {
        NoTokenizer::Unknown => Error::usage(format!("SQLite has no tokenizer {name}"))
            .hint("SQLite's own are unicode61, ascii, porter and trigram; others are part of an application"),
        NoTokenizer::Refused => Error::usage(format!("the tokenizer {name} refuses its arguments"))
            .hint("https://www.sqlite.org/fts5.html#tokenizers lists the arguments of each tokenizer"),
        NoTokenizer::Sqlite(error) => failed(error, "create a tokenizer"),
    }
}

impl Terms {
    /// Takes a token of the cell.
    #[inline]
    fn token(&mut self, token: &[u8], cell: u32, position: u32) {
        self.waiting.bytes.extend_from_slice(token);
        // Tokens have at most 32 KiB, and few of them wait.
        self.waiting.tokens.push((self.waiting.bytes.len() as u32, position));
        if self.waiting.tokens.len() == LOOKED_UP {
            self.look_up(cell);
        }
    }

    /// Looks up the waiting tokens of the cell, and notes their occurrences.
    fn look_up(&mut self, cell: u32) {
        let Waiting { bytes, tokens, terms, keys } = &mut self.waiting;
        // Keys are read 16 bytes at a time.
        bytes.extend_from_slice(&[0; 16]);
        for index in 0..=self.prefixes.len() {
            terms.clear();
            keys.clear();
            let mut start = 0;
            for (end, position) in &*tokens {
                let token = &bytes[start as usize..*end as usize];
                if let Some(term_bytes) = term_bytes(&self.prefixes, index, token) {
                    terms.push((start, term_bytes as u32, *position));
                    keys.push(Key::of(&bytes[start as usize..], term_bytes));
                }
                start = *end;
            }
            self.dictionary.fetch(index, keys);
            let dictionary = &mut self.dictionary;
            self.occurrences.extend(terms.iter().zip(&*keys).map(|((start, term_bytes, position), key)| {
                let term = &bytes[*start as usize..][..*term_bytes as usize];
                Occurrence { term: dictionary.number(index, *key, term), cell, position: *position }
            }));
        }
        bytes.clear();
        tokens.clear();
    }
}
