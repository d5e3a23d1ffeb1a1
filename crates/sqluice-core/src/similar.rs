//! Suggestions for a misspelled name: the nearest of the names that exist.

/// Returns a hint about a name that is not among `names`. The hint lists all names, and the nearest name first if it is near. If `names` is
/// empty, the hint says so.
pub fn hint<'n>(name: &str, names: impl Iterator<Item = &'n str> + Clone) -> String {
    let all = names.clone().collect::<Vec<_>>().join(", ");
    match nearest(name, names) {
        Some(near) => format!("did you mean {near}? There are: {all}"),
        None if all.is_empty() => "there are none to choose from".to_owned(),
        None => format!("choose one of: {all}"),
    }
}

/// Returns the nearest of `names`, if at most two letters, or a third of the letters of a longer name, differ.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    nearest_within(2.max(name.len() / 3), name, names)
}

/// Returns the nearest of `names`, if at most `distance_max` letters must be changed, added or left out (Levenshtein). Case does not
/// matter.
pub fn nearest_within<'n>(
    distance_max: usize,
    name: &str,
    names: impl Iterator<Item = &'n str>,
) -> Option<&'n str> {
    let lower = name.to_ascii_lowercase();
    let distance = |other: &str| strsim::levenshtein(&lower, &other.to_ascii_lowercase());
    let nearest = names.map(|other| (distance(other), other)).min_by_key(|(distance, _)| *distance)?;
    (nearest.0 <= distance_max).then_some(nearest.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_the_nearest_name_and_all_names_or_says_that_there_are_none() {
        let of = |names: &[&str]| hint("ordres", names.iter().copied());
        assert_eq!(of(&["items", "orders"]), "did you mean orders? There are: items, orders");
        assert_eq!(of(&["items", "people"]), "choose one of: items, people");
        assert_eq!(of(&[]), "there are none to choose from");
    }

    #[test]
    fn nearest_within_counts_changed_added_and_missing_letters() {
        for (a, b, distance) in
            [("int", "INT", 0), ("", "abc", 3), ("digt", "digits", 2), ("tnull", "null", 1)]
        {
            assert_eq!(nearest_within(distance, a, [b].into_iter()), Some(b));
            assert!(distance == 0 || nearest_within(distance - 1, a, [b].into_iter()).is_none());
        }
    }

    #[test]
    fn nearest_returns_the_most_similar_of_several_names() {
        assert_eq!(nearest("ordres", ["items", "orders", "order"].into_iter()), Some("orders"));
        assert_eq!(nearest("x", ["items", "orders"].into_iter()), None);
    }
}
