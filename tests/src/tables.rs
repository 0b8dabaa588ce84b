//! The tables, and the oracle: what a home timeline has to be, worked out from them by brute force.

mod bulk;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::Client as Dynamo;
use aws_sdk_dynamodb::config::Credentials;
use aws_sdk_dynamodb::types::{
    AttributeValue, BillingMode, GlobalSecondaryIndex, Put, PutRequest, TransactWriteItem,
    WriteRequest,
};

use shared::Roost;
use shared::domain::presence::Slot;
use shared::domain::{TweetId, UserId};
use shared::flows::oracle::Oracle;
use shared::platform::aws::Aws;
use shared::platform::config::Config;

use crate::patience::{in_parallel, now_seconds};
use crate::target::Target;
use crate::user::User;

/// Items that one BatchWriteItem takes.
const BATCH: usize = 25;
/// Items that one TransactWriteItems takes.
const TRANSACTION: usize = 100;

/// What the tables' names end with.
pub const TABLES: [&str; 13] = [
    "users",
    "followers",
    "following",
    "relations",
    "tweets",
    "reactions",
    "reactors",
    "ledger",
    "presence",
    "live",
    "notices",
    "handovers",
    "fills",
];

type Item = HashMap<String, AttributeValue>;

/// What an author's tier item says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tier {
    pub name: String,
    /// How often it flipped.
    pub epoch: u64,
}

/// What a user's row says of edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub followers: u64,
    pub following: u64,
    /// Grows with every change.
    pub version: u64,
}

#[derive(Clone, Debug)]
pub struct Tables {
    dynamo: Dynamo,
    sdk: SdkConfig,
    /// Where the tables answer.
    endpoint: String,
    stack: String,
}

/// Credentials of the environment for a deployment, any for a local cloud.
pub(crate) async fn sdk_config(endpoint: &str) -> SdkConfig {
    let loader = aws_config::defaults(BehaviorVersion::latest()).endpoint_url(endpoint);
    let config = if Target::is_remote() {
        loader
    } else {
        loader
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("local", "local", None, None, "tests"))
    };
    config.load().await
}

fn number(value: u64) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

fn text(value: impl Into<String>) -> AttributeValue {
    AttributeValue::S(value.into())
}

fn edge(follower: u64, followee: u64) -> Item {
    Item::from([
        ("followee_id".to_owned(), number(followee)),
        ("follower_id".to_owned(), number(follower)),
    ])
}

fn read_number(item: &Item, name: &str) -> u64 {
    item.get(name)
        .and_then(|value| value.as_n().ok())
        .and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("no number {name} in {item:?}"))
}

impl Tables {
    pub(crate) async fn of(target: &Target) -> Option<Self> {
        let endpoint = target.endpoints.dynamodb.clone()?;
        let config = sdk_config(&endpoint).await;
        Some(Self {
            dynamo: Dynamo::new(&config),
            sdk: config,
            endpoint,
            stack: target.stack.clone(),
        })
    }

    fn table(&self, name: &str) -> String {
        format!("{}-{name}", self.stack)
    }

    /// Empty tables like these under a name of their own, without streams: nothing happens by itself when they are
    /// written.
    pub async fn without_streams(&self, stack: &str) -> Self {
        let copies = Self {
            dynamo: self.dynamo.clone(),
            sdk: self.sdk.clone(),
            endpoint: self.endpoint.clone(),
            stack: stack.to_owned(),
        };
        for name in TABLES {
            let described = self.dynamo.describe_table().table_name(self.table(name));
            let table = described.send().await.ok().and_then(|answer| answer.table);
            let table = table.unwrap_or_else(|| panic!("{name} cannot be described"));
            let indexes = table.global_secondary_indexes.unwrap_or_default();
            let indexes: Vec<_> = indexes
                .into_iter()
                .map(|index| {
                    GlobalSecondaryIndex::builder()
                        .set_index_name(index.index_name)
                        .set_key_schema(index.key_schema)
                        .set_projection(index.projection)
                        .build()
                        .expect("an index")
                })
                .collect();
            let created = self
                .dynamo
                .create_table()
                .table_name(copies.table(name))
                .set_attribute_definitions(table.attribute_definitions)
                .set_key_schema(table.key_schema)
                .set_global_secondary_indexes((!indexes.is_empty()).then_some(indexes))
                .billing_mode(BillingMode::PayPerRequest)
                .send()
                .await;
            created.unwrap_or_else(|e| panic!("{name} cannot be created again: {e:?}"));
        }
        copies
    }

