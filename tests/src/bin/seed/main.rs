//! `make seed`: fills a running local cloud with people, follows, tweets, replies, reposts and likes, over HTTP like any
//! client.
//!
//! The same people do the same things in every run, and every request may be repeated, so a second run changes nothing.
//! First come `alice` and `bob`, whom the README and `events/` use. Few people have most of the followers and post most of
//! the tweets, as everywhere, and few tweets get most of the reactions. At the end, `tour.rs` says what to look at.
//!
//! | variable | default | meaning |
//! |---|---|---|
//! | `ROOST_STATE_DIR` | `.roost` | where the local cloud wrote its endpoints |
//! | `SEED_USERS` | 100 | people besides alice and bob |
//! | `SEED_TWEETS` | 500 | tweets; there is about one like for each, and a reply and a repost for every fifth |
//!
//! It is one long file because a quarter of it is lists of names and words.

mod tour;

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::future::Future;
use std::io::{IsTerminal, Write as _, stderr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use fastrand::Rng;
use futures_util::{StreamExt, TryStreamExt, stream};
use roost_tests::{Http, Method};
use serde_json::{Value, json};

use tour::{Celebrity, Tour};

/// Requests under way at once.
const CONCURRENCY: usize = 8;

/// How often one request is made again because it was made too early.
const MOST_WAITS: usize = 100;

const NO_CLOUD: &str = "no local cloud: start one with 'make run' in another terminal";

const FIRST_NAMES: [&str; 40] = [
    "Ada", "Amara", "Anton", "Beatriz", "Boris", "Carmen", "Chidi", "Clara", "Dario", "Dalia",
    "Elena", "Emil", "Farah", "Felix", "Greta", "Hugo", "Imani", "Ines", "Ivan", "Jana", "Jonas",
    "Kenji", "Lena", "Leo", "Lucia", "Malik", "Mara", "Mei", "Milan", "Nadia", "Noor", "Omar",
    "Priya", "Rafael", "Rosa", "Samir", "Sofia", "Tomas", "Yara", "Zoe",
];

const LAST_NAMES: [&str; 32] = [
    "Adler", "Alvarez", "Bauer", "Becker", "Bianchi", "Castro", "Chen", "Costa", "Diallo",
    "Dubois", "Fischer", "Garcia", "Haddad", "Ito", "Jansen", "Kaya", "Keller", "Kim", "Lopez",
    "Mbeki", "Mensah", "Moreau", "Nowak", "Okafor", "Petrov", "Rao", "Rossi", "Sato", "Silva",
    "Tanaka", "Weber", "Yilmaz",
];

/// Words that are put in for `{}` in order: a thing, then a place.
const OPENINGS: [&str; 24] = [
    "Finally finished {} {}.",
    "Nobody told me {} {} would be this good.",
    "Spent the whole morning on {} {}. Worth it.",
    "Hot take: {} {} is overrated.",
    "Does anybody else think about {} {} all day?",
    "Today's plan: {} {}, then nothing at all.",
    "I was wrong about {} {}. Happy to admit it.",
    "Looking for tips on {} {}, anything helps!",
    "Three hours of {} {} and I would do it again.",
    "My neighbour just explained {} {} to me for an hour.",
    "If you only do one thing this week, make it {} {}.",
    "Still dreaming of {} {} \u{1f324}\u{fe0f}",
    "Small joys: {} {}.",
    "Can we talk about {} {}?",
    "Note to self: never again {} {}.",
    "First time trying {} {}. Send help.",
    "Somebody should write a book about {} {}.",
    "Day 12 of {} {} and I regret nothing.",
    "The secret to a good day is {} {} \u{2615}",
    "Rained all day, so it was {} {} for us.",
    "Proud of this one: {} {}!",
    "Unpopular opinion, but {} {} beats everything.",
    "Who is up for {} {} this weekend?",
    "And that is how I ended up with {} {}.",
];

const THINGS: [&str; 28] = [
    "a long walk",
    "sourdough",
    "the night train",
    "birdwatching",
    "fixing the old radio",
    "a second breakfast",
    "chess",
    "learning Rust",
    "tomato seedlings",
    "the new jazz record",
    "cold-water swimming",
    "homemade ramen",
    "a flat tyre",
    "reading on paper",
    "pottery",
    "the last page of that novel",
    "choir practice",
    "a very slow compiler",
    "the farmers' market",
    "repainting the bike",
    "a proper nap",
    "linocuts",
    "counting swallows",
    "the 6 a.m. run",
    "plum cake",
    "a power cut",
    "letters to nobody",
    "the lighthouse tour",
];

const PLACES: [&str; 20] = [
    "by the river",
    "in the kitchen",
    "on the balcony",
    "at the lake",
    "in the old town",
    "on the way home",
    "before sunrise",
    "with my sister",
    "in the rain",
    "at the station",
    "after work",
    "with no plan",
    "on a Monday",
    "in a borrowed coat",
    "under the bridge",
    "at grandma's",
    "with the window open",
    "two streets from here",
    "without a phone",
    "on the roof",
];

const REPLIES: [&str; 20] = [
    "Same here.",
    "I had no idea!",
    "Tell me more.",
    "This made my day \u{1f642}",
    "Are you sure about that?",
    "Count me in.",
    "My sister says the opposite.",
    "Pictures, please!",
    "I tried that once. Never again.",
    "So true.",
    "Where was this?",
    "Now I want to go, too.",
    "You always say that.",
    "Not on a Monday, though.",
    "How long did it take?",
    "I would not have believed it.",
    "Saving this for later.",
    "Who taught you that?",
    "Next time without the rain, I hope.",
    "Well done!",
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaint) => {
            eprintln!("{complaint}");
            ExitCode::FAILURE
        }
    }
}

