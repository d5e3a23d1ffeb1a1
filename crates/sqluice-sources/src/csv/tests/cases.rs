//! Examples for each rule of the CSV reader.

use std::io::Cursor;
use std::path::Path;
use std::sync::Arc;

use sqluice_core::batch::{Batch, ROWS_MAX, Value};
use sqluice_core::error::{Error, ErrorKind};
use sqluice_core::source::{Refused, Source};

use super::super::{
    ColumnFrom, Constant, CsvOptions, CsvReader, Dialect, Doubts, LineEnd, RepeatedHeaders, TrailingDelimiter,
};
use crate::input::MemberStarts;

use super::{Taken, fast, lenient, options, reader, shown, slow, source};

/// Asserts the rows and the error that both parsers read from `input`, for any size of parts. `|` separates the fields of a row, and `~`
/// is NULL.
#[track_caller]
fn says(input: &[u8], rows: &[&str], error: Option<&str>) {
    says_with(&CsvOptions::default(), input, rows, error);
}

#[track_caller]
fn says_with(options: &CsvOptions, input: &[u8], rows: &[&str], error: Option<&str>) {
    for part_bytes in [1, 2, 3, 5, 8, 1 << 20] {
        let options = CsvOptions { part_bytes, ..options.clone() };
        for outcome in [fast(input, options.clone()), slow(input, options)] {
            assert_eq!(outcome.taken.iter().map(line).collect::<Vec<_>>(), rows);
            assert_eq!(outcome.error().as_deref(), error);
        }
    }
}

/// Asserts the rows and bad rows that a sink gets if it takes bad rows. A bad row is written `[bytes] error`.
#[track_caller]
fn goes_on(input: &[u8], taken: &[&str]) {
    for part_bytes in [1, 2, 3, 5, 8, 1 << 20] {
        for outcome in [fast(input, lenient(options(part_bytes))), slow(input, lenient(options(part_bytes)))]
        {
            assert_eq!(outcome.taken.iter().map(line).collect::<Vec<_>>(), taken);
            assert_eq!(outcome.error, None);
        }
    }
}

fn line(taken: &Taken) -> String {
    let value = |value: &Option<Vec<u8>>| match value {
        Some(value) => String::from_utf8(value.clone()).expect("a field is UTF-8"),
        None => "~".to_owned(),
    };
    match taken {
        Taken::Row(row) => row.iter().map(value).collect::<Vec<_>>().join("|"),
        Taken::Bad { error, raw } => {
            format!("[{}] {}", raw.escape_ascii().to_string().replace("\\\"", "\""), shown(error))
        }
    }
}

fn dialect(delimiter: u8, quote: Option<u8>, escape: Option<u8>, comment: Option<u8>) -> CsvOptions {
    CsvOptions {
        dialect: Dialect { delimiter: delimiter.into(), quote, escape, comment, ..Dialect::default() },
        ..CsvOptions::default()
    }
}

#[test]
fn fields_are_separated_by_commas_and_records_by_lines() {
    says(b"a,b\n1,2\n3,4\n", &["1|2", "3|4"], None);
}

#[test]
fn the_last_line_needs_no_end() {
    says(b"a,b\n1,2\n3,", &["1|2", "3|~"], None);
    says(b"a,b\n1,2\n3,\"4\"", &["1|2", "3|4"], None);
}

#[test]
fn lf_crlf_and_cr_end_records() {
    says(b"a,b\r\n1,2\r\n3,4\r5,6\n7,8", &["1|2", "3|4", "5|6", "7|8"], None);
}

#[test]
fn lf_and_cr_are_text_where_crlf_alone_ends_records() {
    let options = CsvOptions::new().dialect(Dialect { line_end: LineEnd::Crlf, ..Dialect::default() });
    says_with(
        &options,
        b"a,b\r\n1,x\ny\r\n\r\n\n2,\r\r\n\"3\n\",4\r",
        &["1|x\ny", "\n2|\r", "3\n|4\r"],
        None,
    );
    says_with(
        &options,
        b"a,b\r\n1,\"x\"\n2,y\r\n",
        &[],
        Some(
            "in.csv:2:3: the quoted field that begins here closes in column 6 before '\\n', where a comma or the end of the line should be",
        ),
    );
    let comments = CsvOptions { dialect: Dialect { comment: Some(b'#'), ..options.dialect }, ..options };
    says_with(&comments, b"a,b\r\n#x\ny\r\n1,2", &["1|2"], None);
}

#[test]
fn empty_lines_are_skipped_in_a_file_of_several_columns() {
    says(b"\n\r\na,b\n\n1,2\n\r\r\n3,4\n\n", &["1|2", "3|4"], None);
}

#[test]
fn empty_lines_after_the_header_of_one_column_are_null() {
    says(b"\n\r\na\n\n1\n\r\r\n2\n\n\"\"", &["~", "1", "~", "~", "2", "~", ""], None);
    let options = CsvOptions { leave_out_empty: true, ..CsvOptions::default() };
    for line_end in ["\n", "\r\n", "\r"] {
        let input = ["a", "1", "", "2", "", "", ""].join(line_end);
        assert_eq!(
            fast(input.as_bytes(), options.clone()).taken.iter().map(line).collect::<Vec<_>>(),
            ["1", "~", "2"]
        );
    }
}

#[test]
fn a_quoted_newline_stays_inside_its_field() {
    says(b"a,b\n\"1\n\r\n\r2\",3\n", &["1\n\r\n\r2|3"], None);
}

#[test]
fn a_quote_is_doubled_inside_quotes() {
    says(b"a\n\"say \"\"hi\"\"\"\n\"\"\"\"\n\"\"\"\"\"\"\n", &["say \"hi\"", "\"", "\"\""], None);
}

#[test]
fn a_quote_inside_an_unquoted_field_is_a_character() {
    says(b"a,b\n5\",x\"y\"\n a\"\"b,\"\"\n", &["5\"|x\"y\"", " a\"\"b|"], None);
}

