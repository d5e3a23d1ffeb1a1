//! Tests of the report page for any results of a run: the HTML is well-formed, no text of the results becomes markup, and nothing is
//! loaded.

use std::collections::BTreeMap;

use proptest::prelude::*;
use scraper::{Html, Selector};
use sqluice_lab::advice;
use sqluice_lab::record::{Experiment, Machine, Outcome, Provenance, Run, Skip, Variant};
use sqluice_lab::report;

/// The JSON file with the results of a run of all experiments, with invented figures.
const MADE_UP: &str = include_str!("../fixture/made_up_run.json");

fn made_up() -> Run {
    serde_json::from_str(MADE_UP).unwrap()
}

/// Generates names: plain ones, and some with markup or unusual characters.
fn text() -> impl Strategy<Value = String> {
    let hostile = [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "</style></svg></title><b>",
        "' onload='x",
        "&amp;&#x3c;",
        "]]>--><!--",
        "url(https://example.org/x.png)",
        "a name that is long enough to need several lines on whatever it is shown, and then some more of it",
        "",
        "Ünïcødé \u{202e} \u{0} \u{1b}[31m",
    ];
    prop_oneof![
        prop::sample::select(hostile.to_vec()).prop_map(str::to_owned),
        "[a-z=,]{1,12}".prop_map(|s| s),
        any::<String>()
    ]
}

fn sample() -> impl Strategy<Value = f64> {
    let odd = [f64::NAN, f64::INFINITY, 0.0, -1.0, f64::MAX, f64::MIN_POSITIVE];
    prop_oneof![8 => 1e-6f64..1e12, 1 => prop::sample::select(odd.to_vec())]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    let samples = prop::collection::vec(sample(), 0..4);
    let also = prop::collection::btree_map("[a-z<]{1,5}_(bytes|ms|s|x)", sample(), 0..3);
    let reasons = [Skip::NotInstalled, Skip::OtherSystem, Skip::TooLarge, Skip::Interrupted];
    prop_oneof![
        6 => (samples, also).prop_map(|(samples, also): (Vec<f64>, BTreeMap<String, f64>)| {
            Outcome::Measured { seconds: samples.clone(), samples, also }
        }),
        1 => prop::sample::select(reasons.to_vec()).prop_map(|reason| Outcome::Skipped { reason }),
        1 => text().prop_map(|why| Outcome::Failed { why }),
    ]
}

fn variant() -> impl Strategy<Value = Variant> {
    let provenances = [Provenance::Published, Provenance::Added, Provenance::Sqluice];
    let published = prop::option::of(sample());
    let note = prop::option::of(text());
    let settings = prop::collection::vec(text(), 0..3);
    (text(), prop::sample::select(provenances.to_vec()), published, note, settings, text(), outcome())
        .prop_map(|(name, provenance, published, published_note, settings, command, outcome)| Variant {
            name,
            provenance,
            published,
            published_note,
            settings,
            command,
            outcome,
        })
}

/// Generates experiments and variants, some with the names that advice looks for, some with others.
fn experiment() -> impl Strategy<Value = Experiment> {
    let made_up = made_up();
    let ids: Vec<String> = made_up.experiments.iter().map(|experiment| experiment.id.clone()).collect();
    let id = prop_oneof![prop::sample::select(ids), text()];
    let units = ["rows/s", "s", "ms", "bytes", "times", "operations/s", "<b>/s"];
    let variants = prop::collection::vec(variant(), 0..30);
    let rest =
        (any::<bool>(), any::<u64>(), prop::option::of(any::<u64>()), prop::collection::vec(text(), 0..3));
    (id, text(), text(), prop::sample::select(units.to_vec()), variants, rest).prop_map(
        move |(id, source, what, unit, mut variants, (more_is_better, count, published_count, notes))| {
            let known = made_up.experiments.iter().find(|experiment| experiment.id == id);
            for (variant, known) in variants.iter_mut().zip(known.iter().flat_map(|known| &known.variants)) {
                variant.name.clone_from(&known.name);
            }
            let unit = unit.to_owned();
            Experiment { id, source, what, unit, more_is_better, count, published_count, variants, notes }
        },
    )
}

