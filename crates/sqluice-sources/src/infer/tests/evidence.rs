//! Tests of `Evidence`, from which the type of a column follows: the fast rules agree with the simple ones, a stored number prints as the
//! text that was read, and examples have the expected types.

use proptest::prelude::*;
use sqluice_core::batch::{Bitmap, Bytes, Column, Span, Spans, Value, Values};

use super::super::{Evidence, Inferred};
use super::print::{printer, stored};
use super::{column, float, slow};

fn evidence(values: &[String]) -> Evidence {
    let mut evidence = Evidence::new();
    values.iter().for_each(|text| evidence.add(text.as_bytes()));
    evidence
}

fn conclude(values: &[&str]) -> Inferred {
    evidence(&values.iter().map(|&text| text.to_owned()).collect::<Vec<_>>()).conclude()
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(20_000))]

    #[test]
    fn the_fast_and_the_slow_rules_conclude_the_same_type(values in column()) {
        prop_assert_eq!(evidence(&values).conclude(), slow(&values), "{:?}", values);
    }

    #[test]
    fn a_column_from_a_printer_of_floats_is_numeric_unless_it_may_be_codes(floats in prop::collection::vec(float(), 1..20), print in printer()) {
        let values: Vec<String> = floats.iter().map(|float| print.print(*float)).collect();
        let zero = |text: &String| text.starts_with('-') && stored(text) == Some(0.0);
        let beyond = |text: &String| stored(text).is_none_or(|real| print.print(real) != *text);
        prop_assume!(!values.iter().any(|text| zero(text) || beyond(text)));
        let is_integer = values.iter().all(|text| text.parse::<i64>().is_ok());
        let may_be_codes = !values.iter().any(|text| text.contains('.'));
        match evidence(&values).conclude() {
            Inferred::Integer => prop_assert!(is_integer),
            Inferred::Real => prop_assert!(!is_integer),
            Inferred::Text => prop_assert!(may_be_codes, "{:?}", values),
        }
    }

    #[test]
    fn a_number_of_at_most_15_digits_is_numeric_with_any_number_of_decimals(mantissa in 0..10u64.pow(15), decimals in 0..=300usize) {
        let digits = format!("{mantissa:0width$}", width = decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        let text = if decimals == 0 { whole.to_owned() } else { format!("{whole}.{fraction}") };
        let values = [text];
        let concluded = evidence(&values).conclude();
        prop_assert_ne!(concluded, Inferred::Text);
        // Beside `7`, which has fewer decimals, the value is still a number, unless it ends with 0.
        if decimals > 0 && !values[0].ends_with('0') {
            let values = [values[0].clone(), "7".to_owned()];
            prop_assert_eq!(evidence(&values).conclude(), Inferred::Real);
        }
    }
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(256))]

    #[test]
    fn a_further_value_moves_the_conclusion_only_towards_text_except_for_the_first_point_or_exponent(
        values in column(),
    ) {
        let mut evidence = Evidence::new();
        let mut before = None;
        let (mut pointed, mut with_exponent) = (false, false);
        for text in &values {
            prop_assert_eq!(evidence.is_empty(), before.is_none());
            let was_final = evidence.is_final();
            evidence.add(text.as_bytes());
            let now = evidence.conclude();
            let first_point = text.contains('.') && !pointed;
            // The first exponent can turn a column into numbers, too: `1e-7` beside an integer of 20 digits.
            let first_exponent = text.contains(['e', 'E']) && !with_exponent;
            prop_assert!(before <= Some(now) || first_point || first_exponent, "{:?}", values);
            prop_assert!(!evidence.is_empty());
            prop_assert!(evidence.is_final() || !was_final);
            before = Some(now);
            pointed |= text.contains('.');
            with_exponent |= text.contains(['e', 'E']);
            if evidence.is_final() {
                prop_assert_eq!(now, Inferred::Text);
            }
        }
        // Text is final once a value has a point: no further value can make the column numbers.
        prop_assert_eq!(evidence.is_final(), before == Some(Inferred::Text) && (pointed || evidence.is_final()));
    }

    #[test]
    fn evidence_about_column_types_can_be_merged_in_any_order(a in column(), b in column(), c in column()) {
        let joined = |x: Evidence, y: Evidence| { let mut joined = x; joined.merge(y); joined };
        let all = [a.clone(), b.clone(), c.clone()].concat();
        let [a, b, c] = [a, b, c].map(|values| evidence(&values));
        prop_assert_eq!(joined(joined(a, b), c), evidence(&all));
        prop_assert_eq!(joined(a, joined(b, c)), evidence(&all));
        prop_assert_eq!(joined(a, b), joined(b, a));
        prop_assert_eq!(joined(a, a), a);
        prop_assert_eq!(joined(a, Evidence::new()), a);
        prop_assert_eq!(joined(joined(a, b), b), joined(a, b));
    }

    #[test]
    fn a_whole_column_gives_the_same_evidence_as_its_single_values(
        values in prop::collection::vec((column(), any::<u64>()), 0..8),
        in_front in 0..20usize,
        offsets: bool,
    ) {
        let mut data = vec![b'9'; in_front];
        let (mut spans, mut ends, mut expected, mut present) =
            (Vec::new(), vec![in_front as u32], Evidence::new(), Vec::new());
        for (values, bits) in &values {
            for (row, text) in values.iter().enumerate() {
                spans.push(Span { start: data.len() as u32, len: text.len() as u32 });
                data.extend_from_slice(text.as_bytes());
                ends.push(data.len() as u32);
                present.push(bits >> (row % 64) & 1 == 1);
                if *present.last().unwrap() {
                    expected.add(text.as_bytes());
                }
            }
        }
        let rows = spans.len();
        let words: Vec<u64> = present
            .chunks(64)
            .map(|rows| rows.iter().enumerate().fold(0, |word, (bit, row)| word | u64::from(*row) << bit))
            .collect();
        let spans = if offsets { Spans::Offsets(&ends) } else { Spans::Anywhere(&spans) };
        let values = Values::Text(Bytes { data: &data, spans });
        let mut seen = Evidence::new();
        seen.see(&Column { values, validity: Some(Bitmap(&words)) }, rows);
        prop_assert_eq!(seen, expected);

        let any: Vec<Value<'_>> = (0..rows).map(|row| Column::new(values).get(row)).collect();
        let mut all = Evidence::new();
        all.see(&Column::new(values), rows);
        let mut one_by_one = Evidence::new();
        one_by_one.see(&Column::new(Values::Any(&any)), rows);
        prop_assert_eq!(all, one_by_one);
    }
}

