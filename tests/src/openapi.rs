//! docs/openapi.yaml, and whether an answer is one that it describes.
//!
//! Every answer that [`crate::Client`] gets goes through [`Document::check`], so each test of the end-to-end suite also
//! tests the document. A validator is made when the first answer needs it, and kept until the process ends. In a debug build
//! on two cores, that is 0.4 ms an answer: 0.9 s of the 25 s that the contract tests take (109 tests, 2,154 answers).

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use hyper::Method;
use hyper::header::HeaderValue;
use jsonschema::{Registry, Validator};
use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Number, Value, json};

use crate::http::Answer;
use crate::local_cloud::workspace;

/// What validators call the document.
const NAME: &str = "urn:roost:openapi";

/// Where an answer is described that no operation gives.
const NO_SUCH_ROUTE: &str = "/components/responses/NoSuchRoute";

/// What the local cloud answers beside the API. It is no part of a deployment.
const BESIDE_THE_API: [&str; 5] = [
    "/dev/",
    "/docs",
    "/healthz",
    "/openapi.yaml",
    "/.well-known/",
];

const METHODS: [&str; 5] = ["get", "put", "post", "delete", "patch"];

/// One method of one path.
#[derive(Clone, Debug)]
pub struct Operation {
    pub id: String,
    /// In capitals.
    pub method: String,
    /// With its variables: `/v1/users/{id}`.
    pub path: String,
    /// Where it is in the document.
    pointer: String,
}

pub struct Document {
    pub root: Value,
    pub operations: Vec<Operation>,
    registry: Registry<'static>,
    /// By the JSON pointer of their schema.
    validators: Mutex<BTreeMap<String, Arc<Validator>>>,
}

