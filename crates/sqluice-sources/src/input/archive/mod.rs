//! Archives: the files in a ZIP or tar archive as inputs.
//!
//! ```text
//!  data.zip   | prefix | local header, data | local header, data | ... | directory | end |
//!                                     ^                                    └── read first: names, sizes, offsets
//!                                     └── decompressed while it is read, by any number of readers
//!
//!  data.tar   | header | data | header | data | ... | zeros |      headers are read one after another
//!  data.tar.gz ──> decompressed once to an unnamed temporary file, and then read as above
//! ```
//!
//! No member is extracted to a file here. An uncompressed member is read as a range of the archive, even if the archive is behind a URL: of
//! a ZIP archive, only the directory and the members that are read are then requested.
//!
//! Modules, from the bottom up:
//!
//! * `window`: the bytes of an archive at any offset; `text`: names of members; `refusal`: reasons why a member can't be read
//! * `listing`: the list of members, limited by the memory of the load
//! * `zip`, `tar`: find the members in each format; `spooled`: a decompressed copy
//!
//! Invariant: no statement of an archive is trusted. Sizes and offsets are compared with the archive before memory is allocated. A member's
//! size and, in a ZIP archive, its CRC-32 are checked while its bytes are read. The work is proportional to the size of the archive.
//!
//! Invariant: no two members of a ZIP archive share bytes. So a small archive can't contain the same large data many times.
//!
//! # Why the formats are read here
//!
//! Two crates read them. Each does more than is needed here, and keeps neither invariant:
//!
//! * `zip` 9.8 reads the whole directory into a map of names, with dozens of fields for each member, and keeps only one of two members with
//!   the same name. It can detect that some members overlap, but not which ones. A reader of a member borrows the reader of the archive, so
//!   each parallel reader needs to open the archive again.
//! * `tar` 0.4 reads extended headers of any declared size into memory, and does not report an archive that is cut short between two
//!   members. It needs a `Read` from start to end, or seeks.
//!
//! The directory of a ZIP archive and the headers of tar have a few fields at fixed offsets. Members are decompressed with the same
//! decoders as compressed files.

#[cfg(fuzzing)]
#[doc(hidden)]
#[allow(missing_docs)]
pub mod fuzzing;
mod listing;
mod refusal;
mod spooled;
#[cfg(any(test, fuzzing))]
#[cfg_attr(fuzzing, allow(dead_code))]
mod taken;
mod tar;
#[cfg(test)]
mod tests;
mod text;
mod window;
mod zip;

use std::fmt;
#[cfg(feature = "spreadsheets")]
use std::fs::File;
#[cfg(feature = "spreadsheets")]
use std::io::Read;
use std::path::{Path, PathBuf};
#[cfg(feature = "spreadsheets")]
use std::sync::{Arc, atomic::AtomicU64};

use sqluice_core::error::{Error, Place, Result};
use sqluice_core::progress::{Cancel, Context};

use self::listing::{Found, Listing};
pub use self::refusal::Refusal;
use super::checked::Stated;
use super::foreign;
use super::member::Member as Packed;
use super::member::Method;
use super::whole::Whole;
use super::{InputFile, InputOptions};

/// The format of an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ArchiveKind {
    /// A ZIP archive.
    Zip,
    /// A tar archive, which may be compressed with gzip, zstd, bzip2 or xz.
    Tar,
}

impl fmt::Display for ArchiveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ArchiveKind::Zip => "ZIP",
            ArchiveKind::Tar => "tar",
        })
    }
}

