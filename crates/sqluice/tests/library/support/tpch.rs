//! Writes two tables of TPC-H, `lineitem` and `orders`, as CSV files.
//!
//! At scale 0.01, that is 60,175 and 15,000 rows.

use std::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use sqluice_testkit::effort::tries;
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

/// Returns the scale of both tables.
fn scale() -> f64 {
    tries(0.002, 0.01, 0.2)
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
