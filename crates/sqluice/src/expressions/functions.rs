//! Connections that evaluate expressions, with the functions that expressions may call.
//!
//! Besides SQLite's functions, expressions may call mathematical functions, which some builds of SQLite lack, `sha256`, and functions for
//! regular expressions. `'now'` is the start of the run, for all rows, also if the run has to write all rows again because an
//! assumption of its plan did not hold.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::limits::Limit;
use rusqlite::types::{Value, ValueRef};
use rusqlite::{Connection, config::DbConfig};
use sqluice_core::error::{Error, Result};
use sqluice_engine::encode::RECORD_BYTES_MAX;
use sqluice_engine::options::WriteOptions;

/// The settings of the connections of a run.
#[derive(Clone, Debug)]
pub(crate) struct Functions {
    /// The maximum number of bytes of a text or blob that a function returns.
    pub(crate) length_max: usize,
    /// The time of the start of the run, as text.
    now: Arc<str>,
    /// `true` for expressions of a schema, which see the functions of SQLite alone.
    of_schema: bool,
    /// The text encoding of connections. It decides how the bytes of a blob are read as a number.
    encoding: &'static str,
}

/// SQLite's date and time functions: the name, the position of the first argument that is a time, and the number of such arguments.
const OF_TIMES: [(&str, usize, usize); 7] = [
    ("date", 0, 1),
    ("time", 0, 1),
    ("datetime", 0, 1),
    ("julianday", 0, 1),
    ("unixepoch", 0, 1),
    ("strftime", 1, 1),
    ("timediff", 0, 2),
];

/// The functions without arguments that return the present time, each with the function of [`OF_TIMES`] that returns the same for
/// `'now'`.
const OF_THE_PRESENT: [(&str, &str); 3] =
    [("current_date", "date"), ("current_time", "time"), ("current_timestamp", "datetime")];

const PURE: FunctionFlags = FunctionFlags::SQLITE_UTF8
    .union(FunctionFlags::SQLITE_DETERMINISTIC)
    .union(FunctionFlags::SQLITE_INNOCUOUS);

/// A mathematical function of one number.
type OfNumber = fn(f64) -> f64;

/// The mathematical functions of one number. All of them return a float.
const OF_NUMBER: [(&str, OfNumber); 20] = [
    ("acos", f64::acos),
    ("acosh", f64::acosh),
    ("asin", f64::asin),
    ("asinh", f64::asinh),
    ("atan", f64::atan),
    ("atanh", f64::atanh),
    ("cos", f64::cos),
    ("cosh", f64::cosh),
    ("degrees", f64::to_degrees),
    ("exp", f64::exp),
    ("ln", f64::ln),
    ("log", f64::log10),
    ("log10", f64::log10),
    ("log2", f64::log2),
    ("radians", f64::to_radians),
    ("sin", f64::sin),
    ("sinh", f64::sinh),
    ("sqrt", f64::sqrt),
    ("tan", f64::tan),
    ("tanh", f64::tanh),
];

/// The rounding functions: the text of a call, such as `ceil(x)`, and the function for floats. An integer is returned unchanged.
const ROUNDING: [(&str, OfNumber); 4] =
    [("ceil(x)", f64::ceil), ("ceiling(x)", f64::ceil), ("floor(x)", f64::floor), ("trunc(x)", f64::trunc)];

/// A mathematical function of two numbers.
type OfNumbers = fn(f64, f64) -> f64;

/// The mathematical functions of two numbers.
const OF_NUMBERS: [(&str, OfNumbers); 5] = [
    ("atan2", f64::atan2),
    ("mod", |a, b| a % b),
    ("pow", f64::powf),
    ("power", f64::powf),
    ("log", |base, number| number.ln() / base.ln()),
];

/// The divisor of the run's memory that gives the limit for the results of expressions: each thread holds the results of one batch, and
/// all threads together may take this share.
const RESULTS_SHARE: u64 = 8;

