//! Converts errors of SQLite and of the engine to ADBC errors, which have a status code.

use adbc_core::error::{Error, Status};
use rusqlite::ErrorCode;
use rusqlite::ffi;
use sqluice_core::error::ErrorKind;

/// Returns an ADBC error.
pub(crate) fn error(status: Status, message: impl Into<String>) -> Error {
    Error::with_message_and_status(format!("[sqluice] {}", message.into()), status)
}

/// Returns the error for an option that is not known.
pub(crate) fn unknown_option(of: &str, key: &str, value: &str) -> Error {
    error(Status::NotImplemented, format!("Unknown {of} option {key}={value}"))
}

/// Returns an error for SQLite's result code and message. `doing` says what failed, such as `cannot insert the rows`.
pub(crate) fn of_code(code: i32, message: &str, doing: &str) -> Error {
    let status = match ffi::Error::new(code).code {
        ErrorCode::ConstraintViolation => Status::Integrity,
        ErrorCode::OperationInterrupted => Status::Cancelled,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Status::Timeout,
        ErrorCode::SystemIoFailure | ErrorCode::DiskFull | ErrorCode::CannotOpen => Status::IO,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::AuthorizationForStatementDenied => {
            Status::Unauthorized
        }
        ErrorCode::TypeMismatch | ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt => Status::InvalidData,
        _ => Status::Internal,
    };
    Error { vendor_code: code, ..error(status, format!("{doing}: {message}")) }
}

/// Converts an error of the engine.
pub(crate) fn of_engine(found: sqluice_core::error::Error) -> Error {
    let status = match found.kind() {
        ErrorKind::Interrupted => Status::Cancelled,
        // The engine's only input errors here are rows that break a constraint.
        ErrorKind::Input => Status::Integrity,
        ErrorKind::Target => Status::IO,
        _ => Status::Internal,
    };
    let cause = std::error::Error::source(&found).map_or(String::new(), |cause| format!(": {cause}"));
    error(status, found.without_hint() + &cause)
}

/// Converts an error of rusqlite. `doing` says what failed, such as `cannot insert the rows`.
pub(crate) fn of_sqlite(found: &rusqlite::Error, doing: &str) -> Error {
    match found {
        rusqlite::Error::SqliteFailure(code, message) => {
            let message = message.clone().unwrap_or_else(|| code.to_string());
            of_code(code.extended_code, &message, doing)
        }
        other => error(Status::Internal, format!("{doing}: {other}")),
    }
}
