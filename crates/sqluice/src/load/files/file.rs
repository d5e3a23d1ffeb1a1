//! A file of a load: the columns, types and counts that its sample shows, and the sources that read its rows.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sqluice_core::batch::Batch;
use sqluice_core::error::{Error, Message, Place, Result, Setting, message};
use sqluice_core::progress::Progress;
use sqluice_core::schema::{Column, Table};
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::{ColumnFrom, Constant};
use sqluice_core::source::{BadRow, Quoting, Refused, Sink};
use sqluice_engine::reject::Tally;
use sqluice_engine::report::{InputReport, Recognised};
use sqluice_sources::convert::{Conversion, ConvertedColumn, Converting, MomentForm};
use sqluice_sources::formats::{Columns, Content, Opened, SampledRows, WantedRows};
use sqluice_sources::infer::{Evidence, Found, Inferred, Kinds, Watch};
use sqluice_sources::input::InputFile;

use super::conversions::FieldConversions;
use super::default_value::{DefaultValue, Defaults};
use super::refusing;
use super::results::ResultObserver;
use super::rowid_order::Ascending;
use super::tally::Tallied;
use crate::expressions::functions::Functions;
use crate::load::expressions::checked::{Checked, Origin, SOURCE_FILE};
use crate::load::expressions::columns::{FIRST_ROWS, FileInputs, FirstRows};
use crate::load::expressions::inputs;
use crate::load::expressions::source::{Computing, Outputs, Program, Spread};
use crate::load::request::Request;

/// Two marks for each column of a table: if it has TEXT affinity, and if it is declared as BLOB.
#[derive(Default)]
pub(crate) struct Classes {
    /// `true` for each column that has TEXT affinity.
    pub(crate) as_text: Vec<bool>,
    /// `true` for each column that is declared as BLOB.
    pub(crate) as_blob: Vec<bool>,
}

/// The fields of a file that are read, in the order of the columns of batches. No field is read twice.
#[derive(Default)]
struct WantedFields {
    map: Vec<ColumnFrom>,
    as_text: Vec<bool>,
    as_blob: Vec<bool>,
}

impl WantedFields {
    /// Adds a column, and returns its index. Each field is added once.
    fn add(&mut self, from: ColumnFrom, (as_text, as_blob): (bool, bool)) -> usize {
        let is_field = matches!(from, ColumnFrom::Field(_));
        if let Some(index) = self.map.iter().position(|other| is_field && *other == from) {
            return index;
        }
        self.map.push(from);
        self.as_text.push(as_text);
        self.as_blob.push(as_blob);
        self.map.len() - 1
    }

    /// Adds the fields that expressions use, and returns their indexes.
    fn add_used(&mut self, inputs: &FileInputs) -> Vec<usize> {
        let used = inputs.used.iter().zip(&inputs.classes);
        let used = used.map(|(from, classes)| self.add(from.clone(), *classes));
        used.collect()
    }

    fn rows(&self, rows: Range<u64>) -> WantedRows<'_> {
        WantedRows { map: self.map.clone(), as_text: &self.as_text, as_blob: &self.as_blob, rows }
    }
}

/// The expressions that compute columns of the batches of a file.
#[derive(Default)]
struct Computed {
    outputs: Option<Outputs>,
    /// For each column of the table, and then for each column that expressions use, the index of the column of the file's batches that
    /// fills it. `None` if both are in the same order.
    places: Option<Vec<usize>>,
    watch: Option<Watch>,
}

impl Computed {
    fn over(self, source: Box<dyn Counted>) -> Box<dyn Counted> {
        let source = match self.places {
            Some(places) => Spread::over(source, places),
            None => source,
        };
        let source = match &self.watch {
            Some(watch) => watch.over_counted(source),
            None => source,
        };
        match self.outputs {
            Some(outputs) => Computing::over(source, outputs),
            None => source,
        }
    }
}

/// The origin of each column of a table: a field, a constant or a DEFAULT.
pub(crate) struct FileMap {
    /// The field or the constant that fills each column.
    pub(crate) from: Vec<ColumnFrom>,
    /// The columns whose DEFAULT has another value in each row, with the SQL of the DEFAULT. In `from` they are NULL.
    defaults: Vec<(usize, String)>,
}

/// Returns the outputs for DEFAULTs that are computed for each row of a table with `columns` columns.
pub(crate) fn outputs_of_defaults(
    defaults: &[(usize, String)],
    columns: usize,
    functions: &Functions,
) -> Outputs {
    let checked = Checked::of_defaults(defaults.iter().map(|(_, sql)| sql), functions);
    let program = Arc::new(Program::new(Arc::new(checked), Vec::new()));
    let results = defaults.iter().enumerate().map(|(result, (column, _))| (*column, result)).collect();
    Outputs { program, columns, results, first_row: 0 }
}

