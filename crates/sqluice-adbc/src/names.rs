//! Quotes names for SQL, and converts URIs to the names of databases that SQLite opens.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

/// Quotes a name for SQL.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Returns the name that SQLite opens for a URI: `sqluice:///folder/file`, `sqluice://:memory:`, `file:...` or a path.
pub(crate) fn database(uri: &str) -> String {
    let Some(rest) = uri.strip_prefix("sqluice:").or_else(|| uri.strip_prefix("sqlite:")) else {
        return uri.to_owned();
    };
    let name = rest.strip_prefix("//").unwrap_or(rest);
    match name {
        "" | "/" | "/:memory:" | ":memory:" => ":memory:".to_owned(),
        // A `file:` URI, in which SQLite interprets the parameters after `?` and the escapes with `%`.
        name if name.contains(['?', '%']) => format!("file:{name}"),
        name => name.to_owned(),
    }
}

/// Returns a new name for a database in memory that several connections can open.
pub(crate) fn shared_memory() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("file:sqluice-adbc-{}-{number}?mode=memory&cache=shared", std::process::id())
}

/// Returns the path of the file that SQLite opens for a name; `None` if the database has no file.
pub(crate) fn file(name: &str) -> Option<PathBuf> {
    let Some(rest) = name.strip_prefix("file:") else {
        return (!name.is_empty() && name != ":memory:").then(|| name.into());
    };
    let (path, parameters) = rest.split_once('?').unwrap_or((rest, ""));
    if parameters.split('&').any(|one| matches!(one, "mode=memory" | "vfs=memdb")) {
        return None;
    }
    // SQLite accepts no other host in a URI than an empty one and `localhost`.
    let path = match path.strip_prefix("//") {
        Some(after) => after.strip_prefix("localhost").unwrap_or(after),
        None => path,
    };
    let path = decoded(path.split('#').next().unwrap_or(path));
    (!path.is_empty() && path != ":memory:").then(|| path.into())
}

/// Decodes the escapes of a URI, such as `%20`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.filter(|_| first == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_in_any_form_gives_the_name_of_the_database() {
        let names = [
            ("sqluice:///tmp/a.db", "/tmp/a.db"),
            ("sqluice://a.db", "a.db"),
            ("sqluice://:memory:", ":memory:"),
            ("sqluice:///:memory:", ":memory:"),
            ("sqluice:", ":memory:"),
            ("sqlite:///tmp/a.db", "/tmp/a.db"),
            ("sqluice:///tmp/a.db?mode=ro", "file:/tmp/a.db?mode=ro"),
            ("file:a.db?mode=ro", "file:a.db?mode=ro"),
            ("a.db", "a.db"),
        ];
        for (uri, name) in names {
            assert_eq!(database(uri), name);
        }
    }

    #[test]
    fn the_path_of_a_database_is_the_file_that_sqlite_opens() {
        let files = [
            ("a.db", Some("a.db")),
            (":memory:", None),
            ("", None),
            ("file:/tmp/a%20b.db?mode=ro#part", Some("/tmp/a b.db")),
            ("file:///tmp/a.db", Some("/tmp/a.db")),
            ("file://localhost/tmp/a.db", Some("/tmp/a.db")),
            ("file:x?mode=memory&cache=shared", None),
            ("file::memory:", None),
        ];
        for (name, path) in files {
            assert_eq!(file(name), path.map(PathBuf::from), "{name}");
        }
        assert_ne!(shared_memory(), shared_memory());
    }

    #[test]
    fn quotes_in_a_quoted_name_are_doubled() {
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}