/// Returns the format of an archive by its first bytes. Returns `None` for any other file, including documents that are ZIP files, such as
/// workbooks. The input can still be read from its start.
///
/// A file with the extension `.zip` may begin with other bytes, such as a self-extracting program. Its end then decides, if the input can
/// be read at any offset.
///
/// # Errors
/// If the input can't be read, or this build does not support its compression.
pub fn kind_of(input: &mut InputFile) -> Result<Option<ArchiveKind>> {
    let (head, compression) = input.head(foreign::HEAD_BYTES)?;
    if foreign::is_tar_archive(&head) {
        return Ok(Some(ArchiveKind::Tar));
    }
    if compression.is_some() {
        return Ok(None);
    }
    if zip::begins(&head) {
        let is_document = foreign::is_zip_document(&head) || foreign::is_named_as_workbook(input.name());
        return Ok((!is_document).then_some(ArchiveKind::Zip));
    }
    let is_named = input.name().extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip"));
    let whole = if is_named { input.whole()? } else { None };
    Ok(whole.is_some_and(|whole| zip::ends(&whole)).then_some(ArchiveKind::Zip))
}

/// The limits and settings for opening an archive.
#[derive(Clone, Copy)]
pub struct ArchiveLimits<'a> {
    /// The memory for the list of members, in bytes.
    pub memory_bytes: u64,
    /// A function that returns the folder for temporary files.
    pub temp_folder: &'a dyn Fn() -> Result<PathBuf>,
}

impl fmt::Debug for ArchiveLimits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ArchiveLimits").field("memory_bytes", &self.memory_bytes).finish_non_exhaustive()
    }
}

/// An entry of an archive: a file or a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Member {
    /// The path in the archive, with `/` between folders. Unless it is refused, the path has no empty, `.` or `..` components.
    pub path: String,
    /// The decompressed size in bytes, as the archive states it.
    pub bytes: u64,
    /// `true` for a folder.
    pub is_folder: bool,
    /// The reason why the member can't be read, if any. [`Archive::refused`] returns it as an error.
    pub refusal: Option<Refusal>,
}

/// An open archive, and the list of its members.
pub struct Archive {
    name: PathBuf,
    kind: ArchiveKind,
    whole: Whole,
    members: Vec<Member>,
    /// The location of each member.
    found: Vec<Found>,
}

impl Archive {
    /// Opens an archive and lists its members. The archive is first copied to a temporary file if it can't be read at any offset, or if it
    /// is a tar archive that is compressed or behind a URL. The copied bytes are reported as progress; the caller names the phase.
    ///
    /// # Errors
    /// If the archive can't be read or copied, is damaged or cut short, has more members than fit the memory, or is a document such as a
    /// workbook. Also if the context is cancelled. A single member that can't be read is not an error: it is listed with a
    /// [`Member::refusal`].
    pub fn open(
        mut input: InputFile,
        kind: ArchiveKind,
        limits: &ArchiveLimits<'_>,
        context: &Context<'_>,
    ) -> Result<Archive> {
        context.cancel.check()?;
        let name = input.name().to_owned();
        // The headers of tar are spread over the archive: a server would get a request for each header.
        let suits = match kind {
            ArchiveKind::Zip => true,
            ArchiveKind::Tar => input.is_local() && input.head(1)?.1.is_none(),
        };
        let whole = match input.whole()?.filter(|_| suits) {
            Some(whole) => whole,
            None => spooled::copy(input, &(limits.temp_folder)()?, context)?,
        };
        let archive = Archive::list(whole, kind, &name, limits.memory_bytes, &context.cancel)?;
        if kind == ArchiveKind::Zip
            && let Some(document) = foreign::of_zip_names(archive.members.iter().map(|member| &*member.path))
        {
            let error = document.error(&name);
            return Err(match document.is_workbook() {
                true => error.hint("give its name the extension .xlsx or .ods, and load that"),
                false => error,
            });
        }
        Ok(archive)
    }

    /// Lists the parts of a document that is a ZIP file, given as a local file, the offset of the document and its size in bytes.
    #[cfg(feature = "spreadsheets")]
    pub(crate) fn of_document(
        (file, start, bytes): (Arc<File>, u64, u64),
        name: &Path,
        memory_bytes: u64,
        cancel: &Cancel,
    ) -> Result<Archive> {
        Archive::list(Whole::File { file, start, bytes }, ArchiveKind::Zip, name, memory_bytes, cancel)
    }

