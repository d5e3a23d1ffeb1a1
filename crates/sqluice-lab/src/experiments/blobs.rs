//! Experiments that compare blobs in a database with blobs in files: the time to read and to overwrite them, and their disk space.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::Path;

use rusqlite::params;
use sqluice::archive::Pack;
use sqluice::blob_store::BlobStore;

use crate::case::{Case, Digest, Experiment, Ground, Result, Took};
use crate::kv::{self, Blobs, From, Layout, MAPPED};
use crate::record::Skip;
use crate::scale::{Counts, Scale};
use crate::sql::{self, Pragma, UNSAFE, WAL_NORMAL};

/// The number of blobs in the publication "35% Faster Than The Filesystem".
const PUBLISHED_COUNT: f64 = 100_000.0;

/// The minimum and maximum size of the blobs.
pub(super) const BYTES: (u64, u64) = (8_000, 12_000);

/// One blob in this number of blobs is overwritten: a tenth of all blobs.
const OVERWRITTEN: u64 = 10;

pub(super) fn all(scale: Scale) -> Vec<Experiment> {
    let count = Counts::new(200, 5_000, PUBLISHED_COUNT as u64).at(scale);
    let blobs = Blobs { count, bytes: BYTES };
    vec![reading(blobs), space(blobs), writing(blobs)]
}

fn reading(blobs: Blobs) -> Experiment {
    let other = |command: &str| Case::skipped(command, Skip::OtherSystem);
    let (flat, tree) = (Layout::Flat, Layout::Tree);
    let select = "SELECT v FROM kv WHERE k=?1";
    let read = |from, files, pragmas| Reading { blobs, from, files, pragmas, cold: false }.case();
    Experiment::new("blob-read", "times", blobs.count)
        .published("SELECT v FROM kv WHERE k=?1, Windows 10", other(select))
        .published("SELECT v FROM kv WHERE k=?1, Android", other(select))
        .published("sqlite3_blob_read, typical", read(From::Blob, flat, &[]))
        .published("sqlite3_blob_read + mmap, Mac and Android", other("sqlite3_blob_read"))
        .published("sqlite3_blob_read + mmap, Windows", other("sqlite3_blob_read"))
        .added("SELECT v FROM kv WHERE k=?1, here", read(From::Select, flat, &[]))
        .added("SELECT v FROM kv WHERE k=?1 + mmap, here", read(From::Select, flat, MAPPED))
        .added("sqlite3_blob_read + mmap, here", read(From::Blob, flat, MAPPED))
        .added("SELECT v FROM kv WHERE k=?1, against a tree", read(From::Select, tree, &[]))
        .added("SELECT v FROM kv WHERE k=?1 + mmap, against a tree", read(From::Select, tree, MAPPED))
        .added("sqlite3_blob_read, against a tree", read(From::Blob, tree, &[]))
        .added("sqlite3_blob_read + mmap, against a tree", read(From::Blob, tree, MAPPED))
        .sqluice("BlobStore", read(From::Store, flat, &[]))
        .sqluice("BlobStore + mmap", read(From::Store, flat, MAPPED))
        .sqluice("BlobStore, against a tree", read(From::Store, tree, &[]))
        .note("The figure is the time to read the same blobs from files (open, fstat, read, close), divided by the time from the database. A tree has at most 100 entries a folder.")
}

/// A variant that reads blobs, and the layout of the files that it is compared with.
#[derive(Clone, Copy)]
pub(super) struct Reading {
    pub(super) blobs: Blobs,
    pub(super) from: From,
    pub(super) files: Layout,
    pub(super) pragmas: &'static [Pragma],
    /// `true` if the blobs are evicted from the system's page cache before they are read.
    pub(super) cold: bool,
}

impl Reading {
    pub(super) fn case(self) -> Case {
        let Reading { blobs, from, pragmas, .. } = self;
        let command = match from {
            From::Select => "BEGIN; SELECT v FROM kv WHERE k = ?1, for all k in random order",
            From::SelectEach => {
                "SELECT v FROM kv WHERE k = ?1, for all k in random order, a transaction each"
            }
            From::Blob => "sqlite3_blob_reopen, sqlite3_blob_read",
            From::Store => "BlobStore::get_into",
            From::Named => "SELECT path FROM name WHERE k = ?1; open, fstat, read, close",
            From::Files(_) => "open, fstat, read, close",
        };
        let expected = move || Ok(vec![blobs.expected_glance(); 2]);
        Case::new(command, move |ground| self.run(ground), expected)
            .settings(sql::statements(pragmas))
            .disk(2 * blobs.all_bytes())
    }

