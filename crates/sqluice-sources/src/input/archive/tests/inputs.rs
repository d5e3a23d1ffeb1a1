//! Tests of members as inputs: samples, copies, progress, parallel readers, and archives from pipes and URLs.

use std::io::{Cursor, Read, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use sqluice_core::error::{ErrorKind, Result};
use sqluice_core::progress::{Amount, Cancel, Context, Progress, Silent};
use sqluice_core::remote::{Fetched, RemoteFile};
use sqluice_platform::positioned::Positioned as _;

use super::written_zips::{File, zip};
use super::{MEMORY_BYTES, input, noise, open, open_zip, paths, whole};
use crate::input::archive::{Archive, ArchiveKind, ArchiveLimits, kind_of};
use crate::input::tests::{gzip, pipe, piped, utf_16};
use crate::input::{InputFile, InputOptions};

/// Returns the text of a member.
fn text(archive: &Archive, index: usize) -> String {
    let mut text = String::new();
    let mut input = archive.input(index, InputOptions::new()).unwrap();
    input.open().unwrap().reader.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_member_is_sampled_opened_and_reopened_like_a_file() {
    let rows = "id,name\n1,ann\n".repeat(9000);
    for method in [0, 8, 93] {
        let written = zip(&[File::new("a.csv", rows.as_bytes(), method)]);
        let archive = open_zip(&written.bytes).unwrap();
        let mut member = archive.input(0, InputOptions::new()).unwrap();
        assert!(member.can_reopen());
        assert_eq!(member.name(), Path::new("d.zip/a.csv"));
        let sample = member.sample(10).unwrap();
        assert_eq!(sample.text, &rows.as_bytes()[..11]);
        // Only an uncompressed member (method 0) is a range of bytes of the archive, so only its sample is plain.
        assert_eq!((sample.plain, sample.compression), (method == 0, None));
        for _ in 0..2 {
            let mut opened = member.open().unwrap();
            assert_eq!(opened.has_offsets_of_file(), method == 0);
            let mut read = String::new();
            opened.reader.read_to_string(&mut read).unwrap();
            assert!(read == rows);
            // Progress counts compressed bytes.
            assert_eq!(opened.bytes, member.bytes());
            assert_eq!(opened.bytes, Some(opened.bytes_read.load(Ordering::Relaxed)));
            assert_eq!(method == 0, opened.bytes == Some(rows.len() as u64));
        }
    }
}

#[test]
fn a_member_that_is_read_at_any_offset_is_a_range_or_is_copied_once() {
    let rows = "id,name\n1,ann\n".repeat(9000);
    let folder = tempfile::tempdir().unwrap();
    for method in [0, 8, 93] {
        let written = zip(&[File::new("a", b"before", 0), File::new("b", rows.as_bytes(), method)]);
        for step in 0..3 {
            let archive = open_zip(&written.bytes).unwrap();
            let mut member = archive.input(1, InputOptions::new()).unwrap();
            assert_eq!(member.file().is_ok(), method == 0);
            match step {
                0 => member.decompress(folder.path(), &Silent).unwrap(),
                1 => member.decode(folder.path(), &Silent).unwrap(),
                _ => member.keep(folder.path(), &Silent).unwrap(),
            }
            let (file, start, bytes) = member.file().unwrap();
            let mut read = vec![0; bytes as usize];
            file.read_exact_at(&mut read, start).unwrap();
            assert!(read == rows.as_bytes(), "method {method}, step {step}");
            assert_eq!(start > 0, method == 0);
            assert!(member.sample(1 << 20).unwrap().plain);
        }
    }
}

#[test]
fn a_member_with_compressed_or_encoded_text_is_read_like_a_file() {
    let marked = utf_16("\u{feff}é,b\n", u16::to_le_bytes);
    let packed = gzip(b"a,b\n");
    let mut damaged = packed.clone();
    damaged.extend(b"surplus");
    let written = zip(&[
        File::new("a.csv.gz", &packed, 0),
        File::new("b.csv.gz", &packed, 8),
        File::new("c.csv", &marked, 8),
        File::new("d.csv.gz", &damaged, 8),
    ]);
    let archive = open_zip(&written.bytes).unwrap();
    assert_eq!((0..3).map(|index| text(&archive, index)).collect::<Vec<_>>(), ["a,b\n", "a,b\n", "é,b\n"]);
    let mut input = archive.input(3, InputOptions::new()).unwrap();
    let error = input.open().unwrap().reader.read_to_end(&mut Vec::new()).unwrap_err();
    let error = sqluice_core::error::Error::from_read(Path::new("x"), error);
    assert!(error.without_hint().starts_with("d.zip/d.csv.gz: something else follows"), "{error}");
    assert!(error.remedy().unwrap().to_string().contains("extract it from the archive"), "{error}");
}

#[test]
fn an_archive_in_an_archive_is_recognised_and_can_be_opened() {
    let inner = zip(&[File::new("a.csv", b"a\n1\n", 8)]).bytes;
    for method in [0, 8] {
        let archive = open_zip(&zip(&[File::new("inner.zip", &inner, method)]).bytes).unwrap();
        let mut member = archive.input(0, InputOptions::new()).unwrap();
        assert_eq!(kind_of(&mut member).unwrap(), Some(ArchiveKind::Zip));
        let inner = open(member, ArchiveKind::Zip, MEMORY_BYTES).unwrap();
        assert_eq!(inner.member_name(0), Path::new("d.zip/inner.zip/a.csv"));
        assert_eq!(whole(&inner, 0), b"a\n1\n");
    }
}

#[test]
fn many_readers_read_members_at_the_same_time() {
    let files: Vec<File> = (0..8)
        .map(|index| File::new(&format!("{index}"), &noise(300_000, index), 8 * (index as u16 % 2)))
        .collect();
    let archive = open_zip(&zip(&files).bytes).unwrap();
    thread::scope(|scope| {
        for reader in 0..4 {
            let (archive, files) = (&archive, &files);
            scope.spawn(move || {
                for step in 0..files.len() {
                    let index = (step * (2 * reader + 1)) % files.len();
                    assert!(whole(archive, index) == files[index].data);
                }
            });
        }
    });
}

/// A progress that adds up the reported bytes.
#[derive(Default)]
struct Added(AtomicU64);

impl Progress for Added {
    fn advance(&self, done: Amount) {
        self.0.fetch_add(done.bytes, Ordering::Relaxed);
    }
}

#[test]
fn an_archive_from_a_pipe_is_copied_once() {
    let written = zip(&[File::new("a.csv", &noise(300_000, 1), 8), File::new("b.csv", b"a\n1\n", 0)]);
    let mut input = piped(&written.bytes, InputOptions::new());
    assert_eq!(kind_of(&mut input).unwrap(), Some(ArchiveKind::Zip));
    let (added, folders) = (Added::default(), AtomicU64::new(0));
    let temp_folder = || {
        folders.fetch_add(1, Ordering::Relaxed);
        Ok(std::env::temp_dir())
    };
    let limits = ArchiveLimits { memory_bytes: MEMORY_BYTES, temp_folder: &temp_folder };
    let context = Context::default().progress(&added);
    let archive = Archive::open(input, ArchiveKind::Zip, &limits, &context).unwrap();
    assert_eq!(added.0.load(Ordering::Relaxed), written.bytes.len() as u64);
    assert_eq!(folders.load(Ordering::Relaxed), 1);
    assert_eq!(archive.member_name(1), Path::new("standard input/b.csv"));
    assert!(whole(&archive, 0) == noise(300_000, 1));
    assert_eq!(text(&archive, 1), "a\n1\n");
    // A text that is not an archive can still be read from its start.
    let mut input = piped(b"a,b\n1,2\n", InputOptions::new());
    assert_eq!(kind_of(&mut input).unwrap(), None);
    let mut text = String::new();
    input.open().unwrap().reader.read_to_string(&mut text).unwrap();
    assert_eq!(text, "a,b\n1,2\n");
}

#[test]
fn the_wait_for_the_first_bytes_of_a_pipe_can_be_cancelled() {
    let cancel = Cancel::new();
    let (mut input, mut writer) = pipe(InputOptions::new().cancel(cancel.clone()));
    writer.write_all(b"a,b\n").unwrap();
    cancel.cancel();
    assert_eq!(kind_of(&mut input).unwrap_err().kind(), ErrorKind::Interrupted);
}

#[test]
fn a_cancelled_run_opens_no_archive() {
    let written = zip(&[File::new("a.csv", b"1", 8)]);
    let cancel = Cancel::new();
    cancel.cancel();
    let limits = ArchiveLimits { memory_bytes: MEMORY_BYTES, temp_folder: &|| Ok(std::env::temp_dir()) };
    let context = Context::default().cancel(&cancel);
    assert!(Archive::open(input(&written.bytes, "x"), ArchiveKind::Zip, &limits, &context).is_err());
}

/// A file behind a URL that records the requested ranges.
#[derive(Debug)]
struct Requested {
    bytes: Vec<u8>,
    ranges: Mutex<Vec<Range<u64>>>,
}

impl Requested {
    /// Returns `true` if any byte of a range was requested since the last call.
    fn has(&self, wanted: Range<u64>) -> bool {
        let ranges = std::mem::take(&mut *self.ranges.lock().unwrap());
        ranges.iter().any(|range| range.start < wanted.end && wanted.start < range.end)
    }
}

impl RemoteFile for Requested {
    fn name(&self) -> &Path {
        Path::new("https://example.org/d.zip")
    }

    fn bytes(&self) -> Option<u64> {
        Some(self.bytes.len() as u64)
    }

    fn has_ranges(&self) -> bool {
        true
    }

    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn fetch(&self, range: Range<u64>, done: Fetched) {
        let read = self.read(range);
        thread::spawn(move || done(read));
    }

    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let read = self.bytes[range.start as usize..range.end as usize].to_vec();
        self.ranges.lock().unwrap().push(range);
        Ok(read)
    }

    fn stream(&self) -> Result<Box<dyn Read + Send>> {
        self.ranges.lock().unwrap().push(0..self.bytes.len() as u64);
        Ok(Box::new(Cursor::new(self.bytes.clone())))
    }
}

#[test]
fn only_the_directory_and_the_members_that_are_read_are_requested_from_a_url() {
    let files = [
        File::new("a.csv", &noise(3 << 20, 1), 0),
        File::new("b.csv", &noise(3 << 20, 2), 8),
        File::new("c.csv", &noise(3 << 20, 3), 0),
        File::new("d.csv", b"a\n1\n", 8),
    ];
    let written = zip(&files);
    let remote = Arc::new(Requested { bytes: written.bytes.clone(), ranges: Mutex::default() });
    // The first bytes show that this is an archive. To read them, the whole stream may be requested from a server.
    let input = || InputFile::of_remote(remote.clone(), InputOptions::new()).unwrap();
    assert_eq!(kind_of(&mut input()).unwrap(), Some(ArchiveKind::Zip));
    remote.has(0..0);
    let archive = open(input(), ArchiveKind::Zip, MEMORY_BYTES).unwrap();
    assert_eq!(paths(&archive), ["a.csv", "b.csv", "c.csv", "d.csv"]);
    let data = written.headers[3] as u64;
    assert!(!remote.has(0..data - (70 << 10)));
    for (index, file) in files.iter().enumerate() {
        assert!(whole(&archive, index) == file.data, "{index}");
        let at = |index: usize| written.headers.get(index).map_or(written.entries[0] as u64, |at| *at as u64);
        let (start, end) = (at(index), at(index + 1));
        let ranges = std::mem::take(&mut *remote.ranges.lock().unwrap());
        assert!(ranges.iter().all(|range| start <= range.start && range.end <= end), "{index}: {ranges:?}");
    }
    // A stored member is a file behind a URL, which supports ranges.
    let member = archive.input(2, InputOptions::new()).unwrap();
    let of_member = member.remote().unwrap();
    assert_eq!(of_member.name(), Path::new("https://example.org/d.zip/c.csv"));
    assert_eq!(of_member.bytes(), Some(3 << 20));
    assert!(of_member.read(1000..2000).unwrap() == files[2].data[1000..2000]);
    assert!(archive.input(1, InputOptions::new()).unwrap().remote().is_none());
    let mut damaged = written.bytes.clone();
    damaged[written.headers[2] + 5000] ^= 1;
    let remote = Arc::new(Requested { bytes: damaged, ranges: Mutex::default() });
    let input = InputFile::of_remote(remote, InputOptions::new()).unwrap();
    let archive = open(input, ArchiveKind::Zip, MEMORY_BYTES).unwrap();
    let error = super::read(&archive, 2, u64::MAX).1.unwrap();
    assert!(error.without_hint().contains("d.zip/c.csv: the bytes of this file are damaged"), "{error}");
}
