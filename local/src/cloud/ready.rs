//! What `make run` says when everything is up: where the services are, and what to do next.

use std::path::Path;
use std::time::Duration;

use super::Urls;

/// Where the state is unless `ROOST_STATE_DIR` says otherwise.
const DEFAULT_STATE: &str = ".roost";

pub(super) fn message(urls: &Urls, has_page: bool, state: &Path, took: Duration) -> String {
    let services = [
        ("HTTP API", &urls.http),
        ("DynamoDB", &urls.dynamodb),
        ("Kinesis", &urls.kinesis),
        ("Redis", &urls.redis),
        ("Lambda invoke API", &urls.lambda),
        ("WebSocket API", &urls.websocket),
    ];
    let services: String = services
        .iter()
        .map(|(service, url)| format!("  {service:<18} {url}\n"))
        .collect();
    // Another terminal finds this local cloud by its state.
    let seed = if state == Path::new(DEFAULT_STATE) {
        "make seed".to_owned()
    } else {
        format!("ROOST_STATE_DIR={} make seed", state.display())
    };
    let http = &urls.http;
    let page = if has_page {
        format!("Open {http}/ in a browser, for the timeline and for what happens inside.\n\n")
    } else {
        String::new()
    };
    format!(
        r#"
Roost is ready, in {} ms. All data is in memory; Ctrl-C stops everything.

{page}{services}
Every call, to read and to try: {http}/docs
Live updates come from the WebSocket API, with a ticket of the HTTP API: see "Live" in docs/CLIENTS.md.

In another terminal, fill Roost with people, follows and tweets. It then says what to look at:

  {seed}

Or begin with nobody but yourself. Get a token and sign up with it:

  TOKEN=$(curl -s {http}/dev/token -d '{{"sub":"alice"}}' | python3 -c 'import json,sys; print(json.load(sys.stdin)["access_token"])')
  curl -s {http}/v1/users -H "Authorization: Bearer $TOKEN" -d '{{"handle":"alice","name":"Alice"}}'

Then follow, post and read: see "Try it" in README.md.

Below is one line for each request and each event. ROOST_VERBOSE=true shows everything that the functions write.

"#,
        took.as_millis()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(state: &str) -> String {
        said_with(state, true)
    }

    fn said_with(state: &str, has_page: bool) -> String {
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let urls = Urls {
            http: url(9000),
            dynamodb: url(9001),
            kinesis: url(9002),
            redis: "redis://127.0.0.1:9003".to_owned(),
            lambda: url(9004),
            websocket: "ws://localhost:9005".to_owned(),
        };
        message(
            &urls,
            has_page,
            Path::new(state),
            Duration::from_millis(812),
        )
    }

    #[test]
    fn every_service_has_a_row_and_the_commands_name_the_port() {
        let said = said(".roost");
        for row in [
            "  HTTP API           http://127.0.0.1:9000\n",
            "  DynamoDB           http://127.0.0.1:9001\n",
            "  Kinesis            http://127.0.0.1:9002\n",
            "  Redis              redis://127.0.0.1:9003\n",
            "  Lambda invoke API  http://127.0.0.1:9004\n",
            "  WebSocket API      ws://localhost:9005\n",
            "TOKEN=$(curl -s http://127.0.0.1:9000/dev/token -d '{\"sub\":\"alice\"}' |",
            "\n  make seed\n",
            " http://127.0.0.1:9000/docs\n",
        ] {
            assert!(said.contains(row), "{row} is not in {said}");
        }
    }

    #[test]
    fn the_page_comes_first_if_there_is_one() {
        let page = "Open http://127.0.0.1:9000/ in a browser";
        let with = said(".roost");
        let place = |text: &str| with.find(text).expect(text);
        assert!(place(page) < place("HTTP API"), "{with}");
        assert!(!said_with(".roost", false).contains("browser"));
    }

    #[test]
    fn the_seed_is_told_where_the_state_is_unless_it_is_where_it_looks_anyway() {
        assert!(said("/tmp/other").contains("\n  ROOST_STATE_DIR=/tmp/other make seed\n"));
    }
}
