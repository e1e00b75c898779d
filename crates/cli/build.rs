//! Tells the program what it was built from: the commit, whether that is all, and the compiler.

use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program is made of, from the workspace's root.
const SOURCES: [&str; 3] = ["crates", "Cargo.toml", "Cargo.lock"];

fn main() {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo");
    let root = Path::new(&manifest).join("../..").canonicalize().expect("it has been built from");
    // A commit moves the log of HEAD, which HEAD itself does not show; and a file that changes makes the build differ
    // from the commit, or the same again. Where there is no git, there is nothing to watch.
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

/// The commit that the sources are of, `-dirty` if they are not just those, `unknown` if nothing tells: they may lie in
/// somebody else's repository.
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

/// What a command that succeeds prints.
fn run(command: &mut Command) -> Option<String> {
    let output = command.output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    output.status.success().then_some(text)
}
