//! The client of a store. Settings and credentials are those of the environment, as with the vendors' tools.

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

/// A wait is a random time up to that many times the last one, which doubles it on average.
const LIST_BACKOFF_BASE: f64 = 4.0;

/// The time that a server may take to accept a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// The client of a store, and the name of an object in it.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) address: Address,
    pub(crate) client: Arc<dyn ObjectStore>,
    /// `None` where parts can't be uploaded.
    pub(crate) parts: Option<Arc<dyn PartsOf>>,
    pub(crate) key: Key,
    pub(crate) limits: RequestLimits,
}

/// A store to which parts are uploaded.
pub(crate) trait PartsOf: MultipartStore + std::fmt::Debug {}

impl<T: MultipartStore + std::fmt::Debug> PartsOf for T {}

impl Store {
    /// The client for an address. Nothing is sent.
    pub(crate) fn new(address: Address, is_target: bool, limits: &RequestLimits) -> Result<Store> {
        // Requests are sent again by `crate::tries`.
        let never = RetryConfig { max_retries: 0, ..RetryConfig::default() };
        Store::with(address, is_target, limits, never)
    }

    /// The client for a list of objects, which is many requests: each is sent again by itself.
    pub(crate) fn for_list(address: Address, limits: &RequestLimits) -> Result<Store> {
        let backoff = BackoffConfig {
            init_backoff: waits::scaled(tries::WAIT_MIN),
            max_backoff: waits::scaled(tries::WAIT_MAX),
            base: LIST_BACKOFF_BASE,
        };
        let retry =
            RetryConfig { backoff, max_retries: limits.retries as usize, retry_timeout: limits.timeout };
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

    /// The store as one to which parts are uploaded.
    pub(crate) fn parts(&self) -> object_store::Result<&dyn PartsOf> {
        self.parts
            .as_deref()
            .ok_or_else(|| object_store::Error::NotSupported { source: "it takes no parts".into() })
    }

    /// The error for an object that is another one by now.
    pub(crate) fn changed(&self) -> Error {
        self.tried("read", false)
            .error(format!("{} has changed while it was read", self.address.name.display()))
            .hint("run again when no program writes to it")
    }

    /// For the errors of requests.
    pub(crate) fn tried<'s>(&'s self, what: &'s str, is_target: bool) -> Tried<'s> {
        Tried { what, name: &self.address.name, kind: self.address.kind, is_target }
    }
}

/// The state of an object, as a server reports it.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    tag: Option<String>,
    /// The time of the last change, in seconds since the epoch; 0: the server does not say it.
    changed: i64,
}

impl Version {
    pub(crate) fn of(about: ObjectMeta) -> Version {
        Version { tag: about.e_tag, changed: about.last_modified.timestamp() }
    }

    /// The tag that a request can be made to depend on: a weak one matches nothing.
    pub(crate) fn strong_tag(&self) -> Option<String> {
        self.tag.clone().filter(|tag| !tag.starts_with("W/"))
    }

    /// `true` unless the server says that an object in the state `other` is another one. Servers of one name may differ in the times of their
    /// files, so that a strong tag decides alone.
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
            // What Azure's own command calls them.
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
    // A part of a large file may take any time, as long as bytes flow.
    ClientOptions::new()
        .with_allow_http(allows_http)
        .with_timeout_disabled()
        .with_connect_timeout(CONNECT.min(limits.timeout))
        .with_read_timeout(limits.timeout)
        .with_default_headers(headers)
}
