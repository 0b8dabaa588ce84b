//! A person who uses Roost, and what they do.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hyper::Method;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::client::{Call, Client};
use crate::http::Answer;
use crate::page::{HomePage, Listing, Profile, Tweet, expect_timeline, newest_first};
use crate::patience::{PATIENCE, eventually, expect_equal};

/// More pages than any test's timeline has.
const PAGE_LIMIT: usize = 2_000;

#[derive(Clone, Debug)]
pub struct User {
    pub id: u64,
    pub handle: String,
    pub token: String,
    client: Client,
}

impl User {
    pub(crate) fn new(client: Client, id: u64, handle: String, token: String) -> Self {
        Self {
            id,
            handle,
            token,
            client,
        }
    }

    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The `sub` of the token, which identifies this person.
    pub fn subject(&self) -> String {
        let claims = self.token.split('.').nth(1).expect("a token has claims");
        let claims = URL_SAFE_NO_PAD.decode(claims).expect("claims are base64");
        let claims: Value = serde_json::from_slice(&claims).expect("claims are JSON");
        claims["sub"].as_str().expect("a sub").to_owned()
    }

    /// A request with this person's token.
    pub fn call(&self, method: Method, path: &str) -> Call {
        self.client.call(method, path).token(&self.token)
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.call(Method::GET, path).send().await
    }

    pub async fn follow(&self, other: &User) {
        self.call(Method::POST, &format!("/v1/users/{}/follow", other.id))
            .send()
            .await
            .expect(204);
    }

    /// For people who block each other, which nothing else may keep them from. Says whether it worked.
    pub async fn follow_unless_blocked(&self, other: &User) -> bool {
        let path = format!("/v1/users/{}/follow", other.id);
        let answer = self.call(Method::POST, &path).send().await;
        if answer.status == 403 {
            answer.expect_problem(403);
            return false;
        }
        answer.expect(204);
        true
    }

    /// Reacts to a tweet that may have been deleted, or whose author may have blocked this user.
    pub async fn react_if_possible(&self, reaction: &str, tweet: &Tweet) {
        let path = format!("/v1/tweets/{}/{reaction}", tweet.id);
        let answer = self.call(Method::PUT, &path).send().await;
        match answer.status {
            403 | 404 => drop(answer),
            _ => drop(answer.expect(204)),
        }
    }

    pub async fn unfollow(&self, other: &User) {
        self.call(Method::DELETE, &format!("/v1/users/{}/follow", other.id))
            .send()
            .await
            .expect(204);
    }

    pub async fn mute(&self, other: &User) {
        self.relate(Method::PUT, "mute", other).await;
    }

    pub async fn unmute(&self, other: &User) {
        self.relate(Method::DELETE, "mute", other).await;
    }

    pub async fn block(&self, other: &User) {
        self.relate(Method::PUT, "block", other).await;
    }

    pub async fn unblock(&self, other: &User) {
        self.relate(Method::DELETE, "block", other).await;
    }

    async fn relate(&self, method: Method, relation: &str, other: &User) {
        self.call(method, &format!("/v1/users/{}/{relation}", other.id))
            .send()
            .await
            .expect(204);
    }

    pub async fn post(&self, text: &str) -> Tweet {
        self.call(Method::POST, "/v1/tweets")
            .json(&json!({ "text": text }))
            .send()
            .await
            .expect(201)
            .read()
    }

    pub async fn reply(&self, tweet: &Tweet, text: &str) -> Tweet {
        self.try_reply(tweet.id, text).await.expect(201).read()
    }

    /// The answer to a reply to the tweet with this id.
    pub async fn try_reply(&self, tweet: u64, text: &str) -> Answer {
        let body = json!({ "text": text, "in_reply_to": tweet.to_string() });
        let call = self.call(Method::POST, "/v1/tweets");
        call.json(&body).send().await
    }

