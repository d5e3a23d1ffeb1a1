//! Lists the objects whose names match a pattern such as `s3://bucket/2026/*.parquet`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::TryStreamExt;
use glob::{MatchOptions, Pattern};
use object_store::path::Path as Key;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::remote::RequestLimits;

use crate::address::{Address, Kind};
use crate::runtime;
use crate::store::Store;

/// The matching options: as in a shell, a wildcard matches neither `/` nor a leading dot.
const MATCH: MatchOptions =
    MatchOptions { case_sensitive: true, require_literal_separator: true, require_literal_leading_dot: true };

/// Returns the URLs of the objects that match a URL such as `s3://bucket/2026/*.parquet`, sorted by name. A URL of a web server, or without
/// `*`, `?` and `[`, is returned unchanged.
///
/// # Errors
/// When the pattern is malformed or matches nothing, or the bucket can't be listed.
pub fn expand(url: &Path, limits: &RequestLimits, cancel: &Cancel) -> Result<Vec<PathBuf>> {
    let address = Address::parse(url)?;
    let Some(wild) = address.key.find(['*', '?', '[']).filter(|_| address.kind != Kind::Web) else {
        return Ok(vec![url.to_owned()]);
    };
    let shown = address.name.display().to_string();
    let pattern = Pattern::new(&address.key).map_err(|error| {
        Error::usage(format!("{shown} is neither an object nor a pattern")).because(error)
    })?;
    let folder = address.key[..wild].rsplit_once('/').map(|(folder, _)| folder.to_owned());
    let deeper = address.key[wild..].contains('/');
    let plain = Address { key: folder.clone().unwrap_or_default(), ..address.clone() };
    let store = Store::for_list(plain, limits)?;
    let client = Arc::clone(&store.client);
    let prefix = folder.map(Key::from);
    let listed = runtime::wait(cancel, async move {
        match deeper {
            true => client.list(prefix.as_ref()).try_collect::<Vec<_>>().await,
            false => client.list_with_delimiter(prefix.as_ref()).await.map(|listed| listed.objects),
        }
    })?;
    let listed = listed.map_err(|error| store.tried("list", false).failed(&error))?;
    let keys = listed.iter().map(|object| object.location.as_ref());
    let mut found: Vec<&str> = keys.filter(|key| pattern.matches_with(key, MATCH)).collect();
    found.sort_unstable();
    if found.is_empty() {
        return Err(Error::input(format!("no object matches {shown}")));
    }
    let scheme = shown.split("://").next().unwrap_or_default();
    Ok(found.iter().map(|key| PathBuf::from(format!("{scheme}://{}/{key}", address.store))).collect())
}
