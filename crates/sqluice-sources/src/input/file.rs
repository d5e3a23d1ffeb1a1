//! An input before it is opened. A sample of it can be taken first, and most inputs can be opened many times.
//!
//! | input | can be read |
//! |---|---|
//! | a regular file, also as standard input | many times |
//! | a URL whose server supports ranges | many times, as long as the file does not change |
//! | a URL of another server | once |
//! | a pipe, a terminal | once: the bytes of a sample are kept, and returned again first |
//! | a pipe that was spooled | many times, from an unnamed temporary file |
//! | a member of an archive | many times, by several readers at the same time |
//!
//! Spooling copies the bytes of an input before they are decompressed: compressed bytes are fewer, and progress counts them.

use std::fs::{self, File};
use std::io::{self, Cursor, Read, Seek, Write};
use std::mem;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::{Amount, Progress};
use sqluice_core::remote::RemoteFile;
use sqluice_platform::shell::quoted;
use sqluice_platform::streams;

#[cfg(feature = "archives")]
use super::MemberStarts;
use super::ahead::{Ahead, BLOCK_BYTES};
use super::decoded::Decoded;
#[cfg(feature = "archives")]
use super::decoded::Decompressed;
use super::member::Member;
use super::member::Method;
use super::raw::{OpenedLater, Positioned, Raw};
#[cfg(feature = "archives")]
use super::whole::{RemoteRange, Whole};
use super::{Compression, Encoding, Input, InputOptions, STANDARD_INPUT};

/// The maximum size of a sample that is kept in memory, so that a smaller sample can be taken from it.
const KEPT_BYTES: usize = 64 << 10;

/// An input that can be sampled and opened.
pub struct InputFile {
    name: PathBuf,
    options: InputOptions,
    place: FileAt,
    /// The last sample of an input that can be read many times. The next sample often has the same bytes.
    kept: Option<Sample>,
}

/// The location of an input.
enum FileAt {
    /// A regular file.
    Path(PathBuf),
    /// A range of an open regular file: `bytes` bytes from `start` on.
    Open { file: Arc<File>, start: u64, bytes: u64 },
    /// A file behind a URL whose server supports ranges.
    Remote(Arc<dyn RemoteFile>),
    /// A member of an archive that is a local file, or a compressed member.
    #[cfg_attr(not(feature = "archives"), allow(dead_code))]
    Member(Member),
    /// An input that can be read only once.
    Stream(Stream),
}

/// A pipe, a terminal, or the response of a server that does not support ranges.
struct Stream {
    /// The bytes that were read for samples, and have to be returned again.
    head: Vec<u8>,
    /// The bytes after `head`; `None` once the input was opened.
    rest: Option<Ahead>,
    bytes_read: Arc<AtomicU64>,
}

/// The first bytes of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The requested number of bytes or one more, even if this cuts a character. Fewer if the text is shorter or can't be decoded further.
    pub text: Vec<u8>,
    /// `true` if the sample is the whole text, and was not ended by an error.
    pub whole: bool,
    /// `true` if the text has the file's own bytes, without decompression and transcoding.
    pub plain: bool,
    /// The compression of the file.
    pub compression: Option<Compression>,
    /// The encoding of the file, if it was transcoded.
    pub encoding: Option<Encoding>,
}

/// A reader of the raw bytes of an input, their total number if known, and the number that was read.
struct Bytes {
    reader: Box<dyn Read + Send>,
    bytes: Option<u64>,
    bytes_read: Arc<AtomicU64>,
}

impl InputFile {
    /// Creates an input of the file at `path`, or of standard input for `-`. A FIFO is opened on the thread that reads it.
    ///
    /// # Errors
    /// If the file can't be read, or is a folder.
    pub fn new(path: &Path, options: InputOptions) -> Result<InputFile> {
        if path == Path::new("-") {
            let file = streams::standard_input();
            let file = file.map_err(|error| Error::read(Path::new(STANDARD_INPUT), error))?;
            return InputFile::of_open(file, PathBuf::from(STANDARD_INPUT), options);
        }
        let about = fs::metadata(path).map_err(|error| Error::read(path, error))?;
        if about.is_dir() {
            return Err(is_folder(path));
        }
        let place = if about.is_file() {
            FileAt::Path(path.to_owned())
        } else {
            FileAt::Stream(Stream::start(OpenedLater::Named(path.to_owned()), path, &options)?)
        };
        Ok(InputFile { name: path.to_owned(), options, place, kept: None })
    }

