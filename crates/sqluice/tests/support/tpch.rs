//! Two tables of TPC-H as CSV files, made here.
//!
//! At scale 0.01, that is 60,175 and 15,000 rows; `SQLUICE_TPCH_SCALE` asks for another.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use tpchgen::csv::{LineItemCsv, OrderCsv};
use tpchgen::generators::{LineItemGenerator, OrderGenerator};

/// Writes the file `lineitem`; returns how many rows it has.
pub(crate) fn write_line_items(file: &Path) -> usize {
    let rows = LineItemGenerator::new(scale(), 1, 1);
    write(file, LineItemCsv::header(), rows.iter().map(LineItemCsv::new))
}

/// Writes the file `orders`; returns how many rows it has.
pub(crate) fn write_orders(file: &Path) -> usize {
    let rows = OrderGenerator::new(scale(), 1, 1);
    write(file, OrderCsv::header(), rows.iter().map(OrderCsv::new))
}

fn scale() -> f64 {
    let asked = std::env::var("SQLUICE_TPCH_SCALE");
    asked.map_or(0.01, |scale| scale.parse().expect("SQLUICE_TPCH_SCALE is a number"))
}

fn write(file: &Path, header: &str, lines: impl Iterator<Item = impl Display>) -> usize {
    let mut out = BufWriter::new(File::create(file).unwrap());
    writeln!(out, "{header}").unwrap();
    let rows = lines.map(|line| writeln!(out, "{line}").unwrap()).count();
    out.flush().unwrap();
    // A scale that is too small would compare nothing.
    assert!(rows > 1000, "{rows} rows");
    rows
}
