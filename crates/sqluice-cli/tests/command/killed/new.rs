//! SIGKILL at any time while a new database is written: the target is absent or complete, other files are untouched, and the next run
//! removes leftovers. A database that is overwritten is the old one or the new one.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::SystemTime;

use sqluice_testkit::effort::tries;
use sqluice_testkit::system::{fifo, symlink};

use crate::support::kills::{Kills, leave_temporary};
use crate::support::old::{Content, LEFT, content};
use crate::support::{
    end, folder, generate, integrity, names, run, start, tell, temporaries, wait_for_writes,
};

/// The number of rows: about 20 MB, so that the run makes several writes.
const ROWS: &str = "1100k";

/// Asserts that page 1, which makes a file a database, is written after all others.
fn assert_page_1_comes_last(folder: &Path, whole_bytes: u64) {
    let left = temporaries(folder, "big.db");
    assert!(left.len() <= 1, "{left:?}");
    let Some(left) = left.first() else { return };
    let mut file = fs::File::open(left).unwrap();
    let bytes = file.metadata().unwrap().len();
    if bytes == 0 {
        return;
    }
    let mut header = [0; 16];
    file.read_exact(&mut header).unwrap();
    match &header {
        b"SQLite format 3\0" => assert_eq!(bytes, whole_bytes),
        // Without page 1, the file is no database to any program.
        [0, ..] => {}
        other => panic!("half a header: {other:?}"),
    }
}

/// Files that a run for `big.db` must not touch.
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
fn a_killed_run_leaves_no_target_and_the_next_run_removes_its_temporary_file() {
    let folder = folder();
    let folder = folder.path();
    for name in SIBLINGS {
        // An empty journal has no effect for SQLite, and stays.
        fs::write(folder.join(name), if name.ends_with("-journal") { "" } else { name }).unwrap();
    }
    let untouched = siblings(folder);
    let args = generate("big.db", ROWS);
    let mut kills = Kills::of_run(folder, "big.db", &args, tries(4, 20, 2000));
    let whole_bytes = fs::metadata(folder.join("big.db")).unwrap().len();
    assert!(whole_bytes > 16 << 20, "more than two writes of 8 MiB");
    fs::remove_file(folder.join("big.db")).unwrap();
    while let Some(aim) = kills.next() {
        let reached = kills.kill(aim, folder, start(folder, args));
        if folder.join("big.db").exists() {
            assert_eq!(integrity(&folder.join("big.db")), "ok");
            fs::remove_file(folder.join("big.db")).unwrap();
        }
        assert_page_1_comes_last(folder, whole_bytes);
        assert_eq!(siblings(folder), untouched, "{reached:?}");

        run(folder, generate("big.db", "3")).ok();
        assert_eq!(temporaries(folder, "big.db"), [] as [&Path; 0], "{reached:?}");
        fs::remove_file(folder.join("big.db")).unwrap();
        assert_eq!(siblings(folder), untouched, "{reached:?}");
    }
    kills.tell("new databases");
}

#[test]
fn a_killed_run_that_overwrites_leaves_the_old_database_or_the_new_one() {
    let rows = 500_000;
    let args = [&generate("x.db", "500k")[..], &["--overwrite"]].concat();
    let mut kills = Kills::of_run(folder().path(), "x.db", &args, tries(4, 15, 2000));
    let mut states = LEFT.iter().cycle();
    let mut seen = (0, 0);
    while let Some(aim) = kills.next() {
        let folder = folder();
        let folder = folder.path();
        let left = states.next().unwrap();
        left.make(folder);
        let reached = kills.kill(aim, folder, start(folder, &args));
        let found = content(&folder.join("x.db"));
        let is_old = found == left.content();
        assert!(is_old || found == Content::New(rows), "{reached:?}, {left:?}: {found:?}");
        seen = (seen.0 + usize::from(is_old), seen.1 + usize::from(!is_old));
        run(folder, [&generate("x.db", "3")[..], &["--overwrite"]].concat()).ok();
        assert_eq!(names(folder), ["x.db"], "{reached:?}, {left:?}");
        assert_eq!(content(&folder.join("x.db")), Content::New(3), "{reached:?}, {left:?}");
    }
    kills.tell("overwriting runs");
    tell(&format!("{} left the old database, {} the new", seen.0, seen.1));
    assert!(seen.0 > 0, "too late each time");
}

#[test]
fn the_temporary_file_of_a_killed_run_is_removed_even_if_the_target_exists_now() {
    let folder = folder();
    let folder = folder.path();
    leave_temporary(folder, "big.db", &generate("big.db", ROWS));
    fs::write(folder.join("big.db"), "").unwrap();
    run(folder, generate("big.db", "3")).ok();
    assert_eq!(names(folder), ["big.db"]);
    assert_eq!(integrity(&folder.join("big.db")), "ok");
}

#[test]
#[cfg_attr(windows, ignore = "symbolic links take a right of their own on Windows, and wine makes none")]
fn links_folders_and_pipes_named_like_a_temporary_file_stay_untouched() {
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

/// Starts a run for `big.db` and stops it while it writes. Returns the process and its temporary file.
#[cfg(unix)] // Windows has no SIGSTOP.
fn stopped_while_it_writes(folder: &Path) -> (std::process::Child, std::path::PathBuf) {
    for _ in 0..50 {
        let mut child = start(folder, generate("big.db", ROWS));
        let temporary = wait_for_writes(folder, "big.db", &mut child);
        crate::support::send(&child, "STOP");
        if temporary.exists() {
            return (child, temporary);
        }
        crate::support::send(&child, "CONT");
        end(child).ok();
        fs::remove_file(folder.join("big.db")).unwrap();
    }
    panic!("too late each time");
}

#[test]
#[cfg(unix)] // Windows has no SIGSTOP.
fn the_temporary_file_of_a_run_that_is_still_alive_is_not_removed() {
    let folder = folder();
    let folder = folder.path();
    let (long, temporary) = stopped_while_it_writes(folder);
    let ino = |path: &Path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap());
    let inode = ino(&temporary);

    // Start another run for the same target while the first one is stopped.
    run(folder, generate("big.db", "3")).ok();
    assert_eq!(ino(&temporary), inode);

    crate::support::send(&long, "CONT");
    end(long).failed(1, "big.db already exists");
    assert_eq!(names(folder), ["big.db"]);
    let connection = rusqlite::Connection::open(folder.join("big.db")).unwrap();
    assert_eq!(connection.query_row("SELECT count(*) FROM user", [], |row| row.get::<_, i64>(0)), Ok(3));
}

#[test]
fn of_two_simultaneous_runs_for_a_new_target_exactly_one_succeeds() {
    let folder = folder();
    let folder = folder.path();
    for round in 0..tries(2, 5, 50) {
        let children = [0, 1].map(|_| start(folder, generate("big.db", "300k")));
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
