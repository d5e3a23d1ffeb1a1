//! Everything that was found in a damaged file: the leaves of each table, those of no table, and the pages that are lost.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sqluice_core::error::Result;
use sqluice_core::progress::Context;
use sqluice_format::check::spec::{Constant, Field, Table};
use sqluice_format::page::PageKind;
use sqluice_format::salvage::{Salvage, Types, read_types};

use super::attests::{Indexes, Named, Verdict};
use super::chains::Chains;
use super::file::DamagedFile;
use super::freelist::Freelist;
use super::keys::{KeyRange, fits_keys, is_apart, is_misfit, key_of, keys_of, order_of};
use super::orphans::{OrphanGroup, groups};
use super::owners::{LostPage, Owners, Root, fills, is_special};
use super::places::{AROUND_MAX, Places, Shapes};
use super::rows::PageRows;
use super::shape::{Classes, Kinds, all_fit, fits, is_verbatim};
use super::sought::{Leaf, Origin, Sought, SoughtTree};
use super::survey::{PageFacts, on_all_cores};
use super::witnesses::{Witness, witnesses};

/// Leaves of no table whose rows have the same shape.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The leaves.
    pub leaves: Vec<u32>,
    /// The kinds of values in the fields.
    pub kinds: Kinds,
    /// The number of rows.
    pub rows: u64,
    /// `true` if the rows are on pages of indexes or of WITHOUT ROWID tables, and have no rowids.
    pub is_index: bool,
}

/// The findings of a damaged file.
#[derive(Debug)]
pub struct Finding {
    /// The leaves of each sought tree that has rows.
    pub leaves: Vec<Vec<Leaf>>,
    /// The leaves of no table.
    pub groups: Vec<Group>,
    /// The overflow pages of rows.
    pub chains: Chains,
    /// The lost pages of trees.
    pub lost: Vec<LostPage>,
    /// The number of rows lost on existing pages, by the sought tree.
    pub lost_rows: Vec<u64>,
    /// `true` if the freelist was read whole. If not, leaves that no tree names may be of deleted rows.
    pub freelist_is_whole: bool,
    /// The number of pages of indexes that no tree names, and that can't be pages of a WITHOUT ROWID table. Their rows are in tables.
    pub index_pages: u64,
    /// The number of pages of tables that have the bytes of another page.
    pub copied_pages: u64,
    /// The number of pages of trees that have a fault.
    pub faulty_pages: u64,
    /// `true` if leaves of a tree have different depths: pages are in wrong places.
    pub is_uneven: bool,
    /// The number of rows that have lost overflow pages, but no value: all lost fields are computed from other fields.
    pub cut_rows: u64,
    /// The indexes that have entries of lost rows.
    pub witnesses: Vec<Witness>,
}

/// The rows of a page that its tree names.
struct Seen {
    page: u32,
    tree: Option<usize>,
    /// The other trees that can have the rows and have an equal claim to the page.
    equals: Vec<usize>,
    /// `true` if the rows may belong to another tree: because `equals` has trees, or because keys or fields of the page do not fit the tree
    /// that names it.
    is_contested: bool,
    rows: u64,
    is_clean: bool,
    /// `true` if the rows can be stored as they are, whatever their values are.
    is_verbatim: bool,
    lost: u64,
    /// The least number of fields of a row, if the page has no fault.
    fewest: Option<usize>,
    /// `true` if all rows lack columns of a WITHOUT ROWID table, and look like entries of an index.
    is_like_index: bool,
    /// `true` if all rows are rows of a WITHOUT ROWID table, and look like entries of an index, too.
    is_like_both: bool,
    /// The classes of values of a WITHOUT ROWID table's rows.
    classes: Classes,
    /// The number of a WITHOUT ROWID table's rows that have all fields.
    full: u64,
    /// `true` if the page is one of an index, and neither its first nor its last entry has the fields of the index.
    is_misfit: bool,
    /// `true` if the keys are outside of the range that the parent states: the first and the last key of a page of an index, or all keys of
    /// a page of a WITHOUT ROWID table.
    is_apart: bool,
}

impl Seen {
    fn new(page: u32) -> Seen {
        Seen {
            page,
            tree: None,
            equals: Vec::new(),
            is_contested: false,
            rows: 0,
            is_clean: false,
            is_verbatim: false,
            lost: 0,
            fewest: None,
            is_like_index: false,
            is_like_both: false,
            classes: Classes::default(),
            full: 0,
            is_misfit: false,
            is_apart: false,
        }
    }
}

/// Returns `true` if the file has pages of the pointer map. The first of them is page 2, which is then no page of a tree.
pub fn has_pointer_map(file: &DamagedFile, facts: &[PageFacts]) -> bool {
    let is_tree = facts.get(1).is_some_and(|about| about.is_whole);
    file.header().is_some_and(|header| header.largest_root != 0) && !is_tree
}

/// Returns `true` if at least half of the rows of a page fit a table, so that the page counts as one of the table.
fn is_enough(fitting: u64, rows: u64) -> bool {
    fitting * 2 >= rows
}

