//! Tests of single JSON records: their values, and the errors of malformed records.

use super::super::nested::{is_sound_if_lenient, value_end};
use super::*;

fn lines(text: &str) -> Outcome {
    read(text.as_bytes(), &options(Layout::Lines, 1 << 20))
}

fn array(text: &str) -> Outcome {
    read(text.as_bytes(), &options(Layout::Array, 1 << 20))
}

#[track_caller]
fn is_bad(record: &str, expected: &str) {
    let outcome = lines(record);
    assert_eq!(outcome.bad(), [expected], "{record}");
}

#[test]
fn json_keys_are_columns_wherever_they_first_appear() {
    let outcome = lines("{\"a\":1,\"b\":\"x\"}\n{\"b\":\"y\",\"c\":2.5}\n{}\n");
    assert_eq!(outcome.keys, ["a", "b", "c"]);
    let null = Cell::Null;
    assert_eq!(
        outcome.rows(),
        [
            [Cell::Int(1), text("x"), null.clone()],
            [null.clone(), text("y"), Cell::Real(2.5)],
            [null.clone(), null.clone(), null],
        ]
    );
}

#[test]
fn a_repeated_key_of_a_json_object_has_the_later_value() {
    let outcome = lines(r#"{"a":1,"b":2,"a":"\t"}"#);
    assert_eq!(
        (outcome.rows(), &outcome.keys[..]),
        (vec![&[text("\t"), Cell::Int(2)][..]], &["a".into(), "b".into()][..])
    );
    assert_eq!(lines(r#"{"a":"\t","a":null}"#).rows(), [[Cell::Null]]);
}

#[test]
fn a_key_with_escapes_is_the_column_of_the_key_without_them() {
    let outcome = lines("{\"a\\u0062\":1}\n{\"ab\":2}\n{\"\\u0061b\" : 3}\n{\"q\\\"\":4}");
    assert_eq!(outcome.keys, ["ab", "q\""]);
    assert_eq!(outcome.rows()[2], [Cell::Int(3), Cell::Null]);
}

#[test]
fn nested_arrays_and_objects_are_text_as_they_are_written() {
    let outcome = lines(r#"{"a":[1, {"b":[]}],"c":{"d" : null,"e":"\ud83d\ude00"},"f":{}}"#);
    let expected = [text(r#"[1, {"b":[]}]"#), text(r#"{"d" : null,"e":"\ud83d\ude00"}"#), text("{}")];
    assert_eq!(outcome.rows(), [expected]);
}

#[test]
fn true_and_false_are_1_and_0_but_words_in_a_text_column() {
    let line = br#"{"a":true,"b":false,"c":1.50,"d":18446744073709551615,"e":12}"#;
    let lines = options(Layout::Lines, 1);
    let big = text("18446744073709551615");
    let numbers = [Cell::Int(1), Cell::Int(0), Cell::Real(1.5), big.clone(), Cell::Int(12)];
    assert_eq!(read(line, &lines).rows(), [numbers]);
    let words = [text("true"), text("false"), text("1.50"), big, text("12")];
    assert_eq!(read_by(line, &lines, Taker::default(), true).rows(), [words]);
}

#[test]
fn empty_lines_line_ends_and_a_byte_order_mark_are_no_records() {
    let outcome = lines("\u{feff}\r\n{\"a\":1}\r\n\n \t\r\n {\"a\":2} \r\n{\"a\":3}");
    assert_eq!(outcome.rows(), [[Cell::Int(1)], [Cell::Int(2)], [Cell::Int(3)]]);
    assert_eq!(outcome.error, None);
}

#[test]
fn a_json_array_may_have_white_space_anywhere() {
    for written in ["[{\"a\":1},{\"a\":2}]", "\u{feff} [\n  {\"a\": 1},\n  {\n\"a\":\n2}\n]\n"] {
        assert_eq!(array(written).rows(), [[Cell::Int(1)], [Cell::Int(2)]]);
    }
    for empty in ["[]", " [ \n ] "] {
        assert_eq!(array(empty), Outcome { keys: Vec::new(), taken: Vec::new(), error: None });
    }
}

#[test]
fn a_json_input_that_is_not_a_complete_array_is_an_error_with_line_and_column() {
    let error = |text: &str| array(text).error.unwrap();
    assert_eq!(error("\n {\"a\":1}"), "x.json:2:2: this is not a JSON array: it does not begin with [");
    assert_eq!(error(""), "x.json:1:1: this is not a JSON array: it does not begin with [");
    assert_eq!(error("[{\"a\":1},\n{\"a\":2}"), "x.json:2:8: the array never ends: a ] is missing");
    assert_eq!(error("[\n"), "x.json:2:1: the array never ends: a ] is missing");
    assert_eq!(error("[{\"a\":1}]\n{}"), "x.json:2:1: something follows the end of the array");
}

#[test]
fn a_malformed_array_element_does_not_affect_the_next_one() {
    for part_bytes in [1, 1 << 20] {
        let outcome = read(
            "[{\"a\":1},7,{\"a\":],\n{\"a\":\"é\"x},{\"a\":2},]".as_bytes(),
            &options(Layout::Array, part_bytes),
        );
        assert_eq!(outcome.rows(), [[Cell::Int(1)], [Cell::Int(2)]]);
        assert_eq!(
            outcome.bad(),
            [
                "x.json:1:10: expected an object, which begins with {, found '7'",
                "x.json:1:17: expected a value, found ']'",
                "x.json:2:9: expected a comma or }, found 'x'",
                "x.json:2:20: expected an object, which begins with {, and the record ends",
            ]
        );
    }
}

#[test]
fn the_error_about_a_bad_row_has_the_text_of_the_json_record() {
    let outcome = lines("{\"a\":1}\n \t{\"a\":1 \r\n{\"a\":2}");
    let Taken::Bad { raw, error } = &outcome.taken[1] else { panic!("{outcome:?}") };
    assert_eq!(
        (raw.as_str(), error.as_str()),
        ("{\"a\":1", "x.json:2:9: expected a comma or }, and the record ends")
    );
}

#[test]
fn malformed_json_records_are_reported_with_their_place() {
    is_bad("[1]", "x.json:1:1: expected an object, which begins with {, found '['");
    is_bad("{\"é\":tru}", "x.json:1:6: expected a value, found 't'");
    is_bad("{\"a\":NaN}", "x.json:1:6: expected a value, found 'N'");
    is_bad("{\"a\":01}", "x.json:1:7: expected no digit after a leading 0, found '1'");
    is_bad("{\"a\":1,}", "x.json:1:8: expected a key in quotes, found '}'");
    is_bad("{\"a\" 1}", "x.json:1:6: expected a colon, found '1'");
    is_bad("{\"a\":1} {}", "x.json:1:9: expected the end of the line, found '{'");
    is_bad("{\"a\":\"\\x\"}", "x.json:1:7: JSON has no such escape");
    is_bad("{\"a\":\"\\ud800\"}", "x.json:1:7: half of a surrogate pair, which is not a character");
    is_bad("{\"a\":\"\\udc00\"}", "x.json:1:7: half of a surrogate pair, which is not a character");
    is_bad("{\"a\":\"x\ty\"}", "x.json:1:8: a control character, 0x09, in a string");
    is_bad("{\"a\":\"x}", "x.json:1:6: the string that begins here never ends");
    is_bad("{\"a\":[1,{\"b\":]}}", "x.json:1:14: expected a value, found ']'");
    is_bad("{\"a\":[1}}", "x.json:1:8: expected a comma or ], found '}'");
    is_bad("{\"\\u0000\":1}", "x.json:1:2: a key with a NUL character, which can't name a column");
    let outcome = read(b"{\"a\":\"\xff\"}\n{\"a\":1}", &options(Layout::Lines, 1 << 20));
    assert_eq!(outcome.bad(), ["x.json:1:7: this is not UTF-8: byte 0xff"]);
    assert_eq!(outcome.rows(), [[Cell::Int(1)]]);
}

#[test]
fn a_json_record_of_more_than_127_levels_is_a_bad_row() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
    assert_eq!(lines(&nested(126)).rows(), [[text(&nested(126)[5..257])]]);
    is_bad(&nested(127), "x.json:1:132: more than 127 arrays and objects within each other");
    assert_eq!(lines(&nested(100_000)).bad().len(), 1);
}

#[test]
fn a_record_that_is_too_long_ends_the_reading() {
    for layout in [Layout::Lines, Layout::Array] {
        let text = "[{\"a\":1},\n{\"a\":\"0123456789\"},\n{\"a\":1}]";
        let text = if layout == Layout::Lines { &text[1..] } else { text };
        let text = if layout == Layout::Lines {
            text.replace(",\n", "\n").replace(']', "")
        } else {
            text.to_owned()
        };
        for part_bytes in [1, 1 << 20] {
            let options = JsonOptions { record_bytes_max: 12, ..options(layout, part_bytes) };
            let outcome = read(text.as_bytes(), &options);
            assert_eq!(outcome.rows(), [[Cell::Int(1)]]);
            assert_eq!(
                outcome.error.unwrap(),
                "x.json:2:1: the record that begins here is longer than 12 bytes"
            );
        }
    }
}

#[test]
fn a_refused_row_is_reported_with_the_place_of_its_value() {
    let text = "{\"a\":1,\"b\":2}\n{\"b\":\"é\", \"a\" : 7}\n{\"a\":3}\n";
    let sink = Taker { refuses: Some(Cell::Int(7)), ..Taker::default() };
    let outcome = read_by(text.as_bytes(), &options(Layout::Lines, 1 << 20), sink, false);
    assert_eq!(outcome.bad(), ["x.json:2:17: refused"]);
    assert_eq!(outcome.rows().len(), 2);
    let sink = Taker { refuses: Some(Cell::Null), ..Taker::default() };
    let outcome = read_by(text.as_bytes(), &options(Layout::Lines, 1 << 20), sink, false);
    assert_eq!(outcome.bad(), ["x.json:3:1: refused"]);
}

#[test]
fn reading_stops_after_the_given_number_of_rows() {
    for (text, layout) in
        [("{\"a\":1}\n\n{\"a\":2}\n{\"a\":", Layout::Lines), ("[{\"a\":1},{\"a\":2},{", Layout::Array)]
    {
        for part_bytes in [1, 1 << 20] {
            let columns = vec![JsonColumn { from: ColumnFrom::Field(0), as_text: false }];
            let input = Box::new(Cursor::new(text.as_bytes().to_vec()));
            let options = options(layout, part_bytes);
            let mut source =
                JsonSource::new(input, Path::new("x"), &options, &["a".to_owned()], columns, 5..7).unwrap();
            let mut sink = Taker::default();
            while let Some(mut part) = source.next_part().unwrap() {
                part.decode(&mut sink).unwrap();
            }
            assert_eq!(sink.taken, [Taken::Row(vec![Cell::Int(1)]), Taken::Row(vec![Cell::Int(2)])]);
        }
    }
}

#[test]
fn an_unknown_json_key_ends_the_reading_only_if_all_keys_are_wanted() {
    for (wanted, ends) in
        [(super::super::Wanted::All, true), (super::super::Wanted::Named(vec!["C".into()]), false)]
    {
        let options = JsonOptions { wanted, ..options(Layout::Lines, 1 << 20) };
        let columns = vec![JsonColumn { from: ColumnFrom::Field(0), as_text: false }];
        let input = Box::new(Cursor::new(b"{\"a\":1}\n{\"a\":2,\"b\":3}".to_vec()));
        let mut source =
            JsonSource::new(input, Path::new("x"), &options, &["a".to_owned()], columns, 0..9).unwrap();
        let met = source.new_keys();
        let fed = source.next_part().unwrap().unwrap().decode(&mut Taker::default());
        assert_eq!((fed.is_err(), met.any()), (ends, ends));
    }
}

#[test]
fn a_path_that_leads_to_no_array_is_reported_at_its_place() {
    let read = |document: &str, path: &str| {
        let records = Some(RecordsPath::parse(path).unwrap());
        let options = JsonOptions { records, ..options(Layout::Array, 1 << 20) };
        read(document.as_bytes(), &options).error.unwrap_or_default()
    };
    for (document, path, expected) in [
        ("[1]", "a", "x.json:1:1: the file has no array at a: a: the document is not an object"),
        ("{\n\"b\":1}", "a", "x.json:2:6: the file has no array at a: a: the key does not exist"),
        ("{\"a\":{\"b\":1}}", "a", "x.json:1:6: the file has no array at a: a: its value is not an array"),
        (
            "{\"a\":{\"b\":1}}",
            "a.b",
            "x.json:1:11: the file has no array at a.b: a.b: its value is not an array",
        ),
        ("{\"a\":1}", "a.b", "x.json:1:6: the file has no array at a.b: a: its value is not an object"),
        (
            "{\"a\":{\"c\":",
            "a.b",
            "x.json:1:11: the file has no array at a.b: a.b: the document ends before this key or its array",
        ),
        ("{\"a\":[{}]", "a", "x.json:1:10: the document never ends: a } is missing"),
        ("{\"a\":[{}]}}", "a", "x.json:1:11: something follows the end of the document"),
        ("{\"a\":[{}", "a", "x.json:1:9: the array never ends: a ] is missing"),
    ] {
        assert_eq!(read(document, path), expected);
    }
}

/// Returns values that JSON does not have, each with the value that the lenient reader gives, and the value that it gives in a TEXT column.
fn lenient_values() -> Vec<(&'static str, Cell, Cell)> {
    let texts = [
        (r#""\ud83d""#, "\u{fffd}"),
        (r#""x\udc00y""#, "x\u{fffd}y"),
        (r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀"),
        (r#""\ud83d\u0041\udc00""#, "\u{fffd}A\u{fffd}"),
        (r#""\ud83dabdc00""#, "\u{fffd}abdc00"),
        (r#"[NaN,{"\ud800":-Infinity}]"#, r#"[NaN,{"\ud800":-Infinity}]"#),
    ];
    let numbers = [
        ("NaN", Cell::Null, Cell::Null),
        ("Infinity", Cell::Real(f64::INFINITY), text("Infinity")),
        ("-Infinity", Cell::Real(f64::NEG_INFINITY), text("-Infinity")),
    ];
    numbers.into_iter().chain(texts.map(|(value, read)| (value, text(read), text(read)))).collect()
}

#[test]
fn the_lenient_json_reader_accepts_values_that_json_does_not_have() {
    for (layout, part_bytes) in [(Layout::Lines, 1), (Layout::Array, 7), (Layout::Objects, 1 << 20)] {
        for (value, plain, in_text) in lenient_values() {
            let record = format!("{{\"a\":{value},\"skipped\":[{value}],\"b\":-1}}");
            let file = match layout {
                Layout::Array => format!("[{record} , {record}]"),
                _ => format!("{record}\n{record}\n"),
            };
            let strict = options(layout, part_bytes);
            assert_eq!(read(file.as_bytes(), &strict).bad().len(), 2, "{file}");
            let lenient = JsonOptions { lenient: true, ..strict };
            let outcome = read(file.as_bytes(), &lenient);
            assert_eq!(outcome.keys, ["a", "skipped", "b"]);
            let rows: Vec<&Cell> = outcome.rows().iter().map(|row| &row[0]).collect();
            assert_eq!(rows, [&plain, &plain], "{file}");
            let outcome = read_by(file.as_bytes(), &lenient, Taker::default(), true);
            assert_eq!(outcome.rows()[1][0], in_text, "{file}");
        }
    }
    for bad in ["-Inf", "nan", "-NaN", "+Infinity", "Infinit", r#""\u12""#, r#""\ud83d\u12""#] {
        let file = format!("{{\"a\":{bad}}}");
        let lenient = JsonOptions { lenient: true, ..options(Layout::Lines, 1 << 20) };
        assert_eq!(read(file.as_bytes(), &lenient).bad().len(), 1, "{file}");
    }
}

#[test]
fn a_hint_names_lenient_json_only_for_a_record_that_it_can_read() {
    let names_it = |record: &str| {
        let reads = |lenient| value_end(record.as_bytes(), 0, lenient);
        let fault = reads(false).expect_err(record);
        let hint = fault
            .error(record.as_bytes(), is_sound_if_lenient(record.as_bytes()))
            .hint_text()
            .unwrap_or_default();
        assert_eq!(hint.contains("lenient_json"), reads(true) == Ok(record.len()), "{record}: {hint}");
        hint.contains("lenient_json")
    };
    for (value, _, _) in lenient_values() {
        assert!(names_it(&format!("{{\"a\":{value}}}")));
        for broken in ["{\"a\":@,}", "{\"a\":@1}", "{\"a\" @}", "{\"a\":@,\"b\":nul}", "{\"a\":@"] {
            assert!(!names_it(&broken.replace('@', value)));
        }
    }
    assert!(!names_it("{NaN:1}"));
    assert!(!names_it("{\"a\":nan}"));
}
