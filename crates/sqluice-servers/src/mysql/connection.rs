//! A connection to a MySQL server: statements, and the rows that statements return.
//!
//! Rows come as the text protocol sends them: each value is text, in the character set of the session.

use std::sync::Arc;
use std::time::Duration;

use sqluice_core::error::{Error, ErrorKind, Result, Setting};
use sqluice_core::progress::Cancel;

use super::handshake::Greeting;
use super::packets::{Fault, Fields, Packets, server_error};
use super::settings::Settings;
use crate::socket::{Limits, Socket};

/// The command that runs an SQL statement.
const COM_QUERY: u8 = 3;

/// The command that parses an SQL statement.
const COM_STMT_PREPARE: u8 = 0x16;
/// The command that frees a parsed statement.
const COM_STMT_CLOSE: u8 = 0x19;

/// The bit of the server's status for "another result follows".
const MORE_RESULTS: u16 = 8;

/// The maximum number of columns of a result. The server's own limit is 4096.
const COLUMNS_MAX: u64 = 1 << 13;

/// The maximum time to connect and send `KILL QUERY`.
const KILL_WAIT: Duration = Duration::from_secs(3);

/// A connection whose user has logged in.
pub(super) struct Connection {
    packets: Packets,
    settings: Arc<Settings>,
    number: u32,
    /// The version of the server.
    pub version: String,
}

/// The definition of a column of a result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Column {
    /// The name or alias of the column.
    pub name: String,
    /// The number of the column's collation in MySQL; 63 for columns of bytes.
    pub collation: u16,
    /// The maximum number of bytes of a value.
    pub bytes_max: u32,
    /// The number of the column's type in the protocol of MySQL.
    pub kind: u8,
    /// Bits: NOT NULL, unsigned, and more.
    pub flags: u16,
    /// The number of digits after the point of a number.
    pub decimals: u8,
}

impl Connection {
    /// Connects and logs in.
    ///
    /// # Errors
    /// If the server is not there, refuses the user, or does not speak the protocol.
    pub(super) fn open(settings: &Arc<Settings>, cancel: &Cancel) -> Result<Connection> {
        let mut connection = Connection::log_in(settings, cancel, settings.limits.connect)?;
        connection.packets.allow_silence(settings.limits.silence);
        Ok(connection)
    }

    /// Connects and logs in within a time.
    fn log_in(settings: &Arc<Settings>, cancel: &Cancel, wait: Duration) -> Result<Connection> {
        let limits = Limits { connect: wait, silence: Some(wait) };
        let mut packets = Packets::new(Socket::connect(&settings.place, limits, cancel)?);
        let doing = format!("logging in to {}", settings.place);
        let failed = |fault| failure(fault, &doing);
        let database = Some(settings.database.as_str()).filter(|name| !name.is_empty());
        let greeting = Greeting::read(&mut packets).map_err(failed)?;
        if !packets.is_local() && settings.encrypts(greeting.can_encrypt())? {
            greeting.ask_for_encryption(&mut packets, database).map_err(failed)?;
            packets.encrypt(&settings.tls).map_err(failed)?;
        }
        let password = settings.password.as_ref().map(|password| password.reveal()).unwrap_or_default();
        greeting
            .log_in(&mut packets, &settings.user, password.as_bytes(), database)
            .map_err(|fault| refused(fault, &doing))?;
        Ok(Connection {
            packets,
            settings: Arc::clone(settings),
            number: greeting.connection,
            version: greeting.version,
        })
    }

