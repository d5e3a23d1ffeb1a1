//! Measures the time for a cell of an XLSX file, in nanoseconds on one core, beside calamine's reader of cells:
//! `cargo bench -p sqluice-sources --bench sheets`.
//!
//! The sheet has a million cells: numbers, dates, shared texts and texts of their own. calamine reads the cells, and drops them. A load reads
//! them twice at its start for the header and a sample, and once as batches; all of this counts. Each line is the best of several runs.
#![allow(clippy::print_stdout)]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use calamine::{Reader as _, Xlsx, open_workbook};
use sqluice_core::batch::Batch;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::source::Refused;
use sqluice_core::source::columns::ColumnFrom;
use sqluice_sources::formats::{FormatOptions, OpenRequest, WantedRows, XLSX};
use sqluice_sources::input::{InputFile, InputOptions};
use sqluice_testkit::archives::zip;

const ROWS: usize = 100_000;
const COLUMNS: usize = 10;
const RUNS: usize = 5;

/// The types of relations between parts.
const KIND: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

fn main() -> Result<()> {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let path = folder.path().join("book.xlsx");
    std::fs::write(&path, workbook()).expect("a workbook");
    let calamine = best(|| Ok(calamine_cells(&path)))?;
    let load = best(|| load_cells(&path))?;
    println!("nanoseconds a cell");
    println!("calamine, next_cell {calamine:9.1}");
    println!("load                {load:9.1}   {:.2} times", load / calamine);
    Ok(())
}

/// Returns the nanoseconds a cell of the best run.
fn best(mut run: impl FnMut() -> Result<usize>) -> Result<f64> {
    let mut best = Duration::MAX;
    for _ in 0..RUNS {
        let start = Instant::now();
        let cells = run()?;
        best = best.min(start.elapsed());
        assert_eq!(cells, (ROWS + 1) * COLUMNS);
    }
    Ok(best.as_secs_f64() * 1e9 / ((ROWS + 1) * COLUMNS) as f64)
}

fn calamine_cells(path: &Path) -> usize {
    let mut book: Xlsx<_> = open_workbook(path).expect("a workbook");
    let sheet = book.sheet_names()[0].clone();
    let mut reader = book.worksheet_cells_reader(&sheet).expect("a sheet");
    let mut cells = 0;
    while let Some(cell) = reader.next_cell().expect("a cell") {
        std::hint::black_box(&cell);
        cells += 1;
    }
    cells
}

fn load_cells(path: &Path) -> Result<usize> {
    let input = InputFile::new(path, InputOptions::new().workbooks(true))?;
    let request = OpenRequest {
        path,
        options: &FormatOptions::new(),
        tables: &[],
        columns: None,
        declared: &[],
        named: &[],
        strict: false,
        lossy: false,
        #[cfg(feature = "parquet")]
        arrow: sqluice_sources::arrow::ArrowOptions::default(),
        rows_max: u64::MAX,
        sample_bytes: 1 << 20,
        part_bytes: 1 << 20,
        record_bytes_max: 32 << 20,
        memory_bytes: 256 << 20,
        threads: 1,
        temp_folder: &|| Ok(PathBuf::from(path.parent().unwrap_or(path))),
        open_database: &|| Err(Error::usage("no database")),
        open_again: &|| Err(Error::usage("no other input")),
        cancel: &Cancel::default(),
    };
    let mut opened = XLSX.open(input, &request)?.remove(0);
    let map = (0..COLUMNS).map(ColumnFrom::Field).collect();
    let wanted = WantedRows { map, as_text: &[], as_blob: &[], rows: 0..u64::MAX };
    let mut source = opened.content.source(&mut opened.input, wanted)?;
    // The header has cells, too.
    let mut cells = COLUMNS;
    while let Some(mut part) = source.next_part()? {
        part.decode(&mut |batch: &Batch<'_>| -> Result<(), Refused> {
            cells += batch.rows * batch.columns.len();
            std::hint::black_box(batch);
            Ok(())
        })?;
    }
    Ok(cells)
}

/// Returns a workbook with one sheet.
fn workbook() -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(1);
    let mut sheet = String::from("<?xml version=\"1.0\"?><worksheet><sheetData>");
    for row in 1..=ROWS + 1 {
        _ = write!(sheet, "<row r=\"{row}\">");
        for column in 0..COLUMNS {
            let letter = char::from(b'A' + column as u8);
            _ = match column {
                _ if row == 1 => write!(sheet, "<c r=\"{letter}1\" t=\"str\"><v>column {letter}</v></c>"),
                0..3 => write!(sheet, "<c r=\"{letter}{row}\"><v>{}</v></c>", random.u32(..1_000_000)),
                3..5 => write!(
                    sheet,
                    "<c r=\"{letter}{row}\"><v>{}</v></c>",
                    f64::from(random.u32(..1_000_000)) / 64.0
                ),
                5 => {
                    write!(sheet, "<c r=\"{letter}{row}\" s=\"1\"><v>{}</v></c>", random.u32(30_000..60_000))
                }
                6..9 => write!(sheet, "<c r=\"{letter}{row}\" t=\"s\"><v>{}</v></c>", random.u32(..1000)),
                _ => write!(sheet, "<c r=\"{letter}{row}\" t=\"inlineStr\"><is><t>text {row}</t></is></c>"),
            };
        }
        sheet += "</row>";
    }
    sheet += "</sheetData></worksheet>";
    let strings: String = (0..1000).map(|number| format!("<si><t>shared text {number}</t></si>")).collect();
    let strings = format!("<?xml version=\"1.0\"?><sst>{strings}</sst>");
    let styles = "<?xml version=\"1.0\"?><styleSheet><cellXfs count=\"2\"><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs></styleSheet>";
    let book = format!(
        "<?xml version=\"1.0\"?><workbook xmlns:r=\"{KIND}\"><sheets><sheet name=\"S\" sheetId=\"1\" r:id=\"s\"/></sheets></workbook>"
    );
    let relations = format!(
        "<?xml version=\"1.0\"?><Relationships><Relationship Id=\"s\" Type=\"{KIND}/worksheet\" Target=\"worksheets/sheet1.xml\"/>\
         <Relationship Id=\"t\" Type=\"{KIND}/sharedStrings\" Target=\"sharedStrings.xml\"/>\
         <Relationship Id=\"y\" Type=\"{KIND}/styles\" Target=\"styles.xml\"/></Relationships>"
    );
    let root = format!(
        "<?xml version=\"1.0\"?><Relationships><Relationship Id=\"b\" Type=\"{KIND}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
    );
    zip(&[
        ("_rels/.rels", root.as_bytes()),
        ("xl/workbook.xml", book.as_bytes()),
        ("xl/_rels/workbook.xml.rels", relations.as_bytes()),
        ("xl/worksheets/sheet1.xml", sheet.as_bytes()),
        ("xl/sharedStrings.xml", strings.as_bytes()),
        ("xl/styles.xml", styles.as_bytes()),
    ])
}
