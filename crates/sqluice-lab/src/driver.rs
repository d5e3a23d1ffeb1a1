//! Runs experiments. In each round, every variant runs once, in a folder of its own, and its rows are compared with the expected rows.
//!
//! ```text
//!  round 1   variant 1  2  3      each: create the folder, prepare data, sync, run the timed part, compare digests, remove the folder
//!  round 2   variant 3  2  1      in reverse order, so that no variant always follows the same other one
//!  round 3   variant 1  2  3
//! ```
//!
//! A variant that fails once is not run again, and has no figure.

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sqluice::error::{Error, Result};
use sqluice::setters;

use crate::case::{self, Case, Experiment, Found, Ground, Took};
use crate::experiments;
use crate::figures::Spread;
use crate::machine::{self, Machine};
use crate::published::published;
use crate::record::{self, Outcome, Run, Skip, Variant};
use crate::scale::Scale;
use crate::scratch::{Scratch, free_bytes};
use crate::turns::turn;

/// A function that selects variants by experiment and name.
pub type Chooses<'a> = dyn Fn(&str, &str) -> bool + 'a;

/// The settings of a run of the lab.
#[non_exhaustive]
pub struct Settings<'a> {
    /// The ids of experiments and questions; empty: all.
    pub experiments: Vec<String>,
    /// The scale of the experiments.
    pub scale: Scale,
    /// The number of measured runs of each variant; `None` for the default of the scale.
    pub runs: Option<u32>,
    /// The number of runs of each variant before the measured runs.
    pub warmup: u32,
    /// The folder in which a temporary folder for the databases is created.
    pub dir: PathBuf,
    /// The command line, for the record.
    pub command: String,
    /// The function that is called before each step.
    pub watch: &'a dyn Fn(&Step<'_>),
    /// A flag that ends the run after the current variant.
    pub stop: &'a AtomicBool,
    /// Selects variants (by experiment and name) that drop a row before they are verified, for tests; `None` outside of tests.
    #[doc(hidden)]
    pub drop_row: Option<&'a Chooses<'a>>,
}

setters! { Settings<'_>:
    /// Runs only these experiments and questions, by their ids.
    experiments(ids: impl IntoIterator<Item = impl Into<String>>) = ids.into_iter().map(Into::into).collect();
    /// Sets the number of measured runs of each variant; `None` for the default of the scale.
    runs(runs: impl Into<Option<u32>>) = runs.into();
    /// Sets the number of runs of each variant before the measured runs.
    warmup(runs: u32) = runs;
    /// Sets the command line that the record keeps.
    command(command: impl Into<String>) = command.into();
}

impl<'a> Settings<'a> {
    /// Creates settings for all experiments, in a folder of `dir`. `watch` is called before each step; `stop` ends the run.
    pub fn new(
        scale: Scale,
        dir: impl Into<PathBuf>,
        watch: &'a dyn Fn(&Step<'_>),
        stop: &'a AtomicBool,
    ) -> Settings<'a> {
        Settings {
            experiments: Vec::new(),
            scale,
            runs: None,
            warmup: 0,
            dir: dir.into(),
            command: String::new(),
            watch,
            stop,
            drop_row: None,
        }
    }
}

/// A variant that is about to be run.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Step<'a> {
    /// The number of the step, counted from 1. A step is one run of a variant.
    pub number: usize,
    /// The number of steps.
    pub of: usize,
    /// The experiment.
    pub experiment: &'a str,
    /// The variant.
    pub variant: &'a str,
    /// The round, counted from 1; the rounds of the warmup come first.
    pub round: u32,
    /// The estimated remaining time; `None` at first.
    pub left: Option<Duration>,
}

/// Returns the ids of all experiments and questions, in the order of `data/published.toml`.
pub fn ids() -> Vec<&'static str> {
    let published = published();
    let experiments = published.experiment.iter().map(|one| one.id.as_str());
    experiments.chain(published.question.iter().map(|one| one.id.as_str())).collect()
}

