//! An object that is uploaded in parts, and appears once it is complete.
//!
//! ```text
//!  byte 0        16 MiB        32 MiB        48 MiB      end
//!  ├── part 1 ────┼── part 2 ───┼── part 3 ───┼── part 4 ─┤
//!  page 1 is      uploaded      being         being
//!  written last                 uploaded      filled
//! ```
//!
//! The bytes of the parts may be written in any order. A part is uploaded when it is full, several at the same time. Part 1 contains page
//! 1, which is written last, so part 1 is uploaded last. Then a single request combines all parts to an object. All parts except the last
//! have the same size, as some stores require.
//!
//! Invariant: the parts in memory take no more than the given memory, unless more parts than fit into it are being filled at the same time.
//!
//! Invariant: without the last request, no object appears, and an existing object of the same name stays.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, unbounded};
use object_store::multipart::PartId;
use object_store::{Error as StoreError, ObjectMeta, ObjectStoreExt, PutPayload};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_core::remote::RequestLimits;
use sqluice_core::size::Bytes;
use tokio::task::JoinHandle;

use crate::address::{Address, Kind};
use crate::runtime;
use crate::store::Store;
use crate::tries::Tries;

/// The minimum size of a part in bytes. Stores refuse parts of less than 5 MiB.
pub const PART_BYTES_MIN: u64 = 8 << 20;
const PART_BYTES: u64 = 16 << 20;
/// The maximum number of parts of an object. Stores refuse more.
const PARTS_MAX: u64 = 10_000;

/// The maximum number of parts of an object whose size is an estimate, which may be too small by a fifth.
const ESTIMATED_PARTS_MAX: u64 = 8_000;

/// The minimum number of parts in memory: the first part, which waits for page 1; the parts at the ends of two ranges that are being
/// written; the part in which these ranges meet; and one part that is being uploaded.
const PARTS_IN_MEMORY_MIN: u64 = 5;

/// The time that a failed run waits for the store to delete its parts.
const ABORTED_WITHIN: Duration = Duration::from_secs(20);

/// Returns the number of bytes that an upload takes of the memory of a run.
pub fn memory_bytes(run_bytes: u64) -> u64 {
    (run_bytes / 3).max(PARTS_IN_MEMORY_MIN * PART_BYTES_MIN)
}

/// The address of an object to be uploaded.
#[derive(Clone, Debug)]
pub struct Destination {
    store: Arc<Store>,
    /// The object that existed at this address when the address was inspected; `None` if no object existed.
    old: Option<ObjectMeta>,
}

/// The options of an upload.
#[derive(Clone, Debug)]
pub struct UploadOptions {
    /// The memory for parts, in bytes.
    pub memory_bytes: u64,
    /// The estimated size of the object, if known.
    pub estimated_bytes: Option<u64>,
    /// A range of the object that is never written and consists of zeros.
    pub hole: Range<u64>,
    /// `true` if an object that appeared during the upload is replaced.
    pub replaces: bool,
}

impl Destination {
    /// Inspects the object at a URL. Changes nothing.
    ///
    /// # Errors
    /// When the URL does not permit uploads, or the store can't be reached.
    pub fn new(url: &Path, limits: &RequestLimits, cancel: &Cancel) -> Result<Destination> {
        let address = Address::parse(url)?;
        if address.kind == Kind::Web {
            let message = format!("a database can't be written to a web server: {}", address.name.display());
            return Err(
                Error::usage(message).hint("name a file, or an object: s3://bucket/name, gs://, az://")
            );
        }
        let store = Arc::new(Store::new(address, true, limits)?);
        let old = look(&store, cancel)?;
        Ok(Destination { store, old })
    }

    /// Returns the URL without credentials.
    pub fn name(&self) -> &Path {
        &self.store.address.name
    }

    /// Returns the size of the object that existed at this address when the address was inspected; `None` if no object existed.
    pub fn old_bytes(&self) -> Option<u64> {
        self.old.as_ref().map(|old| old.size)
    }

    /// Returns the size of the parts.
    ///
    /// # Errors
    /// When an object of the estimated size requires parts for which the memory is too small.
    pub fn part_bytes(&self, options: &UploadOptions) -> Result<u64> {
        let room = options.memory_bytes / PARTS_IN_MEMORY_MIN;
        let usual = room.clamp(PART_BYTES_MIN, PART_BYTES);
        let least = options.estimated_bytes.unwrap_or(0).div_ceil(ESTIMATED_PARTS_MAX);
        let part_bytes = usual.max(least.next_multiple_of(1 << 20));
        if part_bytes > room.max(PART_BYTES_MIN) {
            let message = format!(
                "{} will take about {:.1}: its parts, at most 10,000, need more memory",
                self.name().display(),
                Bytes(options.estimated_bytes.unwrap_or(0))
            );
            let enough = format!("{}MiB", (part_bytes * PARTS_IN_MEMORY_MIN * 3) >> 20);
            return Err(Error::target(message).hint(message!["give at least ", Setting::Memory.to(enough)]));
        }
        Ok(part_bytes)
    }

