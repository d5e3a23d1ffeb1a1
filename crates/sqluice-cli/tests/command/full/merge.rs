//! Merges for which the disk has no space: they are refused, or end with an error and leave no file.

use std::fs;
use std::path::Path;

use sqluice_testkit::disk::Disk;

use crate::support::{finish, folder, generate, integrity, names, run, sqluice_with_file_limit};

/// Makes `x.db` and `y.db`, each with one half of the rows.
fn sources(folder: &Path, rows: &str) {
    for (name, part) in [("x.db", "1/2"), ("y.db", "2/2")] {
        run(folder, [&generate(name, rows)[..], &["--part", part]].concat()).ok();
    }
}

fn both(folder: &Path) -> [Vec<u8>; 2] {
    ["x.db", "y.db"].map(|name| fs::read(folder.join(name)).unwrap())
}

#[test]
fn a_merge_that_does_not_fit_on_the_disk_leaves_no_file_and_all_databases_unchanged() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    sources(&root, "500k");
    let read = both(&root);
    let (before, free) = (names(&root), image.free_bytes());
    assert!(free < (read[0].len() + read[1].len()) as u64, "the disk is too large for this test");
    for args in [
        &["z.db", "x.db", "y.db"][..],
        &["x.db", "y.db"],
        &["x.db", "y.db", "--compact"],
        &["z.db", "x.db", "y.db", "--analyze"],
        // In this merge, SQLite inserts the rows into a temporary database.
        &["z.db", "x.db", "y.db", "--source-column", "origin"],
    ] {
        let args = [&["merge"], args].concat();
        let ran = run(&root, &args);
        assert_eq!(ran.code(), Some(1), "{args:?}: {ran:?}");
        let says_why = ["is free in .", "No space left on device", "database or disk is full"]
            .iter()
            .any(|why| ran.stderr.contains(why));
        assert!(says_why && ran.stderr.contains("hint: free some space"), "{args:?}: {ran:?}");
        assert_eq!(names(&root), before, "{args:?}");
        assert_eq!(image.free_bytes(), free, "{args:?}: all space is free again");
        assert!(both(&root) == read, "{args:?}: a source changed");
    }
    assert_eq!(integrity(&root.join("x.db")), "ok");
}

#[test]
fn a_merge_over_the_limit_on_file_sizes_is_a_clear_error_that_leaves_no_result() {
    let folder = folder();
    let folder = folder.path();
    sources(folder, "500k");
    let read = both(folder);
    for (args, target) in [(&["z.db", "x.db", "y.db"][..], "z.db"), (&["x.db", "y.db", "--compact"], "x.db")]
    {
        let ran = finish(sqluice_with_file_limit(folder, 8192).arg("merge").args(args));
        let stderr = format!(
            "\
error: cannot write {target}
  caused by: File too large (os error 27)

hint: raise the limit on file sizes (ulimit -f) or choose another file system
"
        );
        assert_eq!((ran.code(), &*ran.stderr), (Some(1), &*stderr), "{args:?}: {ran:?}");
        assert_eq!(names(folder), ["x.db", "y.db"], "{args:?}");
        assert!(both(folder) == read, "{args:?}: a source changed");
    }
}
