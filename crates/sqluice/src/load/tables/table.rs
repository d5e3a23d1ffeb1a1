//! A table of a load: its files, the columns that the load creates for them, and the field of each file that fills each column.

use std::path::Path;
use std::sync::Arc;

use sqluice_core::affinity::Affinity;
use sqluice_core::error::{Error, Place, Result, Setting, message};
use sqluice_core::progress::Context;
use sqluice_core::schema::{Column, Schema, Table, quoted, token};
use sqluice_core::source::Source;
use sqluice_core::source::chain::Chain;
use sqluice_core::source::columns::{ColumnFrom, Constant};
use sqluice_engine::plan::ExpectedRows;
use sqluice_engine::report::InputReport;
use sqluice_sources::convert::Conversion;
use sqluice_sources::csv::COLUMNS_MAX;
use sqluice_sources::infer::{self, Counting, Evidence, Found, Inferred, Kinds, Scanned, Watch, Watched};

use crate::expressions::row::listed;
use crate::load::expressions::checked::{Checked, Origin, SOURCES};
use crate::load::expressions::columns::{FileInputs, TableExpressions};
use crate::load::expressions::inputs::{self, UsedInput};
use crate::load::files::bad_files::BadFile;
use crate::load::files::default_value::Defaults;
use crate::load::files::file::{Classes, FileMap, LoadFile, Sampled};
use crate::load::files::rowid_order::Order;
use crate::load::request::Request;
use crate::load::request::names::refuse_nul;

/// A table and the files that fill it.
pub(crate) struct LoadTable {
    name: String,
    /// The index of the table among the tables of the load. It is mostly also the index in the schema, so `index_in` tries it first.
    place: usize,
    pub(crate) files: Vec<LoadFile>,
    /// `true` if the schema or the database declares the table.
    declared: bool,
    /// `true` if the database has the table.
    exists: bool,
    /// The columns that the load must create, in the order of the table: files have them, and the declaration of the table, if any, does
    /// not.
    made: Vec<MadeColumn>,
    /// `true` if all values were read to decide the types of the columns, not only those in the samples.
    settled: bool,
    /// The order of the rows by rowid that the next plan assumes: first the order in the samples, then a weaker one after each failed
    /// attempt.
    pub(crate) order: Order,
    /// The first rowid of the samples; `None` if they have none.
    pub(crate) first_rowid: Option<i64>,
    /// `true` if an attempt to append rows has failed because some rowids are not above the largest rowid of the existing table.
    pub(crate) overlaps: bool,
    /// The expressions between the files and the table, if any.
    expressions: Option<TableExpressions>,
}

/// The minimum number of sampled values that explain well enough why a column is TEXT although most values are numbers. With fewer, the
/// values are counted by kind while they are loaded.
const SAMPLED_MIN: u64 = 256;

/// Values of a column that notes may show, each with its place in a file if the place was found.
pub(crate) type Places = Vec<(Found, Option<Place>)>;

/// A column that the load creates because files have it.
struct MadeColumn {
    name: String,
    /// The type that the user gives, or that all files with this column declare; `None` if the type follows from the values.
    given: Option<String>,
    by_user: bool,
    /// `true` if a conversion that the user requests makes numbers of the column's text.
    is_number: bool,
    /// `true` if the values are results of an expression.
    is_result: bool,
    evidence: Evidence,
    sampled: Sampled,
    /// The counts of numbers, dates, NULL markers and other values in the column; `None` if only samples were read.
    kinds: Option<Kinds>,
    /// Values that notes about the column may show, with their places in the files.
    places: Places,
}

impl MadeColumn {
    fn declared_type(&self) -> &str {
        self.given.as_deref().unwrap_or(self.inferred().name())
    }

    /// Returns the type that the values of the column show so far.
    fn inferred(&self) -> Inferred {
        if self.is_number { self.evidence.conclude_number() } else { self.evidence.conclude() }
    }

    /// Returns `true` if values that were not read yet may still change the type of the column.
    fn is_in_doubt(&self) -> bool {
        self.given.is_none() && !self.evidence.is_final()
    }

    /// Returns the kinds of values to count while rows are loaded, for notes on why the column is TEXT; `None` if it is not TEXT by its own
    /// values, or the samples show the reason already.
    fn counting(&self) -> Option<Counting> {
        let Sampled { values, numbers, given_up } = self.sampled;
        if self.kinds.is_some() || self.inferred() != Inferred::Text || self.is_number || self.is_result {
            return None;
        }
        match () {
            () if given_up => Some(Counting::MostlyText),
            () if values < SAMPLED_MIN => Some(Counting::Part),
            () if numbers * 5 < values * 4 => Some(Counting::MostlyText),
            () => None,
        }
    }

