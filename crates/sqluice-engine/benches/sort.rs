//! Measures how fast items are sorted: nanoseconds of CPU per item, on two threads that push and then merge, in memory and spilled to the
//! folder for temporary files. `cargo bench -p sqluice-engine --bench sort [-- NAME]`. Prints figures, and asserts that the order is right.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use sqluice_core::progress::Cancel;
use sqluice_core::splitmix;
use sqluice_engine::sort::{Item, Layout, Order, Prefetch, Sorter, Spill};
use sqluice_format::key::{KeyColumn, KeyOrder};
use sqluice_format::record;
use sqluice_format::value::Value;

const ITEMS: u64 = 5_000_000;
const THREADS: u64 = 2;
/// The number of rounds, of which the best of each figure is printed.
const ROUNDS: usize = 3;
/// The number of items of a part, which a thread takes and pushes at once.
const PART: u64 = 10_000;

/// CPU time of the process so far, in steps of 10 ms.
fn cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or_default();
    let fields = after_name.split_whitespace().skip(11).take(2);
    Duration::from_millis(fields.filter_map(|ticks| ticks.parse::<u64>().ok()).sum::<u64>() * 10)
}

/// A function that appends the record of the row with this number.
type Make = fn(u64, &mut Vec<u8>);

fn digits(row: u64, out: &mut Vec<u8>) {
    let text = format!("{:06}", splitmix::nth(row) % 1_000_000);
    record::encode(&[Value::Text(text.as_bytes()), Value::Int(row as i64)], out);
}

fn ascending(row: u64, out: &mut Vec<u8>) {
    record::encode(&[Value::Int(row as i64 * 3), Value::Int(row as i64)], out);
}

fn moment(row: u64, out: &mut Vec<u8>) {
    let at = splitmix::nth(row);
    let (day, second) = (at % 336, at / 336 % 86_400);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let text = format!("2024-{:02}-{:02} {hour:02}:{minute:02}:{second:02}", 1 + day / 28, 1 + day % 28);
    record::encode(&[Value::Text(text.as_bytes()), Value::Int(row as i64)], out);
}

fn url(row: u64, out: &mut Vec<u8>) {
    let text = format!(
        "https://www.example.com/articles/{}/{:x}",
        splitmix::nth(row) % 100,
        splitmix::nth(row) >> 40
    );
    record::encode(&[Value::Text(text.as_bytes()), Value::Int(row as i64)], out);
}

fn row(row: u64, out: &mut Vec<u8>) {
    record::encode(&[Value::Int(row as i64), Value::Text(&[b'x'; 80])], out);
}

/// Sorts everything. Returns the time that pushing took and the time that merging took, and then the CPU time of each.
fn sort(layout: &Layout, parts: &[Vec<(u64, Vec<u8>)>], memory_bytes: usize) -> [Duration; 4] {
    let spill = Arc::new(Spill::new(std::env::temp_dir()));
    let (started, cpu_before) = (Instant::now(), cpu());
    let sorter = Sorter::new(layout.clone(), memory_bytes / THREADS as usize, &spill);
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let mut buffer = sorter.buffer();
                while let Some(part) = parts.get(next.fetch_add(1, Relaxed)) {
                    for (number, record) in part {
                        let rowid = splitmix::nth(*number) as i64 >> 24;
                        buffer.push(Item { rowid, number: *number, record }).unwrap();
                    }
                }
                buffer.flush().unwrap();
            });
        }
    });
    let (pushed, cpu_pushed) = (started.elapsed(), cpu());
    let ahead = Arc::new(Prefetch::new(THREADS as usize).unwrap());
    let sorted = sorter.sorted(memory_bytes + (8 << 20), THREADS as usize, &ahead, &Cancel::new()).unwrap();
    let (next, items) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let range = next.fetch_add(1, Relaxed);
                    if range >= sorted.ranges() {
                        break;
                    }
                    let merge = sorted.range(range).unwrap();
                    let (mut before, mut count) = (0, 0);
                    let merged = merge.try_for_each(|item, prefix| {
                        black_box(item);
                        count += 1;
                        assert!(before <= prefix);
                        before = prefix;
                        Ok(())
                    });
                    merged.unwrap();
                    items.fetch_add(count, Relaxed);
                }
            });
        }
    });
    assert_eq!(items.into_inner() as u64, sorted.items());
    [pushed, started.elapsed() - pushed, cpu_pushed - cpu_before, cpu() - cpu_pushed]
}

fn main() {
    let key = |columns: usize| Order::Record(KeyOrder::new(vec![KeyColumn::default(); columns]));
    let cases: [(&str, Order, Make); 5] = [
        ("text of 6 digits, rowid", key(2), digits),
        ("ascending integers, rowid", key(2), ascending),
        ("timestamps, rowid", key(2), moment),
        ("URLs, rowid", key(2), url),
        ("rows by rowid", Order::Rowid, row),
    ];
    let only = std::env::args().skip(1).find(|argument| !argument.starts_with('-'));
    println!(
        "{:28} {:>8}   {:>7} {:>7}   CPU {:>7} {:>7}   ns/item",
        "", "memory", "push", "merge", "push", "merge"
    );
    for (name, order, make) in cases {
        if only.as_ref().is_some_and(|only| !name.contains(only.as_str())) {
            continue;
        }
        let by_rowid = matches!(order, Order::Rowid);
        let layout = Layout { order, rowid: by_rowid, number: by_rowid };
        let part = |start: u64| {
            let rows = start..(start + PART).min(ITEMS);
            let record = |number| {
                let mut record = Vec::new();
                make(number, &mut record);
                (number, record)
            };
            rows.map(record).collect()
        };
        let parts: Vec<Vec<_>> = (0..ITEMS).step_by(PART as usize).map(part).collect();
        for memory_mib in [2048, 64] {
            let rounds = [(); ROUNDS].map(|()| sort(&layout, &parts, memory_mib << 20));
            let took = [0, 1, 2, 3].map(|figure| rounds.iter().map(|round| round[figure]).min().unwrap());
            let [push, merge, cpu_push, cpu_merge] = took.map(|took| took.as_secs_f64() * 1e9 / ITEMS as f64);
            println!(
                "{name:28} {memory_mib:4} MiB   {push:7.1} {merge:7.1}       {cpu_push:7.1} {cpu_merge:7.1}"
            );
        }
    }
}