fn run() -> impl Strategy<Value = Run> {
    let machine = (text(), text(), any::<u64>(), prop::collection::vec(text(), 0..3), sample()).prop_map(
        |(cpu, kernel, memory_bytes, compile_options, load_before)| Machine {
            cpu,
            kernel,
            memory_bytes,
            compile_options,
            load_before,
            ..Machine::default()
        },
    );
    (machine, text(), any::<bool>(), prop::collection::vec(experiment(), 0..6)).prop_map(
        |(machine, command, interrupted, experiments)| Run {
            machine,
            command,
            interrupted,
            experiments,
            ..made_up()
        },
    )
}

/// Panics unless the page is well-formed, loads nothing and runs no script.
fn assert_harmless(page: &str) {
    let parsed = Html::parse_document(page);
    assert!(parsed.errors.is_empty(), "{:?}", parsed.errors);
    let all = Selector::parse("*").unwrap();
    for element in parsed.select(&all) {
        let name = element.value().name();
        let forbidden =
            ["script", "img", "image", "iframe", "object", "embed", "base", "form", "use", "audio", "video"];
        assert!(!forbidden.contains(&name), "<{name}> in {page}");
        for (attribute, value) in element.value().attrs() {
            assert!(
                !attribute.starts_with("on") && attribute != "src" && attribute != "srcset",
                "{name} {attribute}={value}"
            );
            let fetches = attribute == "href" && name != "a" || attribute == "style";
            assert!(!fetches || value == "data:,", "{name} {attribute}={value}");
            assert!(
                attribute != "href" || name != "a" || value.starts_with('#'),
                "{name} {attribute}={value}"
            );
        }
    }
    let styles: String =
        parsed.select(&Selector::parse("style").unwrap()).flat_map(|style| style.text()).collect();
    assert!(!styles.contains("url(") && !styles.contains("@import") && !styles.contains("http"), "{styles}");
}

/// Returns the visible text of each element that matches `selector`, without tags and line breaks.
fn told(page: &str, selector: &str) -> Vec<String> {
    let words = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parsed = Html::parse_document(page);
    parsed
        .select(&Selector::parse(selector).unwrap())
        .map(|element| words(element.text().collect()))
        .collect()
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(64))]

    #[test]
    fn the_report_page_of_any_record_is_well_formed_and_loads_no_other_file(run in run(), old in prop::option::of(run())) {
        assert_harmless(&report::html(&run, old.as_ref()));
    }

    #[test]
    fn the_text_report_of_any_record_has_no_control_characters(run in run()) {
        let text = report::text(&run, Some(&run));
        prop_assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        let variants = run.experiments.iter().flat_map(|experiment| &experiment.variants);
        let failed = variants.filter(|variant| matches!(variant.outcome, Outcome::Failed { .. })).count();
        prop_assert!(text.matches("FAILED").count() >= failed, "{text}");
    }

    #[test]
    fn advice_names_only_experiments_of_the_run(run in run()) {
        for advice in advice::of(&run) {
            for id in &advice.experiments {
                prop_assert!(run.experiments.iter().any(|experiment| experiment.id == *id), "{advice:?}");
            }
        }
    }
}

#[test]
fn every_variant_has_a_row_in_a_chart_and_in_a_table() {
    let run = made_up();
    let page = report::html(&run, None);
    assert_harmless(&page);
    let variants: usize = run.experiments.iter().map(|experiment| experiment.variants.len()).sum();
    assert_eq!(told(&page, "figure.chart .row:not(.axis)").len(), variants);
    assert_eq!(told(&page, "table tbody tr").len(), variants);
    let measured = run.experiments.iter().flat_map(|experiment| &experiment.variants);
    let measured = measured.filter(|variant| matches!(variant.outcome, Outcome::Measured { .. })).count();
    assert_eq!(told(&page, "svg[role=img] > title").len(), measured);
    assert_eq!(told(&page, "svg[role=img] > desc").len(), measured);
    assert_eq!(told(&page, ".row.skipped").len(), variants - measured);
    for experiment in &run.experiments {
        assert!(
            page.contains(&format!("href=\"#x-{0}\"", experiment.id)),
            "{} is not in the contents",
            experiment.id
        );
        assert!(page.contains(&format!("id=\"x-{0}\"", experiment.id)), "{} has no section", experiment.id);
    }
}

