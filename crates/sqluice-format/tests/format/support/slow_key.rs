//! A slow comparison of keys, value by value, as SQLite's documentation describes the order. Tests compare the fast comparison with it.

use std::cmp::Ordering;

use sqluice_format::key::{Collation, KeyColumn};
use sqluice_format::record;
use sqluice_format::value::Value;

/// Compares two records by their first columns.
pub(crate) fn compare(order: &[KeyColumn], a: &[u8], b: &[u8]) -> Ordering {
    let (a, b) = (record::decode(a).unwrap(), record::decode(b).unwrap());
    let pairs = a.iter().zip(&b).zip(order);
    pairs
        .map(|((a, b), column)| compare_values(*column, a, b))
        .find(|order| order.is_ne())
        .unwrap_or(Ordering::Equal)
}

fn compare_values(column: KeyColumn, a: &Value<'_>, b: &Value<'_>) -> Ordering {
    let class = |value: &Value<'_>| match value {
        Value::Null => 0,
        Value::Int(_) | Value::Real(_) => 1,
        Value::Text(_) => 2,
        Value::Blob(_) => 3,
    };
    let order = match (a, b) {
        (Value::Int(a), Value::Int(b)) => a.cmp(b),
        (Value::Real(a), Value::Real(b)) => a.partial_cmp(b).unwrap(),
        (Value::Int(a), Value::Real(b)) => compare_int_real(*a, *b),
        (Value::Real(a), Value::Int(b)) => compare_int_real(*b, *a).reverse(),
        (Value::Text(a), Value::Text(b)) => compare_texts(column.collation, a, b),
        (Value::Blob(a), Value::Blob(b)) => a.cmp(b),
        _ => class(a).cmp(&class(b)),
    };
    if column.descending { order.reverse() } else { order }
}

fn compare_texts(collation: Collation, a: &[u8], b: &[u8]) -> Ordering {
    match collation {
        Collation::Binary => a.cmp(b),
        Collation::RTrim => {
            let mut texts = [a.to_vec(), b.to_vec()];
            texts.iter_mut().for_each(|text| while text.pop_if(|byte| *byte == b' ').is_some() {});
            texts[0].cmp(&texts[1])
        }
        Collation::NoCase => {
            let until_nul = |text: &[u8]| text.split(|&byte| byte == 0).next().unwrap().to_ascii_lowercase();
            until_nul(a).cmp(&until_nul(b)).then(a.len().cmp(&b.len()))
        }
    }
}

/// Compares in 128 bits, which hold the whole part of every float between the limits of integers.
fn compare_int_real(int: i64, real: f64) -> Ordering {
    let whole = real.floor();
    let order = i128::from(int).cmp(&(whole as i128));
    // If the whole parts are equal, a fraction makes the float larger.
    order.then(if real > whole { Ordering::Less } else { Ordering::Equal })
}
