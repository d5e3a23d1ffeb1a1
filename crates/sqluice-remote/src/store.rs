//! The client of a store. Settings and credentials come from the environment, as in the vendors' tools.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, header};
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::http::HttpBuilder;
use object_store::multipart::MultipartStore;
use object_store::path::Path as Key;
use object_store::{BackoffConfig, ClientOptions, ObjectMeta, ObjectStore, RetryConfig};
use sqluice_core::error::{Error, Result};
use sqluice_core::remote::RequestLimits;
use sqluice_core::waits;

use crate::address::{Address, Kind};
use crate::answers::Connector;
use crate::failure::Tried;
use crate::runtime;
use crate::tries;

/// The base of the backoff: each wait is random, at most this many times the previous wait, so waits double on average.
const LIST_BACKOFF_BASE: f64 = 4.0;

/// The maximum time for a server to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// The client of a store, and the name of an object in the store.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) address: Address,
    pub(crate) client: Arc<dyn ObjectStore>,
    /// The client as a store for multipart uploads; `None` if the store does not support them.
    pub(crate) parts: Option<Arc<dyn PartsOf>>,
    pub(crate) key: Key,
    pub(crate) limits: RequestLimits,
}

/// A store that supports multipart uploads.
pub(crate) trait PartsOf: MultipartStore + std::fmt::Debug {}

impl<T: MultipartStore + std::fmt::Debug> PartsOf for T {}

impl Store {
    /// Creates the client for an address. Sends nothing.
    pub(crate) fn new(address: Address, is_target: bool, limits: &RequestLimits) -> Result<Store> {
        // Failed requests are repeated by `crate::tries`.
        let never = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        Store::with(address, is_target, limits, never)
    }

    /// Creates the client for listing objects. A list takes several requests, so the client repeats each failed request itself.
    pub(crate) fn for_list(address: Address, limits: &RequestLimits) -> Result<Store> {
        let backoff = BackoffConfig {
            init_backoff: waits::scaled(tries::WAIT_MIN),
            max_backoff: waits::scaled(tries::WAIT_MAX),
            base: LIST_BACKOFF_BASE,
        };
        let retry =
            RetryConfig { backoff, max_retries: limits.retries as usize, retry_timeout: limits.silence() };
        Store::with(address, false, limits, retry)
    }

    fn with(address: Address, is_target: bool, limits: &RequestLimits, retry: RetryConfig) -> Result<Store> {
        let key = Key::parse(&address.key).map_err(|error| {
            Error::usage(format!("{} is not a valid name of an object", address.name.display()))
                .because(error)
        })?;
        let made = runtime::within(|| client(&address, limits, retry))?;
        let (client, parts) = made.map_err(|error| {
            let tried = Tried { what: "open", name: &address.name, kind: address.kind, is_target };
            tried.failed(&error)
        })?;
        Ok(Store { address, client, parts, key, limits: *limits })
    }

    /// Returns the client for multipart uploads.
    pub(crate) fn parts(&self) -> object_store::Result<&dyn PartsOf> {
        self.parts.as_deref().ok_or_else(|| object_store::Error::NotSupported {
            source: "the store does not support multipart uploads".into(),
        })
    }

    /// Returns the error for an object that has changed.
    pub(crate) fn changed(&self) -> Error {
        self.tried("read", false)
            .error(format!("{} has changed while it was read", self.address.name.display()))
            .hint("run again when no program writes to it")
    }

    /// Returns a description of a request, for errors.
    pub(crate) fn tried<'s>(&'s self, what: &'s str, is_target: bool) -> Tried<'s> {
        Tried { what, name: &self.address.name, kind: self.address.kind, is_target }
    }
}

/// The version of an object, as reported by the server.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    tag: Option<String>,
    /// The time of the last change, in seconds since the epoch; 0 if the server does not report the time.
    changed: i64,
}

impl Version {
    pub(crate) fn of(about: ObjectMeta) -> Version {
        Version { tag: about.e_tag, changed: about.last_modified.timestamp() }
    }

    /// Returns the tag for conditional requests. A weak tag is left out, because it matches nothing.
    pub(crate) fn strong_tag(&self) -> Option<String> {
        self.tag.clone().filter(|tag| !tag.starts_with("W/"))
    }

    /// Returns `true` unless the server's answers show that the versions differ. Servers of the same name may report different times for
    /// the same file, so strong tags alone decide if both versions have them.
    pub(crate) fn may_be(&self, other: &Version) -> bool {
        match (self.strong_tag(), other.strong_tag()) {
            (Some(tag), Some(of_other)) => tag == of_other,
            _ => self.tag == other.tag && self.changed == other.changed,
        }
    }
}

type Client = (Arc<dyn ObjectStore>, Option<Arc<dyn PartsOf>>);

fn client(address: &Address, limits: &RequestLimits, retry: RetryConfig) -> object_store::Result<Client> {
    fn both<S: ObjectStore + PartsOf>(store: S) -> Client {
        let store = Arc::new(store);
        (store.clone(), Some(store))
    }
    let bucket = &*address.store;
    Ok(match address.kind {
        Kind::S3 => {
            let allows_http = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"]
                .iter()
                .any(|name| std::env::var(name).is_ok_and(|url| url.starts_with("http://")));
            let builder = AmazonS3Builder::from_env().with_bucket_name(bucket);
            let builder = builder
                .with_client_options(options(address, allows_http, limits))
                .with_retry(retry)
                .with_http_connector(Connector);
            both(builder.build()?)
        }
        Kind::Google => {
            let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
            both(
                builder
                    .with_client_options(options(address, true, limits))
                    .with_retry(retry)
                    .with_http_connector(Connector)
                    .build()?,
            )
        }
        Kind::Azure => {
            let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(bucket);
            // Azure's own command uses these names.
            if let Ok(account) = std::env::var("AZURE_STORAGE_ACCOUNT") {
                builder = builder.with_account(account);
            }
            if let Ok(key) = std::env::var("AZURE_STORAGE_KEY") {
                builder = builder.with_access_key(key);
            }
            let is_emulated = std::env::var("AZURE_STORAGE_USE_EMULATOR").is_ok();
            let is_http = std::env::var("AZURE_STORAGE_ENDPOINT").is_ok_and(|url| url.starts_with("http://"));
            let options = options(address, is_emulated || is_http, limits);
            both(
                builder
                    .with_client_options(options)
                    .with_retry(retry)
                    .with_http_connector(Connector)
                    .build()?,
            )
        }
        Kind::Web => {
            let builder = HttpBuilder::new().with_url(bucket);
            let store = builder
                .with_client_options(options(address, true, limits))
                .with_retry(retry)
                .with_http_connector(Connector)
                .build()?;
            (Arc::new(store), None)
        }
    })
}

fn options(address: &Address, allows_http: bool, limits: &RequestLimits) -> ClientOptions {
    let headers: HeaderMap =
        address.authorization.iter().map(|value| (header::AUTHORIZATION, value.clone())).collect();
    // A part of a large file may take any time, as long as bytes arrive.
    ClientOptions::new()
        .with_allow_http(allows_http)
        .with_timeout_disabled()
        .with_connect_timeout(CONNECT.min(limits.silence()))
        .with_read_timeout(limits.silence())
        .with_default_headers(headers)
}
