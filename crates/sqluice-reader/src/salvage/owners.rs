//! The trees of a damaged file: which page belongs to which tree.
//!
//! ```text
//!  root ── interior page ──┬── leaf with rowids between the keys          owned
//!                          ├── leaf with other rowids                     owned, unless another tree has a better claim
//!                          └── no page of such a tree                     a gap: rowids that were on lost pages
//! ```
//!
//! An interior page may be damaged, so it only *claims* the pages that it names. If several trees claim a page, the tree with the best
//! claim gets it: the rowids fit the keys of the parent, and the parent has no fault. All leaves of a tree have the same depth, so the
//! children of an interior page are all leaves, or all interior pages. If the children are mixed, those of the rarer kind are in wrong
//! places; in a table, only children whose rowids fit are counted for this.

use std::collections::{BTreeSet, HashMap};

use sqluice_core::error::Result;
use sqluice_core::progress::Cancel;
use sqluice_format::key::KeyOrder;
use sqluice_format::page::{Geometry, PageKind};
use sqluice_format::salvage::{Salvage, Types};

use super::file::DamagedFile;
use super::keys::{KeyRange, fits_keys, keys_of};
use super::survey::PageFacts;

/// The largest depth of a tree. A page has at least two children, except in damaged files.
const DEPTH_MAX: usize = 40;

/// The part of a score for a parent without a fault.
const WHOLE: u8 = 2;

/// The part of a score for rowids that fit.
const WITHIN: u8 = 4;

/// The part of a score for a range of rowids with both ends.
const BOUNDED: u8 = 8;

/// The part of a score for a last rowid that is the key of the parent.
const EXACT: u8 = 16;

/// The root of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root<'a> {
    /// The root page.
    pub page: u32,
    /// `true` if the tree is an index or a WITHOUT ROWID table.
    pub is_index: bool,
    /// The order of the rows of a WITHOUT ROWID table, if it is known.
    pub order: Option<&'a KeyOrder>,
}

/// The range of rowids that a lost page had: greater than the first number, and at most the second. An unknown end is `None`.
pub type Gap = (Option<i64>, Option<i64>);

/// A page that a tree names, and that is lost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostPage {
    /// The number of the tree.
    pub tree: usize,
    /// The page.
    pub page: u32,
    /// The reason.
    pub why: &'static str,
    /// The rowids that the page had, in a rowid table.
    pub gap: Gap,
    /// `true` if the key after the page is damaged. The gap is then the whole range of the parent, so other pages lie in it, too.
    pub is_wide: bool,
    /// The keys that the page had, in a WITHOUT ROWID table.
    pub keys: KeyRange,
}

/// The owners of pages.
#[derive(Debug, Default)]
pub struct Owners {
    /// For each page, the number of its tree, from 1; 0 if no tree has the page.
    owner: Vec<u32>,
    score: Vec<u8>,
    /// For each page, the range of rowids that its parent states: greater than the first number, and at most the second.
    ranges: Vec<(i64, i64)>,
    /// The ranges of keys that parents state, by the numbers of the child pages: for indexes and WITHOUT ROWID tables.
    key_ranges: HashMap<u32, KeyRange>,
    /// The other trees that claim a page, each with the score of its claim.
    rivals: HashMap<u32, Vec<(u32, u8)>>,
    /// The trees that may lack pages, because an interior page has a fault, or because the tree names the same page twice.
    pub faulty: BTreeSet<usize>,
    /// The lost pages of all trees.
    pub lost: Vec<LostPage>,
    /// `true` if leaves of a tree have different depths.
    pub is_uneven: bool,
}

/// A claim to a page.
#[derive(Clone)]
struct Claim {
    page: u32,
    gap: Gap,
    is_wide: bool,
    keys: KeyRange,
    is_parent_whole: bool,
    depth: usize,
    /// The place of the page among its siblings.
    place: Place,
}

/// The relation of a page's kind to those of its siblings.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Most siblings are of the same kind, leaf or interior page.
    Alike,
    /// As many siblings are of the other kind.
    Unknown,
    /// Most siblings are of the other kind.
    Wrong,
}

