//! An iterator over all blobs in the order of their keys.

use std::collections::VecDeque;

use sqluice_core::error::Result;

use super::failed;
use super::pool::Pool;
use super::reader::{Key, take};
use crate::deflate::Inflater;

/// The number of bytes of keys and blobs after which the iterator stops reading ahead.
const AHEAD_BYTES: usize = 1 << 20;

/// An iterator over keys and blobs, in the order of the keys' bytes. It reads about 1 MiB ahead, or a single larger blob. A change made
/// during the iteration may or may not be seen, but no blob is a mix of an old and a new one.
pub struct Iter<'s> {
    pool: &'s Pool,
    ahead: VecDeque<(Vec<u8>, Vec<u8>)>,
    /// The last key that was read; `None` before the first key.
    after: Option<Vec<u8>>,
    done: bool,
    inflater: Option<Inflater>,
}

impl<'s> Iter<'s> {
    pub(super) fn new(pool: &'s Pool, after: Option<Vec<u8>>) -> Iter<'s> {
        Iter { pool, ahead: VecDeque::new(), after, done: false, inflater: None }
    }

    fn read_ahead(&mut self) -> Result<()> {
        let layout = self.pool.layout();
        let (ahead, after, inflater) = (&mut self.ahead, &mut self.after, &mut self.inflater);
        self.done = self.pool.with(|reader| {
            let path = self.pool.path();
            let failed = |error| failed(error, "read", path);
            let mut walk =
                reader.connection()?.prepare_cached(layout.walk(after.is_none())).map_err(failed)?;
            let from = after.clone().unwrap_or_default();
            let mut rows = walk.query([Key(&from)]).map_err(failed)?;
            let mut bytes = 0;
            while let Some(row) = rows.next().map_err(failed)? {
                let key = row.get_ref(0).map_err(failed)?.as_bytes().unwrap_or_default().to_vec();
                *after = Some(key.clone());
                let mut blob = Vec::new();
                bytes += key.len();
                if take(row, layout, inflater, &mut blob)?.is_some() {
                    bytes += blob.len();
                    ahead.push_back((key, blob));
                }
                if bytes >= AHEAD_BYTES {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        Ok(())
    }
}

impl Iterator for Iter<'_> {
    type Item = Result<(Vec<u8>, Vec<u8>)>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ahead.is_empty() && !self.done {
            if let Err(error) = self.read_ahead() {
                self.done = true;
                return Some(Err(error));
            }
        }
        self.ahead.pop_front().map(Ok)
    }
}
