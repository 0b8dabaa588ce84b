//! Looking tiers up, and reviewing them.

use std::collections::HashMap;

use crate::domain::UserId;
use crate::domain::tier::Policy;
use crate::stores::cards::TierAndEpoch;
use crate::stores::users::UserRow;
use crate::stores::{Cards, Tiers, Users};
use crate::{Result, runtime};

/// Tiers asked for in one round trip.
const BATCH: usize = 500;

/// The tiers of these users: from Redis, and from their rows where Redis does not know. Who has no profile is normal.
pub async fn tiers_of(
    users: &Users,
    cards: &Cards,
    ids: &[UserId],
) -> Result<HashMap<UserId, TierAndEpoch>> {
    let mut tiers = HashMap::with_capacity(ids.len());
    for ids in ids.chunks(BATCH) {
        let known = cards.tiers(ids).await?;
        let unknown: Vec<UserId> = ids
            .iter()
            .filter(|id| !known.contains_key(id))
            .copied()
            .collect();
        tiers.extend(known);
        if !unknown.is_empty() {
            let rows = users.rows(unknown.iter().copied()).await?;
            cards.set_counts(&rows).await?;
            tiers.extend(unknown.into_iter().map(|id| (id, TierAndEpoch::default())));
            tiers.extend(rows.iter().map(|row| (row.id(), row.into())));
        }
    }
    Ok(tiers)
}

/// Flips who has to be flipped among these users, whose rows were just read, and brings Redis up to date.
pub async fn review(
    tiers: &Tiers,
    users: &Users,
    cards: &Cards,
    policy: &Policy,
    rows: &[UserRow],
) -> Result<()> {
    let mut flipped = Vec::new();
    for row in rows {
        if let Some(tier) = row.due_flip(policy, runtime::now_millis()) {
            tiers.flip(row, tier).await?;
            flipped.push(row.id());
        }
    }
    if flipped.is_empty() {
        return Ok(());
    }
    cards.set_counts(&users.rows(flipped).await?).await
}
