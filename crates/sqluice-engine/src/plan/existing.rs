//! Chooses the write path of each table and index in an existing database.
//!
//! ```text
//!  a new table                                          pages, as in a new database
//!  an existing table, new rows after the last rowid
//!    fewer than 100 rows                                insert
//!    without indexes                                    pages: the right edge of its tree is rewritten
//!    with indexes, many rows                            pages, and each index is rebuilt by a merge
//!    with indexes, fewer rows                           insert
//!  an existing table, other rows, such as an upsert     insert
//!  work that only SQLite can do or decide               insert
//!  a database into which pages can't be written         insert
//! ```
//!
//! "Many" means at least 10,000 rows, and at least a 16th of the rows that the table has, as estimated from its rowids.

use sqluice_core::error::{Error, Result};
use sqluice_core::schema::{Schema, Table};
use sqluice_core::similar::{hint, nearest_within};

use super::{AskedTexts, ExistingPlan, Plan, TablePlan, by_sqlite};
use crate::expressions::Expressions;
use crate::full_text::declaration::Declaration;
use crate::full_text::given;
use crate::options::{Action, IfExists, OnConflict, WriteOptions, WritePath};
use crate::output::Target;
use crate::target::{TableSnapshot, TargetSnapshot};

/// The number of new rows below which SQLite inserts them into existing pages: new pages for each small load would waste space.
const FEW_ROWS: u64 = 100;

/// The divisor of growth: an index is rebuilt if its table grows by at least 1/`GROWTH` of its rows. Inserting one entry at its place in
/// the old tree takes about as long as reading and writing `GROWTH` entries in order.
const GROWTH: u64 = 16;

/// The smallest number of characters of a table name that is compared with existing names: shorter names are similar to many others.
const NEAR_CHARS_MIN: usize = 4;

/// The known properties of the rows that a table will get.
#[derive(Clone, Debug, Default)]
pub struct ExpectedRows {
    /// The approximate number of rows, if known.
    pub about: Option<u64>,
    /// `true` if the rows have rowids of their own.
    pub with_rowids: bool,
    /// `true` if the rowids ascend, as far as known.
    pub ascending: bool,
    /// The first rowid, if known.
    pub first_rowid: Option<i64>,
    /// The positions in the table of the columns that the rows have; `None` for all columns.
    pub columns: Option<Vec<usize>>,
    /// A column that the rows lack and whose DEFAULT SQLite must compute, if any.
    pub computed: Option<String>,
    /// `true` if the table gets new columns for the rows.
    pub adds_columns: bool,
    /// `true` if the rows are known not to follow the last rowid of the table.
    pub overlaps: bool,
}

impl Plan {
    /// Returns the plan for the tables of `schema` in the database at `target`: the database of `existing`, if given, or else a new
    /// database.
    ///
    /// # Errors
    /// The errors of [`Plan::new`], or if a full-text table of [`WriteOptions::full_text`] can't get rows.
    pub fn of(
        schema: &Schema,
        target: Option<&Target>,
        existing: Option<&TargetSnapshot>,
        options: &WriteOptions,
    ) -> Result<Plan> {
        match existing {
            None => match &options.full_text[..] {
                [] => Plan::new(schema, target.cloned(), options),
                [name, ..] => {
                    Err(Error::usage(format!("full-text table {name} does not exist: the database is new"))
                        .hint("leave it out: full-text tables that the schema declares get all rows. Any other can be made after the load, by `index`"))
                }
            },
            Some(existing) => Plan::into_existing(schema, existing, options),
        }
    }

