//! Reads the files of a folder as rows of an archive. The threads that encode the rows into pages also read the files.
//!
//! ```text
//!  list   | a  b  c ...  | ...          | one large file | ...       a part ends with the file that reaches 4 MiB, or after 4,096 entries
//!           batch          batch          batch                      a batch has the contents in one buffer, and the position of each
//! ```
//!
//! Without compression, the rows of a part are in an order that fills their pages ([`super::order`]). A file whose size is still that of
//! the list takes three system calls: open, read, close. The read buffer has room for one byte more than this size, so that one read
//! shows the end of the file. If the size has changed, the metadata of the file is read again.
//!
//! Invariant: the value of `sz` for a file is the number of bytes that were read, even if the file changes while it is packed.

use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::batch::{Batch, Bitmap, Bytes, Column, ROWS_MAX, Span, Spans, Value, Values};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Amount;
use sqluice_core::source::{Part, Refused, Sink, Source};
use sqluice_format::page::Geometry;
use sqluice_platform::positioned;
use sqluice_platform::tree::{self, Fault, Kind};
use sqluice_stores::deflate::Deflater;

use super::order;
use super::walk::{Entry, List, OpenFolder, changed, too_large};
use super::{Compression, FILE_BYTES_MAX, Layout};

/// A part ends with the file that reaches this number of bytes.
const PART_BYTES: u64 = 4 << 20;

/// The maximum number of rows in a part.
const PART_ROWS: usize = 4096;

/// A batch ends with the file that reaches this number of bytes: the contents of a batch stay in the processor's cache until they are on
/// pages.
const BATCH_BYTES: usize = 1 << 20;

/// The maximum number of bytes of a buffer that is kept for the next part.
const KEPT_BYTES_MAX: usize = 16 << 20;

/// The state that all parts share.
struct Shared {
    list: Arc<List>,
    layout: Layout,
    compression: Compression,
    geometry: Geometry,
    pool: Mutex<Vec<Buffers>>,
}

/// The source of rows from files.
pub(crate) struct Files {
    shared: Arc<Shared>,
    next: usize,
}

struct FilesPart {
    shared: Arc<Shared>,
    entries: Range<usize>,
    bytes: u64,
}

/// The buffers for one part, which are reused for later parts.
#[derive(Default)]
struct Buffers {
    contents: Vec<u8>,
    names: Vec<u8>,
    content_spans: Vec<Span>,
    name_spans: Vec<Span>,
    modes: Vec<i64>,
    mtimes: Vec<i64>,
    sizes: Vec<i64>,
    /// The bitmap of the rows with contents (of files) or targets (of links). Folders have neither.
    validity: Vec<u64>,
    links: bool,
    deflater: Option<Deflater>,
    deflated: Vec<u8>,
}

impl Files {
    pub(crate) fn new(
        list: Arc<List>,
        layout: Layout,
        compression: Compression,
        geometry: Geometry,
    ) -> Files {
        let pool = Mutex::default();
        Files { shared: Arc::new(Shared { list, layout, compression, geometry, pool }), next: 0 }
    }
}

impl Source for Files {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let rest = &self.shared.list.entries[self.next..];
        if rest.is_empty() {
            return Ok(None);
        }
        let (mut rows, mut bytes) = (0, 0);
        for entry in rest.iter().take(PART_ROWS) {
            (rows, bytes) = (rows + 1, bytes + entry.bytes);
            if bytes >= PART_BYTES {
                break;
            }
        }
        let entries = self.next..self.next + rows;
        self.next = entries.end;
        Ok(Some(Box::new(FilesPart { shared: Arc::clone(&self.shared), entries, bytes })))
    }

    fn total(&self) -> Option<Amount> {
        let list = &self.shared.list;
        Some(Amount { rows: list.entries.len() as u64, bytes: list.bytes() })
    }
}

impl Part for FilesPart {
    fn first_row(&self) -> u64 {
        self.entries.start as u64
    }

    fn input_bytes(&self) -> u64 {
        self.bytes
    }

    fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
        let pool = || self.shared.pool.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffers = pool().pop().unwrap_or_default();
        let done = self.read(&mut buffers, sink);
        if buffers.contents.capacity().max(buffers.deflated.capacity()) <= KEPT_BYTES_MAX {
            pool().push(buffers);
        }
        done
    }
}

impl FilesPart {
    fn read(&self, buffers: &mut Buffers, sink: &mut dyn Sink) -> Result<()> {
        let list = &self.shared.list;
        let mut folder = OpenFolder::default();
        let order = self.order();
        let mut first = 0;
        buffers.clear();
        for (at, entry) in order.iter().enumerate() {
            buffers.add(entry, &self.shared, &mut folder)?;
            let rows = at + 1 - first;
            if rows == ROWS_MAX || buffers.contents.len() >= BATCH_BYTES || at + 1 == order.len() {
                let named = |refused| named(list, &order[first..], refused);
                buffers.give(rows, self.shared.layout, sink).map_err(named)?;
                buffers.clear();
                first = at + 1;
            }
        }
        Ok(())
    }

    /// Returns the entries in an order that fills their leaf pages. With compression, sizes are unknown, and the order is that of the
    /// names.
    fn order(&self) -> Vec<Entry> {
        let Shared { list, layout, compression, geometry, .. } = &*self.shared;
        let entries = &list.entries[self.entries.clone()];
        if *compression != Compression::None {
            return entries.to_vec();
        }
        let payload = |entry: &Entry| {
            let (name, bytes) = (list.name(entry).len(), entry.bytes as usize);
            match layout {
                Layout::Kv => order::payload(&[], name, bytes),
                Layout::Sqlar => {
                    let about = [i64::from(entry.mode), entry.mtime, entry.bytes as i64];
                    order::payload(&about, name, bytes)
                }
            }
        };
        let payloads: Vec<usize> = entries.iter().map(payload).collect();
        let order = order::filling(&payloads, self.entries.start as i64 + 1, *geometry);
        order.into_iter().map(|at| entries[at]).collect()
    }
}

