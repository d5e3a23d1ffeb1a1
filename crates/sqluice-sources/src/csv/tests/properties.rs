//! Random nasty files: the fast parser equals the slow parser, and equals csv-core for files that csv-core reads by the same rules.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::padding::padding;
use super::super::{CsvOptions, Dialect, LineEnd, TrailingDelimiter};
use super::{Setup, Taken, Taste, as_csv_core, csv_core, fast, is_blank, lenient, slow};

/// Makes valid dialects.
fn dialect(delimiters: impl Strategy<Value = &'static str>) -> impl Strategy<Value = Dialect> {
    let of = |bytes: &'static [u8]| select(bytes.iter().copied().map(Some).collect::<Vec<_>>());
    let escape = prop_oneof![2 => Just(None), 2 => Just(Some(b'\\')), 1 => of(b"\"'")];
    let quote = prop_oneof![3 => Just(Some(b'"')), 1 => Just(Some(b'\'')), 1 => Just(None)];
    let comment = prop_oneof![2 => Just(None), 1 => of(b"#%")];
    let line_end = select(vec![LineEnd::Any, LineEnd::Any, LineEnd::Crlf]);
    let custom =
        (delimiters, quote, escape, comment, any::<bool>(), line_end).prop_filter_map("no dialect", |all| {
            let (delimiter, quote, escape, comment, escapes_unquoted, line_end) = all;
            let dialect = Dialect {
                delimiter: delimiter.parse().unwrap(),
                quote,
                escape,
                comment,
                escapes_unquoted,
                line_end,
            };
            dialect.check().is_ok().then_some(dialect)
        });
    prop_oneof![1 => Just(Dialect::default()), 2 => custom]
}

/// Makes dialects that csv-core can read, too. In csv-core, an escape works only within quotes.
fn narrow() -> impl Strategy<Value = Dialect> {
    any_narrow().prop_map(|dialect| {
        let escape = dialect.escape.filter(|_| dialect.quote.is_some());
        Dialect { escape, escapes_unquoted: false, line_end: LineEnd::Any, ..dialect }
    })
}

fn any_narrow() -> impl Strategy<Value = Dialect> {
    dialect(select(vec![",", "\t", ";", "|", " "]))
}

/// Makes dialects with any delimiter.
fn any_dialect() -> impl Strategy<Value = Dialect> {
    let wide = select(vec!["||", "aba", ", ", "¦", "\t\t", "::", "🚀é", "whitespace", "none"]);
    prop_oneof![any_narrow(), dialect(wide)]
}

/// Translates `text` from the characters of the default dialect to another dialect.
fn translated(text: Vec<u8>, dialect: Dialect) -> Vec<u8> {
    let bytes = |byte| match byte {
        b',' => dialect.delimiter.as_bytes().to_vec(),
        b'"' => vec![dialect.quote.unwrap_or(b'"')],
        b'#' => vec![dialect.comment.unwrap_or(b'#')],
        other => vec![other],
    };
    text.into_iter().flat_map(bytes).collect()
}

/// Returns `true` if a backslash is the escape.
fn escapes(dialect: Dialect) -> bool {
    dialect.escape == Some(b'\\')
}

