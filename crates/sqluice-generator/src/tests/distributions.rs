//! Tests of distributions with 20 seeds each. For some of them, a slightly different distribution must fail the same test.

use super::*;

const SEEDS: u64 = 20;
const COUNT: usize = 100_000;

fn reals(expression: &str, seed: u64) -> Vec<f64> {
    let real = |value| match value {
        Owned::Real(real) => real,
        Owned::Int(int) => int as f64,
        other => panic!("{other:?} from {expression}"),
    };
    values(expression, seed, 0, COUNT, ROWS_MAX).into_iter().map(real).collect()
}

/// Returns the Kolmogorov-Smirnov distance between values and a distribution function, times the square root of the number of values. If it
/// exceeds 2.69, the values fit the distribution with p < 1e-6.
fn distance(mut values: Vec<f64>, below: impl Fn(f64) -> f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let count = values.len() as f64;
    let gap = |(index, value): (usize, &f64)| {
        let below = below(*value);
        (below - index as f64 / count).max((index + 1) as f64 / count - below)
    };
    values.iter().enumerate().map(gap).fold(0.0, f64::max) * count.sqrt()
}

const FAR: f64 = 2.69;

/// Returns the normal distribution function (Abramowitz and Stegun 7.1.26, error below 1.5e-7).
fn normal_below(x: f64) -> f64 {
    let z = x.abs() / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * z);
    let series =
        ((((1.061_405_429 * t - 1.453_152_027) * t) + 1.421_413_741) * t - 0.284_496_736) * t + 0.254_829_592;
    let error = 1.0 - series * t * (-z * z).exp();
    if x < 0.0 { (1.0 - error) / 2.0 } else { f64::midpoint(1.0, error) }
}

#[test]
fn reals_have_the_uniform_normal_or_exponential_distribution_of_their_function() {
    let uniform = |low: f64, high: f64| move |x: f64| (x - low) / (high - low);
    let normal = |mean: f64, deviation: f64| move |x: f64| normal_below((x - mean) / deviation);
    let exponential = |mean: f64| move |x: f64| 1.0 - (-x / mean).exp();
    type Below = Box<dyn Fn(f64) -> f64>;
    let cases: [(&str, Below, Below); 3] = [
        ("real(-2, 6)", Box::new(uniform(-2.0, 6.0)), Box::new(uniform(-2.0, 6.2))),
        ("normal(10, 3)", Box::new(normal(10.0, 3.0)), Box::new(normal(10.0, 3.2))),
        ("exponential(5)", Box::new(exponential(5.0)), Box::new(exponential(5.3))),
    ];
    for (expression, right, wrong) in &cases {
        for seed in 0..SEEDS {
            let values = reals(expression, seed);
            let near = distance(values.clone(), right);
            assert!(near < FAR, "{expression}, seed {seed}: {near}");
            let far = distance(values, wrong);
            assert!(far > FAR, "{expression}, seed {seed}, fits a wrong distribution: {far}");
        }
    }
}

/// Counts outcomes, which are numbered from 0; the last count includes all larger values.
fn tally(values: impl IntoIterator<Item = f64>, outcomes: usize) -> Vec<u64> {
    let mut seen = vec![0; outcomes];
    values.into_iter().for_each(|value| seen[(value as usize).min(outcomes - 1)] += 1);
    seen
}

fn normalized(weights: Vec<f64>) -> Vec<f64> {
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}

/// Returns the probabilities of the first ranks of Zipf's distribution; the last entry is the sum of the probabilities of all other ranks.
fn zipf_shares(count: u64, exponent: f64, outcomes: usize) -> Vec<f64> {
    let all = normalized((1..=count).map(|rank| (rank as f64).powf(-exponent)).collect());
    let (first, rest) = all.split_at(outcomes.min(all.len()) - 1);
    first.iter().copied().chain([rest.iter().sum()]).collect()
}

