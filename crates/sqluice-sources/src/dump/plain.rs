//! Finds the end of a row of plain literals: numbers, strings and words such as NULL.
//!
//! Most rows have only plain literals. A block of 64 bytes becomes three masks, with a bit for each byte. Only bytes of `others` are looked
//! at one by one, from the second on:
//!
//! ```text
//!  bytes    (1,-2.5,'it''s (1)',NULL),(2
//!  quotes   ........#..##.....#.........
//!  strings  ........###.######..........     the quotes up to this byte are odd in number; a doubled quote closes and opens again
//!  others   #..#................#####.#.     neither in a string, nor a quote, digit, point or comma; the first `)` ends the row
//! ```
//!
//! If backslashes are escapes, an escaped quote is not counted.
//!
//! Invariant: [`end_of_row`] returns the same end as [`scan_row`](super::literal::scan_row), or `None`.

use super::lex::{Dialect, Rules, is_word};
use super::literal::may_be_literal;
use crate::needles::{mask, odd, range, short};

/// Returns the end of the row whose opening parenthesis is at `at`. Returns `None` if the row has anything other than plain literals, or does
/// not end in `text`.
pub(super) fn end_of_row(text: &[u8], at: usize, rules: Rules) -> Option<usize> {
    let mut start = at;
    // The position up to which all bytes are handled: after the opening parenthesis, or after a word that extends into the next block.
    let mut passed = at + 1;
    let (mut within, mut escapes) = (0, false);
    loop {
        let rest = text.get(start..).filter(|rest| !rest.is_empty())?;
        let copy;
        let block = match rest.first_chunk() {
            Some(block) => block,
            None => {
                copy = short(rest).0;
                &copy
            }
        };
        let mut quotes = mask(block, [b'\'']);
        if rules.backslash_escapes {
            quotes &= !escaped(mask(block, [b'\\']), &mut escapes);
        }
        let strings = odd(quotes) ^ within;
        within = (strings.cast_signed() >> 63).cast_unsigned();
        let digits = range::<b',', b'9'>(block) & !mask(block, [b'-', b'/']);
        let mut others = !(strings | quotes | digits);
        loop {
            others &= u64::MAX.checked_shl((passed.max(start) - start) as u32).unwrap_or(0);
            if others == 0 {
                break;
            }
            let to = start + others.trailing_zeros() as usize;
            passed = to + 1;
            let before = text[to - 1];
            match *text.get(to)? {
                b')' => return Some(to + 1),
                b'-' | b'+' if matches!(before, b'(' | b',' | b'e' | b'E') => {}
                b' ' | b'\n' | b'\r' | b'\t' => {}
                byte if is_word(byte) => passed = end_of_word(text, to, rules.dialect)?,
                _ => return None,
            }
        }
        start += block.len();
    }
}

/// Returns the end of the word at `to`; `None` if the word is neither part of a number nor a possible literal.
fn end_of_word(text: &[u8], to: usize, dialect: Dialect) -> Option<usize> {
    let bytes = text[to..].iter().take_while(|byte| is_word(**byte)).count();
    let next = *text.get(to + bytes)?;
    let goes_on = is_word(text[to - 1]) || text[to - 1] == b'.';
    // `E'...'` is a string with escapes, which is not plain.
    let begins_string = matches!(text[to], b'e' | b'E');
    let is_plain = goes_on || !begins_string && may_be_literal(&text[to..to + bytes], next, dialect);
    is_plain.then_some(to + bytes)
}

