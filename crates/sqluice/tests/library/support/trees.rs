//! Folder trees: random ones, written to disk and read back.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::Random;
use proptest::prelude::*;
use sqluice_platform::paths::{bytes, from_bytes};
use sqluice_testkit::system::symlink;

use system::{mode_and_time, set_mode, set_time};

/// A file, folder or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    File { mode: u32, mtime: i64, content: Vec<u8> },
    Folder { mode: u32, mtime: i64 },
    Link { mtime: i64, target: Vec<u8> },
}

/// All entries below a folder, by their relative paths.
pub(crate) type Tree = BTreeMap<Vec<u8>, Node>;

/// Reads all entries below a folder.
pub(crate) fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            let (mode, mtime) = mode_and_time(&about);
            let node = if about.is_dir() {
                folders.push(path.clone());
                Node::Folder { mode, mtime }
            } else if about.is_symlink() {
                Node::Link { mtime, target: bytes(fs::read_link(&path).unwrap().as_os_str()).into_owned() }
            } else if about.is_file() {
                Node::File { mode, mtime, content: fs::read(&path).unwrap() }
            } else {
                continue;
            };
            tree.insert(bytes(path.strip_prefix(root).unwrap().as_os_str()).into_owned(), node);
        }
    }
    tree
}

/// Returns the part of a tree that the system can store: Windows has no links, and only the read-only bit of the mode.
pub(crate) fn kept(tree: &Tree) -> Tree {
    if cfg!(unix) {
        return tree.clone();
    }
    let kept = tree.iter().filter_map(|(name, node)| {
        let node = match node.clone() {
            Node::File { mode, mtime, content } if mode & 0o200 == 0 => {
                Node::File { mode: 0o100_444, mtime, content }
            }
            Node::File { mtime, content, .. } => Node::File { mode: 0o100_644, mtime, content },
            Node::Folder { mtime, .. } => Node::Folder { mode: 0o040_755, mtime },
            Node::Link { .. } => return None,
        };
        Some((name.clone(), node))
    });
    kept.collect()
}

/// Creates the entries of `tree` below a folder, as far as the system [keeps](kept) them.
pub(crate) fn make(root: &Path, tree: &Tree) {
    fs::create_dir_all(root).unwrap();
    let tree = kept(tree);
    for (name, node) in &tree {
        let path = root.join(from_bytes(name));
        match node {
            Node::Folder { .. } => fs::create_dir(&path).unwrap(),
            Node::File { content, mode, .. } => {
                fs::write(&path, content).unwrap();
                set_mode(&path, *mode);
            }
            Node::Link { target, .. } => symlink(from_bytes(target), &path),
        }
    }
    // Set the times last: creating a file changes the time of its folder.
    for (name, node) in tree.iter().rev() {
        let path = root.join(from_bytes(name));
        let mtime = match *node {
            Node::Folder { mode, mtime } => {
                set_mode(&path, mode);
                mtime
            }
            Node::File { mtime, .. } | Node::Link { mtime, .. } => mtime,
        };
        set_time(&path, mtime);
    }
}

#[cfg(unix)]
mod system {
    use std::fs::{self, Metadata, Permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::path::Path;

    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

    pub(super) fn mode_and_time(about: &Metadata) -> (u32, i64) {
        (about.mode(), about.mtime())
    }

    pub(super) fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, Permissions::from_mode(mode & 0o777)).unwrap();
    }

    pub(super) fn set_time(path: &Path, mtime: i64) {
        let time = Timespec { tv_sec: mtime, tv_nsec: 0 };
        let times = Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
}

#[cfg(windows)]
mod system {
    use std::fs::{self, File, Metadata};
    use std::os::windows::fs::{MetadataExt, OpenOptionsExt};
    use std::path::Path;
    use std::time::{Duration, UNIX_EPOCH};

