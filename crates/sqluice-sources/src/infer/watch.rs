//! A source whose rows are looked at on their way to the sink, to check the types that the first rows have suggested.
//!
//! ```text
//!  Part::decode ──> batch ──> sink takes it ──> evidence of this part ──┐ when the part is done
//!                                               evidence of all <───────┘ if it contradicts a guess: an error for all parts
//! ```
//!
//! A right guess costs a look at every value and a lock for each part. A wrong guess stops the load, which can start again with better
//! types. A value that the sink refuses only because of the guess stops the load, too.
//!
//! For columns that are TEXT, a watch also counts the kinds of the values if the samples have few values, or mostly text. A note can then
//! name the reason for TEXT, and the file is not read again.
//!
//! Invariant: if all parts were decoded without error, each guess is the type that [`Evidence`] concludes from all values (or INTEGER or
//! REAL, if the values are known to be numbers).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqluice_core::batch::{Batch, Values};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Amount;
use sqluice_core::source::around::decoded_by;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::kept::Kept;
use sqluice_core::source::{BadRow, Part, Quoting, Refused, Sink, Source};

use super::{Counting, Evidence, Inferred, Kinds, see_all};

/// A column with a guessed type.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// The index of the column in the batches.
    pub column: usize,
    /// The type that the load uses.
    pub guess: Inferred,
    /// The evidence for the guess.
    pub evidence: Evidence,
    /// `true` if the values are numbers, however they are written.
    pub is_number: bool,
    /// `true` if the values are results of expressions.
    pub is_result: bool,
    /// The values whose kinds are counted, for notes; `None` if no kinds are counted.
    pub counting: Option<Counting>,
}

/// Checks, during a load, that the values of columns have the types that were guessed for these columns. Clones share what they have seen.
#[derive(Clone, Debug)]
pub struct Watch(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    columns: Vec<usize>,
    /// The indexes of the columns that have results of expressions.
    results: Vec<usize>,
    guesses: Vec<Guess>,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Guess {
    inferred: Inferred,
    is_number: bool,
}

impl Guess {
    /// Returns the type that the evidence shows.
    fn by(&self, evidence: &Evidence) -> Inferred {
        if self.is_number { evidence.conclude_number() } else { evidence.conclude() }
    }
}

#[derive(Debug)]
struct Seen {
    /// The evidence of each watched column.
    evidence: Vec<Evidence>,
    /// The kinds of the values, for each watched column that counts them. Parts and rows are those of the watched source.
    kinds: Vec<Option<Kinds>>,
    /// The index of the first watched column whose guess was found to be wrong.
    broken: Option<usize>,
}

impl Watch {
    /// Creates a watch over the columns in `watched`; the values of all other columns are not looked at.
    pub fn new(watched: &[Watched]) -> Watch {
        let evidence = watched.iter().map(|watched| watched.evidence).collect();
        let kinds = watched.iter().map(|watched| watched.counting.map(Kinds::new)).collect();
        Watch(Arc::new(Shared {
            columns: watched.iter().map(|watched| watched.column).collect(),
            results: watched
                .iter()
                .filter(|watched| watched.is_result)
                .map(|watched| watched.column)
                .collect(),
            guesses: watched
                .iter()
                .map(|watched| Guess { inferred: watched.guess, is_number: watched.is_number })
                .collect(),
            seen: Mutex::new(Seen { evidence, kinds, broken: None }),
        }))
    }

    /// Wraps a source: its rows pass through unchanged, and a value that does not fit a guessed type stops the load.
    pub fn over<'a>(&self, source: Box<dyn Source + 'a>) -> Box<dyn Source + 'a> {
        Box::new(WatchedSource { source, watch: self.clone(), parts: 0 })
    }

    /// Wraps a source like [`Watch::over`], and returns a source that can be a part of a chain of sources.
    pub fn over_counted(&self, source: Box<dyn Counted>) -> Box<dyn Counted> {
        Box::new(WatchedSource { source, watch: self.clone(), parts: 0 })
    }

    /// Returns `true` if a guess was wrong: the types of the load are not the types of the values, whatever error the load returned.
    pub fn broken(&self) -> bool {
        self.seen().broken.is_some()
    }

    /// Returns the evidence of the values so far, for each column that was given to [`Watch::new`], in the order of these columns.
    pub fn evidence(&self) -> Vec<Evidence> {
        self.seen().evidence.clone()
    }

    /// Returns the kinds of the values so far: for each column whose kinds are counted ([`Watched::counting`]), its index in the batches
    /// and its kinds.
    pub fn kinds(&self) -> Vec<(usize, Kinds)> {
        let seen = self.seen();
        let columns = self.0.columns.iter().zip(&seen.kinds);
        columns.filter_map(|(column, kinds)| Some((*column, kinds.clone()?))).collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the evidence so far, with which a part begins; an error if a guess is known to be wrong.
    fn begin(&self) -> Result<Vec<Evidence>> {
        let seen = self.seen();
        self.check(&seen)?;
        Ok(seen.evidence.clone())
    }

    /// Adds the evidence and the kinds of a part. Returns an error if they show that a guess is wrong.
    fn end(&self, evidence: &[Evidence], kinds: &[Option<Kinds>]) -> Result<()> {
        let mut seen = self.seen();
        let Seen { evidence: all, kinds: all_kinds, broken } = &mut *seen;
        for (all, evidence) in all.iter_mut().zip(evidence) {
            all.merge(*evidence);
        }
        for (all, kinds) in all_kinds.iter_mut().flatten().zip(kinds.iter().flatten()) {
            all.merge(kinds);
        }
        let wrong =
            || all.iter().zip(&self.0.guesses).position(|(all, guess)| guess.by(all) != guess.inferred);
        *broken = broken.or_else(wrong);
        self.check(&seen)
    }

    fn check(&self, seen: &Seen) -> Result<()> {
        let Some(index) = seen.broken else { return Ok(()) };
        let guess = &self.0.guesses[index];
        let found = guess.by(&seen.evidence[index]).name();
        let (column, guess) = (self.0.columns[index] + 1, guess.inferred.name());
        Err(Error::input(format!(
            "column {column} is {guess} in the first rows, but {found} with later ones"
        ))
        .hint("declare the type of the column"))
    }
}

