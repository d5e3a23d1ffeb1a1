//! Schemas that come with the program, as the files they could be.

use std::path::Path;

use crate::error::{Error, Result};
use crate::schema::Schema;

/// Names and texts of all presets.
pub const PRESETS: &[(&str, &str)] = &[("user", include_str!("preset/user.sql"))];

/// The schema of the preset `name`; messages call its file `preset:name`.
///
/// # Errors
/// When there is none of that name.
pub fn preset(name: &str) -> Result<Schema> {
    match PRESETS.iter().find(|(known, _)| *known == name) {
        Some((known, sql)) => Schema::parse((*sql).to_owned(), Path::new(&format!("preset:{known}"))),
        None => {
            let names = PRESETS.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", ");
            Err(Error::usage(format!("no preset is called `{name}`")).hint(format!("there are: {names}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::r#gen::Spec;

    #[test]
    fn every_preset_is_a_schema_with_a_spec() {
        for (name, _) in PRESETS {
            Spec::new(&preset(name).unwrap()).unwrap();
        }
    }

    #[test]
    fn an_unknown_preset_is_told_which_there_are() {
        let error = preset("users").unwrap_err();
        assert_eq!(error.to_string(), "no preset is called `users`");
        assert_eq!(error.hint_text(), Some("there are: user"));
    }
}
