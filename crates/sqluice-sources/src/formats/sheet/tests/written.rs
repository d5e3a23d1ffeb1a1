//! Writes sheets of random cells in each format.

use super::super::made::{MadeSheet, ODS_TYPE, xlsx, zip};

/// A cell to write.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    Int(i32),
    Real(f64),
    Bool(bool),
    Text(String),
    /// A date, a time or a duration, by its index in `MOMENTS`.
    Moment(usize),
    /// The error `#N/A`.
    Error,
}

/// Dates, times and durations: the number, the index of its style in `STYLES`, the value in ODS, and the text that is loaded.
pub(super) const MOMENTS: [(f64, usize, &str, &str); 6] = [
    (45_322.0, 1, "date=2024-01-31", "2024-01-31"),
    (61.0, 1, "date=1900-03-01", "1900-03-01"),
    (45_322.5, 2, "date=2024-01-31T12:00:00", "2024-01-31 12:00:00"),
    (45_322.0, 2, "date=2024-01-31T00:00:00", "2024-01-31 00:00:00"),
    (1.25, 3, "time=PT30H00M00S", "30:00:00"),
    (0.75, 4, "time=PT18H00M00S", "18:00:00"),
];

/// The id of the number format of each cell style.
const STYLES: [u16; 5] = [0, 14, 22, 46, 20];

/// Rows of cells. `None` is a missing cell.
pub(super) type Grid = Vec<Vec<Option<Given>>>;

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn letters(column: usize) -> String {
    sqluice_core::error::column_letters(column as u64 + 1)
}

pub(super) fn as_xlsx(grid: &Grid) -> Vec<u8> {
    let (mut rows, mut strings, mut count) = (String::new(), String::new(), 0);
    for (number, row) in grid.iter().enumerate() {
        rows += &format!("<row r=\"{}\">", number + 1);
        for (column, cell) in row.iter().enumerate() {
            let at = format!("{}{}", letters(column), number + 1);
            rows += &match cell {
                None => continue,
                Some(Given::Int(int)) => format!("<c r=\"{at}\"><v>{int}</v></c>"),
                Some(Given::Real(real)) => format!("<c r=\"{at}\" t=\"n\"><v>{real}</v></c>"),
                Some(Given::Bool(bool)) => format!("<c r=\"{at}\" t=\"b\"><v>{}</v></c>", u8::from(*bool)),
                Some(Given::Error) => format!("<c r=\"{at}\" t=\"e\"><f>NA()</f><v>#N/A</v></c>"),
                Some(Given::Moment(index)) => {
                    format!("<c r=\"{at}\" s=\"{}\"><v>{}</v></c>", MOMENTS[*index].1, MOMENTS[*index].0)
                }
                Some(Given::Text(text)) if column % 2 == 0 => {
                    let text = escaped(text);
                    format!("<c r=\"{at}\" t=\"inlineStr\"><is><t xml:space=\"preserve\">{text}</t></is></c>")
                }
                Some(Given::Text(text)) => {
                    strings += &format!("<si><t xml:space=\"preserve\">{}</t></si>", escaped(text));
                    count += 1;
                    format!("<c r=\"{at}\" t=\"s\"><v>{}</v></c>", count - 1)
                }
            };
        }
        rows += "</row>";
    }
    let sheet = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>");
    let styles: String = STYLES.iter().map(|id| format!("<xf numFmtId=\"{id}\"/>")).collect();
    let sheet = MadeSheet { name: "S", state: "visible", xml: sheet.as_bytes() };
    xlsx(&[sheet], "", &strings, &format!("<cellXfs>{styles}</cellXfs>"))
}

