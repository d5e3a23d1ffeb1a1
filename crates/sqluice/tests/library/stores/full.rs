//! Blob and entity stores on a full disk: the error says that the disk is full, and the store keeps its content.
#![cfg(all(feature = "archive", feature = "entity-store", target_os = "linux"))] // The tests mount a small disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};
use sqluice::blob_store::{BlobStore, Journal};
use sqluice::entity_store::{EntityStore, EntityType, all};
use sqluice::error::{Error, ErrorKind};
use sqluice_testkit::disk::Disk;
use sqluice_testkit::sqlite::integrity_of;

/// Fills the disk up to the last `bytes` bytes.
fn fill_but(disk: &Disk, bytes: usize) {
    fs::write(disk.root().join("ballast"), vec![1; bytes]).unwrap();
    let mut rest = File::create(disk.root().join("rest")).unwrap();
    while rest.write_all(&[1; 4096]).is_ok() {}
    fs::remove_file(disk.root().join("ballast")).unwrap();
}

/// Frees the filled space by truncation. If the file were removed, a process that another test just starts could still have it open.
fn clear(disk: &Disk) {
    File::create(disk.root().join("rest")).unwrap();
}

fn assert_is_full(error: &Error, path: &Path) {
    assert_eq!(error.kind(), ErrorKind::Target, "{error}");
    let expected = format!("{}: its disk is full", path.display());
    assert!(error.without_hint().contains(&expected), "{error}");
    assert!(error.without_hint().starts_with("SQLite cannot "), "{error}");
    assert_eq!(error.hint_text().as_deref(), Some("free some space; the database is as it was"), "{error}");
}

#[test]
fn blobs_that_do_not_fit_on_the_disk_are_refused_and_the_store_keeps_its_content() {
    for journal in [Journal::Delete, Journal::Wal] {
        let Some(disk) = Disk::in_memory(4096) else { return };
        let path = disk.root().join("blobs.db");
        let store = BlobStore::options().journal(journal).open(&path).unwrap();
        store.put("a", [1; 100]).unwrap();
        let error = store.put("b", vec![2; 8 << 20]).unwrap_err();
        assert_is_full(&error, &path);
        assert_eq!((store.count().unwrap(), store.get("a").unwrap()), (1, Some(vec![1; 100])));
        drop(store);
        assert_eq!(integrity_of(&path), "ok");
    }
}

#[test]
fn the_error_of_a_blob_store_without_space_for_its_log_says_that_the_disk_is_full() {
    let Some(disk) = Disk::in_memory(1024) else { return };
    let path = disk.root().join("blobs.db");
    let store = BlobStore::options().journal(Journal::Wal).open(&path).unwrap();
    store.put("a", [1; 100]).unwrap();
    drop(store);
    // SQLite calls this an I/O error: the shared memory of the log takes 32 KiB.
    fill_but(&disk, 20_000);
    let opened = BlobStore::options().journal(Journal::Wal).open(&path);
    let error = opened.and_then(|store| store.put("b", [2; 100])).unwrap_err();
    assert_is_full(&error, &path);
    clear(&disk);
    let store = BlobStore::open(&path).unwrap();
    assert_eq!(store.get("a").unwrap(), Some(vec![1; 100]));
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Note {
    id: i64,
    text: String,
}

#[test]
fn entities_that_do_not_fit_are_refused_because_the_disk_is_full() {
    let note = |id| Note { id, text: "x".repeat(10_000) };
    let kind = || EntityType::integer("note", |note: &Note| note.id);
    let Some(disk) = Disk::in_memory(4096) else { return };
    let path = disk.root().join("notes.db");
    {
        let store = EntityStore::open(&path).unwrap();
        let notes = store.define(kind()).unwrap();
        notes.write(&note(1)).unwrap();
        let error = notes.write_many(&(2..2_000).map(note).collect::<Vec<_>>()).unwrap_err();
        assert_is_full(&error, &path);
        assert_eq!(notes.read(1).unwrap(), Some(note(1)));
        assert_eq!(notes.count(&all()).unwrap(), 1);
    }
    assert_eq!(integrity_of(&path), "ok");
}

#[test]
fn the_error_of_an_entity_store_without_space_for_its_log_says_that_the_disk_is_full() {
    let Some(disk) = Disk::in_memory(1024) else { return };
    let path = disk.root().join("notes.db");
    drop(EntityStore::open(&path).unwrap());
    fill_but(&disk, 20_000);
    let error = EntityStore::open(&path).unwrap_err();
    assert_is_full(&error, &path);
}
