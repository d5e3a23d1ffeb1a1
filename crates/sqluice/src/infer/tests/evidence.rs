//! The rules: what is stored gives back what was written; the slow form of them; examples.

use proptest::prelude::*;

use super::super::{Evidence, Inferred};
use super::{column, decimals_of_real, slow};
use crate::affinity::{Affinity, text_to_number};
use crate::batch::{Bitmap, Bytes, Column, Span, Spans, Value, Values};

fn evidence(values: &[String]) -> Evidence {
    let mut evidence = Evidence::new();
    values.iter().for_each(|text| evidence.add(text.as_bytes()));
    evidence
}

fn conclude(values: &[&str]) -> Inferred {
    evidence(&values.iter().map(|&text| text.to_owned()).collect::<Vec<_>>()).conclude()
}

/// Every field, as it is printed of what a column of the type stores.
fn printed(values: &[String], concluded: Inferred) -> Vec<String> {
    let decimals: Vec<usize> =
        values.iter().map(|text| text.split_once('.').map_or(0, |(_, fraction)| fraction.len())).collect();
    let same = decimals.iter().all(|n| *n == decimals[0]);
    let real = |text: &String| match text_to_number(text.as_bytes(), Affinity::Real) {
        Value::Real(real) => real,
        Value::Int(int) => int as f64,
        other => panic!("{text} in a REAL column is {other:?}"),
    };
    let print = |text: &String| match concluded {
        Inferred::Text => text.clone(),
        Inferred::Integer => match text_to_number(text.as_bytes(), Affinity::Integer) {
            Value::Int(int) => int.to_string(),
            other => panic!("{text} in an INTEGER column is {other:?}"),
        },
        Inferred::Real if same => format!("{:.*}", decimals[0], real(text)),
        Inferred::Real => real(text).to_string(),
    };
    values.iter().map(print).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn what_is_stored_prints_as_it_was_written(values in column()) {
        let concluded = evidence(&values).conclude();
        prop_assert_eq!(printed(&values, concluded), values);
    }

    #[test]
    fn the_conclusion_is_that_of_the_slow_rules(values in column()) {
        prop_assert_eq!(evidence(&values).conclude(), slow(&values));
    }

    #[test]
    fn fifteen_digits_are_kept_with_any_number_of_decimals(mantissa in 0..10u64.pow(15), decimals in 0..=300usize) {
        let digits = format!("{mantissa:0width$}", width = decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        let text = if decimals == 0 { whole.to_owned() } else { format!("{whole}.{fraction}") };
        let values = [text];
        prop_assert_eq!(decimals_of_real(&values[0]), Some(decimals));
        let concluded = evidence(&values).conclude();
        prop_assert_ne!(concluded, Inferred::Text);
        prop_assert_eq!(&printed(&values, concluded), &values);
        // Beside others with fewer decimals.
        if decimals > 0 && !values[0].ends_with('0') {
            let values = [values[0].clone(), "7".to_owned()];
            prop_assert_eq!(evidence(&values).conclude(), Inferred::Real);
            prop_assert_eq!(&printed(&values, Inferred::Real), &values);
        }
    }
}

proptest! {
    #[test]
    fn more_values_only_move_the_conclusion_towards_text(values in column()) {
        let mut evidence = Evidence::new();
        let mut before = None;
        for text in &values {
            prop_assert_eq!(evidence.is_empty(), before.is_none());
            evidence.add(text.as_bytes());
            let now = evidence.conclude();
            prop_assert!(before <= Some(now));
            prop_assert!(!evidence.is_empty());
            before = Some(now);
            if evidence.is_final() {
                prop_assert_eq!(now, Inferred::Text);
            }
        }
        // All that says TEXT of some values says it for ever.
        prop_assert_eq!(evidence.is_final(), before == Some(Inferred::Text));
    }

    #[test]
    fn evidence_can_be_merged_in_any_order(a in column(), b in column(), c in column()) {
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
    fn a_column_is_seen_as_its_values_are(
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
fn integers_are_canonical_and_fit_64_bits() {
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
fn decimals_are_real_where_nothing_is_lost() {
    let reals: [&[&str]; 7] = [
        &["17.00", "24.50"],
        &["3", "1.5"],
        &["3.0", "1.5"],
        &["-0.5", "0"],
        &["0.00"],
        &["0.000000000000000000000000000000123456789012345"],
        &["999999999999999", "0.1"],
    ];
    for values in reals {
        assert_eq!(conclude(values), Inferred::Real, "{values:?}");
    }
    let texts: [&[&str]; 12] = [
        &["1.9", "1.10"],
        &["17", "24.50"],
        &["0", "0.0"],
        &["1e5", "1.5"],
        &[".5"],
        &["5."],
        &["-0.00", "1.25"],
        &["-0", "1.5"],
        &["01.5"],
        &["0.1234567890123456"],
        &["1000000000000000", "0.1"],
        &["1.2.3"],
    ];
    let tiny = |zeros: usize| format!("0.{}1", "0".repeat(zeros));
    assert_eq!(conclude(&[&tiny(299)]), Inferred::Real);
    assert_eq!(conclude(&[&tiny(300)]), Inferred::Text, "beyond what floats keep as well");
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
