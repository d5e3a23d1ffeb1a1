//! Finds the tables that the name of a column suggests.

use std::collections::{HashMap, HashSet};

use sqluice_generator::words_of_name;

/// Words that may follow the name of a table in a column's name, and only mark a key or a role.
const BEHIND: &str = "id ids key keys pk fk ref no nr num number idx index ix rowid oid code fkey pkey from to by a b x y left right \
    source target src dst dest origin first second third last old new one two main";

/// Words that are attached to the end of a table's name without a separator: `placeid`.
const ATTACHED_END: &[&str] = &["rowid", "number", "key", "ref", "id", "no", "nr", "fk", "pk"];

/// Words that are attached before the name of a table: `fkplace`, `idplace`.
const ATTACHED_BEGIN: &[&str] = &["fk", "id", "ref"];

/// Words that may precede the name of a table, and say only that it is a table.
const TABLE_WORDS: &str = "t tb tbl tab table dim fact f d";

/// Names of columns that refer to a row of their own table.
const OWN: &str = "parent parents root ancestor previous prev prior next predecessor successor superior manager boss supervisor reply \
    replyto replyof inreplyto reportsto original duplicate duplicateof copyof replaces replacedby supersedes supersededby mother father \
    sibling child master thread";

/// Names of columns that show a reference without naming its table.
const ANY: &str = "fk fkey foreignkey foreign foreignid ref refid reference referenceid fkid target targetid object objectid";

/// Irregular plurals, and plurals in `ies` of words that end in `ie`.
const IRREGULAR: &[(&str, &str)] = &[
    ("people", "person"),
    ("persons", "person"),
    ("children", "child"),
    ("men", "man"),
    ("women", "woman"),
    ("mice", "mouse"),
    ("feet", "foot"),
    ("teeth", "tooth"),
    ("geese", "goose"),
    ("indices", "index"),
    ("vertices", "vertex"),
    ("matrices", "matrix"),
    ("data", "datum"),
    ("media", "medium"),
    ("criteria", "criterion"),
    ("analyses", "analysis"),
    ("bases", "basis"),
    ("crises", "crisis"),
    ("movies", "movie"),
    ("cookies", "cookie"),
];

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|one| one == word)
}

/// Returns `true` if the name of a column marks a reference to an unnamed table.
pub(super) fn may_mean_any(column: &str) -> bool {
    has(ANY, &words_of_name(column).concat())
}

/// The names of tables, in all forms in which columns use them.
#[derive(Debug)]
pub(crate) struct TableNames {
    /// The positions of the tables that each form of a name means.
    forms: HashMap<String, Vec<usize>>,
    /// The tables by the initials of their names' words followed by `id`: `nid` of `notes`.
    initials: HashMap<String, Vec<usize>>,
    /// The words of each table's name, by the position of the table.
    words: Vec<Vec<String>>,
}