impl Document {
    /// The document of this workspace.
    pub fn get() -> &'static Self {
        static DOCUMENT: LazyLock<Document> = LazyLock::new(|| {
            let path = workspace().join("docs/openapi.yaml");
            let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
            Document::parse(&text)
        });
        &DOCUMENT
    }

    fn parse(text: &str) -> Self {
        let documents = Yaml::load_from_str(text).expect("docs/openapi.yaml is YAML");
        let root = to_json(documents.first().expect("docs/openapi.yaml is not empty"));
        let registry = Registry::new()
            .add(NAME, root.clone())
            .and_then(jsonschema::RegistryBuilder::prepare)
            .expect("docs/openapi.yaml has no reference that leads nowhere");
        Self {
            operations: operations(&root),
            root,
            registry,
            validators: Mutex::default(),
        }
    }

    /// The part of the document that this JSON pointer, and then every reference, leads to. Gives the pointer to it, too.
    pub fn resolve(&self, pointer: &str) -> Option<(String, &Value)> {
        let mut pointer = pointer.to_owned();
        // No reference of ours leads to more than another one or two.
        for _ in 0..8 {
            let found = self.root.pointer(&pointer)?;
            match found["$ref"].as_str() {
                Some(reference) => reference.strip_prefix('#')?.clone_into(&mut pointer),
                None => return Some((pointer, found)),
            }
        }
        None
    }

    /// What an operation takes beside a body: what it names itself, and what its path does.
    pub fn parameters(&self, operation: &Operation) -> impl Iterator<Item = &Value> {
        let path = operation
            .pointer
            .rsplit_once('/')
            .map_or("", |(path, _)| path);
        let lists = [
            format!("{path}/parameters"),
            format!("{}/parameters", operation.pointer),
        ];
        lists.into_iter().flat_map(move |list| {
            let count = self
                .root
                .pointer(&list)
                .and_then(Value::as_array)
                .map_or(0, Vec::len);
            (0..count).filter_map(move |index| Some(self.resolve(&format!("{list}/{index}"))?.1))
        })
    }

    /// Says what of an answer is not as the document has it.
    pub fn check(&self, method: &Method, path: &str, answer: &Answer) -> Result<(), String> {
        let is_beside = BESIDE_THE_API.iter().any(|other| path.starts_with(other));
        if method == Method::OPTIONS || is_beside {
            return Ok(());
        }
        let status = answer.status;
        let (operation, response) = match self.operation(method.as_str(), path) {
            Some(operation) => {
                let response = format!("{}/responses/{status}", operation.pointer);
                (operation.id.as_str(), response)
            }
            None if status == 404 => ("no operation", NO_SUCH_ROUTE.to_owned()),
            None => return Err(format!("there is no operation, and so no {status}")),
        };
        self.check_response(&response, answer)
            .map_err(|what| format!("{operation}, {status}: {what}"))
    }

    /// The operation that a request without its query is for. Of several, the one with a word where others have a variable.
    fn operation(&self, method: &str, path: &str) -> Option<&Operation> {
        let fitting = self.operations.iter().filter(|operation| {
            operation.method == method && is_of_template(&operation.path, path)
        });
        fitting.min_by_key(|operation| {
            let segments = operation.path.split('/');
            segments.map(is_variable).collect::<Vec<_>>()
        })
    }

    fn check_response(&self, pointer: &str, answer: &Answer) -> Result<(), String> {
        let (pointer, response) = self
            .resolve(pointer)
            .ok_or("this status is not documented")?;
        self.check_headers(&pointer, response, answer)?;
        let Some(content) = response["content"].as_object() else {
            return match answer.body.is_empty() {
                true => Ok(()),
                false => Err(format!("it has a body: {}", answer.text())),
            };
        };
        let kind = answer.content_type().split(';').next().unwrap_or_default();
        if !content.contains_key(kind) {
            return Err(format!("the content type {kind:?} is not documented"));
        }
        let body = serde_json::from_slice(&answer.body).map_err(|e| format!("no JSON: {e}"))?;
        let schema = format!("{pointer}/content/{}/schema", escaped(kind));
        self.validate(&schema, &body)
    }

    fn check_headers(&self, at: &str, response: &Value, answer: &Answer) -> Result<(), String> {
        for name in response["headers"]
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
        {
            let (pointer, header) = self
                .resolve(&format!("{at}/headers/{}", escaped(name)))
                .ok_or_else(|| format!("the header {name} leads nowhere"))?;
            let schema = format!("{pointer}/schema");
            match answer.headers.get(name) {
                Some(value) => self
                    .validate(&schema, &self.header_value(&schema, value))
                    .map_err(|what| format!("the header {name}: {what}"))?,
                None if header["required"] == true => {
                    return Err(format!("the header {name} is missing"));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// A header is a text; it is a number if the document says so.
    fn header_value(&self, schema: &str, value: &HeaderValue) -> Value {
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        let is_number = self
            .resolve(schema)
            .is_some_and(|(_, it)| it["type"] == "integer");
        match text.parse::<u64>() {
            Ok(number) if is_number => number.into(),
            _ => text.into(),
        }
    }

    /// Is a value as the schema at this place of the document says? If not, what is wrong, and where in the value.
    pub fn validate(&self, schema: &str, value: &Value) -> Result<(), String> {
        let (schema, _) = self
            .resolve(schema)
            .ok_or_else(|| format!("there is no {schema}"))?;
        let validator = self.validator(&schema);
        let wrong = |error: jsonschema::ValidationError<'_>| {
            format!("at {:?}: {error}", error.instance_path().as_str())
        };
        let errors: Vec<String> = validator.iter_errors(value).map(wrong).collect();
        match errors.is_empty() {
            true => Ok(()),
            false => Err(format!("{}, by {schema}: {value}", errors.join("; "))),
        }
    }

    fn validator(&self, schema: &str) -> Arc<Validator> {
        let mut validators = self
            .validators
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let made = validators.entry(schema.to_owned()).or_insert_with(|| {
            let validator = jsonschema::options()
                .with_registry(&self.registry)
                .should_validate_formats(true)
                .build(&json!({ "$ref": format!("{NAME}#{schema}") }));
            Arc::new(validator.unwrap_or_else(|e| panic!("{schema} is no schema: {e}")))
        });
        Arc::clone(made)
    }
}

fn operations(root: &Value) -> Vec<Operation> {
    let paths = root["paths"].as_object().into_iter().flatten();
    let operations = paths.flat_map(|(path, item)| {
        let methods = METHODS
            .into_iter()
            .filter(|method| !item[*method].is_null());
        methods.map(|method| Operation {
            id: item[method]["operationId"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            method: method.to_ascii_uppercase(),
            path: path.clone(),
            pointer: format!("/paths/{}/{method}", escaped(path)),
        })
    });
    operations.collect()
}

fn is_variable(segment: &str) -> bool {
    segment.starts_with('{')
}

fn is_of_template(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    let fits = |(segment, part): (&&str, &&str)| {
        segment == part || (is_variable(segment) && !part.is_empty())
    };
    template.len() == path.len() && template.iter().zip(&path).all(fits)
}

/// A name as a part of a JSON pointer.
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn to_json(node: &Yaml<'_>) -> Value {
    match node {
        Yaml::Sequence(items) => items.iter().map(to_json).collect(),
        Yaml::Mapping(entries) => {
            let entries = entries.iter().map(|(key, value)| {
                let key = key
                    .as_str()
                    .expect("every key of docs/openapi.yaml is a text");
                (key.to_owned(), to_json(value))
            });
            Value::Object(entries.collect())
        }
        Yaml::Value(Scalar::String(text)) => Value::String(text.to_string()),
        Yaml::Value(Scalar::Boolean(boolean)) => Value::Bool(*boolean),
        Yaml::Value(Scalar::Integer(number)) => Value::Number((*number).into()),
        Yaml::Value(Scalar::FloatingPoint(number)) => {
            Number::from_f64(**number).map_or(Value::Null, Value::Number)
        }
        Yaml::Value(Scalar::Null) => Value::Null,
        other => panic!("docs/openapi.yaml has something that is not JSON: {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use hyper::body::Bytes;
    use hyper::header::CONTENT_TYPE;
    use hyper::{HeaderMap, Method};

    use super::*;

    fn answer(status: u16, content_type: &'static str, body: &Value) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert("x-request-id", HeaderValue::from_static("r-1"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Answer {
            call: "a test".to_owned(),
            status,
            headers,
            body: Bytes::from(body.to_string()),
        }
    }

    fn check(method: &Method, path: &str, answer: &Answer) -> Result<(), String> {
        Document::get().check(method, path, answer)
    }

    fn marker() -> Value {
        json!({ "last_read_id": "7", "version": 1 })
    }

    const MARKER: &str = "/v1/home_timeline/marker";
    const JSON: &str = "application/json";

    #[test]
    fn an_answer_as_the_document_has_it_passes() {
        let described = answer(200, JSON, &marker());
        assert_eq!(check(&Method::GET, MARKER, &described), Ok(()));
    }

    #[test]
    fn a_difference_is_told_with_operation_status_and_place() {
        let mut unknown = marker();
        unknown["device"] = json!("phone");
        let told =
            check(&Method::GET, MARKER, &answer(200, JSON, &unknown)).expect_err("a difference");
        assert!(told.starts_with("getMarker, 200: at \"\""), "{told}");
        assert!(told.contains("device"), "{told}");

        let mut wrong = marker();
        wrong["version"] = json!("1");
        let told =
            check(&Method::GET, MARKER, &answer(200, JSON, &wrong)).expect_err("a difference");
        assert!(
            told.starts_with("getMarker, 200: at \"/version\""),
            "{told}"
        );
    }

    #[test]
    fn statuses_content_types_bodies_and_headers_have_to_be_documented() {
        let differs = |answer: &Answer, what: &str| {
            let told = check(&Method::GET, MARKER, answer).expect_err("a difference");
            assert!(told.contains(what), "{told}");
        };
        differs(&answer(418, JSON, &marker()), "status is not documented");
        differs(&answer(200, "text/plain", &marker()), "content type");
        let mut without_id = answer(200, JSON, &marker());
        without_id.headers.remove("x-request-id");
        differs(&without_id, "X-Request-Id is missing");
        let mut with_strange_limit = answer(200, JSON, &marker());
        let name = "x-ratelimit-remaining";
        with_strange_limit
            .headers
            .insert(name, HeaderValue::from_static("many"));
        differs(&with_strange_limit, "X-RateLimit-Remaining");

        let told = check(
            &Method::DELETE,
            "/v1/users/me",
            &answer(204, JSON, &json!({})),
        );
        assert!(told.expect_err("a difference").contains("it has a body"));
    }

    #[test]
    fn a_route_that_nobody_knows_is_not_found() {
        let not_found = answer(404, JSON, &json!({ "message": "Not Found" }));
        assert_eq!(check(&Method::GET, "/v1/nothing", &not_found), Ok(()));
        assert_eq!(check(&Method::PUT, "/v1/users/me", &not_found), Ok(()));
        let found = answer(200, JSON, &json!({}));
        assert!(check(&Method::GET, "/v1/nothing", &found).is_err());
    }

    #[test]
    fn a_word_in_a_path_wins_over_a_variable() {
        let document = Document::get();
        let id = |path: &str| document.operation("GET", path).map(|it| it.id.as_str());
        assert_eq!(id("/v1/users/me"), Some("getMe"));
        assert_eq!(id("/v1/users/7"), Some("getUser"));
        assert_eq!(id("/v1/users/me/tweets"), Some("userTimeline"));
        assert_eq!(id("/v1/users/"), None);
    }
}
