//! A store with the interface of S3, and what lies in it.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use sqluice_testkit::skip::skipped;

use crate::http::{self, Answer, Request};
use crate::support::{SQLUICE, sqluice};

/// The bucket of all tests.
pub(crate) const BUCKET: &str = "bucket";

/// What must not be seen anywhere.
pub(crate) const KEY_ID: &str = "AKIAEXAMPLEOFSQLUICE";
pub(crate) const SECRET: &str = "secret-of-the-tests/abc";

/// What is done with a request.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// The store gets it, and its answer is passed on.
    Pass,
    /// The connection is closed.
    Close,
    /// The store gets it, and the connection is closed.
    PassAndClose,
    /// It is answered here.
    Answer(Answer),
}

/// Has the address of a program that starts stores for tests under wine, which runs no Python: whoever connects to it receives the address
/// of a store, which ends with the connection.
const STARTER: &str = "SQLUICE_STORE_STARTER";

/// What keeps a store alive.
enum Life {
    Process(Child),
    Connection(#[expect(dead_code, reason = "it is there to be dropped")] TcpStream),
}

/// A store that runs as long as this exists, and the server before it.
pub(crate) struct Store {
    life: Life,
    /// Of the store itself.
    address: String,
    /// Of the server before it.
    pub(crate) before: String,
    /// All requests, without their bodies.
    pub(crate) requests: Arc<Mutex<Vec<Request>>>,
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Life::Process(process) = &mut self.life {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Starts a store; returns its address.
#[track_caller]
fn started() -> Option<(Life, String)> {
    if let Ok(starter) = std::env::var(STARTER) {
        let connection = TcpStream::connect(starter).unwrap();
        let mut address = String::new();
        BufReader::new(connection.try_clone().unwrap()).read_line(&mut address).unwrap();
        return Some((Life::Connection(connection), address.trim_end().to_owned()));
    }
    let program = program()?;
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let process = Command::new(program)
        .args(["-H", "127.0.0.1", "-p", &address.port().to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Some((Life::Process(process), address.to_string()))
}

/// The program, if `tools/remote` has installed it.
#[track_caller]
fn program() -> Option<PathBuf> {
    let target = Path::new(SQLUICE).parent().and_then(Path::parent).unwrap();
    let program = target.join("remote/venv/bin/moto_server");
    if !program.exists() {
        skipped("moto is not installed: run tools/remote");
        return None;
    }
    Some(program)
}

/// A request of the owner of all objects: the store verifies no signature.
fn owner(method: &str, path: &str) -> Request {
    let credential = format!("{KEY_ID}/20260101/us-east-1/s3/aws4_request");
    let value = format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=0");
    Request { headers: vec![("authorization".to_owned(), value)], ..Request::new(method, path) }
}

impl Store {
    /// A store with an empty bucket; `None`: the test is skipped.
    #[track_caller]
    pub(crate) fn start() -> Option<Store> {
        Store::with(|_| Deed::Pass)
    }

    /// The same, where `deed` decides about each request.
    #[track_caller]
    pub(crate) fn with(deed: impl Fn(&Request) -> Deed + Send + Sync + 'static) -> Option<Store> {
        let (life, address) = started()?;
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let (to, seen) = (address.clone(), Arc::clone(&requests));
        let before = http::serve(move |request| {
            seen.lock().unwrap().push(Request { body: Vec::new(), ..request.clone() });
            match deed(request) {
                Deed::Pass => http::send(&to, request),
                Deed::Close => None,
                Deed::PassAndClose => {
                    http::send(&to, request);
                    None
                }
                Deed::Answer(answer) => Some(answer),
            }
        });
        let store = Store { life, address, before, requests };
        let started = Instant::now();
        while store.ask("PUT", &format!("/{BUCKET}"), b"").is_none_or(|answer| answer.status != 200) {
            assert!(started.elapsed() < Duration::from_secs(60), "the store does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        Some(store)
    }

    /// Asks the store itself.
    fn ask(&self, method: &str, path: &str, body: &[u8]) -> Option<Answer> {
        http::send(&self.address, &Request { body: body.to_vec(), ..owner(method, path) })
    }

    pub(crate) fn put(&self, key: &str, bytes: &[u8]) {
        assert_eq!(self.ask("PUT", &format!("/{BUCKET}/{key}"), bytes).unwrap().status, 200);
    }

    /// An object; `None`: it does not exist.
    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let answer = self.ask("GET", &format!("/{BUCKET}/{key}"), b"").unwrap();
        assert!([200, 404].contains(&answer.status), "{}: {}", answer.status, answer.text());
        (answer.status == 200).then_some(answer.body)
    }

    pub(crate) fn delete(&self, key: &str) {
        assert_eq!(self.ask("DELETE", &format!("/{BUCKET}/{key}"), b"").unwrap().status, 204);
    }

    /// Whether uploads are neither completed nor given up.
    pub(crate) fn has_uploads(&self) -> bool {
        self.ask("GET", &format!("/{BUCKET}?uploads"), b"").unwrap().text().contains("<UploadId>")
    }

    /// The command, with this store as S3.
    pub(crate) fn sqluice(&self, folder: &Path) -> Command {
        let mut command = sqluice(folder);
        with_credentials(&mut command);
        command.env("AWS_ENDPOINT_URL", format!("http://{}", self.before));
        command
    }

    /// The numbers of the parts that were uploaded, in the order of the requests.
    pub(crate) fn parts(&self) -> Vec<u32> {
        self.requests.lock().unwrap().iter().filter_map(Request::part).collect()
    }
}

/// Gives a command credentials, and nothing else of the environment's.
pub(crate) fn with_credentials(command: &mut Command) {
    for (name, _) in std::env::vars() {
        if ["AWS_", "AZURE_", "GOOGLE_", "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"]
            .iter()
            .any(|prefix| name.starts_with(prefix))
        {
            command.env_remove(name);
        }
    }
    command
        .env("AWS_ACCESS_KEY_ID", KEY_ID)
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("AWS_REGION", "us-east-1");
}
