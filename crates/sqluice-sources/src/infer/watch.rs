//! A source whose rows are looked at on their way to the sink, to see that the types it was given by its first rows hold.
//!
//! ```text
//!  Part::decode ──> batch ──> sink takes it ──> evidence of this part ──┐ when the part is done
//!                                               evidence of all <───────┘ other than the guess: an error, all stop
//! ```
//!
//! A guess that nothing speaks against costs a look at every value and a lock a part. One that is wrong stops the load,
//! which can start again with better types. So does a value that the sink refuses, if only the guess makes it bad.
//!
//! A watch also counts the kinds of values in columns that are TEXT although the samples have few of their values: so a note can name the
//! reason, without reading everything again.
//!
//! Invariant: if all parts were decoded without error, each guess is what [`Evidence`] concludes of all values (or INTEGER or REAL, where
//! all are known to be numbers).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqluice_core::batch::{Batch, Values};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Amount;
use sqluice_core::source::around::decoded_by;
use sqluice_core::source::{BadRow, Part, Quoting, Refused, Sink, Source};

use super::{Evidence, Inferred, Kinds, see_all};

/// A column whose type is a guess.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// Its index in the batches.
    pub column: usize,
    /// What the load takes it for.
    pub guess: Inferred,
    /// What led to the guess.
    pub evidence: Evidence,
    /// Its values are numbers, however they are written.
    pub is_number: bool,
    /// `true` if the kinds of its values are counted, for notes.
    pub counts_kinds: bool,
}

/// Watches over guesses; clones share what they know.
#[derive(Clone, Debug)]
pub struct Watch(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    columns: Vec<usize>,
    guesses: Vec<Guess>,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Guess {
    inferred: Inferred,
    is_number: bool,
}

impl Guess {
    /// What the guess should be.
    fn by(&self, evidence: &Evidence) -> Inferred {
        if self.is_number { evidence.conclude_number() } else { evidence.conclude() }
    }
}

#[derive(Debug)]
struct Seen {
    /// One for each watched column.
    evidence: Vec<Evidence>,
    /// The kinds of the values, for each watched column that counts them. Parts and rows are those of the watched source.
    kinds: Vec<Option<Kinds>>,
    /// Which of them, the first to be found, is of another type.
    broken: Option<usize>,
}

impl Watch {
    /// Over some columns.
    pub fn new(watched: &[Watched]) -> Watch {
        let evidence = watched.iter().map(|watched| watched.evidence).collect();
        let kinds = watched.iter().map(|watched| watched.counts_kinds.then(Kinds::patient)).collect();
        Watch(Arc::new(Shared {
            columns: watched.iter().map(|watched| watched.column).collect(),
            guesses: watched
                .iter()
                .map(|watched| Guess { inferred: watched.guess, is_number: watched.is_number })
                .collect(),
            seen: Mutex::new(Seen { evidence, kinds, broken: None }),
        }))
    }

    /// The same rows, watched.
    pub fn over<'a>(&self, source: Box<dyn Source + 'a>) -> Box<dyn Source + 'a> {
        Box::new(WatchedSource { source, watch: self.clone(), parts: 0 })
    }

    /// Whether a guess was wrong: whatever the load said, its types are not those of the values.
    pub fn broken(&self) -> bool {
        self.seen().broken.is_some()
    }

    /// What is known by now, for each watched column.
    pub fn evidence(&self) -> Vec<Evidence> {
        self.seen().evidence.clone()
    }

    /// Returns the columns whose kinds were counted, each with the kinds of its values.
    pub fn kinds(&self) -> Vec<(usize, Kinds)> {
        let seen = self.seen();
        let columns = self.0.columns.iter().zip(&seen.kinds);
        columns.filter_map(|(column, kinds)| Some((*column, kinds.clone()?))).collect()
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known, as the start for a part, as long as all guesses hold.
    fn begin(&self) -> Result<Vec<Evidence>> {
        let seen = self.seen();
        self.check(&seen)?;
        Ok(seen.evidence.clone())
    }

    /// Adds what a part has shown.
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
            "the first rows made column {column} {guess}, but later ones make it {found}"
        ))
        .hint("declare the type of the column"))
    }
}

/// A source under watch.
struct WatchedSource<'a> {
    source: Box<dyn Source + 'a>,
    watch: Watch,
    /// The number of parts so far.
    parts: u64,
}

impl Source for WatchedSource<'_> {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(part) = self.source.next_part()? else { return Ok(None) };
        let (watch, index) = (self.watch.clone(), self.parts);
        self.parts += 1;
        Ok(Some(decoded_by(part, move |part, sink| {
            let (evidence, typed, quoting) = (watch.begin()?, part.is_typed(), part.quoting());
            let counted =
                watch.seen().kinds.iter().map(|kinds| kinds.as_ref().map(|_| Kinds::patient())).collect();
            let mut watching =
                Watching { sink, watch: &watch, evidence, kinds: counted, typed, quoting, next: (index, 0) };
            let decoded = part.decode(&mut watching);
            // A value that was refused may be good for the right type.
            let Watching { evidence, kinds, .. } = watching;
            watch.end(&evidence, &kinds)?;
            decoded
        })))
    }

    fn total(&self) -> Option<Amount> {
        self.source.total()
    }
}

/// The sink of a part under watch.
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
        // Of a refused batch, only the values to blame count: the batch is given again without them.
        self.sink.rows(batch).inspect_err(|refused| match refused {
            Refused::Rows(rows) => rows.iter().for_each(|row| self.blame(batch, row.row, row.column)),
            Refused::Stop { at, .. } => at.iter().for_each(|&(row, column)| self.blame(batch, row, column)),
        })?;
        see_all(&mut self.evidence, &self.watch.0.columns, batch, self.typed);
        for (kinds, &column) in self.kinds.iter_mut().zip(&self.watch.0.columns) {
            if let Some(kinds) = kinds {
                // A typed source writes the numbers of a column as text that was TEXT before.
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

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.next.1 += 1;
        self.sink.bad_row(bad)
    }
}

impl Watching<'_> {
    fn blame(&mut self, batch: &Batch<'_>, row: usize, column: usize) {
        let watched = self.evidence.iter_mut().zip(&self.watch.0.columns);
        for (evidence, _) in watched.filter(|(_, watched)| **watched == column) {
            evidence.add_value(batch.columns[column].get(row), self.typed);
        }
    }
}