/// Returns the pages with the same bytes as another page, except the page to which its tree has the best claim. If the best claims are
/// equally good, all of these pages are returned. Two tables may have the same leaves in the same places without any damage, if one was
/// made from the other. Such pages are returned only with `has_strays`, when trees have lost leaves.
fn copies(facts: &[PageFacts], owners: &Owners, seen: &[Seen], has_strays: bool) -> BTreeSet<u32> {
    let mut by_content: Vec<(u64, u8, u32, usize)> = seen
        .iter()
        .filter(|seen| seen.rows > 0)
        .filter_map(|seen| {
            let content = facts[seen.page as usize - 1].content;
            Some((content, u8::MAX - owners.score(seen.page), seen.page, seen.tree?))
        })
        .collect();
    by_content.sort_unstable();
    // The last rowid of a sound leaf is the key of its parent, unless the row was deleted.
    let is_full = |page: u32| {
        let end = owners.range(page).1;
        end == i64::MAX || facts[page as usize - 1].rowids.is_some_and(|(_, last)| last == end)
    };
    let is_exact = |page: u32| is_full(page) && owners.range(page).1 != i64::MAX;
    let is_in_place = |one: u32, other: u32| {
        if facts[one as usize - 1].kind.is_some_and(PageKind::is_index) {
            // The key after a page stays as long as the page stays.
            let (of_one, of_other) = (owners.key_range(one), owners.key_range(other));
            let end = |range: Option<&KeyRange>| range.and_then(|range| range.high.clone());
            return of_one == of_other || end(of_one).is_some() && end(of_one) == end(of_other);
        }
        let (of_one, of_other) = (owners.range(one), owners.range(other));
        of_one == of_other
            || is_exact(one) && is_exact(other)
            || of_one.0 == of_other.0 && is_full(one) && is_full(other)
    };
    let same = by_content.chunk_by(|one, other| one.0 == other.0);
    // If claims are equally good, none is known to be right.
    let best = |same: &[(u64, u8, u32, usize)]| {
        let trees: BTreeSet<usize> = same.iter().map(|(.., tree)| *tree).collect();
        // No tree has the same rows twice.
        let are_apart = trees.len() == same.len();
        match same.len() > 1 && same[0].1 == same[1].1 {
            _ if !has_strays
                && are_apart
                && same.iter().all(|(_, _, page, _)| is_in_place(*page, same[0].2)) =>
            {
                same.len()
            }
            true => 0,
            false => 1,
        }
    };
    same.flat_map(|same| same.iter().skip(best(same)).map(|(_, _, page, _)| *page)).collect()
}

/// Returns the pages of WITHOUT ROWID tables that are probably pages of an index: none of their rows has all columns, all rows on the other
/// pages of the tree have all columns, and there are at least [`SHORT_SHARE`] times as many other pages. Rows that are merely older than a
/// column would lie on the same pages as newer rows.
fn short_strays(seen: &[Seen], trees: &[SoughtTree]) -> BTreeSet<u32> {
    let mut by_tree: BTreeMap<usize, Vec<&Seen>> = BTreeMap::new();
    for seen in seen.iter().filter(|seen| seen.rows > 0) {
        if let Some(tree) = seen.tree.filter(|tree| trees[*tree].is_index) {
            by_tree.entry(tree).or_default().push(seen);
        }
    }
    let strays = by_tree.into_values().flat_map(|pages| {
        let (short, others): (Vec<&Seen>, Vec<&Seen>) = pages.into_iter().partition(|seen| seen.full == 0);
        let are_full = others.iter().all(|seen| seen.full >= seen.rows);
        let are_few = short.len() * SHORT_SHARE <= others.len();
        short.into_iter().filter(move |_| are_full && are_few).map(|seen| seen.page)
    });
    strays.collect()
}

/// The number of pages with whole rows, for each page with short rows, from which the short rows are taken for entries of an index.
const SHORT_SHARE: usize = 4;

