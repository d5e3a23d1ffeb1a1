//! Names of people, places and things, composed of words from lists.
//!
//! All phrases are numbered: the number has a digit for each list. After the last phrase they repeat with a suffix, 2, 3 and so on,
//! so that any number of rows can have different phrases.

use std::io::Write as _;
use std::sync::Arc;

use sqluice_core::error::Result;

use super::words::{
    ADJECTIVES, CITIES, COUNTRIES, COUNTRY_CODES, FIRST_NAMES, JOBS, LAST_NAMES, LOREM, SITES, STATES,
    STREETS, THINGS, TRADES,
};
use super::{Function, Generate};
use crate::generator::{Class, Domain, Scope, Size, World, draw, draw_at};
use crate::random::{below32, below64};
use crate::vector::{RowRange, Vector};

/// An element of a phrase: a word, a fixed text, a number, or the suffix.
#[derive(Clone, Copy, Debug)]
enum Piece {
    /// A word of a list.
    Word(&'static [&'static str]),
    /// A word of a list in lower case, without characters other than letters.
    Small(&'static [&'static str]),
    Text(&'static str),
    /// A number in decimal digits: the minimum, the maximum, and the minimum count of digits.
    Number(u64, u64, usize),
    /// The place for the suffix 2, 3, ... of repeated phrases, which follows this text.
    Suffix(&'static str),
}

use Piece::{Number, Small, Suffix, Text, Word};

macro_rules! phrase {
    ($name:ident, $function:literal, $about:literal, [$($piece:expr),+]) => {
        pub(super) const $name: Function = Function {
            name: $function,
            signature: concat!($function, "()"),
            about: $about,
            example: concat!($function, "()"),
            build: |arguments| {
                arguments.count(0)?;
                const PIECES: &[Piece] = &[$($piece),+];
                Ok(Arc::new(Phrase { pieces: PIECES }))
            },
        };
    };
}

phrase!(FIRST_NAME, "first_name", "a person's first name", [Word(FIRST_NAMES), Suffix(" ")]);
phrase!(LAST_NAME, "last_name", "a person's last name", [Word(LAST_NAMES), Suffix(" ")]);
phrase!(
    NAME,
    "name",
    "a person's first and last name",
    [Word(FIRST_NAMES), Text(" "), Word(LAST_NAMES), Suffix(" ")]
);
phrase!(
    USERNAME,
    "username",
    "a login name",
    [Small(FIRST_NAMES), Text("_"), Small(LAST_NAMES), Number(10, 99, 2), Suffix("_")]
);
phrase!(
    EMAIL,
    "email",
    "an email address at a domain reserved for examples",
    [Small(FIRST_NAMES), Text("."), Small(LAST_NAMES), Suffix("."), Text("@"), Word(SITES), Text(".example")]
);
phrase!(
    PHONE,
    "phone",
    "a telephone number that is not in use",
    [Text("+1-"), Number(201, 989, 3), Text("-555-"), Number(0, 9999, 4), Suffix(" ext. ")]
);
phrase!(COMPANY, "company", "a company's name", [Word(LAST_NAMES), Text(" "), Word(TRADES), Suffix(" ")]);
phrase!(JOB, "job", "an occupation", [Word(JOBS), Suffix(" ")]);
phrase!(
    PRODUCT,
    "product",
    "the name of a product",
    [Word(ADJECTIVES), Text(" "), Word(THINGS), Suffix(" ")]
);
phrase!(
    STREET,
    "street",
    "a street and a number",
    [Number(1, 200, 1), Text(" "), Word(LAST_NAMES), Text(" "), Word(STREETS), Suffix(", apartment ")]
);
phrase!(CITY, "city", "a city", [Word(CITIES), Suffix(" ")]);
phrase!(STATE, "state", "a state or province", [Word(STATES), Suffix(" ")]);
phrase!(COUNTRY, "country", "a country", [Word(COUNTRIES), Suffix(" ")]);
phrase!(COUNTRY_CODE, "country_code", "a country as two letters", [Word(COUNTRY_CODES), Suffix("")]);
phrase!(
    ADDRESS,
    "address",
    "street, city and country on one line",
    [
        Number(1, 200, 1),
        Text(" "),
        Word(LAST_NAMES),
        Text(" "),
        Word(STREETS),
        Suffix(", apartment "),
        Text(", "),
        Word(CITIES),
        Text(", "),
        Word(COUNTRIES)
    ]
);
phrase!(DOMAIN, "domain", "a domain reserved for examples", [Word(SITES), Suffix("-"), Text(".example")]);
phrase!(
    URL,
    "url",
    "a link",
    [
        Text("https://"),
        Word(SITES),
        Text(".example/"),
        Small(THINGS),
        Text("/"),
        Number(1, 9999, 1),
        Suffix("/")
    ]
);
phrase!(
    IP,
    "ip",
    "an IPv4 address of a private network",
    [Text("10."), Number(0, 255, 1), Text("."), Number(0, 255, 1), Text("."), Number(1, 254, 1), Suffix(":")]
);
phrase!(WORD, "word", "a word of Latin", [Word(LOREM), Suffix("")]);

pub(super) const MAC: Function = Function {
    name: "mac",
    signature: "mac()",
    about: "an address of a network card, locally administered",
    example: "mac()",
    build: |arguments| {
        arguments.count(0)?;
        Ok(Arc::new(Mac))
    },
};

pub(super) const WORDS: Function = Function {
    name: "words",
    signature: "words(min, max)",
    about: "min to max words of Latin",
    example: "words(1, 3)",
    build: |arguments| {
        arguments.count(2)?;
        let bounds = (arguments.int_within(0, 1, WORDS_MAX)?, arguments.int_within(1, 1, WORDS_MAX)?);
        let (min, max) = arguments.ordered(bounds)?;
        Ok(Arc::new(Prose { words: (min as u32, max as u32), sentences: (1, 1), form: Form::Words }))
    },
};

pub(super) const TITLE: Function = Function {
    name: "title",
    signature: "title()",
    about: "two to five words of Latin, each with a capital letter",
    example: "title()",
    build: |arguments| {
        arguments.count(0)?;
        Ok(Arc::new(Prose { words: (2, 5), sentences: (1, 1), form: Form::Title }))
    },
};

pub(super) const SENTENCE: Function = Function {
    name: "sentence",
    signature: "sentence()",
    about: "a sentence of Latin, of four to twelve words",
    example: "sentence()",
    build: |arguments| {
        arguments.count(0)?;
        Ok(Arc::new(Prose { words: (4, 12), sentences: (1, 1), form: Form::Sentence }))
    },
};

pub(super) const PARAGRAPH: Function = Function {
    name: "paragraph",
    signature: "paragraph()",
    about: "three to six sentences of Latin",
    example: "paragraph()",
    build: |arguments| {
        arguments.count(0)?;
        Ok(Arc::new(Prose { words: (4, 12), sentences: (3, 6), form: Form::Sentence }))
    },
};

const WORDS_MAX: i64 = 100_000;

/// A generator of phrases from these pieces.
#[derive(Debug)]
struct Phrase {
    pieces: &'static [Piece],
}

impl Piece {
    /// Returns the number of values that the piece can have.
    fn count(&self) -> u64 {
        match self {
            Word(list) | Small(list) => list.len() as u64,
            Number(low, high, _) => high - low + 1,
            Text(_) | Suffix(_) => 1,
        }
    }

    fn bytes_max(&self) -> u64 {
        let longest = |list: &[&str]| list.iter().map(|word| word.len()).max().unwrap_or(0) as u64;
        match self {
            Word(list) | Small(list) => longest(list),
            Number(_, high, width) => (high.max(&1).ilog10() as usize + 1).max(*width) as u64,
            Text(text) => text.len() as u64,
            Suffix(_) => 0,
        }
    }
}

impl Phrase {
    fn all(&self) -> u64 {
        self.pieces.iter().map(Piece::count).product()
    }

    fn write(&self, number: u64, out: &mut Vec<u8>) {
        let mut rest = number;
        let again = number / self.all();
        for piece in self.pieces {
            let chosen = rest % piece.count();
            rest /= piece.count();
            match *piece {
                Word(list) => out.extend_from_slice(list[chosen as usize].as_bytes()),
                Small(list) => {
                    let letters = list[chosen as usize].bytes().filter(u8::is_ascii_alphanumeric);
                    out.extend(letters.map(|letter| letter.to_ascii_lowercase()));
                }
                Text(text) => out.extend_from_slice(text.as_bytes()),
                // Writing to a Vec can't fail.
                Number(low, _, width) => {
                    let _ = write!(out, "{:0width$}", low + chosen);
                }
                Suffix(before) => {
                    if again > 0 {
                        let _ = write!(out, "{before}{}", again + 1);
                    }
                }
            }
        }
    }
}

impl Generate for Phrase {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        if let [Word(list), Suffix(_)] = self.pieces {
            // A phrase of one word is copied from the list: nothing has to be composed.
            return fill_words(list, at, rows, out);
        }
        draw(self, at, rows, out)
    }

    fn fill_at(&self, at: Scope<'_>, rows: &[u64], out: &mut Vector) -> Result<()> {
        draw_at(self, at, rows, out)
    }

    fn size(&self) -> Size {
        let max = self.pieces.iter().map(Piece::bytes_max).sum();
        Size { mean: max * 2 / 3, max }
    }

    fn class(&self) -> Class {
        Class::Text
    }

    fn domain(&self) -> Option<&dyn Domain> {
        Some(self)
    }
}

