//! Alphabets of the mask `shape()`: a letter or digit is replaced by one of the same script, case and length in UTF-8.
//!
//! ```text
//!  7   the ten digits              Q   26 capital letters, numbered like the small letters: `Q` and `q` are both 16
//!  é   small Latin letters with a diacritic, of two bytes         语   all Chinese characters of the basic block
//! ```
//!
//! Characters other than letters and digits have no alphabet and are kept.

use std::sync::LazyLock;

use super::permutation::Symbol;

/// Ranges of code points of one script and one length in UTF-8. Each range is divided into alphabets by the kind of character.
const SCRIPTS: &[(u32, u32)] = &[
    (0xc0, 0x24f),
    (0x370, 0x3ff),
    (0x400, 0x52f),
    (0x531, 0x587),
    (0x5d0, 0x5ea),
    (0x620, 0x64a),
    (0x1e00, 0x1eff),
    (0x3041, 0x3096),
    (0x30a1, 0x30fa),
];

/// Ranges of code points that are a single alphabet of letters.
const LETTERS: &[(u32, u32)] = &[(0x4e00, 0x9fff), (0xac00, 0xd7a3), (0x20000, 0x2a6df)];

/// The size of an alphabet's block outside these ranges: the code points that differ in the last byte of UTF-8 alone.
const BLOCK: u32 = 64;

/// The kind of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Digit,
    Small,
    Capital,
    Letter,
}

impl Kind {
    fn of(character: char) -> Option<Kind> {
        match character {
            _ if character.is_numeric() => Some(Kind::Digit),
            _ if character.is_lowercase() => Some(Kind::Small),
            _ if character.is_uppercase() => Some(Kind::Capital),
            _ if character.is_alphabetic() => Some(Kind::Letter),
            _ => None,
        }
    }
}

/// The alphabets of a script: the kind of each alphabet, and its characters in order.
type Alphabets = Vec<(Kind, Vec<char>)>;

static OF_SCRIPTS: LazyLock<Vec<Alphabets>> =
    LazyLock::new(|| SCRIPTS.iter().map(|&(first, last)| alphabets(first, last)).collect());

fn alphabets(first: u32, last: u32) -> Alphabets {
    let kinds = [Kind::Digit, Kind::Small, Kind::Capital, Kind::Letter];
    let of_kind = |kind| members(first, last, kind).collect();
    kinds.into_iter().map(|kind| (kind, of_kind(kind))).collect()
}

fn members(first: u32, last: u32, kind: Kind) -> impl Iterator<Item = char> {
    (first..=last).filter_map(char::from_u32).filter(move |member| Kind::of(*member) == Some(kind))
}

/// Returns the number of a character in its alphabet; `None` if the character has no alphabet.
pub(super) fn symbol_of(character: char) -> Option<Symbol> {
    let symbol = |number: usize, of: usize| Some(Symbol { number: number as u32, of: of as u32 });
    match character {
        '0'..='9' => return symbol(character as usize - '0' as usize, 10),
        'a'..='z' => return symbol(character as usize - 'a' as usize, 26),
        'A'..='Z' => return symbol(character as usize - 'A' as usize, 26),
        '\0'..='\x7f' => return None,
        _ => {}
    }
    let code = u32::from(character);
    if let Some((first, last)) = within(LETTERS, code) {
        return symbol((code - first) as usize, (last - first + 1) as usize);
    }
    let kind = Kind::of(character)?;
    if let Some(alphabet) = of_script(code, kind) {
        return symbol(alphabet.binary_search(&character).ok()?, alphabet.len());
    }
    let (first, last) = block(code);
    let before = members(first, code, kind).count() - 1;
    symbol(before, members(first, last, kind).count())
}

/// Returns the character with number `number` in the alphabet of `like`.
pub(super) fn character_of(like: char, number: u32) -> char {
    let ascii = |first: u8| char::from(first + number as u8);
    match like {
        '0'..='9' => return ascii(b'0'),
        'a'..='z' => return ascii(b'a'),
        'A'..='Z' => return ascii(b'A'),
        _ => {}
    }
    let code = u32::from(like);
    let found = match (within(LETTERS, code), Kind::of(like)) {
        (Some((first, _)), _) => char::from_u32(first + number),
        (None, Some(kind)) => match of_script(code, kind) {
            Some(alphabet) => alphabet.get(number as usize).copied(),
            None => {
                let (first, last) = block(code);
                members(first, last, kind).nth(number as usize)
            }
        },
        (None, None) => None,
    };
    found.unwrap_or(like)
}

fn within(ranges: &[(u32, u32)], code: u32) -> Option<(u32, u32)> {
    ranges.iter().copied().find(|(first, last)| (*first..=*last).contains(&code))
}

fn of_script(code: u32, kind: Kind) -> Option<&'static [char]> {
    let script = SCRIPTS.iter().position(|(first, last)| (*first..=*last).contains(&code))?;
    OF_SCRIPTS[script].iter().find(|(known, _)| *known == kind).map(|(_, members)| &members[..])
}

fn block(code: u32) -> (u32, u32) {
    let first = code / BLOCK * BLOCK;
    let last = first + BLOCK - 1;
    // The characters of the block that belong to none of these ranges form one alphabet.
    let ends = SCRIPTS.iter().chain(LETTERS).copied();
    ends.fold((first, last), |(first, last), (begins, ends)| match () {
        () if code > ends => (first.max(ends + 1), last),
        () if code < begins => (first, last.min(begins - 1)),
        () => (first, last),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_found_by_its_number_in_its_alphabet() {
        for character in ('\0'..=char::MAX).filter(|it| u32::from(*it) < 0x2000 || u32::from(*it) % 7 == 0) {
            let Some(Symbol { number, of }) = symbol_of(character) else { continue };
            assert!(number < of);
            assert_eq!(character_of(character, number), character);
            for other in [0, of / 2, of - 1] {
                let made = character_of(character, other);
                let symbol = symbol_of(made).unwrap();
                assert_eq!((symbol.number, symbol.of), (other, of), "{character} {made}");
                assert_eq!(made.len_utf8(), character.len_utf8(), "{character} {made}");
                assert_eq!(Kind::of(made), Kind::of(character), "{character} {made}");
            }
        }
    }

    #[test]
    fn letters_of_common_scripts_have_large_alphabets() {
        for character in "aZ5éÉßжЖяλΩשمあア王김ạ".chars() {
            let of = symbol_of(character).unwrap().of;
            assert!(of >= if character == '5' { 10 } else { 22 }, "{character} is one of {of}");
        }
        for kept in "-@. \u{301}😀_,'€".chars() {
            assert_eq!(symbol_of(kept), None, "{kept}");
        }
    }
}