async fn run() -> Result<(), String> {
    let plan = Plan::new(size("SEED_USERS", 100)?, size("SEED_TWEETS", 500)?);
    let roost = Roost::find().await?;
    let started = Instant::now();

    let people = roost.sign_up(&plan).await?;
    let new_people = people.iter().filter(|person| person.new).count();
    roost.follow(&plan, &people).await?;
    // A list in Redis begins with a read: from now on, tweets are pushed to these two.
    for reader in &people[..2] {
        roost.get("/v1/home_timeline", reader).await?;
    }
    let tweets = roost.post(&plan, &people).await?;
    roost.reply(&plan, &people, &tweets).await?;
    for (phase, reaction, reactions) in [
        ("reposts", "repost", &plan.reposts),
        ("likes", "like", &plan.likes),
    ] {
        let bar = Bar::new(phase, reactions.len());
        roost
            .react(reaction, reactions, &people, &tweets, bar)
            .await?;
    }
    // The newest on alice's page, above all reposts.
    if let Some(celebrity) = people.get(Plan::CELEBRITY) {
        let body = json!({ "text": "And that was my day. Good night!" });
        roost
            .post_once(celebrity, "seed-good-night".to_owned(), body)
            .await?;
    }

    println!(
        "{} people ({new_people} new), {} follows, {} tweets ({} with media), {} replies, {} reposts and {} likes in {:.1} s",
        plan.people.len(),
        plan.follows.len(),
        plan.tweets.len() + usize::from(people.len() > Plan::CELEBRITY),
        (0..plan.tweets.len())
            .filter(|number| medium(*number).is_some())
            .count(),
        plan.replies.len(),
        plan.reposts.len(),
        plan.likes.len(),
        started.elapsed().as_secs_f64()
    );
    let tour = Tour {
        url: &roost.url,
        celebrity: roost.celebrity(&people).await?,
        bob_follows: plan.followed_by(Plan::BOB),
        dormant: plan.dormant(),
    };
    print!("{}", tour.message());
    Ok(())
}

