//! A growing byte buffer for pages. Its first byte is aligned in memory, as direct I/O requires.

/// The alignment of buffers in bytes: direct I/O requires buffers that begin at a multiple of this number.
pub const ALIGNMENT: usize = 4096;

/// A growing byte buffer that begins at a multiple of [`ALIGNMENT`].
#[derive(Debug, Default)]
pub struct AlignedBuffer {
    buffer: Vec<u8>,
    start: usize,
    len: usize,
}

impl AlignedBuffer {
    /// Returns the number of bytes that the buffer can hold without moving.
    pub fn capacity(&self) -> usize {
        self.buffer.len() - self.start
    }

    /// Makes room for `bytes` bytes in total.
    pub fn reserve(&mut self, bytes: usize) {
        if bytes > self.capacity() {
            let mut buffer = vec![0; bytes + ALIGNMENT];
            let start = buffer.as_ptr().align_offset(ALIGNMENT);
            buffer[start..start + self.len].copy_from_slice(self.bytes());
            (self.buffer, self.start) = (buffer, start);
        }
    }

    /// Sets the length to `len` bytes. Added bytes have arbitrary values: the caller must write every one of them.
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

    /// Returns the bytes.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.start + self.len]
    }

    /// Returns the bytes for writing.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_aligned_buffer_stays_aligned_and_keeps_the_bytes() {
        let mut buffer = AlignedBuffer::default();
        buffer.reserve(10);
        assert_eq!(buffer.bytes(), []);
        assert!(buffer.capacity() >= 10);
        let mut expected = Vec::new();
        for i in 0..20_000_u32 {
            buffer.extend_from_slice(&i.to_be_bytes());
            expected.extend_from_slice(&i.to_be_bytes());
            assert!(buffer.capacity() < 4 * expected.len() + 2 * ALIGNMENT);
        }
        assert_eq!(buffer.bytes(), expected);
        assert_eq!(buffer.bytes().as_ptr().align_offset(ALIGNMENT), 0);
        buffer.set_len(200_000);
        assert_eq!((&buffer.bytes()[..80_000], buffer.bytes().len()), (&expected[..], 200_000));
        buffer.bytes_mut()[199_999] = 7;
        assert_eq!(buffer.bytes()[199_999], 7);
        buffer.set_len(3);
        assert_eq!(buffer.bytes(), &expected[..3]);
    }

    #[test]
    fn an_aligned_buffer_with_enough_capacity_does_not_move() {
        let mut buffer = AlignedBuffer::default();
        buffer.reserve(100_000);
        let (at, all) = (buffer.bytes().as_ptr(), buffer.capacity());
        buffer.reserve(all);
        for _ in 0..100 {
            buffer.extend_from_slice(&[1; 1000]);
        }
        buffer.extend_from_slice(&vec![1; all - 100_000]);
        assert_eq!((buffer.bytes().as_ptr(), buffer.capacity()), (at, all));
        assert_eq!(buffer.bytes(), vec![1; all]);
    }
}
