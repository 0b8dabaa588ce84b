//! The terminal: every line says which function (or `roost` itself) it comes from. One lock for all, so that lines of
//! different sandboxes never mix, and a closed terminal is no reason to stop.

use std::io::{IsTerminal, Write};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Width of the name column: the longest function name, set once the template is read.
static NAME_WIDTH: AtomicUsize = AtomicUsize::new(5);
static COLOURED: LazyLock<bool> =
    LazyLock::new(|| std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none());

pub(crate) fn set_name_width(width: usize) {
    NAME_WIDTH.store(width, Ordering::Relaxed);
}

/// A line of the local cloud itself.
pub(crate) fn say(text: impl AsRef<str>) {
    line("roost", text.as_ref());
}

/// A line that a function wrote.
pub(crate) fn line(name: &str, text: &str) {
    let width = NAME_WIDTH.load(Ordering::Relaxed);
    let mut terminal = std::io::stdout().lock();
    // A reader that went away (a closed pipe) must not take the system down.
    let _ = if *COLOURED {
        writeln!(
            terminal,
            "\x1b[{}m{name:width$}\x1b[0m | {text}",
            colour(name)
        )
    } else {
        writeln!(terminal, "{name:width$} | {text}")
    };
}

/// The same name always has the same colour: one of the six that are readable on dark and light.
fn colour(name: &str) -> u32 {
    31 + name.bytes().map(u32::from).sum::<u32>() % 6
}
