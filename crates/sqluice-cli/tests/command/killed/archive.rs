//! SIGKILL while the members of an archive are loaded: the database is the old one or the new one, and after the next run nothing else is
//! left.

use std::fmt::Write;
use std::fs;

use sqluice_testkit::archives::{gzip, tar, zip};
use sqluice_testkit::effort::tries;

use crate::support::kills::Kills;
use crate::support::{folder, integrity, names, run, start, tell};

const MEMBERS: usize = 4;
const ROWS: usize = 60_000;

/// Returns the members of the archive. Their rows take several writes.
fn members() -> Vec<(String, String)> {
    let text = |member: usize| {
        let mut text = "a,b\n".to_owned();
        for row in 0..ROWS {
            writeln!(text, "{row},row {row} of the member {member} of an archive that takes several writes")
                .unwrap();
        }
        text
    };
    (0..MEMBERS).map(|member| (format!("t{member}.csv"), text(member))).collect()
}

/// Returns `true` if the database is the new one. Fails if it is neither the old nor the new one.
fn is_new(database: &std::path::Path) -> bool {
    assert_eq!(integrity(database), "ok");
    let connection = rusqlite::Connection::open(database).unwrap();
    let counted = |table: &str| {
        connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0))
    };
    if counted("old") == Ok(1) {
        return false;
    }
    (0..MEMBERS).for_each(|member| assert_eq!(counted(&format!("t{member}")), Ok(ROWS as i64)));
    true
}

#[test]
fn a_killed_load_of_an_archive_leaves_the_old_database_or_the_new_one() {
    for (name, bytes) in [("data.zip", zip(&members())), ("data.tar.gz", gzip(&tar(&members())))] {
        let args = ["load", "x.db", name, "--overwrite"];
        let whole = folder();
        fs::write(whole.path().join(name), &bytes).unwrap();
        let mut kills = Kills::of_run(whole.path(), "x.db", &args, tries(3, 10, 300));
        assert!(is_new(&whole.path().join("x.db")));
        let mut seen = (0, 0);
        while let Some(aim) = kills.next() {
            let folder = folder();
            let folder = folder.path();
            fs::write(folder.join("old.csv"), "a\n1\n").unwrap();
            run(folder, ["load", "x.db", "old.csv"]).ok();
            fs::write(folder.join(name), &bytes).unwrap();
            let reached = kills.kill(aim, folder, start(folder, args));
            match is_new(&folder.join("x.db")) {
                true => seen.1 += 1,
                false => seen.0 += 1,
            }
            run(folder, args).ok();
            assert_eq!(names(folder), [name, "old.csv", "x.db"], "{reached:?}");
            assert!(is_new(&folder.join("x.db")), "{reached:?}");
        }
        kills.tell("loads of archives");
        tell(&format!("{name}: {} left the old database, {} the new", seen.0, seen.1));
        assert!(seen.0 > 0, "too late each time");
    }
}
