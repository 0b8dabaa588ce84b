//! What `make seed` says at the end: commands to paste, which lead through what is there now. `make check-api` runs them.

/// Python that shows a page of a timeline: how each tweet came, its score if there is one, its author, and its text.
const LINES: &str = concat!(
    r#"import json,sys; page=json.load(sys.stdin); who={u["id"]: u["handle"] for u in page["includes"]["users"]}; "#,
    r#"[print(t["explain"]["via"].ljust(8), *("%.3f" % s["total"] for s in [t["explain"].get("score")] if s), "#,
    r#"who[t["author_id"]].ljust(15), t["text"]) for t in page["data"]]"#,
);

/// Who is worth a look.
pub(crate) struct Tour<'a> {
    /// Where the API is.
    pub url: &'a str,
    /// Somebody who is pulled instead of pushed, if there is anybody.
    pub celebrity: Option<Celebrity>,
    /// How many people bob follows.
    pub bob_follows: usize,
    /// The `sub` of somebody who has not read yet, if there is anybody.
    pub dormant: Option<&'a str>,
}

pub(crate) struct Celebrity {
    pub handle: String,
    pub followers: u64,
}

impl Tour<'_> {
    /// What is to be pasted is indented, and nothing else is.
    pub(crate) fn message(&self) -> String {
        let url = self.url;
        let mut said = format!(
            r#"
Paste this first. `get` reads something as the person you name, and `page` shows their timeline, one line a tweet:

  API={url}
  token() {{ curl -s $API/dev/token -d "{{\"sub\":\"$1\"}}" | python3 -c 'import json,sys; print(json.load(sys.stdin)["access_token"])'; }}
  get() {{ curl -s "$API$2" -H "Authorization: Bearer $(token "$1")" | python3 -m json.tool --no-ensure-ascii; }}
  page() {{ get "$1" "/v1/home_timeline?limit=10&explain=true${{2-}}" | python3 -c '{LINES}'; }}

A page of tweets, as alice sees it. The first word says how each came: pushed when it was posted, or pulled from a celebrity:

  page alice
  get alice '/v1/home_timeline?limit=1'
"#
        );
        said += &match &self.celebrity {
            Some(Celebrity { handle, followers }) => format!(
                r"
A celebrity, whom {followers} people follow. Their tweets are not pushed to anybody:

  get alice '/v1/users/by/handle/{handle}'
"
            ),
            None => "\nNobody is a celebrity here. For some, start with 'CELEBRITY_THRESHOLD=50 make run', and seed again.\n".to_owned(),
        };
        said += &format!(
            r"
A heavy reader: bob follows {} people. The best tweets first, with their scores:

  page bob '&order=ranked'
",
            self.bob_follows
        );
        if let Some(subject) = self.dormant {
            said += &format!(
                r#"
Somebody who never came back, so that nothing is kept for them in Redis. Their first page is "rebuilt" from the tables, and
from then on tweets are pushed to them, too:

  page '{subject}'
"#
            );
        }
        said += &format!("\nEvery call, to read and to try: {url}/docs\n");
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tour(celebrity: Option<Celebrity>) -> Tour<'static> {
        Tour {
            url: "http://localhost:9000",
            celebrity,
            bob_follows: 50,
            dormant: Some("seed|99"),
        }
    }

    #[test]
    fn there_is_a_command_for_each_kind_of_reader() {
        let said = tour(Some(Celebrity {
            handle: "ada_adler".to_owned(),
            followers: 61,
        }))
        .message();
        for command in [
            "\n  API=http://localhost:9000\n",
            "\n  page alice\n",
            "\n  get alice '/v1/users/by/handle/ada_adler'\n",
            "\n  page bob ",
            "\n  page 'seed|99'\n",
        ] {
            assert!(said.contains(command), "{command} is not in {said}");
        }
    }

    #[test]
    fn without_a_celebrity_it_says_how_to_get_one() {
        let said = tour(None).message();
        assert!(said.contains("CELEBRITY_THRESHOLD=50 make run"), "{said}");
    }
}
