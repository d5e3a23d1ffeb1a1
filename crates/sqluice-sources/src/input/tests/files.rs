//! Tests of files and pipes that are opened, sampled, spooled and read again.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sqluice_core::error::ErrorKind;
use sqluice_core::progress::{Amount, Progress, Silent};
use sqluice_platform::paths::from_bytes;
use sqluice_testkit::system::fifo;
use tempfile::TempDir;

use super::super::file::{Sample, copy};
use super::super::{Input, InputFile, InputOptions};
use super::{PACKERS, drain, gzip, options, piped, skippable, utf_16, whole, zstd};

fn file(folder: &TempDir, name: impl AsRef<OsStr>, content: &[u8]) -> PathBuf {
    let path = folder.path().join(name.as_ref());
    fs::write(&path, content).unwrap();
    path
}

/// Returns a text that is longer than all blocks of the thread that reads ahead.
fn long() -> Vec<u8> {
    (0..400_000u32).flat_map(|row| format!("{row}\n").into_bytes()).collect()
}

/// Returns the long text, compressed with each compression.
fn packed() -> impl Iterator<Item = Vec<u8>> {
    PACKERS.iter().map(|packer| (packer.pack)(&long()))
}

#[test]
fn a_plain_file_is_returned_unchanged() {
    let folder = TempDir::new().unwrap();
    for name in [&b"x.csv"[..], b"air ports.csv", b"\xff.csv"] {
        let path = file(&folder, from_bytes(name), &long());
        let input = Input::open(&path, &options(None)).unwrap();
        assert_eq!((&input.name, input.bytes), (&path, Some(long().len() as u64)));
        assert!(input.has_offsets_of_file());
        assert_eq!(whole(Ok(input)), long());
    }
}

#[test]
fn progress_counts_the_bytes_of_the_file() {
    let folder = TempDir::new().unwrap();
    let plain = [long(), utf_16("\u{feff}a", u16::to_le_bytes)];
    for content in plain.into_iter().chain(packed()) {
        let path = file(&folder, "x", &content);
        let input = Input::open(&path, &options(None)).unwrap();
        let bytes_read = input.bytes_read.clone();
        assert_eq!(input.bytes, Some(content.len() as u64));
        assert!(bytes_read.load(Ordering::Relaxed) <= content.len() as u64);
        whole(Ok(input));
        assert_eq!(bytes_read.load(Ordering::Relaxed), content.len() as u64);
    }
}

#[test]
fn compression_is_recognised_by_content_not_by_name() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "x.csv", &gzip(&long()));
    let input = Input::open(&path, &options(None)).unwrap();
    assert!(!input.has_offsets_of_file());
    assert_eq!(whole(Ok(input)), long());
    let path = file(&folder, "x.csv.gz", b"a,b\n");
    assert_eq!(whole(Input::open(&path, &options(None))), b"a,b\n");
}

#[test]
fn the_offsets_of_compressed_members_are_known_after_reading() {
    let folder = TempDir::new().unwrap();
    let texts = [&b"a,b\n1,2\n"[..], b"", &long(), b"a,b\n"];
    let zstd_with_notes = |text: &[u8]| [zstd(text), skippable(b"note")].concat();
    let packers = PACKERS.iter().map(|packer| packer.pack);
    for compress in packers.chain([zstd_with_notes as fn(&[u8]) -> Vec<u8>]) {
        let path = file(&folder, "x.csv", &texts.map(compress).concat());
        let input = Input::open(&path, &options(None)).unwrap();
        let starts = input.member_starts.clone();
        assert_eq!(whole(Ok(input)), texts.concat());
        let (mut byte, end) = (0, texts.concat().len() as u64);
        for text in &texts[..3] {
            assert!(!starts.contains(byte + 1));
            byte += text.len() as u64;
            assert!(starts.contains(byte), "{byte} of {end}");
        }
    }
}

