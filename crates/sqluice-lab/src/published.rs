//! What the publications say: facts alone, each with its source. The data is `data/published.toml`, a part of the program.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// All of it.
static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
    // A part of the program, which its tests read.
    #[expect(clippy::expect_used, reason = "a constant that the tests parse")]
    toml::from_str(include_str!("../data/published.toml")).expect("the published figures are TOML")
});

/// The published figures.
#[derive(Debug, Deserialize)]
pub struct Published {
    /// By the name that experiments refer to.
    pub sources: BTreeMap<String, Source>,
    /// What was measured.
    pub experiment: Vec<Experiment>,
    /// What was asked, or said without figures.
    pub question: Vec<Question>,
    /// What else the publications say, by source.
    pub facts: BTreeMap<String, toml::Table>,
}

/// A publication.
#[derive(Debug, Deserialize)]
pub struct Source {
    /// With its author and date.
    pub title: String,
    /// What it was measured on.
    pub machine: String,
    /// SQLite's version, where it says so.
    pub sqlite: Option<String>,
}

/// A published experiment.
#[derive(Debug, Deserialize)]
pub struct Experiment {
    /// Short, without spaces.
    pub id: String,
    /// One of [`Published::sources`].
    pub source: String,
    /// What is measured, where its name does not say it all.
    #[serde(default)]
    pub what: Option<String>,
    /// Of the values; rows a second unless it says so.
    #[serde(default)]
    pub unit: Option<String>,
    /// Rows or operations, where it says so.
    #[serde(default)]
    pub scale: Option<u64>,
    /// In the order of the publication.
    pub results: Vec<Figure>,
}

/// A published figure.
#[derive(Debug, Deserialize)]
pub struct Figure {
    /// What was measured.
    pub variant: String,
    /// In the experiment's unit; NaN: it was measured, but not published.
    #[serde(default)]
    pub value: Option<f64>,
    /// Of the way before: the first write, and the same again.
    #[serde(default)]
    pub old: Option<[f64; 2]>,
    /// Of the new way.
    #[serde(default)]
    pub new: Option<[f64; 2]>,
    /// What the publication adds.
    #[serde(default)]
    pub note: Option<String>,
    /// Sizes and rates beside it.
    #[serde(flatten)]
    pub also: BTreeMap<String, f64>,
}

impl Figure {
    /// What the publication says beside its figure: `size_gb 1.32`, `CPU limited`.
    pub fn in_words(&self) -> Option<String> {
        let also = self.also.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " ")));
        let words: Vec<String> = self.note.iter().cloned().chain(also).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// A question that a publication leaves open.
#[derive(Debug, Deserialize)]
pub struct Question {
    /// Short, without spaces.
    pub id: String,
    /// One of [`Published::sources`].
    pub source: String,
    /// What is asked.
    pub what: String,
}

/// The published figures.
pub fn published() -> &'static Published {
    &PUBLISHED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_experiments_and_questions_have_their_sources() {
        let published = published();
        assert_eq!((published.experiment.len(), published.question.len()), (21, 8));
        for (id, source) in published.experiment.iter().map(|one| (&one.id, &one.source)) {
            assert!(published.sources.contains_key(source), "{id}: {source}");
        }
        assert!(published.experiment.iter().all(|one| !one.results.is_empty()));
    }
}
