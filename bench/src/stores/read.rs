//! The laps of the part `read`: all files are read in random order, by name.

use std::ffi::CString;
use std::fs::File;
use std::hint::black_box;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, fstat, openat};
use rustix::io::{pread, read as read_into};
use serde::{Deserialize, Serialize};
use sqluice::blob_store::BlobStore;

use super::data::name;
use super::stdio;
use crate::random::{mixed, permuted};

/// The bytes that were read, and the time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Reading {
    pub(crate) bytes: u64,
    /// The checksum of the first, the middle and the last byte of each file.
    pub(crate) checksum: u64,
    pub(crate) seconds: f64,
}

/// The start and the length of a range, in bytes.
const RANGE: (u64, u64) = (5000, 100);

/// Reads all files. The store or the folder is opened before the time starts.
pub(crate) fn read(from: &Path, files: u64, way: &str) -> anyhow::Result<Reading> {
    let options = BlobStore::options().read_only(true);
    let mut buffer = Vec::new();
    match way {
        "files" => {
            let folder = open_folder(from)?;
            let mut buffer = vec![0; 1 << 16];
            timed(files, |name, sum| {
                let file = openat(&folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
                let bytes = usize::try_from(fstat(&file)?.st_size)?;
                if buffer.len() < bytes {
                    buffer.resize(bytes, 0);
                }
                let read = read_into(&file, &mut buffer[..bytes])?;
                sum.add(&buffer[..read]);
                Ok(())
            })
        }
        "read_files" => timed(files, |name, sum| {
            sum.add(&std::fs::read(from.join(name))?);
            Ok(())
        }),
        "kvtest_files" => timed(files, |name, sum| {
            let path = CString::new(from.join(name).into_os_string().into_vec())?;
            sum.add(&stdio::read(&path).with_context(|| format!("cannot read {}", from.display()))?);
            Ok(())
        }),
        "range_files" => {
            let folder = open_folder(from)?;
            let mut bytes = [0; RANGE.1 as usize];
            timed(files, |name, sum| {
                let file = openat(&folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
                let read = pread(&file, &mut bytes, RANGE.0)?;
                sum.add(&bytes[..read]);
                Ok(())
            })
        }
        "get" => {
            let store = options.open(from)?;
            timed(files, |name, sum| {
                sum.add(&store.get(name)?.context("a blob")?);
                Ok(())
            })
        }
        "get_into" | "get_mapped" | "get_shared" => {
            let options = match way {
                "get_mapped" => options.mmap_bytes(1 << 40),
                "get_shared" => options.shared(true),
                _ => options,
            };
            let store = options.open(from)?;
            timed(files, |name, sum| {
                store.get_into(name, &mut buffer)?;
                sum.add(&buffer);
                Ok(())
            })
        }
        "range" => {
            let store = options.open(from)?;
            timed(files, |name, sum| {
                sum.add(&store.range(name, RANGE.0..RANGE.0 + RANGE.1)?.context("a blob")?);
                Ok(())
            })
        }
        "select" => select(from, files),
        other => bail!("{other} reads nothing"),
    }
}

/// Reads with SQLite's fastest method: one statement, one transaction.
fn select(from: &Path, files: u64) -> anyhow::Result<Reading> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(from, flags)?;
    connection.execute_batch("BEGIN")?;
    let kv: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema WHERE name = 'kv'", [], |row| row.get(0))?;
    let sql = if kv > 0 { "SELECT v FROM kv WHERE k = ?1" } else { "SELECT data FROM sqlar WHERE name = ?1" };
    let mut select = connection.prepare(sql)?;
    let mut buffer: Vec<u8> = Vec::new();
    timed(files, |name, sum| {
        buffer.clear();
        let mut rows = select.query([name])?;
        if let Some(row) = rows.next()?
            && let ValueRef::Blob(bytes) = row.get_ref(0)?
        {
            buffer.extend_from_slice(bytes);
        }
        sum.add(&buffer);
        Ok(())
    })
}

fn open_folder(folder: &Path) -> anyhow::Result<OwnedFd> {
    Ok(File::open(folder).with_context(|| format!("cannot open {}", folder.display()))?.into())
}

#[derive(Default)]
struct Sum {
    bytes: u64,
    checksum: u64,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let bytes = black_box(bytes);
        self.bytes += bytes.len() as u64;
        let of = |byte: Option<&u8>| u64::from(byte.copied().unwrap_or(0));
        let three = of(bytes.first()) << 16 | of(bytes.get(bytes.len() / 2)) << 8 | of(bytes.last());
        self.checksum = self.checksum.wrapping_add(mixed(three));
    }
}

fn timed(files: u64, mut one: impl FnMut(&str, &mut Sum) -> anyhow::Result<()>) -> anyhow::Result<Reading> {
    // Names are created before the time starts.
    let names: Vec<String> = (0..files).map(|number| name(permuted(number, files.max(2)) % files)).collect();
    let mut sum = Sum::default();
    let start = Instant::now();
    for name in &names {
        one(name, &mut sum).with_context(|| format!("cannot read {name}"))?;
    }
    Ok(Reading { bytes: sum.bytes, checksum: sum.checksum, seconds: start.elapsed().as_secs_f64() })
}
