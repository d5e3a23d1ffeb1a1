//! Recognises mail, and files that begin with a header like mail: mailboxes, saved web pages, and responses of web servers.

use super::Foreign;

const MESSAGE: Foreign =
    Foreign::text("a mail message", "save the file that is attached to it, and load that");
const MAILBOX: Foreign =
    Foreign::text("a mailbox of messages", "convert the messages to CSV or JSON, and load that");
const SAVED_PAGE: Foreign = Foreign::text(
    "a saved web page (MHTML)",
    "download the data instead of the page that shows it; a table in a page must be saved as CSV",
);
const RESPONSE: Foreign = Foreign::text(
    "the response of a web server with its header",
    "save the response without its header, and load that",
);

/// Header fields of which nearly every message has some.
const FIELDS: [&str; 13] = [
    "from",
    "to",
    "cc",
    "date",
    "subject",
    "received",
    "return-path",
    "delivered-to",
    "message-id",
    "mime-version",
    "content-type",
    "reply-to",
    "dkim-signature",
];

/// Returns the format of a file that begins with a header of mail or of HTTP.
pub(super) fn of_lines(lines: &[&str], extension: &str) -> Option<Foreign> {
    let first = lines.first()?;
    if is_status(first) {
        return (Header::of(&lines[1..])?.fields >= 1).then_some(RESPONSE);
    }
    // A mailbox begins with a line such as `From ann@example.org Thu Jan  1 00:00:00 2015`.
    let words: Vec<&str> = first.split(' ').filter(|word| !word.is_empty()).collect();
    let is_separator = first.starts_with("From ")
        && words.len() >= 6
        && words.iter().any(|word| super::pattern(word, "dd:dd") == Some(5));
    if is_separator {
        return (Header::of(&lines[1..])?.known >= 1).then_some(MAILBOX);
    }
    let header = Header::of(lines)?;
    let enough = if matches!(extension, "eml" | "mht" | "mhtml") { 2 } else { 3 };
    let is_message = header.known >= enough && header.has_from && header.has_more;
    is_message.then_some(if header.is_page { SAVED_PAGE } else { MESSAGE })
}

/// Returns `true` if a line is a status line such as `HTTP/1.1 200 OK`.
fn is_status(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("HTTP/") else { return false };
    let Some((version, status)) = rest.split_once(' ') else { return false };
    let is_version = !version.is_empty() && version.chars().all(|c| c.is_ascii_digit() || c == '.');
    let is_end = |end: usize| status[end..].is_empty() || status[end..].starts_with(' ');
    is_version && super::pattern(status, "ddd").is_some_and(is_end)
}

/// Properties of a header, which ends at an empty line.
#[derive(Default)]
struct Header {
    fields: usize,
    /// The number of different fields that are in [`FIELDS`].
    known: usize,
    /// `true` if a field names the sender or the route of the message.
    has_from: bool,
    has_more: bool,
    /// `true` if the content is a web page with its pictures (MHTML).
    is_page: bool,
}

impl Header {
    /// Reads a header. Returns `None` if a line is not a header field.
    fn of(lines: &[&str]) -> Option<Header> {
        let mut header = Header::default();
        let mut seen = Vec::new();
        for line in lines.iter().take_while(|line| !line.trim().is_empty()) {
            if line.starts_with([' ', '\t']) && header.fields > 0 {
                header.is_page |= line.to_ascii_lowercase().contains("type=\"text/html\"");
                continue;
            }
            let (name, value) = line.split_once(':')?;
            let is_name = |c: char| c.is_ascii_graphic() && !"\"',;|()<>@".contains(c);
            if name.is_empty() || !name.chars().all(is_name) {
                return None;
            }
            header.fields += 1;
            let name = name.to_ascii_lowercase();
            header.has_from |= matches!(&*name, "from" | "received" | "return-path");
            header.has_more |= matches!(&*name, "date" | "message-id" | "mime-version" | "subject");
            header.is_page |= name == "snapshot-content-location"
                || name == "content-type"
                    && value.contains("multipart/related")
                    && value.contains("text/html");
            if FIELDS.contains(&&*name) && !seen.contains(&name) {
                seen.push(name);
            }
        }
        header.known = seen.len();
        Some(header)
    }
}
