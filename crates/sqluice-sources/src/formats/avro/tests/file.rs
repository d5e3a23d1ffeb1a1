//! Writes Avro files byte by byte.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// The 16 bytes that end the header and each block.
pub(super) const SYNC: &[u8; 16] = b"sixteen bytes ..";

/// Appends a `long`.
pub(super) fn long(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Appends `bytes` or a `string`.
pub(super) fn bytes(value: &[u8], out: &mut Vec<u8>) {
    long(value.len() as i64, out);
    out.extend_from_slice(value);
}

/// Returns the header of a file with this schema and codec.
pub(super) fn header(schema: &str, codec: &str) -> Vec<u8> {
    let mut out = b"Obj\x01".to_vec();
    long(2, &mut out);
    for (name, value) in [("avro.schema", schema), ("avro.codec", codec)] {
        bytes(name.as_bytes(), &mut out);
        bytes(value.as_bytes(), &mut out);
    }
    long(0, &mut out);
    out.extend_from_slice(SYNC);
    out
}

/// Appends a block of compressed records.
pub(super) fn block(records: i64, data: &[u8], out: &mut Vec<u8>) {
    long(records, out);
    bytes(data, out);
    out.extend_from_slice(SYNC);
}

/// Compresses the records of a block.
pub(super) fn packed(codec: &str, data: &[u8]) -> Vec<u8> {
    match codec {
        "deflate" => {
            let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(data).unwrap();
            encoder.finish().unwrap()
        }
        "zstandard" => zstd::stream::encode_all(data, 1).unwrap(),
        "snappy" => {
            let mut packed = snap::raw::Encoder::new().compress_vec(data).unwrap();
            let mut sum = flate2::Crc::new();
            sum.update(data);
            packed.extend_from_slice(&sum.sum().to_be_bytes());
            packed
        }
        _ => data.to_vec(),
    }
}

/// Returns a file of one block.
pub(super) fn file(schema: &str, records: i64, data: &[u8]) -> Vec<u8> {
    let mut out = header(schema, "null");
    block(records, data, &mut out);
    out
}

/// Returns the schema of a record with one field, `v`, of the type `kind`.
pub(super) fn of_field(kind: &str) -> String {
    format!(r#"{{"type":"record","name":"r","fields":[{{"name":"v","type":{kind}}}]}}"#)
}
