//! Calls the tokenizers of SQLite, and those that the program has registered, without a table.
//!
//! ```text
//!  SELECT fts5(?1) ──> fts5_api ──xFindTokenizer──> functions of the tokenizer ──xCreate──> an object
//!                                                                                             │ xTokenize, for each text
//!                                                                  closure  <── xToken ───────┘
//! ```
//!
//! Each thread has a tokenizer of its own, in a connection of its own, so that no lock is taken.
//!
//! Invariant: the object is used and deleted while its connection is open. A panic of the closure does not unwind through SQLite.
#![allow(unsafe_code, reason = "the tokenizers of SQLite are C functions")]

use std::any::Any;
use std::ffi::{CString, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;

use rusqlite::ffi::{self, Fts5Tokenizer, fts5_api, fts5_tokenizer};
use rusqlite::types::{ToSql, ToSqlOutput};
use rusqlite::{Connection, params_from_iter};

/// A tokenizer that SQLite knows by its name.
pub(super) struct SqliteTokenizer {
    object: *mut Fts5Tokenizer,
    functions: fts5_tokenizer,
    /// The connection that owns the tokenizer's module.
    _connection: Connection,
}

/// The reason why there is no tokenizer.
#[derive(Debug)]
pub(crate) enum NoTokenizer {
    /// No tokenizer has this name. An application may have one.
    Unknown,
    /// The tokenizer refuses its arguments.
    Refused,
    /// SQLite's error.
    Sqlite(rusqlite::Error),
}

impl From<rusqlite::Error> for NoTokenizer {
    fn from(error: rusqlite::Error) -> NoTokenizer {
        NoTokenizer::Sqlite(error)
    }
}

/// A pointer that SQLite takes as a parameter.
struct Pointer(*mut *mut fts5_api);

impl ToSql for Pointer {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Pointer((self.0.cast_const().cast(), c"fts5_api_ptr", None)))
    }
}

/// A call of `xTokenize`.
struct Call<'e, F> {
    each: &'e mut F,
    panic: Option<Box<dyn Any + Send>>,
}

impl SqliteTokenizer {
    /// Creates the tokenizer `arguments[0]` with the other arguments.
    ///
    /// # Errors
    /// If SQLite has no tokenizer of this name, the tokenizer refuses the arguments, or SQLite can't open a connection.
    pub(super) fn new(arguments: &[String]) -> Result<SqliteTokenizer, NoTokenizer> {
        let connection = Connection::open_in_memory()?;
        let mut api: *mut fts5_api = ptr::null_mut();
        // The function writes the address of its interface to the pointer, which lives longer than the statement.
        connection.query_row("SELECT fts5(?1)", params_from_iter([Pointer(&raw mut api)]), |_| Ok(()))?;
        let words: Result<Vec<CString>, _> =
            arguments.iter().map(|word| CString::new(word.as_str())).collect();
        let words = words.map_err(|_| NoTokenizer::Unknown)?;
        let Some((name, others)) = words.split_first() else { return Err(NoTokenizer::Unknown) };
        let mut user_data: *mut c_void = ptr::null_mut();
        let mut functions = fts5_tokenizer { xCreate: None, xDelete: None, xTokenize: None };
        // SAFETY: `api` is null or the interface of the open connection.
        let Some(find) = (unsafe { api.as_ref() }).and_then(|api| api.xFindTokenizer) else {
            return Err(NoTokenizer::Unknown);
        };
        // SAFETY: the name ends with NUL, and both pointers are valid for writes.
        let found = unsafe { find(api, name.as_ptr(), &raw mut user_data, &raw mut functions) };
        let Some(create) = functions.xCreate.filter(|_| found == ffi::SQLITE_OK) else {
            return Err(NoTokenizer::Unknown);
        };
        let mut pointers: Vec<*const c_char> = others.iter().map(|word| word.as_ptr()).collect();
        let mut object: *mut Fts5Tokenizer = ptr::null_mut();
        // SAFETY: there are as many strings as stated, each ends with NUL, and they outlive the call. `user_data` belongs to the function.
        let created =
            unsafe { create(user_data, pointers.as_mut_ptr(), pointers.len() as c_int, &raw mut object) };
        if created != ffi::SQLITE_OK || object.is_null() {
            return Err(NoTokenizer::Refused);
        }
        Ok(SqliteTokenizer { object, functions, _connection: connection })
    }

    /// Calls `each` with each token of a text, in order, and with `true` if the token has the position of the token before.
    ///
    /// # Errors
    /// If the tokenizer fails, as without memory.
    pub(super) fn split<F: FnMut(&[u8], bool)>(&self, text: &[u8], each: &mut F) -> rusqlite::Result<()> {
        let failed = |code| rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
        let Some(tokenize) = self.functions.xTokenize else { return Err(failed(ffi::SQLITE_MISUSE)) };
        let bytes = c_int::try_from(text.len()).map_err(|_| failed(ffi::SQLITE_TOOBIG))?;
        let mut call = Call { each, panic: None };
        // SAFETY: the object is alive, the text has `bytes` bytes, and `call` outlives the call, which alone uses it.
        let code = unsafe {
            tokenize(
                self.object,
                (&raw mut call).cast(),
                ffi::FTS5_TOKENIZE_DOCUMENT,
                text.as_ptr().cast(),
                bytes,
                Some(take::<F>),
            )
        };
        match (call.panic, code) {
            (Some(panic), _) => resume_unwind(panic),
            (None, ffi::SQLITE_OK) => Ok(()),
            (None, code) => Err(failed(code)),
        }
    }
}

impl Drop for SqliteTokenizer {
    fn drop(&mut self) {
        if let Some(delete) = self.functions.xDelete {
            // SAFETY: `xCreate` has made the object, its connection is still open, and nothing uses the object afterwards.
            unsafe { delete(self.object) }
        }
    }
}

/// Hands a token to the closure of a [`Call`].
unsafe extern "C" fn take<F: FnMut(&[u8], bool)>(
    context: *mut c_void,
    flags: c_int,
    token: *const c_char,
    bytes: c_int,
    _start: c_int,
    _end: c_int,
) -> c_int {
    // SAFETY: `context` is the call that runs `xTokenize`, and nothing else uses it meanwhile.
    let call = unsafe { &mut *context.cast::<Call<'_, F>>() };
    let token = match usize::try_from(bytes) {
        // SAFETY: the tokenizer states the number of bytes of its token, which lives until this call returns.
        Ok(bytes) if bytes > 0 && !token.is_null() => unsafe {
            std::slice::from_raw_parts(token.cast::<u8>(), bytes)
        },
        _ => &[],
    };
    let is_colocated = flags & ffi::FTS5_TOKEN_COLOCATED != 0;
    match catch_unwind(AssertUnwindSafe(|| (call.each)(token, is_colocated))) {
        Ok(()) => ffi::SQLITE_OK,
        Err(panic) => {
            call.panic = Some(panic);
            ffi::SQLITE_ABORT
        }
    }
}
