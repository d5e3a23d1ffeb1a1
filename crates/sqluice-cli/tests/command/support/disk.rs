//! The system calls of a run on the files of a database, recorded by strace, and the states of the disk that a power failure may leave.
//!
//! ```text
//!  write journal   fsync journal   write x.db   fsync x.db   unlink journal
//!  |---------------------- prefix -------------|                    then a power failure
//! ```
//!
//! After a prefix, operations that were not synced may be lost: all of them, any part, or the second half of a write.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::strace::{Call, calls, strace, strings};
use super::{Random, names};

/// Files by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The effect of a system call on the database, its journal or its log. Each file that exists at some time has a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Create { name: String, file: usize },
    Write { file: usize, offset: usize, bytes: Vec<u8> },
    Truncate { file: usize, length: usize },
    Sync { file: usize },
    Remove { name: String },
    SyncFolder,
}

/// The files of a folder before a run, and the operations of the run.
#[derive(Clone)]
pub(crate) struct Recorded {
    pub(crate) before: Files,
    pub(crate) ops: Vec<Op>,
}

/// Runs the command in a folder with x.db, and records all changes to it and its siblings.
pub(crate) fn record(folder: &Path, args: &[&str]) -> Recorded {
    let before = read(folder);
    let log = tempfile::NamedTempFile::new().unwrap();
    let flags = [
        "--seccomp-bpf",
        "-y",
        "-x",
        "-s",
        "10000000",
        "-e",
        "trace=%desc,%file",
        "-o",
        log.path().to_str().unwrap(),
    ];
    strace(folder, &flags, args).ok();
    let folder = fs::canonicalize(folder).unwrap();
    let mut parser = Parser { folder: folder.to_str().unwrap(), names: BTreeMap::new(), files: 0 };
    for name in before.keys() {
        parser.add(name);
    }
    let log = fs::read_to_string(log.path()).unwrap();
    let ops = calls(&log).iter().filter_map(|call| parser.op(call)).collect();
    Recorded { before, ops }
}

/// Returns the files of the database: x.db, its journal and its log.
fn read(folder: &Path) -> Files {
    let names = names(folder).into_iter().filter(|name| is_of_database(name));
    names.map(|name| (name.clone(), fs::read(folder.join(&name)).unwrap())).collect()
}

/// Returns `true` for the database, its journal and its log. The -shm file is left out, because SQLite rebuilds it after a crash.
fn is_of_database(name: &str) -> bool {
    name.starts_with("x.db") && !name.ends_with("-shm")
}

struct Parser<'a> {
    folder: &'a str,
    names: BTreeMap<String, usize>,
    files: usize,
}

impl Parser<'_> {
    fn add(&mut self, name: &str) -> usize {
        self.names.insert(name.to_owned(), self.files);
        self.files += 1;
        self.files - 1
    }

    /// Returns the operation of a system call on the files of the database, if it has one.
    fn op(&mut self, call: &Call<'_>) -> Option<Op> {
        let Call { name, args, result, .. } = call;
        if *result < 0 {
            return None;
        }
        let last_number = || args.rsplit(", ").next().unwrap().parse().unwrap();
        Some(match &**name {
            "openat" | "open" if args.contains("O_CREAT") || args.contains("O_TRUNC") => {
                let named = file_name(args);
                if !is_of_database(&named) || self.names.contains_key(&named) {
                    assert!(!is_of_database(&named) || !args.contains("O_TRUNC"), "{args}");
                    return None;
                }
                let file = self.add(&named);
                Op::Create { name: named, file }
            }
            "pwrite64" | "pwritev" => {
                let file = self.file(args)?;
                let mut bytes = strings(args);
                bytes.truncate(*result as usize);
                Op::Write { file, offset: last_number(), bytes }
            }
            "write" | "writev" | "pwritev2" | "fallocate" | "copy_file_range" | "sendfile" => {
                assert_eq!(self.file(args), None, "what does this do to the database? {name}({args})");
                return None;
            }
            "ftruncate" => Op::Truncate { file: self.file(args)?, length: last_number() },
            "fsync" | "fdatasync" if path(args) == Some(self.folder) => Op::SyncFolder,
            "fsync" | "fdatasync" => Op::Sync { file: self.file(args)? },
            "unlink" | "unlinkat" => {
                let name = file_name(args);
                self.names.remove(&name)?;
                Op::Remove { name }
            }
            "rename" | "renameat" | "renameat2" => {
                assert!(!args.contains("x.db"), "nothing gets another name: {args}");
                return None;
            }
            _ => return None,
        })
    }

    /// Returns the number of the file that the descriptor in the arguments refers to, if it is a file of the database.
    fn file(&self, args: &str) -> Option<usize> {
        let name = path(args)?.strip_prefix(self.folder)?.strip_prefix('/')?;
        self.names.get(name).copied()
    }
}

