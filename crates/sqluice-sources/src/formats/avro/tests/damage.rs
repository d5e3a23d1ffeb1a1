//! Tests of damaged Avro files: cut short, with changed bytes, or with bytes that Avro does not permit.

use proptest::prelude::*;

use super::super::taken::{Outcome, read};
use super::file::{block, header, long, of_field};
use super::{MEMORY, random_file, rows};

#[test]
fn the_error_about_a_malformed_value_names_the_record_and_the_block() {
    for (kind, records, data, expected) in [
        (r#""boolean""#, 2, &[1, 2][..], "a boolean is neither 0 nor 1"),
        (r#""int""#, 2, &[0, 0x80, 0x80, 0x80, 0x80, 0x10], "an int has more than 32 bits"),
        (r#""long""#, 2, &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2], "more than 64 bits"),
        (r#""long""#, 2, &[0, 0x80], "an integer is longer than its block"),
        (r#""string""#, 2, &[0, 4, b'x'], "a value is longer than its block"),
        (r#""string""#, 2, &[0, 1], "a length is negative"),
        (r#""double""#, 1, &[0], "a value is longer than its block"),
        (r#"["null","int"]"#, 2, &[0, 4], "a union has no type of that number"),
        (r#"["int","null"]"#, 2, &[2, 4], "a union has no type of that number"),
        (r#"["int"]"#, 1, &[2], "a union has no type of that number"),
        (r#"["null","int","long"]"#, 2, &[0, 6], "a union has no type of that number"),
        (r#"{"type":"enum","name":"e","symbols":["A"]}"#, 2, &[0, 2], "an enum has no symbol of that number"),
        (r#"{"type":"enum","name":"e","symbols":["A"]}"#, 2, &[0, 1], "an enum has no symbol of that number"),
        (
            r#"{"type":"fixed","name":"d","size":12,"logicalType":"duration"}"#,
            1,
            &[0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0],
            "a duration has more than",
        ),
    ] {
        let error = rows(kind, records, data).error.unwrap();
        assert!(error.contains(&format!("record {records}, in block 1, can't be read")), "{kind}: {error}");
        assert!(error.contains("x.avro"), "{kind}: {error}");
        assert!(error.contains(expected), "{kind}: {error}");
    }
}

#[test]
fn malformed_avro_blocks_are_refused() {
    let schema = of_field(r#""int""#);
    for (records, data) in [(1, &[0, 0][..]), (0, &[0]), (3, &[0, 0]), (-1, &[0])] {
        let mut file = header(&schema, "null");
        block(1, &[0], &mut file);
        block(records, data, &mut file);
        let error = read(&file, MEMORY).error.unwrap();
        assert!(error.contains("block 2"), "{records}: {error}");
    }
    let mut file = header(&schema, "null");
    block(1, &[0], &mut file);
    let end = file.len();
    file[end - 1] ^= 1;
    assert!(read(&file, MEMORY).error.unwrap().contains("block 1 can't be read"));
    // The block states a length beyond the end of the file.
    for bytes in [1 << 20, i64::MAX] {
        let mut file = header(&schema, "null");
        long(1, &mut file);
        long(bytes, &mut file);
        assert!(read(&file, MEMORY).error.unwrap().contains("block 1 can't be read"));
    }
    let mut file = b"Obj\x01".to_vec();
    long(1, &mut file);
    long(i64::MAX, &mut file);
    assert!(read(&file, MEMORY).error.unwrap().contains("not an Avro file, or it is damaged"));
}

/// Returns `true` if the rows of `short` are the first rows of `whole`, and so are its bad rows.
fn is_beginning(short: &Outcome, whole: &Outcome) -> bool {
    whole.rows.starts_with(&short.rows) && whole.bad.starts_with(&short.bad)
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(512))]

    #[test]
    fn a_file_that_is_cut_short_is_refused_unless_it_ends_after_a_block(seed: u64) {
        let (file, _) = random_file(seed);
        let whole = read(&file, MEMORY);
        let end = fastrand::Rng::with_seed(seed).usize(..file.len());
        let short = read(&file[..end], MEMORY);
        prop_assert!(is_beginning(&short, &whole));
        let is_at_block = file[..end].ends_with(super::file::SYNC);
        prop_assert!(short.error.is_some() || is_at_block, "{} of {} bytes", end, file.len());
    }

    #[test]
    fn damaged_avro_files_are_read_or_refused_with_the_file_name(seed: u64, places in prop::collection::vec((any::<prop::sample::Index>(), 0..8u8), 1..4)) {
        let (mut file, _) = random_file(seed);
        let bytes = file.len();
        for (at, bit) in places {
            file[at.index(bytes)] ^= 1 << bit;
        }
        let outcome = read(&file, MEMORY);
        if let Some(error) = outcome.error {
            prop_assert!(error.contains("x.avro"), "{}", error);
        }
    }

    #[test]
    fn random_bytes_never_make_the_avro_reader_panic(bytes: Vec<u8>) {
        prop_assert!(read(&bytes, MEMORY).error.is_some());
        let file = [b"Obj\x01", &bytes[..]].concat();
        read(&file, MEMORY);
    }
}
