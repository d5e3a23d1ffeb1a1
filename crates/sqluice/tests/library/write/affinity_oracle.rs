//! Column affinity against the bundled SQLite: values are bound and inserted, and the records that SQLite wrote are
//! taken from its file, byte for byte. `SELECT` would hide what is stored.
//!
//! `SQLUICE_EFFORT=soak cargo test --release -p sqluice --test library affinity_oracle` tries harder;
//! `SQLUICE_SEED` starts the random values elsewhere.

use rusqlite::{Connection, ErrorCode};
use sqluice::affinity::{
    Affinity, Loss, Rowid, StrictType, apply, decimal, int_to_text, part_to_number, real_to_int,
    real_to_text, stored_real, stored_real_of_int, text_to_number, text_to_number_checked, to_rowid, whole,
};
use sqluice::splitmix::SplitMix64;
use sqluice_format::value::{SerialType, Value};
use sqluice_format::{record, varint};

use crate::support::rows::Owned;
use sqluice_testkit::effort::tries;

/// One column of each affinity. The column of BLOB affinity is not the last one: SQLite leaves trailing columns of this affinity out of the
/// list of affinities by which it converts a row.
const COLUMNS: [(&str, Affinity); 5] = [
    ("b BLOB", Affinity::Blob),
    ("t TEXT", Affinity::Text),
    ("n NUMERIC", Affinity::Numeric),
    ("i INTEGER", Affinity::Integer),
    ("r REAL", Affinity::Real),
];

