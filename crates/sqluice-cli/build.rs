//! Sets the texts about the build that `--version` shows: compiler, target, profile and commit. The build needs none of them: without git,
//! for example, the commit is left out.

use std::env;
use std::process::Command;

/// Runs a program and returns the first line that it prints; `None` if it fails or prints nothing.
fn line(program: &str, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new(program).args(arguments).output().ok().filter(|output| output.status.success())?;
    String::from_utf8(output.stdout).ok()?.lines().next().map(str::to_owned)
}

fn main() {
    let rustc = env::var("RUSTC").ok().and_then(|rustc| line(&rustc, &["--version"]));
    let of_cargo = |name: &str| env::var(name).unwrap_or_default();
    println!("cargo::rustc-env=SQLUICE_RUSTC={}", rustc.unwrap_or_else(|| "rustc".to_owned()));
    println!("cargo::rustc-env=SQLUICE_TARGET={}", of_cargo("TARGET"));
    println!("cargo::rustc-env=SQLUICE_PROFILE={}", of_cargo("PROFILE"));
    println!("cargo::rerun-if-changed=build.rs");
    // A source archive may lie within another repository, whose commit would say nothing.
    let top = line("git", &["rev-parse", "--show-toplevel"]);
    let is_own =
        top.is_some_and(|top| std::path::Path::new(&top).join("crates/sqluice-cli/build.rs").exists());
    // Only release builds have the commit: other builds would be linked again after each commit.
    let is_own = is_own && of_cargo("PROFILE") == "release";
    let commit = if is_own { line("git", &["rev-parse", "--short=9", "HEAD"]) } else { None };
    println!("cargo::rustc-env=SQLUICE_COMMIT={}", commit.unwrap_or_default());
    if let Some(head) = line("git", &["rev-parse", "--git-path", "logs/HEAD"]).filter(|_| is_own) {
        println!("cargo::rerun-if-changed={head}");
    }
}
