//! Lists the rows of an archive, and reads one file, without unpacking to a folder.

use std::io::Write;
use std::path::Path;

use sqluice_core::calendar::{DAY_SECONDS, year_month_day};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;

use super::name::shown;
use super::restore::{EXISTS, Failed};
use super::rows::{Archive, BadItem};
use super::unpack::write_content;
use super::{Kind, Layout, Refusal, Selection};

/// A row of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Listed {
    /// The name, which may have any bytes.
    pub name: Vec<u8>,
    /// The kind of the row.
    pub kind: Kind,
    /// The mode as `st_mode`, if known.
    pub mode: Option<u32>,
    /// The modification time in seconds since 1970, if known.
    pub mtime: Option<i64>,
    /// The number of bytes of a file; 0 for other kinds.
    pub bytes: u64,
}

/// Passes the rows of the archive in `database` that `selection` takes to `take`, in the order of their names, without the contents of
/// files. A malformed row is passed as a [`Refusal`], also if `selection` does not take its name.
///
/// # Errors
/// If the database can't be read, or `take` returns an error.
pub fn list(
    database: &Path,
    layout: Option<Layout>,
    selection: &Selection,
    cancel: &Cancel,
    mut take: impl FnMut(Result<Listed, Refusal>) -> Result<()>,
) -> Result<()> {
    let (archive, connections) = Archive::open(database, layout, 1)?;
    archive.list(&connections[0], |item| {
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

/// Writes the content of the file `name` to `to`, and returns its number of bytes. A damaged file may be detected only after a part is
/// written.
///
/// # Errors
/// If the database can't be read, `name` is not a file of the archive, the file is damaged, or `to` can't be written.
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
            Failed::Refused(why) | Failed::InTheWay(why) => refused(&why),
            Failed::Exists => refused(EXISTS),
            Failed::Ends(error) => Error::target("cannot write").because(error),
        })
    })?;
    if found {
        return Ok(bytes);
    }
    Err(Error::input(format!("{} has no row of the name {}", database.display(), shown(name)))
        .hint(message![Setting::List, " prints the names"]))
}

/// Formats a time in seconds since 1970 like SQLite's `datetime()`, in UTC: `2026-11-21 23:36:36`. A time outside of the years 0 to 9999
/// is returned as the number of seconds.
pub fn utc(seconds: i64) -> String {
    // SQLite's range: from year 0 to year 9999.
    if !(-62_167_219_200..=253_402_300_799).contains(&seconds) {
        return seconds.to_string();
    }
    let (day, second) = (seconds.div_euclid(DAY_SECONDS), seconds.rem_euclid(DAY_SECONDS));
    let (year, month, date) = year_month_day(day);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_times_have_the_same_format_as_sqlites_datetime() {
        let sqlite = rusqlite::Connection::open_in_memory().unwrap();
        let ends = [-62_167_219_200, -62_162_035_200, -1, 0, 951_782_400, 1_700_000_000, 253_402_300_799];
        let many = (0..3000).map(|n| -62_167_219_200 + n * 105_189_827);
        for seconds in ends.into_iter().chain(many) {
            let said = sqlite.query_row("SELECT datetime(?1, 'unixepoch')", [seconds], |row| row.get(0));
            assert_eq!(Ok(utc(seconds)), said, "{seconds}");
        }
        assert_eq!(utc(i64::MAX), i64::MAX.to_string());
    }
}
