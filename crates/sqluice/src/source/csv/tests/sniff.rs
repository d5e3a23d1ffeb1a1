//! Files in any dialect are recognised; examples of each rule.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::super::{Given, sniff};

const DELIMITERS: [char; 4] = [',', '\t', ';', '|'];

/// A file and how it is written.
#[derive(Clone, Debug)]
struct Written {
    delimiter: char,
    quote: char,
    header: bool,
    file: String,
    /// Where each record ends.
    ends: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Number,
    /// Text, of which any may need quotes.
    Text,
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i32>().prop_map(|int| int.to_string()),
        (-1000..1000i32, 0..100u32).prop_map(|(whole, cents)| format!("{whole}.{cents:02}")),
        Just("1e5".to_owned()),
    ]
}

/// Text that is no number, with whatever means something in some dialect.
fn awkward(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(select(pieces), 0..6).prop_map(|pieces| format!("{}w", pieces.concat()))
}

/// Rows under a header of words, if there is one.
fn written(header: bool, pieces: &'static [&'static str]) -> impl Strategy<Value = Written> {
    let kinds = prop::collection::vec(select(vec![Kind::Number, Kind::Text]), 1..5);
    let number_at = any::<Index>();
    let shape = (kinds, number_at, 3..9usize).prop_flat_map(move |(mut kinds, number_at, records)| {
        kinds.insert(number_at.index(kinds.len() + 1), Kind::Number);
        let value = move |kind: &Kind| match kind {
            Kind::Number => number().boxed(),
            Kind::Text => awkward(pieces).boxed(),
        };
        let row: Vec<_> = kinds.iter().map(value).collect();
        let names = prop::collection::vec("[a-z]{1,8}", kinds.len());
        (Just(kinds), names, prop::collection::vec(row, records))
    });
    let line_end = select(vec!["\n", "\r\n", "\r", "\n\n"]);
    let style = (select(DELIMITERS.to_vec()), select(vec!['"', '\'']), any::<bool>(), line_end);
    (shape, style).prop_map(move |((kinds, names, rows), (delimiter, quote, always, line_end))| {
        let field = |(kind, text): (&Kind, &String)| {
            let needed = text.contains([delimiter, quote, '\n', '\r']);
            let apostrophes = quote == '"' && text.contains('\'');
            // An apostrophe is clear only where all text is quoted.
            if *kind == Kind::Text && (needed || always || apostrophes || quote == '\'') {
                format!("{quote}{}{quote}", text.replace(quote, &format!("{quote}{quote}")))
            } else {
                text.clone()
            }
        };
        let mut records: Vec<String> = Vec::new();
        if header {
            records.push(names.join(&delimiter.to_string()));
        }
        for row in &rows {
            let fields: Vec<String> = kinds.iter().zip(row).map(field).collect();
            records.push(fields.join(&delimiter.to_string()));
        }
        let (mut file, mut ends) = (String::new(), Vec::new());
        for record in records {
            file += &record;
            ends.push(file.len());
            file += line_end;
        }
        let quoted = kinds.contains(&Kind::Text);
        Written { delimiter, quote: if quoted { quote } else { '"' }, header, file, ends }
    })
}

fn words(written: &Written) -> String {
    let delimiter = match written.delimiter {
        ',' => "comma",
        '\t' => "tab",
        ';' => "semicolon",
        _ => "pipe",
    };
    let header = if written.header { "header" } else { "no header" };
    format!("{delimiter}, quote {}, {header}", written.quote)
}

/// What a whole file is recognised as.
fn told(file: &str) -> String {
    sniff(file.as_bytes(), true, &Given::default()).words()
}

