//! The walk over a dump of MySQL or PostgreSQL: its declarations are translated to SQLite's SQL, and its rows are written as pages.
//!
//! A server may dump several databases into one file. A load takes only one of them.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sqluice_core::error::{Error, Message, Place, Result, Setting, message};
use sqluice_core::progress::Context;
use sqluice_core::remote::is_server;
use sqluice_core::schema::{Column, Schema, Table};
use sqluice_core::similar;
use sqluice_core::source::columns::Constant;
use sqluice_sources::dump::lex::is_word;
use sqluice_sources::dump::rows::{Shape, TableRows};
use sqluice_sources::dump::split::{Item, RowsOfItem, Script};
use sqluice_sources::dump::translate::{self, Translated, TranslatedColumn, TranslatedTable, Translator};
use sqluice_sources::dump::{Conversion, Dialect, DumpFile, Header, Lines, recognise};

use super::super::files::default_value;
use super::super::request::options::Load;
use super::selection::{self, Selection};
use super::walk::Walked;

/// The maximum number of notes about differences. Further notes are only counted.
const NOTES_MAX: usize = 20;

/// The index in the schema of the table that rows fill, and the shape of the rows; `None` if the table is not loaded.
type Filled = Option<(usize, Arc<Shape>)>;

/// The statements of one database of a dump.
struct Database<'d> {
    translator: Translator,
    /// The rows. Each item has the schema of PostgreSQL to which an unqualified table name refers at this place of the dump.
    rows: Vec<(&'d RowsOfItem, Option<String>)>,
    declares: bool,
}