fn size(variable: &str, default: usize) -> Result<usize, String> {
    match env::var(variable) {
        Ok(text) if !text.is_empty() => text
            .parse()
            .map_err(|_| format!("{variable} is a number, not {text:?}")),
        _ => Ok(default),
    }
}

/// The people, and what they do. A person is named by their position, and so is a tweet.
struct Plan {
    people: Vec<Newcomer>,
    /// Follower and followee.
    follows: Vec<(usize, usize)>,
    /// Author and text.
    tweets: Vec<(usize, String)>,
    /// Author, tweet and text.
    replies: Vec<(usize, usize, String)>,
    /// Person and tweet.
    reposts: Vec<(usize, usize)>,
    /// Person and tweet.
    likes: Vec<(usize, usize)>,
}

struct Newcomer {
    /// The `sub` of the token.
    subject: String,
    handle: String,
    name: String,
}

impl Plan {
    const ALICE: usize = 0;
    const BOB: usize = 1;
    /// The most followed person besides these two. Alice is among the followers.
    const CELEBRITY: usize = 2;
    /// How many people bob follows. More would take long, because one person may not write much at once.
    const BOB_FOLLOWS: usize = 50;

    fn new(others: usize, tweets: usize) -> Self {
        let mut people = vec![Newcomer::new("alice", "Alice"), Newcomer::new("bob", "Bob")];
        people.extend((0..others).map(Newcomer::numbered));
        // One source of chance each, so that more tweets do not mean other follows.
        let follows = follows(people.len(), &mut Rng::with_seed(1));
        let tweets = tweets_of(people.len(), tweets, &mut Rng::with_seed(2));
        let react =
            |count, seed| reactions(people.len(), &tweets, count, &mut Rng::with_seed(seed));
        let (some, all) = (tweets.len() / 5, tweets.len());
        let (replies, reposts, likes) = (react(some, 3), react(some, 4), react(all, 5));
        let replies = replies.into_iter().enumerate();
        let replies = replies
            .map(|(number, (author, tweet))| {
                let text = REPLIES[number * 7 % REPLIES.len()];
                (author, tweet, text.to_owned())
            })
            .collect();
        Self {
            people,
            follows,
            tweets,
            replies,
            reposts,
            likes,
        }
    }

    fn followed_by(&self, person: usize) -> usize {
        let follows = self.follows.iter();
        follows.filter(|(follower, _)| *follower == person).count()
    }

    /// The `sub` of somebody for whom nobody here reads.
    fn dormant(&self) -> Option<&str> {
        let last = self.people[2..].last()?;
        Some(&last.subject)
    }
}

impl Newcomer {
    fn new(handle: &str, name: &str) -> Self {
        Self {
            subject: handle.to_owned(),
            handle: handle.to_owned(),
            name: name.to_owned(),
        }
    }

    /// Different names, as long as there are any; always different handles.
    fn numbered(n: usize) -> Self {
        let pairs = FIRST_NAMES.len() * LAST_NAMES.len();
        // A step that has no divisor in common with the number of pairs visits them all, and looks like chance.
        let pair = n * 509 % pairs;
        let first = FIRST_NAMES[pair % FIRST_NAMES.len()];
        let last = LAST_NAMES[pair / FIRST_NAMES.len()];
        let handle = match n % 3 {
            0 if n < pairs => format!("{first}{last}"),
            1 if n < pairs => format!("{first}_{last}"),
            _ => format!("{first}{n}"),
        };
        Self {
            subject: format!("seed|{n}"),
            handle: handle.to_ascii_lowercase(),
            name: format!("{first} {last}"),
        }
    }
}