fn told_given(file: &str, given: Given<'_>) -> String {
    sniff(file.as_bytes(), true, &given).words()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_file_with_a_header_over_numbers_is_recognised(
        written in written(true, &["a", " ", ",", "\t", ";", "|", "\"", "'", "\n", "\r\n", "é", "1", "\"\"", "a,b;c"]),
        kept in any::<Index>(),
    ) {
        prop_assert_eq!(told(&written.file), words(&written));
        // So is a sample of it that ends anywhere after three records of rows.
        let least = written.ends[3] + 1;
        let sample = &written.file.as_bytes()[..least + kept.index(written.file.len() - least + 1)];
        prop_assert_eq!(sniff(sample, false, &Given::default()).words(), words(&written));
    }

    #[test]
    fn a_file_of_rows_alone_is_recognised(written in written(false, &["a", " ", "é", "1"])) {
        prop_assert_eq!(told(&written.file), words(&written));
    }

    #[test]
    fn anything_is_recognised_as_something(rubble in "[a1,;|\t\"'\n\r#\\\\ ]{0,60}", whole: bool, skip_lines in 0..4usize) {
        let given = Given { skip_lines, comment: Some(b'#'), escape: Some(b'\\'), ..Given::default() };
        let sniffed = sniff(rubble.as_bytes(), whole, &given);
        prop_assert!(DELIMITERS.contains(&char::from(sniffed.dialect.delimiter)));
        prop_assert_eq!(sniffed.dialect.comment, Some(b'#'));
        prop_assert_eq!(sniffed.dialect.escape, Some(b'\\'));
    }
}

#[test]
fn the_delimiter_is_the_one_that_parts_all_records_alike() {
    assert_eq!(told("a\tb\n1,5\t2\n"), "tab, quote \", header");
    assert_eq!(told("a;b;c\nx|y;1;2\n"), "semicolon, quote \", header");
    assert_eq!(told("a|b\n1|x\n"), "pipe, quote \", header");
    // Most fields; then the order.
    assert_eq!(told("a;b|c|d\n1;2|3|4\n"), "pipe, quote \", header");
    assert_eq!(told("a|b;c\n1|2;3\n"), "semicolon, quote \", header");
    assert_eq!(told("a,b\tc\n1,2\t3\n"), "comma, quote \", header");
}

#[test]
fn decimal_commas_are_told_from_delimiters() {
    assert_eq!(told("1,5;2,5\n3,5;-4,25\n"), "semicolon, quote \", no header");
    assert_eq!(told("1,5;x,y\n3,5;z,u\n"), "comma, quote \", no header");
    assert_eq!(told("name;price\nx;1,5\ny;2,25\n"), "semicolon, quote \", header");
    assert_eq!(told("price;weight;size\n1,5;2,5;1,0\n1,5;7,5;2,0\n"), "semicolon, quote \", header");
}

#[test]
fn delimiters_and_line_ends_within_quotes_do_not_count() {
    assert_eq!(told("a;b\n\"x,y\nz,u\";1\n\"p,q\";2\n"), "semicolon, quote \", header");
    assert_eq!(told("a,b\n'x;y\nz',1\n'p;q',2\n"), "comma, quote ', header");
}

#[test]
fn where_records_differ_nine_in_ten_decide() {
    let doubt = "(the first records differ in their number of fields)";
    assert_eq!(told("a,b;c\n1\n2,3\n"), format!("comma, quote \", header {doubt}"));
    let nine = format!("a|b\n{}1|2|3\n", "1|2\n".repeat(8));
    assert_eq!(told(&nine), format!("pipe, quote \", header {doubt}"));
    assert_eq!(told(&nine.replace("a|b\n", "a|b,c\n")), format!("pipe, quote \", header {doubt}"));
    let eight = format!("a|b\n{}1|2|3\n", "1|2\n".repeat(7));
    assert_eq!(told(&eight), "comma, quote \", header", "one column");
    // The most of nine in ten must be what the first record has.
    assert_eq!(told(&format!("a|b|c\n{}", "1|2\n".repeat(30))), "comma, quote \", header");
    // Up to the first malformed record, which the parser will name.
    assert_eq!(told("a;b\n\"x\"y;1\n"), format!("semicolon, quote \", header {doubt}"));
}