/// Returns `true` if a page can't be a page of a tree: the page of SQLite's locks, or a page of the pointer map.
pub fn is_special(number: u32, geometry: Geometry, has_pointer_map: bool) -> bool {
    if number == geometry.lock_page() {
        return true;
    }
    if !has_pointer_map || number < 2 {
        return false;
    }
    let per_map = geometry.usable_bytes() as u32 / 5 + 1;
    let map = (number - 2) / per_map * per_map + 2;
    number == if map == geometry.lock_page() { map + 1 } else { map }
}

impl Owners {
    /// Follows the trees from their roots.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn find(
        file: &DamagedFile,
        facts: &[PageFacts],
        roots: &[Root<'_>],
        has_pointer_map: bool,
        cancel: &Cancel,
    ) -> Result<Owners> {
        let mut owners = Owners {
            owner: vec![0; facts.len()],
            score: vec![0; facts.len()],
            ranges: vec![(i64::MIN, i64::MAX); facts.len()],
            ..Owners::default()
        };
        for (tree, root) in roots.iter().enumerate() {
            cancel.check()?;
            owners.follow(file, facts, (tree, *root), has_pointer_map)?;
        }
        Ok(owners)
    }

    /// Returns the tree that has a page.
    pub fn of(&self, page: u32) -> Option<usize> {
        let owner = self.owner.get(page as usize - 1).copied()?;
        (owner as usize).checked_sub(1)
    }

    /// Returns `true` if the rowids of a page are those that its parent says.
    pub fn is_within(&self, page: u32) -> bool {
        self.score.get(page as usize - 1).is_some_and(|score| score & WITHIN != 0)
    }

    /// Returns `true` if the parent of a page has no fault.
    pub fn is_parent_whole(&self, page: u32) -> bool {
        self.score(page) & WHOLE != 0
    }

    /// Returns how good the claim to a page is.
    pub fn score(&self, page: u32) -> u8 {
        self.score.get(page as usize - 1).copied().unwrap_or(0)
    }

    /// Returns the range of rowids that the parent of a page states: greater than the first number, and at most the second. An end that is
    /// not stated is the least or the largest rowid.
    pub fn range(&self, page: u32) -> (i64, i64) {
        self.ranges.get(page as usize - 1).copied().unwrap_or((i64::MIN, i64::MAX))
    }

    /// Returns `true` if the parent of a page says both ends of its rowids or keys.
    pub fn is_bounded(&self, page: u32) -> bool {
        let (low, high) = self.range(page);
        let keys = self.key_ranges.get(&page);
        low != i64::MIN && high != i64::MAX
            || keys.is_some_and(|keys| keys.low.is_some() && keys.high.is_some())
    }

    /// Adds a page that a tree names to the lost pages, with the rowids and the keys that its parent says.
    pub fn lose(&mut self, page: u32, tree: usize, why: &'static str) {
        let (low, high) = self.range(page);
        let gap = (Some(low).filter(|low| *low != i64::MIN), Some(high).filter(|high| *high != i64::MAX));
        let keys = self.key_ranges.get(&page).cloned().unwrap_or_default();
        self.lost.push(LostPage { tree, page, why, gap, is_wide: false, keys });
    }

    /// Returns the keys that the parent of a page of a WITHOUT ROWID table says.
    pub fn key_range(&self, page: u32) -> Option<&KeyRange> {
        self.key_ranges.get(&page)
    }

    /// Returns the other trees that claim a page, each with the score of its claim.
    pub fn rivals(&self, page: u32) -> impl Iterator<Item = (usize, u8)> {
        self.rivals.get(&page).into_iter().flatten().map(|(tree, score)| (*tree as usize - 1, *score))
    }

    /// Gives a page to a tree, or to none.
    pub fn give(&mut self, page: u32, tree: Option<usize>) {
        self.owner[page as usize - 1] = tree.map_or(0, |tree| tree as u32 + 1);
    }

