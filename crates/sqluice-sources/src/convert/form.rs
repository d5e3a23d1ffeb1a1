//! The form of timestamps as text. If rows are appended to a column of timestamps, they take the form of the column.
//!
//! ```text
//!  2024-02-29 01:02:03.500+00:00     a blank, as few digits as needed, an offset: the form of new columns
//!  2024-02-29T01:02:03Z              T, no digits, Z
//! ```
//!
//! Invariant: a timestamp is the same moment in each form. A zone is written in another way, but never added or left out.

/// A form of timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MomentForm {
    /// `b' '` or `b'T'`.
    separator: u8,
    /// The least number of digits of a fraction of a second.
    digits: usize,
    /// `true` if UTC is `Z` instead of `+00:00`.
    is_zulu: bool,
}

/// A timestamp in pieces.
struct Pieces<'t> {
    date: &'t [u8],
    separator: u8,
    time: &'t [u8],
    fraction: &'t [u8],
    zone: &'t [u8],
}

/// The number of bytes of a date such as `2024-02-29`.
const DATE_BYTES: usize = 10;
/// The number of bytes of a date and time such as `2024-02-29T01:02:03`.
const SECOND_BYTES: usize = 19;

impl<'t> Pieces<'t> {
    fn of(text: &'t [u8]) -> Option<Pieces<'t>> {
        let shape = |text: &[u8], shape: &[u8]| {
            text.iter().zip(shape).all(|(byte, wanted)| match wanted {
                b'0' => byte.is_ascii_digit(),
                other => byte == other,
            })
        };
        let (whole, rest) = text.split_at_checked(SECOND_BYTES)?;
        let (date, separator, time) = (&whole[..DATE_BYTES], whole[DATE_BYTES], &whole[DATE_BYTES + 1..]);
        if !shape(date, b"0000-00-00") || !shape(time, b"00:00:00") || !matches!(separator, b' ' | b'T') {
            return None;
        }
        let (fraction, zone) = match rest.split_first() {
            Some((b'.', rest)) => rest.split_at(rest.iter().take_while(|byte| byte.is_ascii_digit()).count()),
            _ => (&rest[..0], rest),
        };
        let is_zone = match zone {
            b"" | b"Z" => true,
            [b'+' | b'-', offset @ ..] => offset.len() == 5 && shape(offset, b"00:00"),
            _ => false,
        };
        let is_fraction =
            (fraction.is_empty() && !rest.starts_with(b".")) || (1..=9).contains(&fraction.len());
        (is_zone && is_fraction).then_some(Pieces { date, separator, time, fraction, zone })
    }
}

impl MomentForm {
    /// Returns the form of a timestamp, or `None` if it has the form of new columns and no fraction. Returns `None` for any other text,
    /// too.
    pub fn of(text: &str) -> Option<MomentForm> {
        let Pieces { separator, fraction, zone, .. } = Pieces::of(text.as_bytes())?;
        let form = MomentForm { separator, digits: fraction.len(), is_zulu: zone == b"Z" };
        (form != MomentForm { separator: b' ', digits: 0, is_zulu: false }).then_some(form)
    }

