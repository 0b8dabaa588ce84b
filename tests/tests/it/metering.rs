//! What `make cost` counts by.

use roost_tests::{LocalCloud, Meter};

#[tokio::test]
async fn requests_to_tables_say_which_function_asks() {
    let meter = Meter::start();
    let parameters: Vec<_> = meter.parameters().collect();
    let cloud = LocalCloud::start(&parameters).await;
    meter.take();

    cloud.client().sign_up("author").await.post("counted").await;

    let used = meter.take().tables;
    let asking: Vec<&str> = used.keys().map(|(function, _)| function.as_str()).collect();
    for function in ["create-user", "post-tweet"] {
        assert!(asking.contains(&function), "{asking:?}");
    }
    assert!(!asking.contains(&"unknown"), "{asking:?}");
}
