//! Finds tables of keys and values, such as settings. In such a table, the key of a row shows the kind of data of its value.

use sqluice_core::batch::{Column, Value};
use sqluice_generator::words_of_name;

use super::column::Keys;

/// The words with which names of key columns end.
const KEYS: &str = "key name setting option property attribute parameter param variable field label k";

/// The words with which names of value columns end.
const VALUES: &str = "value val v content data text";

/// Returns the pairs of a key column and a value column, as indexes in `names`.
pub(super) fn pairs(names: &[String]) -> Vec<(usize, usize)> {
    let with = |list: &'static str| (0..names.len()).filter(move |column| ends_with(list, &names[*column]));
    with(KEYS).flat_map(|key| with(VALUES).map(move |value| (key, value))).collect()
}

/// Returns `true` if the name suggests a column of keys.
pub(super) fn has_keys(name: &str) -> bool {
    ends_with(KEYS, name)
}

fn ends_with(list: &str, name: &str) -> bool {
    let words = words_of_name(name);
    words.last().is_some_and(|last| list.split_whitespace().any(|word| word == last))
}

/// Returns the kinds of personal data that the keys of some rows suggest for the values beside them.
pub(super) fn kinds(
    keys: &Column<'_>,
    values: &Column<'_>,
    rows: usize,
    known: &mut Keys,
) -> impl Iterator<Item = &'static str> {
    (0..rows).filter_map(move |row| {
        let Value::Text(key) = keys.get(row) else { return None };
        let key = std::str::from_utf8(key).ok()?;
        match values.get(row) {
            Value::Text(value) | Value::Blob(value) => known.kind(key, value),
            Value::Int(int) => known.kind(key, int.to_string().as_bytes()),
            Value::Real(_) | Value::Null => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_keys_and_columns_of_values_are_paired_by_their_names() {
        let of = |names: &[&str]| pairs(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["id", "name", "value"]), [(1, 2)]);
        assert_eq!(of(&["option_id", "option_name", "option_value", "autoload"]), [(1, 2)]);
        assert_eq!(of(&["metaKey", "metaValue"]), [(0, 1)]);
        assert!(of(&["name", "price"]).is_empty() && of(&["value", "id"]).is_empty());
    }
}
