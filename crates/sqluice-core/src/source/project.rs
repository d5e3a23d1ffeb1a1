//! A source that passes on only some columns of another source.

use super::around::decoded_by;
use super::kept::Kept;
use super::{BadRow, BadText, Part, Refused, Sink, Source};
use crate::batch::Batch;
use crate::error::Result;
use crate::progress::Amount;

/// A source with some of its columns.
pub struct Project<'a> {
    source: Box<dyn Source + 'a>,
    /// The columns that are kept, in ascending order.
    columns: Vec<usize>,
}

impl<'a> Project<'a> {
    /// Creates a source that keeps the columns with these indexes, which are in ascending order.
    pub fn new(source: Box<dyn Source + 'a>, columns: Vec<usize>) -> Project<'a> {
        Project { source, columns }
    }
}

impl Source for Project<'_> {
    fn next_part(&mut self) -> Result<Option<Box<dyn Part>>> {
        let Some(part) = self.source.next_part()? else { return Ok(None) };
        let columns = self.columns.clone();
        Ok(Some(decoded_by(part, move |part, sink| {
            part.decode(&mut ProjectSink { sink, columns: &columns })
        })))
    }

    fn total(&self) -> Option<Amount> {
        self.source.total()
    }
}

struct ProjectSink<'s> {
    sink: &'s mut dyn Sink,
    columns: &'s [usize],
}

impl ProjectSink<'_> {
    fn projected<'a>(&self, batch: &Batch<'a>) -> Batch<'a> {
        Batch {
            rows: batch.rows,
            columns: self.columns.iter().map(|&column| batch.columns[column]).collect(),
        }
    }

    /// Translates the columns of a refusal to columns of the source.
    fn of_source(&self, refused: Result<(), Refused>) -> Result<(), Refused> {
        refused.map_err(|mut refused| {
            match &mut refused {
                Refused::Rows(rows) => rows.iter_mut().for_each(|row| row.column = self.columns[row.column]),
                Refused::Stop { at: Some((_, column)), .. } => *column = self.columns[*column],
                Refused::Stop { at: None, .. } => {}
            }
            refused
        })
    }
}

impl Sink for ProjectSink<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let refused = self.sink.rows(&self.projected(batch));
        self.of_source(refused)
    }

    fn kept_rows(&mut self, batch: &Batch<'_>, kept: &Kept<'_>) -> Result<(), Refused> {
        let refused = self.sink.kept_rows(&self.projected(batch), kept);
        self.of_source(refused)
    }

    fn bad_row(&mut self, bad: BadRow) -> Result<()> {
        self.sink.bad_row(bad)
    }

    /// Decides about a text in a column of the source. Texts of columns that are left out never reach the sink, so they are just replaced.
    fn bad_text(&mut self, column: usize) -> BadText {
        let wanted = self.columns.iter().position(|&wanted| wanted == column);
        wanted.map_or(BadText::Replace, |wanted| self.sink.bad_text(wanted))
    }
}