/// Returns the sum, over all runs of all variants, of the maximum number of bytes of their files.
///
/// # Errors
/// When an experiment does not exist.
pub fn bytes_to_write(experiments: &[String], scale: Scale, runs: u32) -> Result<u64> {
    let cases = chosen(experiments, scale)?.into_iter().flat_map(|one| one.cases);
    let once: u64 = cases.filter(|case| case.work.is_ok()).map(|case| case.disk_bytes).sum();
    Ok(once.saturating_mul(u64::from(runs)))
}

/// Returns the requested experiments, in the order of `data/published.toml`.
fn chosen(asked: &[String], scale: Scale) -> Result<Vec<Experiment>> {
    let ids = ids();
    if let Some(unknown) = asked.iter().find(|asked| !ids.contains(&asked.as_str())) {
        return Err(Error::usage(format!("there is no experiment {unknown}"))
            .hint(format!("choose one of: {}", ids.join(", "))));
    }
    let mut all = experiments::all(scale);
    all.retain(|one| asked.is_empty() || asked.iter().any(|asked| asked == one.id));
    all.sort_by_key(|one| ids.iter().position(|id| *id == one.id));
    Ok(all)
}

/// Runs experiments. The record includes variants that fail or can't be run here.
///
/// # Errors
/// When an experiment does not exist, or the folder can't be used.
pub fn run(settings: &Settings<'_>) -> Result<Run> {
    let start = Instant::now();
    let experiments = chosen(&settings.experiments, settings.scale)?;
    let scratch = Scratch::new(&settings.dir, 0)?;
    let (taken, machine) = (machine::now(), Machine::here(&settings.dir));
    let runs = settings.runs.unwrap_or(settings.scale.runs()).max(1);
    let rounds = runs + settings.warmup;
    let steps = experiments.iter().map(|one| one.cases.len() * rounds as usize).sum();
    let mut driver =
        Driver { settings, folder: scratch.folder(), machine: &machine, rounds, start, steps, step: 0 };
    let mut done = Vec::new();
    for experiment in experiments {
        done.push(driver.experiment(experiment)?);
    }
    Ok(Run {
        taken,
        sqluice: env!("CARGO_PKG_VERSION").to_owned(),
        scale: settings.scale.to_string(),
        runs,
        warmup: settings.warmup,
        command: settings.command.clone(),
        seconds: start.elapsed().as_secs_f64(),
        interrupted: settings.stop.load(Ordering::Relaxed),
        experiments: done,
        machine,
    })
}

struct Driver<'a> {
    settings: &'a Settings<'a>,
    folder: &'a Path,
    machine: &'a Machine,
    rounds: u32,
    start: Instant,
    steps: usize,
    step: usize,
}

/// The state of a case during the run.
struct State {
    case: Case,
    expected: Option<Found>,
    /// The results of the measured runs, each with its round.
    took: Vec<(u32, Took)>,
    /// The outcome if the case is skipped or has failed: it is not run again.
    over: Option<Outcome>,
}

