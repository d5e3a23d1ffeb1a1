//! Accepts URLs in place of paths: finds the files, objects or databases that a URL names.
//!
//! ```text
//!  s3://bucket/*.parquet  ──> expand ──> input: ranges and streams        files of a load
//!  s3://bucket/x.db       ──> fetch: a temporary file ──> snapshot        databases that are read
//!  s3://bucket/new.db     ──> connect: pages are uploaded as they are built
//! ```
//!
//! Without the feature `cloud`, a URL is an error.

use std::path::Path;
#[cfg(feature = "load")]
use std::path::PathBuf;
#[cfg(feature = "load")]
use std::sync::Arc;

use sqluice_core::error::Result;
use sqluice_core::progress::{Cancel, Context};
#[cfg(feature = "load")]
use sqluice_core::remote::RemoteFile;
pub use sqluice_core::remote::{
    RequestLimits, has_password, is_server, is_url, server_scheme, without_secrets,
};
use sqluice_engine::options::WriteOptions;
use sqluice_reader::Snapshot;
use sqluice_reader::snapshot::ReadOptions;
#[cfg(feature = "load")]
use sqluice_sources::formats::of_name;
#[cfg(feature = "load")]
use sqluice_sources::input::{self, Named, is_named_as_archive};

/// Returns `true` if `target` is a URL to which `options` are not connected yet.
pub(crate) fn is_unconnected(target: Option<&Path>, options: &WriteOptions) -> bool {
    options.destination.is_none() && target.is_some_and(is_url)
}

