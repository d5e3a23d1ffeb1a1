//! The option files of the clients of MySQL and MariaDB: `/etc/my.cnf`, `/etc/mysql/my.cnf`, `~/.my.cnf`, and the files
//! that these include.
//!
//! ```text
//! [client]                  a group; groups of servers and of other programs are skipped
//! user = ann                white space around names and values is not part of them
//! password = "a#b"          quotes keep a # and spaces; a backslash begins an escape
//! !includedir /etc/mysql/conf.d
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sqluice_platform::rights::Rights;

/// The groups that clients read. If an option occurs several times, in the same or in different groups, the last one counts.
const GROUPS: [&str; 5] = ["client", "mysql", "client-mariadb", "client-server", "mariadb-client"];

/// The maximum depth of files that include each other.
const DEPTH_MAX: usize = 10;

/// The options of the clients' groups, by name. An option without a value has the empty value.
pub(super) type Options = BTreeMap<String, String>;

/// Reads the option files in the same order as the clients: first the files of the system, then the file of the user.
pub(super) fn read_all(home: Option<&Path>) -> Options {
    let mut options = Options::new();
    for path in ["/etc/my.cnf", "/etc/mysql/my.cnf"] {
        read_file(Path::new(path), 0, &mut options);
    }
    if let Some(home) = home {
        read_file(&home.join(".my.cnf"), 0, &mut options);
    }
    options
}

/// Adds the options of a file, if it can be read. Like the clients, skips a file that every user may write.
fn read_file(path: &Path, depth: usize, options: &mut Options) {
    if depth > DEPTH_MAX || anybody_may_write(path) {
        return;
    }
    let Ok(text) = std::fs::read(path) else { return };
    // An option after an !include directive replaces the same option of the included file.
    parse(&String::from_utf8_lossy(&text), options, &mut |include, options| match include {
        Include::File(file) => read_file(&file, depth + 1, options),
        Include::Folder(folder) => {
            let Ok(entries) = std::fs::read_dir(&folder) else { return };
            let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
            files.retain(|file| file.extension().is_some_and(|extension| extension == "cnf"));
            files.sort();
            for file in files {
                read_file(&file, depth + 1, options);
            }
        }
    });
}

fn anybody_may_write(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && Rights::of(&found).let_everyone_write())
}

/// The target of an `!include` or `!includedir` directive.
#[derive(Debug, PartialEq, Eq)]
enum Include {
    File(PathBuf),
    Folder(PathBuf),
}

/// Adds the options in a text. Calls `include` for each `!include` or `!includedir` directive.
fn parse(text: &str, options: &mut Options, include: &mut dyn FnMut(Include, &mut Options)) {
    let mut is_of_clients = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if let Some(folder) = line.strip_prefix("!includedir") {
            include(Include::Folder(folder.trim().into()), options);
        } else if let Some(file) = line.strip_prefix("!include") {
            include(Include::File(file.trim().into()), options);
        } else if let Some(group) = line.strip_prefix('[') {
            let name = group.split(']').next().unwrap_or_default().trim();
            is_of_clients = GROUPS.contains(&name);
        } else if is_of_clients {
            let line = without_comment(line);
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            // Names may have underscores instead of dashes. `loose-` means that programs which lack the option skip it.
            let name = name.trim().replace('_', "-");
            let name = name.strip_prefix("loose-").unwrap_or(&name).to_owned();
            options.insert(name, unquoted(value.trim()));
        }
    }
}

/// Removes the comment after a value: from the first `#` outside of quotes.
fn without_comment(value: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in value.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some(_), '\\') => escaped = true,
            (Some(open), _) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '#') => return &value[..at],
            _ => {}
        }
    }
    value
}

