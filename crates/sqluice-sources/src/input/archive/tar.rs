//! Lists the members of a tar archive, in the formats of POSIX (ustar, pax), of GNU and of Unix version 7.
//!
//! ```text
//!  | header | data, filled up to 512 bytes | header | data ... | 512 zeros | 512 zeros | zeros to the end of the file |
//!
//!  header, with the bytes of each field:
//!          name 100 | mode 8 | user 8 | group 8 | size 12 | time 12 | checksum 8 | type 1 | link 100 | "ustar" 6 | version 2
//!          user 32 | group 32 | device 8 + 8 | prefix of the name 155
//! ```
//!
//! A number is written in octal digits or, if its first bit is set, in binary in the other bits. The data of a header of type `x` (pax) or `L`
//! (GNU) are the name or the size of the next member.
//!
//! Invariant: an archive ends with zeros. Without them, the archive was cut short; other bytes after them are further members, which most
//! programs would ignore. Both are errors.

use std::mem;

use sqluice_core::error::{Error, Place, Result};
use sqluice_platform::shell::quoted;

use super::listing::{Found, Listing};
use super::text::Path as MemberPath;
use super::window::Window;
use super::{Member, Refusal, Whole};

/// The number of bytes of a block.
const BLOCK: u64 = 512;

/// The maximum size of an extended header's data in bytes. Extended headers of other programs have a few hundred bytes.
const EXTENDED_BYTES_MAX: u64 = 1 << 20;

/// Lists the members of an archive.
pub(super) fn list(whole: &Whole, listing: &mut Listing<'_>) -> Result<()> {
    let mut window = Window::new(whole, listing.name);
    let (mut at, mut next) = (0, Extended::default());
    loop {
        listing.step()?;
        let Some(block) = window.get(at, BLOCK as usize)? else {
            return Err(listing.damaged("the archive ends too early: it has no end mark".to_owned()));
        };
        if block.iter().all(|byte| *byte == 0) {
            return end(&mut window, at, listing);
        }
        let damaged =
            |what: &str| Err(listing.damaged(format!("the header at byte {at} of the archive {what}")));
        let block: &[u8; 512] = block.first_chunk().expect("a block was asked for");
        let header = match Header::read(block) {
            Ok(header) => header,
            Err(what) => return damaged(what),
        };
        let mut start = at + BLOCK;
        if let Kind::Extended(kind) = header.kind {
            if header.bytes > EXTENDED_BYTES_MAX {
                return damaged("has a name or properties of more than 1 MiB");
            }
            let Some(data) = window.get(start, header.bytes as usize)? else {
                return damaged("names bytes beyond the end of the archive");
            };
            let read = match kind {
                ExtendedKind::Next => next.read(data),
                ExtendedKind::Global => Extended::read_global(data),
                ExtendedKind::LongName => {
                    next.path = Some(until_zero(data).to_vec());
                    Ok(())
                }
                ExtendedKind::Ignored => Ok(()),
            };
            if let Err(what) = read {
                return damaged(what);
            }
            at = match after(start, header.bytes) {
                Some(at) => at,
                None => return damaged("names bytes beyond the end of the archive"),
            };
            continue;
        }
        let properties = mem::take(&mut next);
        // The map of a sparse file in the old format continues in the blocks before the data.
        let mut is_continued = header.is_continued;
        while is_continued {
            let Some(map) = window.get(start, BLOCK as usize)? else {
                return damaged("names bytes beyond the end of the archive");
            };
            is_continued = map[504] == 1;
            start += BLOCK;
        }
        let bytes = if header.kind.has_data() { properties.bytes.unwrap_or(header.bytes) } else { 0 };
        let is_within = start.checked_add(bytes).is_some_and(|end| end <= window.bytes());
        let Some(following) = after(start, bytes).filter(|_| is_within) else {
            return damaged("names bytes beyond the end of the archive");
        };
        add(listing, &header, &properties, bytes, start)?;
        at = following;
    }
}