/// Adds the name of the file to the error for a row of a batch that the sink has refused. `entries` are the entries of the batch.
fn named(list: &List, entries: &[Entry], refused: Refused) -> Error {
    match refused.first() {
        (Some((row, _)), error) => {
            let path = list.path_of(list.name(&entries[row]));
            Error::input(format!("cannot store {}", path.display())).about(path).because(error)
        }
        (None, error) => error,
    }
}

impl Buffers {
    fn clear(&mut self) {
        self.contents.clear();
        self.names.clear();
        self.content_spans.clear();
        self.name_spans.clear();
        self.modes.clear();
        self.mtimes.clear();
        self.sizes.clear();
        self.validity.clear();
        self.links = false;
    }

    /// Adds the row of an entry to the batch, with the content of a file or the target of a link.
    fn add(&mut self, entry: &Entry, shared: &Shared, folder: &mut OpenFolder) -> Result<()> {
        let list = &shared.list;
        let name = list.name(entry);
        let start = self.contents.len();
        let failed = |error: io::Error| Error::read(&list.path_of(name), error);
        let sz = match entry.kind {
            Kind::File => {
                self.read_file(entry, list, folder)?;
                let bytes = self.contents.len() - start;
                if shared.compression == Compression::Deflate {
                    let deflater = self.deflater.get_or_insert_with(Deflater::default);
                    deflater.deflate(&mut self.contents, start, &mut self.deflated);
                }
                bytes as i64
            }
            Kind::Link => {
                let (folder, component) = folder.of(&list.root, name).map_err(failed)?;
                let target = folder.link(component).map_err(failed)?;
                self.contents.extend_from_slice(&target);
                self.links = true;
                -1
            }
            _ => 0,
        };
        let row = self.modes.len();
        if row.is_multiple_of(64) {
            self.validity.push(0);
        }
        self.validity[row / 64] |= u64::from(entry.kind != Kind::Folder) << (row % 64);
        push_span(&mut self.name_spans, self.names.len(), name.len());
        self.names.extend_from_slice(name);
        push_span(&mut self.content_spans, start, self.contents.len() - start);
        self.modes.push(i64::from(entry.mode));
        self.mtimes.push(entry.mtime);
        self.sizes.push(sz);
        Ok(())
    }

    /// Adds the bytes of a file to the contents.
    fn read_file(&mut self, entry: &Entry, list: &List, folder: &mut OpenFolder) -> Result<()> {
        let name = list.name(entry);
        let failed = |error: io::Error| match tree::fault(&error) {
            Some(Fault::NoFolder) => changed(&list.path_of(name)),
            _ => Error::read(&list.path_of(name), error),
        };
        let (folder, component) = folder.of(&list.root, name).map_err(failed)?;
        let file = folder.file(component).map_err(failed)?;
        let start = self.contents.len();
        let mut room = entry.bytes as usize + 1;
        loop {
            self.contents.reserve(room);
            let before = self.contents.len();
            match positioned::read_into_spare(&file, &mut self.contents) {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(failed(error)),
            }
            let bytes = (self.contents.len() - start) as u64;
            if bytes == entry.bytes && before == start {
                break;
            }
            // The size differs from the list: another process writes to the file, or has replaced it.
            if !file.metadata().map_err(failed)?.is_file() {
                return Err(changed(&list.path_of(name)));
            }
            if bytes > FILE_BYTES_MAX {
                return Err(too_large(&list.path_of(name), bytes));
            }
            room = 64 << 10;
        }
        Ok(())
    }

    /// Passes the rows to the sink.
    fn give(&self, rows: usize, layout: Layout, sink: &mut dyn Sink) -> Result<(), Refused> {
        let bytes = |data, spans| Bytes { data, spans: Spans::Anywhere(spans) };
        let names = Column::new(Values::Text(bytes(&self.names, &self.name_spans)));
        let contents = bytes(&self.contents, &self.content_spans);
        if layout == Layout::Kv {
            return sink.rows(&Batch { rows, columns: vec![names, Column::new(Values::Blob(contents))] });
        }
        let validity = Bitmap(&self.validity);
        let about = [&self.modes, &self.mtimes, &self.sizes].map(|ints| Column::new(Values::Int(ints)));
        // The targets of links are text. Without links, a column of blobs is faster than a mixed column.
        let mixed: Vec<Value<'_>>;
        let data = if self.links {
            let value = |row: usize| match (validity.get(row), self.sizes[row]) {
                (false, _) => Value::Null,
                (true, -1) => Value::Text(contents.get(row)),
                (true, _) => Value::Blob(contents.get(row)),
            };
            mixed = (0..rows).map(value).collect();
            Column::new(Values::Any(&mixed))
        } else {
            Column { values: Values::Blob(contents), validity: Some(validity) }
        };
        let columns = [names].into_iter().chain(about).chain([data]).collect();
        sink.rows(&Batch { rows, columns })
    }
}

/// Appends the position of a value in the buffer. A batch ends with the value that exceeds its size, so positions stay far below 4 GiB.
fn push_span(spans: &mut Vec<Span>, start: usize, len: usize) {
    spans.push(Span { start: start as u32, len: len as u32 });
}
