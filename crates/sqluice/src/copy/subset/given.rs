//! Checks the conditions and samples of a copy, before any row is read.

use sqluice_core::error::{Error, Message, Result, Setting, message};
use sqluice_core::schema::Table;
use sqluice_core::similar;

use super::keys::RowKey;
use super::report::RowSelection;
use crate::copy::Copy;
use crate::copy::options::Sample;
use crate::copy::selection::Selection;
use crate::expressions::functions::Functions;
use crate::expressions::row::{RowColumns, Words, try_patterns};
use sqluice_core::schema::Schema;
use sqluice_format::database::encoding_name;
use sqluice_reader::{Snapshot, StoredObject};

/// The names of the rowid.
const ROWIDS: [&str; 3] = ["rowid", "_rowid_", "oid"];

/// The words of messages about conditions.
const WORDS: Words = Words {
    row: "row",
    random: "gives other values each time, so the same copy could not be made again",
    no_rowid: "a table WITHOUT ROWID has no rowid",
    one_row: "a condition sees one row: copy all rows, and DELETE in the copy",
    instead: "copy all rows, and DELETE in the copy",
    sample: Some(Setting::Sample),
};

/// The conditions and samples of the tables of a copy.
pub(in crate::copy) struct Conditions {
    /// The conditions, in the order of the schema.
    pub(super) tables: Vec<Condition>,
    /// The functions that conditions may call; `None` if the copy has only samples.
    pub(super) functions: Option<Functions>,
}

/// The condition and the sample of a table.
pub(super) struct Condition {
    /// The position of the table in the schema.
    pub(super) table: usize,
    pub(super) filters: Vec<Filter>,
    pub(super) sample: Option<Sample>,
}

/// A condition of the user.
pub(super) struct Filter {
    pub(super) sql: String,
    /// The setting with its value, for messages.
    pub(super) given: Message,
    /// The names that the condition uses, each with the position of its column in the table. The position after the last column means the
    /// rowid.
    pub(super) uses: Vec<(String, usize)>,
}

impl Conditions {
    /// Checks the conditions and samples of a copy.
    ///
    /// # Errors
    /// If a table is unknown or left out, has two samples, or has no key by which rows can be left out, or if an expression is not valid.
    pub(in crate::copy) fn new(
        copy: &Copy,
        (snapshot, schema): (&Snapshot, &Schema),
        objects: &[StoredObject],
        selection: &Selection,
    ) -> Result<Conditions> {
        let mut conditions = Conditions { tables: Vec::new(), functions: None };
        if !copy.leaves_rows_out() {
            return Ok(conditions);
        }
        let encoding = encoding_name(snapshot.header().used_text_encoding());
        let functions = Functions::of_run(&copy.write)?.in_encoding(encoding);
        let find = |setting: Setting, name: &str| find((snapshot, schema), objects, selection, setting, name);
        for (name, sql) in &copy.filters {
            let number = find(Setting::Where, name)?;
            let filter = Filter::new(&schema.tables[number], sql, &functions)?;
            conditions.of(number).filters.push(filter);
        }
        for (name, sample) in &copy.samples {
            let number = find(Setting::Sample, name)?;
            let condition = conditions.of(number);
            if condition.sample.replace(*sample).is_some() {
                let message = message![Setting::Sample, format!(" names table {name} twice")];
                return Err(Error::usage(message).hint("give one sample for each table"));
            }
        }
        for condition in &conditions.tables {
            RowKey::of(&schema.tables[condition.table])?;
        }
        conditions.tables.sort_by_key(|condition| condition.table);
        conditions.functions = Some(functions);
        Ok(conditions)
    }

    fn of(&mut self, table: usize) -> &mut Condition {
        let place = self.tables.iter().position(|condition| condition.table == table);
        let place = place.unwrap_or_else(|| {
            self.tables.push(Condition { table, filters: Vec::new(), sample: None });
            self.tables.len() - 1
        });
        &mut self.tables[place]
    }

    /// Returns `true` if the copy has conditions besides samples.
    pub(super) fn has_filters(&self) -> bool {
        self.tables.iter().any(|condition| !condition.filters.is_empty())
    }

