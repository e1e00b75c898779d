//! Gives the program the facts about its build: the commit, whether the sources differ from it, and the compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Sources of the program, relative to the workspace's root.
const SOURCES: [&str; 3] = ["crates", "Cargo.toml", "Cargo.lock"];

fn main() {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let root = Path::new(&manifest).join("../..").canonicalize().expect("it has been built from");
    // A commit changes the log of HEAD but not the file HEAD itself, so both are watched. The sources are watched
    // because a changed file makes the build differ from the commit, or match it again. Without git there is nothing
    // to watch.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&root, &["rev-parse", "--git-path", name]).map(|path| root.join(path));
        if let Some(path) = path.filter(|path| path.exists()) {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    for name in SOURCES {
        println!("cargo:rerun-if-changed={}", root.join(name).display());
    }
    println!("cargo:rustc-env=KILOCORE_COMMIT={}", commit(&root));
    println!("cargo:rustc-env=KILOCORE_RUSTC={}", rustc().unwrap_or_else(|| "unknown".into()));
    let profile = std::env::var("PROFILE").unwrap_or_default();
    println!("cargo:rustc-env=KILOCORE_PROFILE={profile}");
}

/// Returns the commit of the sources, with `-dirty` if the sources differ from it. Returns `unknown` if it can't be
/// determined. The sources may lie in an unrelated repository, which does not count.
fn commit(root: &Path) -> String {
    let top = git(root, &["rev-parse", "--show-toplevel"]).map(PathBuf::from);
    let own = top.and_then(|top| top.canonicalize().ok()).as_deref() == Some(root);
    let tracked = git(root, &["ls-files", "--error-unmatch", "crates/cli/build.rs"]).is_some();
    let head = git(root, &["rev-parse", "--short=12", "HEAD"]).filter(|_| own && tracked);
    let Some(head) = head else { return "unknown".into() };
    let changes = run(Command::new("git")
        .current_dir(root)
        .args(["status", "--porcelain", "--"])
        .args(SOURCES));
    match changes.as_deref() {
        Some("") => head,
        _ => format!("{head}-dirty"),
    }
}

fn rustc() -> Option<String> {
    run(Command::new(std::env::var_os("RUSTC")?).arg("--version"))
}

fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    run(Command::new("git").current_dir(root).args(arguments)).filter(|text| !text.is_empty())
}

/// Returns the output of a command that succeeds.
fn run(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    output.status.success().then_some(text)
}