pub(super) fn as_ods(grid: &Grid) -> Vec<u8> {
    let mut rows = String::new();
    let mut at = 0;
    while at < grid.len() {
        // Equal consecutive rows, and equal consecutive cells, are written once with a repetition count.
        let repeat = grid[at..].iter().take_while(|row| **row == grid[at]).count();
        rows += &format!("<table:table-row table:number-rows-repeated=\"{repeat}\">");
        let (row, mut column) = (&grid[at], 0);
        while column < row.len() {
            let cells = row[column..].iter().take_while(|cell| **cell == row[column]).count();
            let repeated = format!("table:number-columns-repeated=\"{cells}\"");
            rows += &match &row[column] {
                None => format!("<table:table-cell {repeated}/>"),
                Some(Given::Int(int)) => of_value(&repeated, "float", &format!("value=\"{int}\"")),
                Some(Given::Real(real)) => of_value(&repeated, "percentage", &format!("value=\"{real}\"")),
                Some(Given::Bool(bool)) => {
                    of_value(&repeated, "boolean", &format!("boolean-value=\"{bool}\""))
                }
                Some(Given::Error) => format!(
                    "<table:table-cell {repeated} office:value-type=\"string\" office:string-value=\"\" calcext:value-type=\"error\"><text:p>#N/A</text:p></table:table-cell>"
                ),
                Some(Given::Moment(index)) => {
                    let (kind, value) = MOMENTS[*index].2.split_once('=').unwrap();
                    of_value(&repeated, kind, &format!("{kind}-value=\"{value}\""))
                }
                Some(Given::Text(text)) => {
                    let paragraphs: String =
                        text.split('\n').map(|line| format!("<text:p>{}</text:p>", escaped(line))).collect();
                    format!(
                        "<table:table-cell {repeated} office:value-type=\"string\">{paragraphs}</table:table-cell>"
                    )
                }
            };
            column += cells;
        }
        rows += "</table:table-row>";
        at += repeat;
    }
    let content = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><office:document-content xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" \
         xmlns:table=\"urn:oasis:names:tc:opendocument:xmlns:table:1.0\" xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\" \
         xmlns:calcext=\"urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0\"><office:body><office:spreadsheet>\
         <table:table table:name=\"S\">{rows}</table:table></office:spreadsheet></office:body></office:document-content>"
    );
    let manifest =
        b"<manifest:manifest xmlns:manifest=\"urn:oasis:names:tc:opendocument:xmlns:manifest:1.0\"/>";
    zip(&[
        ("mimetype", ODS_TYPE.as_bytes()),
        ("content.xml", content.as_bytes()),
        ("META-INF/manifest.xml", manifest),
    ])
}

fn of_value(repeated: &str, kind: &str, value: &str) -> String {
    format!(
        "<table:table-cell {repeated} office:value-type=\"{kind}\" office:{value}><text:p>shown</text:p></table:table-cell>"
    )
}

/// Appends a record in the format of XLSB.
fn record_of_xlsb(id: u16, fields: &[u8], out: &mut Vec<u8>) {
    match id {
        0..=0x7f => out.push(id as u8),
        _ => out.extend([id as u8 | 0x80, (id >> 7) as u8]),
    }
    let mut rest = fields.len();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
    out.extend_from_slice(fields);
}

fn wide(text: &str) -> Vec<u8> {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut out = (units.len() as u32).to_le_bytes().to_vec();
    out.extend(units.iter().flat_map(|unit| unit.to_le_bytes()));
    out
}