    fn run(self, ground: &Ground<'_>) -> Result<Took> {
        let Reading { blobs, from, files, pragmas, cold } = self;
        let (file, folder) = (ground.file(), ground.path("files"));
        blobs.fill_files(&folder, files)?;
        match from {
            From::Store => blobs.fill_store(&file)?,
            From::Named => blobs.fill_names(&file, &folder)?,
            _ => blobs.fill(&file)?,
        }
        kv::maybe_drop(ground, &file, from)?;
        ground.sync()?;
        for path in [&folder, &file] {
            kv::cache(path, !cold)?;
        }
        let (in_files, files_seconds) = blobs.read(ground, &folder, From::Files(files), &[])?;
        if cold && from == From::Named {
            kv::cache(&folder, false)?;
        }
        let (found, seconds) = blobs.read(ground, &file, from, pragmas)?;
        let took = Took::rate(blobs.count, seconds, vec![in_files, found]);
        let took = took.with("per_second", blobs.count as f64 / seconds).with("files_seconds", files_seconds);
        Ok(Took { sample: files_seconds / seconds, ..took })
    }
}

fn space(blobs: Blobs) -> Experiment {
    let case = |command: &str, make: fn(&Ground<'_>, Blobs) -> Result<Took>| {
        let expected = move || Ok(vec![blobs.expected(0)]);
        Case::new(command, move |ground| make(ground, blobs), expected).disk(2 * blobs.all_bytes())
    };
    Experiment::new("blob-space", "bytes", blobs.count)
        .less_is_better()
        .published(
            "one database file",
            case("INSERT INTO kv VALUES (?1, ?2)", |ground, blobs| {
                let file = ground.file();
                let ((), seconds) = ground.time(|| blobs.fill(&file))?;
                kv::maybe_drop(ground, &file, From::Select)?;
                Ok(spaced(seconds, kv::disk_bytes(&file)?, blobs, kv::digest_database(&file)?))
            }),
        )
        .published(
            "one file per blob (du)",
            case("write each", |ground, blobs| {
                let (folder, layout) = (ground.path("files"), Layout::Flat);
                let ((), seconds) = ground.time(|| blobs.fill_files(&folder, layout))?;
                kv::maybe_drop(ground, &folder, From::Files(layout))?;
                ground.sync()?;
                Ok(spaced(seconds, kv::disk_bytes(&folder)?, blobs, blobs.digest_files(&folder, layout)?))
            }),
        )
        .sqluice(
            "BlobStore",
            case("BlobStore::put_many", |ground, blobs| {
                let file = ground.file();
                let ((), seconds) = ground.time(|| blobs.fill_store(&file))?;
                kv::maybe_drop(ground, &file, From::Store)?;
                Ok(spaced(seconds, kv::disk_bytes(&file)?, blobs, blobs.digest_store(&file)?))
            }),
        )
        .sqluice(
            "sqluice pack",
            case("sqluice pack lab.db files", |ground, blobs| {
                let (file, folder) = (ground.file(), ground.path("files"));
                blobs.fill_files(&folder, Layout::Flat)?;
                let ((), seconds) = ground.time(|| pack(&file, &folder))?;
                kv::maybe_drop(ground, &file, From::Store)?;
                Ok(spaced(seconds, kv::disk_bytes(&file)?, blobs, blobs.digest_store(&file)?))
            }),
        )
        .note("Bytes of 100,000 blobs: measured with fewer, and scaled.")
}

/// Returns the disk space of blobs, extrapolated to [`PUBLISHED_COUNT`] blobs.
fn spaced(seconds: f64, bytes: u64, blobs: Blobs, digest: Digest) -> Took {
    let took = Took::rate(blobs.count, seconds, vec![digest]).with("bytes", bytes as f64);
    Took { sample: bytes as f64 * PUBLISHED_COUNT / blobs.count as f64, ..took }
}

fn pack(file: &Path, folder: &Path) -> Result {
    Pack::new(file, folder).run()?;
    Ok(())
}

fn writing(blobs: Blobs) -> Experiment {
    let overwritten = (blobs.count / OVERWRITTEN).max(1);
    let sql = |pragmas, each, checkpoint| overwrite_rows(blobs, overwritten, pragmas, each, checkpoint);
    Experiment::new("blob-write", "operations/s", overwritten)
        .published("WAL, synchronous=NORMAL, checkpoint not counted", sql(WAL_NORMAL, false, false))
        .published("journal_mode=OFF, synchronous=OFF", sql(UNSAFE, false, true))
        .published("--multitrans: a transaction per blob", sql(&[], true, true))
        .published("files with fsync each", overwrite_files(blobs, overwritten, true))
        .added("defaults, one transaction", sql(&[], false, true))
        .added("files without fsync", overwrite_files(blobs, overwritten, false))
        .sqluice("BlobStore::put_many", overwrite_store(blobs, overwritten))
        .note(format!("{overwritten} of {} blobs are overwritten, in random order.", blobs.count))
}

/// Returns new contents for the first `overwritten` blobs in random order, prepared before the measurement.
fn changes(blobs: Blobs, overwritten: u64) -> Vec<(u64, Vec<u8>)> {
    let numbers = blobs.in_random_order().take(overwritten as usize);
    let contents = numbers.map(|number| {
        let mut blob = Vec::new();
        blobs.content(number, 1, &mut blob);
        (number, blob)
    });
    contents.collect()
}

