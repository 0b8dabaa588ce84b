use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::join_all;
use shared::Error;
use shared::domain::UserId;
use shared::domain::id::LANES;
use shared::stores::users::SignUp;
use shared::stores::{Ids, Users};

use super::{Stores, name};

const AT_ONCE: usize = 20;

/// As many sandboxes as there are requests, each with the id that it would give.
async fn sandboxes(stores: &Stores) -> Vec<(Users, UserId)> {
    let sandbox = async |_| (stores.users(), stores.new_user_id().await);
    join_all((0..AT_ONCE).map(sandbox)).await
}

fn is_conflict(error: &Error) -> bool {
    matches!(
        error,
        Error::HandleTaken(_) | Error::ProfileExists(_) | Error::SignUpUnderWay
    )
}

#[tokio::test]
async fn one_of_many_people_who_want_a_handle_at_once_gets_it() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let handle = stores.handle();
    let sandboxes = sandboxes(&stores).await;
    let subjects: Vec<String> = (0..AT_ONCE).map(|_| stores.subject()).collect();
    let sign_ups = sandboxes
        .iter()
        .zip(&subjects)
        .map(|((users, id), subject)| users.sign_up(*id, subject, handle.clone(), name()));
    let answers = join_all(sign_ups).await;

    let mut winners = Vec::new();
    for (subject, answer) in subjects.iter().zip(answers) {
        match answer {
            Ok(SignUp::Created(user)) => winners.push((subject, user.id)),
            Ok(SignUp::Existing(_)) => panic!("a new subject was told that it had a profile"),
            Err(error) => assert!(is_conflict(&error), "{}", error.chain()),
        }
    }
    let [(winner, id)] = winners[..] else {
        panic!("{} have the same handle", winners.len());
    };
    let users = stores.users();
    let by_handle = users.find_by_handle(&handle).await;
    assert_eq!(
        by_handle.expect("the table answers").map(|user| user.id),
        Some(id)
    );
    for subject in &subjects {
        let found = users.find_by_sub(subject).await.expect("the table answers");
        assert_eq!(found, (subject == winner).then_some(id));
    }
}

#[tokio::test]
async fn one_token_that_signs_up_many_times_at_once_gets_one_profile() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let subject = stores.subject();
    let sandboxes = sandboxes(&stores).await;
    let handles: Vec<_> = (0..AT_ONCE).map(|_| stores.handle()).collect();
    let sign_ups = sandboxes
        .iter()
        .zip(&handles)
        .map(|((users, id), handle)| users.sign_up(*id, &subject, handle.clone(), name()));
    let answers = join_all(sign_ups).await;

    let created = answers.iter().filter_map(|answer| match answer {
        Ok(SignUp::Created(user)) => Some(user),
        Ok(SignUp::Existing(_)) => panic!("another handle was taken for the same request"),
        Err(error) => {
            assert!(is_conflict(error), "{}", error.chain());
            None
        }
    });
    let [winner] = created.collect::<Vec<_>>()[..] else {
        panic!("not exactly one profile was made");
    };
    let users = stores.users();
    for handle in &handles {
        let found = users
            .find_by_handle(handle)
            .await
            .expect("the table answers");
        let expected = (*handle == winner.handle).then_some(winner.id);
        assert_eq!(found.map(|user| user.id), expected);
    }
}

#[tokio::test]
async fn the_same_sign_up_many_times_at_once_gives_the_same_profile() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let (subject, handle) = (stores.subject(), stores.handle());
    let sandboxes = sandboxes(&stores).await;
    let sign_ups = sandboxes
        .iter()
        .map(|(users, id)| users.sign_up(*id, &subject, handle.clone(), name()));
    let answers = join_all(sign_ups).await;

    let (mut created, mut ids) = (0, BTreeSet::new());
    for answer in answers {
        match answer {
            Ok(SignUp::Created(user)) => {
                created += 1;
                ids.insert(user.id);
            }
            Ok(SignUp::Existing(user)) => {
                ids.insert(user.id);
            }
            // Two met, and this one is told to try again.
            Err(error) => assert!(is_conflict(&error), "{}", error.chain()),
        }
    }
    assert_eq!((created, ids.len()), (1, 1));
}

#[tokio::test]
async fn no_two_sandboxes_make_the_same_id() {
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    let lane = |id: u64| id >> 2 & 0xf_ffff;
    let (left, right) = (stores.ids(), stores.ids());
    let of_left = join_all((0..600).map(|_| left.next()));
    let of_right = join_all((0..600).map(|_| right.next()));
    let (of_left, of_right) = tokio::join!(of_left, of_right);
    let ids = |answers: Vec<shared::Result<u64>>| -> Vec<u64> {
        answers.into_iter().map(|id| id.expect("an id")).collect()
    };
    let (of_left, of_right) = (ids(of_left), ids(of_right));

    let lanes = |ids: &[u64]| ids.iter().copied().map(lane).collect::<BTreeSet<_>>();
    let (left, right) = (lanes(&of_left), lanes(&of_right));
    assert_eq!(
        (left.len(), right.len()),
        (1, 1),
        "a sandbox changed its lane"
    );
    assert_ne!(left, right);
    let distinct: BTreeSet<u64> = of_left.iter().chain(&of_right).copied().collect();
    assert_eq!(distinct.len(), 1_200);
}

#[tokio::test]
async fn two_sandboxes_that_pick_one_lane_do_not_make_the_same_ids() {
    static LANE: LazyLock<u64> = LazyLock::new(|| fastrand::u64(..LANES));
    static PICKED: AtomicU64 = AtomicU64::new(0);
    let Some(stores) = Stores::of_shared().await else {
        return;
    };
    // All pick the same lane first; whoever finds it taken picks the next one.
    let sandboxes = [(); 3].map(|()| {
        let pick = || *LANE + PICKED.fetch_add(1, Ordering::Relaxed) / 3;
        stores.ids().picking(pick)
    });
    let mut ids = BTreeSet::new();
    for _ in 0..200 {
        let made = join_all(sandboxes.iter().map(Ids::next)).await;
        ids.extend(made.into_iter().map(|id| id.expect("an id")));
    }
    assert_eq!(ids.len(), 600, "an id was made twice");
    assert!(
        PICKED.load(Ordering::Relaxed) > 3,
        "nobody found a lane taken"
    );
}
