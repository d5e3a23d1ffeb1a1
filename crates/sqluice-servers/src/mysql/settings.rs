//! The settings of a connection to a MySQL server. As in the clients of MySQL and MariaDB, a setting is taken from the URL, or else from
//! the option files, or else from the environment, or else it has its default.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqluice_core::error::{Error, Result};
use sqluice_platform::local_sockets;

use super::option_files::{self, Options};
use crate::address::{Address, Secret, parse_port, parse_seconds};
use crate::socket::{Limits, Place};
use crate::tls::{Identity, Mode, Tls};

/// The default port of MySQL.
const PORT: u16 = 3306;

/// The default time limit for connecting, and for the login.
const CONNECT_WAIT: Duration = Duration::from_secs(30);

/// The sockets on which the servers of Linux distributions listen by default.
const SOCKETS: [&str; 4] =
    ["/run/mysqld/mysqld.sock", "/var/lib/mysql/mysql.sock", "/run/mysql/mysql.sock", "/tmp/mysql.sock"];

/// The settings of a connection.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) place: Place,
    pub(super) user: String,
    pub(super) password: Option<Secret>,
    pub(super) database: String,
    pub(super) tls: Tls,
    pub(super) limits: Limits,
}

impl Settings {
    /// Completes an address with the option files and the environment. `password` and `silence` are settings of the load.
    ///
    /// # Errors
    /// If a setting has no valid value, is not supported or is missing.
    pub(super) fn of(
        address: &Address,
        password: Option<&Secret>,
        silence: Option<Duration>,
    ) -> Result<Settings> {
        let variable = |name: &str| env::var(name).ok().filter(|value| !value.is_empty());
        let home = variable("HOME").or_else(|| variable("USERPROFILE")).map(PathBuf::from);
        Settings::within(address, password, silence, &option_files::read_all(home.as_deref()), &variable)
    }

    fn within(
        address: &Address,
        password: Option<&Secret>,
        silence: Option<Duration>,
        options: &Options,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Settings> {
        const KNOWN: [&str; 15] = [
            "ssl-mode",
            "sslmode",
            "ssl_mode",
            "ssl-ca",
            "sslrootcert",
            "ssl_ca",
            "ssl-cert",
            "sslcert",
            "ssl_cert",
            "ssl-key",
            "sslkey",
            "ssl_key",
            "connect_timeout",
            "connect-timeout",
            "charset",
        ];
        address.refuse_settings_but(&KNOWN)?;
        let option = |name: &str| options.get(name).cloned().filter(|value| !value.is_empty());
        let port = match address.port {
            Some(port) => Some(port),
            None => match option("port").or_else(|| variable("MYSQL_TCP_PORT")) {
                Some(port) => {
                    Some(parse_port(&port, "the port in MYSQL_TCP_PORT or in an option file", PORT)?)
                }
                None => None,
            },
        };
        let host = address.host.clone().or_else(|| option("host")).or_else(|| variable("MYSQL_HOST"));
        let socket = || option("socket").or_else(|| variable("MYSQL_UNIX_PORT")).map(PathBuf::from);
        let place = match host {
            Some(path) if path.starts_with('/') => Place::Unix(path.into()),
            // Like the clients since MariaDB 10.6: `localhost` with a port means TCP, and `localhost` alone means the socket.
            Some(host)
                if host != "localhost" || address.port.is_some() || !local_sockets::are_supported() =>
            {
                Place::Tcp(host, port.unwrap_or(PORT))
            }
            _ if !local_sockets::are_supported() => Place::Tcp("localhost".to_owned(), port.unwrap_or(PORT)),
            _ => Place::Unix(socket().unwrap_or_else(usual_socket)),
        };
        let user = address.user.clone().or_else(|| option("user")).or_else(|| variable("USER"));
        let user =
            user.or_else(|| variable("LOGNAME")).or_else(|| variable("USERNAME")).ok_or_else(|| {
                Error::usage("the URL names no user")
                    .hint("name it: mysql://USER@HOST/DATABASE, or user=NAME in ~/.my.cnf")
            })?;
        let given = password.cloned().or_else(|| address.password.clone());
        let password =
            given.or_else(|| option("password").or_else(|| variable("MYSQL_PWD")).map(Secret::new));
        let database = address.database.clone().or_else(|| option("database")).ok_or_else(|| {
            Error::usage("the URL names no database")
                .hint("name it behind the host: mysql://USER@HOST/DATABASE")
        })?;
        let seconds = address.setting("connect_timeout").or_else(|| address.setting("connect-timeout"));
        let connect = match seconds.map(str::to_owned).or_else(|| option("connect-timeout")) {
            Some(seconds) => Duration::from_secs(parse_seconds(&seconds)?.clamp(1, 86_400)),
            None => CONNECT_WAIT,
        };
        Ok(Settings {
            place,
            user,
            password,
            database,
            tls: tls(address, options)?,
            limits: Limits { connect, silence },
        })
    }

    /// Returns `true` if the connection is to be encrypted. `can_encrypt` says whether the server supports TLS.
    ///
    /// # Errors
    /// If the settings demand encryption, and the server does not support it.
    pub(super) fn encrypts(&self, can_encrypt: bool) -> Result<bool> {
        if !can_encrypt && self.tls.mode >= Mode::Require {
            return Err(Error::input(format!("the server at {} does not encrypt", self.place)).hint(
                "let its administrator set up TLS, or choose ssl-mode=PREFERRED in the query of the URL",
            ));
        }
        Ok(can_encrypt && self.tls.mode >= Mode::Prefer)
    }
}

/// Returns the settings of TLS. Options have the names of MySQL or of libpq.
fn tls(address: &Address, options: &Options) -> Result<Tls> {
    let given = |keys: &[&str]| keys.iter().find_map(|key| address.setting(key)).map(str::to_owned);
    let roots = given(&["ssl-ca", "ssl_ca", "sslrootcert"]).or_else(|| options.get("ssl-ca").cloned());
    let is_on = |name: &str| {
        options.get(name).map(|value| !matches!(value.as_str(), "0" | "OFF" | "off" | "FALSE" | "false"))
    };
    let mode = match given(&["ssl-mode", "ssl_mode", "sslmode"]).or_else(|| options.get("ssl-mode").cloned())
    {
        Some(word) => mode(&word, roots.is_some())?,
        // Options of MariaDB.
        None if is_on("ssl-verify-server-cert") == Some(true) => Mode::VerifyFull,
        None if is_on("skip-ssl") == Some(true)
            || is_on("disable-ssl") == Some(true)
            || is_on("ssl") == Some(false) =>
        {
            Mode::Disable
        }
        // Like the clients: if a file of authorities is given without a mode, the server's certificate is verified.
        None if roots.is_some() => Mode::VerifyCa,
        None if is_on("ssl") == Some(true) => Mode::Require,
        None => Mode::Prefer,
    };
    let certificate =
        given(&["ssl-cert", "ssl_cert", "sslcert"]).or_else(|| options.get("ssl-cert").cloned());
    let key = given(&["ssl-key", "ssl_key", "sslkey"]).or_else(|| options.get("ssl-key").cloned());
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(Identity { certificate: certificate.into(), key: key.into() }),
        (None, None) => None,
        _ => {
            return Err(Error::usage("ssl-cert and ssl-key must be given together").hint(
                "name both files: ssl-cert=FILE and ssl-key=FILE in the query of the URL or in ~/.my.cnf",
            ));
        }
    };
    Ok(Tls { mode, roots: roots.filter(|_| mode >= Mode::VerifyCa).map(PathBuf::from), identity })
}

