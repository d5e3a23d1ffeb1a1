//! Tests of `bench/databases recover`: it runs with few rows, and fails if a recovery loses rows.

use crate::comparison::Comparison;
use crate::support::sqluice;

/// Returns the comparison with flags for few rows.
fn recover() -> Comparison {
    Comparison::new("databases", &["recover", "--rows", "20000", "--pages", "7", "--rounds", "1"])
}

#[test]
fn a_shell_without_dot_recover_is_left_out_and_every_sound_row_is_saved() {
    let without = r#"case "$*" in *--version*) echo 3.40.1;; *) exit 1;; esac"#;
    let parts = &["left out: `.recover`", "| `sqluice recover`, durable |", "`recover` of the sound file"];
    let record = recover().with_stand_in("sqlite3", without).assert_says(sqluice(), &[], parts);
    assert_eq!(record["rounds"][0].as_object().unwrap().len(), 3);
    let input = &record["input"];
    let left = input["rows_on_sound_pages"].as_u64().unwrap();
    assert!(left > 10_000 && left < 20_000, "{input}");
}

#[test]
fn a_recovery_that_loses_rows_fails_the_benchmark() {
    // Beyond the damaged pages, the script zeros another page of the damaged file.
    let loses = r#"case "$1 $2" in "recover "*damaged.db) dd if=/dev/zero of="$2" bs=4096 seek=5 count=1 conv=notrunc 2> /dev/null;; esac
        exec "$SQLUICE" "$@""#;
    let comparison = recover();
    comparison.assert_fails(&comparison.script(loses), &[], "rows instead of");
}