#[test]
fn only_canonical_integers_of_64_bits_make_a_column_integer() {
    for integers in [&["0"][..], &["-1", "10"], &["9223372036854775807", "-9223372036854775808"]] {
        assert_eq!(conclude(integers), Inferred::Integer, "{integers:?}");
    }
    for text in
        ["007", "+1", "-0", "12345678901234567890", "9223372036854775808", " 1", "1 ", "", "-", "1e5", "0x1"]
    {
        assert_eq!(conclude(&["1", text]), Inferred::Text, "{text:?}");
    }
}

#[test]
fn floats_are_real_as_any_common_printer_writes_them() {
    let reals: [&[&str]; 30] = [
        &["17.00", "24.50"],
        &["3", "1.5"],
        &["3.0", "1.5"],
        &["1.0", "2.55"],
        &["52.55889892578125"],
        &["0.1", "52.55889892578125", "7"],
        &["0.1", "52.55889892578125", "7.0"],
        &["1e-05", "0.25"],
        &["1e-05", "0.25", "1.0", "1e+16", "1.5e+20"],
        &["1e-7", "0.000001", "100000000000000000000", "1e+21", "0.5"],
        &["1.5E-7", "0.25"],
        &["1.0E-4", "1.5E7", "9999999.0"],
        &["1e+05", "123456", "0.333333333333333", "1e-04"],
        &["1e+06", "123457", "0.5", "1e-05"],
        &["1.700000e+00", "0.000000e+00", "-2.450000e+01"],
        &["1e16", "2.5"],
        &["1.0e-05", "1.0", "2.5e+20"],
        &["-0.5", "0"],
        &["0.00"],
        &["0.000000000000000000000000000000123456789012345"],
        &["999999999999999", "0.1"],
        &["1000000000000000", "0.1"],
        &["0.10000000000000000555", "0.50000000000000000000"],
        &["9007199254740994", "0.5"],
        // Up to 17 digits, although fewer would identify the float.
        &["12.5", "27.200000760000002"],
        &["0.10000000000000001", "0.5", "17", "1e-05"],
        &["0.33333333333333331", "100", "1e+17"],
        // A float of 32 bits, halfway between two decimals of 17 digits.
        &["130.10000610351562", "0.1"],
        &["130.10000610351563", "0.1"],
        &["-130.10000610351563", "0.1"],
    ];
    for values in reals {
        assert_eq!(conclude(values), Inferred::Real, "{values:?}");
    }
    let texts: [&[&str]; 29] = [
        &["1.9", "1.10"],
        &["17", "24.50"],
        &["0", "0.0"],
        &["1.0", "2", "2.5"],
        &["1e5", "1.5"],
        &["1e5", "2e3"],
        &["1E5"],
        &["12e34"],
        &["1e16", "2e20"],
        &["1e+03", "2e+04"],
        &["1e-3", "2e-2"],
        &["1e+05", "100000", "0.5"],
        &["1e-05", "0.00001"],
        &["1e-05", "2.5e-5"],
        &["1e-05", "1E-05"],
        &[".5"],
        &["5."],
        &["-0.00", "1.25"],
        &["-0.0", "1.25"],
        &["-0", "1.5"],
        &["01.5"],
        &["0.1234567890123456789"],
        &["9007199254740993", "0.5"],
        &["12345678901234567890"],
        &["100000000000000000000"],
        &["1.2.3"],
        &["27.200000760000003", "12.5"],
        &["130.10000610351564", "0.1"],
        &["27.200000760000002", "1.10"],
    ];
    let tiny = |zeros: usize| format!("0.{}1", "0".repeat(zeros));
    assert_eq!(conclude(&[&tiny(299)]), Inferred::Real);
    assert_eq!(conclude(&[&tiny(300)]), Inferred::Text, "so many decimals nothing prints");
    assert_eq!(conclude(&[&tiny(100_000)]), Inferred::Text);
    for values in texts {
        assert_eq!(conclude(values), Inferred::Text, "{values:?}");
    }
}

#[test]
fn a_column_of_nulls_is_text_until_there_is_a_value() {
    let mut evidence = Evidence::new();
    evidence.see(&Column::NULL, 1000);
    assert!(evidence.is_empty() && !evidence.is_final());
    assert_eq!(evidence.conclude(), Inferred::Text);
    evidence.add(b"1");
    assert_eq!(evidence.conclude(), Inferred::Integer);
}
