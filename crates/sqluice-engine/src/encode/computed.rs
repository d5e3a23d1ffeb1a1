//! Adds to a batch the values that SQLite computes: generated columns, computed keys of indexes, and the verdict of CHECKs.
//!
//! ```text
//!  given     a, b, rowids                    the stored columns of the batch
//!  layer 1   c                               refused: rows that break NOT NULL, or the type of a column in a STRICT table
//!  layer 2   d, which names c                refused: the same
//!  CHECKs                                    refused: rows that break a CHECK
//!  terms     lower(b)                        the computed terms of indexes, and the rows of each partial index
//!  result    | a | b | c | d | lower(b) |    the columns of the table, then the terms
//! ```
//!
//! A layer is the generated columns that depend only on stored columns and earlier layers.
//!
//! Rows after a refused row are not evaluated: the caller passes the batch again without the refused row. So the first bad row is always
//! among the refused rows.
//!
//! Rows are rarely refused. So a batch is first evaluated in few scans ([`Stage`]): each scan evaluates a layer, and with it all CHECKs and
//! keys that need no column of this layer or a later one. Fewer scans are faster, because reading the columns and walking over the rows
//! takes most of the time. A batch with a row at fault is evaluated again, step by step, which finds the row.

use std::cell::Cell;

use sqluice_core::affinity::{self, Affinity};
use sqluice_core::batch::{self, Value, Values, describe};
use sqluice_core::error::{Error, Result};
use sqluice_core::rows::{self, Evaluator, Query, Rows};
use sqluice_core::schema::{Generated, Table};
use sqluice_core::source::cells::Cells;
use sqluice_core::source::{Refused, RefusedRow};
use sqluice_core::sqlite_error::{failed, said};

use super::convert::push_as_read;
use super::stored::{Scratch, Stored};
use super::{ColumnRules, Refusals, Rowids};
use crate::expressions::{Expressions, in_line};
use crate::present_time::{Declared, PresentTime};

/// The operation that messages name if SQLite fails while it evaluates.
const EVALUATE: &str = "evaluate the expressions of a table";

/// The columns that SQLite computes, and their buffers.
#[derive(Debug)]
pub(super) struct Computed {
    evaluator: Evaluator,
    layers: Vec<Group>,
    checks: Vec<Checks>,
    /// The computed terms of indexes: first a group for the indexes that have all rows, then one for each partial index.
    keys: Vec<Group>,
    /// The search for rows that SQLite refuses because of the present time; `None` if no expression has a function of date and time.
    present_time: Option<PresentTime>,
    /// The layers, CHECKs and keys, combined for few scans; `None` if SQLite can't prepare that number of expressions at once.
    stages: Option<Vec<Stage>>,
    /// `true` if a row of the last batch was refused. The caller then passes the batch again without this row. The rest of the batch may
    /// have more such rows, so it is evaluated step by step at once.
    at_fault: bool,
    /// The positions of the columns that expressions name, except generated columns.
    named: Vec<usize>,
    /// The number of columns of the table. In a batch, the names of the rowid follow these columns.
    columns: usize,
    rowid_alias: Option<usize>,
    affinities: Vec<Affinity>,
    /// The columns of the current batch, as expressions read them.
    given: Vec<rows::Cells>,
    /// For each partial index, and each row of the batch: `true` if the index has the row.
    kept: Vec<Vec<bool>>,
    /// `true` if the rows are in the table already, so that NOT NULL and the types of a STRICT table are not checked.
    stored: bool,
}

/// Expressions that are evaluated together.
#[derive(Debug)]
struct Group {
    query: Query,
    results: Vec<Output>,
    /// The position in [`Computed::kept`] of the rows for which the filter is true; `None` for the group of the indexes that have all rows.
    kept: Option<usize>,
}