    async fn query(&self, table: &str, key: &str, value: u64) -> Vec<Item> {
        self.dynamo
            .query()
            .table_name(self.table(table))
            .consistent_read(true)
            .key_condition_expression("#key = :key")
            .expression_attribute_names("#key", key)
            .expression_attribute_values(":key", number(value))
            .into_paginator()
            .items()
            .send()
            .collect::<Result<_, _>>()
            .await
            .unwrap_or_else(|e| panic!("{table} cannot be queried: {e:?}"))
    }

    async fn scan(&self, table: &str) -> Vec<Item> {
        let scan = self.dynamo.scan().table_name(self.table(table));
        let items = scan.consistent_read(true).into_paginator().items().send();
        let items: Result<_, _> = items.collect().await;
        items.unwrap_or_else(|e| panic!("{table} cannot be scanned: {e:?}"))
    }

    /// How many likes of a tweet were counted.
    pub async fn likers_of(&self, tweet: u64) -> usize {
        let items = self.scan("reactors").await;
        let prefix = format!("like#{tweet}#");
        let of_tweet = items.iter().filter(|item| {
            let pk = item.get("pk").and_then(|pk| pk.as_s().ok());
            pk.is_some_and(|pk| pk.starts_with(&prefix))
        });
        of_tweet.count()
    }

    /// The tweets and reposts that an author has, newest first. Replies to others are kept apart from them.
    pub async fn tweets_of(&self, author: u64) -> Vec<u64> {
        let mut tweets: Vec<_> = self
            .query("tweets", "author_id", author)
            .await
            .iter()
            .map(|item| read_number(item, "tweet_id"))
            .collect();
        tweets.sort_unstable_by(|a, b| b.cmp(a));
        tweets
    }

    /// Whom a person follows.
    pub async fn following_of(&self, follower: u64) -> BTreeSet<u64> {
        self.query("following", "follower_id", follower)
            .await
            .iter()
            .map(|item| read_number(item, "followee_id"))
            .collect()
    }

    /// The people who follow a person.
    pub async fn followers_of(&self, followee: u64) -> BTreeSet<u64> {
        self.query("followers", "followee_id", followee)
            .await
            .iter()
            .map(|item| read_number(item, "follower_id"))
            .collect()
    }

    /// The oracle: the user's own tweets and those of everybody they follow and may be shown, newest first, without what
    /// they have hidden.
    pub async fn home_timeline_of(&self, user: u64) -> Vec<u64> {
        let places = self.home_places_of(user).await.into_iter();
        places.map(|(_, tweet)| tweet).collect()
    }

    /// The same with the place of each tweet, which is the id of a repost where it is there by one: place, then tweet.
    pub async fn home_places_of(&self, user: u64) -> Vec<(u64, u64)> {
        let config = Config::from([
            ("FOLLOWING_TABLE", self.table("following").as_str()),
            ("RELATIONS_TABLE", self.table("relations").as_str()),
            ("TWEETS_TABLE", self.table("tweets").as_str()),
            ("REACTIONS_TABLE", self.table("reactions").as_str()),
        ]);
        let roost = Roost::new(config, Aws::from(self.sdk.clone())).expect("a configuration");
        let oracle = Oracle::new(&roost).expect("a configuration");
        let entries = oracle.home_timeline(UserId::new(user), usize::MAX).await;
        let entries = entries.expect("the tables answer");
        let places = entries.into_iter();
        places
            .map(|entry| (entry.tweet.get(), entry.shown().tweet.get()))
            .collect()
    }

    /// How many relations of a kind (`mutes`, `blocks`) somebody has made, as the limit counts them.
    pub async fn relations_count(&self, owner: u64, kind: &str) -> u64 {
        let counts = self.relations_item(owner, "counts").await;
        let counts = counts.filter(|counts| counts.contains_key(kind));
        counts.map_or(0, |counts| read_number(&counts, kind))
    }

