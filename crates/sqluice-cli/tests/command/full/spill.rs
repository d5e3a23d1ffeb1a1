//! Temporary space that is full, forbidden or not there: a clear error that names the folder, and nothing is left.

use std::fs;
use std::path::Path;

use crate::support::{Ran, finish, folder, integrity, names, run, sqluice_with_file_limit};
use sqluice_testkit::disk::Disk;
use tempfile::TempDir;

const SCHEMA: &str = "\
CREATE TABLE user (
  id   INTEGER PRIMARY KEY,
  area CHAR(6)  -- gen: digits(6)
);
CREATE INDEX by_area ON user (area);
";

fn spilling(temp: &str) -> [&str; 9] {
    ["generate", "big.db", "schema.sql", "--rows", "2M", "--memory", "32MiB", "--temp-dir", temp]
}

/// A folder with the schema.
fn prepared() -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("schema.sql"), SCHEMA).unwrap();
    folder
}

/// It failed for the sake of the temporary folder, says so, and left nothing.
#[track_caller]
fn assert_refused(ran: Ran, folder: &Path, temp: &str, cause: &str) {
    let ran = ran.failed(1, temp);
    assert!(ran.stderr.contains(&format!("  caused by: {cause}")), "{ran:?}");
    let (_, hint) = ran.stderr.split_once("\n\nhint: ").unwrap_or_else(|| panic!("{ran:?}"));
    assert!(hint.contains("--temp-dir"), "{ran:?}");
    let left: Vec<String> = names(folder).into_iter().filter(|name| name != "temp").collect();
    assert_eq!(left, ["schema.sql"]);
}

#[test]
fn a_full_temporary_folder_is_a_clear_error_that_leaves_nothing() {
    for in_memory in [true, false] {
        let disk = if in_memory { Disk::in_memory(4 << 10) } else { Disk::ext4(folder(), 4) };
        let Some(disk) = disk else { return };
        let (folder, root) = (prepared(), disk.root());
        let (temp, before) = (root.to_str().unwrap(), names(&root));
        for threads in ["1", "2"] {
            let ran = run(folder.path(), [&spilling(temp)[..], &["-j", threads]].concat());
            assert_refused(ran, folder.path(), temp, "No space left on device");
            assert_eq!(names(&root), before);
        }
        // And what needs no space needs none.
        let mut few = spilling(temp);
        few[4] = "1000";
        run(folder.path(), few).ok();
        assert_eq!(integrity(&folder.path().join("big.db")), "ok");
    }
}

#[test]
fn a_limit_on_file_sizes_that_the_spill_exceeds_is_a_clear_error() {
    let folder = prepared();
    fs::create_dir(folder.path().join("temp")).unwrap();
    // Rows that are sorted are spilled before any page is written.
    let schema = "CREATE TABLE w (\n  k TEXT PRIMARY KEY  -- gen: text(20, 30)\n) WITHOUT ROWID;\n";
    fs::write(folder.path().join("schema.sql"), schema).unwrap();
    let ran = finish(sqluice_with_file_limit(folder.path(), 8192).args(spilling("temp")));
    assert_refused(ran, folder.path(), "temp", "File too large");
    assert_eq!(names(&folder.path().join("temp")), [""; 0]);
}

#[test]
fn a_temporary_folder_that_is_not_there_or_no_folder_is_a_clear_error() {
    let folder = prepared();
    assert_refused(
        run(folder.path(), spilling("nowhere")),
        folder.path(),
        "nowhere",
        "No such file or directory",
    );
    assert_refused(
        run(folder.path(), spilling("schema.sql")),
        folder.path(),
        "schema.sql",
        "Not a directory",
    );
}
