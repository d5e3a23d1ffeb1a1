//! Tests of `scan`, which reads a whole source to infer the types of columns, and of `Watch`, which checks inferred types during a load.

use std::sync::Mutex;

use proptest::prelude::*;
use sqluice_core::batch::{Batch, Bytes, Column, Span, Spans, Value, Values};
use sqluice_core::error::{Error, ErrorKind, Result};
use sqluice_core::progress::{Amount, Cancel, Context, Progress};
use sqluice_core::source::{BadRow, Part, Refused, RefusedRow, Sink, Source};

use super::super::{Evidence, Inferred, Watch, Watched, scan};
use super::column;

/// A source of one column, whose parts count as ten bytes of progress. A row of "fault" fails. A row of "bad" is a bad row, and so is a row
/// that the sink refuses.
#[derive(Clone, Debug)]
struct Rows(pub std::collections::VecDeque<Vec<String>>);

impl Rows {
    fn new(parts: &[&[&str]]) -> Rows {
        Rows(parts.iter().map(|part| part.iter().map(|&text| text.to_owned()).collect()).collect())
    }
}

struct RowsPart(Vec<String>);

impl Source for Rows {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        match self.0.pop_front() {
            Some(rows) if rows == ["cut"] => Err(Error::input("cut")),
            rows => Ok(rows.map(|rows| Box::new(RowsPart(rows)) as Box<dyn Part>)),
        }
    }

    fn total(&self) -> Option<Amount> {
        Some(Amount { rows: 0, bytes: 10 * self.0.len() as u64 })
    }
}

impl Part for RowsPart {
    fn first_row(&self) -> u64 {
        7
    }

    fn input_bytes(&self) -> u64 {
        10
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        for text in &self.0 {
            if let Some(fault) = text.strip_prefix("fault") {
                // The sleep lets other threads find the faults of later parts first.
                std::thread::sleep(std::time::Duration::from_millis(2));
                return Err(Error::input(format!("fault{fault}")));
            }
            if text == "bad" {
                sink.bad_row(bad("malformed"))?;
                continue;
            }
            let span = [Span { start: 0, len: text.len() as u32 }];
            let values = Values::Text(Bytes { data: text.as_bytes(), spans: Spans::Anywhere(&span) });
            let columns = vec![Column::NULL, Column::new(values)];
            match sink.rows(&Batch { rows: 1, columns }) {
                Err(Refused::Rows(_)) => sink.bad_row(bad("refused"))?,
                taken => taken.map_err(|refused| refused.first().1)?,
            }
        }
        Ok(())
    }
}

fn bad(message: &str) -> BadRow {
    BadRow { error: Error::input(message), raw: Vec::new() }
}

fn of<'a>(values: impl IntoIterator<Item = &'a String>) -> Evidence {
    let mut evidence = Evidence::new();
    values.into_iter().for_each(|text| evidence.add(text.as_bytes()));
    evidence
}

/// Decodes all parts, and returns the number of rows that reached the sink.
fn load(mut source: Box<dyn Source>) -> (usize, Result<()>) {
    let mut rows = 0;
    let mut decode = || {
        while let Some(mut part) = source.next_part()? {
            assert_eq!((part.first_row(), part.input_bytes()), (7, 10));
            part.decode(&mut |batch: &Batch<'_>| {
                rows += batch.rows;
                Ok(())
            })?;
        }
        Ok(())
    };
    let loaded = decode();
    (rows, loaded)
}

fn watch(guess: Inferred, sample: &[&str]) -> Watch {
    let sample: Vec<String> = sample.iter().map(|&text| text.to_owned()).collect();
    Watch::new(&[Watched {
        column: 1,
        guess,
        evidence: of(&sample),
        is_number: false,
        is_result: false,
        counting: None,
    }])
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(256))]

    #[test]
    fn a_scan_gives_the_same_evidence_with_any_number_of_threads(
        parts in prop::collection::vec(column(), 0..12),
        threads in 1..5usize,
    ) {
        let mut source = Rows(parts.clone().into());
        let (columns, read) = scan(&mut source, &[1, 0, 1], &[], threads, &Context::default());
        read.unwrap();
        let evidence: Vec<Evidence> = columns.iter().map(|column| column.evidence).collect();
        let expected = of(parts.iter().flatten());
        prop_assert_eq!(evidence, [expected, Evidence::new(), expected]);
    }

    #[test]
    fn a_load_with_a_guessed_type_succeeds_only_if_the_guess_is_right(
        parts in prop::collection::vec(column(), 1..6),
        sample in 1..5usize,
    ) {
        let all = of(parts.iter().flatten());
        let evidence = of(parts[0].iter().take(sample));
        let watch = Watch::new(&[Watched { column: 1, guess: evidence.conclude(), evidence, is_number: false, is_result: false, counting: None }]);
        let (rows, loaded) = load(watch.over(Box::new(Rows(parts.clone().into()))));
        prop_assert_eq!(loaded.is_err(), watch.broken());
        if loaded.is_ok() {
            prop_assert_eq!(rows, parts.concat().len());
            prop_assert_eq!(evidence.conclude(), all.conclude());
            prop_assert_eq!(watch.evidence(), [all]);
        } else if !evidence.is_empty() {
            // The load may stop although the guess was right: a first part may look like text until a point appears in a later part, and
            // the column may be text in the end.
            prop_assert!(evidence.conclude() != all.conclude() || evidence.conclude() == Inferred::Text);
        }
    }
}

