//! Writes the declarations of a database as the text of a dump, without rows.

use std::fmt::Write as _;

use super::catalog::{Catalog, Column, Sequence, Table};
use crate::Request;

/// The last lines of a dump, by which readers of dumps recognise that it is complete.
pub(super) const END: &str = "--\n-- PostgreSQL database dump complete\n--\n\n";

/// Returns the first lines of a dump.
pub(super) fn begin() -> String {
    "--\n-- PostgreSQL database dump\n--\n\nSET client_encoding = 'UTF8';\nSET standard_conforming_strings = on;\n\
     SELECT pg_catalog.set_config('search_path', '', false);\n\n"
        .to_owned()
}

/// Returns a name, quoted for SQL.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns a text, quoted for SQL.
fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Returns the statements that create types.
pub(super) fn types(catalog: &Catalog) -> String {
    let mut sql = String::new();
    for statement in &catalog.types {
        let _ = writeln!(sql, "{statement}\n");
    }
    sql
}

/// Returns the statements that a dump has before its rows.
pub(super) fn before_rows(catalog: &Catalog, request: &Request) -> String {
    let mut sql = types(catalog);
    let tables = || catalog.tables.iter().filter(|table| table.in_schema(request));
    let is_read = |sequence: &&Sequence| match &sequence.owner {
        Some((owner, ..)) => tables().any(|table| table.sql_name == *owner),
        None => true,
    };
    for sequence in catalog.sequences.iter().filter(|sequence| sequence.owner.is_none()) {
        create_sequence(sequence, &mut sql);
    }
    tables().for_each(|table| create_table(table, &mut sql));
    for sequence in catalog.sequences.iter().filter(is_read) {
        let Some((table, column, how)) = &sequence.owner else { continue };
        if how == "i" {
            let when = if sequence.identity == "a" { "ALWAYS" } else { "BY DEFAULT" };
            let _ = writeln!(
                sql,
                "ALTER TABLE {table} ALTER COLUMN {column} ADD GENERATED {when} AS IDENTITY (\n    SEQUENCE NAME {}\n{}\n);\n",
                sequence.sql_name,
                numbers(sequence)
            );
        } else {
            create_sequence(sequence, &mut sql);
            let _ = writeln!(sql, "ALTER SEQUENCE {} OWNED BY {table}.{column};\n", sequence.sql_name);
        }
    }
    for table in tables() {
        if let Some((parent, bounds)) = &table.partition_of {
            let _ =
                writeln!(sql, "ALTER TABLE ONLY {parent} ATTACH PARTITION {} {bounds};\n", table.sql_name);
        }
    }
    for table in tables() {
        for column in table.columns.iter().filter(|column| has_late_default(column)) {
            let default = column.expression.as_deref().unwrap_or_default();
            let (table, column) = (&table.sql_name, &column.name);
            let _ = writeln!(sql, "ALTER TABLE ONLY {table} ALTER COLUMN {column} SET DEFAULT {default};\n");
        }
    }
    sql
}

/// Returns the statements that a dump has after its rows.
pub(super) fn after_rows(catalog: &Catalog, request: &Request) -> String {
    let mut sql = String::new();
    for sequence in &catalog.sequences {
        if let Some((last, is_called)) = &sequence.last {
            let name = literal(&sequence.sql_name);
            let _ = writeln!(sql, "SELECT pg_catalog.setval({name}, {last}, {is_called});\n");
        }
    }
    let is_read = |schema: &String| request.schema_name.as_ref().is_none_or(|wanted| wanted == schema);
    for (_, statement) in catalog.constraints.iter().filter(|(schema, _)| is_read(schema)) {
        let _ = writeln!(sql, "{statement}\n");
    }
    for statement in
        catalog.others.iter().filter(|_| request.tables.is_empty() && request.schema_name.is_none())
    {
        let _ = writeln!(sql, "{statement}\n");
    }
    sql
}

/// Returns `true` if a column's default uses its own sequence, which is created after the table.
fn has_late_default(column: &Column) -> bool {
    column.has_sequence && column.generated.is_empty() && column.expression.is_some()
}

fn create_table(table: &Table, sql: &mut String) {
    let kind = if table.is_unlogged { "UNLOGGED TABLE" } else { "TABLE" };
    let mut lines = Vec::new();
    for column in table.columns.iter().filter(|column| column.is_local || table.inherits.is_empty()) {
        let mut line = format!("    {} {}", column.name, column.declared);
        if let Some(collation) = &column.collation {
            let _ = write!(line, " COLLATE {collation}");
        }
        match (&column.expression, column.generated.as_str()) {
            (Some(expression), "") if !has_late_default(column) => {
                let _ = write!(line, " DEFAULT {expression}");
            }
            (Some(expression), "s") => {
                let _ = write!(line, " GENERATED ALWAYS AS ({expression}) STORED");
            }
            (Some(expression), "v") => {
                let _ = write!(line, " GENERATED ALWAYS AS ({expression})");
            }
            _ => {}
        }
        if column.not_null {
            line.push_str(" NOT NULL");
        }
        lines.push(line);
    }
    lines.extend(table.checks.iter().map(|(name, check)| format!("    CONSTRAINT {name} {check}")));
    let _ = write!(sql, "CREATE {kind} {} (\n{}\n)", table.sql_name, lines.join(",\n"));
    if !table.inherits.is_empty() {
        let _ = write!(sql, "\nINHERITS ({})", table.inherits.join(", "));
    }
    if let Some(key) = &table.partition_key {
        let _ = write!(sql, "\nPARTITION BY {key}");
    }
    sql.push_str(";\n\n");
    if let Some(comment) = &table.comment {
        let _ = writeln!(sql, "COMMENT ON TABLE {} IS {};\n", table.sql_name, literal(comment));
    }
    for column in &table.columns {
        if let Some(comment) = &column.comment {
            let _ = writeln!(
                sql,
                "COMMENT ON COLUMN {}.{} IS {};\n",
                table.sql_name,
                column.name,
                literal(comment)
            );
        }
    }
}

fn create_sequence(sequence: &Sequence, sql: &mut String) {
    let of_type = match sequence.declared.as_str() {
        "bigint" => String::new(),
        declared => format!("\n    AS {declared}"),
    };
    let _ = writeln!(sql, "CREATE SEQUENCE {}{of_type}\n{};\n", sequence.sql_name, numbers(sequence));
}

/// Returns the clauses of CREATE SEQUENCE about its numbers.
fn numbers(sequence: &Sequence) -> String {
    let Sequence { start, increment, min, max, .. } = sequence;
    let cycle = if sequence.cycles { "\n    CYCLE" } else { "" };
    format!(
        "    START WITH {start}\n    INCREMENT BY {increment}\n    MINVALUE {min}\n    MAXVALUE {max}{cycle}"
    )
}
