//! Commands as they go over the wire, one behind the other in one piece of memory.
//!
//! A fan-out sends one command for each follower, and a page a hundred. Here that is no allocation for each: the words are
//! written where they are sent from.

use redis::Cmd;

use super::slot;

/// Commands for one round trip.
pub(crate) struct Batch {
    bytes: Vec<u8>,
    commands: Vec<Command>,
    /// `true` if each command has to find the node that has its keys.
    is_routed: bool,
}

/// Where a command stands.
#[derive(Clone, Copy)]
struct Command {
    /// The byte behind it.
    end: usize,
    /// The slot of its keys; `None` if it has no key, or if there is only one node.
    slot: Option<u16>,
}

impl Batch {
    pub(super) fn new(is_routed: bool, commands: usize) -> Self {
        Self {
            bytes: Vec::new(),
            commands: Vec::with_capacity(commands),
            is_routed,
        }
    }

    pub(super) fn push(&mut self, command: &Cmd) {
        command.write_packed_command(&mut self.bytes);
        let slot = self.is_routed.then(|| slot::of(command)).flatten();
        self.end(slot);
    }

    /// A command whose second word is its only key.
    pub(crate) fn add(&mut self, words: &[&[u8]]) {
        self.bytes.push(b'*');
        self.number(words.len());
        for word in words {
            self.bytes.push(b'$');
            self.number(word.len());
            self.bytes.extend_from_slice(word);
            self.bytes.extend_from_slice(b"\r\n");
        }
        let key = words.get(1).filter(|_| self.is_routed);
        self.end(key.map(|key| slot::of_key(key)));
    }

    /// A number and the end of its line. Words are short, so it has few digits.
    fn number(&mut self, number: usize) {
        if number >= 10 {
            self.digits(number / 10);
        }
        self.bytes
            .extend([b'0' + (number % 10) as u8, b'\r', b'\n']);
    }

    fn digits(&mut self, number: usize) {
        if number >= 10 {
            self.digits(number / 10);
        }
        self.bytes.push(b'0' + (number % 10) as u8);
    }

    fn end(&mut self, slot: Option<u16>) {
        let end = self.bytes.len();
        self.commands.push(Command { end, slot });
    }

    pub(super) fn len(&self) -> usize {
        self.commands.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    /// All commands.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// One command.
    pub(super) fn bytes_of(&self, number: usize) -> &[u8] {
        let before = number.checked_sub(1).map(|it| self.commands[it].end);
        &self.bytes[before.unwrap_or(0)..self.commands[number].end]
    }

    pub(super) fn slot_of(&self, number: usize) -> Option<u16> {
        self.commands[number].slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redis::cmd;

    #[test]
    fn words_go_over_the_wire_as_the_redis_crate_writes_them() {
        let long = vec![b'x'; 12_345];
        let (mut ours, mut theirs) = (Batch::new(true, 2), Batch::new(true, 2));
        for value in [&b"\0\r\n"[..], &long] {
            ours.add(&[b"LPUSHX", b"home_timeline:{7}", value]);
            theirs.push(cmd("LPUSHX").arg("home_timeline:{7}").arg(value));
        }
        assert_eq!(ours.bytes_of(1), theirs.bytes_of(1));
        assert_eq!(ours.slot_of(1), theirs.slot_of(1));
        assert!(ours.slot_of(1).is_some());
        assert_eq!(ours.into_bytes(), theirs.into_bytes());
    }

    #[test]
    fn without_a_cluster_no_slot_is_worked_out() {
        let mut batch = Batch::new(false, 2);
        batch.add(&[b"GET", b"a"]);
        batch.push(cmd("GET").arg("a"));
        assert_eq!((batch.slot_of(0), batch.slot_of(1)), (None, None));
    }
}