/// A file of a load, with the columns and types that its sample shows.
pub(crate) struct LoadFile {
    /// The name of the table that the file fills.
    pub(crate) table: String,
    pub(crate) input: InputFile,
    content: Box<dyn Content>,
    /// The names of the file's columns.
    pub(crate) names: Vec<String>,
    /// The place of each name in the file; `None` if the file does not name its columns.
    pub(crate) places: Option<Vec<Place>>,
    /// The evidence for the type of each column: the file's declaration, or the rows of the sample that are loaded.
    pub(crate) evidence: Vec<Evidence>,
    /// For each field, the counts of numbers, dates, NULL markers and other values in the sample. A value's position names part 0, as the
    /// sample is a single part. Empty if the file declares its types.
    pub(crate) kinds: Vec<Kinds>,
    /// A cache of `place_of_value`: a field, a value of the sample, and the place of the value, `None` if it was not found.
    places_of_values: Vec<(usize, Found, Option<Place>)>,
    /// The type that the file declares for each column, if any.
    pub(crate) types: Vec<Option<&'static str>>,
    /// `true` for each column that the file declares as timestamps and that becomes text; empty if the file declares none.
    moments: Vec<bool>,
    /// The conversions of the file's fields.
    pub(crate) conversions: FieldConversions,
    /// The requested size of the sample, in bytes of text.
    sample_bytes: usize,
    /// The bytes of the sample's text.
    pub(crate) sample_text_bytes: u64,
    /// The number of complete rows in the sample that are loaded.
    pub(crate) sample_rows: u64,
    /// The field whose values are the rowids, if any, and the order of these values in the sample.
    pub(crate) rowids: Option<(usize, Ascending)>,
    /// `true` if the sample has all rows that the load will read.
    pub(crate) seen: bool,
    /// The number of bytes of the file's text; `None` if unknown.
    pub(crate) text_bytes: Option<u64>,
    /// The format and layout of the file, in words.
    pub(crate) words: String,
    /// The format and layout of the file, as data.
    pub(crate) recognised: Recognised,
    /// Notes about decisions that a user may not expect, such as a skipped first line.
    pub(crate) notes: Vec<Message>,
    /// The error of the first bad row in the sample; `None` if no row is bad.
    pub(crate) first_fault: Option<Error>,
    /// `true` if the sample has rows and all of them are bad.
    pub(crate) all_bad: bool,
    /// The counter of the rows that the load has read from the file.
    pub(crate) tally: Tally,
    /// The columns as they are in the file, if expressions change them; the other fields describe the columns after the expressions.
    pub(crate) inputs: Option<FileInputs>,
}

/// The counts of the values that a field or a column has in the samples.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sampled {
    /// The number of values and NULL markers, up to the value at which counting was given up.
    pub(crate) values: u64,
    /// The number of these values that are numbers.
    pub(crate) numbers: u64,
    /// `true` if counting was given up, as most of the values are text.
    pub(crate) given_up: bool,
}

impl Sampled {
    pub(crate) fn add(&mut self, more: Sampled) {
        self.values += more.values;
        self.numbers += more.numbers;
        self.given_up |= more.given_up;
    }
}

impl LoadFile {
    /// Creates a `LoadFile` of an opened file, of which at most `rows_max` rows are loaded into `table`. The types follow from the sample.
    pub(crate) fn new(table: String, opened: Opened, load: &Request, rows_max: u64) -> Result<LoadFile> {
        let Opened {
            input,
            columns,
            types,
            guesses,
            moments,
            mut recognised,
            words,
            sample,
            rows,
            all_malformed,
            content,
            ..
        } = opened;
        recognised.compression = sample.compression.map(|compression| compression.to_string());
        recognised.encoding = sample.encoding.map(|encoding| encoding.to_string());
        let plain_bytes = input.bytes().filter(|_| sample.plain);
        let tally = Tally { input: input.name().to_owned(), rows: Arc::default() };
        let evidence = types.iter().enumerate().map(|(field, declared)| {
            let guess = guesses.get(field).copied().flatten().map(Inferred::name);
            declared.or(guess).map_or(Evidence::new(), Evidence::of_declared)
        });
        let mut file = LoadFile {
            table,
            input,
            content,
            names: columns.names,
            places: columns.places,
            evidence: evidence.collect(),
            kinds: Vec::new(),
            places_of_values: Vec::new(),
            types,
            moments,
            conversions: FieldConversions::default(),
            sample_bytes: sample.sample_bytes,
            sample_text_bytes: sample.text_bytes,
            sample_rows: 0,
            rowids: None,
            seen: sample.whole,
            text_bytes: if sample.whole { Some(sample.text_bytes) } else { plain_bytes },
            words,
            recognised,
            notes: columns.notes,
            first_fault: None,
            all_bad: false,
            tally,
            inputs: None,
        };
        match rows {
            SampledRows::Read(source) => file.observe(source, load, rows_max)?,
            SampledRows::Declared { sample, all } => (file.sample_rows, file.text_bytes) = (sample, all),
        }
        // If the user sets the number of bad rows to accept, this number alone decides if the load fails, even if all rows of the sample
        // are bad.
        let accepted = load.reject.is_some() && load.rejects_max != u64::MAX;
        if let Some(error) = all_malformed.filter(|_| file.all_bad && !accepted) {
            return Err(error);
        }
        if load.reject.is_none() && file.first_fault.as_ref().is_some_and(is_of_encoding) {
            file.notes.retain(|note| !is_about_header(note));
        }
        file.find_conversions(load)?;
        file.input.forget_sample();
        Ok(file)
    }

