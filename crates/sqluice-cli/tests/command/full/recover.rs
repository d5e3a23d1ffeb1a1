//! Recoveries that do not fit: refused or ended with a clear error, and without a file.

use std::fs;

use sqluice_testkit::disk::Disk;

use crate::support::{finish, folder, generate, names, run, sqluice_with_file_limit};

#[test]
fn a_recovery_that_does_not_fit_leaves_nothing_and_the_source_as_it_is() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    run(&root, generate("x.db", "500k")).ok();
    let read = fs::read(root.join("x.db")).unwrap();
    let (before, free) = (names(&root), image.free_bytes());
    assert!(free < read.len() as u64, "the disk is too large for this test");
    let ran = run(&root, ["recover", "x.db", "y.db"]).failed(1, ".db");
    let says_why = ran.stderr.contains("is free in .") || ran.stderr.contains("No space left on device");
    assert!(says_why, "{ran:?}");
    assert_eq!(names(&root), before);
    assert_eq!(image.free_bytes(), free, "all space is free again");
    assert!(fs::read(root.join("x.db")).unwrap() == read, "the source changed");
}

#[test]
fn a_limit_on_file_sizes_is_a_clear_error_that_leaves_no_recovered_database() {
    let folder = folder();
    let folder = folder.path();
    run(folder, generate("x.db", "500k")).ok();
    let read = fs::read(folder.join("x.db")).unwrap();
    let ran = finish(sqluice_with_file_limit(folder, 8192).args(["recover", "x.db", "y.db"]));
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    assert!(ran.stderr.contains("File too large") && ran.stderr.contains("hint: "), "{ran:?}");
    assert_eq!(names(folder), ["x.db"]);
    assert!(fs::read(folder.join("x.db")).unwrap() == read, "the source changed");
}
