//! The page in Debian's Chromium, without a screen: it shows, complains of nothing and asks nobody for anything.
//!
//! Run with `SQLUICE_SCREENSHOTS=DIR` to keep what it looks like at the width of a phone and of a desk.

use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};

use sqluice_lab::record::Run;
use sqluice_lab::report;

/// Figures that nobody measured.
const MADE_UP: &str = include_str!("fixture/made_up_run.json");

/// Runs the browser over a page in a folder, behind a proxy that is this listener.
fn browse(folder: &Path, proxy: &TcpListener, args: &[&str]) -> Output {
    let page = format!("file://{}", folder.join("page.html").display());
    let proxy = format!("--proxy-server=127.0.0.1:{}", proxy.local_addr().unwrap().port());
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let mut command = Command::new("chromium");
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars"]);
    // What the browser itself would like to know of the world.
    command.args(["--disable-background-networking", "--disable-component-update", "--disable-sync"]);
    command.args([
        "--disable-default-apps",
        "--metrics-recording-only",
        "--disable-features=OptimizationHints,MediaRouter",
    ]);
    command.args([
        "--enable-logging=stderr",
        "--v=0",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        &proxy,
        &profile,
    ]);
    command.args(args).arg(page);
    command.output().unwrap()
}
