//! Readers of damaged files.
//!
//! The readers of Arrow and Parquet panic over some damaged files. Each call of them goes through [`read_damaged`], which turns a panic
//! into an error. The panic hook would still print the panic's text to standard error. The hook belongs to the whole process, so a library
//! leaves it alone, and a program that owns its process calls [`silence_reader_panics`].

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
    /// `true` if this thread is in one of these readers.
    static IN_READER: Cell<bool> = const { Cell::new(false) };
}

/// Keeps the texts of caught panics off standard error, for the whole process: the panics of readers of damaged Arrow and Parquet files,
/// which become errors. All other panics go to the hook that was set before. A program calls this function once, when it starts.
pub fn silence_reader_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // A thread that is ending has no such variable any more.
            if !IN_READER.try_with(Cell::get).unwrap_or(false) {
                others(info);
            }
        }));
    });
}

/// The reason why a read failed.
pub(crate) type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// Reads data that may be damaged. A reader that has panicked must not be used again.
pub(crate) fn read_damaged<T, E: Into<BoxedError>>(
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, BoxedError> {
    let outer = IN_READER.replace(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IN_READER.set(outer);
    match read {
        Ok(read) => read.map_err(Into::into),
        Err(_) => Err("its reader can't make sense of it".into()),
    }
}
