//! The array of records in a document that is one object: a path of keys to the array.
//!
//! ```text
//!  {"type":"FeatureCollection","features":[{...},{...}]}       features
//!  {"meta":{"pages":3},"data":{"items":[{...},{...}]}}         data.items, or /data/items
//! ```
//!
//! The text before and after the array is skipped while it is read. It is not kept, and checked only as far as the search needs.

use std::fmt;

use sqluice_core::error::{Error, Result, Setting, message};

use super::nested::space_end;
use super::text::{string_end, unescape};

/// The largest depth of nested objects and arrays that [`arrays_of_objects`] searches.
const DEPTH_MAX: usize = 127;

/// The keys that lead to an array, from the outermost object in. At least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordsPath(Vec<String>);

impl RecordsPath {
    /// Parses keys with points between them, such as `data.items`, or a [JSON pointer](https://www.rfc-editor.org/rfc/rfc6901), which
    /// begins with a slash: `/data/items`. A pointer can name keys that have points.
    ///
    /// # Errors
    /// If the text names no key, or an empty one.
    pub fn parse(text: &str) -> Result<RecordsPath> {
        let keys: Vec<String> = match text.strip_prefix('/') {
            Some(pointer) => {
                pointer.split('/').map(|key| key.replace("~1", "/").replace("~0", "~")).collect()
            }
            None => text.split('.').map(str::to_owned).collect(),
        };
        if keys.iter().any(String::is_empty) {
            let message = message![Setting::Records.to(text), ": the path has an empty key"];
            let hint = message![
                "a path is keys with points between them, such as ",
                Setting::Records.to("features"),
                " or ",
                Setting::Records.to("data.items")
            ];
            return Err(Error::usage(message).hint(hint));
        }
        Ok(RecordsPath(keys))
    }

    /// Returns the number of objects around the array.
    pub(super) fn depth(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for RecordsPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.iter().any(|key| key.contains('.')) || self.0[0].starts_with('/') {
            return self
                .0
                .iter()
                .try_for_each(|key| write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")));
        }
        f.write_str(&self.0.join("."))
    }
}

/// A search for the first element of the array at a path, one byte at a time.
pub(super) struct Finder<'p> {
    path: &'p RecordsPath,
    /// The number of keys of the path that are found. The current object is the value of the last of these keys.
    found: usize,
    /// The number of open brackets.
    depth: usize,
    expected: Expected,
    string: Option<Quoted>,
}

/// The expected next token of the current object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    /// The object that is the document.
    Object,
    /// A key, or the end of the object.
    Key,
    /// The colon behind a key; `wanted`: the key is the next one of the path.
    Colon { wanted: bool },
    /// The value of the next key of the path.
    Wanted,
    /// The rest of any other value, and the comma or bracket behind it.
    Other,
}

/// A string that has begun. `key` has its bytes with the opening quote, if the string is a key.
#[derive(Default)]
struct Quoted {
    key: Option<Vec<u8>>,
    escaped: bool,
}

impl Finder<'_> {
    pub(super) fn new(path: &RecordsPath) -> Finder<'_> {
        Finder { path, found: 0, depth: 0, expected: Expected::Object, string: None }
    }

    /// Takes the next byte. Returns `true` if the byte is the bracket that begins the array.
    ///
    /// # Errors
    /// If the document is malformed at this byte, or can't have the array.
    pub(super) fn step(&mut self, byte: u8) -> Result<bool> {
        if self.string.is_some() {
            self.step_string(byte);
            return Ok(false);
        }
        if byte.is_ascii_whitespace() {
            return Ok(false);
        }
        match self.expected {
            Expected::Object if byte == b'{' => (self.depth, self.expected) = (1, Expected::Key),
            Expected::Object => return Err(self.lost("the document is not an object")),
            Expected::Key if byte == b'"' => {
                self.string = Some(Quoted { key: Some(vec![byte]), escaped: false });
            }
            Expected::Key if byte == b'}' => return Err(self.lost("the key does not exist")),
            Expected::Key => return Err(self.lost("a key is expected here")),
            Expected::Colon { wanted } => {
                self.expected = if wanted { Expected::Wanted } else { Expected::Other };
            }
            Expected::Wanted => {
                let last = self.found + 1 == self.path.depth();
                match byte {
                    b'[' if last => return Ok(true),
                    b'{' if !last => {
                        self.found += 1;
                        self.depth += 1;
                        self.expected = Expected::Key;
                    }
                    _ if last => return Err(self.lost("its value is not an array")),
                    _ => return Err(self.lost("its value is not an object")),
                }
            }
            Expected::Other => match byte {
                b'"' => self.string = Some(Quoted::default()),
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' if self.depth == self.found + 1 => {
                    return Err(self.lost("the key does not exist"));
                }
                b'}' | b']' => self.depth -= 1,
                b',' if self.depth == self.found + 1 => self.expected = Expected::Key,
                _ => {}
            },
        }
        Ok(false)
    }

    fn step_string(&mut self, byte: u8) {
        let Some(string) = &mut self.string else { return };
        if let Some(key) = &mut string.key {
            key.push(byte);
        }
        match byte {
            _ if string.escaped => string.escaped = false,
            b'\\' => string.escaped = true,
            b'"' => {
                if let Some(key) = &string.key {
                    let wanted = is_key(key, &self.path.0[self.found]);
                    self.expected = Expected::Colon { wanted };
                }
                self.string = None;
            }
            _ => {}
        }
    }

    /// Returns the error for a document in which the array was not found. It names the path up to the first key that was not found.
    pub(super) fn lost(&self, why: &str) -> Error {
        let at = RecordsPath(self.path.0[..self.path.depth().min(self.found + 1)].to_vec());
        Error::input(format!("the file has no array at {}: {at}: {why}", self.path)).hint(message![
            "a path names the keys that lead to the array of records, such as ",
            Setting::Records.to("data.items")
        ])
    }
}

