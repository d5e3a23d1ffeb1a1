//! Converts a struct to a row: each field is a value of the column with its name.

use std::fmt::{self, Display};

use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};
use sqluice_core::source::cells::{Cells, Seen};

use super::cell::{Fault, append};

/// Converted rows, column by column.
#[derive(Debug)]
pub(super) struct Columns {
    names: Vec<String>,
    cells: Vec<Cells>,
    rows: usize,
    /// The column that probably gets the next field: the one after the column of the last field.
    next: usize,
    /// `true` if a field without a column adds a column.
    grows: bool,
    json: Vec<u8>,
}

/// The reason why a row can't be stored.
#[derive(Debug)]
pub(super) struct RowFault {
    /// The field with the error, if known.
    pub(super) field: Option<String>,
    pub(super) why: String,
}

impl RowFault {
    fn of_row(why: impl Into<String>) -> RowFault {
        RowFault { field: None, why: why.into() }
    }

    fn of_field(field: &str) -> impl FnOnce(Fault) -> RowFault {
        |fault| RowFault { field: Some(field.to_owned()), why: fault.to_string() }
    }
}

impl Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for RowFault {}

impl serde::ser::Error for RowFault {
    fn custom<T: Display>(message: T) -> RowFault {
        RowFault::of_row(message.to_string())
    }
}

impl Columns {
    /// Creates columns with these names.
    pub(super) fn new(names: &[String]) -> Columns {
        Columns {
            names: names.to_vec(),
            cells: names.iter().map(|_| Cells::default()).collect(),
            rows: 0,
            next: 0,
            grows: false,
            json: Vec::new(),
        }
    }

    /// Creates columns with these names. A field of a row that has no column adds one.
    pub(super) fn growing(names: &[String]) -> Columns {
        Columns { grows: true, ..Columns::new(names) }
    }

    /// Appends a row. If the row can't be stored, it is not counted, and no other row may be appended.
    pub(super) fn push<T: Serialize + ?Sized>(&mut self, row: &T) -> Result<(), RowFault> {
        self.next = 0;
        row.serialize(Row(self))?;
        self.rows += 1;
        // Missing fields are NULL.
        for cells in self.cells.iter_mut().filter(|cells| cells.rows() < self.rows) {
            cells.push_null();
        }
        Ok(())
    }

    /// Removes all rows and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.rows = 0;
        self.cells.iter_mut().for_each(Cells::clear);
    }

    /// Adds columns of NULL until the columns are `names`.
    pub(super) fn widen(&mut self, names: &[String]) {
        for name in &names[self.names.len()..] {
            self.names.push(name.clone());
            self.cells.push(nulls(self.rows));
        }
        self.grows = false;
    }

    /// Returns the names of the columns.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the values, column by column. If the last row can't be stored, a column may have an additional value of this row.
    pub(super) fn cells(&self) -> &[Cells] {
        &self.cells
    }

    /// Returns the kinds of the values of each column.
    pub(super) fn kinds(&self) -> Vec<Seen> {
        self.cells.iter().map(Cells::seen).collect()
    }

    /// Returns the number of bytes of text and blobs.
    pub(super) fn data_bytes(&self) -> usize {
        self.cells.iter().map(Cells::data_bytes).sum()
    }

    /// Returns the column with this name.
    #[inline]
    fn column(&mut self, name: &str) -> Result<usize, Fault> {
        if self.names.get(self.next).is_some_and(|next| next == name) {
            return Ok(self.next);
        }
        if let Some(column) = self.names.iter().position(|other| other == name) {
            return Ok(column);
        }
        if !self.grows {
            return Err(Fault::Bad(
                "the first rows, which determine the columns, do not have this field".to_owned(),
            ));
        }
        self.names.push(name.to_owned());
        self.cells.push(nulls(self.rows));
        Ok(self.names.len() - 1)
    }

    #[inline]
    fn field<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Fault> {
        let column = self.column(name)?;
        self.append(column, value)
    }

    #[inline]
    fn append<T: Serialize + ?Sized>(&mut self, column: usize, value: &T) -> Result<(), Fault> {
        let cells = &mut self.cells[column];
        if cells.rows() > self.rows {
            return Err(Fault::Bad("the row has two fields with this name".to_owned()));
        }
        self.next = column + 1;
        append(value, cells, &mut self.json)
    }
}

fn nulls(rows: usize) -> Cells {
    let mut cells = Cells::default();
    (0..rows).for_each(|_| cells.push_null());
    cells
}

/// A serializer that appends a row to columns.
struct Row<'c>(&'c mut Columns);

impl<'c> Row<'c> {
    fn refuse<T>(what: &str) -> Result<T, RowFault> {
        Err(RowFault::of_row(format!(
            "{what} is not a row: a row is a struct, a tuple, or a map from names to values"
        )))
    }

    fn by_position(self) -> Result<ByPosition<'c>, RowFault> {
        if self.0.grows && self.0.names.is_empty() {
            return Err(RowFault::of_row(
                "the row has no field names: give the names of the columns with `columns`",
            ));
        }
        Ok(ByPosition { columns: self.0, position: 0 })
    }
}

