//! TLS for connections to servers, with the modes of libpq's `sslmode`.
//!
//! | mode | encrypted | certificate |
//! |---|---|---|
//! | `disable` | no | |
//! | `allow` | if the server demands encryption | any |
//! | `prefer` | if the server can | any |
//! | `require` | yes | any; if a file of roots is given, as for `verify-ca` |
//! | `verify-ca` | yes | signed by an authority in the file of roots |
//! | `verify-full` | yes | for the host, and signed by an authority in the file of roots (without a file: one that this machine trusts) |

use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{self, CryptoProvider};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
    StreamOwned,
};
use sqluice_core::error::{Error, Result};

/// The mode of encryption; the modes are ordered from the weakest to the strongest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mode {
    /// Never encrypts.
    Disable,
    /// Encrypts only if the server refuses unencrypted connections.
    Allow,
    /// Encrypts if the server can.
    Prefer,
    /// Always encrypts. Accepts any certificate, unless a file of roots is given: then as `VerifyCa`.
    Require,
    /// Always encrypts, and the certificate must be signed by a trusted authority.
    VerifyCa,
    /// Always encrypts, and the certificate must be signed by a trusted authority and issued for the host.
    VerifyFull,
}

impl Mode {
    const WORDS: [(&str, Mode); 6] = [
        ("disable", Mode::Disable),
        ("allow", Mode::Allow),
        ("prefer", Mode::Prefer),
        ("require", Mode::Require),
        ("verify-ca", Mode::VerifyCa),
        ("verify-full", Mode::VerifyFull),
    ];

    /// Parses a value of `sslmode`.
    ///
    /// # Errors
    /// If the value is unknown.
    pub(crate) fn parse(word: &str) -> Result<Mode> {
        let found = Mode::WORDS.iter().find(|(known, _)| *known == word).map(|(_, mode)| *mode);
        // The value is not shown: it may come from the query of a URL, which no message shows.
        found.ok_or_else(|| {
            let words: Vec<&str> = Mode::WORDS.iter().map(|(word, _)| *word).collect();
            Error::usage("sslmode has an unknown value")
                .hint(format!("sslmode is one of {}", words.join(", ")))
        })
    }
}

/// The settings of TLS.
#[derive(Clone, Debug)]
pub(crate) struct Tls {
    /// The mode of encryption.
    pub(crate) mode: Mode,
    /// The file with the trusted authorities, in PEM; `system` for the authorities that this machine trusts.
    pub(crate) roots: Option<PathBuf>,
    /// The user's certificate, for servers that ask for it.
    pub(crate) identity: Option<Identity>,
}

/// The files with a user's certificate and its private key, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

impl Identity {
    /// Reads both files.
    ///
    /// # Errors
    /// If a file can't be read, or has no certificate or key.
    fn read(&self) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)> {
        let unreadable = |file: &Path, what: &str, error: &dyn std::fmt::Display| {
            Error::input(format!("cannot read the {what} in {}: {error}", file.display())).about(file)
        };
        let of_certificate =
            |error: &dyn std::fmt::Display| unreadable(&self.certificate, "certificate", error);
        let certificates = CertificateDer::pem_file_iter(&self.certificate)
            .and_then(|certificates| certificates.collect::<Result<Vec<_>, _>>())
            .map_err(|error| of_certificate(&error))?;
        if certificates.is_empty() {
            return Err(of_certificate(&"the file has none"));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| {
            unreadable(&self.key, "key", &error)
                .hint("write the key in PEM without a password: openssl pkey -in FILE -out NEW")
        })?;
        Ok((certificates, key))
    }
}

