//! Numbered blobs that experiments read and write: in a database as in SQLite's kvtest, in a `BlobStore`, and in files, in one folder or a
//! tree.
//!
//! ```text
//!  kv (k INTEGER PRIMARY KEY, v BLOB)      1 ── 9,870 bytes      flat  00000001      tree  00/00/01
//!                                          2 ── 11,304                00000002            00/00/02
//! ```

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, params};
use sqluice::blob_store::{BlobStore, Durability};
use sqluice_platform::{memory, space};

use crate::case::{Digest, Ground, Result, RowHash};
use crate::random::{mixed, permuted};
use crate::sql::{self, Pragma};

/// A number of blobs, and the range of their lengths.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blobs {
    pub(crate) count: u64,
    /// The minimum and maximum length.
    pub(crate) bytes: (u64, u64),
}

/// The layout of files in folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    Flat,
    /// At most 100 entries in a folder.
    Tree,
}

/// The place that blobs are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    Files(Layout),
    /// `SELECT v FROM kv WHERE k = ?1`, in one transaction.
    Select,
    /// `SELECT v FROM kv WHERE k = ?1`, with a transaction for each read.
    SelectEach,
    /// `sqlite3_blob_read`.
    Blob,
    Store,
    /// Files whose paths are in a database.
    Named,
}

/// The PRAGMA that maps as much of the file as SQLite can.
pub(crate) const MAPPED: &[Pragma] = &[("mmap_size", "2147418112")];

impl Blobs {
    /// Writes the pseudo-random content of blob `number` to `blob`. Another `version` has other content of the same length.
    pub(crate) fn content(self, number: u64, version: u64, blob: &mut Vec<u8>) {
        let (least, most) = self.bytes;
        let bytes = least + mixed(number) % (most - least + 1);
        let seed = mixed(number ^ version << 40);
        blob.clear();
        blob.extend((0..bytes.div_ceil(8)).flat_map(|at| mixed(seed ^ at).to_le_bytes()));
        blob.truncate(bytes as usize);
    }

    /// Returns an upper bound on the size of all blobs, in bytes.
    pub(crate) fn all_bytes(self) -> u64 {
        self.count * (self.bytes.1 + 4096) + (1 << 20)
    }

    /// Returns the numbers of the blobs in random order.
    pub(crate) fn in_random_order(self) -> impl Iterator<Item = u64> {
        (0..self.count).map(move |at| permuted(at, self.count.max(2)) % self.count + 1)
    }

    /// Returns the expected digest after the first `changed` blobs of the random order got version 1.
    pub(crate) fn expected(self, changed: u64) -> Digest {
        let mut digest = Digest::default();
        let mut blob = Vec::new();
        for (at, number) in self.in_random_order().enumerate() {
            self.content(number, u64::from((at as u64) < changed), &mut blob);
            digest.add(whole(number, &blob));
        }
        digest
    }

    /// Returns the expected digest of [`Blobs::read`], which hashes only the length and three bytes of each blob.
    pub(crate) fn expected_glance(self) -> Digest {
        let mut digest = Digest::default();
        let mut blob = Vec::new();
        for number in 1..=self.count {
            self.content(number, 0, &mut blob);
            digest.add(glance(number, &blob));
        }
        digest
    }

    /// Writes all blobs to a database.
    pub(crate) fn fill(self, file: &Path) -> Result {
        let db = sql::open(file, sql::UNSAFE)?;
        db.execute_batch("CREATE TABLE kv (k INTEGER PRIMARY KEY, v BLOB); BEGIN")?;
        {
            let mut insert = db.prepare("INSERT INTO kv VALUES (?1, ?2)")?;
            let mut blob = Vec::new();
            for number in 1..=self.count {
                self.content(number, 0, &mut blob);
                insert.execute(params![number as i64, &blob])?;
            }
        }
        db.execute_batch("COMMIT")?;
        sql::close(db)
    }

    /// Writes all blobs to a store.
    pub(crate) fn fill_store(self, file: &Path) -> Result {
        let store = BlobStore::options().durability(Durability::Off).open(file)?;
        let blobs = (1..=self.count).map(|number| {
            let mut blob = Vec::new();
            self.content(number, 0, &mut blob);
            (key(number), blob)
        });
        store.put_many(blobs)?;
        Ok(())
    }

