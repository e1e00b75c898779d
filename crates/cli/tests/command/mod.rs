//! Starts the command as a user would.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs `kilocore` to its end.
pub fn kilocore(words: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kilocore")).args(words).output().expect("it starts")
}

/// An empty folder that is removed with the value.
pub struct Folder(PathBuf);

impl Folder {
    /// Creates a separate folder for the test `name`.
    pub fn fresh(name: &str) -> Folder {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("the target directory can be written");
        Folder(folder)
    }

    /// Returns the folder's path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
