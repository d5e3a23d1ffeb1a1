//! Takes any text, without its control characters, as the `gen:` comment of a column. The comment is refused, or its rows can't be made, or
//! rows 6 to 8 that are made alone equal rows 6 to 8 of nine rows.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sqluice_generator::Spec;
use sqluice_generator::preview::preview;

fuzz_target!(|text: &str| {
    let line: String = text.chars().filter(|c| !c.is_control()).collect();
    let sql = format!("CREATE TABLE t (id INTEGER PRIMARY KEY, x, -- gen: {line}\n y TEXT)");
    let Ok(schema) = sqluice::schema::Schema::parse(sql, "t.sql".as_ref()) else { return };
    let Ok(spec) = Spec::new(&schema) else { return };
    let rows_from = |first: u64, count: u64| preview(&schema, &spec, 1, &[9], &[first], &[count]);
    let (Ok(all), Ok(last)) = (rows_from(0, 9), rows_from(6, 3)) else { return };
    if let ([all], [last]) = (&all[..], &last[..]) {
        assert_eq!(format!("{:?}", &all.rows[6..]), format!("{:?}", last.rows), "{line}");
    }
});