    const FILE_WRITE_ATTRIBUTES: u32 = 0x100;
    /// Windows opens folders only with this flag.
    const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
    /// The seconds from 1601, where times of files on Windows begin, to 1970.
    const SECONDS: i64 = 11_644_473_600;

    pub(super) fn mode_and_time(about: &Metadata) -> (u32, i64) {
        let mode = match about.permissions().readonly() {
            _ if about.is_dir() => 0o040_755,
            true => 0o100_444,
            false => 0o100_644,
        };
        (mode, (about.last_write_time() / 10_000_000) as i64 - SECONDS)
    }

    pub(super) fn set_mode(path: &Path, mode: u32) {
        if path.is_file() {
            let mut permissions = fs::metadata(path).unwrap().permissions();
            permissions.set_readonly(mode & 0o200 == 0);
            fs::set_permissions(path, permissions).unwrap();
        }
    }

    pub(super) fn set_time(path: &Path, mtime: i64) {
        let mut options = File::options();
        let options = options.access_mode(FILE_WRITE_ATTRIBUTES).custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
        let from_1970 = Duration::from_secs(mtime.unsigned_abs());
        let time = if mtime < 0 { UNIX_EPOCH - from_1970 } else { UNIX_EPOCH + from_1970 };
        options.open(path).unwrap().set_modified(time).unwrap();
    }
}

/// Returns bytes of which some deflate well, and some do not.
pub(crate) fn content(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let byte = |at| if seed.is_multiple_of(3) { (at / 100) as u8 } else { random.next() as u8 };
    (0..bytes).map(byte).collect()
}

/// Generates a component of a name: plain, odd, or one that sorts oddly beside a `/`.
fn component() -> impl Strategy<Value = Vec<u8>> {
    // No name on Windows ends with a space or a point, and no path is as long there.
    if cfg!(windows) {
        return "[a-c]{1,2}[!0-]?".prop_map(String::into_bytes).boxed();
    }
    prop_oneof![
        4 => "[a-c]{1,2}".prop_map(String::into_bytes),
        2 => "[a-c][!.0 -]".prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 1..6),
        1 => Just(vec![b'x'; 255]),
    ]
    .prop_map(|mut name| {
        name.iter_mut().filter(|byte| **byte == 0 || **byte == b'/').for_each(|byte| *byte = b'_');
        if name == b"." || name == b".." { b"dots".to_vec() } else { name }
    })
    .boxed()
}

fn node() -> impl Strategy<Value = Node> {
    let mtime = prop_oneof![4 => 0..4_000_000_000i64, 1 => -1000i64..0];
    let bytes = prop_oneof![3 => 0..300usize, 3 => 300..13_000usize, 1 => 13_000..400_000usize];
    let file = (0..0o1000u32, mtime.clone(), bytes, any::<u64>());
    prop_oneof![
        5 => file.prop_map(|(mode, mtime, bytes, seed)| {
            // The owner may read each file, since the test reads it.
            Node::File { mode: 0o100_400 | mode, mtime, content: content(bytes, seed) }
        }),
        3 => (0..0o1000u32, mtime.clone()).prop_map(|(mode, mtime)| Node::Folder { mode: 0o040_700 | mode, mtime }),
        1 => (mtime, component()).prop_map(|(mtime, target)| Node::Link { mtime, target }),
    ]
}

/// Returns a random tree.
pub(crate) fn tree() -> impl Strategy<Value = Tree> {
    proptest::collection::vec((any::<prop::sample::Index>(), component(), node()), 0..30).prop_map(|things| {
        let mut tree = Tree::new();
        let mut folders: Vec<Vec<u8>> = vec![Vec::new()];
        for (folder, component, node) in things {
            let mut name = folder.get(&folders).clone();
            if !name.is_empty() {
                name.push(b'/');
            }
            name.extend(component);
            if name.len() > 3000 || tree.contains_key(&name) {
                continue;
            }
            if let Node::Folder { .. } = node {
                folders.push(name.clone());
            }
            tree.insert(name, node);
        }
        tree
    })
}
