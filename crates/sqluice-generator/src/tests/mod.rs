//! Tests of properties of all expressions (a row does not depend on the rows generated with it, a printed expression reads back), and of
//! distributions.

use std::collections::HashMap;
use std::path::Path;

use proptest::prelude::*;

mod distributions;
mod rows;
mod trees;

use sqluice_core::batch::{Batch, ROWS_MAX, Value};
use sqluice_core::schema::Schema;
use sqluice_core::source::Source;

use super::functions::{Function, compile};
use super::generator::{Generate, Scope, World};
use super::parse::parse;
use super::random::Key;
use super::random::tests::{assert_fits, deviations};
use super::vector::{RowRange, Vector};
use super::{Preset, Spec};

/// A value that owns its bytes.
#[derive(Clone, Debug, PartialEq)]
enum Owned {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl From<Value<'_>> for Owned {
    fn from(value: Value<'_>) -> Owned {
        match value {
            Value::Null => Owned::Null,
            Value::Int(int) => Owned::Int(int),
            Value::Real(real) => Owned::Real(real),
            Value::Text(text) => Owned::Text(String::from_utf8(text.to_vec()).unwrap()),
            Value::Blob(blob) => Owned::Blob(blob.to_vec()),
        }
    }
}

static WORLD: World = World::new(1, Vec::new());

fn generator(expression: &str) -> std::sync::Arc<dyn Generate> {
    compile(&parse(expression, 0).unwrap()).unwrap_or_else(|fault| panic!("{expression}: {fault:?}"))
}

/// Returns the values of rows `first..first + count`, generated in batches of `batch` rows.
fn values(expression: &str, seed: u64, first: u64, count: usize, batch: usize) -> Vec<Owned> {
    let generator = generator(expression);
    let key = Key::of_column(seed, "t", "c");
    let mut vector = Vector::default();
    let mut values = Vec::new();
    for start in (0..count).step_by(batch) {
        let rows = RowRange { first: first + start as u64, count: batch.min(count - start) };
        generator.fill(Scope::new(key, &WORLD), rows, &mut vector).unwrap();
        let mixed = vector.mixed_values();
        let column = vector.column(&mixed);
        values.extend((0..rows.count).map(|row| Owned::from(column.get(row))));
    }
    values
}

fn ints(expression: &str, count: usize) -> Vec<i64> {
    let int = |value| if let Owned::Int(int) = value { int } else { panic!("{value:?} from {expression}") };
    values(expression, 1, 0, count, ROWS_MAX).into_iter().map(int).collect()
}

