//! What people do, and what each of it causes.
//!
//! Readers follow 200 people and one celebrity, and their lists are full. Where many read, each read is by somebody whom
//! no sandbox remembers, as on a deployment with many people. Followers who are only counted have edges and lists, but
//! no profile.

use std::collections::BTreeMap;
use std::time::Duration;

use roost_tests::{Answer, Method, User, expect_tier, in_parallel, keys};

use crate::counts::Counts;
use crate::observer::Observer;

const READERS: usize = 40;
const FOLLOWED: usize = 200;
const TWEETS_EACH: usize = 4;
const CELEBRITY_FOLLOWERS: u64 = 20_100;
pub(crate) const CELEBRITY_THRESHOLD: &str = "20000";
/// How many followers authors have whose posts are measured.
const REACHES: [u64; 3] = [100, 1_000, 10_000];
/// Posts, likes and the like.
const TIMES: usize = 30;

/// Everything that was measured, by name.
pub(crate) struct Actions {
    pub(crate) counts: BTreeMap<&'static str, Counts>,
    /// For what is looked at in Redis afterwards.
    pub(crate) readers: Vec<User>,
}

struct People {
    readers: Vec<User>,
    authors: Vec<User>,
    celebrity: User,
}

pub(crate) async fn measure(observer: &mut Observer) -> Actions {
    println!("preparing: {READERS} readers who follow {FOLLOWED} people and a celebrity");
    let people = prepare(observer).await;
    println!("measuring");
    let mut counts = BTreeMap::new();
    read(observer, &people, &mut counts).await;
    write(observer, &people, &mut counts).await;
    live(observer, &people, &mut counts).await;
    Actions {
        counts,
        readers: people.readers,
    }
}

async fn prepare(observer: &Observer) -> People {
    let roost = observer.cloud.client();
    let tables = roost.tables().await.expect("tables");
    let celebrity = roost.sign_up("star").await;
    let readers = roost.sign_up_many("reader", READERS).await;
    let authors = roost.sign_up_many("author", FOLLOWED).await;
    let ids: Vec<u64> = readers.iter().map(|reader| reader.id).collect();
    let follows = authors
        .iter()
        .map(|author| tables.add_followers(author.id, &ids));
    in_parallel(2, follows).await;
    let mut fans = ids.clone();
    fans.extend(crowd(&celebrity, CELEBRITY_FOLLOWERS));
    tables.add_followers(celebrity.id, &fans).await;
    let limit = Duration::from_secs(120);
    expect_tier(&tables, &celebrity, "celebrity", 1, limit).await;
    in_parallel(4, readers.iter().map(User::newest)).await;
    let posts = authors
        .iter()
        .map(|author| author.post_many(TWEETS_EACH, 1));
    in_parallel(4, posts).await;
    celebrity.post_many(TWEETS_EACH, 1).await;
    observer.settle().await;
    People {
        readers,
        authors,
        celebrity,
    }
}

/// People who are only edges, and who signed up before this one, a minute after each other.
fn crowd(before: &User, count: u64) -> Vec<u64> {
    let minute = 60_000 << 22;
    let mut ids: Vec<u64> = (1..=count)
        .map(|number| before.id.saturating_sub(number * minute / 64))
        .collect();
    ids.reverse();
    ids
}

async fn read(
    observer: &mut Observer,
    people: &People,
    counts: &mut BTreeMap<&'static str, Counts>,
) {
    let readers = &people.readers;
    let (warming, readers) = readers.split_at(READERS / 4);
    let cache = observer.cache.clone();
    let pages = [
        ("page", "/v1/home_timeline?limit=20"),
        ("ranked page", "/v1/home_timeline?limit=20&order=ranked"),
        (
            "page with activity",
            "/v1/home_timeline?limit=20&include=activity",
        ),
    ];
    for (name, path) in pages {
        // What is computed once for each reader, such as their affinity, is there.
        for reader in readers {
            reader.get(path).await.expect(200);
        }
        warm_up(observer, "home-timeline", warming, path).await;
        let act = |number: usize| async move { size(&readers[number].get(path).await.expect(200)) };
        let measured = observer.measure(name, readers.len(), act).await;
        counts.insert(name, measured);
    }
    let path = pages[0].1;
    let mut tags = Vec::new();
    for reader in readers {
        let answer = reader.get(path).await.expect(200);
        let tag = answer.headers["etag"].to_str().expect("a tag");
        tags.push(tag.to_owned());
    }
    warm_up(observer, "home-timeline", warming, path).await;
    let measured = observer.measure("page that has not changed (304)", readers.len(), |number| {
        let call = readers[number].call(Method::GET, path);
        let call = call.header("if-none-match", &tags[number]);
        async move { size(&call.send().await.expect(304)) }
    });
    counts.insert("page that has not changed (304)", measured.await);

    let newest = readers[0].newest().await.meta.newest_id.expect("a page");
    let path = format!("/v1/home_timeline/new?since={}", newest - 1);
    warm_up(observer, "home-timeline-new", warming, &path).await;
    let measured = observer.measure("what is new", readers.len(), |number| {
        let reader = &readers[number];
        let path = &path;
        async move { size(&reader.get(path).await.expect(200)) }
    });
    counts.insert("what is new", measured.await);

    let path = pages[0].1;
    for (name, key) in [
        ("first page of an hour", keys::active as fn(u64) -> String),
        ("first page after a loss", keys::home_timeline),
    ] {
        warm_up(observer, "home-timeline", warming, path).await;
        let measured = observer.measure(name, readers.len() / 2, |number| {
            let (cache, reader) = (cache.clone(), &readers[number]);
            async move {
                let _: u64 = cache.ask(&["DEL", &key(reader.id)]).await;
                size(&reader.get(path).await.expect(200))
            }
        });
        counts.insert(name, measured.await);
    }
}

