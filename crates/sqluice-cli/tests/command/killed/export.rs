//! SIGKILL while tables are exported: each file is absent, the old one, or complete; the next run removes leftovers.

use std::fs;

use rusqlite::Connection;
use sqluice_testkit::effort::tries;

use crate::support::kills::Kills;
use crate::support::{Random, folder, generate, kill_when, names, run, start, tell};

/// The number of rows: about 8 MB as text.
const ROWS: &str = "400000";

#[test]
fn a_killed_export_leaves_no_file_the_old_file_or_the_complete_new_one() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("big.db", ROWS)).ok();
    let original = fs::read(folder.join("big.db")).unwrap();
    let (mut absent, mut old_files, mut complete) = (0, 0, 0);
    for name in ["x.csv", "x.ndjson.gz", "x.parquet"] {
        let args = ["export", "big.db", "user", "--to", name, "--overwrite"];
        let file = folder.join(name);
        let mut kills = Kills::of_run(folder, name, &args, tries(1, 4, 700));
        let whole = fs::read(&file).unwrap();
        let mut old = false;
        while let Some(aim) = kills.next() {
            fs::remove_file(&file).unwrap();
            if old {
                fs::write(&file, "an old file").unwrap();
            }
            let reached = kills.kill(aim, folder, start(folder, args));
            match fs::read(&file) {
                Ok(found) if found == whole => complete += 1,
                Ok(found) => {
                    assert!(old && found == b"an old file", "{name}, {reached:?}: {} bytes", found.len());
                    old_files += 1;
                }
                Err(_) => {
                    assert!(!old, "{name}, {reached:?}: the old file is gone");
                    absent += 1;
                }
            }
            run(folder, args).ok();
            assert!(fs::read(&file).unwrap() == whole, "{name}, {reached:?}");
            assert_eq!(names(folder), ["big.db", name], "{reached:?}");
            old = !old;
        }
        kills.tell(&format!("exports to {name}"));
        fs::remove_file(&file).unwrap();
    }
    assert!(fs::read(folder.join("big.db")).unwrap() == original, "the source changed");
    tell(&format!("{absent} left no file, {old_files} the old one, {complete} the new one"));
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
    run(folder, args("whole")).ok();
    assert_eq!(names(&folder.join("whole")), ["more.csv", "user.csv"]);
    let bytes_in = |folder: &std::path::Path| -> u64 {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.metadata().ok()).map(|file| file.len()).sum()
    };
    let whole_bytes = bytes_in(&folder.join("whole"));
    let wanted = tries(3, 12, 2000);
    let mut files = [0; 3];
    for round in 0.. {
        let out = folder.join("out");
        fs::create_dir(&out).unwrap();
        let bytes = (whole_bytes as f64 * random.fraction()) as u64;
        kill_when(start(folder, args("out")), || bytes_in(&out) > bytes);
        let named: Vec<String> = names(&out).into_iter().filter(|name| !name.starts_with('.')).collect();
        for name in &named {
            let whole = fs::read(folder.join("whole").join(name)).unwrap();
            assert!(fs::read(out.join(name)).unwrap() == whole, "round {round}: {name}");
        }
        files[named.len()] += 1;
        let again = [&args("out")[..], &["--overwrite"]].concat();
        run(folder, again).ok();
        assert_eq!(names(&out), ["more.csv", "user.csv"], "round {round}");
        fs::remove_dir_all(&out).unwrap();
        if files[0] + files[1] >= wanted {
            break;
        }
        assert!(round < 20 * wanted, "too late each time: {files:?}");
    }
    tell(&format!("kills of exports to a folder that left no file, one, two: {files:?}"));
}
