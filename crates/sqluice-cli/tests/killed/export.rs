//! SIGKILL while tables are exported: each file is absent, the old one, or complete; the next run clears what is left.
//!
//! `SQLUICE_KILLS` sets the number of rounds (12).

use std::fs;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::support::{Random, end, folder, generate, names, run, start, tell, temporaries};

/// About 8 MB as text.
const ROWS: &str = "400000";

fn rounds() -> usize {
    std::env::var("SQLUICE_KILLS").map_or(12, |rounds| rounds.parse().unwrap())
}

#[test]
fn a_killed_export_leaves_no_file_or_the_old_one_or_all_of_it() {
    let mut random = Random::new();
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("big.db", ROWS)).ok();
    let original = fs::read(folder.join("big.db")).unwrap();
    let (mut writing, mut absent, mut complete) = (0, 0, 0);
    for name in ["x.csv", "x.ndjson.gz", "x.parquet"] {
        let args = ["export", "big.db", "user", "--to", name, "--overwrite"];
        let file = folder.join(name);
        let started = Instant::now();
        run(folder, args).ok();
        let mut seconds = started.elapsed().as_secs_f64();
        let whole = fs::read(&file).unwrap();
        for round in 0..rounds().div_ceil(3) {
            let old = round % 2 == 1;
            fs::remove_file(&file).unwrap();
            if old {
                fs::write(&file, "an old file").unwrap();
            }
            let mut child = start(folder, args);
            std::thread::sleep(Duration::from_secs_f64(seconds * random.fraction().sqrt()));
            child.kill().unwrap();
            end(child);
            writing += usize::from(!temporaries(folder, name).is_empty());
            match fs::read(&file) {
                Ok(found) if found == whole => {
                    complete += 1;
                    seconds *= 0.9;
                }
                Ok(found) => {
                    assert!(old && found == b"an old file", "{name}, round {round}: {} bytes", found.len())
                }
                Err(_) => {
                    assert!(!old, "{name}, round {round}: the old file is gone");
                    absent += 1;
                }
            }
            run(folder, args).ok();
            assert!(fs::read(&file).unwrap() == whole, "{name}, round {round}");
            assert_eq!(names(folder), ["big.db", name], "round {round}");
        }
        fs::remove_file(&file).unwrap();
    }
    assert!(fs::read(folder.join("big.db")).unwrap() == original, "the source changed");
    tell(&format!(
        "{} kills of exports: {writing} while they wrote, {absent} before there was a file, {complete} too late",
        3 * rounds().div_ceil(3)
    ));
    assert!(writing > 0, "too early or too late each time");
}

#[test]
fn a_killed_export_to_a_folder_leaves_only_complete_files() {
    let mut random = Random::new();
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("big.db", ROWS)).ok();
    let db = Connection::open(folder.join("big.db")).unwrap();
    db.execute_batch("CREATE TABLE more AS SELECT * FROM user LIMIT 150000").unwrap();
    drop(db);
    fs::create_dir(folder.join("whole")).unwrap();
    let args = |to| ["export", "big.db", "--to", to, "--format", "csv"];
    let started = Instant::now();
    run(folder, args("whole")).ok();
    let mut seconds = started.elapsed().as_secs_f64();
    assert_eq!(names(&folder.join("whole")), ["more.csv", "user.csv"]);
    let mut files = [0; 3];
    for round in 0..rounds() {
        let out = folder.join("out");
        fs::create_dir(&out).unwrap();
        let mut child = start(folder, args("out"));
        std::thread::sleep(Duration::from_secs_f64(seconds * random.fraction().sqrt()));
        child.kill().unwrap();
        end(child);
        let named: Vec<String> = names(&out).into_iter().filter(|name| !name.starts_with('.')).collect();
        for name in &named {
            let whole = fs::read(folder.join("whole").join(name)).unwrap();
            assert!(fs::read(out.join(name)).unwrap() == whole, "round {round}: {name}");
        }
        files[named.len()] += 1;
        seconds *= if named.len() == 2 { 0.9 } else { 1.02 };
        let again = [&args("out")[..], &["--overwrite"]].concat();
        run(folder, again).ok();
        assert_eq!(names(&out), ["more.csv", "user.csv"], "round {round}");
        fs::remove_dir_all(&out).unwrap();
    }
    tell(&format!("{} kills of exports to a folder: no file, one, two: {files:?}", rounds()));
    assert!(files[0] + files[1] > 0, "too late each time");
}