    /// Forgets that the sample has all rows and columns to load, and forgets its first bad row: the row limit may end the load before these
    /// rows.
    pub(crate) fn unsee(&mut self) {
        self.seen = false;
        self.first_fault = None;
        self.content.forget_columns();
    }

    /// Returns `true` if the types follow from the values of the sample, not from declarations.
    pub(crate) fn is_observed(&self) -> bool {
        self.content.has_untyped_values()
    }

    /// Returns the name of the file in messages.
    pub(crate) fn name(&self) -> String {
        self.input.name().display().to_string()
    }

    /// Describes the file for the plan: its name and its format.
    pub(crate) fn describe(&self) -> String {
        format!("{} ({})", self.name(), self.words)
    }

    /// Returns the report about the file, whose rows are loaded into `table`.
    pub(crate) fn report(&self, table: &str) -> InputReport {
        let mut report = InputReport::new(self.name(), table, self.recognised.clone());
        (report.padded, report.notes) = (self.padded(), self.notes.clone());
        report.notes.extend(self.content.late_notes());
        report.warnings = self.content.warning().into_iter().collect();
        report
    }

    /// Returns the number of rows that were loaded with NULL for missing fields.
    pub(crate) fn padded(&self) -> u64 {
        self.content.padded()
    }

    /// Returns the bytes of the file on disk, if known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.input.bytes()
    }

    /// Returns the place of a field's name, or `None` if the file does not name its columns.
    pub(crate) fn place_of(&self, field: usize) -> Option<Place> {
        self.places.as_ref().map(|places| places[field].clone())
    }

    /// Returns the type of a field that a conversion of the user or the file itself declares, if any.
    pub(crate) fn type_of(&self, field: usize) -> Option<&'static str> {
        let converted = self.conversions.of_field(field).and_then(Conversion::declared_type);
        converted.or_else(|| self.types.get(field).copied().flatten())
    }

    /// Returns `true` if the load takes the column of this name: the user selects the column, or selects no columns at all. With
    /// expressions, the columns were selected before, so `true`.
    pub(crate) fn selects(&self, load: &Request, name: &str) -> bool {
        if self.inputs.is_some() {
            return true;
        }
        let named = |columns: &Vec<String>| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        load.columns.as_ref().is_none_or(named)
    }

    /// Returns `true` if the file's fields fill the columns of a declared table in order, as neither the file nor the user names columns.
    pub(crate) fn is_by_position(&self, load: &Request) -> bool {
        let names_nothing = self.places.is_none() && load.columns.is_none() && self.inputs.is_none();
        names_nothing && load.declared(&self.table).is_some()
    }

    /// Returns `true` if the file has a value for the column of this name: for any column, if the fields fill the columns in order.
    pub(crate) fn gives(&self, load: &Request, name: &str) -> bool {
        self.is_by_position(load)
            || (self.selects(load, name) && self.names.iter().any(|found| found.eq_ignore_ascii_case(name)))
    }

    /// Returns the field that fills the column of this name, if any. `place` is the index of the column among the columns that take values;
    /// it counts if the fields fill the columns in order ([`LoadFile::is_by_position`]).
    pub(crate) fn field_of(&self, load: &Request, name: &str, place: Option<usize>) -> Option<usize> {
        let field = match self.is_by_position(load) {
            true => place,
            false if self.selects(load, name) => {
                self.names.iter().position(|found| found.eq_ignore_ascii_case(name))
            }
            false => None,
        };
        field.filter(|&field| field < self.kinds.len())
    }

    /// Returns `true` if the file can be read more than once.
    pub(crate) fn can_reopen(&self) -> bool {
        self.input.can_reopen()
    }

    /// Copies an input that can be read only once to a temporary file.
    pub(crate) fn keep(&mut self, folder: &Path, progress: &dyn Progress) -> Result<()> {
        self.input.spool(folder, progress)
    }

    /// Returns the origin of each column of the table. `left_out` has the columns that no file of the table has and that SQLite fills.
    pub(crate) fn map(
        &self,
        (table, values): (&Table, &Defaults<'_>),
        left_out: &[usize],
        load: &Request,
    ) -> Result<FileMap> {
        if self.is_by_position(load) {
            self.refuse_width(table)?;
            let mut fields = (0..self.names.len()).map(ColumnFrom::Field);
            let next = |column: &Column| match column.generated {
                None => fields.next(),
                Some(_) => None,
            };
            let from = table.columns.iter().map(next);
            let from = from.map(|from| from.unwrap_or(ColumnFrom::Constant(Constant::Null))).collect();
            return Ok(FileMap { from, defaults: Vec::new() });
        }
        let mut defaults = Vec::new();
        let from = |(index, column): (usize, &Column)| {
            let named = |name: &String| name.eq_ignore_ascii_case(&column.name);
            match self.names.iter().position(named).filter(|_| self.selects(load, &column.name)) {
                Some(_) if column.generated.is_some() => Err(self.computed(column)),
                None if column.generated.is_some() => Ok(ColumnFrom::Constant(Constant::Null)),
                Some(field) => Ok(ColumnFrom::Field(field)),
                // NULL makes SQLite choose the next rowid.
                None if table.rowid_alias == Some(index) => Ok(ColumnFrom::Constant(Constant::Null)),
                None if left_out.contains(&index) => Ok(ColumnFrom::Constant(Constant::Null)),
                None => match values.of(index)? {
                    DefaultValue::Constant(constant) => Ok(ColumnFrom::Constant(constant.clone())),
                    DefaultValue::Varying(sql) => {
                        defaults.push((index, sql.clone()));
                        Ok(ColumnFrom::Constant(Constant::Null))
                    }
                },
            }
        };
        let from = table.columns.iter().enumerate().map(from).collect::<Result<_>>()?;
        Ok(FileMap { from, defaults })
    }

    /// Refuses a file that has no column names, and more or fewer columns than the table takes values for.
    pub(crate) fn refuse_width(&self, table: &Table) -> Result<()> {
        let taking = table.columns.iter().filter(|column| column.generated.is_none());
        let (fields, columns) = (self.names.len(), taking.count());
        if fields == columns {
            return Ok(());
        }
        let message = format!("{} has {fields} columns, and table {} has {columns}", self.name(), table.name);
        Err(Error::input(message).hint(message![
            Setting::Columns,
            " names the columns of a file without a header, in their order"
        ]))
    }

    fn computed(&self, column: &Column) -> Error {
        let message = format!("{} has column {}, which SQLite computes", self.name(), column.name);
        Error::input(message).hint(message![Setting::Columns, " names those to load, without it"])
    }

    /// Opens the file for its rows, which are numbered from `rows.start` on. `forms` has, for each column of the table, the notation of
    /// its timestamps.
    pub(crate) fn source(
        &mut self,
        map: FileMap,
        classes: &Classes,
        forms: &[Option<MomentForm>],
        rows: Range<u64>,
        functions: &Functions,
    ) -> Result<Box<dyn Counted>> {
        let (formed, columns) = (self.formed(&map.from, forms), map.from.len());
        let (wanted, mut computed) = self.wanted(map.from, classes);
        computed.outputs.iter_mut().for_each(|outputs| outputs.first_row = rows.start);
        let converted = self.converted(&wanted);
        let source = self.content.source(&mut self.input, wanted.rows(rows))?;
        let source = computed.over(Converting::over(source, converted));
        let source = match map.defaults.is_empty() {
            true => source,
            false => Computing::over(source, outputs_of_defaults(&map.defaults, columns, functions)),
        };
        Ok(Tallied::over(Converting::over(source, formed), &self.tally))
    }

    /// Returns the conversions of the fields that are read, each with the column of the batches that it applies to.
    fn converted(&self, wanted: &WantedFields) -> Vec<ConvertedColumn> {
        match &self.inputs {
            Some(inputs) => self.conversions.of_inputs(inputs, &wanted.map),
            None => self.conversions.converted(&wanted.map),
        }
    }

    /// Returns the fields of the file to read for some columns of the table, and the expressions that compute the other columns.
    fn wanted(&self, map: Vec<ColumnFrom>, classes: &Classes) -> (WantedFields, Computed) {
        let Some(inputs) = &self.inputs else {
            let (as_text, as_blob) = (classes.as_text.clone(), classes.as_blob.clone());
            return (WantedFields { map, as_text, as_blob }, Computed::default());
        };
        let (mut wanted, columns) = (WantedFields::default(), map.len());
        let (mut results, mut places) = (Vec::new(), Vec::new());
        for (index, from) in map.into_iter().enumerate() {
            let from = match from {
                ColumnFrom::Field(field) => match inputs.origins[field] {
                    Origin::Input(of_file) => ColumnFrom::Field(of_file),
                    Origin::Result(result) => {
                        results.push((index, result));
                        ColumnFrom::Constant(Constant::Null)
                    }
                },
                constant => constant,
            };
            let of = |classes: &[bool]| classes.get(index) == Some(&true);
            places.push(wanted.add(from, (of(&classes.as_text), of(&classes.as_blob))));
        }
        let program = inputs.program.as_ref().filter(|program| program.checked.evaluates());
        let outputs = program.map(|program| {
            places.extend(wanted.add_used(inputs));
            Outputs { program: Arc::clone(program), columns, results, first_row: 0 }
        });
        let is_same = places.iter().copied().eq(0..wanted.map.len());
        let watch = outputs.as_ref().and_then(|_| inputs.watch.clone());
        (wanted, Computed { outputs, places: if is_same { None } else { Some(places) }, watch })
    }

    /// Opens the columns that expressions use, as they are before the expressions.
    pub(crate) fn inputs_source(&mut self, rows: Range<u64>) -> Result<Box<dyn Counted>> {
        let (mut wanted, mut computed) = (WantedFields::default(), Computed::default());
        if let Some(inputs) = &self.inputs {
            computed.places = Some(wanted.add_used(inputs));
        }
        let converted = self.converted(&wanted);
        let source = self.content.source(&mut self.input, wanted.rows(rows))?;
        Ok(computed.over(Converting::over(source, converted)))
    }

    /// Returns the timestamp columns whose text is rewritten in the notation that the column of the existing table has. `forms` has this
    /// notation.
    fn formed(&self, map: &[ColumnFrom], forms: &[Option<MomentForm>]) -> Vec<ConvertedColumn> {
        let columns = map.iter().zip(forms).enumerate().filter_map(|(index, (from, form))| {
            let ColumnFrom::Field(field) = *from else { return None };
            let converted = self.conversions.of_field(field).is_some_and(Conversion::is_moment);
            let is_moment = converted || self.moments.get(field) == Some(&true);
            let conversion = Arc::new(Conversion::of_form((*form).filter(|_| is_moment)?));
            Some(ConvertedColumn { index, name: self.names[field].clone(), conversion })
        });
        columns.collect()
    }

    /// Opens the complete rows of the sample, at most `rows_max` of them.
    pub(crate) fn sample_source(
        &mut self,
        map: Vec<ColumnFrom>,
        classes: &Classes,
        rows_max: u64,
    ) -> Result<Box<dyn Counted>> {
        let (sample_bytes, rows) = (self.sample_bytes, 0..self.sample_rows.min(rows_max));
        let (wanted, computed) = self.wanted(map, classes);
        let converted = self.converted(&wanted);
        let source = self.content.sample_source(&mut self.input, sample_bytes, wanted.rows(rows))?;
        Ok(computed.over(Converting::over(source, converted)))
    }

    /// Returns the counts of the values that a field has in the sample.
    pub(crate) fn sampled(&self, field: usize) -> Sampled {
        match self.kinds.get(field) {
            Some(kinds) => Sampled {
                values: kinds.values() + kinds.nulls(),
                numbers: kinds.numbers,
                given_up: kinds.given_up,
            },
            None => Sampled { given_up: self.kinds.is_empty(), ..Sampled::default() },
        }
    }

    /// Returns the place of a value of the sample, for which the sample is read again; `None` if the place is not found.
    pub(crate) fn place_of_value(&mut self, field: usize, found: &Found) -> Option<Place> {
        let known = self.places_of_values.iter().find(|(of, value, _)| *of == field && value == found);
        if let Some((_, _, place)) = known {
            return place.clone();
        }
        let place = self.find_place(field, found);
        self.places_of_values.push((field, found.clone(), place.clone()));
        place
    }

    fn find_place(&mut self, field: usize, found: &Found) -> Option<Place> {
        let map = (0..self.names.len()).map(ColumnFrom::Field).collect();
        let mut source = self.sample_source(map, &Classes::default(), u64::MAX).ok()?;
        refusing::place_in_source(&mut *source, found.row, field)
    }

    /// Returns `true` if all columns of the file are known. Otherwise any row may have a new one, as in JSON.
    pub(crate) fn has_all_names(&self) -> bool {
        self.content.knows_all_columns()
    }

    /// Returns `true` if a row after the sample has a column that was not known before.
    pub(crate) fn met_new_name(&self) -> bool {
        self.content.met_new_column()
    }

    /// Opens the file to read only the names of its columns.
    pub(crate) fn names_source(&mut self, rows: Range<u64>) -> Result<Box<dyn Counted>> {
        self.content.columns_source(&mut self.input, rows)
    }

    /// Adopts the column names that the last `names_source` has found, if any of them is new.
    pub(crate) fn take_new_names(&mut self) {
        if let Some(Columns { names, places, notes }) = self.content.take_new_columns() {
            if let Some(inputs) = &mut self.inputs {
                inputs.evidence.resize(names.len(), Evidence::new());
                (inputs.names, inputs.places, self.notes) = (names, places, notes);
                return;
            }
            self.evidence.resize(names.len(), Evidence::new());
            (self.names, self.places, self.notes) = (names, places, notes);
        }
    }

    /// Gathers evidence from the rows of a sample, up to its end or the first error. Bad rows are counted, and the error of the first is
    /// kept.
    pub(crate) fn observe(&mut self, source: Box<dyn Counted>, load: &Request, rows_max: u64) -> Result<()> {
        self.find_conversions(load)?;
        let all: Vec<ColumnFrom> = (0..self.names.len()).map(ColumnFrom::Field).collect();
        let mut source = Converting::over(source, self.conversions.converted(&all));
        let mut observer = Observer {
            evidence: vec![Evidence::new(); self.names.len()],
            kinds: vec![Kinds::default(); self.names.len()],
            rowids: self.rowid_field(load).map(|field| (field, Ascending::default())),
            rows: 0,
            bad_rows: 0,
            written: (false, None),
            first_fault: None,
        };
        while let Ok(Some(mut part)) = source.next_part() {
            observer.written = (part.is_typed(), part.quoting());
            if let Err(error) = part.decode(&mut observer) {
                observer.first_fault.get_or_insert(error);
                break;
            }
        }
        let Observer { evidence, kinds, rowids, rows, first_fault, .. } = observer;
        self.all_bad = rows > 0 && observer.bad_rows == rows;
        (self.evidence, self.rowids, self.sample_rows, self.first_fault) =
            (evidence, rowids, rows, first_fault);
        self.kinds = kinds;
        self.places_of_values.clear();
        self.seen |= self.sample_rows >= rows_max;
        Ok(())
    }

    /// Finds the conversions of the file's fields, once the names of the fields are known.
    ///
    /// # Errors
    /// If a conversion does not apply to the values of this file.
    pub(crate) fn find_conversions(&mut self, load: &Request) -> Result<()> {
        if load.conversions.is_empty() {
            return Ok(());
        }
        let names = self.column_names(load);
        // Settings about the file use the names of its own columns, not those that the expressions make.
        let of_file = names.iter().enumerate().map(|(field, name)| match &self.inputs {
            Some(inputs) => inputs.field_of(field).map(|field| inputs.names[field].clone()),
            None => Some(name.clone()),
        });
        let of_file: Vec<Option<String>> = of_file.collect();
        self.conversions = FieldConversions::of_columns(names.into_iter().zip(of_file), load);
        if let Some(inputs) = &self.inputs {
            self.conversions.add_inputs(&inputs.names, load);
        }
        let misplaced = self.conversions.iter().find(|conversion| !self.content.can_convert(conversion));
        misplaced.map_or(Ok(()), |conversion| Err(self.typed(conversion)))
    }

    /// Returns the names of the table's columns that the file's fields fill, in the order of the fields.
    pub(crate) fn column_names(&self, load: &Request) -> Vec<String> {
        match load.declared(&self.table).filter(|_| self.is_by_position(load)) {
            None => self.names.clone(),
            Some(table) => {
                let taking = table.columns.iter().filter(|column| column.generated.is_none());
                taking.map(|column| column.name.clone()).take(self.names.len()).collect()
            }
        }
    }

    /// Describes the columns as they are in the file, before expressions change them. `load` may select columns and put them in order.
    ///
    /// # Errors
    /// If the file has no names, and not as many columns as its table.
    pub(crate) fn begin_expressions(&mut self, load: &Request) -> Result<()> {
        if let Some(inputs) = &mut self.inputs {
            inputs.selected = selected(&inputs.names, load);
            return Ok(());
        }
        if let Some(table) = load.declared(&self.table).filter(|_| self.is_by_position(load)) {
            self.refuse_width(table)?;
        }
        let names = self.column_names(load);
        self.inputs = Some(FileInputs {
            selected: selected(&names, load),
            names,
            places: self.places.clone(),
            evidence: std::mem::take(&mut self.evidence),
            kinds: std::mem::take(&mut self.kinds),
            types: std::mem::take(&mut self.types),
            moments: std::mem::take(&mut self.moments),
            origins: Vec::new(),
            used: Vec::new(),
            source_file: self.can_reopen().then(|| self.name()),
            program: None,
            classes: Vec::new(),
            watch: None,
        });
        Ok(())
    }

    /// Gives the file the columns that its expressions make, and observes their values in the sample.
    pub(crate) fn apply_expressions(
        &mut self,
        program: &Arc<Program>,
        classes: &[(bool, bool)],
        load: &Request,
    ) -> Result<()> {
        let Some(inputs) = &mut self.inputs else { return Ok(()) };
        let checked = &program.checked;
        let field_of = |input: usize| inputs.field_named(&checked.inputs[input]);
        let (mut names, mut origins) = (Vec::new(), Vec::new());
        for (name, origin) in &checked.results {
            let origin = match origin {
                Origin::Result(result) => Origin::Result(*result),
                Origin::Input(input) => match field_of(*input) {
                    Some(field) => Origin::Input(field),
                    None => continue,
                },
            };
            names.push(name.clone());
            origins.push(origin);
        }
        let used = checked.used.iter().map(|input| match field_of(*input) {
            Some(field) => ColumnFrom::Field(field),
            None if checked.inputs[*input].eq_ignore_ascii_case(SOURCE_FILE) => {
                ColumnFrom::Constant(inputs.source_file.clone().map_or(Constant::Null, Constant::Text))
            }
            None => ColumnFrom::Constant(Constant::Null),
        });
        inputs.used = used.collect();
        inputs.program = Some(Arc::clone(program));
        inputs.classes = classes.to_vec();
        let passed: Vec<Option<usize>> = origins
            .iter()
            .map(|origin| if let Origin::Input(field) = origin { Some(*field) } else { None })
            .collect();
        let file = Place::file(self.input.name());
        self.places = inputs.places.as_ref().map(|places| {
            passed
                .iter()
                .map(|field| field.map_or_else(|| file.clone(), |field| places[field].clone()))
                .collect()
        });
        let of_field = |field: &Option<usize>| field.and_then(|field| inputs.evidence.get(field).copied());
        self.evidence = passed.iter().map(|field| of_field(field).unwrap_or_default()).collect();
        self.kinds = match inputs.kinds.is_empty() {
            true => Vec::new(),
            false => passed
                .iter()
                .map(|field| field.and_then(|field| inputs.kinds.get(field).cloned()).unwrap_or_default())
                .collect(),
        };
        self.types = passed.iter().map(|field| inputs.types.get((*field)?).copied().flatten()).collect();
        self.moments = passed
            .iter()
            .map(|field| field.is_some_and(|field| inputs.moments.get(field) == Some(&true)))
            .collect();
        inputs.origins = origins;
        self.names = names;
        self.places_of_values.clear();
        self.find_conversions(load)?;
        self.observe_results(load)
    }

    /// Gathers evidence for the types of results from the sample, and the order of rowids.
    fn observe_results(&mut self, load: &Request) -> Result<()> {
        let rowid = self.rowid_field(load);
        let Some(inputs) = &self.inputs else { return Ok(()) };
        let is_result = |field: &usize| inputs.field_of(*field).is_none();
        let results: Vec<usize> = (0..self.names.len()).filter(is_result).collect();
        self.rowids = None;
        if results.is_empty() && rowid.is_none() {
            return Ok(());
        }
        let mut observer = ResultObserver {
            evidence: results.iter().enumerate().map(|(at, _)| (at, Evidence::new())).collect(),
            rowids: rowid.map(|_| (results.len(), Ascending::default())),
            first_fault: None,
        };
        let map = results.iter().chain(&rowid).map(|field| ColumnFrom::Field(*field)).collect();
        let mut source = self.sample_source(map, &Classes::default(), u64::MAX)?;
        while let Ok(Some(mut part)) = source.next_part() {
            if let Err(error) = part.decode(&mut observer) {
                observer.first_fault.get_or_insert(error);
                break;
            }
        }
        drop(source);
        for (field, (_, evidence)) in results.into_iter().zip(observer.evidence) {
            self.evidence[field] = evidence;
        }
        self.rowids = rowid.zip(observer.rowids.map(|(_, ascending)| ascending));
        if self.first_fault.is_none() {
            self.first_fault = observer.first_fault;
        }
        Ok(())
    }

    /// Returns the first value of the sample that makes a field of the file TEXT, and its place; `None` if no value does. The field is one
    /// that expressions may use.
    pub(crate) fn first_text(&mut self, field: usize) -> Option<(String, Option<Place>)> {
        let wanted = WantedFields { map: vec![ColumnFrom::Field(field)], ..WantedFields::default() };
        let rows = wanted.rows(0..self.sample_rows);
        let mut source = self.content.sample_source(&mut self.input, self.sample_bytes, rows).ok()?;
        inputs::first_text(&mut *source, 0)
    }

    /// Returns texts for the plan that show the first rows of the sample before and after the expressions.
    pub(crate) fn first_rows(&mut self) -> Vec<String> {
        let Some(inputs) = &self.inputs else { return Vec::new() };
        let names: Vec<String> = inputs.selected_names().cloned().collect();
        let wanted = WantedFields {
            map: inputs.selected.iter().copied().map(ColumnFrom::Field).collect(),
            ..WantedFields::default()
        };
        let converted = self.converted(&wanted);
        let rows = wanted.rows(0..self.sample_rows.min(FIRST_ROWS as u64));
        let before = self.content.sample_source(&mut self.input, self.sample_bytes, rows);
        let before = before.map(|source| FirstRows::of(&names, &mut *Converting::over(source, converted)));
        let all = (0..self.names.len()).map(ColumnFrom::Field).collect();
        let names = self.names.clone();
        let after = self.sample_source(all, &Classes::default(), u64::MAX);
        let after = after.map(|mut source| FirstRows::of(&names, &mut *source));
        let before = before.unwrap_or_default().into_iter().map(|row| format!("before {row}"));
        before.chain(after.unwrap_or_default().into_iter().map(|row| format!("after  {row}"))).collect()
    }

    /// Returns `true` if the values of a field are results of an expression.
    pub(crate) fn is_result(&self, field: usize) -> bool {
        self.inputs.as_ref().is_some_and(|inputs| inputs.field_of(field).is_none())
    }

    /// Returns the type that the user gives the column of a field; `None` without one. Types are those of the columns of the file, or of
    /// results whose names no column of the file has.
    pub(crate) fn given_type<'l>(&self, load: &'l Request, field: usize) -> Option<&'l str> {
        let named = match &self.inputs {
            None => self.names.get(field),
            Some(inputs) => match inputs.field_of(field) {
                Some(of_file) => {
                    if let Some(given) = load.type_of(&inputs.names[of_file]) {
                        return Some(given);
                    }
                    self.names.get(field).filter(|name| inputs.field_named(name).is_none())
                }
                None => self.names.get(field).filter(|name| inputs.field_named(name).is_none()),
            },
        };
        load.type_of(named?)
    }

    /// Returns the names that settings about the file may use: those of its columns.
    pub(crate) fn own_names(&self) -> &[String] {
        self.inputs.as_ref().map_or(&self.names, |inputs| &inputs.names)
    }

    fn typed(&self, conversion: &Conversion) -> Error {
        let (name, words) = (self.name(), &self.words);
        let why = match conversion.is_number() {
            true => format!(
                " is for formats that write numbers as text, and {name} ({words}) has a type for numbers"
            ),
            false => {
                format!(" is for text formats, such as CSV and JSON, and {name} ({words}) has typed values")
            }
        };
        let message = message![conversion.setting(), why];
        Error::usage(message).hint(message!["leave out ", conversion.setting()])
    }

    /// Returns the field whose values become the rowids: that of the declared table's INTEGER PRIMARY KEY. If the table is not declared
    /// yet, the field of a single `primary_key` column, which may still turn out not to be an INTEGER. Returns `None` without such a
    /// column.
    fn rowid_field(&self, load: &Request) -> Option<usize> {
        let name = match (load.declared(&self.table), &load.primary_key[..]) {
            (Some(table), _) => &table.columns[table.rowid_alias?].name,
            (None, [column]) => column,
            (None, _) => return None,
        };
        if self.is_by_position(load) {
            return load.declared(&self.table)?.rowid_alias;
        }
        self.names.iter().position(|found| found.eq_ignore_ascii_case(name))
    }
}

