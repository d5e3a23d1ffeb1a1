//! Small file systems of their own, in a file.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::{folder, skipped};

/// A file system of its own.
pub(crate) struct Image {
    folder: TempDir,
}

impl Image {
    /// Makes and mounts an ext4 image of so many MiB; `None`, loudly, when mounting is not permitted.
    pub(crate) fn mount(test: &str, mebibytes: u64) -> Option<Image> {
        let folder = folder();
        let (file, at) = (folder.path().join("image"), folder.path().join("at"));
        fs::File::create(&file).unwrap().set_len(mebibytes << 20).unwrap();
        fs::create_dir(&at).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-m", "0"]).arg(&file).output();
        let made = made.expect("this test needs mkfs.ext4: apt-get install e2fsprogs");
        assert!(made.status.success(), "{made:?}");
        let mounted = Command::new("mount").args(["-o", "loop"]).args([&file, &at]).output().unwrap();
        if !mounted.status.success() {
            skipped(
                test,
                &format!(
                    "cannot mount an image (are you root?): {}",
                    String::from_utf8_lossy(&mounted.stderr)
                ),
            );
            return None;
        }
        Some(Image { folder })
    }

    /// Where it is mounted.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("at")
    }

    /// Permits no more writing.
    pub(crate) fn remount_read_only(&self) {
        let mounted = Command::new("mount").args(["-o", "remount,ro"]).arg(self.root()).output().unwrap();
        assert!(mounted.status.success(), "{mounted:?}");
    }

    /// What may still be written, about.
    pub(crate) fn free_bytes(&self) -> u64 {
        let said = Command::new("stat").args(["-f", "-c", "%a %S"]).arg(self.root()).output().unwrap();
        String::from_utf8(said.stdout)
            .unwrap()
            .split_whitespace()
            .map(|number| number.parse::<u64>().unwrap())
            .product()
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.root()).status();
        if !unmounted.is_ok_and(|status| status.success()) {
            let _ = Command::new("umount").arg("-l").arg(self.root()).status();
        }
    }
}