impl Tls {
    /// Encrypts a stream to `host`. `wait` is called each time the stream times out during the handshake.
    ///
    /// # Errors
    /// If the server does not speak TLS, if its certificate is refused, or if `wait` fails.
    pub(crate) fn encrypt<S: Read + Write>(
        &self,
        host: &str,
        stream: S,
        wait: &mut dyn FnMut() -> Result<()>,
    ) -> Result<StreamOwned<ClientConnection, S>> {
        let provider = Arc::new(crypto::ring::default_provider());
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| Error::usage(format!("{host} is not a valid host name, which TLS needs")))?;
        let verifier = self.verifier(&provider)?;
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::input("cannot encrypt the connection").because(error))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let config = match &self.identity {
            Some(identity) => {
                let (certificates, key) = identity.read()?;
                config.with_client_auth_cert(certificates, key).map_err(|error| {
                    let (certificate, key) = (identity.certificate.display(), identity.key.display());
                    Error::input(format!("cannot use the certificate {certificate} with the key {key}"))
                        .because(error)
                })?
            }
            None => config.with_no_client_auth(),
        };
        let connection = ClientConnection::new(Arc::new(config), name)
            .map_err(|error| Error::input("cannot encrypt the connection").because(error))?;
        let mut encrypted = StreamOwned::new(connection, stream);
        while encrypted.conn.is_handshaking() {
            match encrypted.conn.complete_io(&mut encrypted.sock) {
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => wait()?,
                Err(error) => return Err(self.refused(host, error)),
            }
        }
        Ok(encrypted)
    }

    /// Returns the error of a failed handshake, with a hint for the common faults of certificates.
    fn refused(&self, host: &str, error: std::io::Error) -> Error {
        let fault =
            error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).and_then(|error| {
                match error {
                    rustls::Error::InvalidCertificate(fault) => Some(fault),
                    _ => None,
                }
            });
        let roots = "name the file of the authority that signed it: sslrootcert=FILE in the query of the URL";
        let (message, hint) = match fault {
            Some(CertificateError::Expired | CertificateError::ExpiredContext { .. }) => {
                (format!("the certificate of {host} has expired"), "let its administrator renew it")
            }
            Some(CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. }) => {
                (format!("the certificate of {host} is not valid yet"), "compare the clocks of both machines")
            }
            Some(CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }) => {
                let hint = "use the host name that is in the certificate, or choose sslmode=verify-ca, which does not compare names";
                (format!("the certificate of the server is not for {host}"), hint)
            }
            Some(_) => (format!("the certificate of {host} is not signed by a known authority"), roots),
            None => {
                let message = format!("cannot encrypt the connection to {host}");
                return Error::input(message).because(error);
            }
        };
        Error::input(message).because(error).hint(hint)
    }

    fn verifier(&self, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>> {
        let of_system = Path::new("system");
        let file = self.roots.as_deref().filter(|roots| *roots != of_system);
        let mut roots = RootCertStore::empty();
        match (self.mode, file) {
            // Like libpq: with a file of roots, `require` verifies the authority.
            (mode, Some(file)) if mode >= Mode::Require => {
                let unreadable = |error: &dyn std::fmt::Display| {
                    Error::input(format!("cannot read the certificates in {}: {error}", file.display()))
                        .about(file)
                };
                for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))? {
                    let certificate = certificate.map_err(|error| unreadable(&error))?;
                    roots.add(certificate).map_err(|error| unreadable(&error))?;
                }
                if roots.is_empty() {
                    return Err(unreadable(&"the file has none"));
                }
            }
            (Mode::VerifyFull, None) => {
                roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
                if roots.is_empty() {
                    return Err(Error::input("this machine has no list of trusted certificate authorities")
                        .hint("install the package ca-certificates, or name a file: sslrootcert=FILE in the query of the URL"));
                }
            }
            (Mode::VerifyCa, None) => {
                return Err(Error::usage("sslmode=verify-ca needs the certificate of the authority").hint(
                    "name its file: sslrootcert=FILE in the query of the URL, or choose sslmode=verify-full",
                ));
            }
            _ => return Ok(Arc::new(Verifier { of_authority: None, provider: Arc::clone(provider) })),
        }
        let of_authority = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
            .build()
            .map_err(|error| Error::input("cannot verify certificates").because(error))?;
        match self.mode {
            Mode::VerifyFull => Ok(of_authority),
            _ => Ok(Arc::new(Verifier { of_authority: Some(of_authority), provider: Arc::clone(provider) })),
        }
    }
}

/// A verifier that does not compare the host with the names in the certificate.
#[derive(Debug)]
struct Verifier {
    /// The verifier of the authority; `None` if any certificate is accepted.
    of_authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(verifier) = &self.of_authority else { return Ok(ServerCertVerified::assertion()) };
        match verifier.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