/// A computed column.
#[derive(Debug)]
struct Output {
    /// The index of the column in [`Completed::columns`]: a generated column of the table, or, after the columns of the table, a computed
    /// term of an index.
    column: usize,
    /// The name of the column or of the index, for messages.
    name: String,
    affinity: Affinity,
    /// `true` if whole numbers are stored as floats in records, too. CREATE INDEX stores computed values of a REAL column in this way.
    floats: bool,
    cells: Cells,
    scratch: Scratch,
}

impl Output {
    /// Appends the value of the next row. `text` is a buffer.
    fn push(&mut self, value: Value<'_>, text: &mut Vec<u8>) {
        match self.floats {
            true => self.cells.push_value(as_float(value, text)),
            false => self.cells.push_value(value),
        }
    }
}

/// The expressions that are evaluated in one scan of the batch: those of a layer, and all CHECKs and terms of indexes that need no column
/// of this layer or of a later one. The last stage has no layer.
#[derive(Debug)]
struct Stage {
    query: Query,
    /// The destination of each result of the query.
    takes: Vec<Take>,
    /// The columns that later stages name.
    named_later: Vec<usize>,
}

/// The destination of one result of the query of a [`Stage`].
#[derive(Clone, Copy, Debug)]
enum Take {
    /// The result is the value of the generated column with this index in the layer of the stage.
    OfLayer(usize),
    /// The result is 1 if the row breaks one of the CHECKs.
    Broken,
    /// The result is 1 if the WHERE is true for the row: the WHERE of the group with this index in [`Computed::keys`].
    Kept(usize),
    /// The result is a computed term of a key: the term with the second index in the group with the first index in [`Computed::keys`].
    Key(usize, usize),
}

/// CHECKs that are evaluated together.
#[derive(Debug)]
struct Checks {
    /// The query that evaluates the CHECKs: each result is true if the row breaks the CHECK at the same position of `texts`.
    query: Query,
    texts: Vec<String>,
}

/// The columns of a batch, with those that SQLite computes.
pub(super) struct Completed<'a> {
    /// The columns of the table, and then the computed terms of indexes.
    pub(super) columns: Vec<Stored<'a>>,
    /// For each partial index, and each row of the batch: `true` if the index has the row.
    pub(super) kept: &'a [Vec<bool>],
}

/// The positions in [`Completed`] of the computed terms and the rows of an index.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IndexPlace {
    /// The index in [`Completed::columns`] of the first computed term of the key. The other computed terms follow it.
    pub(crate) first_term: usize,
    /// The position of the index's rows in [`Completed::kept`]; `None` if the index has all rows.
    pub(crate) kept: Option<usize>,
}

/// Returns the positions of each index in a completed batch, in the order of the table's indexes.
pub(crate) fn index_places(expressions: &Expressions, table: &Table) -> Vec<IndexPlace> {
    let (mut next, mut partial) = (table.columns.len(), 0);
    let places = (0..table.indexes.len()).map(|index| {
        let mut place = IndexPlace { first_term: next, kept: None };
        if let Ok(computed) = expressions.of_index(index) {
            next += computed.terms.len();
            if computed.filter.is_some() {
                place.kept = Some(partial);
                partial += 1;
            }
        }
        place
    });
    places.collect()
}

