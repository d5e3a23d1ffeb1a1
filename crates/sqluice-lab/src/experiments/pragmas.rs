//! The experiment `pragma-mix`: INSERT, SELECT and DELETE under 21 settings. Errors of the published program are corrected: SELECT has
//! columns, PRAGMAs have their correct names, each result is read, and the last transaction is committed.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};

use crate::case::{Case, Digest, Experiment, Ground, Result, RowHash, Took};
use crate::random::mixed;
use crate::scale::{Counts, Scale};
use crate::sql::{self, Pragma, WAL_NORMAL};

const TABLE: &str = "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, t1 TEXT, t2 TEXT, t3 TEXT)";

/// The factor for the number of operations under settings that do not sync at each operation.
const FAST: u64 = 20;

/// A setting: its name, PRAGMAs, operations per transaction, and `true` if it rarely syncs.
type Setting = (&'static str, &'static [Pragma], u64, bool);

/// The default of `wal_autocheckpoint`, in pages. With fewer operations, a note says that settings of this PRAGMA make no difference.
const CHECKPOINT_PAGES: u64 = 1000;

const OFF: Pragma = ("synchronous", "OFF");
const NO_JOURNAL: Pragma = ("journal_mode", "OFF");
const WAL: Pragma = ("journal_mode", "WAL");
const NO_VACUUM: Pragma = ("auto_vacuum", "NONE");
const EXCLUSIVE: Pragma = ("locking_mode", "EXCLUSIVE");

const SETTINGS: [Setting; 21] = [
    ("defaults", &[], 1, false),
    ("100 operations per transaction", &[], 100, true),
    ("1,000 operations per transaction", &[], 1_000, true),
    ("10,000 operations per transaction", &[], 10_000, true),
    ("10,000,000 operations per transaction", &[], 10_000_000, true),
    ("synchronous=OFF", &[OFF], 1, true),
    ("journal_mode=OFF", &[NO_JOURNAL], 1, false),
    ("journal_mode=DELETE", &[("journal_mode", "DELETE")], 1, false),
    ("journal_mode=TRUNCATE", &[("journal_mode", "TRUNCATE")], 1, false),
    ("journal_mode=PERSIST", &[("journal_mode", "PERSIST")], 1, false),
    ("journal_mode=MEMORY", &[("journal_mode", "MEMORY")], 1, false),
    ("journal_mode=WAL", &[WAL], 1, false),
    ("WAL, wal_autocheckpoint=0", &[WAL, ("wal_autocheckpoint", "0")], 1, false),
    ("WAL, wal_autocheckpoint=10000", &[WAL, ("wal_autocheckpoint", "10000")], 1, false),
    ("auto_vacuum=FULL", &[("auto_vacuum", "FULL")], 1, false),
    ("locking_mode=EXCLUSIVE", &[EXCLUSIVE], 1, false),
    ("synchronous=OFF, journal OFF", &[OFF, NO_JOURNAL], 1, true),
    ("synchronous=OFF, journal OFF, no auto_vacuum", &[NO_VACUUM, OFF, NO_JOURNAL], 1, true),
    (
        "synchronous=OFF, journal OFF, no auto_vacuum, exclusive",
        &[NO_VACUUM, OFF, NO_JOURNAL, EXCLUSIVE],
        1,
        true,
    ),
    (
        "synchronous=OFF, journal OFF, no auto_vacuum, exclusive, 1,000 per transaction",
        &[NO_VACUUM, OFF, NO_JOURNAL, EXCLUSIVE],
        1_000,
        true,
    ),
    (
        "synchronous=OFF, WAL, no auto_vacuum, exclusive, 1,000 per transaction",
        &[NO_VACUUM, OFF, WAL, EXCLUSIVE],
        1_000,
        true,
    ),
];

