//! Names that are derived from others: the binary of a function, the variable of a parameter.

fn words(camel_case: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous_is_lower = false;
    for letter in camel_case.chars() {
        if words.is_empty() || (letter.is_uppercase() && previous_is_lower) {
            words.push(String::new());
        }
        previous_is_lower = !letter.is_uppercase();
        if let Some(word) = words.last_mut() {
            word.push(letter);
        }
    }
    words
}

/// `HomeTimeline` is run by `home-timeline`.
pub(super) fn kebab_case(camel_case: &str) -> String {
    words(camel_case).join("-").to_lowercase()
}

/// `CelebrityThreshold` is shown as `celebrity_threshold`.
pub(super) fn snake_case(camel_case: &str) -> String {
    words(camel_case).join("_").to_lowercase()
}

/// `CelebrityThreshold` is set by `CELEBRITY_THRESHOLD`.
pub(super) fn screaming_snake_case(camel_case: &str) -> String {
    snake_case(camel_case).to_uppercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_translated() {
        assert_eq!(kebab_case("GetUserByHandle"), "get-user-by-handle");
        assert_eq!(snake_case("FanOutPageSize"), "fan_out_page_size");
        assert_eq!(screaming_snake_case("TimelineTtlDays"), "TIMELINE_TTL_DAYS");
        assert_eq!(screaming_snake_case("RedisURL"), "REDIS_URL");
    }
}
