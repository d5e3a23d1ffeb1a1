//! Files behind URLs: what sources need of them, and how a URL differs from a path.
//!
//! This crate opens none: the crate `sqluice-remote` does, with the feature `cloud`.

use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result, Setting};
use crate::given::{TakesSettings, Value};
use crate::waits;

/// The schemes of URLs that are read.
pub const SCHEMES: [&str; 5] = ["s3", "gs", "az", "https", "http"];

/// The limits on the time and the number of tries of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// The time that a server may send nothing, all tries of a request together. The default is two minutes.
    pub timeout: Duration,
    /// The number of times that a request is sent again if it fails for now, such as by a broken connection. What arrived before counts: a read goes on where it
    /// broke off, and its tries are counted anew. The default is 20.
    pub retries: u32,
}

/// The default of [`RequestLimits::timeout`].
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// The default of [`RequestLimits::retries`].
pub const RETRIES: u32 = 20;

impl Default for RequestLimits {
    fn default() -> RequestLimits {
        RequestLimits { timeout: waits::scaled(TIMEOUT), retries: RETRIES }
    }
}

impl TakesSettings for RequestLimits {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Timeout => self.timeout = value.to()?,
            Setting::Retries => self.retries = value.to()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Receives the bytes of a range, or why they could not be read.
pub type Fetched = Box<dyn FnOnce(Result<Vec<u8>>) + Send>;

/// A file behind a URL. All of its calls block, and end early when the run is cancelled.
pub trait RemoteFile: fmt::Debug + Send + Sync {
    /// Its URL without credentials; for messages.
    fn name(&self) -> &Path;

    /// Its size, if the server says it.
    fn bytes(&self) -> Option<u64>;

    /// Whether ranges of it can be read, and all of it more than once with the same result.
    fn has_ranges(&self) -> bool;

    /// An error once the run is cancelled.
    ///
    /// # Errors
    /// When it is.
    fn check(&self) -> Result<()>;

    /// Begins to read a range; `done` is called by another thread.
    fn fetch(&self, range: Range<u64>, done: Fetched);

    /// Reads a range.
    ///
    /// # Errors
    /// When the range can't be read, or the file has changed since it was opened.
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>>;

    /// Reads all of it from the start, a few blocks ahead.
    ///
    /// # Errors
    /// When it can't be read. The errors of the reader hold an [`Error`].
    fn stream(&self) -> Result<Box<dyn Read + Send>>;
}

/// The scheme of a path that is a URL of a scheme in [`SCHEMES`].
pub fn scheme(path: &Path) -> Option<&str> {
    let (scheme, _) = path.to_str()?.split_once("://")?;
    SCHEMES.contains(&scheme).then_some(scheme)
}

/// Whether a path is a URL of a scheme in [`SCHEMES`].
pub fn is_url(path: &Path) -> bool {
    scheme(path).is_some()
}

/// A URL without what may be secret in it: user, password, query and fragment. A path is returned as it is.
pub fn without_secrets(path: &Path) -> PathBuf {
    let Some((scheme, rest)) = path.to_str().filter(|_| is_url(path)).and_then(|url| url.split_once("://"))
    else {
        return path.to_owned();
    };
    // Names of objects may have any of these characters: only the URLs of web servers have queries.
    if !scheme.starts_with("http") {
        return path.to_owned();
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    PathBuf::from(format!("{scheme}://{host}{path}"))
}

/// The error for a URL where URLs are not supported.
pub fn not_supported(path: &Path) -> Error {
    let name = without_secrets(path);
    let what = format!("{} is a URL, and this build reads and writes only files", name.display());
    Error::without_feature(what, "cloud")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_have_a_known_scheme() {
        for url in ["s3://bucket/x.db", "gs://b/x", "az://c/x", "https://example.org/x.csv", "http://h"] {
            assert!(is_url(Path::new(url)), "{url}");
        }
        for path in ["x.db", "s3:/bucket/x", "file:///x", "S3://b/x", "./s3://b", "-"] {
            assert!(!is_url(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn names_have_no_secrets() {
        let name = |url: &str| without_secrets(Path::new(url)).display().to_string();
        assert_eq!(
            name("https://u:p@example.org:80/a/b.csv?sig=xyz&a=@/#f"),
            "https://example.org:80/a/b.csv"
        );
        assert_eq!(name("https://u:p@example.org?sig=xyz"), "https://example.org");
        assert_eq!(name("http://example.org/a@b?x"), "http://example.org/a@b");
        assert_eq!(name("s3://bucket/a?b#c"), "s3://bucket/a?b#c");
        assert_eq!(name("a?b"), "a?b");
    }
}
