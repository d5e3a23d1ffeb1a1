//! The order of keys: the fast comparison, a slow, simple comparison and SQLite's ORDER BY agree.

use std::cmp::Ordering;

use crate::support::values::Owned;
use crate::support::{cases, slow_key};
use proptest::prelude::*;
use rusqlite::types::ToSqlOutput;
use rusqlite::{Connection, ToSql, types};
use sqluice_format::key::{Collation, DECODED_ROOM, KeyColumn, KeyOrder};
use sqluice_format::record;
use sqluice_format::value::Value;

impl ToSql for Owned {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Owned::Null => types::ValueRef::Null,
            Owned::Int(i) => types::ValueRef::Integer(*i),
            Owned::Real(r) => types::ValueRef::Real(*r),
            Owned::Text(text) => types::ValueRef::Text(text),
            Owned::Blob(blob) => types::ValueRef::Blob(blob),
        }))
    }
}

/// Generates numbers close to each other and to every limit, as integers and as floats.
fn number() -> impl Strategy<Value = Owned> {
    let edge = (0..65u32, -2..3i128, any::<bool>()).prop_map(|(bits, off, negative)| {
        let int = (1i128 << bits) + off;
        if negative { -int } else { int }
    });
    let int = prop_oneof![
        edge,
        (any::<i64>(), 0..64u32).prop_map(|(int, shift)| i128::from(int >> shift)),
        -3..4i128
    ];
    let whole = (int, any::<bool>()).prop_map(|(int, real)| match i64::try_from(int) {
        Ok(int) if !real => Owned::Int(int),
        _ => Owned::Real(int as f64),
    });
    let next = (whole.clone(), -2..3i64).prop_map(|(near, steps)| match near {
        Owned::Int(int) => Owned::Real(f64::from_bits((int as f64).to_bits().wrapping_add_signed(steps))),
        Owned::Real(real) => Owned::Real(f64::from_bits(real.to_bits().wrapping_add_signed(steps))),
        other => other,
    });
    let special =
        [0.0, -0.0, 0.5, -0.5, 5e-324, -5e-324, f64::MIN_POSITIVE, 1e300, f64::INFINITY, f64::NEG_INFINITY];
    let decimal = (-2000..2000i32).prop_map(|cents| Owned::Real(f64::from(cents) / 100.0));
    let any = any::<f64>().prop_map(Owned::Real);
    let special = prop::sample::select(special.to_vec()).prop_map(Owned::Real);
    prop_oneof![3 => whole, 2 => next, 1 => special, 1 => any, 1 => decimal]
        .prop_filter("SQLite has no NaN", |number| !matches!(number, Owned::Real(real) if real.is_nan()))
}

/// Generates texts and blobs that collations treat differently: short, so that some are equal, or with a long common prefix.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        6 => prop::sample::select(b"aAbB zZ@[`{".to_vec()),
        2 => 0..3u8,
        1 => prop::sample::select(vec![0x7f, 0x80, 0xc3, 0xff]),
    ];
    let short = prop::collection::vec(byte.clone(), 0..5);
    let any = prop::collection::vec(any::<u8>(), 0..40);
    let long = (12..18usize, prop::collection::vec(byte, 0..4), 0..4usize).prop_map(|(n, rest, spaces)| {
        let mut bytes = vec![b'x'; n];
        bytes.extend(rest);
        bytes.extend(vec![b' '; spaces]);
        bytes
    });
    prop_oneof![3 => short, 1 => any, 2 => long]
}