/// Generates nested literals and calls.
fn expressions() -> impl Strategy<Value = String> {
    let number = prop_oneof![-5i64..5, any::<i64>(), Just(i64::MIN), Just(i64::MAX)];
    let pair = (number.clone(), number.clone()).prop_map(|(a, b)| (a.min(b), a.max(b)));
    let leaf = prop_oneof![
        Just("row()".to_owned()),
        Just("NULL".to_owned()),
        number.prop_map(|a| a.to_string()),
        pair.clone().prop_map(|(a, b)| format!("int({a}, {b})")),
        pair.prop_map(|(a, b)| format!("real({a}, {b})")),
        (-1e9..1e9).prop_map(|a: f64| format!("{a:?}")),
        Just("date('0001-01-01', '9999-12-31')".to_owned()),
        Just("timestamp('2000-02-28 23:59:00', '2000-03-01 00:01:00')".to_owned()),
        (1..30).prop_map(|n| format!("digits({n})")),
        (0..50, 0..50).prop_map(|(min, more)| format!("text({min}, {})", min + more)),
        (0..50, 0..2000).prop_map(|(min, more)| format!("blob({min}, {})", min + more)),
        "[a-z']{0,12}".prop_map(|text| format!("'{}'", text.replace('\'', "''"))),
        Just("x'00ff'".to_owned()),
        (1..40).prop_map(|n| format!("hex({n})")),
        Just("decimal(-1.5, 99.99, 2)".to_owned()),
        Just("normal(5, 2)".to_owned()),
        Just("exponential(3)".to_owned()),
        (1..1000).prop_map(|n| format!("zipf({n}, 1.2)")),
        Just("uuid4()".to_owned()),
        Just("uuid7()".to_owned()),
        prop::sample::select(&[
            "name()",
            "email()",
            "city()",
            "address()",
            "url()",
            "mac()",
            "title()",
            "paragraph()"
        ])
        .prop_map(str::to_owned),
        Just("permutation(1, 1000000000000000)".to_owned()),
        Just(
            "after(timestamp('2000-01-01 00:00:00', '2001-01-01 00:00:00'), -3, 30, '2000-12-01')".to_owned()
        ),
        Just("after(null(0.3, int(0, 900000000)), 0, 9, '1998-12-01 00:00:00')".to_owned()),
        Just("after(latest(date('2000-01-01', '2000-02-01'), '2000-01-15'), 1, 2, 1767225599)".to_owned()),
        Just("distinct(email())".to_owned()),
        Just("distinct(text(30, 30))".to_owned()),
    ];
    leaf.prop_recursive(3, 20, 5, |inner| {
        let weighted = (inner.clone(), prop::option::of(1..9)).prop_map(|(value, weight)| match weight {
            Some(weight) => format!("{value}: {weight}"),
            None => value,
        });
        prop_oneof![
            prop::collection::vec(weighted, 1..6).prop_map(|values| format!("choice({})", values.join(", "))),
            (0.0..=1.0, inner.clone()).prop_map(|(p, inner)| format!("null({p:?}, {inner})")),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!("case(when {a} < {b} then {b} else {a})")),
            inner
                .clone()
                .prop_map(|inner| format!("json({{'a': {inner}, 'b': [{inner}]}})"))
                .prop_filter("JSON has no blobs", |it| !it.contains("blob(") && !it.contains("x'00ff'")),
            (inner.clone(), 0..9).prop_map(|(inner, n)| format!("case(when {inner} is null then {n})")),
        ]
    })
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(256))]

    #[test]
    fn a_row_does_not_depend_on_the_batch_it_is_generated_in(
        expression in expressions(), seed: u64, first in 0u64..1 << 40, count in 1usize..300, batch in 1usize..300,
    ) {
        let whole = values(&expression, seed, first, count, ROWS_MAX);
        prop_assert_eq!(&values(&expression, seed, first, count, batch), &whole);
        let middle = count / 2;
        let rest = values(&expression, seed, first + middle as u64, count - middle, batch);
        prop_assert_eq!(&rest[..], &whole[middle..]);
    }

    #[test]
    fn rows_generated_in_any_order_have_the_same_values_as_in_row_order(
        expression in expressions(), seed: u64, first in 0u64..1 << 40, order in prop::collection::vec(0usize..50, 1..60),
    ) {
        let whole = values(&expression, seed, first, 50, ROWS_MAX);
        let generator = generator(&expression);
        let key = Key::of_column(seed, "t", "c");
        let rows: Vec<u64> = order.iter().map(|&row| first + row as u64).collect();
        let mut vector = Vector::default();
        generator.fill_at(Scope::new(key, &WORLD), &rows, &mut vector).unwrap();
        for (index, &row) in order.iter().enumerate() {
            prop_assert_eq!(&Owned::from(vector.get(index)), &whole[row]);
        }
    }

    #[test]
    fn values_have_the_class_and_at_most_the_size_that_their_generator_states(expression in expressions()) {
        use super::generator::Class;
        let generator = generator(&expression);
        for value in values(&expression, 3, 0, 200, 200) {
            let (class, bytes) = match &value {
                Owned::Null => (Class::Null, 0),
                Owned::Int(_) => (Class::Int, 8),
                Owned::Real(_) => (Class::Real, 8),
                Owned::Text(text) => (Class::Text, text.len()),
                Owned::Blob(blob) => (Class::Blob, blob.len()),
            };
            prop_assert!(generator.nullable() || class != Class::Null);
            prop_assert!(class == Class::Null || [class, Class::Any].contains(&generator.class()), "{:?}", value);
            // Phrases that repeat have a suffix, which the maximum size does not include.
            prop_assert!(bytes as u64 <= generator.size().max + 24, "{} of {:?}", bytes, generator.size());
        }
    }

    #[test]
    fn an_expression_and_its_printed_form_give_the_same_values(expression in expressions()) {
        let printed = parse(&expression, 0).unwrap().to_string();
        prop_assert_eq!(values(&expression, 1, 0, 100, 64), values(&printed, 1, 0, 100, 64));
    }

    #[test]
    fn numbers_stay_within_their_bounds(a: i64, b: i64, span in 0i64..3000, x in any::<f64>(), y in any::<f64>()) {
        let near = (a, a.saturating_add(span));
        for (low, high) in [near, (a.min(b), a.max(b))] {
            for value in values(&format!("int({low}, {high})"), 1, 0, 500, ROWS_MAX) {
                prop_assert!(matches!(value, Owned::Int(int) if (low..=high).contains(&int)));
            }
        }
        if x.is_finite() && y.is_finite() {
            let (low, high) = (x.min(y), x.max(y));
            for value in values(&format!("real({low:?}, {high:?})"), 1, 0, 500, ROWS_MAX) {
                prop_assert!(matches!(value, Owned::Real(real) if (low..=high).contains(&real)));
            }
        }
    }

    #[test]
    fn strings_have_the_requested_lengths_and_characters(min in 0usize..60, more in 0usize..60, n in 1usize..50) {
        let lengths = min..=min + more;
        for value in values(&format!("text({min}, {})", min + more), 1, 0, 500, ROWS_MAX) {
            let Owned::Text(text) = value else { panic!("{value:?}") };
            prop_assert!(lengths.contains(&text.len()));
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)));
        }
        for value in values(&format!("blob({min}, {})", min + more), 1, 0, 500, ROWS_MAX) {
            prop_assert!(matches!(value, Owned::Blob(blob) if lengths.contains(&blob.len())));
        }
        for value in values(&format!("digits({n})"), 1, 0, 500, ROWS_MAX) {
            let Owned::Text(text) = value else { panic!("{value:?}") };
            prop_assert!(text.len() == n && text.bytes().all(|byte| byte.is_ascii_digit()));
        }
    }
}

