//! Folders with files in them: made, and looked at.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::Path;

use super::Random;
use proptest::prelude::*;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps};

/// Something in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    File { mode: u32, mtime: i64, content: Vec<u8> },
    Folder { mode: u32, mtime: i64 },
    Link { mtime: i64, target: Vec<u8> },
}

/// All that is below a folder, by its name relative to it.
pub(crate) type Tree = BTreeMap<Vec<u8>, Node>;

/// Reads what is below a folder.
pub(crate) fn read(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let about = fs::symlink_metadata(&path).unwrap();
            let (mode, mtime) = (about.mode(), about.mtime());
            let node = if about.is_dir() {
                folders.push(path.clone());
                Node::Folder { mode, mtime }
            } else if about.is_symlink() {
                Node::Link { mtime, target: fs::read_link(&path).unwrap().into_os_string().into_vec() }
            } else if about.is_file() {
                Node::File { mode, mtime, content: fs::read(&path).unwrap() }
            } else {
                continue;
            };
            tree.insert(path.strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec(), node);
        }
    }
    tree
}

/// Makes what `tree` has below a folder.
pub(crate) fn make(root: &Path, tree: &Tree) {
    fs::create_dir_all(root).unwrap();
    for (name, node) in tree {
        let path = root.join(OsStr::from_bytes(name));
        match node {
            Node::Folder { .. } => fs::create_dir(&path).unwrap(),
            Node::File { content, mode, .. } => {
                fs::write(&path, content).unwrap();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o777)).unwrap();
            }
            Node::Link { target, .. } => symlink(OsStr::from_bytes(target), &path).unwrap(),
        }
    }
    // Times when nothing is made any more.
    for (name, node) in tree.iter().rev() {
        let path = root.join(OsStr::from_bytes(name));
        let mtime = match *node {
            Node::Folder { mode, mtime } => {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode & 0o777)).unwrap();
                mtime
            }
            Node::File { mtime, .. } | Node::Link { mtime, .. } => mtime,
        };
        let time = Timespec { tv_sec: mtime, tv_nsec: 0 };
        let times = Timestamps { last_access: time, last_modification: time };
        rustix::fs::utimensat(CWD, &path, &times, AtFlags::SYMLINK_NOFOLLOW).unwrap();
    }
}

/// Bytes that deflate well, and bytes that do not.
pub(crate) fn content(bytes: usize, seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let byte = |at| if seed.is_multiple_of(3) { (at / 100) as u8 } else { random.next() as u8 };
    (0..bytes).map(byte).collect()
}

/// A component of a name: plain, odd, or one that sorts oddly beside a `/`.
fn component() -> impl Strategy<Value = Vec<u8>> {
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
}

fn node() -> impl Strategy<Value = Node> {
    let mtime = prop_oneof![4 => 0..4_000_000_000i64, 1 => -1000i64..0];
    let bytes = prop_oneof![3 => 0..300usize, 3 => 300..13_000usize, 1 => 13_000..400_000usize];
    let file = (0..0o1000u32, mtime.clone(), bytes, any::<u64>());
    prop_oneof![
        5 => file.prop_map(|(mode, mtime, bytes, seed)| {
            // The test itself must be able to read it.
            Node::File { mode: 0o100_400 | mode, mtime, content: content(bytes, seed) }
        }),
        3 => (0..0o1000u32, mtime.clone()).prop_map(|(mode, mtime)| Node::Folder { mode: 0o040_700 | mode, mtime }),
        1 => (mtime, component()).prop_map(|(mtime, target)| Node::Link { mtime, target }),
    ]
}

/// A tree of anything.
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
