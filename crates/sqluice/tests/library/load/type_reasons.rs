//! The reasons for a column to be TEXT: the value that decides, its place, and the setting that helps, wherever the value stands.

#![cfg(feature = "load")]

use std::path::PathBuf;

use sqluice::convert::Convert;
use sqluice::load::Load;
use sqluice::plan::ColumnReport;
use sqluice_testkit::effort::tries;

use crate::support::files::Home;
use crate::support::load::{Way, run};

/// The size of a file whose first half is longer than a sample.
const LATE_BYTES: usize = 6_000_000;

/// Returns the report about the column `v` after a load of these files.
fn column(home: &Home, files: Vec<PathBuf>) -> ColumnReport {
    let report = run(Load::new(home.path("x.db"), files).table("t")).unwrap();
    let columns = &report.tables[0].columns;
    columns.iter().find(|column| column.name == "v").unwrap().clone()
}

/// Returns the line of a row. An empty value is a NULL.
fn line(format: &str, row: usize, value: &str) -> String {
    match (format, value) {
        ("csv", _) => format!("{row:0>12},{value}\n"),
        (_, "") => format!("{{\"id\":{row:9},\"v\":null}}\n"),
        _ if value.parse::<f64>().is_ok() => format!("{{\"id\":{row},\"v\":{value}}}\n"),
        _ => format!("{{\"id\":{row},\"v\":\"{value}\"}}\n"),
    }
}

/// Returns files of about `bytes` bytes in all whose values are numbers, but for `value` in the last file, at the share `at` of its rows.
/// Also returns the line of `value`.
fn files(home: &Home, format: &str, count: usize, bytes: usize, at: f64, value: &str) -> (Vec<PathBuf>, u64) {
    let rows = bytes / count / 24;
    let at = ((rows - 1) as f64 * at) as usize;
    let mut paths = Vec::new();
    for file in 0..count {
        let mut text = String::from(if format == "csv" { "id,v\n" } else { "" });
        for row in 0..rows {
            let number = format!("{}.{}", 1000 + row % 9000, 1 + row % 9);
            let is_value = file + 1 == count && row == at;
            text += &line(format, row, if is_value { value } else { &number });
        }
        paths.push(Way::Path.put(home, &format!("{count}_{bytes}_{file}.{format}"), text.as_bytes()));
    }
    (paths, at as u64 + if format == "csv" { 2 } else { 1 })
}

#[test]
fn the_only_value_that_is_no_number_is_reported_wherever_it_stands() {
    for bytes in [1000, 100_000, 5_000_000] {
        for format in ["csv", "ndjson"] {
            for count in [1, 2] {
                for at in [0.0, 0.5, 1.0] {
                    let home = Home::new();
                    let (paths, line) = files(&home, format, count, bytes, at, "unknown");
                    let case = format!("{format}, {count} files of {bytes} bytes in all, at {at}");
                    let column = column(&home, paths.clone());
                    assert_eq!(column.declared_type, "TEXT", "{case}");
                    let missed = column.missed.unwrap_or_else(|| panic!("{case}"));
                    assert_eq!((missed.near, missed.value.as_str()), ("REAL", "unknown"), "{case}");
                    assert_eq!((missed.file.as_ref(), missed.line), (paths.last(), Some(line)), "{case}");
                    assert_eq!(missed.others, 1, "{case}");
                }
            }
        }
    }
}

#[test]
fn a_number_that_would_print_differently_is_reported_wherever_it_stands() {
    for bytes in [1000, 5_000_000] {
        for count in [1, 2] {
            let home = Home::new();
            let (paths, line) = files(&home, "csv", count, bytes, 1.0, "1.10");
            let missed = column(&home, paths.clone()).missed.unwrap();
            assert_eq!((missed.value.as_str(), missed.line, missed.others), ("1.10", Some(line), 0));
            assert_eq!(missed.file.as_ref(), paths.last());
        }
    }
}

#[test]
fn a_null_marker_among_numbers_is_reported_with_its_place_and_the_type_of_the_other_values() {
    for marker in ["\\N", "NULL", "NA", "N/A", "-", "#N/A", "n/a"] {
        for bytes in [1000, 5_000_000] {
            let home = Home::new();
            let (paths, line) = files(&home, "csv", 1, bytes, 1.0, marker);
            let column = column(&home, paths);
            let nulls = column.nulls.unwrap_or_else(|| panic!("{marker} in {bytes} bytes"));
            assert_eq!((&nulls.tokens[..], nulls.line), (&[marker.to_owned()][..], Some(line)));
            assert_eq!((nulls.near, nulls.nulls, nulls.readable), (Some("REAL"), 1, true), "{marker}");
            assert_eq!(column.missed, None, "{marker}");
        }
    }
}

