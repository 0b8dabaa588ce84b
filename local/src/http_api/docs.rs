//! The API's document at `/openapi.yaml`, and Swagger UI with it at `/docs`. Both need no token, and no network: the document
//! and the page are part of this binary, so they are there in whatever folder it runs.

use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::routing::get;
use swagger_ui_dist::{ApiDefinition, OpenApiSource, generate_routes};

const DOCUMENT: &str = include_str!("../../../docs/openapi.yaml");

pub(super) fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    let page = ApiDefinition {
        uri_prefix: "/docs",
        api_definition: OpenApiSource::Uri("/openapi.yaml"),
        title: Some("Roost"),
    };
    let document = get(|| async { ([(CONTENT_TYPE, "application/yaml")], DOCUMENT) });
    generate_routes(page)
        .route("/openapi.yaml", document)
        .with_state(())
}
