//! Recoveries that do not fit: refused or ended with a clear error, and without a file.

use sqluice_testkit::disk::Disk;

use super::{assert_limited, assert_no_space};
use crate::support::{folder, generate, run};

#[test]
fn a_recovery_that_does_not_fit_leaves_nothing_and_the_source_as_it_is() {
    let Some(image) = Disk::ext4(folder(), 16) else { return };
    run(&image.root(), generate("x.db", "500k")).ok();
    assert_no_space(&image, &[&["recover", "x.db", "y.db"]]);
}

#[test]
fn a_limit_on_file_sizes_is_a_clear_error_that_leaves_no_recovered_database() {
    let folder = folder();
    run(folder.path(), generate("x.db", "500k")).ok();
    assert_limited(folder.path(), &["recover", "x.db", "y.db"], "y.db");
}
