//! Chooses the storage of decimals: the number that keeps all digits, or text.
//!
//! ```text
//!  digits of the type     without a fraction     with a fraction
//!  up to 15               INTEGER                NUMERIC
//!  16 to 18               INTEGER                TEXT
//!  more                   by the values, if all of them can be read first; otherwise TEXT
//!
//!  by the values          INTEGER: all values are 64-bit integers
//!                         REAL: every value, as a float, prints with all its digits
//!                         TEXT: otherwise
//! ```

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_schema::DataType;

use super::nested::integer;
use super::{ArrowOptions, DecimalAs};
use crate::infer::Inferred;

/// Returns the number of digits and the scale of a decimal type.
pub(super) fn shape(data_type: &DataType) -> Option<(u8, i8)> {
    use DataType::*;
    match *data_type {
        Decimal32(digits, scale)
        | Decimal64(digits, scale)
        | Decimal128(digits, scale)
        | Decimal256(digits, scale) => Some((digits, scale)),
        _ => None,
    }
}

/// Returns `true` if a number in SQLite keeps all digits of every decimal of the type.
pub(super) fn is_held(data_type: &DataType) -> bool {
    match shape(data_type) {
        Some((digits, scale @ ..=0)) => i32::from(digits) - i32::from(scale) <= 18,
        Some((digits, _)) => digits <= 15,
        None => false,
    }
}

/// Returns `true` if a decimal type has more digits than 64-bit integers can always hold.
pub(super) fn is_wide(data_type: &DataType) -> bool {
    shape(data_type).is_some_and(|(digits, scale)| i32::from(digits) - i32::from(scale.min(0)) > 18)
}

/// Returns the guessed column type for decimals of more than 18 digits: the type if no value needs another one. Returns `None` for all
/// other types, and if [`ArrowOptions::decimal`] is not [`DecimalAs::Auto`].
pub fn guessed_type(data_type: &DataType, options: ArrowOptions) -> Option<Inferred> {
    match data_type {
        DataType::Dictionary(_, values) => return guessed_type(values, options),
        DataType::RunEndEncoded(_, values) => return guessed_type(values.data_type(), options),
        _ => {}
    }
    let (_, scale) = shape(data_type).filter(|_| options.decimal == DecimalAs::Auto && is_wide(data_type))?;
    Some(if scale <= 0 { Inferred::Integer } else { Inferred::Real })
}

/// The kind of number that keeps all digits of a decimal.
pub(super) enum Number {
    Int(i64),
    Real(f64),
    /// No number keeps all digits, so the decimal must be text.
    Text,
}

/// Converts a decimal to the number that keeps all its digits.
pub(super) fn number(decimals: &dyn Array, at: usize, scale: i8) -> Number {
    let text = integer(decimals, at).unwrap_or_default();
    if scale <= 0 {
        return text.parse().map_or(Number::Text, Number::Int);
    }
    match text.parse::<f64>() {
        Ok(real) if format!("{real:.*}", usize::from(scale.unsigned_abs())) == text => Number::Real(real),
        _ => Number::Text,
    }
}

/// Returns `true` if a decimal has no more digits than its type declares.
pub(super) fn has_declared_digits(array: &dyn Array, at: usize) -> bool {
    fn of<T: DecimalType>(array: &dyn Array, at: usize, precision: u8) -> bool {
        T::is_valid_decimal_precision(array.as_primitive::<T>().value(at), precision)
    }
    match *array.data_type() {
        DataType::Decimal32(precision, _) => of::<Decimal32Type>(array, at, precision),
        DataType::Decimal64(precision, _) => of::<Decimal64Type>(array, at, precision),
        DataType::Decimal128(precision, _) => of::<Decimal128Type>(array, at, precision),
        DataType::Decimal256(precision, _) => of::<Decimal256Type>(array, at, precision),
        _ => true,
    }
}
