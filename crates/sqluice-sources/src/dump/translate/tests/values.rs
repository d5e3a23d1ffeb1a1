//! Tests of values that SQLite stores in another form than the dump has.

use proptest::prelude::*;

use crate::dump::{Conversion, Converted, Element};

fn converted(conversion: &Conversion, text: &str) -> (Converted, Vec<u8>) {
    let mut out = Vec::new();
    let kind = conversion.convert(text.as_bytes(), &mut out).unwrap();
    (kind, out)
}

fn json(element: Element, text: &str) -> String {
    let (kind, out) = converted(&Conversion::Array { element, delimiter: b',' }, text);
    assert_eq!(kind, Converted::Text);
    String::from_utf8(out).unwrap()
}

#[test]
fn arrays_of_postgres_become_json() {
    assert_eq!(json(Element::Number, "{1,2,NULL,NaN,1.50}"), "[1,2,null,null,1.50]");
    assert_eq!(
        json(Element::Text, r#"{a,"a b","NULL","c\"d\\",NULL,1}"#),
        r#"["a","a b","NULL","c\"d\\",null,"1"]"#
    );
    assert_eq!(json(Element::Number, "[0:1][1:2]={{1,2},{3,4}}"), "[[1,2],[3,4]]");
    assert_eq!(json(Element::Boolean, "{t,f}"), "[true,false]");
    assert_eq!(json(Element::Json, r#"{"{\"a\": 1}"}"#), r#"[{"a": 1}]"#);
    assert_eq!(json(Element::Text, "{}"), "[]");
}

#[test]
fn malformed_arrays_of_postgres_are_refused() {
    let conversion = Conversion::Array { element: Element::Text, delimiter: b',' };
    for text in ["", "1,2", "{1", "{\"a}", "{a}}", "{a}{b}", "{a\\", "x{1}"] {
        assert!(conversion.convert(text.as_bytes(), &mut Vec::new()).is_err(), "{text}");
    }
}

#[test]
fn timestamps_with_a_zone_are_converted_to_utc() {
    let moment = |text| String::from_utf8(converted(&Conversion::Moment, text).1).unwrap();
    assert_eq!(moment("2024-01-31 13:45:00+01"), "2024-01-31 12:45:00+00:00");
    assert_eq!(moment("2024-01-01 00:15:00.5+05:30"), "2023-12-31 18:45:00.500+00:00");
    assert_eq!(moment("2024-12-31 23:00:00.123456-03"), "2025-01-01 02:00:00.123456+00:00");
    for text in ["infinity", "0044-03-15 00:00:00+00 BC", "12024-01-01 00:00:00+00", "2024-02-30 00:00:00+00"]
    {
        assert_eq!(converted(&Conversion::Moment, text).0, Converted::Unchanged, "{text}");
    }
}

#[test]
fn bytea_is_read_in_the_hexadecimal_and_in_the_escape_format() {
    assert_eq!(converted(&Conversion::Bytea, r"\x00fF"), (Converted::Blob, vec![0, 255]));
    assert_eq!(
        converted(&Conversion::Bytea, r"a\\b\000\377"),
        (Converted::Blob, vec![b'a', b'\\', b'b', 0, 255])
    );
    for text in [r"\x0", r"\xzz", r"\9", r"\"] {
        assert!(Conversion::Bytea.convert(text.as_bytes(), &mut Vec::new()).is_err(), "{text}");
    }
}

#[test]
fn numbers_beyond_sqlites_integers_keep_their_digits() {
    let unsigned = |text| converted(&Conversion::UnsignedBigInt, text);
    assert_eq!(unsigned("9223372036854775807").0, Converted::Integer(i64::MAX));
    assert_eq!(unsigned("18446744073709551615"), (Converted::Text, b"18446744073709551615".to_vec()));
    assert_eq!(converted(&Conversion::Bit, "\u{5}").0, Converted::Integer(5));
    assert_eq!(converted(&Conversion::Boolean, "t").0, Converted::Integer(1));
    assert_eq!(converted(&Conversion::Float, "-Infinity").0, Converted::Real(f64::NEG_INFINITY));
    assert_eq!(converted(&Conversion::Float, "NaN").0, Converted::Null);
}

#[test]
fn dates_in_other_forms_get_the_form_that_servers_write() {
    let stored = |text: &str, time: bool| {
        let (kind, out) = converted(&Conversion::Civil { time }, text);
        if kind == Converted::Unchanged { text.to_owned() } else { String::from_utf8(out).unwrap() }
    };
    for (text, date, moment) in [
        ("2024/1/31", "2024-01-31", "2024-01-31 00:00:00"),
        ("2024-01-31", "2024-01-31", "2024-01-31 00:00:00"),
        ("20240131", "2024-01-31", "2024-01-31 00:00:00"),
        ("2024-01-31 9:05", "2024-01-31", "2024-01-31 09:05:00"),
        ("2024-01-31T13:45:00", "2024-01-31", "2024-01-31 13:45:00"),
        ("2024-01-31 13:45:00.250", "2024-01-31", "2024-01-31 13:45:00.250"),
    ] {
        assert_eq!((stored(text, false), stored(text, true)), (date.to_owned(), moment.to_owned()), "{text}");
    }
    for text in [
        "0000-00-00 00:00:00",
        "infinity",
        "2024-02-30",
        "0044-03-15 BC",
        "31/1/2024",
        "2024-01-31 25:00",
        "soon",
        "",
    ] {
        assert_eq!(stored(text, true), text);
    }
}

#[test]
fn blanks_at_the_end_of_values_of_type_char_are_removed() {
    assert_eq!(converted(&Conversion::Unpadded, "French    "), (Converted::Text, b"French".to_vec()));
    assert_eq!(converted(&Conversion::Unpadded, " a b"), (Converted::Unchanged, Vec::new()));
    assert_eq!(converted(&Conversion::Unpadded, "   "), (Converted::Text, Vec::new()));
}

proptest! {
    #![proptest_config(sqluice_testkit::cases(400))]

    #[test]
    fn every_text_in_an_array_of_postgres_is_read_back_from_the_json(texts in proptest::collection::vec(proptest::option::of(any::<String>()), 1..6)) {
        let elements: Vec<String> = texts.iter().map(|text| match text {
            Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            None => "NULL".to_owned(),
        }).collect();
        let read: Vec<Option<String>> = serde_json::from_str(&json(Element::Text, &format!("{{{}}}", elements.join(",")))).unwrap();
        prop_assert_eq!(read, texts);
    }

    #[test]
    fn no_bytes_make_a_conversion_panic(bytes in any::<Vec<u8>>()) {
        for conversion in [
            Conversion::Bytea, Conversion::Boolean, Conversion::Bit, Conversion::UnsignedBigInt, Conversion::Float, Conversion::Moment,
            Conversion::Array { element: Element::Number, delimiter: b',' },
        ] {
            let _ = conversion.convert(&bytes, &mut Vec::new());
        }
    }
}
