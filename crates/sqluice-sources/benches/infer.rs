//! Measures the time that `Evidence` takes to look at a value of a text column, in nanoseconds on one core:
//! `cargo bench -p sqluice-sources --bench infer`.
//!
//! An argument limits the run to the columns whose names contain the argument. The batches are like those of a CSV file. A line prints the
//! best of 25 runs, and the inferred type.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use fastrand::Rng;
use sqluice_core::batch::{Bytes, Column, ROWS_MAX, Span, Spans, Values};
use sqluice_sources::infer::Evidence;

const BATCHES: usize = 64;

fn texts(name: &str, mut text: impl FnMut(&mut Rng) -> String) {
    if std::env::args().nth(1).is_some_and(|part| !part.starts_with('-') && !name.contains(&part)) {
        return;
    }
    let mut random = Rng::with_seed(1);
    let (mut data, mut spans) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES * ROWS_MAX {
        let text = text(&mut random);
        spans.push(Span { start: data.len() as u32, len: text.len() as u32 });
        data.extend_from_slice(text.as_bytes());
        data.push(b',');
    }
    let mut best = Duration::MAX;
    let mut evidence = Evidence::new();
    for _ in 0..25 {
        let start = Instant::now();
        evidence = Evidence::new();
        for spans in spans.chunks(ROWS_MAX) {
            let values = Values::Text(Bytes { data: &data, spans: Spans::Anywhere(spans) });
            evidence.see(black_box(&Column::new(values)), spans.len());
        }
        best = best.min(start.elapsed());
    }
    let nanoseconds = best.as_secs_f64() * 1e9 / spans.len() as f64;
    println!("{name:<34} {:<8} {nanoseconds:7.2}", evidence.conclude().name());
}

fn main() {
    println!("nanoseconds a value");
    texts("0 or 1", |r| r.u64(..2).to_string());
    texts("1 to 7", |r| (1 + r.u64(..7)).to_string());
    texts("1 to 60,000,000", |r| (1 + r.u64(..60_000_000)).to_string());
    texts("1 to 12 digits", |r| {
        let width = r.u64(..12) as u32;
        r.u64(..10u64.pow(width + 1)).to_string()
    });
    texts("negative or not", |r| (r.u64(..2_000_000) as i64 - 1_000_000).to_string());
    texts("17954.55 (lineitem's prices)", |r| format!("{}.{:02}", 900 + r.u64(..104_000), r.u64(..100)));
    texts("0.04 (lineitem's discounts)", |r| format!("0.0{}", r.u64(..10)));
    texts("37.774929 (places)", |r| format!("{}.{:06}", r.u64(..180) as i64 - 90, r.u64(..1_000_000)));
    texts("1 to 6 decimals", |r| {
        let decimals = 1 + r.u64(..6) as usize;
        format!("{}.{:0decimals$}1", r.u64(..100), r.u64(..10u64.pow(decimals as u32)))
    });
    texts("integers and decimals", |r| match r.u64(..2) {
        0 => r.u64(..1000).to_string(),
        _ => format!("{}.5", r.u64(..1000)),
    });
    texts("19 digits", |r| (i64::MAX as u64 - r.u64(..1 << 60)).to_string());
    texts("18 decimals", |r| format!("0.000{:014}1", r.u64(..10u64.pow(14))));
    texts("TRUCK (no number)", |_| "TRUCK".to_string());
}
