//! The terminal of `make run`: one short line for each request and each event, for the person who watches it.
//!
//! - [`request`] renders a request of the HTTP API.
//! - [`log_line`] renders what a function logs, and leaves out metrics and what a request's line says already.
//! - [`paint`] has the colours.
//!
//! With `ROOST_VERBOSE` every line begins with the name of its writer, and functions' lines are passed on as they are.
//! There is one lock for all lines: those of different sandboxes never mix, and their times are in order. A terminal
//! that was closed is no reason to stop.

mod log_line;
mod paint;
mod request;

use std::io::{StdoutLock, Write};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use chrono::Local;

pub(crate) use self::request::Request;

use self::log_line::Said;
use self::paint::Paint;
use crate::events;

/// The local cloud itself, beside the functions.
const ROOST: &str = "roost";
/// The writer of requests' lines. A client decides what is in a path, so these lines are told from all others.
const HTTP: &str = "http";

static VERBOSE: AtomicBool = AtomicBool::new(false);
/// Width of the name column: the longest name that is often in it, set once the template is read.
static NAME_WIDTH: AtomicUsize = AtomicUsize::new(ROOST.len());

/// Functions' own output instead of a short form of it.
pub(crate) fn set_verbose(verbose: bool) {
    VERBOSE.store(verbose, Ordering::Relaxed);
}

pub(crate) fn set_name_width(width: usize) {
    NAME_WIDTH.store(width, Ordering::Relaxed);
}

/// A line of the local cloud itself.
pub(crate) fn say(text: impl AsRef<str>) {
    let _turn = turn();
    let text = text.as_ref();
    if is_verbose() {
        print_raw(ROOST, text);
    } else {
        print(&format!("{}{text}", named(ROOST, Paint::terminal())));
    }
}

/// What the local cloud says of a function that did not do as it should.
pub(crate) fn complain(function: &str, text: impl AsRef<str>) {
    let _turn = turn();
    let text = text.as_ref();
    if is_verbose() {
        print_raw(ROOST, &format!("{function} {text}"));
    } else {
        let paint = Paint::terminal();
        let level = paint.level("ERROR");
        print(&format!("{}{level} {text}", named(function, paint)));
    }
}

/// A line that a function wrote, for the terminal and for those who listen to events.
pub(crate) fn pass_on(function: &str, line: &str) {
    events::function_wrote(function, line);
    let _turn = turn();
    if is_verbose() {
        return print_raw(function, line);
    }
    let paint = Paint::terminal();
    match log_line::read(line) {
        Said::Nothing => {}
        Said::Event(event) => print(&format!("{}{}", named(function, paint), event.text(paint))),
        Said::Other => print(&format!("{}{line}", named(function, paint))),
    }
}

/// A request that was answered.
pub(crate) fn tell(request: &Request) {
    let _turn = turn();
    let paint = Paint::terminal();
    let line = format!("{} {}", paint.dim(&now()), request.text(paint));
    if is_verbose() {
        print_raw(HTTP, &line);
    } else {
        print(&line);
    }
}

/// Several lines of the local cloud that belong together.
pub(crate) fn show(block: &str) {
    let _turn = turn();
    if is_verbose() {
        block.lines().for_each(|line| print_raw(ROOST, line));
    } else {
        print(block.strip_suffix('\n').unwrap_or(block));
    }
}

/// Taken before the time is read, so that a later line never has an earlier time. The same thread may take it twice.
fn turn() -> StdoutLock<'static> {
    std::io::stdout().lock()
}

fn is_verbose() -> bool {
    VERBOSE.load(Ordering::Relaxed)
}

/// The time on the clock of this machine, which the person in front of it compares it with.
fn now() -> String {
    Local::now().format("%H:%M:%S%.3f").to_string()
}

/// The beginning of a line: time and name.
fn named(name: &str, paint: Paint) -> String {
    let width = NAME_WIDTH.load(Ordering::Relaxed);
    let padded = format!("{name:width$}");
    format!("{} {}  ", paint.dim(&now()), paint.name(name, &padded))
}

/// A line as it was written, after the name of its writer.
fn print_raw(writer: &str, text: &str) {
    let width = NAME_WIDTH.load(Ordering::Relaxed);
    let padded = format!("{writer:width$}");
    let name = Paint::terminal().name(writer, &padded);
    print(format!("{name} | {text}").trim_end());
}

fn print(text: &str) {
    // A reader that went away (a closed pipe) must not take the system down.
    let _ = writeln!(turn(), "{text}");
}
