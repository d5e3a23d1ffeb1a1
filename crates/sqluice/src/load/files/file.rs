//! One file of a load: what its sample shows, and how its rows are read.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use sqluice_core::batch::Batch;
use sqluice_core::error::{Error, Message, Place, Result, Setting, message};
use sqluice_core::progress::Progress;
use sqluice_core::schema::{Column, Table};
use sqluice_core::source::chain::Counted;
use sqluice_core::source::columns::{ColumnFrom, Constant};
use sqluice_core::source::{BadRow, Refused, Sink};
use sqluice_engine::reject::Tally;
use sqluice_engine::report::{InputReport, Recognised};
use sqluice_sources::convert::{Conversion, Converting};
use sqluice_sources::infer::Evidence;
use sqluice_sources::input::InputFile;

#[cfg(feature = "parquet")]
use super::columnar::ColumnarFile;
use super::conversions::FieldConversions;
use super::csv::CsvFile;
use super::database::DatabaseTable;
use super::default_value;
use super::json::{JsonFile, KeyColumns};
use super::rowid_order::Ascending;
use super::sample::{Opened, changed};
use super::tally::Tallied;
use super::text_causes::Miss;
use crate::load::request::Request;

/// A file and what its sample shows.
pub(crate) struct LoadFile {
    /// The name of its table.
    pub(crate) table: String,
    pub(crate) input: InputFile,
    pub(crate) content: Content,
    /// The names of its columns.
    pub(crate) names: Vec<String>,
    /// Where the file has them; `None`: it does not.
    pub(crate) places: Option<Vec<Place>>,
    /// What the sample says about the type of each column, if its rows are loaded.
    pub(crate) evidence: Vec<Evidence>,
    /// Which columns just missed a type.
    pub(crate) misses: Vec<Miss>,
    /// The type of each column, where the file says it.
    pub(crate) types: Vec<Option<&'static str>>,
    /// How the text of its fields is converted.
    pub(crate) conversions: FieldConversions,
    /// How much of the text the sample is at least, in bytes.
    sample_bytes: usize,
    /// Bytes of its text.
    pub(crate) sample_text_bytes: u64,
    /// Rows of the sample that are whole, and loaded.
    pub(crate) sample_rows: u64,
    /// The field that names the rowid, if one does, and the order of its values in the sample.
    pub(crate) rowids: Option<(usize, Ascending)>,
    /// All rows that are loaded are in the sample.
    pub(crate) seen: bool,
    /// Bytes of its text, where that is known.
    pub(crate) text_bytes: Option<u64>,
    /// How it is written, in words.
    pub(crate) words: String,
    /// The same as data.
    pub(crate) recognised: Recognised,
    /// What a user might expect otherwise.
    pub(crate) notes: Vec<Message>,
    /// What is wrong with the first bad row of the sample.
    pub(crate) first_fault: Option<Error>,
    /// The sample has rows, and all of them are bad.
    pub(crate) all_bad: bool,
    /// How many of its rows the load has read.
    pub(crate) tally: Tally,
}

/// What a file has, and how it is read.
pub(crate) enum Content {
    /// The file is not opened yet.
    Unopened,
    Csv(CsvFile),
    Json(JsonFile),
    #[cfg(feature = "parquet")]
    Columnar(ColumnarFile),
    Database(DatabaseTable),
}

impl LoadFile {
    /// A file that is not opened yet, for the table of that name.
    pub(crate) fn new(table: String, input: InputFile, format: &'static str) -> LoadFile {
        let tally = Tally { input: input.name().to_owned(), rows: Arc::default() };
        LoadFile {
            table,
            input,
            content: Content::Unopened,
            names: Vec::new(),
            places: None,
            evidence: Vec::new(),
            misses: Vec::new(),
            types: Vec::new(),
            conversions: FieldConversions::default(),
            sample_bytes: 0,
            sample_text_bytes: 0,
            sample_rows: 0,
            rowids: None,
            seen: false,
            text_bytes: None,
            words: String::new(),
            recognised: Recognised::new(format),
            notes: Vec::new(),
            first_fault: None,
            all_bad: false,
            tally,
        }
    }

