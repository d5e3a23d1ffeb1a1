//! A connection to a server: TCP, encrypted or not, or a Unix domain socket, which is never encrypted.
//!
//! Invariant: while waiting, the flag that cancels the run is checked every [`PATIENCE`], and a server that is silent for too long is an error.

use std::io::{self, ErrorKind, Read, Write};
#[cfg(feature = "postgres")]
use std::net::Shutdown;
use std::net::{TcpStream, ToSocketAddrs};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use crossbeam_channel::{RecvTimeoutError, bounded};
use rustls::{ClientConnection, StreamOwned};
use socket2::{SockRef, TcpKeepalive};
use sqluice_core::error::{Error, Result, Setting, message};
use sqluice_core::progress::Cancel;
use sqluice_platform::local_sockets::LocalSocket;

use crate::tls::Tls;

/// The maximum time between two checks for cancellation.
const PATIENCE: Duration = Duration::from_millis(50);

/// The time without data after which TCP keepalive asks if the server's host is still there. A query may be silent for hours; without these
/// questions, the client would wait without end for a host that has disappeared.
const ASKED_AFTER: Duration = Duration::from_secs(60);
/// The time between two questions of TCP keepalive that get no answer.
const ASKED_EVERY: Duration = Duration::from_secs(15);

/// The place where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A host and its port.
    Tcp(String, u16),
    /// The path of a Unix domain socket.
    Unix(PathBuf),
}

impl Place {
    /// Returns the host for certificates and messages.
    pub(crate) fn host(&self) -> String {
        match self {
            Place::Tcp(host, _) => host.clone(),
            Place::Unix(path) => path.display().to_string(),
        }
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Tcp(host, port) => write!(f, "{host}, port {port}"),
            Place::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

/// The maximum waiting times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The maximum time to connect.
    pub(crate) connect: Duration,
    /// The maximum time without a byte from the server; `None` for no limit.
    pub(crate) silence: Option<Duration>,
}

/// A connection to a server.
pub(crate) struct Socket {
    stream: Stream,
    place: Place,
    limits: Limits,
    cancel: Cancel,
    /// `true` once the server has closed the connection.
    pub(crate) is_lost: bool,
}

enum Stream {
    Tcp(TcpStream),
    Local(LocalSocket),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
    /// The state while the stream is replaced by an encrypted one.
    Closed,
}

impl Socket {
    /// Connects to a server.
    ///
    /// # Errors
    /// If no server listens at `place`.
    pub(crate) fn connect(place: &Place, limits: Limits, cancel: &Cancel) -> Result<Socket> {
        cancel.check()?;
        let failed = |error: io::Error| {
            let hint = match error.kind() {
                ErrorKind::ConnectionRefused => {
                    "no server listens there: check that the server runs, and check its port"
                }
                ErrorKind::NotFound => {
                    "there is no such socket: check that the server runs, and check the folder of its sockets"
                }
                ErrorKind::TimedOut => "the host does not answer: check its name, and firewalls",
                _ => "check the name of the host, and that the server runs",
            };
            Error::input(format!("cannot connect to {place}")).because(error).hint(hint)
        };
        let stream = match place {
            Place::Tcp(host, port) => Stream::Tcp(tcp(host, *port, limits.connect, cancel)?.map_err(failed)?),
            Place::Unix(path) => Stream::Local(LocalSocket::connect(path, PATIENCE).map_err(failed)?),
        };
        Ok(Socket { stream, place: place.clone(), limits, cancel: cancel.clone(), is_lost: false })
    }

    /// Returns `true` for a TCP connection, `false` for a Unix domain socket.
    pub(crate) fn is_tcp(&self) -> bool {
        !matches!(self.place, Place::Unix(_))
    }

    /// Returns `true` for an encrypted connection.
    #[cfg_attr(not(feature = "mysql"), allow(dead_code))]
    pub(crate) fn is_encrypted(&self) -> bool {
        matches!(self.stream, Stream::Encrypted(_))
    }

    /// Encrypts a TCP connection; a Unix domain socket stays as it is. Call this once the server has agreed to TLS.
    ///
    /// # Errors
    /// If the server does not speak TLS, its certificate is refused, the handshake takes too long, or the run is cancelled.
    pub(crate) fn encrypt(&mut self, tls: &Tls) -> Result<()> {
        match std::mem::replace(&mut self.stream, Stream::Closed) {
            Stream::Tcp(tcp) => {
                let since = Instant::now();
                let mut wait = || {
                    self.cancel.check()?;
                    match since.elapsed() < self.limits.connect {
                        true => Ok(()),
                        false => Err(self.lost(ErrorKind::TimedOut.into())),
                    }
                };
                let connection = tls.encrypt(&self.place.host(), &tcp, &mut wait)?.conn;
                self.stream = Stream::Encrypted(Box::new(StreamOwned::new(connection, tcp)));
            }
            other => self.stream = other,
        }
        Ok(())
    }

    /// Sets the maximum time without a byte from the server.
    pub(crate) fn set_silence(&mut self, silence: Option<Duration>) {
        self.limits.silence = silence;
    }

    /// Reads some bytes, at least one.
    ///
    /// # Errors
    /// If the connection ends, the server is silent for too long, or the run is cancelled.
    pub(crate) fn read_some(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let mut silent_since = None;
        loop {
            self.cancel.check()?;
            match self.stream.read(buffer) {
                Ok(0) => {
                    self.is_lost = true;
                    return Err(self.lost(ErrorKind::UnexpectedEof.into()));
                }
                Ok(bytes) => return Ok(bytes),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => self.wait(&mut silent_since)?,
                Err(error) => return Err(self.lost(error)),
            }
        }
    }

