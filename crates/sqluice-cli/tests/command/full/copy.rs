//! Copies for which the disk has no space: they are refused, or end with an error and leave no file.

use std::fs;

use rusqlite::Connection;
use sqluice_testkit::disk::Disk;

use crate::support::{finish, folder, generate, integrity, names, run, sqluice_with_file_limit};

#[test]
fn a_copy_that_does_not_fit_on_the_disk_leaves_no_file_and_the_source_unchanged() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    run(&root, generate("x.db", "500k")).ok();
    let read = fs::read(root.join("x.db")).unwrap();
    let (before, free) = (names(&root), image.free_bytes());
    assert!(free < read.len() as u64, "the disk is too large for this test");
    for args in [
        &["y.db"][..],
        &["y.db", "--page-size", "1024"],
        &["x.db", "--compact"],
        // With auto_vacuum, SQLite writes the copy, from a temporary copy.
        &["y.db", "--auto-vacuum", "full"],
    ] {
        let args = [&["copy", "x.db"], args].concat();
        let ran = run(&root, &args).failed(1, ".db");
        let says_why = ran.stderr.contains("is free in .") || ran.stderr.contains("No space left on device");
        assert!(says_why && ran.stderr.contains("hint: free some space"), "{args:?}: {ran:?}");
        assert_eq!(names(&root), before, "{args:?}");
        assert_eq!(image.free_bytes(), free, "{args:?}: all space is free again");
        assert!(fs::read(root.join("x.db")).unwrap() == read, "{args:?}: the source changed");
    }
    // The copy fits, because it has no free pages.
    let connection = Connection::open(root.join("x.db")).unwrap();
    connection.execute_batch("PRAGMA journal_mode = OFF; DELETE FROM user WHERE id > 120000").unwrap();
    drop(connection);
    run(&root, ["copy", "x.db", "y.db"]).ok();
    assert_eq!(integrity(&root.join("y.db")), "ok");
}

#[test]
fn a_copy_over_the_limit_on_file_sizes_is_a_clear_error_that_leaves_no_copy() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "500k")).ok();
    let read = fs::read(folder.join("x.db")).unwrap();
    for (flags, target) in [
        (&["y.db"][..], "y.db"),
        (&["y.db", "--page-size", "1024"], "y.db"),
        (&["x.db", "--compact"], "x.db"),
    ] {
        let ran = finish(sqluice_with_file_limit(folder, 8192).args(["copy", "x.db"]).args(flags));
        let stderr = format!(
            "\
error: cannot write {target}
  caused by: File too large (os error 27)

hint: raise the limit on file sizes (ulimit -f) or choose another file system
"
        );
        assert_eq!((ran.code(), &*ran.stderr), (Some(1), &*stderr), "{flags:?}: {ran:?}");
        assert_eq!(names(folder), ["x.db"], "{flags:?}");
        assert!(fs::read(folder.join("x.db")).unwrap() == read, "{flags:?}: the source changed");
    }
}
