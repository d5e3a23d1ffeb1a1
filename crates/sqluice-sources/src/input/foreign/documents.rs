//! Recognises documents by their first lines: contacts, calendars, LaTeX, certificates, patches, scripts.

use super::Foreign;

/// Whole first lines of files, and the format that each of them shows.
const FIRST_LINES: &[(&str, Foreign)] = &[
    ("BEGIN:VCARD", Foreign::text("a vCard file of contacts", "export the contacts as CSV, and load that")),
    (
        "BEGIN:VCALENDAR",
        Foreign::text("an iCalendar file", "convert its events to CSV or JSON, and load that"),
    ),
    ("0 HEAD", Foreign::text("a GEDCOM family tree", "export its people as CSV, and load that")),
    ("REGEDIT4", REGISTRY),
    ("Windows Registry Editor Version 5.00", REGISTRY),
    (
        "version https://git-lfs.github.com/spec/v1",
        Foreign::text(
            "a pointer of Git LFS, which stands for the file itself",
            "fetch the file that it stands for, and load that",
        ),
    ),
];

/// Beginnings of first lines of files, and the format that each of them shows.
const STARTS: &[(&str, Foreign)] = &[
    ("\\documentclass", LATEX),
    ("\\documentstyle", LATEX),
    (
        "-----BEGIN ",
        Foreign::text("a key, a certificate or a signed message", "name the file with the rows instead"),
    ),
    ("#!/", SCRIPT),
    ("#! /", SCRIPT),
];

const REGISTRY: Foreign =
    Foreign::text("an export of the Windows registry", "convert its values to CSV or JSON, and load that");
const LATEX: Foreign = Foreign::text("a document in LaTeX", "save its tables as CSV, and load these");
const PATCH: Foreign = Foreign::text("a patch", "name the file with the rows instead");
const SCRIPT: Foreign = Foreign::text("a script", "name the file with the rows instead");
const MARKDOWN: Foreign = Foreign::text("a Markdown document", "save its tables as CSV, and load these");
const LDIF: Foreign = Foreign::text("an LDIF file", "convert its entries to CSV or JSON, and load that");

/// Returns the format of a document, if its first lines show it.
pub(super) fn of_lines(lines: &[&str], extension: &str) -> Option<Foreign> {
    let first = lines.iter().find(|line| !line.trim().is_empty())?.trim_end();
    let exact = FIRST_LINES.iter().find(|(line, _)| first.eq_ignore_ascii_case(line));
    if let Some((_, foreign)) = exact {
        // The line may be the header of a column, so the next line must look like an entry of a document.
        return has_entry(lines).then_some(*foreign);
    }
    if let Some((_, foreign)) = STARTS.iter().find(|(start, _)| first.starts_with(start)) {
        let is_mark = !first.starts_with('-') || first.ends_with("-----");
        return is_mark.then_some(*foreign);
    }
    let texts = || lines.iter().filter(|line| !line.trim().is_empty());
    let begins =
        |starts: &[&str]| texts().filter(|line| starts.iter().any(|start| line.starts_with(start))).count();
    let code = texts().find(|line| !line.starts_with('%'));
    if first.starts_with('%') && code.is_some_and(|line| line.starts_with("\\documentclass")) {
        return Some(LATEX);
    }
    if (first.starts_with("--- ") || first.starts_with("diff "))
        && begins(&["+++ "]) >= 1
        && begins(&["@@ -"]) >= 1
    {
        return Some(PATCH);
    }
    if (first.starts_with("dn: ") || first == "version: 1")
        && begins(&["dn: "]) >= 1
        && begins(&["objectClass: "]) >= 1
    {
        return Some(LDIF);
    }
    let headings = begins(&["# ", "## ", "### "]);
    let marks =
        begins(&["```", "- ", "* ", "> ", "1. "]) + texts().filter(|line| line.contains("](")).count();
    let is_markdown =
        matches!(extension, "md" | "markdown") && headings >= 1 && (marks >= 1 || headings >= 2);
    is_markdown.then_some(MARKDOWN)
}

/// Returns `true` if the second line that is not blank looks like an entry of a document, not like a CSV record: the line has a colon
/// (vCard, iCalendar, Git LFS), begins with "1 " (GEDCOM), or is in brackets (registry).
fn has_entry(lines: &[&str]) -> bool {
    let second = lines.iter().filter(|line| !line.trim().is_empty()).nth(1);
    second.is_some_and(|line| {
        let line = line.trim_end();
        line.contains(':') || line.starts_with("1 ") || line.starts_with('[') && line.ends_with(']')
    })
}