impl Finding {
    /// Finds the rows of a file.
    ///
    /// # Errors
    /// When the file can't be read.
    pub fn of(file: &DamagedFile, sought: &Sought<'_>, context: &Context<'_>) -> Result<Finding> {
        let facts = sought.facts;
        let map = has_pointer_map(file, facts);
        let freelist = Freelist::read(file)?;
        // Trees without a root come last, and have no pages yet.
        let roots: Vec<Root<'_>> = sought
            .trees
            .iter()
            .map(|tree| Root {
                page: tree.root.unwrap_or(0),
                is_index: tree.is_index,
                order: tree.described().and_then(order_of),
            })
            .collect();
        let mut owners = Owners::find(file, facts, &roots, map, &context.cancel)?;
        let stray: Vec<u32> =
            sought.schema_pages.iter().copied().filter(|page| owners.of(*page).is_none()).collect();
        for page in stray {
            owners.give(page, Some(0));
        }
        let chains = Chains::new(file.page_count());
        let mut finding = Finding {
            leaves: vec![Vec::new(); sought.trees.len()],
            groups: Vec::new(),
            chains,
            lost: Vec::new(),
            lost_rows: vec![0; sought.trees.len()],
            freelist_is_whole: freelist.is_whole,
            index_pages: 0,
            copied_pages: 0,
            faulty_pages: 0,
            is_uneven: owners.is_uneven,
            cut_rows: 0,
            witnesses: Vec::new(),
        };
        let seen = finding.verify(file, sought, &owners, map, context)?;
        let copies =
            copies(facts, &owners, &seen, finding.has_strays(file, facts, (&owners, &freelist, map)));
        finding.copied_pages = copies.len() as u64;
        let of_indexes: BTreeSet<u64> = index_contents(sought, &owners, &seen).collect();
        let copied: BTreeSet<u64> = seen
            .iter()
            .filter(|seen| seen.rows > 0 && seen.tree.is_some() && !copies.contains(&seen.page))
            .map(|seen| facts[seen.page as usize - 1].content)
            .chain(of_indexes.iter().copied())
            .collect();
        let named = named_leaves(sought, &owners, &seen);
        let indexes = Indexes::new((file, sought), &owners, &named)?;
        let (mut denied, mut exchanged) = (BTreeSet::new(), BTreeSet::new());
        for (tree, named) in named.iter().enumerate() {
            let mut is_attested = false;
            let before = denied.len();
            for leaf in &named.others {
                match indexes.verdict(&owners, tree, &[*leaf])? {
                    Verdict::Attested(_) => is_attested = true,
                    Verdict::Denied => drop(denied.insert(*leaf)),
                    Verdict::Unknown => {}
                }
            }
            // A tree whose first and last leaves have rows of another table may be the tree of that table.
            if denied.len() > before && !is_attested {
                exchanged.insert(tree);
            }
        }
        let replaced = finding.replaced(file, sought, (&owners, &freelist, map), &seen)?;
        // If a tree of an index names pages of a table, pages of the index may lie where those of the table were.
        let is_exchanged = seen.iter().any(|seen| seen.is_misfit);
        let mut fewest = vec![usize::MAX; sought.trees.len()];
        let short = short_strays(&seen, sought.trees);
        let mut classes = vec![Classes::default(); sought.trees.len()];
        for seen in seen.iter().filter(|seen| !seen.is_contested) {
            seen.tree.into_iter().for_each(|tree| classes[tree].add_all(&seen.classes));
        }
        for mut seen in seen {
            if !seen.equals.is_empty() {
                let all: Vec<usize> = seen.tree.iter().chain(&seen.equals).copied().collect();
                if let Some(best) = indexes.best_of(&owners, &all, seen.page)? {
                    (seen.tree, seen.is_contested) = (Some(best), false);
                    seen.equals.clear();
                }
            }
            // If the rowids are outside of the range that the parent states, the rows may belong to another tree, although this tree names
            // the page.
            let mut is_doubtful = !owners.is_within(seen.page)
                || seen.is_contested
                || copies.contains(&seen.page)
                || replaced.contains(&seen.page);
            let is_asked = is_doubtful || denied.contains(&seen.page);
            let is_asked = is_asked || seen.tree.is_some_and(|tree| exchanged.contains(&tree));
            let verdict = match seen.tree.filter(|_| is_asked) {
                Some(tree) => indexes.verdict(&owners, tree, &[seen.page])?,
                None => Verdict::Unknown,
            };
            // An index may lack entries because it is damaged itself. So the rows count as those of another tree only if something else
            // also shows that the page is in the wrong place.
            let is_elsewhere = match seen.tree.filter(|_| verdict == Verdict::Denied) {
                Some(tree) => {
                    is_doubtful
                        || of_indexes.contains(&facts[seen.page as usize - 1].content)
                        || indexes.is_of_another(&owners, tree, seen.page)?
                }
                None => false,
            };
            is_doubtful |= verdict == Verdict::Denied;
            // Indexes that have the rows remove the doubt only if no other tree has an equal claim, and the rowids are in the range that
            // the parent states: an old and a new state of a row, on two leaves, may have the same index entry, so the index alone does not
            // show which leaf is right.
            let is_told = seen.equals.is_empty() && owners.is_within(seen.page);
            is_doubtful &= !(is_told && matches!(verdict, Verdict::Attested(_)));
            // A page of an index may look like rows of a WITHOUT ROWID table. If the keys do not decide, a value of a class that no certain
            // row of the table has in this field shows that the page belongs to an index.
            let is_odd = seen.is_contested
                && seen.is_like_both
                && seen.tree.is_some_and(|tree| classes[tree].lack_some_of(&seen.classes));
            let is_entries = is_exchanged && seen.is_like_index || is_odd || short.contains(&seen.page);
            let why = match seen.tree {
                None if seen.is_apart => Some("it has other keys than its parent says"),
                None => Some("its rows are not rows of this table"),
                Some(_) if is_elsewhere => Some("the indexes of its table do not have its rows"),
                Some(_) if is_entries || sought.strict && is_doubtful => {
                    finding.disown(seen.page, &mut owners);
                    continue;
                }
                Some(_) => None,
            };
            if let (Some(why), Some(tree)) = (why, owners.of(seen.page)) {
                owners.lose(seen.page, tree, why);
                owners.give(seen.page, None);
                continue;
            }
            let Some(tree) = seen.tree else { continue };
            owners.give(seen.page, Some(tree));
            if let Some(fields) = seen.fewest.filter(|_| !is_doubtful) {
                fewest[tree] = fewest[tree].min(fields);
            }
            let rowids = facts[seen.page as usize - 1].rowids.filter(|_| !sought.trees[tree].is_index);
            let origin = if is_doubtful { Origin::Shape } else { Origin::Tree };
            let leaf = Leaf {
                page: seen.page,
                origin,
                is_named: true,
                rowids,
                is_clean: seen.is_clean,
                is_verbatim: seen.is_verbatim,
                is_local: !facts[seen.page as usize - 1].overflows,
                rows: seen.rows,
            };
            // If several trees have equally good claims, all of them get the leaf, because it is not known which claim is right. For
            // example, a root that was overwritten with the root of another table names the leaves of that table.
            finding.lost_rows[tree] += seen.lost;
            finding.leaves[tree].push(leaf);
            for equal in seen.equals {
                finding.lost_rows[equal] += seen.lost;
                finding.leaves[equal].push(Leaf { is_clean: false, ..leaf });
            }
        }
        let is_faulty = |page: &u32| owners.of(*page).is_some() && !facts[*page as usize - 1].is_whole;
        finding.faulty_pages = (1..=facts.len() as u32).filter(is_faulty).count() as u64;
        // The rows of a table whose leaves are all lost may be as short as its columns allow.
        for (fewest, tree) in fewest.iter_mut().zip(sought.trees) {
            match (&tree.table, &tree.entries) {
                (Some(table), _) if *fewest == usize::MAX => *fewest = least_fields(table),
                (None, Some(entries)) => *fewest = entries.fields.len(),
                _ => {}
            }
        }
        let known = Known { fewest, copied, classes };
        finding.join_orphans(file, sought, (&mut owners, &freelist, map), (&known, &indexes), context)?;
        finding.chains.set_taken(|page| owners.of(page).is_some() || facts[page as usize - 1].is_zero);
        finding.count_cut_rows(file, sought, context)?;
        let is_root = |lost: &LostPage| lost.page == 0;
        finding.lost.extend(owners.lost.iter().filter(|lost| !is_root(lost)).cloned());
        let mut has_lost: Vec<bool> = finding.lost_rows.iter().map(|rows| *rows > 0).collect();
        finding.lost.iter().for_each(|lost| has_lost[lost.tree] = true);
        let about = (sought, &owners, &finding.chains);
        finding.witnesses = witnesses(file, about, (&finding.leaves, &has_lost), context)?;
        finding.lost.sort_by_key(|lost| (lost.tree, lost.page));
        for leaves in &mut finding.leaves {
            leaves.sort_by_key(|leaf| (leaf.rowids.map(|(first, _)| first), leaf.page));
        }
        Ok(finding)
    }

