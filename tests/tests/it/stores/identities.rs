use redis::cmd;
use shared::Error;
use shared::domain::UserId;
use shared::stores::users::SignUp;
use shared::stores::{Erasures, Identities};

use super::{Stores, name};

async fn signed_up(stores: &Stores, sub: &str) -> UserId {
    let users = stores.users();
    let id = stores.new_user_id().await;
    match users.sign_up(id, sub, stores.handle(), name()).await {
        Ok(SignUp::Created(user)) => user.id,
        _ => panic!("{sub} has a profile already"),
    }
}

/// Sandboxes that know which profile a token has, and the deletion of that profile. The function that deleted it told
/// Redis, unless Redis has lost that since (`lost`).
async fn deleted_behind_their_backs(stores: &Stores, sub: &str, lost: bool) -> [Identities; 2] {
    let sandbox = || stores.make(Identities::new);
    let (sandboxes, deleting) = ([sandbox(), sandbox()], sandbox());
    let id = signed_up(stores, sub).await;
    for sandbox in &sandboxes {
        assert_eq!(sandbox.user(sub).await.expect("a profile"), id);
        assert!(sandbox.verify(sub).await);
    }
    let erasures = stores.make(Erasures::new);
    let row = stores.users().row(id).await.expect("the table answers");
    erasures
        .begin(&row.expect("a row"))
        .await
        .expect("the table");
    deleting.bury(sub, id).await.expect("Redis answers");
    if lost {
        let key = format!("identity:{{{sub}}}");
        let _: i64 = stores.redis(cmd("DEL").arg(key)).await;
    }
    sandboxes
}

#[tokio::test]
async fn a_sandbox_that_remembers_a_deleted_profile_finds_out() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    for lost in [false, true] {
        let sub = stores.subject();
        for sandbox in deleted_behind_their_backs(&stores, &sub, lost).await {
            assert!(!sandbox.verify(&sub).await, "tombstone lost: {lost}");
            assert!(matches!(sandbox.user(&sub).await, Err(Error::NoProfile)));
        }
    }
}

#[tokio::test]
async fn a_sandbox_that_remembers_a_deleted_profile_finds_its_successor() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    for lost in [false, true] {
        let sub = stores.subject();
        let sandboxes = deleted_behind_their_backs(&stores, &sub, lost).await;
        let successor = signed_up(&stores, &sub).await;
        let creating = stores.make(Identities::new);
        creating.forget(&sub).await.expect("Redis answers");
        let before = sandboxes[0].user(&sub).await.expect("a memory");
        for sandbox in &sandboxes {
            assert!(!sandbox.verify(&sub).await, "tombstone lost: {lost}");
            assert_eq!(sandbox.user(&sub).await.expect("a profile"), successor);
        }
        // `erase-users` comes late, and says once more that the old profile is deleted.
        creating.bury(&sub, before).await.expect("Redis answers");
        for sandbox in &sandboxes {
            assert!(sandbox.verify(&sub).await);
            assert_eq!(sandbox.user(&sub).await.expect("a profile"), successor);
        }
        let new = stores.make(Identities::new);
        assert_eq!(new.user(&sub).await.expect("a profile"), successor);
    }
}