const ROWS: usize = 200_000;

/// Counts the occurrences of each of `outcomes`.
fn counts(expression: &str, seed: u64, outcomes: &[Owned]) -> Vec<u64> {
    let mut counts = vec![0; outcomes.len()];
    for value in values(expression, seed, 0, ROWS, ROWS_MAX) {
        let index = outcomes.iter().position(|outcome| *outcome == value);
        counts[index.unwrap_or_else(|| panic!("{value:?} from {expression}"))] += 1;
    }
    counts
}

#[test]
fn options_occur_in_proportion_to_their_weights_and_fit_no_other_weights() {
    use Owned::{Int, Null, Real};
    let text = |text: &str| Owned::Text(text.to_owned());
    let cases: [(&str, Vec<Owned>, Vec<f64>); 8] = [
        ("choice(5, 10, 15)", vec![Int(5), Int(10), Int(15)], vec![1.0; 3]),
        ("choice(0, 1)", vec![Int(0), Int(1)], vec![1.0; 2]),
        ("choice(4, 1, 2)", vec![Int(1), Int(2), Int(4)], vec![1.0; 3]),
        ("choice(1: 5, 2, 3: 0.5, 4: 0)", vec![Int(1), Int(2), Int(3)], vec![5.0, 1.0, 0.5]),
        ("choice('a': 3, 'bb', NULL: 2)", vec![text("a"), text("bb"), Null], vec![3.0, 1.0, 2.0]),
        ("choice(1, 'one', 1.0: 2)", vec![Int(1), text("one"), Real(1.0)], vec![1.0, 1.0, 2.0]),
        ("choice(int(0, 1): 2, 2: 1, NULL: 3)", vec![Int(0), Int(1), Int(2), Null], vec![1.0, 1.0, 1.0, 3.0]),
        ("null(0.25, choice(1, 2: 2))", vec![Null, Int(1), Int(2)], vec![1.0, 1.0, 2.0]),
    ];
    for (expression, outcomes, weights) in cases {
        let total: f64 = weights.iter().sum();
        let shares: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        // In the wrong distribution, the first outcome also gets a twentieth of the last outcome's share.
        let mut wrong = shares.clone();
        let taken = wrong[wrong.len() - 1] * 0.05;
        wrong[0] += taken;
        *wrong.last_mut().unwrap() -= taken;
        for seed in 0..5 {
            let seen = counts(expression, seed, &outcomes);
            assert_fits(&seen, &shares);
            assert!(deviations(&seen, &wrong) > 4.75, "{expression} fits wrong weights");
        }
    }
}

