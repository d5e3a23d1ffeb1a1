//! Recognises the kind of a ZIP file by the names of its entries: a document, or an ordinary archive.

use super::{ARCHIVE, Foreign, OTHER_SETTING};

const DOCUMENT: &str = "copy its tables to a spreadsheet, save them as CSV, and load these";
const NO_ROWS: &str = "it has no rows: is it the right file?";

pub(super) const ZIP: Foreign = Foreign::certain("a ZIP archive", ARCHIVE);
pub(super) const SPREADSHEET: Foreign = Foreign::certain("an OpenDocument spreadsheet (.ods)", OTHER_SETTING);
pub(super) const WORKBOOK: Foreign = Foreign::certain("an Excel workbook (.xlsx)", OTHER_SETTING);
const TEXT: Foreign = Foreign::certain("a document of a word processor", DOCUMENT);
const PRESENTATION: Foreign = Foreign::certain("a presentation", DOCUMENT);
const OF_APPLE: Foreign =
    Foreign::certain("a document of Numbers, Pages or Keynote", "export it as CSV, and load that");
const PLACES: Foreign =
    Foreign::certain("a KMZ archive", "extract it, convert its places to CSV or GeoJSON, and load that");
const ARRAYS: Foreign =
    Foreign::certain("an archive of NumPy arrays (.npz)", "write them as CSV or Parquet, and load these");
const JAVA: Foreign = Foreign::certain("a Java archive (.jar)", NO_ROWS);
const BOOK: Foreign = Foreign::certain("a book (.epub)", NO_ROWS);

/// Returns the kind of a ZIP file by its first bytes, which contain the names of its first entries.
pub(super) fn of_start(head: &[u8]) -> Foreign {
    let has = |name: &[u8]| memchr::memmem::find(head, name).is_some();
    if has(b"opendocument.spreadsheet") {
        SPREADSHEET
    } else if has(b"opendocument.text") || has(b"word/") {
        TEXT
    } else if has(b"ppt/") {
        PRESENTATION
    } else if has(b".iwa") {
        OF_APPLE
    } else if has(b"xl/") || has(b"[Content_Types].xml") {
        WORKBOOK
    } else if has(b"doc.kml") {
        PLACES
    } else if has(b".npy") {
        ARRAYS
    } else if has(b"META-INF/MANIFEST.MF") {
        JAVA
    } else if has(b"application/epub+zip") {
        BOOK
    } else {
        ZIP
    }
}

/// Returns the kind of document that a ZIP file is, by the entries that begin in `head`. Apart from the entry
/// `mimetype`, only names of entries are compared, as the data of an archive may contain the same bytes.
#[cfg(feature = "archives")]
pub(super) fn of_head(head: &[u8]) -> Option<Foreign> {
    let mut names = Vec::new();
    for at in memchr::memmem::find_iter(head, b"PK\x03\x04") {
        let Some(header) = head.get(at..at + 30) else { break };
        let [name, extra] =
            [26, 28].map(|field| usize::from(u16::from_le_bytes([header[field], header[field + 1]])));
        let Some(name) = head.get(at + 30..at + 30 + name) else { break };
        if name == b"mimetype" {
            let text = head.get(at + 30 + name.len() + extra..).unwrap_or_default();
            if text.starts_with(b"application/vnd.oasis.opendocument")
                || text.starts_with(b"application/epub+zip")
            {
                return Some(of_start(head));
            }
        }
        names.push(String::from_utf8_lossy(name));
    }
    of_names(names.iter().map(|name| &**name))
}

/// Returns the kind of document that a ZIP file is, by the names of its entries.
#[cfg(feature = "archives")]
pub(super) fn of_names<'a>(names: impl Iterator<Item = &'a str>) -> Option<Foreign> {
    let (mut has_types, mut part, mut other) = (false, None, None);
    let (mut files, mut arrays) = (0_u64, 0_u64);
    let is_part = |name: &str| [".xml", ".rels", ".bin"].iter().any(|end| name.ends_with(end));
    for name in names.filter(|name| !name.ends_with('/')) {
        files += 1;
        arrays += u64::from(name.ends_with(".npy"));
        has_types |= name == "[Content_Types].xml";
        let of_folder = [("word/", TEXT), ("ppt/", PRESENTATION), ("xl/", WORKBOOK)];
        let found = of_folder.into_iter().find(|(folder, _)| name.starts_with(folder) && is_part(name));
        part = part.or(found.map(|(_, document)| document));
        other = other.or(match name {
            "META-INF/MANIFEST.MF" => Some(JAVA),
            "doc.kml" => Some(PLACES),
            _ if name.ends_with(".iwa") => Some(OF_APPLE),
            _ => None,
        });
    }
    let office = if has_types { Some(part.unwrap_or(WORKBOOK)) } else { part };
    office.or(other).or((files > 0 && arrays == files).then_some(ARRAYS))
}
