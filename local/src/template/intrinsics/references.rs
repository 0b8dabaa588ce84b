//! What `Ref` and `Fn::GetAtt` give: a parameter's value, a resource's name or its ARN.

use serde_json::Value;

use super::{ACCOUNT, MAX_DEPTH, REGION, Resolved, Resolver, STACK, plain, unresolved};
use crate::template::api::IMPLICIT_API;
use crate::template::resource::{Kind, kind_of};
use crate::template::websocket_api;

/// A stream's ARN ends with the moment it was created; nothing reads it, so every start uses the same one.
const STREAM_LABEL: &str = "2025-01-01T00:00:00.000";

impl Resolver<'_> {
    pub(super) fn reference(&self, name: &str, place: &str, depth: usize) -> Resolved<Value> {
        if let Some(value) = self.parameters.get(name) {
            return Ok(value.clone());
        }
        Ok(Value::String(match name {
            "AWS::StackName" => STACK.to_owned(),
            "AWS::Region" => REGION.to_owned(),
            "AWS::AccountId" => ACCOUNT.to_owned(),
            "AWS::Partition" => "aws".to_owned(),
            "AWS::URLSuffix" => "amazonaws.com".to_owned(),
            "AWS::StackId" => {
                format!("arn:aws:cloudformation:{REGION}:{ACCOUNT}:stack/{STACK}/local")
            }
            "AWS::NoValue" => String::new(),
            _ => self.name(name, place, depth)?,
        }))
    }

    /// What `Ref` of a resource gives: its physical name.
    pub(super) fn name(&self, logical_id: &str, place: &str, depth: usize) -> Resolved<String> {
        let kind = self.kind(logical_id, place)?;
        let name_property = match kind {
            Kind::Table => "TableName",
            Kind::Stream => "Name",
            Kind::Function => "FunctionName",
            Kind::Bucket => "BucketName",
            Kind::HttpApi | Kind::WebSocketApi => return Ok("local".to_owned()),
            Kind::StreamConsumer => return self.consumer_arn(logical_id, place, depth),
            Kind::RouteResponse | Kind::EventSource | Kind::NoEffect => {
                return Ok(format!("local-{logical_id}"));
            }
        };
        if depth > MAX_DEPTH {
            return unresolved(place, "refers to itself");
        }
        match self.template["Resources"][logical_id]["Properties"].get(name_property) {
            Some(name) => {
                let place = format!("Resources.{logical_id}.Properties.{name_property}");
                match self.value(name, &place, depth + 1)? {
                    Some(name) => Ok(plain(&name)),
                    None => Ok(generated_name(logical_id, kind)),
                }
            }
            None => Ok(generated_name(logical_id, kind)),
        }
    }

    /// What `Fn::GetAtt` of `Resource.Attribute` gives.
    pub(super) fn attribute(&self, path: &str, place: &str, depth: usize) -> Resolved<String> {
        let Some((logical_id, attribute)) = path.split_once('.') else {
            return unresolved(place, &format!("{path} names no attribute"));
        };
        let name = self.name(logical_id, place, depth)?;
        Ok(match (self.kind(logical_id, place)?, attribute) {
            (Kind::Table, "Arn") => {
                format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}")
            }
            (Kind::Table, "StreamArn") => {
                if self.template["Resources"][logical_id]["Properties"]
                    .get("StreamSpecification")
                    .is_none()
                {
                    return unresolved(place, &format!("{logical_id} has no StreamSpecification"));
                }
                format!("arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}/stream/{STREAM_LABEL}")
            }
            (Kind::Stream, "Arn") => {
                format!("arn:aws:kinesis:{REGION}:{ACCOUNT}:stream/{name}")
            }
            (Kind::Function, "Arn") => function_arn(&name),
            (Kind::WebSocketApi, "ApiEndpoint") => self.websocket_url.clone(),
            (Kind::WebSocketApi, "ApiId") => name,
            (Kind::Bucket, "Arn") => format!("arn:aws:s3:::{name}"),
            (Kind::NoEffect, _) => format!("local-{logical_id}-{attribute}"),
            _ => {
                let message = format!(
                    "the local cloud does not know the attribute {attribute} of {logical_id}; teach it in {}",
                    file!()
                );
                return unresolved(place, &message);
            }
        })
    }

    /// What `Ref` of a stream's consumer gives: the ARN of its stream, and behind it its own name.
    fn consumer_arn(&self, logical_id: &str, place: &str, depth: usize) -> Resolved<String> {
        let properties = &self.template["Resources"][logical_id]["Properties"];
        let resolved = self
            .value(properties, place, depth + 1)?
            .unwrap_or_default();
        match (&resolved["StreamARN"], &resolved["ConsumerName"]) {
            (Value::String(stream), Value::String(name)) => {
                Ok(format!("{stream}/consumer/{name}:1735689600"))
            }
            _ => unresolved(
                place,
                &format!("{logical_id} needs StreamARN and ConsumerName"),
            ),
        }
    }

    fn is_made_for_a_websocket_api(&self, logical_id: &str) -> bool {
        let mut resources = self.template["Resources"].as_object().into_iter().flatten();
        resources.any(|(api, declaration)| {
            let is_api = declaration["Type"].as_str().and_then(kind_of) == Some(Kind::WebSocketApi);
            is_api && websocket_api::is_made_for(logical_id, api, declaration)
        })
    }

    /// What the local cloud does with a resource: nothing with those that only SAM makes.
    fn kind(&self, logical_id: &str, place: &str) -> Resolved<Kind> {
        let resources = &self.template["Resources"];
        if let Some(resource) = resources.get(logical_id) {
            if !self.exists(logical_id)? {
                return unresolved(
                    place,
                    &format!("{logical_id} does not exist: its condition is false"),
                );
            }
            // `Resource::new` refuses a type that is not known.
            let kind = resource["Type"].as_str().and_then(kind_of);
            return Ok(kind.unwrap_or(Kind::NoEffect));
        }
        let is_of = |suffix: &str, kind: Kind| {
            logical_id
                .strip_suffix(suffix)
                .and_then(|maker| resources[maker]["Type"].as_str())
                .is_some_and(|maker| kind_of(maker) == Some(kind))
        };
        let is_made_by_sam = logical_id == IMPLICIT_API
            || is_of("Role", Kind::Function)
            || is_of("ApiGatewayDefaultStage", Kind::HttpApi)
            || self.is_made_for_a_websocket_api(logical_id);
        if is_made_by_sam {
            Ok(Kind::NoEffect)
        } else {
            unresolved(
                place,
                &format!("{logical_id} is neither a parameter nor a resource"),
            )
        }
    }
}

pub(crate) fn function_arn(name: &str) -> String {
    format!("arn:aws:lambda:{REGION}:{ACCOUNT}:function:{name}")
}

fn generated_name(logical_id: &str, kind: Kind) -> String {
    let name = format!("{STACK}-{logical_id}");
    // The name of a bucket has no capital letters.
    if kind == Kind::Bucket {
        name.to_lowercase()
    } else {
        name
    }
}
