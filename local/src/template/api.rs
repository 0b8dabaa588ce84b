//! An HTTP API: its authorizers, its CORS settings, and the routes that functions have on it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::intrinsics::Unresolved;
use super::properties::{Known, Properties, mistake};

#[derive(Debug, Clone)]
pub(crate) struct Route {
    /// Logical id of the API.
    pub(crate) api: String,
    /// Upper case, or `ANY`.
    pub(crate) method: String,
    /// `/v1/users/{id}`, or `$default`.
    pub(crate) path: String,
    /// `None`: the API's default. `Some("NONE")`: nobody is asked for a token.
    pub(crate) authorizer: Option<String>,
    pub(crate) scopes: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct HttpApi {
    pub(crate) default_authorizer: Option<String>,
    pub(crate) authorizers: BTreeMap<String, Authorizer>,
    pub(crate) cors: Option<Cors>,
}

#[derive(Debug, Clone)]
pub(crate) struct Authorizer {
    /// `$request.header.Authorization`.
    pub(crate) identity_source: String,
    pub(crate) issuer: String,
    pub(crate) audience: Vec<String>,
}

#[derive(Debug, Default, Clone)]
pub(crate) struct Cors {
    pub(crate) origins: Vec<String>,
    pub(crate) methods: Vec<String>,
    pub(crate) headers: Vec<String>,
    pub(crate) exposed_headers: Vec<String>,
    pub(crate) credentials: bool,
    pub(crate) max_age_seconds: Option<u64>,
}

/// The API of routes that name none: SAM makes it up.
pub(super) const IMPLICIT_API: &str = "ServerlessHttpApi";

pub(super) const HTTP_API: Known = Known {
    of: "an HTTP API",
    file: file!(),
    read: &["Auth", "CorsConfiguration"],
    no_effect: &[
        // Throttling is for all callers together; one developer does not reach it.
        "DefaultRouteSettings",
        "RouteSettings",
        // The terminal shows every request.
        "AccessLogSettings",
        // Nobody asks for names and tags.
        "Description",
        "Name",
        "PropagateTags",
        "Tags",
    ],
};

const AUTH: Known = Known {
    of: "an HTTP API's authorization",
    file: file!(),
    read: &["Authorizers", "DefaultAuthorizer"],
    no_effect: &[],
};

const AUTHORIZER: Known = Known {
    of: "a JWT authorizer",
    file: file!(),
    read: &["IdentitySource", "JwtConfiguration"],
    no_effect: &[],
};

const JWT: Known = Known {
    of: "a JWT authorizer's configuration",
    file: file!(),
    read: &["audience", "issuer"],
    no_effect: &[],
};

const CORS: Known = Known {
    of: "an HTTP API's CORS settings",
    file: file!(),
    read: &[
        "AllowCredentials",
        "AllowHeaders",
        "AllowMethods",
        "AllowOrigins",
        "ExposeHeaders",
        "MaxAge",
    ],
    no_effect: &[],
};

pub(super) const ROUTE: Known = Known {
    of: "a route",
    file: file!(),
    read: &["ApiId", "Auth", "Method", "Path", "PayloadFormatVersion"],
    // Throttling, as above.
    no_effect: &["RouteSettings"],
};

const ROUTE_AUTH: Known = Known {
    of: "a route's authorization",
    file: file!(),
    read: &["AuthorizationScopes", "Authorizer"],
    no_effect: &[],
};

impl HttpApi {
    /// Reads the API's properties, free of intrinsic functions.
    pub(super) fn read(value: &Value, place: &str) -> Result<Self, Unresolved> {
        let properties = Properties::new(value, place);
        let auth = properties.section("Auth", &AUTH)?;
        let mut authorizers = BTreeMap::new();
        for (name, authorizer) in auth.entries("Authorizers") {
            let place = format!("{}.Authorizers.{name}", auth.place);
            let authorizer = Authorizer::read(authorizer, &place)?;
            authorizers.insert(name.clone(), authorizer);
        }
        Ok(Self {
            default_authorizer: auth.text("DefaultAuthorizer"),
            authorizers,
            cors: Cors::read(&properties)?,
        })
    }
}

impl Authorizer {
    fn read(value: &Value, place: &str) -> Result<Self, Unresolved> {
        AUTHORIZER.check(value, place)?;
        let authorizer = Properties::new(value, place);
        let jwt = authorizer.section("JwtConfiguration", &JWT)?;
        let issuer = jwt.text("issuer");
        Ok(Self {
            identity_source: authorizer
                .text("IdentitySource")
                .unwrap_or_else(|| "$request.header.Authorization".to_owned()),
            issuer: issuer.ok_or_else(|| jwt.mistake("issuer", "is missing"))?,
            audience: jwt.texts("audience"),
        })
    }
}

impl Cors {
    fn read(api: &Properties<'_>) -> Result<Option<Self>, Unresolved> {
        let any = || vec!["*".to_owned()];
        match &api.value["CorsConfiguration"] {
            Value::Null | Value::Bool(false) => return Ok(None),
            Value::Bool(true) => {
                return Ok(Some(Self {
                    origins: any(),
                    methods: any(),
                    headers: any(),
                    ..Self::default()
                }));
            }
            _ => {}
        }
        let cors = api.section("CorsConfiguration", &CORS)?;
        Ok(Some(Self {
            origins: cors.texts("AllowOrigins"),
            methods: cors.texts("AllowMethods"),
            headers: cors.texts("AllowHeaders"),
            exposed_headers: cors.texts("ExposeHeaders"),
            credentials: cors.flag("AllowCredentials")?.unwrap_or(false),
            max_age_seconds: cors.number("MaxAge")?,
        }))
    }
}

impl Route {
    /// `api` is `ApiId` as it stands in the template: resolved, it would be a name that says nothing.
    pub(super) fn read(
        api: Option<&Value>,
        properties: &Properties<'_>,
    ) -> Result<Self, Unresolved> {
        let api = match api {
            None => IMPLICIT_API,
            Some(reference) => reference["Ref"]
                .as_str()
                .ok_or_else(|| properties.mistake("ApiId", "must be !Ref of an HTTP API"))?,
        };
        let version = properties.text("PayloadFormatVersion");
        if version.is_some_and(|version| version != "2.0") {
            let message = "only 2.0 is known here";
            return Err(properties.mistake("PayloadFormatVersion", message));
        }
        let auth = properties.section("Auth", &ROUTE_AUTH)?;
        let method = properties.text("Method");
        Ok(Self {
            api: api.to_owned(),
            method: method.map_or_else(
                || "ANY".to_owned(),
                |method| method.to_uppercase().replace('*', "ANY"),
            ),
            path: properties
                .text("Path")
                .unwrap_or_else(|| "$default".to_owned()),
            authorizer: auth.text("Authorizer"),
            scopes: auth.texts("AuthorizationScopes"),
        })
    }

    /// A missing API or authorizer would otherwise show as a route that nobody can call.
    pub(super) fn check(
        &self,
        apis: &BTreeMap<String, HttpApi>,
        place: &str,
    ) -> Result<(), Unresolved> {
        let Some(api) = apis.get(&self.api) else {
            let message = format!("{} is no HTTP API of this template", self.api);
            return Err(mistake(place, message));
        };
        let authorizer = self.authorizer.as_ref().or(api.default_authorizer.as_ref());
        match authorizer {
            Some(name) if name != "NONE" && !api.authorizers.contains_key(name) => {
                let message = format!("{name} is no JWT authorizer of {}", self.api);
                Err(mistake(place, message))
            }
            _ => Ok(()),
        }
    }
}