    /// Creates an input of an open file, which is read from its current position.
    ///
    /// # Errors
    /// If the file is a folder, or its properties can't be read.
    pub fn of_open(mut file: File, name: PathBuf, options: InputOptions) -> Result<InputFile> {
        let place = match streams::kind(&file).map_err(|error| Error::read(&name, error))? {
            streams::Stream::Folder => return Err(is_folder(&name)),
            streams::Stream::File(bytes) => {
                let start = file.stream_position().map_err(|error| Error::read(&name, error))?;
                FileAt::Open { file: Arc::new(file), start, bytes: bytes.saturating_sub(start) }
            }
            streams::Stream::Once => FileAt::Stream(Stream::start(file, &name, &options)?),
        };
        Ok(InputFile { name, options, place, kept: None })
    }

    /// Creates an input of a file behind a URL.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn of_remote(remote: Arc<dyn RemoteFile>, options: InputOptions) -> Result<InputFile> {
        let name = remote.name().to_owned();
        let place = match remote.has_ranges() {
            true => FileAt::Remote(remote),
            false => FileAt::Stream(Stream::start(remote.stream()?, &name, &options)?),
        };
        Ok(InputFile { name, options, place, kept: None })
    }

    /// Creates an input of a member of an archive.
    #[cfg(feature = "archives")]
    pub(super) fn of_member(member: Member, name: PathBuf, options: InputOptions) -> InputFile {
        let place = match member {
            // A stored member is a range of the file behind the URL.
            Member { whole: Whole::Remote(remote, _), range, method: Method::Stored, stated } => {
                FileAt::Remote(Arc::new(RemoteRange::new(name.clone(), remote, range.start, stated)))
            }
            member => FileAt::Member(member),
        };
        InputFile { name, options, place, kept: None }
    }

    /// Returns the remote file, if the input is behind a URL whose server supports ranges.
    pub fn remote(&self) -> Option<&Arc<dyn RemoteFile>> {
        match &self.place {
            FileAt::Remote(remote) => Some(remote),
            _ => None,
        }
    }

    /// Returns the name for messages: the path or URL that the user gives, without credentials, or `standard input`.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns the size of the input in raw bytes, compressed or not, if it is known now.
    pub fn bytes(&self) -> Option<u64> {
        match &self.place {
            FileAt::Path(path) => fs::metadata(path).ok().map(|about| about.len()),
            FileAt::Open { bytes, .. } => Some(*bytes),
            FileAt::Remote(remote) => remote.bytes(),
            FileAt::Member(member) => Some(member.raw_bytes()),
            FileAt::Stream(_) => None,
        }
    }

    /// Returns `true` if the input can be opened more than once.
    pub fn can_reopen(&self) -> bool {
        !matches!(self.place, FileAt::Stream(_))
    }

    /// Returns the first `bytes` bytes of the text. The input can still be opened from its start.
    ///
    /// # Errors
    /// If the input can't be read, or its format is not supported. Damaged content is not an error yet: it is reported when the content is read.
    pub fn sample(&mut self, bytes: usize) -> Result<Sample> {
        let FileAt::Stream(stream) = &mut self.place else { return self.sample_of_file(bytes) };
        let mut failed = false;
        let raw = Box::new(stream.replay(&self.name, &mut failed)?);
        let (sample, error) = beginning(Decoded::new(raw, &self.name, false, &self.options)?, bytes);
        match error {
            // A pipe reports an error only once, so a later reader would not learn of it.
            Some(error) if failed => Err(Error::from_read(&self.name, error)),
            _ => Ok(sample),
        }
    }

    /// Takes a sample of an input that can be read many times. A short file is read only once for several samples.
    fn sample_of_file(&mut self, bytes: usize) -> Result<Sample> {
        let suffices = |kept: &Sample| kept.whole || kept.text.len() > bytes;
        let kept = match self.kept.take().filter(suffices) {
            Some(kept) => kept,
            None => {
                let raw = self.take_bytes()?.reader;
                let decoded = Decoded::new(raw, &self.name, self.is_member(), &self.options)?;
                let mut sample = beginning(decoded, bytes.max(KEPT_BYTES)).0;
                sample.plain &= !self.is_packed();
                sample
            }
        };
        if bytes > KEPT_BYTES {
            return Ok(kept);
        }
        let mut sample = kept.clone();
        self.kept = Some(kept);
        if sample.text.len() > bytes.saturating_add(1) {
            sample.text.truncate(bytes + 1);
            sample.whole = false;
        }
        Ok(sample)
    }

    /// Returns another input of the same local file. Returns `None` if the input is not a local file, and was not copied to one.
    pub fn again(&self) -> Option<InputFile> {
        let place = match &self.place {
            FileAt::Path(path) => FileAt::Path(path.clone()),
            FileAt::Open { file, start, bytes } => {
                FileAt::Open { file: Arc::clone(file), start: *start, bytes: *bytes }
            }
            FileAt::Member(_) | FileAt::Remote(_) | FileAt::Stream(_) => return None,
        };
        Some(InputFile { name: self.name.clone(), options: self.options.clone(), place, kept: None })
    }

    /// Frees the sample that was kept.
    pub fn forget_sample(&mut self) {
        self.kept = None;
    }

    /// Opens the input. An input that can be read only once can't be opened again.
    ///
    /// # Errors
    /// If the input can't be read, or its format is not supported.
    pub fn open(&mut self) -> Result<Input> {
        let Bytes { reader, bytes, bytes_read } = self.take_bytes()?;
        let Decoded { reader, compression, encoding, member_starts } =
            Decoded::new(reader, &self.name, self.is_member(), &self.options)?;
        let (name, is_packed) = (self.name.clone(), self.is_packed());
        let mut input =
            Input { name, reader, bytes, bytes_read, compression, encoding, is_packed, member_starts };
        if !input.has_offsets_of_file() {
            let ahead = Ahead::start(input.reader, BLOCK_BYTES, self.options.cancel.clone());
            input.reader = Box::new(ahead.map_err(|error| Error::read(&self.name, error))?);
        }
        Ok(input)
    }

    /// Returns the first bytes of the input, decompressed but not transcoded: `bytes` bytes, or fewer if the input is shorter or can't be read
    /// further. The input can still be opened from its start.
    ///
    /// # Errors
    /// If the input can't be read, or this build does not support the compression.
    #[cfg(feature = "archives")]
    pub(super) fn head(&mut self, bytes: usize) -> Result<(Vec<u8>, Option<Compression>)> {
        let mut failed = false;
        let in_archive = self.is_member();
        let raw: Box<dyn Read + Send + '_> = match &mut self.place {
            FileAt::Stream(stream) => Box::new(stream.replay(&self.name, &mut failed)?),
            _ => self.take_bytes()?.reader,
        };
        let mut decompressed = Decompressed::new(raw, &self.name, in_archive)?;
        let mut head = decompressed.bytes.peek(bytes).to_vec();
        head.truncate(bytes);
        let (compression, end) = (decompressed.compression, decompressed.bytes.at_end());
        drop(decompressed);
        match end {
            // A pipe reports an error only once, so a later reader would not learn of it.
            Err(error) if failed => Err(Error::from_read(&self.name, error)),
            _ => Ok((head, compression)),
        }
    }

    /// Returns a reader of the raw bytes of the input, for tests.
    #[cfg(all(feature = "archives", any(test, fuzzing)))]
    pub(super) fn open_raw(&mut self) -> Result<Box<dyn Read + Send>> {
        Ok(self.take_bytes()?.reader)
    }

    /// Opens the input, decompressed but not transcoded. An input that can be read only once can't be opened again.
    ///
    /// # Errors
    /// If the input can't be read, or this build does not support the compression.
    #[cfg(feature = "archives")]
    pub(super) fn open_bytes(&mut self) -> Result<Input> {
        let Bytes { reader, bytes, bytes_read } = self.take_bytes()?;
        let Decompressed { bytes: reader, compression, .. } =
            Decompressed::new(reader, &self.name, self.is_member())?;
        let ahead = Ahead::start(reader, BLOCK_BYTES, self.options.cancel.clone());
        let reader = Box::new(ahead.map_err(|error| Error::read(&self.name, error))?);
        let (name, is_packed, member_starts) = (self.name.clone(), self.is_packed(), MemberStarts::default());
        Ok(Input { name, reader, bytes, bytes_read, compression, encoding: None, is_packed, member_starts })
    }

    /// Returns the bytes of the input, which threads can read at any offset; `None` if this is not possible.
    ///
    /// # Errors
    /// If the input can't be opened.
    #[cfg(feature = "archives")]
    pub(super) fn whole(&self) -> Result<Option<Whole>> {
        if let FileAt::Remote(remote) = &self.place {
            return Ok(remote.bytes().map(|bytes| Whole::Remote(Arc::clone(remote), bytes)));
        }
        if !self.is_local() {
            return Ok(None);
        }
        let (file, start, bytes) = self.file()?;
        Ok(Some(Whole::File { file, start, bytes }))
    }

    /// Returns `true` if the input is a local file or a range of a local file.
    pub(super) fn is_local(&self) -> bool {
        match &self.place {
            FileAt::Path(_) | FileAt::Open { .. } => true,
            FileAt::Member(member) => member.file().is_some(),
            FileAt::Remote(_) | FileAt::Stream(_) => false,
        }
    }

    /// Returns `true` if the input is a member of an archive, but not for a stored member behind a URL, which is read as a file of its
    /// own.
    fn is_member(&self) -> bool {
        matches!(self.place, FileAt::Member(_))
    }

    /// Returns `true` if the input is a member of an archive, and is compressed in the archive.
    fn is_packed(&self) -> bool {
        matches!(&self.place, FileAt::Member(member) if member.method != Method::Stored)
    }

    /// Copies an input that can be read only once to a temporary file in `folder`, so that it can be opened many times. Does nothing for other
    /// inputs. The copied bytes are reported as progress; the caller names the phase.
    ///
    /// # Errors
    /// If the input can't be read, or the copy can't be written.
    pub fn spool(&mut self, folder: &Path, progress: &dyn Progress) -> Result<()> {
        if self.can_reopen() {
            return Ok(());
        }
        self.keep(folder, progress)
    }

    /// Copies an input that is not a local file to a temporary file in `folder`, so that it can be read at any offset. Does nothing for other
    /// inputs.
    ///
    /// # Errors
    /// Like [`InputFile::spool`].
    pub fn keep(&mut self, folder: &Path, progress: &dyn Progress) -> Result<()> {
        if self.is_local() {
            return Ok(());
        }
        let mut file = tempfile::tempfile_in(folder).map_err(|error| cannot_spool(folder, error))?;
        let raw = self.take_bytes()?.reader;
        let bytes = copy(raw, &mut file, &self.name, folder, progress)?;
        self.place = FileAt::Open { file: Arc::new(file), start: 0, bytes };
        self.forget_sample();
        Ok(())
    }

    /// Replaces a compressed input by a temporary file in `folder` with the decompressed content; text in another encoding becomes UTF-8.
    /// Does nothing for inputs that are not compressed.
    ///
    /// # Errors
    /// If the input can't be read or the temporary file can't be written.
    pub fn decompress(&mut self, folder: &Path, progress: &dyn Progress) -> Result<()> {
        if self.sample(1)?.compression.is_none() && !self.is_packed() {
            return Ok(());
        }
        self.copy_text(folder, progress)
    }

    /// Replaces an input that is compressed or not UTF-8 by a temporary file in `folder` with its text. Does nothing for other inputs.
    ///
    /// # Errors
    /// Like [`InputFile::decompress`].
    pub fn decode(&mut self, folder: &Path, progress: &dyn Progress) -> Result<()> {
        if self.sample(1)?.plain {
            return Ok(());
        }
        self.copy_text(folder, progress)
    }

    fn copy_text(&mut self, folder: &Path, progress: &dyn Progress) -> Result<()> {
        let mut file = tempfile::tempfile_in(folder).map_err(|error| cannot_spool(folder, error))?;
        let decompressed = self.open()?.reader;
        let bytes = copy(decompressed, &mut file, &self.name, folder, progress)?;
        self.place = FileAt::Open { file: Arc::new(file), start: 0, bytes };
        self.forget_sample();
        Ok(())
    }

    /// Returns the file of the input, the offset at which the input begins in the file, and its size in bytes. Threads can read the file at any
    /// offset.
    ///
    /// # Errors
    /// If the file can't be opened, or the input is not a local file.
    pub fn file(&self) -> Result<(Arc<File>, u64, u64)> {
        match &self.place {
            FileAt::Open { file, start, bytes } => Ok((Arc::clone(file), *start, *bytes)),
            FileAt::Member(member) => member.file().ok_or_else(|| read_before(&self.name)),
            FileAt::Stream(_) | FileAt::Remote(_) => Err(read_before(&self.name)),
            FileAt::Path(path) => {
                let unreadable = |error| Error::read(&self.name, error);
                let file = File::open(path).map_err(unreadable)?;
                let bytes = file.metadata().map_err(unreadable)?.len();
                Ok((Arc::new(file), 0, bytes))
            }
        }
    }

    /// Opens the raw bytes. A stream can't be opened again afterwards.
    fn take_bytes(&mut self) -> Result<Bytes> {
        let unreadable = |error| Error::read(&self.name, error);
        let (file, start, bytes) = match &mut self.place {
            FileAt::Stream(stream) => return stream.take(&self.name),
            FileAt::Remote(remote) => {
                let (bytes, bytes_read) = (remote.bytes(), Arc::new(AtomicU64::new(0)));
                let reader = Raw::new(remote.stream()?, self.name.clone(), Arc::clone(&bytes_read));
                return Ok(Bytes { reader: Box::new(reader), bytes, bytes_read });
            }
            FileAt::Member(member) => {
                let bytes_read = Arc::new(AtomicU64::new(0));
                let reader = member.open(&self.name, &bytes_read).map_err(unreadable)?;
                return Ok(Bytes { reader, bytes: Some(member.raw_bytes()), bytes_read });
            }
            FileAt::Open { file, start, bytes } => (Arc::clone(file), *start, *bytes),
            FileAt::Path(path) => {
                let file = File::open(path).map_err(unreadable)?;
                let bytes = file.metadata().map_err(unreadable)?.len();
                (Arc::new(file), 0, bytes)
            }
        };
        let bytes_read = Arc::new(AtomicU64::new(0));
        let reader =
            Raw::new(Positioned::new(file, start..start + bytes), self.name.clone(), Arc::clone(&bytes_read));
        Ok(Bytes { reader: Box::new(reader), bytes: Some(bytes), bytes_read })
    }
}

