//! Masks of moments: a shift by a number of days that depends on a person.
//!
//! | stored as | the shift changes |
//! |---|---|
//! | text that begins with `YYYY-MM-DD` | the day; the rest of the text is kept |
//! | an integer | seconds, milli-, micro- or nanoseconds since 1970, by its size |
//! | a real | a Julian day up to 10 million, beyond that seconds since 1970 |

use sqluice_core::batch::Value;

use super::equality::{Equality, ValueHash};
use super::key::MaskKey;
use crate::functions::shifted_day;
use crate::random::below64;

const DAY: i64 = 86_400;
/// The maximum length of a text that is a moment, in bytes.
const TEXT_BYTES_MAX: usize = 64;
/// The sizes from which integers are milli-, micro- and nanoseconds: as seconds they would be in the year 5138 and later.
const UNITS: [(u64, i64); 3] =
    [(100_000_000_000, 1000), (100_000_000_000_000, 1_000_000), (100_000_000_000_000_000, 1_000_000_000)];
const JULIAN_MAX: f64 = 1e7;

/// A mask that shifts moments.
#[derive(Clone)]
pub(super) struct Shift {
    hash: ValueHash,
    /// The maximum number of days, back or ahead; at least 1.
    days: u64,
}

impl Shift {
    pub(super) fn new(key: &MaskKey, days: u64) -> Shift {
        Shift { hash: ValueHash::new(key, "shift"), days }
    }

    /// Returns the number of days for a person, never 0.
    #[inline]
    pub(super) fn days_of(&self, person: Value<'_>, equality: Equality, folded: &mut Vec<u8>) -> i64 {
        let hash = match person {
            Value::Null => self.hash.of(Value::Blob(b"no person"), equality, folded),
            person => self.hash.of(person, equality, folded),
        };
        let drawn = below64(hash, 2 * self.days).cast_signed();
        let days = self.days.cast_signed();
        if drawn < days { drawn - days } else { drawn - days + 1 }
    }

    /// Calls `put` with the moment `days` days later; returns `false` if the value is no moment.
    pub(super) fn moment(old: Value<'_>, days: i64, put: &mut impl FnMut(Value<'_>)) -> bool {
        match old {
            Value::Int(int) => {
                let size = int.unsigned_abs();
                let unit = UNITS.iter().rev().find(|(from, _)| size >= *from).map_or(1, |(_, unit)| *unit);
                let Some(moved) = int.checked_add(days * DAY * unit) else { return false };
                put(Value::Int(moved));
            }
            Value::Real(real) if real.abs() < JULIAN_MAX => put(Value::Real(real + days as f64)),
            Value::Real(real) if real.is_finite() => put(Value::Real(real + (days * DAY) as f64)),
            Value::Text(text) => {
                let mut made = Vec::with_capacity(text.len());
                if !Shift::text(text, days, &mut made) {
                    return false;
                }
                put(Value::Text(&made));
            }
            _ => return false,
        }
        true
    }

    /// Appends the text of the moment `days` days later; returns `false` and appends nothing if `old` is no moment.
    #[inline]
    pub(super) fn text(old: &[u8], days: i64, out: &mut Vec<u8>) -> bool {
        let Some((day, rest)) = old.split_first_chunk() else { return false };
        // A time or nothing follows a day, not the next digit of a longer number.
        let ends = rest.first().is_none_or(|next| *next == b'T' || !next.is_ascii_alphanumeric());
        let Some(moved) = shifted_day(day, days).filter(|_| ends && old.len() <= TEXT_BYTES_MAX) else {
            return false;
        };
        out.extend_from_slice(&moved);
        out.extend_from_slice(rest);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_shifted_as_sqlite_shifts_them() {
        let connection = rusqlite::Connection::open_in_memory().unwrap();
        for days in [-400, -1, 1, 59, 365] {
            for text in ["2024-02-29", "1999-12-31 23:59:59.250", "2020-05-06T07:08:09Z"] {
                let sql = "SELECT date(?1, ?2 || ' days') || substr(?1, 11)";
                let expected: String = connection.query_row(sql, (text, days), |row| row.get(0)).unwrap();
                let mut found = String::new();
                assert!(Shift::moment(Value::Text(text.as_bytes()), days, &mut |value| {
                    if let Value::Text(text) = value {
                        found = String::from_utf8(text.to_vec()).unwrap();
                    }
                }));
                assert_eq!(found, expected);
            }
            for (int, unit) in
                [(0, 1), (1_700_000_000, 1), (1_700_000_000_000, 1000), (1_700_000_000_000_000, 1_000_000)]
            {
                let mut found = 0;
                Shift::moment(Value::Int(int), days, &mut |value| {
                    if let Value::Int(int) = value {
                        found = int
                    }
                });
                assert_eq!(found, int + days * DAY * unit);
            }
        }
        for text in ["", "yesterday", "2023-02-30", "20240101", "2024-01-011", "9999-12-31"] {
            assert!(!Shift::moment(Value::Text(text.as_bytes()), 1, &mut |_| ()), "{text}");
        }
    }

    #[test]
    fn a_person_has_days_of_her_own_and_never_none() {
        let shift = Shift::new(&MaskKey::new([1; 16]).unwrap(), 3);
        let mut seen = [0; 7];
        for person in 0..6000 {
            let days = |value| shift.days_of(value, Equality::default(), &mut Vec::new());
            assert_eq!(days(Value::Int(person)), days(Value::Real(person as f64)));
            seen[(days(Value::Int(person)) + 3) as usize] += 1;
        }
        assert_eq!(seen[3], 0);
        assert!(seen.iter().enumerate().all(|(at, count)| at == 3 || *count > 850), "{seen:?}");
    }
}
