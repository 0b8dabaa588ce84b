//! Numbers for people to read.

/// With commas between thousands.
pub fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_commas_between_thousands() {
        for (number, text) in [(7, "7"), (1_000, "1,000"), (12_345_678, "12,345,678")] {
            assert_eq!(with_commas(number), text);
        }
    }
}
