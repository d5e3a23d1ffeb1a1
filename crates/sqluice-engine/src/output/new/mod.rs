//! A new database: the file or object that gets the pages of a run, and becomes a database when it is complete.
//!
//! * `in_place`: a database that is read and then replaced by a new database with its content
//! * `filled_by_processes`: a file that several processes fill, each with its own pages
//! * `new_file`: a temporary file that is renamed when it is complete
//! * `at_destination`: an object that is uploaded
//! * `read_back`: the checksum of a file that SQLite has changed

mod at_destination;
mod filled_by_processes;
mod in_place;
mod new_file;
mod read_back;

pub(crate) use at_destination::exists_at;
pub(crate) use filled_by_processes::SharedRange;
pub use filled_by_processes::create_shared;
pub use in_place::Exclusive;
pub use new_file::NewFile;
pub(crate) use read_back::{ReadBack, read_back};
