//! The titles of experiments, which reports show. The command line uses their ids.

/// The ids and titles, in the order of the publications.
const TITLES: [(&str, &str); 29] = [
    ("insert-method", "Ways to insert integers"),
    ("integer-size", "Width of integers"),
    ("booleans", "Booleans in one table"),
    ("transaction", "Transactions and reused statements"),
    ("unroll-degree", "Rows per INSERT statement"),
    ("unsafe-pragmas", "Safe and unsafe PRAGMAs"),
    ("carray-length", "Length of bound arrays"),
    ("table-type", "Types of tables with given keys"),
    ("automatic-key", "Keys that SQLite generates"),
    ("key-sequence", "Order of keys"),
    ("page-cache", "Size of the page cache"),
    ("index-order", "Index before or after the load"),
    ("string-size", "Length of strings"),
    ("column-count", "Number of columns"),
    ("mixed-user", "A table of mixed types"),
    ("billion-variants", "A billion rows, by language and library"),
    ("blob-read", "Reading blobs"),
    ("blob-space", "Space that blobs take"),
    ("blob-write", "Overwriting blobs"),
    ("write-many", "Writing entities with an index"),
    ("pragma-mix", "PRAGMAs under a mixed load"),
    ("growth", "Time as the table grows"),
    ("array-in", "Looking up many ids"),
    ("sparse-ids", "Contiguous and sparse ids"),
    ("batch-size", "Rows per transaction"),
    ("long-statement", "One long INSERT statement"),
    ("write-many-no-index", "Writing entities without an index"),
    ("blob-break-even", "Blob size at which files win"),
    ("wal-normal", "WAL with synchronous=NORMAL"),
];

/// Returns the title of an experiment; the title of an unpublished experiment is its id with spaces.
pub(crate) fn title(id: &str) -> String {
    if let Some((_, title)) = TITLES.iter().find(|(known, _)| *known == id) {
        return (*title).to_owned();
    }
    let mut letters = id.replace('-', " ").chars().collect::<Vec<_>>();
    letters.iter_mut().take(1).for_each(|first| *first = first.to_ascii_uppercase());
    letters.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::published::published;

    #[test]
    fn every_published_experiment_and_question_has_a_title() {
        let all = published();
        let ids = all.experiment.iter().map(|one| &one.id).chain(all.question.iter().map(|one| &one.id));
        let titles: std::collections::BTreeSet<String> = ids.clone().map(|id| title(id)).collect();
        assert_eq!(titles.len(), ids.clone().count());
        let without: Vec<&String> = ids.filter(|id| TITLES.iter().all(|(known, _)| known != id)).collect();
        assert!(without.is_empty(), "{without:?}");
        assert_eq!(title("page-size"), "Page size");
    }
}
