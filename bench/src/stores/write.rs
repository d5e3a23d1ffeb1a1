//! Fills a store from a folder, and overwrites blobs and files (the part `write`).

use std::fs;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, bail};
use sqluice::blob_store::{BlobStore, Durability};

use super::data::{content, name, sync};
use super::read::Reading;
use crate::random::permuted;

/// Puts all files of a folder into a new store, in the order of their names.
pub(crate) fn fill(store: &Path, folder: &Path) -> anyhow::Result<()> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<anyhow::Result<Vec<_>>>()?;
    paths.sort();
    let store = BlobStore::options().durability(Durability::Off).open(store)?;
    let blobs = paths.iter().map_while(|path| {
        let name = path.file_name()?.to_str()?;
        Some((name, fs::read(path).ok()?))
    });
    let put = store.put_many(blobs)?;
    if put != paths.len() as u64 {
        bail!("{put} files of {} were read", paths.len());
    }
    Ok(())
}

/// Overwrites `count` of the files, in random order. The new contents are prepared beforehand.
pub(crate) fn overwrite(to: &Path, files: u64, count: u64, way: &str) -> anyhow::Result<Reading> {
    let mut text = Vec::new();
    let changes = (0..count).map(|number| {
        let number = permuted(number, files.max(2)) % files;
        content(number, 1, &mut text);
        (name(number), text.clone())
    });
    let changes: Vec<(String, Vec<u8>)> = changes.collect();
    let bytes = changes.iter().map(|(_, text)| text.len() as u64).sum();
    let start;
    match way {
        "put_many" => {
            let store = BlobStore::open(to)?;
            start = Instant::now();
            store.put_many(changes.iter().map(|(name, text)| (name, text)))?;
        }
        "put_files" => {
            start = Instant::now();
            for (name, text) in &changes {
                fs::write(to.join(name), text).with_context(|| format!("cannot write {name}"))?;
            }
            sync(to)?;
        }
        other => bail!("{other} writes nothing"),
    }
    Ok(Reading { bytes, checksum: 0, seconds: start.elapsed().as_secs_f64() })
}
