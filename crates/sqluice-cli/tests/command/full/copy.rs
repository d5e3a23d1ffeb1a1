//! Copies for which the disk has no space: they are refused, or end with an error and leave no file.

use rusqlite::Connection;
use sqluice_testkit::disk::Disk;

use super::{assert_limited, assert_no_space};
use crate::support::{folder, generate, integrity, run};

#[test]
fn a_copy_that_does_not_fit_on_the_disk_leaves_no_file_and_the_source_unchanged() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    run(&root, generate("x.db", "500k")).ok();
    let commands: [&[&str]; 4] = [
        &["copy", "x.db", "y.db"],
        &["copy", "x.db", "y.db", "--page-size", "1024"],
        &["copy", "x.db", "x.db", "--compact"],
        // With auto_vacuum, SQLite writes the copy, from a temporary copy.
        &["copy", "x.db", "y.db", "--auto-vacuum", "full"],
    ];
    assert_no_space(&image, &commands);
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
    for (args, target) in [
        (&["copy", "x.db", "y.db"][..], "y.db"),
        (&["copy", "x.db", "y.db", "--page-size", "1024"], "y.db"),
        (&["copy", "x.db", "x.db", "--compact"], "x.db"),
    ] {
        assert_limited(folder, args, target);
    }
}