fn connection(path: &std::path::Path) -> Connection {
    let db = Connection::open(path).expect("opens");
    db.execute_batch("PRAGMA page_size = 65536; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
        .expect("set");
    db
}

/// Returns the records of a database's only table, by rowid. `insert` is called within a transaction.
fn records_in_file(create: &str, insert: impl FnOnce(&Connection)) -> Vec<(i64, Vec<u8>)> {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("oracle.db");
    let mut db = connection(&path);
    db.execute_batch(create).expect("creates");
    let transaction = db.transaction().expect("begins");
    insert(&transaction);
    transaction.commit().expect("commits");
    db.close().expect("closes");
    let file = std::fs::read(&path).expect("reads");
    let mut records: Vec<_> = file.chunks(65536).skip(1).flat_map(records_in_leaf).collect();
    records.sort_unstable_by_key(|(rowid, _)| *rowid);
    records
}

fn records_in_leaf(page: &[u8]) -> Vec<(i64, Vec<u8>)> {
    if page[0] != 0x0d {
        return Vec::new();
    }
    let u16_at = |at: usize| usize::from(u16::from_be_bytes([page[at], page[at + 1]]));
    let cell = |i: usize| {
        let cell = &page[u16_at(8 + 2 * i)..];
        let (payload_bytes, n) = varint::read(cell).expect("a length");
        let (rowid, m) = varint::read(&cell[n..]).expect("a rowid");
        assert!(payload_bytes < 65536 - 35, "no overflow pages here");
        (rowid as i64, cell[n + m..][..payload_bytes as usize].to_vec())
    };
    (0..u16_at(3)).map(cell).collect()
}

/// Asserts that the slow twin and the fast functions convert each value for each affinity as SQLite does.
fn same_as_sqlite(values: &[Owned]) {
    let columns: Vec<_> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let records = records_in_file(&format!("CREATE TABLE t({})", columns.join(", ")), |db| {
        let mut insert = db.prepare("INSERT INTO t VALUES (?1, ?1, ?1, ?1, ?1)").expect("prepares");
        for value in values {
            insert.execute([value]).expect("inserts");
        }
    });
    assert_eq!(records.len(), values.len());
    let mut ours = Vec::new();
    for (value, (_, theirs)) in values.iter().zip(&records) {
        for (way, convert) in [("slow", apply as Convert), ("fast", fast), ("part", part)] {
            let mut scratch: [Vec<u8>; 5] = Default::default();
            let stored: Vec<_> = COLUMNS
                .iter()
                .zip(&mut scratch)
                .map(|((_, affinity), scratch)| convert(value.value(), *affinity, scratch))
                .collect();
            ours.clear();
            record::encode(&stored, &mut ours);
            assert_eq!(
                &ours,
                theirs,
                "{way}: {}\n ours {stored:?}\n theirs {:?}",
                show(value),
                record::decode(theirs)
            );
        }
    }
}

fn show(value: &Owned) -> String {
    match value {
        Owned::Text(text) => format!("'{}'", text.escape_ascii()),
        other => format!("{other:?}"),
    }
}

type Convert = for<'a> fn(Value<'a>, Affinity, &'a mut Vec<u8>) -> Value<'a>;

/// Converts a value as an encoder does, with the function for its class.
fn fast<'a>(value: Value<'a>, affinity: Affinity, scratch: &'a mut Vec<u8>) -> Value<'a> {
    match (value, affinity) {
        (Value::Int(int), Affinity::Text) => int_to_text(int, scratch),
        (Value::Real(real), Affinity::Text) if !real.is_nan() => real_to_text(real, scratch),
        (Value::Int(int), Affinity::Real) => return stored_real_of_int(int),
        (Value::Real(real), Affinity::Real) => return stored_real(real),
        (Value::Real(real), Affinity::Integer | Affinity::Numeric) => return real_to_int(real),
        (Value::Text(text), _) => return text_to_number(text, affinity),
        (Value::Real(real), _) if real.is_nan() => return Value::Null,
        _ => return value,
    }
    Value::Text(scratch)
}

/// Converts a value as [`fast`] does, with the text in the middle of a larger buffer, whose other bytes must not matter.
fn part<'a>(value: Value<'a>, affinity: Affinity, scratch: &'a mut Vec<u8>) -> Value<'a> {
    let Value::Text(text) = value else { return fast(value, affinity, scratch) };
    let front = &b"9.-e\0 \xff7.5-12345678"[text.len() % 19..];
    scratch.extend_from_slice(front);
    scratch.extend_from_slice(text);
    scratch.extend_from_slice(b"9");
    let (start, end) = (front.len(), front.len() + text.len());
    let number = part_to_number(scratch, start, end, affinity).0;
    // The functions for texts that are known to have a point, or to have none, give the same result where they apply.
    if affinity.is_numeric() {
        let (decimal, whole) = (decimal(scratch, start, end, affinity), whole(scratch, start, end));
        for known in [decimal, whole.map(Value::Int)].into_iter().flatten() {
            assert_eq!(known, number, "{text:?} {affinity:?}");
        }
    }
    number
}

/// Random numbers, the same on every machine.
struct Random(SplitMix64);

impl Random {
    fn seeded(salt: u64) -> Random {
        let seed = std::env::var("SQLUICE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0u64);
        Random(SplitMix64(seed.wrapping_mul(0x1234_5678_9abc_def1) ^ salt))
    }

    fn next(&mut self) -> u64 {
        self.0.next()
    }

    fn below(&mut self, n: usize) -> usize {
        self.0.below(n)
    }

    fn one_in(&mut self, n: usize) -> bool {
        self.0.one_in(n)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Returns an integer of a random width: all widths are equally likely.
    fn int(&mut self) -> i64 {
        let int = self.next() as i64 >> self.below(64);
        match self.below(4) {
            0 => edges_of_ints()[self.below(edges_of_ints().len())],
            _ => int,
        }
    }

    fn real(&mut self) -> f64 {
        match self.below(8) {
            0 => self.int() as f64,
            1 => self.int() as f64 + self.below(1000) as f64 / 1000.0,
            2 => self.int() as f64 / 10f64.powi(self.below(20) as i32),
            3 => *self.pick(&edges_of_reals()),
            4 => f64::from_bits(self.next() >> 12 >> self.below(52)), // subnormal
            5 => {
                let edge = self.pick(&edges_of_reals()).to_bits();
                f64::from_bits(edge.wrapping_add_signed(self.below(9) as i64 - 4))
            }
            6 => format!("{}e{}", self.next() >> self.below(64), self.below(40) as i32 - 20)
                .parse()
                .expect("a number"),
            _ => f64::from_bits(self.next()),
        }
    }

    fn digits(&mut self, len: usize, out: &mut Vec<u8>) {
        let only_zeros_or_nines = self.one_in(6);
        for _ in 0..len {
            out.push(if only_zeros_or_nines { *self.pick(b"00009") } else { b'0' + self.below(10) as u8 });
        }
    }

    /// Returns the text of a decimal, which is mostly a valid number.
    fn decimal(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let few = |random: &mut Random| if random.one_in(3) { random.below(41) } else { random.below(12) };
        if self.one_in(8) {
            text.push(*self.pick(b" \t\n\x0b\x0c\r"));
        }
        text.extend_from_slice(self.pick(&["", "", "", "-", "-", "+"]).as_bytes());
        if self.one_in(10) {
            let zeros = self.below(30);
            text.resize(text.len() + zeros, b'0');
        }
        let len = few(self);
        self.digits(len, &mut text);
        if self.one_in(2) {
            text.push(b'.');
            if self.one_in(10) {
                let zeros = self.below(30);
                text.resize(text.len() + zeros, b'0');
            }
            let len = few(self);
            self.digits(len, &mut text);
        }
        if self.one_in(4) {
            text.push(*self.pick(b"eE"));
            text.extend_from_slice(self.pick(&["", "-", "+"]).as_bytes());
            let exponent = if self.one_in(2) { self.below(400) } else { self.below(25) };
            text.extend_from_slice(exponent.to_string().as_bytes());
        }
        if self.one_in(8) {
            text.push(*self.pick(b" \t\n\x0b\x0c\r"));
        }
        if self.one_in(30) {
            let ends: [&[u8]; 6] = [b"\0", b"\0abc", b"\x001", b" \0 ", b"x", b"\xff"];
            let end: &[u8] = self.pick::<&[u8]>(&ends);
            text.extend_from_slice(end);
        }
        text
    }

    fn text(&mut self) -> Vec<u8> {
        match self.below(8) {
            0 => {
                let len = self.below(12);
                (0..len).map(|_| *self.pick(ALPHABET)).collect()
            }
            1 => {
                // A valid number, damaged.
                let mut text = self.decimal();
                if !text.is_empty() {
                    let at = self.below(text.len());
                    text[at] = if self.one_in(4) { self.next() as u8 } else { *self.pick(ALPHABET) };
                }
                text
            }
            2 => self.int().to_string().into_bytes(),
            3 => format!("{:?}", self.real()).into_bytes(),
            4 => {
                // Amounts with currencies and units.
                let mut text = Vec::new();
                int_to_text(self.int() >> 40, &mut text);
                text.push(b'.');
                let len = 1 + self.below(4);
                self.digits(len, &mut text);
                text
            }
            _ => self.decimal(),
        }
    }

    fn value(&mut self) -> Owned {
        match self.below(16) {
            0 => Owned::Null,
            1 => Owned::Blob(self.text()),
            2..4 => Owned::Int(self.int()),
            4..8 => Owned::Real(self.real()),
            _ => Owned::Text(self.text()),
        }
    }
}

const ALPHABET: &[u8] = b" \t\n\x0b\x0c\r0123456789+-.eExX_\0aAinf";

fn edges_of_ints() -> Vec<i64> {
    let powers = [0, 1, 7, 8, 15, 16, 23, 24, 31, 32, 47, 48, 51, 52, 53, 54, 62].map(|bit| 1i64 << bit);
    let around = |edge: i64| [-1, 0, 1].map(|near| edge.wrapping_add(near));
    powers.into_iter().chain([i64::MAX]).flat_map(around).flat_map(|int| [int, int.wrapping_neg()]).collect()
}

fn edges_of_reals() -> Vec<f64> {
    let mut reals: Vec<f64> = edges_of_ints().into_iter().map(|int| int as f64).collect();
    reals.extend((-324..=308).map(|exponent| format!("1e{exponent}").parse::<f64>().expect("a number")));
    reals.extend([0.5, 1.5, 0.1, 49.47, 1e15, 123456789012345.6, 5e-324, f64::MAX, f64::MIN_POSITIVE]);
    reals.extend([0.0, f64::INFINITY, f64::NAN, f64::EPSILON, 2251799813685248.5, 4503599627370497.5]);
    reals.iter().flat_map(|real| [*real, -*real]).collect()
}

/// Returns texts that have something odd about them.
fn odd_texts() -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = [
        "",
        " ",
        "+",
        "-",
        ".",
        "-.",
        "+.",
        "e5",
        ".e5",
        "E",
        "1e",
        "1e+",
        "1e-",
        "1e +5",
        "1 e5",
        "1e5 ",
        " 12 ",
        "12 3",
        "+5",
        "-5",
        "+-5",
        "--5",
        "- 5",
        " + 5",
        ".5",
        "5.",
        "-.5",
        "+.5",
        "5..",
        ".5.",
        "1.5.",
        "1e5",
        "1E5",
        "1e5.0",
        "1.e5",
        ".5e1",
        "1e05",
        "1e00000000000001",
        "0x10",
        "0X1F",
        "1_000",
        "1,000",
        "$1",
        "inf",
        "Inf",
        "-inf",
        "infinity",
        "nan",
        "NaN",
        "1f",
        "1d",
        "0",
        "-0",
        "+0",
        "00",
        "007",
        "-007",
        "0.0",
        "-0.0",
        "0e5",
        "0e400",
        "-0e-5",
        "9223372036854775807",
        "9223372036854775808",
        "9223372036854775809",
        "-9223372036854775807",
        "-9223372036854775808",
        "-9223372036854775809",
        "+9223372036854775807",
        "0000000000009223372036854775807",
        " 9223372036854775807 ",
        "9223372036854775807.0",
        "-9223372036854775808.0",
        "9223372036854775807e0",
        "9223372036854774784.0",
        "9223372036854774785.0",
        "-9223372036854774784.0",
        "-9223372036854775296",
        "18446744073709551615",
        "18446744073709551616",
        "1844674407370955159",
        "1844674407370955160",
        "1844674407370955161",
        "18446744073709551590",
        "18446744073709551599",
        "18446744073709551600",
        "12345678901234567890",
        "9007199254740991",
        "9007199254740992",
        "9007199254740993",
        "9007199254740993.0",
        "9007199254740992.5",
        "9007199254740993e0",
        "2251799813685247",
        "2251799813685248",
        "2251799813685249",
        "140737488355327",
        "140737488355328",
        "-140737488355328",
        "-140737488355329",
        "140737488355327.0",
        "140737488355328.0",
        "140737488355327.5",
        "1e400",
        "-1e400",
        "1e-400",
        "-1e-400",
        "1e308",
        "1.8e308",
        "1.7976931348623157e308",
        "1.7976931348623158e308",
        "1.7976931348623159e308",
        "4.9e-324",
        "5e-324",
        "2.5e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "2e-324",
        "2.2250738585072014e-308",
        "2.2250738585072011e-308",
        "3500000000000000.2500001",
        "1e9999",
        "1e10000",
        "1e99999",
        "1e100000",
        "1e999999999999",
        "0e999999999999999999999",
        "1e-99999",
        "1e-100000",
        "17954.55",
        "999999999999999.",
        "99999999999999.9",
        "1234567890123456",
        "12345678901234567",
        "-1234567890123456",
        "-12345678901234567",
        "123456789012345.6",
        "0.000000000000001",
        ".000000000000001",
        "٣",
        "１",
        "1\u{a0}",
        "\u{a0}1",
        "\u{feff}1",
        "1e５",
    ]
    .into_iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    texts.extend(
        [
            &b"12\0abc"[..],
            b"12\0",
            b"\0",
            b"\x0012",
            b"1.5\0",
            b"1e5\0x",
            b"12 \0abc",
            b"12\0 ",
            b" \0",
            b"-\0",
            b"1e\0",
            b"9007199254740993\0",
            b"9223372036854775807\0",
            b"-9223372036854775808\0",
            b"4503599627370497\0z",
            b"\x80",
            b"1\x80",
            b"\xff1",
            b"\xc3\x28",
            b"1\x85",
            b"\x1f1",
            b"1\x1c",
            b"\x0e1",
            b"1\x08",
            b"\x0b1\x0c",
        ]
        .map(<[u8]>::to_vec),
    );
    let repeat = |byte: u8, len: usize| vec![byte; len];
    for len in [19, 20, 21, 308, 309, 310, 400, 1000, 2000] {
        for digit in *b"0159" {
            texts.push(repeat(digit, len));
            texts.push([&b"0."[..], &repeat(digit, len)].concat());
            texts.push([&b"-"[..], &repeat(digit, len), b"."].concat());
            texts.push([&repeat(digit, len), &format!("e-{len}").into_bytes()[..]].concat());
            texts.push([&b"0."[..], &repeat(b'0', len), &[digit], format!("e{len}").as_bytes()].concat());
        }
        texts.push([&b"1"[..], &repeat(b'0', len)].concat());
        texts.push([&b"1"[..], &repeat(b'0', len), b"e-", len.to_string().as_bytes()].concat());
        texts.push([&repeat(b' ', len)[..], b"5"].concat());
    }
    // SQLite reads exponents of five digits, and ignores those of six.
    for (zeros, exponent) in [(10_000, 10_001), (1_500, 1_501), (3_000, 100_000), (9_998, 99_999)] {
        texts.push([&b"0."[..], &repeat(b'0', zeros), b"1e", exponent.to_string().as_bytes()].concat());
        texts.push([&b"1"[..], &repeat(b'0', zeros), b"e-", exponent.to_string().as_bytes()].concat());
    }
    texts
}

/// Returns the number of random values, divided by `share`.
fn values_tried(share: usize) -> usize {
    tries(20_000, 200_000, 5_000_000) / share
}

#[test]
fn unusual_texts_and_blobs_are_converted_as_sqlite_converts_them() {
    same_as_sqlite(&odd_texts().into_iter().map(Owned::Text).collect::<Vec<_>>());
    same_as_sqlite(&odd_texts().into_iter().map(Owned::Blob).collect::<Vec<_>>());
}

#[test]
fn extreme_integers_and_floats_are_converted_as_sqlite_converts_them() {
    let ints = edges_of_ints().into_iter().map(Owned::Int);
    let reals = edges_of_reals().into_iter().map(Owned::Real);
    let texts = edges_of_ints().into_iter().flat_map(|int| {
        ["", ".0", ".", "e0", ".5", "\0", " "].map(|end| Owned::Text(format!("{int}{end}").into_bytes()))
    });
    same_as_sqlite(&[Owned::Null].into_iter().chain(ints).chain(reals).chain(texts).collect::<Vec<_>>());
}

#[test]
fn every_text_of_up_to_four_bytes_of_numbers_is_converted_as_sqlite_converts_it() {
    const BYTES: &[u8] = b"059+-.eE \0x";
    let mut texts = vec![Vec::new()];
    let mut longest = texts.clone();
    for _ in 0..4 {
        longest =
            longest.iter().flat_map(|text| BYTES.iter().map(|byte| [&text[..], &[*byte]].concat())).collect();
        texts.extend_from_slice(&longest);
    }
    same_as_sqlite(&texts.into_iter().map(Owned::Text).collect::<Vec<_>>());
}

#[test]
fn decimals_of_every_length_and_position_of_the_point_are_converted_as_sqlite_converts_them() {
    let mut random = Random::seeded(1);
    let mut texts = Vec::new();
    for len in 0..24 {
        for point in 0..=len {
            for _ in 0..20 {
                let mut text = random.pick(&["", "-", "+"]).as_bytes().to_vec();
                random.digits(point, &mut text);
                text.push(b'.');
                random.digits(len - point, &mut text);
                if random.one_in(4) {
                    let at = random.below(text.len());
                    text[at] = random.next() as u8;
                }
                texts.push(Owned::Text(text));
            }
        }
    }
    same_as_sqlite(&texts);
}

/// The decimals are within 2^-55 of the middle of two floats, and were found by continued fractions. SQLite scales with 96 bits of a power
/// of ten, which is not enough to round all of these decimals correctly: `parse::<f64>` gives other bytes.
#[test]
fn decimals_near_the_middle_of_two_floats_are_rounded_as_sqlite_rounds_them() {
    let texts = [
        "1144170350793338086e-324",
        "1413350242929634729e-322",
        "1266796096879991337e-321",
        "1188833022859041435e-65",
        "1353089059225475095e-89",
        "1454084030443084768e-32",
        "1443949088176333494e-267",
        "1425889785914295140e37",
        "1150614365911620707e37",
        "1235465902458970716e84",
        "1180235020099399549e-185",
        "1327601038178850228e55",
        "1425223233543614279e163",
        "1312384284326398642e278",
        "1319244229784445029e252",
        "1380350438855326210e-207",
        "1284959110194659828e183",
        "1440005092679864528e-239",
        "1216457164092597836e-250",
        "1166251947313748786e-37",
        "1324528614100646496e165",
        "1128602070558777016e-80",
        "1484220633621194734e-38",
        "1452485196207585259e-110",
        "1288992275714815841e-326",
        "1307183538921520896e-276",
        "1364796864948899271e-225",
        "1425367203596732521e-260",
        "1427324853855614862e168",
        "1083243883376963126e237",
        "1398091595190791492e-259",
        "1311192458850427185e-75",
        "1238522008641130122e215",
        "1410514391628682685e-129",
        "1223049799751622642e-149",
        "1360018836053472617e179",
        "1523654674842793257e71",
        "1169779142497026991e-139",
        "1490436440627874144e-130",
        "1265771580726645993e269",
    ];
    same_as_sqlite(&texts.map(|text| Owned::Text(text.into())));
    let correctly_rounded = |text: &str| text.parse().map(Value::Real);
    let differ = texts
        .iter()
        .filter(|text| correctly_rounded(text) != Ok(text_to_number(text.as_bytes(), Affinity::Real)));
    assert!(
        differ.count() >= 3,
        "SQLite rounds better than it did: the note in affinity/float.rs is out of date"
    );
}

#[test]
fn random_values_are_converted_as_sqlite_converts_them() {
    let mut random = Random::seeded(2);
    let mut left = values_tried(1);
    while left > 0 {
        let some = left.min(50_000);
        same_as_sqlite(&(0..some).map(|_| random.value()).collect::<Vec<_>>());
        left -= some;
    }
}

#[test]
fn columns_of_strict_tables_accept_and_store_the_same_values_as_in_sqlite() {
    let types = ["INT", "INTEGER", "REAL", "TEXT", "BLOB", "ANY"];
    let mut random = Random::seeded(3);
    let mut values: Vec<_> = odd_texts().into_iter().map(Owned::Text).collect();
    values.extend(edges_of_ints().into_iter().map(Owned::Int));
    values.extend(edges_of_reals().into_iter().map(Owned::Real));
    values.extend((0..values_tried(40)).map(|_| random.value()));
    for name in types {
        let strict = StrictType::of_declared_type(name).expect("a type");
        let mut taken = Vec::new();
        let records = records_in_file(&format!("CREATE TABLE t(a {name}) STRICT"), |db| {
            let mut insert = db.prepare("INSERT INTO t VALUES (?1)").expect("prepares");
            for value in &values {
                match insert.execute([value]) {
                    Ok(_) => taken.push(true),
                    Err(error) => {
                        assert_eq!(
                            error.sqlite_error().map(|e| e.code),
                            Some(ErrorCode::ConstraintViolation)
                        );
                        taken.push(false);
                    }
                }
            }
        });
        let mut records = records.into_iter();
        for (value, taken) in values.iter().zip(taken) {
            let mut scratch = Vec::new();
            let stored = apply(value.value(), strict.affinity(), &mut scratch);
            assert_eq!(
                SerialType::of(&stored).class().is_some_and(|class| strict.fits(class)),
                taken,
                "{name}: {}",
                show(value)
            );
            if taken {
                let mut ours = Vec::new();
                record::encode(&[stored], &mut ours);
                assert_eq!(ours, records.next().expect("a record").1, "{name}: {}", show(value));
            }
        }
    }
}

#[test]
fn types_that_sqlite_refuses_in_a_strict_table_are_no_strict_types() {
    for name in ["", "NUMERIC", "VARCHAR", "INTEGER(4)"] {
        assert_eq!(StrictType::of_declared_type(name), None);
        let db = Connection::open_in_memory().expect("opens");
        db.execute_batch(&format!("CREATE TABLE t(a {name}) STRICT")).expect_err("no such type");
    }
}

#[test]
fn an_integer_primary_key_accepts_and_stores_the_same_values_as_in_sqlite() {
    let mut random = Random::seeded(4);
    let mut values: Vec<_> = odd_texts().into_iter().map(Owned::Text).collect();
    values.extend(edges_of_ints().into_iter().map(Owned::Int));
    values.extend(edges_of_reals().into_iter().map(Owned::Real));
    values.extend(edges_of_reals().into_iter().map(|real| Owned::Text(format!("{real:?}").into_bytes())));
    values.extend([Owned::Null, Owned::Blob(b"5".to_vec())]);
    values.extend((0..values_tried(20)).map(|_| random.value()));
    for strict in ["", " STRICT"] {
        let db = Connection::open_in_memory().expect("opens");
        db.execute_batch(&format!("CREATE TABLE t(a INTEGER PRIMARY KEY){strict}; BEGIN")).expect("creates");
        let mut insert = db.prepare("INSERT INTO t VALUES (?1)").expect("prepares");
        for value in &values {
            db.execute_batch("DELETE FROM t; INSERT INTO t VALUES (77)").expect("clears");
            let theirs = match insert.execute([value]) {
                Ok(_) if db.last_insert_rowid() == 78 && to_rowid(value.value()) == Rowid::Next => {
                    Rowid::Next
                }
                Ok(_) => Rowid::Given(db.last_insert_rowid()),
                Err(error) => match error.sqlite_error().map(|e| e.code) {
                    Some(ErrorCode::TypeMismatch) => Rowid::Mismatch,
                    Some(ErrorCode::ConstraintViolation) => Rowid::Given(77),
                    other => panic!("{other:?}"),
                },
            };
            assert_eq!(to_rowid(value.value()), theirs, "{}", show(value));
        }
    }
}

#[test]
fn a_declared_type_has_the_affinity_that_sqlite_gives_it() {
    let parts = [
        "int", "CHAR", "clob", "TEXT", "BLOB", "real", "FLOA", "doub", "ANY", "x", "(1)", "Un", "ıNT", "date",
    ];
    let mut random = Random::seeded(5);
    for _ in 0..2_000 {
        let declared: String = (0..1 + random.below(3)).map(|_| *random.pick(&parts)).collect();
        let db = Connection::open_in_memory().expect("opens");
        db.execute_batch(&format!(
            "CREATE TABLE t(a \"{declared}\"); INSERT INTO t VALUES (5), ('5'), ('9.5e18')"
        ))
        .expect("creates");
        let types: String =
            db.query_row("SELECT group_concat(typeof(a)) FROM t", [], |row| row.get(0)).expect("a row");
        let expected = match Affinity::of_declared_type(&declared) {
            Affinity::Blob => "integer,text,text",
            Affinity::Text => "text,text,text",
            Affinity::Numeric | Affinity::Integer => "integer,integer,real",
            Affinity::Real => "real,real,real",
        };
        assert_eq!(types, expected, "{declared:?}");
    }
}

#[test]
fn a_conversion_of_text_to_a_number_reports_what_would_be_lost() {
    let cases: [(&[u8], Option<Loss>, Option<Loss>); 30] = [
        // A text, the loss in an INTEGER column, and the loss in a REAL column.
        (b"12", None, None),
        (b"007", None, None),
        (b"0.1", None, None),
        (b"abc", None, None),
        (b"12\0abc", Some(Loss::Nul), Some(Loss::Nul)),
        (b"12\0", Some(Loss::Nul), Some(Loss::Nul)),
        (b"1e400\0", Some(Loss::Nul), Some(Loss::Nul)),
        (b"abc\0", None, None),
        (b"12345678901234567890", Some(Loss::BeyondInt64), None),
        (b"-12345678901234567890", Some(Loss::BeyondInt64), None),
        (b"9223372036854775808", Some(Loss::BeyondInt64), None),
        (b"-9223372036854775808", None, None),
        (b"9223372036854775808.0", None, None),
        (b"1e400", Some(Loss::Overflow), Some(Loss::Overflow)),
        (b"-1e400", Some(Loss::Overflow), Some(Loss::Overflow)),
        (b"1.7976931348623157e308", None, None),
        (b"1e-400", Some(Loss::Underflow), Some(Loss::Underflow)),
        (b"0e-400", None, None),
        (b"0.0000000000000000000", None, None),
        (b"5e-324", None, None),
        (b"2e-324", Some(Loss::Underflow), Some(Loss::Underflow)),
        (b"3.14159265358979323846", None, None),
        (b"9007199254740993.0", Some(Loss::Rounded), None),
        (b"-9007199254740993.0", Some(Loss::Rounded), None),
        (b" +9007199254740992.00 \x0b", None, None),
        (b"9.007199254740993e15", Some(Loss::Rounded), None),
        (b"00120.00e+1", None, None),
        (b"0.00000000000000000e5\n", None, None),
        (b"1.00000000000000000001", Some(Loss::Rounded), None),
        (b"1200000000000000000000e-20", None, None),
    ];
    for (text, in_integer, in_real) in cases {
        let loss = |affinity| text_to_number_checked(text, affinity).1;
        let text = text.escape_ascii();
        assert_eq!(loss(Affinity::Integer), in_integer, "{text}");
        assert_eq!(loss(Affinity::Numeric), in_integer, "{text}");
        assert_eq!(loss(Affinity::Real), in_real, "{text}");
        assert_eq!(loss(Affinity::Text), None, "{text}");
    }
    let many_digits = [b'1'; 400];
    assert_eq!(text_to_number_checked(&many_digits, Affinity::Real).1, Some(Loss::Overflow));
    assert_eq!(text_to_number_checked(&many_digits, Affinity::Integer).1, Some(Loss::BeyondInt64));
}
