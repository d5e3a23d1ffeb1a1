//! The files that a load leaves out although their folder or archive is named, such as hidden files and pictures: they are loaded only if
//! they are named themselves.

use serde::Serialize;
use sqluice_core::error::{Message, Setting};

/// The number of reasons that get a line each, the most frequent first. The files of further reasons are only counted.
const REASONS_MAX: usize = 8;
/// The number of files that are named for a reason. Further files are only counted.
const NAMES_MAX: usize = 4;

/// A file of a folder or an archive that is not loaded. The name of a folder, with everything below it, ends in `/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LeftOutFile {
    /// The name of the file in messages.
    pub name: String,
    /// The reason why the file is not loaded unless it is named, such as `hidden`.
    #[serde(serialize_with = "message_as_text")]
    pub why: Message,
}

impl LeftOutFile {
    /// Creates a file that was left out, with its name and the reason.
    pub fn new(name: impl Into<String>, why: impl Into<Message>) -> LeftOutFile {
        LeftOutFile { name: name.into(), why: why.into() }
    }

    /// Returns the file with its reason in the terms of a front end.
    #[must_use]
    pub(crate) fn in_terms(&self, name: impl Fn(Setting, Option<&str>) -> String) -> LeftOutFile {
        LeftOutFile { name: self.name.clone(), why: self.why.in_terms(name) }
    }
}

pub(crate) fn message_as_text<S: serde::Serializer>(message: &Message, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(message)
}

/// Describes the files that were left out: one line for each reason, with the names of its first files, such as `a picture: a.png, b.png`.
/// The most frequent reasons are first.
pub fn left_out_in_words(left_out: &[LeftOutFile]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for LeftOutFile { name, why } in left_out {
        let why = why.to_string();
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    reasons.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    let line = |(why, names): &(String, Vec<&str>)| {
        let more = match names.len().saturating_sub(NAMES_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!("{why}: {}{more}", names[..names.len().min(NAMES_MAX)].join(", "))
    };
    let mut lines: Vec<String> = reasons.iter().take(REASONS_MAX).map(line).collect();
    let others: usize = reasons.iter().skip(REASONS_MAX).map(|(_, names)| names.len()).sum();
    if others > 0 {
        lines.push(format!("{others} more for other reasons"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_out_files_are_grouped_by_reason_and_the_first_of_each_group_are_named() {
        let files: Vec<LeftOutFile> = (0..9)
            .map(|number| LeftOutFile::new(format!("{number}.png"), "a picture"))
            .chain([LeftOutFile::new(".git/", "hidden")])
            .collect();
        assert_eq!(
            left_out_in_words(&files),
            ["a picture: 0.png, 1.png, 2.png, 3.png and 5 more", "hidden: .git/"]
        );
        assert_eq!(
            left_out_in_words(&files[5..]),
            ["a picture: 5.png, 6.png, 7.png, 8.png", "hidden: .git/"]
        );
        assert!(left_out_in_words(&[]).is_empty());
    }

    #[test]
    fn after_eight_reasons_the_remaining_left_out_files_are_counted_in_one_line() {
        let files: Vec<LeftOutFile> =
            (0..20).map(|number| LeftOutFile::new("x", format!("reason {number}"))).collect();
        let lines = left_out_in_words(&files);
        assert_eq!(lines.len(), 9);
        assert_eq!(lines[8], "12 more for other reasons");
    }
}
