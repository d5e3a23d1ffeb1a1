//! Errors for failed requests: the attempt, the store's answer, and a hint.
//!
//! Stores repeat what they received: URLs with signatures, the string that was signed, keys. Only the status, a code and a message of an
//! answer are shown, without the queries of URLs and without the values of environment variables that hold secrets.

use std::error::Error as _;
use std::path::Path;

use sqluice_core::error::{Error, Message, Setting, message};

use crate::address::Kind;
use crate::tries;

/// The message of `object_store` about an answer of unknown size.
pub(crate) const NO_LENGTH: &str = "Content-Length Header missing";

/// The faults of a certificate: the word in rustls's message, and the text to show.
const CERTIFICATES: [(&str, &str); 6] = [
    ("UnknownIssuer", "its certificate is signed by an authority that this machine does not know"),
    ("NotValidForName", "its certificate is for a server of another name"),
    ("Expired", "its certificate has expired"),
    ("expired", "its certificate has expired"),
    ("NotValidYet", "its certificate is not valid yet"),
    ("Revoked", "its certificate has been revoked"),
];

/// The maximum number of characters of an answer that are shown.
const SHOWN_CHARS_MAX: usize = 200;

/// The endings of the names of environment variables with secret values.
const SECRETS: [&str; 6] = ["KEY", "KEY_ID", "TOKEN", "SECRET", "PASSWORD", "CONNECTION_STRING"];

/// A request that failed: the operation and the object, for the error message and the hint.
pub(crate) struct Tried<'t> {
    /// The verb for messages: `read`, `upload`, ...
    pub(crate) what: &'t str,
    pub(crate) name: &'t Path,
    pub(crate) kind: Kind,
    /// `true` if the object is the target rather than an input.
    pub(crate) is_target: bool,
}

impl Tried<'_> {
    /// Returns the error for a failed request.
    pub(crate) fn failed(&self, error: &object_store::Error) -> Error {
        let said = said(error);
        let hint = self.hint(error, &said);
        let failure = self.error(format!("cannot {} {}", self.what, self.name.display())).because(said);
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }

    /// Returns an error about the object.
    pub(crate) fn error(&self, message: String) -> Error {
        match self.is_target {
            true => Error::target(message).about(self.name),
            false => Error::input(message).about(self.name),
        }
    }

    fn hint(&self, error: &object_store::Error, said: &str) -> Option<Message> {
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let credentials = self.kind.credentials();
        let none_found = || {
            let credentials = credentials.filter(|_| !self.kind.has_credentials())?;
            Some(format!("no credentials were found in the environment: set {credentials}"))
        };
        let hint = if has(&["NoSuchBucket", "ContainerNotFound", "bucket does not exist"]) {
            "create the bucket first, or correct its name".to_owned()
        } else if has(&["region", "PermanentRedirect", "AuthorizationHeaderMalformed", "LOCATION", "301"]) {
            "set AWS_REGION to the region of the bucket".to_owned()
        } else if said == UNSIZED {
            "download it, such as with `curl -O URL`, and name the file".to_owned()
        } else if tries::is_stall(error) {
            return Some(message![
                "check the network and the server, or wait longer: ",
                Setting::Timeout.to("300")
            ]);
        } else if has(&["certificate"]) {
            "if you trust the authority that has signed it, set SSL_CERT_FILE to the file with its certificate"
                .to_owned()
        } else {
            match error {
                object_store::Error::NotFound { .. } if self.kind == Kind::Web => {
                    "check the URL: the server has no such file".to_owned()
                }
                object_store::Error::NotFound { .. } => {
                    "check the name of the bucket and of the object".to_owned()
                }
                object_store::Error::Unauthenticated { .. }
                | object_store::Error::PermissionDenied { .. } => match credentials {
                    Some(credentials) => none_found().unwrap_or_else(|| {
                        format!("check the credentials and what they permit: {credentials}")
                    }),
                    None => "the server asks for a user and a password, or a signed URL".to_owned(),
                },
                object_store::Error::Precondition { .. } => {
                    "it has changed since it was opened: run again when no program writes to it".to_owned()
                }
                _ => return self.hint_of_words(error, said, none_found()),
            }
        };
        Some(hint.into())
    }

    /// Returns the hint for an error that `object_store` puts in no category, from words in its messages.
    fn hint_of_words(
        &self,
        error: &object_store::Error,
        said: &str,
        none_found: Option<String>,
    ) -> Option<Message> {
        let has = |words: &[&str]| words.iter().any(|word| said.contains(word));
        let all = text_of_all(error);
        let asks_machine = ["169.254.", "metadata"].iter().any(|word| all.contains(word));
        if let Some(credentials) = self.kind.credentials()
            && (asks_machine || has(&["credential", "token"]))
        {
            let hint = format!("no credentials were found in the environment: set {credentials}");
            return Some(hint.into());
        }
        if has(&["onnect", "dns", "resolve", "imed out", "unreachable"]) || tries::is_broken(error) {
            let endpoint = if self.kind == Kind::S3 { ", and AWS_ENDPOINT_URL if it is set" } else { "" };
            return Some(
                format!(
                    "the request failed several times: check the network and the name of the server{endpoint}"
                )
                .into(),
            );
        }
        if none_found.is_some() {
            return none_found.map(Message::from);
        }
        has(&["500", "502", "503", "504", "SlowDown"]).then(|| {
            message!["the server is busy: run again later, or try longer: ", Setting::Timeout.to("600")]
        })
    }
}