    /// Writes all blobs to files.
    pub(crate) fn fill_files(self, folder: &Path, layout: Layout) -> Result {
        let mut blob = Vec::new();
        for number in 1..=self.count {
            self.content(number, 0, &mut blob);
            let file = path(folder, number, layout);
            if layout == Layout::Tree || number == 1 {
                fs::create_dir_all(file.parent().unwrap_or(folder))?;
            }
            fs::write(file, &blob)?;
        }
        Ok(())
    }

    /// Writes the paths of the files to a database.
    pub(crate) fn fill_names(self, file: &Path, folder: &Path) -> Result {
        let db = sql::open(file, sql::UNSAFE)?;
        db.execute_batch("CREATE TABLE name (k INTEGER PRIMARY KEY, path TEXT); BEGIN")?;
        {
            let mut insert = db.prepare("INSERT INTO name VALUES (?1, ?2)")?;
            for number in 1..=self.count {
                insert.execute(params![number as i64, path(folder, number, Layout::Flat).to_str()])?;
            }
        }
        db.execute_batch("COMMIT")?;
        sql::close(db)
    }

    /// Reads all blobs in random order and returns their digest and the seconds. Earlier writes are synced, and the database, store or
    /// folder is opened, before the time starts.
    pub(crate) fn read(
        self,
        ground: &Ground<'_>,
        at: &Path,
        from: From,
        pragmas: &[Pragma],
    ) -> Result<(Digest, f64)> {
        let mut digest = Digest::default();
        let mut see = |number: u64, blob: &[u8]| digest.add(glance(number, black_box(blob)));
        let numbers: Vec<u64> = self.in_random_order().collect();
        let seconds = match from {
            From::Files(layout) => {
                let paths: Vec<PathBuf> = numbers.iter().map(|number| path(at, *number, layout)).collect();
                let mut blob = Vec::new();
                ground.clock(|| {
                    for (number, path) in numbers.iter().zip(&paths) {
                        read_file(path, &mut blob)?;
                        see(*number, &blob);
                    }
                    Ok(())
                })
            }
            From::Store => {
                let mapped = if pragmas.is_empty() { 0 } else { 1 << 31 };
                let store = BlobStore::options().read_only(true).mmap_bytes(mapped).open(at)?;
                let keys: Vec<String> = numbers.iter().map(|number| key(*number)).collect();
                let mut blob = Vec::new();
                ground.clock(|| {
                    for (number, key) in numbers.iter().zip(&keys) {
                        if store.get_into(key, &mut blob)? {
                            see(*number, &blob);
                        }
                    }
                    Ok(())
                })
            }
            From::Blob => self.read_blobs(ground, &sql::open(at, pragmas)?, &numbers, &mut see),
            From::Select | From::SelectEach | From::Named => {
                let db = sql::open(at, pragmas)?;
                let mut file = Vec::new();
                let named = from == From::Named;
                let mut select = db.prepare(if named {
                    "SELECT path FROM name WHERE k = ?1"
                } else {
                    "SELECT v FROM kv WHERE k = ?1"
                })?;
                ground.clock(|| {
                    if from != From::SelectEach {
                        db.execute_batch("BEGIN")?;
                    }
                    for number in &numbers {
                        let mut rows = select.query([*number as i64])?;
                        match rows.next()?.map(|row| row.get_ref(0)).transpose()? {
                            Some(ValueRef::Blob(blob)) => see(*number, blob),
                            Some(ValueRef::Text(path)) => {
                                read_file(Path::new(str::from_utf8(path)?), &mut file)?;
                                see(*number, &file);
                            }
                            _ => {}
                        }
                    }
                    Ok(())
                })
            }
        };
        let ((), seconds) = seconds?;
        Ok((digest, seconds))
    }

    fn read_blobs(
        self,
        ground: &Ground<'_>,
        db: &Connection,
        numbers: &[u64],
        see: &mut dyn FnMut(u64, &[u8]),
    ) -> Result<((), f64)> {
        let mut buffer = Vec::new();
        ground.clock(|| {
            db.execute_batch("BEGIN")?;
            let mut open = db.blob_open("main", "kv", "v", 1, true)?;
            for number in numbers {
                open.reopen(*number as i64)?;
                buffer.resize(open.len(), 0);
                open.read_at_exact(&mut buffer, 0)?;
                see(*number, &buffer);
            }
            open.close()?;
            Ok(db.execute_batch("COMMIT")?)
        })
    }

