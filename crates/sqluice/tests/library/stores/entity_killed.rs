//! SIGKILL during writes to an entity store: afterwards it has all acknowledged batches, and perhaps the one under way, each as a whole.
//! After a kill while a type is rebuilt, it has the old fields or the new ones.
//!
//! The test runs itself as the process that is killed.
#![cfg(feature = "entity-store")]
#![allow(clippy::print_stdout, reason = "the process that is killed says how far it is")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::support::Random;
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use sqluice::entity_store::{Entities, EntityStore, EntityType, Options, all};
use sqluice_testkit::effort::tries;
use sqluice_testkit::own_process::test_of;
use sqluice_testkit::sqlite::integrity;

/// The environment variables that give the process its file and its job.
const FILE: &str = "SQLUICE_TEST_STORE";
const JOB: &str = "SQLUICE_TEST_JOB";

const THINGS: u64 = 1200;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Thing {
    key: String,
    turn: u64,
    text: String,
}

/// Returns the entities that a turn writes.
fn batch(turn: u64) -> Vec<Thing> {
    let thing = |number: u64| Thing {
        key: format!("{:05}", number * 31 % THINGS),
        turn,
        text: "x".repeat((number * turn % 700) as usize),
    };
    (0..THINGS).map(thing).collect()
}

fn open(file: &Path, with_text: bool) -> Entities<Thing> {
    let options = Options::new().durable(false);
    let store = EntityStore::open_with(file, &options).unwrap();
    let ty = EntityType::text("thing", |thing: &Thing| &thing.key).index("turn", "$.turn");
    store.define(if with_text { ty.index("text", "$.text") } else { ty }).unwrap()
}

/// The process that is killed: not a test of its own.
#[test]
fn the_process_that_is_killed() {
    let (Some(file), Ok(job)) = (std::env::var_os(FILE), std::env::var(JOB)) else { return };
    let file = Path::new(&file);
    let say = |turn: u64| {
        println!("\nturn {turn}");
        std::io::stdout().flush().unwrap();
    };
    if job == "define" {
        for turn in 0.. {
            say(turn);
            drop(open(file, turn % 2 == 0));
        }
    }
    let things = open(file, true);
    let first = things.query(all().order_descending("turn").limit(1)).unwrap();
    for turn in first.first().map_or(0, |thing| thing.turn) + 1.. {
        things.write_many(&batch(turn)).unwrap();
        say(turn);
    }
}

fn start(file: &Path, job: &str) -> Child {
    let mut command = test_of(module_path!(), "the_process_that_is_killed");
    command.env(FILE, file).env(JOB, job).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills the process some time after its first output. Returns the last turn that it printed.
fn kill(mut child: Child, random: &mut Random) -> Option<u64> {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let turn = |line: String| line.strip_prefix("turn ").and_then(|turn| turn.parse::<u64>().ok());
    let first = if random.one_in(4) { None } else { lines.by_ref().find_map(turn) };
    std::thread::sleep(Duration::from_micros(random.below(60_000) as u64));
    child.kill().unwrap();
    child.wait().unwrap();
    lines.filter_map(turn).last().or(first)
}

/// Returns the turn of the stored entities, and asserts that all are of one turn, and that the indexes agree.
fn turn_of(file: &Path, things: &Entities<Thing>) -> u64 {
    let found = things.query(all().order("key")).unwrap();
    let turn = found.first().map_or(0, |thing| thing.turn);
    let mut expected = if turn == 0 { Vec::new() } else { batch(turn) };
    expected.sort_by(|one, other| one.key.cmp(&other.key));
    assert!(found == expected, "half of turn {turn}");
    let db = Connection::open(file).unwrap();
    assert_eq!(integrity(&db), "ok");
    turn
}

#[test]
#[cfg_attr(windows, ignore = "under wine a program starts so slowly that kills come too late")]
fn a_killed_process_leaves_only_whole_batches_of_entities() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("things.db");
    let mut random = Random(11);
    let mut last = 0;
    for _ in 0..tries(6, 25, 2000) {
        let told = kill(start(&file, "write"), &mut random).unwrap_or(last);
        let turn = turn_of(&file, &open(&file, true));
        assert!(turn == told || turn == told + 1, "turn {told} was acknowledged, and turn {turn} is there");
        last = turn;
    }
    assert!(last > 0, "each kill was before the first batch");
}

#[test]
fn a_process_killed_while_rebuilding_a_type_leaves_the_old_or_the_new_fields() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("things.db");
    open(&file, true).write_many(&batch(7)).unwrap();
    let mut random = Random(12);
    let mut started = 0;
    for _ in 0..tries(4, 15, 1200) {
        started += u32::from(kill(start(&file, "define"), &mut random).is_some());
        let db = Connection::open(&file).unwrap();
        let columns = "SELECT group_concat(name, ' ') FROM pragma_table_info('thing')";
        let columns: String = db.query_row(columns, [], |row| row.get(0)).unwrap();
        let with_text = columns == "key turn text value";
        assert!(with_text || columns == "key turn value", "{columns}");
        let indexes = "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'thing'";
        let indexes: usize = db.query_row(indexes, [], |row| row.get::<_, i64>(0)).unwrap() as usize;
        assert_eq!(indexes, if with_text { 3 } else { 2 });
        let rebuilt = "SELECT count(*) FROM sqlite_schema WHERE name LIKE '%rebuilt%'";
        assert_eq!(db.query_row(rebuilt, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
        drop(db);
        assert_eq!(turn_of(&file, &open(&file, with_text)), 7);
    }
    assert!(started > 0, "each kill was before the first change of the fields");
}