/// The message about an answer whose end is only marked by the end of its connection.
const UNSIZED: &str =
    "the server does not say where the file ends, so that a broken connection would look like its end";

/// Returns the message of an error without secrets: the answer of the store or, without an answer, the root cause.
fn said(error: &object_store::Error) -> String {
    let text = error.to_string();
    let said = match text.split_once("status code: ") {
        Some((_, answer)) => answered(answer),
        None => {
            let mut last = None;
            let mut next = error.source();
            while let Some(cause) = next {
                (last, next) = (Some(cause), cause.source());
            }
            last.map_or(text, ToString::to_string)
        }
    };
    if text_of_all(error).contains("certificate") {
        let known = CERTIFICATES.iter().find(|(word, _)| said.contains(word));
        return known.map_or("its certificate is not valid", |(_, words)| words).to_owned();
    }
    if said.contains(NO_LENGTH) {
        return UNSIZED.to_owned();
    }
    without_secrets(&said)
}

/// Returns the messages of an error and all its causes.
fn text_of_all(error: &object_store::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text += &cause.to_string();
        next = cause.source();
    }
    text
}

/// Returns the status of an answer, and its code and message if it has a code.
fn answered(answer: &str) -> String {
    let (status, body) = answer.split_once(": ").unwrap_or((answer, ""));
    let of = |tag: &str| {
        let (_, rest) = body.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(text, _)| text)
    };
    match (of("Code"), of("Message")) {
        (Some(code), Some(message)) => format!("{status}: {code}: {message}"),
        (Some(code), None) => format!("{status}: {code}"),
        // Pages for people, and answers that repeat the request, contain nothing useful.
        _ => status.to_owned(),
    }
}

/// Returns a text without the queries and users of URLs, and without secrets from the environment, cut after [`SHOWN_CHARS_MAX`]
/// characters.
pub(crate) fn without_secrets(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, url) = rest.split_at(at + 3);
        let end = url.find([' ', ')', '"', '\'', '>', '\n']).unwrap_or(url.len());
        let (url, after) = url.split_at(end);
        let url = url.split(['?', '#']).next().unwrap_or_default();
        let host_end = url.find('/').unwrap_or(url.len());
        let host = url[..host_end].rsplit('@').next().unwrap_or_default();
        shown.push_str(before);
        shown.push_str(host);
        shown.push_str(&url[host_end..]);
        rest = after;
    }
    shown.push_str(rest);
    for (name, value) in std::env::vars_os() {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
        let is_vendors = ["AWS_", "AZURE_", "GOOGLE_"].iter().any(|prefix| name.starts_with(prefix));
        if is_vendors && value.len() > 3 && SECRETS.iter().any(|end| name.ends_with(end)) {
            shown = shown.replace(value, "...");
        }
    }
    match shown.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}...", &shown[..end]),
        None => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_shown_by_status_code_and_message_only() {
        let body = "<?xml version=\"1.0\"?><Error><Code>SignatureDoesNotMatch</Code><Message>Wrong</Message>\
                    <AWSAccessKeyId>AKIA</AWSAccessKeyId><StringToSign>secret</StringToSign></Error>";
        assert_eq!(
            answered(&format!("403 Forbidden: {body}")),
            "403 Forbidden: SignatureDoesNotMatch: Wrong"
        );
        assert_eq!(answered("500 Internal Server Error: <html>secret</html>"), "500 Internal Server Error");
        assert_eq!(answered("503 Service Unavailable"), "503 Service Unavailable");
    }

    #[test]
    fn users_and_queries_are_removed_from_urls_in_messages() {
        let text =
            "error for url (http://u:p@h:1/x?sig=abc&d=e): closed, see https://h/#t and \"s3://b/k?v=1\"";
        let shown = "error for url (http://h:1/x): closed, see https://h/ and \"s3://b/k\"";
        assert_eq!(without_secrets(text), shown);
        assert_eq!(without_secrets("no url"), "no url");
        assert_eq!(without_secrets(&"x".repeat(300)).len(), SHOWN_CHARS_MAX + 3);
    }
}
