//! Writes small workbooks for tests and fuzz targets.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The media type of OpenDocument spreadsheets.
pub(super) const ODS_TYPE: &str = "application/vnd.oasis.opendocument.spreadsheet";

const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// Returns a ZIP file with these parts, given by names and contents. A part of more than a few bytes is deflated.
pub(super) fn zip(parts: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in parts {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        let deflated = encoder.finish().unwrap();
        let is_small = content.len() < 40;
        let data = if is_small { content } else { &deflated[..] };
        let mut crc = flate2::Crc::new();
        crc.update(content);
        let mut fields = Vec::new();
        for number in [20, 0, u16::from(!is_small) * 8, 0, 0x21] {
            fields.extend_from_slice(&number.to_le_bytes());
        }
        for number in [crc.sum(), data.len() as u32, content.len() as u32] {
            fields.extend_from_slice(&number.to_le_bytes());
        }
        fields.extend_from_slice(&(name.len() as u16).to_le_bytes());
        fields.extend_from_slice(&0_u16.to_le_bytes());
        directory.extend_from_slice(b"PK\x01\x02\x14\0");
        directory.extend_from_slice(&fields);
        directory.extend_from_slice(&[0; 10]);
        directory.extend_from_slice(&(out.len() as u32).to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"PK\x03\x04");
        out.extend_from_slice(&fields);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(data);
    }
    let at = out.len() as u32;
    out.extend_from_slice(&directory);
    out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    for number in [parts.len() as u16; 2] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    for number in [directory.len() as u32, at] {
        out.extend_from_slice(&number.to_le_bytes());
    }
    out.extend_from_slice(&[0; 2]);
    out
}

/// A sheet of an XLSX file to write: its name, its state (such as `hidden`) and its XML.
pub(super) struct MadeSheet<'a> {
    pub(super) name: &'a str,
    pub(super) state: &'a str,
    pub(super) xml: &'a [u8],
}

/// Returns an XLSX file with these sheets. `workbook` is XML that is added to the workbook's properties, `strings` has the shared texts, and
/// `styles` the number formats and the cell styles.
pub(super) fn xlsx(sheets: &[MadeSheet<'_>], workbook: &str, strings: &str, styles: &str) -> Vec<u8> {
    let (mut list, mut relations) = (String::new(), String::new());
    for (index, MadeSheet { name, state, .. }) in sheets.iter().enumerate() {
        list += &format!("<sheet name=\"{name}\" sheetId=\"{index}\" state=\"{state}\" r:id=\"s{index}\"/>");
        relations += &format!(
            "<Relationship Id=\"s{index}\" Type=\"{OFFICE}/worksheet\" Target=\"worksheets/Sheet{index}.xml\"/>"
        );
    }
    relations +=
        &format!("<Relationship Id=\"t\" Type=\"{OFFICE}/sharedStrings\" Target=\"/xl/sharedStrings.xml\"/>");
    relations += &format!("<Relationship Id=\"y\" Type=\"{OFFICE}/styles\" Target=\"styles.xml\"/>");
    let book = format!(
        "<?xml version=\"1.0\"?><workbook xmlns:r=\"{OFFICE}\">{workbook}<sheets>{list}</sheets></workbook>"
    );
    let relations = format!("<Relationships>{relations}</Relationships>");
    let root = format!(
        "<Relationships><Relationship Id=\"b\" Type=\"{OFFICE}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
    );
    let (strings, styles) = (format!("<sst>{strings}</sst>"), format!("<styleSheet>{styles}</styleSheet>"));
    let names: Vec<String> =
        (0..sheets.len()).map(|index| format!("xl/worksheets/sheet{index}.xml")).collect();
    let mut parts: Vec<(&str, &[u8])> = vec![
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", root.as_bytes()),
        ("xl/workbook.xml", book.as_bytes()),
        ("xl/_rels/workbook.xml.rels", relations.as_bytes()),
        ("xl/sharedStrings.xml", strings.as_bytes()),
        ("xl/styles.xml", styles.as_bytes()),
    ];
    parts.extend(names.iter().zip(sheets).map(|(name, sheet)| (name.as_str(), sheet.xml)));
    zip(&parts)
}

/// Returns an XLSX file with one sheet of this XML, a few shared texts, and styles for dates.
pub(super) fn xlsx_of_sheet(xml: &[u8]) -> Vec<u8> {
    let strings = "<si><t>one</t></si><si><r><t>t</t></r><rPh><t>no</t></rPh><r><t xml:space=\"preserve\">wo </t></r></si><si/>";
    let styles = "<numFmts><numFmt numFmtId=\"170\" formatCode=\"yyyy\\-mm\\-dd hh:mm\"/></numFmts><cellStyleXfs><xf numFmtId=\"14\"/></cellStyleXfs>\
        <cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"170\"><alignment/></xf><xf numFmtId=\"46\"/><xf numFmtId=\"20\"/></cellXfs>";
    xlsx(&[MadeSheet { name: "S", state: "visible", xml }], "", strings, styles)
}