    /// Begins an upload, which ends early if `cancel` is set.
    ///
    /// # Errors
    /// When the store refuses the upload or can't be reached.
    pub fn create(&self, options: UploadOptions, cancel: &Cancel) -> Result<Upload> {
        let part_bytes = self.part_bytes(&options)?;
        let store = Arc::clone(&self.store);
        let tries = Tries::new(&store.limits);
        let begun = runtime::wait(
            cancel,
            tries.send(move || {
                let store = Arc::clone(&store);
                async move { store.parts()?.create_multipart(&store.key).await }
            }),
        )?;
        let id = begun.map_err(|error| self.store.tried("upload", true).failed(&error))?;
        let (send, receive) = unbounded();
        Ok(Upload {
            to: self.clone(),
            cancel: cancel.clone(),
            id: Some(id),
            part_bytes,
            parts_max: (options.memory_bytes / part_bytes).max(2) as usize,
            options,
            open: BTreeMap::new(),
            uploading: BTreeMap::new(),
            ids: BTreeMap::new(),
            send,
            receive,
            end: 0,
            written: 0,
        })
    }
}

/// Returns the existing object at the address of `store`, if any.
fn look(store: &Arc<Store>, cancel: &Cancel) -> Result<Option<ObjectMeta>> {
    let of = Arc::clone(store);
    let tries = Tries::new(&store.limits);
    let head = move || {
        let of = Arc::clone(&of);
        async move { of.client.head(&of.key).await }
    };
    match runtime::wait(cancel, tries.send(head))? {
        Ok(about) => Ok(Some(about)),
        Err(StoreError::NotFound { .. }) => Ok(None),
        Err(error) => Err(store.tried("look at", true).failed(&error)),
    }
}

/// An object that is being uploaded. If it is dropped before [`Upload::finish`], its parts are deleted from the store, unless the store
/// does not answer within 20 seconds.
#[derive(Debug)]
pub struct Upload {
    to: Destination,
    cancel: Cancel,
    /// The id of the multipart upload; `None` once the upload is complete or aborted.
    id: Option<String>,
    options: UploadOptions,
    part_bytes: u64,
    /// The maximum number of parts in memory.
    parts_max: usize,
    /// The parts that are not full yet.
    open: BTreeMap<u64, Part>,
    uploading: BTreeMap<u64, JoinHandle<()>>,
    ids: BTreeMap<u64, PartId>,
    send: Sender<(u64, object_store::Result<PartId>)>,
    receive: Receiver<(u64, object_store::Result<PartId>)>,
    /// The offset after the last byte that was written so far.
    end: u64,
    /// The number of bytes that were written so far.
    written: u64,
}

/// A part that is being filled.
#[derive(Debug, Default)]
struct Part {
    bytes: Vec<u8>,
    /// The number of bytes written so far. Bytes of the hole count as written.
    filled: u64,
}

