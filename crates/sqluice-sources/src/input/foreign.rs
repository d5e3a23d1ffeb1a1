//! Formats of files that can't be loaded, recognised by the first bytes, whatever the name of the file.
//!
//! Most files that people call CSV without being so are web pages, spreadsheets and archives. Each of these formats has a name here and a
//! remedy.

use std::path::Path;

use sqluice_core::error::{Error, Place};
use sqluice_format::database::MAGIC;

/// The number of bytes that show whether more are needed: a pipe may give no more for a long time.
pub(super) const MAGIC_BYTES_MAX: usize = 10;

/// The number of bytes that show the format, also the format within a ZIP file, by its first entries.
pub(super) const HEAD_BYTES: usize = 4096;

/// A format that is not supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Foreign {
    /// The name with its article: `a PDF file`.
    pub(crate) name: &'static str,
    /// The remedy, for the hint of the error.
    remedy: &'static str,
}

impl Foreign {
    /// Returns the error for a file of this format.
    pub fn error(self, file: &Path) -> Error {
        Error::input(format!("this is {}, which is not read here", self.name))
            .at(Place::file(file))
            .hint(self.remedy)
    }
}

const SHEET: &str = "save the sheet as CSV in a spreadsheet program, and load that";
const ARCHIVE: &str = "extract it, and load the files in it";
const PICTURE: &str = "a picture has no rows: is it the right file?";

const UTF_32: Foreign = Foreign {
    name: "text in UTF-32",
    remedy: "convert it, and load that: iconv -f UTF-32 -t UTF-8 FILE > CONVERTED",
};

/// Formats and their signatures.
const SIGNATURES: &[(&[u8], Foreign)] = &[
    (
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        Foreign { name: "an old Microsoft Office file, such as .xls", remedy: SHEET },
    ),
    (
        b"%PDF-",
        Foreign {
            name: "a PDF file",
            remedy: "export its tables as CSV with another program, and load that",
        },
    ),
    (
        MAGIC,
        Foreign {
            name: "a SQLite database in a stream or in compressed data",
            remedy: "save it as a file that is not compressed, and load that",
        },
    ),
    (b"7z\xbc\xaf\x27\x1c", Foreign { name: "a 7z archive", remedy: ARCHIVE }),
    (b"Rar!\x1a\x07", Foreign { name: "a RAR archive", remedy: ARCHIVE }),
    (
        b"\x04\x22\x4d\x18",
        Foreign { name: "LZ4 data", remedy: "decompress it first, for example with lz4 -dk" },
    ),
    (
        b"\x1f\x9d",
        Foreign { name: "data of compress (.Z)", remedy: "decompress it first, for example with gzip -dk" },
    ),
    (b"\xff\x06\0\0sNaPpY", SNAPPY),
    (
        b"FEA1",
        Foreign {
            name: "a Feather file of version 1",
            remedy: "write it as version 2, which is Arrow IPC, or as Parquet",
        },
    ),
    (
        b"\x89HDF\r\n\x1a\n",
        Foreign { name: "an HDF5 file", remedy: "write its tables as Parquet or CSV, and load these" },
    ),
    (b"\x93NUMPY", Foreign { name: "a NumPy array", remedy: "write it as CSV or Parquet, and load that" }),
    (
        b"\0\x01\0\0Standard ",
        Foreign { name: "a Microsoft Access database", remedy: "export its tables as CSV, and load these" },
    ),
    (b"\xff\xfe\0\0", UTF_32),
    (b"\0\0\xfe\xff", UTF_32),
    (b"\x89PNG\r\n\x1a\n", Foreign { name: "a PNG picture", remedy: PICTURE }),
    (b"\xff\xd8\xff", Foreign { name: "a JPEG picture", remedy: PICTURE }),
    (b"GIF87a", Foreign { name: "a GIF picture", remedy: PICTURE }),
    (b"GIF89a", Foreign { name: "a GIF picture", remedy: PICTURE }),
    (b"\x7fELF", Foreign { name: "a program", remedy: "name the file with the rows instead" }),
];

