//! Packets on a socket: each has a header with its length and number. A message longer than a packet is joined from several packets.
//!
//! ```text
//! OFFSET  SIZE  DESCRIPTION
//!      0     3  the length of the payload, little-endian
//!      3     1  the number of the packet, counted from 0 in each exchange
//!      4     n  the payload; if it has 16,777,215 bytes, the message continues in the next packet
//! ```
//!
//! Payloads are borrowed from the buffer of the socket: reading a row that fits one packet allocates nothing.
//!
//! Invariant: the buffer has at most one incomplete packet, whatever lengths the server sends.

use std::time::Duration;

use sqluice_core::error::Error;

use crate::socket::Socket;
use crate::tls::Tls;

/// The maximum length of a payload. A message with a payload of this length continues in the next packet.
const PAYLOAD_BYTES_MAX: usize = (1 << 24) - 1;

/// The number of bytes of a packet before its payload.
const HEADER_BYTES: usize = 4;

/// The minimum free space at the end of the buffer for a read from the socket.
const READ_BYTES: usize = 256 << 10;

/// The maximum length of a message: servers allow rows of 1 GiB, to which the lengths of the values are added.
const MESSAGE_BYTES_MAX: usize = (1 << 30) + (1 << 24);

/// The reason why an exchange with a server failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The connection ended, the server was silent for too long, or the run was asked to stop.
    Socket(Error),
    /// The server broke the rules of the protocol. The text completes "the server's answer does not follow the protocol of MySQL: ".
    Malformed(&'static str),
    /// The server reported an error.
    Server(ServerError),
}

/// An error that the server reported.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerError {
    /// The number of the error, such as 1045.
    pub code: u16,
    /// The text of the error.
    pub text: String,
}

/// Sends and receives the messages of a connection: splits and joins their packets, and checks the numbers of the packets.
pub(super) struct Packets {
    socket: Socket,
    /// Received bytes. The bytes in `from..to` are not consumed yet.
    buffer: Vec<u8>,
    from: usize,
    to: usize,
    /// The joined payloads of a message of several packets.
    joined: Vec<u8>,
    /// The number of the next packet, counted from 0 in each exchange.
    number: u8,
}

impl Packets {
    /// Creates a sender and receiver of messages on a socket.
    pub(super) fn new(socket: Socket) -> Packets {
        Packets { socket, buffer: vec![0; READ_BYTES], from: 0, to: 0, joined: Vec::new(), number: 0 }
    }

    /// Sets the maximum time without a byte from the server; `None` for no limit.
    pub(super) fn allow_silence(&mut self, silence_max: Option<Duration>) {
        self.socket.set_silence(silence_max);
    }

    /// Returns `true` if the connection is a Unix domain socket, not TCP.
    pub(super) fn is_local(&self) -> bool {
        !self.socket.is_tcp()
    }

    /// Returns `true` if the connection is encrypted.
    pub(super) fn is_encrypted(&self) -> bool {
        self.socket.is_encrypted()
    }

    /// Encrypts all later packets.
    pub(super) fn encrypt(&mut self, tls: &Tls) -> Result<(), Fault> {
        // Bytes that arrive before TLS begins may come from an attacker, and would be taken for bytes of the encrypted stream.
        if self.from != self.to {
            return Err(Fault::Malformed("bytes before encryption began"));
        }
        self.socket.encrypt(tls).map_err(Fault::Socket)
    }

    /// Begins an exchange: the next packet has the number 0.
    pub(super) fn begin(&mut self) {
        self.number = 0;
    }

    /// Sends a payload, in several packets if it is long. The first packet that is not full ends the payload.
    pub(super) fn send(&mut self, mut payload: &[u8]) -> Result<(), Fault> {
        loop {
            let (part, rest) = payload.split_at(payload.len().min(PAYLOAD_BYTES_MAX));
            let mut packet = Vec::with_capacity(HEADER_BYTES + part.len());
            packet.extend_from_slice(&(part.len() as u32).to_le_bytes()[..3]);
            packet.push(self.number);
            packet.extend_from_slice(part);
            self.number = self.number.wrapping_add(1);
            self.socket.send(&packet).map_err(Fault::Socket)?;
            if part.len() < PAYLOAD_BYTES_MAX {
                return Ok(());
            }
            payload = rest;
        }
    }

    /// Returns the next message, joined from several packets if it is long.
    #[inline]
    pub(super) fn next(&mut self) -> Result<&[u8], Fault> {
        let length = self.header()?;
        if length < PAYLOAD_BYTES_MAX {
            let at = self.from;
            self.from += length;
            return Ok(&self.buffer[at..at + length]);
        }
        self.joined_payload(length)
    }

