//! Tokenizers of the program, for all connections of the process.
//!
//! ```text
//!  register(name, create) ──> list of the process
//!                               │ sqlite3_auto_extension: for each connection that is opened
//!                               └──> fts5_api ──xCreateTokenizer──> xCreate, xTokenize, xDelete: the functions below
//! ```
//!
//! Invariant: a registered tokenizer is never removed, so the pointers that SQLite has stay valid. A panic of a tokenizer does not unwind
//! through SQLite: SQLite gets an error.
#![allow(unsafe_code, reason = "SQLite calls tokenizers as C functions")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, Once, PoisonError};
use std::{ptr, slice};

use rusqlite::ffi::{self, Fts5Tokenizer, fts5_api, fts5_tokenizer, sqlite3};
use sqluice_core::error::{Error, Result};

/// The purpose for which a text is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Purpose {
    /// The text is that of a row, which is indexed.
    Document,
    /// The text is that of a query. `is_prefix` is `true` if its last token may be the beginning of a term.
    Query {
        /// `true` for a prefix query.
        is_prefix: bool,
    },
    /// An auxiliary function, such as `highlight`, splits the text.
    Auxiliary,
}

/// A token of a text.
#[derive(Clone, Copy, Debug)]
pub struct Token<'t> {
    /// The term.
    pub term: &'t [u8],
    /// The offset in the text at which the token begins.
    pub start: usize,
    /// The offset in the text after the last byte of the token.
    pub end: usize,
    /// `true` if the token has the position of the token before, as a synonym has.
    pub is_colocated: bool,
}

/// A tokenizer, which splits texts into tokens.
///
/// SQLite makes an object for each connection and each table. An object is used by one thread at a time.
pub trait Tokenize: Send + 'static {
    /// Calls `token` with each token of a text, in order. The text is UTF-8, unless the value of a row is malformed or a blob.
    ///
    /// # Errors
    /// Stops the statement with an error if the text can't be split. SQLite does not show the message.
    fn tokenize(&self, text: &[u8], purpose: Purpose, token: &mut dyn FnMut(Token<'_>)) -> Result<()>;
}

/// A function that creates a tokenizer from its arguments.
type Create = dyn Fn(&[&str]) -> Result<Box<dyn Tokenize>> + Send + Sync;

/// A registered tokenizer.
struct Registered {
    name: CString,
    create: Box<Create>,
}

static ALL: Mutex<Vec<&'static Registered>> = Mutex::new(Vec::new());

/// The time in milliseconds for which a connection that is opened waits for other connections to end their commits. The caller can set its
/// own time only once the connection is open.
const OPENING_MILLIS: c_int = 5000;

/// Registers a tokenizer for all connections that this process opens from now on. `create` makes a tokenizer from the arguments after its
/// name in the option `tokenize` of a table.
///
/// # Errors
/// If the name is empty, has a NUL, is that of a tokenizer of SQLite, or is registered already.
pub fn register<T: Tokenize>(
    name: &str,
    create: impl Fn(&[&str]) -> Result<T> + Send + Sync + 'static,
) -> Result<()> {
    static EXTENSION: Once = Once::new();
    let refused = |why: &str| Err(Error::usage(format!("a tokenizer can't be called {name:?}: {why}")));
    let Ok(name) = CString::new(name) else { return refused("the name has a NUL") };
    if name.is_empty() {
        return refused("the name is empty");
    }
    let is_name = |other: &[u8]| other.eq_ignore_ascii_case(name.as_bytes());
    if [&b"unicode61"[..], b"ascii", b"porter", b"trigram"].into_iter().any(is_name) {
        return refused("SQLite has one of this name");
    }
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    if all.iter().any(|other| is_name(other.name.as_bytes())) {
        return refused("one of this name is registered");
    }
    let create = move |arguments: &[&str]| Ok(Box::new(create(arguments)?) as Box<dyn Tokenize>);
    // SQLite keeps the address in each connection.
    all.push(Box::leak(Box::new(Registered { name, create: Box::new(create) })));
    EXTENSION.call_once(|| {
        // SAFETY: SQLite calls the function with the arguments of an extension's entry point, as the type of `add_all` states.
        let _ = unsafe { ffi::sqlite3_auto_extension(Some(add_all)) };
    });
    Ok(())
}

/// Adds all registered tokenizers to a new connection: the entry point of an extension.
unsafe extern "C" fn add_all(
    db: *mut sqlite3,
    _message: *mut *mut c_char,
    _api: *const ffi::sqlite3_api_routines,
) -> c_int {
    // SAFETY: SQLite passes the connection that it has just opened.
    let Some(api) = (unsafe { api_of(db) }) else { return ffi::SQLITE_OK };
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner).clone();
    for registered in all {
        // SAFETY: `api` is the interface of the open connection.
        let Some(add) = (unsafe { api.as_ref() }).and_then(|api| api.xCreateTokenizer) else {
            return ffi::SQLITE_OK;
        };
        let mut functions =
            fts5_tokenizer { xCreate: Some(create), xDelete: Some(delete), xTokenize: Some(tokenize) };
        let data: *const Registered = registered;
        // SAFETY: the name ends with NUL, `functions` is copied, and `data` is never freed.
        let added =
            unsafe { add(api, registered.name.as_ptr(), data.cast_mut().cast(), &raw mut functions, None) };
        if added != ffi::SQLITE_OK {
            return added;
        }
    }
    ffi::SQLITE_OK
}

