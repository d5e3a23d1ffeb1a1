//! The address of a database: a URL, and the settings in its query.
//!
//! ```text
//!  postgres://user:password@host:5432/database?sslmode=require
//!  postgres:///database?host=/run/postgresql                      a Unix domain socket
//!  postgres://user@%2Frun%2Fpostgresql/database                   the same socket
//! ```
//!
//! Invariant: the name of an address, and all messages about it, contain no password and no query.

use std::fmt;
use std::path::{Path, PathBuf};

use sqluice_core::error::{Error, Result};
use sqluice_core::remote;
use url::Url;

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// PostgreSQL.
    Postgres,
    /// MySQL and MariaDB.
    MySql,
}

/// A text that is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Hides a text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(text.into())
    }

    /// Returns the text.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The address of a database, as the URL has it. Parts that the URL leaves out are `None`: each kind of server has its own defaults.
#[derive(Clone, Debug)]
pub struct Address {
    /// The kind of the server.
    pub kind: Kind,
    /// The host, or the path of a socket or of its folder.
    pub host: Option<String>,
    /// The port.
    pub port: Option<u16>,
    /// The user.
    pub user: Option<String>,
    /// The password.
    pub password: Option<Secret>,
    /// The database.
    pub database: Option<String>,
    /// The settings of the query.
    pub settings: Vec<(String, Secret)>,
    /// The URL without its secrets.
    name: PathBuf,
}

/// Returns the kind of server that a URL names; `None` for other paths.
pub fn kind(path: &Path) -> Option<Kind> {
    match remote::server_scheme(path)? {
        "mysql" | "mariadb" => Some(Kind::MySql),
        _ => Some(Kind::Postgres),
    }
}

impl Address {
    /// Parses a URL.
    ///
    /// # Errors
    /// If the URL is malformed.
    pub fn parse(path: &Path) -> Result<Address> {
        let name = remote::without_secrets(path);
        let malformed = |why: &str| {
            Error::usage(format!("{} is not the address of a database: {why}", name.display()))
                .hint("an address is scheme://user@host:port/database; write characters such as @ and / of a name as %40 and %2F")
        };
        let kind = kind(path).ok_or_else(|| malformed("its scheme is unknown"))?;
        // If the password has a `?` or `#`, the URL parser would take the rest of the URL for settings, and the text before it for a port.
        if name.to_str().is_some_and(|name| name.ends_with("://...")) {
            return Err(malformed("it has a ? or # before its @"));
        }
        let text = path.to_str().ok_or_else(|| malformed("it is not UTF-8"))?;
        // A URL may have a user and no host, which the URL parser refuses. So parse it with the host `none`.
        let (text, has_host) = match text.split_once("@/") {
            Some((before, after)) if !before[before.find("://").map_or(0, |at| at + 3)..].contains('/') => {
                (format!("{before}@none/{after}"), false)
            }
            _ => (text.to_owned(), true),
        };
        let url = Url::parse(&text).map_err(|error| malformed(&error.to_string()))?;
        let decode = |part: &str| {
            remote::percent_decoded(part)
                .ok_or_else(|| malformed("a % is not followed by two hexadecimal digits"))
        };
        let of_url = |part: Option<&str>| match part.filter(|part| !part.is_empty()) {
            Some(part) => decode(part).map(Some),
            None => Ok(None),
        };
        let host = url.host_str().filter(|_| has_host);
        if host.is_some_and(|host| host.contains(',')) {
            return Err(malformed("it names several hosts"));
        }
        let mut address = Address {
            kind,
            host: of_url(host.map(|host| host.trim_start_matches('[').trim_end_matches(']')))?,
            port: url.port(),
            user: of_url(Some(url.username()))?,
            password: of_url(url.password())?.map(Secret),
            database: of_url(url.path().strip_prefix('/'))?,
            settings: Vec::new(),
            name: name.clone(),
        };
        for pair in url.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) =
                pair.split_once('=').ok_or_else(|| malformed("a setting of its query has no value"))?;
            let (key, value) = (decode(key)?, decode(value)?);
            match key.as_str() {
                "host" | "socket" => address.host = Some(value),
                "port" => {
                    address.port =
                        Some(value.parse().map_err(|_| malformed("its port is not a number up to 65535"))?);
                }
                "user" => address.user = Some(value),
                "password" => address.password = Some(Secret(value)),
                "dbname" => address.database = Some(value),
                _ => address.settings.push((key, Secret(value))),
            }
        }
        Ok(address)
    }

    /// Returns the URL without its secrets, for messages.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Returns an error if the query of the URL has a setting that is not in `known`. The message does not name the setting, which may be a
    /// part of a password.
    ///
    /// # Errors
    /// If the query has another setting.
    #[cfg(any(feature = "mysql", feature = "postgres"))]
    pub(crate) fn refuse_settings_but(&self, known: &[&str]) -> Result<()> {
        match self.settings.iter().all(|(key, _)| known.contains(&key.as_str())) {
            true => Ok(()),
            false => Err(Error::usage(format!(
                "the query of the URL {} has an unsupported setting",
                self.name.display()
            ))
            .hint(format!("supported are {}", known.join(", ")))),
        }
    }

    /// Returns the value of a setting of the query.
    pub fn setting(&self, key: &str) -> Option<&str> {
        self.settings.iter().rev().find(|(known, _)| known == key).map(|(_, value)| value.reveal())
    }
}