#[test]
fn every_null_marker_is_reported_among_numbers_and_dates_but_only_backslash_n_among_other_text() {
    let of = |values: &[&str]| {
        let home = Home::new();
        let text: String = values.iter().map(|value| format!("1,{value}\n")).collect();
        let path = Way::Path.put(&home, "t.csv", format!("id,v\n{text}").as_bytes());
        column(&home, vec![path]).nulls.map(|nulls| (nulls.tokens.join(" "), nulls.nulls))
    };
    let found = |tokens: &str, count| Some((tokens.to_owned(), count));
    assert_eq!(of(&["NA", "NA", "NA", "NA", "5"]), found("NA", 4));
    assert_eq!(of(&["5", "-", "NA", "NA", "6.5"]), found("NA -", 3));
    assert_eq!(of(&["2024-01-31", "NULL", "2024-02-01"]), found("NULL", 1));
    assert_eq!(of(&["31.1.2024 12:30", "-", "1.2.2024 08:00"]), found("-", 1));
    assert_eq!(of(&["Rome", "\\N", "Oslo"]), found("\\N", 1));
    assert_eq!(of(&["Rome", "NA", "Oslo"]), None);
    assert_eq!(of(&["A-1", "-", "A-2"]), None);
    let many = ["Rome"; 100];
    assert_eq!(of(&[&many[..], &["\\N"]].concat()), found("\\N", 1));
}

#[test]
fn numbers_in_another_notation_are_reported_with_the_settings_that_read_them() {
    let of = |values: &[&str]| {
        let home = Home::new();
        let text: String = values.iter().map(|value| format!("1;{value}\n")).collect();
        let path = Way::Path.put(&home, "t.csv", format!("id;v\n{text}").as_bytes());
        let missed = column(&home, vec![path]).missed;
        missed.map_or(String::new(), |missed| {
            let settings = missed.read_by.iter().map(|(setting, value)| format!("{setting} {value}"));
            settings.collect::<Vec<_>>().join(", ")
        })
    };
    assert_eq!(of(&["1,234", "12", "1,234,567.5"]), "thousands v=,");
    assert_eq!(of(&["3,14", "2,5", "17"]), "decimal_comma v");
    assert_eq!(of(&["1.234,50", "2,5", "1.234.567,00"]), "decimal_comma v, thousands v=.");
    assert_eq!(of(&["1'234", "950", "12'345.5"]), "thousands v='");
    assert_eq!(of(&["555 123 456", "555 123 457"]), "", "telephone numbers");
    assert_eq!(of(&["1.2.3", "1.2.4"]), "", "versions");
    assert_eq!(of(&["$5.00", "7", "($8.50)"]), "accounting v");
    assert_eq!(of(&["$5.00", "$6.00"]), "accounting v");
    assert_eq!(of(&["€ 1,234.50", "€ 2.50"]), "thousands v=,, accounting v");
    assert_eq!(of(&["1.234,50 €", "2,50 €"]), "decimal_comma v, thousands v=., accounting v");
    assert_eq!(of(&["5.00 USD", "NA", "6.00 USD"]), "accounting v");
    assert_eq!(of(&["(5.00)", "6.00"]), "accounting v");
    assert_eq!(of(&["5.00-", "6.00"]), "accounting v");
    assert_eq!(of(&["12.5%", "13%"]), "percent v");
    assert_eq!(of(&["12,5%", "13%"]), "decimal_comma v, percent v");
    assert_eq!(of(&["(12.5%)", "13%"]), "accounting v, percent v");
    assert_eq!(of(&["(1)", "(2)"]), "", "numbers of footnotes");
    assert_eq!(of(&["$5.00", "€6.00"]), "", "two currencies");
    assert_eq!(of(&["5 MHZ", "6 MHZ"]), "", "no currency");
}

/// Returns files of about `bytes` bytes in all whose column `v` is mostly NULL. It has `rare` once in 20,000 rows, and numbers in the last
/// quarter of the last file. The last file also has "unknown" at the share `at` of its rows.
fn late_files(
    home: &Home,
    format: &str,
    count: usize,
    bytes: usize,
    (rare, at): (&str, f64),
) -> Vec<PathBuf> {
    let rows = bytes / count / 24;
    let at = ((rows - 1) as f64 * at) as usize;
    let mut paths = Vec::new();
    for file in 0..count {
        let mut text = String::from(if format == "csv" { "id,v\n" } else { "" });
        for row in 0..rows {
            let is_last = file + 1 == count;
            let value = match () {
                () if is_last && row == at => "unknown".to_owned(),
                () if is_last && row > rows * 3 / 4 => format!("{}.5", row % 9000),
                () if row % 20_000 == 100 => rare.to_owned(),
                () => String::new(),
            };
            text += &line(format, row, &value);
        }
        paths.push(Way::Path.put(home, &format!("late{file}.{format}"), text.as_bytes()));
    }
    paths
}

