//! Splits texts into the tokens that a tokenizer of SQLite gives: most texts by `split`, others by SQLite itself.

use super::split::Splitter;
pub(crate) use super::sqlite_tokenizer::NoTokenizer;
use super::sqlite_tokenizer::SqliteTokenizer;

/// A tokenizer that SQLite knows by its name.
pub(crate) struct Tokenizer {
    sqlite: SqliteTokenizer,
    /// The splitter of ASCII texts. `None` if SQLite splits all texts.
    splitter: Option<Splitter>,
}

impl Tokenizer {
    /// Creates the tokenizer `arguments[0]` with the other arguments.
    ///
    /// # Errors
    /// If SQLite has no tokenizer of this name, the tokenizer refuses the arguments, or SQLite can't open a connection.
    pub(crate) fn new(arguments: &[String]) -> Result<Tokenizer, NoTokenizer> {
        let sqlite = SqliteTokenizer::new(arguments)?;
        let splitter = Splitter::of(arguments, &sqlite);
        Ok(Tokenizer { sqlite, splitter })
    }

    /// Calls `each` with each token of a text, in order, and with `true` if the token has the position of the token before.
    ///
    /// # Errors
    /// If the tokenizer fails, as without memory.
    #[inline]
    pub(crate) fn tokenize<F: FnMut(&[u8], bool)>(
        &mut self,
        text: &[u8],
        each: &mut F,
    ) -> rusqlite::Result<()> {
        match &mut self.splitter {
            Some(splitter) if text.len() <= Splitter::TEXT_BYTES_MAX => {
                splitter.split(text, each, &self.sqlite)
            }
            _ => self.sqlite.split(text, each),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sqluice_testkit::cases;

    use super::*;

    /// The tokenizers whose ASCII texts are split here, with options that change the meaning of ASCII bytes.
    const TOKENIZERS: &[&[&str]] = &[
        &["unicode61"],
        &["UNICODE61", "remove_diacritics", "2"],
        &["unicode61", "remove_diacritics", "0", "tokenchars", "-_A "],
        &["unicode61", "separators", "aZ5\u{e9}"],
        &["unicode61", "categories", "L* N* Co Mn P*", "separators", "."],
        &["ascii"],
        &["ascii", "tokenchars", "-\u{e9}", "separators", "bQ"],
        &["porter"],
        &["porter", "ascii"],
        &["PORTER", "porter", "unicode61", "tokenchars", "-_", "remove_diacritics", "2"],
        &["trigram"],
        &["trigram", "case_sensitive", "1"],
        &["trigram", "remove_diacritics", "1"],
    ];

    /// Parts of texts: ASCII, letters and marks of other scripts, and bytes that are no UTF-8.
    const PARTS: &[&[u8]] = &[
        b"a",
        b"Z",
        b"5",
        b"Q",
        b"b",
        b" ",
        b"  ",
        b"-",
        b"_",
        b".",
        b"\0",
        b"\x7f",
        b"\n",
        b"@",
        b"[",
        b"`",
        b"{",
        b"word",
        b"LongWordOfManyLetters",
        b"ab",
        b"abc",
        b"abcd",
        b" one Two ",
        b"ing",
        b"ational",
        b"Happy",
        b"y",
        b"running ",
        "\u{e9}".as_bytes(),
        "\u{301}".as_bytes(),
        "\u{391}\u{3ac}".as_bytes(),
        "\u{6f22}".as_bytes(),
        "\u{2014}".as_bytes(),
        "\u{1f600}".as_bytes(),
        b"\x80",
        b"\xc3",
        b"\xff",
        b"\xe2\x82",
        b"\xed\xa0\x80",
        b"\xc0\x80",
    ];

    fn tokenizer(arguments: &[&str]) -> Tokenizer {
        let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        Tokenizer::new(&arguments).unwrap()
    }

    fn same(arguments: &[&str], text: &[u8]) -> Result<(), TestCaseError> {
        let mut tokenizer = tokenizer(arguments);
        prop_assert!(tokenizer.splitter.is_some(), "{arguments:?}");
        let (mut ours, mut expected) = (Vec::new(), Vec::new());
        tokenizer.tokenize(text, &mut |token: &[u8], at: bool| ours.push((token.to_vec(), at))).unwrap();
        tokenizer
            .sqlite
            .split(text, &mut |token: &[u8], at: bool| expected.push((token.to_vec(), at)))
            .unwrap();
        prop_assert_eq!(ours, expected, "{:?} {:?}", arguments, text);
        Ok(())
    }

    proptest! {
        #![proptest_config(cases(400))]
        #[test]
        fn texts_are_split_as_sqlite_splits_them(
            arguments in prop::sample::select(TOKENIZERS),
            parts in prop::collection::vec(prop::sample::select(PARTS), 0..40),
        ) {
            same(arguments, &parts.concat())?;
        }

        #[test]
        fn any_bytes_are_split_as_sqlite_splits_them(
            arguments in prop::sample::select(TOKENIZERS),
            text in prop::collection::vec(prop_oneof![3 => 0x20_u8..0x80, 1 => any::<u8>()], 0..200),
        ) {
            same(arguments, &text)?;
        }
    }

    #[test]
    fn long_texts_are_split_as_sqlite_splits_them() {
        let ascii = b"Lorem ipsum_dolor, sit-amet 42 ".repeat(1000);
        let mixed = "straße, naïve café Привет мир ".repeat(300).into_bytes();
        let long = vec![b'X'; 100_000];
        let huge = [&b"y ".repeat(1 << 19)[..], "é".as_bytes()].concat();
        for arguments in TOKENIZERS {
            for text in [&ascii, &mixed, &long, &[&ascii[..], &mixed, &long, &ascii].concat()] {
                same(arguments, text).unwrap();
            }
        }
        same(&["unicode61"], &huge).unwrap();
    }

    #[test]
    fn texts_of_a_tokenizer_whose_tokens_of_ascii_are_not_known_are_split_by_sqlite() {
        // SQLite folds an `A` to an `a`, and takes an `a` for a separator.
        assert!(tokenizer(&["porter", "unicode61", "separators", "a"]).splitter.is_none());
        assert!(tokenizer(&["porter", "trigram"]).splitter.is_none());
    }
}
