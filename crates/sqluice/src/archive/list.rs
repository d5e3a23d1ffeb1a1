//! What is in an archive, and one file of it, without a folder to unpack to.

use std::io::Write;
use std::path::Path;

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
    /// Its name, of whatever bytes.
    pub name: Vec<u8>,
    /// What it stands for.
    pub kind: Kind,
    /// As `st_mode`, if it has one.
    pub mode: Option<u32>,
    /// When it was changed, in seconds since 1970, if that is known.
    pub mtime: Option<i64>,
    /// Bytes of the file; 0 for anything else.
    pub bytes: u64,
}

/// Gives all rows of the archive in `database` to `take`, in the order of their names; those that can't be understood as refusals. Data are not
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

/// Writes the file that is called `name` to `to`; returns how many bytes it has. A broken archive may be noticed when a part of it is written.
///
/// # Errors
/// When the file does not exist, is damaged, or can't be written.
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

/// A time in seconds since 1970 as SQLite's `datetime()` prints it, in UTC: `2026-11-21 23:36:36`; a number out of range as it is.
pub fn utc(seconds: i64) -> String {
    const DAY: i64 = 86_400;
    // From year 0 to year 9999, as SQLite's.
    if !(-62_167_219_200..=253_402_300_799).contains(&seconds) {
        return seconds.to_string();
    }
    let (day, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    // Days are counted from 1 March of year 0, so that leap days end years of 400, 100, 4 and 1.
    let day = day + 719_468;
    let (era, of_era) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_sqlite() {
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
