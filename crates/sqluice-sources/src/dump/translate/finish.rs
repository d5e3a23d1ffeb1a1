//! Writes the tables of a dump as SQL of SQLite.
//!
//! Each table is tried out in an SQLite database in memory, which contains one table at a time. Its generated columns are tried one by one.
//! Its CHECKs are first tried all at once, and one by one if that fails, and so are its defaults. A part that SQLite refuses is left out
//! with a note.

use std::collections::HashMap;

use rusqlite::Connection;
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::schema::quoted;

use super::defaults::{self, DefaultValue};
use super::expression;
use super::foreign_keys::Parents;
use super::model::{CreatedType, Domain, Name, Part, Table, named};
use super::new_table::{Names, NewColumn, NewTable, column_list, known, known_column, words};
use super::pieces::{Scope, Why};
use super::types::{self, Kind};
use super::{Dialect, Translated, TranslatedColumn, TranslatedTable, Translator};
use crate::dump::conversion::Conversion;

/// The note about a generated column that the source computes with decimals.
const IN_FLOATING_POINT: &str =
    "is computed in floating point, whose last digit may differ from that of a decimal";

impl Translator {
    /// Returns the whole schema as SQL of SQLite.
    ///
    /// # Errors
    /// If SQLite can't have a table, for example one with more than 2,000 columns. The place of the error has the line; the caller adds the
    /// file. Also if the database in memory, in which tables are tried out, fails.
    pub fn finish(mut self) -> Result<Translated> {
        let tables: Vec<Table> = std::mem::take(&mut self.tables).into_iter().flatten().collect();
        let places: HashMap<Name, usize> =
            tables.iter().enumerate().map(|(place, table)| (table.name.clone(), place)).collect();
        let roots = roots(&tables, &places);
        let mut given = Names::default();
        let names = self.table_names(&tables, &roots, &mut given);
        let mut index_names: HashMap<String, usize> = HashMap::new();
        for (_, table) in tables.iter().enumerate().filter(|(place, _)| roots[*place] == *place) {
            for name in table.indexes.iter().filter_map(|index| index.name.as_ref()) {
                *index_names.entry(name.to_ascii_lowercase()).or_default() += 1;
            }
        }
        let probe = Connection::open_in_memory().map_err(|error| {
            Error::target("cannot try out tables in an SQLite database in memory").because(error)
        })?;
        let mut translated = Translated::default();
        let mut all_columns: Vec<Vec<NewColumn>> = Vec::with_capacity(tables.len());
        for table in &tables {
            all_columns.push(self.new_columns(table));
        }
        let mut indexes = Vec::new();
        for place in 0..tables.len() {
            if roots[place] != place {
                continue;
            }
            let table = &tables[place];
            let columns = std::mem::take(&mut all_columns[place]);
            let mut new = NewTable { name: names[place].clone(), columns, constraints: Vec::new() };
            self.primary_key(table, &mut new);
            self.allow_nan(&mut new);
            self.conditions(table, &mut new, &probe);
            let parents = Parents { tables: &tables, places: &places, roots: &roots, names: &names };
            self.foreign_keys(table, &mut new, &parents);
            let sql = new.sql(table);
            self.create_probe(&probe, &sql, table)?;
            for index in &table.indexes {
                if let Some(sql) = self.index(table, &new, index, &mut given, &index_names, &probe) {
                    indexes.push(sql);
                }
            }
            let dropped = format!("DROP TABLE {}", quoted(&new.name));
            probe.execute_batch(&dropped).map_err(|error| {
                Error::target("cannot try out tables in an SQLite database in memory").because(error)
            })?;
            translated.statements.push(sql);
            all_columns[place] = new.columns;
        }
        translated.statements.extend(indexes);
        for (place, table) in tables.iter().enumerate() {
            let root = roots[place];
            let columns = table.columns.iter().enumerate().map(|(at, column)| {
                let new = match root == place {
                    true => all_columns[root].get(at),
                    false => tables[root]
                        .place(&column.name, self.dialect)
                        .and_then(|at| all_columns[root].get(at)),
                };
                TranslatedColumn {
                    name: column.name.clone(),
                    into: new.filter(|new| new.kept).map(|new| new.name.clone()),
                    conversion: new.map_or(Conversion::None, |new| new.mapped.conversion.clone()),
                    generated: column.generated.is_some(),
                    no_default: new.and_then(|new| new.no_default.clone()),
                }
            });
            let counts = all_columns[root].iter().position(|column| column.rowid == Some(true));
            let largest_given =
                counts.and_then(|at| self.largest_given(&tables[root], at, &all_columns[root][at].sequence));
            translated.tables.push(TranslatedTable {
                schema: table.name.0.clone(),
                name: table.name.1.clone(),
                into: names[root].clone(),
                columns: columns.collect(),
                largest_given,
            });
        }
        for ((_, name), sequence) in std::mem::take(&mut self.sequences) {
            if !sequence.used {
                self.leave_out("sequence", name, sequence.line, "SQLite has no sequences");
            }
        }
        translated.left_out = std::mem::take(&mut self.left_out);
        translated.left_out.sort_by_key(|left_out| left_out.line);
        translated.notes = std::mem::take(&mut self.notes);
        translated.notes.sort_by_key(|note| note.line);
        Ok(translated)
    }