    /// Counts the rows whose overflow pages are lost, where the fields that are left are enough.
    fn count_cut_rows(
        &mut self,
        file: &DamagedFile,
        sought: &Sought<'_>,
        context: &Context<'_>,
    ) -> Result<()> {
        for (tree, leaves) in self.leaves.iter_mut().enumerate() {
            let Some(fields) = sought.trees[tree].needed_fields else { continue };
            let mut rows = PageRows::needing(fields);
            let has_all = |leaf: &Leaf| leaf.rows == u64::from(sought.facts[leaf.page as usize - 1].entries);
            for leaf in leaves.iter_mut().filter(|leaf| !leaf.is_local && !has_all(leaf)) {
                context.cancel.check()?;
                let mut count = 0;
                rows.read(file, &self.chains, leaf.page, |_| {
                    count += 1;
                    Ok(())
                })?;
                let cut = count - leaf.rows.min(count);
                self.lost_rows[tree] = self.lost_rows[tree].saturating_sub(cut);
                self.cut_rows += cut;
                leaf.rows += cut;
            }
        }
        Ok(())
    }

    /// Takes a page away from its tree, because the rows may belong to another table. The lost page is listed without its range of rowids,
    /// so that the page can't return to the tree by filling this gap.
    fn disown(&mut self, page: u32, owners: &mut Owners) {
        let why = "its rows may be rows of another table";
        if let Some(tree) = owners.of(page) {
            let keys = KeyRange::default();
            self.lost.push(LostPage { tree, page, why, gap: (None, None), is_wide: false, keys });
        }
        owners.give(page, None);
    }