    fn follow(
        &mut self,
        file: &DamagedFile,
        facts: &[PageFacts],
        (tree, root): (usize, Root<'_>),
        has_pointer_map: bool,
    ) -> Result<()> {
        let geometry = file.geometry();
        let (mut page, mut salvage, mut types) =
            (vec![0; geometry.page_bytes()], Salvage::default(), Types::new());
        let first = Claim {
            page: root.page,
            gap: (None, None),
            is_wide: false,
            keys: KeyRange::default(),
            is_parent_whole: true,
            depth: 0,
            place: Place::Alike,
        };
        let mut claims = vec![first];
        let mut leaf_depth = None;
        while let Some(claim) = claims.pop() {
            let lose = |why| LostPage {
                tree,
                page: claim.page,
                why,
                gap: claim.gap,
                is_wide: claim.is_wide,
                keys: claim.keys.clone(),
            };
            let Some(about) = (claim.page as usize).checked_sub(1).and_then(|at| facts.get(at)) else {
                self.lost.push(lose("the file has no such page"));
                continue;
            };
            if is_special(claim.page, geometry, has_pointer_map)
                || claim.page == 1 && root.page != 1
                || claim.depth > DEPTH_MAX
            {
                self.lost.push(lose("a tree can't have this page"));
                continue;
            }
            let is_interior = match (about.kind, root.is_index) {
                (Some(PageKind::LeafTable), false) | (Some(PageKind::LeafIndex), true) => false,
                (Some(PageKind::InteriorTable), false) | (Some(PageKind::InteriorIndex), true) => true,
                (Some(_), _) => {
                    self.lost.push(lose("it is a page of another kind"));
                    continue;
                }
                (None, _) if about.is_zero => {
                    self.lost.push(lose("all its bytes are zeros"));
                    continue;
                }
                (None, _) => {
                    self.lost.push(lose("it is not a page of a tree"));
                    continue;
                }
            };
            if claim.place == Place::Wrong {
                self.lost.push(lose("its depth differs from that of its siblings"));
                continue;
            }
            let mut fit = fit(about.rowids, claim.gap);
            // If the rows are few, a row with a damaged rowid may count as the one that is in order.
            if fit == Fit::Apart && !is_interior && !about.is_whole {
                file.read(claim.page, &mut page)?;
                salvage.read(&page, claim.page, geometry, &mut types);
                let rowids = salvage.entries.iter().map(|entry| entry.cell.rowid);
                let within = rowids.filter(|rowid| fills((*rowid, *rowid), claim.gap)).count();
                if within > 0 && within * 2 >= salvage.entries.len() {
                    fit = Fit::Overlapping;
                }
            }
            // The parent is sound, but none of the rowids is in the range that it states: so another page has taken the place of the child.
            // This also holds for an interior page, whose children then have rows of other tables.
            if fit == Fit::Apart && claim.is_parent_whole && (!is_interior || about.is_whole) {
                self.lost.push(lose("it has other rows than its parent says"));
                continue;
            }
            let mut keys = Vec::new();
            let mut is_among = true;
            if is_interior {
                file.read(claim.page, &mut page)?;
                salvage.read(&page, claim.page, geometry, &mut types);
                keys = root.order.map_or_else(Vec::new, |order| keys_of(order, &page, &salvage, &mut types));
                let fits = fits_keys(&keys, &claim.keys, about.is_whole);
                if fits == Some(false) && claim.is_parent_whole && about.is_whole {
                    self.lost.push(lose("it has other keys than its parent says"));
                    continue;
                }
                is_among = fits == Some(true);
            }
            let fit = if is_among && claim.place == Place::Alike { fit } else { Fit::Overlapping };
            let is_bounded = claim.gap.0.is_some() && claim.gap.1.is_some();
            let score = 1
                + WHOLE * u8::from(claim.is_parent_whole)
                + WITHIN * u8::from(fit == Fit::Within)
                + BOUNDED * u8::from(fit == Fit::Within && is_bounded)
                + EXACT * u8::from(about.rowids.is_some_and(|(_, last)| claim.gap.1 == Some(last)));
            if !self.claim(claim.page, tree, score) {
                if self.of(claim.page) == Some(tree) {
                    self.lost.push(lose("another page names the same page"));
                    self.faulty.insert(tree);
                }
                continue;
            }
            self.ranges[claim.page as usize - 1] =
                (claim.gap.0.unwrap_or(i64::MIN), claim.gap.1.unwrap_or(i64::MAX));
            match claim.keys.is_all() {
                true => self.key_ranges.remove(&claim.page),
                false => self.key_ranges.insert(claim.page, claim.keys.clone()),
            };
            if !is_interior {
                self.is_uneven |= leaf_depth.is_some_and(|depth| depth != claim.depth);
                leaf_depth = Some(claim.depth);
                continue;
            }
            if !salvage.is_whole {
                self.faulty.insert(tree);
            }
            let is_leaf = |child: u32| {
                let kind = facts.get((child as usize).checked_sub(1)?)?.kind?;
                (kind.is_index() == root.is_index).then_some(kind.is_leaf())
            };
            // Most children decide which kind, leaf or interior page, is right. A child of a table whose rowids do not fit is in the wrong
            // place anyway, so it is not counted.
            let (mut leaves, mut interiors, mut low) = (0, 0, claim.gap.0);
            for &(child, key) in &salvage.children {
                let gap = (low, key.or(claim.gap.1));
                low = key.or(low);
                let rowids = (child as usize).checked_sub(1).and_then(|at| facts.get(at)?.rowids);
                match is_leaf(child) {
                    Some(is_leaf) if root.is_index || self::fit(rowids, gap) == Fit::Within => {
                        *(if is_leaf { &mut leaves } else { &mut interiors }) += 1;
                    }
                    _ => {}
                }
            }
            let place = |child: u32| match is_leaf(child) {
                // Children that a damaged page names may be none of its own.
                _ if !salvage.is_whole => Place::Alike,
                None => Place::Alike,
                Some(_) if leaves == interiors => Place::Unknown,
                Some(is_leaf) if is_leaf == (leaves > interiors) => Place::Alike,
                Some(_) => Place::Wrong,
            };
            let mut low = claim.gap.0;
            let mut low_key = claim.keys.low.clone();
            for (number, &(child, key)) in salvage.children.iter().enumerate() {
                let high = match key {
                    Some(key) => Some(claim.gap.1.map_or(key, |high| key.min(high))),
                    None => claim.gap.1,
                };
                // Keys ascend. So a key that is not greater than the key before is damaged, and does not bound the rowids of its page.
                let is_wide = key.is_some_and(|key| low.is_some_and(|low| key <= low)) && !root.is_index;
                let gap = match (root.is_index, is_wide) {
                    (true, _) => (None, None),
                    (false, true) => claim.gap,
                    (false, false) => (low, high),
                };
                // A page with a fault may lack children, so that its keys are not next to the children that they divide.
                let range = match salvage.is_whole {
                    true => {
                        let at = keys.binary_search_by_key(&number, |(number, _)| *number);
                        let is_last = number + 1 == salvage.children.len();
                        let high = at.ok().map(|at| keys[at].1.clone());
                        let high = if is_last { claim.keys.high.clone() } else { high };
                        KeyRange { low: std::mem::replace(&mut low_key, high.clone()), high }
                    }
                    false => claim.keys.clone(),
                };
                claims.push(Claim {
                    page: child,
                    gap,
                    is_wide,
                    keys: range,
                    is_parent_whole: salvage.is_whole,
                    depth: claim.depth + 1,
                    place: place(child),
                });
                low = if is_wide { low } else { high.or(low) };
            }
        }
        Ok(())
    }

    /// Gives a page to a tree if its claim is better than others. Returns `false` if it is not.
    fn claim(&mut self, page: u32, tree: usize, score: u8) -> bool {
        let at = page as usize - 1;
        let number = tree as u32 + 1;
        let old = self.owner[at];
        if old != 0 && self.score[at] >= score {
            if old != number {
                self.rivals.entry(page).or_default().push((number, score));
            }
            return false;
        }
        if old != 0 && old != number {
            self.rivals.entry(page).or_default().push((old, self.score[at]));
        }
        (self.owner[at], self.score[at]) = (number, score);
        true
    }
}

/// The relation of a page's rowids to those that its parent says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fit {
    Within,
    Overlapping,
    Apart,
}

fn fit(rowids: Option<(i64, i64)>, (low, high): Gap) -> Fit {
    let Some((first, last)) = rowids else { return Fit::Within };
    let is_above = low.is_none_or(|low| first > low);
    let is_below = high.is_none_or(|high| last <= high);
    match () {
        () if is_above && is_below => Fit::Within,
        () if low.is_some_and(|low| last <= low) || high.is_some_and(|high| first > high) => Fit::Apart,
        () => Fit::Overlapping,
    }
}

/// Returns `true` if rowids lie within a gap.
pub fn fills(rowids: (i64, i64), gap: Gap) -> bool {
    fit(Some(rowids), gap) == Fit::Within
}