    /// Notes what the sample says of the whole.
    pub(crate) fn sampled(&mut self, opened: Opened) {
        let Opened { sample_bytes, text_bytes, whole, plain, compression, encoding } = opened;
        self.recognised.compression = compression.map(|compression| compression.to_string());
        self.recognised.encoding = encoding.map(|encoding| encoding.to_string());
        let plain_bytes = self.input.bytes().filter(|_| plain);
        (self.sample_bytes, self.sample_text_bytes, self.seen) = (sample_bytes, text_bytes, whole);
        self.text_bytes = if whole { Some(text_bytes) } else { plain_bytes };
    }

    /// Notes that nothing is known of its rows.
    pub(crate) fn unsee(&mut self) {
        self.seen = false;
        self.first_fault = None;
        if let Content::Json(json) = &mut self.content {
            json.unsee();
        }
    }

    /// Whether the sample shows types by its values, not by declarations.
    pub(crate) fn is_observed(&self) -> bool {
        matches!(self.content, Content::Csv(_) | Content::Json(_))
    }

    /// As messages call it.
    pub(crate) fn name(&self) -> String {
        self.input.name().display().to_string()
    }

    /// For the plan.
    pub(crate) fn describe(&self) -> String {
        format!("{} ({})", self.name(), self.words)
    }

    /// For the report.
    pub(crate) fn report(&self, table: &str) -> InputReport {
        let mut report = InputReport::new(self.name(), table, self.recognised.clone());
        (report.padded, report.notes) = (self.padded(), self.notes.clone());
        report
    }

    /// Rows that were loaded although fields are missing.
    pub(crate) fn padded(&self) -> u64 {
        match &self.content {
            Content::Csv(csv) => csv.padded(),
            _ => 0,
        }
    }

    /// Bytes of the file on disk, where that is known.
    pub(crate) fn bytes(&self) -> Option<u64> {
        self.input.bytes()
    }

    /// Where the header names the field.
    pub(crate) fn place_of(&self, field: usize) -> Option<Place> {
        self.places.as_ref().map(|places| places[field].clone())
    }

