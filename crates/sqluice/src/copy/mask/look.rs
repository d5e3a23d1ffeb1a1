//! Finds values that masks do not reach: columns without a mask that look personal, copies of masked values in other objects, values in the
//! text of the schema.

use std::collections::HashSet;

use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_core::schema::token::{self, Token, TokenKind};
use sqluice_core::source::Refused;
use sqluice_reader::StoredObject;
use sqluice_reader::rows::{PART_BYTES, Rows, Selection};

use super::super::Opened;
use super::columns::{Masks, column_names, lower};
use super::report::{CopiedLiteral, MaskPlan, MaskWarning, MaskedColumn, Remark};
use super::{FullText, Masking};
use crate::personal::{self, Personal, Why};
use crate::virtual_table::VirtualTableSql;

/// The number of sampled rows of each table.
const SAMPLE_ROWS: u64 = 256;

/// The largest number of listed values of one object's text.
const LITERALS_MAX: usize = 20;

/// The least number of digits of a number that may be personal.
const LONG_NUMBER: usize = 5;

/// The number of possible original values below which a remark is made.
const POSSIBLE_MIN: f64 = 1e4;

/// The sampled values of a column.
#[derive(Default)]
struct Sample {
    /// The texts, and the numbers as text.
    texts: Vec<Vec<u8>>,
    blobs: u64,
    values: u64,
}

/// Examines the source with a sample of each table.
///
/// # Errors
/// If the source can't be read.
pub(in crate::copy) fn look(
    opened: &Opened,
    masking: &Masking,
    masks: &Masks,
    full_text: &[FullText],
    cancel: &Cancel,
) -> Result<MaskPlan> {
    let mut plan = MaskPlan {
        random_key: masking.key.is_random(),
        columns: masks.columns.clone(),
        rebuilt: full_text.iter().map(|table| table.name.clone()).collect(),
        ..MaskPlan::default()
    };
    let Opened { snapshot, objects, selection, .. } = opened;
    let shadows = snapshot.shadow_tables()?;
    let copied = || objects.iter().filter(|object| selection.has(object));
    let is_read = |object: &&StoredObject| {
        let is_text = full_text.iter().any(|table| table.name == object.name && table.keeps_text());
        object.kind == "table"
            && !object.name.to_ascii_lowercase().starts_with("sqlite_")
            && !shadows.contains(&object.name.to_ascii_lowercase())
            && (object.tree.is_some() || is_text)
    };
    for object in copied().filter(is_read) {
        look_at_table(opened, masks, &object.name, &mut plan, cancel)?;
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
        let values = literals(sql);
        if !values.is_empty() {
            plan.literals.push(CopiedLiteral { object: object.describe(), values });
        }
        if object.kind == "trigger" && masks.has(&opened.schema, &object.table) {
            for table in written_by(sql) {
                let what = format!(
                    "it writes to {table}, which keeps what it wrote of {} unless that is masked, too",
                    object.table
                );
                plan.remarks.push(Remark::new(object.describe(), what));
            }
        }
    }
    Ok(plan)
}

/// Returns the module of a virtual table that stores values and is no full-text table.
fn other_module(object: &StoredObject, full_text: &[FullText]) -> Option<String> {
    let is_virtual = object.kind == "table" && object.tree.is_none();
    if !is_virtual || full_text.iter().any(|table| table.name == object.name) {
        return None;
    }
    let module = VirtualTableSql::of(object.sql.as_deref().unwrap_or_default()).module;
    // These modules show the words of another table.
    let is_view =
        ["fts5vocab", "fts4aux", "fts3tokenize"].iter().any(|view| module.eq_ignore_ascii_case(view));
    (!is_view).then_some(module)
}

/// Returns `true` if a table has samples of values: optional statistics of SQLite's query planner.
pub(in crate::copy) fn is_sample(name: &str) -> bool {
    ["sqlite_stat2", "sqlite_stat3", "sqlite_stat4"].iter().any(|sample| name.eq_ignore_ascii_case(sample))
}

