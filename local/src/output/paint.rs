//! Colours, if standard output is a terminal and `NO_COLOR` is not set.

use std::io::IsTerminal;
use std::sync::LazyLock;

static COLOURED: LazyLock<bool> = LazyLock::new(|| {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !refused
});

#[derive(Clone, Copy)]
pub(super) struct Paint {
    coloured: bool,
}

impl Paint {
    pub(super) fn terminal() -> Self {
        Self {
            coloured: *COLOURED,
        }
    }

    #[cfg(test)]
    pub(super) fn new(coloured: bool) -> Self {
        Self { coloured }
    }

    /// For what is rarely read: times, names of fields.
    pub(super) fn dim(self, text: &str) -> String {
        self.with(2, text)
    }

    /// The same name always has the same colour: one of those that are readable on dark and light, and not red or
    /// yellow, which mean trouble.
    pub(super) fn name(self, name: &str, text: &str) -> String {
        const QUIET: [u32; 4] = [32, 34, 35, 36];
        let sum: usize = name.bytes().map(usize::from).sum();
        self.with(QUIET[sum % QUIET.len()], text)
    }

    pub(super) fn level(self, level: &str) -> String {
        match level {
            "ERROR" => self.with(31, level),
            "WARN" => self.with(33, level),
            other => self.dim(other),
        }
    }

    pub(super) fn status(self, status: u16) -> String {
        let colour = match status {
            500.. => 31,
            400.. => 33,
            _ => 32,
        };
        self.with(colour, &status.to_string())
    }

    fn with(self, code: u32, text: &str) -> String {
        if self.coloured {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

/// Text from outside, without anything that a terminal would take for a command.
pub(super) fn harmless(text: &str) -> String {
    text.chars()
        .map(|character| match character {
            control if control.is_control() => ' ',
            other => other,
        })
        .collect()
}
