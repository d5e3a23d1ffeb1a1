//! The input of the part `files`: many small CSV files, each with its header and 20 to 199 rows of the large one.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context, ensure};

use super::data::Input;
use crate::shell::quoted;
use crate::sync;

/// The number of files.
pub(crate) const FILES: u64 = 1500;

/// Returns the row count of file `number`: 20 to 199, scattered, and the same in each run.
fn rows_of(number: u64) -> u64 {
    20 + number * 7919 % 180
}

/// Writes the files into `folder`.
pub(crate) fn write(csv: &Path, folder: &Path) -> anyhow::Result<Input> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let mut lines = BufReader::new(File::open(csv).context("opening the input")?).split(b'\n');
    let header = lines.next().context("the input has a header")??;
    let (mut rows, mut bytes) = (0, 0);
    for number in 0..FILES {
        let mut text = [&header[..], b"\n"].concat();
        for line in lines.by_ref().take(rows_of(number) as usize) {
            text.extend_from_slice(&line?);
            text.push(b'\n');
            rows += 1;
        }
        bytes += text.len() as u64;
        let path = folder.join(format!("part-{number:04}.csv"));
        File::create(&path)
            .and_then(|mut file| file.write_all(&text))
            .with_context(|| format!("cannot write {}", path.display()))?;
        sync(&path)?;
    }
    ensure!(
        rows == (0..FILES).map(rows_of).sum::<u64>(),
        "{} has too few rows for this number of files",
        csv.display()
    );
    Ok(Input::of_folder(folder.to_owned(), rows, bytes))
}

/// Returns the commands for SQLite's shell that load each file into its own table, in one transaction.
pub(crate) fn imports(folder: &Path, files: u64) -> anyhow::Result<String> {
    let mut commands = ".mode csv\nBEGIN;\n".to_owned();
    for number in 0..files {
        let path = folder.join(format!("part-{number:04}.csv"));
        commands += &format!(".import {} \"part-{number:04}\"\n", quoted(&path)?);
    }
    Ok(commands + "COMMIT;\n")
}
