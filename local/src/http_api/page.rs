//! The page: every file of a folder at its path, and `index.html` at `/`. Files are read at each request, so an edit shows
//! after a reload. A path that leads out of the folder, or to a hidden file, has nothing behind it.

use std::path::{Path, PathBuf};

use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::percent_decode_str;

use super::problem::problem;

/// What the page may load and call: its own files, media of tweets from anywhere, and this machine's APIs at any port.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; \
     manifest-src 'self'; img-src 'self' https: data:; media-src 'self' https: data:; \
     connect-src 'self' ws://localhost:* http://localhost:* http://127.0.0.1:*; \
     base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const INDEX: &str = "index.html";

/// By the end of a file's name. Anything else is bytes that a browser only saves.
const CONTENT_TYPES: [(&str, &str); 14] = [
    ("css", "text/css; charset=utf-8"),
    ("gif", "image/gif"),
    ("html", "text/html; charset=utf-8"),
    ("ico", "image/x-icon"),
    ("jpg", "image/jpeg"),
    ("js", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("png", "image/png"),
    ("svg", "image/svg+xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("webmanifest", "application/manifest+json"),
    ("webp", "image/webp"),
    ("woff2", "font/woff2"),
];

pub(crate) struct Page {
    folder: PathBuf,
}

impl Page {
    pub(crate) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(crate) fn exists(&self) -> bool {
        self.folder.join(INDEX).is_file()
    }

    /// What a browser gets at this path; `None` if nothing is there.
    pub(super) async fn answer(&self, path: &str) -> Option<Response> {
        let folder = self.folder.clone();
        let asked = path.to_owned();
        let found = tokio::task::spawn_blocking(move || read(&folder, &asked)).await;
        match found.ok().flatten() {
            Some(file) => Some(file.into_response()),
            None if path == "/" => Some(self.missing()),
            None => None,
        }
    }

    fn missing(&self) -> Response {
        let detail = format!(
            "There is no page: {} is missing. It is in local/web of Roost's sources; ROOST_WEB_DIR names another folder.",
            self.folder.join(INDEX).display()
        );
        problem(StatusCode::NOT_FOUND, &detail)
    }
}

#[derive(Debug)]
struct File {
    content_type: &'static str,
    bytes: Vec<u8>,
}

impl IntoResponse for File {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, self.content_type),
            (header::CACHE_CONTROL, "no-cache"),
            (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (HeaderName::from_static("referrer-policy"), "no-referrer"),
        ];
        (headers, self.bytes).into_response()
    }
}

fn read(folder: &Path, path: &str) -> Option<File> {
    let relative = below(path)?;
    // A link may lead anywhere, so what counts is where it leads.
    let folder = folder.canonicalize().ok()?;
    let file = folder.join(relative).canonicalize().ok()?;
    if !file.starts_with(&folder) || !file.is_file() {
        return None;
    }
    let extension = file.extension().and_then(|extension| extension.to_str());
    let known = CONTENT_TYPES
        .iter()
        .find(|(known, _)| extension == Some(known));
    Some(File {
        content_type: known.map_or("application/octet-stream", |(_, content_type)| content_type),
        bytes: std::fs::read(file).ok()?,
    })
}

/// The file that a path names, below the folder: plain names only.
fn below(path: &str) -> Option<PathBuf> {
    let path = match path.strip_prefix('/')? {
        "" => INDEX,
        path => path,
    };
    let names = path.split('/').map(|name| {
        let name = percent_decode_str(name).decode_utf8().ok()?;
        let is_plain = !name.is_empty()
            && !name.starts_with('.')
            && !name.contains(['/', '\\'])
            && !name.contains(char::is_control);
        is_plain.then(|| name.into_owned())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    /// A folder with a page in it, beside a file that is nobody's business.
    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            let root = std::env::temp_dir().join(format!("roost-{}", Uuid::new_v4()));
            let web = root.join("web");
            std::fs::create_dir_all(web.join("icons")).expect("a folder");
            for (name, text) in [
                ("secret.txt", "secret"),
                ("web/index.html", "<!doctype html>"),
                ("web/.env", "hidden"),
                ("web/main.js", "export {}"),
                ("web/icons/a b.svg", "<svg/>"),
                ("web/data.bin", "bytes"),
            ] {
                std::fs::write(root.join(name), text).expect("a file");
            }
            std::os::unix::fs::symlink(root.join("secret.txt"), web.join("link.txt"))
                .expect("a link");
            Self(root)
        }

        fn read(&self, path: &str) -> Option<(&'static str, String)> {
            let file = read(&self.0.join("web"), path)?;
            let text = String::from_utf8(file.bytes).expect("text");
            Some((file.content_type, text))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn every_file_is_at_its_path_with_its_content_type() {
        let folder = Folder::new();
        let found = |path: &str| folder.read(path).expect(path);
        let html = ("text/html; charset=utf-8", "<!doctype html>".to_owned());
        assert_eq!(found("/"), html);
        assert_eq!(found("/index.html"), html);
        assert_eq!(found("/main.js").0, "text/javascript; charset=utf-8");
        assert_eq!(found("/icons/a%20b.svg").0, "image/svg+xml");
        assert_eq!(found("/data.bin").0, "application/octet-stream");
    }

    #[test]
    fn nobody_gets_out_of_the_folder() {
        let folder = Folder::new();
        for path in [
            "/../secret.txt",
            "/%2e%2e/secret.txt",
            "/..%2fsecret.txt",
            "/icons/../../secret.txt",
            "/icons/..\\..\\secret.txt",
            "//secret.txt",
            "/./index.html",
            "/link.txt",
            "/.env",
            "/%2eenv",
            "/icons",
            "/icons/",
            "/main.js%00.html",
            "/%ff",
            "/nothing.html",
            "secret.txt",
        ] {
            assert_eq!(folder.read(path), None, "{path}");
        }
        let absolute = format!("/{}", folder.0.join("secret.txt").display());
        assert_eq!(folder.read(&absolute), None, "{absolute}");
    }

    #[tokio::test]
    async fn a_missing_page_says_so() {
        let page = Page::new("/nowhere/at/all".into());
        assert!(!page.exists());
        let answer = page.answer("/").await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::NOT_FOUND);
        assert!(page.answer("/main.js").await.is_none());
    }
}
