//! The texts that are indexed. A text is a function of its number.
//!
//! The words of prose are distributed like those of natural languages: the second most frequent word is about half as frequent as the
//! first, the third about a third as frequent, and so on. A word in 25 has letters that are not ASCII.

use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;
use std::path::Path;

use anyhow::Context;

use crate::db::{close, open};
use crate::house::House;
use crate::random::mixed;
use crate::{UNSAFE_PRAGMAS, lines, words};

/// The number of different words of prose.
const WORDS: u64 = 200_000;

/// The texts of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Texts {
    /// Documents of 60 to 540 words
    Prose,
    /// Documents of 4 to 12 words
    Short,
    /// Distinct URLs
    Urls,
}

impl Texts {
    /// Returns the texts of this name.
    pub(super) fn named(name: &str) -> anyhow::Result<Texts> {
        let mut all = [Texts::Prose, Texts::Short, Texts::Urls].into_iter();
        all.find(|texts| texts.name() == name).with_context(|| format!("there are no texts {name}"))
    }

    fn name(self) -> &'static str {
        match self {
            Texts::Prose => "prose",
            Texts::Short => "short",
            Texts::Urls => "urls",
        }
    }

    /// Writes a table of texts, in a separate process so that this process uses little memory. Returns the number of rows.
    pub(super) fn written(self, bytes: u64, house: &House<'_>, file: &str) -> anyhow::Result<u64> {
        Ok(house.asked(&words!["write", house.file(file), self.name(), bytes])?.1)
    }

    /// Writes a table `docs(id, body)` with texts of this many bytes in total. Returns the number of rows.
    pub(super) fn write(self, bytes: u64, file: &Path) -> anyhow::Result<u64> {
        let create = "CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT); BEGIN";
        let connection = open(file, &format!("{UNSAFE_PRAGMAS} {create}"))?;
        let (mut rows, mut written, mut text) = (0, 0, String::new());
        {
            let mut insert = connection.prepare("INSERT INTO docs VALUES (?1, ?2)")?;
            while written < bytes {
                text.clear();
                self.push(rows, &mut text);
                rows += 1;
                written += text.len() as u64;
                insert.execute((rows as i64, &text))?;
            }
        }
        connection.execute_batch("COMMIT")?;
        close(connection, file)?;
        Ok(rows)
    }

    /// Writes a CSV file `id,body` with the texts of these rows.
    pub(super) fn write_csv(self, rows: Range<u64>, file: &Path) -> anyhow::Result<()> {
        lines(file, "id,body", |out| {
            let mut text = String::new();
            for row in rows {
                text.clear();
                self.push(row, &mut text);
                writeln!(out, "{},{text}", row + 1)?;
            }
            Ok(())
        })
    }

    fn push(self, row: u64, text: &mut String) {
        let random = mixed(row << 10);
        let words = match self {
            Texts::Prose => 60 + random % 481,
            Texts::Short => 4 + random % 9,
            Texts::Urls => {
                let host = random % 2000;
                let _ = write!(
                    text,
                    "https://www.site{host}.example/{:x}/{row}?page={:x}",
                    random >> 40,
                    random >> 20
                );
                return;
            }
        };
        for number in 0..words {
            if number > 0 {
                text.push_str(if number % 12 == 0 { ". " } else { " " });
            }
            push_word(rank(mixed(row << 10 | (number + 1))), text);
        }
    }
}

/// Returns the rank of a random word. The probability of rank r is about proportional to 1 / r.
fn rank(random: u64) -> u64 {
    let uniform = (random >> 11) as f64 / (1_u64 << 53) as f64;
    (WORDS as f64).powf(uniform) as u64
}

/// Appends the word with this rank. Frequent words are short.
fn push_word(rank: u64, text: &mut String) {
    const SYLLABLES: [&str; 16] =
        ["an", "be", "co", "de", "er", "fi", "ga", "hel", "in", "ju", "ka", "lo", "men", "ti", "ra", "so"];
    const FOREIGN: [&str; 4] = ["ü", "é", "ß", "ж"];
    let (mut rest, mut random) = (rank, mixed(rank));
    loop {
        text.push_str(SYLLABLES[(rest & 15) as usize]);
        rest >>= 4;
        if rest == 0 {
            break;
        }
    }
    if random % 25 == 0 {
        random /= 25;
        text.push_str(FOREIGN[(random % 4) as usize]);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn a_text_is_determined_by_its_number_and_frequent_words_repeat() {
        let of = |row| {
            let mut text = String::new();
            Texts::Prose.push(row, &mut text);
            text
        };
        assert_eq!(of(7), of(7));
        assert_ne!(of(7), of(8));
        let text: String = (0..200).map(of).collect();
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        words.iter().for_each(|word| *counts.entry(word).or_default() += 1);
        let most = counts.values().max().unwrap();
        assert!((words.len() / 40..words.len() / 8).contains(most), "{most} of {}", words.len());
    }

    #[test]
    fn a_table_of_texts_has_the_requested_bytes() {
        let folder = tempfile::tempdir().unwrap();
        for texts in [Texts::Prose, Texts::Short, Texts::Urls] {
            let file = folder.path().join(format!("{texts:?}.db"));
            let rows = texts.write(100_000, &file).unwrap();
            let connection = open(&file, "").unwrap();
            let sql = "SELECT count(*), sum(length(CAST(body AS BLOB))), count(DISTINCT body) FROM docs";
            let (count, bytes, distinct) = connection
                .query_row(sql, [], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
                })
                .unwrap();
            assert_eq!((count as u64, distinct), (rows, count));
            assert!((100_000..110_000).contains(&bytes), "{texts:?} {bytes}");
        }
    }
}
