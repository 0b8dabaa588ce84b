//! The people who have signed up, read from the table of users as the functions write it.

use std::cmp::Reverse;

use dynoxide::Database;
use serde::Serialize;
use serde_json::{Value, json};

use crate::template::STACK;

/// How many people are listed at most.
pub(super) const MOST: usize = 1_000;
const DEFAULT: usize = 200;

/// The tiers in which somebody counts as a celebrity.
const CELEBRITY: [&str; 2] = ["promoting", "celebrity"];

#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Person {
    id: String,
    sub: String,
    handle: String,
    name: String,
    follower_count: u64,
    is_celebrity: bool,
}

/// What `limit` means; `None` if it means nothing.
pub(super) fn limit(text: Option<&str>) -> Option<usize> {
    let limit = text.map_or(Some(DEFAULT), |text| text.parse().ok())?;
    (1..=MOST).contains(&limit).then_some(limit)
}

/// Those with the most followers; of those with as many, who came first.
pub(super) fn find(database: &Database, limit: usize) -> Result<Vec<Person>, String> {
    let mut people = vec![];
    let mut scan = json!({
        "TableName": format!("{STACK}-users"),
        "FilterExpression": "begins_with(pk, :user)",
        "ExpressionAttributeValues": {":user": {"S": "user#"}},
    });
    loop {
        let request = serde_json::from_value(scan.clone()).map_err(|error| error.to_string())?;
        let page = database.scan(request).map_err(|error| error.to_string())?;
        let page = serde_json::to_value(page).map_err(|error| error.to_string())?;
        people.extend(
            page["Items"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(person),
        );
        match &page["LastEvaluatedKey"] {
            Value::Null => break,
            last => scan["ExclusiveStartKey"] = last.clone(),
        }
    }
    // Ids grow with time.
    people.sort_by_cached_key(|person| {
        let id = person.id.parse::<u64>().unwrap_or(u64::MAX);
        (Reverse(person.follower_count), id)
    });
    people.truncate(limit);
    Ok(people)
}

/// A row that cannot be read is left out, as the functions do it.
fn person(item: &Value) -> Option<Person> {
    let text = |name: &str| Some(item[name]["S"].as_str()?.to_owned());
    Some(Person {
        id: item["user_id"]["N"].as_str()?.to_owned(),
        sub: text("sub")?,
        handle: text("handle")?,
        name: text("name")?,
        // It can be below zero for a while; nobody is shown that.
        follower_count: item["follower_count"]["N"]
            .as_str()?
            .parse()
            .unwrap_or_default(),
        is_celebrity: text("tier").is_some_and(|tier| CELEBRITY.contains(&tier.as_str())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn database(rows: &[Value]) -> Database {
        let database = Database::memory().expect("a database");
        let table = json!({
            "TableName": "roost-users",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
            "BillingMode": "PAY_PER_REQUEST",
        });
        let table = serde_json::from_value(table).expect("a table");
        database.create_table(table).expect("created");
        for row in rows {
            let put = json!({"TableName": "roost-users", "Item": row});
            let put = serde_json::from_value(put).expect("a put");
            database.put_item(put).expect("stored");
        }
        database
    }

    fn user(id: u64, followers: i64, tier: &str, name: &str) -> Value {
        json!({
            "pk": {"S": format!("user#{id}")}, "user_id": {"N": id.to_string()}, "sub": {"S": format!("s{id}")},
            "handle": {"S": format!("h{id}")}, "name": {"S": name},
            "follower_count": {"N": followers.to_string()}, "tier": {"S": tier},
        })
    }

    #[test]
    fn those_with_the_most_followers_come_first_and_only_people_are_listed() {
        let pointer = json!({"pk": {"S": "handle#h1"}, "user_id": {"N": "1"}});
        let broken = json!({"pk": {"S": "user#9"}, "user_id": {"N": "9"}});
        let rows = [
            user(10, 2, "normal", "Ten"),
            user(3, -1, "demoting", "Three"),
            user(4, 50, "promoting", "Four"),
            user(9, 2, "celebrity", "Nine"),
            pointer,
        ];
        let people = |limit| find(&database(&rows), limit).expect("people");
        let ids = |people: Vec<Person>| -> Vec<String> {
            people.into_iter().map(|person| person.id).collect()
        };
        assert_eq!(ids(people(200)), ["4", "9", "10", "3"]);
        assert_eq!(ids(people(2)), ["4", "9"]);
        let shown = people(200);
        let celebrities = shown.iter().map(|person| person.is_celebrity);
        assert_eq!(celebrities.collect::<Vec<_>>(), [true, true, false, false]);
        assert_eq!(shown[3].follower_count, 0);
        assert_eq!(find(&database(&[broken]), 200), Ok(vec![]));
    }

    #[test]
    fn everybody_is_found_even_if_they_do_not_fit_into_one_page_of_the_table() {
        // A page of a scan ends at 1 MB.
        let long = "x".repeat(200_000);
        let rows: Vec<Value> = (0..12).map(|id| user(id, 0, "normal", &long)).collect();
        assert_eq!(find(&database(&rows), 200).expect("people").len(), 12);
    }

    #[test]
    fn a_limit_is_a_number_in_bounds() {
        assert_eq!(limit(None), Some(DEFAULT));
        assert_eq!(limit(Some("1")), Some(1));
        for wrong in ["0", "1001", "-1", "", "many"] {
            assert_eq!(limit(Some(wrong)), None, "{wrong}");
        }
    }
}