#[test]
fn one_column_is_a_file_with_commas() {
    assert_eq!(told("name\nx\ny\n"), "comma, quote \", header");
    assert_eq!(told("year\n2019\n2020\n"), "comma, quote \", header");
    assert_eq!(told("2019\n2020\n"), "comma, quote \", no header");
    assert_eq!(told("a b\nc d\n"), "comma, quote \", header");
}

#[test]
fn without_records_all_is_as_usual() {
    for file in ["", "\n\r\n\n", "\"never ends"] {
        let sniffed = sniff(file.as_bytes(), false, &Given::default());
        assert_eq!(sniffed.words(), "comma, quote \", header", "{file:?}");
    }
    assert_eq!(told(""), "comma, quote \", header");
    assert!(!sniff(b"\"never ends", true, &Given::default()).certain);
    // One record is a header, if it is words.
    assert_eq!(told("a;b;c\n"), "semicolon, quote \", header");
    assert_eq!(told("a;1;c"), "semicolon, quote \", no header");
}

#[test]
fn what_a_sample_cuts_off_does_not_count() {
    let told = |file: &str, whole| sniff(file.as_bytes(), whole, &Given::default()).words();
    assert_eq!(told("a;b\n1;2\n3", false), "semicolon, quote \", header");
    assert_eq!(told("a;b\n1;2\n3", true), "comma, quote \", header", "as one column");
    assert_eq!(told("a;b\n1;2\n3;\"x", false), "semicolon, quote \", header");
    assert_eq!(told("a;b\n1;2\n3\n", false), "comma, quote \", header", "the last record is complete");
}

#[test]
fn an_apostrophe_is_a_quote_only_where_that_is_clear() {
    for apostrophes in ["a,b\n'x',1\n'y',2\n", "a,b\n'x, y',1\nz,2\n", "'a','b'\n'x','1'\n'y','2'\n"] {
        assert_eq!(told(apostrophes), "comma, quote ', header");
    }
    for text in [
        "a,b\n'x',1\ny,2\n",     // one field that happens to have them
        "a,b\n'x',1\n",          // one record
        "a,b\n'x',1\n\"y\",2\n", // the other quote is there
        "a,b,c\n'x',1,\"p\"\n'y',2,\"q\"\n",
        "a,b\n'x'y,1\n'y',2\n", // not around the field
        "a,b\n'tis,1\n'twas,2\n",
        "a,b\nrock 'n' roll,1\nit's,2\n",
        "a,b\n\"'x'\",1\n\"'y'\",2\n",
    ] {
        assert_eq!(told(text), "comma, quote \", header", "{text:?}");
    }
}

#[test]
fn a_header_is_told_from_data_by_numbers() {
    let header = |file: &str| sniff(file.as_bytes(), true, &Given::default()).header;
    for file in [
        "id,name\n1,x\n",
        "name,city\nx,y\n",        // nothing speaks against it
        "year,2019,2020\n1,2,3\n", // the word over numbers
        ",price\n1,2.5\n",         // an empty field says nothing, the other does
        "a,a\n1,2\n",              // names twice: the parser's to refuse
        "id,zip\n7,n/a\n8,1e5\n",  // one number in the column
        ",\n1,2\n",
        "1,x\ny,z\n", // a number, but over words
    ] {
        assert!(header(file), "{file:?}");
    }
    for file in [
        "1,x\n2,y\n",
        "x,1\ny,2\n",
        "1,2\n",
        "1,x\n",
        "country,2019,2020\nNorway,7,8\n", // years: no word stands over numbers
        ",1\n2,3\n",                       // empty over a number, and a number over one
        " 1.5e3 ,x\n+7,y\n",               // as SQLite takes numbers
    ] {
        assert!(!header(file), "{file:?}");
    }
}

