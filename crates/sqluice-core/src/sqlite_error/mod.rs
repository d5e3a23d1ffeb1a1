//! Converts errors of SQLite to [`Error`], and recognises their causes, such as refused values.

pub mod full_disk;

use rusqlite::ErrorCode;

use crate::error::{Error, Setting, message};

/// Returns the error for a failure of SQLite to do `what`, a verb with its object such as `write the copy`.
pub fn failed(error: rusqlite::Error, what: &str) -> Error {
    let failure = match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => return Error::interrupted(),
        Some(ErrorCode::DiskFull) => {
            return full_disk::because(Error::target(format!("SQLite cannot {what}")), error).hint(message![
                "free some space or choose another folder, also for what it sorts: ",
                Setting::TempDir
            ]);
        }
        Some(
            ErrorCode::SystemIoFailure
            | ErrorCode::CannotOpen
            | ErrorCode::DatabaseCorrupt
            | ErrorCode::NotADatabase
            | ErrorCode::OutOfMemory
            | ErrorCode::DatabaseBusy
            | ErrorCode::DatabaseLocked
            | ErrorCode::ReadOnly,
        ) => Error::target(format!("SQLite cannot {what}")),
        _ => Error::input(format!("SQLite cannot {what}")),
    };
    failure.because(said(error))
}

/// Returns SQLite's own message, without the statement.
pub fn said(error: rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message,
        rusqlite::Error::SqlInputError { msg, .. } => msg,
        other => other.to_string(),
    }
}

/// Returns `true` if SQLite's message says that a schema needs a collation, function, tokenizer or module of an application.
pub fn needs_application(message: &str) -> bool {
    let brought = [
        "no such collation sequence",
        "no such function",
        "unknown function",
        "no such tokenizer",
        "unknown tokenizer",
        "no such module",
    ];
    brought.iter().any(|what| message.contains(what))
}

/// Returns `true` if SQLite has refused values: they break a constraint, are too long or of the wrong type, or an expression of the schema
/// depends on the present time.
pub fn is_of_values(error: &rusqlite::Error) -> bool {
    use ErrorCode::{ConstraintViolation, TooBig, TypeMismatch};
    matches!(error.sqlite_error_code(), Some(ConstraintViolation | TypeMismatch | TooBig))
        || is_of_present_time(error)
}

/// Returns `true` if SQLite refuses values because an expression of the schema would depend on the present time.
pub fn is_of_present_time(error: &rusqlite::Error) -> bool {
    let is_it = |message: &str| message.starts_with("non-deterministic use of ");
    matches!(error, rusqlite::Error::SqliteFailure(_, Some(message)) if is_it(message))
}
