//! Reads the directory of a ZIP archive, by PKWARE's [APPNOTE](https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT).
//!
//! ```text
//!  | prefix | local header | name | extra | data | ... | directory      | 64-bit end | its locator | end | comment |
//!             PK 3 4                                     PK 1 2 for each   PK 6 6       PK 6 7        PK 5 6
//! ```
//!
//! The end record is searched from the end of the file, because a comment of up to 65,535 bytes may follow it. Offsets count from the first byte
//! of the archive. If the archive comes after other bytes, such as a self-extracting program, all offsets are too small by the same number.
//!
//! Name, sizes, checksum and method of a member are taken from the directory. The local header is only read for the length of its name and extra
//! fields, after which the data begin. So data descriptors are not needed.
//!
//! A name is UTF-8 if bit 11 of the flags or the extra field 0x7075 says so. Other names are in code page 437, except for valid UTF-8 in an entry
//! of Unix or macOS: several programs there do not set the bit.

use std::ops::Range;
use std::path::{Path, PathBuf};

use memchr::memmem;
use sqluice_core::error::{Error, Place, Result};
use sqluice_platform::shell::quoted;

use super::listing::{Found, Listing, ZipPlace};
use super::text::{self, Path as MemberPath};
use super::window::{Window, unreadable};
use super::{Member, Refusal, Whole};
use crate::input::STANDARD_INPUT;
use crate::input::checked::damaged;
use crate::input::compression::Compression;
use crate::input::member::Method;

/// The signature of a local header.
const LOCAL: &[u8; 4] = b"PK\x03\x04";
/// The signature of an entry of the directory. The signatures of other records follow.
const ENTRY: &[u8] = b"PK\x01\x02";
const DIGITAL_SIGNATURE: &[u8] = b"PK\x05\x05";
const END: &[u8] = b"PK\x05\x06";
const END_64: &[u8] = b"PK\x06\x06";
const LOCATOR_64: &[u8] = b"PK\x06\x07";

/// The first bytes of a split archive that was joined to one file, before its first local header.
const SPLIT: [&[u8; 4]; 2] = [b"PK\x07\x08", b"PK00"];

/// The size of a local header in bytes, without its name and extra fields. The sizes of other records follow, without names and comments.
const LOCAL_BYTES: usize = 30;
const ENTRY_BYTES: usize = 46;
const END_BYTES: usize = 22;
const END_64_BYTES: usize = 56;
const LOCATOR_64_BYTES: u64 = 20;

/// The maximum size of a comment in bytes.
const COMMENT_BYTES_MAX: u64 = 0xffff;

/// The maximum number of end records that are tried: a comment may contain what looks like end records.
const TRIES_MAX: u32 = 16;

/// Returns `true` if a file begins like a ZIP archive.
pub(super) fn begins(head: &[u8]) -> bool {
    let is_split =
        |split: &&[u8; 4]| head.strip_prefix(&split[..]).is_some_and(|rest| rest.starts_with(LOCAL));
    head.starts_with(LOCAL) || head.starts_with(END) || SPLIT.iter().any(is_split)
}

/// Returns `true` if a file ends like a ZIP archive.
pub(super) fn ends(whole: &Whole) -> bool {
    let mut window = Window::new(whole, Path::new(""));
    matches!(find(&mut window), Ok(Ok(_) | Err(Missing::Parts)))
}

/// The directory of an archive, as the end record describes it.
#[derive(Clone, Debug)]
struct Directory {
    range: Range<u64>,
    entries: u64,
    /// `true` if only the lower 16 bits of the number of entries are known.
    is_16_bit: bool,
    /// The number of bytes before the archive, which has to be added to all offsets.
    prefix: u64,
}

