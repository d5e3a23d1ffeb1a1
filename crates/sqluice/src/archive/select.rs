//! Selects names by patterns: `--include` and `--exclude`.
//!
//! A pattern without `/` is compared with each component of a name. A pattern with `/` is compared with the name and each of its parent
//! folders: so a pattern that matches a folder matches its whole content. `./` at the start of a pattern and `/` at its end are ignored.
//! `*` and `?` do not match `/`; `**` matches any number of folders.
//! Bytes of a name that are not UTF-8 are U+FFFD to patterns.

use glob::{MatchOptions, Pattern};

use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::given::{TakesSettings, Value};

/// A selection of names; by default all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    include: Vec<Glob>,
    exclude: Vec<Glob>,
}

#[derive(Clone, Debug)]
struct Glob {
    pattern: Pattern,
    /// `true` if the pattern has a `/`: it is then compared with whole names, not with single components.
    whole: bool,
}

const OPTIONS: MatchOptions = MatchOptions {
    case_sensitive: true,
    require_literal_separator: true,
    require_literal_leading_dot: false,
};

impl Selection {
    /// Creates a selection of the names that match a pattern of `include`, or of all names if `include` is empty, except the names that
    /// match a pattern of `exclude`.
    ///
    /// # Errors
    /// If a pattern is malformed.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Selection> {
        Ok(Selection {
            include: globs(Setting::Include, include)?,
            exclude: globs(Setting::Exclude, exclude)?,
        })
    }

    /// Returns `true` if a name, or a folder that contains it, is excluded.
    pub(crate) fn excludes(&self, name: &[u8]) -> bool {
        !self.exclude.is_empty() && any(&self.exclude, name)
    }

    /// Returns `true` if a name, or a folder that contains it, is included.
    pub(crate) fn includes(&self, name: &[u8]) -> bool {
        self.include.is_empty() || any(&self.include, name)
    }

    /// Returns `true` if a name is included and not excluded.
    pub(crate) fn takes(&self, name: &[u8]) -> bool {
        !self.excludes(name) && self.includes(name)
    }

    /// Returns `true` if the selection has include patterns.
    pub(crate) fn has_includes(&self) -> bool {
        !self.include.is_empty()
    }
}

impl TakesSettings for Selection {
    fn set(&mut self, setting: Setting, value: &Value) -> Result<bool> {
        match setting {
            Setting::Include => self.include = globs(setting, &value.to::<Vec<_>>()?)?,
            Setting::Exclude => self.exclude = globs(setting, &value.to::<Vec<_>>()?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn globs(flag: Setting, patterns: &[String]) -> Result<Vec<Glob>> {
    patterns.iter().map(|pattern| Glob::new(flag, pattern)).collect()
}

fn any(globs: &[Glob], name: &[u8]) -> bool {
    let name = String::from_utf8_lossy(name);
    globs.iter().any(|glob| glob.matches(&name))
}

impl Glob {
    fn new(flag: Setting, text: &str) -> Result<Glob> {
        let trimmed = text.strip_prefix("./").unwrap_or(text).trim_end_matches('/');
        let refused = |why: &str| {
            Error::usage(message![flag, format!(" {text:?} matches no name: {why}")])
                .hint("a pattern is, for example, 'build', '*.o' or 'docs/**/*.html'")
        };
        if text.starts_with('/') {
            return Err(refused("names in an archive do not begin with /"));
        }
        if trimmed.is_empty() {
            return Err(refused("it is empty"));
        }
        let pattern = Pattern::new(trimmed).map_err(|error| {
            Error::usage(message![
                flag,
                format!(" {text:?} is not a pattern: {} at character {}", error.msg, error.pos + 1)
            ])
            .hint("[ and * and ? stand for themselves between brackets: [[]")
        })?;
        Ok(Glob { pattern, whole: trimmed.contains('/') })
    }

    fn matches(&self, name: &str) -> bool {
        let ends = || name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
        match self.whole {
            true => ends().any(|end| self.pattern.matches_with(&name[..end], OPTIONS)),
            false => name.split('/').any(|component| self.pattern.matches_with(component, OPTIONS)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(include: &[&str], exclude: &[&str], name: &str) -> bool {
        let owned =
            |patterns: &[&str]| patterns.iter().map(|&pattern| pattern.to_owned()).collect::<Vec<_>>();
        Selection::new(&owned(include), &owned(exclude)).unwrap().takes(name.as_bytes())
    }

    #[test]
    fn a_pattern_without_a_slash_matches_any_part_of_a_path_and_all_entries_below() {
        for name in ["a.o", "x/a.o", "x/a.o/y"] {
            assert!(!takes(&[], &["*.o"], name), "{name}");
        }
        assert!(takes(&[], &["*.o"], "a.om") && takes(&[], &["*.o"], "x.o.d/y"));
        assert!(!takes(&[], &["target/"], "x/target/y"));
    }

    #[test]
    fn a_pattern_with_a_slash_matches_from_the_start_of_the_path() {
        assert!(!takes(&[], &["x/*.o"], "x/a.o") && takes(&[], &["x/*.o"], "y/x/a.o"));
        assert!(takes(&[], &["x/*.o"], "x/y/a.o") && !takes(&[], &["x/**/*.o"], "x/y/a.o"));
        assert!(!takes(&[], &["x/y"], "x/y/z") && takes(&[], &["x/y"], "x/yz"));
    }

    #[test]
    fn braces_and_backslashes_in_a_pattern_stand_for_themselves() {
        for name in ["{a,b}.c", "a\\b.c"] {
            assert!(takes(&[name], &[], name), "{name}");
        }
        assert!(!takes(&["{a,b}.c"], &[], "a.c") && !takes(&["a\\b.c"], &[], "ab.c"));
    }

    #[test]
    fn a_name_that_is_included_and_excluded_is_left_out() {
        assert!(takes(&["*.rs"], &["gen"], "src/a.rs") && !takes(&["*.rs"], &["gen"], "src/gen/a.rs"));
        assert!(!takes(&["*.rs"], &[], "src/a.c") && takes(&["src"], &[], "src/a.c"));
    }

    #[test]
    fn an_invalid_pattern_is_refused() {
        for pattern in ["[", "", "/etc", "a**b"] {
            assert!(Selection::new(&[], &[pattern.to_owned()]).is_err(), "{pattern:?}");
        }
    }
}
