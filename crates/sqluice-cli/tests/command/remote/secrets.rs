//! No output of the command contains credentials, or the query of a URL.

use std::path::Path;
use std::process::Command;

use crate::http::{Answer, serve, serve_file};
use crate::store::{Deed, KEY_ID, QUICKLY, SECRET, Store};
use crate::support::{Ran, WAITS, finish, folder};

const TOKEN: &str = "token-of-the-session-0123456789";
const USER: &str = "user-of-the-server";
const PASSWORD: &str = "password-of-the-server";
const SIGNATURE: &str = "signature-of-the-url";

/// Runs a command with --verbose, --json and so on, and asserts that no output has a secret. Returns the last run.
#[track_caller]
fn assert_says_no_secret(command: &dyn Fn() -> Command, args: &[&str]) -> Ran {
    let mut last = None;
    for flags in [&[][..], &["--json"], &["--verbose"], &["--dry-run"], &["--dry-run", "--json"]] {
        let ran =
            finish(command().env("AWS_SESSION_TOKEN", TOKEN).env(WAITS, QUICKLY).args(args).args(flags));
        for secret in [SECRET, KEY_ID, TOKEN, USER, PASSWORD, SIGNATURE, "Authorization"] {
            assert!(!ran.stdout.contains(secret) && !ran.stderr.contains(secret), "{secret} in {ran:?}");
        }
        last = Some(ran);
    }
    last.unwrap()
}

fn url(address: &str, name: &str) -> String {
    format!("http://{USER}:{PASSWORD}@{address}/{name}?X-Amz-Signature={SIGNATURE}&X-Amz-Credential={KEY_ID}")
}

#[test]
fn credentials_are_sent_and_never_shown() {
    let home = folder();
    let folder = home.path();
    // The error text of the store repeats what it was sent, as that of S3 repeats signatures.
    let body = format!(
        "<Error><Code>SignatureDoesNotMatch</Code><Message>No: {KEY_ID} {SECRET}</Message>\
         <AWSAccessKeyId>{KEY_ID}</AWSAccessKeyId><StringToSign>{SECRET} {TOKEN}</StringToSign></Error>"
    );
    let Some(store) = Store::with(move |request| match request.path.contains("denied") {
        true => Deed::Answer(Answer::new(403, body.clone()).with("content-type", "application/xml")),
        false => Deed::Pass,
    }) else {
        return;
    };
    let s3 = || store.sqluice(folder);
    store.put("t.csv", b"a\n1\nx\n");
    std::fs::write(folder.join("t.csv"), "a\n1\n").unwrap();
    assert_says_no_secret(&s3, &["load", "s3://bucket/denied.db", "t.csv"]);
    assert_says_no_secret(&s3, &["load", "x.db", "s3://bucket/denied.csv"]);
    assert_says_no_secret(&s3, &["load", "x.db", "s3://bucket/denied*.csv"]);
    assert_says_no_secret(&s3, &["copy", "s3://bucket/denied.db", "x.db"]);
    assert_says_no_secret(&s3, &["merge", "s3://bucket/denied.db", "s3://bucket/t.csv"]);
    assert_says_no_secret(
        &s3,
        &["generate", "s3://bucket/x.db", "--preset", "user", "--rows", "10", "--overwrite", "-y"],
    );
    let headers = store.requests.lock().unwrap().clone();
    let signed = |request: &crate::http::Request| {
        request.header("authorization").is_some_and(|value| value.contains(KEY_ID))
            && request.header("x-amz-security-token") == Some(TOKEN)
    };
    assert!(headers.iter().filter(|request| signed(request)).count() > 10, "requests are signed");
}

#[test]
fn no_output_shows_the_user_or_the_query_of_a_url() {
    let home = folder();
    let folder = home.path();
    let plain = || crate::support::sqluice(folder);
    let denied = serve(|_| Some(Answer::new(403, format!("{USER} {PASSWORD} {SIGNATURE}"))));
    let closed = "127.0.0.1:1";
    let text = "a,b\n1,2\n3\n".repeat(3);
    let (good, asked) = (std::sync::Arc::new(std::sync::Mutex::new(false)), folder.join("x.db"));
    let seen = std::sync::Arc::clone(&good);
    let bad_rows = serve_file(text.into_bytes(), true, move |request, _| {
        let expected = request.path.contains(SIGNATURE) && request.header("authorization").is_some();
        *seen.lock().unwrap() = expected;
    });
    for (address, name) in
        [(&*denied, "x.csv"), (&denied, "x.parquet"), (&bad_rows, "x.csv"), (&bad_rows, "x.db")]
    {
        let ran = assert_says_no_secret(&plain, &["load", "x.db", &url(address, name), "--skip-bad-files"]);
        assert!(!ran.status.success(), "{ran:?}");
    }
    assert!(*good.lock().unwrap(), "the user and the query are sent");
    assert!(!Path::new(&asked).exists());
    for args in [
        &["copy", &url(&denied, "x.db"), "y.db"][..],
        &["copy", "y.db", &url(&denied, "x.db")],
        &["merge", "y.db", &url(&denied, "x.db"), &url(&bad_rows, "z.db")],
        &["export", &url(&denied, "x.db"), "--to", "y.csv"],
        &["load", "x.db", &url(closed, "x.csv"), "--format", "csv"],
    ] {
        let args: Vec<&str> = args.to_vec();
        let ran = assert_says_no_secret(&plain, &args);
        assert!(!ran.status.success(), "{ran:?}");
    }
}
