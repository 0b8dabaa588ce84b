//! Answers of Redis, read out of what has arrived (RESP, version 2).
//!
//! The redis crate's own reader takes five times as long for the short answers that Roost mostly gets, and a page has a
//! hundred of them.

use std::io;

use redis::Value;

/// Answers within answers. Redis' own clients follow seven; Roost asks for nothing deeper than three.
const DEEPEST: usize = 16;

/// The first answer and what is behind it; `None` if it has not arrived to its end.
pub(super) fn read(bytes: &[u8]) -> io::Result<Option<(Value, &[u8])>> {
    within(DEEPEST, bytes)
}

fn within(depth: usize, bytes: &[u8]) -> io::Result<Option<(Value, &[u8])>> {
    let Some((line, rest)) = line(bytes) else {
        return Ok(None);
    };
    let Some((kind, text)) = line.split_first() else {
        return Err(unreadable("an empty line"));
    };
    let value = match kind {
        b':' => Value::Int(number(text)?),
        b'$' => match usize::try_from(number(text)?) {
            Ok(length) => return bulk(rest, length),
            Err(_) => Value::Nil,
        },
        b'*' => match usize::try_from(number(text)?) {
            Ok(count) => return array(depth, rest, count),
            Err(_) => Value::Nil,
        },
        b'+' if text == b"OK" => Value::Okay,
        b'+' => Value::SimpleString(String::from_utf8_lossy(text).into_owned()),
        b'-' => error(line)?,
        _ => return Err(unreadable("an answer of an unknown kind")),
    };
    Ok(Some((value, rest)))
}

fn bulk(bytes: &[u8], length: usize) -> io::Result<Option<(Value, &[u8])>> {
    let Some((value, rest)) = bytes.split_at_checked(length) else {
        return Ok(None);
    };
    match rest.split_at_checked(2) {
        None => Ok(None),
        Some((b"\r\n", rest)) => Ok(Some((Value::BulkString(value.to_vec()), rest))),
        Some(_) => Err(unreadable("a text that does not end where it should")),
    }
}

fn array(depth: usize, mut bytes: &[u8], count: usize) -> io::Result<Option<(Value, &[u8])>> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(unreadable("answers too deep within answers"));
    };
    // Every element has four bytes at least: a count alone makes no room.
    let mut values = Vec::with_capacity(count.min(bytes.len() / 4));
    for _ in 0..count {
        let Some((value, rest)) = within(depth, bytes)? else {
            return Ok(None);
        };
        values.push(value);
        bytes = rest;
    }
    Ok(Some((Value::Array(values), bytes)))
}

/// The first line without its end, and what is behind it.
fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let line = &bytes[..end];
    Some((line.strip_suffix(b"\r").unwrap_or(line), &bytes[end + 1..]))
}

fn number(text: &[u8]) -> io::Result<i64> {
    let text = str::from_utf8(text).ok();
    let number = text.and_then(|text| text.parse().ok());
    number.ok_or_else(|| unreadable("a number that is none"))
}

/// Rare, so the redis crate may say what kind of error it is.
fn error(line: &[u8]) -> io::Result<Value> {
    redis::parse_redis_value(&[line, b"\r\n"].concat()).map_err(io::Error::other)
}

fn unreadable(what: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("redis sent {what}, which cannot be read"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn answers() -> impl Strategy<Value = Vec<u8>> {
        let line = |kind: char| {
            "[ -~]{0,20}".prop_map(move |text| format!("{kind}{text}\r\n").into_bytes())
        };
        let one = prop_oneof![
            any::<i64>().prop_map(|number| format!(":{number}\r\n").into_bytes()),
            Just(b"$-1\r\n".to_vec()),
            Just(b"*-1\r\n".to_vec()),
            Just(b"+OK\r\n".to_vec()),
            Just(b"-MOVED 7 127.0.0.1:6379\r\n".to_vec()),
            line('+'),
            proptest::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| {
                [format!("${}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat()
            }),
        ];
        one.prop_recursive(3, 30, 5, |inner| {
            proptest::collection::vec(inner, 0..5).prop_map(|answers| {
                [
                    format!("*{}\r\n", answers.len()).as_bytes(),
                    &answers.concat(),
                ]
                .concat()
            })
        })
    }

    proptest! {
        #[test]
        fn answers_are_what_the_redis_crate_reads(answer in answers(), behind: Vec<u8>) {
            let expected = redis::parse_redis_value(&answer).expect("an answer");
            let bytes = [answer.as_slice(), &behind].concat();
            let (value, rest) = read(&bytes).expect("readable").expect("whole");
            prop_assert_eq!(value, expected);
            prop_assert_eq!(rest, behind.as_slice());
        }

        #[test]
        fn an_answer_that_is_still_arriving_is_waited_for(answer in answers(), part in 0.0_f64..1.0) {
            let arrived = (answer.len() as f64 * part) as usize;
            prop_assert_eq!(read(&answer[..arrived]).expect("readable"), None);
        }

        #[test]
        fn nothing_that_is_sent_makes_it_panic(bytes: Vec<u8>) {
            let _ = read(&bytes);
        }
    }

    #[test]
    fn what_no_redis_sends_is_refused() {
        let deep = b"*1\r\n".repeat(DEEPEST + 1);
        for sent in [&b"\r\n"[..], b"?1\r\n", b":one\r\n", b"$1\r\nab\r\n", &deep] {
            assert!(read(sent).is_err(), "{sent:?}");
        }
        // A count that no answer has, of which nothing has arrived.
        assert_eq!(read(b"*999999999999\r\n").expect("readable"), None);
    }
}