impl Computed {
    /// Prepares the expressions of a table, for the indexes at `indexes` of [`Table::indexes`]. With `stored`, the rows are in the table
    /// already and have their STORED columns: only VIRTUAL columns that the indexes need are computed.
    pub(super) fn new(
        expressions: &Expressions,
        (table, rules): (&Table, &[ColumnRules]),
        indexes: &[usize],
        (ignores_checks, stored): (bool, bool),
    ) -> Result<Computed> {
        let cannot = |error: rusqlite::Error| failed(error, "prepare the expressions of a table");
        let mut evaluator = expressions
            .evaluator()
            .map_err(|why| Error::target("SQLite cannot evaluate expressions").because(why))?;
        let output = |column, name, affinity| Output {
            column,
            name,
            affinity,
            floats: false,
            cells: Cells::default(),
            scratch: Scratch::default(),
        };
        let mut layers = Vec::new();
        let needed = match stored {
            true => Some(expressions.needed_by(indexes, table, &mut evaluator).map_err(cannot)?),
            false => None,
        };
        let is_computed = |(column, _): &&(usize, String)| {
            needed.as_ref().is_none_or(|needed| {
                needed.contains(column) && rules[*column].generated == Some(Generated::Virtual)
            })
        };
        for layer in expressions.layers() {
            let layer: Vec<&(usize, String)> = layer.iter().filter(is_computed).collect();
            if layer.is_empty() {
                continue;
            }
            let texts: Vec<&String> = layer.iter().map(|(_, expression)| expression).collect();
            let query = evaluator.query(&texts, None).map_err(cannot)?;
            let results = layer.iter().map(|(column, _)| {
                let rules = &rules[*column];
                let is_virtual = rules.generated == Some(Generated::Virtual);
                let floats = is_virtual && rules.affinity == Affinity::Real && rules.strict.is_none();
                let affinity = if floats { Affinity::Blob } else { rules.affinity };
                Output {
                    floats,
                    ..output(*column, format!("column {} of table {}", rules.name, table.name), affinity)
                }
            });
            layers.push(Group { query, results: results.collect(), kept: None });
        }
        let mut checks = Vec::new();
        for group in expressions.checks().into_iter().flatten().filter(|_| !ignores_checks) {
            let broken: Vec<String> = group.iter().map(|check| format!("NOT ({check}\n)")).collect();
            let results: Vec<String> = broken.iter().map(|broken| format!("({broken}) IS TRUE")).collect();
            let query = evaluator.query(&results, Some(&broken.join(" OR "))).map_err(cannot)?;
            let texts =
                group.iter().map(|check| format!("CHECK ({}) of table {}", in_line(check), table.name));
            checks.push(Checks { query, texts: texts.collect() });
        }
        let places = index_places(expressions, table);
        let (mut of_all, mut texts, mut keys) = (Vec::new(), Vec::new(), Vec::new());
        for index in indexes {
            let name = &table.indexes[*index].name;
            let Ok(computed) = expressions.of_index(*index) else { continue };
            let outputs = computed.terms.iter().zip(places[*index].first_term..);
            let outputs = outputs.map(|(_, column)| output(column, format!("index {name}"), Affinity::Blob));
            let terms = computed.terms.iter().cloned();
            match &computed.filter {
                None => {
                    of_all.extend(outputs);
                    texts.extend(terms);
                }
                Some(filter) => keys.push(Group {
                    query: evaluator.query(&terms.collect::<Vec<_>>(), Some(filter)).map_err(cannot)?,
                    results: outputs.collect(),
                    kept: places[*index].kept,
                }),
            }
        }
        if !of_all.is_empty() {
            let query = evaluator.query(&texts, None).map_err(cannot)?;
            keys.insert(0, Group { query, results: of_all, kept: None });
        }
        let is_stored = |column: usize| rules[column].generated == Some(Generated::Stored);
        let computed: Vec<usize> =
            layers.iter().flat_map(|layer| layer.results.iter().map(|output| output.column)).collect();
        let of_columns =
            expressions.layers().iter().flatten().filter(|(column, _)| computed.contains(column));
        let of_indexes = indexes.iter().filter_map(|index| expressions.of_index(*index).ok());
        let declared = Declared {
            generated: of_columns.map(|(column, sql)| (*column, sql.as_str(), is_stored(*column))).collect(),
            checks: match ignores_checks {
                true => Vec::new(),
                false => expressions.checks().into_iter().flatten().flatten().map(String::as_str).collect(),
            },
            indexes: of_indexes.map(|index| (index.terms.as_slice(), index.filter.as_deref())).collect(),
        };
        let columns = (expressions.columns(), table.columns.len());
        let present_time = PresentTime::new(&mut evaluator, columns, &declared).map_err(cannot)?;
        let queries = layers.iter().chain(&keys).map(|group| &group.query);
        let queries = queries.chain(checks.iter().map(|checks| &checks.query));
        let mut named: Vec<usize> = queries.flat_map(|query| query.named().columns.iter().copied()).collect();
        named.sort_unstable();
        named.dedup();
        named.retain(|column| !computed.contains(column));
        let kept = places.iter().filter_map(|place| place.kept).map(|_| Vec::new()).collect();
        let stages = stages(&mut evaluator, &layers, &checks, &keys).ok();
        Ok(Computed {
            evaluator,
            layers,
            checks,
            keys,
            present_time,
            stages,
            at_fault: false,
            named,
            columns: rules.len(),
            rowid_alias: table.rowid_alias,
            affinities: rules.iter().map(|rules| rules.affinity).collect(),
            given: expressions.columns().iter().map(|_| rows::Cells::default()).collect(),
            kept,
            stored,
        })
    }

