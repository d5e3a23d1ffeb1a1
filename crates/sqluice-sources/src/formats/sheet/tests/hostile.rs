//! Tests of malicious and damaged workbooks. Malicious ones are refused with an error that names the cause, or are read within the memory
//! of the load. Damaged ones are refused or read, without a panic.

use sqluice_testkit::effort::tries;

use super::super::made::{MadeSheet, xlsx};
use super::*;

#[track_caller]
fn refused(file: &[u8]) -> String {
    match read(file, MEMORY, &FormatOptions::new()) {
        Err(error) => error,
        Ok(tables) => {
            let error =
                tables.into_iter().find_map(|taken| taken.error.or_else(|| taken.bad.first().cloned()));
            error.expect("an error")
        }
    }
}

fn sheet_of(rows: &str) -> Vec<u8> {
    xlsx_of_sheet(format!("<worksheet><sheetData>{rows}</sheetData></worksheet>").as_bytes())
}

#[test]
fn two_cells_at_opposite_corners_of_a_sheet_take_little_memory() {
    let taken = one(
        &sheet_of(
            "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row><row r=\"1048576\"><c r=\"A1048576\"><v>2</v></c></row>",
        ),
        &FormatOptions::new().header(false),
    );
    assert_eq!(taken.rows, [["1"], ["2"]]);
    let error = refused(&sheet_of("<row r=\"1\"><c r=\"A1\"><v>1</v></c><c r=\"XFD1\"><v>1</v></c></row>"));
    assert_eq!(error, "book.xlsx, sheet S: the table has 16384 columns, and SQLite takes 2000");
}

#[test]
fn shared_texts_beyond_the_memory_are_refused_while_they_are_counted() {
    let strings = format!("<si><t>{}</t></si>", "x".repeat(1 << 20)).repeat(64);
    let sheet = MadeSheet { name: "S", state: "visible", xml: b"<worksheet><sheetData/></worksheet>" };
    let file = xlsx(&[sheet], "", &strings, "");
    assert!(file.len() < 1 << 20, "{}", file.len());
    assert_eq!(
        refused(&file),
        "book.xlsx: the texts of the workbook would take more than 8 MiB, half of the memory"
    );
    let sheet = MadeSheet { name: "S", state: "visible", xml: b"<worksheet><sheetData/></worksheet>" };
    let many = xlsx(&[sheet], "", &"<si/>".repeat(1 << 20), "");
    assert!(refused(&many).contains("the texts of the workbook would take more than"));
    let sheet = MadeSheet { name: "S", state: "visible", xml: b"<worksheet><sheetData/></worksheet>" };
    let long = xlsx(&[sheet], "", &format!("<si><t>{}</t></si>", "x".repeat(64 << 20)), "");
    assert!(refused(&long).contains("more than"), "{}", refused(&long));
}

#[test]
fn rows_and_cells_out_of_order_doubled_or_beyond_a_sheet_are_refused() {
    for (rows, expected) in [
        ("<row r=\"2\"><c><v>1</v></c></row><row r=\"2\"><c><v>1</v></c></row>", "row 2 follows row 2"),
        ("<row r=\"3\"><c><v>1</v></c></row><row r=\"2\"><c><v>1</v></c></row>", "row 2 follows row 3"),
        ("<row><c r=\"A1\"><v>1</v></c><c r=\"A1\"><v>2</v></c></row>", "the workbook has this cell twice"),
        ("<row r=\"2\"><c r=\"A3\"><v>1</v></c></row>", "a cell of row 3 is in row 2"),
        ("<row r=\"1048577\"><c><v>1</v></c></row>", "\"1048577\" is not a row number"),
        ("<row r=\"1048576\"><c><v>1</v></c></row><row><c><v>1</v></c></row>", "more than 1048576 rows"),
        ("<row><c r=\"XFE1\"><v>1</v></c></row>", "\"XFE1\" is not the address of a cell"),
        ("<row><c t=\"s\"><v>3</v></c></row>", "a cell refers to shared string 3, which does not exist"),
        ("<row><c t=\"s\"><v>99999999999999999999</v></c></row>", "is not a number of a shared text"),
        ("<row><c><v>1e999</v></c></row>", "\"1e999\" is not a number"),
        ("<row><c><v>nan</v></c></row>", "\"nan\" is not a number"),
        ("<row><c t=\"z\"><v>1</v></c></row>", "\"z\" is not a type of cells"),
        ("<row><c t=\"b\"><v>2</v></c></row>", "\"2\" is not a boolean"),
        ("<row><c><v>&x;</v></c></row>", "an entity that XML does not define"),
        ("<row><c><v>1", "ill-formed"),
        ("<row><c><v>1</w></c></row>", "damaged"),
    ] {
        let error = refused(&sheet_of(rows));
        assert!(error.contains(expected), "{rows}: {error}");
    }
    let unordered = sheet_of("<row><c r=\"B1\"><v>2</v></c><c r=\"A1\"><v>1</v></c></row>");
    assert_eq!(one(&unordered, &FormatOptions::new()).rows, [["1", "2"]]);
}