/// If `target` is a URL, opens a connection to its store and keeps it in `options`, so that the database is written there. Does nothing
/// if `options` have the connection already.
///
/// # Errors
/// If the store can't be reached, or `target` is a URL and the feature `cloud` is off.
pub(crate) fn connect(target: Option<&Path>, options: &mut WriteOptions, cancel: &Cancel) -> Result<()> {
    match target {
        Some(target) if is_unconnected(Some(target), options) => {
            options.destination = Some(cloud::destination(target, &options.requests, cancel)?);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns the files and objects that match patterns, within the default limits for requests.
///
/// # Errors
/// As [`expand_within`].
#[cfg(feature = "load")]
pub fn expand<P: AsRef<Path>>(patterns: &[P], cancel: &Cancel) -> Result<Vec<PathBuf>> {
    expand_within(patterns, &RequestLimits::default(), cancel)
}

/// Returns the files and objects that match patterns, in the order of the patterns; the matches of a pattern are ordered by name.
///
/// # Errors
/// If a pattern is malformed or matches nothing, a bucket can't be listed, or standard input (`-`) is named twice.
#[cfg(feature = "load")]
pub fn expand_within<P: AsRef<Path>>(
    patterns: &[P],
    limits: &RequestLimits,
    cancel: &Cancel,
) -> Result<Vec<PathBuf>> {
    if !patterns.iter().any(|pattern| is_url(pattern.as_ref())) {
        return input::expand(patterns);
    }
    // Each pattern is expanded alone, so the check that standard input is named only once comes afterwards.
    let mut expanded = Vec::new();
    for pattern in patterns.iter().map(P::as_ref) {
        match is_url(pattern) {
            true => expanded.extend(cloud::expand(pattern, limits, cancel)?),
            false => expanded.extend(input::expand(&[pattern])?),
        }
    }
    input::refuse_stdin_twice(&expanded)?;
    Ok(expanded)
}

/// Returns the files, folders, members of archives and objects that patterns name, in the order of the patterns; the matches of a pattern
/// are ordered by name.
///
/// # Errors
/// As [`expand_within`].
#[cfg(feature = "load")]
pub(crate) fn named_within<P: AsRef<Path>>(
    patterns: &[P],
    limits: &RequestLimits,
    cancel: &Cancel,
) -> Result<Vec<Named>> {
    if !patterns.iter().any(|pattern| is_url(pattern.as_ref())) {
        return input::named(patterns);
    }
    let mut all = Vec::new();
    for pattern in patterns.iter().map(P::as_ref) {
        if !is_url(pattern) {
            all.extend(input::named(&[pattern])?);
            continue;
        }
        let (urls, members) = match within_archive(pattern) {
            Some((archive, members)) => (cloud::expand(&archive, limits, cancel)?, Some(members)),
            None => (cloud::expand(pattern, limits, cancel)?, None),
        };
        let is_one_of_many = urls.len() > 1;
        let named = |url: PathBuf| match &members {
            Some(members) => Named { is_one_of_many, ..Named::within(url, members) },
            None => Named::whole(url),
        };
        all.extend(urls.into_iter().map(named));
    }
    let paths: Vec<&Path> = all.iter().map(|named| named.path.as_path()).collect();
    input::refuse_stdin_twice(&paths)?;
    Ok(all)
}

/// Splits a URL into the URL of an archive and the name or pattern of its members, such as `https://host/data.zip` and `a.csv`. Returns
/// `None` for any other URL: a slash must follow the extension of an archive, and the rest must be a pattern or have the extension of a
/// format. `https://host/data.zip/download` is a file.
#[cfg(feature = "load")]
fn within_archive(url: &Path) -> Option<(PathBuf, PathBuf)> {
    let text = url.to_str().filter(|text| !text.contains(['#', '\\']))?;
    // The path begins after the host or the bucket.
    let path_at = text.find("://").map(|at| at + 3).and_then(|at| Some(at + text[at..].find('/')? + 1))?;
    let is_end = |at: &usize| is_named_as_archive(Path::new(&text[path_at..*at]));
    let at = text[path_at..].match_indices('/').map(|(at, _)| path_at + at).find(is_end)?;
    let (archive, members) = (&text[..at], &text[at + 1..]);
    let is_web = text.starts_with("http");
    // In a web address, a question mark begins the query.
    let is_query = is_web && members.contains('?');
    let is_file = members.contains(['*', '?', '[']) || of_name(Path::new(members)).is_some();
    (is_file && !is_query).then(|| (archive.into(), members.into()))
}

/// Returns the remote file of a URL, or `None` for a path.
#[cfg(feature = "load")]
pub(crate) fn file(
    path: &Path,
    limits: &RequestLimits,
    cancel: &Cancel,
) -> Result<Option<Arc<dyn RemoteFile>>> {
    if is_url(path) { cloud::file(path, limits, cancel).map(Some) } else { Ok(None) }
}

/// Refuses a URL in place of a local file. `what` is the operation on the file, and `hint` the remedy.
pub(crate) fn refuse_url(path: &Path, what: &str, hint: &str) -> Result<()> {
    if !is_url(path) {
        return Ok(());
    }
    let name = without_secrets(path);
    Err(sqluice_core::error::Error::usage(format!(
        "{} is a URL: only a local file can be {what}",
        name.display()
    ))
    .hint(hint))
}

/// Begins to read a database. A database at a URL is first downloaded to a temporary file in `folder`.
pub(crate) fn snapshot(
    name: &Path,
    folder: &Path,
    options: &ReadOptions,
    context: &Context<'_>,
) -> Result<Snapshot> {
    match is_url(name) {
        false => Snapshot::begin(name, options, &context.cancel),
        true => cloud::snapshot(name, folder, options, context),
    }
}

#[cfg(all(test, feature = "load"))]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_split_into_an_archive_and_its_members_at_the_extension_of_an_archive() {
        for (url, parts) in [
            ("https://host/data.zip/a.csv", Some(("https://host/data.zip", "a.csv"))),
            ("s3://bucket/in/*.zip/d/*.csv", Some(("s3://bucket/in/*.zip", "d/*.csv"))),
            ("s3://bucket/data.tar.gz/d/a.json.gz", Some(("s3://bucket/data.tar.gz", "d/a.json.gz"))),
            ("https://host/data.zip", None),
            ("https://host/data.zip/download", None),
            ("https://host/data.zip/a.csv?key=1", None),
            ("https://host.zip/a.csv", None),
            ("s3://bucket/a.csv", None),
        ] {
            let expected = parts.map(|(archive, members)| (archive.into(), members.into()));
            assert_eq!(within_archive(Path::new(url)), expected, "{url}");
        }
    }
}

#[cfg(feature = "cloud")]
mod cloud {
    use std::io::Read;
    use std::path::Path;
    #[cfg(feature = "load")]
    use std::path::PathBuf;
    use std::sync::Arc;

    use sqluice_core::error::{Error, Result};
    use sqluice_core::progress::{Amount, Cancel, Context};
    use sqluice_core::remote::{RemoteFile, RequestLimits};
    use sqluice_engine::output::{Destination, NewObject, Output, Replacement, Scratch, TargetPath};
    use sqluice_reader::Snapshot;
    use sqluice_reader::snapshot::ReadOptions;
    use sqluice_remote::{Object, Upload, UploadOptions};

    /// The number of bytes written at once.
    const BLOCK_BYTES: usize = 1 << 20;

    pub(super) fn destination(
        target: &Path,
        limits: &RequestLimits,
        cancel: &Cancel,
    ) -> Result<Arc<dyn Destination>> {
        Ok(Arc::new(InStore(sqluice_remote::Destination::new(target, limits, cancel)?)))
    }

    #[cfg(feature = "load")]
    pub(super) fn expand(url: &Path, limits: &RequestLimits, cancel: &Cancel) -> Result<Vec<PathBuf>> {
        sqluice_remote::expand(url, limits, cancel)
    }

    #[cfg(feature = "load")]
    pub(super) fn file(url: &Path, limits: &RequestLimits, cancel: &Cancel) -> Result<Arc<dyn RemoteFile>> {
        Ok(Arc::new(Object::open(url, limits, cancel)?))
    }

    pub(super) fn snapshot(
        url: &Path,
        folder: &Path,
        options: &ReadOptions,
        context: &Context<'_>,
    ) -> Result<Snapshot> {
        let object = Object::open(url, &options.requests, &context.cancel)?;
        let name = object.name().to_owned();
        context.progress.phase("fetch", object.bytes().map(|bytes| Amount { rows: 0, bytes }));
        let mut file = Scratch::create(folder, &TargetPath::resolve(&name)?)?;
        let mut reader = object.stream()?;
        let mut block = vec![0; BLOCK_BYTES];
        let mut at = 0;
        loop {
            context.cancel.check()?;
            let bytes = reader.read(&mut block).map_err(|error| Error::from_read(&name, error))?;
            if bytes == 0 {
                break;
            }
            file.write(at, &[&block[..bytes]])?;
            at += bytes as u64;
            context.progress.advance(Amount { rows: 0, bytes: bytes as u64 });
        }
        let path = file.path().to_owned();
        Snapshot::begin_fetched(&name, &path, Box::new(file), options, &context.cancel)
    }

    /// An object in a store, as the destination of a database.
    #[derive(Debug)]
    struct InStore(sqluice_remote::Destination);

    fn options(new: &NewObject) -> UploadOptions {
        UploadOptions {
            memory_bytes: new.memory_bytes,
            estimated_bytes: new.estimated_bytes,
            hole: new.lock_page.clone(),
            replaces: new.replaces,
        }
    }

    impl Destination for InStore {
        fn name(&self) -> &Path {
            self.0.name()
        }

        fn old_bytes(&self) -> Option<u64> {
            self.0.old_bytes()
        }

        fn memory_bytes(&self, run_bytes: u64) -> u64 {
            sqluice_remote::memory_bytes(run_bytes)
        }

        fn refuse(&self, new: &NewObject) -> Result<()> {
            self.0.part_bytes(&options(new)).map(|_| ())
        }

        fn create(&self, new: &NewObject, cancel: &Cancel) -> Result<Box<dyn Output>> {
            Ok(Box::new(Uploading(self.0.create(options(new), cancel)?)))
        }
    }

    /// An output that uploads pages to a store.
    #[derive(Debug)]
    struct Uploading(Upload);

    impl Output for Uploading {
        fn write(&mut self, mut offset: u64, pages: &[&[u8]]) -> Result<()> {
            for pages in pages {
                self.0.write(offset, pages)?;
                offset += pages.len() as u64;
            }
            Ok(())
        }

        fn commit(self: Box<Self>) -> Result<Option<Replacement>> {
            self.0.finish().map(|()| None)
        }

        fn describe(&self) -> &'static str {
            "uploaded"
        }
    }
}

