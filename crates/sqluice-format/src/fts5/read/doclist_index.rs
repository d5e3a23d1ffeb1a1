//! Parses pages of doclist indexes, which list the pages of a long doclist with their first rowids.

use super::super::page_id;
use super::super::segment::LEAVES_MAX;
use super::{Damage, Fault, Numbers};

/// A page of a doclist index: consecutive pages of the height below, or leaves, each with its first rowid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexPage {
    /// `true` if no page at a greater height lists this page.
    pub is_root: bool,
    /// The number of the first child.
    pub first_child: u32,
    /// The first rowid of each child from the first on; `None` for a leaf on which no rowid starts.
    pub rowids: Vec<Option<i64>>,
}

impl IndexPage {
    /// Returns the `id` in `t_data` of a page of a doclist index. Pages of height 0 list leaves. At each height, the first page has the
    /// number of the leaf with the term, and further pages have the numbers after it.
    pub fn id(segment: u16, height: u32, page: u32) -> i64 {
        page_id(segment, Some(height), page)
    }

    /// Parses the page with this `id`.
    ///
    /// # Errors
    /// If the page is damaged.
    pub fn parse(id: i64, block: &[u8]) -> Result<IndexPage, Damage> {
        let mut numbers = Numbers::new(id, block, 0);
        let kind = numbers.at_most(1)?;
        let first_child = numbers.at_most(LEAVES_MAX.into())? as u32;
        let mut rowid = numbers.next()? as i64;
        let mut rowids = vec![Some(rowid)];
        while !numbers.is_at_end() {
            let place = numbers;
            let delta = numbers.next()?;
            if delta == 0 {
                rowids.push(None);
                continue;
            }
            let next = rowid.wrapping_add(delta as i64);
            if next <= rowid {
                return Err(place.damage(Fault::RowOrder));
            }
            rowid = next;
            rowids.push(Some(rowid));
        }
        Ok(IndexPage { is_root: kind == 0, first_child, rowids })
    }
}
