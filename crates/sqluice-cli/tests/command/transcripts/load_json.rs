//! Transcripts of `load` of JSON files, and of files whose content does not fit their names.

use sqluice_testkit::archives::zip;

use crate::transcript::{Transcript, sqluice};

fn load(flags: &str, name: &str, content: &[u8]) -> Transcript {
    sqluice(&format!("load x.db {name} --table t {flags}")).file(name, content)
}

#[test]
fn json_objects_may_span_lines_or_follow_one_another_without_a_line_end() {
    for content in [
        "{\n  \"a\": 1,\n  \"b\": [\n    {}\n  ]\n}\n{\n  \"a\": 2,\n  \"b\": \"}\"\n}\n",
        "{\"a\":1,\"b\":[\n    {}\n  ]}{\"a\":2,\"b\":\"}\"}",
    ] {
        load("", "t.json", content.as_bytes())
            .succeeds()
            .holds("SELECT a, replace(replace(b, char(10), ''), ' ', '') FROM t", "1|'[{}]'\n2|'}'");
    }
}

#[test]
fn an_incomplete_line_of_ndjson_is_one_bad_row() {
    load("--reject bad.csv", "t.json", b"{\"a\":1\n{\"a\":2}\n{\"a\":3}\n")
        .succeeds()
        .holds("SELECT a FROM t", "2\n3");
}

#[test]
fn a_note_suggests_the_array_in_a_json_document_and_the_flag_records_loads_it() {
    let geojson =
        br#"{"type":"FeatureCollection","features":[{"id":1,"geometry":{"x":0}},{"id":2,"geometry":null}]}"#;
    load("", "t.geojson", geojson).succeeds().says(
        "note: t.geojson: the file is one object, with an array of objects in features; --records features loads a row for each of its elements\n[..]\nt: type TEXT, features TEXT",
    );
    load("--records features", "t.geojson", geojson)
        .succeeds()
        .says("note: t.geojson: records are the elements of features; the rest of the document is left out\n[..]\nt: id INTEGER, geometry TEXT")
        .holds("SELECT id, geometry FROM t", "1|'{\"x\":0}'\n2|NULL");
    load("--records data.items", "t.json", b"{\n \"data\": {\"next\": null, \"items\": [{\"a\": 1}]}}")
        .succeeds()
        .holds("SELECT a FROM t", "1");
    load("--records data", "t.json", b"{\"items\":[]}").fails(
        1,
        "error: t.json:1:12: the file has no array at data: data: the key does not exist\n\n\
         hint: a path names the keys that lead to the array of records, such as --records data.items",
    );
    load("--records data -f csv", "t.csv", b"a,b\n1,2\n")
        .fails(2, "error: --format csv does not take --records\n\nhint: leave one of the two out");
}

#[test]
fn a_negative_zero_in_json_is_text_as_in_csv() {
    load("", "t.json", b"[{\"a\":-0},{\"a\":1}]").succeeds().holds("SELECT a FROM t", "'-0'\n'1'");
    load("", "t.csv", b"a\n-0\n1\n").succeeds().holds("SELECT a FROM t", "'-0'\n'1'");
}

#[test]
fn files_of_other_formats_are_refused_with_the_name_of_their_format() {
    for (content, error, hint) in [
        (
            &b"<!DOCTYPE html>\n<html><body>404, not found</body></html>\n"[..],
            "an HTML page",
            "download the data instead of the page that shows it; a table in a page must be saved as CSV",
        ),
        (
            b"%PDF-1.7\n%\xe2\xe3",
            "a PDF file",
            "export its tables as CSV with another program, and load that",
        ),
        (b"7z\xbc\xaf\x27\x1cdata.csv", "a 7z archive", "extract it, and load the files in it"),
    ] {
        load("", "t.csv", content)
            .fails(1, &format!("error: t.csv: this is {error}, which is not read here\n\nhint: {hint}"));
    }
    let document = zip(&[("[Content_Types].xml", "<Types/>"), ("word/document.xml", "<document/>")]);
    load("", "t.csv", &document).fails(
        1,
        "error: t.csv: this is a document of a word processor, which is not read here\n\n\
         hint: copy its tables to a spreadsheet, save them as CSV, and load these",
    );
    // A database can't be read from a pipe, because it is not read in order.
    let database = b"SQLite format 3\0";
    sqluice("load x.db - -t t").stdin(database).fails(
        1,
        "error: standard input: this is a SQLite database in a stream or in compressed data, which is not read here\n\n\
         hint: save it as a file that is not compressed, and load that",
    );
    sqluice("load x.db - -t t --format sqlite").stdin(database).fails(
        1,
        "error: standard input is a stream, and a database is read in any order\n\nhint: save it as a file, and load that",
    );
    // With `-f csv`, a line that looks like HTML is loaded as a row.
    load("-f csv --no-header", "t.csv", b"<html>\n").succeeds().holds("SELECT * FROM t", "'<html>'");
}