    /// Appends a timestamp in this form, and any other text as it is.
    pub fn write(&self, text: &[u8], out: &mut Vec<u8>) {
        let Some(Pieces { date, time, fraction, zone, .. }) = Pieces::of(text) else {
            return out.extend_from_slice(text);
        };
        out.extend_from_slice(date);
        out.push(self.separator);
        out.extend_from_slice(time);
        // New columns have 0, 3, 6 or 9 digits, which may end in zeros. A form with another number of digits drops zeros at the end.
        let needed = match self.digits % 3 {
            0 => fraction.len(),
            _ => fraction.iter().rposition(|digit| *digit != b'0').map_or(0, |last| last + 1),
        };
        let digits = needed.max(self.digits);
        if digits > 0 {
            out.push(b'.');
            out.extend((0..digits).map(|at| fraction.get(at).copied().unwrap_or(b'0')));
        }
        let is_utc = matches!(zone, b"Z" | b"+00:00");
        out.extend_from_slice(match (is_utc, self.is_zulu) {
            (true, true) => b"Z",
            (true, false) => b"+00:00",
            (false, _) => zone,
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rusqlite::Connection;

    use super::*;

    fn written(form: &str, text: &str) -> String {
        let form = MomentForm::of(form).expect("another form");
        let mut out = Vec::new();
        form.write(text.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_timestamp_is_written_with_the_separator_zone_and_digits_of_a_given_timestamp() {
        for (form, text, expected) in [
            ("2024-01-01T00:00:00", "2024-02-29 01:02:03", "2024-02-29T01:02:03"),
            ("2024-01-01T00:00:00", "2024-02-29 01:02:03.500", "2024-02-29T01:02:03.500"),
            ("2024-01-01T00:00:00Z", "2024-02-29 01:02:03+00:00", "2024-02-29T01:02:03Z"),
            ("2024-01-01T00:00:00Z", "2024-02-29 01:02:03", "2024-02-29T01:02:03"),
            ("2024-01-01T00:00:00Z", "2024-02-29 01:02:03+02:00", "2024-02-29T01:02:03+02:00"),
            ("2024-01-01T00:00:00", "2024-02-29 01:02:03+00:00", "2024-02-29T01:02:03+00:00"),
            ("2024-01-01 00:00:00.000000", "2024-02-29 01:02:03", "2024-02-29 01:02:03.000000"),
            ("2024-01-01 00:00:00.000000", "2024-02-29 01:02:03.500", "2024-02-29 01:02:03.500000"),
            ("2024-01-01 00:00:00.000", "2024-02-29 01:02:03.123456", "2024-02-29 01:02:03.123456"),
            ("2024-01-01 00:00:00.5", "2024-02-29 01:02:03.500", "2024-02-29 01:02:03.5"),
            ("2024-01-01 00:00:00.5", "2024-02-29 01:02:03.120", "2024-02-29 01:02:03.12"),
            ("2024-01-01T00:00:00", "no timestamp", "no timestamp"),
            ("2024-01-01T00:00:00", "2024-02-29", "2024-02-29"),
        ] {
            assert_eq!(written(form, text), expected, "{form} {text}");
        }
    }

    #[test]
    fn the_usual_form_of_timestamps_and_text_that_is_no_timestamp_give_no_special_form() {
        for text in [
            "2024-01-01 00:00:00",
            "2024-01-01 00:00:00+00:00",
            "2024-01-01",
            "2024-01-01T00:00:00.",
            "2024-01-01T00:00:00+1",
            "2024-01-01t00:00:00",
            "",
            "ä2024-01-01T00:00:00",
        ] {
            assert_eq!(MomentForm::of(text), None, "{text}");
        }
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(256))]

        #[test]
        fn sqlite_reads_the_same_time_from_each_form_of_a_timestamp(
            form in "2024-01-01[ T]00:00:00(\\.[0-9]{1,9})?(Z|\\+00:00)?",
            text in "20[0-9]{2}-0[1-9]-1[0-9] 1[0-9]:[0-5][0-9]:[0-5][0-9](\\.[0-9]{3}|\\.[0-9]{6})?(\\+00:00)?",
        ) {
            let Some(form) = MomentForm::of(&form) else { return Ok(()) };
            let mut out = Vec::new();
            form.write(text.as_bytes(), &mut out);
            let connection = Connection::open_in_memory().unwrap();
            let sql = "SELECT julianday(?1) IS NOT NULL AND strftime('%J %f', ?1) = strftime('%J %f', ?2)";
            let out = String::from_utf8(out).unwrap();
            prop_assert!(connection.query_row(sql, [&text, &out], |row| row.get::<_, bool>(0)).unwrap(), "{text} {out}");
        }
    }
}