    /// Looks at the rows of all pages that trees name, and claims their overflow pages.
    fn verify(
        &self,
        file: &DamagedFile,
        sought: &Sought<'_>,
        owners: &Owners,
        map: bool,
        context: &Context<'_>,
    ) -> Result<Vec<Seen>> {
        let geometry = file.geometry();
        let may_have = |page: u32| owners.of(page).is_none() && !is_special(page, geometry, map);
        // Leaves that the survey has shown to have rows of their table are not read again.
        let known = |number: u32| {
            let owner = owners.of(number)?;
            let table =
                sought.trees[owner].table.as_ref().filter(|_| owners.rivals(number).next().is_none())?;
            let (about, shape) = sought.shaped(number).filter(|(_, shape)| all_fit(table, shape))?;
            Some(Seen {
                tree: Some(owner),
                rows: u64::from(about.entries),
                is_clean: true,
                is_verbatim: is_verbatim(table, shape),
                fewest: Some(shape.fewest),
                ..Seen::new(number)
            })
        };
        let is_read = |number: u32| owners.of(number).is_some() && known(number).is_none();
        let mut all: Vec<Seen> = (1..=file.page_count()).filter_map(known).collect();
        let runs = on_all_cores(file, sought.threads, context, is_read, |first, bytes| {
            let mut of_run = Vec::new();
            let (mut salvage, mut types) = (Salvage::default(), Types::new());
            for (number, page) in (first..).zip(bytes.chunks_exact(geometry.page_bytes())) {
                let Some(owner) = owners.of(number).filter(|_| is_read(number)) else { continue };
                let about = &sought.facts[number as usize - 1];
                let mut seen = Seen::new(number);
                seen.is_misfit = sought.trees[owner].entries.as_ref().is_some_and(|entries| {
                    about.kind.is_some_and(PageKind::is_index)
                        && is_misfit(page, number, geometry, entries, &mut types)
                });
                let of_tree =
                    owners.key_range(number).filter(|_| owners.is_parent_whole(number) && about.is_whole);
                if let (Some(range), Some(entries)) = (of_tree, &sought.trees[owner].entries)
                    && about.kind == Some(PageKind::LeafIndex)
                    && let Some(order) = order_of(entries)
                {
                    seen.is_apart =
                        !seen.is_misfit && is_apart(page, number, geometry, (range, order), &mut types);
                }
                // A page that is none of its index may be one of a table that names it, too.
                let is_other = seen.is_misfit || seen.is_apart;
                let is_of_table = |(tree, _): (usize, u8)| sought.trees[tree].table.is_some();
                if is_other && !owners.rivals(number).any(is_of_table) {
                    of_run.push(seen);
                    continue;
                }
                let has_rows = about.kind.is_some_and(|kind| kind.is_leaf() || kind.is_index());
                let is_unknown = sought.trees[owner].table.is_none() && !is_other;
                if !has_rows || is_unknown && !about.overflows {
                    continue;
                }
                salvage.read(page, number, geometry, &mut types);
                if is_unknown {
                    self.chains.set_of_tree(number);
                    for entry in salvage.entries.iter().filter(|entry| entry.cell.overflow.is_some()) {
                        self.chains.claim(file, (number, entry.number, &entry.cell), may_have)?;
                    }
                    continue;
                }
                let all = std::iter::once((owner, owners.score(number))).chain(owners.rivals(number));
                let mut best = None;
                for (tree, score) in all {
                    if best.is_some_and(|best| score < best) {
                        continue;
                    }
                    let Some(table) = &sought.trees[tree].table else { continue };
                    let (mut fitting, mut fewest, mut full) = (0, usize::MAX, 0);
                    let (mut short_like, mut like, mut classes) = (0, 0, Classes::default());
                    for entry in &salvage.entries {
                        let start = &page[entry.cell.local.clone()];
                        let is_read = read_types(start, entry.cell.payload_bytes, &mut types);
                        fitting += u64::from(is_read == Some(false) || fits(table, &types, true));
                        fewest = if is_read == Some(true) { fewest.min(types.len()) } else { fewest };
                        full += u64::from(is_read == Some(true) && types.len() == table.fields.len());
                        if table.key.is_some() {
                            let is_like = sought.is_entry(&types);
                            short_like += u64::from(is_like && types.len() < table.fields.len());
                            like += u64::from(is_like);
                            classes.add(&types);
                        }
                    }
                    let rows = salvage.entries.len() as u64;
                    if !is_enough(fitting, rows) {
                        continue;
                    }
                    let range = owners.key_range(number).filter(|_| tree == owner);
                    let mut is_among = true;
                    if let (Some(range), Some(order)) = (range, order_of(table)) {
                        let keys = keys_of(order, page, &salvage, &mut types);
                        let fits = fits_keys(&keys, range, salvage.is_whole);
                        if fits == Some(false) && salvage.is_whole && owners.is_parent_whole(number) {
                            seen.is_apart = true;
                            continue;
                        }
                        // Entries of an index look like short rows.
                        if fits != Some(true) && !is_enough(full, rows) {
                            continue;
                        }
                        is_among = fits == Some(true);
                    }
                    if best == Some(score) {
                        if seen.tree != Some(tree) && !seen.equals.contains(&tree) {
                            seen.is_contested = true;
                            seen.equals.push(tree);
                        }
                        continue;
                    }
                    best = Some(score);
                    let is_clean = salvage.is_whole && fitting == rows;
                    let fewest = (is_clean && rows > 0).then_some(fewest);
                    let is_like_index = rows > 0 && short_like == rows;
                    let is_like_both = rows > 0 && like == rows;
                    seen = Seen {
                        tree: Some(tree),
                        equals: Vec::new(),
                        is_contested: !is_among || is_other,
                        rows,
                        is_clean,
                        fewest,
                        is_like_index,
                        is_like_both,
                        classes,
                        full,
                        ..seen
                    };
                }
                if seen.tree.is_some() {
                    self.chains.set_of_tree(number);
                    seen.lost = salvage.lost as u64;
                    for entry in salvage.entries.iter().filter(|entry| entry.cell.overflow.is_some()) {
                        if !self.chains.claim(file, (number, entry.number, &entry.cell), may_have)? {
                            seen.lost += 1;
                            seen.rows -= 1;
                        }
                    }
                }
                of_run.push(seen);
            }
            Ok(of_run)
        })?;
        all.extend(runs.into_iter().flatten());
        all.sort_by_key(|seen| seen.page);
        Ok(all)
    }

    /// Returns `true` if a page that no tree reaches may be live: the freelist does not list it, and a header that can be trusted does not
    /// state fewer pages.
    fn is_live(file: &DamagedFile, freelist: &Freelist, page: u32) -> bool {
        let trusted = file.header().filter(|header| {
            freelist.is_whole && header.page_count > 0 && header.valid_for == header.change_counter
        });
        let is_freed = freelist.is_whole && freelist.has(page);
        !is_freed && trusted.is_none_or(|header| page <= header.page_count)
    }

    /// Returns `true` if no tree and no entry has the page, and it may be a page of a tree.
    fn is_stray(&self, file: &DamagedFile, owners: &Owners, page: u32, map: bool) -> bool {
        page > 1
            && owners.of(page).is_none()
            && !self.chains.has(page)
            && !is_special(page, file.geometry(), map)
    }

