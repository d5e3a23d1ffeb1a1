//! Small separate file systems for tests. Mounting needs root privileges; without them, the running test is [skipped].

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
    /// Mounts an ext4 file system of `mebibytes` MiB, in an image within `folder`.
    ///
    /// # Panics
    /// If the image can't be created, or in CI if it can't be mounted.
    #[track_caller]
    pub fn ext4(folder: TempDir, mebibytes: u64) -> Option<Disk> {
        let image = folder.path().join("image");
        fs::File::create(&image).unwrap().set_len(mebibytes << 20).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-m", "0"]).arg(&image).output();
        let made = made.expect("this test needs mkfs.ext4: run tools/setup test");
        assert!(made.status.success(), "{made:?}");
        Disk::mount(folder, Command::new("mount").args(["-o", "loop"]).arg(&image))
    }

    /// Mounts a file system of `kibibytes` KiB in memory.
    ///
    /// # Panics
    /// In CI if the file system can't be mounted.
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

    /// Returns the root folder.
    pub fn root(&self) -> PathBuf {
        root(self.folder.path())
    }

    /// Makes the file system read-only.
    ///
    /// # Panics
    /// If remounting fails.
    pub fn remount_read_only(&self) {
        let mounted = Command::new("mount").args(["-o", "remount,ro"]).arg(self.root()).output().unwrap();
        assert!(mounted.status.success(), "{mounted:?}");
    }

    /// Returns the number of free bytes.
    ///
    /// # Panics
    /// If `stat` fails.
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
        // `umount` fails for a short time if a process that another test has just started still has a file open: unmount lazily.
        if !unmounted.is_ok_and(|status| status.success()) {
            let _ = Command::new("umount").arg("-l").arg(self.root()).status();
        }
    }
}