fn fill_words(list: &[&str], at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
    out.values();
    let mut numbers = vec![0; rows.count];
    at.key.map64(rows.first, &mut numbers, |bits| below64(bits, list.len() as u64) as usize);
    numbers.iter().for_each(|&number| out.push(sqluice_core::batch::Value::Text(list[number].as_bytes())));
    out.settle();
    Ok(())
}

impl Domain for Phrase {
    fn count(&self, _: &World) -> Result<u64> {
        Ok(self.all())
    }

    fn nth(&self, _: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        out.values();
        numbers.iter().for_each(|&number| out.push_text(|bytes| self.write(number, bytes)));
        out.settle();
        Ok(())
    }

    fn is_endless(&self) -> bool {
        true
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Words,
    Title,
    Sentence,
}

/// Sentences of random Latin words.
#[derive(Debug)]
struct Prose {
    /// The minimum and maximum number of words in a sentence.
    words: (u32, u32),
    sentences: (u32, u32),
    form: Form,
}

impl Generate for Prose {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        out.values();
        for row in rows.first..rows.first + rows.count as u64 {
            let key = at.key.row(row);
            let mut drawn = 0;
            let mut draw = |(low, high): (u32, u32)| {
                drawn += 1;
                low + below32((key.word(drawn) >> 32) as u32, high - low + 1)
            };
            out.push_text(|bytes| {
                for sentence in 0..draw(self.sentences) {
                    if sentence > 0 {
                        bytes.push(b' ');
                    }
                    for word in 0..draw(self.words) {
                        if word > 0 {
                            bytes.push(b' ');
                        }
                        let start = bytes.len();
                        let chosen = draw((0, LOREM.len() as u32 - 1)) as usize;
                        bytes.extend_from_slice(LOREM[chosen].as_bytes());
                        if self.form == Form::Title || (self.form == Form::Sentence && word == 0) {
                            bytes[start].make_ascii_uppercase();
                        }
                    }
                    if self.form == Form::Sentence {
                        bytes.push(b'.');
                    }
                }
            });
        }
        out.settle();
        Ok(())
    }

