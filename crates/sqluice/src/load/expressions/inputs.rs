//! Determines the types of the columns that expressions use.
//!
//! A comparison such as `price > 9` depends on the type of the column, so a wrong guess about it would give wrong results, and not only
//! take time. The types follow from all records, like those of the table's columns:
//!
//! ```text
//!  the sample shows           later records             the load
//!  INTEGER                    a value such as 1.5       begins again with REAL
//!  INTEGER or REAL            a text                    ends with an error that names the value
//!  TEXT, 90% are numbers                                ends with an error that names the first other value
//! ```

use sqluice_core::affinity::Affinity;
use sqluice_core::batch::{Batch, Value, describe};
use sqluice_core::error::{Error, Place, Result, Setting, message};
use sqluice_core::source::{BadRow, Refused, Sink, Source};
use sqluice_sources::infer::{Evidence, Inferred, Kinds, Watched};

use crate::load::request::Request;

/// A column of the file that expressions use.
#[derive(Clone, Debug)]
pub(crate) struct UsedInput {
    pub(crate) name: String,
    /// The declared type; `None` if the type follows from the values.
    pub(crate) declared: Option<String>,
    /// `true` if a conversion makes numbers of the text.
    pub(crate) is_number: bool,
    pub(crate) evidence: Evidence,
    /// The kinds of the values of the samples.
    pub(crate) kinds: Kinds,
}

impl UsedInput {
    /// Returns the type that the values show so far.
    pub(crate) fn inferred(&self) -> Inferred {
        if self.is_number { self.evidence.conclude_number() } else { self.evidence.conclude() }
    }

    fn declared_type(&self) -> &str {
        self.declared.as_deref().unwrap_or(self.inferred().name())
    }

    /// Returns the affinity by which the values are converted and compared.
    pub(crate) fn affinity(&self, load: &Request) -> Affinity {
        match self.declared_type() {
            declared if load.strict && declared.eq_ignore_ascii_case("ANY") => Affinity::Blob,
            declared => Affinity::of_declared_type(declared),
        }
    }

    /// Returns `true` if the declared type, or the type of the values, is BLOB.
    pub(crate) fn is_blob(&self) -> bool {
        self.declared_type().to_ascii_uppercase().contains("BLOB")
    }

    /// Returns `true` if the column has TEXT affinity. A column that is TEXT only because it has no value yet does not count.
    pub(crate) fn is_text(&self, load: &Request) -> bool {
        self.affinity(load) == Affinity::Text && (self.declared.is_some() || self.evidence.is_final())
    }

    /// Returns `true` if values that were not read yet may still change the type.
    pub(crate) fn is_in_doubt(&self) -> bool {
        self.declared.is_none() && !self.evidence.is_final()
    }

    /// Returns `true` if the values make the column TEXT although at least 90% of them are numbers or NULL markers. `false` if the type is
    /// declared, or the file has types for its values.
    pub(crate) fn is_nearly_numbers(&self) -> bool {
        let Kinds { numbers, given_up, .. } = self.kinds;
        let (values, nulls) = (self.kinds.values(), self.kinds.nulls());
        let is_text = self.declared.is_none() && !self.is_number && self.inferred() == Inferred::Text;
        is_text
            && !self.kinds.typed
            && !given_up
            && numbers > 0
            && (numbers + nulls) * 10 >= (values + nulls) * 9
    }

    /// Returns the instructions to watch the type of this input. Its values are in the column `column` of the batches.
    pub(crate) fn watched(&self, column: usize) -> Watched {
        let (guess, evidence, is_number) = (self.inferred(), self.evidence, self.is_number);
        Watched { column, guess, evidence, is_number, is_result: false, counting: None }
    }

    /// Returns the error that names `found`, the value because of which the column is TEXT. `first` is the type that the values at the
    /// beginning of the input have shown, if the load has taken it for the type of the whole column.
    pub(crate) fn misfit(&self, found: Option<(String, Option<Place>)>, first: Option<Inferred>) -> Error {
        let (value, place) = found.unwrap_or_default();
        let value = if value.is_empty() { String::new() } else { format!(" because of {value}") };
        let numbers = match first {
            Some(first) => format!("its first values are {}", first.name()),
            None => "nearly all of its values are numbers".to_owned(),
        };
        let what = format!(
            "expressions use column {}, which is TEXT{value}, although {numbers}: its values would be compared as text, not as numbers",
            self.name
        );
        let error = Error::input(what).hint(message![
            Setting::Null.to("TOKEN"),
            " reads that text as NULL, ",
            Setting::Type.to(format!("{}=REAL", self.name)),
            " compares numbers as numbers and other text as text, ",
            Setting::Type.to(format!("{}=TEXT", self.name)),
            " compares all values as text"
        ]);
        match place {
            Some(place) => error.at(place),
            None => error,
        }
    }
}

/// Finds the first value that makes a column TEXT. The column is in `column` of the batches of `source`. Returns the value, and its place
/// if the source knows it; `None` if no value does, or the source can't be read up to it.
pub(crate) fn first_text(source: &mut dyn Source, column: usize) -> Option<(String, Option<Place>)> {
    let mut finder = TextFinder { column, evidence: Evidence::new(), typed: false, found: None };
    while let Ok(Some(mut part)) = source.next_part() {
        finder.typed = part.is_typed();
        if let Err(error) = part.decode(&mut finder) {
            let place = error.place().cloned();
            return finder.found.map(|value| (value, place));
        }
    }
    None
}

/// A sink that refuses the first value after which the column can only be TEXT.
struct TextFinder {
    column: usize,
    evidence: Evidence,
    typed: bool,
    found: Option<String>,
}

impl Sink for TextFinder {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        for row in 0..batch.rows {
            let value = batch.columns[self.column].get(row);
            self.evidence.add_value(value, self.typed);
            if self.evidence.is_final() && !matches!(value, Value::Null) {
                self.found = Some(describe(&value));
                return Err(Refused::Stop { at: Some((row, self.column)), error: Error::input("") });
            }
        }
        Ok(())
    }

    fn bad_row(&mut self, _: BadRow) -> Result<()> {
        Ok(())
    }
}