/// Generates UUIDs, many with a common beginning or end, and some in another spelling.
fn uuid() -> impl Strategy<Value = Vec<u8>> {
    let number = (any::<u128>(), prop::sample::select(vec![u128::MAX, 1, 0xf << 124, u128::MAX << 8, 0]));
    let hex = number.prop_map(|(number, mask)| format!("{:032x}", number & mask));
    let hyphens = |hex: String| [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-");
    let written = hex.prop_map(move |hex| hyphens(hex).into_bytes());
    let wrong = (written.clone(), 0..36_usize, prop::sample::select(b"gG/:`@A\0-~\xff".to_vec()));
    let wrong = wrong.prop_map(|(mut text, at, byte)| {
        text[at] = byte;
        text
    });
    prop_oneof![4 => written, 1 => wrong]
}

fn value() -> impl Strategy<Value = Owned> {
    prop_oneof![
        2 => uuid().prop_map(Owned::Text),
        1 => Just(Owned::Null),
        4 => number(),
        4 => bytes().prop_map(Owned::Text),
        2 => bytes().prop_map(Owned::Blob),
    ]
}

fn order(columns: usize) -> impl Strategy<Value = Vec<KeyColumn>> {
    let collation = prop::sample::select(vec![Collation::Binary, Collation::NoCase, Collation::RTrim]);
    let column =
        (collation, any::<bool>()).prop_map(|(collation, descending)| KeyColumn { collation, descending });
    prop::collection::vec(column, columns)
}

fn encoded(values: &[Owned]) -> Vec<u8> {
    let mut record = Vec::new();
    record::encode(&values.iter().map(Owned::value).collect::<Vec<_>>(), &mut record);
    record
}

fn normalized(order: &KeyOrder, record: &[u8]) -> Vec<u8> {
    let mut key = Vec::new();
    order.normalize(record, &mut key);
    key
}

/// Returns the 16 bytes of the normalized key from `skip` on.
fn window(key: &[u8], skip: usize) -> u128 {
    let bytes: Vec<u8> = key.iter().skip(skip).copied().chain([0; 16]).take(16).collect();
    u128::from_be_bytes(bytes.try_into().unwrap())
}

/// Asserts that all comparisons of two records agree.
fn assert_order(columns: &[KeyColumn], a: &[u8], b: &[u8]) {
    let order = KeyOrder::new(columns);
    let expected = slow_key::compare(columns, a, b);
    assert_eq!(order.compare(a, b), expected);
    for n in 0..=columns.len() {
        assert_eq!(order.compare_columns(a, b, n), slow_key::compare(&columns[..n], a, b));
    }
    assert_eq!(order.ascends(a, b), expected.is_lt());
    let (key_a, key_b) = (normalized(&order, a), normalized(&order, b));
    assert_eq!(key_a.cmp(&key_b), expected, "{key_x:02x?} {key_y:02x?}", key_x = key_a, key_y = key_b);
    assert!(expected.is_eq() || !key_a.starts_with(&key_b) && !key_b.starts_with(&key_a));
    for (record, key) in [(a, &key_a), (b, &key_b)] {
        let prefix = order.prefix(record);
        assert_eq!(prefix, window(key, 0), "{key:02x?}");
        assert_eq!(order.prefix_is_whole(prefix), key.len() <= 16, "{key:02x?}");
        assert_decodable(&order, record, key);
        for skip in [0, 1, 7, 16, key.len(), key.len() + 5] {
            assert_eq!(order.prefix_at(record, skip), window(key, skip));
        }
    }
    if let (Some(pair_a), Some(pair_b)) = (order.pair_of(a), order.pair_of(b)) {
        assert_eq!(pair_a.cmp(&pair_b), expected);
        if let (Some(short_a), Some(short_b)) = (order.short_of_pair(pair_a), order.short_of_pair(pair_b)) {
            assert_eq!(short_a.cmp(&short_b), expected);
        }
    }
    if let (Some(uuid_a), Some(uuid_b)) = (order.uuid_key(a), order.uuid_key(b)) {
        let is_whole = columns.len() == record::decode(a).unwrap().len();
        let ties = if is_whole { Ordering::Equal } else { a.cmp(b) };
        assert_eq!(uuid_a.cmp(&uuid_b), expected.then(ties));
    }
    if order.prefix(a) == order.prefix(b) && order.prefix_is_whole(order.prefix(a)) {
        assert_eq!(expected, Ordering::Equal);
    }
}

/// Asserts that a prefix decodes to a record if it is the whole key of all the record's columns, and no other record has it.
fn assert_decodable(order: &KeyOrder, record: &[u8], key: &[u8]) {
    let values = record::decode(record).unwrap();
    let is_decodable = |(value, column): (&Value<'_>, &KeyColumn)| match value {
        Value::Null | Value::Blob(_) => true,
        Value::Int(int) => *int != i64::MIN,
        Value::Real(_) => false,
        Value::Text(_) => column.collation == Collation::Binary,
    };
    let mut as_always = Vec::new();
    record::encode(&values, &mut as_always);
    let columns = order.columns();
    let can_be_decoded =
        values.len() == columns.len() && as_always == record && values.iter().zip(columns).all(is_decodable);
    let decodable = can_be_decoded && key.len() <= 16;
    assert_eq!(order.decodable_prefix(record), (window(key, 0), decodable), "{values:?}");
    let ints: Option<Vec<Option<i64>>> = values
        .iter()
        .map(|value| match value {
            Value::Null => Some(None),
            Value::Int(int) => Some(Some(*int)),
            _ => None,
        })
        .collect();
    if let Some(ints) = ints.filter(|ints| as_always == record && ints.len() == columns.len()) {
        let found = order.decodable_prefix_of_ints(&ints);
        assert_eq!(found, decodable.then_some((window(key, 0), record.len())), "{values:?}");
    }
    if let [Value::Text(text), Value::Int(int)] = values[..]
        && as_always == record
        && let Some((key, key_bytes, int_bytes)) = order.decodable_key_of_text(text, (0, text.len()), int)
    {
        assert_eq!(order.decodable_key(record), Some((key, key_bytes)), "{values:?}");
        assert_eq!(record.len(), 3 + text.len() + int_bytes);
    }
    let mut bytes = [0xaa; DECODED_ROOM];
    let is_int = |value: &Value<'_>| matches!(value, Value::Null | Value::Int(_));
    let pair = order.pair_of(record);
    assert_eq!(
        pair.is_some(),
        can_be_decoded && values.len() == 2 && values.iter().all(is_int),
        "{values:?}"
    );
    if let Some(pair) = pair {
        let len = order.decode_pair(pair, &mut bytes);
        assert_eq!(&bytes[..len], record, "{values:?}");
        let is_short = |value: &Value<'_>| match value {
            Value::Int(int) => (0..i64::from(u32::MAX)).contains(int),
            _ => true,
        };
        let short = order.short_of_pair(pair);
        assert_eq!(short.is_some(), values.iter().all(is_short), "{values:?}");
        assert!(short.is_none_or(|short| order.pair_of_short(short) == pair), "{values:?}");
    }
    assert_uuid(order, record, &values, as_always == record);
    let words = [window(key, 0), window(key, 16)];
    let decodable_by_two = can_be_decoded && key.len() <= 32;
    assert_eq!(order.decodable_key(record), decodable_by_two.then_some((words, key.len())), "{values:?}");
    if decodable_by_two && words[1] == 0 {
        // Bytes after the end of a word read as zeros.
        let len = order.decode([words[0]], &mut bytes);
        assert_eq!(&bytes[..len], record, "{values:?}");
    }
    if decodable_by_two {
        let len = order.decode(words, &mut bytes);
        assert_eq!(&bytes[..len], record, "{values:?}");
    }
}

