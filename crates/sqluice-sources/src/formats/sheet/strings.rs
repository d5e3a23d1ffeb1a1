//! The shared texts of a workbook, to which cells refer by number.

use sqluice_core::error::Result;

use super::limits::Limits;
use super::package::damaged;

/// Texts by number. They are stored in one string, so that a short text takes little memory.
#[derive(Debug, Default)]
pub(super) struct Strings {
    text: String,
    /// The end of each text in `text`.
    ends: Vec<usize>,
}

impl Strings {
    /// Appends the text that `write` writes. Returns an error if all texts together take too much memory.
    pub(super) fn add(
        &mut self,
        limits: &Limits,
        write: impl FnOnce(&mut String) -> Result<()>,
    ) -> Result<()> {
        write(&mut self.text)?;
        self.ends.push(self.text.len());
        limits.check_held("the texts of the workbook", self.bytes())
    }

    fn bytes(&self) -> u64 {
        // A growing vector may have twice the capacity that it needs.
        2 * (self.text.len() + self.ends.len() * size_of::<usize>()) as u64
    }

    /// Returns the text with the number `index`, counted from 0, or an error if there are fewer texts.
    pub(super) fn get(&self, index: usize) -> Result<&str> {
        let end = *self.ends.get(index).ok_or_else(|| {
            damaged(format!("a cell refers to shared string {index}, which does not exist"))
        })?;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        Ok(&self.text[start..end])
    }
}

/// Decodes escapes such as `_x000D_` in `text` from `start` on. OOXML writes characters that XML does not permit as such escapes.
pub(super) fn unescape_hex(text: &mut String, start: usize) {
    let escape = |rest: &str| {
        let digits = rest.strip_prefix("_x")?.get(..5)?.strip_suffix('_')?;
        let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        char::from_u32(u32::from_str_radix(digits, 16).ok().filter(|_| is_hex)?)
    };
    let Some(first) = text[start..].match_indices("_x").find(|(at, _)| escape(&text[start + at..]).is_some())
    else {
        return;
    };
    let tail = text.split_off(start + first.0);
    let mut rest = &tail[..];
    while let Some(next) = rest.chars().next() {
        match escape(rest) {
            Some(character) => {
                text.push(character);
                rest = &rest["_x0000_".len()..];
            }
            None => {
                text.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unescape_hex;

    #[test]
    fn escapes_of_characters_that_xml_does_not_permit_are_decoded() {
        for (written, expected) in [
            ("a_x000D_b", "a\rb"),
            ("_x005F_x000D_", "_x000D_"),
            ("_x00e9__x00E9_", "éé"),
            ("_x12_ _xD800_ _x000G_ _x+00D_", "_x12_ _xD800_ _x000G_ _x+00D_"),
            ("plain_x", "plain_x"),
        ] {
            let mut text = format!("_x000D_{written}");
            unescape_hex(&mut text, 7);
            assert_eq!(text, format!("_x000D_{expected}"));
        }
    }
}
