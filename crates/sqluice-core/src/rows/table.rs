//! The table-valued function as SQLite calls it, and the pointers to [`Rows`] that statements hold.
//!
//! ```text
//!  the parameter ?1 of a statement: a pointer ──┐
//!                                               ├── own ──> Shared: the rows ── xColumn, a value at a time ──> registers of the statement
//!  a cursor, from xFilter on ───────────────────┘
//! ```
//!
//! All `unsafe` code of this crate is in this file and in `taking.rs`.
//!
//! * Each bound pointer and each cursor counts as an owner of the columns. SQLite gives a pointer away only under its type, a text that
//!   identifies this copy of the crate in memory: no other code can pass its pointers as ours.
//! * Text and blobs of **lent** rows are not copied: registers of the statement point into the columns. This is sound until the statement
//!   is reset, and lending ends with a reset. Nothing else can clear the binding or step the statement during the lending.
//! * SQLite copies the values of **bound** rows: a statement whose parameters were cleared between two steps may still hold a value when
//!   the last owner is gone.
//! * A panic that would unwind into SQLite ends the process; nothing here panics.
//!
//! Two modules of virtual tables share these methods: the function, whose columns are numbered, and tables whose columns are declared by
//! the arguments of CREATE VIRTUAL TABLE ([`register_named`]). In both, the first column is hidden, takes the rows, and has the number of
//! the row as its value, counted from 0.
//!
//! Invariant: borrowed values outlive the call that lends them, panics included. Rows that are not lent borrow nothing (`'static`).
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock};

use rusqlite::ffi::{
    self, sqlite3_context, sqlite3_index_info, sqlite3_value, sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::types::{Null, ToSql, ToSqlOutput};
use rusqlite::{Connection, Statement};

use super::{COLUMNS_MAX, NAME, Rows, Shared};
use crate::batch::Value;

/// The type of pointers to bound rows.
static BOUND: LazyLock<CString> = LazyLock::new(|| pointer_type("bound"));

/// The type of pointers to lent rows.
static LENT: LazyLock<CString> = LazyLock::new(|| pointer_type("lent"));

/// Returns the name of a pointer type. No two copies of this crate that are loaded at once have their module at the same address, whatever
/// their versions.
fn pointer_type(kind: &str) -> CString {
    CString::new(format!("sqluice {kind} {:p}", &raw const MODULE)).unwrap_or_default()
}

/// The hidden column that takes the argument.
const ARGUMENT: c_int = 0;

/// SQLite's column number for the rowid.
const ROWID: c_int = -1;

// The arguments that xBestIndex passes to xFilter, as bits in the order of the arguments.
const GIVEN: c_int = 1;
const EQUAL: c_int = 2;
const FROM: c_int = 4;
const UP_TO: c_int = 8;

/// The estimates that SQLite gets before the rows are known: of a full scan, of a scan over a part, and of a lookup. Each number is both
/// the rows and the cost. Two lookups must seem more expensive than a scan. Else SQLite runs `rowid = 1 OR rowid > 5` as two scans, and
/// compares the argument again. No value is equal to a pointer, so the result would be empty.
const EXPECTED: [i64; 3] = [100, 80, 60];

static MODULE: ffi::sqlite3_module = ffi::sqlite3_module {
    xConnect: Some(connect),
    xBestIndex: Some(best_index),
    xDisconnect: Some(disconnect),
    xOpen: Some(open),
    xClose: Some(close),
    xFilter: Some(filter),
    xNext: Some(next),
    xEof: Some(eof),
    xColumn: Some(column),
    xRowid: Some(rowid),
    // SAFETY: zero is valid for all fields of a module: version 0, and no methods.
    ..unsafe { std::mem::zeroed() }
};

/// The module of the tables that [`register_named`] describes.
static NAMED: ffi::sqlite3_module = ffi::sqlite3_module {
    xCreate: Some(connect_named),
    xConnect: Some(connect_named),
    xDestroy: Some(disconnect),
    ..MODULE
};

/// The name of the module of the tables that [`register_named`] describes.
pub(super) const NAMED_NAME: &CStr = c"sqluice_batch";

pub(super) fn register(connection: &Connection) -> rusqlite::Result<()> {
    register_module(connection, NAME, &MODULE)
}

/// Registers the module of tables that a statement declares: `CREATE VIRTUAL TABLE batch USING sqluice_batch("rows" HIDDEN, "a" TEXT,
/// ...)`.
pub(super) fn register_named(connection: &Connection) -> rusqlite::Result<()> {
    register_module(connection, NAMED_NAME, &NAMED)
}

fn register_module(
    connection: &Connection,
    name: &'static CStr,
    module: &'static ffi::sqlite3_module,
) -> rusqlite::Result<()> {
    // SAFETY: the handle is open for as long as the connection is borrowed; module and name are static, and no data is passed.
    let code = unsafe {
        ffi::sqlite3_create_module_v2(
            connection.handle(),
            name.as_ptr(),
            &raw const *module,
            std::ptr::null_mut(),
            None,
        )
    };
    match code {
        ffi::SQLITE_OK => Ok(()),
        code => Err(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)),
    }
}