#[test]
fn integers_are_uniform_in_small_ranges_and_large_ones() {
    let even = [0.01; 100];
    for expression in ["int(0, 99)", "int(0, 999999)", "int(-9223372036854775808, 9223372036854775807)"] {
        let values = ints(expression, ROWS);
        let (low, width) = match expression {
            "int(0, 99)" => (0, 1),
            "int(0, 999999)" => (0, 10_000),
            _ => (i128::from(i64::MIN), (1i128 << 64) / 100 + 1),
        };
        let mut seen = [0; 100];
        values.iter().for_each(|value| seen[((i128::from(*value) - low) / width) as usize] += 1);
        assert_fits(&seen, &even);
        // The values of neighbours are independent.
        let mut pairs = [0; 100];
        for pair in values.chunks_exact(2) {
            let tenth = |value: i64| ((i128::from(value) - low) / width / 10) as usize;
            pairs[tenth(pair[0]) * 10 + tenth(pair[1])] += 1;
        }
        assert_fits(&pairs, &even);
    }
}

#[test]
fn reals_digits_lengths_and_bytes_are_uniform() {
    let mut reals = [0; 50];
    for value in values("real(-1, 1.5)", 3, 0, ROWS, ROWS_MAX) {
        let Owned::Real(real) = value else { panic!("{value:?}") };
        reals[((real + 1.0) * 20.0) as usize] += 1;
    }
    assert_fits(&reals, &[0.02; 50]);

    let mut digits = vec![[0; 10]; 14];
    let mut numbers = vec![0; 1000];
    for value in values("digits(14)", 3, 0, ROWS, ROWS_MAX) {
        let Owned::Text(text) = value else { panic!("{value:?}") };
        text.bytes().zip(&mut digits).for_each(|(digit, seen)| seen[usize::from(digit - b'0')] += 1);
        numbers[text[2..5].parse::<usize>().unwrap()] += 1;
    }
    digits.iter().for_each(|seen| assert_fits(seen, &[0.1; 10]));
    assert_fits(&numbers, &[0.001; 1000]);

    let mut lengths = [0; 31];
    let mut first_bytes = [0; 256];
    for value in values("blob(10, 40)", 3, 0, ROWS, ROWS_MAX) {
        let Owned::Blob(blob) = value else { panic!("{value:?}") };
        lengths[blob.len() - 10] += 1;
        first_bytes[usize::from(blob[9])] += 1;
    }
    assert_fits(&lengths, &[1.0 / 31.0; 31]);
    assert_fits(&first_bytes, &[1.0 / 256.0; 256]);
}

#[test]
fn random_dates_are_uniform_and_include_both_ends() {
    let day = |day: &str| Owned::Text(day.to_owned());
    let days = ["2024-02-28", "2024-02-29", "2024-03-01", "2024-03-02"].map(day);
    assert_fits(&counts("date('2024-02-28', '2024-03-02')", 1, &days), &[0.25; 4]);
    let seconds = ["1999-12-31 23:59:59", "2000-01-01 00:00:00"].map(day);
    let seen = counts("timestamp('1999-12-31 23:59:59', '2000-01-01 00:00:00')", 1, &seconds);
    assert_fits(&seen, &[0.5; 2]);
}

#[test]
fn each_of_many_options_of_choice_is_equally_likely() {
    let options: Vec<String> = (0..2000).map(|option| (option * option).to_string()).collect();
    let mut seen = HashMap::new();
    for value in ints(&format!("choice({})", options.join(", ")), ROWS) {
        *seen.entry(value).or_insert(0) += 1;
    }
    let seen: Vec<u64> = seen.into_values().collect();
    assert_fits(&seen, &[1.0 / 2000.0; 2000]);
}

