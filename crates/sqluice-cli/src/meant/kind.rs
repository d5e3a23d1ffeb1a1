//! The kinds of words in a command line: a database, a file with data, or something else.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sqluice::load::formats::{is_named_as_data, is_named_as_database};
use sqluice::load::{is_named_as_archive, stem};
use sqluice::remote::{is_url, without_secrets};
use sqluice_format::database::MAGIC;

/// The kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A database that exists, or a URL that ends as the name of one does.
    Database,
    /// A name such as `shop.db` of a file that does not exist: a database to be created.
    NewDatabase,
    /// A file, a folder, a pattern or a URL with data.
    Data,
    /// Standard input.
    Stdin,
    /// An SQL statement.
    Sql,
    /// Anything else, such as the name of a table.
    Other,
}

impl Kind {
    pub(crate) fn of(word: &OsStr) -> Kind {
        let path = Path::new(word);
        if word == "-" {
            return Kind::Stdin;
        }
        if is_url(path) {
            let text = word.to_string_lossy();
            let name = text.split(['?', '#']).next().unwrap_or_default();
            return if is_named_as_database(Path::new(name)) { Kind::Database } else { Kind::Data };
        }
        if path.is_dir() {
            return Kind::Data;
        }
        if path.is_file() {
            let is_empty = path.metadata().is_ok_and(|about| about.len() == 0);
            let is_database = begins_as_database(path) || (is_empty && is_named_as_database(path));
            return if is_database { Kind::Database } else { Kind::Data };
        }
        let text = word.to_string_lossy();
        let first = text.split_whitespace().next().unwrap_or_default();
        if ["SELECT", "WITH", "VALUES"].iter().any(|verb| first.eq_ignore_ascii_case(verb)) && first != text {
            return Kind::Sql;
        }
        match () {
            () if is_named_as_database(path) && !is_within_file(path) => Kind::NewDatabase,
            () if is_named_as_data(path) || is_named_as_archive(path) => Kind::Data,
            () if text.contains(['*', '?']) || is_within_file(path) => Kind::Data,
            () => Kind::Other,
        }
    }

    /// Returns `true` for the name of a database, whether it exists or not.
    pub(crate) fn is_database(self) -> bool {
        matches!(self, Kind::Database | Kind::NewDatabase)
    }

    /// Returns `true` for data that can be loaded: a file, a folder, a URL or standard input.
    pub(crate) fn is_data(self) -> bool {
        matches!(self, Kind::Data | Kind::Stdin)
    }
}

/// Returns `true` if a folder of a path is in fact a file: then the path names a member of an archive.
fn is_within_file(path: &Path) -> bool {
    path.ancestors().skip(1).any(Path::is_file)
}

/// Returns `true` if a file begins with the bytes of a database.
pub(crate) fn begins_as_database(file: &Path) -> bool {
    let mut start = [0; 16];
    File::open(file).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *MAGIC
}

/// Returns the name of the database if only data is named: `orders.db` in the current folder for `orders.csv.gz`, and `data.db` for data
/// without a name.
pub(crate) fn database_of(data: &OsStr) -> PathBuf {
    let name = stem(&without_secrets(Path::new(data))).unwrap_or_default();
    // The text of a pattern before the first wildcard becomes the name of the database: `log-*.csv` becomes `log.db`.
    let stem = name.split(['*', '?', '[']).next().unwrap_or_default().trim_end_matches(['-', '_', '.', ' ']);
    PathBuf::from(format!("{}.db", if stem.is_empty() { "data" } else { stem }))
}

/// Returns a name that no file has yet: `orders-2.db` if `orders.db` exists.
pub(crate) fn free_name(name: PathBuf) -> PathBuf {
    let part = |part: Option<&OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = (part(name.file_stem()), part(name.extension()));
    let mut numbered = (2..).map(|number| name.with_file_name(format!("{stem}-{number}.{extension}")));
    if name.exists() { numbered.find(|name| !name.exists()).unwrap_or(name.clone()) } else { name.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_name_of_a_database_follows_from_the_name_of_the_loaded_file() {
        for (data, database) in [
            ("orders.csv", "orders.db"),
            ("in/orders.csv.gz", "orders.db"),
            ("log-*.csv.zst", "log.db"),
            ("*.csv", "data.db"),
            ("folder/", "folder.db"),
            ("in/gtfs.zip", "gtfs.db"),
            ("gtfs.tar.gz", "gtfs.db"),
            ("gtfs.tgz", "gtfs.db"),
            ("data.zip/*.csv", "data.db"),
            ("https://h/a/x.csv?key=1/2", "x.db"),
            ("v1.2.csv", "v1.2.db"),
        ] {
            assert_eq!(database_of(data.as_ref()), Path::new(database), "{data}");
        }
    }

    #[test]
    fn the_kind_of_a_command_line_argument_follows_from_its_name() {
        for (word, kind) in [
            ("x.db", Kind::NewDatabase),
            ("x.SQLITE3", Kind::NewDatabase),
            ("no/x.csv.gz", Kind::Data),
            ("no/x.zip", Kind::Data),
            ("no/x.tar.zst", Kind::Data),
            ("https://h/x", Kind::Data),
            ("https://h/x.db?a", Kind::Database),
            ("-", Kind::Stdin),
            ("select 1", Kind::Sql),
            ("select", Kind::Other),
            ("orders", Kind::Other),
        ] {
            assert_eq!(Kind::of(word.as_ref()), kind, "{word}");
        }
    }
}
