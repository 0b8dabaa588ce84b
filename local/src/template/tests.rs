//! A whole template: what is read from it, and what is refused.

use std::time::Duration;

use super::*;

const TEMPLATE: &str = r#"
Parameters:
  CelebrityThreshold: { Type: Number, Default: 10000 }
  RedisUrl: { Type: String, Default: "" }
Globals:
  Function:
    Timeout: 10
    Environment: { Variables: { LEVEL: INFO } }
    LoggingConfig: { LogFormat: JSON, ApplicationLogLevel: DEBUG }
Conditions:
  OwnCache: !Equals [!Ref RedisUrl, ""]
Resources:
  Api:
    Type: AWS::Serverless::HttpApi
    Properties:
      Auth:
        DefaultAuthorizer: Jwt
        Authorizers: { Jwt: { JwtConfiguration: { issuer: "http://i", audience: [a] } } }
  Tweets:
    Type: AWS::DynamoDB::Table
    Properties:
      AttributeDefinitions: [{ AttributeName: id, AttributeType: N }]
      KeySchema: [{ AttributeName: id, KeyType: HASH }]
      StreamSpecification: { StreamViewType: KEYS_ONLY }
  Cache: { Type: AWS::ElastiCache::ServerlessCache, Condition: OwnCache }
  Logs: { Type: AWS::Logs::LogGroup, Properties: { RetentionInDays: &thirty 30 } }
  OtherLogs: { Type: AWS::Logs::LogGroup, Properties: { RetentionInDays: *thirty } }
  Failed: { Type: AWS::S3::Bucket }
  PublishTweetsFunction:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 60
      Policies: [{ Statement: { Resource: !GetAtt Unknown.Arn } }]
      ReservedConcurrentExecutions: !If [OwnCache, 5, !Ref AWS::NoValue]
      LoggingConfig: { LogGroup: !Ref Logs }
      Environment: { Variables: { THRESHOLD: !Ref CelebrityThreshold, TABLE: !Ref Tweets } }
      Events:
        Call: { Type: HttpApi, Properties: { ApiId: !Ref Api, Method: get, Path: "/v1/t/{id}" } }
        Records:
          Type: DynamoDB
          Properties:
            Stream: !GetAtt Tweets.StreamArn
            StartingPosition: TRIM_HORIZON
            MaximumRetryAttempts: -1
            FunctionResponseTypes: [ReportBatchItemFailures]
            DestinationConfig: { OnFailure: { Destination: !GetAtt Failed.Arn } }
"#;

fn stack(text: &str, environment: &[(&str, &str)]) -> Result<Stack, StartError> {
    let template = Template {
        file: "t.yaml".into(),
        document: yaml::parse(text).expect("readable"),
    };
    template.resolve(
        &BTreeMap::from([("RedisUrl", "redis://local".to_owned())]),
        Machine {
            websocket_url: "ws://localhost:9005".to_owned(),
            ..Machine::default()
        },
        |variable| {
            environment
                .iter()
                .find(|(name, _)| *name == variable)
                .map(|(_, value)| (*value).to_owned())
        },
    )
}

#[test]
fn a_function_has_the_globals_its_own_settings_and_parameters_from_the_environment() {
    let stack = stack(TEMPLATE, &[("CELEBRITY_THRESHOLD", "50")]).expect("a good template");
    let function = &stack.functions[0];
    assert_eq!(function.binary, "publish-tweets");
    assert_eq!(function.timeout, Duration::from_secs(60));
    assert_eq!(function.environment["LEVEL"], "INFO");
    assert_eq!(function.log_level.as_deref(), Some("DEBUG"));
    assert_eq!(function.reserved_concurrency, None, "it has no value here");
    assert_eq!(function.environment["THRESHOLD"], "50");
    assert_eq!(stack.parameters["celebrity_threshold"], 50);
    assert_eq!(stack.parameters["redis_url"], "redis://local");
    assert_eq!(function.environment["TABLE"], "roost-Tweets");
    assert_eq!(
        (
            function.routes[0].method.as_str(),
            function.routes[0].api.as_str()
        ),
        ("GET", "Api")
    );
    let event_source = &function.event_sources[0];
    assert_eq!(
        event_source.source,
        Source::Table {
            name: "roost-Tweets".to_owned()
        }
    );
    assert_eq!(event_source.policy.max_retries, None);
    assert!(event_source.policy.reports_failures);
    assert_eq!(event_source.failure_bucket.as_deref(), Some("roost-failed"));
}

