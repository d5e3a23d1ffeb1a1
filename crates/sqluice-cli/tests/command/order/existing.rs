//! The order in which an existing database is changed, as strace sees it, replayed as a power failure may leave it after
//! each call.
//!
//! SIGKILL can't show a missing fsync, because written data stay in the kernel. So the calls are recorded and replayed, and data that were
//! not synced are lost, all of them or any part. After each call, SQLite must find all of the old database or all of the new one, and after
//! the last call the new one. Wrong orders of the calls must fail this test.

#![allow(clippy::print_stdout, reason = "a test that fails shows what it saw and how to repeat it")]

use std::collections::HashSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::support::disk::{Files, Loss, Op, Recorded, after, losses, record, short};
use sqluice_testkit::effort::tries;

use crate::support::existing::{Case, Content, Journal, Scenario, scratch};
use crate::support::{Random, tell};

/// The number of the database among the files of the operations: it is the only file that exists before the run.
const DATABASE: usize = 0;

/// Returns the approximate number of power failures to replay for a recording.
fn failures() -> usize {
    tries(30, 250, 2500)
}

/// Replays every prefix of the operations, with power failures. Returns the number of states that were checked, or a description of a wrong
/// state.
fn replay(case: &Case, before: &Files, ops: &[Op], failures: usize) -> Result<usize, String> {
    let mut random = Random::new();
    let mut seen = HashSet::new();
    for end in 0..=ops.len() {
        let done = &ops[..end];
        for loss in losses(&mut random, done, failures.div_ceil(ops.len())) {
            let files = after(before, done, &loss);
            let mut hasher = DefaultHasher::new();
            (&files, end == ops.len()).hash(&mut hasher);
            // SQLite must find the new database only after the last call, so the same files are judged again then.
            if !seen.insert(hasher.finish()) {
                continue;
            }
            let found = find(case, &files);
            if found != Content::New && (end == ops.len() || found != Content::Old) {
                return Err(tale(done, &loss, &found));
            }
        }
    }
    Ok(seen.len())
}

fn tale(done: &[Op], loss: &Loss, found: &Content) -> String {
    let done: Vec<String> = done.iter().enumerate().map(|(at, op)| format!("{at}: {}", short(op))).collect();
    format!("after {done:#?} with {loss:?}: {found:?}")
}

/// Returns the content that SQLite finds in a folder with these files.
fn find(case: &Case, files: &Files) -> Content {
    let scratch = scratch();
    for (name, bytes) in files {
        fs::write(scratch.path().join(name), bytes).unwrap();
    }
    case.content_in_place(scratch.path())
}

fn recorded(case: &Case) -> Recorded {
    let folder = case.folder();
    let recorded = record(folder.path(), case.args());
    assert_eq!(recorded.before.keys().collect::<Vec<_>>(), ["x.db"]);
    assert_eq!(case.content_in_place(folder.path()), Content::New, "{}", case.name());
    recorded
}

/// Returns the position of the first write of pages past the end of the file; `None` if the run writes none.
fn first_page(case: &Case, ops: &[Op]) -> Option<usize> {
    let is_past_the_end =
        |op: &Op| matches!(op, Op::Write { file: DATABASE, offset, .. } if *offset as u64 >= case.old_bytes);
    ops.iter().position(is_past_the_end)
}

fn assert_power_failures_are_harmless(scenario: Scenario) {
    for journal in Journal::ALL {
        let case = Case::new(scenario, journal);
        let Recorded { before, ops } = recorded(&case);
        println!("{}: {:#?}", case.name(), ops.iter().map(short).collect::<Vec<_>>());
        let looked = replay(&case, &before, &ops, failures())
            .unwrap_or_else(|error| panic!("{}: {error}", case.name()));
        tell(&format!("{}: {} calls, {looked} ways to lose power", case.name(), ops.len()));
    }
}

#[test]
fn a_power_failure_during_a_load_of_a_new_table_leaves_the_old_or_the_new_database() {
    assert_power_failures_are_harmless(Scenario::NewTable);
}

#[test]
fn a_power_failure_during_an_append_leaves_the_old_or_the_new_database() {
    assert_power_failures_are_harmless(Scenario::Append);
}

#[test]
fn a_power_failure_during_an_append_to_an_indexed_table_leaves_the_old_or_the_new_database() {
    assert_power_failures_are_harmless(Scenario::IndexedAppend);
}

#[test]
fn a_power_failure_while_indexes_are_made_leaves_the_old_or_the_new_database() {
    assert_power_failures_are_harmless(Scenario::Index);
}

#[test]
fn a_power_failure_while_sqlite_inserts_rows_leaves_the_old_or_the_new_database() {
    assert_power_failures_are_harmless(Scenario::Sql);
}