/// Skips the text after the array, up to the end of the document.
#[derive(Default)]
pub(super) struct Closing {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Closing {
    /// Creates a skipper of text that closes `depth` open objects.
    pub(super) fn new(depth: usize) -> Closing {
        Closing { depth, ..Closing::default() }
    }

    /// Returns `true` if the document has ended.
    pub(super) fn is_done(&self) -> bool {
        self.depth == 0
    }

    /// Skips text up to the end of the document, and returns the number of skipped bytes.
    pub(super) fn skip(&mut self, data: &[u8]) -> usize {
        for (at, byte) in data.iter().enumerate() {
            if self.is_done() {
                return at;
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth -= 1,
                _ => {}
            }
        }
        data.len()
    }
}

/// Returns `true` if a string, with its quotes and escapes, has the text `key`.
fn is_key(quoted: &[u8], key: &str) -> bool {
    unquoted(quoted).is_some_and(|found| found == key)
}

/// Returns the text of a string that is given with its quotes and escapes; `None` if it is not a valid string.
fn unquoted(quoted: &[u8]) -> Option<String> {
    let (end, escapes) = string_end(quoted, 0, true).ok()?;
    let text = &quoted[1..end];
    if !escapes {
        return String::from_utf8(text.to_vec()).ok();
    }
    let mut unescaped = Vec::new();
    unescape(text, &mut unescaped);
    String::from_utf8(unescaped).ok()
}

/// Returns the paths to the arrays of objects in a document that is one object, as far as its beginning `head` goes, in order.
pub fn arrays_of_objects(head: &[u8]) -> Vec<RecordsPath> {
    let mut found = Vec::new();
    // The current key of each open object; `None`: an array.
    let mut open: Vec<Option<String>> = Vec::new();
    let mut at = 0;
    let mut key_next = false;
    while let Some(&byte) = head.get(at) {
        match byte {
            b'"' => {
                let Ok((end, _)) = string_end(head, at, true) else { break };
                if let (true, Some(Some(key))) = (key_next, open.last_mut()) {
                    let Some(name) = unquoted(&head[at..=end]) else { break };
                    *key = name;
                    key_next = false;
                }
                at = end;
            }
            b'{' => {
                open.push(Some(String::new()));
                key_next = true;
            }
            b'[' => {
                let keys: Option<Vec<String>> = open.iter().cloned().collect();
                if let Some(keys) = keys.filter(|keys| !keys.is_empty() && !keys.iter().any(String::is_empty))
                    && head.get(space_end(head, at + 1)) == Some(&b'{')
                {
                    found.push(RecordsPath(keys));
                }
                open.push(None);
            }
            b'}' | b']' => {
                open.pop();
                if open.is_empty() {
                    break;
                }
            }
            b',' => key_next = matches!(open.last(), Some(Some(_))),
            _ => {}
        }
        if open.len() > DEPTH_MAX || open.is_empty() && !byte.is_ascii_whitespace() {
            break;
        }
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(document: &str) -> Vec<String> {
        arrays_of_objects(document.as_bytes()).iter().map(RecordsPath::to_string).collect()
    }

    #[test]
    fn a_records_path_is_keys_joined_by_points_or_a_json_pointer() {
        let keys = |text: &str| RecordsPath::parse(text).unwrap().0;
        assert_eq!(keys("features"), ["features"]);
        assert_eq!(keys("data.items"), ["data", "items"]);
        assert_eq!(keys("/data/a.b/c~1d~0"), ["data", "a.b", "c/d~"]);
        assert_eq!(RecordsPath::parse("/data/a.b/c~1d~0").unwrap().to_string(), "/data/a.b/c~1d~0");
        for wrong in ["", ".", "a.", "/", "/a//b"] {
            RecordsPath::parse(wrong).unwrap_err();
        }
    }

    #[test]
    fn the_suggested_paths_to_records_lead_to_arrays_of_objects_within_objects() {
        assert_eq!(paths(r#"{"type":"x","features":[{"a":[{"b":1}]}]}"#), ["features"]);
        assert_eq!(
            paths(r#" {"n":[1],"data":{"items": [ {"a":1}, {}],"more":[{}"#),
            ["data.items", "data.more"]
        );
        assert_eq!(paths(r#"{"a\"[{":1,"b":"[{","c":[]}"#), Vec::<String>::new());
        for none in ["", "[{}]", "{", "{}", "[[{\"a\":[{}]}]]", "{\"a\":1}{\"b\":[{}]}"] {
            assert_eq!(paths(none), Vec::<String>::new(), "{none}");
        }
    }
}