    /// Returns the name of each table in SQLite. Tables of the schema `public` come first; a table of another schema keeps its name if it
    /// is still free.
    fn table_names(&mut self, tables: &[Table], roots: &[usize], given: &mut Names) -> Vec<String> {
        let mut names = vec![String::new(); tables.len()];
        for of_public in [true, false] {
            for (place, table) in tables.iter().enumerate() {
                let public = table.name.0.as_deref().is_none_or(|schema| schema == "public");
                if roots[place] != place || public != of_public {
                    continue;
                }
                let name = &table.name.1;
                let wished = if name.to_ascii_lowercase().starts_with("sqlite_") || name.is_empty() {
                    vec![format!("table_{name}")]
                } else {
                    match &table.name.0 {
                        Some(schema) => vec![name.clone(), format!("{schema}_{name}")],
                        None => vec![name.clone()],
                    }
                };
                names[place] = given.give(&wished.iter().map(String::as_str).collect::<Vec<_>>());
                if names[place] != *name {
                    let schema =
                        table.name.0.as_ref().map_or_else(String::new, |schema| format!("{schema}."));
                    self.note(table.line, format!("table {schema}{name} is named {}", names[place]));
                }
            }
        }
        names
    }

    fn domain(&self, name: &Name) -> Option<&Domain> {
        match self.types.get(&self.resolved(name.clone()))? {
            CreatedType::Domain(domain) => Some(domain),
            CreatedType::Enum(_) => None,
        }
    }

    fn enumeration(&self, name: &Name) -> Option<&Vec<String>> {
        match self.types.get(&self.resolved(name.clone()))? {
            CreatedType::Enum(values) => Some(values),
            CreatedType::Domain(_) => None,
        }
    }

