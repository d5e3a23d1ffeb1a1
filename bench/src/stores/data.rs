//! Writes the files of the comparison, whose contents are functions of their numbers, and checks folders of such files.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::{Context, ensure};

use crate::random::mixed;
use crate::warm;

/// The minimum and maximum length of a file.
const BYTES: (u64, u64) = (8000, 12_000);

/// Returns the name of file `number`.
pub(crate) fn name(number: u64) -> String {
    format!("file-{number:07}.txt")
}

/// Writes the content of a file to `text`: words, which deflate compresses to about a third. Another `version` has other words.
pub(crate) fn content(number: u64, version: u64, text: &mut Vec<u8>) {
    let seed = mixed(number ^ version << 40);
    let bytes = BYTES.0 + seed % (BYTES.1 - BYTES.0 + 1);
    text.clear();
    let mut word = 0;
    while (text.len() as u64) < bytes {
        let bits = mixed(seed ^ mixed(word));
        // A word has 2 to 10 letters, and is one of at most 4,096 words of its length.
        let (letters, which) = (2 + bits % 9, mixed((bits >> 8) % 4096));
        text.extend((0..letters).map(|letter| b'a' + ((which >> (5 * letter)) % 26) as u8));
        text.push(if bits >> 60 == 0 { b'\n' } else { b' ' });
        word += 1;
    }
    text.truncate(bytes as usize);
}

/// Writes the files into a new folder.
pub(crate) fn make(folder: &Path, files: u64) -> anyhow::Result<()> {
    let mut text = Vec::new();
    fs::create_dir(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for number in 0..files {
        content(number, 0, &mut text);
        let file = folder.join(name(number));
        fs::write(&file, &text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    sync(folder)
}

/// Syncs the file system of `path`.
pub(crate) fn sync(path: &Path) -> anyhow::Result<()> {
    let opened = fs::File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    rustix::fs::syncfs(opened).context("cannot sync")
}

/// Reads all files of a folder into the page cache.
pub(crate) fn warm_all(folder: &Path) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder).context("cannot list the files")? {
        warm(&entry.context("cannot list the files")?.path())?;
    }
    Ok(())
}

/// Returns the disk space of a file or of a folder and its contents, in bytes, like `du`.
pub(crate) fn disk_bytes(path: &Path) -> anyhow::Result<u64> {
    let own = path.symlink_metadata().with_context(|| format!("{} is not there", path.display()))?;
    let mut bytes = own.blocks() * 512;
    if own.is_dir() {
        for entry in fs::read_dir(path)? {
            bytes += disk_bytes(&entry?.path())?;
        }
    }
    Ok(bytes)
}

/// Checks the number and length of the files in a folder, and the content of one in a hundred.
pub(crate) fn verify(folder: &Path, files: u64) -> anyhow::Result<()> {
    let there = fs::read_dir(folder).with_context(|| format!("{} is not there", folder.display()))?.count();
    ensure!(there as u64 == files, "{there} files instead of {files}");
    let mut text = Vec::new();
    for number in 0..files {
        content(number, 0, &mut text);
        let file = folder.join(name(number));
        let bytes = file.metadata().with_context(|| format!("{} is not there", file.display()))?.len();
        let same = bytes == text.len() as u64 && (number % 100 > 0 || fs::read(&file)? == text);
        ensure!(same, "{} has other bytes", file.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_files_differ_and_have_lengths_within_the_bounds() {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for number in 0..200 {
            content(number, 0, &mut one);
            assert!((8000..=12_000).contains(&one.len()));
            content(number, 1, &mut other);
            assert_ne!(one, other);
        }
    }
}
