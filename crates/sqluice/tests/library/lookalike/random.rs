//! Look-alikes of random databases have the statistics of their originals.

use super::compare::Pair;
use super::schemas::make;
use crate::support::Random;
use crate::support::files::Home;
use sqluice_testkit::effort::tries;

#[test]
fn databases_made_from_profiles_of_random_databases_have_their_statistics() {
    let mut all = Vec::new();
    for seed in 0..tries(12, 160, 3000) {
        let home = Home::new();
        let connection = rusqlite::Connection::open(home.path("original.db")).unwrap();
        make(&connection, &mut Random(seed), |_, _| None);
        drop(connection);
        let differences = Pair::of(home).differences();
        all.extend(differences.into_iter().map(|difference| format!("seed {seed}: {difference}")));
    }
    assert!(all.is_empty(), "{} differences: {:#?}", all.len(), &all[..all.len().min(60)]);
}
