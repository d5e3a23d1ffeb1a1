//! Writes that fail, by full disks, limits on file sizes, and system calls: for new and existing databases, dumps, copies, merges,
//! recoveries and temporary files.

mod copy;
mod dump;
mod existing;
mod merge;
mod new;
mod recover;
mod spill;

use std::fs;
use std::path::Path;

use sqluice_testkit::disk::Disk;

use crate::support::{finish, names, run, sqluice_with_file_limit};

/// Returns the names and the contents of the files in a folder.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let of = |name: String| {
        let file = folder.join(&name);
        let bytes = if file.is_file() { fs::read(file).unwrap() } else { Vec::new() };
        (name, bytes)
    };
    names(folder).into_iter().map(of).collect()
}

/// Asserts that commands that write a copy of the files on a disk do not fit: each says why, changes no file, and leaves the space free.
fn assert_no_space(image: &Disk, commands: &[&[&str]]) {
    let root = image.root();
    let (before, free) = (contents(&root), image.free_bytes());
    let bytes: usize = before.iter().map(|(_, bytes)| bytes.len()).sum();
    assert!(free < bytes as u64, "the disk is too large for this test");
    for args in commands {
        let ran = run(&root, *args).failed(1, "");
        let words = ["is free in .", "No space left on device", "database or disk is full"];
        let says_why = words.iter().any(|words| ran.stderr.contains(words));
        assert!(says_why && ran.stderr.contains("hint: free some space"), "{args:?}: {ran:?}");
        assert!(contents(&root) == before, "{args:?}: a file changed: {:?}", names(&root));
        assert_eq!(image.free_bytes(), free, "{args:?}: all space is free again");
    }
}

/// Asserts that a command that writes a larger `target` than a limit allows ends with a clear error, and changes no file.
fn assert_limited(folder: &Path, args: &[&str], target: &str) {
    let before = contents(folder);
    let ran = finish(sqluice_with_file_limit(folder, 8192).args(args));
    let stderr = format!(
        "\
error: cannot write {target}
  caused by: File too large (os error 27)

hint: raise the limit on file sizes (ulimit -f) or choose another file system
"
    );
    assert_eq!((ran.code(), &*ran.stderr), (Some(1), &*stderr), "{args:?}: {ran:?}");
    assert!(contents(folder) == before, "{args:?}: a file changed: {:?}", names(folder));
}
