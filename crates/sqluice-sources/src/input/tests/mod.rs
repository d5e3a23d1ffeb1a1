//! Tests of the text of an input: from files, from pipes, and with reads of a few bytes.

mod cases;
mod files;
mod names;
mod properties;
mod waiting;

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::write::GzEncoder;
use sqluice_core::error::{Error, Result};

use super::decoded::Decoded;
use super::{Encoding, Input, InputFile, InputOptions};

/// A reader that returns a few bytes at a time.
struct Drip {
    bytes: io::Cursor<Vec<u8>>,
    sizes: std::iter::Cycle<std::vec::IntoIter<usize>>,
}

impl Drip {
    /// Creates a reader of `bytes`. `sizes` has the lengths of its reads, which are repeated.
    fn new(bytes: &[u8], sizes: Vec<usize>) -> Drip {
        Drip { bytes: io::Cursor::new(bytes.to_vec()), sizes: sizes.into_iter().cycle() }
    }
}

impl Read for Drip {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let size = self.sizes.next().expect("there is a size").min(buffer.len());
        self.bytes.read(&mut buffer[..size])
    }
}

/// Returns all bytes of a reader, and the error that ends it.
fn drain(mut reader: impl Read) -> (Vec<u8>, Option<Error>) {
    let mut text = Vec::new();
    // `read_to_end` keeps the bytes that come before an error.
    let error = reader.read_to_end(&mut text).err();
    if error.is_some() {
        assert!(reader.read(&mut [0; 16]).is_err(), "an error must not look like the end");
    }
    (text, error.map(|error| Error::from_read(Path::new("not named"), error)))
}

/// Returns the text of `raw`, whose name in messages is `x.csv`.
fn text_of(raw: impl Read + Send, encoding: Option<&str>) -> (Vec<u8>, Option<Error>) {
    let encoding = encoding.map(|label| label.parse().unwrap());
    let text =
        Decoded::new(Box::new(raw), Path::new("x.csv"), false, &InputOptions::new().encoding(encoding))
            .unwrap();
    drain(text.reader)
}

fn options(encoding: Option<&str>) -> InputOptions {
    let encoding = encoding.map(|label| label.parse::<Encoding>().unwrap());
    InputOptions { encoding, ..InputOptions::default() }
}

/// Returns the text of an input that must be readable to its end.
fn whole(input: Result<Input>) -> Vec<u8> {
    let (text, error) = drain(input.unwrap().reader);
    assert!(error.is_none(), "{error:?}");
    text
}

pub(super) fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::new(6));
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Compresses `data` to one zstd frame with a checksum.
pub(super) fn zstd(data: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Compresses `data` to one stream of bzip2.
#[cfg(feature = "bzip2-xz")]
pub(super) fn bzip2(data: &[u8]) -> Vec<u8> {
    let mut encoder = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// Compresses `data` to one stream of xz with a checksum.
#[cfg(feature = "bzip2-xz")]
pub(super) fn xz(data: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 0);
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A compression that this build supports.
#[derive(Clone, Copy)]
pub(super) struct Packer {
    name: &'static str,
    /// The number of first bytes by which the compression is recognised.
    magic_bytes: usize,
    /// Compresses data to one member.
    pub(super) pack: fn(&[u8]) -> Vec<u8>,
}

impl std::fmt::Debug for Packer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All compressions that this build supports.
pub(super) const PACKERS: &[Packer] = &[
    Packer { name: "gzip", magic_bytes: 2, pack: gzip },
    Packer { name: "zstd", magic_bytes: 4, pack: zstd },
    #[cfg(feature = "bzip2-xz")]
    Packer { name: "bzip2", magic_bytes: 10, pack: bzip2 },
    #[cfg(feature = "bzip2-xz")]
    Packer { name: "xz", magic_bytes: 6, pack: xz },
];

/// Returns a skippable zstd frame.
fn skippable(data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap().to_le_bytes();
    [&[0x5a, 0x2a, 0x4d, 0x18], &length[..], data].concat()
}

pub(super) fn utf_16(text: &str, to_bytes: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(to_bytes).collect()
}

/// Returns an input that is a pipe, like standard input may be, and the writing end of the pipe.
pub(super) fn pipe(options: InputOptions) -> (InputFile, io::PipeWriter) {
    let (reader, writer) = io::pipe().unwrap();
    #[cfg(unix)]
    let file = File::from(std::os::fd::OwnedFd::from(reader));
    #[cfg(windows)]
    let file = File::from(std::os::windows::io::OwnedHandle::from(reader));
    (InputFile::of_open(file, super::STANDARD_INPUT.into(), options).unwrap(), writer)
}

/// Returns a pipe whose content is written by a thread.
pub(super) fn piped(content: &[u8], options: InputOptions) -> InputFile {
    let (input, mut writer) = pipe(options);
    let content = content.to_vec();
    // The write fails if the reader is dropped before it has read everything.
    std::thread::spawn(move || writer.write_all(&content).err());
    input
}
