//! Measures the speed at which CSV in memory is cut into parts and decoded on one core. The decoded rows are counted and dropped.
//!
//! `cargo run --release -p sqluice --example csv_speed [FILE...]`. Without files, three made-up inputs are measured.
#![allow(clippy::print_stdout)]

use std::io::Cursor;
use std::path::Path;
use std::time::{Duration, Instant};

use sqluice::source::Source;
use sqluice::source::csv::{ColumnFrom, CsvOptions, CsvReader};

const ROUNDS: usize = 7;

fn main() -> sqluice::error::Result<()> {
    println!("{:32} {:>8} {:>10} {:>12} {:>14}", "input", "MB", "cut GB/s", "decode GB/s", "decode M rows/s");
    let files: Vec<String> = std::env::args().skip(1).collect();
    for file in &files {
        let input = std::fs::read(file).map_err(|e| sqluice::error::Error::read(Path::new(file), e))?;
        measure(file, &input)?;
    }
    if files.is_empty() {
        measure(
            "numbers and words, unquoted",
            &made_up(|row| {
                format!(
                    "{row},{},{},17,{}.{:02},0.04,N,O,1996-03-13,1996-02-12,DELIVER IN PERSON,egular courts above",
                    row * 7 % 200_000,
                    row % 10_000,
                    row % 90_000,
                    row % 100
                )
            }),
        )?;
        measure(
            "short fields, all quoted",
            &made_up(|row| {
                format!(
                    "\"{row}\",\"{}\",\"ab\",\"\",\"1\",\"x y\",\"{}\",\"\",\"\",\"\",\"ok\",\"z\"",
                    row * 7 % 200_000,
                    row % 100
                )
            }),
        )?;
        measure(
            "long text with doubled quotes",
            &made_up(|row| {
                format!(
                    "{row},,,,,,,,,,,\"She said \"\"{row}\"\", and\nthen nothing for a while, as if it were enough to have said it once.\""
                )
            }),
        )?;
    }
    Ok(())
}

/// Returns 64 MB of CSV with a header and rows of twelve fields, which `row` makes.
fn made_up(row: impl Fn(usize) -> String) -> Vec<u8> {
    let mut input = b"a,b,c,d,e,f,g,h,i,j,k,l\n".to_vec();
    for number in 0.. {
        if input.len() >= 64_000_000 {
            break;
        }
        input.extend_from_slice(row(number).as_bytes());
        input.push(b'\n');
    }
    input
}

/// Measures an input, and prints a line with the best of [`ROUNDS`] rounds.
fn measure(name: &str, input: &[u8]) -> sqluice::error::Result<()> {
    let (mut cut, mut decode, mut rows) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..ROUNDS {
        let reader =
            CsvReader::new(Box::new(Cursor::new(input.to_vec())), Path::new(name), CsvOptions::default())?;
        let columns = (0..reader.header().len()).map(ColumnFrom::Field).collect();
        let mut source = reader.into_source(columns, 0..u64::MAX);
        let (mut cut_now, mut decode_now) = (Duration::ZERO, Duration::ZERO);
        rows = 0;
        loop {
            let start = Instant::now();
            let Some(mut part) = source.next_part()? else { break };
            cut_now += start.elapsed();
            let start = Instant::now();
            part.decode(&mut |batch: &sqluice::batch::Batch<'_>| {
                rows += batch.rows;
                Ok(())
            })?;
            decode_now += start.elapsed();
        }
        cut = cut.min(cut_now);
        decode = decode.min(decode_now);
    }
    let bytes = input.len() as f64;
    let gigabytes = |time: Duration| bytes / time.as_secs_f64() / 1e9;
    let rows = rows as f64 / decode.as_secs_f64() / 1e6;
    println!("{name:32} {:8.0} {:10.2} {:12.2} {rows:14.1}", bytes / 1e6, gigabytes(cut), gigabytes(decode));
    Ok(())
}
