//! Nasty files, at random: the fast parser equals the slow one, and csv-core wherever that has an opinion.

use proptest::prelude::*;
use proptest::sample::select;

use super::super::CsvOptions;
use super::{as_csv_core, csv_core, fast, slow};

/// Anything, made of what matters, most of it malformed.
fn rubble() -> impl Strategy<Value = Vec<u8>> {
    let piece = select(vec![
        &b","[..],
        b",",
        b"\"",
        b"\"",
        b"\"\"",
        b"\n",
        b"\r",
        b"\r\n",
        b"a",
        b"bc",
        b" ",
        b"\0",
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

fn field() -> impl Strategy<Value = Vec<u8>> {
    let unquoted =
        select(vec!["", "", "a", "x\"y", "1.50", "é", "🚀", " ", "a b\"\"", "longer than a word of eight"]);
    let inner = select(vec!["", "a", "\"\"", "\n", "\r", "\r\n", ",", "é", "🚀", "\"\"\"\"", "0123456789"]);
    let quoted = prop::collection::vec(inner, 0..8).prop_map(|inner| format!("\"{}\"", inner.concat()));
    prop_oneof![unquoted.prop_map(str::to_owned), quoted].prop_map(String::into_bytes)
}

fn line_end() -> impl Strategy<Value = &'static [u8]> {
    select(vec![&b"\n"[..], b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\n\r\n", b"\n\r", b"\r\r"])
}

/// Well-formed files.
fn well_formed() -> impl Strategy<Value = Vec<u8>> {
    (1..6usize).prop_flat_map(|fields| {
        let record = (prop::collection::vec(field(), fields), line_end());
        let records = prop::collection::vec(record, 0..40);
        (any::<bool>(), any::<bool>(), line_end(), records).prop_map(move |(mark, cut, end, records)| {
            let mut file = if mark { b"\xef\xbb\xbf".to_vec() } else { Vec::new() };
            let names: Vec<String> = (0..fields).map(|field| format!("c{field}")).collect();
            file.extend_from_slice(names.join(",").as_bytes());
            file.extend_from_slice(end);
            for (fields, end) in records {
                file.extend_from_slice(&fields.join(&b","[..]));
                file.extend_from_slice(end);
            }
            if cut {
                // The last line needs no end.
                while let Some(b'\n' | b'\r') = file.last() {
                    file.pop();
                }
            }
            file
        })
    })
}

/// Well-formed files with one thing put in or taken away.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let piece = select(vec![&b"\""[..], b",", b"\n", b"\r", b"x", b"\0", b"\xff", b"\xe2\x82", b""]);
    (well_formed(), any::<prop::sample::Index>(), piece, any::<bool>()).prop_map(
        |(mut file, at, piece, take)| {
            let at = at.index(file.len());
            let end = if take { at + 1 } else { at };
            file.splice(at..end, piece.iter().copied());
            file
        },
    )
}

fn part_bytes() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1usize), 1..20usize, 1..300usize, Just(1 << 20)]
}

fn any_options() -> impl Strategy<Value = CsvOptions> {
    let limit = || prop_oneof![3 => Just(usize::MAX), 1 => 1..40usize];
    (part_bytes(), any::<bool>(), limit(), limit()).prop_map(
        |(part_bytes, empty_as_text, field_bytes_max, record_bytes_max)| CsvOptions {
            part_bytes,
            empty_as_text,
            field_bytes_max,
            record_bytes_max,
        },
    )
}

/// PROPTEST_CASES asks for more.
fn config() -> ProptestConfig {
    let cases =
        if std::env::var_os("PROPTEST_CASES").is_some() { ProptestConfig::default().cases } else { 2000 };
    ProptestConfig::with_cases(cases)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn rubble_is_read_as_the_slow_parser_reads_it(rubble in rubble(), options in any_options(), header: bool) {
        let input = if header { [b"x,y\n", &rubble[..]].concat() } else { rubble };
        prop_assert_eq!(fast(&input, options.clone()).compared(), slow(&input, &options).compared());
    }

    #[test]
    fn damaged_files_are_read_as_the_slow_parser_reads_them(input in damaged(), options in any_options()) {
        prop_assert_eq!(fast(&input, options.clone()).compared(), slow(&input, &options).compared());
    }

    #[test]
    fn well_formed_files_are_read_as_csv_core_reads_them(input in well_formed(), part_bytes in part_bytes()) {
        let options = CsvOptions { part_bytes, ..CsvOptions::default() };
        let fast = fast(&input, options.clone());
        prop_assert!(fast.error.is_none(), "{:?}", fast.error);
        prop_assert_eq!(fast.compared(), slow(&input, &options).compared());
        prop_assert_eq!(as_csv_core(&fast), csv_core(&input));
    }

    #[test]
    fn whatever_the_slow_parser_takes_is_what_csv_core_reads(rubble in rubble()) {
        let input = [b"x\n", &rubble[..]].concat();
        let slow = slow(&input, &CsvOptions::default());
        if slow.error.is_none() {
            prop_assert_eq!(as_csv_core(&slow), csv_core(&input));
        }
    }
}