impl Stream {
    fn start(input: impl Read + Send + 'static, name: &Path, options: &InputOptions) -> Result<Stream> {
        let bytes_read = Arc::new(AtomicU64::new(0));
        let raw = Raw::new(input, name.to_owned(), Arc::clone(&bytes_read));
        let rest = Ahead::start(raw, BLOCK_BYTES, options.cancel.clone());
        let rest = rest.map_err(|error| Error::read(name, error))?;
        Ok(Stream { head: Vec::new(), rest: Some(rest), bytes_read })
    }

    fn take(&mut self, name: &Path) -> Result<Bytes> {
        let rest = self.rest.take().ok_or_else(|| read_before(name))?;
        let reader = Box::new(Cursor::new(mem::take(&mut self.head)).chain(rest));
        Ok(Bytes { reader, bytes: None, bytes_read: Arc::clone(&self.bytes_read) })
    }

    /// Returns a reader of the stream from its start, which keeps the bytes that it reads. It sets `failed` if the stream can't be read.
    fn replay<'a>(&'a mut self, name: &Path, failed: &'a mut bool) -> Result<Replay<'a>> {
        let rest = self.rest.as_mut().ok_or_else(|| read_before(name))?;
        Ok(Replay { head: &mut self.head, at: 0, rest, failed })
    }
}

