//! Examples, one for each rule.

use std::path::Path;

use super::super::{ColumnFrom, Constant, CsvOptions, CsvReader};
use super::{fast, options, reader, slow};
use crate::batch::{Batch, ROWS_MAX, Value};
use crate::error::Error;
use crate::source::{Refused, Source};

/// Both parsers say this of `input`, for any size of parts: rows with fields separated by `|` and NULL as `~`.
#[track_caller]
fn says(input: &[u8], rows: &[&str], error: Option<&str>) {
    for part_bytes in [1, 2, 3, 5, 8, 1 << 20] {
        for outcome in [fast(input, options(part_bytes)), slow(input, &options(part_bytes))] {
            let value = |value: &Option<Vec<u8>>| match value {
                Some(value) => String::from_utf8(value.clone()).expect("a field is UTF-8"),
                None => "~".to_owned(),
            };
            let row = |row: &Vec<Option<Vec<u8>>>| row.iter().map(value).collect::<Vec<_>>().join("|");
            assert_eq!(outcome.rows.iter().map(row).collect::<Vec<_>>(), rows);
            assert_eq!(outcome.error.map(|error| error.to_string()).as_deref(), error);
        }
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
fn empty_lines_are_no_records() {
    says(b"\n\r\na\n\n1\n\r\r\n2\n\n", &["1", "2"], None);
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
fn both_are_empty_when_that_is_asked_for() {
    let options = CsvOptions { empty_as_text: true, ..CsvOptions::default() };
    let outcome = fast(b"a,b\n,\"\"\n\"\",\n", options);
    assert_eq!(outcome.rows, vec![vec![Some(Vec::new()); 2]; 2]);
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
fn a_file_without_a_header_is_an_error() {
    says(b"", &[], Some("in.csv: the file is empty"));
    says(b"\xef\xbb\xbf\n\r\n", &[], Some("in.csv: the file is empty"));
}

#[test]
fn a_header_name_must_be_there() {
    says(b"\na,,c\n1,2,3\n", &[], Some("in.csv:2:3: column 2 of the header has no name"));
}

#[test]
fn a_header_name_must_be_there_only_once() {
    let error = "in.csv:1:5: column 3 of the header has the name of column 1: \"NAME\"";
    says(
        b"name,b,NAME\n",
        &[],
        Some("in.csv:1:8: column 3 of the header has the name of column 1: \"NAME\""),
    );
    says(b"n\xc3\xa4,b,n\xc3\x84\n1,2,3", &["1|2|3"], None);
    says(
        b"NAME,name\n",
        &[],
        Some(&error.replace(":5:", ":6:").replace("3 of", "2 of").replace("NAME", "name")),
    );
}

#[test]
fn a_record_with_too_few_fields_is_an_error_where_it_ends() {
    let error = "in.csv:3:4: the record ends after field 1: the header has 2";
    says(b"a,b\n1,2\n\xc3\xa9\xc3\xa9x\n4,5\n", &["1|2"], Some(error));
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
    let error = "expected a comma or the end of the line after the closing quote, found";
    says(b"a\n1\n\"2\"x\n", &["1"], Some(&format!("in.csv:3:4: {error} 'x'")));
    says(b"a,b\n\"2\" ,3\n", &[], Some(&format!("in.csv:2:4: {error} ' '")));
}

#[test]
fn an_open_quote_is_an_error_where_it_was_opened() {
    let error = "the quoted field that begins here never ends";
    says(b"a,b\n1,2\n3,\"4\n5,6\n7,8\n", &["1|2"], Some(&format!("in.csv:3:3: {error}")));
    says(b"a,b\n1,2\n3,\"4\"\"", &["1|2"], Some(&format!("in.csv:3:3: {error}")));
    says(b"a,\"b\n1,2\n", &[], Some(&format!("in.csv:1:3: {error}")));
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
    says(b"a,b\n1,2\n3,4\x005\n", &["1|2"], Some("in.csv:3:4: a NUL byte, which is no text"));
}

#[test]
fn lines_within_quotes_count_and_columns_are_characters() {
    let input = b"a,b\r\"\n\r\n\r\xf0\x9f\x9a\x80\",\"x\"y\n";
    let error = "in.csv:5:7: expected a comma or the end of the line after the closing quote, found 'y'";
    says(input, &[], Some(error));
    assert_eq!(fast(input, options(1)).error.unwrap().place().unwrap().byte, Some(18));
}

#[test]
fn a_value_over_the_limit_is_an_error() {
    for part_bytes in [1, 4, 1 << 20] {
        let options = CsvOptions { field_bytes_max: 4, ..options(part_bytes) };
        let outcome = fast(b"a,b\n1,\"\"\"234\"\n1,\"\"\"2345\"\n", options);
        assert_eq!(outcome.rows.len(), 1);
        let error = outcome.error.unwrap();
        assert_eq!(error.to_string(), "in.csv:3:3: this field is longer than 4 bytes");
    }
}

#[test]
fn a_record_over_the_limit_is_an_error_also_when_a_character_crosses_it() {
    let options = CsvOptions { record_bytes_max: 4, part_bytes: 1, ..CsvOptions::default() };
    for input in ["a\n12€\n", "a\n12€", "a\n\"€\n"] {
        let outcome = fast(input.as_bytes(), options.clone());
        let error = "in.csv:2:1: the record that begins here is longer than 4 bytes";
        assert_eq!(outcome.error.as_ref().unwrap().to_string(), error);
        assert_eq!(outcome.compared(), slow(input.as_bytes(), &options).compared());
    }
    assert!(fast("a\n1€\n".as_bytes(), options).error.is_none());
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
    let mut source = reader.into_source(vec![ColumnFrom::Field(0)]);
    let mut part = source.next_part().unwrap().unwrap();
    let error = part.decode(&mut |_: &Batch<'_>| Ok(())).unwrap_err();
    assert_eq!(error.to_string(), "in.csv:3:1: the record that begins here is longer than 1000000 bytes");
    assert!(source.next_part().unwrap().is_none());
}

#[test]
fn columns_come_in_the_order_of_the_table_with_constants_for_those_missing() {
    let reader = reader(b"b,A\n1,2\n3,\n", CsvOptions::default()).unwrap();
    let constants = [Constant::Null, Constant::Int(7), Constant::Text("x".to_owned())];
    let mut asked = constants.iter();
    let mapping =
        reader.map_by_name(&["a", "n", "i", "B", "t"], |_| Ok(asked.next().unwrap().clone())).unwrap();
    let mut source = reader.into_source(mapping);
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
fn a_field_that_the_table_lacks_is_an_error() {
    let reader = reader(b"a,\"b\nc\",d\n", CsvOptions::default()).unwrap();
    let error = reader.map_by_name(&["a", "d", "e"], |_| Ok(Constant::Null)).unwrap_err();
    assert_eq!(error.to_string(), "in.csv:1:3: the table has no column \"b\\nc\"");
    assert_eq!(error.hint_text(), Some("its columns are a, d, e"));
}

#[test]
fn a_missing_column_may_be_refused() {
    let reader = reader(b"a\n", CsvOptions::default()).unwrap();
    let error =
        reader.map_by_name(&["a", "b"], |column| Err(Error::input(format!("no {column}")))).unwrap_err();
    assert_eq!(error.message(), "no 1");
}

#[test]
fn what_the_sink_refuses_is_named_with_its_place() {
    let mut input = b"n,price\n".to_vec();
    for row in 0..3000 {
        input.extend_from_slice(format!("\"{row}\n\",\"\"\"{row}\"\"\"\n").as_bytes());
    }
    let reader = reader(&input, CsvOptions::default()).unwrap();
    let mapping = reader.map_by_name(&["price", "other"], |_| Ok(Constant::Null));
    assert!(mapping.is_err(), "n is unknown");
    let mut source = reader.into_source(vec![ColumnFrom::Constant(Constant::Int(1)), ColumnFrom::Field(1)]);
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
    assert_eq!(error.to_string(), expected);
    assert_eq!(error.hint_text(), Some("leave it out"));
}

#[test]
fn what_the_sink_refuses_of_a_constant_is_placed_at_the_record() {
    let reader = reader(b"a\n1\n2\n", CsvOptions::default()).unwrap();
    let mut source = reader.into_source(vec![ColumnFrom::Constant(Constant::Null), ColumnFrom::Field(0)]);
    let mut part = source.next_part().unwrap().unwrap();
    let mut refuse = |_: &Batch<'_>| Err(Refused::Stop { at: Some((1, 0)), error: Error::input("no") });
    assert_eq!(part.decode(&mut refuse).unwrap_err().to_string(), "in.csv:3:1: no");
}

#[test]
fn a_refusal_without_a_row_stays_as_it_is() {
    let mut source =
        reader(b"a\n1\n", CsvOptions::default()).unwrap().into_source(vec![ColumnFrom::Field(0)]);
    let mut part = source.next_part().unwrap().unwrap();
    let error = part.decode(&mut |_: &Batch<'_>| Err(Error::interrupted().into())).unwrap_err();
    assert_eq!(error.kind(), crate::error::ErrorKind::Interrupted);
    assert!(error.place().is_none());
}

#[test]
fn rows_before_a_malformed_one_reach_the_sink_first() {
    let mut source =
        reader(b"a\n1\n2,3\n", CsvOptions::default()).unwrap().into_source(vec![ColumnFrom::Field(0)]);
    let mut part = source.next_part().unwrap().unwrap();
    let mut refuse = |_: &Batch<'_>| Err(Refused::Stop { at: Some((0, 0)), error: Error::input("no") });
    assert_eq!(part.decode(&mut refuse).unwrap_err().to_string(), "in.csv:2:1: no");
}

#[test]
fn a_table_with_thousands_of_columns_comes_in_smaller_batches() {
    let names: Vec<String> = (0..2000).map(|column| format!("c{column}")).collect();
    let mut input = names.join(",").into_bytes();
    for row in 0..300 {
        let fields =
            (0..2000).map(|column| if (row + column) % 3 == 0 { String::new() } else { row.to_string() });
        input.push(b'\n');
        input.extend_from_slice(fields.collect::<Vec<_>>().join(",").as_bytes());
    }
    let (fast, slow) = (fast(&input, CsvOptions::default()), slow(&input, &CsvOptions::default()));
    assert_eq!(fast.rows.len(), 300);
    assert!(fast.compared() == slow.compared());
}

#[test]
fn a_file_is_opened_by_name_and_knows_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.csv");
    std::fs::write(&file, "a\n1\n").unwrap();
    let source = CsvReader::open(&file, CsvOptions::default()).unwrap().into_source(Vec::new());
    assert_eq!(source.total().unwrap().bytes, 4);
    let missing = CsvReader::open(&folder.path().join("b.csv"), CsvOptions::default()).err().unwrap();
    assert!(missing.message().starts_with("cannot read "));
    let directory = CsvReader::open(folder.path(), CsvOptions::default()).err().unwrap();
    assert!(directory.message().starts_with("cannot read "));
}
