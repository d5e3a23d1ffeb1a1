//! Texts, each a function of its number.
//!
//! The words of prose are distributed as those of a language are: the second most frequent word is half as frequent as the first, and so
//! on. A word in 25 has letters that are not ASCII.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::Path;

use anyhow::Context;
use clap::ValueEnum;
use rusqlite::Connection;

use crate::process::Runner;
use crate::random::mixed;
use crate::scratch::Scratch;
use crate::{UNSAFE_PRAGMAS, sync};

/// The number of different words of prose.
const WORDS: u64 = 200_000;

/// The texts of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Texts {
    /// Documents of 60 to 540 words
    Prose,
    /// Documents of 4 to 12 words
    Short,
    /// Distinct URLs
    Urls,
}

impl Texts {
    /// Writes a table as [`Texts::write`] does, in another process: its memory would count as that of later laps.
    pub(super) fn written(
        self,
        bytes: u64,
        file: &Path,
        runner: &Runner,
        scratch: &Scratch,
    ) -> anyhow::Result<u64> {
        let name = match self {
            Texts::Prose => "prose",
            Texts::Short => "short",
            Texts::Urls => "urls",
        };
        let bytes = bytes.to_string();
        let arguments = ["write".as_ref(), name.as_ref(), bytes.as_ref(), file.as_os_str()];
        let said = runner.own(&arguments, scratch.folder())?.stdout;
        said.trim().parse().context("a lap reports the number of rows")
    }

    /// Writes a table `docs(id, body)` with texts of this many bytes in total. Returns the number of rows.
    pub(super) fn write(self, bytes: u64, file: &Path) -> anyhow::Result<u64> {
        let connection = Connection::open(file)?;
        connection.execute_batch(UNSAFE_PRAGMAS)?;
        connection.execute_batch("CREATE TABLE docs (id INTEGER PRIMARY KEY, body TEXT); BEGIN")?;
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
        connection.close().map_err(|(_, error)| error)?;
        sync(file)?;
        Ok(rows)
    }

    /// Writes a CSV file `id,body` with the texts of these rows.
    pub(super) fn write_csv(self, rows: Range<u64>, file: &Path) -> anyhow::Result<()> {
        let mut out =
            BufWriter::new(File::create(file).with_context(|| format!("cannot write {}", file.display()))?);
        writeln!(out, "id,body")?;
        let mut text = String::new();
        for row in rows {
            text.clear();
            self.push(row, &mut text);
            writeln!(out, "{},{text}", row + 1)?;
        }
        out.flush()?;
        drop(out);
        sync(file)
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

/// Returns the rank of a word: the rank r has a share of about 1 / r.
fn rank(random: u64) -> u64 {
    let uniform = (random >> 11) as f64 / (1_u64 << 53) as f64;
    (WORDS as f64).powf(uniform) as u64
}

/// Appends the word of a rank: frequent words are short.
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
    fn a_text_follows_from_its_number_and_frequent_words_repeat() {
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
    fn a_table_has_the_bytes_that_are_wanted() {
        let folder = tempfile::tempdir().unwrap();
        for texts in [Texts::Prose, Texts::Short, Texts::Urls] {
            let file = folder.path().join(format!("{texts:?}.db"));
            let rows = texts.write(100_000, &file).unwrap();
            let connection = Connection::open(file).unwrap();
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