/// The minimum limit for the results of a batch, in bytes, whatever the memory is.
const RESULTS_BYTES_MIN: u64 = 1 << 20;

impl Functions {
    /// Returns the settings for the connections of one run. All have its start time as `'now'`. A text or blob that a function returns is
    /// at most as large as a thread's share of 1/8 of the run's memory, or 1 MiB if that is more, but never larger than a record.
    ///
    /// # Errors
    /// If SQLite can't tell the time.
    pub(crate) fn of_run(options: &WriteOptions) -> Result<Functions> {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        let workers = options.threads.unwrap_or_else(cores).max(1) as u64;
        let bytes = (options.memory_bytes / RESULTS_SHARE / workers).max(RESULTS_BYTES_MIN);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX).min(RECORD_BYTES_MAX);
        Functions::new(bytes)
            .map_err(|error| Error::usage("SQLite can't evaluate expressions").because(error))
    }

    /// Creates the settings with the present time as `'now'`. `length_max` is the largest text or blob that a function may return, in
    /// bytes.
    fn new(length_max: usize) -> rusqlite::Result<Functions> {
        let now: String = Connection::open_in_memory()?.query_row(
            "SELECT strftime('%Y-%m-%d %H:%M:%f', 'now')",
            [],
            |row| row.get(0),
        )?;
        Ok(Functions { length_max, now: now.into(), of_schema: false, encoding: "UTF-8" })
    }

    /// Returns the settings for a database with this text encoding: SQLite reads the bytes of a blob as a number in this encoding.
    pub(crate) fn in_encoding(self, encoding: &'static str) -> Functions {
        Functions { encoding, ..self }
    }

    /// Returns the settings for expressions of a schema, which may call only SQLite's own functions. The present time stays the same.
    #[cfg(feature = "load")]
    pub(crate) fn of_schema(&self) -> Functions {
        Functions { of_schema: true, ..self.clone() }
    }

    /// Opens a connection in memory. Text in double quotes is a name; only in expressions of a schema it may be a string.
    pub(crate) fn connect(&self) -> rusqlite::Result<Connection> {
        let connection = Connection::open_in_memory()?;
        connection.pragma_update(None, "encoding", self.encoding)?;
        connection
            .set_limit(Limit::SQLITE_LIMIT_LENGTH, i32::try_from(self.length_max).unwrap_or(i32::MAX))?;
        if !self.of_schema {
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DDL, false)?;
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DQS_DML, false)?;
            add_mathematics(&connection)?;
            add_texts(&connection)?;
        }
        self.fix_now(&connection)?;
        Ok(connection)
    }

    /// Replaces SQLite's date and time functions, so that `'now'` is the start of the run.
    fn fix_now(&self, connection: &Connection) -> rusqlite::Result<()> {
        let original = Arc::new(Mutex::new(Connection::open_in_memory()?));
        for (name, first, times) in OF_TIMES {
            let (original, now) = (Arc::clone(&original), Arc::clone(&self.now));
            connection.create_scalar_function(name, -1, PURE, move |context| {
                let original = original.lock().unwrap_or_else(PoisonError::into_inner);
                evaluate_time(&original, name, (first, times), &now, context)
            })?;
        }
        for (name, same) in OF_THE_PRESENT {
            let value: String = original.lock().unwrap_or_else(PoisonError::into_inner).query_row(
                &format!("SELECT {same}(?1)"),
                [&*self.now],
                |row| row.get(0),
            )?;
            connection.create_scalar_function(name, 0, PURE, move |_| Ok(value.clone()))?;
        }
        Ok(())
    }
}

