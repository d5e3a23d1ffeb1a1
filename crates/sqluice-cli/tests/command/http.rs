//! A minimal HTTP server whose answers a test chooses, and a minimal client, for tests of object stores and web servers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// An HTTP request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) method: String,
    /// The path with the query.
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn new(method: &str, path: &str) -> Request {
        Request { method: method.to_owned(), path: path.to_owned(), ..Request::default() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// Returns the number of the part that the request uploads; `None` if it uploads no part.
    pub(crate) fn part(&self) -> Option<u32> {
        let (_, query) = self.path.split_once('?').filter(|_| self.method == "PUT")?;
        query.split('&').find_map(|pair| pair.strip_prefix("partNumber="))?.parse().ok()
    }

    /// Returns `true` if the request completes a multipart upload.
    pub(crate) fn completes(&self) -> bool {
        self.method == "POST" && self.path.contains("uploadId=")
    }
}

/// An HTTP response.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) sent: Sent,
}

/// The way in which the server sends a response.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Sent {
    /// With a Content-Length.
    #[default]
    Whole,
    /// With a Content-Length, but only this many bytes; then the connection is closed.
    Cut(usize),
    /// With a Content-Length, but only this many bytes; then the connection stays open and silent.
    Stalled(usize),
    /// In chunks, without a Content-Length; with `Some`, only this many bytes, and no last chunk.
    Chunked(Option<usize>),
    /// Without a Content-Length: the response ends with the connection.
    Unmarked,
}

impl Answer {
    pub(crate) fn new(status: u16, body: impl Into<Vec<u8>>) -> Answer {
        Answer { status, body: body.into(), ..Answer::default() }
    }

    pub(crate) fn sent(self, sent: Sent) -> Answer {
        Answer { sent, ..self }
    }

    pub(crate) fn with(mut self, name: &str, value: impl ToString) -> Answer {
        self.headers.push((name.to_owned(), value.to_string()));
        self
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

fn find<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    let mut named = headers.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
    named.next().map(|(_, value)| value.as_str())
}

/// The response of a test to a request; `None` closes the connection.
pub(crate) type Answers = dyn Fn(&Request) -> Option<Answer> + Send + Sync;

/// Starts a server that runs until the test ends. Returns its address.
pub(crate) fn serve(answers: impl Fn(&Request) -> Option<Answer> + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let answers: Arc<Answers> = Arc::new(answers);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answers = Arc::clone(&answers);
            thread::spawn(move || connection(stream, &*answers));
        }
    });
    address
}

fn connection(stream: TcpStream, answers: &Answers) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let line = line(&mut reader)?;
        let mut words = line.split(' ');
        let mut request = Request::new(words.next()?, words.next()?);
        request.headers = headers(&mut reader)?;
        let bytes = request.header("content-length").and_then(|bytes| bytes.parse().ok()).unwrap_or(0);
        request.body = vec![0; bytes];
        reader.read_exact(&mut request.body).ok()?;
        let answer = answers(&request)?;
        let mut head = format!("HTTP/1.1 {} Said\r\n", answer.status);
        let is_head = request.method == "HEAD";
        for (name, value) in &answer.headers {
            let is_of_transfer = ["content-length", "transfer-encoding", "connection"]
                .iter()
                .any(|other| name.eq_ignore_ascii_case(other));
            if !is_of_transfer {
                head += &format!("{name}: {value}\r\n");
            }
        }
        let bytes = match find(&answer.headers, "content-length").filter(|_| is_head) {
            Some(bytes) => bytes.to_owned(),
            None => answer.body.len().to_string(),
        };
        head += &match answer.sent {
            Sent::Chunked(_) => "transfer-encoding: chunked\r\n\r\n".to_owned(),
            Sent::Unmarked => "connection: close\r\n\r\n".to_owned(),
            _ => format!("content-length: {bytes}\r\n\r\n"),
        };
        stream.write_all(head.as_bytes()).ok()?;
        if !is_head {
            send_body(&mut stream, &answer)?;
        }
    }
}

