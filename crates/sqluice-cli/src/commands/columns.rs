//! Prints the columns of loaded tables and their types, with remarks on types that a user may not expect.

use std::borrow::Cow;

use sqluice::error::Setting;
use sqluice::plan::{ColumnReport, MissedType, NullMarkers};
use sqluice::report::TableReport;

use crate::printer::Printer;
use crate::quantities::{counted, grouped, listed};
use crate::terms;

/// The maximum number of tables listed without `--verbose`.
const TABLES_MAX: usize = 20;

/// The maximum number of remarks on types listed without `--verbose`.
const REMARKS_MAX: usize = 20;

/// The maximum number of characters of a line without `--verbose`.
const LINE_MAX: usize = 110;

/// Prints a line for each table, and remarks on types that a user may not expect.
pub(super) fn summarize(tables: &[TableReport], printer: &Printer) {
    let shown = if printer.is_verbose() { tables.len() } else { tables.len().min(TABLES_MAX) };
    for table in &tables[..shown] {
        if printer.is_verbose() {
            printer.note(&format!("  {}:", table.name));
            table.columns.iter().for_each(|column| printer.note(&format!("    {}", typed(column))));
        } else {
            printer.note(&format!("  {}", line(table)));
        }
    }
    if shown < tables.len() {
        printer.note(&format!("  and {} more tables", grouped((tables.len() - shown) as u64)));
    }
    say(tables.iter().flat_map(|table| remarks(&table.name, &table.columns)), printer);
}

/// Prints remarks on types: the first [`REMARKS_MAX`], or all with `--verbose`.
pub(super) fn say(remarks: impl Iterator<Item = String>, printer: &Printer) {
    let shown = if printer.is_verbose() { usize::MAX } else { REMARKS_MAX };
    let mut more = 0;
    for (number, remark) in remarks.enumerate() {
        match number < shown {
            true => printer.note(&remark),
            false => more += 1,
        }
    }
    if more > 0 {
        printer.note(&format!("and {} on types; -v lists all", counted(more, "more note")));
    }
}

/// Returns remarks on the types of a table that a user may not expect.
pub(super) fn remarks(table: &str, columns: &[ColumnReport]) -> Vec<String> {
    let mut remarks = Vec::new();
    let mut near_types: Vec<(&str, Vec<(&str, &MissedType)>)> = Vec::new();
    for column in columns {
        remarks
            .extend(column.nulls.as_ref().map(|nulls| keeps_nulls(table, &on_a_line(&column.name), nulls)));
        match &column.missed {
            // All values are numbers, but a numeric type would print some differently. Columns that miss the same numeric type share a
            // remark.
            Some(missed) if missed.others == 0 => {
                let near = missed.near;
                let place = near_types.iter().position(|(of, _)| *of == near).unwrap_or_else(|| {
                    near_types.push((near, Vec::new()));
                    near_types.len() - 1
                });
                near_types[place].1.push((&column.name, missed));
            }
            Some(missed) => remarks.push(has_other_values(table, column, missed)),
            None => {}
        }
        if let Some(changed) = &column.changed {
            let (value, becomes) = (&changed.value, &changed.becomes);
            let place = place(changed.file.as_deref(), changed.line);
            let (name, declared) = (on_a_line(&column.name), &column.declared_type);
            remarks.push(format!(
                "warning: {table}.{name} is declared {declared:?}, so {value:?}{place} becomes {becomes}; TEXT keeps it"
            ));
        }
    }
    remarks.extend(near_types.iter().map(|(near, columns)| would_read_otherwise(table, near, columns)));
    remarks
}

/// Writes the remark on columns that stay TEXT because a numeric type would print some of their numbers differently, such as 007.
fn would_read_otherwise(table: &str, near: &str, columns: &[(&str, &MissedType)]) -> String {
    let names: Vec<String> = columns.iter().map(|(name, _)| format!("{table}.{}", on_a_line(name))).collect();
    let [(first, missed), others @ ..] = columns else { return String::new() };
    let place = place(missed.file.as_deref(), missed.line);
    let flag = terms::flag(Setting::Type, Some(&format!("{first}={near}")));
    let (are, them) = if others.is_empty() { ("is", "it") } else { ("are", "the first") };
    format!(
        "note: {} {are} TEXT, not {near}: as numbers, values such as {:?}{place} would be written differently; {flag} makes \
         {them} {near}",
        listed(&names),
        missed.value
    )
}

