//! The figures of five write-ups on fast inserts into SQLite ("publications"), which the lab measures again. The data is
//! `data/published.toml`, which is compiled into the program.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// The parsed file `data/published.toml`.
static PUBLISHED: LazyLock<Published> = LazyLock::new(|| {
    // This can't fail: the file is compiled in, and tests parse it.
    #[expect(clippy::expect_used, reason = "a constant that the tests parse")]
    toml::from_str(include_str!("../data/published.toml")).expect("the published figures are TOML")
});

/// The content of `data/published.toml`.
#[derive(Debug, Deserialize)]
pub struct Published {
    /// The publications by the names that experiments refer to.
    pub sources: BTreeMap<String, Source>,
    /// The published experiments.
    pub experiment: Vec<Experiment>,
    /// Questions that the publications ask, or answer without figures.
    pub question: Vec<Question>,
    /// Statements and figures of the publications that belong to no experiment, by source.
    pub facts: BTreeMap<String, toml::Table>,
}

/// A publication: one of the five write-ups.
#[derive(Debug, Deserialize)]
pub struct Source {
    /// The title, with author and date.
    pub title: String,
    /// The machine of the measurements.
    pub machine: String,
    /// SQLite's version, if the publication states it.
    pub sqlite: Option<String>,
}

/// A published experiment.
#[derive(Debug, Deserialize)]
pub struct Experiment {
    /// The id, a short word.
    pub id: String,
    /// A key of [`Published::sources`].
    pub source: String,
    /// A description, if the id does not suffice.
    #[serde(default)]
    pub what: Option<String>,
    /// The unit of the values; `None`: rows per second.
    #[serde(default)]
    pub unit: Option<String>,
    /// The number of rows or operations, if the publication states it.
    #[serde(default)]
    pub scale: Option<u64>,
    /// The figures, in the order of the publication.
    pub results: Vec<Figure>,
}

/// A published figure.
#[derive(Debug, Deserialize)]
pub struct Figure {
    /// The name of the variant.
    pub variant: String,
    /// The value in the experiment's unit; NaN if the publication measured the variant but gives no figure. `None` if `old` and `new` have
    /// the figures.
    #[serde(default)]
    pub value: Option<f64>,
    /// The times of the old method, in the experiment's unit: the first write, and the same write again.
    #[serde(default)]
    pub old: Option<[f64; 2]>,
    /// The times of the new method, as in `old`.
    #[serde(default)]
    pub new: Option<[f64; 2]>,
    /// A remark of the publication; `None` without one.
    #[serde(default)]
    pub note: Option<String>,
    /// Additional published figures, such as `size_gb`.
    #[serde(flatten)]
    pub also: BTreeMap<String, f64>,
}

impl Figure {
    /// Formats the remark and the additional figures: `CPU limited, size gb 1.32`. Returns `None` if there are none.
    pub fn in_words(&self) -> Option<String> {
        let also = self.also.iter().map(|(name, value)| format!("{} {value}", name.replace('_', " ")));
        let words: Vec<String> = self.note.iter().cloned().chain(also).collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// A question that a publication leaves open.
#[derive(Debug, Deserialize)]
pub struct Question {
    /// The id, a short word.
    pub id: String,
    /// A key of [`Published::sources`].
    pub source: String,
    /// The question.
    pub what: String,
}

/// Returns the published figures.
pub fn published() -> &'static Published {
    &PUBLISHED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_experiment_and_question_names_a_listed_source() {
        let published = published();
        assert_eq!((published.experiment.len(), published.question.len()), (21, 8));
        for (id, source) in published.experiment.iter().map(|one| (&one.id, &one.source)) {
            assert!(published.sources.contains_key(source), "{id}: {source}");
        }
        assert!(published.experiment.iter().all(|one| !one.results.is_empty()));
    }
}