    /// Returns `true` if `kinds`, the counts of all values, explain better than the samples why the column is TEXT.
    fn is_told_by(&self, kinds: &Kinds) -> bool {
        let has_new_marker = self.sampled.given_up && kinds.has_sure_marker();
        !kinds.has_unread || kinds.are_mostly_numbers() || has_new_marker
    }

    /// Returns `true` if the user's own declaration says NOT NULL.
    fn is_not_null(&self) -> bool {
        let declared = self.declared_type();
        let tokens = token::tokens(declared);
        tokens.windows(2).any(|pair| pair[0].is_word(declared, "NOT") && pair[1].is_word(declared, "NULL"))
    }
}

impl LoadTable {
    /// Creates the table of this name. `file` is the first file that fills it.
    pub(crate) fn new(name: String, place: usize, file: LoadFile, load: &Request) -> LoadTable {
        LoadTable {
            files: vec![file],
            declared: load.schema.is_some() || load.has(&name).is_some(),
            exists: load.has(&name).is_some(),
            made: Vec::new(),
            settled: false,
            order: Order::Ascending,
            first_rowid: None,
            overlaps: false,
            expressions: None,
            place,
            name,
        }
    }

    /// Returns `true` if the table would be created without any column.
    pub(crate) fn is_bare(&self) -> bool {
        !self.declared && self.made.is_empty()
    }

    /// Returns `true` if the load creates columns, because files have columns that the table does not.
    pub(crate) fn makes_columns(&self) -> bool {
        !self.made.is_empty()
    }

    /// Finds the columns that the load must create for the files. Removes the files that do not fit the table, and returns them.
    pub(crate) fn make_columns(&mut self, load: &Request) -> Result<Vec<BadFile>> {
        let declared = match (load.declared(&self.name), &load.schema) {
            (None, Some(schema)) => return Err(not_declared(schema, &self.name)),
            (declared, _) => declared,
        };
        let mut bad = Vec::new();
        for file in std::mem::take(&mut self.files) {
            let misfit = match file.is_by_position(load) {
                true => declared.and_then(|table| file.refuse_width(table).err()),
                false => self.add_columns_of(&file, declared, load).err(),
            };
            match misfit {
                Some(error) => bad.push(BadFile::new(&file, error)),
                None => self.files.push(file),
            }
        }
        if let (Some(order), None) = (&load.columns, declared) {
            let place =
                |made: &MadeColumn| order.iter().position(|name| name.eq_ignore_ascii_case(&made.name));
            self.made.sort_by_key(place);
        }
        Ok(bad)
    }

    /// Adds the columns of `file` that neither the declaration nor an earlier file has to the columns to create. Refuses the file if it may
    /// not add columns.
    fn add_columns_of(&mut self, file: &LoadFile, declared: Option<&Table>, load: &Request) -> Result<()> {
        let is_first = self.files.is_empty();
        let is_wanted = |name: &str| {
            file.selects(load, name) && declared.is_none_or(|table| table.column(name).is_none())
        };
        let wanted = || file.names.iter().enumerate().filter(|(_, name)| is_wanted(name));
        let makes = |name: &str| self.made.iter().any(|made| made.name.eq_ignore_ascii_case(name));
        // If the load may not add columns, the file is refused here, before any of its columns is added.
        let may_add = load.add_columns && declared.is_none_or(|table| !table.is_virtual);
        if !(may_add || (declared.is_none() && is_first))
            && let Some((field, _)) = wanted().find(|(_, name)| !makes(name))
        {
            return Err(self.unknown_column(declared, file, field));
        }
        let new = wanted().filter(|(_, name)| !makes(name)).count();
        let columns = self.made.len() + new + declared.map_or(0, |table| table.columns.len());
        if columns > COLUMNS_MAX {
            let message = format!(
                "table {} would have {columns} columns, and a table of SQLite has at most {COLUMNS_MAX}",
                self.name
            );
            return Err(Error::input(message).hint(message![Setting::Columns, " names those to load"]));
        }
        for (field, name) in wanted() {
            match self.made.iter_mut().find(|made| made.name.eq_ignore_ascii_case(name)) {
                Some(made) => {
                    made.evidence.merge(file.evidence[field]);
                    made.sampled.add(file.sampled(field));
                    if !made.by_user && made.given.as_deref() != file.type_of(field) {
                        made.given = None;
                    }
                }
                None => {
                    refuse_nul("a column", name).map_err(|error| match file.place_of(field) {
                        Some(place) => error.at(place),
                        None => error,
                    })?;
                    let given = file.given_type(load, field);
                    self.made.push(MadeColumn {
                        name: name.clone(),
                        by_user: given.is_some(),
                        is_number: file.conversions.of_field(field).is_some_and(Conversion::is_number),
                        given: given.map(str::to_owned).or(file.type_of(field).map(str::to_owned)),
                        is_result: file.is_result(field),
                        evidence: file.evidence[field],
                        sampled: file.sampled(field),
                        kinds: None,
                        places: Vec::new(),
                    });
                }
            }
        }
        Ok(())
    }