    /// Returns the plan for the tables of `schema` in the database of `existing`, which may have some of them.
    fn into_existing(schema: &Schema, existing: &TargetSnapshot, options: &WriteOptions) -> Result<Plan> {
        let options = WriteOptions { page_size: existing.page_size, overwrite: false, ..options.clone() };
        let mut plan = Plan::new(schema, Some(existing.target.clone()), &options)?;
        let (action, upsert) = match &options.if_exists {
            IfExists::Upsert(keys) => (Action::Upsert, keys.clone()),
            IfExists::Replace => (Action::Replace, Vec::new()),
            IfExists::Fail | IfExists::Append => (Action::Append, Vec::new()),
        };
        plan.existing = Some(ExistingPlan {
            pages: existing.pages,
            journal_mode: existing.journal_mode.clone(),
            no_pages: existing.no_pages.clone(),
            upsert,
            busy_timeout: options.busy_timeout,
            schema_version: existing.schema_version,
        });
        plan.foreign_keys = options.foreign_keys.unwrap_or(false);
        for table in plan.tables.iter_mut().filter(|table| existing.table(&table.name).is_some()) {
            table.action = action;
        }
        if options.if_exists != IfExists::Fail {
            plan.note_near_names(existing);
        }
        for (index, table) in schema.tables.iter().enumerate() {
            plan.choose((index, table), existing, ExpectedRows::default(), &options)?;
            let about = existing.about(&table.name);
            let behind = about.map(|about| about.followers.behind.iter());
            let behind = behind.into_iter().flatten().filter(|name| !is_asked(name, &options));
            plan.tables[index].full_text_behind = behind.cloned().collect();
        }
        plan.note_full_text_behind();
        refuse_asked(schema, existing, &options)?;
        Ok(plan)
    }

    /// Adds notes about full-text tables that do not get the new rows of their tables.
    fn note_full_text_behind(&mut self) {
        for table in &self.tables {
            for name in &table.full_text_behind {
                let table = &table.name;
                let note = format!(
                    "full-text table {name} does not get the new rows of {table}: no trigger inserts them"
                );
                self.notes.push(note.into());
            }
        }
    }

    /// Adds notes about new tables whose names are similar to existing tables, which the user may have meant.
    fn note_near_names(&mut self, existing: &TargetSnapshot) {
        let own = || existing.schema.tables.iter().map(|table| table.name.as_str());
        let letters = |name: &str| name.replace(|c: char| c.is_ascii_digit(), "");
        for table in self.tables.iter().filter(|table| table.action == Action::Make) {
            let name = table.name.as_str();
            let others = own().filter(|other| letters(other) != letters(name));
            let near = nearest_within(1.max(name.len() / 3), name, others);
            if let Some(near) = near.filter(|_| name.chars().count() >= NEAR_CHARS_MIN) {
                let database = existing.target.name().display();
                let note = format!("table {name} is new: {database} has a table {near}, which gets no rows");
                self.notes.push(note.into());
            }
        }
    }

    /// Returns the plan with SQLite inserting all rows, because no pages can be written into the database for the reason `why`.
    pub(crate) fn by_insert(&self, schema: &Schema, why: &str) -> Plan {
        let mut plan = self.clone();
        for (table, declared) in plan.tables.iter_mut().zip(&schema.tables) {
            if table.write_path != WritePath::Insert {
                table.insert(declared, why);
            }
        }
        plan.existing.iter_mut().for_each(|existing| existing.no_pages = Some(why.to_owned()));
        plan
    }

    /// Chooses the write paths of a table for the rows that it will get. `options` are the options of the plan.
    ///
    /// # Errors
    /// If the memory is too small to sort with.
    pub fn choose(
        &mut self,
        (index, declared): (usize, &Table),
        existing: &TargetSnapshot,
        rows: ExpectedRows,
        options: &WriteOptions,
    ) -> Result<()> {
        let foreign_keys = self.foreign_keys;
        let plan = &mut self.tables[index];
        // The choice starts from a plan without earlier decisions.
        let fresh = TablePlan::new(declared, self.on_conflict);
        (plan.write_path, plan.why, plan.indexes) = (fresh.write_path, fresh.why, fresh.indexes);
        let indexed_here = match declared.is_virtual {
            true => indexed_here((declared, plan), options, existing),
            false => Ok(()),
        };
        plan.asked = asked((declared, plan), options, existing, &rows);
        let chosen = match plan.action {
            _ if declared.is_virtual => {
                Some(indexed_here.clone().err().unwrap_or_else(|| given::BUILT_HERE.to_owned()))
            }
            Action::Make => made_by_sqlite(plan, existing, &rows),
            _ => filled_by_sqlite((declared, plan), options, foreign_keys, existing, &rows)
                .or_else(|| asked_of_sqlite((declared, plan), existing)),
        };
        match chosen {
            Some(why) => plan.insert(declared, &why),
            None if plan.action != Action::Make => plan.append(declared, existing, &rows),
            None => {}
        }
        if plan.write_path == WritePath::Insert || plan.asked.is_remade {
            plan.tell_asked();
        }
        if declared.is_virtual && indexed_here.is_ok() {
            plan.full_text.push(declared.name.clone());
        }
        plan.columns = rows.columns;
        self.divide_memory(options)
    }
}