    /// Lets somebody have made so many relations of a kind, as far as the limit is concerned.
    pub async fn set_relations_count(&self, owner: u64, kind: &str, count: u64) {
        let item = Item::from([
            ("owner_id".to_owned(), number(owner)),
            ("relation".to_owned(), text("counts")),
            (kind.to_owned(), number(count)),
        ]);
        self.write("relations", vec![item]).await;
    }

    async fn relations_item(&self, owner: u64, relation: &str) -> Option<Item> {
        let read = self
            .dynamo
            .get_item()
            .table_name(self.table("relations"))
            .key("owner_id", number(owner))
            .key("relation", text(relation))
            .consistent_read(true)
            .send()
            .await;
        read.expect("a relation can be read").item
    }

    /// Complains unless both tables have the same edges between these people, and gives those edges by followee.
    async fn mirrored_edges(&self, people: &[u64]) -> Result<BTreeMap<u64, BTreeSet<u64>>, String> {
        let followers =
            in_parallel(8, people.iter().map(|person| self.followers_of(*person))).await;
        let following =
            in_parallel(8, people.iter().map(|person| self.following_of(*person))).await;
        let among_them = |(follower, followee): &(u64, u64)| {
            people.contains(follower) && people.contains(followee)
        };
        let pairs = |person: &u64, others: &BTreeSet<u64>| {
            others
                .iter()
                .map(|other| (*other, *person))
                .collect::<Vec<_>>()
        };
        let forward: BTreeSet<_> = people
            .iter()
            .zip(&followers)
            .flat_map(|(person, all)| pairs(person, all))
            .filter(among_them)
            .collect();
        let backward = people
            .iter()
            .zip(&following)
            .flat_map(|(person, all)| pairs(person, all));
        let backward: BTreeSet<_> = backward
            .map(|(followee, follower)| (follower, followee))
            .filter(among_them)
            .collect();
        let differences: Vec<_> = forward.symmetric_difference(&backward).take(5).collect();
        if differences.is_empty() {
            Ok(people.iter().copied().zip(followers).collect())
        } else {
            Err(format!(
                "followers and following differ, for example in (follower, followee) {differences:?}"
            ))
        }
    }

    /// I4: whatever the edges among these people are, both tables have them and the profiles count them.
    pub async fn expect_counted_edges(&self, people: &[User]) -> Result<(), String> {
        let ids: Vec<_> = people.iter().map(|user| user.id).collect();
        let edges = self.mirrored_edges(&ids).await?;
        for user in people {
            let following = edges
                .values()
                .filter(|followers| followers.contains(&user.id))
                .count();
            user.expect_counts(edges[&user.id].len(), following).await?;
        }
        Ok(())
    }

    /// Makes all of these follow `followee`, past the API: only the edges, no profiles.
    pub async fn add_followers(&self, followee: u64, followers: &[u64]) {
        let batches = ["followers", "following"].into_iter().flat_map(|table| {
            followers.chunks(BATCH).map(move |batch| {
                (
                    table,
                    batch
                        .iter()
                        .map(|follower| edge(*follower, followee))
                        .collect(),
                )
            })
        });
        in_parallel(8, batches.map(|(table, items)| self.write(table, items))).await;
    }

    async fn user_item(&self, pk: String) -> Option<Item> {
        let read = self
            .dynamo
            .get_item()
            .table_name(self.table("users"))
            .key("pk", text(&pk))
            .consistent_read(true)
            .send()
            .await;
        read.unwrap_or_else(|e| panic!("{pk} cannot be read: {e:?}"))
            .item
    }

    /// `None` if the author's tier has never flipped.
    pub async fn tier_of(&self, user: u64) -> Option<Tier> {
        let item = self.user_item(format!("tier#{user}")).await?;
        let name = item.get("tier").and_then(|value| value.as_s().ok());
        Some(Tier {
            name: name.expect("a tier has a name").clone(),
            epoch: read_number(&item, "epoch"),
        })
    }

    pub async fn counts_of(&self, user: u64) -> Counts {
        let row = self.user_item(format!("user#{user}")).await;
        let row = row.unwrap_or_else(|| panic!("{user} has no row"));
        Counts {
            followers: read_number(&row, "follower_count"),
            following: read_number(&row, "following_count"),
            version: read_number(&row, "version"),
        }
    }

