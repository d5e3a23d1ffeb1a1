//! A source whose batches get computed columns, and whose rows are filtered.
//!
//! ```text
//!  Part::decode ──> batch | columns of the table | columns that expressions use |
//!                     │                              │ converted by their types
//!                     │                              v
//!                     │        layer 0 ──> results ──> layer 1 ──> ...     SQLite, in a connection of the thread
//!                     v              v
//!                   batch | columns of the table |  ──> sink, with the rows that the filter keeps
//! ```
//!
//! If an expression fails for a row, the sink gets a refusal of this row, and the part passes the batch again without it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sqluice_core::affinity::{self, Affinity};
use sqluice_core::batch::{Batch, Bitmap, Bytes, Column, Value, Values, describe};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Amount;
use sqluice_core::rows::{Evaluator, Fault, NamedColumn, Query, Rows};
use sqluice_core::schema::quoted;
use sqluice_core::source::around::decoded_by;
use sqluice_core::source::cells::Cells;
use sqluice_core::source::chain::Counted;
use sqluice_core::source::kept::Kept;
use sqluice_core::source::{BadRow, BadText, Part, Refused, RefusedRow, Sink, Source};

use super::checked::{Checked, Expression, Origin};
use crate::expressions::row::words;

/// The expressions of a table with the types of the columns that they use, shared by all threads.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) checked: Arc<Checked>,
    /// The affinity of each used input.
    affinities: Vec<Affinity>,
    /// The positions of the filter's columns among the used inputs, if the filter is NULL only for rows in which one of these columns is
    /// NULL; otherwise `None`.
    nulls_of_filter: Option<Vec<usize>>,
    /// The prepared expressions that no thread uses at present.
    idle: Mutex<Vec<Machine>>,
    /// The number of rows that the filter has left out, and the number of these rows for which the filter was NULL.
    filtered: [AtomicU64; 2],
}

/// The prepared expressions of a thread.
#[derive(Debug)]
struct Machine(Vec<LayerMachine>);

#[derive(Debug)]
struct LayerMachine {
    evaluator: Evaluator,
    query: Query,
    /// The query that finds the rows for which the filter is NULL.
    nulls: Option<Query>,
}

/// The name of a column that later layers get: 1 for the rows that the filter keeps, so that these layers skip the other rows.
const KEPT: &str = "sqluice kept";

impl Program {
    /// Creates a program. `affinities` are those of the used inputs.
    pub(crate) fn new(checked: Arc<Checked>, affinities: Vec<Affinity>) -> Program {
        let nulls_of_filter = checked.nulls_of_filter();
        Program { checked, affinities, nulls_of_filter, idle: Mutex::default(), filtered: Default::default() }
    }

    /// Returns the number of rows that the filter has left out, and the number of these rows for which the filter was NULL.
    pub(crate) fn filtered(&self) -> (u64, u64) {
        let [filtered, null] = &self.filtered;
        (filtered.load(Ordering::Relaxed), null.load(Ordering::Relaxed))
    }

    /// Forgets the numbers of rows that the filter has left out.
    pub(crate) fn forget_filtered(&self) {
        self.filtered.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    }

