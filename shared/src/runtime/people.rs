//! Lists of people: the same request and the same answer, whichever list it is.

use super::http::{self, HttpResponse, Page, Request};
use crate::Result;
use crate::domain::{Cursor, UserId};
use crate::stores::{IdPage, Users};

/// Answers with a page of people. `read` gets the user whose list it is, the last id of the page before, and how many
/// are wanted.
pub async fn page<F>(
    users: &Users,
    me: UserId,
    request: &Request,
    read: impl FnOnce(UserId, Option<UserId>, usize) -> F,
) -> Result<HttpResponse>
where
    F: Future<Output = Result<IdPage>>,
{
    let of = http::user_id(request, me)?;
    let (size, cursor) = (http::page_size(request)?, http::cursor(request)?);
    users.get(of).await?;
    let page = read(of, cursor.map(Cursor::user), size.get()).await?;
    let last = page.ids.last().filter(|_| page.more);
    let next_cursor = last.map(ToString::to_string);
    http::ok(&Page::new(users.list(&page.ids).await?, next_cursor))
}
