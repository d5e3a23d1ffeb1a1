//! Excerpts of the CSV files of ourairports.com: each loaded value equals what SQLite stores when the field is bound as text.
#![cfg(feature = "load")]

use std::path::{Path, PathBuf};

use crate::support::twin::assert_equals_twin;
use sqluice::schema::Schema;

const DECLARED: &str = "
    CREATE TABLE \"airport-frequencies\" (
        id INTEGER, airport_ref INTEGER, airport_ident TEXT, type VARCHAR(20), description TEXT,
        frequency_mhz REAL);
    CREATE TABLE countries (id INTEGER, code CHAR(2), name TEXT, continent TEXT, wikipedia_link TEXT, keywords BLOB);
    CREATE TABLE navaids (
        id INTEGER, filename TEXT, ident NUMERIC, name TEXT, type TEXT, frequency_khz NUMERIC, latitude_deg REAL,
        longitude_deg DOUBLE, elevation_ft INTEGER, iso_country TEXT, dme_frequency_khz INTEGER, dme_channel NUMERIC,
        dme_latitude_deg NUMERIC, dme_longitude_deg REAL, dme_elevation_ft INT, slaved_variation_deg REAL,
        magnetic_variation_deg NUMERIC, usageType TEXT, power TEXT, associated_airport NUMERIC);
    CREATE TABLE regions (
        id BIGINT, code TEXT, local_code NUMERIC, name TEXT, continent TEXT, iso_country TEXT, wikipedia_link,
        keywords INTEGER);
    CREATE TABLE runways (
        id INT, airport_ref INTEGER, airport_ident NUMERIC, length_ft INTEGER, width_ft REAL, surface TEXT,
        lighted BOOLEAN, closed INTEGER, le_ident NUMERIC, le_latitude_deg REAL, le_longitude_deg REAL,
        le_elevation_ft INTEGER, le_heading_degT REAL, le_displaced_threshold_ft NUMERIC, he_ident INTEGER,
        he_latitude_deg NUMERIC, he_longitude_deg NUMERIC, he_elevation_ft REAL, he_heading_degT DECIMAL(5,2),
        he_displaced_threshold_ft INTEGER);";

fn compare(name: &str, rows: usize) {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/ourairports");
    let file = folder.join(format!("{name}.csv"));
    let declared = Schema::parse(DECLARED.to_owned(), Path::new("declared.sql")).unwrap();
    for schema in [None, Some(&declared)] {
        assert_equals_twin(&file, rows, schema);
    }
}

#[test]
fn airport_frequencies_are_stored_as_sqlite_stores_them() {
    compare("airport-frequencies", 2228);
}

#[test]
fn countries_are_stored_as_sqlite_stores_them() {
    compare("countries", 249);
}

#[test]
fn navaids_are_stored_as_sqlite_stores_them() {
    compare("navaids", 562);
}

#[test]
fn regions_are_stored_as_sqlite_stores_them() {
    compare("regions", 503);
}

#[test]
fn runways_are_stored_as_sqlite_stores_them() {
    compare("runways", 1064);
}