/// A source whose rows are checked on their way to the sink: see [`Watch::over`].
struct WatchedSource<S: ?Sized> {
    source: Box<S>,
    watch: Watch,
    /// The number of parts so far.
    parts: u64,
}

impl Counted for WatchedSource<dyn Counted> {
    fn rows_done(&self) -> u64 {
        self.source.rows_done()
    }
}

impl<S: Source + ?Sized> Source for WatchedSource<S> {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(part) = self.source.next_part()? else { return Ok(None) };
        let (watch, index) = (self.watch.clone(), self.parts);
        self.parts += 1;
        Ok(Some(decoded_by(part, move |part, sink| {
            let (evidence, typed, quoting) = (watch.begin()?, part.is_typed(), part.quoting());
            let counted = watch.seen().kinds.iter().map(|kinds| kinds.as_ref().map(Kinds::like)).collect();
            let mut watching =
                Watching { sink, watch: &watch, evidence, kinds: counted, typed, quoting, next: (index, 0) };
            let decoded = part.decode(&mut watching);
            // The error of a wrong guess comes first: a value that was refused may be valid in a column of the right type.
            let Watching { evidence, kinds, .. } = watching;
            watch.end(&evidence, &kinds)?;
            decoded
        })))
    }

    fn total(&self) -> Option<Amount> {
        self.source.total()
    }
}

/// The sink of a watched part.
struct Watching<'a> {
    sink: &'a mut dyn Sink,
    watch: &'a Watch,
    evidence: Vec<Evidence>,
    kinds: Vec<Option<Kinds>>,
    typed: bool,
    quoting: Option<Quoting>,
    /// The number of the part, and its next row.
    next: (u64, u64),
}

impl Sink for Watching<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let taken = self.sink.rows(batch);
        self.see(batch, taken)
    }

    /// Looks at all rows, because the types follow from the rows that are left out, too.
    fn kept_rows(&mut self, batch: &Batch<'_>, kept: &Kept<'_>) -> Result<(), Refused> {
        let taken = self.sink.kept_rows(batch, kept);
        self.see(batch, taken)
    }

    fn wants_lines(&self) -> bool {
        self.sink.wants_lines()
    }

    fn lines(&mut self, lines: &[i64]) {
        self.sink.lines(lines);
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.next.1 += 1;
        self.sink.bad_row(bad)
    }
}

impl Watching<'_> {
    /// Looks at a batch that was taken, or at the values for which it was refused.
    fn see(&mut self, batch: &Batch<'_>, taken: Result<(), Refused>) -> Result<(), Refused> {
        // Only the refused values of a refused batch count: the batch is given again without them.
        taken.inspect_err(|refused| match refused {
            Refused::Rows(rows) => rows.iter().for_each(|row| self.blame(batch, row.row, row.column)),
            Refused::Stop { at, .. } => at.iter().for_each(|&(row, column)| self.blame(batch, row, column)),
        })?;
        let Shared { columns, results, .. } = &*self.watch.0;
        see_all(&mut self.evidence, (columns, results), batch, self.typed);
        for (kinds, &column) in self.kinds.iter_mut().zip(&self.watch.0.columns) {
            if let Some(kinds) = kinds {
                // A typed source gives numbers as text if the column is loaded as TEXT.
                let (column, typed) = (&batch.columns[column], self.typed);
                let as_text = typed && matches!(column.values, Values::Text(_));
                let written = (typed && !as_text, self.quoting);
                kinds.see(&mut Evidence::new(), column, batch.rows, written, self.next);
                kinds.typed |= typed;
            }
        }
        self.next.1 += batch.rows as u64;
        Ok(())
    }

    /// Adds a refused value to the evidence.
    fn blame(&mut self, batch: &Batch<'_>, row: usize, column: usize) {
        let watched = self.evidence.iter_mut().zip(&self.watch.0.columns);
        for (evidence, _) in watched.filter(|(_, watched)| **watched == column) {
            let value = batch.columns[column].get(row);
            match self.watch.0.results.contains(&column) {
                true => evidence.add_result(value),
                false => evidence.add_value(value, self.typed),
            }
        }
    }
}
