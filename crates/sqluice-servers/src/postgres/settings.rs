//! The settings of a connection to a PostgreSQL server. As in libpq, a setting is taken from the URL, or else from the environment, or else
//! it has its default.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqluice_core::error::{Error, Result};
use sqluice_platform::local_sockets;
use sqluice_platform::rights::Rights;

use crate::address::{Address, Secret, parse_port, parse_seconds};
use crate::socket::{Limits, Place};
use crate::tls::{Identity, Mode, Tls};

/// The default port of PostgreSQL.
const PORT: u16 = 5432;

/// The folders in which servers create their sockets by default: on Debian and similar systems, and as built from source.
const FOLDERS: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The settings of a connection.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub(super) place: Place,
    pub(super) user: String,
    pub(super) database: String,
    pub(super) password: Option<Secret>,
    pub(super) tls: Tls,
    pub(super) limits: Limits,
    /// The options for the server process, such as `-c search_path=x`.
    pub(super) options: Option<String>,
    /// The time zone of the session; `None` for the server's time zone.
    pub(super) time_zone: Option<String>,
    /// Notes for the user: the password file was not read, and why.
    pub(super) notes: Vec<String>,
}

impl Settings {
    /// Completes an address with the environment. `password` and `silence` are settings of the load.
    ///
    /// # Errors
    /// If a setting has no valid value, or is not supported.
    pub(super) fn of(
        address: &Address,
        password: Option<&str>,
        silence: Option<Duration>,
    ) -> Result<Settings> {
        Settings::within(address, password, silence, &|name| {
            env::var(name).ok().filter(|value| !value.is_empty())
        })
    }

