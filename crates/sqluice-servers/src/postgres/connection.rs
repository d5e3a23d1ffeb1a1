//! A connection to a PostgreSQL server: the login, queries with small results, and the rows of COPY.
//!
//! ```text
//!  message: 1 byte kind | 4 bytes length, with these 4 | body
//! ```
//!
//! Rows of COPY are passed on as they arrive, because a row may be larger than any buffer. All other messages are read whole, up to
//! [`MESSAGE_BYTES_MAX`].
//!
//! Invariant: if a connection is dropped while the server runs a statement, the server is asked to cancel it.

use std::time::Duration;

use bytes::BytesMut;
use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::{md5_hash, sasl};
use postgres_protocol::message::backend::{Message, RowDescriptionBody};
use postgres_protocol::message::frontend;
use sqluice_core::error::{Error, Result};
use sqluice_core::progress::Cancel;
use sqluice_core::source::blocks::Block;

use super::server_error::ServerError;
use super::settings::Settings;
use crate::address::Secret;
use crate::socket::{Limits, Socket};
use crate::tls::Mode;

/// The size of the buffer for received bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// The maximum size of a message other than a row of COPY. The definition of a view may be long.
const MESSAGE_BYTES_MAX: usize = 256 << 20;

/// The maximum time for a request to cancel a statement.
const STOP_LIMIT: Duration = Duration::from_secs(2);

/// A row of a query, as text.
pub(super) type Row = Vec<Option<String>>;

/// A column of a query.
#[derive(Clone, Debug)]
pub(super) struct ResultColumn {
    pub(super) name: String,
    /// The OID of the column's type.
    pub(super) type_oid: u32,
    /// The modifier of the column's type, such as the number of digits.
    pub(super) modifier: i32,
}

/// An error that the server reported, or an error of the connection.
#[derive(Debug)]
pub(super) enum Failure {
    Server(ServerError),
    Other(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Other(error)
    }
}

impl Failure {
    /// Returns the error for the user. `doing` is the operation that failed, such as `cannot read table orders`.
    pub(super) fn into_error(self, doing: &str) -> Error {
        match self {
            Failure::Server(error) => error.into_error(doing),
            Failure::Other(error) => error,
        }
    }
}

/// A connection that is logged in.
pub(super) struct Connection {
    socket: Socket,
    settings: Settings,
    /// Received bytes. The bytes in `at..end` are not consumed yet.
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    /// The process number of the session and a secret, with which a statement can be cancelled.
    key: Option<(i32, i32)>,
    /// `true` while the server runs a statement.
    busy: bool,
    /// The number of bytes that are still missing of the current row of COPY.
    row_left: usize,
    /// The version of the server, such as 150018.
    pub(super) version: u32,
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// If the server can't be reached, or refuses the user.
    pub(super) fn open(settings: &Settings, cancel: &Cancel) -> Result<Connection> {
        let encrypted: &[bool] = match settings.tls.mode {
            Mode::Disable => &[false],
            Mode::Allow => &[false, true],
            Mode::Prefer => &[true, false],
            _ => &[true],
        };
        let mut first = None;
        for &encrypt in encrypted {
            let is_second = first.is_some();
            match Connection::start(settings, encrypt, cancel) {
                Ok(connection) => return Ok(connection),
                // A server may refuse encrypted or unencrypted connections only, so try the other kind.
                Err((failure, may_differ)) => {
                    let error = failure.into_error(&format!("cannot log in to {}", settings.place));
                    let is_last = encrypted.len() == 1 || is_second || !may_differ;
                    let error = match first.take() {
                        Some(earlier) if !may_differ || is_second => earlier,
                        _ => error,
                    };
                    if is_last {
                        return Err(error);
                    }
                    first = Some(error);
                }
            }
        }
        Err(first.unwrap_or_else(Error::interrupted))
    }

