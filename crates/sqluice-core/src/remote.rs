//! Files behind URLs: the interface that sources need, and the recognition of URLs, also of those of database servers.
//!
//! This crate opens no URLs: the crate `sqluice-remote` opens files, with the feature `cloud`, and `sqluice-servers` opens databases.

use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, Result, Setting};
use crate::given::{TakesSettings, Value};
use crate::waits;

/// The supported schemes of URLs of files and objects.
pub const SCHEMES: [&str; 5] = ["s3", "gs", "az", "https", "http"];

/// The limits on the time and the number of tries of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestLimits {
    /// The longest silence of a server, over all tries of a request together. `None`, the default, is two minutes for files and objects,
    /// and no limit for databases of servers, which may compute for long before they send the first row.
    pub timeout: Option<Duration>,
    /// The number of tries of a request after a temporary failure, such as a broken connection. A read goes on where it broke off, and if
    /// bytes have arrived, the tries are counted anew. The default is 20.
    pub retries: u32,
}

/// The longest silence of a server of files or objects, if [`RequestLimits::timeout`] is `None`.
pub const TIMEOUT: Duration = Duration::from_secs(120);

/// The default of [`RequestLimits::retries`].
pub const RETRIES: u32 = 20;

impl Default for RequestLimits {
    fn default() -> RequestLimits {
        RequestLimits { timeout: None, retries: RETRIES }
    }
}

impl RequestLimits {
    /// Returns the longest silence of a server of files or objects: [`RequestLimits::timeout`] or its default.
    pub fn silence(&self) -> Duration {
        self.timeout.unwrap_or_else(|| waits::scaled(TIMEOUT))
    }
}

impl TakesSettings for RequestLimits {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Timeout => self.timeout = Some(value.to()?),
            Setting::Retries => self.retries = value.to()?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// A callback that gets the bytes of a range, or the error.
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

    /// Starts to read a range. Another thread then calls `done` with the bytes or the error.
    fn fetch(&self, range: Range<u64>, done: Fetched);

    /// Reads a range.
    ///
    /// # Errors
    /// If the range can't be read, or the file has changed since it was opened.
    fn read(&self, range: Range<u64>) -> Result<Vec<u8>>;

    /// Returns a reader of the whole file, which fetches a few blocks ahead.
    ///
    /// # Errors
    /// If the file can't be read. [`Error::from_read`] extracts the errors of the reader.
    fn stream(&self) -> Result<Box<dyn Read + Send>>;
}

/// Returns the scheme of a URL, if it is one of [`SCHEMES`]; `None` for paths and other URLs.
pub fn scheme(path: &Path) -> Option<&str> {
    let (scheme, _) = path.to_str()?.split_once("://")?;
    SCHEMES.contains(&scheme).then_some(scheme)
}

/// Returns `true` if a path is a URL with a scheme in [`SCHEMES`].
pub fn is_url(path: &Path) -> bool {
    scheme(path).is_some()
}

/// The schemes of URLs of database servers.
pub const SERVER_SCHEMES: [&str; 4] = ["postgres", "postgresql", "mysql", "mariadb"];

/// Returns the scheme of the URL of a database server, if it is one of [`SERVER_SCHEMES`]; `None` for paths and other URLs.
pub fn server_scheme(path: &Path) -> Option<&str> {
    let (scheme, _) = path.to_str()?.split_once("://")?;
    SERVER_SCHEMES.contains(&scheme).then_some(scheme)
}

/// Returns `true` if a path is a URL of a database server, with a scheme in [`SERVER_SCHEMES`].
pub fn is_server(path: &Path) -> bool {
    server_scheme(path).is_some()
}