    fn size(&self) -> Size {
        let longest = LOREM.iter().map(|word| word.len()).max().unwrap_or(0) as u64 + 2;
        let words =
            u64::from(self.words.0 + self.words.1) * u64::from(self.sentences.0 + self.sentences.1) / 4;
        let max = u64::from(self.words.1) * u64::from(self.sentences.1) * longest;
        Size { mean: words * longest * 2 / 3, max }
    }

    fn class(&self) -> Class {
        Class::Text
    }
}

#[derive(Debug)]
struct Mac;

impl Generate for Mac {
    fn fill(&self, at: Scope<'_>, rows: RowRange, out: &mut Vector) -> Result<()> {
        draw(self, at, rows, out)
    }

    fn size(&self) -> Size {
        Size::exactly(17)
    }

    fn class(&self) -> Class {
        Class::Text
    }

    fn domain(&self) -> Option<&dyn Domain> {
        Some(self)
    }
}

impl Domain for Mac {
    fn count(&self, _: &World) -> Result<u64> {
        Ok(1 << 40)
    }

    fn nth(&self, _: Scope<'_>, numbers: &[u64], out: &mut Vector) -> Result<()> {
        out.values();
        for number in numbers {
            let [.., a, b, c, d, e] = number.to_be_bytes();
            out.push_text(|bytes| {
                let _ = write!(bytes, "02:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}");
            });
        }
        out.settle();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_words_of_a_list_differ_even_in_lower_case() {
        for list in [
            ADJECTIVES,
            CITIES,
            COUNTRIES,
            COUNTRY_CODES,
            FIRST_NAMES,
            JOBS,
            LAST_NAMES,
            LOREM,
            SITES,
            STATES,
            STREETS,
            THINGS,
            TRADES,
        ] {
            let small = |word: &&str| word.bytes().filter(u8::is_ascii_alphanumeric).collect::<Vec<u8>>();
            let small: HashSet<Vec<u8>> =
                list.iter().map(small).map(|word| word.to_ascii_lowercase()).collect();
            assert_eq!(small.len(), list.len(), "{list:?}");
            assert!(list.iter().all(|word| word.is_ascii() && !word.is_empty()));
        }
        assert_eq!(COUNTRIES.len(), COUNTRY_CODES.len());
    }

    #[test]
    fn phrases_stay_different_after_all_combinations_of_words_are_used() {
        let phrases = [
            Phrase { pieces: &[Word(COUNTRIES), Suffix(" ")] },
            Phrase {
                pieces: &[Small(&["a", "b"]), Text("."), Small(&["c", "d", "e"]), Suffix("."), Text("@x")],
            },
            Phrase { pieces: &[Text("+"), Number(0, 12, 2), Suffix("-")] },
        ];
        for phrase in phrases {
            let mut seen = HashSet::new();
            for number in 0..5 * phrase.all() {
                let mut bytes = Vec::new();
                phrase.write(number, &mut bytes);
                if number < phrase.all() {
                    assert!(bytes.len() as u64 <= phrase.size().max);
                }
                assert!(seen.insert(bytes), "{number} of {phrase:?}");
            }
        }
    }
}
