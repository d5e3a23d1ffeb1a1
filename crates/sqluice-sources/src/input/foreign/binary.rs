//! Recognises binary data that needs more than a signature at its start, and unsupported encodings.

use super::signatures::{self, PICKLE, PROGRAM, R, SIGNATURES, ZLIB};
use super::{ARCHIVE, Foreign, MAGIC_BYTES_MAX, Workbook, zipped};

const CPIO: Foreign = Foreign::certain("a cpio archive", ARCHIVE);
pub(super) const TAR: Foreign = Foreign::certain("a tar archive", ARCHIVE);
const PICTURE: Foreign = Foreign::certain("a picture", signatures::PICTURE);

/// Returns `true` if [`MAGIC_BYTES_MAX`] bytes may begin a format with a signature, so that more bytes are needed.
pub(in super::super) fn is_likely(magic: &[u8]) -> bool {
    let begins = |(signature, _): &(&[u8], Foreign)| {
        magic.starts_with(&signature[..signature.len().min(MAGIC_BYTES_MAX)])
    };
    of_bytes(magic).is_some()
        || of_short_signature(magic).is_some()
        || of_encoding(magic).is_some()
        || !magic.is_ascii() && str::from_utf8(magic).is_err()
        || magic.get(8..) == Some(b"DU")
        || [&b"070701"[..], b"070702", b"070707", b"A\n2\n", b"A\n3\n", b"\0\0\x27\x0a", b"RIFF", b"\n\r\r\n"]
            .iter()
            .any(|start| magic.starts_with(start))
        || SIGNATURES.iter().any(begins)
}

/// Returns the format of a file by its first bytes, if the format has a signature.
pub(super) fn of_bytes(head: &[u8]) -> Option<Foreign> {
    if is_zip(head) {
        return Some(zipped::of_start(head));
    }
    let found = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature));
    found
        .map(|(_, foreign)| *foreign)
        .or_else(|| of_structure(head))
        .or_else(|| of_short_signature(head).filter(|_| is_binary(head)))
        .or_else(|| of_encoding(head))
}

/// Returns the format of a file whose signature is not at its start, or is in several places.
fn of_structure(head: &[u8]) -> Option<Foreign> {
    let at = |offset: usize, bytes: &[u8]| head.get(offset..).is_some_and(|rest| rest.starts_with(bytes));
    if at(8, b"DUCK") {
        return Some(Foreign::certain(
            "a DuckDB database",
            "write its tables as Parquet in DuckDB, and load these: COPY t TO 't.parquet'",
        ));
    }
    if at(0, b"X\n\0\0\0\x02")
        || at(0, b"X\n\0\0\0\x03")
        || at(0, b"B\n\x02\0\0\0")
        || at(0, b"B\n\x03\0\0\0")
        || is_r_text(head)
    {
        return Some(R);
    }
    // The first bytes could be blank lines, so the byte order mark after them is checked, too.
    if at(0, b"\n\r\r\n") && (at(8, b"\x1a\x2b\x3c\x4d") || at(8, b"\x4d\x3c\x2b\x1a")) {
        return Some(signatures::PACKETS);
    }
    if let [0x80, 4 | 5, 0x95, frame @ ..] = head
        && frame.get(5..8).is_some_and(|high| high == [0; 3])
    {
        return Some(PICKLE);
    }
    if let [0x80, 2 | 3, b'}' | b']' | b'c' | b'(' | b'K' | b'J' | b'X' | b'G' | b'N' | 0x85..=0x8a, ..] =
        head
    {
        return Some(PICKLE);
    }
    // Stata before version 13 begins with the version, the byte order and the type of the file.
    if let [0x69..=0x73, 1 | 2, 1, 0, ..] = head {
        return Some(signatures::STATA);
    }
    if at(0, b"\0\0\x27\x0a\0\0\0\0") && at(28, &1000_u32.to_le_bytes()) {
        return Some(Foreign::certain(
            "a shapefile",
            "convert its shapes to GeoJSON or CSV, and load that; the file .dbf beside it has their attributes",
        ));
    }
    let is_hex = |bytes: &[u8]| bytes.iter().all(u8::is_ascii_hexdigit);
    let is_new_cpio = (at(0, b"070701") || at(0, b"070702")) && head.get(6..110).is_some_and(is_hex);
    let is_old_cpio = at(0, b"070707") && head.get(6..76).is_some_and(is_hex);
    if is_new_cpio || is_old_cpio || at(0, b"\xc7\x71") && is_binary(head) {
        return Some(CPIO);
    }
    // A document of BSON begins with its length, and its first key is `_id`.
    if at(5, b"_id\0") && head[4] < b' ' {
        return Some(Foreign::certain("a BSON file", "convert its documents to NDJSON, and load that"));
    }
    let of_media = [
        (4, &b"ftyp"[..], "a video or a picture"),
        (8, b"WEBP", "a picture"),
        (8, b"WAVE", "a recording"),
        (8, b"AVI ", "a video"),
    ];
    let media = of_media.into_iter().find(|(offset, bytes, _)| at(*offset, bytes) && is_binary(head));
    media.map(|(_, _, name)| Foreign::certain(name, "it has no rows: is it the right file?"))
}