    fn list(
        whole: Whole,
        kind: ArchiveKind,
        name: &Path,
        memory_bytes: u64,
        cancel: &Cancel,
    ) -> Result<Archive> {
        let mut listing = Listing::new(name, memory_bytes, cancel);
        match kind {
            ArchiveKind::Zip => zip::list(&whole, &mut listing)?,
            ArchiveKind::Tar => tar::list(&whole, &mut listing)?,
        }
        let (members, found) = listing.finish();
        Ok(Archive { name: name.to_owned(), kind, whole, members, found })
    }

    /// Returns the name of the archive, for messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns the format of the archive.
    pub fn kind(&self) -> ArchiveKind {
        self.kind
    }

    /// Returns the members in the order of the archive. If several have the same path, all but the last are refused.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Returns the name of a member for messages, such as `data.zip/folder/a.csv`.
    ///
    /// # Panics
    /// If `index` is not the index of a member.
    pub fn member_name(&self, index: usize) -> PathBuf {
        let mut name = self.name.clone().into_os_string();
        name.push("/");
        name.push(&self.members[index].path);
        name.into()
    }

    /// Returns the error for a member if its entry in the list shows that it can't be read.
    ///
    /// # Panics
    /// If `index` is not the index of a member.
    pub fn refused(&self, index: usize) -> Option<Error> {
        let refusal = self.members[index].refusal?;
        Some(refusal.error(self.kind, &self.name).at(Place::file(self.member_name(index))))
    }

    /// Returns a member as an input with the name [`Archive::member_name`]. The input can be opened many times.
    ///
    /// # Errors
    /// If the member is refused or a folder, or if its local header can't be read or is not at the stated offset.
    ///
    /// # Panics
    /// If `index` is not the index of a member.
    pub fn input(&self, index: usize, options: InputOptions) -> Result<InputFile> {
        if let Some(error) = self.refused(index) {
            return Err(error);
        }
        let name = self.member_name(index);
        if self.members[index].is_folder {
            return Err(Error::input("this is a folder").at(Place::file(name)));
        }
        Ok(InputFile::of_member(self.packed(index, &name)?, name, options))
    }

    /// Opens the bytes of a member, even if it is refused. Adds the number of compressed bytes that are read to `bytes_read`.
    #[cfg(feature = "spreadsheets")]
    pub(crate) fn open_member(
        &self,
        index: usize,
        bytes_read: &Arc<AtomicU64>,
    ) -> Result<Box<dyn Read + Send>> {
        let name = self.member_name(index);
        let opened = self.packed(index, &name)?.open(&name, bytes_read);
        opened.map_err(|error| Error::from_read(&name, error))
    }

    /// Returns the compressed size of a member, as the archive states it.
    #[cfg(feature = "spreadsheets")]
    pub(crate) fn raw_bytes(&self, index: usize) -> u64 {
        match &self.found[index] {
            Found::Zip(place) => place.raw_bytes,
            Found::Tar { .. } => self.members[index].bytes,
        }
    }

    /// Returns the location of a member's compressed bytes. `name` is the name of the member in messages.
    fn packed(&self, index: usize, name: &Path) -> Result<Packed> {
        let member = &self.members[index];
        Ok(match &self.found[index] {
            Found::Zip(place) => {
                let range = zip::data(&self.whole, place, name)?;
                let stated = Stated { bytes: member.bytes, crc: Some(place.crc) };
                Packed { whole: self.whole.clone(), range, method: place.method, stated }
            }
            Found::Tar { start } => Packed {
                whole: self.whole.clone(),
                range: *start..start + member.bytes,
                method: Method::Stored,
                stated: Stated { bytes: member.bytes, crc: None },
            },
        })
    }
}

impl fmt::Debug for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Archive")
            .field("name", &self.name)
            .field("kind", &self.kind)
            .field("members", &self.members.len())
            .finish_non_exhaustive()
    }
}