    /// Returns the leaves that may belong to another table than the one that names them. Only leaves are returned for which no parent
    /// states both ends of the range of rowids: if the rowids fill a gap of the other table and the rows fit this table, or if the leaf is
    /// the root of its table, and the file has a leaf of no tree whose rows fit the table of the root.
    fn replaced(
        &self,
        file: &DamagedFile,
        sought: &Sought<'_>,
        (owners, freelist, map): (&Owners, &Freelist, bool),
        seen: &[Seen],
    ) -> Result<BTreeSet<u32>> {
        let facts = sought.facts;
        let mut replaced = BTreeSet::new();
        let fills_gap = |tree: usize, rowids: (i64, i64)| {
            let mut of_tree = owners.lost.iter().filter(|lost| lost.tree == tree && !lost.is_wide);
            of_tree.any(|lost| fills(rowids, lost.gap))
        };
        let mut gapped: Vec<usize> = owners.lost.iter().map(|lost| lost.tree).collect();
        gapped.sort_unstable();
        gapped.dedup();
        // A gap without any bounds is that of a root, which says nothing about rowids.
        gapped.retain(|tree| {
            let mut of_tree = owners.lost.iter().filter(|lost| lost.tree == *tree);
            of_tree.any(|lost| lost.gap != (None, None))
        });
        let mut roots = Vec::new();
        for about in seen {
            let Some(tree) = about.tree.filter(|tree| !sought.trees[*tree].is_index) else { continue };
            let (low, high) = owners.range(about.page);
            let Some(rowids) = facts[about.page as usize - 1].rowids else { continue };
            if low != i64::MIN && high != i64::MAX {
                continue;
            }
            let others = gapped.iter().filter(|other| **other != tree && fills_gap(**other, rowids));
            for other in others {
                let Some(table) = &sought.trees[*other].table else { continue };
                if self.are_rows_of(file, about.page, table)? {
                    replaced.insert(about.page);
                }
            }
            if sought.trees[tree].root == Some(about.page) {
                roots.push((about.page, tree));
            }
        }
        roots.retain(|(page, _)| !replaced.contains(page));
        for (page, about) in (1..).zip(facts) {
            if roots.is_empty() {
                break;
            }
            let Some(rowids) = about.rowids.filter(|_| about.kind == Some(PageKind::LeafTable)) else {
                continue;
            };
            if !self.is_stray(file, owners, page, map)
                || !Finding::is_live(file, freelist, page)
                || gapped.iter().any(|tree| fills_gap(*tree, rowids))
            {
                continue;
            }
            let mut left = Vec::new();
            for (root, tree) in roots {
                let Some(table) = &sought.trees[tree].table else { continue };
                if self.are_rows_of(file, page, table)? {
                    replaced.insert(root);
                } else {
                    left.push((root, tree));
                }
            }
            roots = left;
        }
        Ok(replaced)
    }

    /// Returns `true` if at least half of the rows of a leaf can be rows of a table.
    fn are_rows_of(&self, file: &DamagedFile, page: u32, table: &Table) -> Result<bool> {
        let (mut salvage, mut types) = (Salvage::default(), Types::new());
        let mut bytes = vec![0; file.geometry().page_bytes()];
        file.read(page, &mut bytes)?;
        salvage.read(&bytes, page, file.geometry(), &mut types);
        let mut fitting = 0;
        for entry in &salvage.entries {
            let start = &bytes[entry.cell.local.clone()];
            let is_read = read_types(start, entry.cell.payload_bytes, &mut types);
            fitting += u64::from(is_read == Some(false) || fits(table, &types, false));
        }
        Ok(fitting > 0 && is_enough(fitting, salvage.entries.len() as u64))
    }

    /// Returns `true` if trees have lost leaves: the file has leaves that no tree names.
    fn has_strays(
        &self,
        file: &DamagedFile,
        facts: &[PageFacts],
        (owners, freelist, map): (&Owners, &Freelist, bool),
    ) -> bool {
        (1..).zip(facts).any(|(page, about)| {
            about.kind.is_some_and(PageKind::is_leaf)
                && about.entries > 0
                && self.is_stray(file, owners, page, map)
                && Finding::is_live(file, freelist, page)
        })
    }

