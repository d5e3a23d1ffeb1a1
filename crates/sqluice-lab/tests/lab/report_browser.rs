//! Shows the report page in a headless Chromium: it must be rendered without console errors and request nothing from the network.
//!
//! `SQLUICE_SCREENSHOTS=DIR` keeps screenshots at the widths of a phone and of a desktop, light and dark.

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

/// The JSON file with the results of a run of all experiments, with invented figures.
const MADE_UP: &str = include_str!("../fixture/made_up_run.json");

/// Returns a report page with all its elements: wrong results, changes since an old run, names that would be markup if not escaped.
fn page() -> String {
    let old: Run = serde_json::from_str(MADE_UP).unwrap();
    let mut run = old.clone();
    run.interrupted = true;
    run.experiments[1].variants[0].outcome = Outcome::Failed { why: "1 row instead of <b>2</b>".to_owned() };
    run.experiments[1].variants[1].name =
        "<script>console.error('ran')</script><img src='http://127.0.0.1/x'>".to_owned();
    report::html(&run, Some(&old))
}

/// Opens the file `page` of a folder in the browser. All its network requests go to `proxy`.
fn browse(folder: &Path, proxy: &Proxy, page: &str, args: &[&str]) -> Output {
    let page = format!("file://{}", folder.join(page).display());
    let proxy = format!("--proxy-server=127.0.0.1:{}", proxy.port);
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]);
    // These flags switch off the requests that the browser makes by itself, such as for updates.
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
    // The proxy is used for requests to this machine (loopback), too.
    command.args(["--enable-logging=stderr", "--v=0", "--proxy-bypass-list=<-loopback>", &proxy, &profile]);
    command.args(args).arg(page);
    command.output().unwrap()
}

/// A proxy that answers no request and records the request lines.
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
                // A connection without a request line within two seconds is recorded as an empty line.
                let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
                let _ = BufReader::new(stream).read_line(&mut line);
                remembered.lock().unwrap().push(line.trim().to_owned());
            }
        });
        Proxy { port, asked }
    }

    /// Returns the request lines of pages: `GET http://host/path HTTP/1.1`, `CONNECT host:443 HTTP/1.1`. The browser's own requests to
    /// Google, which can't all be switched off, are left out.
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

/// Returns the lines that a page wrote to the browser's console.
fn console(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stderr);
    text.lines().filter(|line| line.contains("CONSOLE")).map(str::to_owned).collect()
}

#[test]
fn chromium_shows_the_report_page_without_an_error_and_without_a_request() {
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

/// Checks that the test above can fail: the console line and the request of a bad page are found.
#[test]
fn a_page_with_a_console_error_and_a_request_is_noticed() {
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
fn the_report_page_is_not_empty_and_fits_the_width_of_a_phone_and_of_a_desktop() {
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
            // The corner has the colour of the background. Some pixels must differ from it, or the page would be empty.
            let paper = picture.brightness(width - 1, 0);
            assert_eq!(paper > 128, light, "{name} {scheme}: {paper}");
            let printed = picture.share(|brightness| brightness.abs_diff(paper) > 90);
            assert!((0.02..0.5).contains(&printed), "{name} {scheme}: {printed}");
            // The right edge must have the colour of the background: no content reaches beyond it.
            assert!((0..height).all(|y| picture.brightness(width - 1, y) == paper), "{name} {scheme}");
            if let Some(keep) = std::env::var_os("SQLUICE_SCREENSHOTS") {
                fs::copy(&file, Path::new(&keep).join(file.file_name().unwrap())).unwrap();
            }
        }
    }
    assert_eq!(proxy.asked_by_pages(), [""; 0]);
}

/// The brightness of the pixels of a screenshot.
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

    /// Returns the share of pixels for whose brightness `wanted` is true.
    fn share(&self, wanted: impl Fn(u8) -> bool) -> f64 {
        let pixels = (0..self.height).flat_map(|y| (0..self.width).map(move |x| (x, y)));
        pixels.filter(|(x, y)| wanted(self.brightness(*x, *y))).count() as f64
            / f64::from(self.width * self.height)
    }
}
