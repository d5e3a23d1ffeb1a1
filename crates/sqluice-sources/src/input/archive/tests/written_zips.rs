//! Writes ZIP archives for tests, including invalid ones.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// A member to write.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) name: Vec<u8>,
    pub(super) data: Vec<u8>,
    /// The number of the compression method in ZIP.
    pub(super) method: u16,
    pub(super) flags: u16,
    pub(super) made_by: u16,
    pub(super) attributes: u32,
    /// The extra fields in the directory.
    pub(super) extra: Vec<u8>,
    /// The extra fields in the local header.
    pub(super) local_extra: Vec<u8>,
    pub(super) comment: Vec<u8>,
    /// `true` if sizes and checksum are in a descriptor after the data.
    pub(super) has_descriptor: bool,
    /// `true` if sizes and offset are in an extra field with 64-bit numbers.
    pub(super) is_wide: bool,
}

impl File {
    pub(super) fn new(name: &str, data: &[u8], method: u16) -> File {
        File {
            name: name.as_bytes().to_vec(),
            data: data.to_vec(),
            method,
            flags: 1 << 11,
            made_by: 3 << 8 | 30,
            attributes: 0o100_644 << 16,
            extra: Vec::new(),
            local_extra: Vec::new(),
            comment: Vec::new(),
            has_descriptor: false,
            is_wide: false,
        }
    }

    /// Returns the data, compressed with the method.
    fn packed(&self) -> Vec<u8> {
        match self.method {
            8 => {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(6));
                encoder.write_all(&self.data).unwrap();
                encoder.finish().unwrap()
            }
            #[cfg(feature = "bzip2-xz")]
            12 => crate::input::tests::bzip2(&self.data),
            20 | 93 => crate::input::tests::zstd(&self.data),
            #[cfg(feature = "bzip2-xz")]
            95 => crate::input::tests::xz(&self.data),
            _ => self.data.clone(),
        }
    }
}

/// An archive to write.
#[derive(Clone, Debug, Default)]
pub(super) struct Zip {
    pub(super) files: Vec<File>,
    pub(super) prefix: Vec<u8>,
    /// `true` if offsets count from the start of the file, not from the end of the prefix.
    pub(super) counts_prefix: bool,
    pub(super) comment: Vec<u8>,
    /// `true` if the archive has a 64-bit end record.
    pub(super) is_wide: bool,
}

/// A written archive, and the offsets of its parts.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) bytes: Vec<u8>,
    /// The offset of each entry of the directory.
    pub(super) entries: Vec<usize>,
    /// The offset of each local header.
    pub(super) headers: Vec<usize>,
    pub(super) end: usize,
}

impl Written {
    /// Overwrites bytes from the offset `at` on.
    pub(super) fn set(&mut self, at: usize, bytes: &[u8]) -> &mut Written {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
        self
    }
}

/// Returns an archive of these files.
pub(super) fn zip(files: &[File]) -> Written {
    Zip { files: files.to_vec(), ..Zip::default() }.write()
}

fn crc(data: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(data);
    crc.sum()
}

impl Zip {
    pub(super) fn write(&self) -> Written {
        let mut out = self.prefix.clone();
        let base = if self.counts_prefix { 0 } else { self.prefix.len() };
        let (mut headers, mut entries, mut directory) = (Vec::new(), Vec::new(), Vec::new());
        for file in &self.files {
            let packed = file.packed();
            headers.push(out.len());
            let offset = (out.len() - base) as u64;
            let flags = file.flags | u16::from(file.has_descriptor) << 3;
            let sizes = [packed.len() as u64, file.data.len() as u64];
            let crc = crc(&file.data);
            let local = if file.has_descriptor { (0, [0, 0]) } else { (crc, sizes) };
            out.extend(b"PK\x03\x04\x2d\0");
            out.extend(flags.to_le_bytes());
            out.extend(file.method.to_le_bytes());
            out.extend([0; 4]);
            out.extend(local.0.to_le_bytes());
            local.1.iter().for_each(|size| out.extend(narrow(*size)));
            out.extend((file.name.len() as u16).to_le_bytes());
            out.extend((file.local_extra.len() as u16).to_le_bytes());
            out.extend(&file.name);
            out.extend(&file.local_extra);
            out.extend(&packed);
            if file.has_descriptor {
                out.extend(b"PK\x07\x08");
                out.extend(crc.to_le_bytes());
                sizes.iter().for_each(|size| out.extend(narrow(*size)));
            }
            let mut extra = file.extra.clone();
            if file.is_wide {
                extra.extend([1, 0, 24, 0]);
                [sizes[1], sizes[0], offset].iter().for_each(|value| extra.extend(value.to_le_bytes()));
            }
            let field = |value: u64| if file.is_wide { [0xff; 4] } else { narrow(value) };
            entries.push(directory.len());
            directory.extend(b"PK\x01\x02");
            directory.extend(file.made_by.to_le_bytes());
            directory.extend([45, 0]);
            directory.extend(flags.to_le_bytes());
            directory.extend(file.method.to_le_bytes());
            directory.extend([0; 4]);
            directory.extend(crc.to_le_bytes());
            sizes.iter().for_each(|size| directory.extend(field(*size)));
            directory.extend((file.name.len() as u16).to_le_bytes());
            directory.extend((extra.len() as u16).to_le_bytes());
            directory.extend((file.comment.len() as u16).to_le_bytes());
            directory.extend([0; 4]);
            directory.extend(file.attributes.to_le_bytes());
            directory.extend(field(offset));
            directory.extend(&file.name);
            directory.extend(&extra);
            directory.extend(&file.comment);
        }
        let start = out.len();
        entries.iter_mut().for_each(|entry| *entry += start);
        out.extend(&directory);
        let (offset, bytes, count) = ((start - base) as u64, directory.len() as u64, self.files.len() as u64);
        if self.is_wide {
            let at = (out.len() - base) as u64;
            out.extend(b"PK\x06\x06");
            out.extend(44_u64.to_le_bytes());
            out.extend([45, 0, 45, 0]);
            out.extend([0; 8]);
            [count, count, bytes, offset].iter().for_each(|value| out.extend(value.to_le_bytes()));
            out.extend(b"PK\x06\x07\0\0\0\0");
            out.extend(at.to_le_bytes());
            out.extend(1_u32.to_le_bytes());
        }
        let end = out.len();
        let field = |value: u64| if self.is_wide { [0xff; 4] } else { narrow(value) };
        out.extend(b"PK\x05\x06\0\0\0\0");
        let count = if self.is_wide { [0xff; 2] } else { (count as u16).to_le_bytes() };
        out.extend(count);
        out.extend(count);
        out.extend(field(bytes));
        out.extend(field(offset));
        out.extend((self.comment.len() as u16).to_le_bytes());
        out.extend(&self.comment);
        Written { bytes: out, entries, headers, end }
    }
}

fn narrow(value: u64) -> [u8; 4] {
    u32::try_from(value).unwrap().to_le_bytes()
}