/// Returns `true` if [`MAGIC_BYTES_MAX`] bytes may begin a format with a signature.
pub(super) fn is_likely(magic: &[u8]) -> bool {
    let begins = |(signature, _): &(&[u8], Foreign)| {
        magic.starts_with(&signature[..signature.len().min(MAGIC_BYTES_MAX)])
    };
    of_bytes(magic).is_some()
        || of_short_signature(magic).is_some()
        || of_encoding(magic).is_some()
        || !magic.is_ascii() && str::from_utf8(magic).is_err()
        || SIGNATURES.iter().any(begins)
}

/// Returns the format of a file that begins with `head`, if the format has a signature. [`HEAD_BYTES`] bytes are enough.
pub(super) fn of_bytes(head: &[u8]) -> Option<Foreign> {
    if is_zip(head) {
        return Some(of_zip(head));
    }
    let found = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature));
    let short = || of_short_signature(head).filter(|_| is_binary(head));
    found.map(|(_, foreign)| *foreign).or_else(short).or_else(|| of_encoding(head))
}

/// Returns the format of a file whose signature is so short that text may begin with it, too.
fn of_short_signature(head: &[u8]) -> Option<Foreign> {
    match head {
        [b'O', b'R', b'C', ..] => {
            Some(Foreign { name: "an ORC file", remedy: "write it as Parquet, and load that" })
        }
        [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..] => Some(ZLIB),
        _ if is_dbase(head) => Some(Foreign {
            name: "a dBase table (.dbf)",
            remedy: "open it in a spreadsheet program, save it as CSV, and load that",
        }),
        _ => None,
    }
}

const ZLIB: Foreign = Foreign { name: "zlib data", remedy: "decompress it first" };
const SNAPPY: Foreign = Foreign { name: "Snappy data", remedy: "decompress it first" };

/// Returns `true` if bytes are the header of a dBase table: its version, the date of its last change, and the size of its header.
fn is_dbase(head: &[u8]) -> bool {
    let &[version, _, month, day, _, _, _, _, low, high, ..] = head else { return false };
    let header_bytes = usize::from(u16::from_le_bytes([low, high]));
    // A field has 32 bytes; Visual FoxPro adds the name of the database.
    let is_header = |bytes: usize| bytes >= 65 && bytes % 32 <= 1;
    let is_version = matches!(
        version,
        0x02..=0x05 | 0x30..=0x32 | 0x43 | 0x63 | 0x7b | 0x83 | 0x87 | 0x8b | 0x8c | 0x8e | 0xcb | 0xf5 | 0xfb
    );
    let is_date = (1..=12).contains(&month) && (1..=31).contains(&day);
    is_version && is_date && (is_header(header_bytes) || header_bytes.checked_sub(263).is_some_and(is_header))
}

/// Returns the encoding of text in an encoding that is not supported, by the first bytes.
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
        return Some(UTF_32);
    }
    // Letters, digits, and the characters between words.
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
    is_ebcdic.then_some(Foreign {
        name: "text in EBCDIC",
        remedy: "convert it, and load that: iconv -f IBM037 -t UTF-8 FILE > CONVERTED",
    })
}

/// Returns the format of binary data without a signature, by the extension of its file.
pub fn of_extension(extension: &str, head: &[u8]) -> Option<Foreign> {
    let foreign = match extension {
        "zlib" | "zz" => ZLIB,
        "sz" | "snappy" => SNAPPY,
        _ => return None,
    };
    is_binary(head).then_some(foreign)
}

/// Returns `true` if bytes have control characters that no text has.
fn is_binary(head: &[u8]) -> bool {
    head.iter().any(|byte| matches!(byte, 0..=8 | 14..=31))
}

/// Returns `true` if bytes begin as a ZIP file does.
fn is_zip(head: &[u8]) -> bool {
    matches!(head, [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..])
}

/// Returns the format of a ZIP file, by its first entries.
fn of_zip(head: &[u8]) -> Foreign {
    let has = |name: &[u8]| memchr::memmem::find(head, name).is_some();
    if has(b"opendocument.spreadsheet") {
        Foreign { name: "an OpenDocument spreadsheet (.ods)", remedy: SHEET }
    } else if has(b"xl/") || has(b"[Content_Types].xml") && !has(b"word/") && !has(b"ppt/") {
        Foreign { name: "an Excel workbook (.xlsx)", remedy: SHEET }
    } else {
        Foreign { name: "a ZIP archive", remedy: ARCHIVE }
    }
}