/// Everybody follows 5 to 30 others, most people few, alice 15 and bob 50. The person at position `n` is chosen about
/// `1 / (n + 1)` as often as the first one.
fn follows(people: usize, rng: &mut Rng) -> Vec<(usize, usize)> {
    let popular = Ranking::new(people);
    let curious = Ranking::new(26);
    let mut follows = Vec::new();
    for follower in 0..people {
        let wanted = match follower {
            Plan::ALICE => 15,
            Plan::BOB => Plan::BOB_FOLLOWS,
            _ => 5 + curious.choose(rng),
        };
        let mut chosen = BTreeSet::new();
        if follower == Plan::ALICE && Plan::CELEBRITY < people {
            chosen.insert(Plan::CELEBRITY);
        }
        while chosen.len() < wanted.min(people - 1) {
            let followee = popular.choose(rng);
            if followee != follower {
                chosen.insert(followee);
            }
        }
        follows.extend(chosen.into_iter().map(|followee| (follower, followee)));
    }
    rng.shuffle(&mut follows);
    follows
}

fn tweets_of(people: usize, count: usize, rng: &mut Rng) -> Vec<(usize, String)> {
    // The most talkative people are not exactly the most popular ones, but near them in the order.
    let talkative = Ranking::new(people);
    (0..count)
        .map(|_| {
            let author = (talkative.choose(rng) + rng.usize(..people.min(8))) % people;
            (author, text(rng))
        })
        .collect()
}

