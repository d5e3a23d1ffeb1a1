//! Connections that break, requests that are refused, runs that end early: no object appears.

use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::http::{Answer, Request};
use crate::store::{Deed, Store};
use crate::support::{Ran, end, folder, names, send};

const GENERATE: [&str; 7] =
    ["generate", "s3://bucket/x.db", "--preset", "user", "--rows", "1500k", "--memory=120MiB"];

fn refused() -> Deed {
    let body = "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>";
    Deed::Answer(Answer::new(403, body).with("content-type", "application/xml"))
}

/// Runs with a store that does something about some requests, and asserts that no object appears.
#[track_caller]
fn assert_leaves_nothing(
    is_meant: impl Fn(&Request) -> bool + Send + Sync + 'static,
    deed: impl Fn() -> Deed + Send + Sync + 'static,
    message: &str,
) {
    let Some(store) = Store::with(move |request| if is_meant(request) { deed() } else { Deed::Pass }) else {
        return;
    };
    let folder = folder();
    let ran = Ran::from(store.sqluice(folder.path()).args(GENERATE).output().unwrap());
    assert_eq!(ran.code(), Some(1), "{ran:?}");
    assert!(ran.stderr.contains(message) && ran.stderr.contains("s3://bucket/x.db"), "{message}: {ran:?}");
    assert_eq!(store.get("x.db"), None);
    assert!(!store.has_uploads(), "the upload was not given up: {ran:?}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_refused_part_leaves_no_object() {
    for part in [1, 2, 4] {
        let message = format!("cannot upload part {part} of s3://bucket/x.db");
        assert_leaves_nothing(move |request| request.part() == Some(part), refused, &message);
    }
}

#[test]
fn a_refused_start_or_end_leaves_no_object() {
    assert_leaves_nothing(
        |request| request.method == "POST" && request.path.contains("uploads"),
        refused,
        "403 Forbidden: AccessDenied: Access Denied",
    );
    assert_leaves_nothing(Request::completes, refused, "cannot complete the upload of s3://bucket/x.db");
}

#[test]
fn a_connection_that_breaks_again_and_again_leaves_no_object() {
    assert_leaves_nothing(
        |request| request.part() == Some(2),
        || Deed::Close,
        "cannot upload part 2 of s3://bucket/x.db",
    );
}

#[test]
fn requests_that_fail_for_a_while_are_sent_again() {
    let failed = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&failed);
    let Some(store) = Store::with(move |request| match request.part() {
        Some(2 | 3) if count.load(Ordering::Relaxed) < 4 => match count.fetch_add(1, Ordering::Relaxed) {
            0 | 2 => Deed::Close,
            1 => Deed::PassAndClose,
            _ => Deed::Answer(Answer::new(503, "<Error><Code>SlowDown</Code></Error>")),
        },
        _ => Deed::Pass,
    }) else {
        return;
    };
    let folder = folder();
    let ran = Ran::from(store.sqluice(folder.path()).args(GENERATE).output().unwrap());
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(failed.load(Ordering::Relaxed), 4);
    let file = [&GENERATE[..1], &["x.db"], &GENERATE[2..]].concat();
    assert!(Ran::from(store.sqluice(folder.path()).args(file).output().unwrap()).status.success());
    assert!(store.get("x.db").unwrap() == std::fs::read(folder.path().join("x.db")).unwrap());
}

#[test]
fn an_upload_whose_last_answer_is_lost_is_complete() {
    let Some(store) =
        Store::with(|request| if request.completes() { Deed::PassAndClose } else { Deed::Pass })
    else {
        return;
    };
    let folder = folder();
    let ran = Ran::from(store.sqluice(folder.path()).args(GENERATE).output().unwrap());
    assert!(ran.status.success(), "{ran:?}");
    assert!(store.get("x.db").unwrap().starts_with(b"SQLite format 3\0"));
}

#[test]
fn an_object_that_appears_meanwhile_is_kept() {
    let made = Arc::new(std::sync::OnceLock::<String>::new());
    let at = Arc::clone(&made);
    let Some(store) = Store::with(move |request| {
        if let (Some(2), Some(address)) = (request.part(), at.get()) {
            let other = Request { body: b"other".to_vec(), ..Request::new("PUT", "/bucket/x.db") };
            crate::http::send(address, &other);
        }
        Deed::Pass
    }) else {
        return;
    };
    made.set(store.before.clone()).unwrap();
    let folder = folder();
    let ran = Ran::from(store.sqluice(folder.path()).args(GENERATE).output().unwrap());
    assert!(ran.code() == Some(1) && ran.stderr.contains("already exists"), "{ran:?}");
    assert_eq!(store.get("x.db").unwrap(), b"other");
    assert!(!store.has_uploads());
}

/// Starts a run that waits in its upload, after part 2.
fn waiting(store: &Store, folder: &std::path::Path) -> Child {
    let args = [&GENERATE[..5], &["20M", "--memory=120MiB"]].concat();
    let mut command = store.sqluice(folder);
    let child = command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let started = Instant::now();
    while !store.parts().contains(&3) {
        assert!(started.elapsed() < Duration::from_secs(60), "no part is uploaded");
        std::thread::sleep(Duration::from_millis(2));
    }
    child
}

fn slow() -> Option<Store> {
    Store::with(|request| {
        if request.part().is_some_and(|part| part > 3) {
            std::thread::sleep(Duration::from_secs(2));
        }
        Deed::Pass
    })
}

#[test]
fn a_kill_leaves_no_object() {
    let Some(store) = slow() else { return };
    let folder = folder();
    let mut child = waiting(&store, folder.path());
    child.kill().unwrap();
    child.wait().unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(store.get("x.db"), None);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
#[cfg_attr(
    windows,
    ignore = "signals are those of Unix, and wine sends no console events to programs without a console"
)]
fn asked_to_stop_a_run_gives_its_upload_up() {
    let Some(store) = slow() else { return };
    for signal in ["INT", "TERM"] {
        let folder = folder();
        store.requests.lock().unwrap().clear();
        let child = waiting(&store, folder.path());
        let asked = Instant::now();
        send(&child, signal);
        let ran = end(child);
        assert_eq!(ran.code(), Some(130), "{ran:?}");
        assert!(asked.elapsed() < Duration::from_secs(15), "{:?}", asked.elapsed());
        assert_eq!(store.get("x.db"), None);
        assert!(!store.has_uploads());
        assert_eq!(names(folder.path()), [""; 0]);
    }
}