    /// Makes a count wrong, as a bug or an operator would: without a new version.
    pub async fn miscount(&self, user: u64, followers: i64) {
        let followers = AttributeValue::N(followers.to_string());
        self.change_row(user, "follower_count", followers).await;
    }

    /// Makes a row unreadable, as a bug or an operator would: a number stands where a handle should.
    pub async fn spoil(&self, user: u64) {
        self.change_row(user, "handle", number(0)).await;
    }

    /// Makes a handle's item look as it did before there was an index of handles.
    pub async fn forget_handle_group(&self, handle: &str) {
        let pk = text(format!("handle#{}", handle.to_ascii_lowercase()));
        let update = self.dynamo.update_item().table_name(self.table("users"));
        let update = update
            .key("pk", pk)
            .update_expression("REMOVE handle_group");
        let updated = update.send().await;
        updated.unwrap_or_else(|e| panic!("{handle} cannot be changed: {e:?}"));
    }

    /// How often a tweet's counters have been changed.
    pub async fn count_changes(&self, author: u64, tweet: u64) -> u64 {
        let item = self
            .dynamo
            .get_item()
            .table_name(self.table("tweets"))
            .key("author_id", number(author))
            .key("tweet_id", number(tweet))
            .send()
            .await
            .expect("a tweet can be read")
            .item;
        let version = item.as_ref().and_then(|item| item.get("count_version"));
        let version = version.and_then(|version| version.as_n().ok());
        version.map_or(0, |version| version.parse().expect("a number"))
    }

    /// Makes a tweet's count of likes wrong.
    pub async fn miscount_likes(&self, author: u64, tweet: u64, wrong: u64) {
        self.dynamo
            .update_item()
            .table_name(self.table("tweets"))
            .key("author_id", number(author))
            .key("tweet_id", number(tweet))
            .update_expression("SET like_count = :wrong")
            .expression_attribute_values(":wrong", number(wrong))
            .send()
            .await
            .expect("a tweet can be changed");
    }

    async fn change_row(&self, user: u64, attribute: &str, value: AttributeValue) {
        self.dynamo
            .update_item()
            .table_name(self.table("users"))
            .key("pk", text(format!("user#{user}")))
            .update_expression("SET #attribute = :value")
            .expression_attribute_names("#attribute", attribute)
            .expression_attribute_values(":value", value)
            .send()
            .await
            .expect("a row can be changed");
    }

    /// Rows for people who never signed up and have no token.
    pub async fn add_profiles(&self, ids: &[u64]) {
        let row = |id: u64| {
            let zero = || number(0);
            Item::from(
                [
                    ("pk", text(format!("user#{id}"))),
                    ("user_id", number(id)),
                    ("sub", text(format!("fabricated|{id}"))),
                    ("handle", text(format!("f{:x}", id >> 8 & 0xff_ffff_ffff))),
                    ("name", text("fabricated")),
                    ("follower_count", zero()),
                    ("following_count", zero()),
                    ("version", zero()),
                ]
                .map(|(name, value)| (name.to_owned(), value)),
            )
        };
        let batches = ids
            .chunks(BATCH)
            .map(|ids| ids.iter().map(|id| row(*id)).collect());
        in_parallel(8, batches.map(|items| self.write("users", items))).await;
    }

    /// Makes one person follow all of these, like [`Self::add_followers`].
    pub async fn add_following(&self, follower: u64, followees: &[u64]) {
        let batches = ["followers", "following"].into_iter().flat_map(|table| {
            followees.chunks(BATCH).map(move |batch| {
                let edges = batch.iter().map(|followee| edge(follower, *followee));
                (table, edges.collect())
            })
        });
        in_parallel(8, batches.map(|(table, items)| self.write(table, items))).await;
    }

    /// Who follows (the first) whom (the second), as far as those who read need it: nobody is told of their followers.
    pub async fn add_following_only(&self, edges: &[(u64, u64)]) {
        let batches = edges.chunks(BATCH).map(|batch| {
            let items = batch.iter().map(|(who, whom)| edge(*who, *whom));
            items.collect()
        });
        in_parallel(8, batches.map(|items| self.write("following", items))).await;
    }