/// Asserts that a record has a UUID's key if it begins with a UUID, and that the key decodes to the record.
fn assert_uuid(order: &KeyOrder, record: &[u8], values: &[Value<'_>], is_as_always: bool) {
    let is_uuid = |value: &Value<'_>| match value {
        Value::Text(text) => {
            text.len() == 36
                && text.iter().enumerate().all(|(at, byte)| match at {
                    8 | 13 | 18 | 23 => *byte == b'-',
                    _ => byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase(),
                })
        }
        _ => false,
    };
    let follows = match (values, order.columns()) {
        ([first], [column]) => is_uuid(first) && column.collation == Collation::Binary,
        ([_, Value::Text(_) | Value::Blob(_)], [_]) => false,
        ([first, _], [column]) => is_uuid(first) && column.collation == Collation::Binary,
        ([first, second], [column, _]) => {
            let is_int = match second {
                Value::Int(int) => *int != i64::MIN,
                _ => matches!(second, Value::Null),
            };
            is_uuid(first) && column.collation == Collation::Binary && is_int
        }
        _ => false,
    };
    let key = order.uuid_key(record);
    assert!(!is_as_always || key.is_some() == follows, "{values:?}");
    let mut bytes = [0xaa; DECODED_ROOM];
    if let Some(key) = key {
        let len = order.decode_uuid(key, &mut bytes);
        assert_eq!(&bytes[..len], record, "{values:?}");
    }
    if let [Value::Text(text), Value::Int(int)] = values[..] {
        let data = [b"before", text, b"after"].concat();
        let found = order.uuid_key_of_text(&data, (6, 6 + text.len()), int);
        let expected = key.filter(|_| order.columns().len() == 2);
        let bytes = record.len().wrapping_sub(3 + text.len());
        assert!(
            !is_as_always || found == expected.map(|key| (key, order.prefix(record), bytes)),
            "{values:?}"
        );
    }
}

