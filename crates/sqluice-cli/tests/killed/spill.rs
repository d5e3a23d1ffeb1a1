//! SIGKILL while entries are sorted in temporary space: that space has no name, so nothing of it is left, and the target is
//! absent.
//!
//! `SQLUICE_KILLS` sets the number of rounds (10).

use std::fs;
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

use crate::support::{Random, end, folder, integrity, names, run, send, start, tell, temporaries};

/// About 20 MB of entries for each index, beyond what the run has to sort with.
const ROWS: &str = "1M";

const SCHEMA: &str = "\
CREATE TABLE user (
  id   INTEGER PRIMARY KEY,
  area CHAR(6),  -- gen: digits(6)
  age  INTEGER   -- gen: int(0, 100)
);
CREATE INDEX by_area ON user (area);
CREATE INDEX by_age ON user (age DESC, area);
";

/// The arguments of a run that spills to the folder `temp`.
fn spilling(rows: &str) -> [&str; 9] {
    ["generate", "big.db", "schema.sql", "--rows", rows, "--memory", "32MiB", "--temp-dir", "temp"]
}

fn prepared() -> tempfile::TempDir {
    let folder = folder();
    fs::create_dir(folder.path().join("temp")).unwrap();
    fs::write(folder.path().join("schema.sql"), SCHEMA).unwrap();
    folder
}

/// Bytes of the files in a folder that a process has open, those without a name among them. Where each has a name: of all of them.
fn spilled_bytes(child: &Child, temp: &Path) -> u64 {
    if cfg!(windows) {
        return fs::read_dir(temp)
            .unwrap()
            .flatten()
            .filter_map(|entry| entry.metadata().ok())
            .map(|file| file.len())
            .sum();
    }
    let Ok(open) = fs::read_dir(format!("/proc/{}/fd", child.id())) else { return 0 };
    let of_folder = open.flatten().filter(|entry| {
        fs::read_link(entry.path()).is_ok_and(|file| file.parent().is_some_and(|parent| parent == temp))
    });
    of_folder.filter_map(|entry| fs::metadata(entry.path()).ok()).map(|file| file.len()).sum()
}

/// Waits until something is in the temporary space.
fn wait_for_spill(child: &mut Child, temp: &Path) {
    let started = Instant::now();
    while spilled_bytes(child, temp) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it spilled anything");
        assert!(started.elapsed() < Duration::from_secs(60), "it spills nothing");
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
#[cfg_attr(windows, ignore = "under wine a program starts so slowly that kills come too late")]
fn a_run_that_is_killed_while_it_spills_leaves_no_target_and_no_temporary_space() {
    let rounds: usize = std::env::var("SQLUICE_KILLS").map_or(10, |rounds| rounds.parse().unwrap());
    let mut random = Random::new();
    let folder = prepared();
    let (folder, temp) = (folder.path(), folder.path().canonicalize().unwrap().join("temp"));

    let mut whole = start(folder, spilling(ROWS));
    wait_for_spill(&mut whole, &temp);
    let spilling_began = Instant::now();
    if cfg!(unix) {
        assert_eq!(names(&temp), [""; 0], "temporary space has no name");
    }
    end(whole).ok();
    let mut seconds = spilling_began.elapsed().as_secs_f64();
    assert_eq!(integrity(&folder.join("big.db")), "ok");
    assert_eq!(names(folder), ["big.db", "schema.sql", "temp"]);
    fs::remove_file(folder.join("big.db")).unwrap();

    let mut too_late = 0;
    for round in 0..rounds {
        let mut child = start(folder, spilling(ROWS));
        wait_for_spill(&mut child, &temp);
        std::thread::sleep(Duration::from_secs_f64(seconds * 0.9 * random.fraction()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(names(&temp), [""; 0], "round {round}");
        if folder.join("big.db").exists() {
            // How fast others let us run changes from minute to minute.
            too_late += 1;
            seconds *= 0.8;
            assert_eq!(integrity(&folder.join("big.db")), "ok", "round {round}");
            fs::remove_file(folder.join("big.db")).unwrap();
        }
        run(folder, spilling("3")).ok();
        assert_eq!(temporaries(folder, "big.db"), [] as [&Path; 0], "round {round}");
        fs::remove_file(folder.join("big.db")).unwrap();
        assert_eq!(names(folder), ["schema.sql", "temp"], "round {round}");
    }
    tell(&format!("{rounds} kills while spilling or after, {too_late} of them too late"));
    assert!(too_late * 2 <= rounds, "too late {too_late} times of {rounds}");
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn a_run_that_is_interrupted_while_it_spills_leaves_nothing() {
    for signal in ["INT", "TERM", "HUP"] {
        let folder = prepared();
        let (folder, temp) = (folder.path(), folder.path().canonicalize().unwrap().join("temp"));
        // Long enough for a late signal.
        let mut child = start(folder, spilling("5M"));
        wait_for_spill(&mut child, &temp);
        send(&child, signal);
        let ran = end(child);
        assert_eq!(ran.code(), Some(130), "{signal}: {ran:?}");
        assert_eq!(names(&temp), [""; 0]);
        assert_eq!(names(folder), ["schema.sql", "temp"]);
    }
}

#[test]
#[cfg_attr(windows, ignore = "temporary files have names on Windows")]
fn without_a_folder_for_it_the_spill_lies_beside_the_target() {
    let folder = prepared();
    let here = folder.path().canonicalize().unwrap();
    let mut child = start(&here, &spilling(ROWS)[..7]);
    // The temporary file of the target has a name; what is spilled has none.
    let unnamed = |child: &Child| {
        let open = fs::read_dir(format!("/proc/{}/fd", child.id())).unwrap().flatten();
        open.filter_map(|entry| fs::read_link(entry.path()).ok())
            .any(|file| file.parent() == Some(&here) && file.to_string_lossy().ends_with(" (deleted)"))
    };
    let started = Instant::now();
    while !unnamed(&child) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it spilled anything");
        assert!(started.elapsed() < Duration::from_secs(60), "it spills nothing");
        std::thread::sleep(Duration::from_micros(200));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let left: Vec<String> = names(&here).into_iter().filter(|name| !name.starts_with(".big.db.")).collect();
    assert_eq!(left, ["schema.sql", "temp"]);
}
