//! The address of a remote object: parses a URL (`s3://`, `gs://`, `az://`, `http://`, ...) into a store and the object's name in it.

use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderValue;
use sqluice_core::error::{Error, Result};
use sqluice_core::remote;
use url::Url;

/// The kind of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    S3,
    Google,
    Azure,
    Web,
}

impl Kind {
    /// Returns the names of the environment variables that hold credentials; `None` for a web server.
    pub(crate) fn credentials(self) -> Option<&'static str> {
        match self {
            Kind::S3 => Some("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
            Kind::Google => Some("GOOGLE_APPLICATION_CREDENTIALS"),
            Kind::Azure => Some("AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY"),
            Kind::Web => None,
        }
    }

    /// Returns `true` if the environment contains credentials for this kind of store, or if the store is a web server, which needs none.
    /// Other settings of a vendor, such as a region or a profile, do not count.
    pub(crate) fn has_credentials(self) -> bool {
        let prefix = match self {
            Kind::S3 => "AWS_",
            Kind::Google => "GOOGLE_",
            Kind::Azure => "AZURE_",
            Kind::Web => return true,
        };
        let words = ["KEY", "TOKEN", "CREDENTIALS", "ACCOUNT", "SECRET", "CONNECTION_STRING"];
        let is_one = |name: &str| name.starts_with(prefix) && words.iter().any(|word| name.contains(word));
        std::env::vars_os().any(|(name, _)| name.to_str().is_some_and(is_one))
    }
}

/// The address of an object: its store, and its name in the store.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    /// The URL without credentials, for messages.
    pub(crate) name: PathBuf,
    pub(crate) kind: Kind,
    /// The bucket or container; for a web server, the URL of the file without the user.
    pub(crate) store: String,
    /// The name of the object; empty for a web server.
    pub(crate) key: String,
    /// The `Authorization` header for the user in the URL.
    pub(crate) authorization: Option<HeaderValue>,
}

impl Address {
    /// Parses a URL.
    pub(crate) fn parse(url: &Path) -> Result<Address> {
        let name = remote::without_secrets(url);
        let shown = name.display();
        let text = url.to_str().unwrap_or_default();
        let (scheme, rest) = text.split_once("://").unwrap_or_default();
        let kind = match scheme {
            "s3" => Kind::S3,
            "gs" => Kind::Google,
            "az" => Kind::Azure,
            "http" | "https" => return Address::of_web(text, name),
            _ => return Err(Error::usage(format!("{shown} is not a supported URL"))),
        };
        let (store, key) = rest.split_once('/').unwrap_or((rest, ""));
        if store.is_empty() || key.is_empty() || key.ends_with('/') {
            return Err(Error::usage(format!("{shown} names no object"))
                .hint(format!("name a bucket and an object in it: {scheme}://bucket/folder/name")));
        }
        let (store, key) = (store.to_owned(), key.to_owned());
        Ok(Address { name, kind, store, key, authorization: None })
    }

    fn of_web(text: &str, name: PathBuf) -> Result<Address> {
        let shown = name.display();
        let mut url = Url::parse(text)
            .map_err(|error| Error::usage(format!("{shown} is not a valid URL")).because(error))?;
        let authorization = match (url.username(), url.password()) {
            ("", None) => None,
            (user, password) => {
                let decoded = |text: &str| remote::percent_decoded(text).unwrap_or_else(|| text.to_owned());
                let pair = format!("{}:{}", decoded(user), decoded(password.unwrap_or_default()));
                let header = HeaderValue::try_from(format!("Basic {}", BASE64_STANDARD.encode(pair)));
                let mut header = header.map_err(|error| {
                    Error::usage(format!("the user in {shown} can't be sent")).because(error)
                })?;
                header.set_sensitive(true);
                Some(header)
            }
        };
        // Neither call fails for URLs with a host, which these schemes require.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_fragment(None);
        Ok(Address { name, kind: Kind::Web, store: url.into(), key: String::new(), authorization })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_a_bucket_and_an_object() {
        let address = Address::parse(Path::new("s3://bucket/folder/x y#1.db")).unwrap();
        assert_eq!((&*address.store, &*address.key), ("bucket", "folder/x y#1.db"));
        assert_eq!(address.kind, Kind::S3);
        for wrong in ["s3://bucket", "s3://bucket/", "s3:///x", "s3://bucket/x/", "http://", "https://a b/"] {
            assert!(Address::parse(Path::new(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn user_and_password_of_a_web_url_go_to_the_authorization_header() {
        let address = Address::parse(Path::new("http://us%40er:p+w@h:81/a%20b?c=d#e")).unwrap();
        assert_eq!(address.store, "http://h:81/a%20b?c=d");
        assert_eq!(address.name, Path::new("http://h:81/a%20b"));
        let header = address.authorization.unwrap();
        assert_eq!(header.to_str().unwrap(), format!("Basic {}", BASE64_STANDARD.encode("us@er:p+w")));
        assert!(header.is_sensitive());
    }
}
