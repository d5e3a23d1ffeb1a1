//! Tests of the names of members: their encodings, and their paths.

use flate2::Crc;
use proptest::prelude::*;

use super::super::text::{Path, of_code_page_437};
use super::written_zips::{File, zip};
use super::{open_zip, paths};

fn crc(data: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(data);
    crc.sum()
}

/// Returns the path of a member with this name and these fields in its directory entry.
fn path(name: &[u8], flags: u16, made_by: u16, extra: &[u8]) -> String {
    let mut file = File::new("", b"", 0);
    (file.name, file.flags, file.made_by, file.extra) = (name.to_vec(), flags, made_by << 8, extra.to_vec());
    paths(&open_zip(&zip(&[file]).bytes).unwrap())[0].to_owned()
}

#[test]
fn names_are_in_the_encoding_that_the_archive_declares() {
    let utf_8 = 1 << 11;
    assert_eq!(path("é.csv".as_bytes(), utf_8, 0, b""), "é.csv");
    assert_eq!(path(b"\x82.csv", 0, 0, b""), "é.csv");
    // The name claims to be UTF-8, but is not.
    assert_eq!(path(b"\x82.csv", utf_8, 0, b""), "é.csv");
    // Programs on Unix write UTF-8 without declaring it; programs on MS-DOS do not.
    assert_eq!(path("é.csv".as_bytes(), 0, 3, b""), "é.csv");
    assert_eq!(path("é.csv".as_bytes(), 0, 0, b""), "├⌐.csv");
    assert_eq!(path(b"\x82.csv", 0, 3, b""), "é.csv");
}

#[test]
fn the_extra_field_with_a_name_is_used_if_its_checksum_fits_the_name() {
    let field = |name: &[u8], version: u8, path: &str| {
        let data = [&[version][..], &crc(name).to_le_bytes(), path.as_bytes()].concat();
        [&[0xfe, 0xca, 1, 0, 7, 0x75, 0x70][..], &(data.len() as u16).to_le_bytes(), &data].concat()
    };
    assert_eq!(path(b"x.csv", 0, 0, &field(b"x.csv", 1, "漢.csv")), "漢.csv");
    assert_eq!(path(b"x.csv", 0, 0, &field(b"y.csv", 1, "漢.csv")), "x.csv");
    assert_eq!(path(b"x.csv", 0, 0, &field(b"x.csv", 2, "漢.csv")), "x.csv");
    let whole = field(b"x.csv", 1, "漢.csv");
    for end in 0..whole.len() {
        assert_eq!(path(b"x.csv", 0, 0, &whole[..end]), "x.csv");
    }
}

#[test]
fn backslashes_separate_folders_in_names_of_windows_but_not_of_unix() {
    assert_eq!(path(b"d\\a.csv", 0, 0, b""), "d/a.csv");
    assert_eq!(path(b"d\\a.csv", 0, 10, b""), "d/a.csv");
    assert_eq!(path(b"e/d\\a.csv", 0, 0, b""), "e/d\\a.csv");
    assert_eq!(path(b"d\\a.csv", 0, 3, b""), "d\\a.csv");
}

#[test]
fn a_name_that_is_absolute_after_its_empty_and_dot_components_is_refused() {
    for name in ["./\\a.csv", ".//C:\\a.csv", "././C:/a.csv"] {
        assert!(Path::new(name.to_owned()).refusal.is_some(), "{name}");
    }
}

#[test]
fn code_page_437_has_a_character_for_each_byte() {
    let all: Vec<u8> = (0..=255).collect();
    let text = of_code_page_437(&all);
    let mut characters: Vec<char> = text.chars().collect();
    assert_eq!(characters[0xe1], 'ß');
    assert_eq!(characters[0xb3], '│');
    assert_eq!(characters[0xff], '\u{a0}');
    characters.sort_unstable();
    characters.dedup();
    assert_eq!(characters.len(), 256);
}

proptest! {
    #[test]
    fn a_path_that_is_not_refused_is_relative_and_has_no_empty_or_dot_parts(name in r"[./\\:abC\x00]{0,9}") {
        let path = Path::new(name);
        if path.refusal.is_none() {
            prop_assert!(!path.path.starts_with(['/', '\\']) && !path.path.is_empty());
            prop_assert!(!matches!(path.path.as_bytes(), [b'a' | b'b' | b'C', b':', b'/' | b'\\', ..]));
            prop_assert!(path.path.split('/').all(|part| !matches!(part, "" | "." | "..")));
            prop_assert!(!path.path.contains(['\0']) && path.path.split('\\').all(|part| part != ".."));
        }
    }
}