/// Returns a pointer to rows, for SQLite. The pointer counts as an owner of the rows until SQLite calls [`forget`].
fn pointer(shared: Arc<Shared<'static>>, kind: &'static CStr) -> ToSqlOutput<'static> {
    ToSqlOutput::Pointer((Arc::into_raw(shared).cast(), kind, Some(forget)))
}

/// Drops a pointer that SQLite no longer needs.
unsafe extern "C" fn forget(shared: *mut c_void) {
    // SAFETY: the pointer was made by `pointer`, and SQLite calls this function once for each.
    drop(unsafe { Arc::from_raw(shared.cast_const().cast::<Shared<'static>>()) });
}

impl ToSql for Rows<'static> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(pointer(Arc::clone(&self.shared), &BOUND))
    }
}

/// Lends rows to a parameter of a statement while `use_it` runs.
pub(super) fn lend<R>(
    rows: &Rows<'_>,
    statement: &mut Statement<'_>,
    parameter: usize,
    use_it: impl FnOnce(&mut Lent<'_, '_>) -> R,
) -> rusqlite::Result<R> {
    // SAFETY: `Lent` is dropped before this function ends, whatever `use_it` does, because `use_it` gets only a reference. The drop resets
    // the statement and clears the parameter, so no register, cursor or binding of the statement has the pointer afterwards. Only this
    // statement gets the pointer, and during the lending the statement can't be dropped nor its bindings cleared.
    let shared =
        unsafe { std::mem::transmute::<Arc<Shared<'_>>, Arc<Shared<'static>>>(Arc::clone(&rows.shared)) };
    let lent = LentPointer(shared);
    let mut lending = Lent { statement, parameter };
    lending.statement.raw_bind_parameter(parameter, &lent)?;
    drop(lent);
    Ok(use_it(&mut lending))
}

struct LentPointer(Arc<Shared<'static>>);

impl ToSql for LentPointer {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(pointer(Arc::clone(&self.0), &LENT))
    }
}

/// A statement with lent rows, while they are lent: see [`Rows::lend`].
#[derive(Debug)]
pub struct Lent<'s, 'c> {
    statement: &'s mut Statement<'c>,
    parameter: usize,
}

impl Lent<'_, '_> {
    /// Binds another parameter, counted from 1.
    ///
    /// # Errors
    /// If the parameter does not exist or has the rows, or the value can't be bound.
    pub fn bind(&mut self, parameter: usize, value: impl ToSql) -> rusqlite::Result<()> {
        if parameter == self.parameter {
            return Err(rusqlite::Error::InvalidParameterName(format!("?{parameter} has the rows")));
        }
        self.statement.raw_bind_parameter(parameter, value)
    }

    /// Runs a statement that returns no rows, with the bound parameters, and returns the number of changed rows.
    ///
    /// # Errors
    /// The error of SQLite.
    pub fn execute(&mut self) -> rusqlite::Result<usize> {
        self.statement.raw_execute()
    }

    /// Runs a query with the bound parameters.
    pub fn query(&mut self) -> rusqlite::Rows<'_> {
        self.statement.raw_query()
    }
}

