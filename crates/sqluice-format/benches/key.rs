//! Keys of index entries, in nanoseconds an entry on one core: `cargo bench -p sqluice-format --bench key`.
//!
//! An argument selects the lines whose names contain it. The records lie in a buffer one after another, in the order of their rowids. Each
//! line is the best of several runs.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use fastrand::Rng;
use sqluice_format::chunk::Chunk;
use sqluice_format::key::{Collation, KeyColumn, KeyOrder};
use sqluice_format::page::{Geometry, PageSize};
use sqluice_format::record;
use sqluice_format::value::Value;

const RECORDS: usize = 1 << 16;

fn nanoseconds(mut run: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..25 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed());
    }
    best.as_secs_f64() * 1e9 / RECORDS as f64
}

fn line(name: &str, columns: &[KeyColumn], mut record: impl FnMut(&mut Rng, i64, &mut Vec<u8>)) {
    if std::env::args().nth(1).is_some_and(|part| !part.starts_with('-') && !name.contains(&part)) {
        return;
    }
    let mut random = Rng::with_seed(1);
    let (mut data, mut ends) = (Vec::new(), Vec::new());
    for rowid in 0..RECORDS as i64 {
        record(&mut random, rowid + 100_000, &mut data);
        ends.push(data.len());
    }
    let records: Vec<&[u8]> =
        (0..RECORDS).map(|i| &data[if i == 0 { 0 } else { ends[i - 1] }..ends[i]]).collect();
    let order = KeyOrder::new(columns);
    let whole = records.iter().filter(|record| order.prefix_is_whole(order.prefix(record))).count();
    let prefix = nanoseconds(|| {
        for record in &records {
            black_box(order.prefix(record));
        }
    });
    let compare = nanoseconds(|| {
        for pair in records.windows(2) {
            black_box(order.compare(pair[0], pair[1]));
        }
    });
    // One after another, as in a leaf.
    let mut in_order = records.clone();
    in_order.sort_by(|a, b| order.compare(a, b));
    let joined = in_order.concat();
    let mut rest = &joined[..];
    let sorted = in_order.iter().map(|record| rest.split_off(..record.len()).expect("it was joined"));
    let sorted: Vec<&[u8]> = sorted.collect();
    let compare_sorted = nanoseconds(|| {
        for pair in sorted.windows(2) {
            black_box(order.compare(pair[0], pair[1]).is_lt());
        }
    });
    let ascends = nanoseconds(|| {
        for pair in sorted.windows(2) {
            black_box(order.ascends(pair[0], pair[1]));
        }
    });
    let mut key = Vec::new();
    let normalize = nanoseconds(|| {
        for record in &records {
            key.clear();
            order.normalize(record, &mut key);
            black_box(&key);
        }
    });
    let geometry = Geometry::new(PageSize::DEFAULT, 0).expect("a geometry");
    let mut chunk = Chunk::new(geometry, 1 << 16);
    let push = nanoseconds(|| {
        chunk.clear();
        for record in &records {
            assert!(chunk.push_entry(record));
        }
        chunk.finish_entries(false);
    });
    let percent = whole * 100 / RECORDS;
    println!(
        "{name:32} prefix {prefix:6.1} ({percent:3}% whole)   compare {compare:6.1}, of neighbours {compare_sorted:6.1}   ascends {ascends:6.1}   normalize {normalize:6.1}   push_entry {push:6.1}"
    );
}

fn main() {
    let plain = KeyColumn::default();
    let nocase = KeyColumn { collation: Collation::NoCase, descending: false };
    let rtrim = KeyColumn { collation: Collation::RTrim, descending: false };
    let down = KeyColumn { descending: true, ..plain };
    let text6 = |random: &mut Rng, rowid: i64, out: &mut Vec<u8>| {
        let text = format!("{:06}", random.u64(..1_000_000));
        record::encode(&[Value::Text(text.as_bytes()), Value::Int(rowid)], out);
    };
    line("text of 6, rowid", &[plain; 2], text6);
    line("text of 6 desc, rowid", &[down, plain], text6);
    line("text of 6 nocase, rowid", &[nocase, plain], text6);
    line("text of 6 rtrim, rowid", &[rtrim, plain], text6);
    line("integer of 31 bits, rowid", &[plain; 2], |random, rowid, out| {
        record::encode(&[Value::Int(random.u64(..1 << 31) as i64), Value::Int(rowid)], out);
    });
    line("integer of any width, rowid", &[plain; 2], |random, rowid, out| {
        let bits = random.u64(..63);
        record::encode(&[Value::Int(random.u64(..1 << bits) as i64), Value::Int(rowid)], out);
    });
    line("0 or 1, rowid", &[plain; 2], |random, rowid, out| {
        record::encode(&[Value::Int(random.u64(..2) as i64), Value::Int(rowid)], out);
    });
    line("integer, text of 6, rowid", &[plain; 3], |random, rowid, out| {
        let (age, text) = (random.u64(..90) as i64, format!("{:06}", random.u64(..1_000_000)));
        record::encode(&[Value::Int(age), Value::Text(text.as_bytes()), Value::Int(rowid)], out);
    });
    line("price, rowid", &[plain; 2], |random, rowid, out| {
        record::encode(&[Value::Real(random.u64(..100_000) as f64 / 100.0), Value::Int(rowid)], out);
    });
    line("UUID as text", &[plain], |random, _, out| {
        let text =
            format!("{:032x}", u128::from(random.u64(..u64::MAX)) << 64 | u128::from(random.u64(..u64::MAX)));
        record::encode(&[Value::Text(text.as_bytes())], out);
    });
}