    /// Posts `count` tweets, `width` at a time; newest first.
    pub async fn post_many(&self, count: usize, width: usize) -> Vec<Tweet> {
        let texts: Vec<_> = (0..count)
            .map(|n| format!("number {n} of {}", self.handle))
            .collect();
        newest_first(crate::in_parallel(width, texts.iter().map(|text| self.post(text))).await)
    }

    pub async fn delete(&self, tweet: &Tweet) {
        self.call(Method::DELETE, &format!("/v1/tweets/{}", tweet.id))
            .send()
            .await
            .expect(204);
    }

    pub async fn like(&self, tweet: &Tweet) {
        self.react(Method::PUT, tweet, "like").await;
    }

    pub async fn unlike(&self, tweet: &Tweet) {
        self.react(Method::DELETE, tweet, "like").await;
    }

    pub async fn repost(&self, tweet: &Tweet) {
        self.react(Method::PUT, tweet, "repost").await;
    }

    pub async fn unrepost(&self, tweet: &Tweet) {
        self.react(Method::DELETE, tweet, "repost").await;
    }

    pub async fn hide(&self, tweet: &Tweet) {
        self.react(Method::PUT, tweet, "hide").await;
    }

    pub async fn unhide(&self, tweet: &Tweet) {
        self.react(Method::DELETE, tweet, "hide").await;
    }

    async fn react(&self, method: Method, tweet: &Tweet, reaction: &str) {
        self.call(method, &format!("/v1/tweets/{}/{reaction}", tweet.id))
            .send()
            .await
            .expect(204);
    }

    /// The tweet as this person sees it.
    pub async fn tweet(&self, id: u64) -> Tweet {
        self.get(&format!("/v1/tweets/{id}"))
            .await
            .expect(200)
            .read()
    }

    pub async fn profile(&self) -> Profile {
        self.get(&format!("/v1/users/{}", self.id))
            .await
            .expect(200)
            .read()
    }

    pub async fn expect_counts(&self, followers: usize, following: usize) -> Result<(), String> {
        let profile = self.profile().await;
        let found = (profile.follower_count, profile.following_count);
        let expected = (followers as i64, following as i64);
        expect_equal(
            &format!("followers and following of {}", self.handle),
            found,
            expected,
        )
    }

    pub async fn home(&self, limit: usize, cursor: Option<&str>) -> HomePage {
        let page: HomePage = self
            .get(&page_path("/v1/home_timeline", limit, cursor))
            .await
            .expect(200)
            .read();
        page.check(limit);
        page
    }

    /// The first page of a usual size.
    pub async fn newest(&self) -> HomePage {
        self.home(20, None).await
    }