impl Drop for Lent<'_, '_> {
    fn drop(&mut self) {
        // The end of a query resets the statement.
        drop(self.statement.raw_query());
        let cleared = self.statement.raw_bind_parameter(self.parameter, Null);
        debug_assert!(
            cleared.is_ok() || self.parameter > self.statement.parameter_count() || self.parameter == 0
        );
    }
}

/// A scan of rows.
#[repr(C)]
struct Cursor {
    base: sqlite3_vtab_cursor,
    /// The current row, counted from 0.
    row: usize,
    end: usize,
    /// The rows; `None`: the argument is NULL.
    rows: Option<Arc<Shared<'static>>>,
    /// SQLITE_TRANSIENT if SQLite must copy text and blobs, as for bound rows; SQLITE_STATIC if it need not, as for lent rows.
    copies: ffi::sqlite3_destructor_type,
}

unsafe extern "C" fn connect(
    db: *mut ffi::sqlite3,
    _data: *mut c_void,
    _arguments: c_int,
    _argument: *const *const c_char,
    table: *mut *mut sqlite3_vtab,
    _error: *mut *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes its connection; a limit of -1 only queries.
    let limit = unsafe { ffi::sqlite3_limit(db, ffi::SQLITE_LIMIT_COLUMN, -1) };
    let columns = usize::try_from(limit).unwrap_or(0).saturating_sub(1).min(COLUMNS_MAX);
    let mut sql = String::from("CREATE TABLE x(argument HIDDEN");
    for column in 1..=columns {
        // Writing to a string does not fail.
        let _ = write!(sql, ",c{column}");
    }
    sql.push_str(")\0");
    // SAFETY: SQLite calls this function within xConnect, with its connection and a place for the table.
    unsafe { declare(db, &sql, table) }
}

/// Creates a table with the columns that the arguments declare.
unsafe extern "C" fn connect_named(
    db: *mut ffi::sqlite3,
    _data: *mut c_void,
    arguments: c_int,
    argument: *const *const c_char,
    table: *mut *mut sqlite3_vtab,
    _error: *mut *mut c_char,
) -> c_int {
    /// The number of arguments before the columns: the names of the module, the database and the table.
    const BEFORE: usize = 3;
    let count = usize::try_from(arguments).unwrap_or(0);
    // SAFETY: SQLite passes this number as the length.
    let arguments = unsafe { std::slice::from_raw_parts(argument, count) };
    let mut sql = String::from("CREATE TABLE x(");
    for (at, argument) in arguments.iter().skip(BEFORE).enumerate() {
        // SAFETY: SQLite passes texts that end with a NUL.
        let declared = unsafe { CStr::from_ptr(*argument) };
        let Ok(declared) = declared.to_str() else { return ffi::SQLITE_ERROR };
        sql.push_str(if at == 0 { "" } else { "," });
        sql.push_str(declared);
    }
    sql.push_str(")\0");
    // SAFETY: SQLite calls this function within xCreate or xConnect, with its connection and a place for the table.
    unsafe { declare(db, &sql, table) }
}

/// Declares the columns of a virtual table, and creates it. The statement `sql` must end with a NUL.
///
/// # Safety
/// SQLite must be in xCreate or xConnect of the table, for this connection.
unsafe fn declare(db: *mut ffi::sqlite3, sql: &str, table: *mut *mut sqlite3_vtab) -> c_int {
    // SAFETY: as above; the statement ends with a NUL. DIRECTONLY takes no more arguments.
    let code = unsafe {
        match ffi::sqlite3_declare_vtab(db, sql.as_ptr().cast()) {
            ffi::SQLITE_OK => ffi::sqlite3_vtab_config(db, ffi::SQLITE_VTAB_DIRECTONLY),
            code => code,
        }
    };
    if code == ffi::SQLITE_OK {
        // SAFETY: SQLite gives a place for the table, which `disconnect` frees.
        unsafe { *table = Box::into_raw(Box::new(sqlite3_vtab::default())) };
    }
    code
}

unsafe extern "C" fn disconnect(table: *mut sqlite3_vtab) -> c_int {
    // SAFETY: the table was made by `connect`, and SQLite does not use it after this call. SQLite frees the message itself.
    drop(unsafe { Box::from_raw(table) });
    ffi::SQLITE_OK
}