pub(super) fn as_xlsb(grid: &Grid) -> Vec<u8> {
    let (mut sheet, mut strings, mut count) = (Vec::new(), Vec::new(), 0_u32);
    record_of_xlsb(129, &[], &mut sheet);
    record_of_xlsb(148, &[0; 16], &mut sheet);
    record_of_xlsb(145, &[], &mut sheet);
    for (number, row) in grid.iter().enumerate() {
        let mut header = (number as u32).to_le_bytes().to_vec();
        header.extend_from_slice(&[0; 21]);
        record_of_xlsb(0, &header, &mut sheet);
        for (column, cell) in row.iter().enumerate() {
            let style = match cell {
                Some(Given::Moment(index)) => MOMENTS[*index].1 as u32,
                _ => 0,
            };
            let (id, value) = match cell {
                None => continue,
                Some(Given::Int(int)) if (-(1 << 29)..1 << 29).contains(int) => {
                    (2, (int.cast_unsigned() << 2 | 2).to_le_bytes().to_vec())
                }
                Some(Given::Int(int)) => (5, f64::from(*int).to_le_bytes().to_vec()),
                Some(Given::Real(real)) => (5, real.to_le_bytes().to_vec()),
                Some(Given::Bool(bool)) => (4, vec![u8::from(*bool)]),
                Some(Given::Error) => (3, vec![0x2a]),
                Some(Given::Moment(index)) => (5, MOMENTS[*index].0.to_le_bytes().to_vec()),
                Some(Given::Text(text)) if column % 2 == 0 => (6, wide(text)),
                Some(Given::Text(text)) => {
                    let mut item = vec![0];
                    item.extend(wide(text));
                    record_of_xlsb(19, &item, &mut strings);
                    count += 1;
                    (7, (count - 1).to_le_bytes().to_vec())
                }
            };
            let mut fields = (column as u32).to_le_bytes().to_vec();
            fields.extend(style.to_le_bytes());
            fields.extend(value);
            record_of_xlsb(id, &fields, &mut sheet);
        }
    }
    record_of_xlsb(146, &[], &mut sheet);
    record_of_xlsb(130, &[], &mut sheet);
    let mut book = Vec::new();
    record_of_xlsb(131, &[], &mut book);
    record_of_xlsb(153, &[0; 12], &mut book);
    record_of_xlsb(143, &[], &mut book);
    let mut fields = vec![0; 8];
    fields.extend(wide("s0"));
    fields.extend(wide("S"));
    record_of_xlsb(156, &fields, &mut book);
    record_of_xlsb(144, &[], &mut book);
    record_of_xlsb(132, &[], &mut book);
    let mut styles = Vec::new();
    record_of_xlsb(617, &(STYLES.len() as u32).to_le_bytes(), &mut styles);
    for id in STYLES {
        let mut fields = vec![0, 0];
        fields.extend(id.to_le_bytes());
        fields.extend([0; 12]);
        record_of_xlsb(47, &fields, &mut styles);
    }
    record_of_xlsb(618, &[], &mut styles);
    let mut shared = Vec::new();
    record_of_xlsb(159, &[count.to_le_bytes(), count.to_le_bytes()].concat(), &mut shared);
    shared.extend(strings);
    record_of_xlsb(160, &[], &mut shared);
    let kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    let root = format!(
        "<Relationships><Relationship Id=\"b\" Type=\"{kind}/officeDocument\" Target=\"xl/workbook.bin\"/></Relationships>"
    );
    let relations = format!(
        "<Relationships><Relationship Id=\"s0\" Type=\"{kind}/worksheet\" Target=\"worksheets/sheet1.bin\"/>\
         <Relationship Id=\"t\" Type=\"{kind}/sharedStrings\" Target=\"sharedStrings.bin\"/>\
         <Relationship Id=\"y\" Type=\"{kind}/styles\" Target=\"styles.bin\"/></Relationships>"
    );
    zip(&[
        ("_rels/.rels", root.as_bytes()),
        ("xl/workbook.bin", &book),
        ("xl/_rels/workbook.bin.rels", relations.as_bytes()),
        ("xl/worksheets/sheet1.bin", &sheet),
        ("xl/sharedStrings.bin", &shared),
        ("xl/styles.bin", &styles),
    ])
}

fn record_of_xls(id: u16, fields: &[u8], out: &mut Vec<u8>) {
    out.extend(id.to_le_bytes());
    out.extend((fields.len() as u16).to_le_bytes());
    out.extend_from_slice(fields);
}

/// The shared texts of an XLS file, in short records, so that texts continue in the next record.
struct SharedTexts {
    records: Vec<Vec<u8>>,
}

impl SharedTexts {
    const BYTES: usize = 40;

    fn add(&mut self, text: &str) {
        let units: Vec<u16> = text.encode_utf16().collect();
        let mut is_wide = units.iter().any(|unit| *unit > 0xff);
        if self.records.last().unwrap().len() + 3 > SharedTexts::BYTES {
            self.records.push(Vec::new());
        }
        let last = self.records.last_mut().unwrap();
        last.extend((units.len() as u16).to_le_bytes());
        last.push(u8::from(is_wide));
        for (at, unit) in units.iter().enumerate() {
            if self.records.last().unwrap().len() + 2 > SharedTexts::BYTES {
                // In the next record, the rest of the text may have units of another size.
                is_wide = units[at..].iter().any(|unit| *unit > 0xff);
                self.records.push(vec![u8::from(is_wide)]);
            }
            let last = self.records.last_mut().unwrap();
            match is_wide {
                true => last.extend(unit.to_le_bytes()),
                false => last.push(*unit as u8),
            }
        }
    }
}