/// Returns the format of a text that begins with these bytes, if the text is markup or a tar archive. Text that may be rows has none.
pub fn of_text(head: &[u8]) -> Option<Foreign> {
    if head.get(257..262) == Some(b"ustar") {
        return Some(Foreign { name: "a tar archive", remedy: ARCHIVE });
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let begins = |word: &str| {
        head.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
            && head.get(word.len()).is_none_or(|next| !next.is_ascii_alphanumeric())
    };
    if ["<!doctype html", "<html", "<head", "<body", "<table", "<script"].into_iter().any(begins) {
        let remedy =
            "download the data instead of the page that shows it; a table in a page must be saved as CSV";
        return Some(Foreign { name: "an HTML page", remedy });
    }
    if !begins("<?xml") {
        return None;
    }
    let has = |name: &[u8]| memchr::memmem::find(head, name).is_some();
    Some(if has(b"schemas-microsoft-com:office:spreadsheet") {
        Foreign { name: "an Excel workbook in XML", remedy: SHEET }
    } else if has(b"<html") {
        Foreign { name: "an HTML page", remedy: "download the data instead of the page that shows it" }
    } else {
        Foreign { name: "an XML file", remedy: "convert its records to CSV or JSON, and load that" }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(head: &[u8]) -> Option<&'static str> {
        of_bytes(head).or_else(|| of_text(head)).map(|foreign| foreign.name)
    }

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        let mut tar = vec![0; 512];
        tar[257..262].copy_from_slice(b"ustar");
        for (head, expected) in [
            (
                &b"PK\x03\x04\x14\0\x06\0[Content_Types].xml...xl/workbook.xml"[..],
                "an Excel workbook (.xlsx)",
            ),
            (
                b"PK\x03\x04\x14\0mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
                "an OpenDocument spreadsheet (.ods)",
            ),
            (b"PK\x03\x04\x14\0data.csv", "a ZIP archive"),
            (b"PK\x05\x06\0\0", "a ZIP archive"),
            (b"%PDF-1.7\n", "a PDF file"),
            (b"ORC\x0a\x0b\x01\0", "an ORC file"),
            (b"\x78\x9c\x4b\x04\0", "zlib data"),
            (b"\x78\x5e\x4b\x04\0", "zlib data"),
            (b"\x03\x7c\x05\x1f\x02\0\0\0\x61\0\x20\0", "a dBase table (.dbf)"),
            (b"\x30\x7c\x05\x1f\x02\0\0\0\x68\x01\x20\0", "a dBase table (.dbf)"),
            (b"\xff\xfe\0\0a\0\0\0", "text in UTF-32"),
            (b"a\0\0\0,\0\0\0b\0\0\0", "text in UTF-32"),
            (b"\0\0\0a\0\0\0,\0\0\0b", "text in UTF-32"),
            // The rows `id,name` and `1,ann`.
            (b"\x89\x84\x6b\x95\x81\x94\x85\x25\xf1\x6b\x81\x95\x95\x25", "text in EBCDIC"),
            (b"\xff\x06\0\0sNaPpY\x01", "Snappy data"),
            (b"SQLite format 3\0\x10\0", "a SQLite database in a stream or in compressed data"),
            (b"\n <!DOCTYPE html><html>", "an HTML page"),
            (b"\xef\xbb\xbf<HTML>\n<body>", "an HTML page"),
            (b"<?xml version=\"1.0\"?>\n<!DOCTYPE html PUBLIC><html xmlns=\"\">", "an HTML page"),
            (b"<?xml version=\"1.0\"?><rows/>", "an XML file"),
            (&tar, "a tar archive"),
        ] {
            assert_eq!(name(head), Some(expected));
        }
    }

    #[test]
    fn text_that_may_be_rows_is_not_one_of_them() {
        for head in [
            "",
            "a,b\n1,2\n",
            "PK,name\n1,2\n",
            "<tag>,b\n",
            "<htmlish>,1\n",
            "BZh,x\n",
            "%PDF,x\n",
            "Obj,1\n",
            "ORC,1\n",
            "GIF,1\n",
            "{\"a\":1}",
            "<xml>,1\n",
        ] {
            assert_eq!(name(head.as_bytes()), None, "{head:?}");
        }
    }
}
