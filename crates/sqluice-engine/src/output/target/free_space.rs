//! Checks that a new file fits on its disk, before hours of work instead of after them.

use std::path::Path;

use sqluice_core::error::{Error, Result};
use sqluice_core::size::Bytes;
use sqluice_platform::space;

use crate::output::Target;

/// Refuses a file of about `bytes` bytes if the disk of `folder` has too little free space. `hint` is the advice to the user.
pub(in crate::output) fn refuse_too_little(name: &Path, folder: &Path, bytes: u64, hint: &str) -> Result<()> {
    match free_bytes(folder) {
        Some(free) if !fits(bytes, free) => {
            let (bytes, free) = (Bytes(bytes), Bytes(free));
            let message = format!(
                "{} will take about {bytes:.1}, but only {free:.1} is free in {}",
                name.display(),
                folder.display()
            );
            Err(Error::target(message).hint(hint))
        }
        _ => Ok(()),
    }
}

/// Refuses to let the database at `target` grow by about `bytes` bytes if its disk has too little free space.
pub(crate) fn refuse_growth(target: &Target, bytes: u64) -> Result<()> {
    let (name, folder) = (target.name(), &target.path()?.folder);
    match free_bytes(folder) {
        Some(free) if !fits(bytes, free) => {
            let (bytes, free) = (Bytes(bytes), Bytes(free));
            let message = format!(
                "{} will grow by about {bytes:.1}, but only {free:.1} is free in {}",
                name.display(),
                folder.display()
            );
            Err(Error::target(message).hint("free some space; the database stays as it is"))
        }
        _ => Ok(()),
    }
}

/// Returns `true` if a file fits into the free space. Its size is only an estimate, so the file still fits if up to a tenth of this size is
/// missing.
fn fits(estimated_bytes: u64, free_bytes: u64) -> bool {
    estimated_bytes - estimated_bytes / 10 <= free_bytes
}

/// Returns the number of free bytes that this process may take in `folder`; `None` if unknown.
fn free_bytes(folder: &Path) -> Option<u64> {
    space::free_bytes(folder).ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_fits_on_a_disk_that_has_nine_tenths_of_the_file_size_free() {
        assert!(fits(0, 0));
        assert!(fits(1000, 1000));
        assert!(fits(1000, 900));
        assert!(!fits(1000, 899));
        assert!(!fits(1, 0));
        assert!(fits(u64::MAX, u64::MAX));
        assert!(!fits(u64::MAX, u64::MAX / 2));
    }

    #[test]
    fn a_file_larger_than_any_disk_is_refused_with_both_sizes() {
        let folder = tempfile::tempdir().unwrap();
        refuse_too_little(Path::new("x.db"), folder.path(), 1, "h").unwrap();
        let error = refuse_too_little(Path::new("x.db"), folder.path(), u64::MAX, "h").unwrap_err();
        let message = error.message();
        assert!(message.starts_with("x.db will take about 18.4 EB, but only "), "{message}");
        assert!(message.ends_with(&format!(" is free in {}", folder.path().display())), "{message}");
    }

    #[test]
    fn free_space_is_unknown_on_file_systems_that_report_no_blocks() {
        // `/proc` exists on Linux, and has no free space.
        if cfg!(unix) && Path::new("/proc/self").exists() {
            assert_eq!(free_bytes(Path::new("/proc")), None);
        }
        assert_eq!(free_bytes(Path::new("/no/such/folder")), None);
    }
}