/// Writes the remark on a column that stays TEXT because some of its values are not numbers.
fn has_other_values(table: &str, column: &ColumnReport, missed: &MissedType) -> String {
    let MissedType { near, value, values, others, read_by, signs, .. } = missed;
    let (name, shown) = (&column.name, on_a_line(&column.name));
    let place = place(missed.file.as_deref(), missed.line);
    let (a_number, numbers) = match read_by.is_empty() && signs.is_none() {
        true => ("a number", "numbers"),
        false => ("a plain number", "plain numbers"),
    };
    let why = match others {
        1 => format!("{value:?}{place} is not {a_number}, the only one of {} values", grouped(*values)),
        _ => format!(
            "{}{} of {} values are not {numbers}, such as {value:?}{place}",
            if missed.at_most { "at most " } else { "" },
            grouped(*others),
            grouped(*values)
        ),
    };
    let quoted = match (missed.quoted, others) {
        (false, _) => String::new(),
        (true, 1) => {
            format!(", and {} does not read it, as it is in quotes", terms::flag(Setting::Null, None))
        }
        (true, _) => {
            format!(", and {} does not read them, as they are in quotes", terms::flag(Setting::Null, None))
        }
    };
    if let Some(signs) = signs {
        return format!(
            "note: {table}.{shown} is TEXT, not {near}: {why}; the value has {signs}, and no flag reads all values of the column"
        );
    }
    let nulls = column.nulls.iter().flat_map(null_flags);
    let read_by = read_by.iter().filter_map(|(setting, value)| {
        let setting = Setting::all().find(|known| known.name() == *setting)?;
        Some(terms::flag(setting, Some(value)))
    });
    let mut flags: Vec<String> = nulls.chain(read_by).collect();
    let does = match missed.read_by.is_empty() {
        true => {
            flags.push(terms::flag(Setting::Type, Some(&format!("{name}={near}"))));
            format!("makes it {near}")
        }
        false => "reads them".to_owned(),
    };
    format!("note: {table}.{shown} is TEXT, not {near}: {why}{quoted}; {} {does}", flags.join(" "))
}

/// Writes the remark on a column with texts that other programs write for NULL, such as `N/A`.
fn keeps_nulls(table: &str, column: &str, nulls: &NullMarkers) -> String {
    let place = place(nulls.file.as_deref(), nulls.line);
    let is_text = nulls.near.map_or(String::new(), |near| format!(" is TEXT, not {near}, and"));
    let (count, values) = (grouped(nulls.nulls), grouped(nulls.values));
    let which = match nulls.nulls {
        1 => format!("{:?}{place}, one of {values} values", nulls.value),
        _ => format!("{:?}{place} and the like, {count} of {values} values", nulls.value),
    };
    let remedy = match nulls.readable {
        true => format!("{} reads NULL", null_flags(nulls).join(" ")),
        false => "only a null without quotes in the file is NULL".to_owned(),
    };
    format!("note: {table}.{column}{is_text} keeps {which}, as text; {remedy}")
}

/// Returns the `--null` flags with which a load would read these null markers as NULL. Returns none for formats with typed values, such as
/// JSON, where no flag does so.
fn null_flags(nulls: &NullMarkers) -> Vec<String> {
    let tokens = nulls.tokens.iter().filter(|_| nulls.readable);
    tokens.map(|token| terms::flag(Setting::Null, Some(token))).collect()
}

fn place(file: Option<&std::path::Path>, line: Option<u64>) -> String {
    match (file, line) {
        (Some(file), Some(line)) => format!(" ({}:{line})", file.display()),
        (Some(file), None) => format!(" ({})", file.display()),
        (None, _) => String::new(),
    }
}

fn typed(column: &ColumnReport) -> String {
    let converted = column.conversion.as_ref().map_or(String::new(), |how| format!(" ({how})"));
    let name = on_a_line(&column.name);
    match column.declared_type.as_str() {
        "" => format!("{name}{converted}"),
        declared => format!("{name} {declared}{converted}"),
    }
}

/// Escapes the control characters in a name, such as the line ends that spreadsheets put into headers, so that it fits on a line.
fn on_a_line(name: &str) -> Cow<'_, str> {
    if !name.contains(char::is_control) {
        return name.into();
    }
    let escaped = name.chars().map(|character| match character.is_control() {
        true => character.escape_default().to_string(),
        false => character.to_string(),
    });
    escaped.collect()
}

fn line(table: &TableReport) -> String {
    let mut line = format!("{}: ", on_a_line(&table.name));
    for (number, column) in table.columns.iter().enumerate() {
        let typed = typed(column);
        if number > 0 && line.chars().count() + typed.chars().count() > LINE_MAX {
            return format!("{line}, and {} more", grouped((table.columns.len() - number) as u64));
        }
        let comma = if number > 0 { ", " } else { "" };
        line += &format!("{comma}{typed}");
    }
    line
}