/// Calls SQLite's date and time function `name` with the start of the run in place of `'now'`. `times` are the position of the first time
/// among the arguments, and the number of times.
fn evaluate_time(
    original: &Connection,
    name: &str,
    (first, times): (usize, usize),
    now: &str,
    context: &Context<'_>,
) -> rusqlite::Result<Value> {
    let is_one_of = |value: ValueRef<'_>, words: &[&[u8]]| match value {
        ValueRef::Text(text) => words.iter().any(|word| text.eq_ignore_ascii_case(word)),
        _ => false,
    };
    let mut arguments: Vec<Value> = Vec::with_capacity(context.len() + 2);
    let mut with_milliseconds = false;
    for at in 0..context.len() {
        let value = context.get_raw(at);
        let is_time = (first..first + times).contains(&at);
        // In the place of a time, these words mean the present time, with milliseconds.
        let is_subsec = is_time && is_one_of(value, &[b"subsec", b"subsecond"]);
        with_milliseconds |= is_subsec && times == 1;
        arguments.push(match is_subsec || is_time && is_one_of(value, &[b"now"]) {
            true => Value::Text(now.to_owned()),
            false => owned(value),
        });
    }
    if with_milliseconds {
        arguments.push(Value::Text("subsec".to_owned()));
    }
    if arguments.len() == first {
        arguments.push(Value::Text(now.to_owned()));
    }
    let places: Vec<String> = (1..=arguments.len()).map(|at| format!("?{at}")).collect();
    let mut statement = original.prepare_cached(&format!("SELECT {name}({})", places.join(", ")))?;
    statement.query_row(rusqlite::params_from_iter(arguments), |row| row.get(0))
}

fn owned(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(int) => Value::Integer(int),
        ValueRef::Real(real) => Value::Real(real),
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(blob) => Value::Blob(blob.to_vec()),
    }
}

/// Returns an argument as a number; `None` if it is neither a number nor a text that looks like one.
fn number(context: &Context<'_>, at: usize) -> Option<f64> {
    use sqluice_core::affinity::{Affinity, text_to_number};
    use sqluice_core::batch;
    match context.get_raw(at) {
        ValueRef::Integer(int) => Some(int as f64),
        ValueRef::Real(real) => Some(real),
        ValueRef::Text(text) => match text_to_number(text, Affinity::Numeric) {
            batch::Value::Int(int) => Some(int as f64),
            batch::Value::Real(real) => Some(real),
            _ => None,
        },
        ValueRef::Null | ValueRef::Blob(_) => None,
    }
}

/// Adds the mathematical functions, unless the build of SQLite has them.
fn add_mathematics(connection: &Connection) -> rusqlite::Result<()> {
    if connection.prepare("SELECT sqrt(4)").is_ok() {
        return Ok(());
    }
    // SQLite turns a NaN that a function returns into NULL, so a NaN needs no case of its own.
    for (name, of) in OF_NUMBER {
        connection.create_scalar_function(name, 1, PURE, move |context| Ok(number(context, 0).map(of)))?;
    }
    for (call, of) in ROUNDING {
        let name = call.trim_end_matches("(x)");
        connection.create_scalar_function(name, 1, PURE, move |context| {
            Ok(match context.get_raw(0) {
                ValueRef::Integer(int) => Value::Integer(int),
                _ => number(context, 0).map_or(Value::Null, |number| Value::Real(of(number))),
            })
        })?;
    }
    for (name, of) in OF_NUMBERS {
        connection.create_scalar_function(name, 2, PURE, move |context| {
            Ok(number(context, 0).zip(number(context, 1)).map(|(a, b)| of(a, b)))
        })?;
    }
    connection.create_scalar_function("pi", 0, PURE, |_| Ok(std::f64::consts::PI))
}