/// Returns the rank of each row in SQLite's order. Rows that SQLite finds equal have equal ranks.
fn ranks_by_sqlite(columns: &[KeyColumn], rows: &[Vec<Owned>]) -> Vec<i64> {
    let db = Connection::open_in_memory().unwrap();
    let names: Vec<String> = (0..columns.len()).map(|i| format!("c{i}")).collect();
    db.execute_batch(&format!("CREATE TABLE t ({})", names.join(", "))).unwrap();
    let marks = vec!["?"; columns.len()].join(", ");
    let mut insert = db.prepare(&format!("INSERT INTO t VALUES ({marks})")).unwrap();
    for row in rows {
        insert.execute(rusqlite::params_from_iter(row)).unwrap();
    }
    let term = |(name, column): (&String, &KeyColumn)| {
        let collation = match column.collation {
            Collation::Binary => "BINARY",
            Collation::NoCase => "NOCASE",
            Collation::RTrim => "RTRIM",
        };
        format!("{name} COLLATE {collation} {}", if column.descending { "DESC" } else { "ASC" })
    };
    let terms: Vec<String> = names.iter().zip(columns).map(term).collect();
    let sql = format!("SELECT rank() OVER (ORDER BY {}) FROM t ORDER BY rowid", terms.join(", "));
    let mut select = db.prepare(&sql).unwrap();
    select.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
}

