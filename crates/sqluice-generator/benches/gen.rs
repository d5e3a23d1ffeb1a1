//! Measures how fast the generator makes values, without encoding them, in rows per second on one thread:
//! `cargo bench -p sqluice-generator --bench gen`.
//!
//! The bench runs the example of each function but `distinct` among the columns of the example schema, some expressions alone, the `user`
//! table, and masks. It prints figures and asserts nothing.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use sqluice_core::batch::{Bytes, Column, Span, Spans, Values};
use sqluice_core::schema::Schema;
use sqluice_core::source::Source;
use sqluice_generator::mask::{Equality, MaskFile, MaskKey, MaskSpace};
use sqluice_generator::{FUNCTIONS, Function, Preset, Spec};

const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_millis(100);

/// Makes all rows and returns how long that took.
fn make(spec: &Spec, rows: u64) -> Duration {
    let started = Instant::now();
    // The last table, whose rows may refer to those of others.
    let all: Vec<u64> = (1..spec.tables.len()).map(|_| 100_000).chain([rows]).collect();
    let mut source = spec.tables[spec.tables.len() - 1].source_among(1, &all, 0, rows).unwrap();
    while let Some(mut part) = source.next_part().unwrap() {
        part.decode(&mut |batch: &sqluice_core::batch::Batch<'_>| {
            black_box(batch);
            Ok(())
        })
        .unwrap();
    }
    started.elapsed()
}

fn measure(name: &str, table: &Spec) {
    let mut rows = 1 << 16;
    let mut took = make(table, rows);
    while took < ROUND {
        rows *= 2;
        took = make(table, rows);
    }
    let mut rounds: Vec<Duration> = (0..ROUNDS).map(|_| make(table, rows)).collect();
    rounds.sort_unstable();
    let of = |took: Duration| took.as_secs_f64() * 1e9 / rows as f64;
    let (median, best) = (of(rounds[ROUNDS / 2]), of(rounds[0]));
    println!("{name:42} {:8.1} M rows/s  {median:8.3} ns/row  (best {best:.3})", 1e3 / median);
}

fn main() {
    // With the argument `mask`, only masks are measured.
    if std::env::args().any(|argument| argument == "mask") {
        return masks();
    }
    let more = [
        "7",
        "choice(0, 1)",
        "choice(5, 10, 15)",
        "choice(1, 2, 4)",
        "choice(1: 5, 2, 4)",
        "choice('ab', 'cd', 'ef')",
        "choice('new', 'paid', 'sent off')",
        "choice(1, 'two', 3.0)",
        "choice(int(1, 9), text(1, 9))",
        "int(0, 1_000_000_000)",
        "null(0.5, 7)",
        "digits(3)",
        "digits(12)",
        "digits(40)",
        "text(8, 8)",
        "text(1000, 2000)",
        "blob(100000, 100000)",
    ];
    for function in FUNCTIONS.iter().filter(|function| function.name != "distinct") {
        let sql = Function::EXAMPLE_SCHEMA.replace("{}", function.example);
        measure(function.example, &Spec::new(&Schema::parse(sql, Path::new("bench")).unwrap()).unwrap());
    }
    for expression in more {
        let sql = format!("CREATE TABLE t (c /* gen: {expression} */)");
        measure(expression, &Spec::new(&Schema::parse(sql, Path::new("bench")).unwrap()).unwrap());
    }
    let user = Spec::new(&Preset::find("user").unwrap().schema().unwrap()).unwrap();
    measure("the user table", &user);
    masks();
}

/// Measures masks. A batch has a thousand different old values, and is masked again and again.
fn masks() {
    let ints: Vec<i64> = (0..1000).map(|row| row * 7919 % 1_000_003).collect();
    let mails: Vec<String> = ints.iter().map(|int| format!("person.{int}@mail.example")).collect();
    let days: Vec<String> = ints
        .iter()
        .map(|int| format!("20{:02}-{:02}-{:02} 12:34:56", int % 30, int % 12 + 1, int % 28 + 1))
        .collect();
    for (kind, expressions) in [
        ("integers", &["permute()", "shape()", "noise(0.1)", "int(1, 1000)", "email()"][..]),
        ("addresses", &["shape()", "email()", "hex(20)", "choice('a', 'b')", "sentence()"]),
        ("moments", &["shift(30, b)", "shape()"]),
    ] {
        for expression in expressions {
            let sql = format!("CREATE TABLE t (a /* gen: {expression} */, b)");
            let file = MaskFile::new(Schema::parse(sql, Path::new("bench")).unwrap()).unwrap();
            let mask = file.columns()[0].mask(&MaskKey::new([1; 16]).unwrap(), false).unwrap();
            let texts = if kind == "moments" { &days } else { &mails };
            let data = texts.concat();
            let mut start = 0;
            let span = |text: &String| {
                let span = Span { start, len: text.len() as u32 };
                start += span.len;
                span
            };
            let spans: Vec<Span> = texts.iter().map(span).collect();
            let old = match kind {
                "integers" => Values::Int(&ints),
                _ => Values::Text(Bytes { data: data.as_bytes(), spans: Spans::Anywhere(&spans) }),
            };
            let (old, person) = (Column::new(old), Column::new(Values::Int(&ints)));
            let mut space = MaskSpace::default();
            let mut once = || {
                let (old, person) = ((&old, Equality::default()), Some((&person, Equality::default())));
                mask.fill(old, person, ints.len(), &mut space).unwrap();
                black_box(&space);
            };
            let mut rounds: Vec<Duration> = (0..ROUNDS)
                .map(|_| {
                    let started = Instant::now();
                    (0..1000).for_each(|_| once());
                    started.elapsed()
                })
                .collect();
            rounds.sort_unstable();
            let median = rounds[ROUNDS / 2].as_secs_f64() * 1e3;
            println!(
                "mask of {kind}: {expression:32} {:8.1} M values/s  {median:8.1} ns/value",
                1e3 / median
            );
        }
    }
}
