//! Servers that cut their answers, stall, fail for a while, do not know the length of a file, or change it: a load is right, or it ends
//! within the limits that are set and names the cause.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqluice_testkit::effort::tries;

use crate::http::{Answer, Request, Sent, of_file, serve};
use crate::store::{Deed, QUICKLY, Store};
use crate::support::{Ran, Random, WAITS, finish, folder, sqluice};

/// Returns about 900 kB of CSV, which a stream reads in several blocks.
fn rows(seed: u64) -> String {
    let lines = (0..60_000).map(|row| format!("{row},{}\n", (row * 7919 + seed) % 1_000_003));
    "id,amount\n".to_owned() + &lines.collect::<String>()
}

/// Returns a function that counts its calls, from 0.
fn counter() -> impl Fn() -> usize + Send + Sync {
    let count = AtomicUsize::new(0);
    move || count.fetch_add(1, Ordering::Relaxed)
}

/// Starts a web server with a file. `how` chooses the way of sending by the number of the response.
fn server(text: &str, ranges: bool, how: impl Fn(usize) -> Sent + Send + Sync + 'static) -> String {
    let (bytes, count) = (text.as_bytes().to_owned(), counter());
    let address = serve(move |request| {
        let answer = of_file(&bytes, ranges, request, &|_, _| ());
        Some(answer.with("etag", "\"e\"").sent(how(count())))
    });
    format!("http://{address}/t.csv")
}

fn quickly(folder: &Path) -> Command {
    let mut command = sqluice(folder);
    command.env(WAITS, QUICKLY);
    command
}

/// Returns the bytes of the database that a load of the same text from a file makes.
fn wanted(folder: &Path, text: &str) -> Vec<u8> {
    fs::write(folder.join("t.csv"), text).unwrap();
    finish(quickly(folder).args(["load", "local.db", "t.csv", "--overwrite", "-y"])).ok();
    fs::read(folder.join("local.db")).unwrap()
}

fn load(command: &mut Command, url: &str, flags: &[&str]) -> Ran {
    finish(command.args(["load", "x.db", url, "--overwrite", "-y"]).args(flags))
}

#[track_caller]
fn assert_right(folder: &Path, command: &mut Command, url: &str, wanted: &[u8]) {
    load(command, url, &[]).ok();
    assert!(fs::read(folder.join("x.db")).unwrap() == wanted, "{url}");
}

#[track_caller]
fn assert_fails(folder: &Path, command: &mut Command, url: &str, flags: &[&str], words: &[&str]) -> Ran {
    let _ = fs::remove_file(folder.join("x.db"));
    let ran = load(command, url, flags).failed(1, words[0]);
    for word in words {
        assert!(ran.stderr.contains(word), "{word}: {ran:?}");
    }
    assert!(!folder.join("x.db").exists());
    ran
}

#[test]
fn a_response_that_is_cut_off_is_continued_at_the_same_byte() {
    let home = folder();
    let folder = home.path();
    let text = rows(1);
    let wanted = wanted(folder, &text);
    let mut random = Random::new();
    for _ in 0..tries(1, 5, 100) {
        let (seed, one_in) = (random.next(), 2 + random.next() as usize % 3);
        let cut = move |count: usize| match count % one_in {
            1 => Sent::Cut(Random::seeded(seed + count as u64).next() as usize % 300_000),
            _ => Sent::Whole,
        };
        for ranges in [true, false] {
            assert_right(folder, &mut quickly(folder), &server(&text, ranges, cut), &wanted);
        }
        let count = counter();
        let Some(store) = Store::with(move |request| match request.method == "GET" {
            true => Deed::Send(cut(count())),
            false => Deed::Pass,
        }) else {
            continue;
        };
        store.put("t.csv", text.as_bytes());
        assert_right(folder, &mut store.sqluice(folder), "s3://bucket/t.csv", &wanted);
    }
    // A load goes on after each response that is cut off, if the response brought further bytes. After the first one, the second server
    // brings none.
    assert_right(folder, &mut quickly(folder), &server(&text, true, |_| Sent::Cut(60_000)), &wanted);
    let url = server(&text, true, |count| Sent::Cut(if count == 0 { 1 << 20 } else { 0 }));
    let cause = ["cannot read", "check the network"];
    assert_fails(folder, &mut quickly(folder), &url, &["--retries", "3"], &cause);
}

#[test]
fn a_server_that_stalls_ends_a_load_within_the_timeout() {
    let home = folder();
    let folder = home.path();
    let text = rows(2);
    let wanted = wanted(folder, &text);
    for ranges in [true, false] {
        // The server stalls once in the first case, and forever in the second.
        let once = server(&text, ranges, |count| if count == 1 { Sent::Stalled(1000) } else { Sent::Whole });
        load(&mut quickly(folder), &once, &["--timeout", "2"]).ok();
        assert!(fs::read(folder.join("x.db")).unwrap() == wanted);
        let always =
            server(&text, ranges, |count| if count == 0 { Sent::Whole } else { Sent::Stalled(1000) });
        let cause = ["the server sent nothing for", "--timeout"];
        assert_fails(folder, &mut quickly(folder), &always, &["--timeout", "1"], &cause);
        assert_fails(
            folder,
            &mut quickly(folder),
            &always,
            &["--timeout", "500ms", "--retries", "0"],
            &cause,
        );
    }
}

