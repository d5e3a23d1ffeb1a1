//! Finds undeclared references: columns whose names suggest a table, and whose values are keys of this table.
//!
//! ```text
//!  visits.place_id, from_visit, fk_place ── names ──> a table, or several ── values ──> a candidate
//!                                           (names.rs)                      at least half of the non-NULL values are keys
//! ```
//!
//! **The rule for names.** A name is split into words (`fromVisit`, `from_visit` and `"from visit"` have the same words). A column refers
//! to a table if some of its words are the name of the table, in the singular or the plural, and the following words only mark a key or a
//! role (`place`, `place_id`, `places_id`, `placeid`, `id_place`, `fk_place`, `origin_place_id`, `place_id_2`, `account_from`). A table's
//! name is also recognized without the common prefix of all tables, and without its first words, unless the rest is the name of another
//! table (`moz_places`, `auth_user`). Columns such as `parent_id`, `previous` or `reply_to` refer to their own table. The names `fk` and
//! `ref` may refer to any table, and `id` of a table whose name begins with the name of another table refers to this other table, unless
//! the column alone is the key (`downloads_chains.id`). `nid` is the id of `notes`.
//!
//! A reference found by names and values is a guess. Callers ask the user, or report the guesses that they use.
//!
//! Invariant: columns with declared references, and columns that SQLite computes, are no candidates.

mod given;
mod known;
mod names;

use rusqlite::Connection;
use sqluice_core::schema::{Table, quoted};

use given::refuse_no_reference;
pub(crate) use given::{Names, column_name, described, name_of, question, unquoted};
pub(crate) use known::{Known, Origin, Reference};
pub(crate) use names::TableNames;

/// The treatment of rows that refer to left-out rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Orphans {
    /// The run ends with an error that counts these rows.
    #[default]
    Refuse,
    /// The rows are kept, although the rows that they refer to are missing. The report counts them.
    Keep,
}

impl Orphans {
    pub(crate) const WORDS: [(&str, Orphans); 2] = [("refuse", Orphans::Refuse), ("keep", Orphans::Keep)];
}

/// A column that refers to a key of a table, as indexes of tables and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ColumnReference {
    /// The child table.
    pub(crate) child: usize,
    /// The referring column of the child table.
    pub(crate) column: usize,
    /// The parent table.
    pub(crate) parent: usize,
    /// The column of the parent table that alone is a key.
    pub(crate) key: usize,
}

/// The result of comparing the values of a column with keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    /// The number of values that are not NULL.
    pub(crate) values: u64,
    /// The number of values that are keys.
    pub(crate) keys: u64,
}

impl Share {
    /// Returns `true` if the values look like references.
    pub(crate) fn is_enough(self) -> bool {
        self.keys > 0 && self.keys * 2 >= self.values
    }
}

/// Returns the columns of `tables` whose names suggest a reference to a table for which `is_wanted` holds, in the order of the tables.
/// Parents need a PRIMARY KEY of one column.
pub(crate) fn by_name(tables: &[&Table], is_wanted: impl Fn(usize) -> bool) -> Vec<ColumnReference> {
    let names = TableNames::new(tables.iter().map(|table| &*table.name));
    let key_of = |table: usize| match tables[table].primary_key().as_deref() {
        Some([key]) => Some(*key),
        _ => None,
    };
    let wanted: Vec<usize> = (0..tables.len()).filter(|table| is_wanted(*table)).collect();
    let mut found = Vec::new();
    for (child, table) in tables.iter().enumerate() {
        for (column, declared) in table.columns.iter().enumerate() {
            let refers = table.references.iter().any(|reference| reference.columns.contains(&column));
            if refers || declared.generated.is_some() {
                continue;
            }
            let is_own_key = key_of(child) == Some(column);
            let mut parents = names.meant_by(child, &declared.name, is_own_key);
            if names::may_mean_any(&declared.name) {
                parents.extend(&wanted);
                parents.sort_unstable();
                parents.dedup();
            }
            for parent in parents.into_iter().filter(|parent| is_wanted(*parent)) {
                let Some(key) = key_of(parent) else { continue };
                if (child, column) != (parent, key) {
                    found.push(ColumnReference { child, column, parent, key });
                }
            }
        }
    }
    found
}