fn text(rng: &mut Rng) -> String {
    let mut pick = |words: &[&'static str]| words[rng.usize(..words.len())];
    let (opening, thing, place) = (pick(&OPENINGS), pick(&THINGS), pick(&PLACES));
    opening.replacen("{}", thing, 1).replacen("{}", place, 1)
}

/// Who reacts to which tweet: up to `count` different pairs of a person and a tweet. Everybody reacts about as often, because
/// one person may not write much at once.
fn reactions(
    people: usize,
    tweets: &[(usize, String)],
    count: usize,
    rng: &mut Rng,
) -> Vec<(usize, usize)> {
    if tweets.is_empty() {
        return Vec::new();
    }
    let popular = Ranking::new(tweets.len());
    let mut chosen = BTreeSet::new();
    for _ in 0..count {
        // Popular tweets are not all from the beginning.
        let tweet = popular.choose(rng) * 211 % tweets.len();
        let person = rng.usize(..people);
        if person != tweets[tweet].0 {
            chosen.insert((person, tweet));
        }
    }
    let mut chosen: Vec<_> = chosen.into_iter().collect();
    rng.shuffle(&mut chosen);
    chosen
}

/// What some tweets show beside their text. Nobody ever fetches it.
fn medium(number: usize) -> Option<Value> {
    match number % 20 {
        3 | 11 => Some(json!({
            "type": "image",
            "url": format!("https://example.com/photos/{number}.jpg"),
            "alt": "a photo that goes with the text",
        })),
        7 => Some(json!({
            "type": "video",
            "url": format!("https://example.com/films/{number}.mp4"),
        })),
        _ => None,
    }
}

/// Positions, of which the first are chosen far more often than the last (Zipf's law).
struct Ranking {
    cumulated: Vec<f64>,
}

impl Ranking {
    fn new(count: usize) -> Self {
        let mut total = 0.0;
        let weights = (1..=count).map(|rank| {
            #[expect(clippy::cast_precision_loss, reason = "a rank is small")]
            let weight = 1.0 / rank as f64;
            total += weight;
            total
        });
        Self {
            cumulated: weights.collect(),
        }
    }

    fn choose(&self, rng: &mut Rng) -> usize {
        let total = self.cumulated.last().copied().unwrap_or_default();
        let point = rng.f64() * total;
        let position = self.cumulated.partition_point(|sum| *sum <= point);
        position.min(self.cumulated.len() - 1)
    }
}

/// A person who has signed up.
struct Person {
    id: String,
    token: String,
    /// Not there before this run.
    new: bool,
}

/// The running local cloud.
struct Roost {
    http: Http,
    url: String,
}

impl Roost {
    async fn find() -> Result<Self, String> {
        let state = env::var_os("ROOST_STATE_DIR").filter(|folder| !folder.is_empty());
        let state = state.map_or_else(|| PathBuf::from(".roost"), PathBuf::from);
        let url = http_endpoint(&state).ok_or(NO_CLOUD)?;
        let roost = Self {
            http: Http::new(),
            url,
        };
        let health = roost.call(Method::GET, "/healthz", &[], None).await;
        health.map(|_| roost).map_err(|_| NO_CLOUD.to_owned())
    }

    async fn sign_up(&self, plan: &Plan) -> Result<Vec<Person>, String> {
        let sign_up = async |newcomer: &Newcomer| {
            let claims = json!({ "sub": newcomer.subject });
            let (_, token) = self
                .call(Method::POST, "/dev/token", &[], Some(claims))
                .await?;
            let token = text_of(&token, "access_token")?;
            let body = json!({ "handle": newcomer.handle, "name": newcomer.name });
            let headers = [bearer(&token)];
            let (status, user) = self
                .call(Method::POST, "/v1/users", &headers, Some(body))
                .await?;
            Ok(Person {
                id: text_of(&user, "id")?,
                token,
                new: status == 201,
            })
        };
        // Alice and bob come first, so that nobody else has their handles.
        let (first, others) = plan.people.split_at(2);
        let mut bar = Bar::new("people", plan.people.len());
        let mut people = in_parallel(&mut bar, 1, first.iter().map(sign_up)).await?;
        people.extend(in_parallel(&mut bar, CONCURRENCY, others.iter().map(sign_up)).await?);
        bar.end();
        Ok(people)
    }

    async fn follow(&self, plan: &Plan, people: &[Person]) -> Result<(), String> {
        let follow = async |(follower, followee): &(usize, usize)| {
            let path = format!("/v1/users/{}/follow", people[*followee].id);
            let headers = [bearer(&people[*follower].token)];
            self.call(Method::POST, &path, &headers, None).await
        };
        let mut bar = Bar::new("follows", plan.follows.len());
        in_parallel(&mut bar, CONCURRENCY, plan.follows.iter().map(follow)).await?;
        bar.end();
        Ok(())
    }

    /// Gives the ids of the tweets.
    async fn post(&self, plan: &Plan, people: &[Person]) -> Result<Vec<String>, String> {
        let post = async |(number, (author, text)): (usize, &(usize, String))| {
            // The author is part of the key by itself.
            let key = format!("seed-{number}");
            let media: Vec<Value> = medium(number).into_iter().collect();
            let body = json!({ "text": text, "media": media });
            self.post_once(&people[*author], key, body).await
        };
        let mut bar = Bar::new("tweets", plan.tweets.len());
        let tweets = plan.tweets.iter().enumerate();
        let ids = in_parallel(&mut bar, CONCURRENCY, tweets.map(post)).await?;
        bar.end();
        Ok(ids)
    }

    async fn reply(&self, plan: &Plan, people: &[Person], tweets: &[String]) -> Result<(), String> {
        let reply = async |(number, (author, tweet, text)): (usize, &(usize, usize, String))| {
            let key = format!("seed-reply-{number}");
            let body = json!({ "text": text, "in_reply_to": tweets[*tweet] });
            self.post_once(&people[*author], key, body).await
        };
        let mut bar = Bar::new("replies", plan.replies.len());
        let replies = plan.replies.iter().enumerate();
        in_parallel(&mut bar, CONCURRENCY, replies.map(reply)).await?;
        bar.end();
        Ok(())
    }

    /// Posts a tweet, unless an earlier run has; gives its id.
    async fn post_once(&self, author: &Person, key: String, body: Value) -> Result<String, String> {
        let headers = [bearer(&author.token), ("idempotency-key".to_owned(), key)];
        let (_, tweet) = self
            .call(Method::POST, "/v1/tweets", &headers, Some(body))
            .await?;
        text_of(&tweet, "id")
    }

    async fn react(
        &self,
        reaction: &str,
        reactions: &[(usize, usize)],
        people: &[Person],
        tweets: &[String],
        mut bar: Bar,
    ) -> Result<(), String> {
        let react = async |(person, tweet): &(usize, usize)| {
            let path = format!("/v1/tweets/{}/{reaction}", tweets[*tweet]);
            let headers = [bearer(&people[*person].token)];
            self.call(Method::PUT, &path, &headers, None).await
        };
        in_parallel(&mut bar, CONCURRENCY, reactions.iter().map(react)).await?;
        bar.end();
        Ok(())
    }

    /// A request that has to succeed; gives its status and its JSON.
    async fn call(
        &self,
        method: Method,
        path: &str,
        headers: &[(String, String)],
        body: Option<Value>,
    ) -> Result<(u16, Value), String> {
        let mut headers = headers.to_vec();
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        if !body.is_empty() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        let url = format!("{}{path}", self.url);
        let send = || {
            let (method, body) = (method.clone(), body.clone().into_bytes());
            self.http.send(method, &url, &headers, body)
        };
        let mut answer = send().await?;
        // Some people here do more at once than one person may.
        for _ in 0..MOST_WAITS {
            let Some(pause) = answer.headers.get("retry-after") else {
                break;
            };
            let seconds = pause.to_str().ok().and_then(|text| text.parse().ok());
            tokio::time::sleep(Duration::from_secs(seconds.unwrap_or(1))).await;
            answer = send().await?;
        }
        if !(200..300).contains(&answer.status) {
            return Err(format!(
                "{} answered {}: {}",
                answer.call,
                answer.status,
                answer.text()
            ));
        }
        // A body that is missing or not JSON is ignored.
        let value = serde_json::from_slice(&answer.body).unwrap_or_default();
        Ok((answer.status, value))
    }

    async fn get(&self, path: &str, reader: &Person) -> Result<Value, String> {
        let headers = [bearer(&reader.token)];
        let (_, value) = self.call(Method::GET, path, &headers, None).await?;
        Ok(value)
    }

    /// The most followed person, if that makes them a celebrity.
    async fn celebrity(&self, people: &[Person]) -> Result<Option<Celebrity>, String> {
        let Some(most_followed) = people.get(Plan::CELEBRITY) else {
            return Ok(None);
        };
        let path = format!("/v1/users/{}", most_followed.id);
        let user = self.get(&path, &people[Plan::ALICE]).await?;
        if user["is_celebrity"] != true {
            return Ok(None);
        }
        Ok(Some(Celebrity {
            handle: text_of(&user, "handle")?,
            followers: user["follower_count"].as_u64().unwrap_or_default(),
        }))
    }
}

/// Where the local cloud with this state folder serves the API, if there is one.
fn http_endpoint(state: &Path) -> Option<String> {
    let text = fs::read(state.join("endpoints.json")).ok()?;
    let endpoints: Value = serde_json::from_slice(&text).ok()?;
    let url = endpoints["http"].as_str()?.trim_end_matches('/');
    Some(if url.contains("://") {
        url.to_owned()
    } else {
        format!("http://{url}")
    })
}

fn bearer(token: &str) -> (String, String) {
    ("authorization".to_owned(), format!("Bearer {token}"))
}

fn text_of(value: &Value, field: &str) -> Result<String, String> {
    let text = value[field].as_str();
    text.map(str::to_owned)
        .ok_or_else(|| format!("an answer without {field}: {value}"))
}

/// Runs at most `width` of these at once and stops at the first failure; answers in the order of `work`.
async fn in_parallel<T, F: Future<Output = Result<T, String>>>(
    bar: &mut Bar,
    width: usize,
    work: impl Iterator<Item = F>,
) -> Result<Vec<T>, String> {
    let done = stream::iter(work).buffered(width);
    done.inspect_ok(|_| bar.step()).try_collect().await
}

/// In a terminal, a line that fills up; elsewhere, one plain line at the end.
struct Bar {
    phase: &'static str,
    total: usize,
    done: usize,
    started: Instant,
    drawn: Option<Instant>,
    live: bool,
}

impl Bar {
    const WIDTH: usize = 30;
    const REDRAW: Duration = Duration::from_millis(50);

    fn new(phase: &'static str, total: usize) -> Self {
        Self {
            phase,
            total,
            done: 0,
            started: Instant::now(),
            drawn: None,
            live: stderr().is_terminal(),
        }
    }

    fn step(&mut self) {
        self.done += 1;
        if self
            .drawn
            .is_none_or(|drawn| drawn.elapsed() >= Self::REDRAW)
        {
            self.draw();
        }
    }

    fn draw(&mut self) {
        if self.live {
            let full = Self::WIDTH * self.done / self.total.max(1);
            let (full, empty) = ("█".repeat(full), "░".repeat(Self::WIDTH - full));
            // A terminal that went away is no reason to stop.
            let _ = write!(
                stderr(),
                "\r{:<8}{full}{empty} {}/{}",
                self.phase,
                self.done,
                self.total
            );
            self.drawn = Some(Instant::now());
        }
    }

    fn end(mut self) {
        self.draw();
        let seconds = self.started.elapsed().as_secs_f64();
        let _ = if self.live {
            writeln!(stderr(), "  {seconds:.1} s")
        } else {
            writeln!(stderr(), "{}: {} in {seconds:.1} s", self.phase, self.done)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_react_to_others_and_once_to_each_tweet() {
        let plan = Plan::new(100, 500);
        for reactions in [&plan.reposts, &plan.likes] {
            let different: BTreeSet<_> = reactions.iter().collect();
            assert_eq!(different.len(), reactions.len());
            let own = |(person, tweet): &(usize, usize)| plan.tweets[*tweet].0 == *person;
            assert!(!reactions.iter().any(own));
        }
        assert!(plan.likes.len() > 300 && plan.replies.len() > 60);
    }

    #[test]
    fn handles_are_valid_and_all_different() {
        let plan = Plan::new(3_000, 0);
        let handles: BTreeSet<&str> = plan
            .people
            .iter()
            .map(|person| person.handle.as_str())
            .collect();
        assert_eq!(handles.len(), plan.people.len());
        for handle in handles {
            assert!((1..=15).contains(&handle.len()), "{handle}");
        }
    }

    #[test]
    fn a_plan_is_the_same_in_every_run() {
        let (one, other) = (Plan::new(100, 500), Plan::new(100, 500));
        assert_eq!((one.follows, one.tweets), (other.follows, other.tweets));
    }

    #[test]
    fn few_people_have_most_of_the_followers() {
        let plan = Plan::new(100, 0);
        let mut followers = vec![0; plan.people.len()];
        for (_, followee) in &plan.follows {
            followers[*followee] += 1;
        }
        followers.sort_unstable_by(|a: &usize, b| b.cmp(a));
        let of_the_top_ten: usize = followers[..10].iter().sum();
        assert!(
            of_the_top_ten * 100 > plan.follows.len() * 35,
            "{followers:?}"
        );
        assert!(followers[0] > 4 * followers[50], "{followers:?}");
    }

    #[test]
    fn bob_follows_many_and_alice_follows_the_celebrity() {
        let plan = Plan::new(100, 0);
        assert_eq!(plan.followed_by(Plan::BOB), Plan::BOB_FOLLOWS);
        assert!(plan.follows.contains(&(Plan::ALICE, Plan::CELEBRITY)));
        let followers = |person| {
            plan.follows
                .iter()
                .filter(|follow| follow.1 == person)
                .count()
        };
        let most = (2..plan.people.len()).max_by_key(|person| followers(*person));
        assert_eq!(most, Some(Plan::CELEBRITY));
        // As many as `make run` wants for a celebrity.
        assert!(followers(Plan::CELEBRITY) >= 50);
    }

    #[test]
    fn everybody_follows_as_many_as_there_are() {
        for others in [0, 1, 3] {
            let plan = Plan::new(others, 20);
            let people = plan.people.len();
            assert_eq!(plan.follows.len(), people * (people - 1));
            assert!(plan.tweets.iter().all(|(author, _)| *author < people));
        }
    }
}
