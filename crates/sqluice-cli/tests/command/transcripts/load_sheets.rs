//! Transcripts of `load` of workbooks, and the flags for their sheets.

use std::io::Write as _;

use sqluice_testkit::archives::zip;

use crate::transcript::sqluice;

const KIND: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// Returns a workbook with these sheets: their names, states and rows.
fn workbook(sheets: &[(&str, &str, &str)]) -> Vec<u8> {
    let (mut list, mut relations) = (String::new(), String::new());
    let mut parts = Vec::new();
    for (index, (name, state, rows)) in sheets.iter().enumerate() {
        list += &format!("<sheet name=\"{name}\" sheetId=\"{index}\" state=\"{state}\" r:id=\"s{index}\"/>");
        relations +=
            &format!("<Relationship Id=\"s{index}\" Type=\"{KIND}/worksheet\" Target=\"sheet{index}.xml\"/>");
        let sheet = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
        parts.push((format!("xl/sheet{index}.xml"), sheet));
    }
    let book = format!("<workbook xmlns:r=\"{KIND}\"><sheets>{list}</sheets></workbook>");
    parts.insert(0, ("xl/workbook.xml".to_owned(), book));
    parts.push((
        "xl/_rels/workbook.xml.rels".to_owned(),
        format!("<Relationships>{relations}</Relationships>"),
    ));
    zip(&parts)
}

fn text(text: &str) -> String {
    format!("<c t=\"str\"><v>{text}</v></c>")
}

/// Returns the rows of a table with an id and a city.
fn cities(rows: &[(u32, &str)]) -> String {
    let row = |(id, city): &(u32, &str)| format!("<row><c><v>{id}</v></c>{}</row>", text(city));
    format!("<row>{}{}</row>", text("id"), text("city")) + &rows.iter().map(row).collect::<String>()
}

fn two_sheets() -> Vec<u8> {
    let (one, two) = (cities(&[(1, "Oslo"), (2, "007")]), cities(&[(3, "Rome")]));
    workbook(&[("One", "visible", &one), ("Two", "hidden", &two), ("Three", "visible", &two)])
}

#[test]
fn each_sheet_that_is_not_hidden_is_a_table() {
    sqluice("load x.db book.xlsx")
        .file("book.xlsx", two_sheets())
        .succeeds()
        .says(
            "note: book.xlsx: sheet Two is left out, as it is hidden; --sheet Two loads it
             Loaded 3 rows into x.db: [..]
             One: id INTEGER, city TEXT
             Three: id INTEGER, city TEXT",
        )
        .holds("SELECT * FROM One", "1|'Oslo'\n2|'007'")
        .holds("SELECT * FROM Three", "3|'Rome'");
}

#[test]
fn the_table_of_an_only_sheet_is_named_after_the_file_even_with_a_wrong_extension() {
    let book = || workbook(&[("Sheet1", "visible", &cities(&[(1, "Oslo")]))]);
    for name in ["book.xlsx", "book.csv"] {
        sqluice(&format!("load x.db {name}"))
            .file(name, book())
            .succeeds()
            .holds("SELECT * FROM book", "1|'Oslo'");
    }
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&book()).unwrap();
    sqluice("load x.db book.xlsx.gz")
        .file("book.xlsx.gz", gzip.finish().unwrap())
        .succeeds()
        .holds("SELECT * FROM book", "1|'Oslo'");
    sqluice("load x.db - --table t").stdin(book()).succeeds().holds("SELECT * FROM t", "1|'Oslo'");
}

#[test]
fn flags_choose_sheets_and_cells() {
    let load = |flags: &str| sqluice(&format!("load x.db book.xlsx {flags}")).file("book.xlsx", two_sheets());
    load("--sheet two").succeeds().holds("SELECT * FROM Two", "3|'Rome'");
    load("--sheet 3 --sheet One").succeeds().holds("SELECT count(*) FROM sqlite_schema", "2");
    load("--sheet One --sheet Three --table t")
        .succeeds()
        .holds("SELECT * FROM t", "1|'Oslo'\n2|'007'\n3|'Rome'");
    load("--range One!B1:B2").succeeds().holds("SELECT * FROM One", "'Oslo'");
    load("--sheet One --no-header --columns a,b --table t").succeeds().holds("SELECT count(a) FROM t", "3");
    load("--sheet Onne").fails(
        1,
        "error: book.xlsx: the workbook has no sheet \"Onne\"\n\nhint: did you mean One? There are: One, Two, Three",
    );
    load("--range B:A").fails(
        2,
        "error: --range: \"B:A\" is not a range of cells\n\nhint: such as A3:F200, A3:F, A:F, 3:200 or Sheet1!A3:F",
    );
    load("--format csv").fails(
        1,
        "error: book.xlsx: this is an Excel workbook (.xlsx), which is not read here\n\nhint: leave out the setting that names another format",
    );
}

#[test]
fn a_formula_without_a_value_is_named_by_its_cell_and_loaded_as_null_on_request() {
    let rows = cities(&[(1, "Oslo")]) + "<row><c><f>1+1</f></c></row>";
    let load = |flags: &str| {
        sqluice(&format!("load x.db book.xlsx {flags}"))
            .file("book.xlsx", workbook(&[("S", "visible", &rows)]))
    };
    load("").fails(
        1,
        "error: book.xlsx, sheet S, A3: the formula has no stored value\n\n\
         hint: open and save the workbook in a spreadsheet program, which computes the value; or --formulas null loads NULL\n\
         sqluice load x.db book.xlsx --formulas null",
    );
    load("--formulas null").succeeds().holds("SELECT * FROM book", "1|'Oslo'\nNULL|NULL");
}