#[test]
fn an_event_source_that_stands_by_itself_belongs_to_its_function() {
    let more = r#"
  Created: { Type: AWS::Kinesis::Stream }
  Reader:
    Type: AWS::Kinesis::StreamConsumer
    Properties: { StreamARN: !GetAtt Created.Arn, ConsumerName: reader }
  Asked:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      EventSourceArn: !GetAtt Created.Arn
      FunctionName: !Ref PublishTweetsFunction
      StartingPosition: TRIM_HORIZON
  Pushed:
    Type: AWS::Lambda::EventSourceMapping
    Properties:
      EventSourceArn: !Ref Reader
      FunctionName: !Ref PublishTweetsFunction
      StartingPosition: TRIM_HORIZON
"#;
    let stack = stack(&format!("{TEMPLATE}{more}"), &[]).expect("a good template");
    let sources = stack.functions[0].event_sources[1..].iter();
    let sources: Vec<_> = sources.map(|mapping| &mapping.source).collect();
    let created = |pushes| Source::Stream {
        name: "roost-Created".to_owned(),
        pushes,
    };
    assert_eq!(sources, [&created(false), &created(true)]);
    let nobodys = more.replace("!Ref PublishTweetsFunction", "nobody");
    let refused = super::tests::stack(&format!("{TEMPLATE}{nobodys}"), &[]);
    let refused = refused.expect_err("no such function").to_string();
    assert!(refused.contains("there is no function nobody"), "{refused}");
}

#[test]
fn mistakes_name_the_file_and_the_place() {
    let error = stack(TEMPLATE, &[("CELEBRITY_THRESHOLD", "many")])
        .expect_err("not a number")
        .to_string();
    assert_eq!(
        error,
        "t.yaml: Parameters.CelebrityThreshold: CELEBRITY_THRESHOLD=many is not a number"
    );
    let error = stack(
        &TEMPLATE.replace("DefaultAuthorizer: Jwt", "DefaultAuthorizer: Cognito"),
        &[],
    );
    assert!(
        error
            .expect_err("no such authorizer")
            .to_string()
            .contains("Cognito is no JWT authorizer of Api")
    );
}

/// The message that a template is refused with, after `from` in [`TEMPLATE`] became `to`.
fn refusal(from: &str, to: &str) -> String {
    assert!(TEMPLATE.contains(from), "{from}");
    stack(&TEMPLATE.replace(from, to), &[])
        .expect_err("not known")
        .to_string()
}

#[test]
fn a_resource_type_that_is_not_known_is_refused_even_if_its_condition_is_false() {
    for queue in [
        "Queue: { Type: AWS::SQS::Queue }",
        "Queue: { Type: AWS::SQS::Queue, Condition: OwnCache }",
    ] {
        let refusal = refusal("Resources:", &format!("Resources:\n  {queue}"));
        assert_eq!(
            refusal,
            "t.yaml: Resources.Queue: the local cloud does not know the resource type AWS::SQS::Queue; teach it in \
             local/src/template/resource.rs, or list it there as one that has no effect on one machine"
        );
    }
}

#[test]
fn a_property_that_is_not_known_is_refused_with_its_place() {
    let function = "Resources.PublishTweetsFunction.Properties";
    for (from, to, place, of, file) in [
        (
            "      Timeout: 60",
            "      SnapStart: {}",
            format!("{function}.SnapStart"),
            "a function",
            "function.rs",
        ),
        (
            "    Timeout: 10",
            "    Layers: []",
            format!("{function}.Layers"),
            "a function",
            "function.rs",
        ),
        (
            "LogGroup: !Ref Logs",
            "LogFile: x",
            format!("{function}.LoggingConfig.LogFile"),
            "a function's logging",
            "function.rs",
        ),
        (
            "MaximumRetryAttempts: -1",
            "TumblingWindowInSeconds: 5",
            format!("{function}.Events.Records.Properties.TumblingWindowInSeconds"),
            "an event source",
            "event_source.rs",
        ),
        (
            "OnFailure",
            "OnSuccess",
            format!("{function}.Events.Records.Properties.DestinationConfig.OnSuccess"),
            "an event source's destinations",
            "event_source.rs",
        ),
        (
            "Method: get",
            "Method: get, TimeoutInMillis: 5",
            format!("{function}.Events.Call.Properties.TimeoutInMillis"),
            "a route",
            "api.rs",
        ),
        (
            "StreamViewType: KEYS_ONLY }",
            "StreamViewType: KEYS_ONLY }\n      ImportSourceSpecification: {}",
            "Resources.Tweets.Properties.ImportSourceSpecification".to_owned(),
            "a table",
            "table.rs",
        ),
        (
            "DefaultAuthorizer: Jwt",
            "EnableIamAuthorizer: true",
            "Resources.Api.Properties.Auth.EnableIamAuthorizer".to_owned(),
            "an HTTP API's authorization",
            "api.rs",
        ),
    ] {
        assert_eq!(
            refusal(from, to),
            format!(
                "t.yaml: {place}: the local cloud does not know this property of {of}; teach it in \
                 local/src/template/{file}, or list it there as one that has no effect on one machine"
            )
        );
    }
}

#[test]
fn an_event_type_that_is_not_known_is_refused() {
    assert_eq!(
        refusal("Type: HttpApi, Properties", "Type: SQS, Properties"),
        "t.yaml: Resources.PublishTweetsFunction.Properties.Events.Call: the local cloud does not know events of \
         type SQS; teach it in local/src/template/function.rs"
    );
}