/// Removes the quotes around a value, and decodes its escapes.
fn unquoted(value: &str) -> String {
    let mut inner = value;
    for quote in ['\'', '"'] {
        if value.len() > 1 && value.starts_with(quote) && value.ends_with(quote) {
            inner = &value[1..value.len() - 1];
        }
    }
    let mut decoded = String::new();
    let mut letters = inner.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            decoded.push(letter);
            continue;
        }
        match letters.next() {
            Some('n') => decoded.push('\n'),
            Some('t') => decoded.push('\t'),
            Some('r') => decoded.push('\r'),
            Some('b') => decoded.push('\u{8}'),
            Some('s') => decoded.push(' '),
            Some(kept @ ('\\' | '"' | '\'')) => decoded.push(kept),
            Some(other) => decoded.extend(['\\', other]),
            None => decoded.push('\\'),
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(text: &str) -> Options {
        let mut options = Options::new();
        parse(text, &mut options, &mut |_, _| ());
        options
    }

    #[test]
    fn a_later_option_in_a_group_that_clients_read_replaces_an_earlier_one() {
        let read = options(
            "user=nobody\n[client]\nuser = ann \nport=1\n\n[mysqld]\nport=2\n[mariadb]\nuser=server\n; x\n# y\n[client-mariadb] # z\n  ssl_ca = /a b \nport=3 # c\n",
        );
        assert_eq!(read["user"], "ann");
        assert_eq!(read["port"], "3");
        assert_eq!(read["ssl-ca"], "/a b");
        assert_eq!(read.len(), 3);
    }

    #[test]
    fn quoted_option_values_keep_hashes_and_spaces_and_a_backslash_begins_an_escape() {
        for (written, value) in [
            ("a#b", "a"),
            ("'a#b'", "a#b"),
            ("\" a \" # c", " a "),
            ("a\\sb", "a b"),
            ("a\\\\b\\q", "a\\b\\q"),
            ("\"it's\"", "it's"),
            ("\"say \\\"#x\\\"\"", "say \"#x\""),
            ("a=b", "a=b"),
            ("", ""),
            ("'", "'"),
        ] {
            assert_eq!(options(&format!("[client]\npassword = {written}\n"))["password"], value, "{written}");
        }
        assert_eq!(options("[client]\nskip-ssl\n")["skip-ssl"], "");
        assert_eq!(options("[client]\nskip-ssl # a=b\n")["skip-ssl"], "");
    }

    #[test]
    fn include_directives_for_files_and_folders_are_parsed() {
        let mut found = Vec::new();
        let text = "!includedir /etc/conf.d/\n!include  /etc/a.cnf\n[x]\n";
        parse(text, &mut Options::new(), &mut |include, _| found.push(include));
        assert_eq!(found, [Include::Folder("/etc/conf.d/".into()), Include::File("/etc/a.cnf".into())]);
    }

    #[test]
    fn an_option_file_that_includes_itself_is_read_with_all_included_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".my.cnf");
        std::fs::create_dir(folder.path().join("d")).unwrap();
        std::fs::write(folder.path().join("d/b.cnf"), "[client]\nuser=b\nhost=x\n").unwrap();
        std::fs::write(folder.path().join("d/a.cnf"), "[client]\nuser=a\nport=4\n").unwrap();
        std::fs::write(folder.path().join("d/c.other"), "[client]\nuser=c\n").unwrap();
        let shown = folder.path().display();
        let text = format!("[client]\n!includedir {shown}/d\nhost=y\n!include {shown}/.my.cnf\n");
        std::fs::write(&file, text).unwrap();
        let mut options = Options::new();
        read_file(&file, 0, &mut options);
        assert_eq!((options["user"].as_str(), options["port"].as_str()), ("b", "4"));
        assert_eq!(
            options["host"], "y",
            "an option after the directive replaces the option of the included file"
        );
    }

    #[cfg(unix)]
    #[test]
    fn an_option_file_that_anybody_may_write_is_skipped() {
        use std::os::unix::fs::PermissionsExt as _;
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "[client]\nuser=a\n").unwrap();
        for (mode, found) in [(0o600, 1), (0o666, 0)] {
            std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(mode)).unwrap();
            let mut options = Options::new();
            read_file(file.path(), 0, &mut options);
            assert_eq!(options.len(), found);
        }
    }
}
