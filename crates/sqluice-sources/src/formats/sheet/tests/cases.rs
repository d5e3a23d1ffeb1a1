//! Tests of single workbooks: values, headers, notes and errors.

use super::super::made::{MadeSheet, xlsx};
use super::super::taken::read;
use super::*;

fn lines(taken: &Taken) -> Vec<String> {
    taken.rows.iter().map(|row| row.join(" ")).collect()
}

#[test]
fn the_value_of_a_cell_follows_from_its_type_and_format() {
    let taken = rows_of(
        "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>a</t></is></c><c r=\"B1\" t=\"inlineStr\"><is><t>b</t></is></c></row>\
         <row><c t=\"s\"><v>0</v></c><c><v>007</v></c></row>\
         <row><c t=\"s\"><v>1</v></c><c><v>1.5</v></c></row>\
         <row><c t=\"inlineStr\"><is><t>007</t></is></c><c t=\"b\"><v>1</v></c></row>\
         <row><c t=\"str\"><f>x</f><v>a&amp;b_x000D_</v></c><c s=\"1\"><v>45322</v></c></row>\
         <row><c t=\"str\"><f>x</f><v></v></c><c s=\"2\"><v>45322</v></c></row>\
         <row><c t=\"e\"><v>#N/A</v></c><c s=\"3\"><v>1.5</v></c></row>\
         <row><c t=\"s\"><v>2</v></c><c s=\"4\"><v>0.5</v></c></row>\
         <row><c t=\"d\"><v>2024-01-31T13:45:00.5</v></c><c><v>9007199254740993</v></c></row>\
         <row><c><v>1E3</v></c><c><v>12345678901234567890</v></c></row>",
        &FormatOptions::new(),
    );
    assert_eq!(taken.names, ["a", "b"]);
    assert_eq!(
        lines(&taken),
        [
            "'one' 7",
            "'two ' 1.5",
            "'007' 1",
            "'a&b\\r' '2024-01-31'",
            "NULL '2024-01-31 00:00:00'",
            "NULL '36:00:00'",
            "NULL '12:00:00'",
            "'2024-01-31 13:45:00.500' 9007199254740993",
            "1000 1.2345678901234567e19",
        ]
    );
    assert_eq!(taken.notes, ["1 cell has an error, #N/A, and is NULL: sheet S, A7"]);
    assert_eq!((taken.bad.len(), taken.warning), (0, None));
}

#[test]
fn titles_and_empty_rows_above_the_header_are_left_out() {
    let text = |cell: &str, text: &str| format!("<c r=\"{cell}\" t=\"inlineStr\"><is><t>{text}</t></is></c>");
    let rows = format!(
        "<row r=\"2\">{}</row><row r=\"4\">{}{}</row><row r=\"5\">{}<c r=\"C5\"><v>3</v></c></row><row r=\"7\">{}<c r=\"C7\"><v>4</v></c></row>",
        text("B2", "Sales of 2024"),
        text("B4", "city"),
        text("C4", "sold"),
        text("B5", "Oslo"),
        text("B7", "Rome"),
    );
    let taken = rows_of(&rows, &FormatOptions::new());
    assert_eq!(taken.names, ["city", "sold"]);
    assert_eq!(lines(&taken), ["'Oslo' 3", "'Rome' 4"]);
    assert_eq!(
        taken.notes,
        [
            "rows 2 to 3 are not part of the table, and are left out: \"Sales of 2024\"; `skip_lines = 0` keeps all rows"
        ]
    );
    let all = rows_of(&rows, &FormatOptions::new().skip_lines(0).header(false));
    assert_eq!((all.names.len(), all.rows.len()), (2, 4));
    let ranged = rows_of(&rows, &FormatOptions::new().range(Some("C4:C5".parse().unwrap())));
    assert_eq!((ranged.names, ranged.rows), (vec!["sold".to_owned()], vec![vec!["3".to_owned()]]));
}