    /// Reads the header of a packet and waits for its payload. Returns the length of the payload, which begins at `from`.
    #[inline]
    fn header(&mut self) -> Result<usize, Fault> {
        self.fill(HEADER_BYTES)?;
        let [low, middle, high, number] = self.buffer[self.from..self.from + HEADER_BYTES] else {
            return Err(Fault::Malformed("a packet without a header"));
        };
        if number != self.number {
            return Err(Fault::Malformed("a packet out of order"));
        }
        let length = u32::from_le_bytes([low, middle, high, 0]) as usize;
        self.fill(HEADER_BYTES + length)?;
        self.number = self.number.wrapping_add(1);
        self.from += HEADER_BYTES;
        Ok(length)
    }

    #[cold]
    fn joined_payload(&mut self, first: usize) -> Result<&[u8], Fault> {
        self.joined.clear();
        let mut length = first;
        loop {
            if self.joined.len() + length > MESSAGE_BYTES_MAX {
                return Err(Fault::Malformed("a row of more than 1 GiB"));
            }
            // Allocate the exact size: a row may take most of the memory, so that doubling would be too much.
            self.joined.reserve_exact(length);
            self.joined.extend_from_slice(&self.buffer[self.from..self.from + length]);
            self.from += length;
            if length < PAYLOAD_BYTES_MAX {
                return Ok(&self.joined);
            }
            length = self.header()?;
        }
    }

    /// Reads until the buffer has `bytes` bytes that are not consumed yet.
    #[inline]
    fn fill(&mut self, bytes: usize) -> Result<(), Fault> {
        if self.to - self.from < bytes { self.fill_slowly(bytes) } else { Ok(()) }
    }

    #[cold]
    fn fill_slowly(&mut self, bytes: usize) -> Result<(), Fault> {
        self.buffer.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        while self.to < bytes {
            // Do not trust the length in the header: the buffer only grows with the bytes that arrive.
            if self.buffer.len() - self.to < READ_BYTES {
                let grown = (self.buffer.len() * 2).min(HEADER_BYTES + PAYLOAD_BYTES_MAX + READ_BYTES);
                self.buffer.resize(grown.max(self.to + READ_BYTES), 0);
            }
            self.to += self.socket.read_some(&mut self.buffer[self.to..]).map_err(Fault::Socket)?;
        }
        Ok(())
    }
}

/// A reader of the fields of a payload, from its start.
pub(super) struct Fields<'p>(pub &'p [u8]);

impl<'p> Fields<'p> {
    /// Reads `count` bytes.
    #[inline]
    pub(super) fn bytes(&mut self, count: usize) -> Result<&'p [u8], Fault> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Fault::Malformed("a field too long"))?;
        self.0 = rest;
        Ok(taken)
    }

    /// Reads `N` bytes.
    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Fault::Malformed("a field too long"))?;
        self.0 = rest;
        Ok(*taken)
    }

    /// Reads a byte.
    pub(super) fn byte(&mut self) -> Result<u8, Fault> {
        self.array::<1>().map(|[byte]| byte)
    }

    /// Reads the bytes up to the next zero byte, and skips the zero byte. Reads all bytes if there is no zero byte.
    pub(super) fn until_zero(&mut self) -> &'p [u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        let taken = &self.0[..end];
        self.0 = self.0.get(end + 1..).unwrap_or_default();
        taken
    }

    /// Reads a number of 1 to 9 bytes; the first byte says how many.
    pub(super) fn number(&mut self) -> Result<u64, Fault> {
        match self.byte()? {
            small @ 0..=0xfa => Ok(small.into()),
            0xfc => self.array().map(|two| u16::from_le_bytes(two).into()),
            0xfd => self.array().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]).into()),
            0xfe => self.array().map(u64::from_le_bytes),
            _ => Err(Fault::Malformed("an invalid length of a field")),
        }
    }

    /// Reads a string with its length; `None` for NULL.
    #[inline]
    pub(super) fn value(&mut self) -> Result<Option<&'p [u8]>, Fault> {
        match *self.0 {
            [length @ 0..=0xfa, ref rest @ ..] => {
                self.0 = rest;
                self.bytes(length.into()).map(Some)
            }
            [0xfb, ref rest @ ..] => {
                self.0 = rest;
                Ok(None)
            }
            _ => {
                let length = self.number()?;
                let length = usize::try_from(length).map_err(|_| Fault::Malformed("a field too long"))?;
                self.bytes(length).map(Some)
            }
        }
    }

    /// Reads a string with its length. NULL is an error.
    pub(super) fn string(&mut self) -> Result<&'p [u8], Fault> {
        self.value()?.ok_or(Fault::Malformed("NULL in a field that can't be NULL"))
    }
}

/// Reads an error message: its number and its text. Its SQLSTATE is skipped.
pub(super) fn server_error(payload: &[u8]) -> Fault {
    let mut fields = Fields(payload.get(1..).unwrap_or_default());
    let Ok(code) = fields.array() else { return Fault::Malformed("an error message without a number") };
    let text = match fields.0 {
        [b'#', _, _, _, _, _, text @ ..] => text,
        text => text,
    };
    Fault::Server(ServerError {
        code: u16::from_le_bytes(code),
        text: String::from_utf8_lossy(text).into_owned(),
    })
}
