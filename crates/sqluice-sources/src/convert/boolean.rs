//! Words for true and false, such as `yes` and `no`, which become 1 and 0.

use sqluice_core::error::Message;

/// The words for true and false. Case does not matter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Words {
    /// The words of [`TRUE`] and [`FALSE`].
    Usual,
    /// Words of the user, in lower case.
    Given(String, String),
}

const TRUE: [&[u8]; 6] = [b"true", b"t", b"yes", b"y", b"on", b"1"];
const FALSE: [&[u8]; 6] = [b"false", b"f", b"no", b"n", b"off", b"0"];

impl Words {
    /// Creates words of the user, or returns the reason why they can't be used, and a hint.
    pub(super) fn new(yes: &str, no: &str) -> Result<Words, (String, Message)> {
        let (yes, no) = (yes.to_lowercase(), no.to_lowercase());
        let hint = "name a word for true and one for false, such as ja and nein".into();
        match () {
            () if yes.is_empty() || no.is_empty() => Err(("a word is missing".to_owned(), hint)),
            () if yes == no => Err(("both words are the same".to_owned(), hint)),
            () => Ok(Words::Given(yes, no)),
        }
    }

    /// Returns the meaning of a text; `None` if the text is none of the words.
    pub(super) fn meaning(&self, text: &[u8]) -> Option<bool> {
        match self {
            Words::Usual => {
                let is_one_of = |words: &[&[u8]; 6]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
                if is_one_of(&TRUE) { Some(true) } else { is_one_of(&FALSE).then_some(false) }
            }
            Words::Given(yes, no) => {
                let is = |word: &str| {
                    word.as_bytes().eq_ignore_ascii_case(text)
                        || !text.is_ascii()
                            && str::from_utf8(text).is_ok_and(|text| text.to_lowercase() == *word)
                };
                if is(yes) { Some(true) } else { is(no).then_some(false) }
            }
        }
    }

    /// Lists the words for messages.
    pub(super) fn listed(&self) -> String {
        match self {
            Words::Usual => "true/false, t/f, yes/no, y/n, on/off or 1/0".to_owned(),
            Words::Given(yes, no) => format!("{yes}/{no}"),
        }
    }
}
