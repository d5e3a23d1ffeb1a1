//! An object that is read entirely or in ranges. All reads get the version that was opened, or fail.

use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crossbeam_channel::bounded;
use futures_util::StreamExt;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStoreExt};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::remote::{Fetched, RemoteFile, RequestLimits};

use crate::address::{Address, Kind};
use crate::failure::NO_LENGTH;
use crate::runtime;
use crate::store::{Store, Version};
use crate::stream::{self, Blocks};
use crate::tries::{self, Tries};

/// The number of bytes of the first request to a web server. The answer shows whether the server supports ranges.
const PROBE_BYTES: u64 = 16;

/// An object as it was when it was opened: later versions are never read.
#[derive(Clone, Debug)]
pub struct Object {
    store: Arc<Store>,
    bytes: u64,
    version: Version,
    ranges: bool,
    cancel: Cancel,
}

impl Object {
    /// Opens the object at a URL. `cancel` ends this call and all reads of the object.
    ///
    /// # Errors
    /// When the object does not exist, can't be reached or may not be read.
    pub fn open(url: &Path, limits: &RequestLimits, cancel: &Cancel) -> Result<Object> {
        let store = Arc::new(Store::new(Address::parse(url)?, false, limits)?);
        let looking = Arc::clone(&store);
        let look = move || look(Arc::clone(&looking));
        let found = runtime::wait(cancel, Tries::new(limits).send(look))?;
        let (about, ranges) = found.map_err(|error| store.tried("read", false).failed(&error))?;
        let (bytes, version) = (about.size, Version::of(about));
        Ok(Object { store, bytes, version, ranges, cancel: cancel.clone() })
    }

    /// Returns a future for a range. A request that breaks is continued where it broke off.
    pub(crate) fn get(&self, range: Range<u64>) -> impl Future<Output = Result<Vec<u8>>> + Send + 'static {
        let object = self.clone();
        async move {
            let wanted = (range.end - range.start) as usize;
            let mut got = Vec::with_capacity(wanted);
            let mut tries = Tries::new(&object.store.limits);
            while got.len() < wanted {
                if let Err(error) = object.append(&range, &mut got, &mut tries).await? {
                    let waited = tries.wait(error).await;
                    waited.map_err(|error| object.store.tried("read", false).failed(&error))?;
                }
            }
            Ok(got)
        }
    }

    /// Appends the missing bytes of a range. The inner result is an error if the answer ended early.
    async fn append(
        &self,
        range: &Range<u64>,
        got: &mut Vec<u8>,
        tries: &mut Tries,
    ) -> Result<object_store::Result<()>> {
        let wanted = range.end - range.start;
        let options = GetOptions {
            range: Some(GetRange::Bounded(range.start + got.len() as u64..range.end)),
            if_match: self.version.strong_tag(),
            ..GetOptions::default()
        };
        let answer = tries.step(self.store.client.get_opts(&self.store.key, options)).await.flatten();
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Ok(Err(error)),
        };
        if answer.meta.size != self.bytes || !self.version.may_be(&Version::of(answer.meta.clone())) {
            return Err(self.changed());
        }
        let mut pieces = answer.into_stream();
        loop {
            let piece = match tries.step(pieces.next()).await.and_then(Option::transpose) {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(error) => return Ok(Err(error)),
            };
            if got.len() as u64 + piece.len() as u64 > wanted {
                return Err(self.changed());
            }
            got.extend_from_slice(&piece);
            tries.arrived(piece.len() as u64);
        }
        match got.len() as u64 == wanted {
            true => Ok(Ok(())),
            false => Ok(Err(tries::cut(got.len() as u64, wanted))),
        }
    }

    fn changed(&self) -> Error {
        self.store.changed()
    }
}

/// Requests the size and version of an object. Web servers, and stores that do not report the size, get a GET request for a few bytes,
/// because signed URLs permit GET only.
async fn look(store: Arc<Store>) -> object_store::Result<(ObjectMeta, bool)> {
    let Store { client, key, .. } = &*store;
    if store.address.kind != Kind::Web {
        match client.head(key).await {
            Err(error) if error.to_string().contains(NO_LENGTH) => {}
            found => return found.map(|about| (about, true)),
        }
    }
    let range = Some(GetRange::Bounded(0..PROBE_BYTES));
    match client.get_opts(key, GetOptions { range, ..GetOptions::default() }).await {
        Ok(got) => Ok((got.meta, true)),
        Err(error) if lacks_ranges(&error) => client.get(key).await.map(|got| (got.meta, false)),
        Err(error) => Err(error),
    }
}

/// Returns `true` if an error says that the server can't answer a request for a range: it sent the entire file, has no bytes in the range,
/// or does not support such a request.
fn lacks_ranges(error: &object_store::Error) -> bool {
    let text = error.to_string();
    ["Range request not supported", "non-partial", "status code: 416", "status code: 405", "status code: 501"]
        .iter()
        .any(|word| text.contains(word))
}

impl RemoteFile for Object {
    fn name(&self) -> &Path {
        &self.store.address.name
    }

    fn bytes(&self) -> Option<u64> {
        // A server that generates its answer reports no size, or a size of zero.
        Some(self.bytes).filter(|&bytes| self.ranges || bytes > 0)
    }

    fn has_ranges(&self) -> bool {
        self.ranges
    }

    fn check(&self) -> Result<()> {
        self.cancel.check()
    }

    fn fetch(&self, range: Range<u64>, done: Fetched) {
        let get = self.get(range);
        if let Err(error) = runtime::begin(async move { done(get.await) }).map(|_| ()) {
            // The error has no receiver: the channel that `done` sends to is closed, so the waiting reader gets an error.
            drop(error);
        }
    }

    fn read(&self, range: Range<u64>) -> Result<Vec<u8>> {
        let (send, receive) = bounded(1);
        self.fetch(range, Box::new(move |read| drop(send.send(read))));
        runtime::receive_or_cancel(&receive, &self.cancel)?
    }

    fn stream(&self) -> Result<Box<dyn Read + Send>> {
        match self.ranges {
            true => {
                let object = self.clone();
                let fetch = Box::new(move |range, done| object.fetch(range, done));
                Ok(Box::new(Blocks::new(fetch, self.bytes, &self.cancel)))
            }
            false => stream::of_all(&self.store, &self.version, &self.cancel),
        }
    }
}