/// Adds the member that a header describes.
fn add(
    listing: &mut Listing<'_>,
    header: &Header,
    properties: &Extended,
    bytes: u64,
    start: u64,
) -> Result<()> {
    let path = properties.sparse_path.as_deref().or(properties.path.as_deref());
    let name = path.unwrap_or(&header.name);
    let MemberPath { path, is_folder, refusal } = MemberPath::new(String::from_utf8_lossy(name).into_owned());
    let is_folder = header.kind == Kind::Folder || is_folder && header.kind == Kind::File;
    if is_folder && refusal == Some(Refusal::NoName) {
        // The entry is that of the packed folder itself.
        return Ok(());
    }
    let of_kind = match header.kind {
        Kind::File if properties.is_sparse => Some(Refusal::Sparse),
        Kind::File | Kind::Folder | Kind::Extended(_) => None,
        Kind::Sparse => Some(Refusal::Sparse),
        Kind::Link => Some(Refusal::Link),
        Kind::OtherVolume => Some(Refusal::OtherVolume),
        Kind::Special => Some(Refusal::Special),
    };
    listing.add(Member { path, bytes, is_folder, refusal: refusal.or(of_kind) }, Found::Tar { start })
}

/// Checks that all bytes from the first block of zeros on are zeros.
fn end(window: &mut Window<'_>, mut at: u64, listing: &mut Listing<'_>) -> Result<()> {
    while at < window.bytes() {
        listing.step()?;
        let bytes = (window.bytes() - at).min(BLOCK) as usize;
        let block = window.get(at, bytes)?.unwrap_or_default();
        if block.iter().any(|byte| *byte != 0) {
            let name = listing.name;
            return Err(Error::input("something follows the end of the tar archive")
                .at(Place::file(name))
                .hint(format!(
                    "of several archives one after another, tar extracts all: tar -xif {}",
                    quoted(&name.to_string_lossy())
                )));
        }
        at += bytes as u64;
    }
    Ok(())
}

/// Returns the offset of the header after the data; `None` if it exceeds 64 bits.
fn after(start: u64, bytes: u64) -> Option<u64> {
    start.checked_add(bytes)?.checked_next_multiple_of(BLOCK)
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    Folder,
    Link,
    Special,
    Sparse,
    OtherVolume,
    Extended(ExtendedKind),
}

/// The kind of a header that describes other members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ExtendedKind {
    /// The properties are those of the next member.
    Next,
    /// The properties are those of all further members.
    Global,
    LongName,
    /// The target of a link, the name of a volume, or access rights: not needed here.
    Ignored,
}

impl Kind {
    fn of(type_of_file: u8) -> Kind {
        match type_of_file {
            0 | b'0' | b'7' => Kind::File,
            b'1' | b'2' => Kind::Link,
            b'5' | b'D' => Kind::Folder,
            b'S' => Kind::Sparse,
            b'M' => Kind::OtherVolume,
            b'x' | b'X' => Kind::Extended(ExtendedKind::Next),
            b'g' => Kind::Extended(ExtendedKind::Global),
            b'L' => Kind::Extended(ExtendedKind::LongName),
            b'A' | b'E' | b'I' | b'K' | b'V' => Kind::Extended(ExtendedKind::Ignored),
            _ => Kind::Special,
        }
    }

    /// Returns `true` if data of the stated size follow the header. The header of a hard link states the size of the linked file.
    fn has_data(self) -> bool {
        !matches!(self, Kind::Link)
    }
}

/// The fields of a header.
struct Header {
    name: Vec<u8>,
    bytes: u64,
    kind: Kind,
    /// `true` if the map of a sparse file continues in the next block.
    is_continued: bool,
}