#[test]
fn an_unquoted_empty_field_is_null_and_a_quoted_one_is_empty() {
    says(b"a,b\n,\"\"\n\"\",\n\"\",\"\"\n,", &["~|", "|~", "|", "~|~"], None);
}

#[test]
fn the_setting_empty_as_text_reads_an_unquoted_empty_field_as_empty_text() {
    let options = CsvOptions { empty_as_text: true, ..CsvOptions::default() };
    let outcome = fast(b"a,b\n,\"\"\n\"\",\n", options);
    assert_eq!(outcome.rows(), vec![&vec![Some(Vec::new()); 2]; 2]);
}

#[test]
fn a_byte_order_mark_is_skipped_at_the_start_only() {
    says(b"\xef\xbb\xbf\"a\",b\n1,\xef\xbb\xbf\n", &["1|\u{feff}"], None);
    let header = fast(b"\xef\xbb\xbf\"a\",b\n1,2\n", options(1)).header;
    assert_eq!(header, ["a", "b"]);
}

#[test]
fn a_header_alone_has_no_rows() {
    says(b"a,b", &[], None);
    says(b"a,b\r\n\r\n", &[], None);
}

#[test]
fn a_file_without_any_record_is_an_error() {
    says(b"", &[], Some("in.csv: the file is empty"));
    says(b"\xef\xbb\xbf\n\r\n", &[], Some("in.csv: the file is empty"));
}

#[test]
fn missing_or_repeated_column_names_are_replaced_and_reported() {
    let reader = reader(b"\na,,A,\"\"\n1,2,3,4\n", CsvOptions::default()).unwrap();
    assert_eq!(reader.header(), ["a", "column2", "A_2", "column4"]);
    let renamed_fields: Vec<_> =
        reader.renamed().iter().map(|renamed| (renamed.index, &renamed.from[..], &renamed.to[..])).collect();
    assert_eq!(renamed_fields, [(1, "", "column2"), (2, "A", "A_2"), (3, "", "column4")]);
}

#[test]
fn white_space_in_column_names_of_a_header_is_kept() {
    assert_eq!(fast(b" a, ,a\n", options(1)).header, [" a", " ", "a"]);
}

#[test]
fn without_a_header_the_first_record_is_a_row_and_fields_are_numbered() {
    let options = CsvOptions { header: false, ..CsvOptions::default() };
    says_with(&options, b"1,\"a\nb\",\n,,x", &["1|a\nb|~", "~|~|x"], None);
    assert_eq!(fast(b"\n1,2,3", options.clone()).header, ["column1", "column2", "column3"]);
    let error = "in.csv:2:2: the record ends after field 1: the first record has 2";
    says_with(&options, b"1,2\n3", &["1|2"], Some(error));
    let error = "in.csv:2:5: field 3 of this record: the first record has only 2";
    says_with(&options, b"1,2\n3,4,5", &["1|2"], Some(error));
    says_with(&options, b"\n", &[], Some("in.csv: the file is empty"));
}

#[test]
fn a_table_has_at_most_two_thousand_columns() {
    for (header, first) in [(true, "header"), (false, "first record")] {
        let options = CsvOptions { header, ..CsvOptions::default() };
        assert!(fast(&[b','; 1999], options.clone()).error.is_none());
        let error =
            format!("in.csv:1:2001: field 2001 of the {first}: a table of SQLite has at most 2000 columns");
        says_with(&options, &[b','; 2000], &[], Some(&error));
    }
}

#[test]
fn skipped_lines_are_not_read_but_count_in_the_places_of_errors() {
    let options = CsvOptions { skip_lines: 3, ..CsvOptions::default() };
    let error = "in.csv:5:4: field 3 of this record: the header has only 2";
    says_with(&options, b"\xef\xbb\xbf\"\xff\0\r\n\n\r1,2\n3,4,", &[], Some(&error.replace("5:4", "5:5")));
    says_with(&options, b"\r\r\ra,b\n1,2\n", &["1|2"], None);
    let skipped = "the file is empty after the 3 lines that are skipped";
    says_with(&options, b"a\n1\n2", &[], Some(&format!("in.csv: {skipped}")));
    let long = [&[b'x'; 200_000][..], b"\r", &[b'y'; 100_000], b"\r\n\na,b\n1,2"].concat();
    says_with(&options, &long, &["1|2"], None);
}

#[test]
fn other_delimiters_and_quotes_work_like_commas_and_double_quotes() {
    let semicolons = dialect(b';', Some(b'\''), None, None);
    says_with(&semicolons, b"a;b\n1,5;'it''s; \n'\n\"x\";\n", &["1,5|it's; \n", "\"x\"|~"], None);
    let error = "in.csv:2:1: the quoted field that begins here closes in column 4 before ',', where a semicolon or the end of the line should be";
    says_with(&semicolons, b"a;b\n'1',2\n", &[], Some(error));
    let hint = fast(b"a;b\n'1;x'2;3\n", semicolons).error.unwrap().1.unwrap();
    assert_eq!(hint, "a quote inside a quoted field is written twice: ''");
    let tabs = dialect(b'\t', None, None, None);
    says_with(&tabs, b"a\tb\n\"1\t\"\"\n", &["\"1|\"\""], None);
}

#[test]
fn an_escape_makes_the_next_character_stand_for_itself_within_quotes() {
    let options = dialect(b',', Some(b'"'), Some(b'\\'), None);
    says_with(&options, b"a,b\n\"\\\"\\\\\\n\\,\",\"\\\r\n\\\n\"\n", &["\"\\n,|\r\n\n"], None);
    says_with(&options, b"a,b\n\\\",\"\"\"\\\xc3\xa9\"\n", &["\\\"|\"\u{e9}"], None);
    let never = "the quoted field that begins here never ends";
    says_with(&options, b"a\n\"\\", &[], Some(&format!("in.csv:2:1: {never}")));
    says_with(&options, b"a\n\"\\\"", &[], Some(&format!("in.csv:2:1: {never}")));
}

#[test]
fn the_quote_as_its_own_escape_counts_as_no_escape() {
    says_with(&dialect(b',', Some(b'"'), Some(b'"'), None), b"a,b\n\"\"\"\",\"x\"\n", &["\"|x"], None);
}

