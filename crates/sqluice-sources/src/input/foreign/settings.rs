//! Recognises settings and data in YAML, TOML and INI.
//!
//! All lines of a file in these formats have one of a few forms, and there must be several signs: sections with keys, or keys with indented
//! lines below them. Lines such as `key: value` or `key=value` alone may be a column of a table: they are settings only if the extension of
//! the file says so.

use super::Foreign;

const YAML: Foreign = Foreign::text("a YAML file", "convert its records to JSON, and load that");
const TOML: Foreign = Foreign::text("a TOML file", "convert its records to JSON, and load that");
const INI: Foreign = Foreign::text("an INI file", "convert its settings to CSV or JSON, and load that");
const PROPERTIES: Foreign =
    Foreign::text("a file of settings", "convert its settings to CSV or JSON, and load that");

/// The maximum number of characters of a key.
const KEY_CHARS_MAX: usize = 80;

/// Returns the format of a file whose lines are settings.
pub(super) fn of_lines(lines: &[&str], extension: &str) -> Option<Foreign> {
    of_yaml(lines, extension).or_else(|| of_sections(lines, extension))
}

/// Returns `true` if a text may be a key.
fn is_key(key: &str) -> bool {
    let key = key.trim_end();
    let is_part = |c: char| c.is_alphanumeric() || "_-./$@*<>+\\ ".contains(c);
    let quoted =
        key.len() >= 2 && ['"', '\''].iter().any(|&quote| key.starts_with(quote) && key.ends_with(quote));
    let inner = key.trim_matches(['"', '\'']);
    !inner.is_empty() && key.chars().count() <= KEY_CHARS_MAX && (quoted || inner.chars().all(is_part))
}

/// Splits a line such as `key: value` or `key:`.
fn yaml_key(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(": ").or_else(|| line.strip_suffix(':').map(|key| (key, "")))?;
    is_key(key).then_some((key, value.trim()))
}

/// Counts of the lines of a file that looks like YAML.
#[derive(Default)]
struct Yaml {
    keys: usize,
    items: usize,
    /// The number of keys and list items that have indented lines below them.
    nested: usize,
    /// `true` if the first line is a YAML marker such as `---`.
    marked: bool,
}

fn of_yaml(lines: &[&str], extension: &str) -> Option<Foreign> {
    let Yaml { keys, items, nested, marked } = yaml(lines)?;
    let is_shaped = keys >= 2 && (nested >= 1 || marked);
    let is_marked_list = marked && keys >= 1 && items >= 1;
    let is_named = matches!(extension, "yaml" | "yml") && keys + items >= 1;
    let is_yaml = is_shaped || is_marked_list || is_named;
    is_yaml.then_some(YAML)
}

/// Counts the lines of YAML. Returns `None` if a line is not YAML.
fn yaml(lines: &[&str]) -> Option<Yaml> {
    let mut found = Yaml::default();
    // The last key: its indentation, `true` if it has no value in its line, and the indentation of the list item that it is in.
    let mut last: Option<(usize, bool, Option<usize>)> = None;
    let is_blank = |line: &&&str| line.trim().is_empty() || line.trim_start().starts_with('#');
    for line in lines.iter().filter(|line| !is_blank(line)) {
        let line = line.trim_end();
        let is_first = found.keys + found.items == 0 && last.is_none();
        if line == "---" || line == "..." || line.starts_with("--- ") || line.starts_with("%YAML ") {
            found.marked |= is_first;
            last = None;
            continue;
        }
        let mut content = line.trim_start_matches(' ');
        let mut indent = line.len() - content.len();
        if content.starts_with('\t') {
            return None;
        }
        let mut item = None;
        while let Some(rest) =
            content.strip_prefix("- ").or_else(|| content.strip_suffix("-").filter(|rest| rest.is_empty()))
        {
            item.get_or_insert(indent);
            indent += content.len() - rest.trim_start().len();
            content = rest.trim_start();
        }
        let below = last.is_some_and(|(key, is_open, of_item)| {
            is_open && (indent > key || item.is_some_and(|item| item >= key))
                || of_item
                    .is_some_and(|of_item| item.is_none() && indent > of_item && yaml_key(content).is_some())
        });
        found.nested += usize::from(below);
        found.items += usize::from(item.is_some());
        match yaml_key(content) {
            Some((_, value)) => {
                found.keys += 1;
                let is_open = value.is_empty() || value.starts_with(['|', '>', '&', '!', '#']);
                last = Some((indent, is_open, item));
            }
            None if item.is_some() => last = Some((indent, false, None)),
            // The line belongs to a text or to a list in brackets that extends over several lines.
            None if indent > 0 && last.is_some() => {}
            None if matches!(content, "]" | "}") && last.is_some() => {}
            None => return None,
        }
    }
    Some(found)
}