/// Sends the body of a response. Returns `None` if the connection is then closed.
fn send_body(stream: &mut TcpStream, answer: &Answer) -> Option<()> {
    let first = |bytes: usize| &answer.body[..bytes.min(answer.body.len())];
    match answer.sent {
        Sent::Whole => stream.write_all(&answer.body).ok(),
        Sent::Unmarked => stream.write_all(&answer.body).ok().and(None),
        Sent::Cut(bytes) => stream.write_all(first(bytes)).ok().and(None),
        // The connection stays open for the next request.
        Sent::Stalled(bytes) if answer.body.len() <= bytes => stream.write_all(&answer.body).ok(),
        Sent::Stalled(bytes) => {
            stream.write_all(first(bytes)).ok()?;
            // Wait until the client closes the connection.
            let _ = stream.read(&mut [0]);
            None
        }
        Sent::Chunked(bytes) => {
            for chunk in first(bytes.unwrap_or(usize::MAX)).chunks(50_000) {
                write!(stream, "{:x}\r\n", chunk.len()).ok()?;
                stream.write_all(chunk).ok()?;
                stream.write_all(b"\r\n").ok()?;
            }
            if bytes.is_none() {
                stream.write_all(b"0\r\n\r\n").ok()?;
            }
            bytes.is_none().then_some(())
        }
    }
}

fn line(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    match reader.read_line(&mut line) {
        Ok(1..) => Some(line.trim_end().to_owned()),
        _ => None,
    }
}

fn headers(reader: &mut impl BufRead) -> Option<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let line = line(reader)?;
        match line.split_once(':') {
            Some((name, value)) => headers.push((name.to_owned(), value.trim().to_owned())),
            None => return Some(headers),
        }
    }
}

/// Sends a request, and returns the response; `None` if no server answers.
pub(crate) fn send(address: &str, request: &Request) -> Option<Answer> {
    let address: SocketAddr = address.parse().unwrap();
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(5)).ok()?;
    let mut head = format!("{} {} HTTP/1.1\r\n", request.method, request.path);
    for (name, value) in &request.headers {
        if !["connection", "content-length"].iter().any(|other| name.eq_ignore_ascii_case(other)) {
            head += &format!("{name}: {value}\r\n");
        }
    }
    if request.header("host").is_none() {
        head += &format!("host: {address}\r\n");
    }
    head += &format!("content-length: {}\r\nconnection: close\r\n\r\n", request.body.len());
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&request.body).ok()?;
    let mut reader = BufReader::new(stream);
    let status = line(&mut reader)?.split(' ').nth(1)?.parse().ok()?;
    let headers = headers(&mut reader)?;
    let mut body = Vec::new();
    if request.method != "HEAD" {
        if find(&headers, "transfer-encoding").is_some_and(|how| how.contains("chunked")) {
            loop {
                let bytes = usize::from_str_radix(&line(&mut reader)?, 16).ok()?;
                let start = body.len();
                body.resize(start + bytes, 0);
                reader.read_exact(&mut body[start..]).ok()?;
                line(&mut reader)?;
                if bytes == 0 {
                    break;
                }
            }
        } else if let Some(bytes) = find(&headers, "content-length") {
            body.resize(bytes.parse().ok()?, 0);
            reader.read_exact(&mut body).ok()?;
        } else {
            reader.read_to_end(&mut body).ok()?;
        }
    }
    Some(Answer { status, headers, body, sent: Sent::Whole })
}

/// Starts a server of one file. If `ranges` is `true`, it answers requests for ranges of bytes with these ranges, and otherwise always with
/// the whole file. `seen` is called with each request that is answered with bytes of the file, and with the range of these bytes.
pub(crate) fn serve_file(
    bytes: Vec<u8>,
    ranges: bool,
    seen: impl Fn(&Request, &std::ops::Range<usize>) + Send + Sync + 'static,
) -> String {
    serve(move |request| Some(of_file(&bytes, ranges, request, &seen).with("etag", "\"of-this-file\"")))
}

/// Returns the response of a server to a request for a file.
pub(crate) fn of_file(
    bytes: &[u8],
    ranges: bool,
    request: &Request,
    seen: &dyn Fn(&Request, &std::ops::Range<usize>),
) -> Answer {
    let range = request.header("range").and_then(|range| range.strip_prefix("bytes=")).filter(|_| ranges);
    match range.and_then(|range| range.split_once('-')) {
        Some((first, last)) => {
            let first: usize = first.parse().unwrap();
            if first >= bytes.len() {
                return Answer::new(416, "").with("content-range", format!("bytes */{}", bytes.len()));
            }
            let end = last.parse().map_or(bytes.len(), |last: usize| (last + 1).min(bytes.len()));
            seen(request, &(first..end));
            Answer::new(206, &bytes[first..end])
                .with("content-range", format!("bytes {first}-{}/{}", end - 1, bytes.len()))
        }
        None => {
            seen(request, &(0..bytes.len()));
            Answer::new(200, bytes)
        }
    }
}