    fn take_machine(&self) -> Result<Machine> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| self.machine(), Ok)
    }

    fn give_back(&self, machine: Machine) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(machine);
    }

    fn machine(&self) -> Result<Machine> {
        let mut of_results: Vec<Affinity> = Vec::new();
        let mut layers = Vec::new();
        let cannot =
            |error: rusqlite::Error| Error::usage("the expressions can't be prepared").because(error);
        for (at, layer) in self.checked.layers.iter().enumerate() {
            let mut columns: Vec<NamedColumn> = Vec::new();
            for (name, origin) in &layer.names {
                let affinity = match origin {
                    Origin::Input(input) => self.affinity_of_input(*input),
                    Origin::Result(result) => of_results.get(*result).copied().unwrap_or(Affinity::Blob),
                };
                columns.push(NamedColumn::new(name, affinity));
            }
            of_results.resize(self.checked.expressions.len(), Affinity::Blob);
            let kept = NamedColumn { hidden: true, ..NamedColumn::new(self.kept(), Affinity::Integer) };
            columns.push(kept);
            let connection = self.checked.functions.connect().map_err(cannot)?;
            let mut evaluator = Evaluator::new(connection, &columns).map_err(cannot)?;
            for index in &layer.expressions {
                of_results[*index] =
                    evaluator.affinity(&self.checked.expressions[*index].sql).map_err(cannot)?;
            }
            let results: Vec<&str> =
                layer.expressions.iter().map(|index| self.checked.expressions[*index].sql.as_str()).collect();
            let kept = quoted(&self.kept());
            let filter = self.checked.filter.as_ref().map(|filter| if at == 0 { &filter.sql } else { &kept });
            let query = evaluator.query(&results, filter.map(String::as_str)).map_err(cannot)?;
            let nulls =
                self.checked.filter.as_ref().filter(|_| at == 0).map(|filter| {
                    evaluator.query(&[] as &[&str], Some(&format!("({}\n) IS NULL", filter.sql)))
                });
            let nulls = nulls.transpose().map_err(cannot)?;
            layers.push(LayerMachine { evaluator, query, nulls });
        }
        Ok(Machine(layers))
    }

    /// Returns the name of the column that has 1 for kept rows. No other column has this name.
    fn kept(&self) -> String {
        let names = || self.checked.layers.iter().flat_map(|layer| &layer.names);
        let mut name = KEPT.to_owned();
        while names().any(|(other, _)| other.eq_ignore_ascii_case(&name)) {
            name.push('_');
        }
        name
    }

    fn affinity_of_input(&self, input: usize) -> Affinity {
        let place = self.checked.used.iter().position(|used| *used == input);
        place.and_then(|place| self.affinities.get(place).copied()).unwrap_or(Affinity::Blob)
    }
}

/// A source whose batches have the columns of another source, in another order and possibly several times.
pub(crate) struct Spread {
    source: Box<dyn Counted>,
    places: Arc<[usize]>,
}

impl Spread {
    /// Returns the source with a column for each of `places`, which are indexes of its columns.
    pub(crate) fn over(source: Box<dyn Counted>, places: Vec<usize>) -> Box<dyn Counted> {
        Box::new(Spread { source, places: places.into() })
    }
}

impl Source for Spread {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(part) = self.source.next_part()? else { return Ok(None) };
        let places = Arc::clone(&self.places);
        Ok(Some(decoded_by(part, move |part, sink| part.decode(&mut SpreadSink { sink, places: &places }))))
    }

    fn total(&self) -> Option<Amount> {
        self.source.total()
    }
}

impl Counted for Spread {
    fn rows_done(&self) -> u64 {
        self.source.rows_done()
    }
}

struct SpreadSink<'s> {
    sink: &'s mut dyn Sink,
    places: &'s [usize],
}

impl Sink for SpreadSink<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let columns = self.places.iter().map(|place| batch.columns[*place]).collect();
        self.sink.rows(&Batch { rows: batch.rows, columns }).map_err(|mut refused| {
            // An error names a column of this batch, which is converted to the column of the source.
            match &mut refused {
                Refused::Rows(rows) => rows.iter_mut().for_each(|row| row.column = self.places[row.column]),
                Refused::Stop { at: Some((_, column)), .. } => *column = self.places[*column],
                Refused::Stop { at: None, .. } => {}
            }
            refused
        })
    }

    fn wants_lines(&self) -> bool {
        self.sink.wants_lines()
    }

    fn lines(&mut self, lines: &[i64]) {
        self.sink.lines(lines);
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.sink.bad_row(bad)
    }

    fn bad_text(&mut self, column: usize) -> BadText {
        let place = self.places.iter().position(|place| *place == column);
        place.map_or(BadText::Refuse, |place| self.sink.bad_text(place))
    }
}

/// A source whose batches get computed columns; see the module's description.
pub(crate) struct Computing {
    source: Box<dyn Counted>,
    outputs: Arc<Outputs>,
}

/// The columns that expressions compute, for the batches of a file.
#[derive(Debug)]
pub(crate) struct Outputs {
    pub(crate) program: Arc<Program>,
    /// The number of columns of the table. The columns that expressions use follow.
    pub(crate) columns: usize,
    /// The columns of the table that have results, each with the index of the expression.
    pub(crate) results: Vec<(usize, usize)>,
    /// The number of the file's first record, if the records of all files together are numbered from 0.
    pub(crate) first_row: u64,
}

