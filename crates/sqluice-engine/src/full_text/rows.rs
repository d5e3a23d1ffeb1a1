//! A worker that takes rows in ascending order, and pushes their doclists and sizes to the sorters.

use sqluice_core::error::{Error, Result};
use sqluice_core::sqlite_error::failed;
use sqluice_format::fts5::push_docsize;

use super::cell::{each_token, term_bytes};
use super::dictionary::{Dictionary, Key};
use super::known::{KnownTerms, ShortKey};
use super::query::TextSink;
use super::streams::{Place, Streams};
use super::tokenizer::{NoTokenizer, Tokenizer};
use super::{Collector, TextIndex, Totals, item};
use crate::sort::{Buffer, Item};

/// The number of terms that are looked up at once: their slots and streams fit into the first-level cache.
const LOOKED_UP: usize = 256;

/// The number of bytes from which a doclist is given to the sorter in several items.
const DOCLIST_BYTES: usize = 64 << 10;

/// The largest number of rows of a run.
const ROWS_MAX: usize = 1 << 30;

/// The indexer of rows of one worker thread.
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
}

/// The terms of a run, and their occurrences.
struct Terms {
    prefixes: Vec<usize>,
    dictionary: Dictionary,
    /// The numbers of short terms that were looked up.
    known: KnownTerms,
    streams: Streams,
    /// The terms of each index that wait to be looked up.
    waiting: Vec<Waiting>,
    /// The occurrences of known terms that wait to be noted.
    found: Found,
}

/// Occurrences of terms whose numbers are known.
#[derive(Default)]
struct Found {
    numbers: Vec<u32>,
    places: Vec<Place>,
}

impl Found {
    /// Notes all occurrences: their streams are brought into the CPU cache side by side.
    fn note(&mut self, streams: &mut Streams) {
        streams.fetch(&self.numbers);
        self.numbers.iter().zip(&self.places).for_each(|(number, place)| streams.push(*number, *place));
        self.numbers.clear();
        self.places.clear();
    }
}

/// Terms of one index that wait to be looked up.
struct Waiting {
    keys: Vec<Key>,
    places: Vec<Place>,
    /// The bytes of the long terms, and the end of each.
    long: Vec<u8>,
    long_ends: Vec<usize>,
}

impl Waiting {
    fn new() -> Waiting {
        let (keys, places) = (Vec::with_capacity(LOOKED_UP), Vec::with_capacity(LOOKED_UP));
        Waiting { keys, places, long: Vec::new(), long_ends: Vec::new() }
    }
}

impl<'c> RowIndexer<'c> {
    /// Creates an indexer, which collects into `collector`.
    ///
    /// # Errors
    /// If SQLite can't create the tokenizer of the index: it has none of this name, or the tokenizer refuses its arguments.
    pub(super) fn new(collector: &'c Collector<'c>) -> Result<RowIndexer<'c>> {
        let TextIndex { columns, prefixes, tokenizer, .. } = collector.index;
        let tokenizer = Tokenizer::new(tokenizer).map_err(|error| no_tokenizer(&tokenizer[0], error))?;
        Ok(RowIndexer {
            collector,
            tokenizer,
            terms: Terms {
                prefixes: prefixes.clone(),
                dictionary: Dictionary::new(prefixes.len()),
                known: KnownTerms::new(),
                streams: Streams::new(collector.index.detail),
                waiting: (0..=prefixes.len()).map(|_| Waiting::new()).collect(),
                found: Found::default(),
            },
            rowids: Vec::new(),
            sizes: vec![0; *columns],
            size: Vec::new(),
            totals: Totals { rows: 0, tokens: vec![0; *columns] },
            doclists: collector.doclists.buffer(),
            docsizes: collector.docsizes.as_ref().map(|sorter| sorter.buffer()),
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
        let cell = ((self.rowids.len() - 1) as u32, column as u16);
        let terms = &mut self.terms;
        let size =
            each_token(&mut self.tokenizer, text, |token, position| terms.token(token, cell, position))?;
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
        let run_bytes = self.collector.run_bytes;
        let left_bytes = run_bytes.saturating_sub(self.terms.streams.memory_bytes());
        if self.rowids.len() >= ROWS_MAX || self.terms.dictionary.is_full(left_bytes) {
            self.end_run()?;
            self.terms.make_room(run_bytes);
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
        self.terms.look_up_all();
        let Terms { dictionary, streams, .. } = &mut self.terms;
        let doclists = &mut self.doclists;
        streams.take_all(&self.rowids, DOCLIST_BYTES, |number, entries| {
            let push = |doclist| item::push(doclists, dictionary.term(number), 0, &doclist);
            entries.doclist().map_or(Ok(()), push)
        })?;
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
    /// Takes a token of a row and column.
    #[inline]
    fn token(&mut self, token: &[u8], cell: (u32, u16), position: u32) {
        self.take(0, token, cell, position);
        for index in 1..self.waiting.len() {
            if let Some(bytes) = term_bytes(&self.prefixes, index, token) {
                self.take(index, &token[..bytes], cell, position);
            }
        }
    }

    /// Takes a term of an index.
    #[inline]
    fn take(&mut self, index: usize, term: &[u8], (row, column): (u32, u16), position: u32) {
        // No earlier occurrence of the term waits: a number becomes known only when all waiting terms of the index are looked up.
        if let Some(number) = ShortKey::of(index, term).and_then(|key| self.known.number(key)) {
            self.found.numbers.push(number);
            self.found.places.push(Place { row, column, position });
            if self.found.numbers.len() >= LOOKED_UP {
                self.found.note(&mut self.streams);
            }
            return;
        }
        let waiting = &mut self.waiting[index];
        let key = Key::of(term);
        waiting.keys.push(key);
        waiting.places.push(Place { row, column, position });
        if !key.is_whole() {
            waiting.long.extend_from_slice(term);
            waiting.long_ends.push(waiting.long.len());
        }
        if waiting.keys.len() >= LOOKED_UP {
            self.look_up(index);
        }
    }

    /// Looks up the waiting terms of all indexes.
    fn look_up_all(&mut self) {
        (0..self.waiting.len()).for_each(|index| self.look_up(index));
    }

    /// Looks up the waiting terms of an index, and notes their occurrences.
    fn look_up(&mut self, index: usize) {
        let Terms { dictionary, known, streams, waiting, found, .. } = self;
        // A found term may be one that waits, too, if another term has taken its place among the known ones. Its occurrences stay in order.
        found.note(streams);
        let Waiting { keys, places, long, long_ends } = &mut waiting[index];
        dictionary.fetch(index, keys);
        let mut ends = long_ends.iter();
        let mut start = 0;
        found.numbers.extend(keys.iter().map(|key| {
            let mut bytes = &[][..];
            if !key.is_whole()
                && let Some(end) = ends.next()
            {
                bytes = &long[start..*end];
                start = *end;
            }
            let number = dictionary.number(index, *key, bytes);
            known.put(key.short(index), number);
            number
        }));
        found.places.append(places);
        streams.reserve(dictionary.len());
        found.note(streams);
        keys.clear();
        long.clear();
        long_ends.clear();
    }

    /// Forgets all terms if they leave too little of the memory of a run for their occurrences, or too few numbers for new terms.
    fn make_room(&mut self, run_bytes: usize) {
        if self.dictionary.is_used_up()
            || self.dictionary.memory_bytes() + self.streams.memory_bytes() > run_bytes / 2
        {
            self.dictionary.clear(run_bytes / 4);
            self.known.clear();
            self.streams.clear();
        }
    }
}
