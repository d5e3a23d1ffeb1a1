//! What all tests of this module use: columns of text, and the rules in their slow form.

mod evidence;
mod sources;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::Inferred;

/// The rules, word for word.
fn slow(values: &[String]) -> Inferred {
    let decimals: Vec<Option<usize>> = values.iter().map(|text| decimals_of_real(text)).collect();
    let ends_in_zero = values.iter().any(|text| text.contains('.') && text.ends_with('0'));
    let same = decimals.iter().all(|count| *count == decimals[0]);
    if values.is_empty() {
        Inferred::Text
    } else if values.iter().all(|text| text.parse().is_ok_and(|int: i64| int.to_string() == *text)) {
        Inferred::Integer
    } else if decimals.iter().all(Option::is_some) && (same || !ends_in_zero) {
        Inferred::Real
    } else {
        Inferred::Text
    }
}

/// How many decimals a text has that can be a REAL, by its characters one after the other.
fn decimals_of_real(text: &str) -> Option<usize> {
    let mut state = "start";
    for character in text.chars() {
        state = match (state, character) {
            ("start", '-') => "sign",
            ("start" | "sign", '0') => "zero",
            ("start" | "sign" | "whole", '1'..='9') | ("whole", '0') => "whole",
            ("zero" | "whole", '.') => "point",
            ("point" | "fraction", '0'..='9') => "fraction",
            _ => return None,
        };
    }
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let significant = digits.trim_start_matches('0').len();
    let decimals = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    let complete = matches!(state, "zero" | "whole" | "fraction");
    let lost = significant > 15 || decimals > 300 || (significant == 0 && text.starts_with('-'));
    (complete && !lost).then_some(decimals)
}

fn digits(len: impl Strategy<Value = usize>) -> impl Strategy<Value = String> {
    let digit = || select("0001234567899".chars().collect::<Vec<_>>());
    len.prop_flat_map(move |len| prop::collection::vec(digit(), len)).prop_map(String::from_iter)
}

fn whole() -> impl Strategy<Value = String> {
    let nonzero = (1..10u8, digits(prop_oneof![150 => 0..6usize, 1 => 12..20usize]));
    prop_oneof![
        1 => Just("0".to_owned()),
        9 => nonzero.prop_map(|(first, rest)| format!("{first}{rest}")),
    ]
}

fn sign() -> impl Strategy<Value = &'static str> {
    select(vec!["", "", "-"])
}

fn integer() -> impl Strategy<Value = String> {
    let ends = select(vec![i64::MIN, i64::MAX, i64::MIN + 1, 999_999_999_999_999, 1_000_000_000_000_000]);
    prop_oneof![
        6 => any::<i64>().prop_flat_map(|int| (0..64u32).prop_map(move |bits| (int >> bits).to_string())),
        1 => ends.prop_map(|int| int.to_string()),
        2 => (sign(), whole()).prop_map(|(sign, whole)| format!("{sign}{whole}")),
    ]
}

/// With so many decimals, or with any number.
fn decimal(decimals: Option<usize>) -> impl Strategy<Value = String> {
    let len = match decimals {
        Some(decimals) => Just(decimals).boxed(),
        None => prop_oneof![60 => 0..8usize, 1 => 8..20usize].boxed(),
    };
    let small = (1..60usize, digits(1..6usize));
    let fraction = match decimals {
        Some(_) => digits(len).boxed(),
        None => prop_oneof![
            60 => digits(len),
            1 => small.prop_map(|(zeros, rest)| format!("{}{rest}", "0".repeat(zeros))),
        ]
        .boxed(),
    };
    (sign(), whole(), fraction).prop_map(|(sign, whole, fraction)| match fraction.as_str() {
        "" => format!("{sign}{whole}"),
        _ => format!("{sign}{whole}.{fraction}"),
    })
}

/// Next to a number.
fn odd() -> impl Strategy<Value = String> {
    let odd = [
        "",
        "-",
        ".",
        "-.",
        "+1",
        " 1",
        "1 ",
        "007",
        "00",
        "-0",
        "-0.0",
        "-0.00",
        "0.0",
        "0.00",
        ".5",
        "-.5",
        "5.",
        "-5.",
        "1e5",
        "1.5e3",
        "1..5",
        "1.5.",
        "1,5",
        "0x1f",
        "inf",
        "nan",
        "١",
        "9223372036854775808",
        "-9223372036854775809",
        "0000000000000001",
        "123456789012.345",
        "-123456789012.345",
        "1234567890123.45",
        "1234567890123456",
        "0.123456789012345",
        "0.1234567890123456",
        "12345678901234567.5",
        "1\0",
        "9:30",
    ];
    prop_oneof![select(odd.map(str::to_owned).to_vec()), "[-+]?[0-9]{0,3}[.e ]?[0-9]{0,3}", "[-.0-9]{1,20}",]
}

/// The values of a column, most of one kind, some with one that is of none.
fn column() -> impl Strategy<Value = Vec<String>> {
    let many = 0..40usize;
    let no_zeros = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    let of_one_kind = prop_oneof![
        2 => prop::collection::vec(integer(), many.clone()),
        3 => (1..8usize).prop_flat_map(move |n| prop::collection::vec(decimal(Some(n)), 0..40usize)),
        1 => (17..30usize).prop_flat_map(move |n| prop::collection::vec(decimal(Some(n)), 0..3usize)),
        3 => prop::collection::vec(decimal(None).prop_map(no_zeros), many.clone()),
        1 => prop::collection::vec(decimal(None), many.clone()),
        1 => prop::collection::vec(odd(), 0..4usize),
    ];
    let other = prop_oneof![odd(), integer(), decimal(None)];
    (of_one_kind, prop::option::weighted(0.3, (other, any::<prop::sample::Index>()))).prop_map(
        |(mut values, other)| {
            if let Some((value, at)) = other {
                values.insert(at.index(values.len() + 1), value);
            }
            values
        },
    )
}

#[test]
fn many_of_these_columns_are_of_each_type() {
    let mut runner = TestRunner::deterministic();
    let mut columns = [0; 3];
    for _ in 0..1000 {
        let values = column().new_tree(&mut runner).unwrap().current();
        columns[slow(&values) as usize] += usize::from(values.len() > 5);
    }
    assert!(columns.iter().all(|&columns| columns > 100), "{columns:?} of INTEGER, REAL, TEXT");
}