/// Returns an argument as text; `None` for NULL.
fn text(context: &Context<'_>, at: usize) -> Option<String> {
    match context.get_raw(at) {
        ValueRef::Null => None,
        ValueRef::Integer(int) => Some(int.to_string()),
        ValueRef::Real(real) => {
            let mut text = Vec::new();
            sqluice_core::affinity::real_to_text(real, &mut text);
            Some(String::from_utf8_lossy(&text).into_owned())
        }
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

#[cfg(feature = "expressions")]
fn add_texts(connection: &Connection) -> rusqlite::Result<()> {
    use sha2::{Digest, Sha256};
    connection.create_scalar_function("sha256", 1, PURE, |context| {
        let hash = match context.get_raw(0) {
            ValueRef::Null => return Ok(None),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Sha256::digest(bytes),
            _ => Sha256::digest(text(context, 0).unwrap_or_default()),
        };
        Ok(Some(hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
    })?;
    let patterns = Patterns::default();
    let of = patterns.clone();
    connection.create_scalar_function("regexp", 2, PURE, move |context| {
        let Some(pattern) = text(context, 0) else { return Ok(None) };
        let text = text(context, 1);
        of.with(&pattern, |pattern| Some(pattern.is_match(&text?)))
    })?;
    let of = patterns.clone();
    connection.create_scalar_function("regexp_replace", 3, PURE, move |context| {
        let Some(subject) = text(context, 0) else { return Ok(None) };
        let Some((pattern, by)) = text(context, 1).zip(text(context, 2)) else { return Ok(None) };
        of.with(&pattern, |pattern| {
            let replaced =
                pattern.replace_all(&subject, |found: &regex::Captures<'_>| replacement(&by, found));
            Some(replaced.into_owned())
        })
    })?;
    for arguments in [2, 3] {
        let of = patterns.clone();
        connection.create_scalar_function("regexp_extract", arguments, PURE, move |context| {
            let Some(pattern) = text(context, 1) else { return Ok(None) };
            let subject = text(context, 0);
            let group = match arguments {
                3 => context
                    .get::<Option<i64>>(2)?
                    .and_then(|group| usize::try_from(group).ok())
                    .unwrap_or(usize::MAX),
                _ => 0,
            };
            // The pattern is compiled even if the text is NULL, so that a malformed pattern is found before the file is read.
            of.with(&pattern, |pattern| Some(pattern.captures(&subject?)?.get(group)?.as_str().to_owned()))
        })?;
    }
    Ok(())
}

/// Adds nothing: this build has no regular expressions and no `sha256`.
#[cfg(not(feature = "expressions"))]
fn add_texts(_: &Connection) -> rusqlite::Result<()> {
    let _ = (text, HashMap::<String, ()>::new());
    Ok(())
}

/// Returns the text that replaces a match: `\1` in `by` is the first group of the match, `\\` a backslash.
#[cfg(feature = "expressions")]
fn replacement(by: &str, found: &regex::Captures<'_>) -> String {
    let mut text = String::new();
    let mut characters = by.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some(digit @ '0'..='9') => {
                    let group = found.get(digit as usize - '0' as usize);
                    text.push_str(group.map_or("", |group| group.as_str()));
                }
                Some(other) => text.push(other),
                None => text.push('\\'),
            },
            other => text.push(other),
        }
    }
    text
}

/// The compiled regular expressions of a connection.
#[cfg(feature = "expressions")]
#[derive(Clone, Default)]
struct Patterns(Arc<Mutex<HashMap<String, regex::Regex>>>);

#[cfg(feature = "expressions")]
impl Patterns {
    /// The maximum number of compiled patterns that are kept: patterns may come from a column.
    const KEPT_MAX: usize = 64;

    fn with<T>(
        &self,
        pattern: &str,
        use_it: impl FnOnce(&regex::Regex) -> Option<T>,
    ) -> rusqlite::Result<Option<T>> {
        let mut patterns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !patterns.contains_key(pattern) {
            if patterns.len() >= Self::KEPT_MAX {
                patterns.clear();
            }
            let compiled = regex::Regex::new(pattern).map_err(|error| {
                let why = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
                rusqlite::Error::UserFunctionError(
                    format!("{pattern:?} is no regular expression: {why}").into(),
                )
            })?;
            patterns.insert(pattern.to_owned(), compiled);
        }
        Ok(patterns.get(pattern).and_then(use_it))
    }
}