/// Counts the non-NULL values of a column in a database, and the values that are keys of the parent.
pub(crate) fn share_of_keys(
    connection: &Connection,
    (child, column): (&str, &str),
    (parent, key): (&str, &str),
) -> rusqlite::Result<Share> {
    let [child, column, parent, key] = [child, column, parent, key].map(quoted);
    let sql = format!(
        "SELECT count(c.{column}), count(*) FILTER (WHERE EXISTS (SELECT 1 FROM main.{parent} AS p WHERE p.{key} = c.{column}))
         FROM main.{child} AS c"
    );
    let (values, keys) =
        connection.query_row(&sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))?;
    Ok(Share { values: values.cast_unsigned(), keys: keys.cast_unsigned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqluice_core::schema::Schema;

    fn found(sql: &str) -> Vec<String> {
        let schema = Schema::parse(sql, "s".as_ref()).unwrap();
        let tables: Vec<&Table> = schema.tables.iter().collect();
        let describe = |found: &ColumnReference| {
            let (child, parent) = (tables[found.child], tables[found.parent]);
            let (column, key) = (&child.columns[found.column].name, &parent.columns[found.key].name);
            format!("{}.{column}={}.{key}", child.name, parent.name)
        };
        by_name(&tables, |_| true).iter().map(describe).collect()
    }

    #[test]
    fn undeclared_references_in_a_browser_history_are_found() {
        let sql = "CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT, title TEXT, visit_count INT, origin_id INT);
            CREATE TABLE moz_historyvisits (id INTEGER PRIMARY KEY, from_visit INT, place_id INT, visit_date INT);
            CREATE TABLE moz_bookmarks (id INTEGER PRIMARY KEY, type INT, fk INT, parent INT, position INT);
            CREATE TABLE moz_origins (id INTEGER PRIMARY KEY, host TEXT);";
        let found = found(sql);
        for wanted in [
            "moz_places.origin_id=moz_origins.id",
            "moz_historyvisits.place_id=moz_places.id",
            "moz_historyvisits.from_visit=moz_historyvisits.id",
            "moz_bookmarks.fk=moz_places.id",
            "moz_bookmarks.parent=moz_bookmarks.id",
        ] {
            assert!(found.iter().any(|found| found == wanted), "{wanted}: {found:?}");
        }
        for other in ["url", "title", "position", "host", "visit_count", "visit_date", "type"] {
            assert!(!found.iter().any(|found| found.contains(&format!(".{other}="))), "{other}: {found:?}");
        }
    }

    #[test]
    fn declared_references_and_computed_columns_are_no_candidates_for_undeclared_references() {
        let sql = "CREATE TABLE place (id INTEGER PRIMARY KEY);
            CREATE TABLE visit (id INTEGER PRIMARY KEY, place_id INT REFERENCES place, place_2 AS (place_id), place_3 INT);";
        assert_eq!(found(sql), ["visit.place_3=place.id"]);
    }

    #[test]
    fn keys_of_other_tables_and_parts_of_composite_keys_can_be_undeclared_references() {
        let sql = "CREATE TABLE users (id INTEGER PRIMARY KEY);
            CREATE TABLE profiles (user_id INTEGER PRIMARY KEY, bio TEXT);
            CREATE TABLE users_groups (id INT, place INT, PRIMARY KEY (id, place));
            CREATE TABLE users_names (id INTEGER PRIMARY KEY);";
        assert_eq!(found(sql), ["profiles.user_id=users.id", "users_groups.id=users.id"]);
    }

    #[test]
    fn the_share_of_values_that_are_keys_is_counted_without_null() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE p (id INTEGER PRIMARY KEY); INSERT INTO p VALUES (1), (2), (3);
                 CREATE TABLE c (\"p id\"); INSERT INTO c VALUES (1), (NULL), (2), (9), ('x');",
            )
            .unwrap();
        let share = share_of_keys(&connection, ("c", "p id"), ("p", "id")).unwrap();
        assert_eq!(share, Share { values: 4, keys: 2 });
        assert!(
            share.is_enough() && !Share { values: 5, keys: 2 }.is_enough() && !Share::default().is_enough()
        );
    }
}