    fn within(
        address: &Address,
        password: Option<&str>,
        silence: Option<Duration>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Settings> {
        let setting =
            |key: &str, name: &str| address.setting(key).map(str::to_owned).or_else(|| variable(name));
        const KNOWN: [&str; 7] =
            ["sslmode", "sslrootcert", "sslcert", "sslkey", "connect_timeout", "options", "passfile"];
        address.refuse_settings_but(&KNOWN)?;
        let port = match address.port {
            Some(port) => port,
            None => match variable("PGPORT") {
                Some(port) => parse_port(&port, "PGPORT", PORT)?,
                None => PORT,
            },
        };
        let host = address.host.clone().or_else(|| variable("PGHOST"));
        let place = match host {
            Some(folder) if folder.starts_with('/') => Place::Unix(Path::new(&folder).join(socket(port))),
            Some(host) => Place::Tcp(host, port),
            None => {
                let sockets = FOLDERS.map(|folder| Path::new(folder).join(socket(port)));
                let found = sockets.iter().find(|path| path.exists()).unwrap_or(&sockets[0]);
                match local_sockets::are_supported() {
                    true => Place::Unix(found.clone()),
                    false => Place::Tcp("localhost".to_owned(), port),
                }
            }
        };
        let user = address.user.clone().or_else(|| variable("PGUSER")).or_else(|| variable("USER"));
        let user = user.or_else(|| variable("LOGNAME")).ok_or_else(|| {
            Error::usage("the URL names no user").hint("name it: postgres://USER@HOST/DATABASE, or PGUSER")
        })?;
        let database =
            address.database.clone().or_else(|| variable("PGDATABASE")).unwrap_or_else(|| user.clone());
        let mut notes = Vec::new();
        let given = password.map(Secret::new).or_else(|| address.password.clone());
        let password = match given.or_else(|| variable("PGPASSWORD").map(Secret::new)) {
            Some(password) => Some(password),
            None => {
                let file = setting("passfile", "PGPASSFILE").map(PathBuf::from);
                let file = file.or_else(|| variable("HOME").map(|home| Path::new(&home).join(".pgpass")));
                file.and_then(|file| of_file(&file, &place, port, &database, &user, &mut notes))
            }
        };
        let mode = setting("sslmode", "PGSSLMODE").map(|word| Mode::parse(&word)).transpose()?;
        let roots = setting("sslrootcert", "PGSSLROOTCERT").map(PathBuf::from).or_else(|| {
            let file = Path::new(&variable("HOME")?).join(".postgresql/root.crt");
            file.exists().then_some(file)
        });
        // Like libpq: with the system's authorities, which sign certificates for anybody, the name of the host must be verified.
        let of_system = roots.as_deref() == Some(Path::new("system"));
        let mode = match mode {
            None if of_system => Mode::VerifyFull,
            Some(mode) if of_system && mode < Mode::VerifyFull => {
                return Err(Error::usage("sslrootcert=system needs sslmode=verify-full")
                    .hint("leave out sslmode, which is verify-full then"));
            }
            mode => mode.unwrap_or(Mode::Prefer),
        };
        // Like libpq: look for a certificate only if the connection may be encrypted.
        let identity = match &place {
            Place::Tcp(..) if mode != Mode::Disable => identity(&setting, variable)?,
            _ => None,
        };
        let seconds = setting("connect_timeout", "PGCONNECT_TIMEOUT");
        let connect = match seconds.map(|seconds| parse_seconds(&seconds)).transpose()? {
            None | Some(0) => Duration::from_secs(60),
            Some(seconds) => Duration::from_secs(seconds.clamp(2, 86_400)),
        };
        Ok(Settings {
            place,
            user,
            database,
            password,
            tls: Tls { mode, roots, identity },
            limits: Limits { connect, silence },
            options: setting("options", "PGOPTIONS"),
            time_zone: variable("PGTZ"),
            notes,
        })
    }
}

/// Returns the files with the user's certificate and key. Without settings, they are looked for in `~/.postgresql`, as libpq does.
///
/// # Errors
/// If the key is missing, or other users may read the key.
fn identity(
    setting: &dyn Fn(&str, &str) -> Option<String>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Option<Identity>> {
    let file = |key: &str, name: &str, usual: &str| {
        setting(key, name).map(PathBuf::from).or_else(|| {
            let file = Path::new(&variable("HOME")?).join(".postgresql").join(usual);
            file.exists().then_some(file)
        })
    };
    let Some(certificate) = file("sslcert", "PGSSLCERT", "postgresql.crt") else { return Ok(None) };
    let Some(key) = file("sslkey", "PGSSLKEY", "postgresql.key") else {
        return Err(Error::usage(format!("the certificate {} needs its key", certificate.display()))
            .hint("name the file of the key: sslkey=FILE in the query of the URL, or PGSSLKEY"));
    };
    // Anybody who can read the key can pretend to be the user.
    if fs::metadata(&key).is_ok_and(|about| Rights::of(&about).let_others_in()) {
        return Err(Error::input(format!("other users may read the key in {}", key.display()))
            .about(&key)
            .hint(format!("take their rights away: chmod 0600 {}", key.display())));
    }
    Ok(Some(Identity { certificate, key }))
}

/// Returns the file name of the socket for a port.
fn socket(port: u16) -> String {
    format!(".s.PGSQL.{port}")
}

/// Returns the password for the connection from a password file. Like libpq, ignores the file if it is not a regular file, or if other
/// users may read it; a note in `notes` says so.
fn of_file(
    file: &Path,
    place: &Place,
    port: u16,
    database: &str,
    user: &str,
    notes: &mut Vec<String>,
) -> Option<Secret> {
    let about = fs::metadata(file).ok()?;
    if !about.is_file() {
        notes.push(format!(
            "the password file {} was not read, because it is not a regular file",
            file.display()
        ));
        return None;
    }
    if Rights::of(&about).let_others_in() {
        notes.push(format!(
            "the password file {} was not read, because other users may read it: run chmod 0600 on it",
            file.display()
        ));
        return None;
    }
    // In the password file, a socket in a default folder has the host `localhost`.
    let host = match place {
        Place::Tcp(host, _) => host.clone(),
        Place::Unix(path) => match path.parent() {
            Some(folder) if !FOLDERS.iter().any(|usual| folder == Path::new(usual)) => {
                folder.display().to_string()
            }
            _ => "localhost".to_owned(),
        },
    };
    let text = fs::read_to_string(file).ok()?;
    let wanted = [&*host, &*port.to_string(), database, user];
    text.lines().find_map(|line| of_line(line, wanted)).map(Secret::new)
}

/// Returns the password of a line `host:port:database:user:password` if its first four fields are `wanted` or `*`. A backslash escapes a
/// colon or a backslash.
fn of_line(line: &str, wanted: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut rest = line;
    for wanted in wanted {
        let (field, after) = field(rest)?;
        if field != wanted && rest[..rest.len() - after.len() - 1] != *"*" {
            return None;
        }
        rest = after;
    }
    let mut password = String::new();
    let mut letters = rest.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => password.extend(letters.next()),
            letter => password.push(letter),
        }
    }
    Some(password)
}

