//! An object store with the interface of S3 for tests, with a proxy that a test controls in front of it.
//!
//! ```text
//!  sqluice ── /bucket/x.db ──> server of a test ── /bucket-7/x.db ──> moto, one for all tests
//! ```

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};

use sqluice_testkit::skip::skipped;

use crate::http::{self, Answer, Request, Sent};
use crate::support::{Limit, SQLUICE, WAITS, program, spawn_as_is, sqluice};

/// The bucket of all tests, as the command sees it.
const BUCKET: &str = "/bucket";

/// The credentials of the tests, which no output may show.
pub(crate) const KEY_ID: &str = "AKIAEXAMPLEOFSQLUICE";
pub(crate) const SECRET: &str = "secret-of-the-tests/abc";

/// The factor for waiting times between repetitions of a request.
pub(crate) const QUICKLY: &str = "0.02";

/// The treatment of a request by the proxy.
#[derive(Clone, Debug)]
pub(crate) enum Deed {
    /// Forwards the request to the store, and the response to the command.
    Pass,
    /// Closes the connection without forwarding the request.
    Close,
    /// Forwards the request to the store, and closes the connection without a response.
    PassAndClose,
    /// Forwards the request to the store, and sends the response in this way.
    Send(Sent),
    /// Sends this response without forwarding the request.
    Answer(Answer),
}

/// The environment variable with the address of a program that starts stores for tests under wine, where Python does not run. A client that
/// connects to it receives the address of a store, which ends with the connection.
const STARTER: &str = "SQLUICE_STORE_STARTER";

/// The store of all tests, a separate process that ends with this one.
struct Moto {
    _life: Life,
    address: String,
}