    /// Returns the columns of a table with their types and defaults. The conditions of their types become CHECKs.
    fn new_columns(&mut self, table: &Table) -> Vec<NewColumn> {
        let mut names = Names::default();
        let mut columns = Vec::with_capacity(table.columns.len());
        for column in &table.columns {
            let name = names.give(&[if column.name.is_empty() { "column" } else { column.name.as_str() }]);
            if name != column.name {
                self.note(table.line, format!("column {}.{} is named {name}", table.name.1, column.name));
            }
            // A domain may be based on a domain. The number of steps is limited, so that a circle ends.
            let mut declared = column.declared.clone();
            let (mut not_null, mut default, mut checks) =
                (column.not_null, column.default.clone(), Vec::new());
            let mut levels = 0;
            while let Some(domain) =
                (!declared.array && levels < 16).then(|| self.domain(&declared.name)).flatten()
            {
                not_null |= domain.not_null;
                default = default.or_else(|| domain.default.clone());
                checks.extend(domain.checks.iter().cloned());
                declared = domain.base.clone();
                levels += 1;
            }
            let values = self.enumeration(&declared.name).cloned();
            let mapped = types::map(&declared, self.dialect, values.is_some());
            let is_text = matches!(mapped.kind, Kind::Text | Kind::Enum) && is_characters(&declared.name.1);
            let by_collation = column.ignores_case.or(table.ignores_case).unwrap_or(false);
            let ignores_case =
                mapped.ignores_case || (is_text && by_collation && self.dialect == Dialect::MySql);
            let mut new = NewColumn {
                name,
                not_null,
                default: None,
                generated: None,
                checks: Vec::new(),
                ignores_case,
                rowid: None,
                sequence: column.sequence.clone(),
                no_default: None,
                kept: true,
                mapped,
            };
            let values = match (values, declared.name.1.as_str(), self.dialect) {
                (Some(values), ..) => Some(values),
                // MySQL stores '' if a value is not in the list.
                (None, "enum", Dialect::MySql) => {
                    let mut values = declared.arguments.clone();
                    if !values.iter().any(String::is_empty) {
                        values.push(String::new());
                    }
                    Some(values)
                }
                _ => None,
            };
            if let Some(values) = values.filter(|_| !declared.array) {
                new.checks.push(expression::one_of(&new.name, &values));
            }
            for check in &checks {
                let known = known(&new);
                let scope =
                    Scope { dialect: self.dialect, column: &|name| (name == "value").then(|| known.clone()) };
                match expression::translate(&check.expression, &scope) {
                    Ok(sql) => new.checks.push(sql),
                    Err(why) => {
                        self.without(table, &format!("CHECK of column {}", column.name), &why, table.line)
                    }
                }
            }
            let default = default.filter(|_| column.generated.is_none() && !column.auto);
            if let Some(default) = default {
                match defaults::default(&default, &declared.name.1, &new.mapped, self.dialect) {
                    Ok(DefaultValue::Sql(sql)) => new.default = Some(sql),
                    Ok(DefaultValue::EachRow(sql)) => {
                        new.default = Some(sql);
                        new.no_default = Some("each row gets a different value".to_owned());
                    }
                    Ok(DefaultValue::Null) => {}
                    Ok(DefaultValue::Counter(arguments)) => {
                        new.rowid = Some(true);
                        new.sequence = self.sequence_of_default(&arguments);
                        let sequence = new.sequence.as_ref().and_then(|name| self.sequences.get_mut(name));
                        sequence.into_iter().for_each(|sequence| sequence.used = true);
                    }
                    Err(why) => {
                        self.without(table, &format!("DEFAULT of column {}", column.name), &why, table.line);
                        new.no_default = Some(why);
                    }
                }
            }
            if column.auto {
                new.rowid = Some(true);
            }
            columns.push(new);
        }
        columns
    }

    pub(super) fn without(&mut self, table: &Table, part: &str, why: &Why, line: u64) {
        self.note(line, format!("table {}: {part} is left out: {why}", table.name.1));
    }

    /// Adds generated columns and CHECKs, except for those that SQLite refuses.
    fn conditions(&mut self, table: &Table, new: &mut NewTable, probe: &Connection) {
        for (at, column) in table.columns.iter().enumerate() {
            let Some(generated) = &column.generated else { continue };
            let translated = {
                let scope = Scope {
                    dialect: self.dialect,
                    column: &|name| known_column(table, new, name, self.dialect),
                };
                expression::translate_computed(&generated.expression, &scope)
            };
            let translated = translated.and_then(|(sql, inexact)| {
                // The source rounds the result to the decimal places of the column.
                let sql = match (inexact, new.columns[at].mapped.kind, column.declared.arguments.get(1)) {
                    (true, Kind::Number, Some(digits)) => format!("round({sql}, {digits})"),
                    _ => sql,
                };
                let stored = if generated.stored { "STORED" } else { "VIRTUAL" };
                let sql = format!("GENERATED ALWAYS AS ({sql}) {stored}");
                new.columns[at].generated = Some(sql);
                let tried = new.try_out(probe);
                if tried.is_err() {
                    new.columns[at].generated = None;
                } else if inexact {
                    let name = format!("{}.{}", table.name.1, column.name);
                    self.note(table.line, format!("the computed column {name} {IN_FLOATING_POINT}"));
                }
                tried
            });
            if let Err(why) = translated {
                new.columns[at].kept = false;
                self.note(
                    table.line,
                    format!("the computed column {}.{} is left out: {why}", table.name.1, column.name),
                );
            }
        }
        if !new.columns.iter().any(|column| column.kept && column.generated.is_none()) {
            return;
        }
        let mut added = Vec::new();
        for check in &table.checks {
            let translated = {
                let scope = Scope {
                    dialect: self.dialect,
                    column: &|name| known_column(table, new, name, self.dialect),
                };
                expression::translate(&check.expression, &scope)
            };
            let name =
                check.name.as_ref().map_or_else(String::new, |name| format!("CONSTRAINT {} ", quoted(name)));
            match translated {
                Ok(sql) => added.push((format!("{name}CHECK ({sql})"), check)),
                Err(why) => {
                    self.without(table, &named("CHECK", check.name.as_deref()), &why, check.line);
                }
            }
        }
        // All CHECKs are tried at once first, because SQLite usually accepts all of them.
        let before = new.constraints.len();
        new.constraints.extend(added.iter().map(|(sql, _)| sql.clone()));
        if added.is_empty() || new.try_out(probe).is_ok() {
            self.defaults(table, new, probe);
            return;
        }
        new.constraints.truncate(before);
        self.defaults(table, new, probe);
        for (sql, check) in added {
            new.constraints.push(sql);
            if let Err(why) = new.try_out(probe) {
                new.constraints.pop();
                self.without(table, &named("CHECK", check.name.as_deref()), &why, check.line);
            }
        }
    }