/// A reader of a stream that keeps the bytes in `head`.
struct Replay<'a> {
    head: &'a mut Vec<u8>,
    at: usize,
    rest: &'a mut Ahead,
    failed: &'a mut bool,
}

impl Read for Replay<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut kept = &self.head[self.at..];
        let bytes = if kept.is_empty() {
            let read = self.rest.read(buffer);
            *self.failed |= read.is_err();
            let bytes = read?;
            self.head.extend_from_slice(&buffer[..bytes]);
            bytes
        } else {
            kept.read(buffer)?
        };
        self.at += bytes;
        Ok(bytes)
    }
}

/// Returns the first `bytes` bytes of a text, and the error that ended it, if any.
fn beginning(decoded: Decoded<'_>, bytes: usize) -> (Sample, Option<io::Error>) {
    /// The minimum and maximum number of bytes to read at a time: few for a small file, more for a large one.
    const ROOM_BYTES: RangeInclusive<usize> = 8 << 10..=64 << 10;
    let Decoded { compression, encoding, .. } = decoded;
    let plain = compression.is_none() && encoding.is_none();
    let mut reader = decoded.reader;
    let (mut text, mut filled, mut whole, mut fault) = (Vec::new(), 0, false, None);
    // One more byte than requested is read, to see if the input continues.
    let bytes_max = bytes.saturating_add(1);
    while filled < bytes_max {
        if filled == text.len() {
            let room = filled.clamp(*ROOM_BYTES.start(), *ROOM_BYTES.end());
            text.resize(bytes_max.min(filled + room), 0);
        }
        match reader.read(&mut text[filled..]) {
            Ok(0) => {
                whole = true;
                break;
            }
            Ok(read) => filled += read,
            Err(error) => {
                fault = Some(error);
                break;
            }
        }
    }
    text.truncate(filled);
    (Sample { text, whole, plain, compression, encoding }, fault)
}

