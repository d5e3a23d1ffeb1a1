//! Lists the members of an archive that a load reads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use sqluice_core::error::{Error, Result};
use sqluice_core::progress::{Amount, Context};
use sqluice_core::similar;
use sqluice_engine::plan::LeftOutFile;
use sqluice_sources::input::archive::{Archive, ArchiveKind, ArchiveLimits, Refusal};
use sqluice_sources::input::{InputFile, MemberPattern};

use super::Inputs;
use super::choice::{HIDDEN, hidden_part, why_not};
use super::input::LoadInput;
use crate::load::request::Request;

/// The divisor of the load's memory that gives the limit for the list of members.
const LIST_SHARE: u64 = 4;

/// Opens an archive, and lists its members.
pub(super) fn open(
    input: InputFile,
    kind: ArchiveKind,
    load: &Request,
    context: &Context<'_>,
) -> Result<Arc<Archive>> {
    let total = input.bytes().map(|bytes| Amount { rows: 0, bytes });
    context.progress.phase("list", total);
    let temp_folder = || load.temp_folder();
    let limits =
        ArchiveLimits { memory_bytes: load.write.memory_bytes / LIST_SHARE, temp_folder: &temp_folder };
    Archive::open(input, kind, &limits, context).map(Arc::new)
}

/// Lists the members of the archive at `path`: all of them, or those that `within` names. With `may_be_empty`, no member needs to match a
/// pattern.
pub(super) fn list(
    path: &Path,
    archive: &Arc<Archive>,
    within: Option<&Path>,
    may_be_empty: bool,
) -> Result<Inputs> {
    let within = within.filter(|within| within.components().next().is_some());
    let Some(within) = within else { return Ok(below(path, archive, "")) };
    let exact = slashes(within);
    // If several members have the same path, only the last one is read.
    let is_file = |index: &usize| {
        let member = &archive.members()[*index];
        !member.is_folder && member.refusal != Some(Refusal::Replaced)
    };
    let files = || (0..archive.members().len()).filter(is_file);
    // A name with a wildcard may be the exact name of a member, so a member of this name is looked for first.
    let mut found: Vec<usize> = files().filter(|&index| archive.members()[index].path == exact).collect();
    let mut is_wild = false;
    if found.is_empty() {
        let pattern = MemberPattern::new(within)?;
        is_wild = pattern.is_wild();
        found = files().filter(|&index| pattern.matches(&archive.members()[index].path)).collect();
    }
    if !found.is_empty() {
        let input = |&index: &usize| LoadInput::of_member(path, archive, index, false);
        let mut files: Vec<LoadInput> = found.iter().map(input).collect();
        files.sort_by(|one, other| one.path.cmp(&other.path));
        return Ok(Inputs { files, ..Inputs::default() });
    }
    let listed = below(path, archive, &format!("{exact}/"));
    if is_wild && may_be_empty {
        return Ok(Inputs::default());
    }
    if is_wild || listed.files.is_empty() && listed.left_out.is_empty() {
        return Err(no_member(archive, within, &exact, is_wild));
    }
    Ok(listed)
}

/// Lists the members whose paths begin with `folder`, by the rules for files in a folder.
fn below(path: &Path, archive: &Arc<Archive>, folder: &str) -> Inputs {
    let mut listed = Inputs::default();
    let mut hidden: Vec<PathBuf> = Vec::new();
    for (index, member) in archive.members().iter().enumerate() {
        let Some(relative) = member.path.strip_prefix(folder) else { continue };
        let relative = Path::new(relative);
        let name = || archive.member_name(index).display().to_string();
        if let Some(part) = hidden_part(relative) {
            let is_folder = member.is_folder || part != relative;
            let slash = if is_folder { "/" } else { "" };
            hidden.push(format!("{}/{folder}{}{slash}", archive.name().display(), part.display()).into());
            continue;
        }
        if member.is_folder {
            continue;
        }
        let why = match member.refusal {
            Some(Refusal::Replaced) => Some("a later file has the same name"),
            Some(Refusal::Special) => Some("a pipe, a socket or a device"),
            _ => why_not(relative),
        };
        match why {
            Some(why) => listed.left_out.push(LeftOutFile::new(name(), why)),
            None => listed.files.push(LoadInput::of_member(path, archive, index, true)),
        }
    }
    hidden.sort_unstable();
    hidden.dedup();
    let hidden = hidden.iter().map(|path| LeftOutFile::new(path.display().to_string(), HIDDEN));
    listed.left_out.extend(hidden);
    listed.files.sort_by(|one, other| one.path.cmp(&other.path));
    listed
}

/// Returns the error for a name that no member has, or for a pattern (`is_wild`) that no member matches.
fn no_member(archive: &Archive, within: &Path, exact: &str, is_wild: bool) -> Error {
    let name = archive.name().display();
    if is_wild {
        return Error::input(format!("no file matches {name}/{}", within.display()));
    }
    let is_shown = |path: &&str| hidden_part(Path::new(path)).is_none();
    let files = archive.members().iter().filter(|member| !member.is_folder);
    let error = Error::input(format!("{name} has no file {exact}")).about(archive.name());
    error.hint(similar::hint(exact, files.map(|member| member.path.as_str()).filter(is_shown)))
}

/// Returns the path of a member, with `/` between its parts.
fn slashes(within: &Path) -> String {
    let parts = within.components().filter(|part| *part != std::path::Component::CurDir);
    parts.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect::<Vec<_>>().join("/")
}
