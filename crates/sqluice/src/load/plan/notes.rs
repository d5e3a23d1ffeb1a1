//! Combines the notes about the files of a load: files with similar notes share a line, so that many files have few lines.
//!
//! ```text
//!  a.csv: the first line is skipped, as "May" is not part of the table        up to three files: each
//!  a.csv and 299 files like it (b.csv, c.csv, d.csv, ...): the first ...     more: the first note, with the number of files
//!  300 files (a.csv, b.csv, c.csv, ...): the first record is taken for ...   more, and all notes are the same
//! ```
//!
//! Notes are similar if they differ only in numbers and quoted text. The notes of each file are in
//! [`InputReport::notes`](sqluice_engine::report::InputReport::notes).

use std::collections::HashMap;

use sqluice_core::error::{Message, message};

/// Up to this number of files with similar notes, each file gets a line. With more files, one line names this many of them.
const FILES_MAX: usize = 3;

/// Similar notes, in the order of their files.
struct Similar<'n> {
    notes: Vec<(&'n str, &'n Message)>,
    same: bool,
}

/// Combines the notes of files into few lines, in the order in which each kind of note first occurs. `notes` has pairs of a file's name
/// and a note.
pub(crate) fn in_few<'n>(notes: impl Iterator<Item = (&'n str, &'n Message)>) -> Vec<Message> {
    let mut groups: Vec<Similar<'n>> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for (file, note) in notes {
        let place = *places.entry(outline(&note.to_string())).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => {
                group.same &= group.notes[0].1 == note;
                group.notes.push((file, note));
            }
            None => groups.push(Similar { notes: vec![(file, note)], same: true }),
        }
    }
    groups.iter().flat_map(Similar::lines).collect()
}

impl Similar<'_> {
    fn lines(&self) -> Vec<Message> {
        let mut files: Vec<&str> = self.notes.iter().map(|(file, _)| *file).collect();
        files.dedup();
        if files.len() <= FILES_MAX {
            return self.notes.iter().map(|(file, note)| message![format!("{file}: "), *note]).collect();
        }
        let (first, note) = self.notes[0];
        let of = match self.same {
            true => format!("{} files ({}, ...)", files.len(), files[..FILES_MAX].join(", ")),
            false => {
                let others = &files[1..];
                let more = if others.len() > FILES_MAX { ", ..." } else { "" };
                let named = others[..others.len().min(FILES_MAX)].join(", ");
                format!("{first} and {} files like it ({named}{more})", others.len())
            }
        };
        vec![message![format!("{of}: "), note]]
    }
}

/// Returns the text of a note without its numbers and quoted parts. Similar notes have equal outlines.
fn outline(text: &str) -> String {
    let mut outline = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => {
                outline.push('"');
                // Quoted text is escaped as `{:?}` escapes it.
                while let Some(inner) = characters.next() {
                    match inner {
                        '\\' => drop(characters.next()),
                        '"' => break,
                        _ => {}
                    }
                }
            }
            digit if digit.is_ascii_digit() => {
                if !outline.ends_with('0') {
                    outline.push('0');
                }
            }
            other => outline.push(other),
        }
    }
    outline
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(notes: &[(&str, &str)]) -> Vec<String> {
        let notes: Vec<(&str, Message)> = notes.iter().map(|(file, note)| (*file, (*note).into())).collect();
        in_few(notes.iter().map(|(file, note)| (*file, note))).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn notes_about_few_files_are_listed_one_by_one() {
        assert_eq!(
            told(&[("a", "x \"1\""), ("b", "y"), ("c", "x \"2\"")]),
            ["a: x \"1\"", "c: x \"2\"", "b: y"]
        );
    }

    #[test]
    fn the_same_note_of_many_files_is_one_line() {
        let notes: Vec<(String, &str)> = (0..300).map(|file| (format!("{file}.csv"), "no header")).collect();
        let notes: Vec<(&str, &str)> = notes.iter().map(|(file, note)| (file.as_str(), *note)).collect();
        assert_eq!(told(&notes), ["300 files (0.csv, 1.csv, 2.csv, ...): no header"]);
        assert_eq!(told(&notes[..4]), ["4 files (0.csv, 1.csv, 2.csv, ...): no header"]);
    }

    #[test]
    fn notes_that_differ_only_in_quoted_text_and_numbers_are_similar() {
        let notes: Vec<(String, String)> = (9..309)
            .map(|file| (format!("{file}.csv"), format!("line {file} is \"a \\\"{file}\\\"\"")))
            .collect();
        let notes: Vec<(&str, &str)> =
            notes.iter().map(|(file, note)| (file.as_str(), note.as_str())).collect();
        assert_eq!(
            told(&notes),
            ["9.csv and 299 files like it (10.csv, 11.csv, 12.csv, ...): line 9 is \"a \\\"9\\\"\""]
        );
        assert_eq!(
            told(&notes[..4]),
            ["9.csv and 3 files like it (10.csv, 11.csv, 12.csv): line 9 is \"a \\\"9\\\"\""]
        );
    }

    #[test]
    fn four_notes_about_one_file_are_listed_one_by_one() {
        let told = told(&[("a", "column 1"), ("a", "column 2"), ("a", "column 3"), ("a", "column 4")]);
        assert_eq!(told.len(), 4);
    }
}