/// Returns the text up to the next colon, with escapes decoded, and the text after the colon.
fn field(text: &str) -> Option<(String, &str)> {
    let mut field = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => field.extend(letters.next().map(|(_, letter)| letter)),
            ':' => return Some((field, &text[at + 1..])),
            letter => field.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const WANTED: [&str; 4] = ["h", "5432", "d", "u"];

    #[test]
    fn a_line_of_a_password_file_has_wildcards_and_escapes() {
        for (line, password) in [
            ("h:5432:d:u:p", Some("p")),
            ("*:*:*:*:p", Some("p")),
            ("h:5432:d:u:p\\:q\\\\:r", Some("p:q\\:r")),
            ("# h:5432:d:u:p", None),
            ("h:5433:d:u:p", None),
            ("h:5432:d:u", None),
            ("\\*:5432:d:u:p", None),
            ("", None),
        ] {
            assert_eq!(of_line(line, WANTED).as_deref(), password, "{line}");
        }
        assert_eq!(of_line("a\\:b:5432:d:u:p", ["a:b", "5432", "d", "u"]).as_deref(), Some("p"));
    }

    proptest! {
        #[test]
        fn fields_of_a_password_file_may_have_any_characters(fields in proptest::array::uniform5("[a-z:\\\\*é]{1,6}")) {
            let escaped = fields.iter().map(|field| field.replace('\\', "\\\\").replace(':', "\\:"));
            let line = escaped.collect::<Vec<_>>().join(":");
            let [host, port, database, user, password] = &fields;
            let found = of_line(&line, [host, port, database, user]);
            prop_assert_eq!(found.as_ref(), Some(password));
        }
    }

    #[test]
    fn the_url_wins_over_the_environment() {
        let address = |url: &str| Address::parse(Path::new(url)).unwrap();
        let variable = |name: &str| match name {
            "PGHOST" => Some("/sockets".to_owned()),
            "PGPORT" => Some("6000".to_owned()),
            "PGUSER" => Some("ann".to_owned()),
            "PGPASSWORD" => Some("secret".to_owned()),
            "PGSSLMODE" => Some("require".to_owned()),
            _ => None,
        };
        let settings = Settings::within(&address("postgres:///shop"), None, None, &variable).unwrap();
        assert_eq!(settings.place, Place::Unix("/sockets/.s.PGSQL.6000".into()));
        assert_eq!((&*settings.user, &*settings.database), ("ann", "shop"));
        assert_eq!(settings.password.as_ref().map(Secret::reveal), Some("secret"));
        assert_eq!(settings.tls.mode, Mode::Require);
        let url = "postgres://bob@host:7000?sslmode=disable&connect_timeout=1";
        let settings = Settings::within(&address(url), None, None, &variable).unwrap();
        assert_eq!(settings.place, Place::Tcp("host".to_owned(), 7000));
        assert_eq!((&*settings.user, &*settings.database), ("bob", "bob"));
        assert_eq!(settings.tls.mode, Mode::Disable);
        assert_eq!(settings.limits.connect, Duration::from_secs(2));
        for url in [
            "postgres://h/d?sslmode=maybe",
            "postgres://h/d?sslcert=x",
            "postgres://h/d?sslcompression=1",
            "postgres://h/d?sslmod=verify-full",
            "postgres://h/d?connect_timeout=x",
        ] {
            assert!(Settings::within(&address(url), None, None, &variable).is_err(), "{url}");
        }
    }

    #[test]
    fn certificate_authorities_of_the_system_require_verification_of_the_server_name() {
        let mode = |url: &str| {
            let address = Address::parse(Path::new(url)).unwrap();
            let user = |name: &str| (name == "PGUSER").then(|| "ann".to_owned());
            Settings::within(&address, None, None, &user).map(|settings| settings.tls.mode)
        };
        assert_eq!(mode("postgres://h/d").unwrap(), Mode::Prefer);
        assert_eq!(mode("postgres://h/d?sslrootcert=system").unwrap(), Mode::VerifyFull);
        assert_eq!(mode("postgres://h/d?sslrootcert=system&sslmode=verify-full").unwrap(), Mode::VerifyFull);
        assert!(mode("postgres://h/d?sslrootcert=system&sslmode=require").is_err());
    }
}