    /// Connects and logs in, encrypted if `encrypt` is `true`. The `bool` of the error is `true` if a connection with the opposite value of
    /// `encrypt` may succeed.
    fn start(settings: &Settings, encrypt: bool, cancel: &Cancel) -> Result<Connection, (Failure, bool)> {
        let fixed = |error: Error| (Failure::Other(error), false);
        let limits = Limits { silence: Some(settings.limits.connect), ..settings.limits };
        let mut socket = Socket::connect(&settings.place, limits, cancel).map_err(fixed)?;
        if encrypt && socket.is_tcp() {
            let mut request = BytesMut::new();
            frontend::ssl_request(&mut request);
            socket.send(&request).map_err(fixed)?;
            let mut answer = [0];
            socket.read_all(&mut answer).map_err(fixed)?;
            match (answer, settings.tls.mode) {
                ([b'S'], _) => {
                    socket.encrypt(&settings.tls).map_err(|error| (Failure::Other(error), true))?
                }
                (_, Mode::Prefer) => {}
                _ => {
                    let message = format!("the server at {} does not encrypt connections", settings.place);
                    return Err(fixed(Error::input(message).hint(
                        "let its administrator set ssl=on, or connect without encryption: sslmode=disable",
                    )));
                }
            }
        }
        let mut connection = Connection {
            socket,
            settings: settings.clone(),
            buffer: vec![0; BUFFER_BYTES],
            at: 0,
            end: 0,
            key: None,
            busy: false,
            row_left: 0,
            version: 0,
        };
        connection.log_in().map_err(|failure| {
            let may_differ = matches!(&failure, Failure::Server(error) if error.code == "28000");
            (failure, may_differ)
        })?;
        connection.socket.set_silence(settings.limits.silence);
        Ok(connection)
    }

    fn log_in(&mut self) -> Result<(), Failure> {
        let mut parameters = vec![
            ("user", self.settings.user.clone()),
            ("database", self.settings.database.clone()),
            ("client_encoding", "UTF8".to_owned()),
            ("application_name", "sqluice".to_owned()),
        ];
        parameters.extend(self.settings.options.clone().map(|options| ("options", options)));
        parameters.extend(self.settings.time_zone.clone().map(|zone| ("timezone", zone)));
        let mut message = BytesMut::new();
        let pairs = parameters.iter().map(|(key, value)| (*key, value.as_str()));
        frontend::startup_message(pairs, &mut message).map_err(malformed)?;
        self.socket.send(&message)?;
        let mut scram: Option<sasl::ScramSha256> = None;
        let mut proved = true;
        loop {
            let mut answer = BytesMut::new();
            match self.message()? {
                Message::AuthenticationOk if proved => {}
                Message::AuthenticationCleartextPassword => {
                    frontend::password_message(self.password()?.reveal().as_bytes(), &mut answer)
                        .map_err(malformed)?;
                }
                Message::AuthenticationMd5Password(body) => {
                    let (user, password) = (self.settings.user.as_bytes(), self.password()?);
                    let hash = md5_hash(user, password.reveal().as_bytes(), body.salt());
                    frontend::password_message(hash.as_bytes(), &mut answer).map_err(malformed)?;
                }
                Message::AuthenticationSasl(body) => {
                    let mechanisms: Vec<&str> = body.mechanisms().collect().map_err(malformed)?;
                    if !mechanisms.contains(&sasl::SCRAM_SHA_256) {
                        return Err(unsupported(&format!("SASL ({})", mechanisms.join(", "))).into());
                    }
                    let password = self.password()?;
                    let binding = sasl::ChannelBinding::unsupported();
                    let begun = sasl::ScramSha256::new(password.reveal().as_bytes(), binding);
                    frontend::sasl_initial_response(sasl::SCRAM_SHA_256, begun.message(), &mut answer)
                        .map_err(malformed)?;
                    (scram, proved) = (Some(begun), false);
                }
                Message::AuthenticationSaslContinue(body) => {
                    let begun = scram.as_mut().ok_or_else(out_of_order)?;
                    begun.update(body.data()).map_err(malformed)?;
                    frontend::sasl_response(begun.message(), &mut answer).map_err(malformed)?;
                }
                Message::AuthenticationSaslFinal(body) => {
                    let mut begun = scram.take().ok_or_else(out_of_order)?;
                    begun.finish(body.data()).map_err(malformed)?;
                    proved = true;
                }
                Message::AuthenticationKerberosV5 => return Err(unsupported("Kerberos V5").into()),
                Message::AuthenticationGss => return Err(unsupported("GSSAPI").into()),
                Message::AuthenticationSspi => return Err(unsupported("SSPI").into()),
                Message::AuthenticationScmCredential => return Err(unsupported("SCM credentials").into()),
                Message::ParameterStatus(body) => {
                    let value = body.value().map_err(malformed)?;
                    if body.name().map_err(malformed)? == "server_version" {
                        self.version = version(value);
                    }
                }
                Message::BackendKeyData(body) => self.key = Some((body.process_id(), body.secret_key())),
                Message::ReadyForQuery(_) => return Ok(()),
                Message::ErrorResponse(body) => return Err(Failure::Server(ServerError::of(&body))),
                Message::NoticeResponse(_) => {}
                _ => return Err(out_of_order().into()),
            }
            if !answer.is_empty() {
                self.socket.send(&answer)?;
            }
        }
    }

