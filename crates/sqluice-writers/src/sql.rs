//! Encodes rows as INSERT statements of a limited length.
//!
//! ```text
//!  INSERT INTO "t" ("a","b") VALUES (1,'x'),(2,NULL),...;      as many rows as fit the limit
//! ```
//!
//! SQLite reads each literal as the value that it was written for: floats have a point or an exponent, blobs are `X'...'`, infinities are
//! `9e999`. Some text has no literal. Text that is not UTF-8 is `CAST(X'...' AS TEXT)`. Text with NUL, or with CR LF, which programs that
//! read lines change to LF, is built by `replace` from a literal without these characters. These expressions are correct in databases of
//! UTF-8 and of UTF-16.
//!
//! SQLite rounds several times when it reads the decimals of a float, and each version does this differently. So a float has its fewest
//! digits only if one division of whole numbers gives the float, as for prices. Other floats have 20 digits, whose error is smaller than
//! any of SQLite's rounding errors. Tiny floats are written as divisions of whole numbers by powers of two, which are exact.

use sqluice_core::batch::{Batch, Value};
use sqluice_core::error::{Error, Result};
use sqluice_core::schema::quoted;
use sqluice_core::source::{BadText, Part, Refused, Sink};

use crate::compression::Compression;
use crate::digits::{push_int, push_real};
use crate::in_order::Encode;

/// The limits of the length of statements.
#[derive(Clone, Copy, Debug)]
pub struct StatementLimits {
    /// The number of bytes at which a statement of several rows ends: a row that would exceed it begins a new statement.
    pub several_rows_bytes_max: usize,
    /// The maximum number of bytes of a statement with a single row. A longer row is an error.
    pub one_row_bytes_max: usize,
    /// The hint of the error for a row that is too long.
    pub hint: &'static str,
}

/// An encoder of parts as statements.
pub struct SqlEncoder {
    /// The beginning of each statement: `INSERT INTO ... VALUES `.
    head: Vec<u8>,
    limits: StatementLimits,
    compression: Compression,
}

/// The rows of a part as statements.
#[derive(Debug, Default)]
pub struct SqlPiece {
    /// The statements, each on a line; compressed if the encoder has a compression.
    pub bytes: Vec<u8>,
    /// The end of each statement, as an offset in the text of the statements before compression.
    pub ends: Vec<usize>,
    /// The number of rows.
    pub rows: u64,
    /// The number of bytes of input that the part was decoded from.
    pub input_bytes: u64,
}

/// The end of a statement: a semicolon and a line feed.
const END: &[u8] = b";\n";

impl SqlEncoder {
    /// Creates an encoder for the rows of a table with these columns.
    pub fn new(table: &str, columns: &[String], limits: StatementLimits) -> SqlEncoder {
        let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
        let head = format!("INSERT INTO {} ({}) VALUES ", quoted(table), columns.join(","));
        SqlEncoder { head: head.into_bytes(), limits, compression: Compression::None }
    }

    /// Sets the compression of the pieces. Each piece is compressed on its own.
    #[must_use]
    pub fn compressed(self, compression: Compression) -> SqlEncoder {
        SqlEncoder { compression, ..self }
    }
}

impl Encode for SqlEncoder {
    type Piece = SqlPiece;

    fn encode(&self, part: &mut dyn Part) -> Result<SqlPiece> {
        let mut sink =
            SqlSink { encoder: self, piece: SqlPiece::default(), statement_at: 0, row: Vec::new() };
        part.decode(&mut sink)?;
        sink.finish_statement();
        let SqlPiece { bytes, ends, rows, .. } = sink.piece;
        let bytes = self.compression.piece(bytes)?;
        Ok(SqlPiece { bytes, ends, rows, input_bytes: part.input_bytes() })
    }
}

struct SqlSink<'e> {
    encoder: &'e SqlEncoder,
    piece: SqlPiece,
    /// The offset in `bytes` at which the open statement begins; the length of `bytes` if no statement is open.
    statement_at: usize,
    /// The row that is being encoded.
    row: Vec<u8>,
}

