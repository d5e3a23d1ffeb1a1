//! Tests that documents which are ZIP files are not opened as archives, and that archives with similar data are opened.

use std::path::Path;

use super::written_zips::{File, zip};
use super::{input, noise, open_zip};
use crate::formats::{FormatOptions, recognise};
use crate::input::archive::{ArchiveKind, kind_of};

/// Returns the recognised kind of an archive whose members have these names and data.
fn kind(members: &[(&str, &[u8])]) -> Option<ArchiveKind> {
    kind_of(&mut input(&packed(members), "x")).unwrap()
}

fn packed(members: &[(&str, &[u8])]) -> Vec<u8> {
    zip(&members.iter().map(|(name, data)| File::new(name, data, 0)).collect::<Vec<_>>()).bytes
}

#[test]
fn documents_that_are_zip_files_are_recognised_by_their_first_members() {
    for (members, name) in [
        (vec![("[Content_Types].xml", "<x/>"), ("xl/workbook.xml", "")], "an Excel workbook (.xlsx)"),
        (
            vec![("xl/worksheets/sheet1.xml", "<x/>"), ("[Content_Types].xml", "")],
            "an Excel workbook (.xlsx)",
        ),
        (vec![("[Content_Types].xml", "<x/>"), ("word/document.xml", "")], "a document of a word processor"),
        (vec![("[Content_Types].xml", "<x/>"), ("ppt/presentation.xml", "")], "a presentation"),
        (
            vec![("mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ("content.xml", "")],
            "an OpenDocument spreadsheet (.ods)",
        ),
        (vec![("mimetype", "application/epub+zip"), ("a.xhtml", "")], "a book (.epub)"),
        (vec![("META-INF/", ""), ("META-INF/MANIFEST.MF", ""), ("A.class", "")], "a Java archive (.jar)"),
        (vec![("Index/Document.iwa", "")], "a document of Numbers, Pages or Keynote"),
        (vec![("doc.kml", "")], "a KMZ archive"),
        (vec![("a.npy", ""), ("b.npy", "")], "an archive of NumPy arrays (.npz)"),
    ] {
        let members: Vec<(&str, &[u8])> =
            members.into_iter().map(|(name, data)| (name, data.as_bytes())).collect();
        let bytes = packed(&members);
        assert_eq!(kind_of(&mut input(&bytes, "x")).unwrap(), None, "{name}");
        let refused = recognise(&mut input(&bytes, "x"), Path::new("x"), &FormatOptions::new(), 1 << 20);
        let message = refused.unwrap_err().message();
        assert!(message.contains(name), "{message}");
    }
}

#[test]
fn a_workbook_whose_first_member_is_long_is_refused_when_its_directory_is_read() {
    let thumbnail = noise(9000, 1);
    let members =
        [("docProps/thumbnail.jpeg", &thumbnail[..]), ("[Content_Types].xml", b""), ("xl/a.xml", b"")];
    assert_eq!(kind(&members), Some(ArchiveKind::Zip));
    let error = open_zip(&packed(&members)).unwrap_err();
    assert!(error.without_hint().starts_with("d.zip: this is an Excel workbook"), "{error}");
}

#[test]
fn an_archive_whose_data_contains_names_of_document_parts_is_an_archive() {
    for (name, data) in [
        ("a.csv", "path\nword/document.xml\nxl/x\nMETA-INF/MANIFEST.MF\n"),
        ("xl/a.csv", "a\n1\n"),
        ("word/counts.csv", "a\n1\n"),
        ("mimetype", "a\n1\n"),
        ("a.kml.csv", "doc.kml\n"),
    ] {
        let members = [(name, data.as_bytes())];
        assert_eq!(kind(&members), Some(ArchiveKind::Zip), "{name}");
        assert_eq!(open_zip(&packed(&members)).unwrap().members().len(), 1);
    }
    assert_eq!(kind(&[("a.csv", b"a\n"), ("b.npy", b"")]), Some(ArchiveKind::Zip));
}

#[test]
fn text_and_compressed_text_are_not_archives() {
    for bytes in [&b""[..], b"a,b\n1,2\n", b"PK,name\n1,2\n", b"PK\x03", b"\x1f\x8b", &[0; 4096]] {
        if let Ok(kind) = kind_of(&mut input(bytes, "x.zip")) {
            assert_eq!(kind, None, "{bytes:?}");
        }
    }
    let packed = crate::input::tests::gzip(&packed(&[("a.csv", b"a\n1\n")]));
    assert_eq!(kind_of(&mut input(&packed, "x.zip.gz")).unwrap(), None);
}