/// Returns `true` if the URL of a server has a password.
pub fn has_password(path: &Path) -> bool {
    let Some((_, rest)) = path.to_str().filter(|_| is_server(path)).and_then(|url| url.split_once("://"))
    else {
        return false;
    };
    let (authority, query) = rest.split_once('?').unwrap_or((rest, ""));
    let login = rest.rsplit_once('@').map_or("", |(login, _)| login);
    let of_login = authority.contains('@') && login.contains(':');
    of_login || query.split('&').any(|pair| pair.starts_with("password="))
}

/// Returns the URL of a server without its password and its query. A password that is not percent-encoded may have `?` and `@`, so only the
/// scheme is left of a URL whose login can't be told apart.
fn server_without_secrets(scheme: &str, rest: &str) -> PathBuf {
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    let shown = match rest[..end].rsplit_once('@') {
        Some((login, place)) => format!("{}@{place}", login.split(':').next().unwrap_or_default()),
        None if rest[..end].contains(':') && rest[end..].contains('@') => "...".to_owned(),
        None => rest[..end].to_owned(),
    };
    PathBuf::from(format!("{scheme}://{shown}"))
}

/// Returns a URL without its secrets: user, password, query and fragment. The user of a database server is no secret, and is kept. A path
/// that is no URL is returned unchanged, and so is the URL of an object (`s3`, `gs`, `az`), which has no secrets.
pub fn without_secrets(path: &Path) -> PathBuf {
    if let Some((scheme, rest)) =
        path.to_str().filter(|_| is_server(path)).and_then(|url| url.split_once("://"))
    {
        return server_without_secrets(scheme, rest);
    }
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

/// Returns the error for the URL of a database server in a build without the feature that reads it.
pub fn server_not_supported(path: &Path) -> Error {
    let feature = match server_scheme(path) {
        Some("mysql" | "mariadb") => "mysql",
        _ => "postgres",
    };
    let name = without_secrets(path);
    let what = format!("{} is a database of a server, which this build does not read", name.display());
    Error::without_feature(what, feature)
}

/// Decodes the bytes of a URL's component that are written as `%` and two hexadecimal digits. Returns `None` if digits are missing, or if
/// the result is not UTF-8.
pub fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                (high * 16 + low) as u8
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
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
    fn is_url_is_true_only_for_urls_with_a_known_scheme() {
        for url in ["s3://bucket/x.db", "gs://b/x", "az://c/x", "https://example.org/x.csv", "http://h"] {
            assert!(is_url(Path::new(url)), "{url}");
        }
        for path in ["x.db", "s3:/bucket/x", "file:///x", "S3://b/x", "./s3://b", "-"] {
            assert!(!is_url(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn passwords_and_queries_are_removed_from_urls() {
        let name = |url: &str| without_secrets(Path::new(url)).display().to_string();
        assert_eq!(
            name("https://u:p@example.org:80/a/b.csv?sig=xyz&a=@/#f"),
            "https://example.org:80/a/b.csv"
        );
        assert_eq!(name("https://u:p@example.org?sig=xyz"), "https://example.org");
        assert_eq!(name("http://example.org/a@b?x"), "http://example.org/a@b");
        assert_eq!(name("s3://bucket/a?b#c"), "s3://bucket/a?b#c");
        assert_eq!(name("a?b"), "a?b");
        assert_eq!(name("postgres://u:p@h:5/d?password=p"), "postgres://u@h:5/d");
        assert_eq!(name("postgres://u:p/x@h:5/d?password=p@x"), "postgres://u@h:5/d");
        assert_eq!(name("postgres://u:p?x@h:5/d"), "postgres://...");
        assert_eq!(name("mysql://h/d?p=x@y#z"), "mysql://h/d");
        for (url, has) in [
            ("postgres://u:p@h/d", true),
            ("postgres://u@h:5/d", false),
            ("postgres://h:5/d", false),
            ("postgres:///d?user=u&password=p", true),
            ("postgres:///d?user=u@h:1", false),
            ("u:p@h", false),
        ] {
            assert_eq!(has_password(Path::new(url)), has, "{url}");
        }
    }
}
