//! Databases that are replaced in place, by a rename and by one transaction: every prefix of the system calls, as a power failure may
//! leave it, has the old rows or the new ones, and the journal mode that the database had.

use std::path::Path;

use sqluice_testkit::effort::tries;

use super::replace::{Judge, Op, ops, record_in, replay_for};
use crate::support::folder;
use crate::support::old::{Left, ROWS, make_more, rows_and_mode};
use crate::support::strace::strace;
use crate::support::unseen::{contained, open_folder};
use crate::support::{Ran, SQLUICE};

const LEFT: [Left; 4] = [Left::Rollback, Left::HotJournal, Left::Wal, Left::StaleWal];

/// Returns a function that checks a database which had the rows of `left` and gets `more` rows, and returns the fault, if there is one.
fn judge(left: Left, more: i64) -> Box<Judge<'static>> {
    let mode = if left.is_wal() { "wal" } else { "delete" };
    Box::new(move |database, is_done| match rows_and_mode(database) {
        Ok((rows, found)) if found == mode && (rows == ROWS + more || (rows == ROWS && !is_done)) => None,
        other => Some(format!("{other:?}, done: {is_done}")),
    })
}

/// Records runs that copy a database in place and merge another into it, and replays each.
fn replay_all(run: impl Fn(&Path, &[&str], &[&str]) -> Option<Ran>, check: impl Fn(&[Op])) {
    let elsewhere = folder();
    let more = elsewhere.path().join("more.db");
    make_more(&more);
    let verbs = [(["copy", "x.db", "x.db"], 0), (["merge", "x.db", more.to_str().unwrap()], ROWS)];
    for (verb, (args, added)) in verbs.into_iter().enumerate() {
        for (place, left) in LEFT.into_iter().enumerate() {
            // All states and all verbs are used, but at the effort quick not all combinations.
            if (verb + place) % tries(2, 1, 1) != 0 {
                continue;
            }
            let folder = open_folder();
            left.make(folder.path());
            let mut skipped = false;
            let recorded = record_in(folder.path(), |flags| {
                let ran = run(folder.path(), flags, &args);
                skipped = ran.is_none();
                ran.unwrap_or_else(|| crate::support::run(folder.path(), ["--version"]))
            });
            if skipped {
                return;
            }
            let ops = ops(&recorded);
            check(&ops);
            replay_for(&recorded.before, &ops, &*judge(left, added))
                .unwrap_or_else(|error| panic!("{args:?} {left:?}: {error}"));
        }
    }
}

#[test]
fn a_power_failure_during_a_replacement_by_rename_keeps_the_journal_mode() {
    let is_rename = |op: &Op| matches!(op, Op::Rename { .. });
    replay_all(
        |folder, flags, args| Some(strace(folder, flags, &[args, &["--assume-unused"]].concat())),
        |ops| assert!(ops.iter().any(is_rename), "{ops:?}"),
    );
}

#[test]
fn a_power_failure_during_a_replacement_by_transaction_keeps_the_journal_mode() {
    let is_rename = |op: &Op| matches!(op, Op::Rename { .. });
    replay_all(
        |folder, flags, args| {
            let args = [&["-f"], flags, &["--", SQLUICE], args].concat();
            let output = contained(folder, "strace", &args)?.output().unwrap();
            Some(Ran::from(output))
        },
        |ops| assert!(!ops.iter().any(is_rename), "{ops:?}"),
    );
}