fn rows(columns: usize) -> impl Strategy<Value = Vec<Vec<Owned>>> {
    prop::collection::vec(prop::collection::vec(value(), columns), 2..40)
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn ascends_alike_agrees_with_the_slow_comparison(
        (columns, row) in (1..5usize).prop_flat_map(|n| (order(n), prop::collection::vec(value(), n..n + 2))),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..3),
    ) {
        let record = encoded(&row);
        let header = usize::from(record[0]);
        let mut changed = record.clone();
        for (at, byte) in changes {
            if header < record.len() {
                changed[header + at.index(record.len() - header)] = byte;
            }
        }
        let order = KeyOrder::new(&columns[..]);
        if let Some(ascends) = order.ascends_alike(&record, &changed) {
            prop_assert_eq!(ascends, slow_key::compare(&columns, &record, &changed).is_lt());
            prop_assert_eq!(record::count_fields(&changed), Ok(row.len()));
        }
        // Rows of short values without floats, in columns that compare texts as bytes, need no decoding. So the fast comparison must
        // decide.
        let is_plain = |value: &Owned| match value {
            Owned::Null | Owned::Int(_) => true,
            Owned::Real(_) => false,
            Owned::Text(bytes) | Owned::Blob(bytes) => bytes.len() < 58,
        };
        if row.iter().all(is_plain) && columns.iter().all(|column| column.collation == Collation::Binary) {
            prop_assert!(order.ascends_alike(&record, &changed).is_some());
        }
    }

    #[test]
    fn records_are_in_the_order_of_sqlite(
        (columns, rows) in (1..4usize).prop_flat_map(|n| (order(n), rows(n))),
    ) {
        let ranks = ranks_by_sqlite(&columns, &rows);
        let records: Vec<_> = rows.iter().map(|row| encoded(row)).collect();
        let key = KeyOrder::new(&columns[..]);
        for i in 1..rows.len() {
            prop_assert_eq!(
                key.compare(&records[i - 1], &records[i]), ranks[i - 1].cmp(&ranks[i]),
                "{:?} {:?}", &rows[i - 1], &rows[i]
            );
            assert_order(&columns, &records[i - 1], &records[i]);
        }
    }

    #[test]
    fn numbers_are_in_the_order_of_their_exact_values(mut numbers in prop::collection::vec(number(), 2..60), descending in any::<bool>()) {
        let columns = [KeyColumn { collation: Collation::Binary, descending }];
        let key = KeyOrder::new(columns);
        let mut twins: Vec<_> = numbers.iter().map(|number| encoded(std::slice::from_ref(number))).collect();
        twins.sort_by(|a, b| slow_key::compare(&columns, a, b));
        numbers.sort_by_key(|number| normalized(&key, &encoded(std::slice::from_ref(number))));
        for (number, twin) in numbers.iter().zip(&twins) {
            let record = encoded(std::slice::from_ref(number));
            prop_assert_eq!(slow_key::compare(&columns, &record, twin), Ordering::Equal);
        }
        for pair in twins.windows(2) {
            assert_order(&columns, &pair[0], &pair[1]);
        }
    }

    #[test]
    fn has_null_is_true_if_one_of_the_first_key_columns_is_null(row in prop::collection::vec(value(), 1..6)) {
        let record = encoded(&row);
        for columns in 0..=row.len() {
            let order = KeyOrder::new(vec![KeyColumn::default(); columns]);
            for n in 0..=row.len() {
                let expected = row[..n.min(columns)].iter().any(|value| matches!(value, Owned::Null));
                prop_assert_eq!(order.has_null(&record, n), expected);
            }
        }
    }
}

#[test]
fn columns_after_the_key_do_not_affect_the_order() {
    let order = KeyOrder::new([KeyColumn::default()]);
    let [a, b] = [1, 2].map(|last| encoded(&[Owned::Text(b"same".to_vec()), Owned::Int(last)]));
    assert_eq!(order.compare(&a, &b), Ordering::Equal);
    assert_eq!(normalized(&order, &a), normalized(&order, &b));
    assert_eq!(order.prefix(&a), order.prefix(&b));
}

#[test]
fn records_with_long_headers_are_compared() {
    let row: Vec<Owned> = (0..200).map(Owned::Int).collect();
    let mut other = row.clone();
    other[199] = Owned::Int(-7);
    let columns = vec![KeyColumn::default(); 200];
    assert_order(&columns, &encoded(&row), &encoded(&other));
    let long =
        [b"b", b"a"].map(|last| encoded(&[Owned::Text([&[b'x'; 30_000][..], last].concat()), Owned::Int(1)]));
    assert_order(&[KeyColumn::default(); 2], &long[0], &long[1]);
}