/// Defines methods that refuse values that are not rows.
macro_rules! no_rows {
    ($($method:ident($($of:ty),*) $what:literal;)*) => {$(
        fn $method(self, $(_: $of),*) -> Result<(), RowFault> {
            Row::refuse($what)
        }
    )*};
}

impl<'c> Serializer for Row<'c> {
    type Ok = ();
    type Error = RowFault;
    type SerializeSeq = ByPosition<'c>;
    type SerializeTuple = ByPosition<'c>;
    type SerializeTupleStruct = ByPosition<'c>;
    type SerializeTupleVariant = Impossible<(), RowFault>;
    type SerializeMap = ByKey<'c>;
    type SerializeStruct = Row<'c>;
    type SerializeStructVariant = Impossible<(), RowFault>;

    no_rows! {
        serialize_bool(bool) "a bool";
        serialize_i8(i8) "an integer";
        serialize_i16(i16) "an integer";
        serialize_i32(i32) "an integer";
        serialize_i64(i64) "an integer";
        serialize_u8(u8) "an integer";
        serialize_u16(u16) "an integer";
        serialize_u32(u32) "an integer";
        serialize_u64(u64) "an integer";
        serialize_f32(f32) "a float";
        serialize_f64(f64) "a float";
        serialize_char(char) "a char";
        serialize_str(&str) "a string";
        serialize_bytes(&[u8]) "a byte string";
        serialize_none() "None";
        serialize_unit() "()";
        serialize_unit_struct(&'static str) "a struct without fields";
        serialize_unit_variant(&'static str, u32, &'static str) "an enum";
    }

    fn serialize_some<T: Serialize + ?Sized>(self, row: &T) -> Result<(), RowFault> {
        row.serialize(self)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        row: &T,
    ) -> Result<(), RowFault> {
        row.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), RowFault> {
        Row::refuse("an enum")
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<ByPosition<'c>, RowFault> {
        self.by_position()
    }

    fn serialize_tuple(self, _: usize) -> Result<ByPosition<'c>, RowFault> {
        self.by_position()
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<ByPosition<'c>, RowFault> {
        self.by_position()
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), RowFault>, RowFault> {
        Row::refuse("an enum")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<ByKey<'c>, RowFault> {
        Ok(ByKey { columns: self.0, key: String::new() })
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Row<'c>, RowFault> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), RowFault>, RowFault> {
        Row::refuse("an enum")
    }
}

impl SerializeStruct for Row<'_> {
    type Ok = ();
    type Error = RowFault;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), RowFault> {
        self.0.field(name, value).map_err(RowFault::of_field(name))
    }

    fn skip_field(&mut self, name: &'static str) -> Result<(), RowFault> {
        self.0.field(name, &()).map_err(RowFault::of_field(name))
    }

    #[inline]
    fn end(self) -> Result<(), RowFault> {
        Ok(())
    }
}

/// A serializer of a map as a row.
pub(super) struct ByKey<'c> {
    columns: &'c mut Columns,
    key: String,
}

/// A map key, formatted as text.
struct Key<'k, T: ?Sized>(&'k T);

impl<T: Serialize + ?Sized> Display for Key<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.serialize(f)
    }
}

impl SerializeMap for ByKey<'_> {
    type Ok = ();
    type Error = RowFault;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), RowFault> {
        use fmt::Write as _;
        self.key.clear();
        write!(self.key, "{}", Key(key))
            .map_err(|_| RowFault::of_row("a map has a key that is neither text nor a number"))
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowFault> {
        self.columns.field(&self.key, value).map_err(RowFault::of_field(&self.key))
    }

    fn end(self) -> Result<(), RowFault> {
        Ok(())
    }
}

/// A serializer of unnamed values, in the order of the columns.
pub(super) struct ByPosition<'c> {
    columns: &'c mut Columns,
    position: usize,
}

impl ByPosition<'_> {
    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowFault> {
        let columns = &mut *self.columns;
        let position = self.position;
        let Some(name) = columns.names.get(position).cloned() else {
            let count = columns.names.len();
            return Err(RowFault::of_row(format!("the row has more values than the {count} columns")));
        };
        self.position += 1;
        columns.append(position, value).map_err(RowFault::of_field(&name))
    }

    fn finish(self) -> Result<(), RowFault> {
        let (count, given) = (self.columns.names.len(), self.position);
        match count == given {
            true => Ok(()),
            false => Err(RowFault::of_row(format!("the row has {given} values for {count} columns"))),
        }
    }
}

impl SerializeSeq for ByPosition<'_> {
    type Ok = ();
    type Error = RowFault;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowFault> {
        self.value(value)
    }

    fn end(self) -> Result<(), RowFault> {
        self.finish()
    }
}

impl SerializeTuple for ByPosition<'_> {
    type Ok = ();
    type Error = RowFault;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowFault> {
        self.value(value)
    }

    fn end(self) -> Result<(), RowFault> {
        self.finish()
    }
}

impl SerializeTupleStruct for ByPosition<'_> {
    type Ok = ();
    type Error = RowFault;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), RowFault> {
        self.value(value)
    }

    fn end(self) -> Result<(), RowFault> {
        self.finish()
    }
}
