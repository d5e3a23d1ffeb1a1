//! SIGKILL at any moment: the target is absent, what lies beside it is untouched, and the next run clears what is left.
//!
//! `SQLUICE_KILLS` sets the number of rounds (20).

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::support::old::{Content, LEFT, content};
use crate::support::{
    Random, end, folder, generate, integrity, names, run, start, tell, temporaries, wait_for_writes,
};
use sqluice_testkit::system::{fifo, symlink};

/// About 200 MB: long enough that there are moments to choose from.
const ROWS: &str = "11M";

/// How far a killed run had got, judged by what it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// No temporary file, or an empty one.
    BeforeTheFirstWrite,
    /// Pages, but not page 1, which is written last.
    Writing { tenths: u64 },
    /// All pages: what was missing is fsync or the name.
    BeforeTheName,
    /// The target exists: the signal was too late.
    Named,
}

fn phase(folder: &Path, whole_bytes: u64) -> Phase {
    if folder.join("big.db").exists() {
        return Phase::Named;
    }
    let left = temporaries(folder, "big.db");
    assert!(left.len() <= 1, "{left:?}");
    let Some(left) = left.first() else { return Phase::BeforeTheFirstWrite };
    let file = fs::File::open(left).unwrap();
    let bytes = file.metadata().unwrap().len();
    if bytes == 0 {
        return Phase::BeforeTheFirstWrite;
    }
    let mut header = [0; 16];
    (&file).read_exact(&mut header).unwrap();
    match &header {
        b"SQLite format 3\0" => Phase::BeforeTheName,
        // A file that was cut off here is no database to anybody.
        [0, ..] => Phase::Writing { tenths: (bytes * 10 / whole_bytes).min(9) },
        other => panic!("half a header: {other:?}"),
    }
}

/// Files that a run for `big.db` has nothing to do with.
const SIBLINGS: [&str; 7] = [
    "big.db-journal",
    "big.db.bak",
    "big",
    "other.db",
    ".other.db.sqluice-tmp-1-0",
    ".big.db.sqluice",
    ".xbig.db.sqluice-tmp-1-0",
];

fn siblings(folder: &Path) -> Vec<(Vec<u8>, SystemTime)> {
    let read = |name: &&str| {
        let path = folder.join(name);
        (fs::read(&path).unwrap(), fs::metadata(&path).unwrap().modified().unwrap())
    };
    SIBLINGS.iter().map(read).collect()
}

#[test]
fn a_killed_run_leaves_no_target_and_the_next_run_clears_what_it_left() {
    let rounds: usize = std::env::var("SQLUICE_KILLS").map_or(20, |rounds| rounds.parse().unwrap());
    let mut random = Random::new();
    let folder = folder();
    let folder = folder.path();
    for name in SIBLINGS {
        // An empty journal is no journal: it does no harm, and stays.
        fs::write(folder.join(name), if name.ends_with("-journal") { "" } else { name }).unwrap();
    }
    let untouched = siblings(folder);

    let started = Instant::now();
    let mut whole = start(folder, generate("big.db", ROWS));
    wait_for_writes(folder, "big.db", &mut whole);
    let mut first_write_seconds = started.elapsed().as_secs_f64();
    end(whole).ok();
    let mut run_seconds = started.elapsed().as_secs_f64();
    let whole_bytes = fs::metadata(folder.join("big.db")).unwrap().len();
    assert!(whole_bytes > 200_000_000);
    fs::remove_file(folder.join("big.db")).unwrap();

    let mut phases = Vec::new();
    for round in 0..rounds {
        let mut child = start(folder, generate("big.db", ROWS));
        // Few before the first write, where little can go wrong. The last tenth is left to late signals.
        let early = random.fraction() < 0.05;
        let (from, to) =
            if early { (0.0, first_write_seconds) } else { (first_write_seconds, run_seconds * 0.9) };
        let delay = from + (to - from).max(0.0) * random.fraction();
        std::thread::sleep(Duration::from_secs_f64(delay));
        child.kill().unwrap();
        child.wait().unwrap();

        let phase = phase(folder, whole_bytes);
        phases.push(phase);
        // How fast others let us run changes by a factor of two from minute to minute. To be too late is worse than to
        // be early.
        match phase {
            Phase::BeforeTheFirstWrite if !early => {
                first_write_seconds = (first_write_seconds * 1.2).min(run_seconds / 3.0);
            }
            Phase::Writing { tenths } => {
                first_write_seconds *= 0.98;
                if tenths >= 2 {
                    let seen = delay * 10.0 / (tenths as f64 + 0.5);
                    run_seconds += (seen - run_seconds) * if seen < run_seconds { 0.4 } else { 0.1 };
                }
            }
            Phase::BeforeTheName | Phase::Named => run_seconds += (delay - run_seconds) * 0.4,
            _ => {}
        }
        if phase == Phase::Named {
            assert_eq!(integrity(&folder.join("big.db")), "ok");
            fs::remove_file(folder.join("big.db")).unwrap();
        }
        assert_eq!(siblings(folder), untouched, "round {round}, {phase:?}");

        run(folder, generate("big.db", "3")).ok();
        assert_eq!(temporaries(folder, "big.db"), [] as [&Path; 0], "round {round}, {phase:?}");
        fs::remove_file(folder.join("big.db")).unwrap();
        assert_eq!(siblings(folder), untouched, "round {round}, {phase:?}");
    }

    phases.sort();
    let writing = phases.iter().filter(|phase| matches!(phase, Phase::Writing { .. })).count();
    let mut histogram =
        format!("{rounds} kills, {writing} of them between the first and the last write; by what they left:");
    for group in phases.chunk_by(|a, b| a == b) {
        let bar = "#".repeat(group.len() * 100 / rounds);
        histogram += &format!("\n{:>5}  {:21} {bar}", group.len(), format!("{:?}", group[0]));
    }
    tell(&histogram);
    // Under wine, programs start slowly, and now and then much more slowly.
    let tenths_min = if cfg!(windows) { 3 } else { 8 };
    assert!(
        writing * 10 >= rounds * tenths_min,
        "only {writing} of {rounds} between the first and the last write"
    );
}

