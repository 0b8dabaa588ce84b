//! A failover promotes a replica that may lack the last acknowledged writes. Lists then survive without their newest
//! entries, hidden authors come back, tombstones are gone. All of it heals without a person (I8).

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use roost_tests::{
    Cache, Client, LocalCloud, PATIENCE, Tables, Tweet, User, events, eventually, expect_equal,
    expect_followers, expect_oracle, expect_tier, expect_timeline, keys, signal,
};

/// So many followers make a celebrity.
const THRESHOLD: i64 = 3;

const PARAMETERS: [(&str, &str); 3] = [
    ("CELEBRITY_THRESHOLD", "3"),
    ("TIER_DWELL_SECONDS", "0"),
    ("CACHE_WATCH_SECONDS", "1"),
];

/// Readers with lists, and authors of every kind whom they follow.
struct People {
    readers: Vec<User>,
    author: User,
    star: User,
    /// Reaches the threshold only after the replica was cut off.
    rising: User,
    to_unfollow: User,
    to_follow: User,
    to_mute: User,
    to_unmute: User,
    to_block: User,
    to_delete: Tweet,
}

async fn given_people(roost: &Client, tables: &Tables) -> People {
    let readers = roost.sign_up_many("reade", 3).await;
    let [author, star, rising] = roost.sign_up_each(["author", "star", "rising"]).await;
    let [to_unfollow, to_follow] = roost.sign_up_each(["leaving", "joining"]).await;
    let [to_mute, to_unmute, to_block] = roost.sign_up_each(["loud", "quiet", "rude"]).await;
    for reader in &readers {
        reader.follow(&author).await;
        reader.follow(&star).await;
        reader.follow(&to_unfollow).await;
        reader.follow(&to_mute).await;
        reader.follow(&to_unmute).await;
        reader.follow(&to_block).await;
        to_block.follow(reader).await;
        reader.mute(&to_unmute).await;
    }
    readers[0].follow(&rising).await;
    readers[1].follow(&rising).await;
    expect_tier(tables, &star, "celebrity", 1, PATIENCE).await;
    let to_delete = author.post("to be deleted").await;
    let authors = [&author, &star, &rising, &to_unfollow, &to_follow];
    for user in authors.into_iter().chain([&to_mute, &to_unmute, &to_block]) {
        user.post("before the replica was cut off").await;
    }
    expect_oracle(tables, &readers, 50, PATIENCE).await;
    People {
        readers,
        author,
        star,
        rising,
        to_unfollow,
        to_follow,
        to_mute,
        to_unmute,
        to_block,
        to_delete,
    }
}

impl People {
    /// What the replica never hears of.
    async fn go_on(&self, roost: &Client, tables: &Tables) {
        for user in [&self.author, &self.star, &self.rising] {
            user.post("acknowledged, and lost by the failover").await;
        }
        self.author.delete(&self.to_delete).await;
        for reader in &self.readers {
            reader.unfollow(&self.to_unfollow).await;
            reader.follow(&self.to_follow).await;
            reader.mute(&self.to_mute).await;
            reader.unmute(&self.to_unmute).await;
            reader.block(&self.to_block).await;
        }
        self.readers[2].follow(&self.rising).await;
        expect_followers(&self.rising, THRESHOLD).await;
        expect_tier(tables, &self.rising, "celebrity", 1, PATIENCE).await;
        self.rising.post("as a celebrity").await;
        expect_oracle(tables, &self.readers, 50, PATIENCE).await;
        watch(roost).await;
    }

    /// Is anybody served something else than the tables say?
    async fn anybody_is_served_wrong(&self, tables: &Tables) -> bool {
        for reader in &self.readers {
            let expected = tables.home_timeline_of(reader.id).await;
            let served = reader.try_walk(50).await.expect("a walk");
            if expect_timeline(&served, &expected).is_err() {
                return true;
            }
        }
        false
    }

    /// Everything is right again: pages, tiers, and who is pulled.
    async fn expect_healed(&self, cache: &Cache, tables: &Tables) {
        expect_oracle(tables, &self.readers, 50, PATIENCE).await;
        expect_oracle(tables, &self.readers, 7, PATIENCE).await;
        let tier: Option<String> = cache
            .ask(&["HGET", &keys::user_counts(self.rising.id), "tier"])
            .await;
        assert!(
            tier.is_none_or(|tier| tier == "celebrity"),
            "Redis takes a celebrity for a normal author"
        );
        // What is posted now arrives as ever.
        for user in [&self.author, &self.star, &self.rising, &self.to_follow] {
            user.post("after it healed").await;
        }
        self.to_unfollow.post("to nobody").await;
        expect_oracle(tables, &self.readers, 50, PATIENCE).await;
    }
}