    /// Removes defaults that SQLite refuses.
    fn defaults(&mut self, table: &Table, new: &mut NewTable, probe: &Connection) {
        if !new
            .columns
            .iter()
            .any(|column| column.default.as_ref().is_some_and(|default| default.starts_with('(')))
            || new.try_out(probe).is_ok()
        {
            return;
        }
        let defaults: Vec<Option<String>> =
            new.columns.iter_mut().map(|column| column.default.take()).collect();
        for (at, default) in defaults.into_iter().enumerate() {
            let Some(default) = default else { continue };
            new.columns[at].default = Some(default);
            if let Err(why) = new.try_out(probe) {
                new.columns[at].default = None;
                new.columns[at].no_default = Some(why.clone());
                self.without(
                    table,
                    &format!("DEFAULT of column {}", table.columns[at].name),
                    &why,
                    table.line,
                );
            }
        }
    }

    /// Declares the primary key: as an INTEGER PRIMARY KEY if it is a single column of integers, or else as a constraint. A key with a
    /// computed column or an expression is left out with a note. A counter beside the INTEGER PRIMARY KEY no longer counts, with a note.
    ///
    /// Counters of MySQL and PostgreSQL never return the key of a deleted row again. AUTOINCREMENT gives the same guarantee.
    fn primary_key(&mut self, table: &Table, new: &mut NewTable) {
        let counters: Vec<usize> =
            (0..new.columns.len()).filter(|at| new.columns[*at].rowid.is_some()).collect();
        let key: Vec<usize> =
            table.primary_key.iter().flatten().filter_map(|part| self.part_place(table, part)).collect();
        let complete = table.primary_key.as_ref().is_some_and(|parts| parts.len() == key.len());
        // SQLite does not permit a generated column in a primary key.
        let kept = key.iter().all(|at| table.columns[*at].generated.is_none());
        let mut rowid = None;
        if let (&[at], true, true) = (key.as_slice(), complete, kept) {
            let column = &new.columns[at];
            let counter = column.rowid.is_some();
            if column.mapped.kind == Kind::Integer && (counter || column.mapped.declared == "INTEGER") {
                rowid = Some(at);
                new.columns[at].mapped.declared = "INTEGER";
                new.columns[at].rowid = Some(counter);
                new.columns[at].default = None;
            }
        }
        for at in counters.into_iter().filter(|at| Some(*at) != rowid) {
            new.columns[at].rowid = None;
            new.columns[at].no_default = Some("only an INTEGER PRIMARY KEY numbers rows".to_owned());
            let column = &table.columns[at].name;
            self.note(
                table.line,
                format!(
                    "column {}.{column} is not numbered automatically: SQLite numbers only an INTEGER PRIMARY KEY",
                    table.name.1
                ),
            );
        }
        if rowid.is_none() && !key.is_empty() {
            if complete && kept {
                for at in &key {
                    new.columns[*at].not_null = true;
                }
                new.constraints.push(format!("PRIMARY KEY ({})", column_list(new, &key)));
            } else {
                self.note(
                    table.line,
                    format!(
                        "table {}: the primary key is left out: it has a computed column or an expression",
                        table.name.1
                    ),
                );
            }
        }
    }

    /// Removes NOT NULL from columns whose rows have NaN, which becomes NULL. The caller has found these rows, and reports them.
    fn allow_nan(&self, new: &mut NewTable) {
        for column in &mut new.columns {
            column.not_null &= !self.with_nan.contains(&(new.name.clone(), column.name.clone()));
        }
    }

