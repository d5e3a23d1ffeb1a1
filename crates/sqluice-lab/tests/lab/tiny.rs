//! Runs all experiments at the smallest scale and checks the results that the run returns.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sqluice_lab::published::published;
use sqluice_lab::record::{Outcome, Provenance, Run, Skip, Variant};
use sqluice_lab::{Scale, Settings, Step, ids, run};
use sqluice_testkit::effort::tries;
use tempfile::TempDir;

/// Creates a temporary folder on the disk of the build: the system's folder for temporary files may be in memory.
fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn settings<'a>(
    dir: &Path,
    experiments: &[&str],
    watch: &'a dyn Fn(&Step<'_>),
    stop: &'a AtomicBool,
) -> Settings<'a> {
    Settings::new(Scale::Tiny, dir, watch, stop)
        .experiments(experiments.iter().copied())
        .command("sqluice lab")
}

/// The results of a run of all experiments, which several tests share.
static TINY: LazyLock<Run> = LazyLock::new(|| {
    let (folder, stop) = (folder(), AtomicBool::new(false));
    let run = run(&settings(folder.path(), &[], &|_| (), &stop)).unwrap();
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "something was left");
    run
});

/// Returns all variants by the experiment's id and the variant's name.
fn variants(run: &Run) -> BTreeMap<(&str, &str), &Variant> {
    let mut all = BTreeMap::new();
    for experiment in &run.experiments {
        for variant in &experiment.variants {
            let key = (experiment.id.as_str(), variant.name.as_str());
            assert!(all.insert(key, variant).is_none(), "{key:?} is there twice");
        }
    }
    all
}

#[test]
fn every_published_variant_is_run_and_compared_with_the_published_figure() {
    let all = variants(&TINY);
    for experiment in &published().experiment {
        for figure in &experiment.results {
            let key = (experiment.id.as_str(), figure.variant.as_str());
            let variant = all.get(&key).unwrap_or_else(|| panic!("{key:?} was not run"));
            assert_eq!(variant.provenance, Provenance::Published, "{key:?}");
            let has_figure = figure.value.is_some_and(f64::is_finite) || figure.new.is_some();
            assert_eq!(variant.published.is_some(), has_figure, "{key:?}");
        }
    }
}

#[test]
fn no_variant_fails_and_only_missing_programs_or_other_systems_are_reasons_to_skip() {
    for (key, variant) in variants(&TINY) {
        match &variant.outcome {
            Outcome::Measured { samples, seconds, .. } => {
                assert!(samples.iter().chain(seconds).all(|sample| *sample > 0.0), "{key:?}: {samples:?}");
                assert_eq!((samples.len(), seconds.len()), (1, 1), "{key:?}");
            }
            Outcome::Skipped { reason } => {
                assert!(matches!(reason, Skip::NotInstalled | Skip::OtherSystem), "{key:?}: {reason:?}");
            }
            Outcome::Failed { why } => panic!("{key:?}: {why}"),
        }
    }
}

#[test]
fn experiments_and_published_variants_have_the_published_order() {
    let run: Vec<&str> = TINY.experiments.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(run, ids());
    for (experiment, there) in published().experiment.iter().zip(&TINY.experiments) {
        let names = |provenance| {
            there.variants.iter().filter(move |one| one.provenance == provenance).map(|one| one.name.as_str())
        };
        let published: Vec<&str> = experiment.results.iter().map(|figure| figure.variant.as_str()).collect();
        let found: Vec<&str> = names(Provenance::Published).filter(|name| published.contains(name)).collect();
        assert_eq!(found, published, "{}", experiment.id);
        let own = !matches!(experiment.id.as_str(), "pragma-mix");
        assert_eq!(names(Provenance::Sqluice).next().is_some(), own, "{}", experiment.id);
    }
    for question in &TINY.experiments[published().experiment.len()..] {
        let measured =
            question.variants.iter().filter(|one| matches!(one.outcome, Outcome::Measured { .. })).count();
        assert!(measured >= 2, "{}", question.id);
    }
}

