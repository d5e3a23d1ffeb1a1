//! An object that is read: all of it, or ranges.

use std::io::Read;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crossbeam_channel::bounded;
use object_store::{GetOptions, GetRange, ObjectMeta, ObjectStoreExt};
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::remote::{Fetched, RemoteFile};

use crate::address::{Address, Kind};
use crate::runtime;
use crate::store::Store;
use crate::stream::{self, Blocks};

/// Bytes that show what a web server can do.
const PROBE_BYTES: u64 = 16;

/// An object as it was when it was opened: what it becomes later is not read.
#[derive(Clone, Debug)]
pub struct Object {
    store: Arc<Store>,
    bytes: u64,
    /// Of this version, if the server says which that is.
    version: Option<String>,
    ranges: bool,
    cancel: Cancel,
}

impl Object {
    /// Finds the object that a URL means. `cancel` ends this, and all reads of it.
    ///
    /// # Errors
    /// When it does not exist, can't be reached or may not be read.
    pub fn open(url: &Path, cancel: &Cancel) -> Result<Object> {
        let store = Store::new(Address::parse(url)?, false)?;
        let is_web = store.address.kind == Kind::Web;
        let (client, key) = (Arc::clone(&store.client), store.key.clone());
        let found = runtime::wait(cancel, async move {
            if !is_web {
                return client.head(&key).await.map(|about| (about, true));
            }
            // Signed URLs are for GET alone.
            let range = Some(GetRange::Bounded(0..PROBE_BYTES));
            match client.get_opts(&key, GetOptions { range, ..GetOptions::default() }).await {
                Ok(got) => Ok((got.meta, true)),
                Err(error) if lacks_ranges(&error) => client.get(&key).await.map(|got| (got.meta, false)),
                Err(error) => Err(error),
            }
        })?;
        let (about, ranges) = found.map_err(|error| store.tried("read", false).failed(&error))?;
        let ObjectMeta { size, e_tag, .. } = about;
        // A weak tag matches nothing.
        let version = e_tag.filter(|tag| !tag.starts_with("W/"));
        Ok(Object { store: Arc::new(store), bytes: size, version, ranges, cancel: cancel.clone() })
    }

    /// One of its ranges, as a future.
    pub(crate) fn get(&self, range: Range<u64>) -> impl Future<Output = Result<Vec<u8>>> + Send + 'static {
        let object = self.clone();
        async move {
            let Object { store, version, .. } = &object;
            let wanted = range.end - range.start;
            if wanted == 0 {
                return Ok(Vec::new());
            }
            let options = GetOptions {
                range: Some(GetRange::Bounded(range)),
                if_match: version.clone(),
                ..GetOptions::default()
            };
            let got = match store.client.get_opts(&store.key, options).await {
                Ok(got) if got.meta.size != object.bytes => return Err(object.changed()),
                Ok(got) => got.bytes().await,
                Err(error) => Err(error),
            };
            let got = got.map_err(|error| store.tried("read", false).failed(&error))?;
            match got.len() as u64 == wanted {
                true => Ok(got.into()),
                false => Err(object.changed()),
            }
        }
    }

    fn changed(&self) -> Error {
        let name = &self.store.address.name;
        self.store
            .tried("read", false)
            .error(format!("{} has changed while it was read", name.display()))
            .hint("run again when no program writes to it")
    }
}

/// Whether a server has answered a request for a range with all of the file, or has no bytes there.
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
        // A server that sends a stream says no size, or zero.
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
            // Nothing waits then: the channel that `done` has is closed.
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
            false => stream::of_all(&self.store, &self.cancel),
        }
    }
}