/// New sandboxes, which know these readers and nobody else.
async fn warm_up(observer: &Observer, function: &str, readers: &[User], path: &str) {
    observer.forget_callers(function).await;
    for reader in readers {
        reader.get(path).await.expect(200);
    }
}

async fn write(
    observer: &mut Observer,
    people: &People,
    counts: &mut BTreeMap<&'static str, Counts>,
) {
    let roost = observer.cloud.client().clone();
    let tables = roost.tables().await.expect("tables");
    let nothing = Counts::default;
    let (readers, authors) = (&people.readers, &people.authors);

    roost.sign_up("warm").await;
    let measured = observer.measure("sign up", TIMES, |_| async {
        roost.sign_up("newbie").await;
        nothing()
    });
    counts.insert("sign up", measured.await);

    let others = roost.sign_up_many("other", TIMES + 1).await;
    readers[0].follow(&others[TIMES]).await;
    let measured = observer.measure("follow", TIMES, |number| {
        let other = &others[number];
        async move {
            readers[number % READERS].follow(other).await;
            nothing()
        }
    });
    counts.insert("follow", measured.await);
    readers[0].unfollow(&others[TIMES]).await;
    let measured = observer.measure("unfollow", TIMES, |number| {
        let other = &others[number];
        async move {
            readers[number % READERS].unfollow(other).await;
            nothing()
        }
    });
    counts.insert("unfollow", measured.await);

    for (name, reach) in [
        ("post to 100 followers", REACHES[0]),
        ("post to 1,000 followers", REACHES[1]),
        ("post to 10,000 followers", REACHES[2]),
    ] {
        let author = roost.sign_up("poster").await;
        let followers = crowd(&author, reach);
        tables.add_followers(author.id, &followers).await;
        observer.cache.activate(&followers).await;
        author.post_many(3, 1).await;
        let times = if reach < REACHES[2] { TIMES } else { TIMES / 3 };
        let measured = observer.measure(name, times, |number| {
            let author = &author;
            async move {
                author.post(&text(number)).await;
                nothing()
            }
        });
        counts.insert(name, measured.await);
    }

    let star = &people.celebrity;
    star.post("warm").await;
    let measured = observer.measure("post of a celebrity", TIMES, |number| async move {
        star.post(&text(number)).await;
        nothing()
    });
    counts.insert("post of a celebrity", measured.await);

    let mut tweets = Vec::new();
    for (number, author) in authors.iter().enumerate().take(TIMES + 1) {
        tweets.push(author.post(&text(number)).await);
    }
    let last = &tweets[TIMES];
    let reader = &readers[0];
    reader.like(last).await;
    reader.reply(last, "warm").await;
    reader.repost(last).await;
    let measured = observer.measure("like", TIMES, |number| {
        let tweet = &tweets[number];
        async move {
            readers[number % READERS].like(tweet).await;
            nothing()
        }
    });
    counts.insert("like", measured.await);
    let measured = observer.measure("reply", TIMES, |number| {
        let tweet = &tweets[number];
        async move {
            readers[number % READERS].reply(tweet, &text(number)).await;
            nothing()
        }
    });
    counts.insert("reply", measured.await);
    let measured = observer.measure("repost without followers", TIMES, |number| {
        let tweet = &tweets[number];
        async move {
            readers[number % READERS].repost(tweet).await;
            nothing()
        }
    });
    counts.insert("repost without followers", measured.await);
    authors[TIMES].delete(last).await;
    let measured = observer.measure("delete", TIMES, |number| {
        let (author, tweet) = (&authors[number], &tweets[number]);
        async move {
            author.delete(tweet).await;
            nothing()
        }
    });
    counts.insert("delete", measured.await);
}

/// As long as tweets usually are.
fn text(number: usize) -> String {
    let words =
        "the quick brown fox jumps over the lazy dog and goes on to see what is new at home today";
    format!("{words} {number}")
}

async fn live(
    observer: &mut Observer,
    people: &People,
    counts: &mut BTreeMap<&'static str, Counts>,
) {
    let roost = observer.cloud.client().clone();
    let readers = &people.readers;
    drop(readers[0].connect().await);
    let measured = observer.measure("connect for live updates", TIMES / 3, |number| async move {
        readers[1 + number].connect().await.close().await;
        let mut counts = Counts::default();
        counts.add("live_messages", 0.0);
        counts
    });
    counts.insert("connect for live updates", measured.await);

    let [author, reader] = roost.sign_up_each(["herald", "listen"]).await;
    reader.follow(&author).await;
    reader.newest().await;
    author.post("warm").await;
    let alone = observer.measure("post to nobody connected", 5, |number| {
        let author = &author;
        async move {
            author.post(&text(number)).await;
            Counts::default()
        }
    });
    let alone = alone.await;
    let socket = reader.connect().await;
    let socket = tokio::sync::Mutex::new(socket);
    author.post("warm").await;
    socket.lock().await.news().await;
    let told = observer.measure("post to a connected reader", 5, |number| {
        let (author, socket) = (&author, &socket);
        async move {
            author.post(&text(number)).await;
            socket.lock().await.news().await;
            let mut counts = Counts::default();
            counts.add("live_messages", 1.0);
            counts
        }
    });
    counts.insert("live message", told.await.minus(&alone));
}

/// What an answer takes on its way to the client.
fn size(answer: &Answer) -> Counts {
    let headers = answer.headers.iter();
    let headers: usize = headers
        .map(|(name, value)| name.as_str().len() + value.len() + 4)
        .sum();
    let mut counts = Counts::default();
    counts.add("answer_bytes", (headers + answer.body.len()) as f64);
    counts
}
