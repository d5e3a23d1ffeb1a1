//! Full-text and spatial tables, after their shadow tables are saved.
//!
//! | table | what is done |
//! |---|---|
//! | FTS5 with content | if its index is damaged, SQLite builds the index again from the content |
//! | R*Tree | if its nodes are damaged, the entries on leaf nodes are inserted into a new tree |
//! | others | the shadow rows stay as they were saved |
//! | all, if they can't be made again | the shadow tables stay, as ordinary tables without the virtual one |

use rusqlite::Connection;
use sqluice_core::error::Result;
use sqluice_core::schema::quoted;
use sqluice_core::schema::virtual_table::VirtualTableSql;
use sqluice_core::sqlite_error::{failed, said};

use super::found::{Found, is_virtual};
use super::report::RecoverReport;

/// Checks the virtual tables, and makes damaged ones anew from their content.
pub(super) fn settle(connection: &Connection, found: &Found, report: &mut RecoverReport) -> Result<()> {
    for row in found.others.iter().filter(|row| is_virtual(row)) {
        // A table whose statement is damaged is not in the new database; its shadow tables are.
        let is_made = "SELECT 1 FROM sqlite_schema WHERE name = ?1 AND rootpage = 0";
        let is_made = connection.prepare(is_made).and_then(|mut is_made| is_made.exists([&row.name]));
        if !is_made.map_err(|error| failed(error, "look for a virtual table"))? {
            continue;
        }
        let declared = VirtualTableSql::of(row.sql.as_deref().unwrap_or_default());
        let module = declared.module.to_ascii_lowercase();
        let is_known = ["fts5", "rtree", "rtree_i32"].contains(&&*module);
        if !is_known || !has_lost_rows(&row.name, report) && is_sound(connection, &row.name) {
            continue;
        }
        let made = match &*module {
            "fts5" => full_text(connection, &row.name, &declared),
            _ => r_tree(connection, &row.name, row.sql.as_deref().unwrap_or_default()),
        };
        // A table that needs a tokenizer of its program can't be checked or made here, and its content must stay.
        let is_kept = made.as_ref().is_err_and(|error| error.to_string().contains("no such tokenizer"));
        report.saved.damaged |= !is_kept;
        report.saved.remarks.push(match made {
            Err(error) if is_kept => {
                format!(
                    "virtual table {} can't be checked, and was saved as it was: {}",
                    row.name,
                    said(error)
                )
            }
            Ok(()) => format!("virtual table {} was damaged, and was made again from its content", row.name),
            Err(error) => {
                // Without the virtual table the database is sound, and no saved row is lost.
                undeclare(connection, &row.name)
                    .map_err(|error| failed(error, "leave a virtual table out"))?;
                format!(
                    "virtual table {} can't be made again, and its rows are in its shadow tables: {}",
                    row.name,
                    said(error)
                )
            }
        });
    }
    Ok(())
}

/// Returns `true` if a shadow table has lost rows, or rows that were put aside. SQLite may find no fault in such an index although it lacks
/// terms.
fn has_lost_rows(name: &str, report: &RecoverReport) -> bool {
    let prefix = format!("{}_", name.to_ascii_lowercase());
    report.saved.tables.iter().any(|table| {
        let is_shadow = table.name.to_ascii_lowercase().starts_with(&prefix);
        is_shadow && table.lost_rows + table.lost_page_count + table.rejected + table.conflicts > 0
    })
}

/// Returns `true` if SQLite finds no fault in a virtual table.
fn is_sound(connection: &Connection, name: &str) -> bool {
    let sql = format!("PRAGMA integrity_check({})", sqluice_core::schema::quoted_text(name));
    let lines = connection.prepare(&sql).and_then(|mut check| {
        check.query_map([], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
    });
    lines.is_ok_and(|lines| lines == ["ok"])
}

fn full_text(connection: &Connection, name: &str, declared: &VirtualTableSql) -> rusqlite::Result<()> {
    let table = quoted(name);
    if declared.option("content").is_some_and(|content| content.is_empty()) {
        return Err(because("it is declared without content"));
    }
    let rebuild = format!("INSERT INTO {table} ({table}) VALUES ('rebuild')");
    connection.execute_batch(&rebuild)?;
    match is_sound(connection, name) {
        true => Ok(()),
        false => Err(because("SQLite finds faults in the index that it made from the content")),
    }
}

/// Returns an error with this message.
fn because(message: &str) -> rusqlite::Error {
    let failure = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_ERROR);
    rusqlite::Error::SqliteFailure(failure, Some(message.to_owned()))
}