fn look_at_table(
    opened: &Opened,
    masks: &Masks,
    table: &str,
    plan: &mut MaskPlan,
    cancel: &Cancel,
) -> Result<()> {
    let Opened { snapshot, schema, .. } = opened;
    let names = column_names(&snapshot.connection(), table);
    let of_table = masks.of(schema, table).or_else(|| masks.virtual_tables.get(&table.to_ascii_lowercase()));
    let samples = sample(opened, table, &names, cancel)?;
    for (column, (name, sample)) in names.iter().zip(&samples).enumerate() {
        let is_masked = of_table.is_some_and(|masks| masks.has(column));
        let about = format!("{table}.{name}");
        if is_masked {
            let possible = sample.texts.iter().map(|text| possible_values(text)).fold(0.0, f64::max);
            let keeps = plan.columns.iter().any(|masked| {
                masked.table.eq_ignore_ascii_case(table)
                    && masked.column.eq_ignore_ascii_case(name)
                    && masked.mask == "shape()"
            });
            if keeps && !sample.texts.is_empty() && possible < POSSIBLE_MIN {
                let what = format!(
                    "values of its forms are at most {possible} each, too few to hide among: each is another's mask"
                );
                plan.remarks.push(Remark::new(about, what));
            }
            continue;
        }
        if masks.kept.contains(&lower(table, name)) {
            continue;
        }
        let texts = || sample.texts.iter().map(Vec::as_slice);
        if let Some(Personal { what, why }) =
            personal::by_name(table, name).or_else(|| personal::by_values(texts()))
        {
            let by = if why == Why::Name { "name" } else { "values" };
            let (table, column) = (table.to_owned(), name.clone());
            plan.warnings.push(MaskWarning { table, column, what: what.to_owned(), by: by.to_owned() });
        }
        if let Some(key) = key_named(masks, table, name) {
            let what = format!(
                "it may refer to {key}, which is masked, by its name: it gets no mask without a foreign key"
            );
            plan.remarks.push(Remark::new(&*about, what));
        }
        if texts().any(is_json) {
            plan.remarks.push(Remark::new(&*about, "it holds JSON, which is copied as it is"));
        }
        if sample.blobs > 0 {
            plan.remarks.push(Remark::new(about, "it holds blobs, which are copied as they are"));
        }
    }
    Ok(())
}

/// Returns the masked key of another table that the name of a column suggests: `customers.id` for `customer_id`.
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

/// Returns the values of the first rows of a table, by column. A read error ends the sample: the copy may not need to read that value.
fn sample(opened: &Opened, table: &str, names: &[String], cancel: &Cancel) -> Result<Vec<Sample>> {
    let Opened { snapshot, schema, .. } = opened;
    let mut samples: Vec<Sample> = names.iter().map(|_| Sample::default()).collect();
    let selection = Selection::default().limit(SAMPLE_ROWS);
    let Ok(rows) = Rows::of_table(snapshot, schema, table, &selection) else { return Ok(samples) };
    let mut source = rows.with_secret_keys().source(PART_BYTES, cancel)?;
    while let Ok(Some(mut part)) = source.next_part() {
        let mut take = |batch: &Batch<'_>| -> Result<(), Refused> {
            for (column, sample) in batch.columns.iter().zip(&mut samples) {
                (0..batch.rows).for_each(|row| sample.add(column.get(row)));
            }
            Ok(())
        };
        if part.decode(&mut take).is_err() {
            break;
        }
    }
    cancel.check()?;
    Ok(samples)
}

impl Sample {
    fn add(&mut self, value: Value<'_>) {
        self.values += u64::from(value != Value::Null);
        match value {
            Value::Text(text) => self.texts.push(text.to_vec()),
            Value::Int(int) => self.texts.push(int.to_string().into_bytes()),
            Value::Blob(_) => self.blobs += 1,
            Value::Null | Value::Real(_) => {}
        }
    }
}

fn is_json(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    matches!((text.first(), text.last()), (Some(b'{'), Some(b'}')) | (Some(b'['), Some(b']')))
}

/// Returns the number of values with the format of a text.
fn possible_values(text: &[u8]) -> f64 {
    let of = |byte: &u8| match byte {
        b'0'..=b'9' => 10.0,
        b'a'..=b'z' | b'A'..=b'Z' => 26.0,
        0x80.. => 26.0,
        _ => 1.0,
    };
    text.iter().map(of).product()
}

/// Returns the values in a statement: texts, blobs, and long numbers.
fn literals(sql: &str) -> Vec<String> {
    let tokens: Vec<Token> = token::tokens(sql);
    let mut found: Vec<String> = Vec::new();
    for token in &tokens {
        let text = token.text(sql);
        let is_value = match token.kind {
            TokenKind::String => true,
            TokenKind::Number => text.len() >= LONG_NUMBER,
            _ => false,
        };
        if is_value && !found.iter().any(|known| known == text) {
            found.push(text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    if found.len() > LITERALS_MAX {
        let more = found.len() - LITERALS_MAX;
        found.truncate(LITERALS_MAX);
        found.push(format!("and {more} more"));
    }
    found
}

/// Returns the tables that a trigger writes to.
fn written_by(sql: &str) -> Vec<String> {
    let tokens: Vec<Token> = token::tokens(sql).into_iter().filter(|token| !token.is_comment()).collect();
    let begin = tokens.iter().position(|token| token.is_word(sql, "BEGIN")).unwrap_or(tokens.len());
    let mut tables = HashSet::new();
    let mut listed = Vec::new();
    for pair in tokens[begin..].windows(2) {
        let writes = ["INTO", "UPDATE"].iter().any(|word| pair[0].is_word(sql, word));
        if let Some(name) = pair[1].name(sql).filter(|_| writes)
            && tables.insert(name.to_ascii_lowercase())
        {
            listed.push(name);
        }
    }
    listed
}