/// The handle that keeps a store alive: the store ends with the pipe to its standard input, or with the
/// connection.
enum Life {
    Process(#[expect(dead_code, reason = "it is there to be kept")] Child),
    Connection(#[expect(dead_code, reason = "it is there to be kept")] TcpStream),
}

/// The number of buckets so far.
static BUCKETS: AtomicUsize = AtomicUsize::new(0);

/// A bucket of the store for one test, and the proxy in front of it.
pub(crate) struct Store {
    /// The address of the store itself.
    address: String,
    /// The name of the bucket in the store.
    bucket: String,
    /// The address of the proxy.
    pub(crate) before: String,
    /// All requests, without their bodies.
    pub(crate) requests: Arc<Mutex<Vec<Request>>>,
    open_requests: Arc<AtomicUsize>,
}

/// Starts the store; returns `None` if `moto` is not installed.
fn started() -> Option<Moto> {
    if let Ok(starter) = std::env::var(STARTER) {
        let connection = TcpStream::connect(starter).unwrap();
        let mut address = String::new();
        BufReader::new(connection.try_clone().unwrap()).read_line(&mut address).unwrap();
        return Some(Moto { _life: Life::Connection(connection), address: address.trim_end().to_owned() });
    }
    let moto = installed()?;
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    // The pipe closes when this process ends, even if it is killed.
    let mut shell = program("sh");
    shell.args(["-c", "\"$0\" \"$@\" & read -r _; kill $!"]).arg(moto);
    shell.args(["-H", "127.0.0.1", "-p", &address.port().to_string()]);
    let shell = shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(Moto { _life: Life::Process(spawn_as_is(shell)), address: address.to_string() })
}

/// Returns the path of the server program, if `tools/environment` has installed it.
fn installed() -> Option<PathBuf> {
    let target = Path::new(SQLUICE).parent().and_then(Path::parent).unwrap();
    let program = target.join("python/venv/bin/moto_server");
    program.exists().then_some(program)
}

/// Returns a request of the owner of all objects. It needs no signature, because the store verifies none.
pub(crate) fn owner(method: &str, path: &str) -> Request {
    let credential = format!("{KEY_ID}/20260101/us-east-1/s3/aws4_request");
    let value = format!("AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=0");
    Request { headers: vec![("authorization".to_owned(), value)], ..Request::new(method, path) }
}

/// Returns the request with the bucket in its path replaced by the bucket of the test.
fn in_bucket(request: &Request, bucket: &str) -> Request {
    let path = match request.path.strip_prefix(BUCKET) {
        Some(rest) if rest.is_empty() || rest.starts_with(['/', '?']) => format!("{bucket}{rest}"),
        _ => request.path.clone(),
    };
    Request { path, ..request.clone() }
}

impl Store {
    /// Returns a store with an empty bucket; `None` if the test is skipped because no store can be started.
    #[track_caller]
    pub(crate) fn start() -> Option<Store> {
        Store::with(|_| Deed::Pass)
    }

    /// Returns a store like [`Store::start`], where `deed` decides about each request.
    #[track_caller]
    pub(crate) fn with(deed: impl Fn(&Request) -> Deed + Send + Sync + 'static) -> Option<Store> {
        static MOTO: LazyLock<Option<Moto>> = LazyLock::new(started);
        let Some(moto) = &*MOTO else {
            skipped("moto is not installed: run tools/environment");
            return None;
        };
        let bucket = format!("{BUCKET}-{}", BUCKETS.fetch_add(1, Ordering::Relaxed));
        let requests: Arc<Mutex<Vec<Request>>> = Arc::default();
        let open_requests: Arc<AtomicUsize> = Arc::default();
        let (to, of_bucket) = (moto.address.clone(), bucket.clone());
        let (seen, open) = (Arc::clone(&requests), Arc::clone(&open_requests));
        let before = http::serve(move |request| {
            seen.lock().unwrap().push(Request { body: Vec::new(), ..request.clone() });
            open.fetch_add(1, Ordering::SeqCst);
            let pass = || http::send(&to, &in_bucket(request, &of_bucket));
            let answer = match deed(request) {
                Deed::Pass => pass(),
                Deed::Close => None,
                Deed::PassAndClose => {
                    pass();
                    None
                }
                Deed::Send(sent) => pass().map(|answer| answer.sent(sent)),
                Deed::Answer(answer) => Some(answer),
            };
            open.fetch_sub(1, Ordering::SeqCst);
            answer
        });
        let store = Store { address: moto.address.clone(), bucket, before, requests, open_requests };
        let limit = Limit::new();
        while store.ask("PUT", "", b"").is_none_or(|answer| answer.status != 200) {
            limit.pause("the start of the store");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Some(store)
    }

    /// Sends a request about an object of the bucket to the store, past the proxy.
    fn ask(&self, method: &str, path: &str, body: &[u8]) -> Option<Answer> {
        let path = format!("{}{path}", self.bucket);
        http::send(&self.address, &Request { body: body.to_vec(), ..owner(method, &path) })
    }

    /// Returns a function that sends requests to the store past the proxy, as another user of the bucket.
    pub(crate) fn of_another(&self) -> impl Fn(&Request) + Send + Sync + 'static {
        let (address, bucket) = (self.address.clone(), self.bucket.clone());
        move |request| drop(http::send(&address, &in_bucket(request, &bucket)))
    }

    pub(crate) fn put(&self, key: &str, bytes: &[u8]) {
        assert_eq!(self.ask("PUT", &format!("/{key}"), bytes).unwrap().status, 200);
    }

    /// Returns the bytes of an object; `None` if it does not exist.
    pub(crate) fn get(&self, key: &str) -> Option<Vec<u8>> {
        let answer = self.ask("GET", &format!("/{key}"), b"").unwrap();
        assert!([200, 404].contains(&answer.status), "{}: {}", answer.status, answer.text());
        (answer.status == 200).then_some(answer.body)
    }

    pub(crate) fn delete(&self, key: &str) {
        assert_eq!(self.ask("DELETE", &format!("/{key}"), b"").unwrap().status, 204);
    }

    /// Returns `true` if some uploads are neither completed nor aborted.
    pub(crate) fn has_uploads(&self) -> bool {
        self.ask("GET", "?uploads", b"").unwrap().text().contains("<UploadId>")
    }

    /// Returns the number of requests that are not answered yet.
    pub(crate) fn open_requests(&self) -> usize {
        self.open_requests.load(Ordering::SeqCst)
    }

    /// Returns the command with this store as S3 in its environment.
    pub(crate) fn sqluice(&self, folder: &Path) -> Command {
        let mut command = sqluice(folder);
        with_credentials(&mut command);
        command.env("AWS_ENDPOINT_URL", format!("http://{}", self.before)).env(WAITS, QUICKLY);
        command
    }

    /// Returns the numbers of the uploaded parts, in the order of the requests.
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