#[test]
fn comments_are_no_records_whatever_they_hold() {
    let options = dialect(b',', Some(b'"'), None, Some(b'#'));
    let input = b"#\0\xff\"\n\r\n#,,\ra,b\n1,#\n#\"\r\n#2,3\n\"#\",\"\n#\"\n #,#\xc3\xa9\n#\xe2\x82";
    says_with(&options, input, &["1|#", "#|\n#", " #|#\u{e9}"], None);
    says_with(&options, b"#a\n#\"", &[], Some("in.csv: the file is empty"));
    let none = CsvOptions { header: false, ..options };
    says_with(
        &none,
        b"#a\n1\n#2\n3,4",
        &["1"],
        Some("in.csv:4:3: field 2 of this record: the first record has only 1"),
    );
}

#[test]
fn a_header_may_be_a_comment_and_loses_the_comment_character() {
    let of = |delimiter: u8, comment| CsvOptions {
        commented_header: true,
        ..dialect(delimiter, Some(b'"'), None, comment)
    };
    let names = |input: &[u8], options: &CsvOptions| {
        let outcome = fast(input, options.clone());
        assert_eq!(outcome, slow(input, options.clone()));
        outcome.header.join("|")
    };
    for comment in [None, Some(b'#')] {
        let commas = of(b',', comment);
        assert_eq!(names(b"#a,b\n1,2\n", &commas), "a|b");
        assert_eq!(names(b"\n# \ta,\"b\"\n1,2\n", &commas), "a|b");
        assert_eq!(names(b"# \"a,b\"\tc\n1\t2\n", &of(b'\t', comment)), "a,b|c");
        assert_eq!(names(b"#,b\n1,2\n", &commas), "#|b");
        assert_eq!(names(b"a,b\n1,2\n", &commas), "a|b");
    }
    says_with(&of(b',', Some(b'#')), b"#a,b\n1,2\n# no row\n3,4\n", &["1|2", "3|4"], None);
    // The header of a second file, appended to the first, is no row.
    let numbers = CsvOptions { numbers: vec![true, true], ..of(b',', None) };
    says_with(&numbers, b"#a,b\n1,2\n#a,b\n3,4\n", &["1|2", "3|4"], None);
}

#[test]
fn a_dialect_with_one_character_in_two_roles_is_refused() {
    let error = reader(b"a\n", dialect(b'"', Some(b'"'), None, None)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::Usage);
}

#[test]
fn a_null_token_is_null_only_if_it_is_unquoted() {
    let tokens = |tokens: &[&str]| tokens.iter().map(|token| token.as_bytes().to_vec()).collect();
    let options = CsvOptions { null_tokens: tokens(&["NULL", "\\N"]), ..CsvOptions::default() };
    says_with(&options, b"a,b\nNULL,\"NULL\"\n\\N,null\n,\"\"\n", &["~|NULL", "~|null", "~|"], None);
    says_with(&options, b"NULL\nNULLs\nNULL", &["NULLs", "~"], None);
    let options = CsvOptions { empty_as_text: true, ..options };
    says_with(&options, b"a,b\nNULL,\n\"\",", &["~|", "|"], None);
    let options = CsvOptions { null_tokens: tokens(&["", "NULL"]), ..options };
    says_with(&options, b"a,b\nNULL,\n\"\",", &["~|~", "|~"], None);
}

#[test]
fn a_quoted_token_with_doubled_quotes_is_text() {
    let options = CsvOptions { null_tokens: vec![b"a\"b".to_vec()], ..CsvOptions::default() };
    says_with(&options, b"a,b\na\"b,\"a\"\"b\"\n", &["~|a\"b"], None);
}

#[test]
fn a_record_with_too_few_fields_is_an_error_where_it_ends() {
    let error = "in.csv:3:4: the record ends after field 1: the header has 2";
    says(b"a,b\n1,2\n\xc3\xa9\xc3\xa9x\n4,5\n", &["1|2"], Some(error));
}

#[test]
fn fields_that_are_missing_at_the_end_are_null_on_request() {
    let pad = CsvOptions { pad: true, ..CsvOptions::default() };
    says_with(&pad, b"a,b,c\n1\n2,\n3,4,5\n\"\",6", &["1|~|~", "2|~|~", "3|4|5", "|6|~"], None);
    let error = Some("in.csv:3:5: field 3 of this record: the header has only 2");
    says_with(&pad, b"a,b\n1\n2,3,4\n", &["1|~"], error);
    // A missing field is NULL even if an empty field is text.
    let text = CsvOptions { empty_as_text: true, ..pad.clone() };
    says_with(&text, b"a,b,c\n1,\n\"\"\n,,\n2", &["1||~", "|~|~", "||", "2|~|~"], None);
    let token = CsvOptions { null_tokens: vec![b"1".to_vec()], ..text };
    says_with(&token, b"a,b,c\n1,\n\"\"\n,,\n1", &["~||~", "|~|~", "||", "~|~|~"], None);
    let blanks = Dialect { delimiter: "whitespace".parse().unwrap(), ..Dialect::default() };
    let blanks = CsvOptions { dialect: blanks, ..pad };
    says_with(&blanks, b"a b c\n1 \t\n 2  3 \n", &["1|~|~", "2|3|~"], None);
}

#[test]
fn the_setting_pad_accepts_and_counts_rows_that_lack_fields() {
    let pad = CsvOptions { pad: true, ..CsvOptions::default() };
    let outcome = fast(b"a,b\n1\n2,3\n4\n5,6,7\n8", lenient(pad));
    assert_eq!((outcome.padded, outcome.taken.len()), (3, 5));
}