impl Driver<'_> {
    fn experiment(&mut self, experiment: Experiment) -> Result<record::Experiment> {
        let Experiment {
            id,
            source,
            what,
            unit,
            more_is_better,
            count,
            published_count,
            cases,
            notes,
            relative,
            ..
        } = experiment;
        let mut states = Vec::new();
        for case in cases {
            let over = self.reason(&case)?.map(|reason| Outcome::Skipped { reason });
            states.push(State { case, expected: None, took: Vec::new(), over });
        }
        for round in 1..=self.rounds {
            for at in turn(round, states.len()) {
                self.step += 1;
                if states[at].over.is_none() && !self.stopped() {
                    self.notify(id, &states[at].case.name, round);
                    self.once(id, &mut states[at], round);
                }
            }
        }
        if relative {
            divide(&mut states);
        }
        let variants: Vec<Variant> = states.into_iter().map(variant).collect();
        Ok(record::Experiment {
            id: id.to_owned(),
            source: source.to_owned(),
            what,
            unit: unit.to_owned(),
            more_is_better,
            count,
            published_count,
            variants,
            notes,
        })
    }

    fn stopped(&self) -> bool {
        self.settings.stop.load(Ordering::Relaxed)
    }

    /// Returns the reason why a case can't be run on this machine, if any.
    fn reason(&self, case: &Case) -> Result<Option<Skip>> {
        if let Err(reason) = &case.work {
            return Ok(Some(*reason));
        }
        // A tenth of the free space and half of the memory are left for other programs.
        let disk = free_bytes(self.folder)? / 10 * 9;
        let memory = self.machine.memory_bytes / 2;
        let fits = case.disk_bytes <= disk && (memory == 0 || case.memory_bytes <= memory);
        Ok((!fits).then_some(Skip::TooLarge))
    }

    fn notify(&self, experiment: &str, variant: &str, round: u32) {
        let done = self.step - 1;
        let left = (done > 0).then(|| self.start.elapsed().mul_f64((self.steps - done) as f64 / done as f64));
        (self.settings.watch)(&Step { number: self.step, of: self.steps, experiment, variant, round, left });
    }

    /// Runs a case once.
    fn once(&self, experiment: &str, state: &mut State, round: u32) {
        let State { case, expected, took, over } = state;
        let Ok(work) = &case.work else { return };
        let folder = self.folder.join("case");
        let done = fs::create_dir(&folder).map_err(Into::into).and_then(|()| {
            let drop_row = self.settings.drop_row.is_some_and(|drops| drops(experiment, &case.name));
            let ground = Ground::new(&folder, drop_row);
            // A panic fails only its own case.
            catch_unwind(AssertUnwindSafe(|| once(work, &ground, expected)))
                .unwrap_or_else(|_| Err("the program has panicked".into()))
        });
        let removed = fs::remove_dir_all(&folder);
        match done.and_then(|took| removed.map(|()| took).map_err(Into::into)) {
            Ok(done) if round > self.settings.warmup => took.push((round, done)),
            Ok(_) => {}
            // Ctrl-C also ends a program that the case has started: its error is not a failure of the case.
            Err(_) if self.stopped() => {}
            Err(error) => *over = Some(Outcome::Failed { why: with_causes(error.as_ref()) }),
        }
    }
}

fn once(work: &case::Work, ground: &Ground<'_>, expected: &mut Option<Found>) -> case::Result<Took> {
    let took = (work.run)(ground)?;
    let expected = match expected {
        Some(expected) => expected,
        none => none.insert((work.expected)()?),
    };
    if took.found != *expected {
        return Err(different(&took.found, expected).into());
    }
    if !took.sample.is_finite() || took.sample <= 0.0 {
        return Err(format!("{} is not a valid figure", took.sample).into());
    }
    Ok(took)
}

fn different(found: &Found, expected: &Found) -> String {
    let rows =
        |digests: &Found| digests.iter().map(|one| one.rows.to_string()).collect::<Vec<_>>().join(" and ");
    let (found_rows, expected_rows) = (rows(found), rows(expected));
    if found_rows == expected_rows {
        format!("the {found_rows} rows have wrong values")
    } else {
        format!("{found_rows} rows were found instead of {expected_rows}")
    }
}

/// Formats an error and its sources: `error: cause: cause of the cause`.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    text
}

/// Divides each sample by the sample of the first case in the same round. Rounds without a sample of the first case are dropped.
fn divide(states: &mut [State]) {
    let Some(first) = states.first() else { return };
    let base: BTreeMap<u32, f64> = first.took.iter().map(|(round, took)| (*round, took.sample)).collect();
    for state in states {
        state.took.retain_mut(|(round, took)| {
            let Some(base) = base.get(round) else { return false };
            took.also.insert("per_second".to_owned(), took.sample);
            took.sample /= base;
            true
        });
        if state.took.is_empty() && state.over.is_none() && !base.is_empty() {
            state.over = Some(Outcome::Skipped { reason: Skip::Interrupted });
        }
    }
}

