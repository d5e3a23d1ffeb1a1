//! Calls readers that may panic over damaged files.
//!
//! The readers of the Arrow and Parquet crates panic over some damaged files. Every call goes through [`read_damaged`], which turns a panic
//! into an error. The panic hook would still print the panic message to standard error. The hook belongs to the whole process: a library
//! must not replace it, but a program may do so through [`silence_reader_panics`].

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

thread_local! {
        /// `true` while this thread is within [`read_damaged`].
    static IN_READER: Cell<bool> = const { Cell::new(false) };
}

/// Replaces the panic hook of the process by one that prints nothing for the caught panics of the Arrow and Parquet readers, which become
/// errors. All other panics go to the previous hook. A program calls this function once, when it starts.
pub fn silence_reader_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            // The variable may be destroyed already if the thread is ending.
            if !IN_READER.try_with(Cell::get).unwrap_or(false) {
                others(info);
            }
        }));
    });
}

/// The reason why a read failed.
pub(crate) type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// Calls a reader of data that may be damaged. After a panic, the reader must not be used again.
pub(crate) fn read_damaged<T, E: Into<BoxedError>>(
    read: impl FnOnce() -> Result<T, E>,
) -> Result<T, BoxedError> {
    let outer = IN_READER.replace(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IN_READER.set(outer);
    match read {
        Ok(read) => read.map_err(Into::into),
        Err(_) => Err("the reader of the format crashed on this data".into()),
    }
}