    /// Completes the columns of a batch. `refused` has the rows that are refused already, in order.
    ///
    /// # Errors
    /// If rows are refused. The error has the rows of `refused`, and rows before these that an expression or a rule of a generated column
    /// refuses: not always all of such rows, but always the first one. Also if SQLite fails for another reason than a row.
    pub(super) fn complete<'a>(
        &'a mut self,
        rules: &[ColumnRules],
        mut stored: Vec<Stored<'a>>,
        rowids: Rowids<'_>,
        rows: usize,
        mut refused: Vec<RefusedRow>,
    ) -> Result<Completed<'a>, Refused> {
        if refused.is_empty() && !self.at_fault {
            self.give(&stored, rowids, rows);
            if self.evaluate_stages(rules, rows) && !self.depends_on_present_time(rows) {
                for Output { column, cells, affinity, scratch, .. } in
                    self.layers.iter_mut().flat_map(|layer| &mut layer.results)
                {
                    stored[*column] = in_table(cells, rows, *affinity, scratch);
                }
                return Ok(Completed { columns: with_terms(&mut self.keys, stored, rows), kept: &self.kept });
            }
        }
        self.at_fault = true;
        let mut sound = refused.iter().map(|refused| refused.row).fold(rows, usize::min);
        self.give(&stored, rowids, sound);
        for group in &mut self.layers {
            evaluate(&self.evaluator, group, &mut self.given, &mut sound, &mut self.kept, &mut refused)?;
            if sound == 0 {
                return Err(in_order(refused));
            }
            let mut list = Vec::new();
            let mut refused_rows = vec![0; sound.div_ceil(64)];
            for Output { column, cells, affinity, scratch, .. } in &mut group.results {
                let cells: &'a Cells = cells;
                let of_column = in_table(cells, sound, *affinity, scratch);
                push_as_read(&of_column, sound, *affinity, &mut self.given[*column]);
                stored[*column] = of_column;
                let mixed = cells.mixed(0, sound);
                let values = cells.column(0, sound, &mixed);
                let mut refusals = Refusals { rows: &mut refused_rows, list: &mut list };
                if !self.stored {
                    rules[*column].check(&of_column, false, *column, &values, sound, &mut refusals);
                }
            }
            sound = list.iter().map(|refused| refused.row).fold(sound, usize::min);
            refused.extend(list);
            if sound == 0 {
                return Err(in_order(refused));
            }
        }
        if let Some(present_time) = &self.present_time {
            let given = Rows::from_cells(sound, std::mem::take(&mut self.given));
            let found = present_time.first_refused(&self.evaluator, &given);
            if let Some((row, message, columns)) = found.map_err(|error| failed(error, EVALUATE))? {
                sound = row;
                let of_table = columns.iter().filter(|column| **column < self.columns);
                let column = of_table.clone().next().copied().unwrap_or(0);
                let values = values_of(rules, of_table, &given, row);
                let what = if self.stored { "index" } else { "store" };
                let error = Error::input(format!("SQLite can't {what} the row: {message}{values}"));
                refused.push(RefusedRow { row, column, error });
            }
            self.given = given.into_cells();
            if sound == 0 {
                return Err(in_order(refused));
            }
        }
        for Checks { query, texts } in &self.checks {
            let given = Rows::from_cells(sound, std::mem::take(&mut self.given));
            let mut broken = None;
            let evaluated = self.evaluator.evaluate(query, &given, |row, results| {
                if broken.is_none() {
                    let breaks = |check: &usize| results.get::<bool>(*check).unwrap_or(false);
                    broken = Some((row, (0..texts.len()).find(breaks).unwrap_or(0)));
                }
                Ok(())
            });
            let column = query.named().columns.first().copied().filter(|column| *column < self.columns);
            let mut refuse =
                |row, error| refused.push(RefusedRow { row, column: column.unwrap_or(0), error });
            if let Err(fault) = evaluated {
                let Some(row) = fault.row else { return Err(failed(fault.error, EVALUATE).into()) };
                sound = sound.min(row);
                refuse(
                    row,
                    Error::input(format!(
                        "{} can't be evaluated: {}",
                        texts[fault.result.unwrap_or(0)],
                        said(fault.error)
                    )),
                );
            }
            if let Some((row, check)) = broken.filter(|(row, _)| *row <= sound) {
                sound = row;
                let named = query.named().columns.iter().filter(|column| **column < self.columns);
                let values = values_of(rules, named, &given, row);
                refuse(row, Error::input(format!("{} fails{values}", texts[check])));
            }
            self.given = given.into_cells();
            if sound == 0 {
                return Err(in_order(refused));
            }
        }
        for group in &mut self.keys {
            evaluate(&self.evaluator, group, &mut self.given, &mut sound, &mut self.kept, &mut refused)?;
            if sound == 0 {
                return Err(in_order(refused));
            }
        }
        if !refused.is_empty() {
            return Err(in_order(refused));
        }
        self.at_fault = false;
        Ok(Completed { columns: with_terms(&mut self.keys, stored, rows), kept: &self.kept })
    }

    /// Returns `true` if SQLite refuses one of the first `rows` rows because of the present time, or can't decide.
    fn depends_on_present_time(&mut self, rows: usize) -> bool {
        let Some(present_time) = &self.present_time else { return false };
        let given = Rows::from_cells(rows, std::mem::take(&mut self.given));
        let found = present_time.first_refused(&self.evaluator, &given);
        self.given = given.into_cells();
        !matches!(found, Ok(None))
    }

    /// Copies the first `rows` values of the columns that expressions name into `given`.
    fn give(&mut self, stored: &[Stored<'_>], rowids: Rowids<'_>, rows: usize) {
        self.given.iter_mut().for_each(rows::Cells::clear);
        for &column in &self.named {
            let cells = &mut self.given[column];
            if column >= self.columns || Some(column) == self.rowid_alias {
                (0..rows).for_each(|row| cells.push(Value::Int(rowids.get(row))));
            } else {
                push_as_read(&stored[column], rows, self.affinities[column], cells);
            }
        }
    }

    /// Evaluates all layers, CHECKs and keys for all rows. Returns `false` if a row is at fault, or if SQLite fails: the results are then
    /// incomplete.
    fn evaluate_stages(&mut self, rules: &[ColumnRules], rows: usize) -> bool {
        let Computed { evaluator, stages, layers, keys, given, kept, stored, .. } = self;
        let Some(stages) = stages else { return false };
        let outputs = layers.iter_mut().chain(&mut *keys).flat_map(|group| &mut group.results);
        outputs.for_each(|output| output.cells.clear());
        for of_filter in kept.iter_mut() {
            of_filter.clear();
            of_filter.resize(rows, false);
        }
        let (mut broken, mut text) = (false, Vec::new());
        for (at, Stage { query, takes, named_later }) in stages.iter().enumerate() {
            let all = Rows::from_cells(rows, std::mem::take(given));
            let evaluated = evaluator.evaluate(query, &all, |row, values| {
                for (result, take) in takes.iter().enumerate() {
                    let value = values.value(result)?;
                    match *take {
                        Take::OfLayer(output) => layers[at].results[output].push(value, &mut text),
                        Take::Key(group, output) => keys[group].results[output].push(value, &mut text),
                        Take::Broken => broken |= value == Value::Int(1),
                        Take::Kept(group) => {
                            if let Some(of_filter) = keys[group].kept {
                                kept[of_filter][row] = value == Value::Int(1);
                            }
                        }
                    }
                }
                Ok(())
            });
            *given = all.into_cells();
            if broken || evaluated.is_err() {
                return false;
            }
            for Output { column, cells, affinity, scratch, .. } in
                layers.get_mut(at).into_iter().flat_map(|layer| &mut layer.results)
            {
                let rules = &rules[*column];
                let is_checked = !*stored && (rules.not_null || rules.strict.is_some());
                let is_named = named_later.contains(column);
                if !is_checked && !is_named {
                    continue;
                }
                let of_column = in_table(cells, rows, *affinity, scratch);
                if is_named {
                    push_as_read(&of_column, rows, *affinity, &mut given[*column]);
                }
                if is_checked && !rules.accepts(&of_column, rows) {
                    return false;
                }
            }
        }
        true
    }
}

