//! Property tests of the text of an input. Text is decoded as encoding_rs decodes it, also from compressed data. Bad bytes are reported
//! with their place. Compressed data that is cut off is an error, and a changed bit in it is an error or makes no difference.

use encoding_rs::{DecoderResult, Encoding};
use proptest::prelude::*;
use proptest::sample::select;
use sqluice_core::error::Place;
use sqluice_core::progress::Cancel;

use super::super::ahead::Ahead;
use super::super::{Compression, foreign};
use super::{Drip, PACKERS, Packer, drain, skippable, text_of, utf_16};

const LABELS: [&str; 10] = [
    "utf-16le",
    "utf-16be",
    "windows-1252",
    "windows-1253",
    "shift_jis",
    "gb18030",
    "euc-jp",
    "big5",
    "euc-kr",
    "iso-2022-jp",
];

fn text() -> impl Strategy<Value = String> {
    let piece = select(vec![
        "a",
        ",",
        "\"",
        "\n",
        "\r",
        "\r\n",
        "\n\r",
        "é",
        "€",
        "漢字",
        "かな",
        "🚀",
        "\u{feff}",
        "\u{ffff}",
        "\t",
        "a longer piece of plain text, so that the fast ways are taken, ",
    ]);
    let pieces = prop::collection::vec(piece, 0..80).prop_map(|pieces| pieces.concat());
    prop_oneof![pieces, any::<String>()]
}

/// Bytes that are characters in some encodings, in random order.
fn rubble() -> impl Strategy<Value = Vec<u8>> {
    let piece = select(vec![
        &b"a"[..],
        b"b,c",
        b"\n",
        b"\r",
        b"\r\n",
        b"\x81",
        b"\x82\xa0",
        b"\xff",
        b"\xfe",
        b"\xd8",
        b"\x00\xd8",
        b"\xdc\x00",
        b"\x84\x31\x95\x33",
        b"\x81\x30",
        b"\x8f\xa2\xaf",
        b"\x1b$B",
        b"\x1b(B",
        b"\x30",
        b"\xaa",
        b"\x00",
    ]);
    let pieces = prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat());
    prop_oneof![pieces, prop::collection::vec(any::<u8>(), 0..40)]
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![prop::collection::vec(1..8usize, 1..4), Just(vec![1 << 20])]
}

/// The compression around the bytes: none, or one with the given number of members.
#[derive(Clone, Copy, Debug)]
enum Wrap {
    Plain,
    Packed(Packer, usize),
}

fn wrap() -> impl Strategy<Value = Wrap> {
    let packed = (select(PACKERS), 1..4usize).prop_map(|(packer, members)| Wrap::Packed(packer, members));
    prop_oneof![1 => Just(Wrap::Plain), 4 => packed]
}

impl Wrap {
    fn around(self, data: &[u8]) -> Vec<u8> {
        let Wrap::Packed(Packer { name, pack, .. }, members) = self else { return data.to_vec() };
        // Data that may come before and after each member, and data that may come at the end.
        let (around, end) = match name {
            "gzip" | "bzip2" => (Vec::new(), vec![0; 5]),
            "zstd" => (skippable(b"skipped"), skippable(b"")),
            "xz" => (Vec::new(), vec![0; 8]),
            other => panic!("{other} has no padding here"),
        };
        let between = if name == "xz" { vec![0; 4] } else { around.clone() };
        let member_bytes = data.len().div_ceil(members).max(1);
        // Empty data is compressed to one member, because an empty file is not a compressed file.
        let packed: Vec<Vec<u8>> = match data.is_empty() {
            true => vec![pack(data)],
            false => data.chunks(member_bytes).map(pack).collect(),
        };
        [around, packed.join(&between[..]), end].concat()
    }
}