/// Returns the path of the first descriptor among the arguments of a call.
fn path(args: &str) -> Option<&str> {
    args.split_once('<').and_then(|(_, rest)| rest.split_once('>')).map(|(path, _)| path)
}

/// Returns the file name in the first string among the arguments of a call.
fn file_name(args: &str) -> String {
    let quoted = args.split('"').nth(1).unwrap_or_default();
    let path = String::from_utf8(strings(&format!("\"{quoted}\""))).unwrap();
    Path::new(&path).file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The losses of a power failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loss {
    /// Operations that never reached the disk.
    lost: Vec<usize>,
    /// A write that reached the disk only in part: its number, and the number of bytes that did.
    torn: Option<(usize, usize)>,
    /// `true` if lost bytes count in the size of the file, and are zeros.
    grown: bool,
}

/// The bytes that a disk writes atomically.
const SECTOR_BYTES: usize = 512;

/// Returns the files of the folder after `ops` and a loss.
pub(crate) fn after(before: &Files, ops: &[Op], loss: &Loss) -> Files {
    let mut files: BTreeMap<usize, Vec<u8>> = before.values().cloned().enumerate().collect();
    let mut names: BTreeMap<&str, usize> = before.keys().map(String::as_str).zip(0..).collect();
    for (at, op) in ops.iter().enumerate() {
        let is_lost = loss.lost.contains(&at);
        match op {
            Op::Create { name, file } if !is_lost => drop(names.insert(name, *file)),
            Op::Remove { name } if !is_lost => drop(names.remove(&**name)),
            Op::Truncate { file, length } if !is_lost => files.entry(*file).or_default().resize(*length, 0),
            Op::Write { file, offset, bytes } => {
                let keep = match loss.torn {
                    Some((torn, keep)) if torn == at => keep,
                    _ if is_lost => 0,
                    _ => bytes.len(),
                };
                let file = files.entry(*file).or_default();
                let end = offset + if loss.grown { bytes.len() } else { keep };
                if (keep > 0 || loss.grown) && file.len() < end {
                    file.resize(end, 0);
                }
                if keep > 0 {
                    file[*offset..][..keep].copy_from_slice(&bytes[..keep]);
                }
            }
            _ => {}
        }
    }
    names.into_iter().map(|(name, file)| (name.to_owned(), files.remove(&file).unwrap_or_default())).collect()
}

/// Returns the numbers of the operations that a power failure after all of `ops` may lose.
pub(crate) fn volatile(ops: &[Op]) -> Vec<usize> {
    let lasts = |at: usize| match &ops[at] {
        Op::Write { file, .. } | Op::Truncate { file, .. } => ops[at..].contains(&Op::Sync { file: *file }),
        Op::Create { .. } | Op::Remove { .. } => ops[at..].contains(&Op::SyncFolder),
        Op::Sync { .. } | Op::SyncFolder => true,
    };
    (0..ops.len()).filter(|&at| !lasts(at)).collect()
}

/// Returns losses of a power failure after `ops`: none, all that is possible, and at most `count` random others.
pub(crate) fn losses(random: &mut Random, ops: &[Op], count: usize) -> Vec<Loss> {
    let volatile = volatile(ops);
    let mut losses = vec![Loss::default()];
    if volatile.is_empty() {
        return losses;
    }
    losses.push(Loss { lost: volatile.clone(), ..Loss::default() });
    losses.push(Loss { lost: volatile.clone(), grown: true, ..Loss::default() });
    for _ in 0..count {
        let one = volatile[random.next() as usize % volatile.len()];
        let grown = random.fraction() < 0.5;
        let lost = match random.next() % 4 {
            0 => vec![one],
            1 => volatile.iter().copied().filter(|other| *other != one).collect(),
            2 => volatile.iter().copied().filter(|other| *other >= one).collect(),
            _ => volatile.iter().copied().filter(|_| random.fraction() < 0.5).collect(),
        };
        let torn = match &ops[one] {
            Op::Write { offset, bytes, .. } if random.fraction() < 0.3 => {
                let sectors = bytes.len() / SECTOR_BYTES;
                let whole = SECTOR_BYTES - offset % SECTOR_BYTES;
                (sectors > 1).then(|| (one, whole + random.next() as usize % (sectors - 1) * SECTOR_BYTES))
            }
            _ => None,
        };
        let torn =
            torn.filter(|(at, keep)| matches!(&ops[*at], Op::Write { bytes, .. } if *keep < bytes.len()));
        losses.push(Loss { lost, torn, grown });
    }
    losses
}

/// Returns a description of an operation, without the written bytes.
pub(crate) fn short(op: &Op) -> String {
    match op {
        Op::Write { file, offset, bytes } => {
            format!("Write {} bytes of file {file} at {offset}", bytes.len())
        }
        other => format!("{other:?}"),
    }
}
