//! Tests of single inputs: recognised compressions and encodings, and the texts of errors.

use std::path::Path;

use sqluice_core::error::{Error, ErrorKind};

use super::super::decoded::Decoded;
use super::super::{Compression, Encoding, InputOptions};
use super::{gzip, text_of, zstd};

fn decoded(bytes: &[u8], encoding: Option<&str>) -> String {
    let (text, error) = text_of(bytes, encoding);
    assert!(error.is_none(), "{error:?}");
    String::from_utf8(text).unwrap()
}

/// Returns the text before the error, the message of the error with its place, and its hint.
fn failure(bytes: &[u8], encoding: Option<&str>) -> (String, String, String) {
    let (text, error) = text_of(bytes, encoding);
    let error = error.expect("an error");
    let hint = error.remedy().map(ToString::to_string).unwrap_or_default().to_owned();
    (String::from_utf8(text).unwrap(), error.without_hint(), hint)
}

#[test]
fn a_byte_order_mark_decides_the_encoding_and_is_no_part_of_the_text() {
    assert_eq!(decoded(b"\xff\xfea\0\xe9\0", None), "aé");
    assert_eq!(decoded(b"\xfe\xff\0a\0\xe9", None), "aé");
    assert_eq!(decoded(b"\xff\xfe", None), "");
}

#[test]
fn the_byte_order_mark_of_utf_8_is_left_to_the_parsers() {
    assert_eq!(decoded(b"\xef\xbb\xbfa", None), "\u{feff}a");
}

#[test]
fn only_the_first_byte_order_mark_is_removed() {
    assert_eq!(decoded(b"\xff\xfe\xff\xfea\0", None), "\u{feff}a");
}

#[test]
fn a_named_encoding_wins_over_the_byte_order_mark() {
    assert_eq!(decoded(b"\xff\xfea", Some("windows-1252")), "ÿþa");
    assert_eq!(decoded(b"\xff\xfea\0", Some("utf-16le")), "a");
    assert_eq!(decoded(b"\xff\xfe\0a", Some("utf-16be")), "\u{fffe}a");
    assert_eq!(text_of(&b"\xff\xfea\0"[..], Some("utf-8")).0, b"\xff\xfea\0");
}

#[test]
fn the_byte_order_of_utf_16_follows_from_the_byte_order_mark() {
    assert_eq!(decoded(b"\xfe\xff\0a", Some("UTF-16")), "a");
    assert_eq!(decoded(b"\xff\xfea\0", Some("UTF-16")), "a");
    assert_eq!(decoded(b"a\0", Some("UTF-16")), "a");
}

#[test]
fn utf_8_is_returned_unchanged_even_if_it_is_invalid() {
    assert_eq!(text_of(&b"a\xff"[..], None).0, b"a\xff");
    assert_eq!(text_of(&b"a\xff"[..], Some("utf8")).0, b"a\xff");
}

#[test]
fn encodings_are_found_by_the_labels_of_the_encoding_standard() {
    for (label, name) in [("latin1", "windows-1252"), ("CP1252", "windows-1252"), ("sjis", "Shift_JIS")] {
        assert_eq!(label.parse::<Encoding>().unwrap().name(), name);
    }
    for label in ["klingon", "", "iso-2022-kr"] {
        let error = label.parse::<Encoding>().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert_eq!(error.without_hint(), format!("unknown encoding {label:?}"));
        assert!(error.hint_text().unwrap().contains("windows-1252"));
    }
}

#[test]
fn the_error_for_bad_bytes_has_their_line_and_column() {
    let (text, error, hint) = failure(b"id,name\r\n1,\x82\xa0\xff\n", Some("shift_jis"));
    assert_eq!(text, "id,name\r\n1,あ");
    assert_eq!(error, "x.csv:2:4: no character of Shift_JIS: byte 0xff");
    assert_eq!(hint, "if the text has another encoding: `encoding = NAME`");
    let (_, error, _) = failure(b"a\0\n\0\0\xd8b\0", Some("utf-16le"));
    assert_eq!(error, "x.csv:2:1: no character of UTF-16LE: bytes 0x00 0xd8");
}