/// The settings that write-ups recommend most often, and the safest settings.
const RECOMMENDED: [Setting; 6] = [
    ("WAL, synchronous=NORMAL", WAL_NORMAL, 1, true),
    ("WAL, synchronous=NORMAL, 1,000 per transaction", WAL_NORMAL, 1_000, true),
    ("WAL, synchronous=FULL", &[WAL, ("synchronous", "FULL")], 1, false),
    ("WAL, synchronous=FULL, 1,000 per transaction", &[WAL, ("synchronous", "FULL")], 1_000, true),
    ("WAL, synchronous=OFF", &[WAL, OFF], 1, true),
    (
        "journal_mode=DELETE, synchronous=FULL",
        &[("journal_mode", "DELETE"), ("synchronous", "FULL")],
        1,
        false,
    ),
];

pub(super) fn all(scale: Scale) -> Vec<Experiment> {
    let operations = operations(scale);
    let experiment = Experiment::new("pragma-mix", "operations/s", operations);
    let all = SETTINGS
        .iter()
        .fold(experiment, |experiment, setting| experiment.published(setting.0, case(setting, operations)));
    let mut all = RECOMMENDED[..2]
        .iter()
        .fold(all, |experiment, setting| experiment.added(setting.0, case(setting, operations)));
    let mistakes =
        crate::published::published().facts.get("optimizations").and_then(|facts| facts.get("mistakes"));
    let mistakes =
        mistakes.and_then(|list| list.as_array()).into_iter().flatten().filter_map(|one| one.as_str());
    all.notes
        .extend(mistakes.map(|mistake| format!("The published program: {mistake}; here that is put right.")));
    all.notes.push(format!(
        "{operations} operations, and {} with settings that seldom wait for the disk; 61% INSERT, 30% SELECT, 9% DELETE.",
        operations * FAST
    ));
    if operations < CHECKPOINT_PAGES {
        all.notes.push(
            "So few operations do not fill a log of 1,000 pages: settings of wal_autocheckpoint make no difference here."
                .to_owned(),
        );
    }
    if operations * FAST <= 10_000 {
        all.notes.push(
            "10,000 and 10,000,000 operations per transaction are both one transaction here.".to_owned(),
        );
    }
    vec![all]
}

/// A question: the benefit of WAL with synchronous=NORMAL, which is recommended most often.
pub(super) fn recommended(scale: Scale) -> Experiment {
    let operations = operations(scale);
    let experiment = Experiment::new("wal-normal", "operations/s", operations);
    RECOMMENDED
        .iter()
        .fold(experiment, |experiment, setting| experiment.added(setting.0, case(setting, operations)))
}

fn operations(scale: Scale) -> u64 {
    Counts::new(20, 500, 100_000).at(scale)
}

fn case(setting: &Setting, operations: u64) -> Case {
    let (_, pragmas, per_transaction, fast) = *setting;
    let operations = if fast { operations * FAST } else { operations };
    let command = "INSERT INTO t (t1, t2, t3) VALUES (?1, ?2, ?3); SELECT id, t1, t2, t3 FROM t WHERE id = ?1; DELETE FROM t WHERE id = ?1";
    let case = Case::new(
        format!("{command}: {operations} operations, {} a transaction", per_transaction.min(operations)),
        move |ground| run(ground, pragmas, operations, per_transaction),
        move || Ok(expected(operations)),
    );
    // Without checkpoints the WAL grows by a page or more for each operation.
    case.settings(sql::statements(pragmas)).disk(operations * 8192 + (1 << 20))
}

/// An operation of the experiment. SELECT and DELETE have the id of a row that was inserted earlier and may have been deleted since.
enum Operation {
    Insert,
    Select(i64),
    Delete(i64),
}

/// Returns operation `number`, after `inserted` rows have been inserted.
fn operation(number: u64, inserted: u64) -> Operation {
    let random = mixed(number);
    let id = ((random >> 8) % inserted.max(1)) as i64 + 1;
    match random % 100 {
        61..91 if inserted > 0 => Operation::Select(id),
        91.. if inserted > 0 => Operation::Delete(id),
        _ => Operation::Insert,
    }
}