    /// Says which user the bearer of a token is: the token's subject and the id.
    pub async fn add_subjects(&self, subjects: &[(String, u64)]) {
        let item = |(subject, id): &(String, u64)| {
            Item::from([
                ("pk".to_owned(), text(format!("sub#{subject}"))),
                ("user_id".to_owned(), number(*id)),
            ])
        };
        let batches = subjects
            .chunks(BATCH)
            .map(|batch| batch.iter().map(item).collect());
        in_parallel(8, batches.map(|items| self.write("users", items))).await;
    }

    /// Says who (the first) has read at which time (the second, in milliseconds since 1970).
    pub async fn add_presence(&self, reads: &[(u64, u64)]) {
        let item = |(user, at): &(u64, u64)| {
            let slot = Slot::of(UserId::new(*user), *at);
            Item::from(
                [
                    ("slot", text(slot.to_string())),
                    ("user_id", number(*user)),
                    ("expires_at", number(slot.expires_at())),
                ]
                .map(|(name, value)| (name.to_owned(), value)),
            )
        };
        let batches = reads
            .chunks(BATCH)
            .map(|batch| batch.iter().map(item).collect());
        in_parallel(8, batches.map(|items| self.write("presence", items))).await;
    }

    /// The slots in which a user has read, with the time at which each row expires, in seconds since 1970.
    pub async fn presence_of(&self, user: u64) -> Vec<(String, u64)> {
        let items = self.scan("presence").await;
        let mut rows = Vec::new();
        for item in items {
            if read_number(&item, "user_id") == user {
                let slot = item["slot"].as_s().expect("a slot has a name");
                rows.push((slot.clone(), read_number(&item, "expires_at")));
            }
        }
        rows.sort_unstable();
        rows
    }

    /// What the table `live` has of a user: tickets and connections.
    pub async fn live_items_of(&self, user: u64) -> Vec<String> {
        let items = self.scan("live").await.into_iter();
        let of_user = items.filter(|item| read_number(item, "user_id") == user);
        of_user
            .map(|item| item["item"].as_s().expect("an item has a name").clone())
            .collect()
    }

    /// A connection that API Gateway knows nothing of.
    pub async fn add_connection(&self, user: u64, id: &str) {
        let now = now_seconds();
        let item = [
            ("user_id", number(user)),
            ("item", text(format!("connection#{id}"))),
            ("connected_at", number(now * 1_000)),
            ("since", number(TweetId::first_at(now * 1_000).get())),
            ("expires_at", number(now + 3_600)),
        ];
        let item = item.map(|(name, value)| (name.to_owned(), value));
        self.write("live", vec![Item::from(item)]).await;
    }

    /// For whom there are notices.
    pub async fn notices(&self) -> Vec<u64> {
        let items = self.scan("notices").await.into_iter();
        items.map(|item| read_number(&item, "user_id")).collect()
    }

    /// The keys of the work that was handed over, and is not done.
    pub async fn handed_over(&self) -> Vec<String> {
        let mut items = self.scan("handovers").await;
        items.extend(self.scan("fills").await);
        let keys = items.iter().map(|item| format!("{:?}", item["pk"]));
        keys.collect()
    }

    /// Removes all notices. What is on its way to be told is told all the same.
    pub async fn forget_notices(&self) {
        for user in self.notices().await {
            let delete = self.dynamo.delete_item().table_name(self.table("notices"));
            let delete = delete.key("user_id", number(user));
            delete.send().await.expect("a notice can be removed");
        }
    }

    /// Tweets (author and id) that nobody posted.
    pub async fn add_tweets(&self, tweets: &[(u64, u64)]) {
        let item = |(author, tweet): &(u64, u64)| {
            Item::from(
                [
                    ("author_id", number(*author)),
                    ("tweet_id", number(*tweet)),
                    ("text", text(format!("fabricated {tweet}"))),
                ]
                .map(|(name, value)| (name.to_owned(), value)),
            )
        };
        let batches = tweets
            .chunks(BATCH)
            .map(|batch| batch.iter().map(item).collect());
        in_parallel(8, batches.map(|items| self.write("tweets", items))).await;
    }

