//! Writes the new database.
//!
//! ```text
//!  clean leaves ──> engine: tables and indexes as pages       UTF-8, without auto_vacuum
//!                      │ a row breaks a constraint: all rows go through SQLite
//!  other leaves ──> SQLite: INSERT, rows put aside, lost_and_found, sqlite_sequence
//!  schema ───────────> SQLite: views, triggers, virtual tables over their saved shadow tables
//! ```
//!
//! Invariant: the target has its name only when it is complete.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use rusqlite::{Connection, OpenFlags};
use sqluice_core::error::{ErrorKind, Result};
use sqluice_core::progress::{Cancel, Context};
use sqluice_core::schema::{Schema, quoted, quoted_text};
use sqluice_core::sqlite_error::{failed, said};
use sqluice_engine::attempts;
use sqluice_engine::encode::Coercion;
use sqluice_engine::output::{NewFile, Output, Target, Wanted};
use sqluice_engine::phases::Phases;
use sqluice_engine::plan::Plan;
use sqluice_engine::trees::Job;
use sqluice_format::check::spec;
use sqluice_format::database::encoding_name;

use super::Recover;
use super::found::{Found, FoundTable, declares, is_virtual};
use super::insert::{Insertion, cannot_make, lost_and_found, rowid_column, without_own_tables};
use super::layout::Layout;
use super::report::RecoverReport;
use super::source::{SavedRows, TableRows};

/// The text encoding UTF-8 in the header.
const UTF_8: u32 = 1;

/// Writes what was found to the target.
pub(super) fn write(recover: &Recover, found: &Found, context: &Context<'_>) -> Result<RecoverReport> {
    let started = Instant::now();
    let mut phases = Phases::new(context.progress, "write");
    context.progress.phase("write", None);
    let target = Target::resolve(&recover.target, &recover.write);
    let wanted = Wanted {
        estimated_bytes: Some(found.plan.source_bytes),
        ..Wanted::new(target, recover.write.overwrite)
    };
    let header = found.file.header();
    let is_vacuumed = header.is_some_and(|header| header.largest_root != 0);
    let page_bytes = found.plan.page_bytes;
    let create = || NewFile::create(&wanted, None, page_bytes, &context.cancel).map(Box::new);
    let mut new = create()?;
    let mut encoded = Vec::new();
    let mut by_engine = found.file.encoding == UTF_8
        && !is_vacuumed
        && found.tables.iter().any(|table| !table.ordered.is_empty());
    if by_engine {
        match encode(recover, found, &wanted.target, &mut *new, &mut phases, context) {
            Ok(counts) => encoded = counts,
            // A row breaks a constraint of its table: SQLite finds out which.
            Err(error) if error.kind() == ErrorKind::Input => {
                drop(new);
                new = create()?;
                by_engine = false;
            }
            Err(error) => return Err(error),
        }
    }
    phases.begin("insert", None);
    let mut report = RecoverReport { saved: found.plan.clone(), ..RecoverReport::default() };
    let path = new.path().unwrap_or(Path::new("")).to_owned();
    finish(&path, found, by_engine.then_some(&encoded), &mut report, context)?;
    found.file.check_unchanged()?;
    context.cancel.check()?;
    phases.begin("sync", None);
    report.bytes = path.metadata().map_or(0, |about| about.len());
    new.commit()?;
    report.saved.rows =
        report.saved.tables.iter().map(|table| table.rows + table.conflicts + table.rejected).sum::<u64>()
            + report.saved.lost_and_found.iter().map(|found| found.rows).sum::<u64>();
    let put_aside =
        report.saved.tables.iter().any(|table| table.conflicts + table.rejected + table.repeated > 0);
    report.saved.damaged |= put_aside;
    report.seconds = started.elapsed().as_secs_f64();
    report.phases = phases.finish();
    Ok(report)
}

/// Encodes the rows of ordered leaves, with all indexes. Returns the number of encoded rows of each table that was found.
fn encode(
    recover: &Recover,
    found: &Found,
    target: &Target,
    output: &mut dyn Output,
    phases: &mut Phases<'_>,
    context: &Context<'_>,
) -> Result<Vec<u64>> {
    let mut schema: Schema = without_own_tables(&found.schema);
    for table in &mut schema.tables {
        if let Some(name) = rowid_column(table) {
            *table = table.with_rowid_column(name);
        }
    }
    let mut options = recover
        .write
        .clone()
        .page_size(found.file.geometry().page_size())
        .temp_dir(target.temp_dir()?)
        .foreign_keys(false);
    options.threads = Some(recover.threads());
    let plan = Plan::new(&schema, Some(target.clone()), &options)?;
    let mut jobs = Vec::new();
    let counts: Vec<Arc<AtomicU64>> = found.tables.iter().map(|_| Arc::default()).collect();
    for table in &schema.tables {
        let mut all = found.tables.iter().zip(&counts);
        let source: Box<dyn sqluice_core::source::Source> =
            match all.find(|(found, _)| found.table.name == table.name) {
                None => Box::new(sqluice_core::source::NoRows),
                Some((of, count)) => Box::new(rows(found, of, Arc::clone(count))),
            };
        jobs.push(Job { table, coercion: Coercion::All, source });
    }
    attempts::write_unfinished(&plan, &schema, jobs, output, phases, &context.cancel.child())?;
    Ok(counts.iter().map(|count| count.load(Ordering::Relaxed)).collect())
}

