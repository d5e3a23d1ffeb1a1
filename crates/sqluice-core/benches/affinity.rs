//! Text to numbers, in millions of values a second on one core: `cargo bench -p sqluice-core --bench affinity`.
//!
//! An argument selects the lines whose names contain it. The values lie one after another in a buffer, as in a CSV file. Each line is the
//! best of several runs.
#![allow(clippy::print_stdout)]

use fastrand::Rng;
use sqluice_core::affinity::{Affinity, part_to_number, real_to_text, text_to_number, text_to_number_slow};
use sqluice_format::value::Value;
use std::hint::black_box;
use std::time::{Duration, Instant};

const VALUES: usize = 1 << 16;

fn million_a_second(mut run: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..25 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    VALUES as f64 / best.as_secs_f64() / 1e6
}

fn texts(name: &str, affinity: Affinity, mut text: impl FnMut(&mut Rng) -> String) {
    if std::env::args().nth(1).is_some_and(|part| !part.starts_with('-') && !name.contains(&part)) {
        return;
    }
    let mut random = Rng::with_seed(1);
    let (mut data, mut ends) = (Vec::new(), Vec::new());
    for _ in 0..VALUES {
        data.extend_from_slice(text(&mut random).as_bytes());
        ends.push(data.len());
    }
    let part = million_a_second(|| {
        all(&ends, |start, end| part_to_number(&data, start, end, affinity).0);
    });
    let alone = million_a_second(|| all(&ends, |start, end| text_to_number(&data[start..end], affinity)));
    let slow = million_a_second(|| all(&ends, |start, end| text_to_number_slow(&data[start..end], affinity)));
    println!("{name:<34} {affinity:<8?} {part:7.1} {alone:7.1} {slow:7.1}");
}

#[inline]
fn all<'a>(ends: &[usize], convert: impl Fn(usize, usize) -> Value<'a>) {
    let mut start = 0;
    let mut sum = 0u64;
    for &end in ends {
        sum = sum.wrapping_add(match convert(start, end) {
            Value::Int(int) => int as u64,
            Value::Real(real) => real.to_bits(),
            _ => 1,
        });
        start = end;
    }
    black_box(sum);
}

fn main() {
    println!("million values a second                        part   alone    slow");
    for affinity in [Affinity::Real, Affinity::Numeric] {
        texts("17954.55 (lineitem's prices)", affinity, |r| {
            format!("{}.{:02}", 900 + r.u64(..104_000), r.u64(..100))
        });
        texts("0.04 (lineitem's discounts)", affinity, |r| format!("0.0{}", r.u64(..10)));
        texts("37.774929 (places)", affinity, |r| {
            format!("{}.{:06}", r.u64(..180) as i64 - 90, r.u64(..1_000_000))
        });
    }
    texts("1 to 7", Affinity::Integer, |r| (1 + r.u64(..7)).to_string());
    texts("1 to 60,000,000", Affinity::Integer, |r| (1 + r.u64(..60_000_000)).to_string());
    texts("1 to 12 digits", Affinity::Integer, |r| {
        let width = r.u64(..12) as u32;
        r.u64(..10u64.pow(width + 1)).to_string()
    });
    texts("19 digits", Affinity::Integer, |r| (i64::MAX as u64 - r.u64(..1 << 60)).to_string());
    texts("17 digits and a point", Affinity::Real, |r| format!("0.{:017}", r.u64(..10u64.pow(17))));
    texts("1.2345e-67", Affinity::Real, |r| {
        format!("{}.{:04}e-{}", r.u64(..10), r.u64(..10_000), r.u64(..300))
    });
    texts("17 digits, any exponent", Affinity::Real, |r| {
        format!("{}.{:016}e{}", 1 + r.u64(..9), r.u64(..10u64.pow(16)), r.u64(..600) as i64 - 300)
    });
    texts("40 digits", Affinity::Real, |r| format!("{0:018}.{0:018}{0:04}", r.u64(..10u64.pow(18))));
    texts("' 12.50 '", Affinity::Real, |r| format!(" {}.{} ", r.u64(..100), r.u64(..100)));
    texts("1998-09-02", Affinity::Numeric, |r| format!("1998-{:02}-{:02}", 1 + r.u64(..12), 1 + r.u64(..28)));
    texts("TRUCK (no number)", Affinity::Numeric, |_| "TRUCK".to_string());

    let mut random = Rng::with_seed(1);
    let reals: Vec<f64> = (0..VALUES).map(|_| random.u64(..10_000_000) as f64 / 100.0).collect();
    let mut out = Vec::new();
    let speed = million_a_second(|| {
        out.clear();
        reals.iter().for_each(|real| real_to_text(*real, &mut out));
        black_box(&out);
    });
    println!("{:<34} {:<8} {speed:7.1}", "17954.55 (float to text)", "Text");
}