#[test]
fn a_scan_returns_the_error_of_the_first_part_that_fails() {
    for threads in 1..6 {
        let parts: &[&[&str]] =
            &[&["1"], &["2"], &["3", "fault a"], &["fault b"], &["4"], &["fault c"], &["cut"]];
        let error = scan(&mut Rows::new(parts), &[1], &[], threads, &Context::default()).1.unwrap_err();
        assert_eq!(error.message(), "fault a", "{threads} threads");
        let error =
            scan(&mut Rows::new(&[&["1"], &["cut"], &["2"]]), &[1], &[], threads, &Context::default()).1;
        assert_eq!(error.unwrap_err().message(), "cut");
    }
}

#[test]
fn a_scan_reports_its_progress_and_stops_when_cancelled() {
    struct Noted(Mutex<Vec<Amount>>);
    impl Progress for Noted {
        fn advance(&self, done: Amount) {
            self.0.lock().unwrap().push(done);
        }
    }
    let noted = Noted(Mutex::new(Vec::new()));
    let source = Rows::new(&[&["1"], &[], &["2"]]);
    scan(&mut source.clone(), &[1], &[], 2, &Context::default().progress(&noted)).1.unwrap();
    assert_eq!(*noted.0.lock().unwrap(), [Amount { rows: 0, bytes: 10 }; 3]);

    let cancel = Cancel::new();
    cancel.cancel();
    let stopped = scan(&mut source.clone(), &[1], &[], 2, &Context::default().cancel(&cancel)).1.unwrap_err();
    assert_eq!(stopped.kind(), ErrorKind::Interrupted);
}

#[test]
fn a_wrongly_guessed_type_stops_the_load_after_the_part_that_shows_it() {
    let watch = watch(Inferred::Integer, &["1", "2"]);
    let source = watch.over(Box::new(Rows::new(&[&["1"], &["2", "1.5", "3"], &["4"]])));
    assert_eq!(source.total(), Some(Amount { rows: 0, bytes: 30 }));
    assert!(!watch.broken());
    let (rows, loaded) = load(source);
    let message = "column 2 is INTEGER in the first rows, but REAL with later ones";
    assert_eq!(loaded.unwrap_err().message(), message);
    assert_eq!(rows, 4, "the sink took all rows of the part");
    assert!(watch.broken() && watch.clone().broken());
    assert_eq!(watch.evidence()[0].conclude(), Inferred::Real);
    // Once a guess is wrong, all other parts of the load fail, too.
    let (rows, loaded) = load(watch.over(Box::new(Rows::new(&[&["1"]]))));
    assert_eq!((rows, loaded.unwrap_err().message()), (0, message.to_owned()));
}

/// A sink that refuses a text, and counts all other values.
struct Refusing {
    text: &'static str,
    stop: bool,
    rows: usize,
    bad_rows: usize,
}

impl Sink for Refusing {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        if batch.columns[1].get(0) != Value::Text(self.text.as_bytes()) {
            self.rows += 1;
            return Ok(());
        }
        let error = Error::input("refused");
        Err(match self.stop {
            true => Refused::Stop { at: Some((0, 1)), error },
            false => Refused::Rows(vec![RefusedRow { row: 0, column: 1, error }]),
        })
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        self.bad_rows += 1;
        Ok(())
    }
}

#[test]
fn a_value_refused_because_of_a_guessed_type_refutes_the_guess() {
    for stop in [false, true] {
        let too_long = "12345678901234567890";
        let mut sink = Refusing { text: too_long, stop, rows: 0, bad_rows: 0 };
        let watch = watch(Inferred::Integer, &["1"]);
        let mut source = watch.over(Box::new(Rows::new(&[&["1", "bad", too_long]])));
        let decoded = source.next_part().unwrap().unwrap().decode(&mut sink);
        assert!(decoded.unwrap_err().message().ends_with("but TEXT with later ones"));
        assert!(watch.broken());
        assert_eq!((sink.rows, sink.bad_rows), (1, if stop { 1 } else { 2 }));
    }
}

#[test]
fn a_value_refused_for_another_reason_does_not_refute_a_guessed_type() {
    for stop in [false, true] {
        let mut sink = Refusing { text: "2", stop, rows: 0, bad_rows: 0 };
        let watch = watch(Inferred::Integer, &["1"]);
        let mut source = watch.over(Box::new(Rows::new(&[&["1", "2"]])));
        let decoded = source.next_part().unwrap().unwrap().decode(&mut sink);
        assert_eq!(
            decoded.map_err(|error| error.message().to_owned()).err(),
            stop.then(|| "refused".to_owned())
        );
        assert!(!watch.broken());
    }
}

#[test]
fn a_scan_leaves_bad_rows_out() {
    let mut source = Rows::new(&[&["1"], &["bad", "2"], &["1.5", "bad"]]);
    let (columns, read) = scan(&mut source, &[1], &[], 2, &Context::default());
    read.unwrap();
    assert_eq!(columns[0].evidence.conclude(), Inferred::Real);
}

#[test]
fn a_failed_scan_returns_the_evidence_of_the_parts_before_the_fault() {
    for threads in 1..4 {
        let mut source = Rows::new(&[&["1"], &["1.5", "2"], &["cut"], &["x"]]);
        let (columns, read) = scan(&mut source, &[1], &[], threads, &Context::default());
        assert_eq!(read.unwrap_err().message(), "cut");
        assert_eq!(columns[0].evidence.conclude(), Inferred::Real);
    }
}