fn rows(
    found: &Found,
    FoundTable { table, spec, ordered, .. }: &FoundTable,
    given: Arc<AtomicU64>,
) -> SavedRows {
    let has_rowid = rowid_column(table).is_some();
    // The engine makes the indexes.
    let spec = spec::Table { indexes: Vec::new(), computed: None, ..spec.clone() };
    SavedRows::new(TableRows {
        file: Arc::clone(&found.file),
        finding: Arc::clone(&found.finding),
        layout: Layout::new(table, &spec),
        has_needed_reals: spec.fields.iter().any(|field| field.takes.real && !field.takes.null),
        spec,
        columns: table.columns.len() + usize::from(has_rowid),
        rowid_column: has_rowid.then_some(table.columns.len()),
        leaves: ordered.clone(),
        rows: ordered.iter().map(|leaf| leaf.rows).sum(),
        given,
    })
}

/// Opens the new file, and begins a transaction.
fn open(path: &Path, found: &Found, cancel: &Cancel) -> Result<Connection> {
    let cannot = |error| failed(error, "open the new file");
    let path = std::path::absolute(path).map_err(|error| sqluice_core::error::Error::read(path, error))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(&path, flags).map_err(cannot)?;
    let stop = cancel.clone();
    connection.progress_handler(1000, Some(move || stop.check().is_err())).map_err(cannot)?;
    connection.set_prepared_statement_cache_capacity(64);
    let vacuum = match found.file.header() {
        Some(header) if header.largest_root != 0 && header.incremental_vacuum != 0 => "INCREMENTAL",
        Some(header) if header.largest_root != 0 => "FULL",
        _ => "NONE",
    };
    connection
        .execute_batch(&format!(
            "PRAGMA page_size = {}; PRAGMA encoding = '{}'; PRAGMA auto_vacuum = {vacuum};
             PRAGMA trusted_schema = ON; PRAGMA temp_store = FILE; PRAGMA locking_mode = EXCLUSIVE;
             PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA foreign_keys = OFF; BEGIN",
            found.plan.page_bytes,
            encoding_name(found.file.encoding)
        ))
        .map_err(cannot)?;
    Ok(connection)
}

/// Has SQLite write what the engine has not written. `encoded` has the number of rows that the engine has written, for each table of
/// `found`; `None` if the engine has written nothing.
fn finish(
    path: &Path,
    found: &Found,
    encoded: Option<&Vec<u64>>,
    report: &mut RecoverReport,
    context: &Context<'_>,
) -> Result<()> {
    let by_engine = encoded.is_some();
    let connection = open(path, found, &context.cancel)?;
    let schema = without_own_tables(&found.schema);
    let indexes = || schema.tables.iter().flat_map(|table| &table.indexes);
    if !by_engine {
        for table in &schema.tables {
            connection.execute_batch(&table.sql).map_err(cannot_make)?;
        }
        // A row that breaks a unique key is found when it is inserted. Other indexes are quicker made at the end.
        for sql in indexes().filter(|index| index.unique).filter_map(|index| index.sql.as_deref()) {
            connection.execute_batch(sql).map_err(cannot_make)?;
        }
    }
    let own = |name: &str| name.to_ascii_lowercase().starts_with("sqlite_");
    for (at, table) in found.tables.iter().enumerate().filter(|(_, table)| !own(&table.table.name)) {
        let mut insertion = Insertion::new((&connection, context), found, table);
        if !by_engine {
            insertion.sound_rows_first(&table.ordered)?;
        }
        let is_left = |(_, only_others): &&(_, bool)| by_engine || !only_others;
        insertion.rows(table.rest.iter().filter(is_left).copied())?;
        let counts = insertion.counts;
        let name = &table.table.name;
        let Some(saved) = report.saved.tables.iter_mut().find(|saved| saved.name == *name) else { continue };
        saved.rows = counts.rows + encoded.map_or(0, |encoded| encoded[at]);
        (saved.conflicts, saved.rejected, saved.repeated) =
            (counts.conflicts, counts.rejected, counts.repeated);
    }
    if !by_engine {
        for sql in indexes().filter(|index| !index.unique).filter_map(|index| index.sql.as_deref()) {
            context.cancel.check()?;
            connection.execute_batch(sql).map_err(cannot_make)?;
        }
    }
    lost_and_found(&connection, found, context)?;
    for (table, rows) in &found.from_indexes {
        super::from_indexes::write(&connection, found, (table, rows), context)?;
    }
    sequence(&connection, found)?;
    others(&connection, found, report)?;
    let cannot = |error| failed(error, "write the new file");
    connection.execute_batch("COMMIT").map_err(cannot)?;
    super::virtual_tables::settle(&connection, found, report)?;
    orphans(&connection, found, report, context)?;
    if let Some(header) = found.file.header() {
        let set = |name: &str, value: i64| connection.pragma_update(None, name, value).map_err(cannot);
        set("user_version", i64::from(header.user_version as i32))?;
        set("application_id", i64::from(header.application_id as i32))?;
    }
    connection.close().map_err(|(_, error)| failed(error, "close the new file"))?;
    context.cancel.check()
}