#[test]
fn a_quote_inside_an_unquoted_field_is_malformed_on_request() {
    let strict = CsvOptions { strict_quotes: true, ..CsvOptions::default() };
    let error = Some("in.csv:3:4: a quote inside a field that is not quoted");
    says_with(&strict, b"a,b\n1,\"x \"\"y\"\"\"\n2,x\"y\n", &["1|x \"y\""], error);
    says_with(&CsvOptions { pad: true, ..strict.clone() }, b"a,b\n1,2\n2,x\"y\n", &["1|2"], error);
    // If a field has two faults, the first one is reported.
    let after = "in.csv:2:1: the quoted field that begins here closes in column 4 before 'b', where a comma or the end of the line should be";
    says_with(&strict, b"a\n\"a\"b\"\n", &[], Some(after));
    let none = CsvOptions { strict_quotes: true, ..dialect(b',', None, None, None) };
    says_with(&none, b"a,b\n1,x\"y\n", &["1|x\"y"], None);
}

#[test]
fn a_record_with_too_many_fields_is_an_error_at_the_first_of_them() {
    says(
        b"a,b\n1,2\n3,\"\n\",5,6\n",
        &["1|2"],
        Some("in.csv:4:3: field 3 of this record: the header has only 2"),
    );
}

#[test]
fn text_after_a_closing_quote_is_an_error() {
    let closes = |place: &str, found: char| {
        format!(
            "the quoted field that begins here closes in {place} before {found:?}, where a comma or the end of the line should be"
        )
    };
    says(b"a\n1\n\"2\"x\n", &["1"], Some(&format!("in.csv:3:1: {}", closes("column 4", 'x'))));
    says(b"a,b\n\"2\" ,3\n", &[], Some(&format!("in.csv:2:1: {}", closes("column 4", ' '))));
    says(b"a,b\n1,\"2\n3\n4\"5\n", &[], Some(&format!("in.csv:2:3: {}", closes("line 4", '5'))));
}

#[test]
fn an_open_quote_is_an_error_where_it_was_opened() {
    let error = "the quoted field that begins here never ends";
    says(b"a,b\n1,2\n3,\"4\n5,6\n7,8\n", &["1|2"], Some(&format!("in.csv:3:3: {error}")));
    says(b"a,b\n1,2\n3,\"4\"\"", &["1|2"], Some(&format!("in.csv:3:3: {error}")));
    says(b"a,\"b\n1,2\n", &[], Some(&format!("in.csv:1:3: {error}")));
}

#[test]
fn reading_goes_on_after_bad_records() {
    let fields = "the header has";
    let few = format!("[3] in.csv:3:2: the record ends after field 1: {fields} 2");
    let many = format!("[4,5,6] in.csv:4:5: field 3 of this record: {fields} only 2");
    let utf8 = r"[\xff,\x00] in.csv:5:1: this is not UTF-8: byte 0xff";
    let nul = r"[7,\x00] in.csv:7:3: a NUL byte, which is not text";
    let input = b"a,b\n1,2\n3\r\n4,5,6\n\xff,\0\n\n7,\0\r8,9\n";
    goes_on(input, &["1|2", &few, &many, utf8, nul, "8|9"]);
}

