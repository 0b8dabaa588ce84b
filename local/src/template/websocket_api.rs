//! A WebSocket API: its stage, its authorizer, the routes of its messages, and which routes answer.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::function::Function;
use super::intrinsics::{Unresolved, function_arn};
use super::properties::{Known, Properties, mistake};
use super::resource::Resource;

#[derive(Debug)]
pub(crate) struct WebSocketApi {
    pub(crate) logical_id: String,
    pub(crate) stage: String,
    /// Where the route key is in a message: `$request.body.type`.
    pub(crate) selection_expression: String,
    /// The function that decides before `$connect`; `None` if there is none.
    pub(crate) authorizer: Option<RequestAuthorizer>,
    /// By route key.
    pub(crate) routes: BTreeMap<String, WebSocketRoute>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestAuthorizer {
    pub(crate) function_arn: String,
    /// What a request must have: `route.request.querystring.ticket`.
    pub(crate) identity_sources: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct WebSocketRoute {
    pub(crate) function_arn: String,
    pub(crate) timeout: Duration,
    /// Whether the function's answer goes back to the client. That takes an expression on the route and a route
    /// response of its own.
    pub(crate) answers: bool,
    has_response_expression: bool,
}

/// `AWS::ApiGatewayV2::RouteResponse`: makes a route answer.
#[derive(Debug)]
pub(super) struct RouteResponse {
    /// Logical id of the API.
    api: String,
    /// Logical id of the route, which SAM makes up.
    route: String,
    place: String,
}

const WEBSOCKET_API: Known = Known {
    of: "a WebSocket API",
    file: file!(),
    read: &["Auth", "RouteSelectionExpression", "Routes", "StageName"],
    no_effect: &[
        // Throttling is for all callers together; one developer does not reach it.
        "DefaultRouteSettings",
        "RouteSettings",
        // The terminal shows every connection and every message.
        "AccessLogSettings",
        // Everything listens on 127.0.0.1.
        "IpAddressType",
        // Nobody asks for names and tags.
        "Description",
        "Name",
        "PropagateTags",
        "Tags",
    ],
};

const AUTH: Known = Known {
    of: "a WebSocket API's authorization",
    file: file!(),
    read: &["AuthArn", "AuthType", "IdentitySource"],
    // Nobody checks permissions or asks for names.
    no_effect: &["InvokeRole", "Name"],
};

const ROUTE: Known = Known {
    of: "a WebSocket API's route",
    file: file!(),
    read: &[
        "FunctionArn",
        "IntegrationTimeout",
        "RouteResponseSelectionExpression",
    ],
    no_effect: &["OperationName"],
};

const ROUTE_RESPONSE: Known = Known {
    of: "a route response",
    file: file!(),
    read: &["ApiId", "RouteId", "RouteResponseKey"],
    no_effect: &[],
};

/// SAM's name for the stage of an API that names none.
const DEFAULT_STAGE: &str = "default";
/// API Gateway gives a function 29 seconds, and a route may give it less.
const LONGEST_MS: u64 = 29_000;
/// The only response expression and the only response key that API Gateway knows.
const DEFAULT: &str = "$default";

impl WebSocketApi {
    pub(super) fn read(resource: &Resource<'_>) -> Result<Self, Unresolved> {
        let value = resource.properties(&WEBSOCKET_API)?;
        let properties = Properties::new(&value, &resource.place);
        let Some(selection_expression) = properties.text("RouteSelectionExpression") else {
            return Err(properties.mistake("RouteSelectionExpression", "is missing"));
        };
        let is_of_body = |path: &str| !path.is_empty() && !path.contains(['[', '$', '{']);
        if !selection_expression
            .strip_prefix("$request.body.")
            .is_some_and(is_of_body)
        {
            let message = "only $request.body.<field> is known here";
            return Err(properties.mistake("RouteSelectionExpression", message));
        }
        let mut routes = BTreeMap::new();
        for (key, route) in properties.entries("Routes") {
            let place = format!("{}.Routes.{key}", properties.place);
            routes.insert(key.clone(), WebSocketRoute::read(route, &place)?);
        }
        let authorizer = RequestAuthorizer::read(&properties)?;
        if authorizer.is_some() && !routes.contains_key("$connect") {
            return Err(properties.mistake("Auth", "needs a $connect route"));
        }
        Ok(Self {
            logical_id: resource.logical_id.to_owned(),
            stage: properties
                .text("StageName")
                .unwrap_or_else(|| DEFAULT_STAGE.to_owned()),
            selection_expression,
            authorizer,
            routes,
        })
    }

    /// Lets the route that the response is for answer.
    pub(super) fn add(&mut self, response: &RouteResponse) -> Result<(), Unresolved> {
        let api = self.logical_id.clone();
        let route = self
            .routes
            .iter_mut()
            .find(|(key, _)| route_logical_id(&api, key) == response.route);
        match route {
            Some((_, route)) if response.api == api => {
                route.answers = route.has_response_expression;
                Ok(())
            }
            _ => {
                let message = format!("{} is no route of {}", response.route, response.api);
                Err(mistake(&response.place, message))
            }
        }
    }

    /// A missing function would otherwise show as a message that nobody answers.
    pub(super) fn check(&self, functions: &[Function]) -> Result<(), Unresolved> {
        let authorizer = self.authorizer.as_ref().map(|one| &one.function_arn);
        let mut arns = self
            .routes
            .values()
            .map(|route| &route.function_arn)
            .chain(authorizer);
        let is_unknown = |arn: &&String| {
            !functions
                .iter()
                .any(|function| function_arn(&function.name) == **arn)
        };
        match arns.find(is_unknown) {
            None => Ok(()),
            Some(arn) => {
                let place = format!("Resources.{}.Properties", self.logical_id);
                Err(mistake(
                    &place,
                    format!("{arn} is no function of this template"),
                ))
            }
        }
    }
}

impl RequestAuthorizer {
    fn read(api: &Properties<'_>) -> Result<Option<Self>, Unresolved> {
        let auth = api.section("Auth", &AUTH)?;
        match auth.text("AuthType").as_deref() {
            Some("CUSTOM") => {}
            Some("NONE") => return Ok(None),
            None if auth.value.is_null() => return Ok(None),
            _ => return Err(auth.mistake("AuthType", "only CUSTOM and NONE are known here")),
        }
        let Some(function_arn) = auth.text("AuthArn") else {
            return Err(auth.mistake("AuthArn", "is missing"));
        };
        let identity_sources = auth.texts("IdentitySource");
        let is_known = |source: &String| {
            ["route.request.querystring.", "route.request.header."]
                .iter()
                .any(|prefix| source.starts_with(prefix))
        };
        if let Some(unknown) = identity_sources.iter().find(|source| !is_known(source)) {
            let message = format!("{unknown} is neither a query parameter nor a header");
            return Err(auth.mistake("IdentitySource", message));
        }
        Ok(Some(Self {
            function_arn,
            identity_sources,
        }))
    }
}

impl WebSocketRoute {
    fn read(value: &Value, place: &str) -> Result<Self, Unresolved> {
        ROUTE.check(value, place)?;
        let route = Properties::new(value, place);
        let Some(function_arn) = route.text("FunctionArn") else {
            return Err(route.mistake("FunctionArn", "is missing"));
        };
        let expression = route.text("RouteResponseSelectionExpression");
        if expression
            .as_deref()
            .is_some_and(|expression| expression != DEFAULT)
        {
            let message = "can be $default only";
            return Err(route.mistake("RouteResponseSelectionExpression", message));
        }
        let timeout_ms = route.number("IntegrationTimeout")?.unwrap_or(LONGEST_MS);
        Ok(Self {
            function_arn,
            timeout: Duration::from_millis(timeout_ms.min(LONGEST_MS)),
            answers: false,
            has_response_expression: expression.is_some(),
        })
    }
}

impl RouteResponse {
    /// The API and the route are read as they stand in the template: resolved, they would be names that say nothing.
    pub(super) fn read(resource: &Resource<'_>) -> Result<Self, Unresolved> {
        let value = resource.properties(&ROUTE_RESPONSE)?;
        let properties = Properties::new(&value, &resource.place);
        if properties.text("RouteResponseKey").as_deref() != Some(DEFAULT) {
            return Err(properties.mistake("RouteResponseKey", "can be $default only"));
        }
        let declared = |key: &str| {
            let reference = &resource.declaration["Properties"][key]["Ref"];
            let logical_id = reference.as_str().map(str::to_owned);
            logical_id.ok_or_else(|| properties.mistake(key, "must be !Ref of it"))
        };
        Ok(Self {
            api: declared("ApiId")?,
            route: declared("RouteId")?,
            place: resource.place.clone(),
        })
    }

    pub(super) fn check(&self, api: Option<&mut WebSocketApi>) -> Result<(), Unresolved> {
        match api {
            Some(api) => api.add(self),
            None => Err(mistake(
                &self.place,
                format!("{} is no WebSocket API of this template", self.api),
            )),
        }
    }
}

/// Is this the logical id of something that SAM makes for this WebSocket API? `declaration` is the API's.
pub(super) fn is_made_for(logical_id: &str, api: &str, declaration: &Value) -> bool {
    let Some(suffix) = logical_id.strip_prefix(api) else {
        return false;
    };
    let stage = match declaration["Properties"].get("StageName") {
        None => "Default",
        Some(name) if name == DEFAULT_STAGE => "Default",
        // SAM leaves a name out that is not known before the stack is made.
        Some(name) => name.as_str().unwrap_or_default(),
    };
    let routes = declaration["Properties"]["Routes"].as_object();
    let is_of_route = |key: &String| {
        logical_id == route_logical_id(api, key)
            || suffix == format!("{}Integration", in_logical_id(key))
    };
    suffix == "ConnectAuthorizer"
        || suffix == format!("{stage}Stage")
        || routes.is_some_and(|routes| routes.keys().any(is_of_route))
}

/// `LiveApi` and `$default` make `LiveApiDefaultRoute`.
fn route_logical_id(api: &str, key: &str) -> String {
    format!("{api}{}Route", in_logical_id(key))
}

/// `$default` is `Default`: a capital first, and the rest in small letters.
fn in_logical_id(key: &str) -> String {
    let letters = key.trim_start_matches('$').to_lowercase();
    let mut rest = letters.chars();
    rest.next()
        .map(|first| first.to_uppercase().chain(rest).collect())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::{Machine, Stack, Template, yaml};
    use super::*;

    const TEMPLATE: &str = r#"
Resources:
  LiveApi:
    Type: AWS::Serverless::WebSocketApi
    Properties:
      Name: live
      Description: Tells people that there is something new.
      RouteSelectionExpression: $request.body.type
      StageName: live
      Auth:
        AuthType: CUSTOM
        AuthArn: !GetAtt AuthorizeLiveFunction.Arn
        IdentitySource: [route.request.querystring.ticket]
      Routes:
        $connect: { FunctionArn: !GetAtt ConnectFunction.Arn }
        $disconnect: { FunctionArn: !GetAtt DisconnectFunction.Arn, IntegrationTimeout: 5000 }
        $default: { FunctionArn: !GetAtt MessagesFunction.Arn, RouteResponseSelectionExpression: $default }
      AccessLogSettings: { DestinationArn: !GetAtt Logs.Arn }
      DefaultRouteSettings: { ThrottlingRateLimit: 100 }
      RouteSettings: { $connect: { ThrottlingRateLimit: 10 } }
      Tags: { a: b }
  LiveReplies:
    Type: AWS::ApiGatewayV2::RouteResponse
    Properties: { ApiId: !Ref LiveApi, RouteId: !Ref LiveApiDefaultRoute, RouteResponseKey: $default }
  AuthorizeLiveFunction: { Type: AWS::Serverless::Function }
  ConnectFunction: { Type: AWS::Serverless::Function }
  DisconnectFunction: { Type: AWS::Serverless::Function }
  MessagesFunction:
    Type: AWS::Serverless::Function
    Properties:
      Environment:
        Variables:
          LIVE_URL: !Sub "${LiveApi.ApiEndpoint}/live"
          API: !Ref LiveApi
          STAGE: !Ref LiveApiliveStage
          ROUTE: !Ref LiveApiConnectRoute
"#;

    fn stack(text: &str) -> Result<Stack, String> {
        let template = Template {
            file: "t.yaml".into(),
            document: yaml::parse(text).expect("readable"),
        };
        let machine = Machine {
            websocket_url: "ws://localhost:9005".to_owned(),
            ..Machine::default()
        };
        template
            .resolve(&BTreeMap::new(), machine, |_| None)
            .map_err(|error| error.to_string())
    }

    /// The message that a template is refused with, after `from` in [`TEMPLATE`] became `to`.
    fn refusal(from: &str, to: &str) -> String {
        assert!(TEMPLATE.contains(from), "{from}");
        stack(&TEMPLATE.replace(from, to)).expect_err("not known")
    }

    #[test]
    fn an_api_has_its_stage_its_authorizer_and_its_routes() {
        let stack = stack(TEMPLATE).expect("a good template");
        let api = stack.websocket_api.expect("it is there");
        let arn = |name: &str| function_arn(&format!("roost-{name}"));
        assert_eq!(api.stage, "live");
        assert_eq!(api.selection_expression, "$request.body.type");
        assert_eq!(
            api.authorizer,
            Some(RequestAuthorizer {
                function_arn: arn("AuthorizeLiveFunction"),
                identity_sources: vec!["route.request.querystring.ticket".to_owned()],
            })
        );
        assert_eq!(api.routes["$connect"].function_arn, arn("ConnectFunction"));
        assert_eq!(api.routes["$connect"].timeout, Duration::from_secs(29));
        assert_eq!(api.routes["$disconnect"].timeout, Duration::from_secs(5));
    }

    #[test]
    fn functions_learn_where_the_api_listens_on_this_machine() {
        let stack = stack(TEMPLATE).expect("a good template");
        let environment = &stack.functions[3].environment;
        assert_eq!(environment["LIVE_URL"], "ws://localhost:9005/live");
        assert_eq!(environment["API"], "local");
    }

    #[test]
    fn a_route_answers_only_with_an_expression_and_a_route_response() {
        let answers = |text: &str| {
            let api = stack(text).expect("a good template").websocket_api;
            api.expect("it is there").routes["$default"].answers
        };
        assert!(answers(TEMPLATE));
        let no_expression =
            TEMPLATE.replace(", RouteResponseSelectionExpression: $default }", " }");
        assert!(!answers(&no_expression));
        let start = TEMPLATE.find("  LiveReplies:").expect("it is there");
        let end = TEMPLATE.find("  AuthorizeLive").expect("it is there");
        assert!(!answers(&format!(
            "{}{}",
            &TEMPLATE[..start],
            &TEMPLATE[end..]
        )));
    }

    #[test]
    fn a_property_that_is_not_known_is_refused_with_its_place() {
        let api = "Resources.LiveApi.Properties";
        for (from, to, place, of) in [
            (
                "Name: live",
                "DisableSchemaValidation: true",
                format!("{api}.DisableSchemaValidation"),
                "a WebSocket API",
            ),
            (
                "AuthType: CUSTOM",
                "AuthType: CUSTOM\n        Ttl: 5",
                format!("{api}.Auth.Ttl"),
                "a WebSocket API's authorization",
            ),
            (
                "IntegrationTimeout: 5000",
                "ApiKeyRequired: true",
                format!("{api}.Routes.$disconnect.ApiKeyRequired"),
                "a WebSocket API's route",
            ),
            (
                "RouteResponseKey: $default",
                "ResponseModels: {}",
                "Resources.LiveReplies.Properties.ResponseModels".to_owned(),
                "a route response",
            ),
        ] {
            assert_eq!(
                refusal(from, to),
                format!(
                    "t.yaml: {place}: the local cloud does not know this property of {of}; teach it in \
                     local/src/template/websocket_api.rs, or list it there as one that has no effect on one machine"
                )
            );
        }
    }

    #[test]
    fn what_is_known_but_cannot_be_done_here_is_refused() {
        let second = "Resources:\n  OtherApi:\n    Type: AWS::Serverless::WebSocketApi\n    Properties:\n      \
                      RouteSelectionExpression: $request.body.a\n      Routes: {}\n";
        for (from, to, expected) in [
            (
                "AuthType: CUSTOM",
                "AuthType: AWS_IAM",
                "only CUSTOM and NONE",
            ),
            (
                "$request.body.type",
                "$request.header.x",
                "only $request.body",
            ),
            (
                "route.request.querystring.ticket",
                "context.path",
                "context.path is neither a query parameter nor a header",
            ),
            (
                "RouteId: !Ref LiveApiDefaultRoute",
                "RouteId: !Ref LiveApiPingRoute",
                "LiveApiPingRoute is neither a parameter nor a resource",
            ),
            (
                "!Ref LiveApi, RouteId",
                "!Ref Logs, RouteId",
                "Logs is neither a parameter nor a resource",
            ),
            (
                "!GetAtt ConnectFunction.Arn",
                "arn:aws:lambda:x",
                "arn:aws:lambda:x is no function of this template",
            ),
            (
                "LiveApi.ApiEndpoint",
                "LiveApi.Url",
                "the attribute Url of LiveApi",
            ),
            ("Resources:\n", second, "there is a WebSocket API already"),
        ] {
            let refusal = refusal(from, to);
            assert!(refusal.contains(expected), "{refusal}");
        }
    }
}