/// Makes text of pieces that matter to a parser, most of it malformed.
fn rubble() -> impl Strategy<Value = Vec<u8>> {
    let piece = select(vec![
        &b","[..],
        b",",
        b"\"",
        b"\"",
        b"\"\"",
        b"\n",
        b"\n",
        b"\r",
        b"\r\n",
        b"a",
        b"bc",
        b" ",
        b"\\",
        b"\\",
        b"\\\"",
        b"\\N",
        b"\\t",
        b"N",
        b"|",
        b"|",
        b":",
        b"  ",
        b"\t",
        b"ab",
        b"aba",
        b"\xc2",
        b"\xc2\xa6",
        b"\xfe",
        b"#",
        b"\n#",
        b"\0",
        b"\x1a",
        b"\xc3\xa9",
        b"\xe2\x82\xac",
        b"\xf0\x9f\x9a\x80",
        b"\xc3",
        b"\xe2\x82",
        b"\xff",
        b"\xef\xbb\xbf",
        b"0123456789012345678901234567890123456789012345678901234567890123456789",
    ]);
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

/// Makes well-formed fields.
fn field(dialect: Dialect) -> BoxedStrategy<Vec<u8>> {
    let mut unquoted = vec![
        "",
        "",
        "a",
        "x\"y",
        "1.50",
        "é",
        "🚀",
        "_",
        "a_b\"\"",
        "a#",
        "a\\",
        "longer-than-a-word-of-eight",
    ];
    if dialect.quote.is_none() {
        unquoted.extend(["\"", "\"a", "\"a\""]);
        return select(unquoted).prop_map(|text| text.as_bytes().to_vec()).boxed();
    }
    let mut inner =
        vec!["", "a", "\"\"", "\n", "\r", "\r\n", ",", "é", "🚀", "\"\"\"\"", "0123456789", "#", "\n#"];
    match escapes(dialect) {
        true => inner.extend(["\\\"", "\\\\", "\\n", "\\,", "\\é", "\\\n", "\\\r", "\\\r\n", "\\#"]),
        false => inner.push("\\"),
    }
    let quoted =
        prop::collection::vec(select(inner), 0..8).prop_map(|inner| format!("\"{}\"", inner.concat()));
    prop_oneof![select(unquoted).prop_map(str::to_owned), quoted].prop_map(String::into_bytes).boxed()
}

/// Makes line ends, empty lines and comments. csv-core ends a comment only with LF.
fn line_end(dialect: Dialect) -> impl Strategy<Value = &'static [u8]> {
    let mut ends = vec![&b"\n"[..], b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"\n\r", b"\r\r"];
    if dialect.comment.is_some() {
        ends.extend([&b"\n#\n"[..], b"\n#,\"a\xff\0\\\n", b"\r\n##\"\r\n#\n\n"]);
    }
    select(ends)
}

/// Makes dialects, each with a well-formed file that has a header.
fn well_formed(dialects: impl Strategy<Value = Dialect>) -> impl Strategy<Value = (Dialect, Vec<u8>)> {
    (dialects, 1..6usize).prop_flat_map(|(dialect, fields)| {
        let record = (prop::collection::vec(field(dialect), fields), line_end(dialect));
        let records = prop::collection::vec(record, 0..40);
        (any::<bool>(), any::<bool>(), line_end(dialect), records).prop_map(
            move |(mark, cut, end, records)| {
                let mut file = if mark { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
                let names: Vec<String> = (0..fields).map(|field| format!("c{field}")).collect();
                file.extend_from_slice(names.join(",").as_bytes());
                file.extend_from_slice(end);
                for (fields, end) in records {
                    file.extend_from_slice(&fields.join(&b","[..]));
                    file.extend_from_slice(end);
                }
                if cut {
                    // The last line end is left out, because a file need not have it.
                    while let Some(b'\n' | b'\r') = file.last() {
                        file.pop();
                    }
                }
                (dialect, translated(file, dialect))
            },
        )
    })
}

/// Makes well-formed files with some bytes inserted or removed.
fn damaged() -> impl Strategy<Value = (Dialect, Vec<u8>)> {
    let piece =
        select(vec![&b"\""[..], b",", b"\n", b"\r", b"x", b"\\", b"#", b"\0", b"\xff", b"\xe2\x82", b""]);
    let damage = (any::<prop::sample::Index>(), piece, any::<bool>());
    (well_formed(any_dialect()), prop::collection::vec(damage, 1..4)).prop_map(
        |((dialect, mut file), damages)| {
            for (at, piece, take) in damages {
                let at = at.index(file.len() + 1);
                let end = if take { (at + 1).min(file.len()) } else { at };
                file.splice(at..end, translated(piece.to_vec(), dialect));
            }
            (dialect, file)
        },
    )
}

fn part_bytes() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1usize), 1..20usize, 1..300usize, Just(1 << 20)]
}

