//! Names that Windows refuses or interprets as something else.

/// The names of devices, which are reserved in any folder and with any extension.
const DEVICES: [&str; 6] = ["CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"];

/// The names of devices that are followed by a digit.
const NUMBERED: [&str; 2] = ["COM", "LPT"];

/// Returns the reason why a component can't be the name of a file, if any.
pub(super) fn why_refused(component: &[u8]) -> Option<&'static str> {
    let Ok(name) = std::str::from_utf8(component) else {
        return Some("its name is no UTF-8, and Windows has no other names");
    };
    if name.chars().any(|c| c.is_control() || r#"<>"|?*"#.contains(c)) {
        return Some("a character of its name is not allowed on Windows");
    }
    if name.contains(['\\', ':']) {
        return Some(r"its name has a \ or a :, which lead elsewhere on Windows");
    }
    if name.ends_with([' ', '.']) {
        return Some("a component of its name ends with a space or a point, which Windows drops");
    }
    let stem = name.split('.').next().unwrap_or("").trim_end().to_uppercase();
    let numbered = |name: &&&str| {
        let digit = stem.strip_prefix(**name).and_then(|rest| {
            let mut rest = rest.chars();
            rest.next().filter(|_| rest.next().is_none())
        });
        digit.is_some_and(|digit| digit.is_ascii_digit() || "¹²³".contains(digit))
    };
    if DEVICES.contains(&stem.as_str()) || NUMBERED.iter().find(numbered).is_some() {
        return Some("its name is that of a device on Windows");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_windows_devices_alternate_streams_and_paths_to_other_folders_are_refused() {
        let refused = [
            "CON",
            "con",
            "nul.txt",
            "Aux.tar.gz",
            "COM1",
            "lpt9.x",
            "COM¹",
            "conin$",
            "NUL .txt",
            "a:b",
            "C:",
            "a\\b",
            "..\\x",
            "x.",
            "x ",
            "a<b",
            "a|b",
            "a?b",
            "a*b",
            "a\"b",
            "a\nb",
            "a\u{7f}b",
        ];
        for name in refused {
            assert!(why_refused(name.as_bytes()).is_some(), "{name:?}");
        }
        assert!(why_refused(b"a\xff").is_some());
    }

    #[test]
    fn usual_file_names_are_accepted_on_windows() {
        for name in
            ["a", "console", "COM", "COM10", "LPTX", "nullx.txt", "größe", ".x", "a b", "x.con", "-", "~"]
        {
            assert_eq!(why_refused(name.as_bytes()), None, "{name:?}");
        }
    }
}
