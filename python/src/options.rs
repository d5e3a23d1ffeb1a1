//! How a database is written, as the package says it.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use sqluice::error::{Error, Result};
use sqluice::options::PageSize;
use sqluice::options::{IfExists, OnConflict, WriteOptions};
use sqluice::remote::RequestLimits;
use sqluice::source::arrow::{ArrowOptions, DecimalAs, TimestampAs};

/// What all that write have in common.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    threads: Option<usize>,
    memory: u64,
    temp_dir: Option<PathBuf>,
    page_size: Option<u32>,
    overwrite: bool,
    busy_timeout: f64,
    assume_unused: bool,
    timeout: Option<f64>,
    retries: Option<u32>,
    foreign_keys: Option<bool>,
    analyze: bool,
    on_conflict: String,
    if_exists: String,
    upsert: Vec<String>,
    first_rowid: i64,
}

impl Options {
    pub(crate) fn write(&self) -> Result<WriteOptions> {
        let page_size = match self.page_size {
            None => PageSize::DEFAULT,
            Some(bytes) => page_size(bytes)?,
        };
        let busy_timeout = seconds(self.busy_timeout)?;
        let on_conflict = match self.on_conflict.as_str() {
            "abort" => OnConflict::Abort,
            "ignore" => OnConflict::Ignore,
            "replace" => OnConflict::Replace,
            other => return Err(choice("on_conflict", other, "abort, ignore or replace")),
        };
        let if_exists = match self.if_exists.as_str() {
            "fail" => IfExists::Fail,
            "append" => IfExists::Append,
            "replace" => IfExists::Replace,
            "upsert" => IfExists::Upsert(self.upsert.clone()),
            other => return Err(choice("if_exists", other, "fail, append, replace or upsert")),
        };
        let mut options = WriteOptions::new()
            .threads(self.threads)
            .memory_bytes(self.memory)
            .page_size(page_size)
            .overwrite(self.overwrite)
            .busy_timeout(busy_timeout)
            .assume_unused(self.assume_unused)
            .requests(requests(self.timeout, self.retries)?)
            .foreign_keys(self.foreign_keys)
            .analyze(self.analyze)
            .on_conflict(on_conflict)
            .first_rowid(self.first_rowid)
            .if_exists(if_exists);
        options.temp_dir.clone_from(&self.temp_dir);
        Ok(options)
    }
}

/// How Arrow's decimals and timestamps are stored.
pub(crate) fn arrow(decimal: &str, timestamp: &str) -> Result<ArrowOptions> {
    let decimal = match decimal {
        "auto" => DecimalAs::Auto,
        "text" => DecimalAs::Text,
        "real" => DecimalAs::Real,
        other => return Err(choice("decimal", other, "auto, text or real")),
    };
    let timestamp = match timestamp {
        "iso" => TimestampAs::Iso,
        "unix" => TimestampAs::Unix,
        other => return Err(choice("timestamp", other, "iso or unix")),
    };
    Ok(ArrowOptions::new().decimal(decimal).timestamp(timestamp))
}

/// Bytes as a page size.
pub(crate) fn page_size(bytes: u32) -> Result<PageSize> {
    PageSize::new(bytes)
        .ok_or_else(|| Error::usage(format!("page_size={bytes} is not a power of two from 512 to 65536")))
}

/// Seconds as a duration.
pub(crate) fn seconds(seconds: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|error| Error::usage(format!("{seconds} seconds are not a duration")).because(error))
}

/// The limits of requests that are given, and the defaults of others.
pub(crate) fn requests(timeout: Option<f64>, retries: Option<u32>) -> Result<RequestLimits> {
    let default = RequestLimits::default();
    Ok(RequestLimits {
        timeout: timeout.map_or(Ok(default.timeout), seconds)?,
        retries: retries.unwrap_or(default.retries),
    })
}

/// The error for a value that is not one of the allowed words.
pub(crate) fn choice(name: &str, given: &str, words: &str) -> Error {
    Error::usage(format!("{name}: {given:?} is not one of {words}"))
}
