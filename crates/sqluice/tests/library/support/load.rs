//! Puts inputs of loads into files, compressed files and pipes, and runs loads.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;
use sqluice::error::Error;
use sqluice::load::{FormatOptions, Load};
use sqluice::report::Report;
use sqluice::schema::Schema;

use super::files::Home;

/// The way in which an input reaches the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Path,
    Pipe,
    Gzip,
    GzipPipe,
}

impl Way {
    pub(crate) const ALL: [Way; 4] = [Way::Path, Way::Pipe, Way::Gzip, Way::GzipPipe];

    /// Puts the bytes where a load finds them: a file of that name, or one end of a pipe.
    pub(crate) fn put(self, home: &Home, name: &str, bytes: &[u8]) -> PathBuf {
        let path = home.path(name);
        let packed = matches!(self, Way::Gzip | Way::GzipPipe);
        let bytes = if packed { gzip(bytes) } else { bytes.to_vec() };
        match self {
            Way::Path | Way::Gzip => fs::write(&path, bytes).unwrap(),
            // The load may stop reading early.
            Way::Pipe | Way::GzipPipe => feed(&path, move |pipe| drop(pipe.write_all(&bytes))),
        }
        path
    }
}

/// Makes a pipe, and fills it once somebody reads it. Windows has no pipes in folders: there a file stands for it.
pub(crate) fn feed(path: &Path, write: impl FnOnce(&mut fs::File) + Send + 'static) {
    if cfg!(windows) {
        return write(&mut fs::File::create(path).unwrap());
    }
    sqluice_testkit::system::fifo(path);
    let path = path.to_owned();
    thread::spawn(move || {
        if let Ok(mut pipe) = fs::OpenOptions::new().write(true).open(path) {
            write(&mut pipe);
        }
    });
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns the settings of plain CSV, so that nothing is guessed.
pub(crate) fn plain() -> FormatOptions {
    FormatOptions::new().delimiter(b',').quote(b'"').header(true)
}

pub(crate) fn schema(sql: &str) -> Schema {
    Schema::parse(sql.to_owned(), Path::new("x.sql")).unwrap()
}

pub(crate) fn run(load: Load) -> Result<Report, Error> {
    load.run()
}

/// Returns an error as the user sees it, with its hint in brackets and the home folder removed.
pub(crate) fn shown(error: &Error, home: &Home) -> String {
    let hint = error.hint_text().map_or(String::new(), |hint| format!(" [{hint}]"));
    let folder = home.path("");
    format!("{}{hint}", error.without_hint()).replace(folder.to_str().unwrap(), "")
}