impl Computing {
    /// Returns the source with its rows filtered, and with results in columns of the table.
    pub(crate) fn over(source: Box<dyn Counted>, outputs: Outputs) -> Box<dyn Counted> {
        Box::new(Computing { source, outputs: Arc::new(outputs) })
    }
}

impl Source for Computing {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(part) = self.source.next_part()? else { return Ok(None) };
        Ok(Some(computed(part, &self.outputs)))
    }

    fn total(&self) -> Option<Amount> {
        self.source.total()
    }
}

impl Counted for Computing {
    fn rows_done(&self) -> u64 {
        self.source.rows_done()
    }
}

/// Returns the part with its rows filtered, and with results in columns of the table.
pub(crate) fn computed(part: Box<dyn Part>, outputs: &Arc<Outputs>) -> Box<dyn Part> {
    let outputs = Arc::clone(outputs);
    decoded_by(part, move |part, sink| {
        let machine = outputs.program.take_machine()?;
        let next_record = (part.first_row() - outputs.first_row.min(part.first_row())) as i64 + 1;
        let (outputs, machine) = (&*outputs, machine);
        let mut computing =
            ComputingSink { sink, outputs, machine: &machine, next_record, lines: Vec::new() };
        let decoded = part.decode(&mut computing);
        outputs.program.give_back(machine);
        decoded
    })
}

struct ComputingSink<'s> {
    sink: &'s mut dyn Sink,
    outputs: &'s Outputs,
    machine: &'s Machine,
    /// The number of the next record in the file, counted from 1.
    next_record: i64,
    /// The lines of the rows of the next batch, if the file has lines.
    lines: Vec<i64>,
}

impl Sink for ComputingSink<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let Outputs { program, columns, results, .. } = self.outputs;
        let mut inputs: Vec<Input<'_>> = batch.columns[*columns..]
            .iter()
            .zip(&program.affinities)
            .map(|(column, affinity)| Input::new(column, batch.rows, *affinity))
            .collect();
        let numbers: Vec<i64>;
        if let Some(of_line) = program.checked.place_of_line() {
            let lines = match self.lines.len() == batch.rows {
                true => &self.lines,
                false => {
                    numbers = (self.next_record..).take(batch.rows).collect();
                    &numbers
                }
            };
            inputs[of_line] = Input::Given(Column::new(Values::Int(lines)));
        }
        let evaluated = Evaluated::new(self.outputs, self.machine, &inputs, batch.rows)?;
        let mixed: Vec<Vec<Value<'_>>> =
            results.iter().map(|(_, result)| evaluated.results[*result].mixed(0, batch.rows)).collect();
        let mut with_results = batch.columns[..*columns].to_vec();
        for ((column, result), mixed) in results.iter().zip(&mixed) {
            with_results[*column] = evaluated.results[*result].column(0, batch.rows, mixed);
        }
        let with_results = Batch { rows: batch.rows, columns: with_results };
        let Some(kept) = evaluated.kept.filter(|kept| kept.len() < batch.rows) else {
            self.sink.rows(&with_results)?;
            self.next_record += batch.rows as i64;
            return Ok(());
        };
        self.sink.kept_rows(&with_results, &Kept { rows: &kept })?;
        self.next_record += batch.rows as i64;
        program.filtered[0].fetch_add((batch.rows - kept.len()) as u64, Ordering::Relaxed);
        program.filtered[1].fetch_add(evaluated.nulls, Ordering::Relaxed);
        Ok(())
    }

    fn wants_lines(&self) -> bool {
        self.outputs.program.checked.place_of_line().is_some()
    }

    fn lines(&mut self, lines: &[i64]) {
        self.lines.clear();
        self.lines.extend_from_slice(lines);
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.next_record += 1;
        self.sink.bad_row(bad)
    }

    fn bad_text(&mut self, column: usize) -> BadText {
        if column < self.outputs.columns { self.sink.bad_text(column) } else { BadText::Refuse }
    }
}