    /// Returns the digest of the blobs in files.
    pub(crate) fn digest_files(self, folder: &Path, layout: Layout) -> Result<Digest> {
        let mut digest = Digest::default();
        for number in 1..=self.count {
            match fs::read(path(folder, number, layout)) {
                Ok(blob) => digest.add(whole(number, &blob)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(digest)
    }

    /// Returns the digest of the blobs in a store.
    pub(crate) fn digest_store(self, file: &Path) -> Result<Digest> {
        let store = BlobStore::options().read_only(true).open(file)?;
        let mut digest = Digest::default();
        for number in 1..=self.count {
            if let Some(blob) = store.get(key(number))? {
                digest.add(whole(number, &blob));
            }
        }
        Ok(digest)
    }
}

/// Returns the digest of the blobs in a database.
pub(crate) fn digest_database(file: &Path) -> Result<Digest> {
    let db = sql::open(file, &[])?;
    sql::sound(&db)?;
    sql::digest(&db, "SELECT k, v FROM kv")
}

/// Deletes a blob if the case must lose one, which tests that the comparison notices it.
pub(crate) fn maybe_drop(ground: &Ground<'_>, at: &Path, from: From) -> Result {
    match from {
        From::Files(layout) if ground.must_drop() => Ok(fs::remove_file(path(at, 1, layout))?),
        From::Files(_) => Ok(()),
        From::Store if ground.must_drop() => {
            BlobStore::open(at)?.remove(key(1))?;
            Ok(())
        }
        From::Store => Ok(()),
        From::Named => sql::maybe_drop(&sql::open(at, &[])?, ground, "name"),
        _ => sql::maybe_drop(&sql::open(at, &[])?, ground, "kv"),
    }
}

/// Returns the key of a blob in a store.
pub(crate) fn key(number: u64) -> String {
    format!("{number:08}")
}

/// Returns the path of a blob's file.
pub(crate) fn path(folder: &Path, number: u64, layout: Layout) -> PathBuf {
    match layout {
        Layout::Flat => folder.join(key(number)),
        Layout::Tree => folder
            .join(format!("{:02}", number / 10_000))
            .join(format!("{:02}", number / 100 % 100))
            .join(format!("{:02}", number % 100)),
    }
}

/// Reads a file as kvtest does: the length first, then the whole content.
fn read_file(path: &Path, blob: &mut Vec<u8>) -> Result {
    let mut file = File::open(path)?;
    blob.resize(file.metadata()?.len() as usize, 0);
    let mut done = 0;
    while done < blob.len() {
        match file.read(&mut blob[done..])? {
            0 => return Err(format!("{} has become shorter", path.display()).into()),
            read => done += read,
        }
    }
    Ok(())
}

/// Loads a file, or all files below a folder, into the page cache, or evicts them if `keep` is false.
pub(crate) fn cache(at: &Path, keep: bool) -> Result {
    if at.is_dir() {
        return fs::read_dir(at)?.try_for_each(|entry| cache(&entry?.path(), keep));
    }
    let mut file = File::open(at)?;
    if keep {
        std::io::copy(&mut file, &mut std::io::sink())?;
        return Ok(());
    }
    Ok(memory::drop_cached(&file)?)
}

/// Returns the disk space of a file or of a folder and its contents, in bytes, like `du`.
pub(crate) fn disk_bytes(path: &Path) -> Result<u64> {
    let mut bytes = space::taken_bytes(path)?;
    if path.symlink_metadata()?.is_dir() {
        for entry in fs::read_dir(path)? {
            bytes += disk_bytes(&entry?.path())?;
        }
    }
    Ok(bytes)
}

/// Returns the hash of a blob's number and whole content.
fn whole(number: u64, blob: &[u8]) -> RowHash {
    let mut hash = RowHash::NEW;
    hash.int(number as i64);
    hash.blob(blob);
    hash
}

/// Returns the hash of a blob's number, its length and three of its bytes. To hash them takes much less time than to read the blob.
fn glance(number: u64, blob: &[u8]) -> RowHash {
    let of = |byte: Option<&u8>| i64::from(byte.copied().unwrap_or_default());
    let mut hash = RowHash::NEW;
    hash.int(number as i64);
    hash.int(blob.len() as i64);
    hash.int(of(blob.first()) << 16 | of(blob.get(blob.len() / 2)) << 8 | of(blob.last()));
    hash
}
