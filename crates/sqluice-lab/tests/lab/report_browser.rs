//! The page in Debian's Chromium, without a screen: it is shown, reports no errors and requests nothing from the network.
//!
//! `SQLUICE_SCREENSHOTS=DIR` keeps what it looks like at the widths of a phone and of a desk, light and dark.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sqluice_lab::record::{Outcome, Run};
use sqluice_lab::report;
use sqluice_testkit::skip::has;

/// Made-up figures.
const MADE_UP: &str = include_str!("../fixture/made_up_run.json");

/// The page with everything on it: wrong results, changes since an old run, names that would be markup.
fn page() -> String {
    let old: Run = serde_json::from_str(MADE_UP).unwrap();
    let mut run = old.clone();
    run.interrupted = true;
    run.experiments[1].variants[0].outcome =
        Outcome::Failed { why: "1 row in the place of <b>2</b>".to_owned() };
    run.experiments[1].variants[1].name =
        "<script>console.error('ran')</script><img src='http://127.0.0.1/x'>".to_owned();
    report::html(&run, Some(&old))
}

/// Runs the browser over the page in a folder; all that it asks the network for goes to this proxy.
fn browse(folder: &Path, proxy: &Proxy, page: &str, args: &[&str]) -> Output {
    let page = format!("file://{}", folder.join(page).display());
    let proxy = format!("--proxy-server=127.0.0.1:{}", proxy.port);
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]);
    // What the browser itself would like to know of the world.
    command.args([
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-extensions",
    ]);
    command.args([
        "--disable-default-apps",
        "--disable-domain-reliability",
        "--no-pings",
        "--disable-client-side-phishing-detection",
    ]);
    // Not even this machine itself is reached but through the proxy.
    command.args(["--enable-logging=stderr", "--v=0", "--proxy-bypass-list=<-loopback>", &proxy, &profile]);
    command.args(args).arg(page);
    command.output().unwrap()
}

/// A proxy that turns everybody away, and remembers for what they came.
struct Proxy {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn new() -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let remembered = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut line = String::new();
                // Who says nothing wants nothing that could be named.
                let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
                let _ = BufReader::new(stream).read_line(&mut line);
                remembered.lock().unwrap().push(line.trim().to_owned());
            }
        });
        Proxy { port, asked }
    }

    /// What pages asked for: `GET http://host/path HTTP/1.1`, `CONNECT host:443 HTTP/1.1`. The browser's own questions go to its maker,
    /// and cannot all be switched off.
    fn asked_by_pages(&self) -> Vec<String> {
        let of_maker = |line: &String| {
            let target = line.split(' ').nth(1).unwrap_or_default();
            let host = target.trim_start_matches("http://").split(['/', ':']).next().unwrap_or_default();
            ["google.com", "googleapis.com", "gvt1.com", "gstatic.com"].iter().any(|maker| {
                host == *maker || host.strip_suffix(maker).is_some_and(|rest| rest.ends_with('.'))
            })
        };
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|line| !line.is_empty() && !of_maker(line)).cloned().collect()
    }
}

/// Lines that the console of a page wrote.
fn console(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect()
}

#[test]
fn chromium_shows_the_page_without_an_error_and_without_a_request() {
    if !has("chromium") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.html"), page()).unwrap();
    let proxy = Proxy::new();
    let shown = browse(folder.path(), &proxy, "page.html", &["--dump-dom"]);
    let dom = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.status.success() && dom.contains("Which way into SQLite is fastest"), "{shown:?}");
    assert_eq!(console(&shown), [""; 0]);
    assert_eq!(proxy.asked_by_pages(), [""; 0]);
    assert!(!dom.contains("<script"), "a name has become markup");
}

/// The test above can fail: of a page that does both, the console and the request are seen.
#[test]
fn a_page_that_complains_and_asks_is_noticed() {
    if !has("chromium") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bad = "<!DOCTYPE html><title>x</title><script>console.error('ran')</script><img src='http://example.org/x.png'>";
    fs::write(folder.path().join("bad.html"), bad).unwrap();
    let proxy = Proxy::new();
    let shown = browse(folder.path(), &proxy, "bad.html", &["--dump-dom"]);
    assert!(!console(&shown).is_empty(), "{shown:?}");
    assert_eq!(proxy.asked_by_pages(), ["GET http://example.org/x.png HTTP/1.1"]);
}

#[test]
fn on_a_phone_and_on_a_desk_the_page_is_not_wider_than_the_screen_and_not_empty() {
    if !has("chromium") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("page.html"), page()).unwrap();
    let proxy = Proxy::new();
    for (name, width, height) in [("phone", 390, 844), ("desk", 1280, 900)] {
        for (scheme, number, light) in [("light", 1, true), ("dark", 0, false)] {
            let file = folder.path().join(format!("{name}-{scheme}.png"));
            let screenshot = format!("--screenshot={}", file.display());
            let size = format!("--window-size={width},{height}");
            let preferred = format!("--blink-settings=preferredColorScheme={number}");
            let shown = browse(folder.path(), &proxy, "page.html", &[&screenshot, &size, &preferred]);
            let picture = Picture::read(&file);
            assert_eq!((picture.width, picture.height), (width, height), "{shown:?}");
            // A corner has the colour of the background; printed pixels differ from it, and some exist.
            let paper = picture.brightness(width - 1, 0);
            assert_eq!(paper > 128, light, "{name} {scheme}: {paper}");
            let printed = picture.share(|brightness| brightness.abs_diff(paper) > 90);
            assert!((0.02..0.5).contains(&printed), "{name} {scheme}: {printed}");
            // Nothing runs out of the page at its right edge.
            assert!((0..height).all(|y| picture.brightness(width - 1, y) == paper), "{name} {scheme}");
            if let Some(keep) = std::env::var_os("SQLUICE_SCREENSHOTS") {
                fs::copy(&file, Path::new(&keep).join(file.file_name().unwrap())).unwrap();
            }
        }
    }
    assert_eq!(proxy.asked_by_pages(), [""; 0]);
}

/// What a screen would show.
struct Picture {
    width: u32,
    height: u32,
    samples: usize,
    bytes: Vec<u8>,
}

impl Picture {
    fn read(file: &Path) -> Picture {
        let mut reader = png::Decoder::new(BufReader::new(File::open(file).unwrap())).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        Picture { width: info.width, height: info.height, samples: info.color_type.samples(), bytes }
    }

    fn brightness(&self, x: u32, y: u32) -> u8 {
        let at = (y * self.width + x) as usize * self.samples;
        let [red, green, blue] =
            [0, 1, 2].map(|sample| u32::from(self.bytes[at + sample.min(self.samples - 1)]));
        ((red * 3 + green * 6 + blue) / 10) as u8
    }

    /// The share of pixels that are so.
    fn share(&self, wanted: impl Fn(u8) -> bool) -> f64 {
        let pixels = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        pixels.filter(|(x, y)| wanted(self.brightness(*x, *y))).count() as f64
            / f64::from(self.width * self.height)
    }
}