/// Returns `Ok` if the engine indexes the rows of a full-text table, or the reason why SQLite must index them.
fn indexed_here(
    (table, plan): (&Table, &TablePlan),
    options: &WriteOptions,
    existing: &TargetSnapshot,
) -> std::result::Result<(), String> {
    match (plan.action, existing.about(&table.name)) {
        (Action::Append, Some(about)) => match &about.indexed_by_sqlite {
            Some(why) => Err(why.clone()),
            None => given::decides_no_conflict(options.on_conflict),
        },
        (Action::Make, _) => {
            given::is_built_here(table, options.on_conflict)?;
            given::decides_no_conflict(options.on_conflict)
        }
        // SQLite deletes the old rows first. For this, the connection reads the full-text table, so the index can no longer be written as
        // rows.
        _ => Err("SQLite deletes its rows".to_owned()),
    }
}

/// Returns `true` if the user asks that the full-text table `name` gets the new rows of the table with its text.
fn is_asked(name: &str, options: &WriteOptions) -> bool {
    options.full_text.iter().any(|asked| asked.eq_ignore_ascii_case(name))
}

/// Refuses full-text tables that the user asks for and that can't get the rows of any table of `schema`.
fn refuse_asked(schema: &Schema, existing: &TargetSnapshot, options: &WriteOptions) -> Result<()> {
    for asked in &options.full_text {
        let all = schema.tables.iter().filter_map(|table| existing.about(&table.name));
        let all = all.flat_map(|about| about.followers.full_text.iter().chain(&about.followers.behind));
        let all: Vec<&str> = all.map(|name| &**name).collect();
        let is_over = all.iter().any(|name| name.eq_ignore_ascii_case(asked));
        let object = existing.schema.others.iter().find(|object| object.name.eq_ignore_ascii_case(asked));
        let sql = object.and_then(|object| object.sql.as_deref()).unwrap_or_default();
        if !is_over {
            let message = format!("{asked} is no full-text table (FTS5) over a table that gets rows");
            return Err(Error::target(message).hint(match all.is_empty() {
                true => {
                    "no full-text table takes its text from the tables that get rows: leave it out".to_owned()
                }
                false => hint(asked, all.into_iter()),
            }));
        }
        if let Some(tokenizer) = Declaration::unknown_tokenizer(sql) {
            let message =
                format!("full-text table {asked} can't get rows: SQLite has no tokenizer {tokenizer}");
            return Err(
                Error::target(message).hint("add the rows with the application that has this tokenizer")
            );
        }
    }
    Ok(())
}

/// Returns the full-text tables over a table that get the new rows because the user asks for it.
fn asked(
    (table, plan): (&Table, &TablePlan),
    options: &WriteOptions,
    existing: &TargetSnapshot,
    rows: &ExpectedRows,
) -> AskedTexts {
    let Some(about) = existing.about(&table.name) else { return AskedTexts::default() };
    let followers = &about.followers;
    let names: Vec<String> =
        followers.behind.iter().filter(|name| is_asked(name, options)).cloned().collect();
    let gives_rowid = table
        .rowid_alias
        .is_some_and(|alias| rows.columns.as_ref().is_none_or(|columns| columns.contains(&alias)));
    let only_sqlite = names.iter().any(|name| followers.only_sqlite.contains(name));
    let others_fire = about.triggers && !followers.are_all;
    let is_unique = table.rowid_alias.is_some() || table.indexes.iter().any(|index| index.unique);
    let replaces = options.on_conflict == OnConflict::Replace && is_unique;
    AskedTexts {
        by_triggers: gives_rowid || only_sqlite || others_fire || plan.action == Action::Upsert,
        is_remade: !names.is_empty() && (plan.action == Action::Replace || replaces),
        names,
    }
}

