//! The rows that a table can have, as far as serial types show.

use sqluice_format::check::spec::{Field, Table};
use sqluice_format::salvage::Shape;
use sqluice_format::value::{Class, SerialType};

/// Returns `true` if a row with these serial types can be a row of the table. `may_be_short` accepts rows with fewer fields, which are
/// older than the last columns.
pub fn fits(table: &Table, types: &[u64], may_be_short: bool) -> bool {
    let fields = table.fields.len();
    if types.len() > fields || types.is_empty() != (fields == 0) || !may_be_short && types.len() < fields {
        return false;
    }
    table.fields.iter().zip(types).enumerate().all(|(at, (field, serial))| {
        // The rowid stands elsewhere.
        let is_rowid = table.rowid_field == Some(at);
        SerialType(*serial).class().is_some_and(|class| match is_rowid {
            true => class == Class::Null,
            false => takes(field, class),
        })
    })
}

/// Returns `true` if each row of a leaf with this shape can be a row of the table.
pub fn all_fit(table: &Table, shape: &Shape) -> bool {
    let fields = table.fields.len();
    let has_fields = shape.classes.len() <= fields && (shape.fewest == 0) == (fields == 0);
    has_fields
        && table.fields.iter().zip(&shape.classes).enumerate().all(|(at, (field, classes))| {
            let allowed = match table.rowid_field == Some(at) {
                true => Shape::bit(Class::Null),
                false => allowed(field),
            };
            classes & !allowed == 0
        })
}

/// Returns `true` if the rows of a leaf with this shape, which all can be rows of the table, have all fields, and values that the table
/// takes as they are: no texts in columns that store texts of numbers as numbers, and no floats, which may be NaN, in NOT NULL columns.
pub fn is_verbatim(table: &Table, shape: &Shape) -> bool {
    let has = |classes: u8, class| classes & Shape::bit(class) != 0;
    shape.fewest == table.fields.len()
        && table.fields.iter().zip(&shape.classes).all(|(field, &classes)| {
            (field.takes.numeric_text || !has(classes, Class::Text))
                && (field.takes.null || !has(classes, Class::Real))
        })
}

const CLASSES: [Class; 5] = [Class::Null, Class::Int, Class::Real, Class::Text, Class::Blob];

/// Returns the bits of the storage classes that a field takes.
fn allowed(field: &Field) -> u8 {
    CLASSES.iter().filter(|class| takes(field, **class)).fold(0, |bits, class| bits | Shape::bit(*class))
}

fn takes(field: &Field, class: Class) -> bool {
    match class {
        Class::Null => field.takes.null,
        Class::Int => field.takes.int,
        Class::Real => field.takes.real,
        Class::Text => field.takes.text,
        Class::Blob => field.takes.blob,
    }
}

/// The storage classes of the values in the fields of rows, without NULL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classes(Vec<u8>);

impl Classes {
    /// Adds a row with these serial types.
    pub fn add(&mut self, types: &[u64]) {
        self.0.resize(self.0.len().max(types.len()), 0);
        for (classes, serial) in self.0.iter_mut().zip(types) {
            let class = SerialType(*serial).class().filter(|class| *class != Class::Null);
            *classes |= class.map_or(0, Shape::bit);
        }
    }

    /// Adds the classes of other rows.
    pub fn add_all(&mut self, other: &Classes) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(classes, other)| *classes |= other);
    }

    /// Returns `true` if no row was added.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns `true` if other rows have a value of a class that no value of its field has here. Returns `false` if no row was added here.
    pub fn lack_some_of(&self, other: &Classes) -> bool {
        let of = |at: usize| self.0.get(at).copied().unwrap_or(0);
        !self.0.is_empty() && other.0.iter().enumerate().any(|(at, classes)| classes & !of(at) != 0)
    }
}

/// The kinds of values in the fields of rows, which group rows of unknown tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kinds(Vec<u8>);

/// The kinds of values, as bits.
const NUMBER: u8 = 1;
const TEXT: u8 = 2;
const BLOB: u8 = 4;

impl Kinds {
    /// Adds a row with these serial types.
    pub fn add(&mut self, types: &[u64]) {
        self.0.resize(self.0.len().max(types.len()), 0);
        for (kinds, serial) in self.0.iter_mut().zip(types) {
            *kinds |= match SerialType(*serial).class() {
                Some(Class::Int | Class::Real) => NUMBER,
                Some(Class::Text) => TEXT,
                Some(Class::Blob) => BLOB,
                _ => 0,
            };
        }
    }

    /// Returns the number of fields.
    pub fn fields(&self) -> usize {
        self.0.len()
    }

    /// Returns `true` if rows of both can be of one table: as many fields, and no field with other kinds of values.
    pub fn is_like(&self, other: &Kinds) -> bool {
        self.0.len() == other.0.len()
            && self.0.iter().zip(&other.0).all(|(one, other)| *one == 0 || *other == 0 || one == other)
    }

    /// Adds the kinds of other rows.
    pub fn add_all(&mut self, other: &Kinds) {
        self.0.resize(self.0.len().max(other.0.len()), 0);
        self.0.iter_mut().zip(&other.0).for_each(|(kinds, other)| *kinds |= other);
    }
}