    /// The type of a field, where the file says it, or the user by what its text means.
    pub(crate) fn type_of(&self, field: usize) -> Option<&'static str> {
        let converted = self.conversions.of_field(field).and_then(Conversion::declared_type);
        converted.or_else(|| self.types.get(field).copied().flatten())
    }

    /// Whether a column of that name is to be loaded.
    pub(crate) fn selects(&self, load: &Request, name: &str) -> bool {
        let named = |columns: &Vec<String>| columns.iter().any(|column| column.eq_ignore_ascii_case(name));
        load.columns.as_ref().is_none_or(named)
    }

    /// Whether its columns are those of a declared table in their order, as nothing names them.
    pub(crate) fn is_by_position(&self, load: &Request) -> bool {
        self.places.is_none() && load.columns.is_none() && load.declared(&self.table).is_some()
    }

    /// Whether it has a value for a column of its table.
    pub(crate) fn gives(&self, load: &Request, name: &str) -> bool {
        self.is_by_position(load)
            || (self.selects(load, name) && self.names.iter().any(|found| found.eq_ignore_ascii_case(name)))
    }

    /// The field of a table's column, which is the one at `place` of those that take values; `None`: it has none.
    pub(crate) fn field_of(&self, load: &Request, name: &str, place: Option<usize>) -> Option<usize> {
        let field = match self.is_by_position(load) {
            true => place,
            false if self.selects(load, name) => {
                self.names.iter().position(|found| found.eq_ignore_ascii_case(name))
            }
            false => None,
        };
        field.filter(|&field| field < self.misses.len())
    }

    /// Whether it can be read more than once.
    pub(crate) fn can_reopen(&self) -> bool {
        self.input.can_reopen()
    }

    /// Copies what can be read only once to a temporary file.
    pub(crate) fn keep(&mut self, folder: &Path, progress: &dyn Progress) -> Result<()> {
        self.input.spool(folder, progress)
    }

    /// Which of its fields go to which of the table's columns; `left_out` are those that no file of the table has, and for
    /// which SQLite finds a value.
    pub(crate) fn map(&self, table: &Table, left_out: &[usize], load: &Request) -> Result<Vec<ColumnFrom>> {
        if self.is_by_position(load) {
            self.refuse_width(table)?;
            let mut fields = (0..self.names.len()).map(ColumnFrom::Field);
            let next = |column: &Column| match column.generated {
                None => fields.next(),
                Some(_) => None,
            };
            let from = table.columns.iter().map(next);
            return Ok(from.map(|from| from.unwrap_or(ColumnFrom::Constant(Constant::Null))).collect());
        }
        let from = |(index, column): (usize, &Column)| {
            let named = |name: &String| name.eq_ignore_ascii_case(&column.name);
            match self.names.iter().position(named).filter(|_| self.selects(load, &column.name)) {
                Some(_) if column.generated.is_some() => Err(self.computed(column)),
                None if column.generated.is_some() => Ok(ColumnFrom::Constant(Constant::Null)),
                Some(field) => Ok(ColumnFrom::Field(field)),
                // NULL is the next rowid.
                None if table.rowid_alias == Some(index) => Ok(ColumnFrom::Constant(Constant::Null)),
                None if left_out.contains(&index) => Ok(ColumnFrom::Constant(Constant::Null)),
                None => default_value::constant(column).map(ColumnFrom::Constant),
            }
        };
        table.columns.iter().enumerate().map(from).collect()
    }

    /// Refuses a file whose columns are those of a table in their order, and not as many.
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

    /// Opens it for its rows, which are numbered from `rows.start` on; `as_text` says of each column whether it has TEXT affinity.
    pub(crate) fn source(
        &mut self,
        map: Vec<ColumnFrom>,
        as_text: &[bool],
        rows: Range<u64>,
    ) -> Result<Box<dyn Counted>> {
        let converted = self.conversions.converted(&map);
        let source = match &mut self.content {
            Content::Csv(csv) => csv.source(&mut self.input, &self.names, map, rows)?,
            Content::Json(json) => json.source(&mut self.input, map, as_text, rows)?,
            #[cfg(feature = "parquet")]
            Content::Columnar(columnar) => columnar.source(&self.input, map, as_text, rows)?,
            Content::Database(table) => table.source(map, rows)?,
            Content::Unopened => return Err(changed()),
        };
        Ok(Tallied::over(Converting::over(source, converted), &self.tally))
    }

    /// Opens the first rows of its sample, up to where it is cut off.
    pub(crate) fn sample_source(
        &mut self,
        map: Vec<ColumnFrom>,
        as_text: &[bool],
        rows_max: u64,
    ) -> Result<Box<dyn Counted>> {
        let (sample_bytes, rows, converted) =
            (self.sample_bytes, 0..self.sample_rows.min(rows_max), self.conversions.converted(&map));
        let source = match &self.content {
            Content::Csv(csv) => csv.sample_source(&mut self.input, sample_bytes, map, rows)?,
            Content::Json(json) => json.sample_source(&mut self.input, sample_bytes, map, as_text, rows)?,
            #[cfg(feature = "parquet")]
            Content::Columnar(columnar) => columnar.source(&self.input, map, as_text, rows)?,
            Content::Database(table) => table.source(map, rows)?,
            Content::Unopened => return Err(changed()),
        };
        Ok(Converting::over(source, converted))
    }

    /// Whether no row can bring a column that is not known.
    pub(crate) fn has_all_names(&self) -> bool {
        match &self.content {
            Content::Json(json) => json.is_complete(),
            _ => true,
        }
    }

    /// Whether a row has brought a column that was not known.
    pub(crate) fn met_new_name(&self) -> bool {
        matches!(&self.content, Content::Json(json) if json.met_new())
    }

    /// Opens it for the names of its columns.
    pub(crate) fn names_source(&mut self, rows: Range<u64>) -> Result<Box<dyn Counted>> {
        match &mut self.content {
            Content::Json(json) => Ok(Box::new(json.keys_source(&mut self.input, rows)?)),
            _ => self.source(Vec::new(), &[], rows),
        }
    }

    /// Takes the names of the columns that were met.
    pub(crate) fn take_new_names(&mut self) {
        match std::mem::replace(&mut self.content, Content::Unopened) {
            Content::Json(mut json) => {
                json.take_met();
                self.name_json_columns(&json);
                self.content = Content::Json(json);
            }
            content => self.content = content,
        }
    }

    /// Gathers evidence from the first rows of a sample, up to where it is cut off; bad ones only count.
    pub(crate) fn observe(&mut self, source: Box<dyn Counted>, load: &Request, rows_max: u64) -> Result<()> {
        self.find_conversions(load)?;
        let all: Vec<ColumnFrom> = (0..self.names.len()).map(ColumnFrom::Field).collect();
        let mut source = Converting::over(source, self.conversions.converted(&all));
        let mut observer = Observer {
            evidence: vec![Evidence::new(); self.names.len()],
            misses: vec![Miss::default(); self.names.len()],
            rowids: self.rowid_field(load).map(|field| (field, Ascending::default())),
            rows: 0,
            bad_rows: 0,
            typed: false,
            first_fault: None,
        };
        while let Ok(Some(mut part)) = source.next_part() {
            observer.typed = part.is_typed();
            if let Err(error) = part.decode(&mut observer) {
                observer.first_fault.get_or_insert(error);
                break;
            }
        }
        let Observer { evidence, misses, rowids, rows, first_fault, .. } = observer;
        self.all_bad = rows > 0 && observer.bad_rows == rows;
        (self.evidence, self.rowids, self.sample_rows, self.first_fault) =
            (evidence, rowids, rows, first_fault);
        self.misses = misses;
        self.seen |= self.sample_rows >= rows_max;
        Ok(())
    }

    /// Names its columns after the keys that are known.
    pub(crate) fn name_json_columns(&mut self, json: &JsonFile) {
        let KeyColumns { names, places, notes } = json.columns();
        self.evidence.resize(names.len(), Evidence::new());
        (self.names, self.places, self.notes) = (names, Some(places), notes);
    }

    /// Finds how the text of its fields is converted, once their names are known.
    ///
    /// # Errors
    /// When the file itself declares the type of such a field.
    pub(crate) fn find_conversions(&mut self, load: &Request) -> Result<()> {
        if load.conversions.is_empty() {
            return Ok(());
        }
        self.conversions = FieldConversions::of_columns(self.column_names(load), load);
        let mut conversions = self.conversions.iter();
        let misplaced = match self.content {
            #[cfg(feature = "parquet")]
            Content::Columnar(_) => conversions.next(),
            Content::Database(_) => conversions.next(),
            Content::Json(_) => conversions.find(|conversion| conversion.is_number()),
            Content::Csv(_) | Content::Unopened => None,
        };
        misplaced.map_or(Ok(()), |conversion| Err(self.typed(conversion)))
    }

    /// The names of the columns that its fields go to.
    pub(crate) fn column_names(&self, load: &Request) -> Vec<String> {
        match load.declared(&self.table).filter(|_| self.is_by_position(load)) {
            None => self.names.clone(),
            Some(table) => {
                let taking = table.columns.iter().filter(|column| column.generated.is_none());
                taking.map(|column| column.name.clone()).take(self.names.len()).collect()
            }
        }
    }

    fn typed(&self, conversion: &Conversion) -> Error {
        let message = message![
            conversion.setting(),
            format!(" is for text, and {} ({}) has numbers of its own", self.name(), self.words)
        ];
        Error::usage(message).hint(message!["leave out ", conversion.setting()])
    }

    /// The field whose values are the rowids, as far as that is known before the table is declared.
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

/// Gathers evidence for the types of all fields.
struct Observer {
    evidence: Vec<Evidence>,
    rowids: Option<(usize, Ascending)>,
    misses: Vec<Miss>,
    rows: u64,
    bad_rows: u64,
    typed: bool,
    first_fault: Option<Error>,
}

impl Sink for Observer {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let columns = self.evidence.iter_mut().zip(&mut self.misses).zip(&batch.columns);
        columns.for_each(|((evidence, miss), column)| {
            miss.see(evidence, column, batch.rows, self.typed, self.rows);
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
