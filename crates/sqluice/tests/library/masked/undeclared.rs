//! Columns that refer to masked keys without REFERENCES get the masked values of these keys, or the copy is refused.

use super::{Lab, count, masking};

const SOURCE: &str = "CREATE TABLE places (id INTEGER PRIMARY KEY, title TEXT);
    CREATE TABLE books (isbn TEXT PRIMARY KEY, title TEXT);
    CREATE TABLE visits (id INTEGER PRIMARY KEY, place_id INT, from_visit INT, book TEXT, day TEXT);
    WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO places SELECT i, 't' || i FROM n;
    INSERT INTO books SELECT 'isbn-' || (1000 + id), title FROM places;
    INSERT INTO visits SELECT id * 2, 301 - id, CASE WHEN id > 1 THEN id * 2 - 2 END, 'isbn-' || (1000 + id), '2020' FROM places;";

const PLACES: &str = "CREATE TABLE places (id /* gen: permute() */)";

#[test]
fn a_column_that_seems_to_refer_to_a_masked_key_must_be_declared_a_reference_or_none() {
    let lab = Lab::new(SOURCE);
    for (masks, seen, hint) in [
        (
            PLACES,
            "visits.place_id (300 of 300 values are keys of places)",
            "say for each column if it is a reference: `reference = visits.place_id=places.id` or `no_reference = visits.place_id`",
        ),
        (
            "CREATE TABLE books (isbn /* gen: shape() */)",
            "visits.book (300 of 300 values are keys of books)",
            "say for each column if it is a reference: `reference = visits.book=books.isbn` or `no_reference = visits.book`",
        ),
        (
            "CREATE TABLE visits (id /* gen: permute() */)",
            "visits.from_visit (299 of 299 values are keys of visits)",
            "say for each column if it is a reference: `reference = visits.from_visit=visits.id` or `no_reference = visits.from_visit`",
        ),
    ] {
        for strict in [false, true] {
            let error = lab.copy(masking(masks).strict(strict)).run().unwrap_err();
            let message =
                "columns seem to refer to masked keys without REFERENCES, and would refer to nothing: "
                    .to_owned();
            assert_eq!(error.message(), message + seen);
            assert_eq!(error.hint_text().unwrap(), hint);
            assert!(!lab.path("copy.db").exists());
        }
    }
}

#[test]
fn a_column_given_as_a_reference_gets_the_masked_values_of_its_key() {
    let lab = Lab::new(SOURCE);
    let masks = "CREATE TABLE places (id /* gen: permute() */); CREATE TABLE books (isbn /* gen: shape() */);
        CREATE TABLE visits (id /* gen: permute() */)";
    let references = ["visits.place_id=places.id", "visits.book=books", "\"visits\".from_visit=visits.id"];
    let report = lab.copy(masking(masks).references(references)).run().unwrap();
    lab.assert_sound();
    let mask = report.mask.unwrap();
    let follows: Vec<_> = mask.columns.iter().filter_map(|column| column.follows.as_deref()).collect();
    assert_eq!(follows, ["places.id", "visits.id", "books.isbn"]);
    let new = lab.new_one();
    assert_eq!(
        count(
            &new,
            "SELECT count(*) FROM visits JOIN places ON places.id = place_id JOIN books ON isbn = book"
        ),
        300
    );
    assert_eq!(count(&new, "SELECT count(*) FROM visits AS a JOIN visits AS b ON b.id = a.from_visit"), 299);
    assert_eq!(count(&new, "SELECT count(*) FROM visits WHERE place_id <= 300"), 0);
}

#[test]
fn a_column_declared_to_be_no_reference_or_marked_to_keep_stays_unchanged() {
    let lab = Lab::new(SOURCE);
    let sum = "SELECT sum(place_id * id) FROM visits";
    let old = count(&lab.old(), sum);
    lab.copy(masking(PLACES).no_references(["visits.place_id"])).run().unwrap();
    assert_eq!(count(&lab.new_one(), sum), old);
    std::fs::remove_file(lab.path("copy.db")).unwrap();
    lab.mask(&format!("{PLACES}; CREATE TABLE visits (place_id /* gen: keep() */)"));
    assert_eq!(count(&lab.new_one(), sum), old);
    std::fs::remove_file(lab.path("copy.db")).unwrap();
    // A table that is left out has no references.
    lab.copy(masking(PLACES)).exclude_tables(["visits"]).run().unwrap();
}

#[test]
fn wrong_references_to_masked_keys_are_refused() {
    let lab = Lab::new(&format!("{SOURCE} CREATE TABLE notes (place INT REFERENCES places);"));
    let run = |references: &[&str], others: &[&str]| {
        let masking = masking(PLACES).references(references.iter().copied());
        lab.copy(masking.no_references(others.iter().copied())).run().unwrap_err().message()
    };
    assert_eq!(run(&["visits.place_id"], &[]), "visits.place_id is not a reference");
    assert_eq!(run(&["visits.place=places.id"], &[]), "no table has a column visits.place");
    assert_eq!(
        run(&["visits.place_id=places.title"], &[]),
        "visits.place_id=places.title does not refer to a key of table places"
    );
    assert_eq!(
        run(&["visits.place_id=places.id"], &["visits.place_id"]),
        "visits.place_id is given as a reference, too"
    );
    assert_eq!(run(&[], &["notes.place"]), "notes.place is declared as a reference");
}
