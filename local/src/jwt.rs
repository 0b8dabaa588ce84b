//! The local token issuer and the check that API Gateway's JWT authorizer makes.
//!
//! Tokens are signed with RS256, the only family that the real authorizer accepts, by a key that lives as long as the
//! process. Everybody who asks for a token gets one, because this issuer is for one machine only.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::{KeyPair as _, RSA_PKCS1_SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Utc;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::error::StartError;
use crate::template::Authorizer;

pub(crate) struct Issuer {
    pub(crate) url: String,
    audience: String,
    key_id: String,
    signing: KeyPair,
    checking: DecodingKey,
    modulus: String,
    exponent: String,
}

/// Why a token was refused; the text is what `www-authenticate` tells the client.
#[derive(Debug, PartialEq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("the token is missing")]
    Missing,
    #[error("the token is malformed")]
    Malformed,
    #[error("the token has an invalid signature")]
    Signature,
    #[error("the token has expired")]
    Expired,
    #[error("the token is not valid yet")]
    NotYetValid,
    #[error("the token has an invalid issuer")]
    Issuer,
    #[error("the token has an invalid audience")]
    Audience,
}

impl Issuer {
    /// Makes a new key, which takes a moment.
    pub(crate) fn new(url: String, audience: String) -> Result<Self, StartError> {
        let signing = KeyPair::generate(KeySize::Rsa2048)
            .map_err(|_| StartError::Issuer("cannot make an RSA key".to_owned()))?;
        let public = signing.public_key();
        let modulus = public.modulus().big_endian_without_leading_zero().to_vec();
        let exponent = public.exponent().big_endian_without_leading_zero().to_vec();
        Ok(Self {
            url,
            audience,
            key_id: Uuid::new_v4().to_string(),
            signing,
            checking: DecodingKey::from_rsa_raw_components(&modulus, &exponent),
            modulus: URL_SAFE_NO_PAD.encode(modulus),
            exponent: URL_SAFE_NO_PAD.encode(exponent),
        })
    }

    /// A token for `subject`, which expires in so many seconds; tests ask for one that already has.
    pub(crate) fn token(&self, subject: &str, expires_in: i64) -> Option<String> {
        let now = Utc::now().timestamp();
        let claims = json!({
            "sub": subject,
            "iss": self.url,
            "aud": self.audience,
            "iat": now,
            "exp": now.saturating_add(expires_in),
            "jti": Uuid::new_v4().to_string(),
        });
        self.sign(&claims)
    }