/// The form of a line in a file of settings with sections.
enum Setting<'a> {
    Blank,
    Section {
        is_array: bool,
    },
    Key {
        value: &'a str,
    },
    /// A line that continues the setting above it.
    More,
    /// A word without a value.
    Word,
    Other,
}

fn setting(line: &str) -> Setting<'_> {
    let text = line.trim();
    if text.is_empty() || text.starts_with(['#', ';']) {
        return Setting::Blank;
    }
    if let Some(inner) = text.strip_prefix('[') {
        let (inner, after) = inner.rsplit_once(']').unwrap_or((inner, "no section"));
        let is_array = inner.starts_with('[') && inner.ends_with(']');
        let name = inner.trim_start_matches('[').trim_end_matches(']');
        let is_name = !name.trim().is_empty() && !name.contains([',', '\t', '[', ']', '{', '|']);
        let is_end = after.trim().is_empty() || after.trim_start().starts_with(['#', ';']);
        return if is_name && is_end { Setting::Section { is_array } } else { Setting::Other };
    }
    let at = text.find(['=', ':']);
    if let Some((key, value)) = at.map(|at| (&text[..at], text[at + 1..].trim()))
        && is_key(key)
    {
        return Setting::Key { value };
    }
    if line.starts_with([' ', '\t']) || text.starts_with([']', '}', ')']) || text.starts_with("\"\"\"") {
        return Setting::More;
    }
    if is_key(text) && !text.contains(' ') { Setting::Word } else { Setting::Other }
}

fn of_sections(lines: &[&str], extension: &str) -> Option<Foreign> {
    let (mut sections, mut arrays, mut keys, mut words, mut toml_values, mut semicolons) = (0, 0, 0, 0, 0, 0);
    for line in lines {
        semicolons += usize::from(line.trim_start().starts_with(';'));
        match setting(line) {
            Setting::Blank => {}
            Setting::Section { is_array } => {
                sections += 1;
                arrays += usize::from(is_array);
            }
            Setting::Key { value } => {
                keys += 1;
                let is_toml = value.starts_with(['"', '\'', '[', '{']) || matches!(value, "true" | "false");
                toml_values += usize::from(is_toml);
            }
            // The first line may be the header of a column, so this is not a file of settings.
            Setting::More | Setting::Word if sections + keys == 0 => return None,
            Setting::More => {}
            Setting::Word => words += 1,
            Setting::Other => return None,
        }
    }
    if words * 4 > keys {
        return None;
    }
    let is_toml = extension == "toml" || semicolons == 0 && (arrays > 0 || toml_values > 0);
    match extension {
        "toml" | "ini" | "cfg" | "conf" | "desktop" | "service" | "gitconfig" if keys >= 1 => {}
        "properties" | "env" if keys >= 1 && sections == 0 => return Some(PROPERTIES),
        _ if sections >= 1 && keys >= 2 => {}
        _ => return None,
    }
    Some(if is_toml { TOML } else { INI })
}
