use super::{Stores, someone};

#[tokio::test]
async fn a_set_that_was_filled_with_nobody_is_not_missing() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, celebs) = (someone(), stores.celebs());
    assert_eq!(stores.celebs_of(user).await, None);
    let token = celebs.begin_fill(user).await.expect("Redis answers");
    let filled = celebs.finish_fill(user, token, &[]).await;
    filled.expect("Redis answers");
    assert_eq!(stores.celebs_of(user).await, Some(vec![]));
}

#[tokio::test]
async fn edits_reach_sets_that_exist_and_create_none() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (user, dormant, celebs) = (someone(), someone(), stores.celebs());
    let mut authors = [someone(), someone(), someone()];
    authors.sort_unstable();
    let token = celebs.begin_fill(user).await.expect("Redis answers");
    let filled = celebs.finish_fill(user, token, &authors[..2]).await;
    filled.expect("Redis answers");

    let both = [user, dormant];
    celebs.add(&both, authors[2]).await.expect("Redis answers");
    celebs.add(&both, authors[2]).await.expect("Redis answers");
    assert_eq!(stores.celebs_of(user).await, Some(authors.to_vec()));
    for author in authors {
        celebs.remove(&both, author).await.expect("Redis answers");
    }
    assert_eq!(stores.celebs_of(user).await, Some(vec![]));
    assert_eq!(stores.celebs_of(dormant).await, None);
}

#[tokio::test]
async fn a_fill_that_was_overtaken_stores_nothing() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (celebs, author) = (stores.celebs(), someone());
    let (by_add, by_remove, by_fill) = (someone(), someone(), someone());
    for user in [by_add, by_remove, by_fill] {
        let token = celebs.begin_fill(user).await.expect("Redis answers");
        let overtaken = if user == by_add {
            celebs.add(&[user], author).await
        } else if user == by_remove {
            celebs.remove(&[user], author).await
        } else {
            celebs.begin_fill(user).await.map(drop)
        };
        overtaken.expect("Redis answers");

        let filled = celebs.finish_fill(user, token, &[someone()]).await;
        filled.expect("Redis answers");
        assert_eq!(stores.celebs_of(user).await, None);
    }
}

#[tokio::test]
async fn a_fill_that_was_overtaken_leaves_the_edit_in_place() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (celebs, user, author) = (stores.celebs(), someone(), someone());
    let first = celebs.begin_fill(user).await.expect("Redis answers");
    let filled = celebs.finish_fill(user, first, &[]).await;
    filled.expect("Redis answers");

    let second = celebs.begin_fill(user).await.expect("Redis answers");
    celebs.add(&[user], author).await.expect("Redis answers");
    let filled = celebs.finish_fill(user, second, &[]).await;
    filled.expect("Redis answers");

    assert_eq!(stores.celebs_of(user).await, Some(vec![author]));
}