#[test]
fn a_record_with_text_after_a_closing_quote_ends_with_the_line_of_that_text() {
    let closes = |place: &str, found: char| {
        format!(
            "the quoted field that begins here closes in {place} before {found:?}, where a comma or the end of the line should be"
        )
    };
    let first = format!(r#"["x"y""] in.csv:2:1: {}"#, closes("column 4", 'y'));
    // A quote behind the text after a closing quote opens no field.
    let second = format!(r#"["x" ,"] in.csv:3:1: {}"#, closes("column 4", ' '));
    goes_on(b"a,b\n\"x\"y\"\"\n\"x\" ,\"\nz,\"\n\"\n1,2", &[&first, &second, "z|\n", "1|2"]);
    let third = format!(r#"[1,"x\ny\nz"w,"] in.csv:2:3: {}"#, closes("line 4", 'w'));
    goes_on(b"a,b\n1,\"x\ny\nz\"w,\"\n5,6\n", &[&third, "5|6"]);
}

#[test]
fn a_record_whose_quote_never_closes_ends_with_the_line_of_that_quote() {
    let never = "the quoted field that begins here never ends";
    let bad = format!(r#"[3,"4] in.csv:3:3: {never}"#);
    goes_on(b"a,b\n1,2\n3,\"4\n5,6\n", &["1|2", &bad, "5|6"]);
    // The lines of a closed field are no records.
    let bad = format!(r#"["p\nq","4] in.csv:3:4: {never}"#);
    goes_on(b"a,b\n\"p\nq\",\"4\n5,6", &[&bad, "5|6"]);
    // A fault in a later line is reported for the record of that line.
    let utf8 = r"[\xff,6] in.csv:3:1: this is not UTF-8: byte 0xff";
    let bad = format!(r#"[3,"4] in.csv:2:3: {never}"#);
    goes_on(b"a,b\n3,\"4\n\xff,6\n7,8", &[&bad, utf8, "7|8"]);
}

#[test]
fn a_malformed_first_record_ends_the_reading() {
    let utf8 = "in.csv:1:1: this is not UTF-8: byte 0xff";
    for header in [true, false] {
        let options = lenient(CsvOptions { header, ..CsvOptions::default() });
        assert_eq!(fast(b"\xff\n1\n", options).error().as_deref(), Some(utf8));
    }
}

#[test]
fn finding_the_places_of_many_bad_rows_takes_no_quadratic_time() {
    let line = b"1,2\n\"\n\",\0\n3\n\xff,\n";
    let input = [b"a,b\n", &line.repeat(20_000)[..]].concat();
    let part = CsvOptions { part_bytes: 16 << 20, ..CsvOptions::default() };
    let outcome = fast(&input, lenient(part));
    assert_eq!(outcome.taken.len(), 80_000);
    let Some(Taken::Bad { error: (_, _, Some(place)), .. }) = outcome.taken.last() else { panic!() };
    assert_eq!((place.line, place.byte), (Some(100_001), Some(input.len() as u64 - 3)));
}

#[test]
fn no_row_is_read_after_the_row_limit() {
    let input = b"a,b\n1,2\nbad\r\n3,4\n\xff\n\"";
    for part_bytes in [1, 4, 1 << 20] {
        for (limit, error) in [(0, false), (1, false), (2, true), (3, true)] {
            let mut setup = lenient(options(part_bytes));
            setup.rows = 0..limit;
            assert_eq!(fast(input, setup.clone()).taken.len() as u64, limit);
            assert_eq!(fast(input, setup.clone()), slow(input, setup.clone()));
            setup.sink.bad_rows = false;
            assert_eq!(fast(input, setup).error.is_some(), error);
        }
    }
}

#[test]
fn records_before_a_read_error_reach_the_sink() {
    let input = b"a,b\n1,2\r\n3,\"4\n5\"\n6,7\n";
    for part_bytes in [1, 4, 1 << 20] {
        // The record that the read error cuts off is neither a row nor a bad row.
        for (fails_at, rows) in [(3, 0), (4, 0), (7, 0), (8, 1), (9, 1), (15, 1), (17, 2), (20, 2), (21, 3)] {
            let mut setup = lenient(options(part_bytes));
            setup.fails_at = Some(fails_at);
            let outcome = fast(input, setup.clone());
            assert_eq!(outcome.rows().len(), rows, "{fails_at}");
            assert_eq!(outcome.error().as_deref(), Some("cannot read in.csv"));
            assert_eq!(outcome, slow(input, setup));
        }
    }
}

#[test]
fn bytes_that_are_no_utf8_are_an_error() {
    says(b"a,b\n1,2\n\xc3\xa9,x\xe9y\n", &["1|2"], Some("in.csv:3:4: this is not UTF-8: byte 0xe9"));
    says(b"a\n\"\xe2\x82\"\n", &[], Some("in.csv:2:2: this is not UTF-8: byte 0xe2"));
    says(b"a\n\xf0\x9f", &[], Some("in.csv:2:1: this is not UTF-8: byte 0xf0"));
    says(b"\xff,b\n", &[], Some("in.csv:1:1: this is not UTF-8: byte 0xff"));
}

#[test]
fn a_nul_byte_is_an_error() {
    says(b"a,b\n1,2\n3,4\x005\n", &["1|2"], Some("in.csv:3:4: a NUL byte, which is not text"));
}

#[test]
fn places_count_the_lines_within_quotes_and_columns_in_characters() {
    let input = b"a,b\r\"\n\r\n\r\xf0\x9f\x9a\x80\",\"x\"y\n";
    let error = "in.csv:5:4: the quoted field that begins here closes in column 7 before 'y', where a comma or the end of the line should be";
    says(input, &[], Some(error));
    assert_eq!(fast(input, options(1)).error.unwrap().2.unwrap().byte, Some(15));
}

#[test]
fn a_csv_field_longer_than_the_limit_is_an_error() {
    for part_bytes in [1, 4, 1 << 20] {
        let options = CsvOptions { field_bytes_max: 4, ..options(part_bytes) };
        let outcome = fast(b"a,b\n1,\"\"\"234\"\n1,\"\"\"2345\"\n", options);
        assert_eq!(outcome.rows().len(), 1);
        assert_eq!(outcome.error().unwrap(), "in.csv:3:3: this field is longer than 4 bytes");
    }
}

#[test]
fn a_record_over_the_limit_is_an_error_also_when_a_character_crosses_it() {
    let options = CsvOptions { record_bytes_max: 4, part_bytes: 1, ..CsvOptions::default() };
    for input in ["a\n12€\n", "a\n12€", "a\n\"€\n"] {
        let outcome = fast(input.as_bytes(), options.clone());
        let error = "in.csv:2:1: the record that begins here is longer than 4 bytes";
        assert_eq!(outcome.error().unwrap(), error);
        assert_eq!(outcome, slow(input.as_bytes(), options.clone()));
    }
    assert!(fast("a\n1€\n".as_bytes(), options).error.is_none());
}

#[test]
fn a_record_over_the_limit_ends_the_run_also_where_bad_rows_are_taken() {
    let options = CsvOptions { record_bytes_max: 4, ..CsvOptions::default() };
    let outcome = fast(b"a\n\xff\n12345\n1\n", lenient(options));
    assert_eq!(outcome.taken.len(), 1);
    let (message, hint, _) = outcome.error.unwrap();
    assert_eq!(message, "the record that begins here is longer than 4 bytes");
    let asks = "is a closing quote missing? if the record is that long, give more memory: `memory`";
    assert_eq!(hint.as_deref(), Some(asks));
}

#[test]
fn a_record_over_the_limit_is_an_error_before_all_of_it_is_read() {
    struct Endless(usize);
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.0 += buffer.len();
            assert!(self.0 < 3_000_000, "read too far");
            buffer.fill(b'\n');
            Ok(buffer.len())
        }
    }
    let input = std::io::Read::chain(&b"a\n12\n\"open"[..], Endless(0));
    let options = CsvOptions { record_bytes_max: 1_000_000, ..CsvOptions::default() };
    let reader = CsvReader::new(Box::new(input), Path::new("in.csv"), options).unwrap();
    let mut source = reader.into_source(vec![ColumnFrom::Field(0)], 0..u64::MAX);
    let mut part = source.next_part().unwrap().unwrap();
    let error = part.decode(&mut |_: &Batch<'_>| Ok(())).unwrap_err();
    assert_eq!(error.without_hint(), "in.csv:3:1: the record that begins here is longer than 1000000 bytes");
    assert!(source.next_part().unwrap().is_none());
}

#[test]
fn columns_are_in_the_order_of_the_table_with_constants_for_those_missing() {
    let reader = reader(b"b,A\n1,2\n3,\n", CsvOptions::default()).unwrap();
    let constant = ColumnFrom::Constant;
    let mapping = vec![
        ColumnFrom::Field(1),
        constant(Constant::Null),
        constant(Constant::Int(7)),
        ColumnFrom::Field(0),
        constant(Constant::Text("x".to_owned())),
    ];
    let mut source = reader.into_source(mapping, 0..u64::MAX);
    let mut rows = Vec::new();
    let mut part = source.next_part().unwrap().unwrap();
    part.decode(&mut |batch: &Batch<'_>| {
        for row in 0..batch.rows {
            rows.push(format!("{:?}", batch.columns.iter().map(|c| c.get(row)).collect::<Vec<_>>()));
        }
        Ok(())
    })
    .unwrap();
    let row = |a: Value<'_>, b: &[u8]| {
        format!("{:?}", [a, Value::Null, Value::Int(7), Value::Text(b), Value::Text(b"x")])
    };
    assert_eq!(rows, [row(Value::Text(b"2"), b"1"), row(Value::Null, b"3")]);
}

#[test]
fn a_value_that_the_sink_refuses_is_reported_with_its_place() {
    let mut input = b"n,price\n".to_vec();
    for row in 0..3000 {
        input.extend_from_slice(format!("\"{row}\n\",\"\"\"{row}\"\"\"\n").as_bytes());
    }
    let reader = reader(&input, CsvOptions::default()).unwrap();
    let columns = vec![ColumnFrom::Constant(Constant::Int(1)), ColumnFrom::Field(1)];
    let mut source = reader.into_source(columns, 0..u64::MAX);
    let mut part = source.next_part().unwrap().unwrap();
    let mut batches = 0;
    let error = part
        .decode(&mut |_: &Batch<'_>| {
            batches += 1;
            let error = || Error::input("not a number").hint("leave it out");
            if batches == 2 { Err(Refused::Stop { at: Some((10, 1)), error: error() }) } else { Ok(()) }
        })
        .unwrap_err();
    let row = ROWS_MAX + 10;
    let expected = format!("in.csv:{}:3: not a number", row * 2 + 3);
    assert_eq!(error.without_hint(), expected);
    assert_eq!(error.hint_text().as_deref(), Some("leave it out"));
}

#[test]
fn a_constant_that_the_sink_refuses_is_reported_with_the_place_of_its_record() {
    let columns = vec![ColumnFrom::Constant(Constant::Null), ColumnFrom::Field(0)];
    let mut source = source(b"a\n1\n2\n", CsvOptions::default(), columns);
    let mut part = source.next_part().unwrap().unwrap();
    let mut refuse = |_: &Batch<'_>| Err(Refused::Stop { at: Some((1, 0)), error: Error::input("no") });
    assert_eq!(part.decode(&mut refuse).unwrap_err().without_hint(), "in.csv:3:1: no");
}

#[test]
fn an_error_of_the_sink_that_names_no_row_gets_no_place() {
    let mut source = source(b"a\n1\n", CsvOptions::default(), vec![ColumnFrom::Field(0)]);
    let mut part = source.next_part().unwrap().unwrap();
    let error = part.decode(&mut |_: &Batch<'_>| Err(Error::interrupted().into())).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted);
    assert!(error.place().is_none());
}

#[test]
fn rows_before_a_malformed_one_reach_the_sink_first() {
    let mut source = source(b"a\n1\n2,3\n", CsvOptions::default(), vec![ColumnFrom::Field(0)]);
    let mut part = source.next_part().unwrap().unwrap();
    let mut refuse = |_: &Batch<'_>| Err(Refused::Stop { at: Some((0, 0)), error: Error::input("no") });
    assert_eq!(part.decode(&mut refuse).unwrap_err().without_hint(), "in.csv:2:1: no");
}

#[test]
fn the_fast_and_the_slow_parser_agree_on_a_table_of_two_thousand_columns() {
    let names: Vec<String> = (0..2000).map(|column| format!("c{column}")).collect();
    let mut input = names.join(",").into_bytes();
    for row in 0..300 {
        let fields =
            (0..2000).map(|column| if (row + column) % 3 == 0 { String::new() } else { row.to_string() });
        input.push(b'\n');
        input.extend_from_slice(fields.collect::<Vec<_>>().join(",").as_bytes());
    }
    let (fast, slow) = (fast(&input, CsvOptions::default()), slow(&input, CsvOptions::default()));
    assert_eq!(fast.rows().len(), 300);
    assert!(fast == slow);
}

/// Returns the warning about quoted fields that may be rows, and the first note about records that repeat the header.
fn said(input: &[u8], options: CsvOptions) -> (Option<String>, Option<String>) {
    let reader = CsvReader::new(Box::new(Cursor::new(input.to_vec())), Path::new("in.csv"), options).unwrap();
    let fields = (0..reader.header().len()).map(ColumnFrom::Field).collect();
    let (doubts, repeated) = (Arc::<Doubts>::default(), Arc::<RepeatedHeaders>::default());
    let source = reader.into_source(fields, 0..u64::MAX).with_doubts(Arc::clone(&doubts));
    let mut source = source.with_repeated(Arc::clone(&repeated));
    while let Some(mut part) = source.next_part().unwrap() {
        part.decode(&mut |_: &Batch<'_>| Ok(())).unwrap();
    }
    (doubts.warning().map(|warning| warning.to_string()), repeated.notes().first().map(ToString::to_string))
}

fn warned(input: &[u8], options: CsvOptions) -> Option<String> {
    said(input, options).0
}

#[test]
fn a_record_that_repeats_the_header_over_numbers_is_skipped() {
    let file = b"id,name\n1,x\nid,name\n2,\"y\nz\"\nid,name\n3,name\nid,name";
    for part_bytes in [1, 9, 1 << 20] {
        let options = CsvOptions { part_bytes, numbers: vec![true, false], ..CsvOptions::default() };
        let outcome = fast(file, options.clone());
        assert_eq!(outcome.taken.iter().map(line).collect::<Vec<_>>(), ["1|x", "2|y\nz", "3|name"]);
        assert_eq!(outcome, slow(file, options.clone()));
        let note = said(file, options).1.unwrap();
        assert_eq!(note, "3 lines repeat the header and are skipped: lines 3, 6, 8");
        // If all columns are text, a repeated header may be a row, so it is loaded.
        let text = CsvOptions { part_bytes, ..CsvOptions::default() };
        assert_eq!(fast(file, text.clone()).rows().len(), 6);
        assert_eq!(
            said(file, text).1.unwrap(),
            "3 lines repeat the header, and are loaded as rows: lines 3, 6, 8"
        );
    }
    // If the header has numbers, a line that repeats it may be a row, so it is loaded.
    let years = CsvOptions { numbers: vec![true, true], ..CsvOptions::default() };
    assert_eq!(fast(b"2019,2020\n1,2\n2019,2020\n", years.clone()).rows().len(), 2);
    assert_eq!(
        said(b"2019,2020\n1,2\n2019,2020\n", years).1.unwrap(),
        "line 3 repeats the header, and is loaded as a row"
    );
}

#[test]
fn a_quoted_field_whose_lines_could_be_rows_gets_a_warning() {
    let file = b"id,name,city\n1,Ann,Oslo\n2,\"Bob,Rome\n3,Cid,Bern\n\n5,Eve\",Wien\n6,Fay,Prag\n";
    for part_bytes in [1, 1 << 20] {
        let numbers = vec![true, false, false];
        let options = CsvOptions { part_bytes, numbers, ..CsvOptions::default() };
        let warning = warned(file, options.clone()).unwrap();
        assert_eq!(
            warning,
            "in.csv:3:3: the quoted field that begins here has 3 lines, and each of them could be a row. It is loaded as one value; if the \
             quote is text: `quote = none`"
        );
        assert_eq!(fast(file, options.clone()).rows().len(), 3);
        let strict = CsvOptions { strict_quotes: true, ..options };
        let outcome = fast(file, lenient(strict.clone()));
        assert_eq!((outcome.rows().len(), outcome.taken.len()), (2, 3));
        assert_eq!(
            fast(file, strict).error().unwrap(),
            "in.csv:3:3: the quoted field that begins here has 3 lines, and each of them could be a row"
        );
    }
    let twice = [&file[..], b"7,\"x,y\n8,z\",w\n"].concat();
    assert!(warned(&twice, CsvOptions::default()).unwrap().contains("row (1 more field is like it)."));
    let header = b"id,\"name,city\n1,Ann,Oslo\n2,Bob\",x\n";
    assert!(warned(header, CsvOptions::default()).unwrap().starts_with("in.csv:1:4: "));
}

#[test]
fn a_quoted_field_whose_lines_can_not_be_rows_gets_no_warning() {
    let numbers = || CsvOptions { numbers: vec![true, false, false], ..CsvOptions::default() };
    for file in [
        &b"id,name,city\n1,\"Ann\nand Bob\",Oslo\n"[..],
        b"id,name,city\n1,\"Ann,x\nBob,Cid,x\",Oslo\n",
        // The second line can't be a row, because `and` is no number.
        b"id,name,city\n1,\"Ann,Oslo\nand,Bob,Rome\",Oslo\n",
        b"text\n\"a\nb\"\n",
    ] {
        assert_eq!(warned(file, numbers()), None);
    }
}

#[test]
fn the_hint_for_a_misplaced_quote_names_a_remedy_that_works() {
    let hint = |file: &[u8], options: CsvOptions| fast(file, options).error.unwrap().1.unwrap();
    let text = "`quote = none` reads quotes as ordinary characters; `reject = FILE` writes such rows to a file and goes on";
    assert_eq!(hint(b"a,b\n1,\"Nick\" Smith\n", CsvOptions::default()), text);
    assert_eq!(hint(b"a,b\n1,\"Nick\n2,Bob\n", CsvOptions::default()), text);
    // If other fields are surely quoted, the hint does not propose to read quotes as text.
    let quoted = CsvOptions { has_quoted_fields: true, ..CsvOptions::default() };
    let doubled = "a quote inside a quoted field is written twice: \"\"";
    assert_eq!(hint(b"a,b\n1,\"Nick\" Smith\n", quoted.clone()), doubled);
    let reject = "is its closing quote missing? `reject = FILE` writes such rows to a file and goes on";
    assert_eq!(hint(b"a,b\n1,\"Nick\n2,Bob\n", quoted), reject);
    // With quotes as text, the delimiter in the quoted text would separate fields, so the hint does not propose it.
    assert_eq!(hint(b"a,b\n1,\"Nick, x\" Smith\n", CsvOptions::default()), doubled);
    assert_eq!(hint(b"a,b\n\"1\",\"Nick\n", CsvOptions::default()), reject);
    let escape = "`escape = \\` reads a quote after a backslash as a character of the field";
    assert_eq!(hint(b"a,b\n1,\"say \\\"hi, you\\\"\"\n", CsvOptions::default()), escape);
}

#[test]
fn without_a_quote_character_the_escape_works_everywhere_as_mysql_and_postgresql_write_it() {
    let options = dialect(b'\t', None, Some(b'\\'), None);
    let file =
        b"a\tb\n1\\\t2\t\"x\ny\\\nz\t\\N\n\\\\N\t\\N \n\\t\\n\\r\\b\\f\\v\\Z\t\\x\\\"\n\\\r\nc\td\n3\t4\\";
    let rows = ["1\t2|\"x", "y\nz|~", "\\N|N ", "\t\n\r\u{8}\u{c}\u{b}\u{1a}|x\"", "\r\nc|d", "3|4\\"];
    says_with(&options, file, &rows, None);
    let nul = fast(b"a\tb\n\\0\t1\n", options.clone());
    assert_eq!(nul.rows()[0][0].as_deref(), Some(&b"\0"[..]));
    // With `empty_as_text`, empty text is not NULL, but `\N` still is.
    let options = CsvOptions { empty_as_text: true, ..options };
    says_with(&options, b"a\tb\n\\N\t\n", &["~|"], None);
}

#[test]
fn with_a_quote_character_the_escape_works_outside_of_quotes_on_request() {
    let within = dialect(b',', Some(b'"'), Some(b'\\'), None);
    says_with(&within, b"a,b\n\\N,\"x\\\"\\t\"\nC:\\,y\n", &["\\N|x\"t", "C:\\|y"], None);
    let dialect = Dialect { escapes_unquoted: true, ..within.dialect };
    let both = CsvOptions { dialect, ..within };
    says_with(
        &both,
        b"a,b\n\\N,\"x\\\"\\t\"\n1\\,\"2,\\\"y\"\n\"\\N\",z\\\nw\n",
        &["~|x\"\t", "1,\"2|\"y\"", "N|z\nw"],
        None,
    );
}

#[test]
fn delimiters_behind_an_escaped_line_end_are_no_empty_row() {
    let options = CsvOptions { leave_out_empty: true, ..dialect(b',', None, Some(b'\\'), None) };
    for part_bytes in [1, 5, 1 << 20] {
        let options = CsvOptions { part_bytes, ..options.clone() };
        let taken = |file: &[u8]| fast(file, options.clone()).taken.iter().map(line).collect::<Vec<_>>();
        assert_eq!(taken(b"a,b\n1,2\nx\\\n,\n,\n"), ["1|2", "x\n|~"]);
        assert_eq!(taken(b"a,b\n1,2\nx,\\\\\n,\n"), ["1|2", "x|\\"]);
    }
}

#[test]
fn a_delimiter_behind_the_last_field_of_a_row_separates_nothing() {
    let rows = CsvOptions {
        trailing_delimiter: Some(TrailingDelimiter::Rows),
        numbers: vec![true],
        ..CsvOptions::default()
    };
    says_with(&rows, b"a,b\n1,2,\n3,\"x\ny\",\r\na,b\n5,,\n6,7\n", &["1|2", "3|x\ny", "5|~", "6|7"], None);
    let error = "in.csv:2:5: field 3 of this record: the header has only 2";
    for text in ["1,2,x\n", "1,2,\"\"\n", "1,2,,\n"] {
        says_with(&rows, &[b"a,b\n", text.as_bytes()].concat(), &[], Some(error));
    }
    says_with(
        &rows,
        b"a,b\n1,2,\n3",
        &["1|2"],
        Some("in.csv:3:2: the record ends after field 1: the header has 2"),
    );
}

#[test]
fn a_delimiter_behind_the_last_name_of_the_header_separates_nothing() {
    let header = CsvOptions { trailing_delimiter: Some(TrailingDelimiter::Header), ..CsvOptions::default() };
    says_with(&header, b"a,b,\n1,2\n3,\n", &["1|2", "3|~"], None);
    assert_eq!(fast(b"a,b,\n1,2\n", header.clone()).header, ["a", "b"]);
    // A repeated header is no row.
    let header = CsvOptions { numbers: vec![true], ..header };
    says_with(&header, b"a,b,\n1,2\na,b,\n3,4\n", &["1|2", "3|4"], None);
}

#[test]
fn byte_order_marks_at_the_start_and_padding_at_the_end_are_no_text() {
    let mark = b"\xef\xbb\xbf";
    says(&[&mark[..], mark, b"\"a\",b\n1,2\n"].concat(), &["1|2"], None);
    assert_eq!(fast(&[&mark[..], mark, b"a,b\n"].concat(), options(1)).header, ["a", "b"]);
    for padding in [&b"\x1a"[..], b"\n\x1a", b"\n\x1a\r\n", b"\0", b"\n\0\0\0\0\0", b"\x1a\0\n\x1a"] {
        says(&[b"a,b\n1,2", padding].concat(), &["1|2"], None);
    }
    says(b"a,b\n1,2\x1a\n3,4", &["1|2\x1a", "3|4"], None);
    says(b"a,b\n1,2\0\n3,4", &[], Some("in.csv:2:4: a NUL byte, which is not text"));
}

#[test]
fn blanks_before_a_quote_are_no_text_if_the_closing_quote_is_in_the_same_line_before_a_delimiter() {
    says(b"a,b\n1, \"ann\"\n \"x,\"\"y\",\t \"z,\"\r\n  \"\", \"5\"", &["1|ann", "x,\"y|z,", "|5"], None);
    says(
        b"a,b\n1, \"Nick\" Smith\n2, \"x\n3, x \"y\"\n4,x\"\n",
        &["1| \"Nick\" Smith", "2| \"x", "3| x \"y\"", "4|x\""],
        None,
    );
    let header = fast(b"\"id\", \"first, last\"\n1,2\n", options(1)).header;
    assert_eq!(header, ["id", "first, last"]);
    let wide = CsvOptions {
        dialect: Dialect { delimiter: "||".parse().unwrap(), ..Dialect::default() },
        ..CsvOptions::default()
    };
    says_with(&wide, b"a||b\n \"x||\"|| \"y\"|\n", &["x||| \"y\"|"], None);
    let tab = dialect(b'\t', Some(b'"'), Some(b'\\'), None);
    says_with(&tab, b"a\tb\n \"x\\\"\ty\"\t \"z\\\"\n", &["x\"\ty| \"z\\\""], None);
}

#[test]
fn a_record_that_repeats_the_header_at_the_start_of_an_appended_file_is_no_row() {
    let file = b"name,city\nann,oslo\nname,city\nbob,rome\nname,city\n";
    for part_bytes in [1, 12, 1 << 20] {
        let starts = MemberStarts::default();
        starts.add(19);
        let reader = reader(file, options(part_bytes)).unwrap().with_member_starts(starts);
        let fields = (0..2).map(ColumnFrom::Field).collect();
        let repeated = Arc::<RepeatedHeaders>::default();
        let mut source = reader.into_source(fields, 0..u64::MAX).with_repeated(Arc::clone(&repeated));
        let mut rows = 0;
        while let Some(mut part) = source.next_part().unwrap() {
            let mut count = |batch: &Batch<'_>| {
                rows += batch.rows;
                Ok(())
            };
            part.decode(&mut count).unwrap();
        }
        assert_eq!(rows, 3);
        let notes: Vec<String> = repeated.notes().iter().map(ToString::to_string).collect();
        assert_eq!(
            notes,
            ["line 3 repeats the header and is skipped", "line 5 repeats the header, and is loaded as a row"]
        );
    }
    // A byte order mark begins another file, so the header after it is skipped.
    says("name,city\nann,oslo\n\u{feff}name,city\nbob,rome\n".as_bytes(), &["ann|oslo", "bob|rome"], None);
}