/// Combines the layers, CHECKs and keys into stages, and prepares the query of each stage.
///
/// # Errors
/// The error of SQLite.
fn stages(
    evaluator: &mut Evaluator,
    layers: &[Group],
    checks: &[Checks],
    keys: &[Group],
) -> rusqlite::Result<Vec<Stage>> {
    let layer_of = |column: &usize| {
        layers.iter().position(|layer| layer.results.iter().any(|output| output.column == *column))
    };
    // A query belongs to the stage after the last layer that it needs.
    let stage_of = |query: &Query| {
        query.named().columns.iter().filter_map(layer_of).map(|layer| layer + 1).max().unwrap_or(0)
    };
    // An expression may end with a comment, so the parenthesis is on the next line.
    let is_true = |condition: &str| format!("({condition}\n) IS TRUE");
    let mut planned: Vec<Vec<(String, Take)>> = (0..=layers.len()).map(|_| Vec::new()).collect();
    for (layer, planned) in layers.iter().zip(&mut planned) {
        let texts = layer.query.results().iter().cloned();
        planned.extend(texts.enumerate().map(|(output, text)| (text, Take::OfLayer(output))));
    }
    for Checks { query, .. } in checks {
        planned[stage_of(query)].extend(query.filter().map(|broken| (is_true(broken), Take::Broken)));
    }
    for (group, Group { query, .. }) in keys.iter().enumerate() {
        let planned = &mut planned[stage_of(query)];
        planned.extend(query.filter().map(|filter| (is_true(filter), Take::Kept(group))));
        for (output, text) in query.results().iter().enumerate() {
            let text = match query.filter() {
                None => text.clone(),
                Some(filter) => format!("CASE WHEN ({filter}\n) THEN ({text}\n) END"),
            };
            planned.push((text, Take::Key(group, output)));
        }
    }
    let mut stages = Vec::new();
    for planned in planned.into_iter().filter(|planned| !planned.is_empty()) {
        let (texts, takes): (Vec<String>, Vec<Take>) = planned.into_iter().unzip();
        stages.push(Stage { query: evaluator.query(&texts, None)?, takes, named_later: Vec::new() });
    }
    for at in 0..stages.len() {
        let later = stages[at + 1..].iter().flat_map(|stage| stage.query.named().columns.iter().copied());
        stages[at].named_later = later.collect();
    }
    Ok(stages)
}