#[test]
fn the_offset_of_bad_bytes_includes_the_byte_order_mark() {
    let byte = |bytes: &[u8]| text_of(bytes, None).1.unwrap().place().unwrap().byte;
    let marked = b"\xff\xfea\0\0\xd8b\0";
    assert_eq!(byte(marked), Some(4));
    assert_eq!(byte(&gzip(marked)), None, "a compressed file has no such byte");
}

#[test]
fn a_file_that_ends_within_a_character_is_an_error() {
    let (text, error, hint) = failure(b"a\n\x82", Some("shift_jis"));
    assert_eq!(text, "a\n");
    assert_eq!(error, "x.csv:2:1: the text ends in the middle of a character of Shift_JIS: byte 0x82");
    assert_eq!(hint, "the file seems to be incomplete: copy or write it again");
    assert!(failure(b"\xff\xfea\0b", None).1.starts_with("x.csv:1:2: the text ends in the middle"));
}

#[test]
fn compressed_text_may_be_utf_16() {
    assert_eq!(decoded(&gzip(b"\xff\xfea\0"), None), "a");
    assert_eq!(decoded(&zstd(b"\xe9"), Some("latin1")), "é");
    let bytes = gzip(b"\xff\xfea\0");
    let text = Decoded::new(Box::new(&bytes[..]), Path::new("x"), false, &InputOptions::new()).unwrap();
    assert_eq!(text.compression, Some(Compression::Gzip));
    assert_eq!(text.encoding.unwrap().name(), "UTF-16LE");
}

#[test]
fn zeros_may_follow_gzip_data_and_nothing_else() {
    let data = gzip(b"a,b\n");
    assert_eq!(decoded(&[&data[..], &[0; 1000]].concat(), None), "a,b\n");
    for garbage in [&b"x"[..], b"\0\0x", b"\0\x1f\x8b"] {
        let (text, error, hint) = failure(&[&data[..], garbage].concat(), None);
        assert_eq!(text, "a,b\n");
        assert_eq!(error, "x.csv: something else follows the gzip data");
        assert!(hint.ends_with("decompress it first: gzip -dc x.csv"), "{hint}");
    }
    let (text, error, _) = failure(&[&data[..], b"\x1fx"].concat(), None);
    assert_eq!((&text[..], &error[..]), ("a,b\n", "x.csv: the gzip data ends too early"));
}

#[test]
fn only_further_zstd_frames_may_follow_zstd_data() {
    let (text, error, _) = failure(&[&zstd(b"a,b\n")[..], b"garbage"].concat(), None);
    assert_eq!((&text[..], &error[..]), ("a,b\n", "x.csv: the zstd data is damaged"));
}

#[test]
fn a_zstd_window_over_the_limit_is_an_error_with_a_command_as_hint() {
    // A frame without checksum and size: only the window size, and the last block with one raw byte.
    let frame = |window: u8| [&[0x28, 0xb5, 0x2f, 0xfd, 0, (window - 10) << 3, 9, 0, 0][..], b"a"].concat();
    assert_eq!(decoded(&frame(27), None), "a");
    let (_, error, hint) = failure(&frame(28), None);
    assert_eq!(error, "x.csv: the zstd data needs more than 128 MiB of memory to decompress");
    assert_eq!(hint, "decompress it first: zstd -dc -M2048MB x.csv");
}

/// Returns an xz stream with a dictionary of 2^`power` bytes, which is set in the header of its first block.
#[cfg(feature = "bzip2-xz")]
fn xz_with_dictionary(text: &[u8], power: u8) -> Vec<u8> {
    let mut stream = super::xz(text);
    // The block header begins after the stream header of 12 bytes: its size, its flags, the number of the filter (LZMA2), the size of the filter's
    // properties, and the properties, which are the size of the dictionary.
    assert_eq!(stream[12..16], [2, 0, 0x21, 1]);
    stream[16] = (power - 12) * 2;
    let mut sum = flate2::Crc::new();
    sum.update(&stream[12..20]);
    stream[20..24].copy_from_slice(&sum.sum().to_le_bytes());
    stream
}