#[test]
fn a_response_without_a_length_is_read_if_chunked_and_refused_if_not() {
    let home = folder();
    let folder = home.path();
    let text = rows(3);
    let wanted = wanted(folder, &text);
    for ranges in [true, false] {
        let chunked = server(&text, ranges, |_| Sent::Chunked(None));
        assert_right(folder, &mut quickly(folder), &chunked, &wanted);
        let cut = server(&text, ranges, |count| Sent::Chunked((count % 2 == 1).then_some(200_000)));
        assert_right(folder, &mut quickly(folder), &cut, &wanted);
    }
    let unmarked = server(&text, false, |_| Sent::Unmarked);
    let words = ["the server does not say where the file ends", "curl -O"];
    assert_fails(folder, &mut quickly(folder), &unmarked, &[], &words);
}

#[test]
fn a_load_never_mixes_two_versions_of_a_file() {
    let home = folder();
    let folder = home.path();
    let texts = [rows(4), rows(5)];
    let all = texts.each_ref().map(|text| wanted(folder, text));
    type Say = fn(Answer, usize) -> Answer;
    let says: [Say; 3] = [
        |answer, version| answer.with("etag", format!("\"{version}\"")),
        |answer, version| answer.with("etag", format!("W/\"{version}\"")),
        |answer, version| answer.with("last-modified", format!("Thu, 01 Jan 2026 00:00:0{version} GMT")),
    ];
    for (ranges, say) in [true, false].into_iter().flat_map(|ranges| says.map(|say| (ranges, say))) {
        for change in 1..5 {
            let (texts, count) = (texts.clone(), counter());
            let address = serve(move |request: &Request| {
                let count = count();
                let version = usize::from(count >= change);
                let matches = request.header("if-match").is_none_or(|tag| tag == format!("\"{version}\""));
                if !matches {
                    return Some(Answer::new(412, ""));
                }
                let answer = of_file(texts[version].as_bytes(), ranges, request, &|_, _| ());
                let sent = if count % 2 == 1 { Sent::Cut(100_000) } else { Sent::Whole };
                Some(say(answer, version).sent(sent))
            });
            let url = format!("http://{address}/t.csv");
            let ran = load(&mut quickly(folder), &url, &[]);
            match ran.status.success() {
                true => assert!(all.contains(&fs::read(folder.join("x.db")).unwrap()), "{ran:?}"),
                false => assert!(ran.stderr.contains("has changed"), "{ran:?}"),
            }
        }
    }
}

#[test]
fn requests_that_fail_temporarily_are_repeated_as_often_as_the_flag_retries_says() {
    let home = folder();
    let folder = home.path();
    let text = rows(6);
    let wanted = wanted(folder, &text);
    let requests = Arc::new(AtomicUsize::new(0));
    let failing = |times: usize| {
        let (bytes, requests) = (text.as_bytes().to_owned(), Arc::clone(&requests));
        requests.store(0, Ordering::SeqCst);
        let address = serve(move |request| match requests.fetch_add(1, Ordering::SeqCst) < times {
            true => Some(Answer::new(500, "")),
            false => Some(of_file(&bytes, true, request, &|_, _| ()).with("etag", "\"e\"")),
        });
        format!("http://{address}/t.csv")
    };
    // The first 15 requests fail, one after another. Their repetition takes longer than waits of a few seconds.
    assert_right(folder, &mut quickly(folder), &failing(15), &wanted);
    let words = ["500 Internal Server Error", "--timeout"];
    assert_fails(folder, &mut quickly(folder), &failing(usize::MAX), &["--retries", "2"], &words);
    assert_eq!(requests.load(Ordering::SeqCst), 3);
    assert_fails(folder, &mut quickly(folder), &failing(usize::MAX), &["--timeout", "1"], &words);
}

#[test]
fn an_error_of_a_server_names_the_request_that_failed() {
    let home = folder();
    let folder = home.path();
    let missing = format!("http://{}/x.csv", serve(|_| Some(Answer::new(404, ""))));
    let ran =
        assert_fails(folder, &mut quickly(folder), &missing, &[], &["404", "the server has no such file"]);
    assert!(!ran.stderr.contains("bucket"), "{ran:?}");
    // The first request to a store is HEAD, and its answer has no body that could name a cause. So the hint follows from the status 403,
    // and from an environment without credentials.
    let denied = serve(|_| Some(Answer::new(403, "")));
    let mut command = quickly(folder);
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("AWS_")) {
        command.env_remove(name);
    }
    command.env("AWS_ENDPOINT_URL", format!("http://{denied}")).env("AWS_SKIP_SIGNATURE", "true");
    let words = ["403", "no credentials were found in the environment: set AWS_ACCESS_KEY_ID"];
    assert_fails(folder, &mut command, "s3://bucket/t.csv", &[], &words);
    for verb in ["check", "info"] {
        let ran = finish(quickly(folder).args([verb, "s3://bucket/t.db"]));
        ran.failed(2, "s3://bucket/t.db is a URL: only a local file can be checked");
    }
}