#[test]
fn the_error_about_an_unreadable_input_names_the_path() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("missing.csv");
    let error = Input::open(&missing, &options(None)).unwrap_err();
    assert_eq!(error.without_hint(), format!("cannot read {}", missing.display()));
    let error = Input::open(folder.path(), &options(None)).unwrap_err();
    assert_eq!(error.without_hint(), format!("{} is a folder", folder.path().display()));
    assert_eq!(error.hint_text().unwrap(), "name the folder to load the files in it");
    fs::write(folder.path().join("toc.dat"), b"PGDMP").unwrap();
    let error = Input::open(folder.path(), &options(None)).unwrap_err();
    assert!(error.without_hint().ends_with("is a folder that pg_dump wrote"));
    assert!(error.hint_text().unwrap().contains("pg_restore -f dump.sql"));
    fs::remove_file(folder.path().join("toc.dat")).unwrap();
    // On Windows, a folder can't be opened as a file.
    if cfg!(unix) {
        let open = File::open(folder.path()).unwrap();
        let error = InputFile::of_open(open, "standard input".into(), options(None)).err().unwrap();
        assert_eq!(error.without_hint(), "standard input is a folder");
    }
}

#[test]
fn the_error_for_a_failed_read_names_the_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("x.csv");
    // The file is open for writing only, so reading it fails.
    let open = File::create(&path).unwrap();
    let mut input = InputFile::of_open(open, path.clone(), options(None)).unwrap();
    let error = input.open().unwrap_err();
    assert_eq!(error.without_hint(), format!("cannot read {}", path.display()));
    assert_eq!(error.kind(), ErrorKind::Input);
}

#[test]
fn a_pipe_is_read_like_a_file() {
    let marked = utf_16("\u{feff}é\n", u16::to_be_bytes);
    let plain = [(long(), long()), (marked, "é\n".into())];
    for (content, text) in plain.into_iter().chain(packed().map(|content| (content, long()))) {
        let input = piped(&content, options(None)).open().unwrap();
        assert_eq!((input.name.to_str(), input.bytes), (Some("standard input"), None));
        let bytes_read = input.bytes_read.clone();
        assert_eq!(whole(Ok(input)), text);
        assert_eq!(bytes_read.load(Ordering::Relaxed), content.len() as u64);
    }
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no pipes in folders")]
fn a_fifo_is_read_like_a_file() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("fifo");
    fifo(&path);
    let writer = path.clone();
    let writer = std::thread::spawn(move || fs::write(writer, long()));
    assert_eq!(whole(Input::open(&path, &options(None))), long());
    writer.join().unwrap().unwrap();
}

#[test]
fn a_sampled_input_can_still_be_read_from_its_start() {
    let folder = TempDir::new().unwrap();
    for content in packed().chain([long()]) {
        let path = file(&folder, "x", &content);
        for mut input in [InputFile::new(&path, options(None)).unwrap(), piped(&content, options(None))] {
            for bytes in [0, 10, 100_000, 1_000_000, 10] {
                let sample = input.sample(bytes).unwrap();
                assert!(!sample.whole && sample.text.len() >= bytes && long().starts_with(&sample.text));
            }
            assert_eq!(whole(input.open()), long());
        }
    }
}

#[test]
fn a_sample_of_a_whole_text_is_marked_as_whole() {
    for bytes in [3, 4, 100] {
        for content in [b"a,b\n".to_vec(), gzip(b"a,b\n")] {
            let mut input = piped(&content, options(None));
            let sample = input.sample(bytes).unwrap();
            let plain = content == b"a,b\n";
            let Sample { text, whole: is_whole, plain: is_plain, compression, encoding } = sample;
            assert_eq!((text, is_whole, is_plain), (b"a,b\n".to_vec(), bytes >= 4, plain));
            assert_eq!(compression.is_none() && encoding.is_none(), plain);
            assert_eq!(whole(input.open()), b"a,b\n");
        }
    }
    assert_eq!(
        piped(b"", options(None)).sample(10).unwrap(),
        Sample { text: Vec::new(), whole: true, plain: true, compression: None, encoding: None }
    );
}

#[test]
fn damaged_content_ends_a_sample_and_is_reported_by_reading() {
    let folder = TempDir::new().unwrap();
    let cut_off = &gzip(&long())[..1000];
    let cases: &[(&[u8], Option<&str>, &str)] = &[
        (b"a\n\xff", Some("shift_jis"), ":2:1: no character of Shift_JIS: byte 0xff"),
        (cut_off, None, ": the gzip data ends too early"),
        (b"\x1f\x8b", None, ": the gzip data ends too early"),
        #[cfg(feature = "bzip2-xz")]
        (b"BZh91AY&SY", None, ": the bzip2 data ends too early"),
        #[cfg(feature = "bzip2-xz")]
        (b"\xfd7zXZ\0", None, ": the xz data ends too early"),
    ];
    for &(content, encoding, message) in cases {
        let path = file(&folder, "x", content);
        let from_file = InputFile::new(&path, options(encoding)).unwrap();
        for mut input in [from_file, piped(content, options(encoding))] {
            let sample = input.sample(1 << 20).unwrap();
            assert!(!sample.whole);
            let (text, error) = drain(input.open().unwrap().reader);
            assert_eq!(sample.text, text);
            assert_eq!(error.unwrap().without_hint(), format!("{}{message}", input.name().display()));
        }
    }
}

