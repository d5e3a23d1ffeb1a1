//! All experiments and questions of the lab. Each is a table of variants; the modules `insert`, `kv` and `table` implement them.

mod billion;
mod blobs;
mod entities;
mod inserts;
mod integers;
mod keys;
mod pragmas;
mod questions;
mod strings;
mod user;

use crate::case::Experiment;
use crate::scale::Scale;

/// Returns all experiments and questions, in the order of `data/published.toml`.
pub(crate) fn all(scale: Scale) -> Vec<Experiment> {
    let all = [
        inserts::all(scale),
        integers::all(scale),
        keys::all(scale),
        strings::all(scale),
        user::all(scale),
        billion::all(scale),
        blobs::all(scale),
        entities::all(scale),
        pragmas::all(scale),
        questions::all(scale),
    ];
    all.into_iter().flatten().collect()
}
