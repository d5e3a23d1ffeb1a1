//! Property tests: the values of JSON Lines equal the values of serde_json, record by record. The result does not depend on the size of the
//! parts in which the input is read, nor on the layout (lines, an array, a nested array) or the white space between records.

use proptest::prelude::*;
use proptest::sample::select;

use super::*;

/// Generates white space that a line may have.
fn space() -> impl Strategy<Value = String> {
    select(vec!["", "", "", " ", "\t", " \r"]).prop_map(str::to_owned)
}

fn string() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z ,:{}\\[\\]]{0,9}",
        1 => select(vec!["\\\"", "\\\\", "\\n", "\\/", "\\u00e9", "\\ud83d\\ude00", "\\u0000", "é", "😀", "\\u2028"])
            .prop_map(str::to_owned),
        1 => select(vec!["\\ud800", "\\udc00x", "\\x", "\t", "\\u12", "\u{7f}"]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..4).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => string(),
        2 => any::<i64>().prop_map(|int| int.to_string()),
        1 => (-99..99i64).prop_map(|int| int.to_string()),
        2 => any::<f64>().prop_map(|real| if real.is_finite() { real.to_string() } else { "0.5".to_owned() }),
        1 => "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?",
        2 => select(vec!["true", "false", "null", "nul", "01", "1.", "NaN", "-", "1e999", "+1", ""]).prop_map(str::to_owned),
    ]
}

fn value() -> impl Strategy<Value = String> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec((inner.clone(), space()), 0..4).prop_map(|values| format!(
                "[{}]",
                joined(values.iter().map(|(value, space)| format!("{space}{value}{space}")))
            )),
            prop::collection::vec((string(), inner, space()), 0..4).prop_map(|members| object(&members)),
        ]
    })
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(",")
}

fn object(members: &[(String, String, String)]) -> String {
    let members =
        members.iter().map(|(key, value, space)| format!("{space}{key}{space}:{space}{value}{space}"));
    format!("{{{}}}", joined(members))
}

