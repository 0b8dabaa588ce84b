//! Which of a cluster's 16384 slots a command belongs to.

use redis::{Arg, Cmd};

const SLOTS: u16 = 16_384;

/// The slot of the command's first key; `None` if it has none. All keys of one of our commands share a slot.
pub(super) fn of(command: &Cmd) -> Option<u16> {
    let mut words = command.args_iter().filter_map(|word| match word {
        Arg::Simple(bytes) => Some(bytes),
        _ => None,
    });
    let name = words.next()?;
    // EVALSHA sha number-of-keys key …
    let before_the_key = if name == b"EVALSHA" || name == b"EVAL" {
        2
    } else {
        0
    };
    words.nth(before_the_key).map(of_key)
}

pub(super) fn of_key(key: &[u8]) -> u16 {
    crc16(hash_tag(key).unwrap_or(key)) % SLOTS
}

/// What stands between the first `{` and the next `}`, unless that is nothing.
fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let start = key.iter().position(|byte| *byte == b'{')? + 1;
    let length = key[start..].iter().position(|byte| *byte == b'}')?;
    (length > 0).then(|| &key[start..start + length])
}

/// CRC-16/XMODEM, as the cluster's specification has it.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc: u16, byte| {
        let [high, low] = crc.to_be_bytes();
        (u16::from(low) << 8) ^ CRC16[usize::from(high ^ byte)]
    })
}

/// What each byte adds. Every delivery asks for a slot, so it is worked out beforehand.
const CRC16: [u16; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < table.len() {
        let mut crc = (byte as u16) << 8;
        let mut bit = 0;
        while bit < 8 {
            crc = (crc << 1) ^ (0x1021 * (crc >> 15));
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;
    use redis::cmd;

    #[test]
    fn slots_are_those_that_redis_says() {
        // Out of CLUSTER KEYSLOT.
        assert_eq!(crc16(b"123456789"), 0x31c3);
        assert_eq!(of_key(b"somekey"), 11_058);
        assert_eq!(of_key(b"foo{hash_tag}"), 2_515);
        assert_eq!(of_key(b"{}whole"), crc16(b"{}whole") % SLOTS);
        assert_eq!(of_key(b"a{b"), crc16(b"a{b") % SLOTS);
    }

    #[test]
    fn a_script_belongs_to_the_slot_of_its_first_key() {
        let get = cmd("GET").arg("home_timeline:{7}").take();
        let mut script = cmd("EVALSHA");
        script.arg("sha").arg(1).arg("hidden:{7}").arg("x");
        assert_eq!(of(&get), of(&script));
        assert!(of(&get).is_some());
        assert_eq!(of(&cmd("FLUSHALL")), None);
    }
}
