//! Files behind URLs: the interface that sources need, and the recognition of URLs.
//!
//! This crate opens no URLs: the crate `sqluice-remote` does, with the feature `cloud`.

use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result, Setting};
use crate::given::{TakesSettings, Value};
use crate::waits;

/// The supported schemes of URLs.
pub const SCHEMES: [&str; 5] = ["s3", "gs", "az", "https", "http"];

/// The limits on the time and the number of tries of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// The longest silence of a server, over all tries of a request together. The default is two minutes.
    pub timeout: Duration,
    /// The number of tries of a request after a temporary failure, such as a broken connection. A read goes on where it broke off, and if
    /// bytes have arrived, the tries are counted anew. The default is 20.
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

/// A receiver of the bytes of a range, or of the error.
pub type Fetched = Box<dyn FnOnce(Result<Vec<u8>>) + Send>;

/// A file behind a URL. All calls block, and end early if the run is cancelled.
pub trait RemoteFile: fmt::Debug + Send + Sync {
    /// Returns the URL without credentials, for messages.
    fn name(&self) -> &Path;

    /// Returns the size, if the server declares it.
    fn bytes(&self) -> Option<u64>;

    /// Returns `true` if ranges can be read, and the file can be read more than once with the same result.
    fn has_ranges(&self) -> bool;

    /// Checks for cancellation.
    ///
    /// # Errors
    /// If the run is cancelled.
    fn check(&self) -> Result<()>;

    /// Starts to read a range. Another thread calls `done`.
    fn fetch(&self, range: Range<u64>, done: Fetched);

    /// Reads a range.
    ///
    /// # Errors
    /// If the range can't be read, or the file has changed since it was opened.
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>>;

    /// Reads the whole file from the start, a few blocks ahead.
    ///
    /// # Errors
    /// If the file can't be read. The errors of the reader hold an [`Error`].
    fn stream(&self) -> Result<Box<dyn Read + Send>>;
}

/// Returns the scheme of a path that is a URL with a scheme in [`SCHEMES`].
pub fn scheme(path: &Path) -> Option<&str> {
    let (scheme, _) = path.to_str()?.split_once("://")?;
    SCHEMES.contains(&scheme).then_some(scheme)
}

/// Returns `true` if a path is a URL with a scheme in [`SCHEMES`].
pub fn is_url(path: &Path) -> bool {
    scheme(path).is_some()
}

/// Returns a URL without its secrets: user, password, query and fragment. A path is returned as it is.
pub fn without_secrets(path: &Path) -> PathBuf {
    let Some((scheme, rest)) = path.to_str().filter(|_| is_url(path)).and_then(|url| url.split_once("://"))
    else {
        return path.to_owned();
    };
    // Names of objects may have any of these characters: only URLs of web servers have queries.
    if !scheme.starts_with("http") {
        return path.to_owned();
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit('@').next().unwrap_or_default();
    PathBuf::from(format!("{scheme}://{host}{path}"))
}

/// Returns the error for a URL in a build that does not support URLs.
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
