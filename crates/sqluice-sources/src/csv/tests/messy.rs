//! Random files with the defects of real files: stray quotes, unit rows, repeated headers, empty rows, lists and lines in fields, markers
//! of missing values.
//!
//! If a file has stray quotes, either all its records are loaded correctly, or the load reports a doubt, a bad row or an error. Of the
//! files without stray quotes, 99% are loaded correctly and without a report.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::{Message, Result};
use sqluice_core::source::{BadRow, Refused, Sink, Source};
use sqluice_core::splitmix::SplitMix64;
use sqluice_testkit::effort::tries;

use super::super::{ColumnFrom, CsvOptions, CsvReader, Doubts, Given, RepeatedHeaders, sniff};
use super::random::Random;

/// A file, and its records.
#[derive(Debug, Default)]
struct Messy {
    text: String,
    records: Vec<Vec<String>>,
    strays: usize,
}

/// The result of a load.
#[derive(Debug, Default)]
struct Loaded {
    records: Vec<Vec<String>>,
    /// The number of bad rows, plus 1 if an error ends the load.
    faults: usize,
    doubted: bool,
}

const WORDS: [&str; 12] = [
    "river",
    "Oslo",
    "green",
    "house",
    "Käse",
    "north",
    "market",
    "silent",
    "paper",
    "stone",
    "it's",
    "5 o'clock",
];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Number,
    Decimal,
    Date,
    Word,
    List,
    Lines,
}

fn value(kind: Kind, delimiter: &str, random: &mut Random) -> String {
    match kind {
        Kind::Number => random.below(100_000).to_string(),
        Kind::Decimal => format!("{}.{:02}", random.below(1000), random.below(100)),
        Kind::Date => format!("2024-{:02}-{:02}", 1 + random.below(12), 1 + random.below(28)),
        Kind::Word => random.of(&WORDS).to_owned(),
        Kind::List => {
            let between = if delimiter == ";" { "/" } else { ";" };
            let items: Vec<&str> = (0..1 + random.below(3)).map(|_| random.of(&WORDS[..6])).collect();
            items.join(between)
        }
        Kind::Lines => {
            let words: Vec<&str> = (0..2 + random.below(6)).map(|_| random.of(&WORDS)).collect();
            words.join(if random.percent(30) { "\n" } else { " " })
        }
    }
}

fn messy(seed: u64) -> Messy {
    let random = &mut Random(SplitMix64(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
    let delimiter = random.of(&[",", ";", "\t", "|"]);
    let line_end = random.of(&["\n", "\n", "\r\n", "\r", "\n\n"]);
    let mut kinds = vec![Kind::Number];
    kinds.extend((0..1 + random.below(5)).map(|_| {
        [Kind::Number, Kind::Decimal, Kind::Date, Kind::Word, Kind::List, Kind::Lines][random.below(6)]
    }));
    let stray_permille = [0, 0, 10, 30][random.below(4)];
    let rows = 8 + random.below(60);
    let names: Vec<String> =
        (0..kinds.len()).map(|column| format!("name_{}", ["a", "b", "c", "d", "e", "f"][column])).collect();
    let header = names.join(delimiter);
    let marker = random.of(&["", "", "NA", "\\N", "-"]);
    let repeats = random.percent(20);
    let mut messy = Messy::default();
    let mut lines = vec![header.clone()];
    if random.percent(10) && kinds.len() >= 3 {
        let unit = |kind: &Kind| if matches!(kind, Kind::Decimal) { "kg".to_owned() } else { String::new() };
        let units: Vec<String> = kinds.iter().map(unit).collect();
        if units.iter().any(|unit| !unit.is_empty()) {
            lines.push(units.join(delimiter));
            messy.records.push(units);
        }
    }
    for row in 0..rows {
        let mut fields = Vec::new();
        let mut record = Vec::new();
        for (column, kind) in kinds.iter().enumerate() {
            let text = if column > 0 && random.percent(5) {
                marker.to_owned()
            } else {
                value(*kind, delimiter, random)
            };
            let quoted = text.contains(delimiter) || text.contains(['\n', '"']);
            if random.below(1000) < stray_permille {
                messy.strays += 1;
                let stray = if random.percent(50) { format!("\"{text}") } else { format!("{text}\"") };
                fields.push(stray.replace('\n', " "));
                record.push(stray.replace('\n', " "));
            } else {
                fields.push(if quoted { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.clone() });
                record.push(text);
            }
        }
        lines.push(fields.join(delimiter));
        messy.records.push(record);
        if repeats && row % 7 == 5 {
            lines.push(header.clone());
        }
    }
    if random.percent(10) {
        let empty = delimiter.repeat(kinds.len() - 1);
        lines.extend((0..1 + random.below(4)).map(|_| empty.clone()));
    }
    messy.text = lines.join(line_end);
    if random.percent(90) {
        messy.text += line_end;
    }
    messy
}

struct Collect<'l>(&'l mut Loaded);

impl Sink for Collect<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> std::result::Result<(), Refused> {
        for row in 0..batch.rows {
            let value = |value: Value<'_>| match value {
                Value::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
                _ => String::new(),
            };
            self.0.records.push(batch.columns.iter().map(|column| value(column.get(row))).collect());
        }
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        assert!(bad.error.place().is_some_and(|place| place.line.is_some()));
        self.0.faults += 1;
        Ok(())
    }
}