/// Parses a port number that was found in `place`, such as an environment variable. `usual` is the port that the hint gives as an example.
///
/// # Errors
/// If the text is not a number up to 65535.
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) fn parse_port(text: &str, place: &str, usual: u16) -> Result<u16> {
    text.parse().map_err(|_| {
        Error::usage(format!("{place} is not a number up to 65535"))
            .hint(format!("set it to the port of the server, such as {usual}"))
    })
}

/// Parses `connect_timeout`: the number of seconds to wait for a connection.
///
/// # Errors
/// If the text is no whole number.
#[cfg(any(feature = "mysql", feature = "postgres"))]
pub(crate) fn parse_seconds(text: &str) -> Result<u64> {
    text.trim().parse().map_err(|_| {
        Error::usage("connect_timeout is not a number of seconds").hint("set it to whole seconds, such as 10")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str) -> Address {
        Address::parse(Path::new(url)).unwrap()
    }

    #[test]
    fn a_url_has_the_parts_of_an_address() {
        let address = parse("postgres://ann:s%40crt@db.example.org:5433/shop?sslmode=require");
        assert_eq!(address.kind, Kind::Postgres);
        assert_eq!(address.host.as_deref(), Some("db.example.org"));
        assert_eq!((address.port, address.user.as_deref()), (Some(5433), Some("ann")));
        assert_eq!(address.password.as_ref().map(Secret::reveal), Some("s@crt"));
        assert_eq!(address.database.as_deref(), Some("shop"));
        assert_eq!(address.setting("sslmode"), Some("require"));
        assert_eq!(parse("mariadb://h/d").kind, Kind::MySql);
    }

    #[test]
    fn the_path_of_a_unix_socket_is_the_host_of_a_url_or_its_parameter_host() {
        for url in [
            "postgresql://%2Ftmp%2Fs/d",
            "postgresql:///d?host=/tmp/s",
            "postgresql://u@/d?host=%2Ftmp%2Fs",
            "postgresql://u@%2Ftmp%2Fs/d",
        ] {
            let address = parse(url);
            assert_eq!(address.host.as_deref(), Some("/tmp/s"), "{url}");
            assert_eq!(address.database.as_deref(), Some("d"), "{url}");
        }
        assert_eq!(parse("postgres://[::1]:5/d").host.as_deref(), Some("::1"));
        assert_eq!(parse("postgres:///d").host, None);
        assert_eq!(parse("postgres://u@/d").host, None);
    }

    #[test]
    fn a_parsed_or_refused_url_shows_no_password() {
        for url in [
            "postgres://ann:hunter2@host/shop?password=hunter2&sslmode=x",
            "postgres://ann:hunter2@host:99999/shop",
            "postgres://ann:%zz@host/shop?options=hunter2",
            "postgres://ann:hunter2@/shop?hunter2",
            "postgres://ann:hunter2@a,b/shop",
            "mysql://ann:hunter2@host:port/shop",
            "mysql://ann:hun/ter2@host/shop",
            "mysql://ann:hun@ter2@host/shop",
            "mysql://ann:12?ter2=x@host/shop",
            "postgres://ann:12#ter2@host/shop",
        ] {
            let shown = match Address::parse(Path::new(url)) {
                Ok(address) => format!("{address:?} {}", address.name().display()),
                Err(error) => format!("{error} {error:?}"),
            };
            assert!(!shown.contains("hunter2") && !shown.contains("ter2"), "{shown}");
        }
    }
}
