//! Finds personal data that the masks leave in the copy: columns without a mask that look personal, copies of masked values in other
//! objects, and values in the SQL text of the schema.

use std::collections::HashSet;

use sqluice_core::error::Result;
use sqluice_core::progress::Context;
use sqluice_core::schema::token::{self, Token};
use sqluice_reader::StoredObject;

use super::super::Opened;
use super::columns::{Masks, column_names, lower};
use super::computed::computed_of_masked;
use super::report::{CopiedLiteral, MaskPlan, MaskWarning, MaskedColumn, Remark, SecondPlace};
use super::search::{Findings, Search};
use super::texts::Texts;
use super::weak::weak_masks;
use super::{FullText, Masking};
use crate::personal::{self, Personal, Why};
use crate::schema_text::{Names, literals};
use sqluice_core::schema::virtual_table::VirtualTableSql;

/// The maximum number of places that are listed in the SQL text of one object.
const PLACES_MAX: usize = 20;

/// Searches all rows of the columns without a mask, and the first rows of masked columns, and returns the findings.
///
/// # Errors
/// If the source can't be read.
pub(in crate::copy) fn look(
    opened: &Opened,
    masking: &Masking,
    masks: &Masks,
    (full_text, texts): (&[FullText], &Texts),
    context: &Context<'_>,
) -> Result<MaskPlan> {
    let mut plan = MaskPlan {
        comments: texts.comments.clone(),
        stripped: texts.stripped.clone(),
        random_key: masking.key.is_random(),
        columns: masks.columns.clone(),
        rebuilt: full_text.iter().map(|table| table.name.clone()).collect(),
        ..MaskPlan::default()
    };
    let Opened { snapshot, objects, selection, .. } = opened;
    let shadows = snapshot.shadow_tables()?;
    let copied = || objects.iter().filter(|object| selection.has(object));
    let search = Search::new(opened, masks, masking.strict, context)?;
    plan.remarks.extend(search.sample_remark());
    let is_read = |object: &&StoredObject| {
        let is_text = full_text.iter().any(|table| table.name == object.name && table.keeps_text())
            || other_module(object, full_text).is_some();
        object.kind == "table"
            && !object.name.to_ascii_lowercase().starts_with("sqlite_")
            && !shadows.contains(&object.name.to_ascii_lowercase())
            && (object.tree.is_some() || is_text)
    };
    for object in copied().filter(is_read) {
        look_at_table((opened, &search), masks, &object.name, &mut plan)?;
        plan.weak.extend(weak_masks(opened, masking, masks, &object.name, &context.cancel)?);
    }
    for object in copied() {
        if is_sample(&object.name) {
            plan.dropped.push(object.name.clone());
        }
        if let Some(module) = other_module(object, full_text) {
            let what = format!("it is a virtual table of {module}, whose values are copied as they are");
            plan.remarks.push(Remark::new(object.describe(), what));
        }
        let own = object.sql.as_deref().filter(|_| !shadows.contains(&object.table.to_ascii_lowercase()));
        let Some(sql) = own else { continue };
        let places = places(sql, &texts.names);
        if !places.is_empty() {
            plan.literals.push(CopiedLiteral { object: object.describe(), places });
        }
        if object.kind == "trigger" && masks.has(&opened.schema, &object.table) {
            for table in written_by(sql) {
                let what = format!(
                    "it writes to {table}: mask that table, too, if it has values of {}",
                    object.table
                );
                plan.remarks.push(Remark::new(object.describe(), what));
            }
        }
    }
    Ok(plan)
}

/// Returns the name of the module if an object is a virtual table that stores values and is no full-text table; otherwise `None`.
fn other_module(object: &StoredObject, full_text: &[FullText]) -> Option<String> {
    let is_virtual = object.kind == "table" && object.tree.is_none();
    if !is_virtual || full_text.iter().any(|table| table.name == object.name) {
        return None;
    }
    let module = VirtualTableSql::of(object.sql.as_deref().unwrap_or_default()).module;
    // These modules store nothing: they show the words of a full-text table.
    let is_view =
        ["fts5vocab", "fts4aux", "fts3tokenize"].iter().any(|view| module.eq_ignore_ascii_case(view));
    (!is_view).then_some(module)
}

/// Returns `true` for SQLite's statistics tables that contain values of indexed columns (`sqlite_stat2`, `sqlite_stat3`, `sqlite_stat4`).
pub(in crate::copy) fn is_sample(name: &str) -> bool {
    ["sqlite_stat2", "sqlite_stat3", "sqlite_stat4"].iter().any(|sample| name.eq_ignore_ascii_case(sample))
}