/// Returns the columns of the table with the computed terms of indexes behind them.
fn with_terms<'a>(keys: &'a mut [Group], mut stored: Vec<Stored<'a>>, rows: usize) -> Vec<Stored<'a>> {
    let mut terms: Vec<&'a mut Output> = keys.iter_mut().flat_map(|group| &mut group.results).collect();
    terms.sort_by_key(|output| output.column);
    for Output { column, cells, affinity, scratch, .. } in terms {
        let cells: &'a Cells = cells;
        // Terms of indexes that SQLite makes are not computed here. Their places are filled with NULL.
        stored.resize(*column, Stored::Null);
        stored.push(in_table(cells, rows, *affinity, scratch));
    }
    stored
}

/// Formats the values of a row in columns of the table, for a message.
fn values_of<'c>(
    rules: &[ColumnRules],
    columns: impl Iterator<Item = &'c usize>,
    given: &Rows<'_>,
    row: usize,
) -> String {
    columns
        .filter_map(|column| Some((&rules[*column].name, given.get(row, *column)?)))
        .map(|(name, value)| format!(", {name} = {}", describe(&value)))
        .collect()
}

/// Returns the refusal of these rows, in order and without repetitions.
fn in_order(mut refused: Vec<RefusedRow>) -> Refused {
    refused.sort_by_key(|refused| (refused.row, refused.column));
    refused.dedup_by_key(|refused| refused.row);
    Refused::Rows(refused)
}