#[test]
fn classes_of_columns_follow_from_the_expression() {
    use sqluice_core::batch::{Column, Spans, Values};
    fn shape(column: &Column<'_>) -> &'static str {
        match (column.values, column.validity) {
            (Values::Int(_), None) => "int",
            (Values::Int(_), Some(_)) => "int?",
            (Values::Real(_), None) => "real",
            (Values::Text(bytes), None) => match bytes.spans {
                Spans::Fixed(_) => "fixed text",
                Spans::Offsets(_) => "text",
                Spans::Anywhere(_) => "shared text",
            },
            (Values::Blob(_), None) => "blob",
            (Values::Null, None) => "null",
            (Values::Any(_), None) => "any",
            _ => "other",
        }
    }
    for (expression, expected) in [
        ("row()", "int"),
        ("choice(1, 3, 4: 2)", "int"),
        ("choice(int(1, 2), 5)", "int"),
        ("choice(1, NULL)", "int?"),
        ("null(0.5, row())", "int?"),
        ("choice(0.5, 1.0)", "real"),
        ("digits(6)", "fixed text"),
        ("text(4, 4)", "fixed text"),
        ("choice('ab', 'cd')", "fixed text"),
        ("text(4, 5)", "text"),
        ("choice('ab', 'cde')", "shared text"),
        ("blob(1, 2)", "blob"),
        ("NULL", "null"),
        ("choice(1, 'a')", "any"),
    ] {
        let mut vector = Vector::default();
        let at = Scope::new(Key::of_column(1, "t", "c"), &WORLD);
        generator(expression).fill(at, RowRange { first: 0, count: 100 }, &mut vector).unwrap();
        let mixed = vector.mixed_values();
        assert_eq!(shape(&vector.column(&mixed)), expected, "{expression}");
    }
}

/// Returns all values of a table, row by row, and the number of rows of each part.
fn table(sql: &str, rows: u64) -> (Vec<Vec<Owned>>, Vec<usize>) {
    let spec = Spec::new(&Schema::parse(sql.to_owned(), Path::new("s.sql")).unwrap()).unwrap();
    let mut source = spec.tables[0].source(7, rows).unwrap();
    assert_eq!(source.total().unwrap().rows, rows);
    let (mut all, mut parts) = (Vec::new(), Vec::new());
    while let Some(mut part) = source.next_part().unwrap() {
        let before = all.len();
        assert_eq!(part.first_row(), before as u64);
        part.decode(&mut |batch: &Batch<'_>| {
            assert!((1..=ROWS_MAX).contains(&batch.rows));
            assert_eq!(batch.columns.len(), spec.tables[0].columns.len());
            for row in 0..batch.rows {
                all.push(batch.columns.iter().map(|column| column.get(row).into()).collect());
            }
            Ok(())
        })
        .unwrap();
        parts.push(all.len() - before);
    }
    (all, parts)
}

#[test]
fn the_parts_of_a_source_do_not_depend_on_its_row_count() {
    let sql = Preset::find("user").unwrap().schema().unwrap().sql;
    let (rows, parts) = table(&sql, 600_001);
    assert_eq!(rows.len(), 600_001);
    assert!(parts.len() > 1);
    assert!(parts[0].is_multiple_of(ROWS_MAX) && parts[0] > 100_000, "{parts:?}");
    assert_eq!(table(&sql, parts[0] as u64).1, parts[..1]);
    assert_eq!(table(&sql, 1000).0[..], rows[..1000]);
    assert_eq!(table(&sql, 0).0.len(), 0);
    assert!(rows.iter().enumerate().all(|(index, row)| row[0] == Owned::Int(index as i64 + 1)));
}

#[test]
fn large_values_make_small_parts_and_batches_so_that_memory_is_bounded() {
    let sql = "CREATE TABLE t (a INTEGER PRIMARY KEY, b BLOB /* gen: blob(1000000, 2000000) */)";
    let (rows, parts) = table(sql, 9);
    assert_eq!(rows.len(), 9);
    assert_eq!(parts, [4, 4, 1]);
}

#[test]
fn generated_batches_have_null_in_computed_columns() {
    let (rows, _) = table("CREATE TABLE t (a AS (b + 1), b, c AS (b) STORED)", 10);
    assert!(rows.iter().all(|row| row[0] == Owned::Null && row[1] != Owned::Null && row[2] == Owned::Null));
}

#[test]
fn generated_values_differ_between_seeds_tables_and_columns() {
    assert_ne!(values("int(0, 999)", 1, 0, 10, 10), values("int(0, 999)", 2, 0, 10, 10));
    let (rows, _) = table("CREATE TABLE t (a, b)", 10);
    assert!(rows.iter().any(|row| row[0] != row[1]));
    let (others, _) = table("CREATE TABLE u (a, b)", 10);
    assert_ne!(rows, others);
}