#[test]
fn an_intrinsic_function_that_is_not_known_is_refused_even_in_a_resource_without_an_effect() {
    assert_eq!(
        refusal("&thirty 30", "&thirty { Fn::ImportValue: days }"),
        "t.yaml: Resources.Logs.Properties.RetentionInDays.Fn::ImportValue: the local cloud does not know the \
         intrinsic function Fn::ImportValue; teach it in local/src/template/intrinsics.rs"
    );
}

#[test]
fn what_is_known_but_means_something_else_here_is_refused() {
    for (from, to, expected) in [
        ("Resources:", "Hooks: {}\nResources:", "document.Hooks: "),
        ("  Function:\n", "  Api: {}\n  Function:\n", "Globals.Api: "),
        (
            "Resources:",
            "Transform: AWS::LanguageExtensions\nResources:",
            "Transform: the local cloud knows AWS::Serverless-2016-10-31 only",
        ),
        (
            "[ReportBatchItemFailures]",
            "[Streaming]",
            "FunctionResponseTypes: Streaming is not known here",
        ),
        (
            "Type: HttpApi, Properties: {",
            "Type: Schedule, Properties: { Schedule: cron(0 12 * * ? *) } }\n        C: { Type: HttpApi, Properties: {",
            "Schedule: cron(0 12 * * ? *) is not a rate",
        ),
        (
            "ApiId: !Ref Api",
            "ApiId: abc",
            "ApiId: must be !Ref of an HTTP API",
        ),
        (
            "Tweets.StreamArn",
            "Tweets.TableId",
            "does not know the attribute TableId of Tweets",
        ),
        (
            "Type: Number",
            "Type: AWS::SSM::Parameter::Value<String>",
            "parameters of type AWS::SSM",
        ),
        (
            "Default: 10000",
            "Default: 0, MinValue: 1",
            "CELEBRITY_THRESHOLD=0 is less than 1",
        ),
    ] {
        let refusal = refusal(from, to);
        assert!(refusal.contains(expected), "{refusal}");
    }
}

#[test]
fn parameters_that_do_not_go_together_are_refused() {
    let rules = "
Rules:
  SubnetsNeedGroups:
    RuleCondition: !Not [!EachMemberEquals [!Ref Subnets, '']]
    Assertions:
      - Assert: !Not [!EachMemberEquals [!Ref Groups, '']]
        AssertDescription: Subnets need Groups.
Resources:";
    let lists = "Parameters:
  Subnets: { Type: CommaDelimitedList, Default: '' }
  Groups: { Type: CommaDelimitedList, Default: '' }";
    let text = TEMPLATE
        .replace("Parameters:", lists)
        .replace("Resources:", rules);
    for good in [
        &[][..],
        &[("GROUPS", "g")],
        &[("SUBNETS", "a,b"), ("GROUPS", "g")],
    ] {
        stack(&text, good).unwrap_or_else(|error| panic!("{good:?}: {error}"));
    }
    assert_eq!(
        stack(&text, &[("SUBNETS", "a")])
            .expect_err("no groups")
            .to_string(),
        "t.yaml: Rules.SubnetsNeedGroups.Assertions[0]: Subnets need Groups."
    );
    let unknown = text.replace("AssertDescription", "Because");
    let refusal = stack(&unknown, &[("SUBNETS", "a")]).expect_err("not known");
    assert!(
        refusal
            .to_string()
            .contains("Rules.SubnetsNeedGroups.Assertions[0].Because")
    );
}

#[test]
fn what_is_switched_off_is_left_out() {
    let off = TEMPLATE.replace("MaximumRetryAttempts: -1", "Enabled: false");
    let stack = stack(&off, &[]).expect("a good template");
    assert!(stack.functions[0].event_sources.is_empty());
}

#[test]
fn everything_in_the_template_of_this_repository_is_known() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../template.yaml");
    let template = Template::read(Path::new(file)).expect("readable");
    let stack = template
        .resolve(
            &BTreeMap::from([
                ("RedisUrlSecretArn", "arn:redis".to_owned()),
                ("JwtIssuer", "http://local".to_owned()),
                ("JwtAudience", "roost".to_owned()),
            ]),
            Machine {
                secrets: BTreeMap::from([("arn:redis".to_owned(), "redis://local".to_owned())]),
                websocket_url: "ws://localhost:9005".to_owned(),
            },
            |_| None,
        )
        .unwrap_or_else(|error| panic!("{error}"));
    let urls = stack
        .functions
        .iter()
        .filter_map(|function| function.environment.get("REDIS_URL"));
    assert!(
        urls.clone().count() > 20 && urls.clone().all(|url| url == "redis://local"),
        "{urls:?}"
    );
    assert!(
        stack.functions.len() > 20 && stack.tables.len() > 4,
        "{stack:?}"
    );
    assert!(
        stack
            .functions
            .iter()
            .all(|function| function.log_format.as_deref() == Some("JSON"))
    );
}
