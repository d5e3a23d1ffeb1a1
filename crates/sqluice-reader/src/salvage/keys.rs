//! The keys of pages of WITHOUT ROWID tables and of indexes: which page can have which place in a tree.
//!
//! ```text
//!  interior page   … | key 1 |          | key 2 | …
//!                         └── child ────┘            has keys from key 1 to key 2
//! ```
//!
//! Keys are normalized, and only their first bytes are kept: keys that begin alike count as equal, and no page is refused for them.

use std::sync::Arc;

use sqluice_format::check::spec::Table;
use sqluice_format::key::KeyOrder;
use sqluice_format::page::Geometry;
use sqluice_format::record;
use sqluice_format::salvage::{Salvage, Types, read_types};
use sqluice_format::value::{SerialType, Value};
use sqluice_format::varint;
use sqluice_format::view::PageView;

/// The number of bytes of a key that are kept.
const KEY_BYTES_MAX: usize = 64;

/// The first bytes of a normalized key.
pub type PageKey = Arc<[u8]>;

/// The keys that a page can have, with both ends; an end that is not known is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyRange {
    /// The least key.
    pub low: Option<PageKey>,
    /// The largest key.
    pub high: Option<PageKey>,
}

impl KeyRange {
    /// Returns `true` if the range has a key.
    pub fn has(&self, key: &[u8]) -> bool {
        self.low.as_deref().is_none_or(|low| low <= key)
            && self.high.as_deref().is_none_or(|high| key <= high)
    }

    /// Returns `true` if every key is in the range.
    pub fn is_all(&self) -> bool {
        self.low.is_none() && self.high.is_none()
    }
}

/// Returns the order of a WITHOUT ROWID table's rows, if keys can be compared by their bytes on the page.
pub fn order_of(table: &Table) -> Option<&KeyOrder> {
    let key = table.key.as_ref().filter(|key| key.converted.is_none())?;
    key.order.as_ref()
}

/// Returns the first bytes of the key of a row whose record begins with `start`. Returns `None` if `start` does not have the columns of the
/// key.
pub fn key_of(order: &KeyOrder, start: &[u8], payload_bytes: usize, types: &mut Types) -> Option<PageKey> {
    let mut key = full_key_of(order, start, payload_bytes, types)?;
    key.truncate(KEY_BYTES_MAX);
    Some(key.into())
}

/// Returns the normalized key of a row whose record begins with `start`, as [`key_of`].
pub fn full_key_of(
    order: &KeyOrder,
    start: &[u8],
    payload_bytes: usize,
    types: &mut Types,
) -> Option<Vec<u8>> {
    if !read_types(start, payload_bytes, types)? || types.len() < order.columns().len() {
        return None;
    }
    let (header, _) = varint::read(start)?;
    let mut body = start.get(header as usize..)?;
    let mut values = Vec::with_capacity(order.columns().len());
    for serial in types.iter().take(order.columns().len()) {
        let (content, rest) = body.split_at_checked(SerialType(*serial).content_bytes()? as usize)?;
        body = rest;
        values.push(record::value(SerialType(*serial), content)?);
    }
    key_of_record(order, &values)
}

/// Returns the normalized key of a record with these values. Returns `None` if a value is NaN, as damaged floats may be.
pub fn key_of_record(order: &KeyOrder, values: &[Value<'_>]) -> Option<Vec<u8>> {
    if values.iter().any(|value| matches!(value, Value::Real(real) if real.is_nan())) {
        return None;
    }
    let (mut of_key, mut key) = (Vec::new(), Vec::new());
    record::encode(values, &mut of_key);
    order.normalize(&of_key, &mut key);
    Some(key)
}

/// Returns the keys of a page's entries, by the numbers of their cells.
pub fn keys_of(order: &KeyOrder, page: &[u8], salvage: &Salvage, types: &mut Types) -> Vec<(usize, PageKey)> {
    let entries = salvage.entries.iter();
    let with_keys = entries.filter_map(|entry| {
        let start = &page[entry.cell.local.clone()];
        key_of(order, start, entry.cell.payload_bytes, types).map(|key| (entry.number, key))
    });
    with_keys.collect()
}

/// Returns the relation of a page's keys to the range that its parent says: `Some(true)` if all are in it, or most of a damaged page,
/// `Some(false)` if none is, and `None` if some are.
pub fn fits_keys(keys: &[(usize, PageKey)], range: &KeyRange, is_whole: bool) -> Option<bool> {
    let within = keys.iter().filter(|(_, key)| range.has(key)).count();
    match within {
        _ if keys.is_empty() || within == keys.len() => Some(true),
        0 => Some(false),
        // A damaged key is no reason to doubt a page.
        _ if !is_whole && within * 2 > keys.len() => Some(true),
        _ => None,
    }
}

/// Returns `true` if both the first and the last entry of a page have another number of fields than the entries of the index.
pub fn is_misfit(page: &[u8], number: u32, geometry: Geometry, entries: &Table, types: &mut Types) -> bool {
    let Some(view) = PageView::new(page, number, geometry) else { return false };
    let Some(last) = view.cells().checked_sub(1) else { return false };
    [0, last].into_iter().all(|index| {
        view.entry(index).is_some_and(|cell| {
            let is_read = read_types(view.bytes(cell.local.clone()), cell.payload_bytes, types);
            is_read == Some(true) && types.len() != entries.fields.len()
        })
    })
}

/// Returns `true` if neither the first nor the last key of a leaf of an index is among those that its parent says.
pub fn is_apart(
    page: &[u8],
    number: u32,
    geometry: Geometry,
    about: (&KeyRange, &KeyOrder),
    types: &mut Types,
) -> bool {
    let Some(view) = PageView::new(page, number, geometry) else { return false };
    let Some(last) = view.cells().checked_sub(1) else { return false };
    let (range, order) = about;
    [0, last].into_iter().all(|index| {
        view.entry(index).is_some_and(|cell| {
            let key = key_of(order, view.bytes(cell.local.clone()), cell.payload_bytes, types);
            key.is_some_and(|key| !range.has(&key))
        })
    })
}