impl Header {
    fn read(block: &[u8; 512]) -> Result<Header, &'static str> {
        // For its own computation, the checksum's bytes count as blanks. Some programs have summed the bytes as signed numbers.
        let counted = |at: usize| if (148..156).contains(&at) { b' ' } else { block[at] };
        let unsigned: u64 = (0..512).map(|at| u64::from(counted(at))).sum();
        let signed: i64 = (0..512).map(|at| i64::from(counted(at).cast_signed())).sum();
        let stated = number(&block[148..156]);
        if stated != Some(unsigned) && (stated.is_none() || stated != u64::try_from(signed).ok()) {
            return Err("has a wrong checksum");
        }
        let kind = Kind::of(block[156]);
        let bytes = match number(&block[124..136]) {
            Some(bytes) => bytes,
            None if !kind.has_data() => 0,
            None => return Err("has no size"),
        };
        let mut name = until_zero(&block[..100]).to_vec();
        // Only POSIX headers have the prefix. GNU has other fields in its place.
        if &block[257..263] == b"ustar\0" && block[345] != 0 {
            let prefix = until_zero(&block[345..500]);
            name = [prefix, b"/", &name].concat();
        }
        Ok(Header { name, bytes, kind, is_continued: kind == Kind::Sparse && block[482] == 1 })
    }
}

/// Parses a number: octal digits between blanks and zeros, or 63 bits after a first bit that is set.
fn number(field: &[u8]) -> Option<u64> {
    if let [0x80, rest @ ..] = field {
        let (high, low) = rest.split_at(rest.len().saturating_sub(8));
        let value = low.iter().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
        return (high.iter().all(|byte| *byte == 0) && value < 1 << 63).then_some(value);
    }
    let text = str::from_utf8(field).ok()?.trim_matches(['\0', ' ']);
    match text.is_empty() {
        true => Some(0),
        false if text.bytes().all(|digit| matches!(digit, b'0'..=b'7')) => u64::from_str_radix(text, 8).ok(),
        false => None,
    }
}

/// Returns the bytes before the first zero.
fn until_zero(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// The pax properties that are needed here.
#[derive(Clone, Debug, Default)]
struct Extended {
    path: Option<Vec<u8>>,
    bytes: Option<u64>,
    is_sparse: bool,
    /// The name of a sparse file. Its `path` is a substitute for programs that do not support sparse files.
    sparse_path: Option<Vec<u8>>,
}

impl Extended {
    /// Parses pax records. A record is its length in digits, a blank, a name, `=`, a value and a line feed.
    fn read(&mut self, mut data: &[u8]) -> Result<(), &'static str> {
        const WRONG: &str = "has a malformed pax header";
        while !data.is_empty() {
            let blank = data.iter().position(|byte| *byte == b' ').ok_or(WRONG)?;
            let length = str::from_utf8(&data[..blank]).ok().and_then(|digits| digits.parse::<usize>().ok());
            let length = length.filter(|length| *length > blank + 1 && *length <= data.len()).ok_or(WRONG)?;
            let (record, rest) = data.split_at(length);
            let record = record[blank + 1..].strip_suffix(b"\n").ok_or(WRONG)?;
            let equals = record.iter().position(|byte| *byte == b'=').ok_or(WRONG)?;
            let value = &record[equals + 1..];
            match &record[..equals] {
                b"path" => self.path = (!value.is_empty()).then(|| value.to_vec()),
                b"size" => {
                    let size = str::from_utf8(value).ok().and_then(|size| size.parse().ok());
                    self.bytes = Some(size.ok_or(WRONG)?);
                }
                key if key.starts_with(b"GNU.sparse.") => {
                    self.is_sparse = true;
                    if key.ends_with(b".name") {
                        self.sparse_path = Some(value.to_vec());
                    }
                }
                _ => {}
            }
            data = rest;
        }
        Ok(())
    }

    /// Checks the properties of all further members. A name or a size for all of them is an error: it is never useful.
    fn read_global(data: &[u8]) -> Result<(), &'static str> {
        let mut global = Extended::default();
        global.read(data)?;
        match global {
            Extended { path: None, bytes: None, is_sparse: false, .. } => Ok(()),
            _ => Err(
                "has global properties that give all files one name or one size, or make all files sparse",
            ),
        }
    }
}