/// The values of an input as its column stores them.
enum Input<'a> {
    Given(Column<'a>),
    /// Numbers of one kind, and NULLs.
    Ints(Vec<i64>, Option<Bitmap<'a>>),
    Reals(Vec<f64>, Option<Bitmap<'a>>),
    Converted(Cells),
}

impl<'a> Input<'a> {
    fn new(column: &Column<'a>, rows: usize, affinity: Affinity) -> Input<'a> {
        let is_stored = match column.values {
            Values::Null | Values::Blob(_) => true,
            Values::Text(_) => !affinity.is_numeric(),
            Values::Int(_) => !matches!(affinity, Affinity::Text | Affinity::Real),
            Values::Real(_) | Values::Any(_) => affinity == Affinity::Blob,
        };
        if is_stored {
            return Input::Given(*column);
        }
        let Column { values, validity } = *column;
        let same_kind = match (values, affinity) {
            (Values::Text(texts), Affinity::Real) => {
                numbers_of(texts, validity, rows, real).map(|reals| Input::Reals(reals, validity))
            }
            (Values::Text(texts), Affinity::Integer | Affinity::Numeric) => {
                numbers_of(texts, validity, rows, int).map(|ints| Input::Ints(ints, validity))
            }
            (Values::Int(ints), Affinity::Real) => {
                Some(Input::Reals(ints[..rows].iter().map(|int| *int as f64).collect(), validity))
            }
            _ => None,
        };
        if let Some(numbers) = same_kind {
            return numbers;
        }
        let (mut cells, mut scratch) = (Cells::default(), Vec::new());
        for row in 0..rows {
            let value = match column.get(row) {
                Value::Text(text) if affinity.is_numeric() => affinity::text_to_number(text, affinity),
                value => affinity::apply(value, affinity, &mut scratch),
            };
            cells.push_value(match value {
                // SQLite reads a value of a REAL column as a float, even if the record stores an integer.
                Value::Int(int) if affinity == Affinity::Real => Value::Real(int as f64),
                value => value,
            });
        }
        Input::Converted(cells)
    }

    fn mixed(&self, rows: usize) -> Vec<Value<'_>> {
        match self {
            Input::Given(_) | Input::Ints(..) | Input::Reals(..) => Vec::new(),
            Input::Converted(cells) => cells.mixed(0, rows),
        }
    }

    fn column<'c>(&'c self, rows: usize, mixed: &'c [Value<'c>]) -> Column<'c> {
        match self {
            Input::Given(column) => *column,
            Input::Ints(ints, validity) => Column { values: Values::Int(ints), validity: *validity },
            Input::Reals(reals, validity) => Column { values: Values::Real(reals), validity: *validity },
            Input::Converted(cells) => cells.column(0, rows, mixed),
        }
    }
}

/// Converts texts to numbers of one kind. NULLs are 0. Returns `None` if a text is none of these numbers.
#[inline]
fn numbers_of<N: Default>(
    texts: Bytes<'_>,
    validity: Option<Bitmap<'_>>,
    rows: usize,
    number: impl Fn(&[u8], Range<usize>) -> Option<N>,
) -> Option<Vec<N>> {
    let is_null = |row| validity.is_some_and(|validity| !validity.get(row));
    let mut numbers = Vec::with_capacity(rows);
    for row in 0..rows {
        numbers.push(if is_null(row) { N::default() } else { number(texts.data, texts.range(row))? });
    }
    Some(numbers)
}

/// Converts a part of a text as a REAL column does; `None` if it is no number. A number with a decimal point is tried first, as most floats
/// have one.
#[inline]
fn real(data: &[u8], Range { start, end }: Range<usize>) -> Option<f64> {
    let with_point = affinity::decimal(data, start, end, Affinity::Real);
    match with_point.unwrap_or_else(|| affinity::part_to_number(data, start, end, Affinity::Real).0) {
        // SQLite reads a value of a REAL column as a float, even if the record stores an integer.
        Value::Int(int) => Some(int as f64),
        Value::Real(real) => Some(real),
        _ => None,
    }
}

/// Converts a part of a text as an INTEGER column does, if it becomes an integer.
#[inline]
fn int(data: &[u8], Range { start, end }: Range<usize>) -> Option<i64> {
    affinity::whole(data, start, end).or_else(|| {
        match affinity::part_to_number(data, start, end, Affinity::Integer).0 {
            Value::Int(int) => Some(int),
            _ => None,
        }
    })
}