    fn password(&self) -> Result<Secret> {
        self.settings.password.clone().ok_or_else(|| {
            let message = format!(
                "the server at {} asks for the password of {}",
                self.settings.place, self.settings.user
            );
            Error::input(message)
                .hint("set PGPASSWORD, or write a line of ~/.pgpass: host:port:database:user:password")
        })
    }

    /// Runs statements, and returns the rows of all of them.
    ///
    /// # Errors
    /// If the server refuses a statement, or the connection ends.
    pub(super) fn query(&mut self, sql: &str) -> Result<Vec<Row>, Failure> {
        self.send(sql)?;
        let mut rows = Vec::new();
        let mut failure = None;
        loop {
            match self.message()? {
                Message::DataRow(body) => {
                    let mut row = Vec::new();
                    let mut ranges = body.ranges();
                    while let Some(range) = ranges.next().map_err(malformed)? {
                        let text = range.map(|range| body.buffer().get(range).map(String::from_utf8_lossy));
                        row.push(text.map(|text| text.unwrap_or_default().into_owned()));
                    }
                    rows.push(row);
                }
                Message::ErrorResponse(body) => failure = Some(ServerError::of(&body)),
                Message::ReadyForQuery(_) => {
                    self.busy = false;
                    return match failure {
                        Some(error) => Err(Failure::Server(error)),
                        None => Ok(rows),
                    };
                }
                Message::CopyInResponse(_) | Message::CopyOutResponse(_) => return Err(out_of_order().into()),
                _ => {}
            }
        }
    }

    /// Returns the columns of a query without running it.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub(super) fn describe(&mut self, sql: &str) -> Result<Vec<ResultColumn>, Failure> {
        let mut request = BytesMut::new();
        frontend::parse("", sql, [], &mut request).map_err(malformed)?;
        frontend::describe(b'S', "", &mut request).map_err(malformed)?;
        frontend::sync(&mut request);
        self.busy = true;
        self.socket.send(&request)?;
        let (mut columns, mut failure) = (Vec::new(), None);
        loop {
            match self.message()? {
                Message::RowDescription(body) => columns = result_columns(&body)?,
                Message::ErrorResponse(body) => failure = Some(ServerError::of(&body)),
                Message::ReadyForQuery(_) => {
                    self.busy = false;
                    return match failure {
                        Some(error) => Err(Failure::Server(error)),
                        None => Ok(columns),
                    };
                }
                _ => {}
            }
        }
    }

    /// Starts `COPY ... TO STDOUT`. [`Connection::copied`] then returns its rows.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub(super) fn copy(&mut self, sql: &str) -> Result<(), Failure> {
        self.send(sql)?;
        loop {
            match self.message()? {
                Message::CopyOutResponse(_) => return Ok(()),
                Message::ErrorResponse(body) => return Err(self.ended(&ServerError::of(&body))),
                Message::NoticeResponse(_) | Message::ParameterStatus(_) => {}
                _ => return Err(out_of_order().into()),
            }
        }
    }

    /// Appends the next rows of COPY to `block`, until it has `bytes_max` bytes or no row is left. Returns `false` if no row is left.
    ///
    /// # Errors
    /// As [`Connection::query`].
    pub(super) fn copied(&mut self, block: &mut Block, bytes_max: usize) -> Result<bool, Failure> {
        loop {
            if self.row_left > 0 {
                if self.at == self.end {
                    self.fill(1)?;
                }
                let bytes = self.row_left.min(self.end - self.at);
                block.text.extend_from_slice(&self.buffer[self.at..self.at + bytes]);
                (self.at, self.row_left) = (self.at + bytes, self.row_left - bytes);
                continue;
            }
            if block.text.len() >= bytes_max {
                return Ok(true);
            }
            let (kind, bytes) = self.header()?;
            if kind == b'd' {
                (self.at, self.row_left) = (self.at + HEADER_BYTES, bytes);
                // The server sends each row as a message of its own.
                block.rows += 1;
                continue;
            }
            match self.message()? {
                Message::CopyDone
                | Message::CommandComplete(_)
                | Message::NoticeResponse(_)
                | Message::ParameterStatus(_) => {}
                Message::ErrorResponse(body) => return Err(self.ended(&ServerError::of(&body))),
                Message::ReadyForQuery(_) => {
                    self.busy = false;
                    return Ok(false);
                }
                _ => return Err(out_of_order().into()),
            }
        }
    }

    /// Skips messages after an error until the server is ready for the next statement. Returns the error.
    fn ended(&mut self, error: &ServerError) -> Failure {
        while let Ok(message) = self.message() {
            if let Message::ReadyForQuery(_) = message {
                self.busy = false;
                break;
            }
        }
        Failure::Server(error.clone())
    }

    fn send(&mut self, sql: &str) -> Result<()> {
        let mut request = BytesMut::new();
        frontend::query(sql, &mut request).map_err(malformed)?;
        self.busy = true;
        self.socket.send(&request)
    }

    /// Returns the kind of the next message and the length of its body, without consuming the message.
    fn header(&mut self) -> Result<(u8, usize)> {
        self.fill(HEADER_BYTES)?;
        let header = &self.buffer[self.at..self.at + HEADER_BYTES];
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize;
        match length.checked_sub(HEADER_BYTES - 1) {
            Some(bytes) if length <= i32::MAX as usize => Ok((header[0], bytes)),
            _ => Err(Error::input("the server sent a message with an invalid length")),
        }
    }

    /// Reads a whole message.
    fn message(&mut self) -> Result<Message> {
        let (_, bytes) = self.header()?;
        if bytes > MESSAGE_BYTES_MAX {
            return Err(Error::input("the server sent a message that is too long"));
        }
        let total = HEADER_BYTES + bytes;
        let mut whole = BytesMut::with_capacity(total.min(BUFFER_BYTES));
        while whole.len() < total {
            if self.at == self.end {
                self.fill(1)?;
            }
            let now = (total - whole.len()).min(self.end - self.at);
            whole.extend_from_slice(&self.buffer[self.at..self.at + now]);
            self.at += now;
        }
        match Message::parse(&mut whole) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(out_of_order()),
            Err(error) => Err(malformed(error)),
        }
    }

    /// Reads until the buffer has `bytes` bytes that are not consumed yet. `bytes` is at most the size of the buffer.
    fn fill(&mut self, bytes: usize) -> Result<()> {
        if self.end - self.at >= bytes {
            return Ok(());
        }
        self.buffer.copy_within(self.at..self.end, 0);
        (self.at, self.end) = (0, self.end - self.at);
        while self.end < bytes {
            self.end += self.socket.read_some(&mut self.buffer[self.end..])?;
        }
        Ok(())
    }

    /// Asks the server, on a second connection, to cancel the running statement.
    fn stop(&self) {
        let Some((process, secret)) = self.key else { return };
        let limits = Limits { connect: STOP_LIMIT, silence: Some(STOP_LIMIT) };
        let mut request = BytesMut::new();
        frontend::cancel_request(process, secret, &mut request);
        // The run may be cancelled already, which would also cancel this connection: give it a flag of its own.
        if let Ok(mut socket) = Socket::connect(&self.settings.place, limits, &Cancel::new()) {
            let _ = socket.send(&request);
            // The server closes the connection once it has passed the request on.
            let _ = socket.read_all(&mut [0]);
        }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        if self.socket.is_lost {
            // The server has closed the connection.
        } else if self.busy {
            self.stop();
        } else {
            let mut message = BytesMut::new();
            frontend::terminate(&mut message);
            let _ = self.socket.send(&message);
        }
        self.socket.close();
    }
}