/// The errors for URLs in a build without support for them.
#[cfg(not(feature = "cloud"))]
mod cloud {
    use std::path::Path;
    #[cfg(feature = "load")]
    use std::path::PathBuf;
    use std::sync::Arc;

    use sqluice_core::error::Result;
    use sqluice_core::progress::{Cancel, Context};
    #[cfg(feature = "load")]
    use sqluice_core::remote::RemoteFile;
    use sqluice_core::remote::{RequestLimits, not_supported};
    use sqluice_engine::output::Destination;
    use sqluice_reader::Snapshot;
    use sqluice_reader::snapshot::ReadOptions;

    pub(super) fn destination(target: &Path, _: &RequestLimits, _: &Cancel) -> Result<Arc<dyn Destination>> {
        Err(not_supported(target))
    }

    #[cfg(feature = "load")]
    pub(super) fn expand(url: &Path, _: &RequestLimits, _: &Cancel) -> Result<Vec<PathBuf>> {
        Err(not_supported(url))
    }

    #[cfg(feature = "load")]
    pub(super) fn file(url: &Path, _: &RequestLimits, _: &Cancel) -> Result<Arc<dyn RemoteFile>> {
        Err(not_supported(url))
    }

    pub(super) fn snapshot(url: &Path, _: &Path, _: &ReadOptions, _: &Context<'_>) -> Result<Snapshot> {
        Err(not_supported(url))
    }
}