/// The results for a batch.
struct Evaluated {
    /// The results of each expression, NULL for rows that the filter leaves out.
    results: Vec<Cells>,
    /// The rows that the filter keeps; `None` without a filter.
    kept: Option<Vec<u32>>,
    /// The number of rows for which the filter is NULL.
    nulls: u64,
}

/// The maximum number of refused rows of a batch. After that many, the other rows are not tested: an error takes much more memory than a
/// row.
const FAULTS_MAX: usize = 64;

impl Evaluated {
    fn new(
        outputs: &Outputs,
        machine: &Machine,
        inputs: &[Input<'_>],
        rows: usize,
    ) -> Result<Evaluated, Refused> {
        let checked = &outputs.program.checked;
        let inputs_mixed: Vec<Vec<Value<'_>>> = inputs.iter().map(|input| input.mixed(rows)).collect();
        let of_input = |input: usize| {
            let place = checked.used.iter().position(|used| *used == input).unwrap_or_default();
            inputs[place].column(rows, &inputs_mixed[place])
        };
        let mut results: Vec<Cells> = checked.expressions.iter().map(|_| Cells::default()).collect();
        let (mut kept, mut nulls): (Option<Vec<u32>>, u64) = (None, 0);
        for (at, (layer, machine)) in checked.layers.iter().zip(&machine.0).enumerate() {
            let results_mixed: Vec<Vec<Value<'_>>> =
                results.iter().map(|cells| cells.mixed(0, cells.rows())).collect();
            let ones: Vec<i64> = match &kept {
                None => vec![1; rows],
                Some(kept) => {
                    let mut ones = vec![0; rows];
                    kept.iter().for_each(|row| ones[*row as usize] = 1);
                    ones
                }
            };
            let mut columns: Vec<Column<'_>> = Vec::with_capacity(layer.names.len() + 1);
            for (_, origin) in &layer.names {
                columns.push(match origin {
                    Origin::Input(input) => of_input(*input),
                    Origin::Result(result) => results[*result].column(0, rows, &results_mixed[*result]),
                });
            }
            columns.push(Column::new(Values::Int(&ones)));
            let of_batch = Rows::from_batch(&Batch { rows, columns })?;
            let mut taken = Taking {
                found: layer.expressions.iter().map(|_| Cells::default()).collect(),
                kept: Vec::new(),
                bytes_max: checked.functions.length_max,
                too_large: None,
            };
            if let Err(fault) = taken.take(machine, &of_batch, rows) {
                let failed = Failed { outputs, layer: at, machine, rows: &of_batch };
                return Err(failed.refusal(&taken, fault));
            }
            if at == 0 && checked.filter.is_some() {
                let of_filter = outputs.program.nulls_of_filter.as_deref();
                let may_be_null = of_filter.is_none_or(|places| {
                    places
                        .iter()
                        .any(|place| inputs[*place].column(rows, &inputs_mixed[*place]).may_have_null(rows))
                });
                if taken.kept.len() < rows
                    && may_be_null
                    && let Some(query) = &machine.nulls
                {
                    let count = machine.evaluator.evaluate(query, &of_batch, |_, _| {
                        nulls += 1;
                        Ok(())
                    });
                    count.map_err(|fault| {
                        Error::input("the rows for which the filter is NULL can't be counted")
                            .because(fault.error)
                    })?;
                }
                kept = Some(taken.kept);
            }
            drop(of_batch);
            drop(results_mixed);
            for (index, found) in layer.expressions.iter().zip(taken.found) {
                results[*index] = found;
            }
        }
        Ok(Evaluated { results, kept, nulls })
    }
}

/// The results of a layer so far.
struct Taking {
    found: Vec<Cells>,
    kept: Vec<u32>,
    bytes_max: usize,
    /// If the results of an expression take more than `bytes_max` bytes: the row at which they do, and the index of the expression in the
    /// layer.
    too_large: Option<(usize, usize)>,
}

impl Taking {
    /// Stores the results of the layer for some rows. `count` is their number.
    fn take(&mut self, machine: &LayerMachine, rows: &Rows<'_>, count: usize) -> Result<(), Fault> {
        let Taking { found, kept, bytes_max, too_large } = self;
        machine.evaluator.evaluate(&machine.query, rows, |row, results| {
            for (at, cells) in found.iter_mut().enumerate() {
                cells.pad_with_nulls(row);
                cells.push_value(results.value(at)?);
                if cells.data_bytes() > *bytes_max {
                    *too_large = Some((row, at));
                    return Err(rusqlite::Error::UserFunctionError("too large".into()));
                }
            }
            kept.push(row as u32);
            Ok(())
        })?;
        found.iter_mut().for_each(|cells| cells.pad_with_nulls(count));
        Ok(())
    }
}

/// A layer whose evaluation has failed.
struct Failed<'a> {
    outputs: &'a Outputs,
    layer: usize,
    machine: &'a LayerMachine,
    rows: &'a Rows<'a>,
}