    /// Fills the buffer.
    ///
    /// # Errors
    /// As [`Socket::read_some`].
    #[cfg(feature = "postgres")]
    pub(crate) fn read_all(&mut self, mut buffer: &mut [u8]) -> Result<()> {
        while !buffer.is_empty() {
            let bytes = self.read_some(buffer)?;
            buffer = &mut buffer[bytes..];
        }
        Ok(())
    }

    /// Writes all bytes.
    ///
    /// # Errors
    /// As [`Socket::read_some`].
    pub(crate) fn send(&mut self, mut bytes: &[u8]) -> Result<()> {
        let mut silent_since = None;
        while !bytes.is_empty() {
            match self.stream.write(bytes) {
                Ok(0) => return Err(self.lost(ErrorKind::WriteZero.into())),
                Ok(written) => (bytes, silent_since) = (&bytes[written..], None),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if is_timeout(&error) => {
                    self.cancel.check()?;
                    self.wait(&mut silent_since)?;
                }
                Err(error) => return Err(self.lost(error)),
            }
        }
        loop {
            match self.stream.flush() {
                Ok(()) => return Ok(()),
                Err(error) if is_timeout(&error) || error.kind() == ErrorKind::Interrupted => {
                    self.cancel.check()?;
                    self.wait(&mut silent_since)?;
                }
                Err(error) => return Err(self.lost(error)),
            }
        }
    }

    /// Closes the connection in both directions. A thread that waits for the connection ends, too.
    #[cfg(feature = "postgres")]
    pub(crate) fn close(&mut self) {
        let _ = match &self.stream {
            Stream::Tcp(tcp) => tcp.shutdown(Shutdown::Both),
            Stream::Local(local) => local.end(),
            Stream::Encrypted(encrypted) => encrypted.sock.shutdown(Shutdown::Both),
            Stream::Closed => Ok(()),
        };
    }

    fn wait(&self, silent_since: &mut Option<Instant>) -> Result<()> {
        let since = *silent_since.get_or_insert_with(Instant::now);
        match self.limits.silence {
            Some(limit) if since.elapsed() >= limit => {
                let message =
                    format!("the server at {} was silent for {} seconds", self.place, limit.as_secs());
                Err(Error::input(message).hint(message!["wait longer: ", Setting::Timeout.to("DURATION")]))
            }
            _ => Ok(()),
        }
    }

    fn lost(&self, error: io::Error) -> Error {
        Error::input(format!("lost the connection to {}", self.place)).because(error)
    }
}

/// Connects to the first address of a host that accepts the connection. The inner error is the error of the last address. Name resolution and
/// `connect` can't be interrupted, so they run on another thread while this one checks for cancellation.
fn tcp(host: &str, port: u16, limit: Duration, cancel: &Cancel) -> Result<io::Result<TcpStream>> {
    let (connected, found) = bounded(1);
    let name = host.to_owned();
    thread::spawn(move || {
        let _ = connected.send(tcp_of_thread(&name, port, limit));
    });
    loop {
        match found.recv_timeout(PATIENCE) {
            Ok(found) => return found,
            Err(RecvTimeoutError::Timeout) => cancel.check()?,
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Error::input(format!("the thread that connects to {host} ended early")));
            }
        }
    }
}

fn tcp_of_thread(host: &str, port: u16, limit: Duration) -> Result<io::Result<TcpStream>> {
    let addresses = match (host, port).to_socket_addrs() {
        Ok(addresses) => addresses,
        Err(error) => {
            return Err(Error::input(format!("cannot find the address of {host}"))
                .because(error)
                .hint("check the name of the host in the URL"));
        }
    };
    let mut last = io::Error::from(ErrorKind::NotFound);
    for address in addresses {
        let connect = || {
            let stream = TcpStream::connect_timeout(&address, limit)?;
            stream.set_nodelay(true)?;
            let asks = TcpKeepalive::new().with_time(ASKED_AFTER).with_interval(ASKED_EVERY);
            SockRef::from(&stream).set_tcp_keepalive(&asks)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            Ok(stream)
        };
        match connect() {
            Ok(stream) => return Ok(Ok(stream)),
            Err(error) => last = error,
        }
    }
    Ok(Err(last))
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

impl Stream {
    fn closed() -> io::Error {
        ErrorKind::NotConnected.into()
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(tcp) => tcp.read(buffer),
            Stream::Local(local) => local.read(buffer),
            Stream::Encrypted(encrypted) => encrypted.read(buffer),
            Stream::Closed => Err(Stream::closed()),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(tcp) => tcp.write(bytes),
            Stream::Local(local) => local.write(bytes),
            Stream::Encrypted(encrypted) => encrypted.write(bytes),
            Stream::Closed => Err(Stream::closed()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(tcp) => tcp.flush(),
            Stream::Local(local) => local.flush(),
            Stream::Encrypted(encrypted) => encrypted.flush(),
            Stream::Closed => Err(Stream::closed()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn the_connection_of_a_thread_uses_tcp_keepalive() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let stream = tcp_of_thread("127.0.0.1", port, Duration::from_secs(10)).unwrap().unwrap();
        assert!(SockRef::from(&stream).keepalive().unwrap());
    }
}
