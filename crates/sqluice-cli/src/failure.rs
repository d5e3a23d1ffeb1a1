//! An error as JSON, which `--json` prints in place of the report: `{"error": {...}}`.

use std::path::Path;

use serde::Serialize;
use sqluice::error::{Error, ErrorKind};

use crate::terms;

/// The printed JSON object.
#[derive(Debug, Serialize)]
pub(crate) struct Failure {
    error: Fault,
}

/// An error. Unknown fields are null, except that `sheet` is left out.
#[derive(Debug, Default, Serialize)]
struct Fault {
    /// `input`, `target`, `usage` or `interrupted`.
    kind: &'static str,
    /// The message, without the place.
    message: String,
    /// The causes, the nearest cause first.
    causes: Vec<String>,
    /// The hint for the user.
    hint: Option<String>,
    /// The file or folder that the error is about.
    path: Option<String>,
    /// The input file that was read.
    file: Option<String>,
    /// The sheet of a spreadsheet.
    #[serde(skip_serializing_if = "Option::is_none")]
    sheet: Option<String>,
    /// The line in the input file, or the row of the sheet, counted from 1.
    line: Option<u64>,
    /// The character in the line, or the column of the sheet, counted from 1.
    column: Option<u64>,
    /// The byte in the file, counted from 0.
    byte: Option<u64>,
    /// The table of the record.
    table: Option<String>,
    /// The record's number in the table's source, counted from 1.
    row: Option<u64>,
    /// The errors that this error summarizes.
    parts: Vec<Fault>,
}

impl Failure {
    /// Creates the failure of a command.
    pub(crate) fn new(error: &anyhow::Error) -> Failure {
        let fault = match error.downcast_ref::<Error>() {
            // The engine's error has all fields. If `anyhow` has added a context, that is the message.
            Some(engine) => Fault::of_engine(engine),
            None => Fault { kind: ErrorKind::Target.name(), ..Fault::default() },
        };
        let mut chain = error.chain().map(terms::error);
        let first = chain.next().unwrap_or_default();
        let message = if fault.message.is_empty() { first } else { fault.message };
        Failure { error: Fault { message, causes: chain.collect(), ..fault } }
    }

    /// Creates the failure of arguments that can't be parsed.
    pub(crate) fn of_arguments(error: &clap::Error) -> Failure {
        let text = error.render().to_string();
        let mut paragraphs = text.split("\n\n").map(str::trim);
        let message = paragraphs.next().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
        let hint = paragraphs.find_map(|paragraph| paragraph.strip_prefix("tip: ")).map(str::to_owned);
        Failure { error: Fault { kind: ErrorKind::Usage.name(), message, hint, ..Fault::default() } }
    }
}

impl Fault {
    fn of_engine(error: &Error) -> Fault {
        let shown = |path: &Path| path.display().to_string();
        let place = error.place();
        let record = error.record();
        Fault {
            kind: error.kind().name(),
            message: terms::rendered(error.what()),
            causes: Vec::new(),
            hint: terms::hint(error),
            path: error.path().map(shown),
            file: place.map(|place| shown(&place.file)),
            sheet: place.and_then(|place| place.sheet.clone()),
            line: place.and_then(|place| place.line),
            column: place.and_then(|place| place.column),
            byte: place.and_then(|place| place.byte),
            table: record.map(|(table, _)| table.to_owned()),
            row: record.map(|(_, row)| row),
            parts: error.parts().iter().map(Fault::of_part).collect(),
        }
    }

    fn of_part(error: &Error) -> Fault {
        let causes = std::iter::successors(std::error::Error::source(error), |cause| cause.source());
        Fault { causes: causes.map(terms::error).collect(), ..Fault::of_engine(error) }
    }
}