#[test]
fn the_report_page_shows_a_wrong_result_at_the_top_in_the_contents_and_in_its_experiment() {
    let mut run = made_up();
    run.experiments[2].variants[1].outcome = Outcome::Failed { why: "999 rows instead of 1,000".to_owned() };
    let page = report::html(&run, None);
    assert!(told(&page, ".alarm")[0].starts_with("Wrong results: 1"));
    assert_eq!(told(&page, "nav .chip.bad"), ["failed"]);
    assert_eq!(told(&page, ".row.failed .why"), ["FAILED 999 rows instead of 1,000"]);
    assert_eq!(told(&page, "td.failed"), ["FAILED 999 rows instead of 1,000"]);
    assert!(told(&report::html(&made_up(), None), ".alarm, .row.failed, td.failed").is_empty());
}

#[test]
fn a_reversed_order_contradicts_the_publication_only_if_samples_do_not_overlap() {
    let mut run = made_up();
    let samples = |outcome: &mut Outcome, values: [f64; 3]| {
        if let Outcome::Measured { samples, .. } = outcome {
            *samples = values.to_vec();
        }
    };
    // Published for `index-order`: 293,000 rows/s with the index before the rows, 963,000 with it after them.
    let at = run.experiments.iter().position(|experiment| experiment.id == "index-order").unwrap();
    samples(&mut run.experiments[at].variants[0].outcome, [2e6, 2.1e6, 2.2e6]);
    samples(&mut run.experiments[at].variants[1].outcome, [1e6, 1.1e6, 1.2e6]);
    let found = report::contradictions(&run.experiments[at]);
    assert_eq!(
        (found[0].better.0.name.as_str(), found[0].worse.0.name.as_str()),
        ("index before", "index after")
    );
    assert!(
        told(&report::html(&run, None), "#x-index-order .contradicts")[0]
            .contains("index before is better here than index after")
    );
    samples(&mut run.experiments[at].variants[1].outcome, [1e6, 1.1e6, 2.1e6]);
    let again = report::contradictions(&run.experiments[at]);
    assert!(again.iter().all(|one| one.better.0.name != "index before" || one.worse.0.name != "index after"));
}

#[test]
fn a_report_marks_a_change_since_an_old_run_if_the_samples_do_not_overlap() {
    let (run, mut old) = (made_up(), made_up());
    if let Outcome::Measured { samples, .. } = &mut old.experiments[0].variants[0].outcome {
        samples.iter_mut().for_each(|sample| *sample /= 2.0);
    }
    let page = report::html(&run, Some(&old));
    assert_eq!(told(&page, "#x-insert-method .row .change"), ["▲ better, 2.00×"]);
    assert_eq!(told(&page, ".row .change").len(), 1);
    assert!(told(&page, ".compared")[0].contains("Beyond the spreads: 1 better, 0 worse."));
    let change = report::change(&run.experiments[0], &run.experiments[0].variants[0], &old).unwrap();
    assert!((change.times - 2.0).abs() < 1e-9 && change.is_beyond_spreads);
    // Runs with different row counts are not compared.
    old.experiments[0].count += 1;
    assert_eq!(report::change(&run.experiments[0], &run.experiments[0].variants[0], &old), None);
}

#[test]
fn advice_follows_the_measured_figures_and_is_absent_without_them() {
    let run = made_up();
    let about = |run: &Run, about: &str| advice::of(run).into_iter().find(|advice| advice.about == about);
    assert!(about(&run, "index").unwrap().say.starts_with("Load first, make the index afterwards"));
    assert!(about(&run, "blobs").unwrap().say.contains("up to 100\u{a0}kB"));
    assert!(about(&run, "wal").unwrap().gives_up.iter().any(|line| line.contains("damages nothing")));
    // With the figures exchanged, the advice is the opposite.
    let mut reversed = run.clone();
    let experiment =
        reversed.experiments.iter_mut().find(|experiment| experiment.id == "index-order").unwrap();
    let outcome = experiment.variants[0].outcome.clone();
    experiment.variants[0].outcome = experiment.variants[1].outcome.clone();
    experiment.variants[1].outcome = outcome;
    assert!(about(&reversed, "index").unwrap().say.starts_with("Make the index first"));
    // Without figures there is no advice.
    for experiment in &mut reversed.experiments {
        for variant in &mut experiment.variants {
            variant.outcome = Outcome::Skipped { reason: Skip::Interrupted };
        }
    }
    assert!(advice::of(&reversed).is_empty());
}
