//! What is in an archive, and one file of it, without a folder to unpack to.

use std::io::Write;
use std::path::Path;

use super::name::shown;
use super::restore::Failed;
use super::rows::{Archive, BadItem};
use super::unpack::write_content;
use super::{Kind, Layout, Refusal, Selection};
use crate::error::{Error, Result};
use crate::progress::Cancel;

/// A row of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name, of whatever bytes.
    pub name: Vec<u8>,
    /// What it stands for.
    pub kind: Kind,
    /// As `st_mode`, if it has one.
    pub mode: Option<u32>,
    /// When it was changed, in seconds since 1970, if that is known.
    pub mtime: Option<i64>,
    /// Bytes of the file; 0 for what is none.
    pub bytes: u64,
}

/// Gives all rows of the archive in `database` to `take`, in the order of their rowids; those that can't be understood as refusals. Data are not
/// read.
///
/// # Errors
/// When the database can't be read, or `take` says so.
pub fn list(
    database: &Path,
    layout: Option<Layout>,
    selection: &Selection,
    cancel: &Cancel,
    mut take: impl FnMut(Result<Listed, Refusal>) -> Result<()>,
) -> Result<()> {
    let (archive, connections) = Archive::open(database, layout, 1)?;
    let Some(rowids) = archive.rowids else { return Ok(()) };
    archive.read(&connections[0], rowids, false, |_, item| {
        cancel.check()?;
        match item {
            Ok(item) if !selection.takes(&item.name) => Ok(()),
            Ok(item) => take(Ok(Listed {
                name: item.name.into_owned(),
                kind: item.kind,
                mode: item.mode,
                mtime: item.mtime,
                bytes: item.bytes,
            })),
            Err(BadItem { name, why }) => take(Err(Refusal { name, why })),
        }
    })
}

/// Writes the file that is called `name` to `to`; returns how many bytes it has. A broken archive may be noticed when a part of it is written.
///
/// # Errors
/// When there is no such file, it is broken, or can't be written.
pub fn write_file(database: &Path, layout: Option<Layout>, name: &[u8], to: &mut dyn Write) -> Result<u64> {
    let (archive, connections) = Archive::open(database, layout, 1)?;
    let mut bytes = 0;
    let found = archive.find_name(&connections[0], name, |item| {
        let refused = |why: &str| Error::input(format!("{}: {why}", shown(name)));
        let item = item.map_err(|bad| refused(&bad.why))?;
        match item.kind {
            Kind::File => {}
            Kind::Folder => return Err(refused("it is a folder")),
            Kind::Link => return Err(refused(&format!("it is a link to {}", shown(item.data)))),
        }
        bytes = item.bytes;
        write_content(&item, &mut None, to).map_err(|failed| match failed {
            Failed::Refused(why) => refused(&why),
            Failed::Ends(error) => Error::target("cannot write").because(error),
        })
    })?;
    if found {
        return Ok(bytes);
    }
    Err(Error::input(format!("{} has no row of the name {}", database.display(), shown(name)))
        .hint("unpack --list tells the names"))
}