/// Copies all of `raw` to `file`, and returns the number of bytes.
pub(super) fn copy(
    mut raw: impl Read,
    file: &mut impl Write,
    name: &Path,
    folder: &Path,
    progress: &dyn Progress,
) -> Result<u64> {
    let mut block = vec![0; BLOCK_BYTES];
    let mut copied = 0;
    loop {
        let bytes = raw.read(&mut block).map_err(|error| Error::from_read(name, error))?;
        if bytes == 0 {
            return Ok(copied);
        }
        file.write_all(&block[..bytes]).map_err(|error| cannot_spool(folder, error))?;
        copied += bytes as u64;
        progress.advance(Amount { rows: 0, bytes: bytes as u64 });
    }
}

pub(super) fn cannot_spool(folder: &Path, error: io::Error) -> Error {
    Error::target(format!("cannot keep a copy of the input in {}", folder.display()))
        .about(folder)
        .because(error)
        .hint(message!["choose a folder with enough space: ", Setting::TempDir.to("DIR")])
}

fn read_before(name: &Path) -> Error {
    Error::input(format!("{} can be read only once", name.display())).hint("save it as a file first")
}

/// Returns `true` if a folder was written by pg_dump. Opening it as a file is an error whose hint says how to load it.
pub fn is_of_pg_dump(folder: &Path) -> bool {
    folder.join("toc.dat").is_file()
}

fn is_folder(name: &Path) -> Error {
    if is_of_pg_dump(name) {
        let error = Error::input(format!("{} is a folder that pg_dump wrote", name.display()));
        return error.hint(format!(
            "make SQL of it, and load that: pg_restore -f dump.sql {}",
            quoted(&name.to_string_lossy())
        ));
    }
    let error = Error::input(format!("{} is a folder", name.display()));
    // Standard input may be a folder, but only a folder with a name can be listed.
    error.hint("name the folder to load the files in it")
}
