//! Errors that a PostgreSQL server reports, with hints.

use fallible_iterator::FallibleIterator;
use postgres_protocol::message::backend::ErrorResponseBody;
use sqluice_core::error::{Error, Message};
use sqluice_core::message;
use sqluice_core::settings::Setting;

/// An error that the server reported.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerError {
    /// The SQLSTATE, such as `28P01`.
    pub(super) code: String,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    /// `true` if the server refused the statement because row security would leave out rows.
    is_row_security: bool,
}

/// The name of the server's function that reports this error in a session with `row_security = off`. It does not depend on the language of
/// the messages.
const ROW_SECURITY: &str = "check_enable_rls";

impl ServerError {
    /// Reads the fields of a message.
    pub(super) fn of(body: &ErrorResponseBody) -> ServerError {
        let mut error = ServerError::default();
        let mut fields = body.fields();
        while let Ok(Some(field)) = fields.next() {
            let value = String::from_utf8_lossy(field.value_bytes()).into_owned();
            match field.type_() {
                b'C' => error.code = value,
                b'M' => error.message = value,
                b'D' => error.detail = Some(value),
                b'H' => error.hint = Some(value),
                b'R' => error.is_row_security = value == ROW_SECURITY,
                _ => {}
            }
        }
        error
    }

    /// Returns the message and the detail, in one text.
    fn text(&self) -> String {
        match &self.detail {
            Some(detail) => format!("{} ({detail})", self.message),
            None => self.message.clone(),
        }
    }

    /// Returns the error for the user. `doing` is the operation that failed, such as `cannot read table orders`.
    pub(super) fn into_error(self, doing: &str) -> Error {
        let error = Error::input(format!("{doing}: {}", self.text()));
        let hint: Option<Message> = match self.code.as_str() {
            // invalid_password: the password is wrong or missing.
            "28P01" => Some("check the user and the password, which is in PGPASSWORD or in ~/.pgpass".into()),
            // invalid_authorization_specification: no line of pg_hba.conf fits, or the user is unknown.
            "28000" => Some("check the user, sslmode, and pg_hba.conf of the server".into()),
            // The database does not exist.
            "3D000" => Some("check the name of the database in the URL; psql -l lists all names".into()),
            "53300" => Some("try again once other programs have ended their connections".into()),
            // insufficient_privilege: missing privileges, or row security.
            "42501" if self.is_row_security => {
                Some(message!["load the rows that this user may see: ", Setting::RowSecurity])
            }
            "42501" if self.hint.is_none() => {
                Some("let an owner of the table GRANT SELECT to this user".into())
            }
            _ => self.hint.clone().map(Message::from),
        };
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}