#[test]
fn a_cell_beside_the_table_and_a_formula_without_a_value_make_bad_rows() {
    let mut rows = String::from("<row><c t=\"s\"><v>0</v></c></row>");
    rows += &"<row><c><v>1</v></c></row>".repeat(500);
    rows += "<row r=\"600\"><c><f>1+1</f></c></row><row r=\"601\"><c><v>1</v></c><c><v>2</v></c></row>";
    let taken = rows_of(&rows, &FormatOptions::new());
    assert_eq!(taken.rows.len(), 500);
    assert_eq!(
        taken.bad,
        [
            "book.xlsx, sheet S, A600: the formula has no stored value",
            "book.xlsx, sheet S, B601: column B has a value here, but is outside the columns of the table"
        ]
    );
    let ranged = FormatOptions::new().formulas_are_null(true).range(Some("A:A".parse().unwrap()));
    let taken = rows_of(&rows, &ranged);
    assert_eq!((taken.rows.len(), taken.bad.len()), (502, 0));
    assert_eq!(taken.notes, ["1 formula has no stored value, and is NULL"]);
}

#[test]
fn sheets_are_tables_and_hidden_ones_are_left_out() {
    let sheet = |state, name| {
        MadeSheet {
        name,
        state,
        xml: b"<worksheet><sheetData><row><c t=\"inlineStr\"><is><t>n</t></is></c></row><row><c><v>1</v></c></row></sheetData></worksheet>",
    }
    };
    let empty = MadeSheet { name: "Empty", state: "visible", xml: b"<worksheet><sheetData/></worksheet>" };
    let of = |sheets: &[MadeSheet<'_>], options: &FormatOptions| {
        let read = read(&xlsx(sheets, "", "", ""), MEMORY, options);
        read.map(|tables| tables.into_iter().map(|taken| taken.table).collect::<Vec<_>>())
    };
    let options = FormatOptions::new();
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(of(&[sheet("visible", "One"), empty], &options), Ok(vec![None]));
    let three = [sheet("visible", "One"), sheet("veryHidden", "Two"), sheet("visible", "3")];
    assert_eq!(of(&three, &options), Ok(vec![named("One"), named("3")]));
    assert_eq!(of(&three, &FormatOptions::new().sheets(["two"])), Ok(vec![named("Two")]));
    // Sheets are found by name before they are found by number.
    assert_eq!(of(&three, &FormatOptions::new().sheets(["3", "2"])), Ok(vec![named("3"), named("Two")]));
    assert_eq!(
        of(&three, &FormatOptions::new().range(Some("One!A:A".parse().unwrap()))),
        Ok(vec![named("One")])
    );
    let missing = of(&three, &FormatOptions::new().sheets(["Tow"])).unwrap_err();
    assert_eq!(missing, "book.xlsx: the workbook has no sheet \"Tow\"");
    let hidden = of(&[sheet("hidden", "One")], &options).unwrap_err();
    assert_eq!(hidden, "book.xlsx: the workbook has no sheet with cells that is not hidden");
}

#[test]
fn a_merged_cell_of_the_header_names_each_of_its_columns() {
    let sheet = "<worksheet><sheetData><row><c t=\"inlineStr\"><is><t>q</t></is></c><c r=\"D1\" t=\"inlineStr\"><is><t>r</t></is></c></row>\
        <row><c><v>1</v></c><c><v>2</v></c><c><v>3</v></c><c><v>4</v></c></row></sheetData>\
        <mergeCells count=\"1\"><mergeCell ref=\"A1:C1\"/></mergeCells></worksheet>";
    let taken = one(&xlsx_of_sheet(sheet.as_bytes()), &FormatOptions::new());
    assert_eq!(taken.names, ["q", "q_2", "q_3", "r"]);
    assert_eq!(taken.notes[0], "the cells A1:C1 of the header are merged: \"q\" names each of their columns");
}

#[test]
fn a_sheet_that_may_have_several_tables_causes_a_warning() {
    let text = |cell: &str| format!("<c r=\"{cell}\" t=\"inlineStr\"><is><t>t{cell}</t></is></c>");
    let below = format!(
        "<row r=\"1\">{}{}</row><row r=\"2\">{}<c r=\"B2\"><v>1</v></c></row><row r=\"9\">{}{}</row>",
        text("A1"),
        text("B1"),
        text("A2"),
        text("A9"),
        text("B9"),
    );
    let below = rows_of(&below, &FormatOptions::new());
    assert_eq!(below.rows.len(), 2);
    let warning = below.warning.unwrap();
    assert!(
        warning.starts_with("book.xlsx, sheet S, row 9: after an empty row, this row looks like the header"),
        "{warning}"
    );
    assert!(warning.ends_with("`range = 9:1048576`"), "{warning}");
    let beside = format!(
        "<row r=\"1\">{}{}</row><row r=\"2\"><c r=\"A2\"><v>1</v></c><c r=\"C2\"><v>1</v></c></row>",
        text("A1"),
        text("C1")
    );
    let beside = rows_of(&beside, &FormatOptions::new());
    assert!(beside.warning.unwrap().starts_with("book.xlsx, sheet S, row 1: column B is empty"));
}

