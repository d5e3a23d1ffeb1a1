//! Tests that files in any dialect are recognised, with examples of each rule.

use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::super::{Delimiter, Given, LineEnd, Sniffed, TrailingDelimiter, sniff};

const DELIMITERS: [char; 4] = [',', '\t', ';', '|'];

/// A file and its dialect.
#[derive(Clone, Debug)]
struct Written {
    delimiter: char,
    quote: char,
    header: bool,
    file: String,
    /// The end of each record.
    ends: Vec<usize>,
}

/// Words that stand for a missing value.
const MISSING: [&str; 5] = ["na", "nan", "null", "none", "nil"];

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Number,
    /// Text that may need quotes.
    Text,
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i32>().prop_map(|int| int.to_string()),
        (-1000..1000i32, 0..100u32).prop_map(|(whole, cents)| format!("{whole}.{cents:02}")),
        Just("1e5".to_owned()),
    ]
}

/// Makes text that is no number, with pieces that have a meaning in some dialect.
fn awkward(pieces: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop::collection::vec(select(pieces), 0..6).prop_map(|pieces| format!("{}w", pieces.concat()))
}

/// Makes files of rows, under a header of words if `header` is `true`.
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
        // Names that stand for a missing value are left out, because a line with such a name may also be a row.
        let name = "[a-z]{1,8}".prop_filter("a missing value", |name| !MISSING.contains(&&name[..]));
        let names = prop::collection::vec(name, kinds.len());
        (Just(kinds), names, prop::collection::vec(row, records))
    });
    let line_end = select(vec!["\n", "\r\n", "\r", "\n\n"]);
    let style = (select(DELIMITERS.to_vec()), select(vec!['"', '\'']), any::<bool>(), line_end);
    (shape, style).prop_map(move |((kinds, names, rows), (delimiter, quote, always, line_end))| {
        let field = |(kind, text): (&Kind, &String)| {
            let needed = text.contains([delimiter, quote, '\n', '\r']);
            let apostrophes = quote == '"' && text.contains('\'');
            // If the quote is `'`, all text is quoted, because otherwise it may be taken for an apostrophe.
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

/// Returns `true` if a blank nearly always touches the delimiter. The blank then belongs to the delimiter, and the file has two readings.
fn is_touched(written: &Written) -> bool {
    let count = |text: &str| written.file.matches(text).count();
    let delimiter = written.delimiter;
    let all = count(&delimiter.to_string());
    let touching = [format!("{delimiter} "), format!(" {delimiter}"), format!("{delimiter}\t")];
    touching.iter().any(|wide| count(wide) * 10 >= all * 9)
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

/// Returns the recognised format of a whole file, in words.
fn recognised_as(file: &str) -> String {
    sniff(file.as_bytes(), true, &Given::default()).words()
}

fn sniffed(file: &str) -> Sniffed {
    sniff(file.as_bytes(), true, &Given::default())
}

fn recognised_given(file: &str, given: Given<'_>) -> String {
    sniff(file.as_bytes(), true, &given).words()
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(2000))]

    #[test]
    fn a_csv_file_with_a_header_above_numbers_is_recognised(
        written in written(true, &["a", " ", ",", "\t", ";", "|", "\"", "'", "\n", "\r\n", "é", "1", "\"\"", "a,b;c"]),
        kept in any::<Index>(),
    ) {
        prop_assume!(!is_touched(&written));
        prop_assert_eq!(recognised_as(&written.file), words(&written));
        // A sample of the file that ends anywhere after three rows is recognised, too.
        let least = written.ends[3] + 1;
        let sample = &written.file.as_bytes()[..least + kept.index(written.file.len() - least + 1)];
        prop_assert_eq!(sniff(sample, false, &Given::default()).words(), words(&written));
    }

    #[test]
    fn a_csv_file_without_a_header_is_recognised(written in written(false, &["a", " ", "é", "1"])) {
        prop_assume!(!is_touched(&written));
        prop_assert_eq!(recognised_as(&written.file), words(&written));
    }

    #[test]
    fn any_text_is_recognised_as_some_valid_dialect(rubble in "[a1,;|\t\"'\n\r#\\\\ ]{0,60}", whole: bool, skip_lines in 0..4usize) {
        let given = Given { skip_lines: Some(skip_lines), comment: Some(Some(b'#')), escape: Some(Some(b'\\')), ..Given::default() };
        let sniffed = sniff(rubble.as_bytes(), whole, &given);
        prop_assert!(sniffed.dialect.check().is_ok());
        prop_assert_eq!(sniffed.dialect.comment, Some(b'#'));
        prop_assert_eq!(sniffed.dialect.escape, Some(b'\\'));
    }
}

#[test]
fn the_delimiter_gives_all_records_the_same_number_of_fields() {
    assert_eq!(recognised_as("a\tb\n1,5\t2\n"), "tab, quote \", header");
    assert_eq!(recognised_as("a;b;c\nx|y;1;2\n"), "semicolon, quote \", header");
    assert_eq!(recognised_as("a|b\n1|x\n"), "pipe, quote \", header");
    // The number of fields decides, then the order of the delimiters.
    assert_eq!(recognised_as("a;b|c|d\n1;2|3|4\n"), "pipe, quote \", header");
    assert_eq!(recognised_as("a|b;c\n1|2;3\n"), "semicolon, quote \", header");
    // A tab is rarer within a value than a comma, so it is the delimiter if both fit.
    assert_eq!(recognised_as("a,b\tc\n1,2\t3\n"), "tab, quote \", header");
}

#[test]
fn decimal_commas_are_distinguished_from_delimiters() {
    assert_eq!(recognised_as("1,5;2,5\n3,5;-4,25\n"), "semicolon, quote \", no header");
    assert_eq!(recognised_as("1,5;x,y\n3,5;z,u\n"), "comma, quote \", no header");
    assert_eq!(recognised_as("name;price\nx;1,5\ny;2,25\n"), "semicolon, quote \", header");
    assert_eq!(recognised_as("price;weight;size\n1,5;2,5;1,0\n1,5;7,5;2,0\n"), "semicolon, quote \", header");
}

#[test]
fn delimiters_and_line_ends_within_quotes_do_not_count() {
    assert_eq!(recognised_as("a;b\n\"x,y\nz,u\";1\n\"p,q\";2\n"), "semicolon, quote \", header");
    assert_eq!(recognised_as("a,b\n'x;y\nz',1\n'p;q',2\n"), "comma, quote ', header");
}

#[test]
fn a_record_with_another_number_of_fields_than_most_leaves_the_dialect_unchanged() {
    let doubt = "(the first records differ in their number of fields)";
    for delimiter in [",", "\t", ";", "|", "¦", "||", "~"] {
        let file = "a;b;c\n1;2;3\n4;5\n6;7;8\n".replace(';', delimiter);
        let sniffed = sniffed(&file);
        assert_eq!(sniffed.dialect.delimiter, delimiter.parse().unwrap());
        assert_eq!((sniffed.header, sniffed.fields, sniffed.odd_records, sniffed.records), (true, 3, 1, 4));
        assert!(!sniffed.certain && sniffed.candidates.is_empty());
    }
    let eight = format!("a|b\n{}1|2|3\n", "1|2\n".repeat(7));
    assert_eq!(recognised_as(&eight), format!("pipe, quote \", header {doubt}"));
    // If only the header has another number of fields, the number of the rows counts.
    assert_eq!(sniffed(&format!("a|b|c\n{}", "1|2\n".repeat(30))).fields, 2);
    // A badly quoted record counts as one odd record.
    assert_eq!(recognised_as("a;b\n\"x;\"y;1\nz;2\n"), format!("semicolon, quote \", header {doubt}"));
    let stray = sniffed("a;b;c\n\"x;1;2\ny;3;4\n\"z\";5;6\nu;7;8\n");
    assert_eq!((stray.dialect.delimiter, stray.odd_records), (Delimiter::SEMICOLON, 1));
}

#[test]
fn a_line_that_names_columns_of_the_target_table_is_no_title() {
    let skipped = |file: &str, columns: &[&str]| {
        sniff(file.as_bytes(), true, &Given { columns, ..Given::default() }).skip_lines
    };
    for (file, lines) in
        [("a,b,c\n\n,\n,", 0), ("A,b,c\n\n1,2\n3,4\n", 0), ("Sales of May\na,b,c\n\n1,2\n3,4\n", 1)]
    {
        assert_eq!(skipped(file, &["a", "b", "c", "d"]), lines, "{file:?}");
    }
    assert_eq!(skipped("a,b,c\n\n1,2\n3,4\n", &["a", "b"]), 2);
}

#[test]
fn titles_comments_and_footers_are_no_part_of_the_table() {
    let around = |file: &str| {
        let sniffed = sniffed(file);
        assert_eq!(sniffed.dialect.delimiter, Delimiter::SEMICOLON, "{file:?}");
        assert!(sniffed.header, "{file:?}");
        assert_eq!(sniffed.preamble.is_some(), sniffed.skip_lines > 0);
        (sniffed.skip_lines, sniffed.comments, sniffed.footer)
    };
    let table = "id;name;price\n1;ann;5,50\n2;bob;6\n3;cid;1,25\n";
    assert_eq!(around(table), (0, 0, None));
    assert_eq!(around(&format!("Sales of May, 2024\n{table}")), (1, 0, None));
    assert_eq!(around(&format!("Sales of May\r\n\r\nNorth\r\n\r\n{table}")), (4, 0, None));
    assert_eq!(around(&format!("Region;North\nDate;2024-01-01\n{table}")), (2, 0, None));
    assert_eq!(around(&format!("sep=;\n{table}")), (1, 0, None));
    assert_eq!(around(&format!("\"sep=;\"\nSales\n{table}")), (2, 0, None));
    assert_eq!(around(&format!("# made by x, y\n# z\n{table}")), (2, 0, None));
    assert_eq!(around(&format!("{table}# checked\n4;dan;2\n# again\n5;eve;3\n")), (0, 2, None));
    assert_eq!(around(&format!("{table}Total;12,75\n")), (0, 0, Some(5)));
    assert_eq!(around(&format!("Sales\n{table}\n(3 rows)\nSource: us\n")), (1, 0, Some(7)));
}

#[test]
fn a_line_of_names_may_begin_as_a_comment() {
    for (file, skip_lines) in [
        ("#chrom\tstart\tend\nchr1\t5\t6\nchr2\t7\t8\n", 0),
        ("##x\n##y=1,2\n#chrom\tstart\tend\nchr1\t5\t6\nchr2\t7\t8\n", 2),
    ] {
        let sniffed = sniffed(file);
        assert_eq!((sniffed.header, sniffed.skip_lines, sniffed.comments), (true, skip_lines, 0));
    }
    // A value that begins with `#` is no comment.
    assert_eq!(sniffed("tag,n\n#a,1\nb,2\n#c,3\n").comments, 0);
}

#[test]
fn the_last_comment_before_the_rows_names_the_columns() {
    let zones = "AD\t+4230+00131\tEurope/Andorra\tx\nAE\t+2518+05518\tAsia/Dubai\ty\nAF\t+3431+06912\tAsia/Kabul\tz\n";
    for (file, line) in [
        // All columns are text, so that nothing but the sign tells the names from the rows.
        (format!("# zones\n#codes\tcoordinates\tTZ\tcomments\n{zones}"), 2),
        // Comments between the rows.
        (format!("# zones\n#codes\tcoordinates\tTZ\tcomments\n{zones}#\n# more\n{zones}"), 2),
        // The first row lacks a field.
        (format!("#codes\tcoordinates\tTZ\tcomments\nAD\t+4230+00131\tEurope/Andorra\n{zones}# more\n"), 1),
        // The form in which numpy writes names.
        ("# x,y\n1.5,2\n3,4.25\n".to_owned(), 1),
        ("# x y z\n1.5 2 7\n3 4.25 8\n".to_owned(), 1),
        ("#x y z\n1.5 2 7\n3 4.25 8\n".to_owned(), 1),
    ] {
        let sniffed = sniffed(&file);
        assert_eq!((sniffed.commented_header, sniffed.header), (Some(line), true), "{file}");
        assert_eq!(sniffed.skip_lines, line - 1, "{file}");
    }
    let sniffed = sniffed(&format!("# zones\n#codes\tcoordinates\tTZ\tcomments\n{zones}#\n# more\n{zones}"));
    let notes: Vec<String> = sniffed.notes().iter().map(ToString::to_string).collect();
    assert_eq!(notes[1], "the comment in line 2 names the columns; `comment = #` skips it");
    assert_eq!((sniffed.comments, sniffed.records), (2, 7));
}

#[test]
fn a_comment_that_precedes_a_header_or_is_no_list_of_names_is_no_header() {
    for file in [
        "#source,2024\nname,city\nAnn,Paris\nBob,Rome\n",
        "#id,name\nid,name\n1,ann\n2,bob\n3,cid\n",
        "#x,y\nid,price\n1,2\n3,4\n",
        "##x,y\n1,2\n3,4\n",
        "# made by Ann, Bob\n1,2\n3,4\n",
        "# of 2024-01-01,5\n1,2\n3,4\n",
        "# x,y\n\n1,2\n3,4\n",
        "# x,y,z\n1,2\n3,4\n",
        "# x\n1\n2\n",
        "#,name,price\n1,ann,2\n2,bob,3\n",
        "tag,n\n#a,1\nb,2\n#c,3\n",
        "#a,1\n#b,2\nc,3\n",
    ] {
        assert_eq!(sniffed(file).commented_header, None, "{file}");
    }
    let file = "#x,y\n1,2\n3,4\n";
    assert_eq!(sniffed(file).commented_header, Some(1));
    for given in [
        Given { header: Some(false), ..Given::default() },
        Given { comment: Some(Some(b'#')), ..Given::default() },
        Given { comment: Some(None), ..Given::default() },
        Given { skip_lines: Some(0), ..Given::default() },
    ] {
        assert_eq!(sniff(file.as_bytes(), true, &given).commented_header, None, "{given:?}");
    }
}

#[test]
fn a_larger_table_below_a_small_one_in_a_csv_file_is_found() {
    let months: String = (1..13).map(|month| format!("{month},{}\n", 2005 + month)).collect();
    let hours: String =
        (0..60).map(|hour| format!("20200101:{hour:02}10,{hour}.5,{},0.0\n", hour % 7)).collect();
    let titles = "Latitude (decimal degrees): 45.0\nElevation (m): 250.0\nmonth,year\n";
    let file = format!("{titles}{months}time,T2m,RH,G\n{hours}");
    assert_eq!(sniffed(&file).table_below, Some(16));
    assert_eq!(sniffed(&format!("{file}T2m: air temperature\n")).table_below, Some(16));
    // Skipping the lines, as the hint says, leaves a table without odd records.
    let skipped = Given { skip_lines: Some(15), ..Given::default() };
    let below = sniff(file.as_bytes(), true, &skipped);
    assert_eq!((below.odd_records, below.records, below.table_below), (0, 61, None));
    // Below a single odd record, no other table begins.
    assert_eq!(sniffed(&format!("a,b,c,d\n{hours}1,2\n{hours}")).table_below, None);
    // The table below is the smaller one.
    assert_eq!(sniffed(&format!("time,T2m,RH,G\n{hours}month,year\n{months}")).table_below, None);
    // The table below has no header.
    assert_eq!(sniffed(&format!("{titles}{months}{hours}")).table_below, None);
}

#[test]
fn titles_and_comments_are_not_skipped_if_a_setting_keeps_them() {
    let file = "Sales of May\na;b\n1;2\n3;4\n";
    assert_eq!(sniffed(file).skip_lines, 1);
    let all = sniff(file.as_bytes(), true, &Given { skip_lines: Some(0), ..Given::default() });
    assert_eq!((all.skip_lines, all.odd_records, all.dialect.delimiter), (0, 1, Delimiter::SEMICOLON));
    // In a file without a header, the first record is a row, not a title.
    let rows = sniff(file.as_bytes(), true, &Given { header: Some(false), ..Given::default() });
    assert_eq!((rows.skip_lines, rows.fields), (0, 2));
    let comments = "# x\na;b\n1;2\n# y\n3;4\n";
    assert_eq!(sniffed(comments).comments, 2);
    let kept = sniff(comments.as_bytes(), true, &Given { comment: Some(None), ..Given::default() });
    assert_eq!((kept.comments, kept.dialect.comment), (0, None));
}

#[test]
fn a_note_about_skipped_lines_names_the_setting_that_keeps_them() {
    let notes = |file: &str| {
        let notes = sniffed(file).notes();
        notes.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        notes("Sales of May\nid;n\n1;2\n# x\n3;4\n"),
        [
            "the first line is skipped, as \"Sales of May\" is not part of the table; `skip_lines = 0` keeps all lines",
            "lines that begin with # are skipped as comments (1 in the sample); `comment = none` keeps them",
        ]
    );
    assert_eq!(
        notes("sep=;\nSales\nid;n\n1;2\n3;4\n(2)\n"),
        [
            "the first 2 lines are skipped, as the delimiter's name and \"Sales\" are not part of the table; `skip_lines = 0` keeps all lines"
        ]
    );
    assert_eq!(
        notes("id;n;m\n1;2;3\n4;5;6\nTotal;7\n"),
        ["line 4, at the end of the file, looks like a footer"]
    );
    assert_eq!(notes("id,n\n1,2\n"), [""; 0]);
}

#[test]
fn a_file_of_several_columns_is_never_recognised_as_one_column() {
    for file in ["a\nb;c\nd\ne;f;g;h\ni;j;k\n", "x\n1|2|3|4\n5\n6|7\n8\n9|1|2\n"] {
        let sniffed = sniffed(file);
        assert!(sniffed.fields >= 2 || !sniffed.candidates.is_empty(), "{sniffed:?}");
    }
    let unclear = sniffed("a\nb;c\nd\ne;f;g;h;i;j\nk\nl;m;n\n");
    if let Some((message, hint)) = unclear.refusal() {
        assert_eq!(
            message.to_string(),
            "the delimiter can't be recognised: columns may be separated by semicolon"
        );
        assert!(hint.to_string().contains("`delimiter = ;`"));
    }
}

#[test]
fn a_file_of_sentences_with_commas_has_one_column() {
    for file in [
        "text\nhello, world\nthis is it, or not, is it\nno commas\nwell, well, well, no\n",
        "comment\nA sentence.\nAnother one, with a comma.\n",
        "greeting\nhello, world\ngood bye, moon\n",
    ] {
        assert_eq!(sniffed(file).dialect.delimiter, Delimiter::NONE, "{file}");
        assert_eq!(sniffed(file).candidates, []);
    }
}

#[test]
fn delimiters_of_several_characters_and_blanks_are_recognised_where_they_are_clear() {
    for (file, delimiter) in [
        ("a||b||c\n1||2||3\n4||||6\n", "||"),
        ("a¦b\n1¦2\n3¦4\n", "¦"),
        ("a::b\n1::2\n3::4\n", "::"),
        ("a, b, c\n1, 2, 3\n4, \"x, y\", 6\n", ", "),
        ("name     age  city\nann        5  Oslo\nbob       61  Rome\n", "whitespace"),
        ("1 2 3\n4 5 6\n7 8 9\n", "whitespace"),
        ("ann b\ncid d\n", ","),
        ("ts\n2024-01-01 10:00:00\n2024-01-02 11:00:00\n", ","),
    ] {
        assert_eq!(sniffed(file).dialect.delimiter, delimiter.parse().unwrap(), "{file}");
    }
}

#[test]
fn a_backslash_is_the_escape_where_more_records_are_sound_with_it() {
    let escape = |file: &str| sniffed(file).dialect.escape;
    assert_eq!(escape("a,b\n\"x\\\"y\",1\n\"z\",2\n"), Some(b'\\'));
    assert_eq!(escape("a,b\n'x\\'y',1\n'z',2\n'u',3\n"), Some(b'\\'));
    // The backslash is no escape here: a path may end with it.
    assert_eq!(escape("a,b\n\"C:\\\",1\n\"D:\\\",2\n"), None);
    assert_eq!(escape("a,b\nx\\y,1\n"), None);
}

#[test]
fn a_file_of_one_column_is_recognised_with_the_comma_as_delimiter() {
    assert_eq!(recognised_as("name\nx\ny\n"), "comma, quote \", header");
    assert_eq!(recognised_as("year\n2019\n2020\n"), "comma, quote \", header");
    assert_eq!(recognised_as("2019\n2020\n"), "comma, quote \", no header");
    assert_eq!(recognised_as("a b\nc d\n"), "comma, quote \", header");
}

#[test]
fn a_file_without_records_is_recognised_with_the_default_dialect() {
    for file in ["", "\n\r\n\n", "\"never ends"] {
        let sniffed = sniff(file.as_bytes(), false, &Given::default());
        assert_eq!(sniffed.words(), "comma, quote \", header", "{file:?}");
    }
    assert_eq!(recognised_as(""), "comma, quote \", header");
    assert!(!sniff(b"a,b\n\"never ends", true, &Given::default()).certain);
    // A single record of words is a header.
    assert_eq!(recognised_as("a;b;c\n"), "semicolon, quote \", header");
    assert_eq!(recognised_as("a;1;c"), "semicolon, quote \", no header");
}

#[test]
fn a_record_that_the_end_of_the_sample_cuts_off_does_not_count() {
    let recognised_as = |file: &str, whole| sniff(file.as_bytes(), whole, &Given::default()).words();
    assert_eq!(recognised_as("a;b\n1;2\n3", false), "semicolon, quote \", header");
    let doubt = "(the first records differ in their number of fields)";
    assert_eq!(recognised_as("a;b\n1;2\n3", true), format!("semicolon, quote \", header {doubt}"));
    assert_eq!(recognised_as("a;b\n1;2\n3;\"x", false), "semicolon, quote \", header");
    assert_eq!(
        recognised_as("a;b\n1;2\n3\n", false),
        format!("semicolon, quote \", header {doubt}"),
        "the last record is complete"
    );
}

#[test]
fn an_apostrophe_is_a_quote_only_where_that_is_clear() {
    for apostrophes in ["a,b\n'x',1\n'y',2\n", "a,b\n'x, y',1\nz,2\n", "'a','b'\n'x','1'\n'y','2'\n"] {
        assert_eq!(recognised_as(apostrophes), "comma, quote ', header");
    }
    for text in [
        "a,b\n'x',1\ny,2\n",     // one field that happens to have apostrophes
        "a,b\n'x',1\n",          // one record
        "a,b\n'x',1\n\"y\",2\n", // the other quote exists
        "a,b,c\n'x',1,\"p\"\n'y',2,\"q\"\n",
        "a,b\n'x'y,1\n'y',2\n", // not around the field
        "a,b\n'tis,1\n'twas,2\n",
        "a,b\nrock 'n' roll,1\nit's,2\n",
        "a,b\n\"'x'\",1\n\"'y'\",2\n",
    ] {
        assert_eq!(recognised_as(text), "comma, quote \", header", "{text:?}");
    }
}

#[test]
fn a_header_is_distinguished_from_data_by_all_columns() {
    for file in [
        "id,name\n1,x\n",
        "name,city\nx,y\n",
        "year,2019,2020\n1,2,3\n",
        // The column with the names of the rows has no name.
        ",2019,2020\n1,2,3\n",
        "country,2019,2020\nNorway,7,8\n",
        "rownames,1940,1945\nNorway,7,8\nSpain,3,4\n",
        ",price\n1,2.5\n",
        "a,a\n1,2\n",
        "id,zip\n7,n/a\n8,1e5\n",
        "country,2020-01-01,2020-01-02,2020-01-03\nNorway,1,2,3\n",
        "status,name\nopen,ann\nclosed,bob\nopen,cid\n",
    ] {
        assert!(sniffed(file).header, "{file:?}");
    }
    for file in [
        "1,x\n2,y\n",
        "x,1\ny,2\n",
        "1,2\n",
        // In the first row, years are taken for names only if another column has a name there.
        "2019,2020\n1,2\n",
        "1,x\n",
        "1,2,3\n4,5,6\n",
        ",1\n2,3\n",
        " 1.5e3 ,x\n+7,y\n",
        // The first column has a number in the first row, which outvotes the word above a number in the second column.
        "10,open,ann\n11,7,bob\n",
        "2024-01-01,ok\n2024-01-02,ok\n",
        "10.0.0.1,10.0.0.2\n10.0.0.3,10.0.0.4\n",
        "ann@x.org,a\nbob@y.org,b\n",
        "$5.00,x\n$6.00,y\n",
        "https://a.b/c,x\nhttps://a.b/d,y\n",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301,x\n3f2504e0-4f89-11d3-9a0c-0305e82c3302,y\n",
        "12:30,x\n12:40,y\n",
        "red,apple\ngreen,pear\nred,apple\n",
        "a,,c\nx,y,z\nu,v,w\n",
        "AB-12,x\nCD-34,y\nEF-56,z\n",
        // An empty row, and a number over a word.
        ",\n1,2\n",
        "1,x\ny,z\n",
    ] {
        assert!(!sniffed(file).header, "{file:?}");
    }
}

#[test]
fn a_close_decision_about_the_header_is_noted() {
    let unclear = sniffed("x,y\nz,u\n");
    assert!(unclear.header && unclear.header_is_close);
    assert_eq!(
        unclear.notes()[0].to_string(),
        "the first record is probably a header, and is read as one; if it is a row: `no_header`"
    );
    assert!(!sniffed("id,name\n1,x\n").header_is_close);
    let given = sniff(b"x,y\nz,u\n", true, &Given { header: Some(true), ..Given::default() });
    assert!(!given.header_is_close);
}

#[test]
fn a_first_record_of_column_names_of_the_target_table_is_a_header() {
    let recognised_as = |file, columns| recognised_given(file, Given { columns, ..Given::default() });
    assert_eq!(
        recognised_as("COUNTRY,2019\nNorway,7\n", &["country", "2019", "more"]),
        "comma, quote \", header"
    );
    assert_eq!(recognised_as("country,2019\nNorway,7\n", &["country"]), "comma, quote \", no header");
    assert_eq!(recognised_as("\"a\"\"b\",\"1\"\nx,7\n", &["1", "a\"b"]), "comma, quote \", header");
    // Other words may still be a header: the load then reports the unknown name.
    assert_eq!(recognised_as("x,y\n1,2\n", &["a", "b"]), "comma, quote \", header");
}

#[test]
fn a_given_setting_is_not_guessed() {
    let file = "a;b\n1;2\n";
    let comma = Given { delimiter: Some(b','.into()), ..Given::default() };
    assert_eq!(recognised_given(file, comma), "comma, quote \", header");
    let by_name = Given { preferred: Some(b'\t'.into()), ..Given::default() };
    assert_eq!(recognised_given(file, by_name), "semicolon, quote \", header", "the content is clear");
    let by_name = Given { preferred: Some(b'\t'.into()), ..Given::default() };
    assert_eq!(recognised_given("a,b\tc\n1,2\t3\n", by_name), "tab, quote \", header");
    let both = Given { delimiter: Some(b':'.into()), preferred: Some(b'\t'.into()), ..Given::default() };
    assert_eq!(recognised_given(file, both), "delimiter :, quote \", header");
    let control = Given { delimiter: Some(0x1f.into()), ..Given::default() };
    assert_eq!(recognised_given(file, control), "delimiter \\x1f, quote \", header");
    let unquoted = Given { quote: Some(None), header: Some(false), ..Given::default() };
    assert_eq!(recognised_given("a;b\n\"1;2\"\n", unquoted), "semicolon, no quote, no header");
    let apostrophe = Given { quote: Some(Some(b'\'')), ..Given::default() };
    assert_eq!(recognised_given("a;b\n'1;x';2\n", apostrophe), "semicolon, quote ', header");
}

#[test]
fn a_character_with_a_given_role_is_recognised_in_no_other_role() {
    let pipes = Given { comment: Some(Some(b';')), quote: Some(Some(b',')), ..Given::default() };
    assert_eq!(recognised_given("a;b;c|d\n,x|y,|2\n", pipes.clone()), "pipe, quote ,, header");
    assert_eq!(recognised_given("x", pipes), "one column, quote ,, header");
    let hash = Given { comment: Some(Some(b'\'')), escape: Some(Some(b'"')), ..Given::default() };
    assert_eq!(recognised_given("a,b\n1,2\n'x','y'\n", hash), "comma, no quote, header");
    let apostrophe = Given { delimiter: Some(b'\''.into()), ..Given::default() };
    assert_eq!(recognised_given("a'b\n1'2\n", apostrophe), "delimiter ', quote \", header");
}

#[test]
fn skipped_lines_and_comments_are_no_records() {
    let skip =
        |skip_lines| Given { skip_lines: Some(skip_lines), comment: Some(Some(b'#')), ..Given::default() };
    assert_eq!(
        recognised_given("a report, of \"all\"\r\n\r\na;b\r\n1;2\r\n", skip(1)),
        "semicolon, quote \", header"
    );
    assert_eq!(recognised_given("#x,y\n#\"\na;b\n# , \n1;2\n#", skip(0)), "semicolon, quote \", header");
    assert_eq!(recognised_given("x\ry\r1;2\r", skip(2)), "semicolon, quote \", no header");
    assert_eq!(recognised_given("x", skip(3)), "comma, quote \", header");
}

#[test]
fn an_escape_keeps_a_quote_from_ending_a_field() {
    let given = || Given { escape: Some(Some(b'\\')), ..Given::default() };
    assert_eq!(recognised_given("a;b\n\"x\\\";y\";1\n", given()), "semicolon, quote \", header");
    // Outside of quotes, the escape is text.
    assert_eq!(recognised_given("a;b\nx\\;1\n", given()), "semicolon, quote \", header");
    assert!(sniff(b"a;b\n\"x\\\";y\";1\n", true, &given()).certain);
}

#[test]
fn the_setting_pad_lets_the_sniffer_accept_records_that_lack_fields() {
    let pad = Given { pad: true, ..Given::default() };
    for (delimiter, words) in [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "pipe")] {
        for file in
            ["a,b,c\n1\n2,3\n4,5,6\n", "a,b,c,d\n1\n2\n3,4\n5\n6\n", "a,b,c\n1,2\n3,4\n", "a,b\n1\n2\n3\n"]
        {
            let file = file.replace(',', delimiter);
            let sniffed = sniff(file.as_bytes(), true, &pad);
            assert!(sniffed.header && sniffed.refusal().is_none(), "{file}");
            assert_eq!(sniffed.dialect.delimiter.words(), words, "{file}");
        }
    }
    assert_eq!(sniff(b"1,2,3\n4\n5,6\n7,8,9\n", true, &pad).odd_records, 0);
    assert_eq!(sniff(b"1,2,3\n4\n5,6\n7,8,9\n", true, &Given::default()).odd_records, 2);
    assert_eq!(sniff(b"1,2\n3,4\n5\n6,7,8\n", true, &pad).odd_records, 1);
    let prose = b"word\none\ntwo\nthree\n";
    assert_eq!(sniff(prose, true, &pad).fields, 1);
}

#[test]
fn a_quote_is_text_where_all_records_are_regular_without_quotes() {
    for file in [
        "id,name,city\n1,Ann,Oslo\n2,\"Bob,Rome\n3,Cid,Bern\n",
        "id\tname\n1\t\"Nick\" Smith\n2\tBob\n",
        "size;n\n\"3/4;1\n\"1/2;2\n\"5/8;3\n",
    ] {
        let sniffed = sniffed(file);
        assert_eq!((sniffed.dialect.quote, sniffed.odd_records, sniffed.header), (None, 0, true), "{file}");
        assert!(sniffed.stray_quote.is_some());
        let note = sniffed.notes()[0].to_string();
        assert!(note.starts_with("quote characters are read as text, because the one in line "), "{note}");
    }
    for file in [
        // The file is well formed.
        "id,name,city\n1,Ann,Oslo\n2,\"Bob,Rome\n3,Cid,Bern\n4,Dan\",Wien\n",
        // Another field is quoted.
        "id,name,city\n1,\"Ann\",Oslo\n2,\"Bob,Rome\n3,Cid,Bern\n",
        // Without quotes, the records are not regular.
        "id,name,city\n1,\"Ann, Lee\" x,Oslo\n3,Cid,Bern\n",
    ] {
        assert_eq!(sniffed(file).dialect.quote, Some(b'"'), "{file}");
    }
    let given = Given { quote: Some(Some(b'"')), ..Given::default() };
    assert_eq!(sniff(b"id\tname\n1\t\"Nick\" Smith\n2\tBob\n", true, &given).dialect.quote, Some(b'"'));
}

#[test]
fn the_sniffer_reports_which_columns_are_numbers_and_if_fields_are_quoted() {
    assert_eq!(sniffed("id,name,n\n1,x,\n2,y,3.5\n3,z,NA\n").numbers, [true, false, true]);
    assert_eq!(sniffed("1,x\n2,y\n").numbers, [true, false]);
    assert!(sniffed("a,b\n1,\"x\"\n").has_quoted_fields && !sniffed("a,b\n1,x\n").has_quoted_fields);
}

#[test]
fn a_delimiter_that_fits_all_lines_beats_one_that_makes_the_first_line_a_title() {
    for (file, delimiter) in [
        ("id,coord\n0,0.5;0.25\n1,1.5;1.25\n", ","),
        ("id,tags\n1,red;green;blue\n", ","),
        ("id,tags\n1,red;green;blue\n2,red;green;grey\n", ","),
        ("full name,tags\nann lee,red;green;blue\nbob ray,red;green;grey\n", ","),
        ("a,a\n0,w\n0,w\n0,|w\n0,|w\n", ","),
        ("id;list\n1;a|b|c\n2;d|e|f\n3;g|h|i\n", ";"),
        ("id\tlist\n1\ta,b,c\n2\td,e,f\n3\tg,h,i\n", "\t"),
    ] {
        let sniffed = sniffed(file);
        assert_eq!(
            (sniffed.dialect.delimiter, sniffed.skip_lines),
            (delimiter.parse().unwrap(), 0),
            "{file}"
        );
    }
}

#[test]
fn delimiters_are_counted_by_records_not_by_lines() {
    let text = (0..9).map(|line| format!("line {line} of a text")).collect::<Vec<_>>().join("\n");
    for delimiter in [";", ",", "\t", "|"] {
        let rows: String = (0..40).map(|row| format!("{row}{delimiter}\"{text}\"\n")).collect();
        let sniffed = sniffed(&format!("id{delimiter}text\n{rows}"));
        assert_eq!(sniffed.dialect.delimiter, delimiter.parse().unwrap());
        assert_eq!((sniffed.fields, sniffed.records, sniffed.odd_records), (2, 41, 0));
    }
}

#[test]
fn a_blank_that_nearly_always_touches_the_delimiter_belongs_to_it() {
    for (delimiter, first) in
        [(",\t", ","), (";\t", ";"), (" ; ", ";"), (" | ", "|"), ("; ", ";"), (" , ", ",")]
    {
        let file = "id,name,price\n1,ann,3.5\n2,bob,7.25\n3,cid,1.5\n".replace(',', delimiter);
        assert_eq!(sniffed(&file).dialect.delimiter, delimiter.parse().unwrap(), "{file:?}");
        // Blanks that touch only half of the delimiters are text.
        let plain = file.replacen(delimiter, first, 4);
        assert_eq!(sniffed(&plain).dialect.delimiter, first.parse().unwrap(), "{plain:?}");
    }
    assert_eq!(sniffed("id;text\n1;a ; b\n2;c ; d\n").dialect.delimiter, Delimiter::SEMICOLON);
}

#[test]
fn a_colon_is_the_delimiter_only_if_no_other_delimiter_fits() {
    let passwd = "root:x:0:0:root:/root:/bin/bash\nbin:x:2:2:bin:/bin:/usr/sbin/nologin\nann:x:1000:1000:Ann:/srv/ann:/bin/sh\n";
    assert_eq!(sniffed(passwd).dialect.delimiter, Delimiter::from(b':'));
    for file in [
        "10:20:30\n10:20:31\n10:20:32\n",
        "time\n10:20:30\n10:20:31\n",
        "00:1b:44:11:3a:b7\n00:1b:44:11:3a:b8\n",
        "key:value\nx:y\n",
        "a:b:c\nd:e\n",
    ] {
        assert_ne!(sniffed(file).dialect.delimiter, Delimiter::from(b':'), "{file}");
    }
    assert_eq!(sniffed("t,n\n10:20:30,1\n10:20:31,2\n").dialect.delimiter, Delimiter::COMMA);
}

#[test]
fn in_the_decision_about_a_header_numbers_and_dates_outvote_codes() {
    for file in [
        "id,date,s1,s2\n1,2020-01-01,a1,a2\n",
        "id,s1,s2,s3,s4\n1,a1,a2,a3,a4\n2,b1,b2,b3,b4\n3,c1,c2,c3,c4\n",
        "when,k1,k2\n2020-01-01,x1,x2\n2020-01-02,y1,y2\n",
        "col1,col2\nval1,abc\n",
        "c0,c1,c2\nx7,y8,z9\nu1,v2,w3\n",
    ] {
        assert!(sniffed(file).header, "{file:?}");
    }
    for file in
        ["a1,b2,1\nc3,d4,2\ne5,f6,3\n", "x7,y8,z9\nu1,v2,w3\nq4,r5,s6\n", "2020-01-01,k1\n2020-01-02,k2\n"]
    {
        assert!(!sniffed(file).header, "{file:?}");
    }
}

#[test]
fn if_all_records_are_text_the_first_is_a_header_with_a_note() {
    for file in
        ["color,fruit\nred,apple\ngreen,pear\n", "red,apple\ngreen,pear\nblue,red\n", "name\nann\nbob\n"]
    {
        let sniffed = sniffed(file);
        assert!(sniffed.header && sniffed.header_is_close, "{file:?}");
        assert!(sniffed.notes().iter().any(|note| note.to_string().contains("no_header")), "{file:?}");
    }
    assert!(!sniffed("red,apple\ngreen,pear\nred,apple\n").header);
}

#[test]
fn a_first_record_that_lacks_fields_is_no_title() {
    for file in ["ann\n1,2,3\n4,5,6\n", "x;y\n1;2;3\n4;5;6\n7;8;9\n"] {
        assert_eq!(sniffed(file).skip_lines, 0, "{file:?}");
    }
    for file in ["sales\n\n1,2,3\n4,5,6\n", "sales\nid,n,m\n4,5,6\n7,8,9\n", "Sales of May\n1,2,3\n4,5,6\n"] {
        assert_ne!(sniffed(file).skip_lines, 0, "{file:?}");
    }
}

#[test]
fn a_repeated_header_over_numbers_is_still_a_header() {
    let sniffed = sniffed("id,name\n1,x\nid,name\n2,y\nid,name\n");
    assert!(sniffed.header);
    assert_eq!(sniffed.numbers, [true, false]);
}

#[test]
fn an_escape_outside_of_quotes_is_recognised_if_only_it_makes_the_records_regular() {
    let row = |at: usize| format!("{at}\tname {at}\tOslo\\\tNorway\t\\N\n");
    let file: String = ["id\tname\tplace\tnote\n".to_owned()].into_iter().chain((0..9).map(row)).collect();
    let recognised = sniffed(&file);
    assert_eq!((recognised.dialect.unquoted_escape(), recognised.fields), (Some(b'\\'), 4));
    assert_eq!(
        recognised.notes()[0].to_string(),
        "\\ makes the next character text, outside of quotes, too, and \\N is NULL; `escape = none` reads it as text"
    );
    // Paths that end with a backslash are text, and so is `\N` if nothing is escaped.
    for file in ["id,path,n\n1,C:\\,5\n2,D:\\,6\n3,E:\\x\\,7\n", "id,name\n1,\\N\n2,ann\n3,\\N\n"] {
        assert_eq!(sniffed(file).dialect.escape, None, "{file}");
    }
}

#[test]
fn a_given_escape_works_outside_of_quotes_if_no_field_is_quoted() {
    let given = || Given { escape: Some(Some(b'\\')), ..Given::default() };
    let escape = |file: &str, given| sniff(file.as_bytes(), true, &given).dialect.unquoted_escape();
    let plain = "id,name\n1,\\N\n2,ann\n";
    assert_eq!(escape(plain, given()), Some(b'\\'));
    assert_eq!(escape(plain, Given { quote: Some(None), ..given() }), Some(b'\\'));
    // In a sound file with quotes, the escape works only within quotes.
    assert_eq!(escape(plain, Given { quote: Some(Some(b'"')), ..given() }), None);
    assert_eq!(escape("id,name\n1,\"a\\\"\"\n2,\\N\n", given()), None);
    let both = "id,name\n1,\"a\\\"\"\n2,x\\,y\n3,\\N\n";
    assert_eq!(escape(both, Given { quote: Some(Some(b'"')), ..given() }), Some(b'\\'));
    let last = "id,name\n1,\"a\\\"\"\n2,\\N\n3,x\\,y\n";
    assert_eq!(escape(last, Given { quote: Some(Some(b'"')), ..given() }), Some(b'\\'));
    assert_eq!(escape(both, Given { escape: Some(None), ..Given::default() }), None);
}

#[test]
fn delimiters_at_the_ends_of_rows_or_of_the_header_alone_are_recognised() {
    let of = |file: &str| {
        let sniffed = sniffed(file);
        (sniffed.trailing_delimiter, sniffed.fields, sniffed.skip_lines, sniffed.certain)
    };
    for file in ["id,name\n1,Ann,\n2,Bob,\n", "name,city\nAnn,Oslo,\nBob,Rome,\nCid,Bern,\n", "id,n\n1,x,\n"]
    {
        assert_eq!(of(file), (Some(TrailingDelimiter::Rows), 2, 0, true), "{file}");
    }
    assert_eq!(of("id,name,\n1,Ann\n2,Bob\n3,Cid\n"), (Some(TrailingDelimiter::Header), 2, 0, true));
    // The delimiter is not surplus. In the first file, last fields have text. In the second, header and rows have an empty last field.
    for file in ["id,name\n1,Ann,x\n2,Bob,y\n3,Cid,\n", "id,name,\n1,Ann,\n2,Bob,\n"] {
        assert_eq!(of(file).0, None, "{file}");
    }
    let notes = |file: &str| sniffed(file).notes().iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(
        notes("\u{feff}\u{feff}id,name\n1,Ann,\n2,Bob,\n\u{1a}"),
        [
            "the file begins with 2 byte order marks, which are skipped",
            "the rows end with a delimiter that the header does not have; it separates nothing",
        ]
    );
}

#[test]
fn front_matter_and_titles_as_wide_as_the_table_are_skipped() {
    for (file, lines) in [
        ("---\ntitle: Sales, of May\ntags:\n  - a\n---\nid,name\n1,Ann\n2,Bob\n", 5),
        ("Sales 2024,,\nid,name,price\n1,Ann,3.5\n2,Bob,4\n", 1),
        ("Sales,2024\nid,name\n1,Ann\n2,Bob\n", 1),
        ("Sales,2024\nid,name,price\n1,Ann,3.5\n2,Bob,4\n", 1),
        ("Sales of May,,\nin Oslo,,\n,,\nid,name,price\n1,Ann,3.5\n", 3),
        ("name,2019,2020\nann,1,2\nbob,3,4\n", 0),
        ("id,mass\n,kg\n1,5.5\n2,6\n", 0),
        ("---,x\n1,2\n3,4\n", 0),
    ] {
        let sniffed = sniffed(file);
        assert_eq!((sniffed.skip_lines, sniffed.header), (lines, true), "{file}");
        assert_eq!(sniffed.candidates, [], "{file}");
    }
}

#[test]
fn comments_that_outnumber_the_records_are_recognised() {
    let file: String = (0..9)
        .map(|row| format!("# checked by Ann, Bob and Cid\n# on day {row}\n{row},x,{row}.5\n"))
        .collect();
    let sniffed = sniffed(&format!("id,name,price\n{file}"));
    assert_eq!((sniffed.dialect.comment, sniffed.fields, sniffed.certain), (Some(b'#'), 3, true));
}

#[test]
fn a_row_of_units_is_noted_and_stays_a_row() {
    let note = |file: &str| {
        sniffed(file).notes().iter().map(ToString::to_string).find(|note| note.contains("units"))
    };
    let said = "line 2, below the header, seems to have units, such as \"kg\", and is loaded as a row";
    assert_eq!(note("id,mass\n,kg\n1,5.5\n").as_deref(), Some(said));
    assert_eq!(note("id,mass,speed\n-,kg,m/s\n1,5.5,3\n2,,4\n").as_deref(), Some(said));
    for file in ["id,name\n,ann\n1,bob\n", "id,mass\n1,5.5\n2,kg\n", "id,mass\n1,kg\n2,5.5\n"] {
        assert_eq!(note(file), None, "{file}");
    }
}

#[test]
fn records_that_end_with_0x1e_are_refused_with_a_command_that_makes_lines_of_them() {
    let file = "id\u{1f}name\u{1e}1\u{1f}Ann\u{1e}2\u{1f}Bob\u{1e}";
    let (message, hint) = sniffed(file).refusal().unwrap();
    assert_eq!(message.to_string(), "records end with the byte 0x1e, not with line ends");
    assert!(hint.to_string().contains(r"tr '\n\036' ' \n'"));
    // After the command of the hint, the file is recognised.
    assert_eq!(recognised_as(&file.replace('\u{1e}', "\n")), "delimiter \\x1f, quote \", header");
}

#[test]
fn a_line_feed_by_itself_is_text_where_records_end_with_crlf() {
    let crlf = |file: &str| sniffed(&file.replace('~', "\r\n")).dialect.line_end == LineEnd::Crlf;
    assert!(crlf("id,note~1,first\nsecond~2,plain~3,a\n\nb\nc~"));
    assert!(crlf("id;note~1;\"x;y\"~2;a\nb~"));
    assert!(crlf("id\tnote\tn~\n1\ta\rb\t2~3\t\n\t4"));
    // In these files, line feeds end records, too.
    for file in [
        // The line feed is within quotes.
        "id,note~1,\"a\nb\"~2,c~",
        // Each line feed ends a record with the right number of fields.
        "id,note\n1,a~2,b\n3,c~",
        // If line feeds were text, the numbers of fields would still differ.
        "id,note~1,a\n2,b~3,c,d~4,e\nf~",
        // In a file of one column, each line is a record with the right number of fields.
        "note~a\nb~c~",
        // No line feed is by itself.
        "id,note~1,a~2,b~",
    ] {
        assert!(!crlf(file), "{file:?}");
    }
    let file = "id,note\r\n1,first\nsecond\r\n2,plain\r\n";
    let said = ["records end with CRLF, and an LF by itself is text; `line_end = any` ends records with it"];
    assert_eq!(sniffed(file).notes().iter().map(ToString::to_string).collect::<Vec<_>>(), said);
    let given = Given { line_end: Some(LineEnd::Any), ..Given::new() };
    assert_eq!(sniff(file.as_bytes(), true, &given).dialect.line_end, LineEnd::Any);
    let given = Given { line_end: Some(LineEnd::Crlf), ..Given::new() };
    assert_eq!(sniff(b"id,note\r\n1,a\r\n", true, &given).dialect.line_end, LineEnd::Crlf);
}
