//! Leaves that no tree has, in groups: those below one interior page are a group, any other leaf is one by itself.

use std::collections::BTreeMap;

use sqluice_core::error::Result;
use sqluice_format::page::PageKind;
use sqluice_format::salvage::{Salvage, Types};

use super::file::DamagedFile;
use super::survey::PageFacts;

/// Leaves that belong together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrphanGroup {
    /// The leaves.
    pub leaves: Vec<u32>,
    /// The first and the last rowid.
    pub rowids: (i64, i64),
    /// The first and the last rowid of each leaf. Between them are rowids of leaves that lie elsewhere.
    pub spans: Vec<(i64, i64)>,
}

impl OrphanGroup {
    /// Returns each leaf as a group by itself.
    pub fn singles(&self) -> Vec<OrphanGroup> {
        let leaves = self.leaves.iter().zip(&self.spans);
        leaves
            .map(|(leaf, span)| OrphanGroup { leaves: vec![*leaf], rowids: *span, spans: vec![*span] })
            .collect()
    }

    /// Removes a leaf.
    pub fn remove(&mut self, leaf: u32) {
        let Some(at) = self.leaves.iter().position(|other| *other == leaf) else { return };
        self.leaves.remove(at);
        self.spans.remove(at);
        let first = self.spans.iter().map(|span| span.0).min();
        let last = self.spans.iter().map(|span| span.1).max();
        self.rowids = (first.unwrap_or(0), last.unwrap_or(0));
    }
}

/// Returns the groups of table leaves that `is_candidate` accepts, in the order of their pages.
///
/// # Errors
/// When the file can't be read.
pub fn groups(
    file: &DamagedFile,
    facts: &[PageFacts],
    is_candidate: impl Fn(u32) -> bool,
) -> Result<Vec<OrphanGroup>> {
    let about = |page: u32| &facts[page as usize - 1];
    let mut parent: BTreeMap<u32, u32> = BTreeMap::new();
    let (mut bytes, mut salvage, mut types) =
        (vec![0; file.geometry().page_bytes()], Salvage::default(), Types::new());
    let candidates: Vec<u32> = (1..=facts.len() as u32).filter(|page| is_candidate(*page)).collect();
    let is_known = |page: u32| candidates.binary_search(&page).is_ok();
    for &page in &candidates {
        if about(page).kind != Some(PageKind::InteriorTable) || !about(page).is_whole {
            continue;
        }
        file.read(page, &mut bytes)?;
        salvage.read(&bytes, page, file.geometry(), &mut types);
        let mut low = None;
        for &(child, high) in &salvage.children {
            let fits = is_known(child)
                && about(child).rowids.is_none_or(|rowids| super::owners::fills(rowids, (low, high)));
            if fits && child != page {
                parent.entry(child).or_insert(page);
            }
            low = high;
        }
    }
    // A circle of pages has no top: its pages are groups by themselves.
    let top = |page: u32| {
        let mut at = page;
        for _ in 0..40 {
            match parent.get(&at) {
                Some(&above) => at = above,
                None => return at,
            }
        }
        page
    };
    let mut groups: BTreeMap<u32, OrphanGroup> = BTreeMap::new();
    for &page in &candidates {
        let Some((first, last)) =
            about(page).rowids.filter(|_| about(page).kind == Some(PageKind::LeafTable))
        else {
            continue;
        };
        let group = groups
            .entry(top(page))
            .or_insert_with(|| OrphanGroup { rowids: (first, last), ..OrphanGroup::default() });
        group.leaves.push(page);
        group.spans.push((first, last));
        group.rowids = (group.rowids.0.min(first), group.rowids.1.max(last));
    }
    Ok(groups.into_values().collect())
}