    /// Returns `true` if there is no condition and no sample, so that all rows are copied.
    pub(in crate::copy) fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns `true` if a table has a condition or a sample.
    pub(in crate::copy) fn has(&self, schema: &Schema, table: &str) -> bool {
        self.tables.iter().any(|condition| schema.tables[condition.table].name.eq_ignore_ascii_case(table))
    }

    /// Returns the conditions for a plan.
    pub(in crate::copy) fn plan(&self, schema: &Schema) -> Vec<RowSelection> {
        let plan = |condition: &Condition| {
            let table = &schema.tables[condition.table];
            RowSelection {
                table: table.name.clone(),
                filters: condition.filters.iter().map(|filter| filter.sql.clone()).collect(),
                sample: condition.sample,
                sampled_by: condition.sample.iter().flat_map(|_| sampled_by(table)).collect(),
            }
        };
        self.tables.iter().map(plan).collect()
    }
}

/// Returns the names of the columns whose hash decides if a row is in the sample: those of the PRIMARY KEY, or the rowid.
pub(super) fn sampled_by(table: &Table) -> Vec<String> {
    match table.primary_key() {
        Some(key) => key.iter().map(|column| table.columns[*column].name.clone()).collect(),
        None => table.rowid_name().map(str::to_owned).into_iter().collect(),
    }
}

/// Returns the position of a table in the schema. It is an error if the table is not copied, or stores no rows of its own, such as a
/// virtual table.
fn find(
    (snapshot, schema): (&Snapshot, &Schema),
    objects: &[StoredObject],
    selection: &Selection,
    setting: Setting,
    name: &str,
) -> Result<usize> {
    let is_it = |object: &&StoredObject| {
        matches!(&*object.kind, "table" | "view") && object.name.eq_ignore_ascii_case(name)
    };
    let object = objects.iter().find(is_it);
    let number = schema.tables.iter().position(|table| table.name.eq_ignore_ascii_case(name));
    let refused = |why: &str| Err(Error::usage(message![setting, format!(" names {name}, which {why}")]));
    match (object, number) {
        (Some(object), _) if !selection.has(object) => refused("is left out"),
        (Some(object), _) if object.kind == "view" => {
            refused("is a view").map_err(|error: Error| error.hint("name the tables that the view reads"))
        }
        (Some(object), Some(number)) if object.tree.is_some() && !schema.tables[number].is_virtual => {
            let is_own = name.to_ascii_lowercase().starts_with("sqlite_")
                || snapshot.shadow_tables()?.contains(&name.to_ascii_lowercase());
            if is_own { refused("stores the rows of SQLite or of a virtual table") } else { Ok(number) }
        }
        (Some(_), _) => refused("is a virtual table, or one of SQLite"),
        (None, _) => {
            let names = schema.tables.iter().map(|table| table.name.as_str());
            let message = format!(" names {name:?}, but {} has no such table", snapshot.name().display());
            Err(Error::usage(message![setting, message]).hint(similar::hint(name, names)))
        }
    }
}

impl Filter {
    /// Checks a condition on the rows of a table.
    fn new(table: &Table, sql: &str, functions: &Functions) -> Result<Filter> {
        let mut names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let listed = names.len();
        let rowids = ROWIDS.iter().filter(|name| !table.without_rowid && table.column(name).is_none());
        names.extend(rowids);
        let columns = RowColumns { functions, table: &table.name, names, listed, words: &WORDS };
        let given: Message = Setting::Where.to(format!("{}={sql}", table.name)).into();
        let used = columns.check(sql, Setting::Where.into(), given.clone())?;
        let rowid = table.rowid_alias.unwrap_or(listed);
        let uses: Vec<(String, usize)> = used
            .into_iter()
            .map(|at| (columns.names[at].to_owned(), if at < listed { at } else { rowid }))
            .collect();
        let used: Vec<&str> = uses.iter().map(|(name, _)| name.as_str()).collect();
        try_patterns(sql, &used, &given, functions, &WORDS)?;
        Ok(Filter { sql: sql.to_owned(), given, uses })
    }
}
