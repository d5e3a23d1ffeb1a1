//! Tests of waiting for a silent pipe, and of threads that are no longer needed.

use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use sqluice_core::error::{Error, ErrorKind};
use sqluice_core::progress::{Cancel, Silent};
use sqluice_testkit::system::fifo;
use tempfile::TempDir;

use super::super::ahead::Ahead;
use super::super::{Input, InputOptions};
use super::{drain, gzip, options, pipe};

/// A timeout that is only reached if a test fails.
const FAR_TOO_LONG: Duration = Duration::from_secs(20);

/// Checks that `work` returns an error after the cancel flag is set.
fn interrupted<T: Send + 'static>(work: impl FnOnce(InputOptions) -> Result<T, Error> + Send + 'static) {
    let cancel = Cancel::new();
    let options = InputOptions { cancel: cancel.clone(), ..InputOptions::default() };
    let (done, wait) = mpsc::channel();
    thread::spawn(move || done.send(work(options).map(|_| ())));
    assert!(wait.recv_timeout(Duration::from_millis(50)).is_err(), "it does wait");
    cancel.cancel();
    let error = wait.recv_timeout(FAR_TOO_LONG).expect("it comes back").expect_err("without a result");
    assert_eq!(error.kind(), ErrorKind::Interrupted);
}

#[test]
fn the_wait_for_a_pipe_can_be_cancelled() {
    interrupted(|options| {
        let (mut input, _writer) = pipe(options);
        input.open()
    });
    interrupted(|options| {
        let (mut input, _writer) = pipe(options);
        input.sample(1)
    });
    interrupted(|options| {
        let (mut input, mut writer) = pipe(options);
        writer.write_all(b"a\n").unwrap();
        input.spool(TempDir::new().unwrap().path(), &Silent)
    });
}

#[test]
fn the_wait_for_the_rest_of_a_pipe_can_be_cancelled() {
    let twenty = "a,b\n".repeat(20).into_bytes();
    for content in [twenty.clone(), gzip(&twenty)[..20].to_vec(), [&b"\xff\xfe"[..], &twenty].concat()] {
        interrupted(move |options| {
            let (mut input, mut writer) = pipe(options);
            writer.write_all(&content).unwrap();
            drain(input.open()?.reader).1.map_or(Ok(()), Err)
        });
    }
    interrupted(move |options| {
        let (mut input, mut writer) = pipe(options);
        writer.write_all(&twenty).unwrap();
        input.sample(1000)
    });
}

#[test]
#[cfg_attr(windows, ignore = "Windows has no pipes in folders")]
fn the_wait_for_someone_to_open_a_fifo_can_be_cancelled() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("fifo");
    fifo(&path);
    interrupted(move |options| Input::open(&path, &options));
}

#[test]
fn bytes_of_a_pipe_are_available_as_soon_as_they_are_written() {
    let (mut input, mut writer) = pipe(options(None));
    writer.write_all(b"0123456789abc\n").unwrap();
    let mut reader = input.open().unwrap().reader;
    let mut line = [0; 14];
    reader.read_exact(&mut line).unwrap();
    assert_eq!(&line, b"0123456789abc\n");
    writer.write_all(b"more").unwrap();
    reader.read_exact(&mut line[..4]).unwrap();
    drop(writer);
    assert_eq!(reader.read(&mut line).unwrap(), 0);
}

/// A reader that returns the same byte for ever. The test sees by the count of its `Arc` when the reader is dropped.
struct Endless(#[expect(dead_code, reason = "it is there to be dropped")] Arc<()>);

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        buffer.fill(b'a');
        Ok(buffer.len())
    }
}

#[test]
fn the_thread_that_reads_ahead_ends_when_the_reader_is_dropped() {
    let alive = Arc::new(());
    let watch: Weak<()> = Arc::downgrade(&alive);
    let mut ahead = Ahead::start(Endless(alive), 10, Cancel::new()).unwrap();
    ahead.read_exact(&mut [0; 1000]).unwrap();
    assert!(watch.upgrade().is_some());
    drop(ahead);
    let start = Instant::now();
    while watch.upgrade().is_some() {
        assert!(start.elapsed() < FAR_TOO_LONG, "the thread is still there");
        thread::sleep(Duration::from_millis(5));
    }
}

/// A reader that returns a byte, and then ends or fails.
struct Fails {
    given: bool,
    end: fn() -> io::Result<usize>,
}

impl Read for Fails {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given {
            return (self.end)();
        }
        self.given = true;
        buffer[0] = b'a';
        Ok(1)
    }
}

#[test]
fn an_error_or_a_panic_of_the_thread_that_reads_ahead_is_reported() {
    let fails: fn() -> io::Result<usize> = || Err(Error::input("broken").into());
    let panics: fn() -> io::Result<usize> = || panic!("on purpose");
    for (end, message) in [(fails, "broken"), (panics, "cannot read not named")] {
        let ahead = Ahead::start(Fails { given: false, end }, 10, Cancel::new()).unwrap();
        let (text, error) = drain(ahead);
        assert_eq!(text, b"a");
        assert_eq!(error.unwrap().without_hint(), message);
    }
}
