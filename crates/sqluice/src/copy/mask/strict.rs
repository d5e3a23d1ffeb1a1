//! Refuses a strict copy if columns without a mask look personal, or hold values of masked columns.

use std::collections::HashSet;
use std::fmt::Display;

use sqluice_core::error::{Error, Message, Result, Setting, message};

use super::Masking;
use super::columns::{column_names, lower};
use super::report::MaskPlan;
use crate::copy::Opened;
use crate::references::{Names, column_name, unquoted};
use sqluice_core::schema::virtual_table::VirtualTableSql;

/// Refuses a strict copy if the plan has a finding in a column that the user does not accept.
///
/// # Errors
/// If a strict copy has such a finding, or an accepted column of any copy does not exist.
pub(in crate::copy) fn refuse_findings(masking: &Masking, opened: &Opened, plan: &MaskPlan) -> Result<()> {
    let allowed = allowed(masking, opened)?;
    if !masking.strict {
        return Ok(());
    }
    let warnings =
        plan.warnings.iter().map(|finding| (&*finding.table, &*finding.column, finding as &dyn Display));
    let places =
        plan.second_places.iter().map(|place| (&*place.table, &*place.column, place as &dyn Display));
    let mut findings =
        warnings.chain(places).filter(|(table, column, _)| !allowed.contains(&lower(table, column)));
    let Some((table, column, first)) = findings.next() else { return Ok(()) };
    let mut others: Vec<String> = Vec::new();
    let mut count = 0;
    for (other_table, other_column, _) in findings {
        count += 1;
        let name = format!("{other_table}.{other_column}");
        if (other_table, other_column) != (table, column) && !others.contains(&name) {
            others.push(name);
        }
    }
    let more = if count > 0 { format!(", and {count} more") } else { String::new() };
    let mut hint = remedy(opened, table, column);
    if !others.is_empty() {
        hint.push(format!("; the others: {}", others.join(", ")));
    }
    Err(Error::usage(format!("{first}{more}")).hint(hint))
}

/// Returns the remedy for a finding in a column, for the hint of the error.
fn remedy(Opened { schema, .. }: &Opened, table: &str, column: &str) -> Message {
    let accept = Setting::Allow.to(column_name(table, column));
    let declared = schema.table(table).and_then(|table| Some(&table.columns[table.column(column)?]));
    if declared.is_some_and(|column| column.generated.is_some()) {
        return message!["mask the columns that it is computed from, or accept it: ", accept];
    }
    let object =
        schema.others.iter().find(|other| other.kind == "table" && other.name.eq_ignore_ascii_case(table));
    let module = object.map(|object| {
        VirtualTableSql::of(object.sql.as_deref().unwrap_or_default()).module.to_ascii_lowercase()
    });
    if module.is_some_and(|module| !matches!(&*module, "fts3" | "fts4" | "fts5")) {
        return message![
            "leave the table out: ",
            Setting::ExcludeTable.to(table),
            "; or accept it: ",
            accept
        ];
    }
    message!["mask it, or say that it may be copied: -- gen: keep() or ", accept]
}

/// Returns the accepted columns, in lower case.
fn allowed(masking: &Masking, Opened { snapshot, schema, .. }: &Opened) -> Result<HashSet<(String, String)>> {
    let names = Names::new(schema.tables.iter().collect());
    let of_virtual = |text: &str| {
        text.match_indices('.').find_map(|(dot, _)| {
            let (table, column) = (unquoted(&text[..dot]), unquoted(&text[dot + 1..]));
            let mut others = schema.others.iter().filter(|other| other.kind == "table");
            let known = others.find(|other| other.name.eq_ignore_ascii_case(&table))?;
            let columns = column_names(&snapshot.connection(), &known.name);
            columns.iter().any(|name| name.eq_ignore_ascii_case(&column)).then(|| lower(&table, &column))
        })
    };
    masking
        .allowed
        .iter()
        .map(|text| match of_virtual(text) {
            Some(column) => Ok(column),
            None => names.column(text).map(|(table, column)| {
                let table = &schema.tables[table];
                lower(&table.name, &table.columns[column].name)
            }),
        })
        .collect()
}