#[test]
fn a_killed_run_that_overwrites_leaves_the_old_database_or_the_new_one() {
    let rounds: usize = std::env::var("SQLUICE_KILLS").map_or(15, |rounds| rounds.parse().unwrap());
    let mut random = Random::new();
    let rows = 1_000_000;
    let args = [&generate("x.db", "1M")[..], &["--overwrite"]].concat();
    let measured = folder();
    let started = Instant::now();
    run(measured.path(), &args).ok();
    let mut run_seconds = started.elapsed().as_secs_f64();
    let (mut seen, mut writing) = ((0, 0), 0);
    for round in 0..rounds {
        let folder = folder();
        let folder = folder.path();
        let left = LEFT[round % LEFT.len()];
        left.make(folder);
        let mut child = start(folder, &args);
        // Most moments are near the end, where one gives way to the other.
        std::thread::sleep(Duration::from_secs_f64(run_seconds * (0.1 + random.fraction().sqrt())));
        child.kill().unwrap();
        child.wait().unwrap();
        writing += usize::from(!temporaries(folder, "x.db").is_empty());
        let found = content(&folder.join("x.db"));
        if found == left.content() {
            seen.0 += 1;
            run_seconds *= 1.05;
        } else {
            assert_eq!(found, Content::New(rows), "round {round}, {left:?}");
            seen.1 += 1;
            run_seconds *= 0.95;
        }
        run(folder, [&generate("x.db", "3")[..], &["--overwrite"]].concat()).ok();
        assert_eq!(names(folder), ["x.db"], "round {round}, {left:?}");
        assert_eq!(content(&folder.join("x.db")), Content::New(3), "round {round}, {left:?}");
    }
    tell(&format!(
        "{rounds} kills of overwriting runs, {writing} of them between the first write and the rename: {} left the old database, {} the new",
        seen.0, seen.1
    ));
    assert!(seen.0 > 0 && writing > 0, "too early or too late each time");
}

#[test]
fn leftovers_are_cleared_even_when_the_target_exists_by_now() {
    let folder = folder();
    let folder = folder.path();
    let mut child = start(folder, generate("big.db", ROWS));
    wait_for_writes(folder, "big.db", &mut child);
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(temporaries(folder, "big.db").len(), 1);
    fs::write(folder.join("big.db"), "").unwrap();
    run(folder, generate("big.db", "3")).ok();
    assert_eq!(names(folder), ["big.db"]);
    assert_eq!(integrity(&folder.join("big.db")), "ok");
}

#[test]
#[cfg_attr(windows, ignore = "symbolic links take a right of their own on Windows, and wine makes none")]
fn what_merely_has_the_name_of_a_leftover_is_neither_followed_nor_waited_for() {
    let folder = folder();
    let folder = folder.path();
    fs::write(folder.join("precious"), "precious").unwrap();
    symlink("precious", folder.join(".a.db.sqluice-tmp-1-0"));
    fs::create_dir(folder.join(".a.db.sqluice-tmp-2-0")).unwrap();
    fifo(&folder.join(".a.db.sqluice-tmp-3-0"));
    let before = names(folder);
    end(start(folder, generate("a.db", "3"))).ok();
    fs::remove_file(folder.join("a.db")).unwrap();
    assert_eq!(names(folder), before);
    assert_eq!(fs::read(folder.join("precious")).unwrap(), b"precious");
}

#[test]
#[cfg(unix)] // Windows has no SIGSTOP.
fn the_temporary_file_of_a_living_run_is_not_touched() {
    let folder = folder();
    let folder = folder.path();
    let mut long = start(folder, generate("big.db", ROWS));
    let temporary = wait_for_writes(folder, "big.db", &mut long);
    crate::support::send(&long, "STOP");
    let ino = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let inode = ino(&temporary);

    // Another run for the same name, while the first one stands still.
    run(folder, generate("big.db", "3")).ok();
    assert_eq!(ino(&temporary), inode);

    crate::support::send(&long, "CONT");
    end(long).failed(1, "big.db already exists");
    assert_eq!(names(folder), ["big.db"]);
    let connection = rusqlite::Connection::open(folder.join("big.db")).unwrap();
    assert_eq!(connection.query_row("SELECT count(*) FROM user", [], |row| row.get::<_, i64>(0)), Ok(3));
}

#[test]
fn of_two_runs_for_the_same_target_exactly_one_wins() {
    let folder = folder();
    let folder = folder.path();
    for round in 0..5 {
        let children = [start(folder, generate("big.db", "2M")), start(folder, generate("big.db", "2M"))];
        let ran = children.map(end);
        let [winners, losers]: [Vec<_>; 2] =
            [true, false].map(|won| ran.iter().filter(|ran| ran.status.success() == won).collect());
        assert_eq!((winners.len(), losers.len()), (1, 1), "round {round}: {ran:?}");
        assert_eq!(losers[0].code(), Some(1));
        assert!(losers[0].stderr.starts_with("error: big.db already exists\n\nhint: "), "{ran:?}");
        assert_eq!(names(folder), ["big.db"]);
        assert_eq!(integrity(&folder.join("big.db")), "ok");
        fs::remove_file(folder.join("big.db")).unwrap();
    }
}
