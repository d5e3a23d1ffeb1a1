//! Opens the files of a load. A sample of each file shows its format, its columns, and the possible types of its values.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::progress::{Cancel, Context};
use sqluice_core::remote::RemoteFile;
use sqluice_engine::options::IfExists;
use sqluice_format::database::MAGIC;
use sqluice_reader::snapshot::ReadOptions;
use sqluice_sources::formats::{self, FileFormat, FormatOptions, OpenRequest};
use sqluice_sources::input::foreign::DATABASE_IN_STREAM;
use sqluice_sources::input::{self, InputFile};

use super::file::LoadFile;
use crate::load::inputs::choice::{DATABASE, DUMP, PROSE};
use crate::load::inputs::input::LoadInput;
use crate::load::request::options::NameFrom;
use crate::load::request::{Request, key_specs};
use crate::remote;

/// The divisor of the memory that gives the limit for a single record, which exists as read, unescaped and encoded at the same time.
const RECORD_SHARE: u64 = 8;

/// The result of opening a file.
pub(crate) enum Found {
    /// The tables of the file: all those of a database, or a single one for a file of any other format.
    Tables(Vec<LoadFile>),
    /// A dump, which makes a whole database.
    Dump(Box<InputFile>),
    /// A file in a folder that is not loaded because of its content, with the reason. If the user names the file, it is loaded.
    LeftOut(Message),
}