pub(super) fn as_xls(grid: &Grid) -> Vec<u8> {
    let mut cells = Vec::new();
    let texts: Vec<&String> = grid
        .iter()
        .flatten()
        .filter_map(|cell| match cell {
            Some(Given::Text(text)) => Some(text),
            _ => None,
        })
        .collect();
    let count = (texts.len() as u32).to_le_bytes();
    let mut shared = SharedTexts { records: vec![[count, count].concat()] };
    texts.iter().for_each(|text| shared.add(text));
    let mut next_text = 0_u32;
    for (number, row) in grid.iter().enumerate() {
        for (column, cell) in row.iter().enumerate() {
            let style = match cell {
                Some(Given::Moment(index)) => MOMENTS[*index].1 as u16,
                _ => 0,
            };
            let (id, value) = match cell {
                None => continue,
                Some(Given::Int(int)) if (-(1 << 29)..1 << 29).contains(int) => {
                    (0x27e, (int.cast_unsigned() << 2 | 2).to_le_bytes().to_vec())
                }
                Some(Given::Int(int)) => (0x203, f64::from(*int).to_le_bytes().to_vec()),
                Some(Given::Real(real)) if column % 2 == 0 => {
                    // The number is written as the value of a formula.
                    (0x06, [real.to_le_bytes().to_vec(), vec![0; 8]].concat())
                }
                Some(Given::Real(real)) => (0x203, real.to_le_bytes().to_vec()),
                Some(Given::Bool(bool)) => (0x205, vec![u8::from(*bool), 0]),
                Some(Given::Error) => (0x205, vec![0x2a, 1]),
                Some(Given::Moment(index)) => (0x203, MOMENTS[*index].0.to_le_bytes().to_vec()),
                Some(Given::Text(_)) => {
                    next_text += 1;
                    (0xfd, (next_text - 1).to_le_bytes().to_vec())
                }
            };
            let mut fields = Vec::new();
            for number in [number as u16, column as u16, style] {
                fields.extend(number.to_le_bytes());
            }
            fields.extend(value);
            record_of_xls(id, &fields, &mut cells);
        }
    }
    let mut globals = Vec::new();
    record_of_xls(0x809, &[0, 6, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &mut globals);
    for id in STYLES {
        let mut fields = vec![0, 0];
        fields.extend(id.to_le_bytes());
        fields.extend([0; 16]);
        record_of_xls(0xe0, &fields, &mut globals);
    }
    let sheet_at = globals.len() + 4;
    record_of_xls(0x85, &[0, 0, 0, 0, 0, 0, 1, 0, b'S'], &mut globals);
    for (index, record) in shared.records.iter().enumerate() {
        record_of_xls(if index == 0 { 0xfc } else { 0x3c }, record, &mut globals);
    }
    record_of_xls(0x0a, &[], &mut globals);
    let start = (globals.len() as u32).to_le_bytes();
    globals[sheet_at..sheet_at + 4].copy_from_slice(&start);
    record_of_xls(0x809, &[0, 6, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], &mut globals);
    globals.extend(cells);
    record_of_xls(0x0a, &[], &mut globals);
    compound(&globals)
}

/// Returns a compound file with `stream` as the stream of the workbook.
fn compound(stream: &[u8]) -> Vec<u8> {
    const SECTOR: usize = 512;
    let bytes = stream.len().next_multiple_of(SECTOR).max(4096);
    let sectors = bytes / SECTOR;
    assert!(sectors + 2 <= SECTOR / 4, "one sector has the table");
    let mut header = vec![0; SECTOR];
    header[..8].copy_from_slice(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1");
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(24, &[0x3e, 0, 3, 0, 0xfe, 0xff, 9, 0, 6, 0]);
    let end = 0xffff_fffe_u32.to_le_bytes();
    for (at, number) in [(44, 1_u32), (48, 1), (56, 4096)] {
        put(at, &number.to_le_bytes());
    }
    put(60, &end);
    put(68, &end);
    put(76, &0_u32.to_le_bytes());
    for index in 1..109 {
        put(76 + index * 4, &[0xff; 4]);
    }
    let mut table = vec![0xffff_fffd_u32, 0xffff_fffe];
    table.extend((0..sectors as u32).map(|sector| sector + 3));
    *table.last_mut().unwrap() = 0xffff_fffe;
    table.resize(SECTOR / 4, u32::MAX);
    let entry = |name: &str, kind: u8, start: u32, bytes: u32, child: u32| {
        let mut entry = vec![0; 128];
        for (at, unit) in name.encode_utf16().enumerate() {
            entry[at * 2..at * 2 + 2].copy_from_slice(&unit.to_le_bytes());
        }
        entry[64] = (name.len() as u8 + 1) * 2;
        entry[66] = kind;
        entry[68..76].fill(0xff);
        entry[76..80].copy_from_slice(&child.to_le_bytes());
        entry[116..120].copy_from_slice(&start.to_le_bytes());
        entry[120..124].copy_from_slice(&bytes.to_le_bytes());
        entry
    };
    let mut file = header;
    file.extend(table.iter().flat_map(|number| number.to_le_bytes()));
    file.extend(entry("Root Entry", 5, 0xffff_fffe, 0, 1));
    file.extend(entry("Workbook", 2, 2, bytes as u32, u32::MAX));
    file.resize(3 * SECTOR, 0);
    file.extend_from_slice(stream);
    file.resize(3 * SECTOR + bytes, 0);
    file
}
