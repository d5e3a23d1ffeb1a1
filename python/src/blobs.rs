//! A store of blobs. `sqluice._stores.BlobStore` wraps it as a mapping.

use std::path::PathBuf;
use std::sync::{PoisonError, RwLock};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use sqluice::blob_store::{BlobStore, Durability, Journal, Options};
use sqluice::error::{Error, Result};

use crate::errors::raised;
use crate::options::{choice, page_size, seconds};

/// The number of bytes of keys and blobs with which the result of [`Blobs::page`] ends.
const PAGE_BYTES: usize = 1 << 20;

/// A key and its blob.
type Pair<'py> = (Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// An open store; `None` once it is closed.
#[pyclass(frozen, module = "sqluice._sqluice")]
pub(crate) struct Blobs(RwLock<Option<BlobStore>>);

#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct BlobOptions {
    read_only: bool,
    shared: bool,
    cache: usize,
    durability: String,
    journal: String,
    page_size: Option<u32>,
    busy_timeout: f64,
}

impl BlobOptions {
    fn options(&self) -> Result<Options> {
        let options = BlobStore::options()
            .read_only(self.read_only)
            .shared(self.shared)
            .cache_bytes(self.cache)
            .busy_timeout(seconds(self.busy_timeout)?)
            .durability(match self.durability.as_str() {
                "full" => Durability::Full,
                "normal" => Durability::Normal,
                "off" => Durability::Off,
                other => return Err(choice("durability", other, "full, normal or off")),
            })
            .journal(match self.journal.as_str() {
                "delete" => Journal::Delete,
                "wal" => Journal::Wal,
                other => return Err(choice("journal", other, "delete or wal")),
            });
        match self.page_size {
            None => Ok(options),
            Some(bytes) => Ok(options.page_size(page_size(bytes)?)),
        }
    }
}

impl Blobs {
    /// Runs `work` with the store, without the GIL; an error if the store is closed.
    fn with<T: Send>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&BlobStore) -> Result<T> + Send,
    ) -> PyResult<T> {
        let done = py.detach(|| match &*self.0.read().unwrap_or_else(PoisonError::into_inner) {
            Some(store) => work(store),
            None => Err(Error::usage("the store is closed").hint("open the store again")),
        });
        done.map_err(|error| raised(py, &error))
    }
}

#[pymethods]
impl Blobs {
    #[new]
    fn open(py: Python<'_>, path: PathBuf, options: BlobOptions) -> PyResult<Blobs> {
        let store = py.detach(|| options.options()?.open(path));
        Ok(Blobs(RwLock::new(Some(store.map_err(|error| raised(py, &error))?))))
    }

    fn close(&self, py: Python<'_>) {
        py.detach(|| *self.0.write().unwrap_or_else(PoisonError::into_inner) = None);
    }

    fn get<'py>(&self, py: Python<'py>, key: PyBackedBytes) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let blob = self.with(py, |store| store.get(&*key))?;
        Ok(blob.map(|blob| PyBytes::new(py, &blob)))
    }

    fn range<'py>(
        &self,
        py: Python<'py>,
        key: PyBackedBytes,
        start: u64,
        end: u64,
    ) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let bytes = self.with(py, |store| store.range(&*key, start..end))?;
        Ok(bytes.map(|bytes| PyBytes::new(py, &bytes)))
    }

    fn size(&self, py: Python<'_>, key: PyBackedBytes) -> PyResult<Option<u64>> {
        self.with(py, |store| store.len(&*key))
    }

    fn count(&self, py: Python<'_>) -> PyResult<u64> {
        self.with(py, BlobStore::count)
    }

    fn put_many(&self, py: Python<'_>, blobs: Vec<(PyBackedBytes, PyBackedBytes)>) -> PyResult<u64> {
        self.with(py, |store| store.put_many(blobs.iter().map(|(key, blob)| (&**key, &**blob))))
    }

    fn remove_many(&self, py: Python<'_>, keys: Vec<PyBackedBytes>) -> PyResult<u64> {
        self.with(py, |store| store.remove_many(keys.iter().map(|key| &**key)))
    }

    /// Returns keys and blobs in the order of the keys, about [`PAGE_BYTES`] of them: those that follow the key `after`, or from the
    /// first key on if `after` is `None`.
    fn page<'py>(&self, py: Python<'py>, after: Option<PyBackedBytes>) -> PyResult<Vec<Pair<'py>>> {
        let page = self.with(py, |store| {
            let pairs = match &after {
                None => store.iter(),
                Some(key) => store.iter_after(&**key),
            };
            let mut bytes = 0;
            let mut page = Vec::new();
            for pair in pairs {
                let (key, blob) = pair?;
                bytes += key.len() + blob.len();
                page.push((key, blob));
                if bytes >= PAGE_BYTES {
                    break;
                }
            }
            Ok(page)
        })?;
        let bytes = |bytes: Vec<u8>| PyBytes::new(py, &bytes);
        Ok(page.into_iter().map(|(key, blob)| (bytes(key), bytes(blob))).collect())
    }
}