/// Returns the reason why SQLite must insert the rows of a table, if the reason is a full-text table that gets these rows because the user
/// asks for it.
fn asked_of_sqlite((table, plan): (&Table, &TablePlan), existing: &TargetSnapshot) -> Option<String> {
    let followers = &existing.about(&table.name)?.followers;
    let mut names = plan.asked.names.iter().filter(|_| !plan.asked.is_remade);
    let name = names.find(|name| followers.only_sqlite.contains(name))?;
    Some(format!("only SQLite adds its rows to full-text table {name}"))
}

/// Returns the reason why SQLite must insert the rows of a new table, if any.
fn made_by_sqlite(plan: &TablePlan, existing: &TargetSnapshot, rows: &ExpectedRows) -> Option<String> {
    match (&existing.no_pages, &rows.computed) {
        (Some(why), _) => Some(why.clone()),
        (None, _) if plan.write_path == WritePath::Sqlite => Some(plan.why.clone()),
        (None, Some(column)) => Some(format!("SQLite computes the DEFAULT of {column}")),
        (None, None) => None,
    }
}

/// Returns the reason why SQLite must insert the rows of an existing table, if any.
fn filled_by_sqlite(
    (table, plan): (&Table, &TablePlan),
    options: &WriteOptions,
    foreign_keys: bool,
    existing: &TargetSnapshot,
    rows: &ExpectedRows,
) -> Option<String> {
    let about = existing.about(&table.name).cloned().unwrap_or_default();
    let (action, expressions) = (plan.action, plan.expressions.as_deref());
    let generates = table.columns.iter().any(|column| column.generated.is_some());
    let brings_rowids = table.rowid_alias.is_some_and(|alias| table.columns[alias].generated.is_some());
    let generated_by_sqlite = expressions.and_then(Expressions::generated_by_sqlite).is_some();
    let checked_by_sqlite = table.checks && !expressions.is_some_and(Expressions::check_rows);
    let unique = table.rowid_alias.is_some() || table.indexes.iter().any(|index| index.unique);
    let last = about.largest_rowid.filter(|_| action != Action::Replace);
    let by_sqlite_alone = (0..table.indexes.len())
        .find_map(|number| Some((&table.indexes[number], by_sqlite(number, table, expressions)?)));
    let why = match () {
        () if action == Action::Upsert => "SQLite finds the rows whose keys exist",
        () if about.triggers && !fires_for_texts_alone(plan, &about, options) => "its triggers fire",
        () if table.clustered.is_some() => "a WITHOUT ROWID table, whose rows are in the order of its key",
        () if options.on_conflict != OnConflict::Abort && unique => {
            "SQLite decides about rows whose keys exist"
        }
        () if generates && (generated_by_sqlite || brings_rowids) => "SQLite computes a column",
        () if checked_by_sqlite => "SQLite checks its rows",
        () if foreign_keys && table.foreign_keys => "SQLite checks its foreign keys",
        () if rows.adds_columns => "columns are added to it",
        () if rows.overlaps => "rows do not follow the last rowid",
        () if rows.with_rowids && !rows.ascending => "rows may be in any order of their rowids",
        () if rows.with_rowids && rows.first_rowid.zip(last).is_some_and(|(first, last)| first <= last) => {
            "rows do not follow the last rowid"
        }
        () if last == Some(i64::MAX) => "no rowid is left after the last",
        () => {
            return match (&existing.no_pages, &rows.computed, by_sqlite_alone) {
                (Some(why), _, _) => Some(why.clone()),
                (None, Some(column), _) => Some(format!("SQLite computes the DEFAULT of {column}")),
                (None, None, Some((index, why))) => Some(format!("index {}: {why}", index.name)),
                (None, None, None) => few(table, &about, action, options.tuning.many_rows, rows),
            };
        }
    };
    Some(why.to_owned())
}

