//! The compiled module of the Python package: its functions convert their arguments and call the engine. The functions of verbs, such as
//! `load` and `check`, return the report as JSON. The public functions and classes are written in Python, in `python/sqluice`.
//!
//! ```text
//!  calling thread    rows of Python or Arrow ──> columns ──> channel      holds the GIL while it takes rows, and only then;
//!                    watches for Ctrl-C, reports progress                 waits without the GIL
//!  engine's threads  channel ──> source ──> pages                         never touch Python
//! ```
//!
//! Modules, from the bottom up; each uses only those above it in this list:
//!
//! * `terms`: settings as parameters; `errors`: exceptions; `options`: arguments as settings
//! * `source`, `run`: both ends of the channel; `packed`, `arrow`, `rows`: conversion of Python's and Arrow's rows
//! * `sending`: rows for another process
//! * `read`, `commands`, `profile`, `places`, `write`, `spool`: the functions; `blobs`, `entities`: stores
//!
//! The library is a driver of ADBC as well: a driver manager finds the functions of the crate `sqluice_adbc` in it. The Python module and
//! the driver share one SQLite library, which keeps a list of the descriptors of its connections. While a connection of the driver has a
//! file open, the functions of the module work on the file in a child process.
//!
//! Invariant: during a run, only the calling thread calls Python, so rows may come from objects that are bound to a thread, such as a
//! cursor of `sqlite3`.

#![deny(unsafe_code)]

#[allow(unsafe_code, reason = "Arrow's C interface is pointers")]
mod arrow;
mod blobs;
mod commands;
mod entities;
mod errors;
mod options;
mod packed;
mod places;
mod profile;
mod read;
mod rows;
mod run;
mod sending;
mod source;
mod spool;
mod terms;
mod write;

use pyo3::prelude::*;

/// The compiled module `sqluice._sqluice`.
#[pymodule]
mod _sqluice {
    #[pymodule_export]
    use crate::blobs::Blobs;
    #[pymodule_export]
    use crate::commands::{check, copy, expand, export, generate, index, load, merge, pack, recover, unpack};
    #[pymodule_export]
    use crate::entities::{Entities, Kind};
    #[pymodule_export]
    use crate::options::settings;
    #[pymodule_export]
    use crate::packed::Packed;
    #[pymodule_export]
    use crate::places::{count_pages, exchange, merge_placed, place, places, remove_leftovers};
    #[pymodule_export]
    use crate::profile::profile;
    #[pymodule_export]
    use crate::read::Reading;
    #[pymodule_export]
    use crate::sending::{Packing, packed_column, received};
    #[pymodule_export]
    use crate::spool::{Spool, write_spools};
    #[pymodule_export]
    use crate::terms::setting_terms;
    #[pymodule_export]
    use crate::write::{columns_of, write};
    use pyo3::prelude::*;

    /// Runs the command `sqluice`. The first argument is the name of the program. Returns the exit status.
    #[pyfunction]
    fn command(py: Python<'_>, args: Vec<std::ffi::OsString>) -> u8 {
        py.detach(|| sqluice_cli::run(args)).code()
    }

    /// Returns the descriptors of files that the SQLite library of this module has open.
    #[pyfunction]
    fn descriptors() -> Vec<std::ffi::c_int> {
        sqluice_adbc::descriptors::open()
    }

    /// Returns the names of the formats that `load` reads, and of those that `export` writes.
    #[pyfunction]
    fn formats() -> (Vec<&'static str>, Vec<&'static str>) {
        use sqluice::{export, load};
        let read = load::formats::ALL.iter().map(|format| format.name);
        let written = export::formats::ALL.iter().map(|format| format.name);
        (read.collect(), written.collect())
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        sqluice_adbc::descriptors::note_from_now_on();
        sqluice::source::arrow::silence_reader_panics();
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("sqlite_version", sqluice::sqlite_version())
    }
}