#[test]
fn a_column_without_values_in_the_sample_is_reported_with_the_value_that_makes_it_text() {
    for format in ["csv", "ndjson"] {
        for count in [1, 2] {
            for at in [0.75, 1.0, 0.7, 0.751, 0.9].into_iter().take(tries(2, 5, 5)) {
                let home = Home::new();
                let paths = late_files(&home, format, count, LATE_BYTES * count, ("", at));
                let case = format!("{format}, {count} files, at {at}");
                let column = column(&home, paths.clone());
                assert_eq!(column.declared_type, "TEXT", "{case}");
                let missed = column.missed.unwrap_or_else(|| panic!("{case}"));
                assert_eq!(
                    (missed.near, missed.value.as_str(), missed.others),
                    ("REAL", "unknown", 1),
                    "{case}"
                );
                let text = std::fs::read_to_string(paths.last().unwrap()).unwrap();
                let line = 1 + text.lines().position(|line| line.contains("unknown")).unwrap() as u64;
                assert_eq!((missed.file.as_ref(), missed.line), (paths.last(), Some(line)), "{case}");
            }
        }
    }
}

#[test]
fn a_column_that_one_text_in_the_sample_makes_text_is_reported_with_the_type_of_the_later_values() {
    for format in ["csv", "ndjson"] {
        for count in [1, 2] {
            let home = Home::new();
            let paths = late_files(&home, format, count, LATE_BYTES * count, ("none known", 0.9));
            let missed =
                column(&home, paths.clone()).missed.unwrap_or_else(|| panic!("{format}, {count} files"));
            assert_eq!((missed.near, missed.value.as_str()), ("REAL", "none known"));
            let line = if format == "csv" { 102 } else { 101 };
            assert_eq!((missed.file.as_ref(), missed.line), (paths.first(), Some(line)), "{format}");
        }
    }
}

#[test]
fn a_text_column_that_is_empty_in_the_sample_gets_no_note() {
    let home = Home::new();
    let mut text = String::from("id,v\n");
    (0..300_000).for_each(|row| text += &format!("{row:0>12},{}\n", if row < 200_000 { "" } else { "Rome" }));
    let column = column(&home, vec![Way::Path.put(&home, "t.csv", text.as_bytes())]);
    assert_eq!((column.declared_type.as_str(), column.missed, column.nulls), ("TEXT", None, None));
}

#[test]
fn numbers_after_a_sample_of_text_or_dates_are_reported() {
    // The texts fill the sample, and are less than a tenth of the values.
    let (rows, texts) = (130_000, 12_000);
    for (format, header) in [("csv", "id,v\n"), ("ndjson", "")] {
        for count in [1, 2] {
            for first in ["Rome", "2024-01-31", "12 Main St", "A-1"] {
                let home = Home::new();
                let (digit, many) =
                    if format == "csv" { ("0", "0".repeat(200)) } else { (":", format!(":{:200}", "")) };
                let of_row = |row: usize| match row < texts {
                    true => line(format, row, first).replacen(digit, &many, 1),
                    false => line(format, row, &format!("{row}.5")),
                };
                let put = |file: usize| {
                    let text: String = (rows * file / count..rows * (file + 1) / count).map(of_row).collect();
                    Way::Path.put(&home, &format!("{file}.{format}"), format!("{header}{text}").as_bytes())
                };
                let paths: Vec<PathBuf> = (0..count).map(put).collect();
                let case = format!("{first:?} in {count} files of {format}");
                let column = column(&home, paths.clone());
                assert_eq!(column.declared_type, "TEXT", "{case}");
                let missed = column.missed.unwrap_or_else(|| panic!("{case}"));
                let first_line = 1 + header.lines().count() as u64;
                assert_eq!((missed.near, missed.value.as_str()), ("REAL", first), "{case}");
                assert_eq!((missed.file.as_ref(), missed.line), (paths.first(), Some(first_line)), "{case}");
                // With two files, the sample of the second may show mostly numbers. Then the counts are those of the samples.
                if count == 1 || missed.at_most {
                    assert_eq!((missed.values, missed.at_most), (rows as u64, true), "{case}");
                    assert!((texts..texts * 3 / 2).contains(&(missed.others as usize)), "{case}: {missed:?}");
                }
            }
        }
    }
}

