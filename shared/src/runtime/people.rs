//! People as clients read them: one, some, or a page of a list, with what the caller is to them if the caller asks.

use serde::Serialize;

use super::http::{self, HttpResponse, Page, Request};
use crate::Result;
use crate::domain::relation::RelationCursor;
use crate::domain::seal::seal;
use crate::domain::{PeopleCursor, Relation, Relationship, User, UserId};
use crate::flows::relationships::Relationships;
use crate::platform::Roost;
use crate::stores::{Relations, Users};

/// A user, and what the caller is to them.
#[derive(Serialize)]
pub struct Person {
    #[serde(flatten)]
    user: User,
    /// If the caller asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    relationship: Option<Relationship>,
}

/// What a request wants to know of people beside their profiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Expansion {
    relationship: bool,
}

impl Expansion {
    /// `expand` of the query.
    pub fn parse(request: &Request) -> Result<Self> {
        match http::query(request, "expand") {
            None => Ok(Self::default()),
            Some("relationship") => Ok(Self { relationship: true }),
            Some(_) => Err(http::wrong_parameter(
                "expand",
                "expand is relationship, or not there",
            )),
        }
    }
}

/// Makes people out of users.
pub struct Presenter {
    relationships: Relationships,
}

impl Presenter {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            relationships: Relationships::new(roost)?,
        })
    }

    /// These users as `me` asked for them, in their order.
    pub async fn present(
        &self,
        me: UserId,
        users: Vec<User>,
        expansion: Expansion,
    ) -> Result<Vec<Person>> {
        let ids: Vec<UserId> = users.iter().map(|user| user.id).collect();
        let relationships = if expansion.relationship {
            self.relationships.of(me, &ids).await?
        } else {
            Default::default()
        };
        let people = users.into_iter().map(|user| Person {
            relationship: relationships.get(&user.id).copied(),
            user,
        });
        Ok(people.collect())
    }

    /// The answer with one user.
    pub async fn answer(
        &self,
        me: UserId,
        user: User,
        expansion: Expansion,
    ) -> Result<HttpResponse> {
        let mut people = self.present(me, vec![user], expansion).await?;
        http::ok(&people.pop())
    }
}

/// Lists of people: the same request and the same answer, whichever list it is.
pub struct PeopleLists {
    users: Users,
    presenter: Presenter,
}

impl PeopleLists {
    pub fn new(roost: &Roost) -> Result<Self> {
        Ok(Self {
            users: Users::new(roost)?,
            presenter: Presenter::new(roost)?,
        })
    }

    /// Answers with a page. `read` gets the user whose list it is, where the page before ended, and how many are wanted.
    pub async fn page<C, F>(
        &self,
        me: UserId,
        request: &Request,
        read: impl FnOnce(UserId, Option<C>, usize) -> F,
    ) -> Result<HttpResponse>
    where
        C: PeopleCursor,
        F: Future<Output = Result<Vec<C>>>,
    {
        let of = http::user_id(request, me)?;
        let cursor = http::list_cursor(request, of, C::parse);
        let paging = http::both(http::page_size(request), cursor);
        let ((size, cursor), expansion) = http::both(paging, Expansion::parse(request))?;
        self.users.get(of).await?;
        // One more than the page holds tells whether another page follows.
        let mut places = read(of, cursor, size.get() + 1).await?;
        let more = places.len() > size.get();
        places.truncate(size.get());
        let last = places.last().filter(|_| more);
        let next_cursor = last.map(|last| seal(of, &last.to_string()));
        let ids: Vec<UserId> = places.iter().map(|place| place.user()).collect();
        let users = self.users.list(&ids).await?;
        let people = self.presenter.present(me, users, expansion).await?;
        http::ok(&Page::new(people, next_cursor))
    }
}

/// Answers with a page of the people with whom the caller has made a relation, newest first.
pub async fn related(
    users: &Users,
    relations: &Relations,
    relation: Relation,
    me: UserId,
    request: &Request,
) -> Result<HttpResponse> {
    let after = http::list_cursor(request, me, |text| RelationCursor::parse(relation, text));
    let (size, after) = http::both(http::page_size(request), after)?;
    let page = relations.page(relation, me, after, size.get()).await?;
    let next_cursor = page.next.map(|next| seal(me, &next.to_string()));
    http::ok(&Page::new(users.list(&page.ids).await?, next_cursor))
}
