//! Finds the files whose tables are named after their folders, too, because files in other folders have the same name.
//!
//! ```text
//!  d/2024/x.csv   2024_x       two files of different folders have the name x
//!  d/2025/x.csv   2025_x
//!  d/y.csv        y
//! ```
//!
//! A file that the user names always has the same table name, whatever other files are loaded.

use std::collections::HashMap;
use std::path::Path;

use sqluice_sources::input::stem;

use super::input::LoadInput;

/// Marks the files that were found in folders and archives, and that have the name of a file in another folder. Names are equal as SQLite
/// compares them. The result does not depend on the order of the files.
pub(super) fn choose(files: &mut [LoadInput]) {
    if !files.iter().any(|file| file.is_found) {
        return;
    }
    let name = |file: &LoadInput| stem(&file.named_after).map(|name| name.to_ascii_lowercase());
    // For each file name, the folder of its files; `None` if they are in several folders.
    let mut folders: HashMap<String, Option<&Path>> = HashMap::new();
    for file in files.iter() {
        let Some(name) = name(file) else { continue };
        let folder = file.named_after.parent();
        folders.entry(name).and_modify(|known| *known = known.filter(|_| *known == folder)).or_insert(folder);
    }
    let repeated = |file: &LoadInput| name(file).is_some_and(|name| folders[&name].is_none());
    let with_folders: Vec<bool> = files.iter().map(|file| file.is_found && repeated(file)).collect();
    for (file, with_folders) in files.iter_mut().zip(with_folders) {
        file.with_folders = with_folders;
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn with_folders(found: &[&str], named: &[&str]) -> Vec<String> {
        let found = found.iter().map(|path| LoadInput::of_folder(PathBuf::from(path)));
        let mut files: Vec<LoadInput> =
            found.chain(named.iter().map(|path| LoadInput::named(PathBuf::from(path)))).collect();
        choose(&mut files);
        let marked = files.iter().filter(|file| file.with_folders);
        marked.map(|file| file.path.display().to_string()).collect()
    }

    #[test]
    fn tables_of_files_with_one_name_in_different_folders_are_named_after_the_folders() {
        assert_eq!(
            with_folders(&["d/a/x.csv", "d/b/X.tsv.gz", "d/y.csv"], &[]),
            ["d/a/x.csv", "d/b/X.tsv.gz"]
        );
        assert_eq!(with_folders(&["d/x.csv", "d/a/x.csv"], &[]), ["d/x.csv", "d/a/x.csv"]);
    }

    #[test]
    fn tables_of_files_with_one_name_in_one_folder_are_not_named_after_the_folder() {
        assert!(with_folders(&["d/x.csv", "d/x.json"], &[]).is_empty());
    }

    #[test]
    fn a_file_given_as_an_argument_names_its_table_without_its_folder() {
        assert_eq!(with_folders(&["d/x.csv"], &["e/x.csv"]), ["d/x.csv"]);
        assert!(with_folders(&[], &["d/x.csv", "e/x.csv"]).is_empty());
    }
}