fn variant(state: State) -> Variant {
    let State { case, took, over, .. } = state;
    let outcome = over.unwrap_or_else(|| measured(took));
    let Case { name, provenance, published, published_note, settings, command, .. } = case;
    Variant { name, provenance, published, published_note, settings, command, outcome }
}

/// Returns the samples of all runs, and the medians of the other figures.
fn measured(took: Vec<(u32, Took)>) -> Outcome {
    if took.is_empty() {
        return Outcome::Skipped { reason: Skip::Interrupted };
    }
    let mut all: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for (_, took) in &took {
        took.also.iter().for_each(|(name, value)| all.entry(name.clone()).or_default().push(*value));
    }
    let also = all.into_iter().filter_map(|(name, values)| Some((name, Spread::of_samples(&values)?.median)));
    Outcome::Measured {
        samples: took.iter().map(|(_, took)| took.sample).collect(),
        seconds: took.iter().map(|(_, took)| took.seconds).collect(),
        also: also.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Digest;

    #[test]
    fn a_measured_case_has_a_figure_only_if_the_rows_are_right_and_no_step_fails() {
        let case = |found: (u64, u64), seconds: f64| {
            let digest = |(rows, sum)| vec![Digest { rows, sum }];
            let run = move |_: &Ground<'_>| Ok(Took::rate(1, seconds, digest(found)));
            Case::new("a command", run, move || Ok(digest((7, 9))))
        };
        let panics = Case::new("a command", |_| panic!("a bug"), || Ok(Found::new()));
        let fails = Case::new("a command", |_| Err("no luck".into()), || Ok(Found::new()));
        let experiment = Experiment::new("growth", "rows/s", 1)
            .added("right", case((7, 9), 1.0))
            .added("fewer rows", case((6, 9), 1.0))
            .added("other values", case((7, 8), 1.0))
            .added("no time", case((7, 9), 0.0))
            .added("panics", panics)
            .added("fails", fails)
            .added("too large", case((7, 9), 1.0).disk(u64::MAX))
            .added("takes too much memory", case((7, 9), 1.0).memory(u64::MAX))
            .added("right again", case((7, 9), 2.0));
        let (folder, stop) = (tempfile::tempdir().unwrap(), AtomicBool::new(false));
        let settings = Settings {
            experiments: Vec::new(),
            scale: Scale::Tiny,
            runs: None,
            warmup: 0,
            dir: folder.path().to_owned(),
            command: String::new(),
            watch: &|_| (),
            stop: &stop,
            drop_row: None,
        };
        let machine = Machine::here(folder.path());
        let mut driver = Driver {
            settings: &settings,
            folder: folder.path(),
            machine: &machine,
            rounds: 2,
            start: Instant::now(),
            steps: 18,
            step: 0,
        };
        let done = driver.experiment(experiment).unwrap();
        let outcomes = done.variants.iter().map(|variant| match &variant.outcome {
            Outcome::Measured { samples, .. } => format!("{samples:?}"),
            Outcome::Skipped { reason } => format!("{reason:?}"),
            Outcome::Failed { why } => why.clone(),
        });
        let expected = [
            "[1.0, 1.0]",
            "6 rows were found instead of 7",
            "the 7 rows have wrong values",
            "inf is not a valid figure",
            "the program has panicked",
            "no luck",
            "TooLarge",
            "TooLarge",
            "[0.5, 0.5]",
        ];
        assert_eq!(outcomes.collect::<Vec<_>>(), expected);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn an_unknown_experiment_is_refused_with_a_list_of_all() {
        let error = bytes_to_write(&["nothing".to_owned()], Scale::Tiny, 1).unwrap_err();
        assert!(error.hint_text().unwrap_or_default().contains("insert-method"), "{error}");
    }
}