impl SqlSink<'_> {
    fn finish_statement(&mut self) {
        let SqlPiece { bytes, ends, .. } = &mut self.piece;
        if bytes.len() > self.statement_at {
            bytes.extend_from_slice(END);
            ends.push(bytes.len());
            self.statement_at = bytes.len();
        }
    }
}

impl Sink for SqlSink<'_> {
    fn rows(&mut self, batch: &Batch<'_>) -> Result<(), Refused> {
        let SqlEncoder { head, limits, .. } = self.encoder;
        for row in 0..batch.rows {
            self.row.clear();
            let mut longest = (0, 0);
            for (index, column) in batch.columns.iter().enumerate() {
                self.row.push(if index == 0 { b'(' } else { b',' });
                let at = self.row.len();
                push_literal(&mut self.row, &column.get(row));
                longest = longest.max((self.row.len() - at, index));
            }
            self.row.push(b')');
            let alone = head.len() + self.row.len() + END.len();
            if alone > limits.one_row_bytes_max {
                let at = Some((row, longest.1));
                return Err(Refused::Stop { at, error: too_long(alone, limits) });
            }
            let open = self.piece.bytes.len() - self.statement_at;
            if open > 0 && open + 1 + self.row.len() + END.len() > limits.several_rows_bytes_max {
                self.finish_statement();
            }
            let bytes = &mut self.piece.bytes;
            match bytes.len() == self.statement_at {
                true => bytes.extend_from_slice(head),
                false => bytes.push(b','),
            }
            bytes.extend_from_slice(&self.row);
        }
        self.piece.rows += batch.rows as u64;
        Ok(())
    }

    fn bad_text(&mut self, _column: usize) -> BadText {
        BadText::Keep
    }
}

fn too_long(bytes: usize, limits: &StatementLimits) -> Error {
    let most = limits.one_row_bytes_max;
    let message =
        format!("the row would be a statement of {bytes} bytes, longer than the {most} that are allowed");
    Error::input(message).hint(limits.hint)
}

/// Appends a value as a literal.
fn push_literal(out: &mut Vec<u8>, value: &Value<'_>) {
    match *value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Int(int) => push_int(out, int),
        Value::Real(real) if real.is_finite() => push_exact_real(out, real),
        Value::Real(real) => out.extend_from_slice(if real > 0.0 { b"9e999" } else { b"-9e999" }),
        Value::Text(text) => match std::str::from_utf8(text) {
            Ok(text) => push_text(out, text),
            Err(_) => {
                out.extend_from_slice(b"CAST(");
                push_blob(out, text);
                out.extend_from_slice(b" AS TEXT)");
            }
        },
        Value::Blob(blob) => push_blob(out, blob),
    }
}

/// Appends a text as a literal, or as an expression if the text contains characters that a literal can't keep: NUL, or CR LF.
pub fn push_text(out: &mut Vec<u8>, text: &str) {
    let has_nul = text.contains('\0');
    if !has_nul && !text.contains("\r\n") {
        push_quoted(out, text);
        return;
    }
    // In the literal, a mark such as \0 or \r stands for the character. The end of a mark is never the beginning of a mark, so `replace`
    // finds marks only at the places where they were put.
    let mut text = text.to_owned();
    let mut tail = String::new();
    for (character, letter, code) in [('\0', '0', "0"), ('\r', 'r', "13")] {
        if !text.contains(character) {
            continue;
        }
        let numbers = (0_u64..).map(|number| format!("(\\{letter}{number})"));
        let marks = std::iter::once(format!("\\{letter}")).chain(numbers);
        let Some(mark) = marks.into_iter().find(|mark| !text.contains(mark.as_str())) else { continue };
        text = text.replace(character, &mark);
        tail = format!(",'{mark}',char({code})){tail}");
        out.extend_from_slice(b"replace(");
    }
    push_quoted(out, &text);
    // The mark that was put in last is replaced first: it may stand for a character that splits an earlier mark.
    out.extend_from_slice(tail.as_bytes());
}

