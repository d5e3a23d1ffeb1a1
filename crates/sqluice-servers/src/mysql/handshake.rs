//! The start of a connection: capabilities, encryption and authentication.
//!
//! ```text
//!  server                                client
//!  version, challenge, plugin  ────────>
//!                              <──────── capabilities        only if encrypted; TLS begins after this message
//!                              <──────── capabilities, user, answer to the challenge, database
//!  another plugin and challenge, or more data of the plugin, any number of times
//!                              <──────── answer
//!  OK, or an error             ────────>
//! ```

use mysql_common::auth::plugins::{
    AuthProc, ChallengeResponsePlugin as _, Context, Error as PluginError, Response,
};
use mysql_common::constants::CapabilityFlags;
use mysql_common::crypto::rsa::PublicKey;
use mysql_common::packets::AuthPlugin;

use super::packets::{Fault, Fields, Packets, server_error};

/// The number of the collation `utf8mb4_general_ci`.
const COLLATION: u8 = 45;

/// The maximum size of a packet that the client accepts, in bytes. The client tells it to the server.
const PACKET_BYTES_MAX: u32 = 1 << 30;

/// The maximum number of messages that a plugin exchanges.
const EXCHANGES_MAX: usize = 16;

/// The first message that a server sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    /// The version, such as `10.11.6-MariaDB-log` or `8.0.36`.
    pub version: String,
    /// The number of the connection, for `KILL`.
    pub connection: u32,
    capabilities: CapabilityFlags,
    challenge: Vec<u8>,
    plugin: Vec<u8>,
}

impl Greeting {
    /// Reads the first message.
    pub(super) fn read(packets: &mut Packets) -> Result<Greeting, Fault> {
        let payload = packets.next()?;
        let mut fields = Fields(payload);
        match fields.byte()? {
            10 => {}
            0xff => return Err(server_error(payload)),
            _ => return Err(Fault::Malformed("a first message that is not a greeting of MySQL")),
        }
        let version = String::from_utf8_lossy(fields.until_zero()).into_owned();
        // MariaDB puts this before its version for old clients.
        let version = version.strip_prefix("5.5.5-").map_or_else(|| version.clone(), str::to_owned);
        let connection = u32::from_le_bytes(fields.array()?);
        let mut challenge = fields.bytes(8)?.to_vec();
        fields.byte()?;
        let low = fields.array::<2>()?;
        fields.bytes(3)?;
        let high = fields.array::<2>()?;
        let capabilities = u32::from_le_bytes([low[0], low[1], high[0], high[1]]);
        let capabilities = CapabilityFlags::from_bits_truncate(capabilities);
        let challenge_bytes = usize::from(fields.byte()?);
        fields.bytes(10)?;
        // The rest of the challenge ends with a zero byte.
        let rest = fields.bytes(challenge_bytes.saturating_sub(8).max(13))?;
        challenge.extend_from_slice(&rest[..12]);
        let plugin = fields.until_zero().to_vec();
        if !capabilities.contains(CapabilityFlags::CLIENT_PROTOCOL_41 | CapabilityFlags::CLIENT_PLUGIN_AUTH) {
            return Err(Fault::Malformed("a protocol older than that of MySQL 5.5"));
        }
        Ok(Greeting { version, connection, capabilities, challenge, plugin })
    }

    /// Returns `true` if the server can encrypt.
    pub(super) fn can_encrypt(&self) -> bool {
        self.capabilities.contains(CapabilityFlags::CLIENT_SSL)
    }

    /// Asks for encryption: TLS begins after this message. The capabilities are sent here and, encrypted, again with the login.
    pub(super) fn ask_for_encryption(
        &self,
        packets: &mut Packets,
        database: Option<&str>,
    ) -> Result<(), Fault> {
        packets.send(&self.beginning(database, true))
    }

    /// Returns the first fields of the client's answer. The request for encryption and the login both begin with them.
    fn beginning(&self, database: Option<&str>, is_encrypted: bool) -> Vec<u8> {
        let wanted = CapabilityFlags::CLIENT_LONG_PASSWORD
            | CapabilityFlags::CLIENT_LONG_FLAG
            | CapabilityFlags::CLIENT_PROTOCOL_41
            | CapabilityFlags::CLIENT_TRANSACTIONS
            | CapabilityFlags::CLIENT_SECURE_CONNECTION
            | CapabilityFlags::CLIENT_PLUGIN_AUTH
            | CapabilityFlags::CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA;
        let mut capabilities = wanted & self.capabilities;
        capabilities.set(CapabilityFlags::CLIENT_CONNECT_WITH_DB, database.is_some());
        capabilities.set(CapabilityFlags::CLIENT_SSL, is_encrypted);
        let mut answer = capabilities.bits().to_le_bytes().to_vec();
        answer.extend_from_slice(&PACKET_BYTES_MAX.to_le_bytes());
        answer.push(COLLATION);
        answer.extend_from_slice(&[0; 23]);
        answer
    }