#[test]
fn ranks_follow_zipf_for_exponents_on_both_sides_of_one() {
    for (count, exponent) in
        [(1000, 1.0), (1000, 1.3), (50, 0.5), (1_000_000, 2.0), (3, 1.1), (100_000, 0.99)]
    {
        let expression = format!("zipf({count}, {exponent:?})");
        let right = zipf_shares(count, exponent, 20);
        let wrong = zipf_shares(count, exponent + 0.1, 20);
        for seed in 0..SEEDS {
            let ranks = reals(&expression, seed).into_iter().map(|rank| rank - 1.0);
            let seen = tally(ranks, right.len());
            assert_fits(&seen, &right);
            assert!(
                deviations(&seen, &wrong).abs() > 4.75,
                "{expression}, seed {seed}, fits a wrong exponent"
            );
        }
    }
}

#[test]
fn decimals_hexadecimal_digits_and_nulls_are_uniform() {
    for seed in 0..SEEDS {
        let hundredths =
            reals("decimal(1, 1.99, 2)", seed).into_iter().map(|it| (it * 100.0).round() - 100.0);
        assert_fits(&tally(hundredths, 100), &[0.01; 100]);
        let digit = |value| match value {
            Owned::Text(text) => {
                f64::from(text.chars().nth(20).and_then(|digit| digit.to_digit(16)).unwrap())
            }
            other => panic!("{other:?}"),
        };
        let digits = values("hex(32)", seed, 0, COUNT, ROWS_MAX).into_iter().map(digit);
        assert_fits(&tally(digits, 16), &[1.0 / 16.0; 16]);
        let nulls = values("null(0.3, 1)", seed, 0, COUNT, ROWS_MAX).into_iter();
        let seen = tally(nulls.map(|value| f64::from(u8::from(value == Owned::Null))), 2);
        assert_fits(&seen, &[0.7, 0.3]);
        assert!(deviations(&seen, &[0.68, 0.32]).abs() > 4.75);
    }
}

/// Returns the number of rows that refer to each of `parents` rows.
fn children(which: &str, seed: u64, parents: u64, rows: u64) -> Vec<u64> {
    let sql =
        format!("CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p /* gen: ref(p.id{which}) */)");
    let spec = Spec::new(&Schema::parse(sql, Path::new("s.sql")).unwrap()).unwrap();
    let mut seen = vec![0; parents as usize];
    let mut source = spec.tables[1].source_among(seed, &[parents, rows], 0, rows).unwrap();
    while let Some(mut part) = source.next_part().unwrap() {
        part.decode(&mut |batch: &Batch<'_>| {
            for row in 0..batch.rows {
                let Value::Int(id) = batch.columns[0].get(row) else { panic!("no id") };
                seen[id as usize - 1] += 1;
            }
            Ok(())
        })
        .unwrap();
    }
    seen
}

#[test]
fn references_are_distributed_uniformly_by_zipf_or_by_each() {
    for seed in 0..SEEDS {
        assert_fits(&children("", seed, 100, 100_000), &[0.01; 100]);

        let mut popular = children(", zipf(1.5)", seed, 1000, 100_000);
        assert!(!popular.is_sorted_by(|a, b| a >= b), "the popular ones are not the first");
        popular.sort_unstable_by_key(|&count| std::cmp::Reverse(count));
        // The six most popular parents differ so much in their numbers of children that their order is certain.
        let few: u64 = popular[..6].iter().sum();
        let seen: Vec<u64> = popular[..6].iter().copied().chain([100_000 - few]).collect();
        assert_fits(&seen, &zipf_shares(1000, 1.5, 7));
        assert!(deviations(&seen, &zipf_shares(1000, 1.6, 7)).abs() > 4.75);

        assert_eq!(children(", each(3)", seed, 1000, 3000), [3; 1000]);
        let counts = children(", each(2, 5)", seed, 10_000, 35_000);
        // Two neighbouring parents have seven rows together, so only the count of the first is random.
        let first: Vec<f64> = counts.iter().step_by(2).map(|&count| count as f64 - 2.0).collect();
        assert!(counts.chunks(2).all(|pair| pair[0] + pair[1] == 7));
        assert_fits(&tally(first, 4), &[0.25; 4]);
    }
}
