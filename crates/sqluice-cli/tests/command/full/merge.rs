//! Merges for which the disk has no space: they are refused, or end with an error and leave no file.

use std::path::Path;

use sqluice_testkit::disk::Disk;

use super::{assert_limited, assert_no_space};
use crate::support::{folder, generate, integrity, run};

/// Makes `x.db` and `y.db`, each with one half of the rows.
fn sources(folder: &Path, rows: &str) {
    for (name, part) in [("x.db", "1/2"), ("y.db", "2/2")] {
        run(folder, [&generate(name, rows)[..], &["--part", part]].concat()).ok();
    }
}

#[test]
fn a_merge_that_does_not_fit_on_the_disk_leaves_no_file_and_all_databases_unchanged() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    let root = image.root();
    sources(&root, "500k");
    let commands: [&[&str]; 5] = [
        &["merge", "z.db", "x.db", "y.db"],
        &["merge", "x.db", "y.db"],
        &["merge", "x.db", "y.db", "--compact"],
        &["merge", "z.db", "x.db", "y.db", "--analyze"],
        // In this merge, SQLite inserts the rows into a temporary database.
        &["merge", "z.db", "x.db", "y.db", "--source-column", "origin"],
    ];
    assert_no_space(&image, &commands);
    assert_eq!(integrity(&root.join("x.db")), "ok");
}

#[test]
fn a_merge_over_the_limit_on_file_sizes_is_a_clear_error_that_leaves_no_result() {
    let folder = folder();
    let folder = folder.path();
    sources(folder, "500k");
    for (args, target) in
        [(&["merge", "z.db", "x.db", "y.db"][..], "z.db"), (&["merge", "x.db", "y.db", "--compact"], "x.db")]
    {
        assert_limited(folder, args, target);
    }
}
