//! Decides, by the name of a file in a folder or archive, if the file is loaded, and gives the reason if it is not.

use std::path::{Component, Path};

use sqluice_sources::formats::{self, SQL, SQLITE};
use sqluice_sources::input::is_named_as_archive;

/// The reason to leave out a file or folder with a name that begins with a dot, or that a system hides.
pub(crate) const HIDDEN: &str = "hidden";
/// The reason to leave out a database.
pub(crate) const DATABASE: &str = "a database";
/// The reason to leave out a dump.
pub(crate) const DUMP: &str = "an SQL dump";
/// The reason to leave out a text file whose lines have no columns.
pub(crate) const PROSE: &str = "text without columns";

/// Returns `true` if a file or folder with this name is hidden, or belongs to a system.
pub(crate) fn is_hidden(name: &str) -> bool {
    let is_dots = matches!(name, "." | "..");
    name.starts_with('.') && !is_dots || name == "__MACOSX" || name.eq_ignore_ascii_case("Thumbs.db")
}

/// Returns the path of the hidden folder or file that a path is or leads through; `None` if no part of the path is hidden.
#[cfg_attr(not(feature = "archives"), allow(dead_code))]
pub(crate) fn hidden_part(path: &Path) -> Option<&Path> {
    let is_hidden = |part: &&Path| match part.components().next_back() {
        Some(Component::Normal(name)) => is_hidden(&name.to_string_lossy()),
        _ => false,
    };
    // The last ancestor is the first part of the path, so the outermost hidden part is returned.
    path.ancestors().filter(is_hidden).last()
}

/// Returns the reason to leave out the file at `path` because of its extension; `None` if the extension gives none.
pub(crate) fn why_not(path: &Path) -> Option<&'static str> {
    if is_named_as_archive(path) {
        return Some("an archive");
    }
    if formats::is_named_as_database(path) {
        return Some(DATABASE);
    }
    match formats::of_name(path) {
        None => Some("no known extension"),
        Some(format) if *format == SQLITE => Some(DATABASE),
        Some(format) if *format == SQL => Some(DUMP),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_determines_if_a_file_in_a_folder_is_loaded() {
        for (name, why) in [
            ("a.csv", None),
            ("a.CSV.GZ", None),
            ("a.txt", None),
            ("a.tsv.zst", None),
            ("a.parquet", None),
            ("a.geojson", None),
            ("a.sql", Some("an SQL dump")),
            ("a.sql.gz", Some("an SQL dump")),
            ("a.db", Some("a database")),
            ("a.SQLite3", Some("a database")),
            ("a.gpkg", Some("a database")),
            ("a.zip", Some("an archive")),
            ("a.tar", Some("an archive")),
            ("a.tar.xz", Some("an archive")),
            ("a.tgz", Some("an archive")),
            ("a", Some("no known extension")),
            ("a.gz", Some("no known extension")),
            ("a.png", Some("no known extension")),
            ("x.db-wal", Some("no known extension")),
        ] {
            assert_eq!(why_not(Path::new(name)), why, "{name}");
        }
    }

    #[test]
    fn files_in_hidden_folders_count_as_hidden() {
        for (path, hidden) in [
            ("a/b.csv", None),
            (".a.csv", Some(".a.csv")),
            ("a/.git/b/.c/d.csv", Some("a/.git")),
            ("__MACOSX/a.csv", Some("__MACOSX")),
            ("a/THUMBS.DB", Some("a/THUMBS.DB")),
            ("./a.csv", None),
            ("../a.csv", None),
        ] {
            assert_eq!(hidden_part(Path::new(path)), hidden.map(Path::new), "{path}");
        }
    }
}