/// Finds the argument and the conditions on the rowid. SQLite checks the conditions again, so conditions that are not cheap to use are left
/// to SQLite.
unsafe extern "C" fn best_index(_table: *mut sqlite3_vtab, info: *mut sqlite3_index_info) -> c_int {
    // SAFETY: SQLite passes a valid pointer, for this function alone.
    let info = unsafe { &mut *info };
    let constraints = usize::try_from(info.nConstraint).unwrap_or(0);
    let mut found = [None; 4];
    let mut argument_elsewhere = false;
    for index in 0..constraints {
        // SAFETY: SQLite passes this number as the length.
        let constraint = unsafe { &*info.aConstraint.add(index) };
        let place = match (constraint.iColumn, c_int::from(constraint.op)) {
            (ARGUMENT, ffi::SQLITE_INDEX_CONSTRAINT_EQ) => 0,
            (ROWID, ffi::SQLITE_INDEX_CONSTRAINT_EQ) => 1,
            (ROWID, ffi::SQLITE_INDEX_CONSTRAINT_GT | ffi::SQLITE_INDEX_CONSTRAINT_GE) => 2,
            (ROWID, ffi::SQLITE_INDEX_CONSTRAINT_LT | ffi::SQLITE_INDEX_CONSTRAINT_LE) => 3,
            _ => continue,
        };
        if constraint.usable != 0 {
            found[place] = Some(index);
        } else if place == 0 {
            argument_elsewhere = true;
        }
    }
    if argument_elsewhere && found[0].is_none() {
        // The argument depends on a table that must be read first.
        return ffi::SQLITE_CONSTRAINT;
    }
    let equal = found[1].is_some();
    let mut arguments = 0;
    info.idxNum = 0;
    for (place, bit) in [GIVEN, EQUAL, FROM, UP_TO].into_iter().enumerate() {
        let Some(index) = found[place].filter(|_| !equal || place < 2) else { continue };
        arguments += 1;
        info.idxNum |= bit;
        // SAFETY: the array has one element for each constraint.
        let usage = unsafe { &mut *info.aConstraintUsage.add(index) };
        usage.argvIndex = arguments;
        usage.omit = u8::from(place == 0);
    }
    info.estimatedRows = match (equal, found[2].is_some() || found[3].is_some()) {
        (true, _) => EXPECTED[2],
        (false, true) => EXPECTED[1],
        (false, false) => EXPECTED[0],
    };
    info.estimatedCost = info.estimatedRows as f64;
    info.idxFlags = if equal { ffi::SQLITE_INDEX_SCAN_UNIQUE } else { 0 };
    if info.nOrderBy == 1 {
        // SAFETY: the array has one element.
        let order = unsafe { &*info.aOrderBy };
        info.orderByConsumed = c_int::from(order.iColumn == ROWID && order.desc == 0);
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn open(_table: *mut sqlite3_vtab, cursor: *mut *mut sqlite3_vtab_cursor) -> c_int {
    let new = Cursor {
        base: sqlite3_vtab_cursor::default(),
        row: 0,
        end: 0,
        rows: None,
        copies: ffi::SQLITE_TRANSIENT(),
    };
    // SAFETY: SQLite gives a place for the cursor, whose first field is SQLite's part of it; `close` frees it.
    unsafe { *cursor = Box::into_raw(Box::new(new)).cast() };
    ffi::SQLITE_OK
}

unsafe extern "C" fn close(cursor: *mut sqlite3_vtab_cursor) -> c_int {
    // SAFETY: the cursor was made by `open`, and SQLite does not use it after this call.
    let cursor = unsafe { Box::from_raw(cursor.cast::<Cursor>()) };
    cursor.note_row();
    ffi::SQLITE_OK
}

unsafe extern "C" fn filter(
    cursor: *mut sqlite3_vtab_cursor,
    given: c_int,
    _name: *const c_char,
    arguments: c_int,
    values: *mut *mut sqlite3_value,
) -> c_int {
    // SAFETY: the cursor was made by `open`.
    let cursor = unsafe { &mut *cursor.cast::<Cursor>() };
    let values: &[*mut sqlite3_value] = match usize::try_from(arguments) {
        Ok(arguments) if arguments > 0 => {
            // SAFETY: SQLite passes this number as the length.
            unsafe { std::slice::from_raw_parts(values, arguments) }
        }
        _ => &[],
    };
    let mut values = values.iter().copied();
    (cursor.row, cursor.end) = (0, 0);
    let argument = values.next().filter(|_| given & GIVEN != 0);
    // SAFETY: values are valid during this call.
    match unsafe { rows_of(argument) } {
        Ok(Some((rows, copies))) => {
            cursor.end = rows.rows;
            (cursor.rows, cursor.copies) = (Some(rows), copies);
        }
        Ok(None) => cursor.rows = None,
        Err(message) => {
            cursor.rows = None;
            // SAFETY: SQLite sets `pVtab` to the table when it opens a cursor.
            unsafe { set_error(cursor.base.pVtab, message) };
            return ffi::SQLITE_ERROR;
        }
    }
    for bit in [EQUAL, FROM, UP_TO].into_iter().filter(|bit| given & bit != 0) {
        let Some(value) = values.next() else { break };
        // SAFETY: values are valid during this call.
        let (kind, rowid) = unsafe { (ffi::sqlite3_value_type(value), ffi::sqlite3_value_int64(value)) };
        match kind {
            ffi::SQLITE_INTEGER => cursor.narrow(bit, rowid),
            // A comparison with NULL is never true.
            ffi::SQLITE_NULL => cursor.end = 0,
            // SQLite compares other values itself, row by row.
            _ => {}
        }
    }
    cursor.note_row();
    ffi::SQLITE_OK
}

impl Cursor {
    /// Stores the current row for [`Rows::stopped_at`].
    #[inline]
    fn note_row(&self) {
        if let Some(rows) = &self.rows {
            rows.stopped_at.store(self.row, Ordering::Relaxed);
        }
    }

    /// Narrows the scan to the rows whose rowid is equal to `rowid` (EQUAL), at least `rowid` (FROM), or at most `rowid` (UP_TO).
    fn narrow(&mut self, bit: c_int, rowid: i64) {
        let row = usize::try_from(rowid.saturating_sub(1));
        if bit != UP_TO {
            self.row = self.row.max(if rowid < 1 { 0 } else { row.unwrap_or(self.end) });
        }
        if bit != FROM {
            self.end =
                self.end.min(if rowid < 1 { 0 } else { row.map_or(self.end, |row| row.saturating_add(1)) });
        }
    }
}

/// Returns the rows that an argument points to, and the destructor type for their text and blobs; `None` if the argument is NULL.
///
/// # Safety
/// The argument must be a valid value of SQLite.
unsafe fn rows_of(
    argument: Option<*mut sqlite3_value>,
) -> Result<Option<(Arc<Shared<'static>>, ffi::sqlite3_destructor_type)>, &'static CStr> {
    let Some(value) = argument else {
        return Err(c"sqluice_rows takes its rows as an argument: sqluice_rows(?1)");
    };
    for (kind, copies) in [(&LENT, ffi::SQLITE_STATIC()), (&BOUND, ffi::SQLITE_TRANSIENT())] {
        // SAFETY: the caller passes a value that is valid during this call.
        let pointer = unsafe { ffi::sqlite3_value_pointer(value, kind.as_ptr()) }
            .cast_const()
            .cast::<Shared<'static>>();
        if pointer.is_null() {
            continue;
        }
        // SAFETY: a pointer of this type was made by `pointer`, and the statement's parameter keeps it alive during this call. The cursor
        // becomes one more owner.
        let rows = unsafe {
            Arc::increment_strong_count(pointer);
            Arc::from_raw(pointer)
        };
        return Ok(Some((rows, copies)));
    }
    /// The subtype of values that hold a pointer of any type. Only the subtype distinguishes such a value from NULL.
    const POINTER: u32 = b'p' as u32;
    // SAFETY: the value is valid.
    let (class, subtype) = unsafe { (ffi::sqlite3_value_type(value), ffi::sqlite3_value_subtype(value)) };
    match (class, subtype) {
        (ffi::SQLITE_NULL, POINTER) => Err(
            c"the argument of sqluice_rows is a pointer to something else than rows of this copy of sqluice",
        ),
        (ffi::SQLITE_NULL, _) => Ok(None),
        _ => Err(c"the argument of sqluice_rows is a value, and must be rows that are bound to a parameter"),
    }
}

/// Sets the error message of a table.
///
/// # Safety
/// The table must be valid.
unsafe fn set_error(table: *mut sqlite3_vtab, message: &CStr) {
    // SAFETY: both the new message and the message it replaces are in SQLite's own memory, as SQLite requires.
    unsafe {
        ffi::sqlite3_free((*table).zErrMsg.cast());
        (*table).zErrMsg = ffi::sqlite3_mprintf(c"%s".as_ptr(), message.as_ptr());
    }
}

unsafe extern "C" fn next(cursor: *mut sqlite3_vtab_cursor) -> c_int {
    // SAFETY: the cursor was made by `open`.
    let cursor = unsafe { &mut *cursor.cast::<Cursor>() };
    cursor.row += 1;
    cursor.note_row();
    ffi::SQLITE_OK
}

unsafe extern "C" fn eof(cursor: *mut sqlite3_vtab_cursor) -> c_int {
    // SAFETY: the cursor was made by `open`.
    let cursor = unsafe { &*cursor.cast::<Cursor>() };
    c_int::from(cursor.row >= cursor.end)
}

unsafe extern "C" fn rowid(cursor: *mut sqlite3_vtab_cursor, rowid: *mut i64) -> c_int {
    // SAFETY: the cursor was made by `open`, and SQLite passes a place for the number.
    unsafe { *rowid = (*cursor.cast::<Cursor>()).row as i64 + 1 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn column(
    cursor: *mut sqlite3_vtab_cursor,
    context: *mut sqlite3_context,
    number: c_int,
) -> c_int {
    // SAFETY: the cursor was made by `open`.
    let cursor = unsafe { &*cursor.cast::<Cursor>() };
    let Some(index) = (number as usize).checked_sub(1) else {
        // SAFETY: the context is valid during this call.
        unsafe { ffi::sqlite3_result_int64(context, cursor.row as i64) };
        return ffi::SQLITE_OK;
    };
    let Some(rows) = &cursor.rows else { return ffi::SQLITE_OK };
    // SAFETY: the context is valid during this call.
    unsafe {
        match rows.columns.get(index).and_then(|column| column.number(cursor.row)) {
            Some(Value::Int(int)) => ffi::sqlite3_result_int64(context, int),
            // SQLite turns a NaN into NULL.
            Some(Value::Real(real)) => ffi::sqlite3_result_double(context, real),
            _ => return any(context, cursor, rows, index),
        }
    }
    ffi::SQLITE_OK
}

/// Passes a value of any class to SQLite.
///
/// # Safety
/// The context must be valid.
#[inline(never)]
unsafe fn any(context: *mut sqlite3_context, cursor: &Cursor, rows: &Shared<'_>, index: usize) -> c_int {
    let value = rows.columns.get(index).and_then(|column| column.get(cursor.row));
    // SAFETY: the context is valid during this call. Text and blobs are copied, or lent until the statement is reset. An empty slice may
    // have a dangling pointer, so it is replaced.
    unsafe {
        match value {
            Some(Value::Int(int)) => ffi::sqlite3_result_int64(context, int),
            // SQLite turns a NaN into NULL.
            Some(Value::Real(real)) => ffi::sqlite3_result_double(context, real),
            Some(Value::Text(text)) => {
                let bytes = if text.is_empty() { c"".as_ptr() } else { text.as_ptr().cast() };
                let encoding = ffi::SQLITE_UTF8 as u8;
                ffi::sqlite3_result_text64(context, bytes, text.len() as u64, cursor.copies, encoding);
            }
            Some(Value::Blob(blob)) => {
                let bytes = if blob.is_empty() { c"".as_ptr().cast() } else { blob.as_ptr().cast() };
                ffi::sqlite3_result_blob64(context, bytes, blob.len() as u64, cursor.copies);
            }
            Some(Value::Null) => {}
            None => {
                let message = rows.nothing_there(index, cursor.row);
                ffi::sqlite3_result_error(context, message.as_ptr().cast(), message.len() as c_int);
                return ffi::SQLITE_ERROR;
            }
        }
    }
    ffi::SQLITE_OK
}
