//! Translates foreign keys of MySQL and PostgreSQL to SQL of SQLite.

use std::collections::HashMap;

use sqluice_core::schema::quoted;

use super::model::{ForeignKey, Name, Part, Table, named};
use super::new_table::{Names, NewTable, column_list};
use super::pieces::Why;
use super::{Dialect, Translator};

/// The tables of the dump, to which foreign keys refer.
pub(super) struct Parents<'t> {
    pub(super) tables: &'t [Table],
    pub(super) places: &'t HashMap<Name, usize>,
    pub(super) roots: &'t [usize],
    pub(super) names: &'t [String],
}

impl Parents<'_> {
    /// Translates a foreign key. SQLite demands that the columns to which a foreign key refers have a unique key.
    fn reference(
        &self,
        table: &Table,
        new: &NewTable,
        key: &ForeignKey,
        dialect: Dialect,
    ) -> Result<String, Why> {
        let mut columns = Vec::new();
        for name in &key.columns {
            match table.place(name, dialect) {
                Some(at) if new.columns[at].kept => columns.push(at),
                _ => return Err(format!("the column {name} is left out")),
            }
        }
        let named = |name: &Name| self.places.get(name).copied();
        // MySQL names the database of the parent table only if it is another database than that of this table.
        let place = named(&key.parent).ok_or_else(|| format!("the dump has no table {}", key.parent.1))?;
        let root = self.roots[place];
        let parent = &self.tables[root];
        let places = |parts: &[Part]| -> Option<Vec<usize>> {
            let mut places = Vec::new();
            for part in parts {
                match part {
                    Part::Column { name, .. } => places.push(parent.place(name, dialect)?),
                    Part::Expression { .. } => return None,
                }
            }
            places.sort_unstable();
            Some(places)
        };
        let parent_columns: Option<Vec<usize>> = match key.parent_columns.as_slice() {
            [] => parent.primary_key.as_ref().and_then(|parts| {
                parts
                    .iter()
                    .map(|part| match part {
                        Part::Column { name, .. } => parent.place(name, dialect),
                        Part::Expression { .. } => None,
                    })
                    .collect()
            }),
            names => names.iter().map(|name| parent.place(name, dialect)).collect(),
        };
        let parent_columns = parent_columns.ok_or("its parent has no such columns")?;
        let mut sorted = parent_columns.clone();
        sorted.sort_unstable();
        let unique = parent.primary_key.iter().any(|parts| places(parts).as_ref() == Some(&sorted))
            || parent.indexes.iter().any(|index| {
                index.unique && index.filter.is_none() && places(&index.parts).as_ref() == Some(&sorted)
            });
        if !unique || columns.len() != parent_columns.len() {
            return Err(format!("{} has no unique key of these columns", key.parent.1));
        }
        let mut names = Names::default();
        let parent_names: Vec<String> =
            parent.columns.iter().map(|column| names.give(&[&column.name])).collect();
        let parent_list: Vec<String> = parent_columns.iter().map(|at| quoted(&parent_names[*at])).collect();
        let name = key.name.as_ref().map_or_else(String::new, |name| format!("CONSTRAINT {} ", quoted(name)));
        Ok(format!(
            "{name}FOREIGN KEY ({}) REFERENCES {} ({}){}",
            column_list(new, &columns),
            quoted(&self.names[root]),
            parent_list.join(", "),
            key.clauses
        ))
    }
}

impl Translator {
    /// Adds the foreign keys that SQLite permits. Others are left out with a note.
    pub(super) fn foreign_keys(&mut self, table: &Table, new: &mut NewTable, parents: &Parents<'_>) {
        for key in &table.foreign_keys {
            let why = match parents.reference(table, new, key, self.dialect) {
                Ok(sql) => {
                    new.constraints.push(sql);
                    continue;
                }
                Err(why) => why,
            };
            self.without(table, &named("FOREIGN KEY", key.name.as_deref()), &why, key.line);
        }
    }
}