/// Decodes byte by byte, as a slow reference. Returns the text before the first bad byte, and the place of that byte in the text and the file.
fn slow(encoding: &'static Encoding, bytes: &[u8]) -> (String, Option<Place>) {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::new();
    let steps = (0..=bytes.len()).map(|at| (at, bytes.get(at..at + 1).unwrap_or_default()));
    for (at, byte) in steps {
        text.reserve(64);
        let (result, read) = decoder.decode_to_string_without_replacement(byte, &mut text, byte.is_empty());
        if let DecoderResult::Malformed(bad, after) = result {
            let lines = text.replace("\r\n", "\n").replace('\r', "\n");
            let line = lines.split('\n').next_back().unwrap();
            let place = Place {
                file: "x.csv".into(),
                line: Some(lines.matches('\n').count() as u64 + 1),
                column: Some(line.chars().count() as u64 + 1),
                byte: Some((at + read) as u64 - u64::from(bad) - u64::from(after)),
                ..Place::default()
            };
            return (text, Some(place));
        }
        assert_eq!(result, DecoderResult::InputEmpty);
    }
    (text, None)
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(1000))]

    #[test]
    fn plain_text_is_read_unchanged(text in text(), wrap in wrap(), sizes in sizes()) {
        let (read, error) = text_of(Drip::new(&wrap.around(text.as_bytes()), sizes), None);
        prop_assert!(error.is_none(), "{:?}", error);
        prop_assert_eq!(read, text.into_bytes());
    }

    #[test]
    fn utf_16_text_with_a_byte_order_mark_is_converted_to_utf_8(text in text(), big in any::<bool>(), wrap in wrap(), sizes in sizes()) {
        let bytes = utf_16(&format!("\u{feff}{text}"), if big { u16::to_be_bytes } else { u16::to_le_bytes });
        let (read, error) = text_of(Drip::new(&wrap.around(&bytes), sizes), None);
        prop_assert!(error.is_none(), "{:?}", error);
        prop_assert_eq!(read, text.into_bytes());
    }

    #[test]
    fn text_in_a_named_encoding_is_decoded_like_encoding_rs_decodes_it_at_once(
        text in text(), label in select(&LABELS[..]), wrap in wrap(), sizes in sizes(),
    ) {
        let encoding = Encoding::for_label(label.as_bytes()).unwrap();
        let bytes = match label {
            "utf-16le" => utf_16(&text, u16::to_le_bytes),
            "utf-16be" => utf_16(&text, u16::to_be_bytes),
            _ => encoding.encode(&text).0.into_owned(),
        };
        let expected = encoding.decode_with_bom_removal(&bytes).0.into_owned();
        let (read, error) = text_of(Drip::new(&wrap.around(&bytes), sizes), Some(label));
        prop_assert!(error.is_none(), "{:?}", error);
        prop_assert_eq!(String::from_utf8(read).unwrap(), expected);
    }

    #[test]
    fn all_text_before_bad_bytes_is_returned_and_the_error_has_their_place(
        bytes in rubble(), label in select(&LABELS[..]), wrap in wrap(), sizes in sizes(),
    ) {
        let encoding = Encoding::for_label(label.as_bytes()).unwrap();
        // Bytes that begin with a byte order mark or with the signature of a format are skipped, because other tests have them.
        prop_assume!(!bytes.starts_with(b"\xff\xfe") && !bytes.starts_with(b"\xfe\xff"));
        prop_assume!(Compression::of_data(&bytes).is_none() && foreign::of_bytes(&bytes).is_none());
        let (text, place) = slow(encoding, &bytes);
        let oracle = encoding.decode_without_bom_handling_and_without_replacement(&bytes);
        prop_assert_eq!(oracle.is_none(), place.is_some());
        let (read, error) = text_of(Drip::new(&wrap.around(&bytes), sizes), Some(label));
        prop_assert_eq!(String::from_utf8(read).unwrap(), text);
        let place = place.map(|place| match wrap {
            Wrap::Plain => place,
            _ => Place { byte: None, ..place },
        });
        prop_assert_eq!(error.and_then(|error| error.place().cloned()), place);
    }

    #[test]
    fn a_text_that_is_read_ahead_is_unchanged(
        bytes in prop::collection::vec(any::<u8>(), 0..2000), sizes in sizes(), block_bytes in 1..70usize,
    ) {
        let ahead = Ahead::start(Drip::new(&bytes, sizes), block_bytes, Cancel::new()).unwrap();
        let (read, error) = drain(ahead);
        prop_assert!(error.is_none(), "{:?}", error);
        prop_assert_eq!(read, bytes);
    }
}

/// Returns a text without repeated rows, so that a missing part is noticed. It compresses to more than one block of Huffman codes.
fn rows() -> Vec<u8> {
    (0..60u32).flat_map(|row| format!("{row},{},é\n", row.wrapping_mul(2_654_435_761)).into_bytes()).collect()
}

#[test]
fn compressed_data_that_is_cut_off_anywhere_is_an_error() {
    let rows = rows();
    for &Packer { name, magic_bytes, pack } in PACKERS {
        let data = pack(&rows);
        // A file that is cut within its signature is not recognised as compressed. Two members in a file are also cut within the second.
        let twice = [&data[..], &data].concat();
        for end in (magic_bytes..data.len()).chain(data.len() + 1..twice.len()) {
            let (text, error) = text_of(&twice[..end], None);
            let message = error.expect("an error").without_hint();
            assert_eq!(message, format!("x.csv: the {name} data ends too early"), "cut at {end}");
            let before = if end < data.len() { 0 } else { rows.len() };
            assert!(text.len() >= before && rows.repeat(2).starts_with(&text), "cut at {end}");
        }
    }
}

#[test]
fn a_changed_bit_in_compressed_data_is_an_error_or_makes_no_difference() {
    let rows = rows();
    for &Packer { name, magic_bytes, pack } in PACKERS {
        let data = pack(&rows);
        let mut errors = 0;
        for bit in magic_bytes * 8..data.len() * 8 {
            let mut damaged = data.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let (text, error) = text_of(&damaged[..], None);
            match error {
                None => assert_eq!(text, rows, "bit {bit} of {name}"),
                Some(error) => {
                    errors += 1;
                    assert!(error.without_hint().starts_with("x.csv: "), "{error}");
                }
            }
        }
        assert!(errors > data.len() * 7, "the checksums are looked at");
    }
}