/// Reads a file as a load does that accepts bad rows.
fn load(text: &str) -> Loaded {
    let sniffed = sniff(text.as_bytes(), true, &Given::default());
    let options = CsvOptions::new()
        .dialect(sniffed.dialect)
        .header(sniffed.header)
        .fields(Some(sniffed.fields).filter(|fields| *fields > 0 && !sniffed.header))
        .skip_lines(sniffed.skip_lines)
        .numbers(sniffed.numbers.clone())
        .has_quoted_fields(sniffed.has_quoted_fields)
        .leave_out_empty(true);
    let mut loaded = Loaded::default();
    if sniffed.refusal().is_some() {
        loaded.faults = 1;
        return loaded;
    }
    let Ok(reader) =
        CsvReader::new(Box::new(Cursor::new(text.as_bytes().to_vec())), Path::new("in.csv"), options)
    else {
        loaded.faults = 1;
        return loaded;
    };
    let doubts = Arc::<Doubts>::default();
    let columns = (0..reader.header().len()).map(ColumnFrom::Field).collect();
    let source = reader.into_source(columns, 0..u64::MAX).with_doubts(Arc::clone(&doubts));
    let repeated = Arc::<RepeatedHeaders>::default();
    let mut source = source.with_repeated(Arc::clone(&repeated));
    while let Some(mut part) = source.next_part().unwrap() {
        if part.decode(&mut Collect(&mut loaded)).is_err() {
            loaded.faults += 1;
            break;
        }
    }
    let kept = |note: &Message| note.to_string().contains("loaded as");
    // A load always notes that a file has no header.
    loaded.doubted = !sniffed.header || doubts.warning().is_some() || repeated.notes().iter().any(kept);
    loaded
}

#[test]
fn a_messy_file_is_loaded_correctly_or_the_load_reports_a_doubt() {
    let files = tries(1_000, 2_000, 200_000);
    let (mut sound, mut wrong) = (0, Vec::new());
    for seed in 0..files {
        let messy = messy(seed);
        let loaded = load(&messy.text);
        let is_said = loaded.doubted || loaded.faults > 0;
        let is_right = loaded.records == messy.records;
        let words = || sniff(messy.text.as_bytes(), true, &Given::default()).words();
        assert!(is_right || is_said || messy.strays == 0, "{seed}: {}: {messy:?}\n{loaded:?}", words());
        if messy.strays == 0 {
            sound += 1;
            if !is_right || is_said {
                wrong.push(format!("{seed}: {:?}", messy.text));
            }
        }
    }
    let shown = wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n");
    assert!(wrong.len() * 100 <= sound, "{} of {sound}\n{shown}", wrong.len());
}
