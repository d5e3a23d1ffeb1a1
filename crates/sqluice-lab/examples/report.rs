//! Renders the record of a lab run as an HTML page: `cargo run -p sqluice-lab --example report -- RUN.json [OLD.json] > page.html`. With
//! the record of an old run, the page marks changes.

use std::error::Error;
use std::io::Write;

use sqluice_lab::record::Run;
use sqluice_lab::report;

fn main() -> Result<(), Box<dyn Error>> {
    let mut files = std::env::args().skip(1);
    let read = |file: String| -> Result<Run, Box<dyn Error>> {
        Ok(serde_json::from_str(&std::fs::read_to_string(file)?)?)
    };
    let run = read(files.next().ok_or("no record is named")?)?;
    let old = files.next().map(read).transpose()?;
    std::io::stdout().write_all(report::html(&run, old.as_ref()).as_bytes())?;
    Ok(())
}
