//! An experiment to be run, with its cases: a case is a variant, such as one way to insert rows, and the code that runs it.
//!
//! ```text
//!  Experiment ── id, unit, count
//!   └─ Case ── name, provenance, settings, command
//!       └─ Work ── run(Ground) -> Took      prepares its data, times one part, and reports the resulting content
//!              └── expected() -> Found      the expected content, computed independently
//! ```
//!
//! "Published" names and figures are those of the write-ups that the lab repeats (`data/published.toml`).
//!
//! Invariant: a case whose rows differ from the expected rows has no figure.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use sqluice_platform::durable;

use crate::published::{Figure, published};
use crate::random::mixed;
use crate::record::{Provenance, Skip};

/// The result of a step of a case. An error makes the case fail, and is reported.
pub(crate) type Result<T = (), E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// An unordered digest of rows: their number, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Digest {
    pub(crate) rows: u64,
    pub(crate) sum: u64,
}

/// The digests of the rows that a case wrote or read: one for each table or query.
pub(crate) type Found = Vec<Digest>;

/// The hash of a row, which is updated value by value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowHash(u64);

impl RowHash {
    pub(crate) const NEW: RowHash = RowHash(0x243f_6a88_85a3_08d3);

    fn add(&mut self, class: u64, value: u64) {
        self.0 = mixed(self.0.rotate_left(9) ^ value).wrapping_add(class);
    }

    pub(crate) fn null(&mut self) {
        self.add(0, 0);
    }

    pub(crate) fn int(&mut self, value: i64) {
        self.add(1, value as u64);
    }

    pub(crate) fn real(&mut self, value: f64) {
        self.add(2, value.to_bits());
    }

    pub(crate) fn text(&mut self, text: &[u8]) {
        self.bytes(3, text);
    }

    pub(crate) fn blob(&mut self, blob: &[u8]) {
        self.bytes(4, blob);
    }

    fn bytes(&mut self, class: u64, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(class, u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.add(class, u64::from_le_bytes(last));
        self.add(class, bytes.len() as u64);
    }
}

impl Digest {
    pub(crate) fn add(&mut self, row: RowHash) {
        self.rows += 1;
        self.sum = self.sum.wrapping_add(mixed(row.0));
    }

    /// Returns the digest of rows that have one integer each.
    pub(crate) fn of_ints(ints: impl IntoIterator<Item = i64>) -> Digest {
        let mut digest = Digest::default();
        for int in ints {
            let mut row = RowHash::NEW;
            row.int(int);
            digest.add(row);
        }
        digest
    }
}

/// The folder in which a case runs, and a clock for its timed part.
pub(crate) struct Ground<'a> {
    /// The folder of the case, empty at first.
    folder: &'a Path,
    /// `true` if the case must lose a row, which tests that the comparison with the expected rows notices it.
    drop_row: bool,
    dropped: Cell<bool>,
}

impl<'a> Ground<'a> {
    pub(crate) fn new(folder: &'a Path, drop_row: bool) -> Ground<'a> {
        Ground { folder, drop_row, dropped: Cell::new(false) }
    }

    /// Returns the path of the database.
    pub(crate) fn file(&self) -> PathBuf {
        self.path("lab.db")
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns `true` at the first call if the case must lose a row, which tests the comparison with the expected rows.
    pub(crate) fn must_drop(&self) -> bool {
        self.drop_row && !self.dropped.replace(true)
    }

    /// Returns `rows`, or one less if the case must lose a row.
    pub(crate) fn count(&self, rows: u64) -> u64 {
        rows - u64::from(self.must_drop())
    }

    /// Runs `work` and returns its result and its seconds. Syncs the file system first, so that earlier writes are not included.
    pub(crate) fn time<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
        self.sync()?;
        self.clock(work)
    }

    /// Runs `work` and returns its result and its seconds, without a sync first: for work that only reads.
    pub(crate) fn clock<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<(T, f64)> {
        let start = Instant::now();
        let out = work()?;
        Ok((out, start.elapsed().as_secs_f64()))
    }

    /// Syncs the file system.
    pub(crate) fn sync(&self) -> Result {
        Ok(durable::sync_file_system(self.folder)?)
    }
}

/// The time of one run of a case, and the digests of its rows.
#[derive(Clone, Debug)]
pub(crate) struct Took {
    pub(crate) seconds: f64,
    /// The figure of this run, in the experiment's unit.
    pub(crate) sample: f64,
    pub(crate) also: BTreeMap<String, f64>,
    pub(crate) found: Found,
}

impl Took {
    /// Creates the result of `count` rows or operations in `seconds` seconds.
    pub(crate) fn rate(count: u64, seconds: f64, found: Found) -> Took {
        Took { seconds, sample: count as f64 / seconds, also: BTreeMap::new(), found }
    }

    pub(crate) fn with(mut self, name: &str, value: f64) -> Took {
        self.also.insert(name.to_owned(), value);
        self
    }
}

type RunCase = Box<dyn Fn(&Ground<'_>) -> Result<Took>>;
type Expected = Box<dyn Fn() -> Result<Found>>;

/// The functions of a case: `run` runs it once, `expected` returns the expected digests.
pub(crate) struct Work {
    pub(crate) run: RunCase,
    pub(crate) expected: Expected,
}

/// A variant to be measured. `work` has the functions of the case, or the reason why this machine can't run it.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) provenance: Provenance,
    pub(crate) published: Option<f64>,
    pub(crate) published_note: Option<String>,
    pub(crate) settings: Vec<String>,
    pub(crate) command: String,
    /// The maximum number of bytes on the disk; `memory_bytes` is the maximum in memory.
    pub(crate) disk_bytes: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) work: Result<Work, Skip>,
}