    pub fn walking(&self, limit: usize) -> Walk<'_> {
        Walk {
            user: self,
            limit,
            cursor: None,
            last_id: None,
            short_page: None,
            pages: 0,
            ended: false,
        }
    }

    /// The whole home timeline, page by page. `Err` if a page is incomplete, or short before the end: both may happen while
    /// something is on its way, but not at rest. What must never happen fails at once.
    pub async fn try_walk(&self, limit: usize) -> Result<Vec<Tweet>, String> {
        let mut tweets = Vec::new();
        let mut walk = self.walking(limit);
        while let Some(page) = walk.next().await {
            tweets.extend(page?.data);
        }
        Ok(tweets)
    }

    pub async fn walk(&self, limit: usize) -> Vec<Tweet> {
        match self.try_walk(limit).await {
            Ok(tweets) => tweets,
            Err(complaint) => panic!("{complaint}"),
        }
    }

    /// Waits until the whole home timeline is these tweets in this order, and nothing else.
    pub async fn eventually_sees(&self, expected: &[u64]) {
        eventually(PATIENCE, "the timeline is complete", || async {
            expect_timeline(&self.try_walk(100).await?, expected)
        })
        .await;
    }

    pub async fn followers(&self, limit: usize) -> Vec<Profile> {
        self.list(&format!("/v1/users/{}/followers", self.id), limit)
            .await
    }

    pub async fn following(&self, limit: usize) -> Vec<Profile> {
        self.list(&format!("/v1/users/{}/following", self.id), limit)
            .await
    }

    pub async fn tweets(&self, limit: usize) -> Vec<Tweet> {
        self.list(&format!("/v1/users/{}/tweets", self.id), limit)
            .await
    }

    /// The same with replies to others.
    pub async fn tweets_and_replies(&self, limit: usize) -> Vec<Tweet> {
        let path = format!("/v1/users/{}/tweets?include=replies", self.id);
        self.list(&path, limit).await
    }

    /// The replies to a tweet, as this person sees them.
    pub async fn replies_to(&self, tweet: &Tweet, limit: usize) -> Vec<Tweet> {
        self.list(&format!("/v1/tweets/{}/replies", tweet.id), limit)
            .await
    }

    /// The people in one of this person's own lists, `mutes` or `blocks`.
    pub async fn related(&self, list: &str, limit: usize) -> Vec<Profile> {
        self.list(&format!("/v1/users/me/{list}"), limit).await
    }

    /// Everything that a listing holds, page by page.
    async fn list<T: DeserializeOwned>(&self, path: &str, limit: usize) -> Vec<T> {
        let mut all = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGE_LIMIT {
            let page: Listing<T> = self
                .get(&page_path(path, limit, cursor.as_deref()))
                .await
                .expect(200)
                .read();
            assert_eq!(
                page.meta.result_count,
                page.data.len(),
                "result_count of {path}"
            );
            assert!(
                page.data.len() <= limit,
                "{path} gave {}, but {limit} were asked for",
                page.data.len()
            );
            let empty = page.data.is_empty();
            all.extend(page.data);
            match page.meta.next_cursor {
                None => return all,
                Some(next) => {
                    assert!(!empty, "an empty page of {path} leads on to {next}");
                    cursor = Some(next);
                }
            }
        }
        panic!("{path} does not end within {PAGE_LIMIT} pages");
    }
}

fn page_path(path: &str, limit: usize, cursor: Option<&str>) -> String {
    let cursor = cursor
        .map(|cursor| format!("&cursor={cursor}"))
        .unwrap_or_default();
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}limit={limit}{cursor}")
}

/// A walk down one home timeline, a page at a time.
#[derive(Debug)]
pub struct Walk<'a> {
    user: &'a User,
    limit: usize,
    cursor: Option<String>,
    /// The position of the last page's end.
    last_id: Option<u64>,
    /// Set by a page that was not full: nothing may come after it.
    short_page: Option<usize>,
    pages: usize,
    ended: bool,
}

impl Walk<'_> {
    /// The next page; `None` after the last one.
    pub async fn next(&mut self) -> Option<Result<HomePage, String>> {
        if self.ended {
            return None;
        }
        let page = self.user.home(self.limit, self.cursor.as_deref()).await;
        self.pages += 1;
        assert!(
            self.pages < PAGE_LIMIT,
            "a walk does not end within {PAGE_LIMIT} pages"
        );
        if let (Some(last), Some(first)) = (self.last_id, page.meta.newest_id) {
            assert!(
                first < last,
                "page {} starts with {first} after a page that ended with {last}",
                self.pages
            );
        }
        self.last_id = page.meta.oldest_id.or(self.last_id);
        self.cursor.clone_from(&page.meta.next_cursor);
        self.ended = self.cursor.is_none();
        assert!(
            self.ended || !page.data.is_empty(),
            "page {} is empty but leads on",
            self.pages
        );
        Some(self.at_rest(page))
    }

    fn at_rest(&mut self, page: HomePage) -> Result<HomePage, String> {
        if !page.meta.complete {
            return Err(format!("page {} is incomplete", self.pages));
        }
        if let Some(short) = self.short_page.filter(|_| !page.data.is_empty()) {
            return Err(format!(
                "page {short} was short although page {} has more",
                self.pages
            ));
        }
        if page.data.len() < self.limit {
            self.short_page = Some(self.pages);
        }
        Ok(page)
    }
}