/// The reason why a file has no directory that can be read.
#[derive(Clone, Copy, Debug)]
enum Missing {
    Damaged(&'static str),
    /// The archive is split into several files.
    Parts,
}

impl Missing {
    fn error(self, listing: &Listing<'_>) -> Error {
        match self {
            Missing::Damaged(what) => listing.damaged(what.to_owned()),
            Missing::Parts => {
                let is_stdin = listing.name == Path::new(STANDARD_INPUT);
                let last = if is_stdin { PathBuf::from("FILE") } else { listing.name.with_extension("zip") };
                let last = quoted(&last.to_string_lossy());
                Error::input("this is one of several files of an archive")
                    .at(Place::file(listing.name))
                    .hint(format!("put them together, and load that: zip -s 0 {last} -O whole.zip"))
            }
        }
    }
}

/// The fields of the end record about the directory.
struct End {
    /// The numbers of the files that contain the end record and the directory; both are 0 unless the archive is split.
    disks: [u32; 2],
    entries: u64,
    bytes: u64,
    offset: u64,
    /// The offset of the end record.
    at: u64,
    is_16_bit: bool,
}

/// Lists the members of an archive.
pub(super) fn list(whole: &Whole, listing: &mut Listing<'_>) -> Result<()> {
    let mut window = Window::new(whole, listing.name);
    let directory = find(&mut window)?.map_err(|missing| missing.error(listing))?;
    window.read_until(directory.range.end);
    let (mut at, mut entries, mut ends) = (directory.range.start, 0_u64, Vec::new());
    while at < directory.range.end {
        listing.step()?;
        let wrong = || {
            Err(listing.damaged(format!("entry {} of the directory of the archive is damaged", entries + 1)))
        };
        let Some(fixed) = window.get(at, ENTRY_BYTES)? else { return wrong() };
        if fixed.starts_with(DIGITAL_SIGNATURE) {
            break;
        }
        let lengths = [28, 30, 32].map(|field| usize::from(u16_at(fixed, field)));
        let bytes = ENTRY_BYTES + lengths.iter().sum::<usize>();
        if !fixed.starts_with(ENTRY) || at + bytes as u64 > directory.range.end {
            return wrong();
        }
        let Some(entry) = window.get(at, bytes)? else { return wrong() };
        let (member, place, end) = read_entry(entry, lengths, &directory);
        ends.push(end);
        listing.add(member, Found::Zip(place))?;
        (at, entries) = (at + bytes as u64, entries + 1);
    }
    let is_complete = match directory.is_16_bit {
        true => entries & 0xffff == directory.entries,
        false => entries == directory.entries,
    };
    if !is_complete {
        let stated = directory.entries;
        return Err(
            listing.damaged(format!("the archive states {stated} files, and its directory has {entries}"))
        );
    }
    part(listing, &ends, directory.range.start);
    Ok(())
}

/// Finds the directory. The outer error is that of reading the file; the inner error is the reason why the file has no directory that can
/// be read.
fn find(window: &mut Window<'_>) -> Result<Result<Directory, Missing>> {
    let bytes = window.bytes();
    let tail_bytes = bytes.min(COMMENT_BYTES_MAX + END_BYTES as u64);
    let start = bytes - tail_bytes;
    let tail = window.get(start, tail_bytes as usize)?.unwrap_or_default().to_vec();
    let mut tries = 0;
    let mut reason = Missing::Damaged("the archive ends too early: its directory is missing");
    // An end record whose comment does not extend to the end of the file is only accepted if there is no exact one.
    for is_exact in [true, false] {
        let mut before = tail.len();
        while let Some(at) = memmem::rfind(&tail[..before], END) {
            before = at;
            let Some(end) = tail.get(at..at + END_BYTES) else { continue };
            let after = at + END_BYTES + usize::from(u16_at(end, 20));
            let is_sound = match tail.get(after..) {
                Some([]) => is_exact,
                // If entries follow, this end record is that of an archive within the archive, whose own end record is damaged.
                Some(rest) => !is_exact && memmem::find(rest, ENTRY).is_none(),
                None => false,
            };
            if !is_sound {
                continue;
            }
            tries += 1;
            if tries > TRIES_MAX {
                return Ok(Err(reason));
            }
            match read_end(window, start + at as u64, end)? {
                Ok(directory) => return Ok(Ok(directory)),
                Err(what) => reason = what,
            }
        }
    }
    // A split archive has its end record in the last file only.
    let is_first_part = tries == 0 && bytes >= LOCAL_BYTES as u64 && &window.start()? == SPLIT[0];
    Ok(Err(if is_first_part { Missing::Parts } else { reason }))
}

/// Reads the end record at the offset `at`. `end` contains its fixed fields.
fn read_end(window: &mut Window<'_>, at: u64, end: &[u8]) -> Result<Result<Directory, Missing>> {
    let mut read = End {
        disks: [u32::from(u16_at(end, 4)), u32::from(u16_at(end, 6))],
        entries: u64::from(u16_at(end, 10)),
        bytes: u64::from(u32_at(end, 12)),
        offset: u64::from(u32_at(end, 16)),
        at,
        is_16_bit: true,
    };
    match read_end_64(window, at)? {
        Ok(Some(end)) => read = end,
        Ok(None) => {}
        Err(what) => return Ok(Err(what)),
    }
    if read.disks != [0, 0] {
        return Ok(Err(Missing::Parts));
    }
    // The directory either extends to the end record, or is at its stated offset, if the archive is the whole file.
    let starts = [read.at.checked_sub(read.bytes), Some(read.offset)];
    for start in starts.into_iter().flatten() {
        let Some(end) = start.checked_add(read.bytes).filter(|end| *end <= read.at) else { continue };
        let Some(prefix) = start.checked_sub(read.offset) else { continue };
        let begins = start == end || window.get(start, ENTRY.len())?.is_some_and(|begin| begin == ENTRY);
        // The end record belongs to an archive within this one, after which this archive was cut off.
        if begins && prefix > 0 && window.start()? == *LOCAL {
            return Ok(Err(Missing::Damaged("the archive ends too early: it ends with another archive")));
        }
        if begins {
            let (range, entries, is_16_bit) = (start..end, read.entries, read.is_16_bit);
            return Ok(Ok(Directory { range, entries, is_16_bit, prefix }));
        }
    }
    Ok(Err(Missing::Damaged("the directory of the archive is not where its end says")))
}

/// Reads the 64-bit end record, if its locator precedes the end record at `at`.
fn read_end_64(window: &mut Window<'_>, at: u64) -> Result<Result<Option<End>, Missing>> {
    let Some(locator_at) = at.checked_sub(LOCATOR_64_BYTES) else { return Ok(Ok(None)) };
    let Some(locator) = window.get(locator_at, LOCATOR_64_BYTES as usize)? else { return Ok(Ok(None)) };
    if !locator.starts_with(LOCATOR_64) {
        return Ok(Ok(None));
    }
    let (stated, disks) = (u64_at(locator, 8), u32_at(locator, 16));
    if disks > 1 {
        return Ok(Err(Missing::Parts));
    }
    // After other bytes, the stated offset is too small. The record is then assumed to be directly before its locator.
    let starts = [Some(stated), locator_at.checked_sub(END_64_BYTES as u64)];
    for start in starts.into_iter().flatten() {
        let Some(end) = window.get(start, END_64_BYTES)? else { continue };
        let follows = start.checked_add(12).and_then(|start| start.checked_add(u64_at(end, 4)));
        if end.starts_with(END_64) && follows == Some(locator_at) {
            return Ok(Ok(Some(End {
                disks: [u32_at(end, 16), u32_at(end, 20)],
                entries: u64_at(end, 32),
                bytes: u64_at(end, 40),
                offset: u64_at(end, 48),
                at: start,
                is_16_bit: false,
            })));
        }
    }
    Ok(Err(Missing::Damaged("the 64-bit end of the archive is not where its locator says")))
}

/// Parses an entry of the directory. Returns the member, its location, and the end of its bytes as far as the entry shows it.
fn read_entry(entry: &[u8], [name, extra, _]: [usize; 3], directory: &Directory) -> (Member, ZipPlace, u64) {
    let (name, rest) = entry[ENTRY_BYTES..].split_at(name);
    let extra = &rest[..extra];
    let [made_by, flags, method] = [4, 8, 10].map(|field| u16_at(entry, field));
    let attributes = u32_at(entry, 38);
    let wide = Wide::read(entry, extra);
    let host = Host::of(made_by);
    let MemberPath { path, is_folder, refusal } = MemberPath::new(decode(name, extra, flags, host));
    let header = wide.offset.checked_add(directory.prefix);
    let end = header
        .and_then(|header| header.checked_add((LOCAL_BYTES + name.len()) as u64))
        .and_then(|data| data.checked_add(wide.raw_bytes))
        .filter(|end| *end <= directory.range.start);
    let type_of_file = if host == Host::Unix { attributes >> 28 } else { 0 };
    let is_folder = is_folder || type_of_file == 0o04 || host == Host::Dos && attributes & 0x10 != 0;
    let (method, of_method) = method_of(method, flags);
    let is_stored_otherwise = method == Method::Stored && wide.raw_bytes != wide.bytes;
    let refusal = refusal.or(of_method).or(match type_of_file {
        _ if wide.disk != 0 => Some(Refusal::OtherVolume),
        _ if end.is_none() || !wide.is_sound || is_stored_otherwise && !is_folder => Some(Refusal::Place),
        0 | 0o04 | 0o10 => None,
        0o12 => Some(Refusal::Link),
        _ => Some(Refusal::Special),
    });
    let place = ZipPlace {
        header: header.unwrap_or(u64::MAX),
        raw_bytes: wide.raw_bytes,
        end: directory.range.start,
        crc: u32_at(entry, 16),
        method,
    };
    (Member { path, bytes: wide.bytes, is_folder, refusal }, place, end.unwrap_or(0))
}

/// The fields of an entry that are in an extra field if they need 64 bits.
struct Wide {
    bytes: u64,
    raw_bytes: u64,
    offset: u64,
    disk: u32,
    /// `true` if the extra field contains all fields that it must have.
    is_sound: bool,
}

impl Wide {
    fn read(entry: &[u8], extra: &[u8]) -> Wide {
        let mut rest = extra_field(extra, 0x0001);
        let mut is_sound = true;
        let mut wide = |field: u32| {
            let (u32::MAX, Some(left)) = (field, rest) else { return u64::from(field) };
            match left.split_first_chunk::<8>() {
                Some((value, left)) => {
                    rest = Some(left);
                    u64::from_le_bytes(*value)
                }
                None => {
                    is_sound = false;
                    u64::from(field)
                }
            }
        };
        let bytes = wide(u32_at(entry, 24));
        let raw_bytes = wide(u32_at(entry, 20));
        let offset = wide(u32_at(entry, 42));
        let disk = match (u16_at(entry, 34), rest.and_then(|rest| rest.first_chunk())) {
            (0xffff, Some(disk)) => u32::from_le_bytes(*disk),
            (disk, _) => u32::from(disk),
        };
        Wide { bytes, raw_bytes, offset, disk, is_sound }
    }
}

/// The operating system of the program that wrote an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Host {
    Dos,
    Unix,
    Other,
}