/// Evaluates expressions for the first `sound` rows. A row that can't be evaluated is refused, and the rows before it stay sound.
///
/// # Errors
/// If SQLite fails for another reason than a row.
fn evaluate(
    evaluator: &Evaluator,
    Group { query, results, kept }: &mut Group,
    given: &mut Vec<rows::Cells>,
    sound: &mut usize,
    all_kept: &mut [Vec<bool>],
    refused: &mut Vec<RefusedRow>,
) -> Result<()> {
    let all = Rows::from_cells(*sound, std::mem::take(given));
    results.iter_mut().for_each(|output| output.cells.clear());
    let mut of_filter = kept.map(|kept| &mut all_kept[kept]);
    if let Some(of_filter) = &mut of_filter {
        of_filter.clear();
        of_filter.resize(*sound, false);
    }
    let mut text = Vec::new();
    let evaluated = evaluator.evaluate(query, &all, |row, values| {
        if let Some(of_filter) = &mut of_filter {
            of_filter[row] = true;
        }
        for (at, output) in results.iter_mut().enumerate() {
            output.cells.pad_with_nulls(row);
            output.push(values.value(at)?, &mut text);
        }
        Ok(())
    });
    if let Err(fault) = evaluated {
        let Some(row) = fault.row else { return Err(failed(fault.error, EVALUATE)) };
        *sound = row;
        let result = fault.result.and_then(|result| results.get(result)).or(results.first());
        let (column, what) = result.map_or((0, "an expression"), |output| (output.column, &*output.name));
        let error = Error::input(format!("{what} can't be computed: {}", said(fault.error)));
        refused.push(RefusedRow { row, column, error });
    }
    results.iter_mut().for_each(|output| output.cells.pad_with_nulls(*sound));
    *given = all.into_cells();
    Ok(())
}

/// Applies the affinity of a REAL column, and returns whole numbers as floats. `text` is a buffer.
fn as_float<'v>(value: Value<'v>, text: &'v mut Vec<u8>) -> Value<'v> {
    match affinity::apply(value, Affinity::Real, text) {
        Value::Int(int) => Value::Real(int as f64),
        value => value,
    }
}

