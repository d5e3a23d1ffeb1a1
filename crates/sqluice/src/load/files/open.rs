//! Opens the files of a load: a sample of each shows what the file is, which columns it has, and what its values could be.

#[cfg(feature = "parquet")]
mod columnar;
mod csv;
mod database;
mod json;

use std::io::Read;
use std::path::Path;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::remote::RemoteFile;
use sqluice_format::database::MAGIC;
use sqluice_sources::input::{self, InputFile, InputOptions};

use super::database::is_database;
use super::file::LoadFile;
use super::format::FileFormat;
use crate::load::request::Request;
use crate::load::request::options::NameFrom;
use crate::remote;

/// Opens a file, of which at most `rows_max` rows are loaded: one file, but for a database one for each of its tables.
pub(crate) fn open(path: &Path, load: &Request, cancel: &Cancel, rows_max: u64) -> Result<Vec<LoadFile>> {
    let options = InputOptions::new().encoding(load.format.encoding).cancel(cancel.clone());
    let guesses = load.format.kind.is_none();
    if let Some(file) = remote::file(path, &load.write.requests, cancel)? {
        if guesses && begins_as_database(&*file)? {
            return database::open(path, load, cancel, rows_max);
        }
        let input = InputFile::of_remote(file, options)?;
        // A URL may have a query after the name of the file.
        let name = input.name().to_owned();
        return open_file(&name, input, load, rows_max).map(|file| vec![file]);
    }
    if guesses && is_database(path) {
        return database::open(path, load, cancel, rows_max);
    }
    open_file(path, InputFile::new(path, options)?, load, rows_max).map(|file| vec![file])
}

/// Whether a file behind a URL is a database, by its first bytes. Of a server without ranges, only a file that is called so is asked for them.
fn begins_as_database(file: &dyn RemoteFile) -> Result<bool> {
    let bytes = MAGIC.len() as u64;
    if file.has_ranges() {
        return Ok(file.bytes() >= Some(bytes) && file.read(0..bytes)? == MAGIC);
    }
    let extension = file.name().extension().unwrap_or_default();
    if !["db", "sqlite", "sqlite3"].iter().any(|known| extension.eq_ignore_ascii_case(known)) {
        return Ok(false);
    }
    let mut start = Vec::new();
    let read = file.stream()?.take(bytes).read_to_end(&mut start);
    read.map_err(|error| Error::from_read(file.name(), error))?;
    Ok(start == MAGIC)
}

fn open_file(path: &Path, mut input: InputFile, load: &Request, rows_max: u64) -> Result<LoadFile> {
    // Before the wait for a pipe begins.
    let table = table_name(path, input.name(), load)?;
    load.refuse_table(&table)?;
    let format = FileFormat::of(&mut input, path, load)?;
    let file = LoadFile::new(table, input, format.name());
    let mut file = match format {
        FileFormat::Csv => csv::open(path, file, load, rows_max)?,
        FileFormat::Json(layout) => json::open(file, layout, load, rows_max)?,
        #[cfg(feature = "parquet")]
        FileFormat::Parquet | FileFormat::Arrow => columnar::open(file, format, load, rows_max)?,
        #[cfg(not(feature = "parquet"))]
        FileFormat::Parquet | FileFormat::Arrow => {
            let what = format!("{} is {}, which this build does not read", file.name(), format.words());
            return Err(Error::without_feature(what, "parquet"));
        }
    };
    file.find_conversions(load)?;
    file.input.forget_sample();
    Ok(file)
}

/// The table of the file at `path`, which messages call `name`.
fn table_name(path: &Path, name: &Path, load: &Request) -> Result<String> {
    let of_file = || match load.name_from {
        NameFrom::File => input::stem(path),
        NameFrom::Path => input::stem_with_folders(path, &load.shared_folder),
    };
    let named = load.table.clone().or_else(of_file).filter(|table| !table.contains('\0'));
    named.ok_or_else(|| {
        Error::usage(format!("no table can be named after {}", name.display()))
            .hint(message!["name it: ", Setting::Table.to("NAME")])
    })
}
