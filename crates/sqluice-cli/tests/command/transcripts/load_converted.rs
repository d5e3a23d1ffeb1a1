//! Transcripts of `load` with columns that flags convert: dates, booleans, decimal commas, and separators of thousands.

use std::path::Path;

use crate::support::run;
use crate::transcript::{Transcript, sqluice};

const CSV: &str = "placed;paid;price;units\n31.01.2024;ja;1.234,50;1'000\n1.2.2024;Nein;3,5;2\n;;;\n";

const FLAGS: &str = "--date placed=%d.%m.%Y --boolean paid=ja/nein --decimal-comma price --thousands price=. --thousands 'units=`'";

/// Returns a load of `t.csv` with this content.
fn load(flags: &str, content: &str) -> Transcript {
    sqluice(&format!("load x.db t.csv {flags}")).file("t.csv", content)
}

#[test]
fn flags_convert_dates_booleans_and_numbers() {
    let csv = CSV.replace('\'', "`");
    load(&format!("{FLAGS} --keep-empty-rows"), &csv)
        .succeeds()
        .says(
            "Loaded 3 rows into x.db: [..]\n\
             t: placed TEXT (date %d.%m.%Y), paid INTEGER (boolean ja/nein), and 2 more",
        )
        .holds(
            "SELECT placed, paid, price, units FROM t",
            "'2024-01-31'|1|1234.5|1000\n'2024-02-01'|0|3.5|2\nNULL|NULL|NULL|NULL",
        );
    let dry = load(&format!("{FLAGS} --dry-run"), &csv).succeeds();
    let plan = &dry.ran.stdout;
    for line in [
        "--   column placed: date %d.%m.%Y\n",
        "--   column price: number with a decimal comma and \".\" between thousands\n",
    ] {
        assert!(plan.contains(line), "{plan}");
    }
    let report = load(&format!("{FLAGS} --json"), &csv).succeeds();
    let report: serde_json::Value = serde_json::from_str(&report.ran.stdout).unwrap();
    let columns = &report["tables"][0]["columns"];
    assert_eq!(columns[0]["conversion"], "date %d.%m.%Y");
    assert_eq!(columns[3]["conversion"], "number with \"`\" between thousands");
}

#[test]
fn a_value_that_does_not_match_its_conversion_is_a_bad_row() {
    load("--date d=%d.%m.%Y", "n;d\n1;29.02.2023\n").fails(
        1,
        "error: t.csv:2:3: '29.02.2023' in column d is not a date of the format %d.%m.%Y: that month has no such day",
    );
    load("--boolean b --reject bad.csv --max-rejects 1", "n,b\n1,on\n2,perhaps\n")
        .succeeds()
        .holds("SELECT n, b FROM t", "1|1")
        .file_is(
            "bad.csv",
            "file,line,column,reason,record\n\
             t.csv,3,3,\"'perhaps' in column b is not a boolean (true/false, t/f, yes/no, y/n, on/off or 1/0)\",\"2,perhaps\"\n",
        );
    load("--decimal-comma x", "n;x\n1;0,1234567890123456789\n").fails(
        1,
        "error: t.csv:2:3: '0,1234567890123456789' in column x has more digits than a float holds\n\n\
         hint: to round such numbers: --lossy",
    );
    load("--decimal-comma x --thousands x=.", "n;x\n1;1.23\n").fails(
        1,
        "error: t.csv:2:3: '1.23' in column x does not have three digits after each separator of thousands",
    );
}

#[test]
fn invalid_conversions_are_refused_before_anything_is_read() {
    let csv = "placed,b\n1,2\n";
    load("--date placed=%d.%m.%Q", csv).fails(
        2,
        "error: --date placed=%d.%m.%Q: \"%Q\" is not a directive that is known\n\n\
         hint: directives are %Y year, %y year of two digits[..]",
    );
    load("--date plced=%F", csv).fails(
        2,
        "error: --date names the column \"plced\", which no file has\n\n\
         hint: did you mean placed? the columns are: placed, b",
    );
    load("--date b=%F --decimal-comma b", csv).fails(
        2,
        "error: column \"b\" can't follow both --date and --decimal-comma\n\nhint: leave one of the two out",
    );
    load("--thousands b=.", csv).fails(
        2,
        "error: --thousands of column b: the point stands before the decimals, so it can't separate thousands, unless the column has a decimal comma",
    );
    for (flags, form) in [
        ("--date placed", "COLUMN=FORMAT, such as placed=%d.%m.%Y"),
        ("--boolean b=ja", "COLUMN or COLUMN=TRUE/FALSE, such as paid=ja/nein"),
        ("--thousands b", "COLUMN=CHAR, such as price=,"),
    ] {
        let (flag, value) = flags.split_once(' ').unwrap();
        load(flags, csv).fails(
            2,
            &format!(
                "error: invalid value '{value}' for '{flag} [..]': {value:?} is not {form}\n\nFor more information, try '--help'."
            ),
        );
    }
    sqluice("load x.db t.ndjson --decimal-comma a").file("t.ndjson", "{\"a\": \"3,5\"}\n").fails(
        2,
        "error: --decimal-comma is for formats that write numbers as text, and t.ndjson (NDJSON) has a type for numbers\n\n\
         hint: leave out --decimal-comma",
    );
}

#[test]
fn the_help_of_load_lists_the_directives_of_date_formats() {
    let help = run(Path::new("/"), ["load", "--help"]).ok().stdout;
    let words: Vec<&str> = help.split_whitespace().collect();
    let directives: Vec<&str> = sqluice::convert::DIRECTIVES.split_whitespace().collect();
    assert!(words.windows(directives.len()).any(|part| part == directives), "{help}");
}
