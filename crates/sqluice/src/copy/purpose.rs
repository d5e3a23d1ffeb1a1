//! The purpose of a copy, and its settings.
//!
//! | purpose | page size | pages | journal mode | auto_vacuum | in addition |
//! |---|---|---|---|---|---|
//! | http | 4096 | packed, interior pages first | delete | none | |
//! | datasette | | packed | delete | none | a file for `--inspect-file` |
//! | turso | 4096 | packed | wal | none | text must be UTF-8 |
//! | d1 | refused | refused | refused | refused | a folder of SQL files instead of a database (`sql_pieces`) |
//! | mobile | 4096 | packed | delete | | `user_version` is reported: Room, Android's library for SQLite, compares it with the version of its schema |
//!
//! An empty cell leaves the setting to the user, "packed" sets `compact`, and "refused" means that the user may not give the setting. If
//! the user gives another value than that of a cell, the purpose either allows the value or refuses the copy ([`Must`]).

use std::fmt;

use serde::Serialize;
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_engine::output::Wanted;
use sqluice_format::database::Header;
use sqluice_format::page::PageSize;

use super::{AutoVacuum, Copy, JournalMode};

/// The use that a copy is prepared for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Purpose {
    /// Readers that fetch ranges of the file over HTTP.
    Http,
    /// A website of [Datasette](https://datasette.io), which serves databases.
    Datasette,
    /// An import into Turso.
    Turso,
    /// An import into Cloudflare D1, by SQL statements.
    D1,
    /// An app that ships with the database.
    Mobile,
}

/// A setting that the purpose of a copy is about, with its value in the copy: that of the purpose, or another one that the user has given
/// and the purpose allows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ChosenSetting {
    /// The setting, such as `page_size`.
    pub name: &'static str,
    /// The value.
    pub value: String,
    /// The reason for the value.
    pub why: &'static str,
}

impl Purpose {
    pub(super) const WORDS: [(&str, Purpose); 5] = [
        ("http", Purpose::Http),
        ("datasette", Purpose::Datasette),
        ("turso", Purpose::Turso),
        ("d1", Purpose::D1),
        ("mobile", Purpose::Mobile),
    ];

    /// Returns the name of the purpose, as users write it.
    pub fn name(self) -> &'static str {
        Purpose::WORDS[self as usize].0
    }
}

/// The page size of the purposes that choose one, in bytes.
const PAGE_BYTES: u32 = 4096;

/// The text encoding UTF-8 in the header.
const UTF_8: u32 = 1;

/// A copy to which the settings of its purpose have been applied, and the list of these settings.
pub(super) struct Settled {
    pub(super) copy: Copy,
    /// The new file.
    pub(super) wanted: Wanted,
    pub(super) chosen: Vec<ChosenSetting>,
}

/// The effect of a value of the user that differs from the value of the purpose.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Must {
    /// The copy is refused, because the setting must have the value of the purpose.
    Be,
    /// The value of the user is used, because the purpose only has a default.
    Default,
}

impl Settled {
    /// Applies the settings of the purpose to a copy. Without a purpose, the copy stays unchanged.
    ///
    /// # Errors
    /// If a setting contradicts the purpose.
    pub(super) fn new(copy: &Copy) -> Result<Settled> {
        let mut settled = Settled { copy: copy.clone(), wanted: copy.wanted(), chosen: Vec::new() };
        let Some(purpose) = copy.purpose else { return Ok(settled) };
        match purpose {
            Purpose::Http => {
                settled.page_size(Must::Default, "a request fetches little more than it needs")?;
                settled.pack("fewer pages to fetch");
                settled.interior_first("a lookup needs fewer requests");
                settled.journal_mode(JournalMode::Delete, "a reader without a file system has no log")?;
                settled.auto_vacuum(Must::Be, "interior pages are first instead of pointer maps")?;
            }
            Purpose::Datasette => {
                settled.pack("Datasette serves it as immutable");
                settled.journal_mode(JournalMode::Delete, "an immutable file has no log")?;
                settled.auto_vacuum(Must::Default, "an immutable file has no free pages")?;
            }
            Purpose::Turso => {
                settled.page_size(Must::Be, "Turso imports no other")?;
                settled.pack("less to upload");
                settled.journal_mode(JournalMode::Wal, "Turso imports no other")?;
                settled.auto_vacuum(Must::Be, "Turso imports no other")?;
            }
            Purpose::Mobile => {
                settled.page_size(Must::Default, "the size of a page of most devices")?;
                settled.pack("less to ship");
                settled.journal_mode(JournalMode::Delete, "the app copies a single file")?;
            }
            Purpose::D1 => settled.refuse_file_settings()?,
        }
        Ok(settled)
    }

