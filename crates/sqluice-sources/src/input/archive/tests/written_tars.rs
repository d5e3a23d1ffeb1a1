//! Writes tar archives for tests, including invalid ones.

/// Returns a header with its checksum.
pub(super) fn header(name: &[u8], bytes: u64, type_of_file: u8, magic: &[u8; 8]) -> Vec<u8> {
    let mut header = vec![0; 512];
    header[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
    header[100..108].copy_from_slice(b"0000644\0");
    header[124..136].copy_from_slice(&size(bytes));
    header[136..148].copy_from_slice(b"00000000000\0");
    header[156] = type_of_file;
    header[257..265].copy_from_slice(magic);
    sum(&mut header);
    header
}

pub(super) const USTAR: &[u8; 8] = b"ustar\x0000";
pub(super) const GNU: &[u8; 8] = b"ustar  \0";
pub(super) const V7: &[u8; 8] = &[0; 8];

/// Returns the field of a size: in octal digits, or in binary if the size is too large for them.
pub(super) fn size(bytes: u64) -> [u8; 12] {
    if bytes < 1 << 33 {
        return format!("{bytes:011o}\0").into_bytes().try_into().unwrap();
    }
    let mut field = [0; 12];
    field[0] = 0x80;
    field[4..].copy_from_slice(&bytes.to_be_bytes());
    field
}

/// Sets the checksum of a header.
pub(super) fn sum(header: &mut [u8]) {
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// Returns data, padded with zeros to whole blocks.
pub(super) fn blocks(data: &[u8]) -> Vec<u8> {
    let mut blocks = data.to_vec();
    blocks.resize(data.len().next_multiple_of(512), 0);
    blocks
}

/// Returns a file with its header.
pub(super) fn file(name: &str, data: &[u8]) -> Vec<u8> {
    [header(name.as_bytes(), data.len() as u64, b'0', USTAR), blocks(data)].concat()
}

/// Returns a header with pax properties, and its data.
pub(super) fn pax(type_of_file: u8, properties: &[(&str, &[u8])]) -> Vec<u8> {
    let mut data = Vec::new();
    for (key, value) in properties {
        let rest = [b" ", key.as_bytes(), b"=", value, b"\n"].concat();
        let mut length = rest.len() + 1;
        while length != rest.len() + length.to_string().len() {
            length += 1;
        }
        data.extend(length.to_string().into_bytes());
        data.extend(rest);
    }
    [header(b"PaxHeaders/x", data.len() as u64, type_of_file, USTAR), blocks(&data)].concat()
}

/// Returns an archive of these entries, with the zeros at its end.
pub(super) fn tar(parts: &[Vec<u8>]) -> Vec<u8> {
    [parts.concat(), vec![0; 1024]].concat()
}