impl Case {
    pub(crate) fn new(
        command: impl Into<String>,
        run: impl Fn(&Ground<'_>) -> Result<Took> + 'static,
        expected: impl Fn() -> Result<Found> + 'static,
    ) -> Case {
        Case::either(command, Ok(Work { run: Box::new(run), expected: Box::new(expected) }))
    }

    /// Creates a case that can't be run on this machine.
    pub(crate) fn skipped(command: impl Into<String>, reason: Skip) -> Case {
        Case::either(command, Err(reason))
    }

    fn either(command: impl Into<String>, work: Result<Work, Skip>) -> Case {
        Case {
            name: String::new(),
            provenance: Provenance::Added,
            published: None,
            published_note: None,
            settings: Vec::new(),
            command: command.into(),
            disk_bytes: 0,
            memory_bytes: 0,
            work,
        }
    }

    pub(crate) fn settings(mut self, settings: impl IntoIterator<Item = impl Into<String>>) -> Case {
        self.settings.extend(settings.into_iter().map(Into::into));
        self
    }

    pub(crate) fn disk(mut self, bytes: u64) -> Case {
        self.disk_bytes = bytes;
        self
    }

    pub(crate) fn memory(mut self, bytes: u64) -> Case {
        self.memory_bytes = bytes;
        self
    }
}

/// An experiment to be run.
pub(crate) struct Experiment {
    pub(crate) id: &'static str,
    pub(crate) source: &'static str,
    pub(crate) what: String,
    pub(crate) unit: &'static str,
    pub(crate) more_is_better: bool,
    pub(crate) count: u64,
    pub(crate) published_count: Option<u64>,
    pub(crate) cases: Vec<Case>,
    pub(crate) notes: Vec<String>,
    /// `true` if samples are divided by those of the first case in the same round.
    pub(crate) relative: bool,
    figures: &'static [Figure],
}

impl Experiment {
    /// Creates an experiment from the published experiment or question `id`. Larger figures are better.
    pub(crate) fn new(id: &'static str, unit: &'static str, count: u64) -> Experiment {
        let all = published();
        let experiment = all.experiment.iter().find(|one| one.id == id);
        let question = all.question.iter().find(|one| one.id == id);
        let (source, what) = match (experiment, question) {
            (Some(one), _) => (one.source.as_str(), one.what.as_deref().or(one.unit.as_deref())),
            (None, Some(one)) => (one.source.as_str(), Some(one.what.as_str())),
            (None, None) => ("", None),
        };
        Experiment {
            id,
            source,
            what: what.unwrap_or(id).to_owned(),
            unit,
            more_is_better: true,
            count,
            published_count: experiment.and_then(|one| one.scale),
            cases: Vec::new(),
            notes: Vec::new(),
            relative: false,
            figures: experiment.map_or(&[], |one| &one.results),
        }
    }

    pub(crate) fn less_is_better(mut self) -> Experiment {
        self.more_is_better = false;
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Experiment {
        self.notes.push(note.into());
        self
    }

    /// Adds a published variant, whose figure is in the unit of the experiment.
    pub(crate) fn published(self, name: &str, case: Case) -> Experiment {
        self.published_as(name, case, |figure| figure)
    }

    /// Adds a published variant, whose figure is converted to the unit of the experiment.
    pub(crate) fn published_as(self, name: &str, case: Case, convert: impl Fn(f64) -> f64) -> Experiment {
        let figure = self.figures.iter().find(|figure| figure.variant == name);
        let value = figure.and_then(|figure| figure.value).filter(|value| value.is_finite()).map(convert);
        let published_note = figure.and_then(Figure::in_words).or(case.published_note);
        let published = value.or(case.published);
        self.with(name, Provenance::Published, Case { published, published_note, ..case })
    }

    /// Adds a variant of SQLite or the system, for comparison.
    pub(crate) fn added(self, name: &str, case: Case) -> Experiment {
        self.with(name, Provenance::Added, case)
    }

    pub(crate) fn sqluice(self, name: &str, case: Case) -> Experiment {
        self.with(name, Provenance::Sqluice, case)
    }

    fn with(mut self, name: &str, provenance: Provenance, case: Case) -> Experiment {
        self.cases.push(Case { name: name.to_owned(), provenance, ..case });
        self
    }

    /// Returns the published figures.
    pub(crate) fn figures(&self) -> &'static [Figure] {
        self.figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[&[u8]]) -> Digest {
        let mut hash = RowHash::NEW;
        values.iter().for_each(|value| hash.text(value));
        let mut digest = Digest::default();
        digest.add(hash);
        digest
    }

    #[test]
    fn a_digest_distinguishes_values_classes_and_columns() {
        let rows = [
            row(&[b"a", b"b"]),
            row(&[b"b", b"a"]),
            row(&[b"ab", b""]),
            row(&[b"", b"ab"]),
            row(&[b"a\0", b"b"]),
            row(&[b"a"]),
            Digest::of_ints([97]),
            Digest::of_ints([0]),
        ];
        for (at, one) in rows.iter().enumerate() {
            assert!(rows[..at].iter().all(|other| other != one), "{at}");
        }
        assert_eq!(Digest::of_ints([1, 2, 3]), Digest::of_ints([3, 1, 2]));
        assert_ne!(Digest::of_ints([1, 4]), Digest::of_ints([2, 3]));
    }
}