    /// Returns `true` if the server is MariaDB.
    pub(super) fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }

    /// Runs a statement, and returns the columns of its rows; none for a statement without rows. All rows must be read before the next
    /// statement.
    ///
    /// # Errors
    /// If the server reports an error, or the connection breaks.
    pub(super) fn query(&mut self, sql: &str) -> Result<Vec<Column>, Fault> {
        self.packets.begin();
        let mut statement = Vec::with_capacity(sql.len() + 1);
        statement.push(COM_QUERY);
        statement.extend_from_slice(sql.as_bytes());
        self.packets.send(&statement)?;
        let result = self.columns();
        self.end_if_stopped(result)
    }

    fn columns(&mut self) -> Result<Vec<Column>, Fault> {
        let payload = self.packets.next()?;
        let count = match payload {
            [0, ..] => return Ok(Vec::new()),
            [0xff, ..] => return Err(server_error(payload)),
            // The server asks for a file of the client (LOAD DATA LOCAL), which it must not get.
            [0xfb, ..] => return Err(Fault::Malformed("a request for a file")),
            _ => Fields(payload).number()?,
        };
        if count > COLUMNS_MAX {
            return Err(Fault::Malformed("an impossible number of columns"));
        }
        let mut columns = Vec::new();
        for _ in 0..count {
            columns.push(column(self.packets.next()?)?);
        }
        match self.packets.next()? {
            [0xfe, ..] => Ok(columns),
            _ => Err(Fault::Malformed("no end of the list of columns")),
        }
    }

    /// Returns the columns of the rows of a statement, without running it.
    ///
    /// # Errors
    /// If the server reports an error, or the connection breaks.
    pub(super) fn columns_of(&mut self, sql: &str) -> Result<Vec<Column>, Fault> {
        self.packets.begin();
        self.packets.send(&[&[COM_STMT_PREPARE], sql.as_bytes()].concat())?;
        let payload = self.packets.next()?;
        if let [0xff, ..] = payload {
            return Err(server_error(payload));
        }
        let mut fields = Fields(payload);
        let (_, number) = (fields.byte()?, fields.array::<4>()?);
        let (columns, parameters) =
            (u16::from_le_bytes(fields.array()?), u16::from_le_bytes(fields.array()?));
        let mut found = Vec::new();
        for (count, is_column) in [(parameters, false), (columns, true)] {
            for _ in 0..count {
                let definition = column(self.packets.next()?)?;
                if is_column {
                    found.push(definition);
                }
            }
            if count > 0 {
                self.packets.next()?;
            }
        }
        // COM_STMT_CLOSE has no answer.
        self.packets.begin();
        self.packets.send(&[&[COM_STMT_CLOSE], &number[..]].concat())?;
        Ok(found)
    }

    /// Returns the next row of the statement that ran last, or `None` after the last row.
    ///
    /// # Errors
    /// If the server reports an error, or the connection breaks.
    #[inline]
    pub(super) fn row(&mut self) -> Result<Option<&[u8]>, Fault> {
        // Match instead of `?`: a row that is returned from one branch would stay borrowed in all other branches.
        match self.packets.next() {
            Ok(row) => match *row {
                [0xff, ..] => Err(server_error(row)),
                // A longer message with this first byte is a row that begins with a long value.
                [0xfe, ref rest @ ..] if rest.len() < 8 => match *rest {
                    [_, _, low, high] if u16::from_le_bytes([low, high]) & MORE_RESULTS != 0 => {
                        Err(Fault::Malformed("two results of one query"))
                    }
                    _ => Ok(None),
                },
                _ => Ok(Some(row)),
            },
            Err(fault) => Err(fault),
        }
    }

    /// Runs a statement and discards its rows.
    ///
    /// # Errors
    /// If the server reports an error, or the connection breaks.
    pub(super) fn execute(&mut self, sql: &str) -> Result<(), Fault> {
        if !self.query(sql)?.is_empty() {
            while self.row()?.is_some() {}
        }
        Ok(())
    }

    /// Runs a statement with few rows, and returns them.
    ///
    /// # Errors
    /// If the server reports an error, or the connection breaks.
    pub(super) fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Option<String>>>, Fault> {
        let columns = self.query(sql)?.len();
        let mut rows = Vec::new();
        if columns == 0 {
            return Ok(rows);
        }
        loop {
            let row = match self.row() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(rows),
                Err(fault) => return self.end_if_stopped(Err(fault)),
            };
            let mut fields = Fields(row);
            let values = (0..columns).map(|_| {
                fields.value().map(|value| value.map(|text| String::from_utf8_lossy(text).into_owned()))
            });
            rows.push(values.collect::<Result<_, Fault>>()?);
        }
    }

    /// Stops the statement on the server if `result` is an error because the run was cancelled or the server was silent for too long.
    pub(super) fn end_if_stopped<T>(&self, result: Result<T, Fault>) -> Result<T, Fault> {
        if let Err(Fault::Socket(error)) = &result {
            let is_silent =
                error.remedy().is_some_and(|hint| hint.settings().any(|at| at == Setting::Timeout));
            if is_silent || error.kind() == ErrorKind::Interrupted {
                self.kill();
            }
        }
        result
    }

    /// Stops the running statement with `KILL QUERY` on a second connection. Errors are ignored: no caller waits for the statement any more.
    pub(super) fn kill(&self) {
        let wait = KILL_WAIT.min(self.settings.limits.connect);
        if let Ok(mut other) = Connection::log_in(&self.settings, &Cancel::new(), wait) {
            let _ = other.execute(&format!("KILL QUERY {}", self.number));
        }
    }
}