impl Upload {
    /// Writes bytes from `offset` on. No byte may be written twice.
    ///
    /// # Errors
    /// When a part could not be uploaded. After an error, the upload may only be dropped.
    pub fn write(&mut self, mut offset: u64, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            let (number, at) = (offset / self.part_bytes, offset % self.part_bytes);
            let (now, later) = bytes.split_at(bytes.len().min((self.part_bytes - at) as usize));
            if !self.open.contains_key(&number) {
                self.open_part(number)?;
            }
            let part = self.open.entry(number).or_default();
            let (at, end) = (at as usize, at as usize + now.len());
            if part.bytes.len() == at {
                part.bytes.extend_from_slice(now);
            } else {
                if part.bytes.len() < end {
                    part.bytes.resize(end, 0);
                }
                part.bytes[at..end].copy_from_slice(now);
            }
            part.filled += now.len() as u64;
            self.written += now.len() as u64;
            let is_full = part.filled == self.part_bytes;
            (offset, bytes) = (offset + now.len() as u64, later);
            self.end = self.end.max(offset);
            if is_full && number > 0 {
                self.upload(number)?;
            }
        }
        Ok(())
    }

    /// Makes room for another part and begins it.
    fn open_part(&mut self, number: u64) -> Result<()> {
        if number >= PARTS_MAX {
            let message = format!("{} grows beyond 10,000 parts", self.to.name().display());
            return Err(Error::target(message).about(self.to.name()).hint(message![
                "parts are larger with more memory: ",
                Setting::Memory.to("1GiB"),
                ", or write a file, and upload that"
            ]));
        }
        while self.open.len() + self.uploading.len() >= self.parts_max && !self.uploading.is_empty() {
            self.wait_for_part()?;
        }
        // Errors of finished uploads are reported early, not at the end.
        while !self.receive.is_empty() {
            self.wait_for_part()?;
        }
        let hole = &self.options.hole;
        let range = number * self.part_bytes..(number + 1) * self.part_bytes;
        let filled = hole.end.min(range.end).saturating_sub(hole.start.max(range.start));
        let bytes = Vec::with_capacity(self.part_bytes as usize);
        self.open.insert(number, Part { bytes, filled });
        Ok(())
    }

    /// Starts the upload of a part.
    fn upload(&mut self, number: u64) -> Result<()> {
        let Some(part) = self.open.remove(&number) else { return Ok(()) };
        let (store, send) = (Arc::clone(&self.to.store), self.send.clone());
        let id = self.id.clone().unwrap_or_default();
        let task = runtime::begin(async move {
            let bytes = PutPayload::from(part.bytes);
            let put = || {
                let (store, id, bytes) = (&store, &id, bytes.clone());
                async move { store.parts()?.put_part(&store.key, id, number as usize, bytes).await }
            };
            let done = Tries::of_upload(&store.limits).send(put).await;
            // Another part is begun as soon as this one is reported: its memory must be free by then.
            drop(bytes);
            let _ = send.send((number, done));
        })?;
        self.uploading.insert(number, task);
        Ok(())
    }

    fn wait_for_part(&mut self) -> Result<()> {
        let (number, done) = runtime::receive_or_cancel(&self.receive, &self.cancel)?;
        self.uploading.remove(&number);
        let id = done.map_err(|error| {
            let what = format!("upload part {} of", number + 1);
            self.to.store.tried(&what, true).failed(&error)
        })?;
        self.ids.insert(number, id);
        Ok(())
    }

    /// Uploads the remaining parts, the first part last, and combines all parts to an object.
    ///
    /// # Errors
    /// When a part or the last request fails, or an object has appeared that must not be replaced: the uploaded object does not appear, and
    /// an existing object of the same name stays. If the store no longer answers, the last request may have succeeded nevertheless.
    pub fn finish(mut self) -> Result<()> {
        let Range { start, end } = self.options.hole.clone();
        let hole = if start < self.end { end.min(self.end) - start } else { 0 };
        assert_eq!(self.written + hole, self.end, "all bytes are written, once");
        let rest: Vec<u64> = self.open.keys().copied().filter(|&number| number > 0).collect();
        for number in rest {
            let end = ((number + 1) * self.part_bytes).min(self.end) - number * self.part_bytes;
            if let Some(part) = self.open.get_mut(&number) {
                part.bytes.resize(end as usize, 0);
            }
            self.upload(number)?;
        }
        while !self.uploading.is_empty() {
            self.wait_for_part()?;
        }
        self.upload(0)?;
        while !self.uploading.is_empty() {
            self.wait_for_part()?;
        }
        self.complete()
    }

    fn complete(&mut self) -> Result<()> {
        let now = look(&self.to.store, &self.cancel)?;
        if now.is_some() && !self.options.replaces {
            return Err(Error::target(format!("{} already exists", self.to.name().display()))
                .about(self.to.name())
                .hint("another program made it meanwhile: move it away, or name another object"));
        }
        let (store, id) = (Arc::clone(&self.to.store), self.id.clone().unwrap_or_default());
        let ids: Vec<PartId> = self.ids.values().cloned().collect();
        // The request is not cancelled, because the existence of the object would then be unknown.
        let never = Cancel::new();
        let tries = Tries::of_upload(&store.limits);
        let done = runtime::wait(
            &never,
            tries.send(move || {
                let (store, id, ids) = (Arc::clone(&store), id.clone(), ids.clone());
                async move { store.parts()?.complete_multipart(&store.key, &id, ids).await.map(|_| ()) }
            }),
        )?;
        let Err(error) = done else {
            self.id = None;
            return Ok(());
        };
        // The answer may be lost even though the object is complete.
        let made = look(&self.to.store, &never).ok().flatten();
        let is_new = |made: &ObjectMeta| {
            let before = now.as_ref().map(|old| (&old.e_tag, &old.version));
            made.size == self.end && before != Some((&made.e_tag, &made.version))
        };
        if made.as_ref().is_some_and(is_new) {
            self.id = None;
            return Ok(());
        }
        Err(self.to.store.tried("complete the upload of", true).failed(&error))
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        for task in self.uploading.values() {
            task.abort();
        }
        let Some(id) = self.id.take() else { return };
        let (store, tasks) = (Arc::clone(&self.to.store), std::mem::take(&mut self.uploading));
        let _ = runtime::wait_at_most(ABORTED_WITHIN, async move {
            // A part that arrives after the upload was aborted would stay in the store.
            for task in tasks.into_values() {
                let _ = task.await;
            }
            let abort = || async { store.parts()?.abort_multipart(&store.key, &id).await };
            Tries::new(&store.limits).send(abort).await
        });
    }
}
