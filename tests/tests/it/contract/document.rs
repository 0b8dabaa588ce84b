//! The description of the API, which the local cloud serves to people who write clients.

use roost_tests::{Client, Method, Target, skip};

use crate::house::read;

#[tokio::test]
async fn the_local_cloud_shows_the_api_document_to_everybody_without_a_network() {
    let roost = Client::shared().await;
    if Target::is_remote() {
        return skip("only the local cloud serves the document");
    }
    let get = async |path: &str| {
        let answer = roost.call(Method::GET, path).send().await;
        answer.expect(200)
    };

    let document = get("/openapi.yaml").await;
    assert_eq!(document.content_type(), "application/yaml");
    assert_eq!(document.text(), read("docs/openapi.yaml"));

    let page = get("/docs").await;
    assert_eq!(page.content_type(), "text/html");
    assert!(page.text().contains("/openapi.yaml"), "{}", page.text());
    let addresses = page.text();
    let addresses = addresses.split(['"', '\'']).skip(1).step_by(2);
    assert!(addresses.clone().all(|it| !it.contains("//")), "{page:?}");
    for script in addresses.filter(|it| it.ends_with(".js") || it.ends_with(".css")) {
        assert!(!get(script).await.body.is_empty(), "{script}");
    }
}