/// One run of the watch, of a second.
async fn watch(roost: &Client) {
    roost.invoke("watch-cache", &events::scheduled()).await;
}

#[tokio::test]
async fn a_cache_that_went_back_by_some_seconds_heals_by_itself() {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&PARAMETERS).await else {
        return;
    };
    let roost = cloud.client();
    let people = given_people(roost, &tables).await;
    watch(roost).await;
    let state = cache.dump().await;
    people.go_on(roost, &tables).await;

    cache.restore(&state).await;
    assert!(
        people.anybody_is_served_wrong(&tables).await,
        "nothing was lost, so nothing can heal"
    );
    watch(roost).await;
    people.expect_healed(&cache, &tables).await;

    // A watch that finds nothing wrong leaves the cache alone.
    let before = cache.dump().await.len();
    watch(roost).await;
    assert!(cache.dump().await.len() >= before);
}

/// A replica of a server, which ends with this value.
struct Replica {
    process: Child,
    port: u16,
}

impl Replica {
    async fn of(cache: &Cache) -> Self {
        let primary: String = cache.ask(&["INFO", "server"]).await;
        let primary = primary
            .lines()
            .find_map(|line| line.strip_prefix("tcp_port:"))
            .expect("redis knows its port")
            .trim();
        let free = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = free.local_addr().expect("a port was bound").port();
        drop(free);
        // It keeps what it got from the primary in a file of its working directory.
        let directory = std::env::temp_dir().join(format!("roost-tests-replica-{port}"));
        std::fs::create_dir_all(&directory).expect("a directory for the replica");
        let process = Command::new("redis-server")
            .current_dir(directory)
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args([
                "--save",
                "",
                "--appendonly",
                "no",
                "--repl-diskless-sync-delay",
                "0",
            ])
            .args(["--replicaof", "127.0.0.1", primary])
            .stdout(Stdio::null())
            .spawn()
            .expect("redis-server is installed");
        let replica = Self { process, port };
        eventually(PATIENCE, "the replica is in step", || async {
            let connected: String = cache.ask(&["INFO", "replication"]).await;
            expect_equal("online", connected.contains("state=online"), true)
        })
        .await;
        replica
    }

    /// From now on it hears nothing, whatever the primary acknowledges.
    async fn cut_off(&self, cache: &Cache) {
        assert!(signal("STOP", self.process.id()), "the replica is gone");
        let _: u64 = cache.ask(&["CLIENT", "KILL", "TYPE", "replica"]).await;
    }

    /// The primary dies, and the address of the cache leads to what the replica has.
    async fn take_over(&self, roost: &Client, cache: &Cache) -> Cache {
        let server: String = cache.ask(&["INFO", "server"]).await;
        let primary = server
            .lines()
            .find_map(|line| line.strip_prefix("process_id:")?.trim().parse().ok())
            .expect("redis knows its process id");
        assert!(signal("KILL", primary), "the primary is gone");
        assert!(signal("CONT", self.process.id()), "the replica is gone");
        let port = self.port.to_string();
        let replica = redis::Client::open(format!("redis://127.0.0.1:{port}")).expect("a URL");
        let mut replica = replica
            .get_multiplexed_async_connection()
            .await
            .expect("the replica answers");
        redis::cmd("REPLICAOF")
            .arg("NO")
            .arg("ONE")
            .exec_async(&mut replica)
            .await
            .expect("a promotion");
        // The local cloud has put an empty server in the primary's place. It takes the replica's data over.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let cache = roost.cache().await.expect("the cache is back");
        let _: String = cache.ask(&["REPLICAOF", "127.0.0.1", &port]).await;
        eventually(PATIENCE, "the replica's data are there", || async {
            let state: String = cache.ask(&["INFO", "replication"]).await;
            expect_equal("in step", state.contains("master_link_status:up"), true)
        })
        .await;
        let _: String = cache.ask(&["REPLICAOF", "NO", "ONE"]).await;
        cache
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        signal("CONT", self.process.id());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[tokio::test]
async fn a_failover_to_a_replica_that_was_cut_off_heals_by_itself() {
    let Some((cloud, tables, cache)) = LocalCloud::with_stores(&PARAMETERS).await else {
        return;
    };
    let roost = cloud.client();
    let people = given_people(roost, &tables).await;
    watch(roost).await;
    let replica = Replica::of(&cache).await;
    replica.cut_off(&cache).await;
    people.go_on(roost, &tables).await;

    let cache = replica.take_over(roost, &cache).await;
    assert!(
        people.anybody_is_served_wrong(&tables).await,
        "nothing was lost, so nothing can heal"
    );
    watch(roost).await;
    people.expect_healed(&cache, &tables).await;
}
