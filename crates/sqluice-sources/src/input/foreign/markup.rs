//! Recognises HTML and XML, with or without a declaration.
//!
//! A web page is recognised by its first tag. XML without a declaration is recognised by its structure: one element that contains others, all
//! closed in the right order. So a column whose values are tags is not taken for XML.

use super::Foreign;

const PAGE: Foreign = Foreign::certain(
    "an HTML page",
    "download the data instead of the page that shows it; a table in a page must be saved as CSV",
);
const XML: Foreign = Foreign::certain("an XML file", "convert its records to CSV or JSON, and load that");
const KML: Foreign = Foreign::certain("a KML file", "convert its places to CSV or GeoJSON, and load that");

/// Returns the format of a text that begins with a declaration, or with a tag that only web pages have.
pub(super) fn of_start(head: &[u8]) -> Option<Foreign> {
    let head = without_comments(head);
    let begins = |word: &str| {
        head.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
            && head.get(word.len()).is_none_or(|next| !next.is_ascii_alphanumeric())
    };
    if ["<!doctype html", "<html", "<head", "<body", "<table", "<script"].into_iter().any(begins) {
        return Some(PAGE);
    }
    if begins("<?php") {
        let remedy = "name the file with the rows instead";
        return Some(Foreign::certain("a program in PHP", remedy));
    }
    if !begins("<?xml") && !begins("<!doctype") {
        return None;
    }
    let has = |name: &[u8]| memchr::memmem::find(head, name).is_some();
    Some(if has(b"schemas-microsoft-com:office:spreadsheet") {
        Foreign::certain("an Excel workbook in XML", super::SHEET)
    } else if has(b"<html") {
        PAGE
    } else if has(b"<kml") {
        KML
    } else {
        XML
    })
}

/// Returns the format of a text that has the structure of XML, or begins like a part of a web page. `whole` is `true` if `text` is the whole
/// file.
pub(super) fn of_shape(text: &str, whole: bool) -> Option<Foreign> {
    let text = text.trim_start();
    let text = &text[text.len() - without_comments(text.as_bytes()).len()..];
    let root = Tag::at(text)?;
    let is_part_of_page =
        ["meta", "title", "style", "link", "frameset", "div", "form", "center", "section", "main"]
            .iter()
            .any(|name| root.name.eq_ignore_ascii_case(name));
    let after = text[root.bytes..].trim_start_matches(' ');
    let ends_line = after.is_empty() || after.starts_with(['\r', '\n', '<']);
    let lower = || text.to_ascii_lowercase();
    if is_part_of_page
        && ends_line
        && ["</div>", "</p>", "</a>", "</body>", "</head>", "</form>"].iter().any(|tag| lower().contains(tag))
    {
        return Some(PAGE);
    }
    is_document(text, whole).then(|| if root.name == "kml" { KML } else { XML })
}

/// Returns `head` without XML comments at its start.
fn without_comments(mut head: &[u8]) -> &[u8] {
    while let Some(rest) = head.strip_prefix(b"<!--") {
        let Some(end) = memchr::memmem::find(rest, b"-->") else { return head };
        head = rest[end + 3..].trim_ascii_start();
    }
    head
}

/// A tag of markup.
struct Tag<'a> {
    name: &'a str,
    opens: bool,
    closes: bool,
    bytes: usize,
}

impl<'a> Tag<'a> {
    /// Parses the tag at the start of `text`.
    fn at(text: &'a str) -> Option<Tag<'a>> {
        let inner = text.strip_prefix('<')?;
        // A `>` within a quoted attribute does not end the tag.
        let mut quote = None;
        let end = inner.char_indices().find_map(|(at, c)| {
            match (quote, c) {
                (Some(open), _) if open == c => quote = None,
                (None, '"' | '\'') => quote = Some(c),
                (None, '>') => return Some(at),
                _ => {}
            }
            None
        })?;
        let tag = &inner[..end];
        let ends = tag.starts_with('/');
        let name = tag.trim_start_matches('/').split(|c: char| c.is_whitespace() || c == '/').next()?;
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':'));
        let attributes = tag.trim_start_matches('/')[name.len()..].trim_end_matches('/').trim();
        let is_tag = is_name && (attributes.is_empty() || !ends && attributes.contains('='));
        is_tag.then_some(Tag { name, opens: !ends, closes: ends || tag.ends_with('/'), bytes: end + 2 })
    }
}

/// Returns `true` if a text is one element with elements in it, all closed in the right order, as far as the text goes.
fn is_document(text: &str, whole: bool) -> bool {
    let mut open: Vec<&str> = Vec::new();
    let (mut elements, mut closed) = (0, 0);
    let mut rest = text.trim_end();
    while let Some(start) = rest.find('<') {
        // Outside of the root element, text is not permitted.
        if open.is_empty() && !rest[..start].trim().is_empty() {
            return false;
        }
        rest = &rest[start..];
        let skipped =
            [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")].into_iter().find_map(|(begin, end)| {
                rest.strip_prefix(begin).map(|inner| inner.find(end).map(|at| &inner[at + end.len()..]))
            });
        match skipped {
            Some(Some(after)) => {
                rest = after;
                continue;
            }
            // The sample ends within a comment.
            Some(None) => break,
            None => {}
        }
        let Some(tag) = Tag::at(rest) else {
            // The sample may end within a tag. Otherwise this `<` does not begin one.
            if rest.contains('>') {
                return false;
            }
            break;
        };
        if open.is_empty() && elements > 0 {
            return false;
        }
        if tag.opens {
            elements += 1;
            open.push(tag.name);
        }
        if tag.closes {
            if open.pop() != Some(tag.name) {
                return false;
            }
            closed += 1;
        }
        rest = &rest[tag.bytes..];
    }
    let is_closed = open.is_empty() && !rest.contains(|c: char| !c.is_whitespace());
    elements >= 2 && closed >= 1 && (is_closed || !whole && !open.is_empty())
}