/// Generates records that mostly have the same keys. Some records are broken.
fn record() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        6 => select(vec!["\"id\"", "\"name\"", "\"a b\"", "\"\\u0061\"", "\"A\"", "\"\""]).prop_map(str::to_owned),
        1 => string(),
    ];
    let members = prop::collection::vec((key, value(), space()), 0..5);
    (members, space(), any::<prop::sample::Index>(), 0..8u8).prop_map(|(members, space, at, fault)| {
        let mut text = format!("{space}{}{space}", object(&members));
        let mut at = at.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        match fault {
            0 => text.truncate(at),
            1 => text.insert(at, ','),
            2 => text.insert(at, '"'),
            _ => {}
        }
        text
    })
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(256))]

    #[test]
    fn ndjson_lines_have_the_values_that_serde_json_reads(
        records in prop::collection::vec(record(), 0..12),
        part_bytes in prop_oneof![1..100usize, Just(1 << 20)],
    ) {
        let text = records.join("\n");
        let outcome = read(text.as_bytes(), &options(Layout::Lines, part_bytes));
        prop_assert_eq!(&outcome.error, &None);
        let lines = text.split('\n').filter(|line| !line.trim().is_empty());
        let mut expected: Vec<_> = lines.map(expected).collect();
        for row in expected.iter_mut().flatten() {
            row.retain(|_, cell| *cell != Cell::Null);
        }
        prop_assert_eq!(taken_rows(&outcome), expected, "{}", text);
    }

    #[test]
    fn the_size_of_the_parts_does_not_change_the_rows_of_a_json_file(
        records in prop::collection::vec(record(), 0..12),
        part_bytes in 1..100usize,
        layout in select(vec![Layout::Lines, Layout::Array, Layout::Objects]),
        closed: bool,
    ) {
        let text = match layout {
            Layout::Lines => records.join("\n"),
            Layout::Objects => records.join(if closed { "" } else { "\n \n" }),
            Layout::Array => format!("\n[{}{}", records.join(",\n"), if closed { "]\n" } else { "" }),
        };
        let whole = read(text.as_bytes(), &options(layout, 1 << 20));
        prop_assert_eq!(read(text.as_bytes(), &options(layout, part_bytes)), whole, "{}", text);
    }

    #[test]
    fn json_records_give_the_same_rows_in_an_array_and_as_lines(
        records in prop::collection::vec(record().prop_filter("it is good", |record| expected(record).is_some()), 0..12),
    ) {
        let lines = read(records.join("\n").as_bytes(), &options(Layout::Lines, 1 << 20));
        let array = read(format!("[{}]", records.join("\n,")).as_bytes(), &options(Layout::Array, 1 << 20));
        prop_assert_eq!((&array.keys, &array.taken, &array.error), (&lines.keys, &lines.taken, &lines.error));
    }

    #[test]
    fn json_records_give_the_same_rows_with_any_white_space_between_them(
        records in prop::collection::vec(record().prop_filter("it is good", |record| expected(record).is_some()), 0..12),
        between in select(vec!["", " ", "\n", "\r\n\t"]),
        part_bytes in 1..100usize,
    ) {
        let lines = read(records.join("\n").as_bytes(), &options(Layout::Lines, 1 << 20));
        let objects = read(records.join(between).as_bytes(), &options(Layout::Objects, part_bytes));
        prop_assert_eq!((&objects.keys, &objects.taken, &objects.error), (&lines.keys, &lines.taken, &lines.error));
    }

    #[test]
    fn a_json_array_within_a_document_has_the_rows_of_the_array_alone(
        records in prop::collection::vec(record().prop_filter("it is good", |record| expected(record).is_some()), 0..12),
        before in select(vec![
            "", r#""x":1,"#, r#""items":{"rows":[{"no":1}]},"d":"[{\"","#, r#""data":{"rows":3},"#, "\"dat\\u0061\":[1, {}], ",
        ]),
        after in select(vec!["", r#","x":[{"a":"}]"}]"#, r#","data":{"items":[]}"#]),
        part_bytes in 1..100usize,
    ) {
        let alone = read(format!("[{}]", records.join(",")).as_bytes(), &options(Layout::Array, part_bytes));
        let document = format!("{{{before} \"data\" : {{\"z\":[[]], \"it\\u0065ms\":\n[{}]}}{after}}}\n", records.join(","));
        let path = RecordsPath::parse("data.items").unwrap();
        let found = read(document.as_bytes(), &JsonOptions { records: Some(path), ..options(Layout::Array, part_bytes) });
        if before.contains("\"dat") {
            // `data` is an array at its first occurrence. Only the first occurrence counts, so the path finds no object there.
            prop_assert!(found.error.is_some());
        } else {
            let plain = |outcome: &Outcome| -> Vec<Option<Vec<Cell>>> {
                let row = |taken: &Taken| match taken {
                    Taken::Row(row) => Some(row.clone()),
                    Taken::Bad { .. } => None,
                };
                outcome.taken.iter().map(row).collect()
            };
            prop_assert_eq!((&found.keys, plain(&found)), (&alone.keys, plain(&alone)));
            prop_assert_eq!(found.error.is_some(), alone.error.is_some(), "{:?}", found.error);
        }
    }

    #[test]
    fn any_bytes_read_as_json_give_the_same_result_for_any_size_of_parts(
        bytes in prop::collection::vec(prop_oneof![4 => select(b"{}[],:\"\\ \n\tnulltrue0123-.eE".to_vec()), 1 => any::<u8>()], 0..200),
        part_bytes in 1..50usize,
        layout in select(vec![Layout::Lines, Layout::Array, Layout::Objects]),
    ) {
        let whole = read(&bytes, &options(layout, 1 << 20));
        prop_assert_eq!(read(&bytes, &options(layout, part_bytes)), whole);
    }
}