impl Host {
    fn of(made_by: u16) -> Host {
        match made_by >> 8 {
            // MS-DOS, OS/2, NTFS and VFAT.
            0 | 6 | 10 | 11 | 14 => Host::Dos,
            // Unix and macOS.
            3 | 19 => Host::Unix,
            _ => Host::Other,
        }
    }
}

/// Returns the compression method of a member, or the reason why the member can't be read.
fn method_of(method: u16, flags: u16) -> (Method, Option<Refusal>) {
    let is_set = |bit: u16| flags & (1 << bit) != 0;
    let (known, unknown) = match method {
        0 => (Method::Stored, None),
        8 => (Method::Deflate, None),
        12 => (Method::File(Compression::Bzip2), None),
        // 20 was the number of zstd before 93.
        20 | 93 => (Method::File(Compression::Zstd), None),
        95 => (Method::File(Compression::Xz), None),
        other => (Method::Stored, Some(Refusal::Method(other))),
    };
    let missing = match known {
        Method::File(compression) => compression.missing_feature().map(Refusal::Feature),
        _ => None,
    };
    let refusal = match method {
        99 => Some(Refusal::StronglyEncrypted),
        _ if is_set(6) || is_set(13) => Some(Refusal::StronglyEncrypted),
        _ if is_set(0) => Some(Refusal::Encrypted),
        _ if is_set(5) => Some(Refusal::Patch),
        _ => unknown.or(missing),
    };
    (known, refusal)
}

