//! The ticket that opens a connection for live updates: good once, and for half a minute.
//!
//! A browser cannot send a header when it opens a WebSocket, so what it shows to get in stands in the URL. A token there
//! would end up in logs and histories, and would be good for longer than a connection needs it. A ticket says whose it is
//! and holds a secret that only its receiver knows; the table keeps the secret's hash.

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::UserId;

/// How long a ticket is good.
pub const GOOD_FOR_MS: u64 = 30_000;

/// The most tickets that one user can have at a time. A further one takes the place of an older one, by chance.
pub const MOST: u8 = 64;

const SECRET_BYTES: usize = 24;
const BYTES: usize = 8 + 1 + SECRET_BYTES;

#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    pub user: UserId,
    /// Which of the user's tickets it is, below [`MOST`].
    pub place: u8,
    pub secret: [u8; SECRET_BYTES],
}

impl Ticket {
    /// `random` must be random enough for a password.
    pub const fn new(user: UserId, random: [u8; SECRET_BYTES]) -> Self {
        Self {
            user,
            place: random[0] % MOST,
            secret: random,
        }
    }

    /// `None` if the text is no ticket.
    pub fn parse(text: &str) -> Option<Self> {
        // So that nobody makes us decode a long text.
        if text.len() != BYTES * 4 / 3 {
            return None;
        }
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).ok()?;
        let (user, rest) = bytes.split_first_chunk()?;
        let (place, secret) = rest.split_first()?;
        Some(Self {
            user: UserId::new(u64::from_be_bytes(*user)),
            place: *place,
            secret: secret.try_into().ok()?,
        })
    }

    /// What its receiver shows.
    pub fn to_text(self) -> String {
        let user = self.user.get().to_be_bytes();
        let bytes = [&user[..], &[self.place], &self.secret].concat();
        BASE64_URL_SAFE_NO_PAD.encode(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_was_written_is_read_again(user in any::<u64>(), random in any::<[u8; SECRET_BYTES]>()) {
            let ticket = Ticket::new(UserId::new(user), random);
            prop_assert!(Ticket::parse(&ticket.to_text()) == Some(ticket));
            prop_assert!(ticket.place < MOST);
        }

        #[test]
        fn any_other_text_is_no_ticket(text in "\\PC{0,60}") {
            if let Some(ticket) = Ticket::parse(&text) {
                prop_assert_eq!(ticket.to_text(), text);
            }
        }
    }
}
