//! docs/openapi.yaml says what the template and the code say. That answers are as it says is checked wherever a test gets
//! one (`roost_tests::Document`).

use std::collections::BTreeSet;

use roost_tests::{Document, Operation};
use serde_json::{Map, Value};
use shared::runtime::problem::Problem;

use super::parameters::named;
use super::read;
use super::wiring::{functions_with, resources, route};

/// `CreateUser` is `createUser`.
fn operation_id(function: &str) -> String {
    let (first, rest) = function.split_at(1);
    first.to_ascii_lowercase() + rest
}

#[test]
fn the_api_document_has_every_route_under_the_name_of_its_function() {
    let resources = resources();
    let deployed: BTreeSet<String> = functions_with(&resources, &["HttpApi"])
        .iter()
        .map(|name| {
            let route = route(&resources[&format!("{name}Function")]);
            format!("{route} {}", operation_id(name))
        })
        .collect();
    let operations = Document::get().operations.iter();
    let documented: BTreeSet<String> = operations
        .map(
            |Operation {
                 id, method, path, ..
             }| format!("{method} {path} {id}"),
        )
        .collect();
    assert_eq!(documented, deployed, "docs/openapi.yaml and template.yaml");
}

/// The code behind an operation: `createUser` is in functions/create-user.
fn handler(operation: &str) -> String {
    let folder = operation.chars().fold(String::new(), |name, c| match c {
        'A'..='Z' => name + "-" + &c.to_ascii_lowercase().to_string(),
        _ => name + &c.to_string(),
    });
    read(&format!("functions/{folder}/src/handler.rs"))
}

#[test]
fn the_api_document_has_every_query_parameter_that_the_code_knows() {
    let document = Document::get();
    let mut count = 0;
    for operation in &document.operations {
        let parameters = document.parameters(operation);
        let query = parameters.filter(|parameter| parameter["in"] == "query");
        let documented: BTreeSet<&str> = query.filter_map(|it| it["name"].as_str()).collect();
        let handler = handler(&operation.id);
        assert_eq!(
            documented,
            named(&handler),
            "docs/openapi.yaml and the code of {}",
            operation.id
        );
        count += documented.len();
    }
    assert!(count > 20, "only {count} parameters were found");
}

#[test]
fn the_api_document_lists_every_problem() {
    let listed = &Document::get().root["components"]["schemas"]["ProblemType"]["enum"];
    let listed = listed.as_array().into_iter().flatten();
    let listed: BTreeSet<String> = listed
        .filter_map(|it| it.as_str().map(str::to_owned))
        .collect();
    let problems = Problem::ALL.iter();
    let known = problems.map(|problem| format!("urn:roost:problem:{}", problem.name()));
    assert_eq!(
        listed,
        known.collect(),
        "docs/openapi.yaml and runtime/problem.rs"
    );
}

/// Calls `visit` with every object of the document and the JSON pointer to it.
fn visit_all(value: &Value, pointer: &str, visit: &mut impl FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Object(fields) => {
            visit(pointer, fields);
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                visit_all(value, &format!("{pointer}/{name}"), visit);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                visit_all(item, &format!("{pointer}/{index}"), visit);
            }
        }
        _ => {}
    }
}

/// The examples of the document: where each is, and where its schema is.
fn examples() -> Vec<(String, String)> {
    let document = Document::get();
    let mut found = Vec::new();
    visit_all(&document.root, "", &mut |pointer, fields| {
        if !fields.contains_key("schema") {
            return;
        }
        let schema = format!("{pointer}/schema");
        if fields.contains_key("example") {
            found.push((format!("{pointer}/example"), schema.clone()));
        }
        for name in fields
            .get("examples")
            .and_then(Value::as_object)
            .into_iter()
            .flat_map(Map::keys)
        {
            let (example, _) = document
                .resolve(&format!("{pointer}/examples/{name}"))
                .unwrap_or_else(|| panic!("{pointer}: the example {name} leads nowhere"));
            found.push((format!("{example}/value"), schema.clone()));
        }
    });
    found
}

#[test]
fn every_example_of_the_api_document_fits_its_schema() {
    let document = Document::get();
    let examples = examples();
    assert!(examples.len() > 40, "{} examples", examples.len());
    for (example, schema) in examples {
        let value = document
            .root
            .pointer(&example)
            .expect("the example's value");
        if let Err(difference) = document.validate(&schema, value) {
            panic!("{example}: {difference}");
        }
    }
}

/// An open object would let a field pass that nobody has written down.
#[test]
fn every_object_of_the_api_document_is_closed() {
    let document = Document::get();
    let mut open = Vec::new();
    visit_all(
        &document.root["components"]["schemas"],
        "",
        &mut |pointer, fields| {
            // What is put together out of parts is closed as a whole.
            let is_part = pointer.ends_with("Fields") || pointer.contains("/allOf/");
            let is_closed = ["additionalProperties", "unevaluatedProperties"]
                .iter()
                .any(|keyword| fields.get(*keyword) == Some(&Value::Bool(false)));
            if fields.get("type") == Some(&"object".into()) && !is_part && !is_closed {
                open.push(pointer.to_owned());
            }
        },
    );
    assert_eq!(open, [""; 0], "objects without additionalProperties: false");
}
