//! The reasons why a member can't be read, as far as the list of members shows them.

use std::path::Path;

use sqluice_core::error::Error;
use sqluice_platform::shell::quoted;

use super::ArchiveKind;
use crate::input::STANDARD_INPUT;

/// The reason why a member can't be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The member is encrypted with traditional ZIP encryption.
    Encrypted,
    /// The member is encrypted with AES or another newer method.
    StronglyEncrypted,
    /// The member is compressed with an unsupported method, given by its number in ZIP.
    Method(u16),
    /// The member is compressed with a method for which this build lacks a cargo feature.
    Feature(&'static str),
    /// The member is a patch: the difference to another file.
    Patch,
    /// The path is absolute.
    Absolute,
    /// The path leads out of the archive by `..`.
    Parent,
    /// The name contains a NUL character.
    Name,
    /// The member has no name.
    NoName,
    /// The member is a link to another file.
    Link,
    /// The member is a device, a pipe, or an entry of an unknown kind.
    Special,
    /// The member is a sparse file, stored without its holes.
    Sparse,
    /// The member shares bytes with another member.
    Overlapping,
    /// The location that the archive states for the member is not within the archive.
    Place,
    /// The member continues in another file of a split archive.
    OtherVolume,
    /// A later member has the same path.
    Replaced,
}

impl Refusal {
    /// Returns the error about a member in an archive of this kind. The caller adds the place.
    pub(super) fn error(self, kind: ArchiveKind, archive: &Path) -> Error {
        let extracted = |what: &str| {
            Error::input(what).hint(format!("extract it, and load that: {}", extracts(kind, archive)))
        };
        let by_maker = |what: &str| {
            Error::input(what).hint("extract it with the program that made the archive, and load that")
        };
        match self {
            Refusal::Encrypted => extracted("this file is encrypted"),
            Refusal::StronglyEncrypted => Error::input("this file is encrypted with a newer method of ZIP")
                .hint("extract it with a program that knows AES, such as 7-Zip, and load that: 7z x FILE"),
            Refusal::Method(method) => match method_name(method) {
                Some((name, true)) => extracted(&format!("this file is compressed with {name}")),
                Some((name, false)) => by_maker(&format!("this file is compressed with {name}")),
                None => by_maker(&format!("this file is compressed with the unknown method {method}")),
            },
            Refusal::Feature(feature) => {
                Error::without_feature("this build does not read the compression of this file", feature)
            }
            Refusal::Patch => by_maker("this file is stored as a patch to another file"),
            Refusal::Absolute => {
                Error::input("the name of this file begins at the root of a file system").hint(renamed(kind))
            }
            Refusal::Parent => {
                Error::input("the name of this file leads out of the archive").hint(renamed(kind))
            }
            Refusal::Name => Error::input("the name of this file has a NUL character").hint(renamed(kind)),
            Refusal::NoName => Error::input("a file of this archive has no name").hint(renamed(kind)),
            Refusal::Link => Error::input("this is a link, not a file").hint(
                "name the file that it leads to; tar -h and zip without -y pack files instead of links",
            ),
            Refusal::Special => {
                Error::input("this is not a file, but a device, a pipe or an entry of an unknown kind")
            }
            Refusal::Sparse => extracted("this file is sparse: the archive leaves its holes out"),
            Refusal::Overlapping => Error::input("this file shares bytes with another file of the archive")
                .hint("ZIP bombs are made this way; pack the files into a new archive"),
            Refusal::Place => {
                Error::input("the place that the archive states for this file is not within the archive")
                    .hint("was it copied or downloaded to its end?")
            }
            Refusal::OtherVolume => Error::input("this file continues in another part of the archive")
                .hint("put the parts together to one archive first"),
            Refusal::Replaced => {
                Error::input("the archive has a later file of the same name").hint(renamed(kind))
            }
        }
    }
}

/// Returns the name of a compression method of ZIP, and `true` if `unzip` supports it.
fn method_name(method: u16) -> Option<(&'static str, bool)> {
    Some(match method {
        1 => ("shrink", true),
        2..=5 => ("reduce", false),
        6 => ("implode", true),
        9 => ("deflate64", true),
        10 => ("implode of PKWARE", false),
        14 => ("LZMA", false),
        96 => ("JPEG", false),
        97 => ("WavPack", false),
        98 => ("PPMd", false),
        _ => return None,
    })
}

/// Returns a shell command that extracts an archive.
fn extracts(kind: ArchiveKind, archive: &Path) -> String {
    let is_stdin = archive == Path::new(STANDARD_INPUT);
    let file = if is_stdin { "FILE".to_owned() } else { quoted(&archive.to_string_lossy()) };
    match kind {
        ArchiveKind::Zip => format!("unzip {file}"),
        ArchiveKind::Tar => format!("tar -xf {file}"),
    }
}

/// Returns the hint for a member whose name can't be used.
fn renamed(kind: ArchiveKind) -> String {
    format!("give the file another name, and pack it into a new {kind} archive")
}
