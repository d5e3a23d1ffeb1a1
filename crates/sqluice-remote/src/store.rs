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
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use sqluice_core::error::{Error, Result};
use sqluice_core::waits;

use crate::address::{Address, Kind};
use crate::failure::Tried;
use crate::runtime;

/// How often a request is tried again. The waits between double, from [`BACKOFF_MIN`] up to [`BACKOFF_MAX`]; both are scaled by [`waits`].
const RETRIES: usize = 8;
const BACKOFF_MIN: Duration = Duration::from_millis(100);
const BACKOFF_MAX: Duration = Duration::from_secs(10);

/// How long all tries of a request take at most.
const RETRIED_FOR: Duration = Duration::from_secs(120);

/// How long a server may take to accept a connection, and to send the next bytes.
const CONNECT: Duration = Duration::from_secs(10);
const READ: Duration = Duration::from_secs(60);

/// The client of a store, and the name of an object in it.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub(crate) address: Address,
    pub(crate) client: Arc<dyn ObjectStore>,
    /// `None` where parts can't be uploaded.
    pub(crate) parts: Option<Arc<dyn PartsOf>>,
    pub(crate) key: Key,
}

/// A store to which parts are uploaded.
pub(crate) trait PartsOf: MultipartStore + std::fmt::Debug {}

impl<T: MultipartStore + std::fmt::Debug> PartsOf for T {}

impl Store {
    /// The client for an address. Nothing is sent.
    pub(crate) fn new(address: Address, is_target: bool) -> Result<Store> {
        let key = Key::parse(&address.key).map_err(|error| {
            Error::usage(format!("{} is not a valid name of an object", address.name.display()))
                .because(error)
        })?;
        let made = runtime::within(|| client(&address))?;
        let (client, parts) = made.map_err(|error| {
            let tried = Tried { what: "open", name: &address.name, kind: address.kind, is_target };
            tried.failed(&error)
        })?;
        Ok(Store { address, client, parts, key })
    }

    /// For the errors of requests.
    pub(crate) fn tried<'s>(&'s self, what: &'s str, is_target: bool) -> Tried<'s> {
        Tried { what, name: &self.address.name, kind: self.address.kind, is_target }
    }
}

type Client = (Arc<dyn ObjectStore>, Option<Arc<dyn PartsOf>>);

fn client(address: &Address) -> object_store::Result<Client> {
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
            let builder = builder.with_client_options(options(address, allows_http)).with_retry(retries());
            both(builder.build()?)
        }
        Kind::Google => {
            let builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket);
            both(builder.with_client_options(options(address, true)).with_retry(retries()).build()?)
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
            let options = options(address, is_emulated || is_http);
            both(builder.with_client_options(options).with_retry(retries()).build()?)
        }
        Kind::Web => {
            let builder = HttpBuilder::new().with_url(bucket);
            let store = builder.with_client_options(options(address, true)).with_retry(retries()).build()?;
            (Arc::new(store), None)
        }
    })
}

fn retries() -> RetryConfig {
    let backoff = BackoffConfig {
        init_backoff: waits::scaled(BACKOFF_MIN),
        max_backoff: waits::scaled(BACKOFF_MAX),
        ..BackoffConfig::default()
    };
    RetryConfig { backoff, max_retries: RETRIES, retry_timeout: RETRIED_FOR }
}

fn options(address: &Address, allows_http: bool) -> ClientOptions {
    let headers: HeaderMap =
        address.authorization.iter().map(|value| (header::AUTHORIZATION, value.clone())).collect();
    // A part of a large file may take any time, as long as bytes flow.
    ClientOptions::new()
        .with_allow_http(allows_http)
        .with_timeout_disabled()
        .with_connect_timeout(CONNECT)
        .with_read_timeout(READ)
        .with_default_headers(headers)
}