/// Returns the positions of escaped bytes, given the positions of backslashes. On entry, `goes_on` is `true` if the previous block ends with
/// a backslash that escapes the first byte of this block; it is then set for the next block.
fn escaped(backslashes: u64, goes_on: &mut bool) -> u64 {
    let mut escaped = u64::from(*goes_on);
    let mut left = backslashes & !escaped;
    *goes_on = false;
    while left != 0 {
        let backslash = left & left.wrapping_neg();
        let next = backslash << 1;
        *goes_on = next == 0;
        escaped |= next;
        // An escaped backslash does not escape the next byte.
        left &= !(backslash | next);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::literal::{Scanned, scan_row};
    use super::{Dialect, Rules, end_of_row};

    /// Parts of rows, which the tests combine at random.
    const PARTS: [&str; 38] = [
        "1",
        "-2.5",
        "1e5",
        "1.0e-07",
        "+3",
        "1E",
        ".",
        "-",
        "+",
        "--",
        "/",
        "*/",
        "#",
        "'a'",
        "'it''s'",
        "''",
        "'",
        "\"",
        "'(1),'",
        "\\",
        "\\'",
        "\\\\",
        "NULL",
        "null",
        "TRUE",
        "x'00'",
        "X'ff'",
        "E'a\\'b'",
        "_binary 'a'",
        "N",
        "DEFAULT",
        "char(10)",
        ",",
        " ",
        "\n",
        "(",
        ")",
        "é",
    ];

    fn rules() -> impl Strategy<Value = Rules> {
        let dialects = select(&[Dialect::Sqlite, Dialect::MySql, Dialect::Postgres][..]);
        (dialects, any::<bool>())
            .prop_map(|(dialect, backslash_escapes)| Rules { backslash_escapes, ..dialect.rules() })
    }

    /// A literal that every dialect has, of any length.
    fn literal() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<i64>().prop_map(|int| int.to_string()),
            prop::num::f64::NORMAL.prop_map(|real| format!("{real:e}")),
            prop::num::f32::NORMAL.prop_map(|real| real.to_string()),
            "[a-z(),; \n]{0,100}".prop_map(|text| format!("'{}'", text.replace('a', "''"))),
            vec(any::<u8>(), 0..40).prop_map(|bytes| {
                format!("X'{}'", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
            }),
            select(&["NULL", "true", "FALSE"][..]).prop_map(str::to_owned),
        ]
    }

    proptest! {
        #![proptest_config(sqluice_testkit::cases(2000))]

        #[test]
        fn the_fast_search_for_the_end_of_a_row_agrees_with_the_loop_over_bytes(
            before in 0..3usize,
            parts in vec(select(&PARTS[..]), 0..60),
            cut in any::<prop::sample::Index>(),
            rules in rules(),
        ) {
            let text = format!("{}({})", " ".repeat(before), parts.concat());
            let text = &text.as_bytes()[..before + 1 + cut.index(text.len() - before)];
            if let Some(end) = end_of_row(text, before, rules) {
                prop_assert_eq!(scan_row(text, before, rules, false), Scanned::End(end));
                prop_assert_eq!(scan_row(text, before, rules, true), Scanned::End(end));
            }
        }

        #[test]
        fn the_fast_search_for_the_end_of_a_row_agrees_with_the_loop_on_random_bytes(
            bytes in vec(prop_oneof![select(&b"'\\,()-+eE1NULLx"[..]), any::<u8>()], 0..200),
            rules in rules(),
        ) {
            let text = [&b"("[..], &bytes].concat();
            if let Some(end) = end_of_row(&text, 0, rules) {
                prop_assert_eq!(scan_row(&text, 0, rules, false), Scanned::End(end));
            }
        }

        #[test]
        fn the_end_of_a_row_of_plain_literals_is_always_found(
            before in 0..80usize,
            literals in vec(literal(), 1..20),
            rules in rules(),
        ) {
            let row = format!("{}({})", " ".repeat(before), literals.join(","));
            let text = format!("{row},(2,'x');");
            prop_assert_eq!(end_of_row(text.as_bytes(), before, rules), Some(row.len()));
        }

        #[test]
        fn backslashes_escape_quotes_in_every_block(count in 0..150usize, before in 0..130usize) {
            let text = format!("('{}{}'),('')", "a".repeat(before), "\\".repeat(count));
            let rules = Dialect::MySql.rules();
            let slow = match scan_row(text.as_bytes(), 0, rules, true) {
                Scanned::End(end) => Some(end),
                Scanned::Other | Scanned::More => None,
            };
            prop_assert_eq!(end_of_row(text.as_bytes(), 0, rules), slow);
        }
    }
}