#[test]
#[cfg(feature = "bzip2-xz")]
fn an_xz_dictionary_over_the_limit_is_an_error_with_a_command_as_hint() {
    assert_eq!(decoded(&xz_with_dictionary(b"a,b\n", 27), None), "a,b\n");
    let (text, error, hint) = failure(&xz_with_dictionary(b"a,b\n", 28), None);
    assert_eq!(text, "");
    assert_eq!(error, "x.csv: the xz data needs more than 128 MiB of memory to decompress");
    assert_eq!(hint, "decompress it first: xz -dc x.csv");
}

#[test]
#[cfg(feature = "bzip2-xz")]
fn zeros_may_follow_bzip2_data_and_nothing_else() {
    let data = super::bzip2(b"a,b\n");
    assert_eq!(decoded(&[&data[..], &[0; 1000]].concat(), None), "a,b\n");
    for garbage in [&b"x"[..], b"\0\0x", b"\0BZh9"] {
        let (text, error, hint) = failure(&[&data[..], garbage].concat(), None);
        assert_eq!((&text[..], &error[..]), ("a,b\n", "x.csv: something else follows the bzip2 data"));
        assert!(hint.ends_with("decompress it first: bzip2 -dc x.csv"), "{hint}");
    }
}

#[test]
#[cfg(feature = "bzip2-xz")]
fn zeros_in_multiples_of_four_and_streams_may_follow_xz_data_and_nothing_else() {
    let data = super::xz(b"a,b\n");
    for zeros in [0, 4, 1000] {
        let padded = [&data[..], &vec![0; zeros]].concat();
        assert_eq!(decoded(&padded, None), "a,b\n");
        assert_eq!(decoded(&padded.repeat(2), None), "a,b\na,b\n");
    }
    let odd = [&[0; 5][..], &data].concat();
    for garbage in [&b"x"[..], b"\0", b"\0\0\0\0x", &odd] {
        let (text, error, hint) = failure(&[&data[..], garbage].concat(), None);
        assert_eq!((&text[..], &error[..]), ("a,b\n", "x.csv: something else follows the xz data"));
        assert_eq!(hint, "was something added to the file after it was compressed?");
    }
}

#[test]
#[cfg(not(feature = "bzip2-xz"))]
fn bzip2_and_xz_data_are_refused_with_the_feature_that_reads_them() {
    for (data, name) in [(&b"\xfd7zXZ\0\0\x04"[..], "xz"), (b"BZh91AY&SY", "bzip2")] {
        let error = Decoded::new(Box::new(data), Path::new("x.csv"), false, &InputOptions::new())
            .err()
            .expect("an error");
        let what = format!("x.csv is compressed with {name}, which this build does not read");
        assert_eq!(error.without_hint(), what);
        assert_eq!(error.missing_feature(), Some("bzip2-xz"));
    }
}

#[test]
fn unsupported_formats_are_named_with_a_hint_even_if_they_are_compressed() {
    let refused = |bytes: Vec<u8>| -> Error {
        let read = Box::new(std::io::Cursor::new(bytes));
        Decoded::new(read, Path::new("d/x.csv"), false, &InputOptions::new()).err().expect("an error")
    };
    for (bytes, format, way) in [
        (&b"\x04\x22\x4d\x18"[..], "LZ4 data", "lz4 -dk"),
        (b"PK\x03\x04\x14", "a ZIP archive", "extract it"),
        (b"PK\x03\x04\x14xl/workbook.xml", "an Excel workbook (.xlsx)", "leave out the setting"),
        (b"%PDF-1.4", "a PDF file", "export its tables as CSV"),
    ] {
        for error in [refused(bytes.to_vec()), refused(gzip(bytes))] {
            assert_eq!(error.message(), format!("this is {format}, which is not read here"));
            assert_eq!(error.place(), Some(&sqluice_core::error::Place::file("d/x.csv")));
            let hint = error.hint_text().unwrap();
            assert!(hint.contains(way), "{hint}");
        }
    }
}

#[test]
fn text_that_begins_similarly_to_compressed_data_is_read_as_text() {
    for text in ["BZh1,BZh2\n1,2\n", "PK,name\n", "(", "7z", ""] {
        assert_eq!(decoded(text.as_bytes(), None), text);
    }
}
