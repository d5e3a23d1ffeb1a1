//! Small file systems of their own. Mounting needs root: elsewhere the running test is [skipped].

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::skip::skipped;

/// A mounted file system, which is unmounted and removed when it is dropped.
#[derive(Debug)]
pub struct Disk {
    folder: TempDir,
}

impl Disk {
    /// An ext4 file system of some MiB, in an image within `folder`.
    ///
    /// # Panics
    /// When the image cannot be made, or in CI when it cannot be mounted.
    #[track_caller]
    pub fn ext4(folder: TempDir, mebibytes: u64) -> Option<Disk> {
        let image = folder.path().join("image");
        fs::File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-m", "0"]).arg(&image).output();
        let made = made.expect("this test needs mkfs.ext4: run tools/setup test");
        assert!(made.status.success(), "{made:?}");
        Disk::mount(folder, Command::new("mount").args(["-o", "loop"]).arg(&image))
    }

    /// A file system in memory of some KiB.
    ///
    /// # Panics
    /// In CI when it cannot be mounted.
    #[track_caller]
    pub fn in_memory(kibibytes: u64) -> Option<Disk> {
        let size = format!("size={kibibytes}k");
        let folder = tempfile::tempdir().unwrap();
        Disk::mount(folder, Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]))
    }

    #[track_caller]
    fn mount(folder: TempDir, mount: &mut Command) -> Option<Disk> {
        let root = root(folder.path());
        fs::create_dir(&root).unwrap();
        let mounted = mount.arg(&root).output().expect("this test needs mount: apt-get install mount");
        if mounted.status.success() {
            return Some(Disk { folder });
        }
        skipped(&format!(
            "a file system cannot be mounted (are you root?): {}",
            String::from_utf8_lossy(&mounted.stderr)
        ));
        None
    }

    /// Its topmost folder.
    pub fn root(&self) -> PathBuf {
        root(self.folder.path())
    }

    /// Makes it read-only.
    ///
    /// # Panics
    /// When that fails.
    pub fn remount_read_only(&self) {
        let mounted = Command::new("mount").args(["-o", "remount,ro"]).arg(self.root()).output().unwrap();
        assert!(mounted.status.success(), "{mounted:?}");
    }

    /// The free space.
    ///
    /// # Panics
    /// When `stat` fails.
    pub fn free_bytes(&self) -> u64 {
        let said = Command::new("stat").args(["-f", "-c", "%a %S"]).arg(self.root()).output().unwrap();
        let numbers = String::from_utf8(said.stdout).unwrap();
        numbers.split_whitespace().map(|number| number.parse::<u64>().unwrap()).product()
    }
}

fn root(folder: &Path) -> PathBuf {
    folder.join("at")
}

impl Drop for Disk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg(self.root()).status();
        // A process that another test starts just now may have a file open for a moment.
        if !unmounted.is_ok_and(|status| status.success()) {
            let _ = Command::new("umount").arg("-l").arg(self.root()).status();
        }
    }
}