#[test]
fn the_record_has_machine_scale_and_commands_and_reads_back() {
    assert!(TINY.machine.compile_options.iter().any(|option| option == "ENABLE_CARRAY"));
    assert_eq!((TINY.scale.as_str(), TINY.runs, TINY.interrupted), ("tiny", 1, false));
    let json = serde_json::to_string(&*TINY).unwrap();
    let read: Run = serde_json::from_str(&json).unwrap();
    assert_eq!(serde_json::to_string(&read).unwrap(), json);
    for (key, variant) in variants(&TINY) {
        assert!(!variant.command.is_empty(), "{key:?}");
    }
}

#[test]
fn every_variant_of_every_experiment_fails_if_a_row_is_lost() {
    let (folder, stop) = (folder(), AtomicBool::new(false));
    // With quick effort, only every fourth experiment is tested.
    for id in ids().into_iter().step_by(tries(4, 1, 1)) {
        let drops = |experiment: &str, _: &str| experiment == id;
        let mut settings = settings(folder.path(), &[id], &|_| (), &stop);
        settings.drop_row = Some(&drops);
        let run = run(&settings);
        for variant in &run.unwrap().experiments[0].variants {
            let noticed = matches!(variant.outcome, Outcome::Failed { .. } | Outcome::Skipped { .. });
            assert!(noticed, "{id}, {}: {:?}", variant.name, variant.outcome);
            if let Outcome::Skipped { reason } = variant.outcome {
                assert_ne!(reason, Skip::Interrupted, "{id}, {}", variant.name);
            }
        }
    }
}

#[test]
fn a_variant_that_fails_does_not_affect_the_others() {
    let (folder, stop) = (folder(), AtomicBool::new(false));
    let drops = |_: &str, variant: &str| variant == "carray";
    let mut settings = settings(folder.path(), &["booleans"], &|_| (), &stop);
    settings.drop_row = Some(&drops);
    let run = run(&settings).unwrap();
    for variant in &run.experiments[0].variants {
        let failed =
            matches!(&variant.outcome, Outcome::Failed { why } if why.contains("rows were found instead of"));
        assert_eq!(failed, variant.name == "carray", "{}: {:?}", variant.name, variant.outcome);
    }
}

#[test]
fn an_interrupted_run_keeps_measured_figures_and_marks_the_other_variants() {
    const AFTER: usize = 5;
    let (folder, stop, steps) = (folder(), AtomicBool::new(false), AtomicUsize::new(0));
    let watch = |_: &Step<'_>| {
        if steps.fetch_add(1, Ordering::Relaxed) + 1 == AFTER {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let run = run(&settings(folder.path(), &["insert-method", "booleans"], &watch, &stop)).unwrap();
    assert!(run.interrupted);
    let outcomes: Vec<&Outcome> =
        run.experiments.iter().flat_map(|one| one.variants.iter().map(|variant| &variant.outcome)).collect();
    for (at, outcome) in outcomes.iter().enumerate() {
        match outcome {
            Outcome::Measured { .. } => assert!(at < AFTER, "{at}"),
            other => {
                assert!(at >= AFTER, "{at}");
                assert_eq!(**other, Outcome::Skipped { reason: Skip::Interrupted });
            }
        }
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0);
}

#[test]
fn every_second_round_runs_the_variants_in_reverse_order_and_warmup_rounds_come_first() {
    let (folder, stop) = (folder(), AtomicBool::new(false));
    let seen = std::sync::Mutex::new(Vec::new());
    let watch = |step: &Step<'_>| {
        assert_eq!(step.of, 15);
        seen.lock().unwrap().push((step.round, step.variant.to_owned()));
    };
    let settings = settings(folder.path(), &["booleans"], &watch, &stop).runs(2).warmup(1);
    let run = run(&settings).unwrap();
    let names: Vec<&str> = run.experiments[0].variants.iter().map(|one| one.name.as_str()).collect();
    let there = |round: u32| names.iter().map(move |name| (round, (*name).to_owned()));
    let expected: Vec<_> = there(1).chain(there(2).rev()).chain(there(3)).collect();
    assert_eq!(*seen.lock().unwrap(), expected);
    for variant in &run.experiments[0].variants {
        assert!(matches!(&variant.outcome, Outcome::Measured { samples, .. } if samples.len() == 2));
    }
}