#[test]
fn generated_values_are_the_same_in_every_version_of_the_program() {
    // Files made with the same seed have to stay the same: users see a change here.
    use Owned::{Blob, Int, Null, Real};
    let text = |text: &str| Owned::Text(text.to_owned());
    for (expression, expected) in [
        ("int(0, 99)", [Int(4), Int(71), Int(53)]),
        ("int(0, 999999)", [Int(310_192), Int(522_002), Int(205_627)]),
        ("real(0, 1)", [Real(0.31019230023632094), Real(0.5220024427681262), Real(0.2056270952638095)]),
        ("digits(7)", [text("3101923"), text("5220024"), text("2056270")]),
        ("text(2, 9)", [text("FfViK"), text("L4Wit"), text("PQesE53mY")]),
        ("blob(1, 3)", [Blob(vec![56, 139]), Blob(vec![31, 193]), Blob(vec![133, 159, 152])]),
        ("choice('a', 'b': 2)", [text("a"), text("b"), text("a")]),
        ("null(0.5, row())", [Null, Null, Int(1_000_003)]),
    ] {
        assert_eq!(values(expression, 42, 1_000_000, 3, 3), expected, "{expression}");
    }
}

#[test]
fn every_example_of_a_function_gives_different_values() {
    for function in super::FUNCTIONS {
        let sql = Function::EXAMPLE_SCHEMA.replace("{}", function.example);
        let spec = Spec::new(&Schema::parse(sql, Path::new("s.sql")).unwrap())
            .unwrap_or_else(|error| panic!("{function:?}: {error}"));
        let rows = if function.name == "distinct" { 3 } else { 3000 };
        let mut source = spec.tables[1].source_among(7, &[1000, rows], 0, rows).unwrap();
        let mut seen = HashMap::new();
        while let Some(mut part) = source.next_part().unwrap() {
            part.decode(&mut |batch: &Batch<'_>| {
                for row in 0..batch.rows {
                    *seen.entry(format!("{:?}", batch.columns[4].get(row))).or_insert(0) += 1;
                }
                Ok(())
            })
            .unwrap_or_else(|error| panic!("{function:?}: {error}"));
        }
        assert!(seen.len() > 1, "{function:?} gives {seen:?}");
    }
}

#[test]
fn distinct_gives_different_values_for_as_many_rows_as_there_are_values() {
    for (expression, count) in [
        ("permutation(-5, 4)", 10),
        ("distinct(int(1, 1000))", 1000),
        ("distinct(digits(3))", 1000),
        ("distinct(hex(2))", 256),
        ("distinct(text(2, 2))", 4096),
        ("distinct(blob(1, 1))", 256),
        ("distinct(date('2024-01-01', '2024-12-31'))", 366),
        ("distinct(decimal(0, 1, 2))", 101),
        ("distinct(choice(1, 'a', 2.5, x'00'))", 4),
        ("distinct(choice('a', 'b': 7))", 2),
    ] {
        let mut seen: Vec<String> =
            values(expression, 5, 0, count, 64).iter().map(|it| format!("{it:?}")).collect();
        let generator = generator(expression);
        assert_eq!(generator.rows_max(&WORLD).unwrap(), Some(count as u64), "{expression}");
        let at = Scope::new(Key::of_column(5, "t", "c"), &WORLD);
        let more = generator.fill(at, RowRange { first: count as u64, count: 1 }, &mut Vector::default());
        assert!(more.unwrap_err().without_hint().contains("too few for the rows"), "{expression}");
        let in_order = seen.is_sorted();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), count, "{expression}");
        assert!(count < 10 || !in_order, "{expression} is not shuffled");
    }
    for expression in
        ["distinct(country())", "distinct(email())", "distinct(username())", "uuid4()", "uuid7()"]
    {
        let mut seen: Vec<String> =
            values(expression, 5, 0, 50_000, 1000).iter().map(|it| format!("{it:?}")).collect();
        assert!(expression != "uuid7()" || seen.is_sorted());
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 50_000, "{expression}");
    }
}