/// Counts the foreign keys of saved rows that refer to no row: the row that they refer to may be lost.
fn orphans(
    connection: &Connection,
    found: &Found,
    report: &mut RecoverReport,
    context: &Context<'_>,
) -> Result<()> {
    if !found.plan.damaged {
        return Ok(());
    }
    for table in found.schema.tables.iter().filter(|table| table.foreign_keys) {
        context.cancel.check()?;
        let Some(saved) = report.saved.tables.iter_mut().find(|saved| saved.name == table.name) else {
            continue;
        };
        let sql = format!("PRAGMA foreign_key_check({})", quoted_text(&table.name));
        let count = connection.prepare(&sql).and_then(|mut check| {
            let mut orphans = check.query([])?;
            let mut count = 0;
            while orphans.next()?.is_some() {
                count += 1;
            }
            Ok(count)
        });
        match count {
            Ok(count) => saved.orphans = count,
            Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) => {
                return Err(failed(error, "check foreign keys"));
            }
            // The table that the key refers to may have no such columns, or is lost.
            Err(error) => report.saved.remarks.push(format!(
                "the foreign keys of table {} can't be checked: {}",
                table.name,
                said(error)
            )),
        }
    }
    Ok(())
}

/// Sets the largest rowids that AUTOINCREMENT tables have had.
fn sequence(connection: &Connection, found: &Found) -> Result<()> {
    let cannot = |error| failed(error, "write sqlite_sequence");
    let has = "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_sequence'";
    if !connection.prepare(has).and_then(|mut has| has.exists([])).map_err(cannot)? {
        return Ok(());
    }
    let mut known: Vec<(String, i64)> = Vec::new();
    if let Some(table) =
        found.tables.iter().find(|table| table.table.name.eq_ignore_ascii_case("sqlite_sequence"))
    {
        let mut reader = sqluice_reader::salvage::PageRows::default();
        for leaf in table.ordered.iter().chain(table.rest.iter().map(|(leaf, _)| leaf)) {
            reader.read(&found.file, &found.finding.chains, leaf.page, |row| {
                let values = sqluice_format::record::decode(row.record).unwrap_or_default();
                if let [name, sqluice_core::batch::Value::Int(number)] = values[..]
                    && let Some(name) = sqluice_reader::salvage::schema::text_of(name, found.file.encoding)
                {
                    known.push((name, number));
                }
                Ok(())
            })?;
        }
    }
    for table in found.schema.tables.iter().filter(|table| table.autoincrement) {
        let rows: Option<i64> = connection
            .query_row(&format!("SELECT max(rowid) FROM {}", quoted(&table.name)), [], |row| row.get(0))
            .map_err(cannot)?;
        let stored = known
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(&table.name))
            .map(|(_, number)| *number);
        let Some(largest) = stored.chain(rows).max() else { continue };
        connection.execute("DELETE FROM sqlite_sequence WHERE name = ?1", [&table.name]).map_err(cannot)?;
        connection
            .execute("INSERT INTO sqlite_sequence VALUES (?1, ?2)", (&table.name, largest))
            .map_err(cannot)?;
    }
    Ok(())
}

/// Makes virtual tables over their saved shadow tables, then views and triggers.
fn others(connection: &Connection, found: &Found, report: &mut RecoverReport) -> Result<()> {
    let cannot = |error| failed(error, "make the schema again");
    let virtuals: Vec<_> = found.others.iter().filter(|row| is_virtual(row)).collect();
    if !virtuals.is_empty() {
        connection.execute_batch("PRAGMA writable_schema = ON").map_err(cannot)?;
        for row in virtuals {
            // A statement that SQLite can't parse makes the whole database unreadable.
            if let Err(error) = connection.prepare(row.sql.as_deref().unwrap_or_default()) {
                report.saved.damaged = true;
                report.saved.remarks.push(format!(
                    "virtual table {} can't be made again: {}",
                    row.name,
                    said(error)
                ));
                continue;
            }
            let sql = "INSERT INTO sqlite_schema VALUES ('table', ?1, ?1, 0, ?2)";
            connection.execute(sql, (&row.name, &row.sql)).map_err(cannot)?;
        }
        connection.execute_batch("PRAGMA writable_schema = RESET").map_err(cannot)?;
    }
    for kind in ["view", "trigger"] {
        for row in found.others.iter().filter(|row| row.kind == kind) {
            let Some(sql) = &row.sql else { continue };
            // The bytes of the damaged file are not trusted to hold a single statement, or one that only declares.
            let why = match declares(sql, kind) {
                true => connection.execute(sql, []).err().map(said),
                false => Some("the statement is damaged".to_owned()),
            };
            if let Some(why) = why {
                report.saved.damaged = true;
                report.saved.remarks.push(format!("{kind} {} can't be made again: {why}", row.name));
            }
        }
    }
    Ok(())
}