/// Walks over all statements. `with_nan` has the columns (table and column in SQLite) whose NOT NULL is left out, because they get NULL
/// for NaN.
pub(super) fn walk(
    load: &Load,
    file: &DumpFile,
    (script, dialect): (&Script, Dialect),
    with_nan: &[(String, String)],
    context: &Context<'_>,
) -> Result<Walked> {
    refuse_cut_off(load, file)?;
    let language = match dialect {
        Dialect::MySql => translate::Dialect::MySql,
        _ => translate::Dialect::Postgres,
    };
    // The databases in the order of the dump. The name is `None` for the statements before the dump names a database: for all of them, if
    // it names none.
    let mut databases: Vec<(Option<String>, Database<'_>)> = Vec::new();
    let mut current = enter(&mut databases, None, language);
    let mut lines = Lines::new(file);
    for item in &script.items {
        context.cancel.check()?;
        match item {
            Item::Rows(rows) => {
                let schema = databases[current].1.translator.schema().map(str::to_owned);
                databases[current].1.rows.push((rows, schema));
            }
            Item::Statement(range) => {
                let sql = statement_text(file, script, range)?;
                if let Some(name) = database_of(&sql, dialect) {
                    current = enter(&mut databases, Some(name), language);
                    continue;
                }
                let database = &mut databases[current].1;
                database.declares |= declares_table(&sql);
                let taken = database.translator.take(&sql, lines.at(range.start)?);
                taken.map_err(|error| with_file(error, file.name_at(range.start)))?;
            }
            Item::Command(range) => {
                let line = file.text(range.clone())?;
                let mut words = line.split_whitespace();
                match words.next().unwrap_or_default() {
                    "\\connect" | "\\c" => {
                        let name = words.find(|word| !word.starts_with('-')).unwrap_or_default();
                        let name = name.trim_end_matches(';').trim_matches('"').trim_matches('\'').to_owned();
                        current = enter(&mut databases, Some(name), language);
                    }
                    "\\restrict" | "\\unrestrict" | "\\encoding" => {}
                    command => {
                        let message =
                            format!("{command} is a command of the shell psql, which is not run here");
                        return Err(Error::input(message)
                            .at(file.place(range.start))
                            .hint("take the line out, if the rows do not need it"));
                    }
                }
            }
        }
    }
    let mut database = choose(load, file, databases)?;
    with_nan.iter().for_each(|(table, column)| database.translator.note_nan(table, column));
    finish(load, file, script, database)
}

/// Refuses a dump without the last line that its program always writes, unless `commit_anyway` is set: the dump was cut off, and rows may
/// be missing.
fn refuse_cut_off(load: &Load, file: &DumpFile) -> Result<()> {
    const BYTES: usize = 1000;
    for part in file.files().filter(|_| !load.commit_anyway) {
        let bytes = (part.end - part.start).min(BYTES as u64);
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        file.read(part.start, bytes as usize, &mut head)?;
        file.read(part.end - bytes, bytes as usize, &mut tail)?;
        if recognise::is_cut_off(&head, &tail) {
            let cut = "the dump was cut off: its last line, which says that it is complete, is missing";
            return Err(Error::input(cut)
                .at(file.place(part.end))
                .hint(message!["make the dump again, or load what it has: ", Setting::CommitAnyway]));
        }
    }
    Ok(())
}

/// Returns the index of a database in `databases`. A new database is added.
fn enter(
    databases: &mut Vec<(Option<String>, Database<'_>)>,
    name: Option<String>,
    language: translate::Dialect,
) -> usize {
    if let Some(at) = databases.iter().position(|(known, _)| *known == name) {
        return at;
    }
    let database = Database { translator: Translator::new(language), rows: Vec::new(), declares: false };
    databases.push((name, database));
    databases.len() - 1
}

/// Returns the database of the dump to load: the one that the user names, or the only one with tables.
fn choose<'d>(
    load: &Load,
    file: &DumpFile,
    databases: Vec<(Option<String>, Database<'d>)>,
) -> Result<Database<'d>> {
    let filled: Vec<(Option<String>, Database<'d>)> = databases
        .into_iter()
        .filter(|(_, database)| database.declares || !database.rows.is_empty())
        .collect();
    let names: Vec<String> = filled.iter().filter_map(|(name, _)| name.clone()).collect();
    let place = || Place::file(file.name());
    if let Some(wanted) = &load.database {
        let found = filled.into_iter().find(|(name, _)| name.as_ref() == Some(wanted));
        return found.map(|(_, database)| database).ok_or_else(|| {
            let message = format!("the dump has no database {wanted} with tables");
            let names = names.iter().map(String::as_str);
            Error::usage(message).at(place()).hint(similar::hint(wanted, names))
        });
    }
    if filled.len() > 1 {
        let message = format!("the dump has {} databases with tables: {}", filled.len(), names.join(", "));
        let one = names.first().cloned().unwrap_or_default();
        return Err(Error::usage(message)
            .at(place())
            .hint(message!["choose one: ", Setting::Database.to(one)]));
    }
    filled.into_iter().next().map(|(_, database)| database).ok_or_else(|| {
        Error::input("this SQL makes no table")
            .at(place())
            .hint("a dump has CREATE TABLE and INSERT statements")
    })
}

/// Returns the result of the walk: the declarations and rows of a database.
fn finish(load: &Load, file: &DumpFile, script: &Script, database: Database<'_>) -> Result<Walked> {
    let Translated { statements, tables, left_out, notes, .. } =
        database.translator.finish().map_err(|error| match file.files().count() {
            1 => with_file(error, file.name()),
            // With several files, it is unknown to which of them the line belongs.
            _ => error.at(Place::file(file.name())),
        })?;
    let mut schema = Schema::parse(statements.join(";\n"), file.name())?;
    for table in tables.iter().filter(|table| table.largest_given.is_some()) {
        if let Some(place) = schema.place(&table.into) {
            schema.tables[place].largest_given = table.largest_given;
        }
    }
    let named = named_tables(load, &tables);
    let all_tables: Vec<String> = schema.tables.iter().map(|table| table.name.clone()).collect();
    let selection = Selection::new(&named, file, &all_tables, &[])?;
    let selects = !named.is_empty();
    let mut lost_parents = Vec::new();
    if selects {
        selection.keep_in(&mut schema);
        lost_parents = selection.lost_parents(&schema, &all_tables);
    }
    let mut known: HashMap<(Option<&str>, &str), &TranslatedTable> = HashMap::new();
    for table in &tables {
        known.insert((table.schema.as_deref(), &table.name), table);
        known.entry((None, &table.name)).or_insert(table);
    }
    let is_signed = recognise::is_signed(&beginning(file)?);
    let mut rows: Vec<TableRows> = schema.tables.iter().map(|_| TableRows::default()).collect();
    let mut shapes: HashMap<(usize, Option<&str>), Filled> = HashMap::new();
    let (mut unknown, mut unselected) = (0, HashSet::new());
    for (of_item, path) in &database.rows {
        let header = &script.headers[of_item.header];
        let key = (of_item.header, path.as_deref());
        if let Entry::Vacant(new) = shapes.entry(key) {
            let schema_name = header.schema.as_deref().or(path.as_deref());
            let found =
                known.get(&(schema_name, &*header.table)).or_else(|| known.get(&(None, &*header.table)));
            let shape = match found {
                Some(table) if selects && !selection.has(&table.into) => {
                    unselected.insert(key);
                    None
                }
                Some(table) => Some(shape((file, is_signed), of_item, header, table, &schema)?),
                None if left_out.iter().any(|left| left.name == header.table) => None,
                None => {
                    let message = format!("the dump has rows for {}, and does not create it", header.table);
                    return Err(Error::input(message)
                        .at(file.place(of_item.range.start))
                        .hint("dump the declarations, too, not only the rows"));
                }
            };
            new.insert(shape);
        }
        let pieces = &script.pieces[of_item.pieces.clone()];
        match &shapes[&key] {
            Some((table, shape)) => {
                rows[*table].pieces.extend(pieces.iter().map(|piece| (*piece, Arc::clone(shape))));
                rows[*table].sent.extend(of_item.sent.map(|number| (number, Arc::clone(shape))));
            }
            None if unselected.contains(&key) => {}
            None => unknown += pieces.iter().map(|piece| piece.rows).sum::<u64>(),
        }
    }
    // The user has no file with the declarations of a server, so line numbers would be meaningless.
    let has_lines = !is_server(file.name());
    let mut all_notes: Vec<Message> = left_out
        .iter()
        .map(|left| {
            let line = if has_lines { format!(" (line {})", left.line) } else { String::new() };
            format!("left out: {} {}{line}: {}", left.kind, left.name, left.why).into()
        })
        .collect();
    all_notes.extend(selection::notes(&lost_parents));
    all_notes.extend(notes.iter().map(|note| match has_lines {
        true => Message::from(format!("line {}: {}", note.line, note.text)),
        false => Message::from(note.text.to_string()),
    }));
    if all_notes.len() > NOTES_MAX {
        let more = all_notes.len() - NOTES_MAX;
        all_notes.truncate(NOTES_MAX);
        all_notes.push(format!("{more} more notes of this kind").into());
    }
    if unknown > 0 {
        all_notes.push(format!("{unknown} rows of left-out tables are not loaded").into());
    }
    Ok(Walked {
        schema,
        rows: rows.into_iter().map(Arc::new).collect(),
        last: Vec::new(),
        rows_by_sqlite: 0,
        foreign_keys: false,
        writes_schema: false,
        by_pages: true,
        asks_session: false,
        ignores_checks: false,
        page_size: None,
        selects,
        notes: all_notes,
    })
}

/// Returns SQLite's names of the tables that the user names, by these names or with their schema: `sales.orders`.
fn named_tables(load: &Load, tables: &[TranslatedTable]) -> Vec<String> {
    let named = load.tables.iter().map(|name| {
        let (schema, of_schema) = name.split_once('.').unwrap_or_default();
        let mut found = tables.iter().filter(|table| {
            // A partition is loaded into the table of its parent, so its name in SQLite is that of the parent.
            let is_whole = table.into == table.name || table.into == format!("{schema}_{of_schema}");
            is_whole && table.name == of_schema && table.schema.as_deref() == Some(schema)
        });
        found.next().map_or(name, |table| &table.into).clone()
    });
    named.collect()
}

/// Returns the first bytes of a dump, in which the program that wrote the dump names itself.
fn beginning(file: &DumpFile) -> Result<Vec<u8>> {
    const BYTES: usize = 1000;
    let mut head = Vec::new();
    file.read(0, BYTES, &mut head)?;
    Ok(head)
}

/// Returns the index of the table that rows fill, and the shape of the rows. `is_signed` is `true` if the dump names the program that wrote
/// it: its dates and times are then in the notation in which servers print them, and need no conversion.
fn shape(
    (file, is_signed): (&DumpFile, bool),
    rows: &RowsOfItem,
    header: &Header,
    from: &TranslatedTable,
    schema: &Schema,
) -> Result<(usize, Arc<Shape>)> {
    let refused = |message: String| Error::input(message).at(file.place(rows.range.start));
    let place = schema.place(&from.into);
    let place = place.ok_or_else(|| refused(format!("table {} was not translated", from.name)))?;
    let table: &Table = &schema.tables[place];
    let columns: Vec<&TranslatedColumn> = match &header.columns {
        None => from.columns.iter().collect(),
        Some(names) => {
            let find = |name: &String| {
                let same = |column: &&TranslatedColumn| {
                    column.name == *name
                        || rows.rules.dialect == Dialect::MySql && column.name.eq_ignore_ascii_case(name)
                };
                let found = from.columns.iter().find(same);
                found.ok_or_else(|| refused(format!("table {} has no column {name}", from.name)))
            };
            names.iter().map(find).collect::<Result<Vec<_>>>()?
        }
    };
    // COPY without a list of columns leaves out generated columns.
    let columns =
        columns.into_iter().filter(|column| !(rows.copy && header.columns.is_none() && column.generated));
    let columns: Vec<&TranslatedColumn> = columns.collect();
    let target = |column: &&TranslatedColumn| {
        let into = column.into.as_deref().filter(|_| !column.generated)?;
        table.column(into).filter(|&into| table.columns[into].generated.is_none())
    };
    let targets: Vec<Option<usize>> = columns.iter().map(target).collect();
    let no_default = |column: &Column| {
        let of_dump = from.columns.iter().find(|of_dump| of_dump.into.as_ref() == Some(&column.name))?;
        Some((&of_dump.name, of_dump.no_default.as_ref()?))
    };
    let mut default_values = Vec::new();
    for column in &table.columns {
        default_values.push(match &column.default {
            _ if no_default(column).is_some() => None,
            Some(sql) if column.generated.is_none() => {
                Some(default_value::evaluated(sql).map_err(|error| {
                    refused(format!("SQLite does not know the DEFAULT {sql} of {}", from.name)).because(error)
                })?)
            }
            _ => Some(Constant::Null),
        });
    }
    let mut defaults = vec![None; table.columns.len()];
    for (index, column) in table.columns.iter().enumerate() {
        if targets.contains(&Some(index)) {
            continue;
        }
        if let Some((name, why)) = no_default(column) {
            let message = format!(
                "these rows leave out {}.{name}, whose DEFAULT SQLite does not know: {why}",
                from.name
            );
            return Err(refused(message)
                .of_column(name)
                .hint("name the column and write its values, or take the DEFAULT out of CREATE TABLE"));
        }
        defaults[index].clone_from(&default_values[index]);
    }
    let mut refuses_null = vec![None; table.columns.len()];
    for (column, target) in columns.iter().zip(&targets) {
        if let (Conversion::Float, Some(target)) = (&column.conversion, target) {
            let Column { name, not_null, .. } = &table.columns[*target];
            refuses_null[*target] = not_null.then(|| name.clone());
        }
    }
    let conversion = |column: &&TranslatedColumn| match &column.conversion {
        Conversion::Civil { .. } if is_signed => Conversion::None,
        conversion => conversion.clone(),
    };
    let conversions: Vec<Conversion> = columns.iter().map(conversion).collect();
    let shape = Shape {
        rules: rows.rules,
        copy: rows.copy,
        conversions: match conversions.iter().any(|conversion| *conversion != Conversion::None) {
            true => conversions,
            false => Vec::new(),
        },
        table: from.name.clone(),
        into: table.name.clone(),
        defaults,
        default_values,
        columns: table
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| (column.affinity, table.rowid_alias == Some(index)))
            .collect(),
        targets,
        refuses_null,
    };
    Ok((place, Arc::new(shape)))
}

/// Returns the text of a statement, which has the encoding that the dump declares before the statement.
fn statement_text(file: &DumpFile, script: &Script, range: &Range<u64>) -> Result<String> {
    let mut bytes = Vec::new();
    file.read(range.start, (range.end - range.start) as usize, &mut bytes)?;
    let mut sql = script.decoded(range.start, &bytes).into_owned();
    // MySQL executes the statement in a comment such as `/*!40101 ... */`. `range` begins after the number, so only the end of the
    // comment must be removed.
    if !sql.contains("/*") && sql.trim_end().ends_with("*/") {
        sql.truncate(sql.trim_end().len() - "*/".len());
    }
    Ok(sql)
}

/// Returns the database that a MySQL statement `USE x` selects; `None` for any other statement.
fn database_of(sql: &str, dialect: Dialect) -> Option<String> {
    if dialect != Dialect::MySql {
        return None;
    }
    let rest = sql.get(..3).filter(|word| word.eq_ignore_ascii_case("use")).map(|_| sql[3..].trim())?;
    let begins = sql.as_bytes().get(3).is_some_and(|byte| !is_word(*byte));
    begins.then(|| rest.trim_matches('`').replace("``", "`"))
}

/// Returns `true` if a statement creates a table.
fn declares_table(sql: &str) -> bool {
    let words: Vec<&str> = sql.split_whitespace().take(3).collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|is| is.eq_ignore_ascii_case(word));
    is(0, "CREATE") && (is(1, "TABLE") || is(2, "TABLE"))
}

/// Adds the name of the file to an error whose place has only a line.
fn with_file(error: Error, name: &Path) -> Error {
    match error.place().and_then(|place| place.line) {
        Some(line) => error.at(Place { line: Some(line), ..Place::file(name) }),
        None => error.at(Place::file(name)),
    }
}