#[test]
fn only_records_in_their_usual_form_are_decodable() {
    let order = KeyOrder::new([KeyColumn::default(); 2]);
    // These are the record of 1 and 2, and four others, in this order: with 1 in a byte, with a header size of two bytes, with a byte after
    // the record, and with a third column.
    let one_and_two: &[u8] = &[3, 9, 1, 2];
    let others: [&[u8]; 4] = [&[3, 1, 1, 1, 2], &[0x80, 4, 9, 1, 2], &[3, 9, 1, 2, 0], &[4, 9, 1, 0, 2]];
    assert_decodable(&order, one_and_two, &normalized(&order, one_and_two));
    assert!(order.decodable_prefix(one_and_two).1);
    for other in others {
        assert_eq!(order.decodable_prefix(other), (order.prefix(one_and_two), false), "{other:?}");
    }
    let nothing = KeyOrder::new([KeyColumn { descending: true, ..KeyColumn::default() }; 16]);
    let nulls = encoded(&vec![Owned::Null; 16]);
    assert_decodable(&nothing, &nulls, &[0xfe; 16]);
    assert!(nothing.decodable_prefix(&nulls).1);
}

#[test]
fn keys_whose_second_word_is_zero_are_decoded_in_both_directions() {
    let mut longer = 0;
    for descending in [[false, false], [false, true], [true, false], [true, true]] {
        let columns = descending.map(|descending| KeyColumn { descending, ..KeyColumn::default() });
        let order = KeyOrder::new(columns);
        for (a, b) in (40..63).flat_map(|a| (40..63).map(move |b| (1_i64 << a, 1_i64 << b))) {
            for (a, b) in [(a, b), (a, -b), (-a, b), (-a, -b)] {
                let record = encoded(&[Owned::Int(a), Owned::Int(b)]);
                let key = normalized(&order, &record);
                assert_decodable(&order, &record, &key);
                longer += u32::from(key.len() > 16 && window(&key, 16) == 0 && descending[1]);
            }
        }
    }
    assert!(longer > 0);
}

#[test]
fn decodable_key_of_text_equals_the_key_of_the_record() {
    let columns =
        |descending: [bool; 2]| descending.map(|descending| KeyColumn { descending, ..KeyColumn::default() });
    for order in
        [[false, false], [false, true], [true, false], [true, true]].map(|way| KeyOrder::new(columns(way)))
    {
        for text in ["", "six", "2024-02-29 23:59:59", "too long with some integers", "\u{1}"] {
            for int in [0, 1, -1, 300, 1 << 40] {
                let data = format!("before{text}after");
                let found = order.decodable_key_of_text(data.as_bytes(), (6, 6 + text.len()), int);
                let record = encoded(&[Owned::Text(text.as_bytes().to_vec()), Owned::Int(int)]);
                let key = normalized(&order, &record);
                assert_eq!(found.is_some(), key.len() <= 32 && text != "\u{1}", "{text:?}, {int}");
                assert!(
                    found.is_none_or(|(key, bytes, _)| order.decodable_key(&record) == Some((key, bytes)))
                );
                assert_decodable(&order, &record, &key);
            }
        }
    }
}

#[test]
fn keys_of_short_text_or_a_number_and_a_rowid_fit_the_prefix() {
    let rowid = Owned::Int((1 << 39) - 1);
    let whole = |columns: &[Owned]| {
        let order = KeyOrder::new(vec![KeyColumn::default(); columns.len()]);
        order.prefix_is_whole(order.prefix(&encoded(columns)))
    };
    assert!(whole(&[Owned::Text(b"123456".to_vec()), rowid.clone()]));
    assert!(whole(&[Owned::Text(b"1234567".to_vec()), rowid.clone()]));
    assert!(whole(&[Owned::Int(1 << 60), rowid.clone()]));
    assert!(whole(&[Owned::Real(-129.99), rowid.clone()]));
    assert!(whole(&[Owned::Int(1), Owned::Null, Owned::Int(-300), rowid.clone()]));
    assert!(!whole(&[Owned::Text(b"a longer text".to_vec()), rowid]));
}

#[test]
#[should_panic(expected = "a record")]
fn a_record_with_fewer_columns_than_the_key_is_refused() {
    KeyOrder::new([KeyColumn::default(); 2]).prefix(&encoded(&[Owned::Int(5)]));
}
