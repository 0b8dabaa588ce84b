//! How the project has to look: its layers, and what each function, metric and parameter needs beside its code. These
//! tests read files and start nothing. docs/CHANGING.md says what to do about one that fails.

mod clients;
mod dashboard;
mod layers;
mod openapi;
mod parameters;
mod wiring;

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn workspace() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = tests.parent().expect("the tests are in a workspace");
    root.to_owned()
}

pub(crate) fn template() -> String {
    read("template.yaml")
}

/// A file of the workspace.
pub(crate) fn read(path: &str) -> String {
    fs::read_to_string(workspace().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// The Rust files below a folder of the workspace: path below that folder, and text.
fn sources(folder: &str) -> Vec<(PathBuf, String)> {
    let root = workspace().join(folder);
    let (mut found, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder of the workspace") {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("a source file");
                let below = path.strip_prefix(&root).expect("a path below the folder");
                found.push((below.to_owned(), text));
            }
        }
    }
    found
}
