"""An OIDC issuer for one run: everybody who asks for a token gets it.

API Gateway's JWT authorizer reads /.well-known/openid-configuration and the keys that it names, and accepts RS256.
"""

import base64
import json
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def encoded_json(value: dict) -> str:
    return encoded(json.dumps(value).encode())


class Issuer:
    AUDIENCE = "roost"

    def __init__(self):
        self.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.key_id = str(uuid.uuid4())
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                documents = {
                    "/.well-known/openid-configuration": issuer.configuration,
                    "/.well-known/jwks.json": issuer.key_set,
                }
                document = documents.get(self.path)
                self.answer(200, document()) if document else self.answer(404, {})

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                token = issuer.token(asked["sub"], asked.get("expires_in", 3600))
                self.answer(200, {"access_token": token, "token_type": "Bearer"})

            def answer(self, status: int, body: dict):
                text = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                """Requests are of no interest, and a token must not be in any log."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.token_url = f"{self.url}/token"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token(self, subject: str, expires_in: int) -> str:
        now = int(time.time())
        header = {"alg": "RS256", "typ": "JWT", "kid": self.key_id}
        claims = {
            "sub": subject,
            "iss": self.url,
            "aud": self.AUDIENCE,
            "iat": now,
            "exp": now + expires_in,
            "jti": str(uuid.uuid4()),
        }
        signed = f"{encoded_json(header)}.{encoded_json(claims)}"
        signature = self.key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signed}.{encoded(signature)}"

    def configuration(self) -> dict:
        return {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/.well-known/jwks.json",
            "token_endpoint": self.token_url,
            "id_token_signing_alg_values_supported": ["RS256"],
        }

    def key_set(self) -> dict:
        numbers = self.key.public_key().public_numbers()
        number = lambda value: encoded(value.to_bytes((value.bit_length() + 7) // 8, "big"))
        return {
            "keys": [
                {
                    "kty": "RSA",
                    "use": "sig",
                    "alg": "RS256",
                    "kid": self.key_id,
                    "n": number(numbers.n),
                    "e": number(numbers.e),
                }
            ]
        }

    def stop(self) -> None:
        self.server.shutdown()