#[test]
fn codes_with_an_e_among_their_digits_are_not_reported_as_numbers() {
    let of = |values: &[&str]| {
        let home = Home::new();
        let text: String = values.iter().map(|value| format!("1,{value}\n")).collect();
        column(&home, vec![Way::Path.put(&home, "codes.csv", format!("id,v\n{text}").as_bytes())]).missed
    };
    let codes = ["110E0010", "12E5", "13e6", "14E7", "15E8", "16E9"];
    assert!(of(&codes).is_none());
    assert!(of(&[&codes[..], &["1AE3"]].concat()).is_none());
    // Numbers with a point, a sign or no exponent show that the codes are numbers, too.
    for number in ["1.5E3", "1E+05", "2e-4", "-3E5", "17", "2.5"] {
        let numbers = [&codes[1..], &[number, "unknown"]].concat();
        assert_eq!(of(&numbers).map(|missed| missed.near), Some("REAL"), "{number}");
    }
}

#[test]
fn a_date_among_numbers_is_reported() {
    let home = Home::new();
    let (paths, line) = files(&home, "csv", 1, 1000, 0.5, "2024-01-31");
    let missed = column(&home, paths).missed.unwrap();
    assert_eq!((missed.value.as_str(), missed.line, missed.others), ("2024-01-31", Some(line), 1));
}

#[test]
fn a_text_column_with_some_numbers_gets_no_note_except_for_a_null_marker() {
    for (share, marker) in [(2, "Oslo"), (3, "\\N"), (100, "\\N")] {
        let home = Home::new();
        let value = |row: usize| match row {
            290_000 => marker.to_owned(),
            _ if row.is_multiple_of(share) && row > 50_000 => row.to_string(),
            _ => "Rome".to_owned(),
        };
        let text: String = (0..300_000).map(|row| line("csv", row, &value(row))).collect();
        let column = column(&home, vec![Way::Path.put(&home, "t.csv", format!("id,v\n{text}").as_bytes())]);
        assert_eq!(column.missed, None, "{share}");
        let nulls = column.nulls.map(|nulls| (nulls.tokens.join(" "), nulls.nulls, nulls.line));
        let expected = (marker == "\\N").then(|| (marker.to_owned(), 1, Some(290_002)));
        assert_eq!(nulls, expected, "{share}");
    }
}

#[test]
fn the_reported_value_is_the_one_that_a_number_type_would_print_differently() {
    let of = |values: &[&str], more: usize| {
        let home = Home::new();
        let more = std::iter::repeat_n("27.29924", more);
        let text: String = more.chain(values.iter().copied()).map(|value| format!("1,{value}\n")).collect();
        let path = Way::Path.put(&home, "t.csv", format!("id,v\n{text}").as_bytes());
        let column = column(&home, vec![path]);
        column.missed.map_or(column.declared_type, |missed| missed.value)
    };
    for more in [10, 5000, 400_000] {
        assert_eq!(of(&["27.29924", "27.200000760000002"], more), "REAL");
        assert_eq!(of(&["27.29924", "27.200000760000003"], more), "27.200000760000003");
        assert_eq!(of(&["27.200000760000002", "27.29924", "1.10"], more), "1.10");
        assert_eq!(of(&["27", "27.29924", "28.0"], more), "28.0");
        assert_eq!(of(&["28.0", "27.29924", "27"], more), "27");
        assert_eq!(of(&["27", "27.29924", "28"], more), "REAL");
    }
}

#[test]
fn a_null_marker_in_quotes_is_reported_as_a_text_that_the_setting_null_does_not_read() {
    for bytes in [1000, 5_000_000] {
        for count in [1, 2] {
            let home = Home::new();
            let (paths, line) = files(&home, "csv", count, bytes, 1.0, "\"NA\"");
            let column = column(&home, paths.clone());
            assert_eq!(column.nulls, None, "{bytes}");
            let missed = column.missed.unwrap();
            assert_eq!((missed.value.as_str(), missed.others, missed.quoted), ("NA", 1, true), "{bytes}");
            assert_eq!((missed.file.as_ref(), missed.line), (paths.last(), Some(line)), "{bytes}");
        }
    }
}

