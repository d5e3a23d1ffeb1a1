//! A temporary folder that is full, read-only or missing: the run ends with an error that names the folder, and leaves no file.

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

/// Returns a folder with the file of the schema.
fn prepared() -> TempDir {
    let folder = folder();
    fs::write(folder.path().join("schema.sql"), SCHEMA).unwrap();
    folder
}

/// Asserts that a run failed because of the temporary folder, named it with the cause, and left no file.
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
        // A run that sorts nothing succeeds with the full folder.
        let mut few = spilling(temp);
        few[4] = "1000";
        run(folder.path(), few).ok();
        assert_eq!(integrity(&folder.path().join("big.db")), "ok");
    }
}

#[test]
fn temporary_files_over_the_limit_on_file_sizes_are_a_clear_error() {
    let folder = prepared();
    fs::create_dir(folder.path().join("temp")).unwrap();
    // Sorted rows go to temporary files before the first page is written, so the limit stops the sorting.
    let schema = "CREATE TABLE w (\n  k TEXT PRIMARY KEY  -- gen: text(20, 30)\n) WITHOUT ROWID;\n";
    fs::write(folder.path().join("schema.sql"), schema).unwrap();
    let ran = finish(sqluice_with_file_limit(folder.path(), 8192).args(spilling("temp")));
    assert_refused(ran, folder.path(), "temp", "File too large");
    assert_eq!(names(&folder.path().join("temp")), [""; 0]);
}

#[test]
fn a_missing_temporary_folder_or_a_file_in_its_place_is_a_clear_error() {
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