fn any_options() -> impl Strategy<Value = CsvOptions> {
    let limit = || prop_oneof![6 => Just(usize::MAX), 1 => 1..40usize];
    let token =
        select(vec![&b"a"[..], b"", b"bc", b"\"", b"1.50", b"\xc3\xa9", b"longer-than-a-word-of-eight"]);
    let tokens = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(token, 1..3)];
    let skip = prop_oneof![3 => Just(0u64), 1 => 0..4u64];
    let fields = prop_oneof![2 => Just(None), 1 => (1..5usize).prop_map(Some)];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    let trailing = select(vec![None, None, Some(TrailingDelimiter::Rows), Some(TrailingDelimiter::Header)]);
    (part_bytes(), flags, limit(), limit(), tokens, skip, (fields, trailing)).prop_map(
        |(part_bytes, flags, field_bytes_max, record_bytes_max, tokens, skip_lines, (fields, trailing))| {
            let (header, empty_as_text, pad, strict_quotes, commented) = flags;
            CsvOptions {
                dialect: Dialect::default(),
                header,
                commented_header: commented,
                fields,
                skip_lines,
                footer: None,
                table_below: None,
                null_tokens: tokens.into_iter().map(<[u8]>::to_vec).collect(),
                empty_as_text,
                pad,
                trailing_delimiter: trailing,
                strict_quotes,
                leave_out_empty: false,
                trim: pad != header,
                numbers: if header { vec![true] } else { Vec::new() },
                has_quoted_fields: pad,
                part_bytes,
                field_bytes_max,
                record_bytes_max,
            }
        },
    )
}

fn taste() -> impl Strategy<Value = Taste> {
    let refuses = prop_oneof![2 => Just(0u64), 1 => 1..8u64];
    let names = prop_oneof![Just(usize::MAX), 1..4usize];
    (any::<bool>(), refuses, names, any::<u64>()).prop_map(|(bad_rows, refuses, names, seed)| Taste {
        bad_rows,
        refuses,
        names,
        seed,
    })
}

fn any_setup() -> impl Strategy<Value = Setup> {
    let limit = prop_oneof![3 => Just(None), 1 => (0..20u64).prop_map(Some)];
    let first = prop_oneof![Just(0u64), any::<u32>().prop_map(u64::from)];
    let fails_at = prop_oneof![4 => Just(None), 1 => (0..400usize).prop_map(Some)];
    (any_options(), limit, first, fails_at, taste()).prop_map(|(options, limit, first, fails_at, sink)| {
        let end = limit.map_or(u64::MAX, |limit| first + limit);
        Setup { options, rows: first..end, fails_at, sink }
    })
}

fn of_dialect(setup: Setup, dialect: Dialect) -> Setup {
    Setup { options: CsvOptions { dialect, ..setup.options }, ..setup }
}

