//! The columns of files, before and after the expressions of their table.
//!
//! ```text
//!          columns of the file    inputs of the expressions    columns after --exclude-columns age --rename id=person_id
//!  a.csv   id, email              id, email, NULL for age      person_id, email
//!  b.csv   id, age                id, NULL for email, age      person_id, email
//! ```
//!
//! The inputs are the columns of all files of the table.

use std::sync::Arc;

use sqluice_core::batch::{Batch, describe};
use sqluice_core::error::{Error, Place, Result};
use sqluice_core::source::columns::ColumnFrom;
use sqluice_core::source::{BadRow, Refused, Sink, Source};
use sqluice_sources::infer::{Evidence, Kinds, Watch};

use super::checked::{Checked, Origin};
use super::inputs::UsedInput;
use super::source::Program;
use crate::load::request::Request;

/// The columns of a file before the expressions, and the fields that the expressions make of them.
pub(crate) struct FileInputs {
    /// The names of the file's columns, as the table would have them without expressions.
    pub(crate) names: Vec<String>,
    pub(crate) places: Option<Vec<Place>>,
    pub(crate) evidence: Vec<Evidence>,
    pub(crate) kinds: Vec<Kinds>,
    pub(crate) types: Vec<Option<&'static str>>,
    pub(crate) moments: Vec<bool>,
    /// The fields that are loaded, in their order.
    pub(crate) selected: Vec<usize>,
    /// The origin of each field after the expressions: a field of the file, or an expression.
    pub(crate) origins: Vec<Origin>,
    /// The field or the constant that fills each used input: NULL if the file lacks it.
    pub(crate) used: Vec<ColumnFrom>,
    /// The name of the file; `None` for a pipe.
    pub(crate) source_file: Option<String>,
    /// The expressions with the types of the inputs; `None` until they are known.
    pub(crate) program: Option<Arc<Program>>,
    /// For each used input: `true` if it has TEXT affinity, and `true` if it is declared as BLOB.
    pub(crate) classes: Vec<(bool, bool)>,
    /// Watches the values of the used inputs during an attempt: a value that needs another type ends the attempt.
    pub(crate) watch: Option<Watch>,
}

impl FileInputs {
    /// Returns the file's own field that becomes field `field` after the expressions, unchanged; `None` if an expression computes this
    /// field.
    pub(crate) fn field_of(&self, field: usize) -> Option<usize> {
        match self.origins.get(field)? {
            Origin::Input(input) => Some(*input),
            Origin::Result(_) => None,
        }
    }

    /// Returns the names of the columns that are loaded, in their order.
    pub(crate) fn selected_names(&self) -> impl Iterator<Item = &String> {
        self.selected.iter().map(|field| &self.names[*field])
    }

    /// Returns the index in `names` of the loaded field with this name; `None` if no loaded field has it.
    pub(crate) fn field_named(&self, name: &str) -> Option<usize> {
        self.selected.iter().copied().find(|field| self.names[*field].eq_ignore_ascii_case(name))
    }
}

/// The expressions of a table, and the types of the columns that they use.
pub(crate) struct TableExpressions {
    pub(crate) checked: Arc<Checked>,
    pub(crate) inputs: Vec<UsedInput>,
    pub(crate) program: Arc<Program>,
    /// `true` if all values of the used inputs were read.
    pub(crate) settled: bool,
    /// The watch of the last attempt, which knows if a value needed another type.
    pub(crate) watch: Option<Watch>,
    /// Texts for the plan that show the first rows of the first file before and after the expressions.
    pub(crate) first_rows: Vec<String>,
}

impl TableExpressions {
    /// Creates the expressions of a table. `inputs` has the used inputs, in order, with the types that their values have shown so far.
    pub(crate) fn new(checked: Arc<Checked>, inputs: Vec<UsedInput>, load: &Request) -> TableExpressions {
        let program = program(&checked, &inputs, load);
        TableExpressions { checked, inputs, program, settled: false, watch: None, first_rows: Vec::new() }
    }

    /// Builds the program again, after the types of the used inputs have changed.
    pub(crate) fn retype(&mut self, load: &Request) {
        self.program = program(&self.checked, &self.inputs, load);
    }

    /// Returns `true` if values that were not read yet may change the type of a used input.
    pub(crate) fn is_in_doubt(&self) -> bool {
        !self.settled && self.inputs.iter().any(UsedInput::is_in_doubt)
    }

    /// Returns `true` if a record has shown that the type of a used input is wrong.
    pub(crate) fn is_broken(&self) -> bool {
        self.watch.as_ref().is_some_and(Watch::broken)
    }
}

fn program(checked: &Arc<Checked>, inputs: &[UsedInput], load: &Request) -> Arc<Program> {
    let affinities = inputs.iter().map(|input| input.affinity(load)).collect();
    Arc::new(Program::new(Arc::clone(checked), affinities))
}

/// The number of rows that a plan shows before and after the expressions.
pub(crate) const FIRST_ROWS: usize = 3;

/// A sink that takes the first rows, and puts them into words: `id=1, name='Ann'`.
pub(crate) struct FirstRows<'n> {
    pub(crate) names: &'n [String],
    pub(crate) rows: Vec<String>,
}

impl Sink for FirstRows<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> std::result::Result<(), Refused> {
        for row in 0..batch.rows {
            let values = self.names.iter().zip(&batch.columns);
            let values = values.map(|(name, column)| format!("{name}={}", describe(&column.get(row))));
            self.rows.push(values.collect::<Vec<_>>().join(", "));
            if self.rows.len() == FIRST_ROWS {
                return Err(Error::interrupted().into());
            }
        }
        Ok(())
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        Ok(())
    }
}

impl FirstRows<'_> {
    /// Returns the first rows of a source as texts, such as `id=1, name='Ann'`.
    pub(crate) fn of(names: &[String], source: &mut dyn Source) -> Vec<String> {
        let mut first = FirstRows { names, rows: Vec::new() };
        while first.rows.len() < FIRST_ROWS
            && let Ok(Some(mut part)) = source.next_part()
        {
            // The load itself reports the error when it reads this part, so the error is ignored here.
            if part.decode(&mut first).is_err() {
                break;
            }
        }
        first.rows
    }
}
