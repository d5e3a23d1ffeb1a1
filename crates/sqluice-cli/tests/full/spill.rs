//! Temporary space that is full, forbidden or not there: a clear error that names the folder, and nothing is left.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Ran, folder, integrity, names, run, skipped};
use tempfile::TempDir;

const SCHEMA: &str = "\
CREATE TABLE user (
  id   INTEGER PRIMARY KEY,
  area CHAR(6)  -- gen: digits(6)
);
CREATE INDEX by_area ON user (area);
";

fn spilling(temp: &str) -> [&str; 9] {
    ["generate", "big.db", "schema.sql", "--rows", "6M", "--memory", "32MiB", "--temp-dir", temp]
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

/// A file system of some mebibytes.
struct Small {
    at: PathBuf,
}

impl Small {
    /// Mounts it at `at`, in memory or, with room for blocks of a disk, as an ext4 image beside it; `None`, loudly, when that
    /// is not permitted.
    fn mount(test: &str, at: PathBuf, mebibytes: u64, in_memory: bool) -> Option<Small> {
        fs::create_dir(&at).unwrap();
        let mut mount = Command::new("mount");
        if in_memory {
            mount.args(["-t", "tmpfs", "-o", &format!("size={mebibytes}m"), "tmpfs"]);
        } else {
            let image = at.with_extension("image");
            fs::File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
            let made = Command::new("mkfs.ext4").args(["-q", "-m", "0"]).arg(&image).output();
            let made = made.expect("this test needs mkfs.ext4: apt-get install e2fsprogs");
            assert!(made.status.success(), "{made:?}");
            mount.args(["-o", "loop"]).arg(&image);
        }
        let mounted = mount.arg(&at).output().unwrap();
        if !mounted.status.success() {
            skipped(test, &format!("cannot mount: {}", String::from_utf8_lossy(&mounted.stderr)));
            return None;
        }
        Some(Small { at })
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(&self.at).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            let _ = Command::new("umount").arg("-l").arg(&self.at).status();
        }
    }
}

#[test]
fn a_full_temporary_folder_is_a_clear_error_that_leaves_nothing() {
    for in_memory in [true, false] {
        let (folder, disk) = (prepared(), folder());
        let test = "a_full_temporary_folder_is_a_clear_error_that_leaves_nothing";
        let Some(small) = Small::mount(test, disk.path().join("small"), 16, in_memory) else { return };
        let (temp, before) = (small.at.to_str().unwrap(), names(&small.at));
        for threads in ["1", "2"] {
            let ran = run(folder.path(), [&spilling(temp)[..], &["-j", threads]].concat());
            assert_refused(ran, folder.path(), temp, "No space left on device");
            assert_eq!(names(&small.at), before);
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
    let ran = Command::new("sh")
        .args(["-c", "ulimit -f 8192; exec \"$0\" \"$@\"", crate::support::SQLUICE])
        .args(spilling("temp"))
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert_refused(Ran::from(ran), folder.path(), "temp", "File too large");
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