pub(super) fn overwrite_rows(
    blobs: Blobs,
    overwritten: u64,
    pragmas: &'static [Pragma],
    each: bool,
    checkpoint: bool,
) -> Case {
    let run = move |ground: &Ground<'_>| {
        let (file, changes) = (ground.file(), changes(blobs, overwritten));
        blobs.fill(&file)?;
        let mut db = Some(sql::open(&file, pragmas)?);
        if !checkpoint {
            sql::set(db.as_ref().ok_or("no database")?, &[("wal_autocheckpoint", "0")])?;
        }
        let ((), seconds) = ground.time(|| {
            let open = db.as_ref().ok_or("no database")?;
            let end = |sql| if each { Ok(()) } else { open.execute_batch(sql) };
            end("BEGIN")?;
            let mut update = open.prepare("UPDATE kv SET v = ?2 WHERE k = ?1")?;
            for (number, blob) in &changes {
                if update.execute(params![*number as i64, blob])? != 1 {
                    return Err(format!("blob {number} does not exist").into());
                }
            }
            drop(update);
            end("COMMIT")?;
            if checkpoint { db.take().map_or(Ok(()), sql::close) } else { Ok(()) }
        })?;
        db.take().map_or(Ok(()), sql::close)?;
        kv::maybe_drop(ground, &file, From::Select)?;
        Ok(Took::rate(overwritten, seconds, vec![kv::digest_database(&file)?]))
    };
    let command = if each {
        "UPDATE kv SET v = ?2 WHERE k = ?1"
    } else {
        "BEGIN; UPDATE kv SET v = ?2 WHERE k = ?1; ...; COMMIT"
    };
    let case = Case::new(command, run, move || Ok(vec![blobs.expected(overwritten)]));
    case.settings(sql::statements(pragmas)).disk(3 * blobs.all_bytes())
}

pub(super) fn overwrite_files(blobs: Blobs, overwritten: u64, sync: bool) -> Case {
    let run = move |ground: &Ground<'_>| {
        let (folder, layout, changes) = (ground.path("files"), Layout::Flat, changes(blobs, overwritten));
        blobs.fill_files(&folder, layout)?;
        let ((), seconds) = ground.time(|| {
            for (number, blob) in &changes {
                let mut file: File =
                    OpenOptions::new().write(true).truncate(true).open(kv::path(&folder, *number, layout))?;
                file.write_all(blob)?;
                if sync {
                    file.sync_all()?;
                }
            }
            Ok(())
        })?;
        kv::maybe_drop(ground, &folder, From::Files(layout))?;
        Ok(Took::rate(overwritten, seconds, vec![blobs.digest_files(&folder, layout)?]))
    };
    let command = if sync { "open, write, fsync, close" } else { "open, write, close" };
    Case::new(command, run, move || Ok(vec![blobs.expected(overwritten)])).disk(2 * blobs.all_bytes())
}

fn overwrite_store(blobs: Blobs, overwritten: u64) -> Case {
    let run = move |ground: &Ground<'_>| {
        let (file, changes) = (ground.file(), changes(blobs, overwritten));
        blobs.fill_store(&file)?;
        let store = BlobStore::open(&file)?;
        let changes: Vec<(String, &Vec<u8>)> =
            changes.iter().map(|(number, blob)| (kv::key(*number), blob)).collect();
        let ((), seconds) = ground.time(|| {
            store.put_many(changes)?;
            drop(store);
            Ok(())
        })?;
        kv::maybe_drop(ground, &file, From::Store)?;
        Ok(Took::rate(overwritten, seconds, vec![blobs.digest_store(&file)?]))
    };
    let case = Case::new("BlobStore::put_many", run, move || Ok(vec![blobs.expected(overwritten)]));
    case.settings(["Durability::Full"]).disk(3 * blobs.all_bytes())
}

/// Returns a case whose figure is the time to overwrite files, divided by the time to overwrite the same blobs in a database.
pub(super) fn against_files(blobs: Blobs, overwritten: u64, pragmas: &'static [Pragma]) -> Case {
    let (rows, files) = (
        overwrite_rows(blobs, overwritten, pragmas, false, true),
        overwrite_files(blobs, overwritten, false),
    );
    let (Ok(rows), Ok(files)) = (rows.work, files.work) else {
        return Case::skipped("UPDATE kv SET v = ?2 WHERE k = ?1", Skip::NotInstalled);
    };
    let run = move |ground: &Ground<'_>| {
        let in_files = (files.run)(ground)?;
        let took = (rows.run)(ground)?;
        fs::remove_dir_all(ground.path("files"))?;
        let found = in_files.found.into_iter().chain(took.found).collect();
        let per_second = overwritten as f64 / took.seconds;
        let took = Took { sample: in_files.seconds / took.seconds, found, ..took };
        Ok(took.with("per_second", per_second).with("files_seconds", in_files.seconds))
    };
    let case = Case::new("BEGIN; UPDATE kv SET v = ?2 WHERE k = ?1; ...; COMMIT", run, move || {
        Ok(vec![blobs.expected(overwritten); 2])
    });
    case.settings(sql::statements(pragmas)).disk(5 * blobs.all_bytes())
}
