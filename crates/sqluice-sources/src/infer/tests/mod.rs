//! Tests of the types that columns of text get. The tests share random columns, and `slow`, a simple version of the rules, which the fast
//! version must agree with.

mod evidence;
mod print;
mod sources;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::Inferred;
use print::{has_printer, stored};

/// Returns the type of a column, by the rules in their simplest form.
fn slow(values: &[String]) -> Inferred {
    if values.is_empty() {
        Inferred::Text
    } else if values.iter().all(|text| text.parse().is_ok_and(|int: i64| int.to_string() == *text)) {
        Inferred::Integer
    } else if values.iter().all(|text| stored(text).is_some()) && !may_be_codes(values) && has_printer(values)
    {
        Inferred::Real
    } else {
        Inferred::Text
    }
}

/// Returns `true` if no value has a point, and either no value has an exponent, or one has an exponent that no printer writes.
fn may_be_codes(values: &[String]) -> bool {
    let exponents =
        || values.iter().filter_map(|text| text.split_once(['e', 'E'])).map(|(_, exponent)| exponent);
    let odd = |exponent: &str| match (exponent.as_bytes()[0], exponent.parse::<i32>()) {
        (b'+', Ok(exponent)) => exponent < 5,
        (b'-', Ok(exponent)) => exponent > -4,
        _ => true,
    };
    !values.iter().any(|text| text.contains('.')) && (exponents().count() == 0 || exponents().any(odd))
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

/// Generates decimals with the given number of fraction digits, or with any number of them.
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

/// Generates any float, mostly of moderate size.
fn float() -> impl Strategy<Value = f64> {
    let of_any_bits =
        any::<u64>().prop_map(f64::from_bits).prop_filter("it is a number", |real| real.is_finite());
    let digits = (any::<i64>(), 0..64u32, -25..25i32);
    let of_digits = digits.prop_map(|(int, bits, power)| (int >> bits) as f64 * 10f64.powi(power));
    prop_oneof![
        1 => of_any_bits,
        4 => of_digits,
        4 => -100.0..100.0f64,
        2 => (-1000..1000i32).prop_map(f64::from),
        2 => (-100_000..100_000i32, 0..8i32).prop_map(|(int, power)| f64::from(int) / 10f64.powi(power)),
        1 => (1..10i32, -25..25i32).prop_map(|(int, power)| f64::from(int) * 10f64.powi(power)),
    ]
    .prop_map(|real| real + 0.0)
}

/// Generates texts that are almost numbers.
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
        "2E3",
        "1.5e3",
        "1e+05",
        "1e+16",
        "1e16",
        "1.5e16",
        "1.5E7",
        "1.0E7",
        "1e-05",
        "1e-5",
        "1.50e-05",
        "2e-03",
        "0e+00",
        "0.000000e+00",
        "-0e+00",
        "0e5",
        "12e+05",
        "1e+005",
        "1e-0",
        "1e",
        "1.e5",
        "1e400",
        "1e-400",
        "100000",
        "1000000",
        "0.0001",
        "0.00001",
        "0.00012",
        "52.55889892578125",
        "0.1000000000000000055511151231257827",
        "100000000000000000000",
        "9007199254740993",
        "9007199254740994",
        "1234567890123456800",
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
    prop_oneof![
        select(odd.map(str::to_owned).to_vec()),
        "[-+]?[0-9]{0,3}[.e ]?[0-9]{0,3}",
        "[-.0-9]{1,20}",
        "-?[1-9](\\.[0-9]{1,17})?[eE][-+]?[0-9]{1,2}",
    ]
}

/// Generates the values of a column: mostly of one kind, sometimes with one value of another kind.
fn column() -> impl Strategy<Value = Vec<String>> {
    let many = 0..40usize;
    let no_zeros = |text: String| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    };
    let of_one_kind = prop_oneof![
        5 => prop::collection::vec(integer(), many.clone()),
        3 => (1..8usize).prop_flat_map(move |n| prop::collection::vec(decimal(Some(n)), 0..40usize)),
        1 => (17..30usize).prop_flat_map(move |n| prop::collection::vec(decimal(Some(n)), 0..3usize)),
        3 => prop::collection::vec(decimal(None).prop_map(no_zeros), many.clone()),
        1 => prop::collection::vec(decimal(None), many.clone()),
        2 => prop::collection::vec(odd(), 0..4usize),
        4 => (prop::collection::vec(float(), many), print::printer())
            .prop_map(|(floats, print)| floats.into_iter().map(|float| print.print(float)).collect::<Vec<_>>()),
    ];
    let printed = (float(), print::printer()).prop_map(|(float, print)| print.print(float));
    let other = prop_oneof![odd(), integer(), decimal(None), printed];
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
fn the_random_columns_of_these_tests_include_many_of_each_type() {
    let mut runner = TestRunner::deterministic();
    let mut columns = [0; 3];
    for _ in 0..1000 {
        let values = column().new_tree(&mut runner).unwrap().current();
        columns[slow(&values) as usize] += usize::from(values.len() > 5);
    }
    assert!(columns.iter().all(|&columns| columns > 100), "{columns:?} of INTEGER, REAL, TEXT");
}