/// Parses a TLS mode. In contrast to libpq, a file of authorities does not make `REQUIRED` verify the certificate.
fn mode(word: &str, has_roots: bool) -> Result<Mode> {
    let mode = match word.to_ascii_uppercase().replace('-', "_").as_str() {
        "DISABLED" => Mode::Disable,
        "PREFERRED" => Mode::Prefer,
        "REQUIRED" => Mode::Require,
        "VERIFY_CA" => Mode::VerifyCa,
        "VERIFY_IDENTITY" => Mode::VerifyFull,
        _ => {
            return Mode::parse(word).map_err(|_| {
                Error::usage("ssl-mode has an unknown value")
                    .hint("ssl-mode is one of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY")
            });
        }
    };
    if mode == Mode::VerifyCa && !has_roots {
        return Err(Error::usage("ssl-mode=VERIFY_CA needs the certificate of the authority")
            .hint("name its file: ssl-ca=FILE in the query of the URL or in ~/.my.cnf, or choose ssl-mode=VERIFY_IDENTITY"));
    }
    Ok(mode)
}

/// Returns the path of the first default socket that exists, or of the first default socket.
fn usual_socket() -> PathBuf {
    let found = SOCKETS.iter().map(Path::new).find(|path| path.exists());
    found.unwrap_or(Path::new(SOCKETS[0])).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(url: &str, options: &[(&str, &str)], variables: &[(&str, &str)]) -> Result<Settings> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let options: Options = options.iter().map(owned).collect();
        let address = Address::parse(Path::new(url)).unwrap();
        Settings::within(&address, None, None, &options, &|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_certificate_authority_turns_verification_on_unless_a_weaker_ssl_mode_is_given() {
        let tls = |url: &str, options: &[(&str, &str)]| settings(url, options, &[]).unwrap().tls;
        assert_eq!(tls("mysql://a@h/d", &[]).mode, Mode::Prefer);
        assert_eq!(tls("mysql://a@h/d?ssl-ca=/x.pem", &[]).mode, Mode::VerifyCa);
        assert_eq!(tls("mysql://a@h/d", &[("ssl-ca", "/x.pem")]).mode, Mode::VerifyCa);
        let required = tls("mysql://a@h/d?ssl-ca=/x.pem&ssl-mode=REQUIRED", &[]);
        assert_eq!((required.mode, required.roots), (Mode::Require, None));
        let full = tls("mysql://a@h/d?ssl-ca=/x.pem&ssl-mode=VERIFY_IDENTITY", &[]);
        assert_eq!((full.mode, full.roots), (Mode::VerifyFull, Some(PathBuf::from("/x.pem"))));
    }

    #[test]
    fn the_url_wins_over_option_files_and_these_win_over_the_environment() {
        let options = [("user", "bob"), ("port", "4000"), ("password", "of file")];
        let variables = [("MYSQL_TCP_PORT", "5000"), ("MYSQL_PWD", "of variable")];
        let found = settings("mysql://h/d", &options, &variables).unwrap();
        assert_eq!((found.place, found.user.as_str()), (Place::Tcp("h".to_owned(), 4000), "bob"));
        assert_eq!(found.password.as_ref().map(Secret::reveal), Some("of file"));
        let found = settings("mysql://ann@h:3000/d", &[], &variables).unwrap();
        assert_eq!((found.place, found.user.as_str()), (Place::Tcp("h".to_owned(), 3000), "ann"));
        assert_eq!(found.password.as_ref().map(Secret::reveal), Some("of variable"));
        let error = settings("mysql://ann@h/d?hunter2=1", &[], &[]).unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }
}
