//! Checks the names of files in an archive: relative paths of any bytes, with `/` between their components.
//!
//! Names with a special meaning to the system (on Windows, names of devices, drives or streams) are refused, too.
//!
//! Invariant: a [`SafeName`] is the folder that it is relative to, or below this folder, if no component is a symbolic link.

use sqluice_platform::tree::refused_component;

use super::NAME_BYTES_MAX;

/// A checked name: no component is empty, `.` or `..`. A name without components means the folder itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SafeName(Vec<u8>);

impl SafeName {
    /// Checks a name. Leaves out components that are `.`, with which `sqlite3 -Ac .` begins all names.
    ///
    /// # Errors
    /// The reason why the name is refused.
    pub(crate) fn new(name: &[u8]) -> Result<SafeName, &'static str> {
        if name.len() > NAME_BYTES_MAX {
            return Err("its name is longer than 4095 bytes");
        }
        if name.contains(&0) {
            return Err("a NUL is in its name");
        }
        if name.is_empty() {
            return Err("its name is empty");
        }
        if name[0] == b'/' {
            return Err("its name begins at the root of the file system");
        }
        let mut safe = Vec::with_capacity(name.len());
        for component in name.split(|&byte| byte == b'/') {
            match component {
                b"" => return Err("a component of its name is empty"),
                b".." => return Err("its name leaves the folder through .."),
                b"." => continue,
                _ => {}
            }
            if let Some(why) = refused_component(component) {
                return Err(why);
            }
            if !safe.is_empty() {
                safe.push(b'/');
            }
            safe.extend_from_slice(component);
        }
        Ok(SafeName(safe))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the folder that contains the name, and the last component. The folder is empty for a name without `/`.
    pub(crate) fn split(&self) -> (&[u8], &[u8]) {
        split(&self.0)
    }
}

/// Returns the folder that contains the name, and the last component, like [`SafeName::split`], for any bytes.
pub(crate) fn split(name: &[u8]) -> (&[u8], &[u8]) {
    match name.iter().rposition(|&byte| byte == b'/') {
        Some(slash) => (&name[..slash], &name[slash + 1..]),
        None => (&[], name),
    }
}

/// Formats a name for a message: bytes that are not UTF-8 and control characters are escaped, and a long name is truncated.
pub fn shown(name: &[u8]) -> String {
    const BYTES_MAX: usize = 200;
    let cut = &name[..name.len().min(BYTES_MAX)];
    let mut shown = String::new();
    for chunk in cut.utf8_chunks() {
        for character in chunk.valid().chars() {
            if character.is_control() {
                shown.extend(character.escape_default());
            } else {
                shown.push(character);
            }
        }
        shown.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    if name.len() > BYTES_MAX {
        shown += &format!("... ({} bytes)", name.len());
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_name_that_leads_out_of_the_folder_is_refused() {
        for name in ["..", "../x", "a/..", "a/../../x", "/", "/etc/x", "//x", "a//b", "a/", "", "a\0b"] {
            assert!(SafeName::new(name.as_bytes()).is_err(), "{name:?}");
        }
        assert!(SafeName::new(&[b'a'; 4096]).is_err());
    }

    #[test]
    fn harmless_entry_names_stay_unchanged_except_for_dot_components() {
        let of_this_system =
            |name: &[u8]| name.split(|byte| *byte == b'/').all(|c| refused_component(c).is_none());
        let names: [&[u8]; 9] = [
            b"a",
            b"a/b",
            b"...",
            b"..a/b..",
            b"a\\..\\b",
            b" ",
            b"a\nb",
            "\u{202e}".as_bytes(),
            b"\xff/\xfe",
        ];
        for name in names {
            let taken = SafeName::new(name).ok();
            assert_eq!(taken.as_ref().map(SafeName::bytes), of_this_system(name).then_some(name));
        }
        assert_eq!(SafeName::new(b"./a/./b").unwrap().bytes(), b"a/b");
        assert_eq!(SafeName::new(b".").unwrap().bytes(), b"");
        assert_eq!(SafeName::new(b"a/b/c").unwrap().split(), (&b"a/b"[..], &b"c"[..]));
        assert_eq!(SafeName::new(b"c").unwrap().split(), (&b""[..], &b"c"[..]));
    }

    #[test]
    fn messages_show_an_entry_name_escaped_shortened_and_on_one_line() {
        assert_eq!(shown("größe".as_bytes()), "größe");
        assert_eq!(shown(b"a\nb\x1b[31m\xff"), "a\\nb\\u{1b}[31m\\xff");
        assert!(shown(&[b'x'; 10_000]).ends_with("x... (10000 bytes)"));
    }
}