fn push_quoted(out: &mut Vec<u8>, text: &str) {
    out.push(b'\'');
    for piece in text.as_bytes().split_inclusive(|byte| *byte == b'\'') {
        out.extend_from_slice(piece);
        if piece.last() == Some(&b'\'') {
            out.push(b'\'');
        }
    }
    out.push(b'\'');
}

fn push_blob(out: &mut Vec<u8>, blob: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(2 * blob.len() + 3);
    out.extend_from_slice(b"X'");
    for bytes in blob.chunks(32) {
        let mut digits = [0; 64];
        for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
            pair.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
        out.extend_from_slice(&digits[..2 * bytes.len()]);
    }
    out.push(b'\'');
}

/// The powers of ten that floats represent exactly.
const POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// The bound below which floats represent all whole numbers exactly: 2^53.
const WHOLE_MAX: f64 = 9_007_199_254_740_992.0;

/// Below this bound, SQLite 3.40 divides by 1e308 and rounds so often that decimals may read as another float.
const TINY: f64 = 1e-270;

/// Appends a finite float so that all versions of SQLite read the same float.
fn push_exact_real(out: &mut Vec<u8>, real: f64) {
    let start = out.len();
    push_real(out, real);
    if real.fract() == 0.0 && real.abs() < WHOLE_MAX || is_close(&out[start..], real) {
        return;
    }
    out.truncate(start);
    match real.abs() < TINY {
        true => push_quotient(out, real),
        false => out.extend_from_slice(format!("{real:.19e}").as_bytes()),
    }
}

/// The maximum distance between decimals and their float, as a share of the step between two floats. Within 0.5, correct rounding gives
/// the float. This is a little less, because SQLite may round twice: to the 64 bits of an x87 register, and then to the 53 bits of a
/// float.
const NEAR: f64 = 0.49;

/// Returns `true` if the decimals are within [`NEAR`] of the float, and have so few digits that SQLite computes the float by one division
/// or multiplication.
fn is_close(decimals: &[u8], real: f64) -> bool {
    let (mut digits, mut scale, mut after_point) = (0_u64, 0_i32, false);
    let mut bytes = decimals.iter();
    for &byte in bytes.by_ref() {
        match byte {
            b'-' => {}
            b'.' => after_point = true,
            b'0'..=b'9' if digits < 1 << 53 => {
                digits = digits * 10 + u64::from(byte - b'0');
                scale -= i32::from(after_point);
            }
            b'e' => break,
            _ => return false,
        }
    }
    let exponent = std::str::from_utf8(bytes.as_slice()).unwrap_or_default();
    let scale = scale + exponent.parse().unwrap_or(0);
    let (digits, magnitude) = (digits as f64, real.abs());
    let Some(&power) = POWERS.get(scale.unsigned_abs() as usize) else { return false };
    if digits >= WHOLE_MAX {
        return false;
    }
    // Below a power of two, the step to the next float is half of the step above.
    let near = (magnitude - magnitude.next_down()) * NEAR;
    match scale < 0 {
        true => magnitude.mul_add(power, -digits).abs() <= near * power,
        false => digits.mul_add(power, -magnitude).abs() <= near,
    }
}