    /// Proves that the client knows the password, and selects the database.
    pub(super) fn log_in(
        &self,
        packets: &mut Packets,
        user: &str,
        password: &[u8],
        database: Option<&str>,
    ) -> Result<(), Fault> {
        let (is_local, is_encrypted) = (packets.is_local(), packets.is_encrypted());
        let plugin = AuthPlugin::from_bytes(&self.plugin);
        let secret = Secret { password, challenge: self.challenge.clone(), is_local, is_encrypted };
        // If the account uses another plugin, the server asks for that plugin in its next message.
        let mut proof = match Proof::new(&plugin, &secret) {
            Ok(proof) => proof,
            Err(_) => Proof::new(&AuthPlugin::MysqlNativePassword, &secret)?,
        };
        let first = proof.answer(&secret, &secret.challenge)?.unwrap_or_default();
        let mut answer = self.beginning(database, is_encrypted);
        answer.extend_from_slice(user.as_bytes());
        // A server with CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA reads a length of one or more bytes, any other server a length of one byte.
        // For lengths up to 250, this is the same single byte. Only a password that is sent in the clear can be longer.
        let length = u8::try_from(first.len()).ok().filter(|length| *length <= 250);
        let length = length.ok_or(Fault::Malformed("a challenge for a password of more than 250 bytes"))?;
        answer.extend_from_slice(&[0, length]);
        answer.extend_from_slice(&first);
        if let Some(database) = database {
            answer.extend_from_slice(database.as_bytes());
            answer.push(0);
        }
        answer.extend_from_slice(proof.plugin.as_bytes());
        answer.push(0);
        packets.send(&answer)?;
        prove(packets, proof, secret)
    }
}

/// Answers the challenges of the server until it accepts or refuses the user.
fn prove(packets: &mut Packets, mut proof: Proof, mut secret: Secret<'_>) -> Result<(), Fault> {
    for _ in 0..EXCHANGES_MAX {
        let payload = packets.next()?;
        let answer = match payload {
            [0, ..] => return Ok(()),
            [0xff, ..] => return Err(server_error(payload)),
            [0xfe] => return Err(unsupported("mysql_old_password")),
            [0xfe, switch @ ..] => {
                let mut fields = Fields(switch);
                let name = fields.until_zero().to_vec();
                // Some servers end the challenge with a zero byte.
                let challenge = match fields.0 {
                    [challenge @ .., 0] if challenge.len() == 20 => challenge,
                    challenge => challenge,
                };
                secret.challenge = challenge.to_vec();
                proof = Proof::new(&AuthPlugin::from_bytes(&name).into_owned(), &secret)?;
                proof.answer(&secret, &secret.challenge)?
            }
            [1, more @ ..] => {
                let more = more.to_vec();
                check_key(&more)?;
                proof.answer(&secret, &more)?
            }
            _ => return Err(Fault::Malformed("an unknown answer to the login")),
        };
        if let Some(answer) = answer {
            packets.send(&answer)?;
        }
    }
    Err(Fault::Malformed("too many messages for a login"))
}

/// Refuses a public key of an unusual size: encryption with such a key may panic.
fn check_key(more: &[u8]) -> Result<(), Fault> {
    // All other data that these plugins send is a single byte.
    if more.len() <= 1 {
        return Ok(());
    }
    match PublicKey::from_pem(more) {
        Ok(key) if (128..=2048).contains(&key.num_octets()) => Ok(()),
        _ => Err(Fault::Malformed("a public key of an unusual size")),
    }
}

/// The authentication plugin that answers the server's challenges.
struct Proof {
    plugin: AuthPlugin<'static>,
    procedure: AuthProc,
}

impl Proof {
    fn new(plugin: &AuthPlugin<'_>, secret: &Secret<'_>) -> Result<Proof, Fault> {
        let name = String::from_utf8_lossy(plugin.as_bytes()).into_owned();
        match plugin {
            AuthPlugin::MysqlNativePassword
            | AuthPlugin::CachingSha2Password
            | AuthPlugin::Sha256Password => {}
            // This plugin sends the password in the clear.
            AuthPlugin::MysqlClearPassword if secret.is_local || secret.is_encrypted => {}
            _ => return Err(unsupported(&name)),
        }
        let procedure = AuthProc::init(plugin).map_err(|_| unsupported(&name))?;
        Ok(Proof { plugin: plugin.clone().into_owned(), procedure })
    }

    /// Returns the answer to a challenge, if the plugin sends one.
    fn answer(&mut self, secret: &Secret<'_>, challenge: &[u8]) -> Result<Option<Vec<u8>>, Fault> {
        match self.procedure.run(secret, challenge) {
            Ok(Response::Next { packet } | Response::Last { packet }) => Ok(packet),
            Err(PluginError::FeatureRequired(_)) => {
                Err(unsupported(&String::from_utf8_lossy(self.plugin.as_bytes())))
            }
            Err(_) => Err(Fault::Malformed("an invalid challenge of the login")),
        }
    }
}

/// Returns the error for an account whose authentication plugin this client lacks, with the number that a server uses for such clients.
fn unsupported(plugin: &str) -> Fault {
    Fault::Server(super::packets::ServerError {
        code: super::NO_PLUGIN,
        text: format!("the account uses the authentication plugin {plugin}, which sqluice does not support"),
    })
}

/// The password, and the properties of the connection that plugins ask for.
struct Secret<'p> {
    password: &'p [u8],
    challenge: Vec<u8>,
    is_local: bool,
    is_encrypted: bool,
}

impl Context for &Secret<'_> {
    fn pass(&self) -> &[u8] {
        self.password
    }

    fn is_ipc_transport(&self) -> bool {
        self.is_local
    }

    fn is_tls_transport(&self) -> bool {
        self.is_encrypted
    }

    fn scramble(&self) -> &[u8] {
        &self.challenge
    }

    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}
