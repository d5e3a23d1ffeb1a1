//! Decimals: as the numbers that keep all their digits, or as text.
//!
//! ```text
//!  digits of the type     without a fraction     with one
//!  up to 15               INTEGER                NUMERIC
//!  16 to 18               INTEGER                TEXT
//!  more                   the values decide, if all of them can be seen; otherwise TEXT
//!
//!  the values decide           INTEGER: all are integers of 64 bits
//!                              REAL: with the decimals of the type, floats print as all of them
//!                              TEXT: all else
//! ```

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_schema::DataType;
use sqluice_core::batch::Value;
use sqluice_core::error::{Setting, message};

use super::column::{Fault, Owned, Refusal, digits, resolved, written};
use super::nested::integer;
use super::{ArrowOptions, DecimalAs};
use crate::infer::Inferred;

/// Returns the number of digits and the scale of a decimal type.
fn shape(data_type: &DataType) -> Option<(u8, i8)> {
    use DataType::*;
    match *data_type {
        Decimal32(digits, scale)
        | Decimal64(digits, scale)
        | Decimal128(digits, scale)
        | Decimal256(digits, scale) => Some((digits, scale)),
        _ => None,
    }
}

/// Returns `true` if a number of SQLite keeps all digits of a decimal type.
pub(super) fn is_held(data_type: &DataType) -> bool {
    match shape(data_type) {
        Some((digits, scale @ ..=0)) => i32::from(digits) - i32::from(scale) <= 18,
        Some((digits, _)) => digits <= 15,
        None => false,
    }
}

/// Returns `true` if a decimal type has more digits than each integer of 64 bits has.
fn is_wide(data_type: &DataType) -> bool {
    shape(data_type).is_some_and(|(digits, scale)| i32::from(digits) - i32::from(scale.min(0)) > 18)
}

/// Returns the type of a column of decimals of more than 18 digits, unless a value needs another type. Returns `None` for all other types.
pub fn guessed_type(data_type: &DataType, options: ArrowOptions) -> Option<Inferred> {
    match data_type {
        DataType::Dictionary(_, values) => return guessed_type(values, options),
        DataType::RunEndEncoded(_, values) => return guessed_type(values.data_type(), options),
        _ => {}
    }
    let (_, scale) = shape(data_type).filter(|_| options.decimal == DecimalAs::Auto && is_wide(data_type))?;
    Some(if scale <= 0 { Inferred::Integer } else { Inferred::Real })
}

/// Returns the type that keeps all digits of the decimals of an array. For a type that has a [guess](guessed_type), the type is that
/// guess if no value needs another type.
pub fn infer_decimals(array: &dyn Array, guess: Inferred) -> Inferred {
    if guess == Inferred::Text {
        return guess;
    }
    let (decimals, places) = resolved(array, (0..array.len()).map(Some).collect());
    let scale = shape(decimals.data_type()).map_or(0, |(_, scale)| scale);
    let needs_text =
        |at: usize| matches!(number(&integer(decimals, at).unwrap_or_default(), scale), Number::Text);
    if places.into_iter().flatten().any(needs_text) { Inferred::Text } else { guess }
}

/// The number that keeps all digits of a decimal.
enum Number {
    Int(i64),
    Real(f64),
    /// No number does.
    Text,
}

/// Reads the digits of a decimal.
fn number(text: &str, scale: i8) -> Number {
    if scale <= 0 {
        return text.parse().map_or(Number::Text, Number::Int);
    }
    match text.parse::<f64>() {
        Ok(real) if format!("{real:.*}", usize::from(scale.unsigned_abs())) == text => Number::Real(real),
        _ => Number::Text,
    }
}

/// Converts decimals. In a TEXT column they are text. Otherwise they are the numbers that [`DecimalAs`] asks for. A number is never made
/// of a decimal that has more digits than its type: such digits were not reckoned with.
pub(super) fn decimals<'a>(
    array: &'a dyn Array,
    places: &[Option<usize>],
    scale: i8,
    as_text: bool,
    options: ArrowOptions,
    room: usize,
) -> Result<Owned<'a>, Refusal> {
    let is_auto = options.decimal == DecimalAs::Auto;
    if is_auto && !as_text && is_wide(array.data_type()) {
        return by_value(array, places, scale, room);
    }
    if as_text || options.decimal == DecimalAs::Text || (is_auto && !is_held(array.data_type())) {
        return written(places, room, |at, out| digits(array, at, out));
    }
    let text = |at: usize| integer(array, at).unwrap_or_default();
    let overlong = places.iter().position(|at| at.is_some_and(|at| !has_declared_digits(array, at)));
    if let Some((row, at)) = overlong.and_then(|row| Some((row, places[row]?))) {
        let message = format!("{} is beyond its type, {}", text(at), array.data_type());
        let hint = message![Setting::Decimal.to("text"), " keeps all its digits"];
        return Err(Fault { row, message, hint: Some(hint) }.into());
    }
    if is_auto && scale <= 0 {
        let int = |at: &Option<usize>| at.map_or(0, |at| text(at).parse().expect("18 digits are an integer"));
        return Ok(Owned::Ints(places.iter().map(int).collect()));
    }
    // A product or quotient of two floats that are exact is the nearest one.
    if let (Some(decimals), 0..=22) = (array.as_primitive_opt::<Decimal128Type>(), scale) {
        let factor = 10f64.powi(scale.into());
        let real = |at: usize| match decimals.value(at) {
            unscaled if unscaled.unsigned_abs() < 1 << 53 => unscaled as f64 / factor,
            _ => text(at).parse().unwrap_or(f64::NAN),
        };
        return Ok(Owned::Reals(places.iter().map(|at| at.map_or(0.0, real)).collect()));
    }
    let real = |at: usize| text(at).parse().unwrap_or(f64::NAN);
    Ok(Owned::Reals(places.iter().map(|at| at.map_or(0.0, real)).collect()))
}

/// Converts each decimal to the number that keeps all its digits. If one needs text, all are text: evidence of one text makes the column
/// TEXT, and a column of another type gets what SQLite makes of the text.
fn by_value<'a>(
    array: &'a dyn Array,
    places: &[Option<usize>],
    scale: i8,
    room: usize,
) -> Result<Owned<'a>, Refusal> {
    let numbers = places.iter().map(|at| match at {
        None => Some(Value::Null),
        Some(at) => match number(&integer(array, *at).unwrap_or_default(), scale) {
            Number::Int(int) => Some(Value::Int(int)),
            Number::Real(real) => Some(Value::Real(real)),
            Number::Text => None,
        },
    });
    match numbers.collect() {
        Some(numbers) => Ok(Owned::Any(numbers)),
        None => written(places, room, |at, out| digits(array, at, out)),
    }
}

/// Returns `true` if a decimal has at most the digits that its type declares.
fn has_declared_digits(array: &dyn Array, at: usize) -> bool {
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