/// The number of bytes of a message before its body: its kind and its length.
const HEADER_BYTES: usize = 5;

fn result_columns(body: &RowDescriptionBody) -> Result<Vec<ResultColumn>> {
    let columns = body.fields().map(|field| {
        Ok(ResultColumn {
            name: field.name().to_owned(),
            type_oid: field.type_oid(),
            modifier: field.type_modifier(),
        })
    });
    columns.collect().map_err(malformed)
}

/// Parses the version of a server: returns 150018 for `15.18 (Debian ...)`, 90624 for `9.6.24`.
fn version(text: &str) -> u32 {
    let mut parts = text
        .split(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .next()
        .unwrap_or_default()
        .split('.');
    let mut part = || parts.next().and_then(|part| part.parse::<u32>().ok()).unwrap_or(0).min(9999);
    let major = part();
    if major >= 10 { major * 10_000 + part() } else { major * 10_000 + part() * 100 + part() }
}

/// Returns the error for a login by `method`, which this client lacks.
fn unsupported(method: &str) -> Error {
    Error::input(format!(
        "the server asks for the authentication method {method}, which sqluice does not support"
    ))
    .hint("use a password: md5 or scram-sha-256 in pg_hba.conf of the server")
}

fn malformed(error: std::io::Error) -> Error {
    Error::input("the server does not speak the protocol of PostgreSQL as expected")
        .because(error)
        .hint("check that a PostgreSQL server listens on this port")
}

fn out_of_order() -> Error {
    Error::input("the server sent a message out of order")
        .hint("check that a PostgreSQL server listens on this port")
}