    fn unknown_column(&self, declared: Option<&Table>, file: &LoadFile, field: usize) -> Error {
        let name = &file.names[field];
        let columns: Vec<&str> = match declared {
            Some(table) => table.columns.iter().map(|column| column.name.as_str()).collect(),
            None => self.made.iter().map(|made| made.name.as_str()).collect(),
        };
        let its_columns = format!("its columns are {}; ", listed(&columns));
        let names_those = " names those to load";
        let error = Error::input(format!("table {} has no column {name:?}", self.name));
        // SQLite adds no columns to virtual tables.
        let error = error.hint(match declared.is_some_and(|table| table.is_virtual) {
            true => message![its_columns, Setting::Columns, names_those],
            false => {
                let adds = " adds what is missing, ";
                message![its_columns, Setting::AddColumns, adds, Setting::Columns, names_those]
            }
        });
        match file.place_of(field) {
            Some(place) => error.at(place),
            None => error,
        }
    }

    /// Returns the ALTER TABLE statements that add the columns of the files to a declared or existing table.
    pub(crate) fn alter(&self) -> impl Iterator<Item = String> {
        let table = quoted(&self.name);
        let made = self.made.iter().filter(|_| self.declared);
        made.map(move |made| {
            format!("ALTER TABLE {table} ADD COLUMN {} {}", quoted(&made.name), made.declared_type())
        })
    }

    /// Returns the SQL that creates the columns of the files: ALTER TABLE statements if the table is declared or exists, otherwise a
    /// CREATE TABLE statement.
    pub(crate) fn ddl(&self, load: &Request) -> String {
        let table = quoted(&self.name);
        let declared = |made: &MadeColumn| format!("{} {}", quoted(&made.name), made.declared_type());
        if self.declared {
            return self.alter().map(|sql| sql + ";\n").collect();
        }
        let key = self.primary_key(load);
        // SQLite takes a key of a single INTEGER column for the rowid itself. The column itself then has the PRIMARY KEY, and no NOT NULL.
        let integer = |made: &MadeColumn| made.declared_type().eq_ignore_ascii_case("INTEGER");
        let is_rowid = !load.without_rowid && matches!(key[..], [one] if integer(one));
        let in_key = |made: &MadeColumn| key.iter().any(|column| column.name == made.name);
        let mut lines: Vec<String> = Vec::new();
        for made in &self.made {
            let more = match in_key(made) {
                true if is_rowid => " PRIMARY KEY",
                true if !made.is_not_null() => " NOT NULL",
                _ => "",
            };
            lines.push(format!("  {}{more}", declared(made)));
        }
        if !key.is_empty() && !is_rowid {
            let columns: Vec<String> = key.iter().map(|column| quoted(&column.name)).collect();
            lines.push(format!("  PRIMARY KEY ({})", columns.join(", ")));
        }
        let without_rowid = load.without_rowid && !key.is_empty();
        let options = [("STRICT", load.strict), ("WITHOUT ROWID", without_rowid)];
        let options: Vec<&str> = options.iter().filter(|(_, is)| *is).map(|(option, _)| *option).collect();
        let options = if options.is_empty() { String::new() } else { format!(" {}", options.join(", ")) };
        format!("CREATE TABLE {table} (\n{}\n){options};\n", lines.join(",\n"))
    }