/// Returns the stored form of the computed values of a column with this affinity.
fn in_table<'a>(cells: &'a Cells, rows: usize, affinity: Affinity, scratch: &'a mut Scratch) -> Stored<'a> {
    let lost = Cell::new(false);
    let mixed = cells.mixed(0, rows);
    match mixed.is_empty() {
        true => Stored::new(&cells.column(0, rows, &[]), rows, affinity, scratch, &lost),
        false => scratch.mixed(&batch::Column::new(Values::Any(&mixed)), rows, affinity, &lost),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use proptest::prelude::*;
    use sqluice_core::batch::Column;
    use sqluice_core::schema::Schema;

    use super::*;

    /// A table with CHECKs, and with generated columns that depend on each other: `c` on `a`, `d` on `c`, and `e` on `d`. It has indexes on
    /// several of these columns.
    const TABLE: &str = "CREATE TABLE t (a INTEGER, b TEXT COLLATE NOCASE CHECK (b <> 'x'),
          c REAL AS (a * 2) STORED, d TEXT AS (c || b) NOT NULL, e AS (d || a) STORED, CHECK (a < 90), CHECK (c IS NOT 80));
        CREATE INDEX by_a ON t (a % 7, lower(b)) WHERE a > 3;
        CREATE INDEX by_d ON t (lower(d)) WHERE e > '2';
        CREATE INDEX by_b ON t (b) WHERE b LIKE 'A%' -- of the table alone
        ;
        CREATE INDEX by_c ON t (c + 1)";

    /// Returns the columns of the table and the keys of its indexes, or the rows that are refused, with the errors, in words.
    fn completed(computed: &mut Computed, rules: &[ColumnRules], ints: &Cells, texts: &Cells) -> String {
        let lost = Cell::new(false);
        let rows = ints.rows();
        let mut scratch: Vec<Scratch> = rules.iter().map(|_| Scratch::default()).collect();
        let (mixed_ints, mixed_texts) = (ints.mixed(0, rows), texts.mixed(0, rows));
        let given = [ints.column(0, rows, &mixed_ints), texts.column(0, rows, &mixed_texts)];
        let columns = scratch.iter_mut().zip(rules).enumerate();
        let stored = columns.map(|(at, (scratch, rules))| match given.get(at) {
            Some(column) => Stored::new(column, rows, rules.affinity, scratch, &lost),
            None => Stored::new(&Column::NULL, rows, rules.affinity, scratch, &lost),
        });
        match computed.complete(rules, stored.collect(), Rowids::From(7), rows, Vec::new()) {
            Ok(Completed { columns, kept }) => {
                let of_row = |row: usize| {
                    let value = |column: &Stored<'_>| {
                        format!("{} {:?}", column.serial(row), column.content(row, &mut [0; 8]))
                    };
                    columns.iter().map(value).collect::<Vec<_>>()
                };
                format!("{:?} {kept:?}", (0..rows).map(of_row).collect::<Vec<_>>())
            }
            Err(Refused::Rows(refused)) => {
                let refused =
                    refused.iter().map(|refused| (refused.row, refused.column, refused.error.to_string()));
                format!("{:?}", refused.collect::<Vec<_>>())
            }
            Err(Refused::Stop { error, .. }) => error.to_string(),
        }
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(128))]

        #[test]
        fn computing_columns_in_stages_gives_the_same_values_and_refusals_as_one_by_one(
            batches in prop::collection::vec(
                prop::collection::vec((prop::option::weighted(0.99, 0..91i64), "[ABx]{1,2}|10"), 1..40),
                1..4,
            ),
        ) {
            let schema = Schema::parse(TABLE.to_owned(), Path::new("t.sql")).unwrap();
            let table = &schema.tables[0];
            let rules = ColumnRules::of(table);
            let expressions = Expressions::of(table).unwrap();
            let indexes: Vec<usize> = (0..table.indexes.len()).collect();
            let new = || Computed::new(&expressions, (table, &rules), &indexes, (false, false)).unwrap();
            let (mut by_stages, mut by_steps) = (new(), new());
            // Each of the generated columns c, d and e depends on the column before it, so each has its own stage. The fourth stage has the
            // keys of `by_d`, whose WHERE names e.
            prop_assert_eq!(by_stages.stages.as_ref().map(Vec::len), Some(4));
            for batch in &batches {
                let (mut ints, mut texts) = (Cells::default(), Cells::default());
                for (int, text) in batch {
                    ints.push_value(int.map_or(Value::Null, Value::Int));
                    texts.push_text(text);
                }
                by_steps.at_fault = true;
                let wanted = completed(&mut by_steps, &rules, &ints, &texts);
                prop_assert_eq!(completed(&mut by_stages, &rules, &ints, &texts), wanted);
            }
        }
    }
}