    /// Checks the source: refuses a source that the purpose does not allow, and records the settings that follow from the source.
    ///
    /// # Errors
    /// If the text of the source has another encoding than the purpose allows.
    pub(super) fn look_at(&mut self, source: &Header) -> Result<()> {
        match self.copy.purpose {
            Some(Purpose::Turso) if source.used_text_encoding() != UTF_8 => {
                let message =
                    format!("text in {} is UTF-16; Turso imports UTF-8", self.copy.source.display());
                Err(Error::input(message).hint("load its tables into a new database, which is UTF-8"))
            }
            Some(Purpose::Mobile) => {
                let version = self.copy.user_version.unwrap_or(source.user_version.cast_signed());
                let why = match version {
                    0 => "not set: Room expects the version of its schema",
                    _ => "Room expects the version of its schema",
                };
                self.choose(Setting::UserVersion, &version, why);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn choose(&mut self, setting: Setting, value: &dyn fmt::Display, why: &'static str) {
        let (name, value) = (setting.name(), value.to_string());
        self.chosen.push(ChosenSetting { name, value, why });
    }

    /// Returns the value that the user has set, or else the value of the purpose. Records the returned value as a [`ChosenSetting`].
    fn settle<T: PartialEq + fmt::Display>(
        &mut self,
        (setting, given): (Setting, Option<T>),
        (wanted, must): (T, Must),
        why: &'static str,
    ) -> Result<T> {
        let purpose = self.copy.purpose.map_or("", Purpose::name);
        match given {
            Some(given) if given != wanted && must == Must::Be => {
                let (given, wanted) = (given.to_string(), wanted.to_string());
                let message =
                    message![setting.to(&given), format!(" is not possible in a copy for {purpose}")];
                Err(Error::usage(message).hint(message!["leave it out, or choose ", setting.to(&wanted)]))
            }
            Some(given) => {
                self.choose(setting, &given, if given == wanted { why } else { "as asked for" });
                Ok(given)
            }
            None => {
                self.choose(setting, &wanted, why);
                Ok(wanted)
            }
        }
    }

    fn page_size(&mut self, must: Must, why: &'static str) -> Result<()> {
        let given = self.copy.page_size.map(|size| size.bytes() as u32);
        let bytes = self.settle((Setting::PageSize, given), (PAGE_BYTES, must), why)?;
        self.copy.page_size = PageSize::new(bytes);
        Ok(())
    }

    fn journal_mode(&mut self, wanted: JournalMode, why: &'static str) -> Result<()> {
        let given = self.copy.journal_mode;
        self.copy.journal_mode = Some(self.settle((Setting::JournalMode, given), (wanted, Must::Be), why)?);
        Ok(())
    }

    fn auto_vacuum(&mut self, must: Must, why: &'static str) -> Result<()> {
        let given = self.copy.auto_vacuum;
        self.copy.auto_vacuum =
            Some(self.settle((Setting::AutoVacuum, given), (AutoVacuum::None, must), why)?);
        Ok(())
    }

    fn pack(&mut self, why: &'static str) {
        self.copy.compact = true;
        self.choose(Setting::Compact, &true, why);
    }

    fn interior_first(&mut self, why: &'static str) {
        self.copy.interior_first = true;
        self.choose(Setting::InteriorFirst, &true, why);
    }

    /// Refuses settings of a database file, such as the page size, if the copy is written as SQL statements.
    fn refuse_file_settings(&self) -> Result<()> {
        let Copy { page_size, journal_mode, auto_vacuum, user_version, application_id, .. } = &self.copy;
        let given = [
            (Setting::PageSize, page_size.is_some()),
            (Setting::JournalMode, journal_mode.is_some()),
            (Setting::AutoVacuum, auto_vacuum.is_some()),
            (Setting::UserVersion, user_version.is_some()),
            (Setting::ApplicationId, application_id.is_some()),
            (Setting::InteriorFirst, self.copy.interior_first),
            (Setting::Compact, self.copy.compact),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((setting, _)) => {
                Err(Error::usage(message![*setting, " has no meaning for D1, which imports SQL statements"]))
            }
            None => Ok(()),
        }
    }
}
