//! A growing buffer of pages that begins where direct I/O wants it.

/// Buffers begin at a multiple of this many bytes in memory, which is what direct I/O asks for.
pub const ALIGNMENT: usize = 4096;

/// Bytes that begin at a multiple of [`ALIGNMENT`].
#[derive(Debug, Default)]
pub struct AlignedBuffer {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// An empty buffer with room for `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> AlignedBuffer {
        let mut buffer = AlignedBuffer::default();
        buffer.reserve(bytes);
        buffer
    }

    /// Bytes that it can hold without moving.
    pub fn capacity(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Makes room for `bytes` bytes in all.
    pub fn reserve(&mut self, bytes: usize) {
        if bytes > self.capacity() {
            let mut buffer = vec![0; bytes + ALIGNMENT];
            let start = buffer.as_ptr().align_offset(ALIGNMENT);
            buffer[start..start + self.len].copy_from_slice(self.bytes());
            (self.buffer, self.start) = (buffer, start);
        }
    }

    /// Makes it `len` bytes long. What it gains holds anything: the caller writes every byte.
    pub fn set_len(&mut self, len: usize) {
        self.reserve(len);
        self.len = len;
    }

    /// Appends `bytes`.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let at = self.len;
        let needed = at + bytes.len();
        if needed > self.capacity() {
            self.reserve(needed.next_power_of_two());
        }
        self.len = needed;
        self.bytes_mut()[at..].copy_from_slice(bytes);
    }

    /// The bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.start + self.len]
    }

    /// The bytes.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.start + self.len]
    }
}