/// Returns `true` if a text is an R object: it begins with the letter A, then the versions of the format, of the writer, and of the oldest
/// reader.
fn is_r_text(head: &[u8]) -> bool {
    let mut lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let mut next = || lines.next().unwrap_or_default();
    let is_start = next() == b"A" && matches!(next(), b"2" | b"3");
    // 131072 is the number of R 2.0.0.
    let is_writer = str::from_utf8(next())
        .ok()
        .and_then(|writer| writer.parse().ok())
        .is_some_and(|writer: u32| writer >= 131_072);
    is_start && is_writer && matches!(next(), b"131840" | b"197888")
}

/// Returns the format of a tar archive, by its first entry.
pub(super) fn of_tar(head: &[u8]) -> Option<Foreign> {
    let is_tar = head.get(257..262) == Some(b"ustar") || is_old_tar(head);
    is_tar.then(|| match head.starts_with(b"toc.dat\0") {
        true => signatures::PG_DUMP,
        false => TAR,
    })
}

/// Returns `true` if the checksum in 512 bytes is right, so that they are a header of the old tar format, which has no signature.
fn is_old_tar(head: &[u8]) -> bool {
    let Some(header) = head.get(..512) else { return false };
    let field = str::from_utf8(&header[148..156]).unwrap_or_default();
    let Ok(expected) = u32::from_str_radix(field.trim_matches(['\0', ' ']), 8) else { return false };
    // For its own computation, the checksum's bytes count as blanks.
    let sum: u32 = header
        .iter()
        .enumerate()
        .map(|(at, &byte)| u32::from(if (148..156).contains(&at) { b' ' } else { byte }))
        .sum();
    header[0] != 0 && header.contains(&0) && sum == expected
}

/// Returns the format of a file with a signature that is so short that text could begin with it.
fn of_short_signature(head: &[u8]) -> Option<Foreign> {
    match head {
        [b'O', b'R', b'C', ..] => Some(Foreign::certain("an ORC file", "write it as Parquet, and load that")),
        [b'M', b'Z', ..] => Some(PROGRAM),
        [b'B', b'M', ..] => Some(PICTURE),
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => Some(ZLIB),
        _ if is_dbase(head) => Some(Foreign::certain(
            "a dBase table (.dbf)",
            "open it in a spreadsheet program, save it as CSV, and load that",
        )),
        _ => None,
    }
}