    fn sign(&self, claims: &Value) -> Option<String> {
        let header = json!({"alg": "RS256", "typ": "JWT", "kid": self.key_id});
        let signed = [header, claims.clone()]
            .map(|part| URL_SAFE_NO_PAD.encode(part.to_string()))
            .join(".");
        let mut signature = vec![0; self.signing.public_modulus_len()];
        self.signing
            .sign(
                &RSA_PKCS1_SHA256,
                &SystemRandom::new(),
                signed.as_bytes(),
                &mut signature,
            )
            .ok()?;
        Some(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }

    /// The claims of a token that the authorizer accepts.
    pub(crate) fn check(
        &self,
        token: &str,
        authorizer: &Authorizer,
    ) -> Result<Map<String, Value>, Refusal> {
        let mut validation = Validation::new(Algorithm::RS256);
        validation.set_issuer(&[&authorizer.issuer]);
        validation.set_required_spec_claims(&["exp", "iss"]);
        validation.leeway = 0;
        validation.validate_nbf = true;
        // A Cognito access token has a client_id instead of an audience; both are looked at below.
        validation.validate_aud = false;
        let claims = jsonwebtoken::decode::<Map<String, Value>>(token, &self.checking, &validation)
            .map_err(|error| match error.kind() {
                ErrorKind::ExpiredSignature => Refusal::Expired,
                ErrorKind::ImmatureSignature => Refusal::NotYetValid,
                ErrorKind::InvalidIssuer => Refusal::Issuer,
                ErrorKind::InvalidSignature | ErrorKind::InvalidAlgorithm => Refusal::Signature,
                _ => Refusal::Malformed,
            })?
            .claims;
        let made_out_to = |claim: &str| match claims.get(claim) {
            Some(Value::String(one)) => authorizer.audience.contains(one),
            Some(Value::Array(several)) => several
                .iter()
                .filter_map(Value::as_str)
                .any(|one| authorizer.audience.iter().any(|known| known == one)),
            _ => false,
        };
        let accepted = if claims.contains_key("aud") {
            made_out_to("aud")
        } else {
            made_out_to("client_id")
        };
        if accepted {
            Ok(claims)
        } else {
            Err(Refusal::Audience)
        }
    }

    pub(crate) fn openid_configuration(&self) -> Value {
        json!({
            "issuer": self.url,
            "jwks_uri": format!("{}/.well-known/jwks.json", self.url),
            "token_endpoint": format!("{}/dev/token", self.url),
            "response_types_supported": ["token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        })
    }

    pub(crate) fn key_set(&self) -> Value {
        json!({"keys": [{
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.key_id, "n": self.modulus, "e": self.exponent,
        }]})
    }
}

/// The token of an `Authorization` header: API Gateway takes it with and without `Bearer`.
pub(crate) fn bearer(header: &str) -> Result<&str, Refusal> {
    let token = match header.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        Some(_) => return Err(Refusal::Malformed),
        None => header.trim(),
    };
    if token.is_empty() {
        Err(Refusal::Missing)
    } else {
        Ok(token)
    }
}

/// Claims as a function gets them: all of them texts, lists in brackets.
pub(crate) fn claims_as_texts(claims: &Map<String, Value>) -> Map<String, Value> {
    fn text(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => {
                format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(" "))
            }
            other => other.to_string(),
        }
    }
    claims
        .iter()
        .map(|(name, value)| (name.clone(), Value::String(text(value))))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;

    static ISSUER: LazyLock<Issuer> = LazyLock::new(|| {
        Issuer::new("http://issuer".to_owned(), "roost".to_owned()).expect("a key")
    });

    fn authorizer() -> Authorizer {
        Authorizer {
            identity_source: "$request.header.Authorization".to_owned(),
            issuer: "http://issuer".to_owned(),
            audience: vec!["roost".to_owned()],
        }
    }

    fn check(claims: &Value) -> Result<Map<String, Value>, Refusal> {
        ISSUER.check(&ISSUER.sign(claims).expect("signed"), &authorizer())
    }

    #[test]
    fn a_token_of_the_issuer_is_accepted_and_says_who_is_calling() {
        let token = ISSUER.token("alice", 60).expect("a token");
        let claims = ISSUER.check(&token, &authorizer()).expect("accepted");
        assert_eq!(claims["sub"], "alice");
    }

    #[test]
    fn an_expired_token_is_refused() {
        let token = ISSUER.token("alice", -1).expect("a token");
        assert_eq!(ISSUER.check(&token, &authorizer()), Err(Refusal::Expired));
    }

    #[test]
    fn issuer_audience_and_start_are_checked() {
        let soon = Utc::now().timestamp() + 60;
        let good = json!({"iss": "http://issuer", "aud": ["x", "roost"], "exp": soon});
        assert!(check(&good).is_ok());
        assert!(check(&json!({"iss": "http://issuer", "client_id": "roost", "exp": soon})).is_ok());
        assert_eq!(
            check(&json!({"iss": "http://issuer", "aud": "x", "exp": soon})),
            Err(Refusal::Audience)
        );
        assert_eq!(
            check(&json!({"iss": "http://issuer", "exp": soon})),
            Err(Refusal::Audience)
        );
        assert_eq!(
            check(&json!({"iss": "http://other", "aud": "roost", "exp": soon})),
            Err(Refusal::Issuer)
        );
        assert_eq!(
            check(&json!({"iss": "http://issuer", "aud": "roost", "exp": soon, "nbf": soon})),
            Err(Refusal::NotYetValid)
        );
        assert!(
            check(&json!({"iss": "http://issuer", "aud": "roost"})).is_err(),
            "it never expires"
        );
    }

    #[test]
    fn a_token_that_was_changed_or_signed_by_others_is_refused() {
        let token = ISSUER.token("alice", 60).expect("a token");
        let forged = URL_SAFE_NO_PAD
            .encode(r#"{"sub":"mallory","iss":"http://issuer","aud":"roost","exp":9999999999}"#);
        let mut parts: Vec<&str> = token.split('.').collect();
        parts[1] = &forged;
        assert_eq!(
            ISSUER.check(&parts.join("."), &authorizer()),
            Err(Refusal::Signature)
        );
        let unsigned = format!("{}.{forged}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none"}"#));
        assert!(ISSUER.check(&unsigned, &authorizer()).is_err());
        let other = Issuer::new("http://issuer".to_owned(), "roost".to_owned()).expect("a key");
        let foreign = other.token("alice", 60).expect("a token");
        assert_eq!(
            ISSUER.check(&foreign, &authorizer()),
            Err(Refusal::Signature)
        );
        assert_eq!(
            ISSUER.check("not.a.token", &authorizer()),
            Err(Refusal::Malformed)
        );
    }

    #[test]
    fn the_scheme_is_optional_and_nothing_else_is_taken_for_a_token() {
        assert_eq!(bearer("Bearer abc"), Ok("abc"));
        assert_eq!(bearer("bearer abc"), Ok("abc"));
        assert_eq!(bearer("abc"), Ok("abc"));
        assert_eq!(bearer("Basic abc"), Err(Refusal::Malformed));
        assert_eq!(bearer("Bearer "), Err(Refusal::Missing));
    }

    #[test]
    fn claims_become_texts() {
        let claims = json!({"exp": 5, "ok": true, "groups": ["a", "b"]});
        let texts = claims_as_texts(claims.as_object().expect("an object"));
        assert_eq!(
            Value::Object(texts),
            json!({"exp": "5", "ok": "true", "groups": "[a b]"})
        );
    }
}
