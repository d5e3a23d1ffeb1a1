//! Masks: functions that replace old values. A new value depends on a secret key and the old value.
//!
//! ```text
//!  mask.sql ── comments, parse ──> MaskFile: an expression for each column ──┐
//!  the secret key ───────────────────────────────────────────────────────────┴──> Mask
//!  a batch of old values ── Mask ──> a batch of new values
//!
//!  expression               new value
//!  email(), choice(...)     the function's value in the row whose number is the hash of the old value
//!  ... with(column)         the same, with a hash of the old value and of the value of another column of the row
//!  shape(), permute()       a keyed permutation of the old value: different values stay different
//!  shift()                  the old date, moved by an amount from the hash of another column of the row, the person
//!  noise()                  the old number, changed by an amount from the hash of the old number
//! ```
//!
//! The hash has 64 bits. Values that are equal in SQLite, such as 5 and 5.0, or 'a' and 'A' with NOCASE, have the same hash.
//!
//! * NULL stays NULL.
//! * The hash depends on the expression, but on neither the table nor the column: equal values of two columns with the same expression
//!   stay equal. So joins keep their results.
//! * In a column of a key, a function with unlimited or very many values takes the value whose number is the hash: different values stay
//!   different, except for collisions of 60-bit hashes.
//!
//! Invariant: a new value depends only on the key, the expression, the old value, and the value of the column that the expression names.
//! Other rows, the order of the rows and threads have no influence.
//!
//! Modules, the lowest layer first: `siphash`, `key`: secrets; `equality`: the equality of old values; `permutation`, `alphabet`, `shape`,
//! `numbers`, `dates`: new values; `file`: mask files.

mod alphabet;
mod dates;
mod equality;
mod file;
mod key;
mod numbers;
mod permutation;
mod shape;
mod siphash;

use std::sync::Arc;

use sqluice_core::batch::{Column, ROWS_MAX, Value, Values};
use sqluice_core::error::Error;

pub use equality::{Collation, Equality};
pub use file::{Keeps, MaskColumn, MaskFile};
pub use key::MaskKey;

use crate::generator::{Generate, Scope, World};
use crate::random::{Key, below64};
use crate::vector::{Vector, VectorKind};
use dates::{Moved, Shift};
use equality::{ValueHash, is_null};
use file::Recipe;
use numbers::{Noise, Permute};
use shape::{Shape, ShapeSpace};

/// A function that replaces old values.
#[derive(Clone)]
pub struct Mask {
    shape: Shape,
    kind: Kind,
}

#[derive(Clone)]
enum Kind {
    Shape,
    Permute(Permute),
    Noise(Noise),
    Shift(Shift),
    Made(Made),
}

/// A mask whose new values come from a function of the generator language, such as `email()`.
#[derive(Clone)]
struct Made {
    hash: ValueHash,
    stream: Key,
    generator: Arc<dyn Generate>,
    /// `true` if different values stay different.
    distinct: bool,
    /// The hash function for the other column of the row that new values depend on; `None` if they depend on no other column.
    with: Option<ValueHash>,
}

/// The new values of a column, in buffers that are reused for the next rows.
#[derive(Default)]
pub struct MaskSpace {
    vector: Vector,
    hashes: Vec<u64>,
    folded: Vec<u8>,
    text: Vec<u8>,
    shape: ShapeSpace,
}

impl MaskSpace {
    /// Returns the new values of a column with values of several classes, which [`MaskSpace::column`] borrows; empty for other columns.
    pub fn mixed_values(&self) -> Vec<Value<'_>> {
        self.vector.mixed_values()
    }

    /// Returns the new values as a column of a batch. `mixed` is the result of [`MaskSpace::mixed_values`].
    pub fn column<'a>(&'a self, mixed: &'a [Value<'a>]) -> Column<'a> {
        self.vector.column(mixed)
    }
}

impl Mask {
    /// Creates the mask of a recipe; `None` if the values are kept.
    fn new(recipe: &Recipe, expression: &str, key: &MaskKey, distinct: bool) -> Option<Mask> {
        let kind = match recipe {
            Recipe::Keep => return None,
            Recipe::Shape => Kind::Shape,
            Recipe::Permute(range) => Kind::Permute(Permute::new(key, *range)),
            Recipe::Noise(share) => Kind::Noise(Noise::new(key, *share)),
            Recipe::Shift { days, .. } => Kind::Shift(Shift::new(key, *days)),
            Recipe::Made { generator, unique, with } => Kind::Made(Made {
                hash: ValueHash::new(key, expression),
                stream: key.stream(&format!("stream: {expression}")),
                generator: Arc::clone(generator),
                distinct: distinct || *unique,
                with: with.is_some().then(|| ValueHash::new(key, &format!("with: {expression}"))),
            }),
        };
        Some(Mask { shape: Shape::new(key), kind })
    }