/// Decodes a name. In entries of MS-DOS and Windows, `\` may separate folders.
fn decode(name: &[u8], extra: &[u8], flags: u16, host: Host) -> String {
    let is_utf_8 = flags & (1 << 11) != 0 || host == Host::Unix;
    let decoded = match (unicode_path(name, extra), str::from_utf8(name)) {
        (Some(path), _) => path.to_owned(),
        (None, Ok(name)) if is_utf_8 || name.is_ascii() => name.to_owned(),
        _ => text::of_code_page_437(name),
    };
    match host == Host::Dos && !decoded.contains('/') {
        true => decoded.replace('\\', "/"),
        false => decoded,
    }
}

/// Returns the UTF-8 name in an extra field, if its checksum fits the name of the entry.
fn unicode_path<'a>(name: &[u8], extra: &'a [u8]) -> Option<&'a str> {
    let (1, rest) = extra_field(extra, 0x7075)?.split_first()? else { return None };
    let (crc, path) = rest.split_first_chunk()?;
    let mut sum = flate2::Crc::new();
    sum.update(name);
    (u32::from_le_bytes(*crc) == sum.sum()).then(|| str::from_utf8(path).ok()).flatten()
}

/// Returns the data of the first extra field with the id `wanted`.
fn extra_field(mut extra: &[u8], wanted: u16) -> Option<&[u8]> {
    while let Some((header, rest)) = extra.split_first_chunk::<4>() {
        let data = rest.get(..usize::from(u16_at(header, 2)))?;
        if u16_at(header, 0) == wanted {
            return Some(data);
        }
        extra = &rest[data.len()..];
    }
    None
}