#[test]
fn a_pipe_can_be_opened_once_and_a_file_many_times() {
    let mut pipe = piped(b"a\n", options(None));
    assert!(!pipe.can_reopen());
    assert_eq!(whole(pipe.open()), b"a\n");
    for error in [pipe.open().err(), pipe.sample(1).err(), pipe.spool(Path::new("/"), &Silent).err()] {
        assert_eq!(error.unwrap().without_hint(), "standard input can be read only once");
    }
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "x", &long());
    let mut open = File::open(&path).unwrap();
    open.seek(SeekFrom::Start(2)).unwrap();
    let redirected = InputFile::of_open(open, "standard input".into(), options(None)).unwrap();
    let named = InputFile::new(&path, options(None)).unwrap();
    for (mut input, text) in [(named, &long()[..]), (redirected, &long()[2..])] {
        assert!(input.can_reopen());
        // Both readers are open at the same time.
        let first = input.open().unwrap();
        assert_eq!(first.bytes, Some(text.len() as u64));
        assert_eq!(whole(input.open()), text);
        assert_eq!(whole(Ok(first)), text);
    }
}

/// A progress that adds up the reported bytes.
#[derive(Default)]
struct Bytes(AtomicU64);

impl Progress for Bytes {
    fn advance(&self, done: Amount) {
        self.0.fetch_add(done.bytes, Ordering::Relaxed);
    }
}

#[test]
fn a_pipe_copied_to_a_temporary_file_can_be_read_twice_and_leaves_no_file() {
    let folder = TempDir::new().unwrap();
    for content in packed().chain([b"".to_vec(), long()]) {
        for sampled in [false, true] {
            let mut input = piped(&content, options(None));
            let text = whole(piped(&content, options(None)).open());
            if sampled {
                assert!(text.starts_with(&input.sample(1000).unwrap().text[..1000.min(text.len())]));
            }
            let bytes = Bytes::default();
            input.spool(folder.path(), &bytes).unwrap();
            assert_eq!(bytes.0.into_inner(), content.len() as u64);
            assert!(input.can_reopen());
            // On Windows, the temporary file has a name until it is closed.
            let left = || fs::read_dir(folder.path()).unwrap().count();
            assert_eq!(left(), usize::from(cfg!(windows)));
            let opened = input.open().unwrap();
            assert_eq!(opened.bytes, Some(content.len() as u64));
            assert_eq!(whole(Ok(opened)), text);
            assert_eq!(whole(input.open()), text);
            drop(input);
            assert_eq!(left(), 0);
        }
    }
}

#[test]
fn the_error_about_a_failed_copy_of_the_input_names_the_temporary_folder() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let full = copy(&b"a"[..], &mut Full, Path::new("x"), Path::new("tmp"), &Silent).unwrap_err();
    let missing = piped(b"a", InputOptions::default()).spool(Path::new("no/such"), &Silent).unwrap_err();
    for (error, folder) in [(full, "tmp"), (missing, "no/such")] {
        assert_eq!(error.kind(), ErrorKind::Target);
        assert_eq!(error.without_hint(), format!("cannot keep a copy of the input in {folder}"));
        assert!(error.hint_text().unwrap().contains("`temp_dir"));
    }
}

#[test]
fn a_file_that_becomes_shorter_while_it_is_read_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = file(&folder, "x.csv", &long());
    let mut input = InputFile::new(&path, options(None)).unwrap().open().unwrap();
    let mut first = [0; 10];
    input.reader.read_exact(&mut first).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100_000).unwrap();
    let error = input.reader.read_to_end(&mut Vec::new()).unwrap_err();
    let error = sqluice_core::error::Error::from_read(&path, error);
    assert_eq!(error.message(), "the file became shorter while it was read");
}