/// Returns the fields that the load selects, in its order.
fn selected(names: &[String], load: &Request) -> Vec<usize> {
    let Some(columns) = &load.columns else { return (0..names.len()).collect() };
    let place = |column: &String| names.iter().position(|name| name.eq_ignore_ascii_case(column));
    columns.iter().filter_map(place).collect()
}

/// Returns `true` if the hint of an error advises to set the encoding of the file.
fn is_of_encoding(error: &Error) -> bool {
    error.remedy().is_some_and(|hint| hint.settings().any(|setting| setting == Setting::Encoding))
}

/// Returns `true` if a note is about the guess that a file has a header, or has none. Nothing follows from this guess if the load ends with
/// an error of the encoding.
fn is_about_header(note: &Message) -> bool {
    note.settings().any(|setting| matches!(setting, Setting::Header | Setting::NoHeader))
}

/// A sink that gathers evidence for the types of all fields.
struct Observer {
    evidence: Vec<Evidence>,
    rowids: Option<(usize, Ascending)>,
    kinds: Vec<Kinds>,
    rows: u64,
    bad_rows: u64,
    /// The results of `Part::is_typed` and `Part::quoting` for the part that is observed.
    written: (bool, Option<Quoting>),
    first_fault: Option<Error>,
}

impl Sink for Observer {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let columns = self.evidence.iter_mut().zip(&mut self.kinds).zip(&batch.columns);
        columns.for_each(|((evidence, kinds), column)| {
            kinds.see(evidence, column, batch.rows, self.written, (0, self.rows));
        });
        if let Some((field, ascending)) = &mut self.rowids
            && let Some(column) = batch.columns.get(*field)
        {
            ascending.see(column, batch.rows);
        }
        self.rows += batch.rows as u64;
        Ok(())
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.first_fault.get_or_insert(bad.error);
        self.rows += 1;
        self.bad_rows += 1;
        Ok(())
    }
}
