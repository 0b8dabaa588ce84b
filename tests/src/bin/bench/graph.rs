//! Who follows whom in the mix: a graph with a heavy tail, or one out of a file.

use std::collections::{BTreeSet, HashMap};
use std::env;
use std::fs;

use fastrand::Rng;

/// People in a graph that is made up, and whom each follows on average.
const PEOPLE: usize = 500;
const FOLLOWED: usize = 20;
const SEED: u64 = 15;

/// People are numbers from 0 on.
pub(crate) struct Graph {
    pub(crate) people: usize,
    /// Who follows whom.
    pub(crate) edges: BTreeSet<(usize, usize)>,
}

impl Graph {
    /// The one that `GRAPH` names, or one that is made up.
    pub(crate) fn from_env() -> Result<Self, String> {
        match env::var("GRAPH").ok().filter(|path| !path.is_empty()) {
            None => Ok(Self::heavy_tailed()),
            Some(path) => Self::read(&path),
        }
    }

    /// The chance to be followed falls with the rank, so that a few people have most of the followers.
    fn heavy_tailed() -> Self {
        let mut random = Rng::with_seed(SEED);
        let weights: Vec<f64> = (1..=PEOPLE).map(|rank| 1.0 / rank as f64).collect();
        let total: f64 = weights.iter().sum();
        let mut someone = || {
            let mut left = random.f64() * total;
            let found = weights.iter().position(|weight| {
                left -= weight;
                left <= 0.0
            });
            found.unwrap_or(PEOPLE - 1)
        };
        let mut edges = BTreeSet::new();
        for follower in 0..PEOPLE {
            let followed = (0..FOLLOWED).map(|_| someone());
            let followed = followed.filter(|followed| *followed != follower);
            edges.extend(followed.map(|followed| (follower, followed)));
        }
        Self {
            people: PEOPLE,
            edges,
        }
    }

    /// An edge list: two names a line, who are friends, so that each follows the other. Lines that begin with `#` or `%` are
    /// comments.
    fn read(path: &str) -> Result<Self, String> {
        let text = fs::read_to_string(path).map_err(|e| format!("GRAPH={path}: {e}"))?;
        let (mut numbers, mut edges) = (HashMap::new(), BTreeSet::new());
        for (n, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with(['#', '%']) {
                continue;
            }
            let mut names = line.split([' ', '\t', ',']).filter(|it| !it.is_empty());
            let (Some(one), Some(other)) = (names.next(), names.next()) else {
                return Err(format!("GRAPH={path}: line {} has no two names", n + 1));
            };
            let mut number = |name| {
                let next = numbers.len();
                *numbers.entry(name).or_insert(next)
            };
            let (one, other) = (number(one), number(other));
            if one != other {
                edges.extend([(one, other), (other, one)]);
            }
        }
        if edges.is_empty() {
            return Err(format!("GRAPH={path}: there is no edge in it"));
        }
        Ok(Self {
            people: numbers.len(),
            edges,
        })
    }

    /// Whom somebody follows.
    pub(crate) fn followed_by(&self, follower: usize) -> Vec<usize> {
        let edges = self.edges.range((follower, 0)..=(follower, usize::MAX));
        edges.map(|(_, followed)| *followed).collect()
    }
}