/// Appends a tiny float as a quotient, such as `-1.0/4503599627370496.0/…`: a whole number divided by powers of two. Each division is
/// exact.
fn push_quotient(out: &mut Vec<u8>, real: f64) {
    const EXPONENT_BITS: u64 = 0x7ff;
    let bits = real.to_bits();
    let exponent = bits >> 52 & EXPONENT_BITS;
    let fraction = bits & ((1 << 52) - 1);
    // Subnormal floats have the exponent 0, and no leading 1.
    let whole = if exponent == 0 { fraction } else { fraction | 1 << 52 };
    let mut halvings = 1075 - exponent.max(1);
    push_real(out, (whole as f64).copysign(real));
    while halvings > 0 {
        let step = halvings.min(52);
        out.push(b'/');
        push_real(out, (1_u64 << step) as f64);
        halvings -= step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sqluice_core::batch::{Column, Values};

    fn text(push: impl Fn(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        push(&mut out);
        String::from_utf8(out).unwrap()
    }

    /// Returns the float of a literal of decimals, or of a quotient.
    fn read(literal: &str) -> f64 {
        let mut numbers = literal.split('/').map(|number| number.parse::<f64>().unwrap());
        let first = numbers.next().unwrap();
        numbers.fold(first, |quotient, divisor| quotient / divisor)
    }

    #[test]
    fn usual_floats_have_the_fewest_digits_in_sql_literals() {
        for (real, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (-21168.23, "-21168.23"),
            (5.0, "5.0"),
            (1e15, "1000000000000000.0"),
            (2.5e-10, "2.5e-10"),
            (1e-30, "1.0000000000000000833e-30"),
            (1e300, "1.0000000000000000525e300"),
            (f64::MAX, "1.7976931348623157081e308"),
        ] {
            assert_eq!(text(|out| push_exact_real(out, real)), expected);
        }
        assert!(text(|out| push_exact_real(out, -f64::from_bits(1))).starts_with("-1.0/4503599627370496.0/"));
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(20_000))]

        #[test]
        fn each_float_is_read_back_exactly_from_the_sql_literal(bits in any::<u64>(), small in 0..1_u64 << 60, power in -30..30, whole in any::<i32>()) {
            let short = f64::from(whole) * 10f64.powi(power);
            for real in [f64::from_bits(bits), f64::from_bits(small), short] {
                if real.is_finite() {
                    let literal = text(|out| push_exact_real(out, real));
                    prop_assert_eq!(read(&literal).to_bits(), real.to_bits(), "{}", literal);
                }
            }
        }

        #[test]
        fn the_literal_of_a_text_has_no_nul_and_no_crlf(text in "[\\\\r0()'a\r\n\\x00]{0,12}") {
            let literal = self::text(|out| push_text(out, &text));
            prop_assert!(!literal.contains('\0'));
            // A program that turns CR LF into LF does not change the literal.
            prop_assert!(!literal.contains("\r\n"), "{:?}", literal);
        }
    }

    #[test]
    fn each_byte_of_a_blob_has_two_hexadecimal_digits_in_sql() {
        let blob: Vec<u8> = (0..=255).collect();
        let digits: String = blob.iter().map(|byte| format!("{byte:02x}")).collect();
        for length in [0, 1, 31, 32, 33, 64, 256] {
            assert_eq!(text(|out| push_blob(out, &blob[..length])), format!("X'{}'", &digits[..2 * length]));
        }
    }

    /// A part with a row for each text.
    struct Texts(Vec<String>);

    impl Part for Texts {
        fn first_row(&self) -> u64 {
            0
        }

        fn decode(&mut self, sink: &mut dyn Sink) -> Result<()> {
            let values: Vec<Value<'_>> = self.0.iter().map(|text| Value::Text(text.as_bytes())).collect();
            let columns = vec![Column::new(Values::Any(&values))];
            sink.rows(&Batch { rows: values.len(), columns }).map_err(|refused| refused.first().1)
        }
    }

    #[test]
    fn a_long_row_has_a_statement_of_its_own_and_a_longer_row_is_an_error() {
        let limits = StatementLimits { several_rows_bytes_max: 50, one_row_bytes_max: 80, hint: "a remedy" };
        let encoder = SqlEncoder::new("t", &["a".to_owned()], limits);
        let rows = ["a", "b", &"c".repeat(40), "d", &"e".repeat(41)].map(str::to_owned);
        let encoded = encoder.encode(&mut Texts(rows.to_vec())).unwrap();
        let head = "INSERT INTO \"t\" (\"a\") VALUES ";
        let [c, e] = [&rows[2], &rows[4]];
        let expected = format!("{head}('a'),('b');\n{head}('{c}');\n{head}('d');\n{head}('{e}');\n");
        assert_eq!(String::from_utf8(encoded.bytes).unwrap(), expected);
        assert_eq!((encoded.ends.len(), encoded.rows), (4, 5));
        let error = encoder.encode(&mut Texts(vec!["x".repeat(46)])).unwrap_err().to_string();
        assert!(
            error.contains("the row would be a statement of 81 bytes, longer than the 80 that are allowed"),
            "{error}"
        );
        assert!(error.contains("a remedy"), "{error}");
    }
}
