//! Replaces flags that other tools have, such as `--sep`, by the flags of `sqluice` with the same effect.

use std::ffi::OsString;

use super::words::Words;

/// The replacement for a flag of another tool.
#[derive(Clone, Copy)]
enum Instead {
    /// The flag with this name; a value of the old flag stays.
    Flag(&'static str),
    /// These words. A value of the old flag after `=` is dropped.
    Words(&'static [&'static str]),
    /// Nothing: the flag is dropped, but not the word after it.
    Nothing,
    /// Nothing: the flag and its value are dropped, even if the value is the next word.
    NothingOfTwo,
}

use Instead::{Flag, Nothing, NothingOfTwo};

/// The flags of other tools, with their replacements.
const OF_OTHERS: &[(&[&str], Instead)] = &[
    (&["sep", "separator", "delim", "field-separator", "fs", "csv-delimiter"], Flag("delimiter")),
    (&["pk", "primary", "pkey", "id-column"], Flag("primary-key")),
    (&["quotechar", "quote-char", "quote-character"], Flag("quote")),
    (&["escapechar", "escape-char"], Flag("escape")),
    (&["no-headers", "noheader", "noheaders", "no-header-row", "headerless"], Flag("no-header")),
    (&["headers", "has-header", "has-headers", "with-header", "header-row"], Flag("header")),
    (&["skip", "skiprows", "skip-rows", "skip-header", "skip-first"], Flag("skip-lines")),
    (&["nullstr", "null-value", "null-values", "null-string", "na", "na-values", "nulls"], Flag("null")),
    (&["table-name", "tablename", "into", "tbl"], Flag("table")),
    (&["tables"], Flag("table")),
    (&["alter", "add-missing-columns"], Flag("add-columns")),
    (&["truncate", "drop-table"], Flag("replace-table")),
    // In other tools, `--replace` replaces rows with the same key, not the table. So these words mean a flag about keys here.
    (&["replace", "or-replace", "insert-or-replace"], Instead::Words(&["--on-conflict", "replace"])),
    (&["ignore", "or-ignore", "insert-or-ignore"], Instead::Words(&["--on-conflict", "ignore"])),
    (&["memory-limit", "mem", "max-memory"], Flag("memory")),
    (&["jobs", "workers", "parallel", "cores", "cpus"], Flag("threads")),
    (&["temp", "tmp", "tmp-dir", "tmpdir", "temp-directory"], Flag("temp-dir")),
    (&["nrows", "head", "max-rows", "n-rows", "row-limit"], Flag("limit")),
    (&["rows", "count", "num", "num-rows", "number"], Flag("rows")),
    (&["create-index", "idx", "indices"], Flag("index")),
    (&["input-format", "file-format", "output-format"], Flag("format")),
    (&["charset", "codec"], Flag("encoding")),
    (&["output", "out", "dest", "destination", "outfile", "output-file"], Flag("to")),
    (&["sql"], Flag("query")),
    (&["select", "cols", "fields"], Flag("columns")),
    (&["silent"], Flag("quiet")),
    (&["debug"], Flag("verbose")),
    (&["dryrun", "simulate", "plan"], Flag("dry-run")),
    (&["assume-yes", "yes-to-all"], Flag("yes")),
    (&["deep", "thorough"], Flag("full")),
    (&["no-color", "no-colour"], Instead::Words(&["--color", "never"])),
    (&["tsv", "tabs"], Instead::Words(&["--format", "tsv"])),
    (&["nl", "ndjson", "jsonl", "json-lines", "jsonlines"], Instead::Words(&["--format", "ndjson"])),
    (&["csv"], Instead::Words(&["--format", "csv"])),
    (&["parquet"], Instead::Words(&["--format", "parquet"])),
    (&["detect-types", "auto-types", "infer-types", "guess-types", "create", "create-table"], Nothing),
    (&["progress"], Nothing),
    (&["batch-size", "chunksize", "chunk-size", "batch", "commit-every", "transaction-size"], NothingOfTwo),
];

/// Returns the words with the unknown flag replaced by one with the same effect, or by `similar`, a flag of the command with a similar
/// name; `None` if neither is known.
pub(super) fn corrected(words: &Words, unknown: &str, similar: Option<&str>) -> Option<Words> {
    let at = words.flag(unknown)?;
    let text = words.0[at].to_string_lossy().into_owned();
    let value = text.split_once('=').map(|(_, value)| value.to_owned());
    let name = unknown.trim_start_matches('-').to_ascii_lowercase().replace('_', "-");
    let given = value.clone().or_else(|| words.0.get(at + 1).map(|next| next.to_string_lossy().into_owned()));
    let with = |place: Vec<OsString>, words_of_flag: usize| {
        let mut words = words.clone();
        let end = (at + words_of_flag).min(words.0.len());
        words.0.splice(at..end, place);
        Some(words)
    };
    let renamed = |flag: &str| {
        let value = value.as_deref().map_or(String::new(), |value| format!("={value}"));
        with(vec![format!("--{flag}{value}").into()], 1)
    };
    let both = if value.is_some() { 1 } else { 2 };
    if matches!(&*name, "if-exists" | "mode") {
        return match given?.to_ascii_lowercase().as_str() {
            "append" => with(vec!["--append".into()], both),
            "replace" | "truncate" => with(vec!["--replace-table".into()], both),
            "fail" => with(Vec::new(), both),
            _ => None,
        };
    }
    let of_others = OF_OTHERS.iter().find(|(names, _)| names.contains(&&*name)).map(|(_, instead)| *instead);
    match of_others {
        Some(Flag(flag)) => renamed(flag),
        Some(Instead::Words(words)) => with(words.iter().map(OsString::from).collect(), 1),
        Some(Nothing) => with(Vec::new(), 1),
        Some(NothingOfTwo) => with(Vec::new(), both),
        // The word is a misspelled flag of this command, such as `--Table` or `--skip_lines`.
        None => renamed(
            similar.map(|similar| similar.trim_start_matches('-')).filter(|similar| *similar != "help")?,
        ),
    }
}
