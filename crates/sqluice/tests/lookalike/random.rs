//! Look-alikes of random databases.

use super::compare::Pair;
use super::schemas::make;
use crate::support::Random;
use crate::support::files::Home;

/// Databases that are tried; `make soak` asks for more.
fn databases() -> u64 {
    std::env::var("SQLUICE_LOOKALIKES").ok().and_then(|count| count.parse().ok()).unwrap_or(300)
}

#[test]
fn random_databases_have_look_alikes() {
    for seed in 0..databases() {
        let home = Home::new();
        let connection = rusqlite::Connection::open(home.path("original.db")).unwrap();
        make(&connection, &mut Random(seed), |_, _| None);
        drop(connection);
        println!("seed {seed}");
        Pair::of(home).compare();
    }
}
