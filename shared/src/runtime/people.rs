//! Lists of people: the same request and the same answer, whichever list it is.

use super::http::{self, HttpResponse, Page, Request};
use crate::Result;
use crate::domain::relation::RelationCursor;
use crate::domain::{Cursor, Relation, UserId};
use crate::stores::{IdPage, Relations, Users};

/// Answers with a page of people. `read` gets the user whose list it is, the last id of the page before, and how many
/// are wanted.
pub async fn page<F>(
    users: &Users,
    request: &Request,
    read: impl FnOnce(UserId, Option<UserId>, usize) -> F,
) -> Result<HttpResponse>
where
    F: Future<Output = Result<IdPage>>,
{
    let of = UserId::parse(http::path(request, "id"))?;
    let (size, cursor) = (http::page_size(request)?, http::cursor(request)?);
    users.get(of).await?;
    let page = read(of, cursor.map(Cursor::user), size.get()).await?;
    let last = page.ids.last().filter(|_| page.more);
    let next_cursor = last.map(ToString::to_string);
    http::ok(&Page::new(users.list(&page.ids).await?, next_cursor))
}

/// Answers with a page of the people with whom the caller has made a relation, newest first.
pub async fn related(
    users: &Users,
    relations: &Relations,
    relation: Relation,
    me: UserId,
    request: &Request,
) -> Result<HttpResponse> {
    let size = http::page_size(request)?.get();
    let after = http::cursor_text(request)
        .map(|text| RelationCursor::parse(relation, text))
        .transpose()?;
    let page = relations.page(relation, me, after, size).await?;
    let next_cursor = page.next.map(|next| next.to_string());
    http::ok(&Page::new(users.list(&page.ids).await?, next_cursor))
}
