//! SIGKILL while a damaged database is recovered: the target is absent or whole; the next run clears what is left.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use sqluice_testkit::effort::tries;

use crate::support::kills::Kills;
use crate::support::{folder, generate, integrity, names, run, start};

/// Makes `damaged.db` of about 11 MB, with a page of zeros.
fn damaged(folder: &Path) {
    run(folder, generate("damaged.db", "600000")).ok();
    let mut bytes = fs::read(folder.join("damaged.db")).unwrap();
    let page = bytes.len() / 4096 / 2;
    bytes[page * 4096..][..4096].fill(0);
    fs::write(folder.join("damaged.db"), bytes).unwrap();
}

fn rows(database: &Path) -> i64 {
    let connection = Connection::open(database).unwrap();
    connection.query_row("SELECT count(*) FROM user", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_killed_recovery_leaves_no_target_and_an_untouched_source() {
    let folder = folder();
    let folder = folder.path();
    damaged(folder);
    let original = fs::read(folder.join("damaged.db")).unwrap();
    let args = ["recover", "damaged.db", "x.db", "-j2"];
    assert_eq!(run(folder, args).code(), Some(3));
    let saved = rows(&folder.join("x.db"));
    let whole_bytes = fs::metadata(folder.join("x.db")).unwrap().len();
    fs::remove_file(folder.join("x.db")).unwrap();
    let mut kills = Kills::new("x.db", whole_bytes, tries(2, 10, 1000));
    while let Some(aim) = kills.next() {
        let reached = kills.kill(aim, folder, start(folder, args));
        if folder.join("x.db").exists() {
            assert_eq!(rows(&folder.join("x.db")), saved, "{reached:?}");
            fs::remove_file(folder.join("x.db")).unwrap();
        }
        assert_eq!(run(folder, args).code(), Some(3), "{reached:?}");
        assert_eq!(names(folder), ["damaged.db", "x.db"], "{reached:?}");
        assert_eq!(integrity(&folder.join("x.db")), "ok", "{reached:?}");
        fs::remove_file(folder.join("x.db")).unwrap();
        assert!(fs::read(folder.join("damaged.db")).unwrap() == original, "{reached:?}: the source changed");
    }
    kills.tell("recoveries");
}