/// Makes an R*Tree anew from the entries of its leaf nodes.
fn r_tree(connection: &Connection, name: &str, sql: &str) -> rusqlite::Result<()> {
    let shadow = |suffix: &str| quoted(&format!("{name}_{suffix}"));
    let columns: Vec<String> = connection
        .prepare(&format!(
            "SELECT name FROM pragma_table_xinfo({})",
            sqluice_core::schema::quoted_text(name)
        ))?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let extra: Vec<String> = connection
        .prepare(&format!(
            "SELECT name FROM pragma_table_info({})",
            sqluice_core::schema::quoted_text(&format!("{name}_rowid"))
        ))?
        .query_map([], |row| row.get(0))?
        .skip(2)
        .collect::<rusqlite::Result<_>>()?;
    let Some(coordinates) = columns.len().checked_sub(1 + extra.len()) else {
        return Err(because("its shadow table has other columns"));
    };
    let is_integer = VirtualTableSql::of(sql).module.eq_ignore_ascii_case("rtree_i32");
    let nodes: Vec<(i64, Vec<u8>)> = connection
        .prepare(&format!(
            "SELECT nodeno, data FROM {} WHERE nodeno IN (SELECT nodeno FROM {}) AND typeof(data) = 'blob'",
            shadow("node"),
            shadow("rowid")
        ))?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    let mut entries: Vec<(i64, Vec<f64>)> = Vec::new();
    let cell_bytes = 8 + 4 * coordinates;
    for (_, node) in &nodes {
        let count = node.get(2..4).map_or(0, |bytes| usize::from(u16::from_be_bytes([bytes[0], bytes[1]])));
        for cell in node.get(4..).unwrap_or_default().chunks_exact(cell_bytes).take(count) {
            let (id, rest) = cell.split_at(8);
            let id = i64::from_be_bytes([id[0], id[1], id[2], id[3], id[4], id[5], id[6], id[7]]);
            let values = rest.as_chunks::<4>().0.iter().map(|bytes| match is_integer {
                true => f64::from(i32::from_be_bytes(*bytes)),
                false => f64::from(f32::from_be_bytes(*bytes)),
            });
            entries.push((id, values.collect()));
        }
    }
    let kept = format!("temp.{}", quoted(&format!("{name}_kept")));
    connection.execute_batch(&format!("CREATE TABLE {kept} AS SELECT * FROM {}", shadow("rowid")))?;
    if !extra.is_empty() {
        let index = quoted(&format!("{name}_kept_rowid"));
        let of = quoted(&format!("{name}_kept"));
        connection.execute_batch(&format!("CREATE INDEX temp.{index} ON {of} (rowid)"))?;
    }
    connection.execute_batch("BEGIN")?;
    let made = (|| {
        if connection.execute_batch(&format!("DROP TABLE {}", quoted(name))).is_err() {
            forget(connection, name)?;
        }
        connection.execute_batch(sql)?;
        let places = vec!["?"; 1 + coordinates].join(", ");
        let named: Vec<String> = columns[..=coordinates].iter().map(|column| quoted(column)).collect();
        let mut insert = connection.prepare(&format!(
            "INSERT OR IGNORE INTO {} ({}) VALUES ({places})",
            quoted(name),
            named.join(", ")
        ))?;
        for (id, values) in &entries {
            let id = rusqlite::types::Value::Integer(*id);
            let values = values.iter().map(|value| rusqlite::types::Value::Real(*value));
            // An entry whose coordinates are damaged breaks a constraint of the tree, and is left out.
            match insert.execute(rusqlite::params_from_iter(std::iter::once(id).chain(values))) {
                Err(error) if error.sqlite_error_code() != Some(rusqlite::ErrorCode::ConstraintViolation) => {
                    return Err(error);
                }
                _ => {}
            }
        }
        for column in &extra {
            let auxiliary = &columns[columns.len() - extra.len()..];
            let at = extra.iter().position(|name| name == column).unwrap_or(0);
            connection.execute_batch(&format!(
                "UPDATE {} SET {} = (SELECT {} FROM {kept} k WHERE k.rowid = {}.{})",
                quoted(name),
                quoted(&auxiliary[at]),
                quoted(column),
                quoted(name),
                quoted(&columns[0])
            ))?;
        }
        Ok(())
    })();
    connection.execute_batch(if made.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    connection.execute_batch(&format!("DROP TABLE IF EXISTS {kept}"))?;
    made
}

/// Removes a virtual table from the schema, and keeps its shadow tables.
fn undeclare(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA writable_schema = ON")?;
    connection
        .execute("DELETE FROM sqlite_schema WHERE type = 'table' AND name = ?1 AND rootpage = 0", [name])?;
    connection.execute_batch("PRAGMA writable_schema = RESET")
}

/// Removes an R*Tree that its module can't drop, with its three shadow tables. Other tables whose names begin in the same way are kept.
fn forget(connection: &Connection, name: &str) -> rusqlite::Result<()> {
    undeclare(connection, name)?;
    for suffix in ["node", "parent", "rowid"] {
        connection.execute_batch(&format!("DROP TABLE IF EXISTS {}", quoted(&format!("{name}_{suffix}"))))?;
    }
    Ok(())
}
