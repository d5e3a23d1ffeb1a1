//! Tests of translated schemas, which are created in SQLite and queried there.

mod defaults;
mod dumps;
mod properties;
mod values;

use rusqlite::Connection;

use super::{Dialect, Translated, Translator};

/// Translates a text of statements. In these texts, every semicolon at the end of a line ends a statement.
fn translated(dialect: Dialect, sql: &str) -> Translated {
    let mut translator = Translator::new(dialect);
    let mut line = 1;
    for statement in sql.split(";\n") {
        let blank = statement.len() - statement.trim_start().len();
        let first = line + statement[..blank].matches('\n').count() as u64;
        translator.take(statement, first).unwrap_or_else(|error| panic!("{error}"));
        line += statement.matches('\n').count() as u64 + 1;
    }
    translator.finish().unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a database with the translated tables.
fn database(translated: &Translated) -> Connection {
    let database = Connection::open_in_memory().unwrap();
    for statement in &translated.statements {
        database.execute_batch(statement).unwrap_or_else(|error| panic!("{error}: {statement}"));
    }
    database
}

/// Returns the rows of a query, with bars between the values.
fn rows(database: &Connection, query: &str) -> Vec<String> {
    let mut statement = database.prepare(query).unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| {
        let values: Vec<String> = (0..columns)
            .map(|at| match row.get_ref(at).unwrap() {
                rusqlite::types::ValueRef::Null => "NULL".to_owned(),
                rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                rusqlite::types::ValueRef::Real(number) => format!("{number:?}"),
                rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                rusqlite::types::ValueRef::Blob(blob) => {
                    format!("X'{}'", blob.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
                }
            })
            .collect();
        Ok(values.join("|"))
    });
    rows.unwrap().map(Result::unwrap).collect()
}
