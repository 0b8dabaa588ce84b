"""Tokens of the deployment's own user pool, for the end-to-end suite.

The suite asks for tokens as it asks the local cloud: `POST {"sub": …}`. Cognito chooses the `sub` of its users itself, and
the suite reads it from the token. So here a name that was not asked for before becomes a new user of the pool, and a name
that was asked for before gets another token of the same user. At the end the users are deleted again.
"""

import hashlib
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Tokens:
    """Serves on this machine only."""

    def __init__(self, cognito, pool: str, client: str):
        self.cognito, self.pool, self.client = cognito, pool, client
        # By the name that was asked for: address and password.
        self.users: dict[str, tuple[str, str]] = {}
        self.lock = threading.Lock()
        tokens = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
                try:
                    self.answer(200, {"access_token": tokens.token(asked["sub"]), "token_type": "Bearer"})
                except Exception as problem:  # Whatever it is, the suite has to see it.
                    self.answer(502, {"detail": str(problem)})

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
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/token"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def token(self, name: str) -> str:
        with self.lock:
            user = self.users.get(name) or self.sign_up(name)
            self.users[name] = user
        address, password = user
        answer = self.cognito.initiate_auth(
            ClientId=self.client,
            AuthFlow="USER_PASSWORD_AUTH",
            AuthParameters={"USERNAME": address, "PASSWORD": password},
        )
        return answer["AuthenticationResult"]["AccessToken"]

    def sign_up(self, name: str) -> tuple[str, str]:
        # People of the pool are known by their addresses; nobody gets mail at example.com.
        address = f"{hashlib.sha256(name.encode()).hexdigest()[:24]}@roost.example.com"
        # With all that a pool's policy may ask for.
        password = f"Aa1-{secrets.token_urlsafe(24)}"
        self.cognito.admin_create_user(
            UserPoolId=self.pool,
            Username=address,
            MessageAction="SUPPRESS",
            UserAttributes=[{"Name": "email", "Value": address}, {"Name": "email_verified", "Value": "true"}],
        )
        self.cognito.admin_set_user_password(
            UserPoolId=self.pool, Username=address, Password=password, Permanent=True
        )
        return address, password

    def stop(self) -> None:
        self.server.shutdown()
        for address, _ in self.users.values():
            self.cognito.admin_delete_user(UserPoolId=self.pool, Username=address)