/// Sets the last offset at which each member may end, and refuses members that share bytes. `ends` has the end of each member as far as its
/// entry in the directory shows it: without the extra fields of the local header.
fn part(listing: &mut Listing<'_>, ends: &[u64], directory: u64) {
    let (members, found) = (&mut listing.members, &mut listing.found);
    let mut order: Vec<(u64, usize)> = Vec::with_capacity(ends.len());
    for (index, found) in found.iter().enumerate() {
        if let Found::Zip(place) = found
            && members[index].refusal != Some(Refusal::Place)
        {
            order.push((place.header, index));
        }
    }
    order.sort_unstable();
    let mut furthest: Option<(u64, usize)> = None;
    for (at, &(header, index)) in order.iter().enumerate() {
        let next = order.get(at + 1).map_or(directory, |(next, _)| *next);
        if let Found::Zip(place) = &mut found[index] {
            place.end = next;
        }
        if let Some((end, owner)) = furthest
            && header < end
        {
            for index in [index, owner] {
                members[index].refusal.get_or_insert(Refusal::Overlapping);
            }
        }
        if furthest.is_none_or(|(end, _)| end < ends[index]) {
            furthest = Some((ends[index], index));
        }
    }
}

/// Returns the range of a member's compressed bytes, for which its local header is read. `name` is its name in messages.
pub(super) fn data(whole: &Whole, place: &ZipPlace, name: &Path) -> Result<Range<u64>> {
    let mut header = [0; LOCAL_BYTES];
    if place.header.checked_add(LOCAL_BYTES as u64).is_none_or(|end| end > place.end) {
        return Err(misplaced(name));
    }
    whole.read_at(&mut header, place.header).map_err(|error| unreadable(name, error))?;
    if !header.starts_with(LOCAL) {
        return Err(misplaced(name));
    }
    let [name_bytes, extra_bytes] = [26, 28].map(|field| u64::from(u16_at(&header, field)));
    let start = place.header + LOCAL_BYTES as u64 + name_bytes + extra_bytes;
    let end = start.checked_add(place.raw_bytes).filter(|end| *end <= place.end);
    end.map(|end| start..end).ok_or_else(|| misplaced(name))
}

/// Returns the error for a member that is not at the offset which the directory states.
fn misplaced(name: &Path) -> Error {
    damaged("this file is not where the directory of the archive says".to_owned(), name)
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