#[test]
fn new_pages_are_appended_and_synced_before_old_pages_change() {
    for case in Case::all().filter(|case| case.scenario.writes_pages()) {
        let Recorded { ops, .. } = recorded(&case);
        let name = case.name();
        let first = first_page(&case, &ops).unwrap_or_else(|| panic!("{name}: no page past the end"));
        let sync = first
            + ops[first..]
                .iter()
                .position(|op| *op == Op::Sync { file: DATABASE })
                .expect("pages are synced");
        for op in &ops[..sync] {
            if let Op::Write { file: DATABASE, offset, .. } = op {
                assert!(*offset as u64 >= case.old_bytes, "{name}: {} before the sync", short(op));
            }
        }
        let later_pages = ops[sync..].iter().filter(|op| match op {
            Op::Write { file: DATABASE, offset, .. } => *offset as u64 >= case.old_bytes,
            _ => false,
        });
        let pages: usize =
            later_pages.map(|op| if let Op::Write { bytes, .. } = op { bytes.len() } else { 0 }).sum();
        assert!(pages <= 32 << 10, "{name}: {pages} bytes behind the old end go through SQLite");
    }
}

/// Returns wrong orders of the operations, each with a description. The replay must find a fault in each of them.
fn wrong_orders(case: &Case, recorded: &Recorded) -> Vec<(&'static str, Vec<Op>)> {
    let ops = &recorded.ops;
    let without = |lost: &dyn Fn(usize, &Op) -> bool| -> Vec<Op> {
        ops.iter().enumerate().filter(|(at, op)| !lost(*at, op)).map(|(_, op)| op.clone()).collect()
    };
    let first_page = first_page(case, ops);
    let is_page =
        |op: &Op| matches!(op, Op::Write { file: DATABASE, offset, .. } if *offset as u64 >= case.old_bytes);
    let sibling = ops.iter().rev().find_map(|op| match op {
        Op::Create { name, file } if *name != "x.db" => Some((name.clone(), *file)),
        _ => None,
    });
    let (sibling_name, sibling) = sibling.expect("a journal or a log");
    let of_sibling = |op: &Op| matches!(op, Op::Sync { file } if *file == sibling);
    // Wrong orders write the last state of page 1 at other times.
    let page_1 = ops.iter().rev().find_map(|op| match op {
        Op::Write { file: DATABASE, offset: 0, bytes } => Some(bytes.clone()),
        _ => None,
    });
    let page_1 =
        Op::Write { file: DATABASE, offset: 0, bytes: page_1.expect("page 1 is written in the end") };
    let page_1_at = |at: usize| [&ops[..at], std::slice::from_ref(&page_1), &ops[at..]].concat();
    let mut wrong = Vec::new();
    match case.journal {
        Journal::Delete => {
            let unlink = ops.iter().position(|op| *op == Op::Remove { name: sibling_name.clone() });
            let unlink = unlink.expect("the journal goes");
            let mut early = ops.clone();
            let op = early.remove(unlink);
            let sync = early.iter().rposition(|op| *op == Op::Sync { file: DATABASE }).unwrap();
            early.insert(sync, op);
            wrong.push(("the journal goes before the database is synced", early));
            wrong.push(("the database is not synced", without(&|_, op| *op == Op::Sync { file: DATABASE })));
            wrong.push(("the journal is not synced", without(&|_, op| of_sibling(op))));
            wrong.push(("the journal stays", without(&|_, op| matches!(op, Op::Remove { .. }))));
        }
        Journal::Wal => {
            wrong.push(("the log is not synced", without(&|_, op| of_sibling(op))));
            let is_checkpointed = |op: &Op| matches!(op, Op::Write { file: DATABASE, offset: 0, .. });
            let checkpoint = ops.iter().position(is_checkpointed).expect("the log is copied in the end");
            if first_page.is_some() {
                let synced = without(&|at, op| at < checkpoint && *op == Op::Sync { file: DATABASE });
                wrong.push(("pages are not synced before COMMIT", synced));
            }
            wrong.push((
                "the log goes before the database is synced",
                without(&|at, op| at > checkpoint && *op == Op::Sync { file: DATABASE }),
            ));
        }
    }
    if let Some(first) = first_page {
        wrong.push(("page 1 is written like the new pages", page_1_at(first)));
        wrong.push(("a write of pages is left out", without(&|at, _| at == first)));
        let (pages, rest): (Vec<Op>, Vec<Op>) = ops.iter().cloned().partition(is_page);
        wrong.push(("pages come after all else", [rest, pages].concat()));
    }
    wrong
}

#[test]
fn a_simulated_power_failure_reveals_wrong_orders_of_writes_and_syncs() {
    let scenarios = [Scenario::NewTable, Scenario::Append, Scenario::Sql];
    let cases = scenarios.into_iter().flat_map(|scenario| Journal::ALL.map(|journal| (scenario, journal)));
    let cases: Vec<_> = cases.collect();
    // At the effort quick, one wrong order is chosen at random.
    let first = Random::new().next() as usize % cases.len();
    for (scenario, journal) in cases.into_iter().cycle().skip(first).take(tries(1, 6, 6)) {
        let case = Case::new(scenario, journal);
        let recorded = recorded(&case);
        for (what, wrong) in wrong_orders(&case, &recorded) {
            assert!(wrong != recorded.ops, "{}: {what}", case.name());
            let caught = replay(&case, &recorded.before, &wrong, tries(1000, 1000, 10_000));
            let error = caught.expect_err(&format!("{}: {what}", case.name()));
            println!("{}: {what}: {error}", case.name());
        }
    }
}
