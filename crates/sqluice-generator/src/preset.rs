//! Built-in schemas.
//!
//! A preset is a schema file, `preset/NAME.sql`, with the proportions between the row counts of its tables.

use std::path::Path;

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::schema::Schema;

/// All presets of the generator. The preset `tpch` is not among them: another crate makes its rows.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "user",
        about: "one narrow table, as in articles about a billion rows",
        sql: include_str!("preset/user.sql"),
        tables: &[("user", 1.0)],
    },
    Preset {
        name: "integers",
        about: "a key and a number",
        sql: include_str!("preset/integers.sql"),
        tables: &[("integers", 1.0)],
    },
    Preset {
        name: "kv",
        about: "text keys and blobs",
        sql: include_str!("preset/kv.sql"),
        tables: &[("kv", 1.0)],
    },
    Preset {
        name: "shop",
        about: "customers, products, orders and items, with keys and indexes; sized by its orders",
        sql: include_str!("preset/shop.sql"),
        tables: &[("orders", 1.0), ("customers", 0.1), ("products", 0.01), ("items", 2.0)],
    },
    Preset {
        name: "events",
        about: "a time series of devices; sized by its events",
        sql: include_str!("preset/events.sql"),
        tables: &[("events", 1.0), ("devices", 0.001)],
    },
];

/// A built-in schema.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Preset {
    /// The name of the preset.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    sql: &'static str,
    /// The tables, each with its number of rows for one row of the first table.
    tables: &'static [(&'static str, f64)],
}

impl Preset {
    /// Returns the preset called `name`.
    ///
    /// # Errors
    /// When no preset has that name.
    pub fn find(name: &str) -> Result<Preset> {
        PRESETS.iter().find(|preset| preset.name == name).copied().ok_or_else(|| {
            let names: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let error = Error::usage(format!("no preset is called `{name}`"));
            match cfg!(feature = "tpch") {
                true => error.hint(message![
                    format!("choose one of: {}, or tpch with a ", names.join(", ")),
                    Setting::Scale
                ]),
                false => error.hint(format!("choose one of: {}", names.join(", "))),
            }
        })
    }

    /// Returns the row count of each table for the requested `rows`. A count without a name is the count of the first table, and scales
    /// the others; a count with a name is for that table alone. Later counts override earlier ones. Tables without a count are left out.
    pub fn rows(&self, rows: &[(Option<String>, u64)]) -> Vec<(Option<String>, u64)> {
        let all = rows.iter().rfind(|(name, _)| name.is_none());
        let shares = self.tables.iter().filter_map(|&(table, share)| {
            let rows = all?.1;
            // The first table gets exactly `rows`: the calculation with f64 would change large numbers.
            let its = if share == 1.0 { rows } else { ((rows as f64 * share) as u64).max(rows.min(1)) };
            Some((Some(table.to_owned()), its))
        });
        let named = rows.iter().filter(|(name, _)| name.is_some()).cloned();
        shares.chain(named).collect()
    }

    /// Parses the schema; messages call its file `preset:name`.
    ///
    /// # Errors
    /// When SQLite rejects the schema, which the tests rule out.
    pub fn schema(&self) -> Result<Schema> {
        Schema::parse(self.sql.to_owned(), Path::new(&format!("preset:{}", self.name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    fn rows(preset: &str, given: &[(Option<&str>, u64)]) -> Vec<(String, u64)> {
        let given: Vec<_> = given.iter().map(|(name, rows)| (name.map(str::to_owned), *rows)).collect();
        let rows = Preset::find(preset).unwrap().rows(&given);
        rows.into_iter().map(|(name, rows)| (name.unwrap(), rows)).collect()
    }

    #[test]
    fn every_preset_is_a_valid_schema_for_the_generator() {
        for it in PRESETS {
            let schema = it.schema().unwrap();
            let spec = Spec::new(&schema).unwrap();
            assert_eq!(spec.tables.len(), it.tables.len());
            assert!(it.tables.iter().all(|(table, _)| schema.table(table).is_some()));
            assert_eq!(it.tables[0].1, 1.0, "the first table is the one that is counted");
        }
    }

    #[test]
    fn a_row_count_without_a_table_name_is_for_the_first_table_of_a_preset_and_scales_the_others() {
        let named = |name: &str, rows| (name.to_owned(), rows);
        let all =
            [named("orders", 1000), named("customers", 100), named("products", 10), named("items", 2000)];
        assert_eq!(rows("shop", &[(None, 5), (None, 1000)]), all);
        let more = [&all[..], &[named("Items", 7)]].concat();
        assert_eq!(rows("shop", &[(Some("Items"), 7), (None, 1000)]), more);
        assert_eq!(rows("shop", &[(Some("items"), 7)]), [named("items", 7)]);
        // Even 3 orders need a customer and a product. Without orders, no table has rows.
        assert_eq!(rows("shop", &[(None, 3)])[1..3], [named("customers", 1), named("products", 1)]);
        assert_eq!(rows("shop", &[(None, 0)]).iter().map(|(_, rows)| rows).sum::<u64>(), 0);
        assert_eq!(rows("user", &[(None, u64::MAX)]), [named("user", u64::MAX)]);
    }

    #[test]
    fn an_unknown_preset_is_refused_with_a_list_of_all_presets() {
        let error = Preset::find("users").unwrap_err();
        assert_eq!(error.without_hint(), "no preset is called `users`");
        assert!(error.hint_text().unwrap().starts_with("choose one of: user, integers, kv, shop, events"));
    }
}
