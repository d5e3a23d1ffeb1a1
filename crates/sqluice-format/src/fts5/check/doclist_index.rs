//! Checks the doclist index of a term: it must list all pages of the doclist, each with its first rowid.

use std::collections::HashSet;

use super::super::read::{IndexPage, Pages};

/// The height up to which the root of a doclist index is searched. A doclist index without a root below this height counts as damaged.
const HEIGHT_MAX: u32 = 31;

/// A page and the first rowid on it.
pub(super) type Child = (u32, Option<i64>);

/// Compares the doclist index of the term on page `page` with the pages of its doclist. Adds the ids of the doclist index's rows to
/// `indexes`. Returns `false` if the doclist index is missing or damaged, or lists other pages.
///
/// # Errors
/// The error of the source.
pub(super) fn is_right<P: Pages>(
    pages: &mut P,
    (segment, page): (u16, u32),
    leaves: &[Child],
    indexes: &mut HashSet<i64>,
) -> Result<bool, P::Error> {
    let mut block = Vec::new();
    let mut children = leaves.to_vec();
    for height in 0..HEIGHT_MAX {
        let mut parents: Vec<Child> = Vec::new();
        let mut listed = 0;
        while listed < children.len() {
            let number = page + parents.len() as u32;
            let id = IndexPage::id(segment, height, number);
            if !pages.page(id, &mut block)? {
                return Ok(false);
            }
            indexes.insert(id);
            let Ok(IndexPage { is_root, first_child, rowids }) = IndexPage::parse(id, &block) else {
                return Ok(false);
            };
            let expected = &children[listed..];
            if first_child != expected[0].0
                || rowids.len() > expected.len()
                || !rowids.iter().zip(expected).all(|(stored, (_, rowid))| stored == rowid)
            {
                return Ok(false);
            }
            listed += rowids.len();
            parents.push((number, rowids[0]));
            if is_root {
                return Ok(parents.len() == 1 && listed == children.len());
            }
        }
        children = parents;
    }
    Ok(false)
}