/// Returns `true` if the only triggers that would fire add the new rows to full-text tables, which get them without triggers, too.
fn fires_for_texts_alone(plan: &TablePlan, about: &TableSnapshot, options: &WriteOptions) -> bool {
    plan.action == Action::Append && options.on_conflict == OnConflict::Abort && about.followers.are_all
}

/// Returns the reason why SQLite inserts the rows of an existing table: they are too few, or of unknown number, so that new pages or a
/// rebuild of the indexes would not pay off. Returns `None` if these pay off.
fn few(
    table: &Table,
    about: &TableSnapshot,
    action: Action,
    many_rows: u64,
    rows: &ExpectedRows,
) -> Option<String> {
    if let Some(new) = rows.about.filter(|new| *new < FEW_ROWS) {
        return Some(format!("too few rows for pages of their own: about {new}"));
    }
    if table.indexes.is_empty() {
        return None;
    }
    let old = if action == Action::Replace { 0 } else { about.rows_max.unwrap_or(u64::MAX) };
    let new = rows.about.unwrap_or(0);
    if new >= many_rows && new.saturating_mul(GROWTH) >= old {
        return None;
    }
    Some(match rows.about {
        Some(new) => format!("about {new} rows are too few to rebuild its indexes"),
        None => "its indexes are not rebuilt for an unknown number of rows".to_owned(),
    })
}

impl TablePlan {
    /// Returns `true` if the rows become new pages after the existing rows.
    pub fn appends(&self) -> bool {
        self.action != Action::Make && self.write_path == WritePath::Pages
    }

    /// Lets SQLite insert the rows. Non-unique indexes of a new table are created after the rows.
    pub(super) fn insert(&mut self, declared: &Table, why: &str) {
        (self.write_path, self.why) = (WritePath::Insert, why.to_owned());
        self.full_text.clear();
        let make = self.action == Action::Make;
        for (index, declared) in self.indexes.iter_mut().zip(&declared.indexes) {
            (index.write_path, index.why) = match make && !declared.unique {
                true => (WritePath::Sqlite, "a new index, made after the rows".to_owned()),
                false => (WritePath::Insert, "entries are written with the rows".to_owned()),
            };
        }
    }

    /// Adds to the reason of the write path how the full-text tables that the user asks for get the rows.
    fn tell_asked(&mut self) {
        let AskedTexts { names, by_triggers, is_remade } = &self.asked;
        if names.is_empty() {
            return;
        }
        let names = names.join(", ");
        self.why += &match (is_remade, by_triggers) {
            (true, _) => format!("; the index of full-text table {names} is made again"),
            (false, true) => format!("; SQLite adds each row to full-text table {names}"),
            (false, false) => format!("; full-text table {names} gets its rows at once"),
        };
    }

    /// Writes the rows as pages after the existing rows.
    fn append(&mut self, table: &Table, existing: &TargetSnapshot, rows: &ExpectedRows) {
        let old = existing.about(&table.name).and_then(|about| about.rows_max).unwrap_or(0);
        let (why, old) = match self.action {
            Action::Replace => ("a rowid table that is empty by then", 0),
            _ => ("rows follow the last rowid", old),
        };
        (self.write_path, self.why) = (WritePath::Pages, why.to_owned());
        let about = existing.about(&table.name).filter(|_| self.action == Action::Append);
        self.full_text = about.map(|about| about.followers.full_text.clone()).unwrap_or_default();
        if self.action == Action::Append {
            self.full_text.extend(self.asked.names.iter().cloned());
        }
        if !self.full_text.is_empty() {
            self.why += &format!(", and their terms go to {}", self.full_text.join(", "));
        }
        let new = rows.about.unwrap_or(0);
        for index in &mut self.indexes {
            let why = format!("rebuilt: about {new} entries are merged with about {old}");
            (index.write_path, index.why) = (WritePath::Sorted, why);
        }
    }
}
