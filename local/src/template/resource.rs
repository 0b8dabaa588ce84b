//! A resource of the template: what kind of thing its type makes it here, its name, and its properties.

use serde_json::{Value, json};

use super::intrinsics::{Resolver, Unresolved, plain};
use super::properties::{Known, mistake, with_globals};

/// What the local cloud does with a resource.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Table,
    Stream,
    /// Has a stream push its records to one reader.
    StreamConsumer,
    Function,
    /// An event source of a function that stands by itself.
    EventSource,
    HttpApi,
    WebSocketApi,
    /// Lets a route of a WebSocket API answer.
    RouteResponse,
    /// A folder of the state directory, for the batches that were given up.
    Bucket,
    /// Nothing, and that is right: see [`NO_EFFECT`].
    NoEffect,
}

/// The resource types that are acted on.
const ACTED_ON: &[(&str, Kind)] = &[
    ("AWS::DynamoDB::Table", Kind::Table),
    ("AWS::Kinesis::Stream", Kind::Stream),
    ("AWS::Kinesis::StreamConsumer", Kind::StreamConsumer),
    ("AWS::Lambda::EventSourceMapping", Kind::EventSource),
    ("AWS::Serverless::Function", Kind::Function),
    ("AWS::Serverless::HttpApi", Kind::HttpApi),
    ("AWS::Serverless::WebSocketApi", Kind::WebSocketApi),
    ("AWS::ApiGatewayV2::RouteResponse", Kind::RouteResponse),
    ("AWS::S3::Bucket", Kind::Bucket),
];

/// The resource types that are known, and have no effect here. A type that is in neither list is refused.
const NO_EFFECT: &[&str] = &[
    // Nobody checks permissions on one machine. `make verify` does.
    "AWS::IAM::ManagedPolicy",
    "AWS::IAM::Policy",
    "AWS::IAM::Role",
    "AWS::Lambda::Permission",
    "AWS::S3::BucketPolicy",
    // Nothing is encrypted here: all data is gone when the process ends.
    "AWS::KMS::Alias",
    "AWS::KMS::Key",
    // The terminal shows what happens; nobody is woken up.
    "AWS::CloudWatch::Alarm",
    "AWS::CloudWatch::CompositeAlarm",
    "AWS::CloudWatch::Dashboard",
    "AWS::Logs::LogGroup",
    "AWS::Logs::MetricFilter",
    // The local token issuer is given as the parameter JwtIssuer.
    "AWS::Cognito::UserPool",
    "AWS::Cognito::UserPoolClient",
    "AWS::Cognito::UserPoolDomain",
    // The Redis that was started here is given as the secret that RedisUrlSecretArn names. It has no password.
    "AWS::ElastiCache::ServerlessCache",
    "AWS::ElastiCache::User",
    "AWS::ElastiCache::UserGroup",
    "AWS::SecretsManager::Secret",
    // Everything listens on 127.0.0.1.
    "AWS::EC2::RouteTable",
    "AWS::EC2::SecurityGroup",
    "AWS::EC2::SecurityGroupEgress",
    "AWS::EC2::SecurityGroupIngress",
    "AWS::EC2::Subnet",
    "AWS::EC2::SubnetRouteTableAssociation",
    "AWS::EC2::VPC",
    "AWS::EC2::VPCEndpoint",
];

/// What stands beside a resource's properties.
const ATTRIBUTES: Known = Known {
    of: "a resource",
    file: file!(),
    read: &["Type", "Condition", "Properties", "Metadata"],
    no_effect: &[
        // Everything is created at every start, in the order of need, and nothing outlives the process.
        "DeletionPolicy",
        "DependsOn",
        "UpdateReplacePolicy",
    ],
};

/// One resource together with what its intrinsic functions need.
pub(super) struct Resource<'a> {
    pub(super) logical_id: &'a str,
    pub(super) declaration: &'a Value,
    pub(super) kind: Kind,
    /// `Resources.TweetsTable.Properties`.
    pub(super) place: String,
    resolver: &'a Resolver<'a>,
}

impl<'a> Resource<'a> {
    /// Refuses a type that the local cloud does not know.
    pub(super) fn new(
        logical_id: &'a str,
        declaration: &'a Value,
        resolver: &'a Resolver<'a>,
    ) -> Result<Self, Unresolved> {
        let place = format!("Resources.{logical_id}");
        let Some(resource_type) = declaration["Type"].as_str() else {
            return Err(mistake(&place, "has no Type"));
        };
        let Some(kind) = kind_of(resource_type) else {
            let message = format!(
                "the local cloud does not know the resource type {resource_type}; teach it in {}, or list it there as \
                 one that has no effect on one machine",
                file!()
            );
            return Err(mistake(&place, message));
        };
        ATTRIBUTES.check(declaration, &place)?;
        Ok(Self {
            logical_id,
            declaration,
            kind,
            place: format!("{place}.Properties"),
            resolver,
        })
    }

    pub(super) fn exists(&self) -> Result<bool, Unresolved> {
        self.resolver.exists(self.logical_id)
    }

    /// Its name at AWS.
    pub(super) fn name(&self) -> Result<String, Unresolved> {
        let reference = json!({ "Ref": self.logical_id });
        let name = self.resolver.resolve(&reference, &self.place)?;
        Ok(plain(&name))
    }

    /// Those of its properties that are read, free of intrinsic functions.
    pub(super) fn properties(&self, known: &Known) -> Result<Value, Unresolved> {
        self.properties_over(&Value::Null, known)
    }

    /// The same, on top of what `Globals` says of its type.
    pub(super) fn properties_over(
        &self,
        globals: &Value,
        known: &Known,
    ) -> Result<Value, Unresolved> {
        let own = self.declaration.get("Properties").unwrap_or(&Value::Null);
        self.resolve(&known.take(&with_globals(globals, own), &self.place)?)
    }

    /// A value of its properties, free of intrinsic functions.
    pub(super) fn resolve(&self, value: &Value) -> Result<Value, Unresolved> {
        self.resolver.resolve(value, &self.place)
    }
}

pub(super) fn kind_of(resource_type: &str) -> Option<Kind> {
    if NO_EFFECT.contains(&resource_type) {
        return Some(Kind::NoEffect);
    }
    ACTED_ON
        .iter()
        .find(|(known, _)| *known == resource_type)
        .map(|(_, kind)| *kind)
}
