//! Writers of ZIP and tar archives. Files in ZIP are compressed if that makes them smaller.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};

/// A file to pack: its name in the archive, and its content.
pub type Packed = (String, Vec<u8>);

/// Returns a ZIP archive of these files. A name that ends in a slash is a folder.
pub fn zip(files: &[(impl AsRef<str>, impl AsRef<[u8]>)]) -> Vec<u8> {
    let flagged = files.iter().map(|(name, data)| (name.as_ref(), data.as_ref(), 0));
    zip_with_flags(&flagged.collect::<Vec<_>>())
}

/// Returns a ZIP archive of these files, each with its general purpose flags: bit 0 marks an encrypted file.
pub fn zip_with_flags(files: &[(&str, &[u8], u16)]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, data, flags) in files {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(data).unwrap();
        let deflated = encoder.finish().unwrap();
        let is_smaller = deflated.len() < data.len();
        let (method, packed): (u16, &[u8]) = if is_smaller { (8, &deflated) } else { (0, data) };
        let mut crc = Crc::new();
        crc.update(data);
        let offset = out.len() as u32;
        let mut about = Vec::new();
        about.extend(20_u16.to_le_bytes());
        about.extend((flags | 1 << 11).to_le_bytes());
        about.extend(method.to_le_bytes());
        about.extend([0; 4]);
        about.extend(crc.sum().to_le_bytes());
        about.extend((packed.len() as u32).to_le_bytes());
        about.extend((data.len() as u32).to_le_bytes());
        about.extend((name.len() as u16).to_le_bytes());
        about.extend([0; 2]);
        out.extend(b"PK\x03\x04");
        out.extend(&about);
        out.extend(name.as_bytes());
        out.extend(packed);
        directory.extend(b"PK\x01\x02\x14\x03");
        directory.extend(&about);
        directory.extend([0; 6]);
        directory.extend((0o100_644_u32 << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let start = out.len() as u32;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    let count = files.len() as u16;
    out.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0; 2]);
    out
}

/// Returns a tar archive of these files. A name that ends in a slash is a folder.
pub fn tar(files: &[(impl AsRef<str>, impl AsRef<[u8]>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, data) in files {
        let (name, data) = (name.as_ref(), data.as_ref());
        if name.len() > 100 {
            out.extend(header("././@LongLink", name.len() + 1, b'L'));
            pad(&mut out, &[name.as_bytes(), b"\0"].concat());
        }
        let kind = if name.ends_with('/') { b'5' } else { b'0' };
        out.extend(header(&name[..name.floor_char_boundary(100)], data.len(), kind));
        pad(&mut out, data);
    }
    out.extend([0; 1024]);
    out
}

/// Appends data to a tar archive, and then zeros up to the end of the block of 512 bytes.
fn pad(out: &mut Vec<u8>, data: &[u8]) {
    out.extend(data);
    out.resize(out.len().next_multiple_of(512), 0);
}

fn header(name: &str, bytes: usize, kind: u8) -> [u8; 512] {
    let mut header = [0; 512];
    let mut set = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    set(0, name.as_bytes());
    set(100, b"0000644\0");
    set(124, format!("{bytes:011o}\0").as_bytes());
    set(136, b"00000000000\0");
    set(148, b"        ");
    set(156, &[kind]);
    set(257, b"ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// Compresses bytes with gzip.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Returns the files and folders below a folder, in no particular order, with the names that they have in an archive of it.
pub fn files_below(root: &Path) -> Vec<Packed> {
    let mut files = Vec::new();
    let mut folders: Vec<(PathBuf, String)> = vec![(root.to_owned(), String::new())];
    while let Some((folder, prefix)) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{prefix}{}", entry.file_name().to_str().unwrap());
            if entry.path().is_dir() {
                files.push((format!("{name}/"), Vec::new()));
                folders.push((entry.path(), format!("{name}/")));
            } else {
                files.push((name, fs::read(entry.path()).unwrap()));
            }
        }
    }
    files
}
