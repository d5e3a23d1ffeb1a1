//! Without the key, old values tell nothing about new ones.

use std::collections::HashSet;

use super::{Lab, count, masking_with, texts};
use sqluice::copy::{MaskKey, read_key};

const MASKS: &str = "CREATE TABLE people (id, -- gen: permute()
  name,  -- gen: name()
  mail,  -- gen: email()
  phone, -- gen: shape()
  born,  -- gen: shift(365, id)
  owed   -- gen: noise(0.5)
)";

fn people() -> Lab {
    Lab::new(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, mail TEXT UNIQUE, phone TEXT, born TEXT, owed INT);
         WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
         INSERT INTO people SELECT i, 'Person ' || i, 'p' || i || '@mail.com', printf('+49-%09d', i * 48271 % 999999937),
           date('1950-01-01', i * 7 || ' days'), 1000 + i FROM n;",
    )
}

#[test]
fn masking_the_original_values_with_a_guessed_key_finds_no_masked_values() {
    let lab = people();
    lab.mask(MASKS);
    // An attacker has the program and all old values, and guesses the key.
    for guess in ["0000000000000000", "the key of the testt", "The key of the tests", "the key of the tests "]
    {
        let mut copy = lab.copy(masking_with(MASKS, guess));
        copy.target = lab.path("guess.db");
        copy.write.overwrite = true;
        copy.run().unwrap();
        let (real, guessed) = (lab.new_one(), rusqlite::Connection::open(lab.path("guess.db")).unwrap());
        for column in ["id", "mail", "phone"] {
            let sql = format!("SELECT {column} FROM people");
            let real: HashSet<String> = texts(&real, &sql).into_iter().collect();
            let found = texts(&guessed, &sql).iter().filter(|value| real.contains(*value)).count();
            assert!(found <= 2, "{found} values of {column} are found with {guess}");
        }
    }
}

#[test]
fn masked_values_are_no_original_values_and_do_not_keep_their_order() {
    let lab = people();
    lab.mask(MASKS);
    let new = lab.new_one();
    new.execute("ATTACH ?1 AS old", [lab.source.to_str().unwrap()]).unwrap();
    for column in ["id", "name", "mail"] {
        let both = format!("SELECT count(*) FROM people WHERE {column} IN (SELECT {column} FROM old.people)");
        assert_eq!(count(&new, &both), 0, "{column}");
    }
    // Masked numbers of nine digits have nine digits, so a few of them equal old numbers by chance.
    assert!(count(&new, "SELECT count(*) FROM people WHERE phone IN (SELECT phone FROM old.people)") < 3);
    let near = "SELECT count(*) FROM (SELECT id - lag(id) OVER (ORDER BY owed) AS step FROM people) WHERE abs(step) < 1000";
    assert!(count(&new, near) < 5);
}

#[test]
fn a_random_mask_key_gives_other_values_each_time_and_a_key_file_the_same_values() {
    let lab = people();
    let file = lab.path("key");
    std::fs::write(&file, [7; 32]).unwrap();
    let key = |random: bool| if random { MaskKey::random().unwrap() } else { read_key(&file).unwrap() };
    let mails = |random: bool, name: &str| {
        let mut copy = lab.copy(masking_with(MASKS, "sixteen bytes and more").key(key(random)));
        copy.target = lab.path(name);
        let report = copy.run().unwrap();
        assert_eq!(report.mask.unwrap().random_key, random);
        texts(&rusqlite::Connection::open(&copy.target).unwrap(), "SELECT mail FROM people")
    };
    assert_eq!(mails(false, "a.db"), mails(false, "b.db"));
    assert_ne!(mails(true, "c.db"), mails(true, "d.db"));
    std::fs::write(&file, "short").unwrap();
    let error = read_key(&file).unwrap_err();
    assert!(error.message().contains("is too short") && !error.message().contains("short ("), "{error}");
}
