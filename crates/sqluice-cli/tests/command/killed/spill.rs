//! SIGKILL while entries are sorted in temporary files. The temporary files have no names, so none is left. The target is absent, or
//! complete after a late kill, and the next run removes leftovers beside it.

use std::fs;
use std::path::Path;
use std::process::Child;

use sqluice_testkit::effort::tries;

use crate::support::{
    Random, end, folder, integrity, kill_when, names, run, send, start, tell, temporaries, wait_until,
    written_bytes,
};

/// The number of rows: about 20 MB of entries for each index, more than the memory for sorting.
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

/// Returns the arguments of a run that spills to the folder `temp`.
fn spilling(rows: &str) -> [&str; 9] {
    ["generate", "big.db", "schema.sql", "--rows", rows, "--memory", "32MiB", "--temp-dir", "temp"]
}

fn prepared() -> tempfile::TempDir {
    let folder = folder();
    fs::create_dir(folder.path().join("temp")).unwrap();
    fs::write(folder.path().join("schema.sql"), SCHEMA).unwrap();
    folder
}

/// Returns the total bytes of the files in a folder that a process has open, including unnamed ones. On systems where all files have names,
/// the total of all files in the folder.
fn spilled_bytes(id: u32, temp: &Path) -> u64 {
    if cfg!(windows) {
        return fs::read_dir(temp)
            .unwrap()
            .flatten()
            .filter_map(|entry| entry.metadata().ok())
            .map(|file| file.len())
            .sum();
    }
    let Ok(open) = fs::read_dir(format!("/proc/{id}/fd")) else { return 0 };
    let of_folder = open.flatten().filter(|entry| {
        fs::read_link(entry.path()).is_ok_and(|file| file.parent().is_some_and(|parent| parent == temp))
    });
    of_folder.filter_map(|entry| fs::metadata(entry.path()).ok()).map(|file| file.len()).sum()
}

/// Waits until the run has spilled bytes. Returns `false` if the run has ended before.
fn wait_for_spill(child: &mut Child, temp: &Path) -> bool {
    let id = child.id();
    wait_until(child, || spilled_bytes(id, temp) > 0)
}

#[test]
#[cfg_attr(windows, ignore = "under wine a program starts so slowly that kills come too late")]
fn a_run_killed_while_sorting_in_temporary_files_leaves_no_target_and_no_temporary_file() {
    let wanted = tries(3, 10, 2000);
    let mut random = Random::new();
    let folder = prepared();
    let (folder, temp) = (folder.path(), folder.path().canonicalize().unwrap().join("temp"));

    let mut whole = start(folder, spilling(ROWS));
    let (mut most_bytes, id) = (0, whole.id());
    wait_until(&mut whole, || {
        most_bytes = most_bytes.max(spilled_bytes(id, &temp));
        false
    });
    assert!(most_bytes > 0, "it ended before it spilled anything");
    if cfg!(unix) {
        assert_eq!(names(&temp), [""; 0], "temporary space has no name");
    }
    end(whole).ok();
    assert_eq!(integrity(&folder.join("big.db")), "ok");
    assert_eq!(names(folder), ["big.db", "schema.sql", "temp"]);
    let whole_bytes = fs::metadata(folder.join("big.db")).unwrap().len();
    fs::remove_file(folder.join("big.db")).unwrap();

    let (mut spilling_kills, mut merging_kills, mut too_late) = (0, 0, 0);
    for round in 0.. {
        let child = start(folder, spilling(ROWS));
        let (id, part) = (child.id(), random.fraction());
        // Kill while entries are spilled, and every third time while pages are made of them.
        let is_merging = round % 3 == 2;
        let ran = kill_when(child, || match is_merging {
            true => {
                spilled_bytes(id, &temp) > 0
                    && written_bytes(folder, "big.db") > (whole_bytes as f64 * part) as u64
            }
            false => spilled_bytes(id, &temp) > (most_bytes as f64 * 0.9 * part) as u64,
        });
        assert_eq!(names(&temp), [""; 0], "round {round}");
        if folder.join("big.db").exists() {
            too_late += 1;
            assert_eq!(integrity(&folder.join("big.db")), "ok", "round {round}");
            fs::remove_file(folder.join("big.db")).unwrap();
        } else if !ran.status.success() {
            *(if is_merging { &mut merging_kills } else { &mut spilling_kills }) += 1;
        }
        run(folder, spilling("3")).ok();
        assert_eq!(temporaries(folder, "big.db"), [] as [&Path; 0], "round {round}");
        fs::remove_file(folder.join("big.db")).unwrap();
        assert_eq!(names(folder), ["schema.sql", "temp"], "round {round}");
        if spilling_kills + merging_kills >= wanted && spilling_kills > 0 && merging_kills > 0 {
            break;
        }
        assert!(round < 20 * wanted, "too late {too_late} times");
    }
    tell(&format!(
        "{spilling_kills} kills while spilling, {merging_kills} while merging, {too_late} too late"
    ));
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn a_run_that_is_interrupted_while_sorting_in_temporary_files_leaves_no_files() {
    for signal in ["INT", "TERM", "HUP"] {
        let folder = prepared();
        let (folder, temp) = (folder.path(), folder.path().canonicalize().unwrap().join("temp"));
        let ran = interrupted(folder, &temp, signal);
        assert_eq!(ran.code(), Some(130), "{signal}: {ran:?}");
        assert_eq!(names(&temp), [""; 0]);
        assert_eq!(names(folder), ["schema.sql", "temp"]);
    }
}

/// Starts a run, and sends it a signal once it has spilled bytes. If the run has ended before, tries again.
fn interrupted(folder: &Path, temp: &Path, signal: &str) -> crate::support::Ran {
    for _ in 0..50 {
        let mut child = start(folder, spilling(ROWS));
        wait_for_spill(&mut child, temp);
        send(&child, signal);
        let ran = end(child);
        if !ran.status.success() {
            return ran;
        }
        fs::remove_file(folder.join("big.db")).unwrap();
    }
    panic!("too late each time");
}

#[test]
#[cfg_attr(windows, ignore = "temporary files have names on Windows")]
fn without_the_flag_temp_dir_temporary_files_are_in_the_folder_of_the_target() {
    let folder = prepared();
    let here = folder.path().canonicalize().unwrap();
    let child = start(&here, &spilling(ROWS)[..7]);
    let id = child.id();
    let mut seen = false;
    // The temporary file of the target has a name, spilled files have none.
    kill_when(child, || {
        let open = fs::read_dir(format!("/proc/{id}/fd")).into_iter().flatten().flatten();
        seen |= open
            .filter_map(|entry| fs::read_link(entry.path()).ok())
            .any(|file| file.parent() == Some(&here) && file.to_string_lossy().ends_with(" (deleted)"));
        seen
    });
    assert!(seen, "it ended before it spilled anything");
    let left: Vec<String> = names(&here).into_iter().filter(|name| !name.starts_with(".big.db.")).collect();
    assert_eq!(left, ["schema.sql", "temp"]);
}