#[test]
fn dates_count_from_1904_if_the_workbook_says_so() {
    let xml = b"<worksheet><sheetData><row><c t=\"inlineStr\"><is><t>d</t></is></c></row><row><c s=\"1\"><v>0</v></c></row></sheetData></worksheet>";
    let sheet = || MadeSheet { name: "S", state: "visible", xml };
    let styles = "<cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/></cellXfs>";
    let of_1904 = one(&xlsx(&[sheet()], "<workbookPr date1904=\"1\"/>", "", styles), &FormatOptions::new());
    assert_eq!(of_1904.rows, [["'1904-01-01'"]]);
    let of_1900 = one(&xlsx(&[sheet()], "<workbookPr/>", "", styles), &FormatOptions::new());
    assert_eq!(of_1900.rows, [["'00:00:00'"]]);
}

#[test]
fn cells_of_opendocument_are_read_with_types_and_repetitions() {
    let file = ods(
        "<table:table table:name=\"Hidden\" table:style-name=\"hidden\"><table:table-row><table:table-cell office:value-type=\"float\" office:value=\"9\"/></table:table-row></table:table>\
         <table:table table:name=\"T\"><table:table-column table:number-columns-repeated=\"16384\"/><table:table-header-rows><table:table-row>\
         <table:table-cell office:value-type=\"string\"><text:p>a</text:p></table:table-cell><table:table-cell office:value-type=\"string\"><text:p>b</text:p></table:table-cell>\
         </table:table-row></table:table-header-rows>\
         <table:table-row table:number-rows-repeated=\"3\"><table:table-cell office:value-type=\"float\" office:value=\"1.5\" table:number-columns-repeated=\"2\"><text:p>1,5</text:p></table:table-cell></table:table-row>\
         <table:table-row table:number-rows-repeated=\"1000000\"><table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row>\
         <table:table-row><table:table-cell office:value-type=\"string\"><office:annotation><text:p>no</text:p></office:annotation><text:p>x<text:s text:c=\"2\"/>&amp;<text:span>y</text:span></text:p><text:p>z</text:p></table:table-cell>\
         <table:table-cell office:value-type=\"date\" office:date-value=\"2024-01-31T13:45:00\"/></table:table-row>\
         <table:table-row><table:table-cell office:value-type=\"boolean\" office:boolean-value=\"true\"/><table:table-cell office:value-type=\"time\" office:time-value=\"PT30H00M01S\"/></table:table-row>\
         <table:table-row><table:table-cell office:value-type=\"string\" office:string-value=\"\" calcext:value-type=\"error\"><text:p>#N/A</text:p></table:table-cell><table:table-cell office:value-type=\"currency\" office:value=\"3\"/></table:table-row>\
         </table:table>",
    );
    let taken = one(&file, &FormatOptions::new());
    assert_eq!(taken.names, ["a", "b"]);
    assert_eq!(
        lines(&taken),
        ["1.5 1.5", "1.5 1.5", "1.5 1.5", "'x  &y\\nz' '2024-01-31 13:45:00'", "1 '30:00:01'", "NULL 3"]
    );
    assert_eq!(taken.table, None);
}

#[test]
fn an_encrypted_workbook_is_refused_by_name() {
    let manifest = b"<manifest><file-entry><encryption-data/></file-entry></manifest>";
    let encrypted = zip(&[("content.xml", b"\x01\x02"), ("META-INF/manifest.xml", manifest)]);
    let error = read(&encrypted, MEMORY, &FormatOptions::new()).unwrap_err();
    assert_eq!(error, "book.xlsx: the workbook is encrypted, with a password to open it");
    let document =
        read(&zip(&[("word/document.xml", b"<document/>")]), MEMORY, &FormatOptions::new()).unwrap_err();
    assert_eq!(document, "book.xlsx: this is a document of a word processor, which is not read here");
    let other = read(&zip(&[("xl/x.xml", b"<x/>")]), MEMORY, &FormatOptions::new()).unwrap_err();
    assert_eq!(other, "book.xlsx: the file is not a workbook: it has no list of sheets");
}