/// Opens a file, of which at most `rows_max` rows are loaded.
pub(crate) fn open(from: &LoadInput, load: &Request, cancel: &Cancel, rows_max: u64) -> Result<Found> {
    let path = &*from.path;
    let file = match from.remote() {
        Some(file) => Some(Arc::clone(file)),
        None if from.is_member() => None,
        None => remote::file(path, &load.write.requests, cancel)?,
    };
    let mut options = load.format.clone();
    if let Some(file) = &file
        && options.format.is_none()
        && begins_as_database(&**file)?
    {
        options.format = Some(&formats::SQLITE);
    }
    let open_input = || {
        let options = load.input_options(cancel);
        match &file {
            Some(file) if from.remote().is_none() => InputFile::of_remote(Arc::clone(file), options),
            _ => from.open(options),
        }
    };
    let mut input = open_input()?;
    // A URL may have a query after the name of the file, so the name without it decides the table.
    let named = if file.is_some() { input.name().to_owned() } else { path.to_owned() };
    let named_after = if file.is_some() { &named } else { &from.named_after };
    let named_in_messages = input.name().to_owned();
    let table = || {
        let table = table_name(from, named_after, &named_in_messages, load)?;
        load.refuse_table(&table)?;
        Ok(table)
    };
    // The name of a pipe's table is checked before the wait for its data, which may be long. If the format is not given, the data may be a
    // dump, which names its tables.
    if !input.can_reopen() && options.format.is_some_and(|format| !format.has_tables) {
        table()?;
    }
    let record_bytes_max = usize::try_from(load.write.memory_bytes / RECORD_SHARE).unwrap_or(usize::MAX);
    let format = formats::recognise(&mut input, &named, &options, record_bytes_max);
    if from.is_found
        && let Some(why) = why_not(&mut input, &named, &format, &options)?
    {
        return Ok(Found::LeftOut(why));
    }
    let is_database = |error: &Error| error.format() == Some(DATABASE_IN_STREAM);
    if from.is_member() && format.as_ref().is_err_and(is_database) {
        return Err(from.no_database_file(&named_in_messages));
    }
    let format = format?;
    if *format == formats::SQL {
        return Ok(Found::Dump(Box::new(input)));
    }
    let table = if format.has_tables { None } else { Some(table()?) };
    let declared = table.as_ref().and_then(|table| load.declared(table));
    let declared: Vec<&str> =
        declared.iter().flat_map(|table| &table.columns).map(|column| column.name.as_str()).collect();
    let open_database = || {
        if file.is_none() && (from.is_member() || !path.is_file()) {
            return Err(from.no_database_file(&named_in_messages));
        }
        let mut options = ReadOptions::new();
        options.busy_timeout = load.write.busy_timeout;
        options.requests = load.write.requests;
        remote::snapshot(path, &load.temp_folder()?, &options, &Context::default().cancel(cancel))
    };
    let opened = format.open(
        input,
        &OpenRequest {
            path: &named,
            options: &options,
            tables: &load.tables,
            columns: load.columns.as_deref(),
            declared: &declared,
            named: &named_columns(load),
            strict: load.strict,
            lossy: load.lossy,
            #[cfg(feature = "parquet")]
            arrow: load.arrow,
            rows_max,
            sample_bytes: load.write.tuning.sample_bytes,
            part_bytes: load.write.tuning.part_bytes,
            record_bytes_max,
            memory_bytes: load.write.memory_bytes,
            threads: load.write.threads.unwrap_or_else(cores),
            temp_folder: &|| load.temp_folder(),
            open_database: &open_database,
            open_again: &open_input,
            cancel,
        },
    )?;
    let mut files = Vec::with_capacity(opened.len());
    for opened in opened {
        let name = match (&opened.table, &table) {
            (Some(of_file), _) => of_file.clone(),
            (None, Some(table)) => table.clone(),
            (None, None) => table_name(from, named_after, opened.input.name(), load)?,
        };
        if format.has_tables {
            load.refuse_table(&name)?;
        }
        files.push(LoadFile::new(name, opened, load, rows_max)?);
    }
    Ok(Found::Tables(files))
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the columns that settings of the load name, except those in expressions.
fn named_columns(load: &Request) -> Vec<String> {
    let mut named: Vec<String> = load.columns.iter().flatten().cloned().collect();
    named.extend(load.types.iter().map(|(name, _)| name.clone()));
    named.extend(load.convert.iter().map(|(name, _)| name.clone()));
    named.extend(load.excluded.iter().cloned());
    named.extend(load.renames.iter().map(|(name, _)| name.clone()));
    named.extend(load.primary_key.iter().cloned());
    if let IfExists::Upsert(keys) = &load.write.if_exists {
        named.extend(keys.iter().cloned());
    }
    named.extend(key_specs::indexed(load));
    named
}

/// Returns `true` if a remote file has the extension and the first bytes of a SQLite database, and its server can't send ranges of the
/// file. Other files are not read.
fn begins_as_database(file: &dyn RemoteFile) -> Result<bool> {
    if file.has_ranges() {
        return Ok(false);
    }
    let extension = file.name().extension().unwrap_or_default();
    if !formats::SQLITE.extensions.iter().any(|known| extension.eq_ignore_ascii_case(known)) {
        return Ok(false);
    }
    let mut start = Vec::new();
    let read = file.stream()?.take(MAGIC.len() as u64).read_to_end(&mut start);
    read.map_err(|error| Error::from_read(file.name(), error))?;
    Ok(start == MAGIC)
}

/// Returns the reason to leave out a file in a folder because of its content; `None` if it is loaded.
fn why_not(
    input: &mut InputFile,
    path: &Path,
    format: &Result<&'static FileFormat>,
    options: &FormatOptions,
) -> Result<Option<Message>> {
    Ok(match format {
        Err(error) if error.format() == Some(DATABASE_IN_STREAM) => Some(DATABASE.into()),
        Err(error) => error.format().map(Into::into),
        Ok(format) if **format == formats::SQLITE => Some(DATABASE.into()),
        Ok(format) if **format == formats::SQL => Some(DUMP.into()),
        Ok(format) if **format == formats::CSV && formats::is_named_as_text(path) => {
            (!formats::has_columns(input, options)?).then(|| PROSE.into())
        }
        Ok(_) => None,
    })
}

/// Returns the name of the table for the file at `path`. Messages name the file `name`.
fn table_name(from: &LoadInput, path: &Path, name: &Path, load: &Request) -> Result<String> {
    let of_file = || match load.name_from {
        NameFrom::File if !from.with_folders => input::stem(path),
        NameFrom::File | NameFrom::Path => input::stem_with_folders(path, &load.shared_folder),
    };
    if load.tables.len() > 1 {
        let message = message![
            Setting::Table,
            format!(" names {} tables, and {} fills one", load.tables.len(), name.display())
        ];
        return Err(
            Error::usage(message).hint("name one table: several tables are chosen from a dump or a database")
        );
    }
    let named = load.one_table().map(str::to_owned).or_else(of_file).filter(|table| !table.contains('\0'));
    named.ok_or_else(|| {
        let message = format!("no table can be named after {}", name.display());
        // A file that the user has not named, but that is in a named folder, can be skipped: its error is a fault of the input.
        let error = if from.is_found { Error::input(message) } else { Error::usage(message) };
        error.hint(message!["name it: ", Setting::Table.to("NAME")])
    })
}