impl Failed<'_> {
    /// Returns the refusal of the row that has failed, and of the rows after it that fail, too.
    fn refusal(&self, taking: &Taking, fault: Fault) -> Refused {
        if let Some((row, at)) = taking.too_large {
            let expression = self.expression(Some(at));
            let error = Error::input(message![
                &expression.given,
                ": the results of a batch of records are too large"
            ]);
            return Refused::Stop {
                at: Some((row, self.column(expression))),
                error: error.hint(more_memory()),
            };
        }
        let Some(first) = fault.row else {
            let expression = self.expression(fault.result);
            let error = Error::input(message![&expression.given, format!(": {}", fault.error)]);
            return Refused::Stop { at: None, error };
        };
        if is_too_big(&fault.error) {
            let RefusedRow { row, column, error } = self.refused(&fault, first);
            return Refused::Stop { at: Some((row, column)), error: error.hint(more_memory()) };
        }
        let mut refused = vec![self.refused(&fault, first)];
        for row in first + 1..self.rows.len() {
            if refused.len() == FAULTS_MAX {
                break;
            }
            if let Some(fault) = self.fault_of(row)
                && !is_too_big(&fault.error)
            {
                refused.push(self.refused(&fault, row));
            }
        }
        Refused::Rows(refused)
    }

    /// Evaluates the layer for one row alone. Returns the error, or `None` if it succeeds.
    fn fault_of(&self, row: usize) -> Option<Fault> {
        self.machine.evaluator.evaluate(&self.machine.query, &self.rows.alone(row), |_, _| Ok(())).err()
    }

    /// Returns the expression that has failed, given its index in the layer; `None` means the filter.
    fn expression(&self, result: Option<usize>) -> &Expression {
        let checked = &self.outputs.program.checked;
        let index = result.and_then(|at| checked.layers[self.layer].expressions.get(at));
        match (index, &checked.filter) {
            (None, Some(filter)) => filter,
            (index, _) => &checked.expressions[index.copied().unwrap_or_default()],
        }
    }

    /// Returns the column of the batch that has the first input of an expression, as the place of an error; 0 if it uses no input.
    fn column(&self, expression: &Expression) -> usize {
        let used = &self.outputs.program.checked.used;
        let input = expression.uses.iter().find_map(|(_, origin)| match origin {
            Origin::Input(input) => used.iter().position(|used| used == input),
            Origin::Result(_) => None,
        });
        input.map_or(0, |input| self.outputs.columns + input)
    }

    /// Returns the refusal of `row`. The error shows the first value that the expression uses.
    fn refused(&self, fault: &Fault, row: usize) -> RefusedRow {
        let expression = self.expression(fault.result);
        let why = words(&fault.error);
        let names = &self.outputs.program.checked.layers[self.layer].names;
        let shown = expression.uses.first().and_then(|used| {
            let place = names.iter().position(|name| name == used)?;
            Some(format!(" ({} is {})", used.0, describe(&self.rows.get(row, place)?)))
        });
        let error =
            Error::input(message![&expression.given, format!(": {why}{}", shown.unwrap_or_default())]);
        RefusedRow { row, column: self.column(expression), error }
    }
}

fn is_too_big(error: &rusqlite::Error) -> bool {
    let is = |code| code == rusqlite::ErrorCode::TooBig || code == rusqlite::ErrorCode::OutOfMemory;
    matches!(error, rusqlite::Error::SqliteFailure(error, _) if is(error.code))
}

fn more_memory() -> sqluice_core::error::Message {
    message!["shorten the result, or give more memory: ", Setting::Memory]
}
