//! Converts the value of a field to the value that SQLite stores.

use std::fmt::{self, Display};

use serde::ser::{Error as _, Impossible, Serialize, Serializer};
use sqluice_core::source::cells::Cells;
use sqluice_format::limits::LENGTH_MAX;

/// The reason why a value can't be stored.
#[derive(Debug)]
pub(super) enum Fault {
    /// The value is a sequence, a map or a struct, and must become JSON. Nothing was appended.
    HasParts,
    /// The value is invalid, for this reason.
    Bad(String),
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::HasParts => f.write_str("a value with parts"),
            Fault::Bad(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for Fault {}

impl serde::ser::Error for Fault {
    fn custom<T: Display>(message: T) -> Fault {
        Fault::Bad(message.to_string())
    }
}

/// Appends a value to its column. A sequence, a map or a struct becomes JSON text; `json` is a reused buffer for it.
pub(super) fn append<T: Serialize + ?Sized>(
    value: &T,
    cells: &mut Cells,
    json: &mut Vec<u8>,
) -> Result<(), Fault> {
    match value.serialize(Append(cells)) {
        Err(Fault::HasParts) => {
            json.clear();
            serde_json::to_writer(&mut *json, value).map_err(Fault::custom)?;
            let text = str::from_utf8(json).map_err(Fault::custom)?;
            Append(cells).serialize_str(text)
        }
        done => done,
    }
}

/// A serializer that appends a value to a column.
struct Append<'c>(&'c mut Cells);

fn check_bytes(bytes: usize) -> Result<(), Fault> {
    match bytes <= LENGTH_MAX {
        true => Ok(()),
        false => Err(Fault::Bad(format!("{bytes} bytes are too many: SQLite stores at most {LENGTH_MAX}"))),
    }
}

fn too_large(int: impl Display) -> Fault {
    Fault::Bad(format!("{int} does not fit SQLite's signed 64-bit integers; store it as text"))
}

type NoParts = Impossible<(), Fault>;

impl Serializer for Append<'_> {
    type Ok = ();
    type Error = Fault;
    type SerializeSeq = NoParts;
    type SerializeTuple = NoParts;
    type SerializeTupleStruct = NoParts;
    type SerializeTupleVariant = NoParts;
    type SerializeMap = NoParts;
    type SerializeStruct = NoParts;
    type SerializeStructVariant = NoParts;

    #[inline]
    fn serialize_bool(self, truth: bool) -> Result<(), Fault> {
        self.serialize_i64(i64::from(truth))
    }

    #[inline]
    fn serialize_i8(self, int: i8) -> Result<(), Fault> {
        self.serialize_i64(i64::from(int))
    }

    #[inline]
    fn serialize_i16(self, int: i16) -> Result<(), Fault> {
        self.serialize_i64(i64::from(int))
    }

    #[inline]
    fn serialize_i32(self, int: i32) -> Result<(), Fault> {
        self.serialize_i64(i64::from(int))
    }

    #[inline]
    fn serialize_i64(self, int: i64) -> Result<(), Fault> {
        self.0.push_int(int);
        Ok(())
    }

    fn serialize_i128(self, int: i128) -> Result<(), Fault> {
        self.serialize_i64(i64::try_from(int).map_err(|_| too_large(int))?)
    }

    #[inline]
    fn serialize_u8(self, int: u8) -> Result<(), Fault> {
        self.serialize_i64(i64::from(int))
    }

    #[inline]
    fn serialize_u16(self, int: u16) -> Result<(), Fault> {
        self.serialize_i64(i64::from(int))
    }

    #[inline]
    fn serialize_u32(self, int: u32) -> Result<(), Fault> {
        self.serialize_i64(i64::from(int))
    }

    #[inline]
    fn serialize_u64(self, int: u64) -> Result<(), Fault> {
        self.serialize_i64(i64::try_from(int).map_err(|_| too_large(int))?)
    }

    fn serialize_u128(self, int: u128) -> Result<(), Fault> {
        self.serialize_i64(i64::try_from(int).map_err(|_| too_large(int))?)
    }

    #[inline]
    fn serialize_f32(self, real: f32) -> Result<(), Fault> {
        self.serialize_f64(f64::from(real))
    }

    #[inline]
    fn serialize_f64(self, real: f64) -> Result<(), Fault> {
        // SQLite stores NaN as NULL.
        if real.is_nan() {
            self.0.push_null()
        } else {
            self.0.push_real(real)
        }
        Ok(())
    }

    fn serialize_char(self, character: char) -> Result<(), Fault> {
        self.serialize_str(character.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, text: &str) -> Result<(), Fault> {
        check_bytes(text.len())?;
        self.0.push_text(text);
        Ok(())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Fault> {
        check_bytes(bytes.len())?;
        self.0.push_blob(bytes);
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Result<(), Fault> {
        self.0.push_null();
        Ok(())
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Fault> {
        self.serialize_none()
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Fault> {
        self.serialize_none()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Fault> {
        self.serialize_str(variant)
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<(), Fault> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Fault> {
        Err(Fault::HasParts)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<NoParts, Fault> {
        Err(Fault::HasParts)
    }

    fn serialize_tuple(self, _: usize) -> Result<NoParts, Fault> {
        Err(Fault::HasParts)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<NoParts, Fault> {
        Err(Fault::HasParts)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<NoParts, Fault> {
        Err(Fault::HasParts)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<NoParts, Fault> {
        Err(Fault::HasParts)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<NoParts, Fault> {
        Err(Fault::HasParts)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<NoParts, Fault> {
        Err(Fault::HasParts)
    }
}