impl TableNames {
    /// Creates the forms of all tables' names. The position of a table is the position of its name.
    pub(crate) fn new<'n>(names: impl Iterator<Item = &'n str>) -> TableNames {
        let names: Vec<&str> = names.collect();
        let words: Vec<Vec<String>> = names.iter().map(|name| words_of_name(name)).collect();
        let whole: HashSet<String> = words.iter().flat_map(|words| singulars(&words.concat())).collect();
        let common = common_start(&names);
        let mut all = TableNames {
            forms: HashMap::new(),
            initials: HashMap::new(),
            words: Vec::with_capacity(names.len()),
        };
        for (table, (words, name)) in words.into_iter().zip(&names).enumerate() {
            for first in 0..words.len() {
                let rest = &words[first..];
                let is_free = || !singulars(&rest.concat()).iter().any(|form| whole.contains(form));
                if first == 0 || has(TABLE_WORDS, &words[first - 1]) || is_free() {
                    all.add(table, rest);
                }
            }
            if let Some(rest) = name.get(common..).filter(|rest| common > 1 && !rest.is_empty()) {
                all.add(table, &words_of_name(rest));
            }
            all.words.push(words);
        }
        all
    }

    fn add(&mut self, table: usize, words: &[String]) {
        let singular = |word: &String| singulars(word).pop().unwrap_or_default();
        let each_singular: String = words.iter().map(singular).collect();
        let mut forms = singulars(&words.concat());
        forms.push(each_singular);
        for form in forms {
            let tables = self.forms.entry(form).or_default();
            if tables.last() != Some(&table) {
                tables.push(table);
            }
        }
        let initials: String = words.iter().filter_map(|word| word.chars().next()).collect();
        let tables = self.initials.entry(format!("{initials}id")).or_default();
        if tables.last() != Some(&table) {
            tables.push(table);
        }
    }

    /// Returns the tables that the name of a column of the table `child` suggests, in order. `is_own_key` is `true` if the column alone is
    /// the key of `child`.
    pub(crate) fn meant_by(&self, child: usize, column: &str, is_own_key: bool) -> Vec<usize> {
        let mut words = words_of_name(column);
        let mut found: Vec<usize> = Vec::new();
        if let [only] = &words[..]
            && let Some(tables) = self.initials.get(only)
        {
            found.extend(tables);
        }
        if words.concat() == "id" && !is_own_key {
            found.extend(self.begun_by(child));
        }
        let own = singulars(&self.words[child].concat());
        // Looks for tables by the whole name, then without its last word, and so on, while that word is a number or one of `BEHIND`.
        loop {
            self.ends_with_table(&words, &mut found);
            // A table of this name takes precedence over a table whose name ends with it.
            if ends_with_own(&words) || (found.is_empty() && ends_with_end_of(&words, &own)) {
                found.push(child);
            }
            let says_no_more =
                |last: &String| has(BEHIND, last) || last.chars().all(|letter| letter.is_ascii_digit());
            match words.last() {
                Some(last) if words.len() > 1 && says_no_more(last) => words.pop(),
                _ => break,
            };
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds to `found` the tables with a name that the last words form, in the singular or the plural.
    fn ends_with_table(&self, words: &[String], found: &mut Vec<usize>) {
        for first in 0..words.len() {
            let name = words[first..].concat();
            for core in cores(&name) {
                for form in singulars(core) {
                    found.extend(self.forms.get(&form).into_iter().flatten());
                }
            }
        }
    }

    /// Returns the tables with names that begin the name of table `child`: `download` begins `downloads_chains`.
    fn begun_by(&self, child: usize) -> Vec<usize> {
        let words = &self.words[child];
        let begins = (1..words.len()).flat_map(|end| singulars(&words[..end].concat()));
        let tables = begins.filter_map(|form| self.forms.get(&form)).flatten().copied();
        tables.filter(|table| *table != child).collect()
    }
}

/// A column may refer to its own table by the end of the table's name, if this end has at least this number of bytes.
const OWN_END_MIN: usize = 4;

/// Returns `true` if the last words are the end of the table's own name, in any form: `from_visit` in `historyvisits`.
fn ends_with_end_of(words: &[String], own: &[String]) -> bool {
    let forms = (0..words.len()).flat_map(|first| singulars(&words[first..].concat()));
    let mut long = forms.filter(|form| form.len() >= OWN_END_MIN);
    long.any(|form| own.iter().any(|own| own.ends_with(&form)))
}

/// Returns `true` if the last words are a name of columns that refer to their own table.
fn ends_with_own(words: &[String]) -> bool {
    (0..words.len()).any(|first| cores(&words[first..].concat()).into_iter().any(|core| has(OWN, core)))
}

/// Returns a name, and the name without words attached to its ends and without numbers at its end.
fn cores(name: &str) -> Vec<&str> {
    let without_number = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let mut cores = vec![name, without_number];
    for core in [name, without_number] {
        cores.extend(ATTACHED_END.iter().filter_map(|end| core.strip_suffix(end)));
        cores.extend(ATTACHED_BEGIN.iter().filter_map(|begin| core.strip_prefix(begin)));
    }
    let shorter: Vec<&str> =
        cores.iter().map(|core| core.trim_end_matches(|letter: char| letter.is_ascii_digit())).collect();
    cores.extend(shorter);
    cores.retain(|core| !core.is_empty());
    cores.sort_unstable();
    cores.dedup();
    cores
}

/// Returns a word, then its singular in `IRREGULAR`, if any, then the word without each ending of a plural that it has. Two words are forms
/// of the same word if their lists have a common element.
fn singulars(word: &str) -> Vec<String> {
    let mut forms = vec![word.to_owned()];
    if let Some((_, singular)) = IRREGULAR.iter().find(|(plural, _)| *plural == word) {
        forms.push((*singular).to_owned());
    }
    for (end, instead) in
        [("ies", "y"), ("ves", "f"), ("ves", "fe"), ("es", ""), ("s", ""), ("en", ""), ("n", ""), ("er", "")]
    {
        let stem = word.strip_suffix(end).filter(|stem| stem.chars().count() > 1);
        // `glass` and `status` are no plurals, but may be singulars.
        if let Some(stem) = stem.filter(|stem| end != "s" || !stem.ends_with('s')) {
            forms.push(format!("{stem}{instead}"));
        }
    }
    forms
}

/// Returns the number of bytes of the common prefix of all names; 0 if there is only one name.
fn common_start(names: &[&str]) -> usize {
    let Some((first, rest)) = names.split_first().filter(|(_, rest)| !rest.is_empty()) else { return 0 };
    let same = |other: &&str| {
        let pairs = first.bytes().zip(other.bytes());
        pairs.take_while(|(one, other)| one.eq_ignore_ascii_case(other)).count()
    };
    rest.iter().map(same).min().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLES: &[&str] = &[
        "places",
        "visits",
        "Category",
        "order_items",
        "people",
        "addresses",
        "auth_user",
        "box",
        "Kunden",
        "status",
        "users",
        "URLs",
    ];

    fn meant(child: &str, column: &str) -> Vec<&'static str> {
        let names = TableNames::new(TABLES.iter().copied());
        let child = TABLES.iter().position(|table| *table == child).unwrap();
        names.meant_by(child, column, false).into_iter().map(|table| TABLES[table]).collect()
    }

    #[test]
    fn a_column_named_after_a_table_in_any_spelling_refers_to_that_table() {
        for (column, table) in [
            ("place_id", "places"),
            ("place", "places"),
            ("places_id", "places"),
            ("PlaceID", "places"),
            ("placeId", "places"),
            ("placeid", "places"),
            ("PLACE_ID", "places"),
            ("place id", "places"),
            ("fk_place", "places"),
            ("fk_place_id", "places"),
            ("fkPlace", "places"),
            ("id_place", "places"),
            ("idplace", "places"),
            ("place_fk", "places"),
            ("place_id_2", "places"),
            ("place2", "places"),
            ("place2_id", "places"),
            ("origin_place_id", "places"),
            ("place_from", "places"),
            ("lngPlaceID", "places"),
            ("from_visit", "visits"),
            ("category_id", "Category"),
            ("categories_id", "Category"),
            ("order_item_id", "order_items"),
            ("orderItemId", "order_items"),
            ("item_id", "order_items"),
            ("person_id", "people"),
            ("address_id", "addresses"),
            ("billing_address", "addresses"),
            ("box_no", "box"),
            ("boxes_id", "box"),
            ("kunde_id", "Kunden"),
            ("KundenNr", "Kunden"),
            ("status_id", "status"),
            ("url", "URLs"),
            ("url_id", "URLs"),
            ("pid", "places"),
        ] {
            let meant = meant("users", column);
            assert!(meant.contains(&table), "{column}: {meant:?}");
        }
    }

    #[test]
    fn a_column_that_is_not_named_after_a_table_refers_to_no_table() {
        for column in [
            "id",
            "name",
            "workplace",
            "placed",
            "place_name",
            "place_count",
            "replace",
            "visit_date",
            "revisited",
            "order",
            "title",
            "created",
            "is_visit_valid",
            "category_type",
            "position",
            "",
        ] {
            assert_eq!(meant("users", column), Vec::<&str>::new(), "{column}");
        }
    }

    #[test]
    fn columns_with_names_such_as_parent_refer_to_their_own_table() {
        for column in [
            "parent_id",
            "parent",
            "parentId",
            "reply_to",
            "in_reply_to_id",
            "reports_to",
            "previous",
            "next_id",
            "root_id",
        ] {
            assert!(meant("box", column).contains(&"box"), "{column}");
        }
        assert!(meant("visits", "from_visit").contains(&"visits"));
    }

    #[test]
    fn a_common_prefix_of_table_names_is_ignored() {
        for names in [
            ["moz_places", "moz_visits"],
            ["tblplaces", "tblvisits"],
            ["tblPlaces", "tblVisits"],
            ["app.places", "app.visits"],
        ] {
            let tables = TableNames::new(names.into_iter());
            assert_eq!(tables.meant_by(1, "place_id", false), [0], "{names:?}");
            assert_eq!(tables.meant_by(1, &format!("{}_id", names[0]), false), [0], "{names:?}");
        }
        // The name means the table of this name, not a table whose name ends with it.
        let tables = TableNames::new(["items", "order_items"].into_iter());
        assert_eq!(tables.meant_by(1, "item_id", false), [0]);
    }
}