#[test]
fn names_of_the_table_are_a_header() {
    let told = |file, columns| told_given(file, Given { columns, ..Given::default() });
    assert_eq!(told("COUNTRY,2019\nNorway,7\n", &["country", "2019", "more"]), "comma, quote \", header");
    assert_eq!(told("country,2019\nNorway,7\n", &["country"]), "comma, quote \", no header");
    assert_eq!(told("\"a\"\"b\",\"1\"\nx,7\n", &["1", "a\"b"]), "comma, quote \", header");
    // Other words may be a header all the same: the load will say which name it does not know.
    assert_eq!(told("x,y\n1,2\n", &["a", "b"]), "comma, quote \", header");
}

#[test]
fn what_was_given_is_not_guessed() {
    let file = "a;b\n1;2\n";
    let comma = Given { delimiter: Some(b','), ..Given::default() };
    assert_eq!(told_given(file, comma), "comma, quote \", header");
    let by_name = Given { preferred: Some(b'\t'), ..Given::default() };
    assert_eq!(told_given(file, by_name), "tab, quote \", header");
    let both = Given { delimiter: Some(b':'), preferred: Some(b'\t'), ..Given::default() };
    assert_eq!(told_given(file, both), "delimiter :, quote \", header");
    let control = Given { delimiter: Some(0x1f), ..Given::default() };
    assert_eq!(told_given(file, control), "delimiter \\x1f, quote \", header");
    let unquoted = Given { quote: Some(None), header: Some(false), ..Given::default() };
    assert_eq!(told_given("a;b\n\"1;2\"\n", unquoted), "semicolon, no quote, no header");
    let apostrophe = Given { quote: Some(Some(b'\'')), ..Given::default() };
    assert_eq!(told_given("a;b\n'1;x';2\n", apostrophe), "semicolon, quote ', header");
}

#[test]
fn a_character_that_means_something_is_not_taken_for_another() {
    let pipes = Given { comment: Some(b';'), quote: Some(Some(b',')), ..Given::default() };
    assert_eq!(told_given("a;b;c|d\n,x|y,|2\n", pipes.clone()), "pipe, quote ,, header");
    assert_eq!(told_given("x", pipes), "tab, quote ,, header");
    let hash = Given { comment: Some(b'\''), escape: Some(b'"'), ..Given::default() };
    assert_eq!(told_given("a,b\n1,2\n'x','y'\n", hash), "comma, no quote, header");
    let apostrophe = Given { delimiter: Some(b'\''), ..Given::default() };
    assert_eq!(told_given("a'b\n1'2\n", apostrophe), "delimiter ', quote \", header");
}

#[test]
fn skipped_lines_and_comments_are_no_records() {
    let skip = |skip_lines| Given { skip_lines, comment: Some(b'#'), ..Given::default() };
    assert_eq!(
        told_given("a report, of \"all\"\r\n\r\na;b\r\n1;2\r\n", skip(1)),
        "semicolon, quote \", header"
    );
    assert_eq!(told_given("#x,y\n#\"\na;b\n# , \n1;2\n#", skip(0)), "semicolon, quote \", header");
    assert_eq!(told_given("x\ry\r1;2\r", skip(2)), "semicolon, quote \", no header");
    assert_eq!(told_given("x", skip(3)), "comma, quote \", header");
}

#[test]
fn an_escape_keeps_a_quote_from_ending_a_field() {
    let given = || Given { escape: Some(b'\\'), ..Given::default() };
    assert_eq!(told_given("a;b\n\"x\\\";y\";1\n", given()), "semicolon, quote \", header");
    // Outside of quotes it is a character like any other.
    assert_eq!(told_given("a;b\nx\\;1\n", given()), "semicolon, quote \", header");
    assert!(sniff(b"a;b\n\"x\\\";y\";1\n", true, &given()).certain);
}