fn look_at_table(
    (opened, search): (&Opened, &Search<'_>),
    masks: &Masks,
    table: &str,
    plan: &mut MaskPlan,
) -> Result<()> {
    let Opened { snapshot, schema, .. } = opened;
    let names = column_names(&snapshot.connection(), table);
    let of_table = masks.of(schema, table).or_else(|| masks.virtual_tables.get(&table.to_ascii_lowercase()));
    let is_masked = |column: usize| of_table.is_some_and(|masks| masks.has(column));
    let computed = schema.table(table).map(|table| computed_of_masked(table, is_masked)).unwrap_or_default();
    let is_wanted = |(column, name): (usize, &String)| {
        let follows = computed.get(column).copied().unwrap_or(false);
        !is_masked(column) && !follows && !masks.kept.contains(&lower(table, name))
    };
    let (wanted, others): (Vec<usize>, Vec<usize>) =
        (0..names.len()).partition(|column| is_wanted((*column, &names[*column])));
    let named =
        |columns: &[usize]| columns.iter().map(|column| names[*column].clone()).collect::<Vec<String>>();
    let findings = search.table(table, &named(&wanted), &named(&others))?;
    let found = |column: usize| wanted.iter().position(|wanted| *wanted == column).map(|at| &findings[at]);
    // Pass the names of all columns, also of masked ones: together they show what the table is about.
    let listed: Vec<&str> = names.iter().map(String::as_str).collect();
    let by_values = |column: usize| {
        let (what, _) = found(column)?.kinds.first()?;
        Some(Personal { what, why: Why::Values })
    };
    let personal = personal::of_table(table, &listed, by_values);
    for (&column, findings) in wanted.iter().zip(&findings) {
        let by_name = personal[column].filter(|personal| personal.why == Why::Name);
        look_at_unmasked(masks, (table, &names[column]), (by_name, findings), plan);
    }
    Ok(())
}

/// Adds the warnings and remarks about a column without a mask to `plan`. `by_name` is the kind of personal data that the column's name
/// suggests.
fn look_at_unmasked(
    masks: &Masks,
    (table, name): (&str, &str),
    (by_name, findings): (Option<Personal>, &Findings),
    plan: &mut MaskPlan,
) {
    let about = format!("{table}.{name}");
    let mut warn = |what: &str, by: &str, count: u64| {
        let (table, column, what, by) = (table.to_owned(), name.to_owned(), what.to_owned(), by.to_owned());
        plan.warnings.push(MaskWarning { table, column, what, by, count });
    };
    match by_name {
        Some(Personal { what, .. }) => warn(what, "name", findings.values),
        None => {
            findings.kinds.iter().for_each(|(what, count)| warn(what, "values", *count));
            findings.keyed.iter().for_each(|(what, count)| warn(what, "keys", *count));
        }
    }
    for (masked, count) in &findings.places {
        let (table, column, masked) = (table.to_owned(), name.to_owned(), masked.clone());
        plan.second_places.push(SecondPlace { table, column, masked, count: *count });
    }
    let key = key_named(masks, table, name).filter(|_| !masks.decided.contains(&lower(table, name)));
    if let Some(key) = key {
        let what = format!(
            "its name suggests a reference to {key}, which is masked: it gets no mask unless the reference is declared"
        );
        plan.remarks.push(Remark::new(&*about, what));
    }
    if findings.has_json {
        plan.remarks.push(Remark::new(&*about, "it holds JSON, which is copied as it is"));
    }
    if findings.has_blobs {
        plan.remarks.push(Remark::new(about, "it holds blobs, which are copied as they are"));
    }
}

/// Returns the masked key of another table to which the name of a column suggests a reference: `customers.id` for `customer_id`, or
/// `customers.customer_id` for a column of the same name. Returns `None` if the name suggests none.
fn key_named(masks: &Masks, table: &str, column: &str) -> Option<String> {
    let plain = |name: &str| name.to_ascii_lowercase().replace('_', "");
    let named = plain(column);
    let is_after = |key: &&MaskedColumn| {
        let (of, key_column) = (plain(&key.table), plain(&key.column));
        let one = of.strip_suffix('s').unwrap_or(&of);
        let is_whole_name = key_column != "id" && key_column.ends_with("id") && named == key_column;
        key.keeps_different
            && !key.table.eq_ignore_ascii_case(table)
            && (is_whole_name
                || named == format!("{of}{key_column}")
                || named == format!("{one}{key_column}"))
    };
    let key = masks.columns.iter().find(is_after)?;
    Some(format!("{}.{}", key.table, key.column))
}

/// Returns the places of the first [`PLACES_MAX`] literals in an SQL text, and the number of the others.
fn places(sql: &str, names: &Names) -> Vec<String> {
    let mut places: Vec<String> = literals(sql, names).iter().map(ToString::to_string).collect();
    if places.len() > PLACES_MAX {
        let more = places.len() - PLACES_MAX;
        places.truncate(PLACES_MAX);
        places.push(format!("and {more} more"));
    }
    places
}

/// Returns the names of the tables that the SQL text of a trigger writes values to, by INSERT, REPLACE or UPDATE.
fn written_by(sql: &str) -> Vec<String> {
    let tokens: Vec<Token> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let begin = tokens.iter().position(|token| token.is_word(sql, "BEGIN")).unwrap_or(tokens.len());
    let mut tables = HashSet::new();
    let mut listed = Vec::new();
    let body = &tokens[begin..];
    let is = |at: usize, word: &str| body.get(at).is_some_and(|token| token.is_word(sql, word));
    for at in 0..body.len() {
        // Skip the UPDATE of `ON CONFLICT DO UPDATE SET`, which no table name follows.
        if !(is(at, "INTO") || (is(at, "UPDATE") && !is(at.wrapping_sub(1), "DO"))) {
            continue;
        }
        let name_at = if is(at, "UPDATE") && is(at + 1, "OR") { at + 3 } else { at + 1 };
        if let Some(name) = body.get(name_at).and_then(|token| token.name(sql))
            && tables.insert(name.to_ascii_lowercase())
        {
            listed.push(name);
        }
    }
    listed
}