    /// Joins leaves of no tree to tables, or to groups of their own.
    fn join_orphans(
        &mut self,
        file: &DamagedFile,
        sought: &Sought<'_>,
        (owners, freelist, map): (&mut Owners, &Freelist, bool),
        (Known { fewest, copied, classes }, indexes): (&Known, &Indexes<'_>),
        context: &Context<'_>,
    ) -> Result<()> {
        let facts = sought.facts;
        let geometry = file.geometry();
        let is_candidate = |page: u32| {
            self.is_stray(file, owners, page, map)
                && (sought.deleted || Finding::is_live(file, freelist, page))
        };
        let is_of = |page: &u32, index: bool| {
            let about = &facts[*page as usize - 1];
            about.kind.is_some_and(|kind| kind.is_index() == index)
                && (about.entries > 0 || about.kind == Some(PageKind::InteriorTable))
        };
        let pages = 1..=facts.len() as u32;
        let index_pages: Vec<u32> = pages.filter(|page| is_of(page, true) && is_candidate(*page)).collect();
        let mut orphans = groups(file, facts, |page| is_of(&page, false) && is_candidate(page))?;
        orphans.extend(index_pages.into_iter().map(|page| OrphanGroup {
            leaves: vec![page],
            rowids: (0, -1),
            spans: Vec::new(),
        }));
        let mut places = Places::new(classes, owners, &self.leaves, sought.trees);
        self.lost.iter().for_each(|lost| places.is_damaged[lost.tree] = true);
        places.find_named(file, (facts, owners), is_candidate)?;
        let mut rows = PageRows::default();
        let may_lack = |tree: usize| places.is_damaged[tree] || places.is_gone[tree];
        let lacking: Vec<&Table> = (sought.trees.iter().enumerate())
            .filter(|(at, tree)| tree.is_index && may_lack(*at))
            .filter_map(|(_, tree)| tree.table.as_ref())
            .collect();
        // The chains that end where their entries end are claimed first, as they are more likely to be right than others.
        let has_chains = |page: &&u32| facts[**page as usize - 1].overflows;
        let with_chains: Vec<u32> =
            orphans.iter().flat_map(|orphan| orphan.leaves.iter().filter(has_chains)).copied().collect();
        self.claim_chains(file, &with_chains, true, &|page| {
            owners.of(page).is_none() && !is_special(page, geometry, map)
        })?;
        let mut left = VecDeque::from(orphans);
        while let Some(mut orphan) = left.pop_front() {
            context.cancel.check()?;
            let is_index = orphan.rowids.0 > orphan.rowids.1;
            let with_chains: Vec<u32> = orphan.leaves.iter().filter(has_chains).copied().collect();
            self.claim_chains(file, &with_chains, false, &|page| {
                owners.of(page).is_none() && !is_special(page, geometry, map)
            })?;
            let mut shapes = self.shapes(file, (sought, &lacking, fewest), &orphan, is_index, &mut rows)?;
            // If most rows of a group fit a table, but a leaf of the group does not, the leaf has taken the place of another one. It
            // becomes a group of its own.
            let most = shapes.fitting_short.iter().copied().max().unwrap_or(0);
            if orphan.leaves.len() > 1 && most < shapes.rows && is_enough(most, shapes.rows) {
                for single in orphan.singles() {
                    let of_one =
                        self.shapes(file, (sought, &lacking, fewest), &single, is_index, &mut rows)?;
                    let mut of_both = shapes.fitting_short.iter().zip(&of_one.fitting_short);
                    if of_both.any(|(of_all, fitting)| *of_all == most && !is_enough(*fitting, of_one.rows)) {
                        orphan.remove(single.leaves[0]);
                        left.push_back(single);
                    }
                }
                shapes = self.shapes(file, (sought, &lacking, fewest), &orphan, is_index, &mut rows)?;
            }
            let count = shapes.rows;
            if count == 0 {
                continue;
            }
            let is_copy =
                orphan.leaves.iter().all(|page| copied.contains(&facts[*page as usize - 1].content));
            let apart = self.apart(file, (&places, sought), (&orphan, &shapes), &mut rows)?;
            let is_whole = orphan.leaves.iter().all(|page| facts[*page as usize - 1].is_whole);
            let found = places.table_for(
                (freelist.is_whole, sought.schema_is_whole),
                (&orphan, &shapes, &apart),
                (is_index, is_copy, is_whole),
                |tree| indexes.verdict(owners, tree, &orphan.leaves),
            )?;
            // Rows that were deleted are rows of no table.
            let is_freed =
                sought.deleted && freelist.is_whole && orphan.leaves.iter().any(|page| freelist.has(*page));
            let may_be_rows = !sought.schema_is_whole || is_freed || is_enough(shapes.lacking, count);
            let is_refused = |origin: Origin| is_freed || sought.strict && origin == Origin::Shape;
            let found = found.filter(|(_, origin)| !is_refused(*origin));
            if let Some((tree, origin)) = found.filter(|(tree, _)| sought.trees[*tree].table.is_some()) {
                if !is_index {
                    places.taken[tree].extend(orphan.spans.iter().copied());
                }
                for page in orphan.leaves {
                    owners.give(page, Some(tree));
                    let about = &facts[page as usize - 1];
                    self.leaves[tree].push(Leaf {
                        page,
                        origin,
                        is_named: false,
                        rowids: about.rowids.filter(|_| !is_index),
                        is_clean: about.is_whole && shapes.fitting_short[tree] == count,
                        is_verbatim: false,
                        is_local: !about.overflows,
                        rows: u64::from(about.entries),
                    });
                }
            } else if is_copy && !is_freed {
                self.copied_pages += orphan.leaves.len() as u64;
            } else if is_index && (!may_be_rows || found.is_some()) {
                self.index_pages += 1;
            } else {
                let is_like =
                    |group: &&mut Group| group.is_index == is_index && group.kinds.is_like(&shapes.kinds);
                let group = self.groups.iter_mut().find(is_like);
                match group {
                    Some(group) => {
                        group.kinds.add_all(&shapes.kinds);
                        group.leaves.extend(orphan.leaves);
                        group.rows += count;
                    }
                    None => {
                        let kinds = shapes.kinds;
                        self.groups.push(Group { leaves: orphan.leaves, kinds, rows: count, is_index });
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns the damaged tables that have leaves whose ranges of rowids overlap the range of a leaf of no tree, but none of whose rows
    /// has a rowid of this leaf. Returns none for a group of several leaves.
    fn apart(
        &self,
        file: &DamagedFile,
        (places, sought): (&Places<'_>, &Sought<'_>),
        (orphan, shapes): (&OrphanGroup, &Shapes),
        rows: &mut PageRows,
    ) -> Result<BTreeSet<usize>> {
        let mut apart = BTreeSet::new();
        let [leaf] = orphan.leaves[..] else { return Ok(apart) };
        let mut rowids_of = |page: u32| {
            let mut rowids = BTreeSet::new();
            rows.read(file, &self.chains, page, |row| {
                rowids.insert(row.rowid);
                Ok(())
            })?;
            Ok(rowids)
        };
        let may_be = |tree: &usize| {
            let is_table = !sought.trees[*tree].is_index && sought.trees[*tree].table.is_some();
            is_table && places.is_damaged[*tree] && shapes.fitting[*tree] == shapes.rows
        };
        for tree in (0..sought.trees.len()).filter(may_be) {
            let around = places.around(tree, orphan.rowids);
            if around.is_empty() || around.len() > AROUND_MAX {
                continue;
            }
            let of_leaf: BTreeSet<i64> = rowids_of(leaf)?;
            let mut is_apart = true;
            for page in around {
                is_apart = is_apart && of_leaf.is_disjoint(&rowids_of(page)?);
            }
            if is_apart {
                apart.insert(tree);
            }
        }
        Ok(apart)
    }

    fn claim_chains(
        &self,
        file: &DamagedFile,
        pages: &[u32],
        only_ended: bool,
        may_have: &dyn Fn(u32) -> bool,
    ) -> Result<()> {
        let (mut salvage, mut types) = (Salvage::default(), Types::new());
        let mut bytes = vec![0; file.geometry().page_bytes()];
        for &page in pages {
            file.read(page, &mut bytes)?;
            salvage.read(&bytes, page, file.geometry(), &mut types);
            for entry in salvage.entries.iter().filter(|entry| entry.cell.overflow.is_some()) {
                let is_free = |page: u32| may_have(page) && !self.chains.has(page);
                let entry = (page, entry.number, &entry.cell);
                match only_ended {
                    true => self.chains.claim_ended(file, entry, is_free)?,
                    false => self.chains.claim(file, entry, is_free)?,
                };
            }
        }
        Ok(())
    }

    /// Returns the shapes of the rows of a group. `lacking` are the WITHOUT ROWID tables that have lost pages.
    fn shapes(
        &self,
        file: &DamagedFile,
        (sought, lacking, fewest): (&Sought<'_>, &[&Table], &[usize]),
        orphan: &OrphanGroup,
        is_index: bool,
        rows: &mut PageRows,
    ) -> Result<Shapes> {
        let count = sought.trees.len();
        let mut shapes = Shapes {
            fitting: vec![0; count],
            fitting_short: vec![0; count],
            ends: vec![None; count],
            ..Shapes::default()
        };
        let mut key_types = Types::new();
        for &page in &orphan.leaves {
            rows.read(file, &self.chains, page, |row| {
                shapes.rows += 1;
                shapes.kinds.add(row.types);
                let may_be = |table: &&Table| fits(table, row.types, true);
                shapes.lacking += u64::from(is_index && lacking.iter().any(may_be));
                shapes.classes.add(row.types);
                shapes.entries += u64::from(is_index && sought.is_entry(row.types));
                for (at, tree) in
                    sought.trees.iter().enumerate().filter(|(_, tree)| tree.is_index == is_index)
                {
                    let may_have_row = |table: &&Table| fits(table, row.types, true);
                    let Some(table) = tree.described().filter(may_have_row) else { continue };
                    shapes.fitting[at] += u64::from(row.types.len() == table.fields.len());
                    shapes.fitting_short[at] += u64::from(row.types.len() >= fewest[at]);
                    let ends = &mut shapes.ends[at];
                    let order = order_of(table).filter(|_| is_index);
                    let key =
                        order.and_then(|order| key_of(order, row.record, row.record.len(), &mut key_types));
                    let Some(key) = key else { continue };
                    *ends = Some(match ends.take() {
                        Some((first, last)) => (first.min(key.clone()), last.max(key)),
                        None => (key.clone(), key),
                    });
                }
                Ok(())
            })?;
        }
        Ok(shapes)
    }
}

/// The facts of the rows on pages that trees name.
struct Known {
    /// The least number of fields of each tree's rows.
    fewest: Vec<usize>,
    /// The hashes of the contents of the pages that trees have.
    copied: BTreeSet<u64>,
    /// The classes of values of each WITHOUT ROWID table's rows.
    classes: Vec<Classes>,
}

/// Returns the contents of the pages of indexes, which may look like rows of WITHOUT ROWID tables.
fn index_contents(sought: &Sought<'_>, owners: &Owners, seen: &[Seen]) -> impl Iterator<Item = u64> {
    let others: BTreeSet<u32> =
        seen.iter().filter(|seen| seen.is_misfit || seen.is_apart).map(|seen| seen.page).collect();
    let is_of_index = move |page: &u32| {
        let is_other = others.contains(page);
        !is_other && owners.of(*page).is_some_and(|tree| sought.trees[tree].entries.is_some())
    };
    let pages = (1..=sought.facts.len() as u32).filter(is_of_index);
    pages
        .map(|page| &sought.facts[page as usize - 1])
        .filter(|about| about.entries > 0)
        .map(|about| about.content)
}

/// Returns the leaves that each tree of a table names.
fn named_leaves(sought: &Sought<'_>, owners: &Owners, seen: &[Seen]) -> Vec<Named> {
    let mut named = vec![Named::default(); sought.trees.len()];
    for seen in seen.iter().filter(|seen| seen.rows > 0 && !seen.is_contested) {
        let Some(tree) = seen.tree else { continue };
        let is_sure = owners.is_within(seen.page) && owners.is_bounded(seen.page);
        let leaves = if is_sure { &mut named[tree].sure } else { &mut named[tree].others };
        leaves.push(seen.page);
    }
    named
}

/// Returns the least number of fields of a table's rows: columns that were added later take NULL, or have a default. Entries of indexes
/// look like short rows of WITHOUT ROWID tables, of which only whole rows count.
fn least_fields(table: &Table) -> usize {
    if table.key.is_some() {
        return table.fields.len();
    }
    let is_needed = |field: &Field| !field.takes.null && field.default == Constant::Null;
    table.fields.iter().rposition(is_needed).map_or(1, |at| at + 1)
}