    /// Masks `rows` old values, at most [`ROWS_MAX`]. `person` is the other column that the expression names: the person of `shift()`, or
    /// the column in `with(...)`.
    ///
    /// # Errors
    /// When a value can't be masked. The error has the value's row, if it is known.
    pub fn fill(
        &self,
        (old, equality): (&Column<'_>, Equality),
        person: Option<(&Column<'_>, Equality)>,
        rows: usize,
        space: &mut MaskSpace,
    ) -> Result<(), (Option<usize>, Error)> {
        debug_assert!(rows <= ROWS_MAX);
        if let Values::Null = old.values {
            space.vector.null(rows);
            return Ok(());
        }
        match (&self.kind, old.values) {
            (Kind::Made(made), values) => {
                made.fill((old, equality), person, rows, space).map_err(|error| (None, error))?;
                // In a column with values of several classes, NULLs are among the values and not in the validity bitmap.
                if let Values::Any(values) = values
                    && values[..rows].contains(&Value::Null)
                {
                    let present: Vec<bool> =
                        values[..rows].iter().map(|value| *value != Value::Null).collect();
                    space.vector.keep(&present);
                }
            }
            (Kind::Shape, Values::Int(ints)) => {
                let slots = space.vector.ints(rows);
                slots.copy_from_slice(&ints[..rows]);
                self.shape.ints(slots);
            }
            (Kind::Shape, Values::Text(texts)) if !equality.numeric => {
                let MaskSpace { vector, shape, .. } = space;
                vector.appended(VectorKind::Text, rows, |row, out| {
                    if !is_null(old, row) {
                        self.shape.text(texts.get(row), shape, out);
                    }
                });
            }
            (Kind::Shift(shift), Values::Text(texts)) if !equality.numeric => {
                let MaskSpace { vector, shape, folded, .. } = space;
                vector.appended(VectorKind::Text, rows, |row, out| {
                    if is_null(old, row) {
                        return;
                    }
                    let (person, of) =
                        person.map_or((Value::Null, equality), |(of, equality)| (of.get(row), equality));
                    if !Shift::text(texts.get(row), shift.of(person, of, folded), out) {
                        self.shape.text(texts.get(row), shape, out);
                    }
                });
            }
            (Kind::Permute(permute), Values::Int(ints)) => {
                let slots = space.vector.ints(rows);
                slots.copy_from_slice(&ints[..rows]);
                let placed = permute.ints(slots, |row| !is_null(old, row));
                placed.map_err(|row| (Some(row), out_of_range()))?;
            }
            _ => return self.each((old, equality), person, rows, space),
        }
        if let Some(validity) = old.validity {
            space.vector.keep_bits(validity);
        }
        Ok(())
    }

    /// Masks each value with `mask`, for columns with values of any class.
    fn each(
        &self,
        (old, equality): (&Column<'_>, Equality),
        person: Option<(&Column<'_>, Equality)>,
        rows: usize,
        MaskSpace { vector, folded, text, shape, .. }: &mut MaskSpace,
    ) -> Result<(), (Option<usize>, Error)> {
        vector.values();
        for row in 0..rows {
            let value = old.get(row);
            let number = equality.number(value);
            match (&self.kind, number) {
                (_, Value::Null) => vector.push(Value::Null),
                (Kind::Permute(permute), Value::Int(int)) => {
                    let placed = permute.int(int).ok_or_else(|| (Some(row), out_of_range()))?;
                    vector.push(match value {
                        Value::Real(_) => Value::Real(placed as f64),
                        _ => Value::Int(placed),
                    });
                }
                (Kind::Noise(noise), Value::Int(_) | Value::Real(_)) => {
                    let number = if let Value::Real(_) = value { value } else { number };
                    vector.push(noise.number(number, equality).unwrap_or(Value::Null));
                }
                (Kind::Shift(shift), _) => {
                    let (person, of) =
                        person.map_or((Value::Null, equality), |(of, equality)| (of.get(row), equality));
                    let by = shift.of(person, of, folded);
                    match Shift::moment(value, by, &mut |moment| vector.push(moment)) {
                        Moved::Yes => {}
                        Moved::NoMoment => {
                            self.shape.value(value, equality, shape, text, &mut |value| vector.push(value));
                        }
                        Moved::NoMomentNumber => return Err((Some(row), no_moment())),
                    }
                }
                _ => self.shape.value(value, equality, shape, text, &mut |value| vector.push(value)),
            }
        }
        vector.settle();
        Ok(())
    }
}

impl Made {
    fn fill(
        &self,
        (old, equality): (&Column<'_>, Equality),
        other: Option<(&Column<'_>, Equality)>,
        rows: usize,
        MaskSpace { vector, hashes, folded, .. }: &mut MaskSpace,
    ) -> Result<(), Error> {
        self.hash.fill(old, rows, equality, (hashes, folded));
        if let (Some(with), Some((other, equality))) = (&self.with, other) {
            for (row, hash) in hashes.iter_mut().enumerate() {
                *hash ^= with.of(other.get(row), equality, folded);
            }
        }
        let world = World::new(0, Vec::new());
        let at = Scope::new(self.stream, &world);
        match self.generator.domain().filter(|_| self.distinct) {
            Some(domain) if domain.is_endless() => {
                hashes.iter_mut().for_each(|hash| *hash >>= 64 - file::DISTINCT_BITS);
                domain.nth(at, hashes, vector)
            }
            Some(domain) => {
                let count = domain.count(&world)?;
                hashes.iter_mut().for_each(|hash| *hash = below64(*hash, count));
                domain.nth(at, hashes, vector)
            }
            None => {
                // The hashes serve as row numbers. They lose their two highest bits, so that functions may add to them without overflow.
                hashes.iter_mut().for_each(|hash| *hash >>= 2);
                self.generator.fill_at(at, hashes, vector)
            }
        }
    }
}

fn out_of_range() -> Error {
    Error::input("a value is outside the range of its permute(a, b)")
        .hint("give a range that includes all values, or use permute() without a range")
}

fn no_moment() -> Error {
    Error::input("shift() can't move a number that is not a date or time")
        .hint("use shape() for other numbers; shift() moves dates such as 20240131, years, Julian days, and seconds (or milli-, micro-, nanoseconds) since 1970")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sqluice_core::batch::{Bitmap, Bytes, Span, Spans};
    use sqluice_core::schema::Schema;

    fn mask(expression: &str, distinct: bool) -> Mask {
        let sql = format!("CREATE TABLE t (a /* gen: {expression} */, b)");
        let file = MaskFile::new(Schema::parse(sql, "m.sql".as_ref()).unwrap()).unwrap();
        file.columns()[0].mask(&MaskKey::new([5; 16]).unwrap(), distinct).unwrap()
    }

    /// Returns the new values as text that shows their class.
    fn masked(mask: &Mask, old: &Column<'_>, rows: usize) -> Vec<String> {
        let mut space = MaskSpace::default();
        let person = Column::new(Values::Int(&[7; ROWS_MAX]));
        let equality = Equality::default();
        mask.fill((old, equality), Some((&person, equality)), rows, &mut space).unwrap();
        let mixed = space.mixed_values();
        let column = space.column(&mixed);
        (0..rows).map(|row| format!("{:?}", column.get(row))).collect()
    }

    const EXPRESSIONS: [&str; 12] = [
        "shape()",
        "permute()",
        "noise(0.2)",
        "shift(10, b)",
        "email()",
        "choice('a', 'b', 3)",
        "int(1, 1_000_000)",
        "uuid4()",
        "template('{digits(3)}-{city()}')",
        "null(0.5, 'x')",
        "name(with(b))",
        "email(unique, with(b))",
    ];

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn a_masked_value_does_not_depend_on_other_rows_or_the_layout_of_its_column(
            ints in prop::collection::vec(any::<i64>(), 1..40),
            texts in prop::collection::vec("[a-zA-Z0-9 é-]{0,12}|20[0-9]{2}-0[1-9]-1[0-9]", 1..40),
            nulls in any::<u64>(),
            which in 0..EXPRESSIONS.len(),
        ) {
            let mask = mask(EXPRESSIONS[which], false);
            // `shift()` refuses a number that is not a date or time, so its numbers are seconds.
            let of_shift = |int: &i64| 10_000_000 + int.rem_euclid(1_000_000_000);
            let ints: Vec<i64> = match EXPRESSIONS[which].starts_with("shift") {
                true => ints.iter().map(of_shift).collect(),
                false => ints,
            };
            let bits = [nulls];
            let validity = Some(Bitmap(&bits));
            let is_null = |row: usize| nulls >> row & 1 == 0;

            let typed = masked(&mask, &Column { values: Values::Int(&ints), validity }, ints.len());
            let any: Vec<Value<'_>> = ints.iter().enumerate().map(|(row, int)| if is_null(row) { Value::Null } else { Value::Int(*int) }).collect();
            prop_assert_eq!(&typed, &masked(&mask, &Column::new(Values::Any(&any)), any.len()));
            for (row, new) in typed.iter().enumerate() {
                prop_assert_eq!(new, &masked(&mask, &Column::new(Values::Any(&any[row..=row])), 1)[0]);
                prop_assert!(!is_null(row) || new == "Null");
            }

            let data = texts.concat();
            let mut start = 0;
            let spans: Vec<Span> = texts.iter().map(|text| {
                let span = Span { start, len: text.len() as u32 };
                start += span.len;
                span
            }).collect();
            let bytes = Bytes { data: data.as_bytes(), spans: Spans::Anywhere(&spans) };
            let typed = masked(&mask, &Column { values: Values::Text(bytes), validity }, texts.len());
            let any: Vec<Value<'_>> = texts.iter().enumerate().map(|(row, text)| if is_null(row) { Value::Null } else { Value::Text(text.as_bytes()) }).collect();
            prop_assert_eq!(typed, masked(&mask, &Column::new(Values::Any(&any)), any.len()));
        }
    }

    #[test]
    fn the_argument_with_makes_masks_depend_on_another_column_and_unique_keeps_different_values_different() {
        let with = |expression: &str, person: i64, old: i64| {
            let mut space = MaskSpace::default();
            let (old, person) = ([old], [person]);
            let (old, person) = (Column::new(Values::Int(&old)), Column::new(Values::Int(&person)));
            let equality = Equality::default();
            mask(expression, false).fill((&old, equality), Some((&person, equality)), 1, &mut space).unwrap();
            let mixed = space.mixed_values();
            format!("{:?}", space.column(&mixed).get(0))
        };
        for expression in ["email(with(b))", "uuid4(with(b))", "int(1, 1_000_000_000, with(b))"] {
            assert_eq!(with(expression, 1, 5), with(expression, 1, 5));
            assert_ne!(with(expression, 1, 5), with(expression, 2, 5));
            assert_ne!(with(expression, 1, 5), with(expression, 1, 6));
        }
        assert_eq!(with("email()", 1, 5), with("email()", 2, 5));
        for expression in ["name(unique)", "email(unique)", "first_name(unique)"] {
            let old: Vec<i64> = (0..2000).collect();
            let mut all: Vec<String> = Vec::new();
            for chunk in old.chunks(500) {
                all.extend(masked(&mask(expression, false), &Column::new(Values::Int(chunk)), chunk.len()));
            }
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 2000, "{expression}");
        }
        let refused = |expression: &str| {
            let sql = format!("CREATE TABLE t (a /* gen: {expression} */, b)");
            MaskFile::new(Schema::parse(sql, "m.sql".as_ref()).unwrap()).unwrap_err().message()
        };
        assert_eq!(
            refused("choice('a', 'b', unique)"),
            "unique: choice has too few values to keep all different"
        );
        assert_eq!(refused("name(with())"), "with: takes a column of the row");
        assert_eq!(refused("shape(unique)"), "shape: takes no arguments, and got 1");
    }

    #[test]
    fn functions_with_many_values_keep_different_values_different_on_request() {
        let old: Vec<i64> = (0..1000).collect();
        for expression in ["email()", "city()", "uuid4()", "hex(20)", "text(11, 11)", "name()"] {
            let file = |sql: String| MaskFile::new(Schema::parse(sql, "m.sql".as_ref()).unwrap()).unwrap();
            let masks = file(format!("CREATE TABLE t (a /* gen: {expression} */)"));
            assert_eq!(masks.columns()[0].keeps(), Keeps::OnRequest, "{expression}");
            let mut all: Vec<String> = Vec::new();
            for chunk in old.chunks(500) {
                all.extend(masked(&mask(expression, true), &Column::new(Values::Int(chunk)), chunk.len()));
            }
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 1000, "{expression}");
        }
    }
}