    /// Returns the columns of the user's primary key, if the table has all of them.
    fn primary_key(&self, load: &Request) -> Vec<&MadeColumn> {
        let made = |name: &String| self.made.iter().find(|made| made.name.eq_ignore_ascii_case(name));
        load.primary_key.iter().map(made).collect::<Option<Vec<_>>>().unwrap_or_default()
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the names of the table's columns.
    pub(crate) fn column_names<'a>(&'a self, load: &'a Request) -> Vec<&'a str> {
        let declared = load.declared(&self.name);
        let declared = declared.iter().flat_map(|table| &table.columns).map(|column| column.name.as_str());
        declared.chain(self.made.iter().map(|made| made.name.as_str())).collect()
    }

    /// Returns `true` if the table has columns of all these names.
    pub(crate) fn has_all(&self, load: &Request, names: &[&str]) -> bool {
        let columns = self.column_names(load);
        names.iter().all(|name| columns.iter().any(|column| column.eq_ignore_ascii_case(name)))
    }

    /// Returns the name of a column as the table spells it.
    pub(crate) fn spelled<'a>(&'a self, load: &'a Request, name: &'a str) -> &'a str {
        let mut columns = self.column_names(load).into_iter();
        columns.find(|column| column.eq_ignore_ascii_case(name)).unwrap_or(name)
    }

    /// Returns `true` if the database has the table.
    pub(crate) fn exists(&self) -> bool {
        self.exists
    }

    /// Returns `true` if the load creates a column of this name in the table.
    pub(crate) fn makes(&self, name: &str) -> bool {
        self.made.iter().any(|made| made.name.eq_ignore_ascii_case(name))
    }

    /// Returns the index of each column that is not generated, with `true` if some file has a value for the column.
    pub(crate) fn given<'a>(
        &'a self,
        declared: &'a Table,
        load: &'a Request,
    ) -> impl Iterator<Item = (usize, bool)> + 'a {
        let columns = declared.columns.iter().enumerate();
        let taking = columns.filter(|(_, column)| column.generated.is_none());
        taking.map(|(index, column)| (index, self.files.iter().any(|file| file.gives(load, &column.name))))
    }

    /// Returns the expected rows for the plan: their number, the columns with values, and the order of the rowids.
    pub(crate) fn rows(&self, declared: &Table, load: &Request) -> ExpectedRows {
        let given: Vec<usize> =
            self.given(declared, load).filter(|(_, given)| *given).map(|(index, _)| index).collect();
        let mut left_out = self.given(declared, load).filter(|(_, given)| !given).map(|(index, _)| index);
        let functions = load.functions_of_defaults();
        let defaults = Defaults::new(declared, &functions);
        let computed =
            left_out.find(|&index| declared.rowid_alias != Some(index) && defaults.of(index).is_err());
        let sample_rows = self.files[0].sample_rows as f64;
        let with_rowids = declared.rowid_alias.is_some_and(|alias| given.contains(&alias));
        ExpectedRows {
            about: self.scale(load, u64::MAX).map(|scale| (scale * sample_rows) as u64),
            with_rowids,
            // With a `reject` file the order must be certain: a second attempt would write the same bad rows to the file again.
            ascending: match self.order {
                Order::Ascending => true,
                Order::AssumedAscending => load.reject.is_none(),
                Order::Any | Order::AnyWithNulls => false,
            },
            first_rowid: self.first_rowid,
            columns: Some(given),
            computed: computed.map(|index| declared.columns[index].name.clone()),
            adds_columns: !self.made.is_empty(),
            overlaps: self.overlaps,
        }
    }

    /// Returns, for each file, the field or constant that fills each column of the table.
    pub(crate) fn maps(&self, declared: &Table, load: &Request) -> Result<Vec<FileMap>> {
        let functions = load.functions_of_defaults();
        let defaults = Defaults::new(declared, &functions);
        let left_out = self.left_out(&defaults, declared, load);
        self.files.iter().map(|file| file.map((declared, &defaults), &left_out, load)).collect()
    }

    /// Returns the columns that no file has and whose DEFAULT only SQLite can compute. A new database has none.
    fn left_out(&self, defaults: &Defaults<'_>, declared: &Table, load: &Request) -> Vec<usize> {
        let mut left_out = Vec::new();
        // SQLite computes a DEFAULT as it inserts the row, and it inserts rows only into an existing database.
        if load.existing.is_some() {
            let columns =
                self.given(declared, load).filter(|(index, given)| !given && defaults.of(*index).is_err());
            left_out.extend(columns.map(|(index, _)| index));
        }
        left_out
    }

    /// Returns a report about each file: its format, and its table.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = InputReport> {
        self.files.iter().map(|file| file.report(&self.name))
    }

    /// Returns the bytes of the files, if known for all of them.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.files.iter().map(LoadFile::bytes).try_fold(0, |sum, bytes| Some(sum + bytes?))
    }

    /// Returns `true` if the types of the table are final: all values were read, or no unread row can change a type
    /// or add a column.
    pub(crate) fn is_settled(&self) -> bool {
        let types = || !self.made.iter().any(MadeColumn::is_in_doubt);
        let is_seen = || self.files.iter().all(|file| file.seen && file.is_observed());
        if self.expressions.as_ref().is_some_and(TableExpressions::is_in_doubt) && !is_seen() {
            return false;
        }
        self.settled || (types() && self.files.iter().all(LoadFile::has_all_names)) || is_seen()
    }

    pub(crate) fn index_in(&self, schema: &Schema) -> usize {
        let is_this = |table: &Table| table.name.eq_ignore_ascii_case(&self.name);
        if schema.tables.get(self.place).is_some_and(is_this) {
            return self.place;
        }
        schema.tables.iter().position(is_this).expect("the schema declares every table that is loaded")
    }

    /// Returns the columns with types that follow from their values, because neither the user nor all files with them declare a type. Each
    /// comes with its index.
    fn inferred<'a>(&'a self, schema: &'a Schema) -> impl Iterator<Item = (usize, &'a MadeColumn)> {
        let table = &schema.tables[self.index_in(schema)];
        let made = self.made.iter().filter(|made| made.given.is_none());
        made.map(|made| (table.column(&made.name).expect("it is declared"), made))
    }

    /// Returns the columns whose type may still change with values that were not read yet.
    pub(crate) fn columns_in_doubt(&self, schema: &Schema) -> Vec<usize> {
        self.inferred(schema).filter(|(_, made)| made.is_in_doubt()).map(|(column, _)| column).collect()
    }

    /// Returns the columns in doubt that have results of expressions.
    pub(crate) fn results_in_doubt(&self, schema: &Schema) -> Vec<usize> {
        let results = self.inferred(schema).filter(|(_, made)| made.is_in_doubt() && made.is_result);
        results.map(|(column, _)| column).collect()
    }

    pub(crate) fn watched(&self, schema: &Schema) -> Vec<Watched> {
        let seen = self.files.iter().all(|file| file.seen);
        let watched = self.inferred(schema).map(|(column, made)| Watched {
            column,
            guess: made.inferred(),
            evidence: made.evidence,
            is_number: made.is_number,
            is_result: made.is_result,
            counting: if seen { None } else { made.counting() },
        });
        watched.collect()
    }

    /// Makes the types final. `scanned` has, for each column in doubt, the evidence and the counts by kind of all values, and the values
    /// that notes may show, with their places.
    pub(crate) fn settle(&mut self, scanned: Vec<(Scanned, Places)>) {
        let made = self.made.iter_mut().filter(|made| made.is_in_doubt());
        for (made, (Scanned { evidence, kinds }, places)) in made.zip(scanned) {
            made.evidence = evidence;
            (made.kinds, made.places) = (Some(kinds), places);
        }
        self.settled = true;
    }

    /// Stores the counts of all values of a column by kind, and the values that notes may show, with their places.
    pub(crate) fn take_kinds(&mut self, name: &str, kinds: Kinds, places: Places) {
        if let Some(made) = self.made.iter_mut().find(|made| made.name.eq_ignore_ascii_case(name))
            && made.is_told_by(&kinds)
        {
            (made.kinds, made.places) = (Some(kinds), places);
        }
    }

    /// Returns the counts of all values of a column by kind, and values for notes with their places; `None` if only samples were read.
    pub(crate) fn kinds_of_all(&self, name: &str) -> Option<(&Kinds, &Places)> {
        let made = self.made.iter().find(|made| made.name.eq_ignore_ascii_case(name))?;
        Some((made.kinds.as_ref()?, &made.places))
    }

    /// Returns the type of a column, if the type follows from the values.
    pub(crate) fn inferred_type(&self, name: &str) -> Option<Inferred> {
        let made = self.made.iter().find(|made| made.given.is_none() && made.name.eq_ignore_ascii_case(name));
        made.map(MadeColumn::inferred)
    }

    /// Returns `true` if a row after the samples has a column that the table did not have when it was planned.
    pub(crate) fn met_new_name(&self) -> bool {
        self.files.iter().any(LoadFile::met_new_name)
    }

    /// Returns `true` if rows after the samples, which were not read yet, may have columns that the samples lack.
    pub(crate) fn lacks_names(&self) -> bool {
        !self.is_settled() && !self.files.iter().all(|file| file.seen || file.has_all_names())
    }

    /// Returns the conversion that the user requests for the text of a column, if any.
    pub(crate) fn conversion(&self, name: &str) -> Option<&Conversion> {
        self.files.iter().find_map(|file| file.conversions.of_column(name))
    }

    /// Opens all files to read only the names of their columns.
    pub(crate) fn names_source<'a>(&'a mut self, load: &Request) -> Box<dyn Source + 'a> {
        let mut files = self.files.iter_mut();
        let open = move |rows| files.next().map(|file| file.names_source(rows));
        Box::new(Chain::new(open, load.limit, None))
    }

    /// Adds the column names that the last `names_source` has met, and finds the columns that the load must create for them.
    pub(crate) fn take_new_names(&mut self, load: &Request) -> Result<Vec<BadFile>> {
        for file in &mut self.files {
            file.take_new_names();
            file.find_conversions(load)?;
        }
        self.find_expressions(load)?;
        self.remake_columns(load)
    }

    /// Finds the columns to create once more, because the files or the names of their columns have changed. Returns the files that do not
    /// fit.
    pub(crate) fn remake_columns(&mut self, load: &Request) -> Result<Vec<BadFile>> {
        self.made.clear();
        self.make_columns(load)
    }

    /// Removes the file of this name, because it has bad rows, and returns the file; `None` if the table has no such file. Types that were
    /// final may follow from values of this file, so they are guesses again.
    pub(crate) fn take_out(&mut self, name: &Path, load: &Request) -> Result<Option<LoadFile>> {
        let Some(index) = self.files.iter().position(|file| file.input.name() == name) else {
            return Ok(None);
        };
        let file = self.files.remove(index);
        self.settled = false;
        if !self.files.is_empty() {
            self.remake_columns(load)?;
        }
        Ok(Some(file))
    }

    /// Returns the columns that are TEXT and those that are BLOB. A column that is assumed to be TEXT only because it has no value yet
    /// is not TEXT.
    fn classes(&self, declared: &Table) -> Classes {
        let is_guess = |name: &str| {
            let made = self.made.iter().find(|made| made.name.eq_ignore_ascii_case(name));
            made.is_some_and(|made| made.given.is_none() && !made.evidence.is_final())
        };
        let is_text = |column: &Column| column.affinity == Affinity::Text && !is_guess(&column.name);
        let is_blob = |column: &Column| {
            column.affinity == Affinity::Blob && column.declared_type.to_ascii_uppercase().contains("BLOB")
        };
        Classes {
            as_text: declared.columns.iter().map(is_text).collect(),
            as_blob: declared.columns.iter().map(is_blob).collect(),
        }
    }

    /// Opens the rows of all files. Each file is opened when the file before it has been read.
    pub(crate) fn source<'a>(&'a mut self, load: &Request, schema: &Schema) -> Result<Box<dyn Source + 'a>> {
        let table = &schema.tables[self.index_in(schema)];
        let maps = self.maps(table, load)?;
        self.watch_inputs(table.columns.len());
        self.source_of(maps, load, schema)
    }

    /// Opens the rows of all files, with NULL in all columns except `columns`, the columns whose types are in doubt.
    pub(crate) fn types_source<'a>(
        &'a mut self,
        columns: &[usize],
        load: &Request,
        schema: &Schema,
    ) -> Result<Box<dyn Source + 'a>> {
        let mut maps = self.maps(&schema.tables[self.index_in(schema)], load)?;
        self.watch_nothing();
        for (column, from) in maps.iter_mut().flat_map(|map| map.from.iter_mut().enumerate()) {
            if !columns.contains(&column) {
                *from = ColumnFrom::Constant(Constant::Null);
            }
        }
        self.source_of(maps, load, schema)
    }

    fn source_of<'a>(
        &'a mut self,
        maps: Vec<FileMap>,
        load: &Request,
        schema: &Schema,
    ) -> Result<Box<dyn Source + 'a>> {
        let table = &schema.tables[self.index_in(schema)];
        for file in &mut self.files {
            file.find_conversions(load)?;
            file.conversions.store_in(table);
        }
        let (classes, forms) = (self.classes(table), load.moment_forms(&self.name));
        let mut files = self.files.iter_mut().zip(maps);
        let functions = load.functions_of_defaults();
        let open =
            move |rows| files.next().map(|(file, map)| file.source(map, &classes, &forms, rows, &functions));
        Ok(Box::new(Chain::new(open, load.limit, None)))
    }

    /// Checks the expressions of the load for this table, and gives the files the columns that the expressions make.
    ///
    /// # Errors
    /// If an expression is wrong, or depends on the type of a column that is TEXT although its first or nearly all values are numbers.
    pub(crate) fn find_expressions(&mut self, load: &Request) -> Result<()> {
        if !load.has_expressions() {
            return Ok(());
        }
        let mut names: Vec<String> = Vec::new();
        for file in &mut self.files {
            file.begin_expressions(load)?;
            for name in file.inputs.iter().flat_map(FileInputs::selected_names) {
                if !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                    names.push(name.clone());
                }
            }
        }
        let checked = Checked::new(load, &load.functions, &self.name, names)?;
        let used = checked.used.iter().map(|input| self.used_input(&checked, *input, load)).collect();
        let expressions = TableExpressions::new(Arc::new(checked), used, load);
        for input in &expressions.inputs {
            if input.is_nearly_numbers() {
                let field = |file: &LoadFile| file.inputs.as_ref()?.field_named(&input.name);
                let mut files = self.files.iter_mut();
                let found = files.find_map(|file| field(file).and_then(|field| file.first_text(field)));
                return Err(input.misfit(found, None));
            }
        }
        self.expressions = Some(expressions);
        self.apply_expressions(load)
    }

    /// Gives the files the columns that the expressions make, with the types that the columns they use have now.
    fn apply_expressions(&mut self, load: &Request) -> Result<()> {
        let Some(expressions) = &self.expressions else { return Ok(()) };
        let classes: Vec<(bool, bool)> =
            expressions.inputs.iter().map(|input| (input.is_text(load), input.is_blob())).collect();
        let program = &expressions.program;
        self.files.iter_mut().try_for_each(|file| file.apply_expressions(program, &classes, load))?;
        if let (Some(expressions), Some(file)) = (&mut self.expressions, self.files.first_mut()) {
            expressions.first_rows = file.first_rows();
        }
        Ok(())
    }

    /// Returns the names of [`SOURCES`] that expressions use and that are columns of the files.
    pub(crate) fn own_sources(&self) -> &[&'static str] {
        self.expressions.as_ref().map_or(&[], |expressions| &expressions.checked.own_sources)
    }

    /// Returns texts for the plan that show the first rows of the sample before and after the expressions.
    pub(crate) fn first_rows(&self) -> &[String] {
        self.expressions.as_ref().map_or(&[], |expressions| &expressions.first_rows)
    }

    /// Returns the type and the counts of a column of the files that expressions use.
    fn used_input(&self, checked: &Checked, input: usize, load: &Request) -> UsedInput {
        let name = &checked.inputs[input];
        // A column that fills a column of a declared table unchanged has the type of that column.
        let passed = checked.results.iter().filter(|(_, origin)| *origin == Origin::Input(input));
        let declared = load.declared(&self.name);
        let mut used = UsedInput {
            name: name.clone(),
            declared: load.type_of(name).map(str::to_owned),
            is_number: false,
            evidence: Evidence::new(),
            kinds: Kinds::default(),
        };
        let is_input = |name: &str| checked.inputs.iter().any(|input| input.eq_ignore_ascii_case(name));
        let names = passed.clone().map(|(result, _)| result).filter(|result| !is_input(result));
        let of_result = names.filter_map(|result| load.type_of(result)).next();
        used.declared = used.declared.or(of_result.map(str::to_owned));
        let mut of_table =
            passed.filter_map(|(result, _)| Some(&declared?.columns[declared?.column(result)?]));
        if let (None, Some(column)) = (&used.declared, of_table.next()) {
            used.declared = Some(column.declared_type.clone());
        }
        let (mut of_files, mut is_first) = (None, true);
        for file in &self.files {
            let Some((inputs, field)) =
                file.inputs.as_ref().and_then(|inputs| Some((inputs, inputs.field_named(name)?)))
            else {
                continue;
            };
            let conversion = file.conversions.of_input(name).or(file.conversions.of_column(name));
            let converted = conversion.and_then(Conversion::declared_type);
            let of_file = converted.or(inputs.types.get(field).copied().flatten());
            of_files = if is_first || of_files == of_file { of_file } else { None };
            is_first = false;
            used.is_number |= conversion.is_some_and(Conversion::is_number);
            used.evidence.merge(inputs.evidence.get(field).copied().unwrap_or_default());
            if let Some(kinds) = inputs.kinds.get(field) {
                used.kinds.follow(kinds);
            }
        }
        used.declared = used.declared.or(of_files.map(str::to_owned));
        if is_first
            && let Some((_, declared)) = SOURCES.iter().find(|(source, _)| name.eq_ignore_ascii_case(source))
        {
            used.declared = Some((*declared).to_owned());
        }
        used
    }

    /// Makes the next source watch the types of the columns that expressions use: a value of another type ends the attempt. In its
    /// batches, these columns follow the `columns` columns of the table.
    fn watch_inputs(&mut self, columns: usize) {
        let seen = self.files.iter().all(|file| file.seen && file.is_observed());
        let Some(expressions) = &mut self.expressions else { return };
        expressions.program.forget_filtered();
        let inputs = expressions.inputs.iter().enumerate();
        let watched: Vec<Watched> = inputs
            .filter(|(_, input)| input.is_in_doubt() && !seen)
            .map(|(at, input)| input.watched(columns + at))
            .collect();
        expressions.watch = if watched.is_empty() { None } else { Some(Watch::new(&watched)) };
        for inputs in self.files.iter_mut().filter_map(|file| file.inputs.as_mut()) {
            inputs.watch.clone_from(&expressions.watch);
        }
    }

    fn watch_nothing(&mut self) {
        for inputs in self.files.iter_mut().filter_map(|file| file.inputs.as_mut()) {
            inputs.watch = None;
        }
    }

    /// Returns `true` if a record has shown that the type of a column that expressions use is wrong.
    pub(crate) fn has_wrong_inputs(&self) -> bool {
        self.expressions.as_ref().is_some_and(TableExpressions::is_broken)
    }

    /// Returns the number of records that the filter has left out in the last attempt, and the number of these records for which the filter
    /// was NULL.
    pub(crate) fn filtered(&self) -> (u64, u64) {
        self.expressions.as_ref().map_or((0, 0), |expressions| expressions.program.filtered())
    }

    /// Returns `true` if the load has expressions and a file has a column of this name, which they may use.
    pub(crate) fn has_input(&self, name: &str) -> bool {
        let inputs = self.files.iter().filter_map(|file| file.inputs.as_ref());
        inputs.into_iter().any(|inputs| inputs.field_named(name).is_some())
    }

    /// Makes the types of the columns that expressions use final. If the samples leave a type open, reads all values of its column.
    ///
    /// # Errors
    /// If the values make a column TEXT that had numbers in the samples, or that has nearly only numbers.
    pub(crate) fn settle_inputs(
        &mut self,
        load: &Request,
        threads: usize,
        context: &Context<'_>,
    ) -> Result<()> {
        let seen = self.files.iter().all(|file| file.seen && file.is_observed());
        let Some(expressions) = self.expressions.as_mut().filter(|expressions| expressions.is_in_doubt())
        else {
            return Ok(());
        };
        expressions.settled = true;
        if seen {
            return Ok(());
        }
        let inputs = expressions.inputs.iter().enumerate();
        let in_doubt: Vec<usize> =
            inputs.filter(|(_, input)| input.is_in_doubt()).map(|(at, _)| at).collect();
        let inputs_source = |files: &mut Vec<LoadFile>, use_it: &mut dyn FnMut(&mut dyn Source)| {
            let mut files = files.iter_mut();
            let open = move |rows| files.next().map(|file| file.inputs_source(rows));
            use_it(&mut Chain::new(open, load.limit, None));
        };
        let mut scanned = Vec::new();
        inputs_source(&mut self.files, &mut |source| {
            // The load itself reports a read error, so the error is ignored here.
            scanned = infer::scan(source, &in_doubt, &[], threads, context).0;
        });
        context.cancel.check()?;
        let mut is_retyped = false;
        for (at, Scanned { evidence, kinds }) in in_doubt.into_iter().zip(scanned) {
            let input = &mut expressions.inputs[at];
            let before = input.inferred();
            let was_empty = input.evidence.is_empty();
            (input.evidence, input.kinds) = (evidence, kinds);
            let turned = before != Inferred::Text && !was_empty && input.inferred() == Inferred::Text;
            if turned || input.is_nearly_numbers() {
                let mut found = None;
                inputs_source(&mut self.files, &mut |source| found = inputs::first_text(source, at));
                return Err(input.misfit(found, turned.then_some(before)));
            }
            is_retyped |= before != input.inferred();
        }
        if is_retyped {
            expressions.retype(load);
            self.apply_expressions(load)?;
            for made in self.made.iter_mut().filter(|made| made.is_result) {
                made.evidence = Evidence::new();
            }
        }
        Ok(())
    }

    /// Opens the first `rows_max` rows in the sample of the first file.
    pub(crate) fn sample_source<'a>(
        &'a mut self,
        load: &Request,
        schema: &Schema,
        rows_max: u64,
    ) -> Result<Box<dyn Source + 'a>> {
        let table = &schema.tables[self.index_in(schema)];
        let functions = load.functions_of_defaults();
        let defaults = Defaults::new(table, &functions);
        let left_out = self.left_out(&defaults, table, load);
        let map = self.files[0].map((table, &defaults), &left_out, load)?.from;
        let classes = self.classes(table);
        let mut opens = Some((&mut self.files[0], map));
        let open = move |_| opens.take().map(|(file, map)| file.sample_source(map, &classes, rows_max));
        Ok(Box::new(Chain::new(open, None, None)))
    }

    /// Returns the estimated ratio of all rows of the table to the first `rows_max` rows in the sample of the first file. `None` if the
    /// size of a file is unknown.
    pub(crate) fn scale(&self, load: &Request, rows_max: u64) -> Option<f64> {
        let text_bytes =
            self.files.iter().map(|file| file.text_bytes).try_fold(0, |sum, bytes| Some(sum + bytes?))?;
        let by_text = text_bytes as f64 / self.sample_text_bytes(rows_max).max(1.0);
        let rows = self.files[0].sample_rows.min(rows_max).max(1);
        let by_limit = load.limit.map_or(f64::INFINITY, |limit| limit as f64 / rows as f64);
        Some(by_text.min(by_limit).max(1.0))
    }

    /// Returns the approximate bytes of the first `rows_max` rows in the sample of the first file.
    pub(crate) fn sample_text_bytes(&self, rows_max: u64) -> f64 {
        let LoadFile { sample_text_bytes, sample_rows, .. } = self.files[0];
        sample_text_bytes as f64 * (rows_max as f64 / sample_rows.max(1) as f64).min(1.0)
    }
}

fn not_declared(schema: &Schema, name: &str) -> Error {
    let names: Vec<&str> = schema.tables.iter().map(|table| table.name.as_str()).collect();
    if names.is_empty() {
        return Error::input("the schema declares no table").at(Place::file(&schema.file));
    }
    let message = format!("{} declares no table {name}", schema.file.display());
    Error::usage(message).hint(message![Setting::Table, format!(" names one of: {}", listed(&names))])
}