    fn part_place(&self, table: &Table, part: &Part) -> Option<usize> {
        match part {
            Part::Column { name, .. } => table.place(name, self.dialect),
            Part::Expression { .. } => None,
        }
    }

    /// Creates the table in the test database, so that its indexes can be tried out.
    fn create_probe(&self, probe: &Connection, sql: &str, table: &Table) -> Result<()> {
        probe.execute_batch(sql).map_err(|error| {
            Error::input(format!("SQLite can't have the table {}", table.name.1))
                .because(error)
                .at(Place { line: Some(table.line), ..Place::default() })
        })
    }

    /// Returns the statement of an index. Returns `None`, and adds a note, if the index can't be translated or SQLite refuses it.
    fn index(
        &mut self,
        table: &Table,
        new: &NewTable,
        index: &super::model::Index,
        given: &mut Names,
        all: &HashMap<String, usize>,
        probe: &Connection,
    ) -> Option<String> {
        let scope =
            Scope { dialect: self.dialect, column: &|name| known_column(table, new, name, self.dialect) };
        let translated: Result<Vec<String>, Why> = index
            .parts
            .iter()
            .map(|part| match part {
                Part::Column { name, descending } => match table.place(name, self.dialect) {
                    Some(at) if new.columns[at].kept => Ok(format!(
                        "{}{}",
                        quoted(&new.columns[at].name),
                        if *descending { " DESC" } else { "" }
                    )),
                    _ => Err(format!("the column {name} is left out")),
                },
                Part::Expression { tokens, descending } => {
                    let sql = expression::translate(tokens, &scope)?;
                    Ok(format!("({sql}){}", if *descending { " DESC" } else { "" }))
                }
            })
            .collect();
        let filter = index.filter.as_ref().map(|filter| expression::translate(filter, &scope)).transpose();
        let shown = named("index", index.name.as_deref());
        let (parts, filter) = match (translated, filter) {
            (Ok(parts), Ok(filter)) => (parts, filter),
            (Err(why), _) | (_, Err(why)) => {
                self.without(table, &shown, &why, index.line);
                return None;
            }
        };
        // In SQLite the name of an index must be unique in the database, in MySQL only in its table.
        let first = match index.parts.first() {
            Some(Part::Column { name, .. }) => name.as_str(),
            _ => "index",
        };
        let own = index.name.as_deref().unwrap_or(first);
        let with_table = format!("{}_{own}", new.name);
        let shared = index.name.is_none()
            || all.get(&own.to_ascii_lowercase()).is_some_and(|count| *count > 1)
            || own.to_ascii_lowercase().starts_with("sqlite_");
        let wished: &[&str] = if shared { &[&with_table] } else { &[own, &with_table] };
        let name = given.give(wished);
        let unique = if index.unique { "UNIQUE " } else { "" };
        let filter = filter.map_or_else(String::new, |filter| format!(" WHERE {filter}"));
        let sql = format!(
            "CREATE {unique}INDEX {} ON {} ({}){filter}",
            quoted(&name),
            quoted(&new.name),
            parts.join(", ")
        );
        match probe.execute_batch(&sql) {
            Ok(()) => Some(sql),
            Err(error) => {
                self.without(table, &shown, &words(&error), index.line);
                None
            }
        }
    }
}

/// Returns `true` for types of texts, which have a collation.
fn is_characters(name: &str) -> bool {
    name.contains("char") || name.contains("text") || name == "enum" || name == "set"
}

/// Returns, for each table, the index in `tables` of the table that stores its rows: for a partition, its parent.
fn roots(tables: &[Table], places: &HashMap<Name, usize>) -> Vec<usize> {
    let mut roots: Vec<Option<usize>> = vec![None; tables.len()];
    for start in 0..tables.len() {
        let (mut at, mut path) = (start, Vec::new());
        let root = loop {
            if let Some(root) = roots[at] {
                break root;
            }
            path.push(at);
            let parent = tables[at].partition_of.as_ref().and_then(|parent| places.get(parent));
            match parent {
                Some(&parent) if path.len() <= tables.len() && parent != at => at = parent,
                _ => break at,
            }
        };
        for at in path {
            roots[at] = Some(root);
        }
    }
    roots.into_iter().enumerate().map(|(place, root)| root.unwrap_or(place)).collect()
}
