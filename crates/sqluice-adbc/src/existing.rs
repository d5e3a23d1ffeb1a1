//! Makes the database of an open SQLite connection available to the engine, which writes pages into it.

use rusqlite::Connection;
use sqluice_engine::existing::Existing;

/// Returns the database of a connection for the engine, or `None` if the engine can't write pages into it. The result must be dropped
/// before the connection.
pub(crate) fn of(connection: &Connection) -> sqluice_core::error::Result<Option<Existing>> {
    // SAFETY: the connection is open, and callers drop the result before it is closed.
    unsafe { Existing::of_handle(connection.handle()) }
}