#[test]
fn document_types_deep_nesting_and_long_tags_are_refused() {
    let doctype = b"<!DOCTYPE x [<!ENTITY a \"b\">]><worksheet><sheetData/></worksheet>";
    assert!(refused(&xlsx_of_sheet(doctype)).contains("document type"));
    let deep = format!("<worksheet>{}", "<a>".repeat(1000));
    assert!(refused(&xlsx_of_sheet(deep.as_bytes())).contains("nested more than 256 deep"));
    let long = format!("<worksheet a=\"{}\"/>", "x".repeat(4 << 20));
    assert!(
        refused(&xlsx_of_sheet(long.as_bytes())).contains("a tag or a text of the workbook has more than")
    );
    let long = format!(
        "<worksheet><sheetData><row><c t=\"str\"><v>{}</v></c></row></sheetData></worksheet>",
        "x".repeat(4 << 20)
    );
    assert!(refused(&xlsx_of_sheet(long.as_bytes())).contains("has more than"));
    // The text consists of many short pieces, so only its total length can be too long.
    let pieces = format!(
        "<worksheet><sheetData><row><c t=\"str\"><v>{}</v></c></row></sheetData></worksheet>",
        "x<!---->".repeat(3 << 20)
    );
    assert!(refused(&xlsx_of_sheet(pieces.as_bytes())).contains("a row has more than"));
}

#[test]
fn cells_of_opendocument_beyond_a_sheet_are_refused() {
    for (rows, expected) in [
        (
            "<table:table-row table:number-rows-repeated=\"1048577\"><table:table-cell office:value-type=\"float\" office:value=\"1\"/></table:table-row>",
            "more than 1048576 rows",
        ),
        (
            "<table:table-row><table:table-cell table:number-columns-repeated=\"16385\" office:value-type=\"float\" office:value=\"1\"/></table:table-row>",
            "more than 16384 columns",
        ),
        (
            "<table:table-row><table:table-cell office:value-type=\"string\"><text:p><text:s text:c=\"4000000000\"/></text:p></table:table-cell></table:table-row>",
            "a row has more than",
        ),
        (
            "<table:table-row><table:table-cell office:value-type=\"float\" office:value=\"x\"/></table:table-row>",
            "is not a number",
        ),
    ] {
        let error = refused(&ods(&format!("<table:table table:name=\"T\">{rows}</table:table>")));
        assert!(error.contains(expected), "{rows}: {error}");
    }
}

#[test]
fn files_that_are_cut_short_or_have_changed_bytes_are_refused_or_read() {
    let rows = "<row><c t=\"s\"><v>0</v></c><c t=\"s\"><v>1</v></c></row><row><c><v>1</v></c><c s=\"1\"><v>45000</v></c></row>".to_owned()
        + &"<row><c><v>1</v></c><c t=\"b\"><v>0</v></c></row>".repeat(50);
    let xlsx = sheet_of(&rows);
    let ods = ods(
        "<table:table table:name=\"T\"><table:table-row><table:table-cell office:value-type=\"float\" office:value=\"1\"/></table:table-row></table:table>",
    );
    let mut random = fastrand::Rng::with_seed(1);
    for file in [xlsx, ods] {
        for end in 0..file.len() {
            assert!(read(&file[..end], MEMORY, &FormatOptions::new()).is_err(), "{end}");
        }
        for _ in 0..tries(500, 2000, 100_000) {
            let mut damaged = file.clone();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(0..damaged.len());
                damaged[at] = random.u8(..);
            }
            _ = read(&damaged, MEMORY, &FormatOptions::new());
        }
    }
}

#[test]
fn damaged_xml_of_a_sheet_is_refused_or_read() {
    let rows = "<row r=\"1\" spans=\"1:2\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"inlineStr\"><is><r><t>x&amp;y</t></r></is></c></row>\
        <row r=\"2\"><c r=\"A2\" s=\"2\"><f>A1</f><v>45000.5</v></c><c r=\"B2\" t=\"e\"><v>#N/A</v></c></row>";
    let xml = format!(
        "<worksheet><dimension ref=\"A1:B2\"/><sheetData>{rows}</sheetData><mergeCells><mergeCell ref=\"A1:B1\"/></mergeCells></worksheet>"
    );
    let mut random = fastrand::Rng::with_seed(2);
    for _ in 0..tries(800, 3000, 100_000) {
        let mut damaged = xml.clone().into_bytes();
        for _ in 0..random.usize(1..4) {
            let at = random.usize(0..damaged.len());
            match random.u8(0..3) {
                0 => damaged[at] = random.u8(..),
                1 => _ = damaged.remove(at),
                _ => damaged.insert(at, *random.choice(b"<>/\"'&;= A1").unwrap()),
            }
        }
        _ = read(&xlsx_of_sheet(&damaged), MEMORY, &FormatOptions::new());
    }
}