/// Returns `true` if bytes are the header of a dBase table: its version, the date of the last change, and the size of the header must fit.
fn is_dbase(head: &[u8]) -> bool {
    let &[version, _, month, day, _, _, _, _, low, high, ..] = head else { return false };
    let header_bytes = usize::from(u16::from_le_bytes([low, high]));
    // A field has 32 bytes (48 in dBase 7, after a header of 68 bytes). Visual FoxPro adds the name of the database.
    let is_header = |bytes: usize| {
        bytes >= 65 && bytes % 32 <= 1 || version == 0x04 && bytes >= 117 && (bytes - 69).is_multiple_of(48)
    };
    let is_version = matches!(
        version,
        0x02..=0x05 | 0x30..=0x32 | 0x43 | 0x63 | 0x7b | 0x83 | 0x87 | 0x8b | 0x8c | 0x8e | 0xcb | 0xf5 | 0xfb
    );
    // Some programs write no date.
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day) || head[1..4] == [0; 3];
    is_version && is_date && (is_header(header_bytes) || header_bytes.checked_sub(263).is_some_and(is_header))
}

/// Returns the encoding of a text by its first bytes, if the encoding is not supported.
fn of_encoding(head: &[u8]) -> Option<Foreign> {
    let is_ascii = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
    let is_unit = |unit: &[u8; 4]| {
        matches!(unit, [low, 0, 0, 0] if is_ascii(*low)) || matches!(unit, [0, 0, 0, low] if is_ascii(*low))
    };
    if let Some([first, second]) = head.as_chunks::<4>().0.first_chunk()
        && is_unit(first)
        && is_unit(second)
        && (first[0] == 0) == (second[0] == 0)
    {
        return Some(signatures::UTF_32);
    }
    // Letters and digits in EBCDIC; `is_between` has the characters between words.
    let is_word = |byte: u8| matches!(byte, 0x81..=0x89 | 0x91..=0x99 | 0xa2..=0xa9 | 0xc1..=0xc9 | 0xd1..=0xd9 | 0xe2..=0xe9 | 0xf0..=0xf9);
    let is_between = |byte: u8| {
        matches!(
            byte,
            0x05 | 0x0d | 0x15 | 0x25 | 0x40 | 0x4b | 0x4f | 0x5e | 0x60 | 0x61 | 0x6b | 0x6d | 0x7f
        )
    };
    let start = &head[..head.len().min(MAGIC_BYTES_MAX)];
    let is_ebcdic = start.len() >= 4
        && start.iter().all(|&byte| is_word(byte) || is_between(byte))
        && start.iter().filter(|&&byte| is_word(byte)).count() * 2 >= start.len()
        && head.iter().any(|&byte| is_between(byte))
        && !head.iter().any(|byte| matches!(byte, b' ' | b',' | b'\n'));
    is_ebcdic.then_some(Foreign::certain(
        "text in EBCDIC",
        "convert it, and load that: iconv -f IBM037 -t UTF-8 FILE > CONVERTED",
    ))
}

/// Returns `true` if bytes contain control characters that do not occur in text.
pub(super) fn is_binary(head: &[u8]) -> bool {
    head.iter().any(|byte| matches!(byte, 0..=8 | 14..=31))
}

/// Returns `true` if bytes begin like a ZIP file.
fn is_zip(head: &[u8]) -> bool {
    matches!(head, [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..])
}

/// Returns `true` if a file is a ZIP file whose first entries do not show what it is.
pub(super) fn is_unknown_zip(head: &[u8]) -> bool {
    is_zip(head) && zipped::of_start(head) == zipped::ZIP
}

/// Returns the kind of a workbook, if its first bytes show it.
pub(super) fn workbook_of(head: &[u8]) -> Option<Workbook> {
    let has = |name: &[u8]| memchr::memmem::find(head, name).is_some();
    if head.starts_with(signatures::COMPOUND) {
        return Some(Workbook::Compound);
    }
    if !is_zip(head) {
        return None;
    }
    match zipped::of_start(head) {
        zipped::SPREADSHEET => Some(Workbook::Ods),
        zipped::WORKBOOK if has(b"xl/workbook.bin") => Some(Workbook::Xlsb),
        zipped::WORKBOOK => Some(Workbook::Xlsx),
        _ => None,
    }
}
