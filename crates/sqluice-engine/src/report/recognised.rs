//! Describes the recognised formats of inputs in words.

use super::InputReport;

/// The number of different formats that are described, the most frequent first. Files of further formats are only counted.
const KINDS_MAX: usize = 4;

/// The number of files that are named for a format; `...` stands for further files.
const NAMES_MAX: usize = 3;

/// Describes the recognised formats, with inputs grouped by format: `a.csv: comma, header`, or `1,500 files: comma, header; 2 files: tab,
/// header (a.tsv, b.tsv)`.
pub fn recognised_in_words(inputs: &[InputReport], count: impl Fn(u64) -> String) -> String {
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    for InputReport { name, recognised, .. } in inputs {
        let words = recognised.words();
        match kinds.iter_mut().find(|(kind, _)| *kind == words) {
            // Each table of a database is an input with the name of the database.
            Some((_, files)) if files.last() == Some(&&**name) => {}
            Some((_, files)) => files.push(name),
            None => kinds.push((words, vec![name])),
        }
    }
    kinds.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
    let others: usize = kinds.iter().skip(KINDS_MAX).map(|(_, files)| files.len()).sum();
    let mut parts: Vec<String> = Vec::new();
    for (place, (words, files)) in kinds.iter().take(KINDS_MAX).enumerate() {
        parts.push(match files[..] {
            [file] => format!("{file}: {words}"),
            // The files of the most frequent format are not named.
            _ if place == 0 => format!("{}: {words}", count(files.len() as u64)),
            _ => format!("{}: {words} ({})", count(files.len() as u64), some(files)),
        });
    }
    if others > 0 {
        parts.push(format!("{} in other formats", count(others as u64)));
    }
    parts.join("; ")
}

/// Describes the inputs with padded rows: `12 rows filled with NULL where fields are missing: a.csv 10, b.csv 2`. Returns `None` if no
/// input has padded rows.
pub fn padded_in_words(inputs: &[InputReport], count: impl Fn(u64) -> String) -> Option<String> {
    let all: u64 = inputs.iter().map(|input| input.padded).sum();
    let mut padded: Vec<&InputReport> = inputs.iter().filter(|input| input.padded > 0).collect();
    let filled = format!("{} filled with NULL where fields are missing", count(all));
    match padded[..] {
        [] => None,
        [_] if inputs.len() == 1 => Some(filled),
        _ => {
            padded.sort_by_key(|input| std::cmp::Reverse(input.padded));
            let files: Vec<String> =
                padded.iter().map(|input| format!("{} {}", input.name, input.padded)).collect();
            Some(format!("{filled}: {}", some(&files)))
        }
    }
}

/// Lists the first names of many.
fn some<N: AsRef<str>>(names: &[N]) -> String {
    let mut shown: Vec<&str> = names.iter().take(NAMES_MAX).map(AsRef::as_ref).collect();
    if names.len() > NAMES_MAX {
        shown.push("...");
    }
    shown.join(", ")
}