/// Returns `true` if csv-core reads `input` by the same rules. In csv-core, a CR without LF does not end a comment, and blanks before a
/// quote are text, as is padding.
fn is_of_csv_core(input: &[u8], dialect: Dialect) -> bool {
    let cr = |(at, &byte): (usize, &u8)| byte == b'\r' && input.get(at + 1) != Some(&b'\n');
    let spaced = |pair: &[u8]| matches!(pair[0], b' ' | b'\t') && Some(pair[1]) == dialect.quote;
    (dialect.comment.is_none() || !input.iter().enumerate().any(cr))
        && !input.windows(2).any(spaced)
        && padding(input).is_none()
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(2000))]

    #[test]
    fn the_fast_and_the_slow_parser_agree_on_random_pieces(
        rubble in rubble(), dialect in any_dialect(), setup in any_setup(), header: bool,
    ) {
        let setup = of_dialect(setup, dialect);
        let input = if header { [b"x,y\n", &rubble[..]].concat() } else { rubble };
        let input = translated(input, dialect);
        prop_assert_eq!(fast(&input, setup.clone()), slow(&input, setup));
    }

    #[test]
    fn the_fast_and_the_slow_parser_agree_on_damaged_files((dialect, input) in damaged(), setup in any_setup()) {
        let setup = of_dialect(setup, dialect);
        prop_assert_eq!(fast(&input, setup.clone()), slow(&input, setup));
    }

    #[test]
    fn the_fast_and_the_slow_parser_agree_on_files_with_any_delimiter(
        (dialect, input) in well_formed(any_dialect()), setup in any_setup(),
    ) {
        let setup = of_dialect(setup, dialect);
        prop_assert_eq!(fast(&input, setup.clone()), slow(&input, setup));
    }

    #[test]
    fn the_setting_pad_changes_and_counts_only_records_that_lack_fields(
        (dialect, input) in damaged(), setup in any_setup(), bad_rows: bool,
    ) {
        let setup = of_dialect(setup, dialect);
        let sink = Taste { bad_rows, ..Taste::default() };
        // Strict quotes are off: a quoted field of a padded record may be a doubt, which they would make a fault.
        let options = CsvOptions { strict_quotes: false, ..setup.options.clone() };
        let of = |pad| Setup { options: CsvOptions { pad, ..options.clone() }, sink, ..setup.clone() };
        let (plain, padded) = (fast(&input, of(false)), fast(&input, of(true)));
        prop_assert_eq!(&plain.header, &padded.header);
        let short = |taken: &Taken| match taken {
            Taken::Bad { error, .. } => error.0.starts_with("the record ends after field"),
            Taken::Row(_) => false,
        };
        let filled = plain.taken.iter().filter(|taken| short(taken)).count() as u64;
        if plain.error.is_none() {
            prop_assert_eq!(padded.padded, filled);
        }
        // The remedy in an error about a record depends on `pad`, so it is not compared.
        let without_remedy = |taken: &Taken| match taken {
            Taken::Bad { error: (message, _, place), raw } => {
                Taken::Bad { error: (message.clone(), None, place.clone()), raw: raw.clone() }
            }
            row => row.clone(),
        };
        for (plain, padded) in plain.taken.iter().zip(&padded.taken) {
            match padded {
                Taken::Row(row) if short(plain) => prop_assert_eq!(row.last(), Some(&None)),
                padded => prop_assert_eq!(without_remedy(plain), without_remedy(padded)),
            }
        }
    }

    #[test]
    fn our_parsers_and_csv_core_agree_on_well_formed_files(
        (dialect, input) in well_formed(narrow()), part_bytes in part_bytes(), header: bool,
    ) {
        let options = CsvOptions { dialect, part_bytes, header, ..CsvOptions::default() };
        let fast = fast(&input, options.clone());
        prop_assert!(fast.error.is_none(), "{:?}", fast.error);
        prop_assert_eq!(&fast, &slow(&input, options));
        prop_assert_eq!(as_csv_core(&fast, header), csv_core(&input, dialect));
    }

    #[test]
    fn the_slow_parser_and_csv_core_agree_on_files_without_faults(rubble in rubble(), dialect in narrow()) {
        let input = translated([b"x\n", &rubble[..]].concat(), dialect);
        let slow = slow(&input, CsvOptions { dialect, ..CsvOptions::default() });
        if slow.error.is_none() && is_of_csv_core(&input, dialect) {
            prop_assert_eq!(as_csv_core(&slow, true), csv_core(&input, dialect));
        }
    }

    #[test]
    fn after_a_record_whose_quotes_are_sound_the_slow_parser_goes_on_where_csv_core_does(
        rubble in rubble(), dialect in narrow(),
    ) {
        let input = translated([b"x\n", &rubble[..]].concat(), dialect);
        if is_of_csv_core(&input, dialect) {
            let mut slow = slow(&input, lenient(CsvOptions { dialect, ..CsvOptions::default() }));
            prop_assert!(slow.error.is_none());
            slow.taken.retain(|taken| !matches!(taken, Taken::Row(row) if is_blank(row)));
            let csv_core = csv_core(&input, dialect);
            // The comparison ends at the first bad record that contains a quote, because csv-core may end it elsewhere. A record that is
            // bad only for its number of fields ends at the same place in both.
            let has_quote = |raw: &[u8]| dialect.quote.is_some_and(|quote| raw.contains(&quote));
            let of_quote = |taken: &Taken| matches!(taken, Taken::Bad { raw, .. } if has_quote(raw));
            let broken = slow.taken.iter().position(of_quote);
            if broken.is_none() {
                prop_assert_eq!(slow.taken.len() + 1, csv_core.len());
            }
            let sound = &slow.taken[..broken.unwrap_or(slow.taken.len())];
            for (slow, csv_core) in sound.iter().zip(&csv_core[1..]) {
                if let Taken::Row(row) = slow {
                    let row: Vec<Vec<u8>> = row.iter().map(|value| value.clone().unwrap_or_default()).collect();
                    prop_assert_eq!(&row, csv_core);
                }
            }
        }
    }

    #[test]
    fn a_quote_that_never_closes_spoils_only_its_own_line(
        before in 0..5usize, after in 0..40usize, part_bytes in part_bytes(), at_end: bool,
    ) {
        let mut input = b"id,name\n".to_vec();
        (0..before).for_each(|row| input.extend_from_slice(format!("{row},\"a\nb\"\n").as_bytes()));
        input.extend_from_slice(b"77,\"lost");
        (0..after).for_each(|row| input.extend_from_slice(format!("\n{row},c").as_bytes()));
        if at_end {
            input.push(b'\n');
        }
        let outcome = fast(&input, lenient(CsvOptions { part_bytes, ..CsvOptions::default() }));
        prop_assert_eq!(outcome.rows().len(), before + after);
        let bad: Vec<&Taken> = outcome.taken.iter().filter(|taken| matches!(taken, Taken::Bad { .. })).collect();
        let [Taken::Bad { raw, error }] = bad[..] else { panic!("{bad:?}") };
        prop_assert_eq!(&raw[..], b"77,\"lost");
        prop_assert_eq!(error.2.as_ref().and_then(|place| place.line), Some(2 * before as u64 + 2));
    }

    #[test]
    fn the_fast_and_the_slow_parser_skip_the_same_repeated_headers(
        lines in prop::collection::vec(select(vec!["a,b", "1,2", "\"a\",b", "a,b,c", "", "#", "1,\"a\na,b\"", "a,b\n", "\"a,b"]), 0..12),
        part_bytes in part_bytes(), pad: bool, comment in prop::option::of(Just(b'#')), rows_max in 0..9u64,
    ) {
        let input = format!("a,b\n{}", lines.join("\n")).into_bytes();
        let dialect = Dialect { comment, ..Dialect::default() };
        let options = CsvOptions { dialect, part_bytes, pad, numbers: vec![true], ..CsvOptions::default() };
        let setup = Setup { rows: 0..rows_max, ..lenient(options) };
        prop_assert_eq!(fast(&input, setup.clone()), slow(&input, setup));
    }

    #[test]
    fn the_setting_leave_out_empty_affects_only_empty_records_at_the_end_of_a_file(
        lines in prop::collection::vec(select(vec![",", ",", ",", "1,2", "", "\",\n,\",", ",,", "\"\",", "x,\"\n,\n\""]), 0..24),
        line_end in select(vec!["\n", "\r\n", "\r"]), part_bytes in part_bytes(), at_end: bool,
    ) {
        let input = format!("a,b{line_end}{}{}", lines.join(line_end), if at_end { line_end } else { "" });
        let options = CsvOptions { part_bytes, ..CsvOptions::default() };
        let mut expected = slow(input.as_bytes(), lenient(options.clone()));
        while expected.taken.last() == Some(&Taken::Row(vec![None, None])) {
            expected.taken.pop();
        }
        let left_out = fast(input.as_bytes(), lenient(CsvOptions { leave_out_empty: true, ..options }));
        prop_assert_eq!(left_out, expected);
    }

    #[test]
    fn blank_lines_in_a_file_of_one_column_are_rows_except_at_the_end(
        lines in prop::collection::vec(select(vec!["", "", "", "1", "\"\"", "\"\n\n\"", "\"1", "\"1\"2", "#"]), 0..24),
        line_end in select(vec!["\n", "\r\n", "\r"]), part_bytes in part_bytes(), at_end: bool, header: bool, empty_as_text: bool,
        comment in prop::option::of(Just(b'#')),
    ) {
        let input = format!("a{line_end}{}{}", lines.join(line_end), if at_end { line_end } else { "" });
        let dialect = Dialect { comment, ..Dialect::default() };
        let options = CsvOptions { dialect, part_bytes, header, empty_as_text, ..CsvOptions::default() };
        let mut expected = slow(input.as_bytes(), lenient(options.clone()));
        prop_assert_eq!(&fast(input.as_bytes(), lenient(options.clone())), &expected);
        let blank = Taken::Row(vec![empty_as_text.then(Vec::new)]);
        let mut last = input.rsplit(line_end);
        let blanks = last.next().filter(|text| text.is_empty()).map_or(0, |_| last.take_while(|line| line.is_empty()).count());
        for _ in 0..blanks {
            prop_assert_eq!(expected.taken.pop(), Some(blank.clone()));
        }
        let left_out = fast(input.as_bytes(), lenient(CsvOptions { leave_out_empty: true, ..options }));
        prop_assert_eq!(left_out, expected);
    }

    #[test]
    fn each_row_is_taken_or_refused_once_in_the_order_of_the_file(
        (dialect, input) in well_formed(narrow()), part_bytes in part_bytes(), taste in taste(),
    ) {
        let options = CsvOptions { dialect, part_bytes, ..CsvOptions::default() };
        let sink = Taste { bad_rows: true, ..taste };
        let picky = fast(&input, Setup { sink, ..Setup::from(options.clone()) });
        let all = fast(&input, options);
        prop_assert_eq!(picky.taken.len(), all.taken.len());
        for (row, (picky, all)) in picky.taken.iter().zip(&all.taken).enumerate() {
            let blamed = taste.blames(row as u64, all_columns(all));
            prop_assert_eq!(matches!(picky, Taken::Bad { .. }), blamed.is_some());
            prop_assert!(blamed.is_some() || picky == all);
        }
    }
}

/// Returns the number of columns that the sink gets: the fields of the file, and the constant column that `twins` adds to each row.
fn all_columns(taken: &Taken) -> usize {
    match taken {
        Taken::Row(row) => row.len() + 1,
        Taken::Bad { .. } => unreachable!("the file is well-formed"),
    }
}

#[test]
fn a_line_feed_written_as_an_escape_begins_no_line() {
    let dialect = Dialect {
        quote: Some(b'\''),
        escape: Some(b'\\'),
        escapes_unquoted: true,
        line_end: LineEnd::Crlf,
        ..Dialect::default()
    };
    let options =
        CsvOptions { dialect, fields: Some(2), pad: true, strict_quotes: true, ..CsvOptions::default() };
    let taste = Taste { bad_rows: true, refuses: 0, names: usize::MAX, seed: 0 };
    let setup = Setup { options, rows: 0..u64::MAX, fails_at: None, sink: taste };
    let input = b"c0,c1\r\n'\\n',1.50\ra\\,\n";
    let outcome = fast(input, setup.clone());
    assert_eq!(outcome, slow(input, setup));
    assert!(outcome.taken.iter().all(|taken| matches!(taken, Taken::Row(..))), "{outcome:?}");
}