/// Reads the definition of a column.
fn column(payload: &[u8]) -> Result<Column, Fault> {
    let mut fields = Fields(payload);
    // Skip the catalog, the schema, the alias of the table and the table.
    for _ in 0..4 {
        fields.string()?;
    }
    let name = String::from_utf8_lossy(fields.string()?).into_owned();
    fields.string()?;
    // Skip the length of the fields that follow.
    fields.number()?;
    Ok(Column {
        name,
        collation: u16::from_le_bytes(fields.array()?),
        bytes_max: u32::from_le_bytes(fields.array()?),
        kind: fields.byte()?,
        flags: u16::from_le_bytes(fields.array()?),
        decimals: fields.byte()?,
    })
}

/// Returns the error for the user. `doing` says what sqluice was doing, such as `reading the table x`.
pub(super) fn failure(fault: Fault, doing: &str) -> Error {
    match fault {
        Fault::Socket(error) if error.kind() == ErrorKind::Interrupted => error,
        Fault::Socket(error) => {
            let hint = error.remedy().cloned();
            let told = Error::input(format!("{doing}: {}", error.message())).because(error);
            hint.into_iter().fold(told, Error::hint)
        }
        Fault::Malformed(what) => Error::input(format!(
            "{doing}: the server's answer does not follow the protocol of MySQL: {what}"
        )),
        Fault::Server(error) => {
            Error::input(format!("{doing}: {} (error {} of the server)", error.text, error.code))
        }
    }
}

/// Returns the error of a login that failed.
fn refused(fault: Fault, doing: &str) -> Error {
    let code = match &fault {
        Fault::Server(error) => error.code,
        _ => 0,
    };
    let error = failure(fault, doing);
    match code {
        // ER_ACCESS_DENIED_ERROR.
        1045 => error.hint("give user and password in ~/.my.cnf, or the password in MYSQL_PWD"),
        // ER_ACCESS_DENIED_NO_PASSWORD_ERROR: the account has no password, but is bound to a user of the operating system.
        1698 => {
            error.hint("log in through the socket as the user of that name, or give the account a password")
        }
        // ER_DBACCESS_DENIED_ERROR, ER_BAD_DB_ERROR.
        1044 | 1049 => {
            error.hint("check the name of the database in the URL, and the privileges of the user")
        }
        super::NO_PLUGIN => error.hint("give the user another plugin, such as mysql_native_password"),
        _ => error,
    }
}

/// Returns a name in quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// Returns text in quotes, for a session that has an empty SQL mode.
pub(super) fn text_literal(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