    /// Reposts that nobody made: who, the repost's id, and the author and id of the original.
    pub async fn add_reposts(&self, reposts: &[(u64, u64, u64, u64)]) {
        let key = |author: u64, tweet: u64| {
            Item::from([
                ("author_id".to_owned(), number(author)),
                ("tweet_id".to_owned(), number(tweet)),
            ])
        };
        let item = |(reposter, repost, author, tweet): &(u64, u64, u64, u64)| {
            let mut item = key(*reposter, *repost);
            let original = AttributeValue::M(key(*author, *tweet));
            item.insert("repost_of".to_owned(), original);
            item
        };
        let batches = reposts
            .chunks(BATCH)
            .map(|batch| batch.iter().map(item).collect());
        in_parallel(8, batches.map(|items| self.write("tweets", items))).await;
    }

    /// Makes somebody who has a row a celebrity, as if a flip had settled.
    pub async fn make_celebrity(&self, user: u64) {
        let steps = [
            (format!("tier#{user}"), "SET user_id = :user, "),
            (
                format!("user#{user}"),
                "SET user_id = :user, version = :one, ",
            ),
        ];
        for (pk, set) in steps {
            let mut update = self
                .dynamo
                .update_item()
                .table_name(self.table("users"))
                .key("pk", text(&pk))
                .update_expression(format!(
                    "{set}tier = :tier, epoch = :one, tier_since_ms = :one"
                ))
                .expression_attribute_values(":user", number(user))
                .expression_attribute_values(":tier", text("celebrity"));
            update = update.expression_attribute_values(":one", number(1));
            let updated = update.send().await;
            updated.unwrap_or_else(|e| panic!("{pk} cannot be written: {e:?}"));
        }
    }

    /// Like [`Self::add_followers`], but as `follow-user` does it: both tables in one transaction, if there is no such
    /// edge. A transaction takes as many edges as it can, because many small ones take a local cloud too long.
    pub async fn follow(&self, followers: &[u64], followee: u64) {
        let put = |table: &str, follower: u64| {
            let put = Put::builder()
                .table_name(self.table(table))
                .set_item(Some(edge(follower, followee)))
                .condition_expression("attribute_not_exists(followee_id)")
                .build()
                .expect("an edge");
            TransactWriteItem::builder().put(put).build()
        };
        let transactions = followers.chunks(TRANSACTION / 2).map(|followers| {
            let edges = followers
                .iter()
                .flat_map(|follower| ["followers", "following"].map(|table| put(table, *follower)));
            let transaction = self.dynamo.transact_write_items();
            transaction.set_transact_items(Some(edges.collect())).send()
        });
        for answer in in_parallel(4, transactions).await {
            answer.unwrap_or_else(|e| panic!("{followee} cannot be followed: {e:?}"));
        }
    }

    /// Where any of these words is found in any attribute of any item of all tables.
    pub async fn mentions(&self, words: &[String]) -> Vec<String> {
        let mut found = Vec::new();
        for table in TABLES {
            let scan = self.dynamo.scan().table_name(self.table(table));
            let items: Vec<Item> = scan
                .consistent_read(true)
                .into_paginator()
                .items()
                .send()
                .collect::<Result<_, _>>()
                .await
                .unwrap_or_else(|e| panic!("{table} cannot be scanned: {e:?}"));
            let mentions = items.into_iter().filter(|item| {
                let mut values = item.values().map(|value| format!("{value:?}"));
                values.any(|value| words.iter().any(|word| value.contains(word)))
            });
            found.extend(mentions.map(|item| format!("{table}: {item:?}")));
        }
        found
    }

    async fn write(&self, table: &str, items: Vec<Item>) {
        let put = |item| {
            let request = PutRequest::builder()
                .set_item(Some(item))
                .build()
                .expect("an item");
            WriteRequest::builder().put_request(request).build()
        };
        let mut left: Vec<_> = items.into_iter().map(put).collect();
        for _ in 0..20 {
            let answer = self
                .dynamo
                .batch_write_item()
                .request_items(self.table(table), left)
                .send()
                .await;
            let answer = answer.unwrap_or_else(|e| panic!("{table} cannot be written: {e:?}"));
            left = answer
                .unprocessed_items
                .unwrap_or_default()
                .remove(&self.table(table))
                .unwrap_or_default();
            if left.is_empty() {
                return;
            }
        }
        panic!(
            "{table} leaves {} items unprocessed again and again",
            left.len()
        );
    }
}
