//! What people do. All of it is assumed, and all of it is told at the top of COST.md.

/// Of a hundred people who have signed up, those who read in a month, and so have a list.
pub(crate) const MONTHLY: f64 = 0.30;
/// Those who read on a day.
pub(crate) const DAILY: f64 = 0.10;
pub(crate) const DAYS: f64 = 365.0 / 12.0;

/// People whom one person follows on average, and so followers on average.
pub(crate) const FOLLOWERS: f64 = 200.0;
/// The part of all deliveries that goes to followers of celebrities, and so is not pushed.
pub(crate) const CELEBRITY_PART: f64 = 0.2;
/// The part of tweets that celebrities write.
pub(crate) const CELEBRITY_TWEETS: f64 = 0.001;

pub(crate) const POSTS: f64 = 2.0;
pub(crate) const REPOSTS: f64 = 0.5;
/// Minutes that a reader is connected for live updates.
pub(crate) const LIVE_MINUTES: f64 = 10.0;

/// How often somebody who reads on a day does each of these on that day. Posts and reposts are apart, because what they
/// cost depends on followers.
pub(crate) const EACH_DAY: [(&str, f64); 15] = [
    ("page", 13.0),
    ("first page of an hour", 4.0),
    ("first page after a loss", 0.02),
    ("ranked page", 2.0),
    ("page with activity", 1.0),
    ("page that has not changed (304)", 5.0),
    ("what is new", 20.0),
    ("like", 5.0),
    ("reply", 0.5),
    ("follow", 0.2),
    ("unfollow", 0.05),
    ("delete", 0.05),
    ("sign up", 0.01),
    ("connect for live updates", 0.2),
    ("live message", 4.0),
];

/// Pages of any kind that are made from a list.
pub(crate) fn pages() -> f64 {
    let pages = EACH_DAY
        .iter()
        .filter(|(name, _)| name.contains("page") && !name.contains("304"));
    pages.map(|(_, times)| times).sum()
}

/// How far a reader goes down in one session: entries, as a log-normal distribution with this median and this spread.
pub(crate) const DEPTH_MEDIAN: f64 = 40.0;
pub(crate) const DEPTH_SPREAD: f64 = 1.2;
/// Sessions of somebody who reads on a day.
pub(crate) const SESSIONS: f64 = 4.0;

/// The part of sessions that goes below so many entries.
pub(crate) fn goes_below(entries: f64) -> f64 {
    let deviations = (entries / DEPTH_MEDIAN).ln() / DEPTH_SPREAD;
    normal_above(deviations)
}

/// The part of a normal distribution above so many deviations, to about seven digits (Abramowitz and Stegun, 26.2.17).
fn normal_above(deviations: f64) -> f64 {
    if deviations < 0.0 {
        return 1.0 - normal_above(-deviations);
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * deviations);
    let factors = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let sum = factors
        .iter()
        .rev()
        .fold(0.0, |sum, factor| (sum + factor) * t);
    let density = (-deviations * deviations / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    density * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_sessions_go_below_the_median_and_few_far_below() {
        assert!((goes_below(DEPTH_MEDIAN) - 0.5).abs() < 1e-6);
        // One deviation above: 15.87 %.
        let one = DEPTH_MEDIAN * DEPTH_SPREAD.exp();
        assert!((goes_below(one) - 0.158_655).abs() < 1e-5);
        assert!(goes_below(1_600.0) < goes_below(800.0));
    }
}