#[test]
fn quoted_null_markers_are_reported_as_text_not_as_null_markers() {
    let of = |values: &[&str]| {
        let home = Home::new();
        let text: String = values.iter().map(|value| format!("1,{value}\n")).collect();
        let path = Way::Path.put(&home, "t.csv", format!("id,v\n{text}").as_bytes());
        let column = column(&home, vec![path]);
        let missed = column.missed.map(|missed| (missed.value, missed.others, missed.quoted));
        (column.nulls.map(|nulls| (nulls.tokens.join(" "), nulls.nulls, nulls.near)), missed)
    };
    let quoted = |value: &str, others| Some((value.to_owned(), others, true));
    assert_eq!(of(&["1", "2", "\"NA\"", "\"NA\"", "\"NA\"", "3", "4"]), (None, quoted("NA", 3)));
    assert_eq!(of(&["Rome", "\"\\N\"", "Oslo"]), (None, None));
    let nulls = Some(("NA".to_owned(), 1, None));
    assert_eq!(of(&["1", "2", "NA", "\"-\"", "3", "4", "5", "6", "7"]), (nulls, quoted("-", 1)));
    let other = Some(("unknown".to_owned(), 2, false));
    assert_eq!(of(&["1", "\"NA\"", "unknown", "3", "4", "5", "6", "7", "8", "9"]), (None, other));
}

#[test]
fn a_note_suggests_a_setting_only_if_it_reads_every_value_of_the_column() {
    let of = |values: &[&str]| {
        let home = Home::new();
        let text: String = (1..40).map(|row| format!("1;{row}.5\n")).collect();
        let text = values.iter().fold(text, |text, value| format!("{text}1;{value}\n"));
        let path = Way::Path.put(&home, "t.csv", format!("id;v\n{text}").as_bytes());
        let missed = column(&home, vec![path]).missed.unwrap();
        let settings = missed.read_by.iter().map(|(setting, value)| format!("{setting} {value}"));
        (settings.collect::<Vec<_>>().join(", "), missed.value, missed.signs)
    };
    let none = |value: &str, signs| (String::new(), value.to_owned(), Some(signs));
    assert_eq!(of(&["$5.00"]), ("accounting v".to_owned(), "$5.00".to_owned(), None));
    assert_eq!(of(&["12.5%"]), none("12.5%", "a percent sign"));
    assert_eq!(of(&["$5.00", "€6.00"]), none("$5.00", "a currency"));
    assert_eq!(of(&["unknown", "$5.00"]), none("$5.00", "a currency"));
    assert_eq!(of(&["(5.00)", "unknown"]), none("(5.00)", "parentheses"));
    assert_eq!(of(&["5.00-", "unknown"]), none("5.00-", "a minus at the end"));
    assert_eq!(of(&["1,234.50", "1'234.50"]), none("1,234.50", "separators"));
    assert_eq!(of(&["unknown"]), (String::new(), "unknown".to_owned(), None));
}

#[test]
fn the_settings_that_a_note_suggests_load_the_column_as_numbers() {
    let values: [&[&str]; 8] = [
        &["$5.00", "7", "($8.50)"],
        &["5.00-", "6.00"],
        &["€ 1,234.50", "€ 2.50"],
        &["1.234,50 €", "2,50 €"],
        &["12.5%", "13%"],
        &["12,5 %", "-13%"],
        &["(12.5%)", "13%"],
        &["1'234 CHF", "950 CHF"],
    ];
    for values in values {
        let home = Home::new();
        let text: String = values.iter().map(|value| format!("1;{value}\n")).collect();
        let path = Way::Path.put(&home, "t.csv", format!("id;v\n{text}").as_bytes());
        let missed = column(&home, vec![path.clone()]).missed.unwrap();
        let convert = missed.read_by.iter().map(|(setting, value)| match *setting {
            "accounting" => Convert::Accounting,
            "percent" => Convert::Percent,
            "decimal_comma" => Convert::DecimalComma,
            _ => Convert::Thousands(value.trim_start_matches("v=").to_owned()),
        });
        let convert: Vec<(String, Convert)> = convert.map(|convert| ("v".to_owned(), convert)).collect();
        let report = run(Load::new(home.path("y.db"), [path]).table("t").convert(convert)).unwrap();
        let column = &report.tables[0].columns[1];
        assert!(["INTEGER", "REAL"].contains(&column.declared_type.as_str()), "{values:?}");
    }
}

#[test]
fn an_amount_with_a_currency_in_json_is_reported_without_a_setting_that_reads_it() {
    let home = Home::new();
    let numbers: String = (1..40).map(|row| format!("{{\"v\":{row}.5}}\n")).collect();
    let path = Way::Path.put(&home, "t.ndjson", format!("{numbers}{{\"v\":\"$5.00\"}}\n").as_bytes());
    let missed = column(&home, vec![path]).missed.unwrap();
    assert_eq!((missed.value.as_str(), missed.line, missed.signs), ("$5.00", Some(40), Some("a currency")));
    assert_eq!(missed.read_by, []);
}