fn values(id: i64) -> [String; 3] {
    [1, 2, 3].map(|column| format!("value {} of {id}", mixed(id as u64 * 4 + column) % 1_000_000))
}

fn hash(id: i64, values: &[String; 3]) -> RowHash {
    let mut hash = RowHash::NEW;
    hash.int(id);
    values.iter().for_each(|value| hash.text(value.as_bytes()));
    hash
}

/// Returns the expected digests: of the rows that remain at the end, and of the rows that SELECTs returned.
fn expected(operations: u64) -> Vec<Digest> {
    let mut rows = BTreeMap::new();
    let (mut inserted, mut selected) = (0, Digest::default());
    for number in 0..operations {
        match operation(number, inserted) {
            Operation::Insert => {
                inserted += 1;
                rows.insert(inserted as i64, values(inserted as i64));
            }
            Operation::Select(id) => rows.get(&id).into_iter().for_each(|row| selected.add(hash(id, row))),
            Operation::Delete(id) => {
                rows.remove(&id);
            }
        }
    }
    let mut all = Digest::default();
    rows.iter().for_each(|(id, row)| all.add(hash(*id, row)));
    vec![all, selected]
}

fn run(
    ground: &Ground<'_>,
    pragmas: &'static [Pragma],
    operations: u64,
    per_transaction: u64,
) -> Result<Took> {
    let file = ground.file();
    let db = sql::open(&file, pragmas)?;
    db.execute_batch(TABLE)?;
    let (selected, seconds) = ground.time(|| {
        let selected = operate(&db, operations, per_transaction)?;
        sql::close(db)?;
        Ok(selected)
    })?;
    let db = sql::open(&file, &[])?;
    sql::maybe_drop(&db, ground, "t")?;
    sql::sound(&db)?;
    let all = sql::digest(&db, "SELECT id, t1, t2, t3 FROM t")?;
    Ok(Took::rate(operations, seconds, vec![all, selected]))
}

fn operate(db: &Connection, operations: u64, per_transaction: u64) -> Result<Digest> {
    let mut insert = db.prepare("INSERT INTO t (t1, t2, t3) VALUES (?1, ?2, ?3)")?;
    let mut select = db.prepare("SELECT id, t1, t2, t3 FROM t WHERE id = ?1")?;
    let mut delete = db.prepare("DELETE FROM t WHERE id = ?1")?;
    let (mut inserted, mut selected) = (0, Digest::default());
    for number in 0..operations {
        if per_transaction > 1 && number % per_transaction == 0 {
            db.execute_batch(if number == 0 { "BEGIN" } else { "COMMIT; BEGIN" })?;
        }
        match operation(number, inserted) {
            Operation::Insert => {
                inserted += 1;
                let [t1, t2, t3] = values(inserted as i64);
                if insert.insert(params![t1, t2, t3])? != inserted as i64 {
                    return Err("SQLite assigned an unexpected id".into());
                }
            }
            Operation::Select(id) => {
                let row =
                    select.query_row([id], |row| Ok((row.get(0)?, [row.get(1)?, row.get(2)?, row.get(3)?])));
                row.optional()?.iter().for_each(|(id, row)| selected.add(hash(*id, row)));
            }
            Operation::Delete(id) => {
                delete.execute([id])?;
            }
        }
    }
    if per_transaction > 1 {
        db.execute_batch("COMMIT")?;
    }
    Ok(selected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_the_published_shares_of_insert_select_and_delete() {
        let mut counts = [0; 3];
        for number in 0..10_000 {
            counts[match operation(number, 1000) {
                Operation::Insert => 0,
                Operation::Select(_) => 1,
                Operation::Delete(_) => 2,
            }] += 1;
        }
        for (count, expected) in counts.into_iter().zip([6_100, 3_000, 900]) {
            assert!((expected - 200..expected + 200).contains(&count), "{counts:?}");
        }
    }
}