/// Returns FTS5's interface of a connection that is being opened.
///
/// # Safety
/// The connection is open.
unsafe fn api_of(db: *mut sqlite3) -> Option<*mut fts5_api> {
    let mut statement = ptr::null_mut();
    let mut api: *mut fts5_api = ptr::null_mut();
    let sql = c"SELECT fts5(?1)";
    // SAFETY: the connection is open, the text ends with NUL, and `api` outlives the statement, which is finalized here.
    unsafe {
        // SQLite reads the schema before it compiles a SELECT. If it can't, because another connection commits, the connection is not
        // opened.
        ffi::sqlite3_busy_timeout(db, OPENING_MILLIS);
        if ffi::sqlite3_prepare_v2(db, sql.as_ptr(), -1, &raw mut statement, ptr::null_mut())
            == ffi::SQLITE_OK
        {
            let pointer: *mut *mut fts5_api = &raw mut api;
            ffi::sqlite3_bind_pointer(statement, 1, pointer.cast(), c"fts5_api_ptr".as_ptr(), None);
            ffi::sqlite3_step(statement);
        }
        ffi::sqlite3_finalize(statement);
        ffi::sqlite3_busy_timeout(db, 0);
    }
    (!api.is_null()).then_some(api)
}

/// Creates a tokenizer from its arguments.
unsafe extern "C" fn create(
    data: *mut c_void,
    arguments: *mut *const c_char,
    count: c_int,
    object: *mut *mut Fts5Tokenizer,
) -> c_int {
    // SAFETY: `data` is the address that `add_all` has given to SQLite.
    let registered = unsafe { &*data.cast::<Registered>() };
    let count = if arguments.is_null() { 0 } else { usize::try_from(count).unwrap_or(0) };
    let arguments: &[*const c_char] = match count {
        0 => &[],
        // SAFETY: SQLite states the number of arguments.
        count => unsafe { slice::from_raw_parts(arguments, count) },
    };
    // SAFETY: each argument ends with NUL, and outlives this call.
    let arguments = arguments.iter().map(|argument| unsafe { CStr::from_ptr(*argument) }.to_str());
    let Ok(arguments) = arguments.collect::<std::result::Result<Vec<&str>, _>>() else {
        return ffi::SQLITE_ERROR;
    };
    match catch_unwind(AssertUnwindSafe(|| (registered.create)(&arguments))) {
        Ok(Ok(tokenizer)) => {
            // A pointer to the trait object has two words, so it is in a box of its own.
            let tokenizer: *mut Box<dyn Tokenize> = Box::into_raw(Box::new(tokenizer));
            // SAFETY: SQLite passes a place for the object.
            unsafe { *object = tokenizer.cast() };
            ffi::SQLITE_OK
        }
        _ => ffi::SQLITE_ERROR,
    }
}

unsafe extern "C" fn delete(object: *mut Fts5Tokenizer) {
    // SAFETY: `create` has made the object, and SQLite deletes it once.
    let tokenizer = unsafe { Box::from_raw(object.cast::<Box<dyn Tokenize>>()) };
    let _ = catch_unwind(AssertUnwindSafe(|| drop(tokenizer)));
}

/// Hands the tokens of a text to SQLite.
unsafe extern "C" fn tokenize(
    object: *mut Fts5Tokenizer,
    context: *mut c_void,
    flags: c_int,
    text: *const c_char,
    bytes: c_int,
    take: Option<unsafe extern "C" fn(*mut c_void, c_int, *const c_char, c_int, c_int, c_int) -> c_int>,
) -> c_int {
    // SAFETY: `create` has made the object, which lives until `delete`.
    let tokenizer = unsafe { &*object.cast::<Box<dyn Tokenize>>() };
    let Some(take) = take else { return ffi::SQLITE_MISUSE };
    let text: &[u8] = match usize::try_from(bytes) {
        // SAFETY: SQLite states the number of bytes of the text.
        Ok(bytes) if bytes > 0 && !text.is_null() => unsafe { slice::from_raw_parts(text.cast(), bytes) },
        _ => &[],
    };
    let purpose = match () {
        () if flags & ffi::FTS5_TOKENIZE_QUERY != 0 => {
            Purpose::Query { is_prefix: flags & ffi::FTS5_TOKENIZE_PREFIX != 0 }
        }
        () if flags & ffi::FTS5_TOKENIZE_AUX != 0 => Purpose::Auxiliary,
        () => Purpose::Document,
    };
    let mut code = ffi::SQLITE_OK;
    let each = &mut |token: Token<'_>| {
        let Token { term, start, end, is_colocated } = token;
        let number = |bytes: usize| c_int::try_from(bytes).unwrap_or(c_int::MAX);
        if code == ffi::SQLITE_OK {
            let flags = if is_colocated { ffi::FTS5_TOKEN_COLOCATED } else { 0 };
            // SAFETY: the function and its context are SQLite's, and the term outlives the call.
            code = unsafe {
                take(context, flags, term.as_ptr().cast(), number(term.len()), number(start), number(end))
            };
        }
    };
    match catch_unwind(AssertUnwindSafe(|| tokenizer.tokenize(text, purpose, each))) {
        Ok(Ok(())) => code,
        _ if code != ffi::SQLITE_OK => code,
        _ => ffi::SQLITE_ERROR,
    }
}
