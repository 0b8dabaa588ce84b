//! The whole API at a real port, with real sockets and real functions: `function.py`, over the Lambda Runtime API.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use futures_util::{SinkExt, StreamExt};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{CloseCode, Data, OpCode};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::*;
use crate::template::{Machine, Template};

const TEMPLATE: &str = r#"
Resources:
  LiveApi:
    Type: AWS::Serverless::WebSocketApi
    Properties:
      RouteSelectionExpression: $request.body.type
      StageName: live
      Auth: { AuthType: CUSTOM, AuthArn: !GetAtt Authorize.Arn, IdentitySource: [route.request.querystring.ticket] }
      Routes:
        $connect: { FunctionArn: !GetAtt Connect.Arn }
        $disconnect: { FunctionArn: !GetAtt Disconnect.Arn }
        $default: { FunctionArn: !GetAtt Messages.Arn, RouteResponseSelectionExpression: $default }
        quiet: { FunctionArn: !GetAtt Quiet.Arn }
  LiveReplies:
    Type: AWS::ApiGatewayV2::RouteResponse
    Properties: { ApiId: !Ref LiveApi, RouteId: !Ref LiveApiDefaultRoute, RouteResponseKey: $default }
  Authorize: { Type: AWS::Serverless::Function, Properties: { Timeout: 20, ReservedConcurrentExecutions: 2 } }
  Connect: { Type: AWS::Serverless::Function, Properties: { Timeout: 20, ReservedConcurrentExecutions: 2 } }
  Disconnect: { Type: AWS::Serverless::Function, Properties: { Timeout: 20, ReservedConcurrentExecutions: 2 } }
  Messages: { Type: AWS::Serverless::Function, Properties: { Timeout: 20, ReservedConcurrentExecutions: 2 } }
  Quiet: { Type: AWS::Serverless::Function, Properties: { Timeout: 20, ReservedConcurrentExecutions: 2 } }
"#;

/// Longer than anything here takes, also on a machine with much else to do.
const PATIENCE: Duration = Duration::from_secs(20);

type ClientSocket = WebSocketStream<TcpStream>;

/// The API at a port of its own. Functions end with it.
struct Api {
    address: SocketAddr,
    folder: PathBuf,
    lambda: Lambda,
    gateway: Arc<WebSocketGateway>,
}

impl Api {
    async fn start() -> Self {
        Self::start_with(Limits::API_GATEWAY).await
    }

    async fn start_with(limits: Limits) -> Self {
        let folder = std::env::temp_dir().join(format!("roost-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir(&folder).expect("a folder");
        for function in ["authorize", "connect", "disconnect", "messages", "quiet"] {
            let file = folder.join(function);
            std::fs::write(&file, include_str!("function.py")).expect("a function");
            let executable = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(&file, executable).expect("executable");
        }
        let file = folder.join("template.yaml");
        std::fs::write(&file, TEMPLATE).expect("a template");
        let stack = Template::read(&file)
            .and_then(|template| template.resolve(&BTreeMap::new(), Machine::default(), |_| None))
            .unwrap_or_else(|error| panic!("{error}"));
        let environment = BTreeMap::from([
            (
                "PATH".to_owned(),
                std::env::var("PATH").expect("there is one"),
            ),
            ("FOLDER".to_owned(), folder.display().to_string()),
        ]);
        let lambda = Lambda::start(&stack.functions, &folder, &environment)
            .await
            .unwrap_or_else(|error| panic!("{error}"));
        let mut gateway =
            WebSocketGateway::new(&stack.websocket_api.expect("it is there"), &lambda);
        gateway.limits = limits;
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens");
        let gateway = Arc::new(gateway);
        tokio::spawn(serve(listener, Some(Arc::clone(&gateway))));
        Self {
            address,
            folder,
            lambda,
            gateway,
        }
    }

    async fn connect(&self, target: &str) -> Result<ClientSocket, (u16, Value)> {
        let stream = TcpStream::connect(self.address).await.expect("it listens");
        let url = format!("ws://localhost:{}{target}", self.address.port());
        match client_async(url, stream).await {
            Ok((socket, _)) => Ok(socket),
            Err(Error::Http(response)) => {
                let body = response.body().as_deref().unwrap_or_default();
                let body = serde_json::from_slice(body).unwrap_or_default();
                Err((response.status().as_u16(), body))
            }
            Err(error) => panic!("{error}"),
        }
    }

    /// Somebody who is connected, with the id of the connection.
    async fn alice(&self) -> (ClientSocket, String) {
        let mut socket = self.connect("/live?ticket=alice").await.expect("allowed");
        let context = ask(&mut socket, "context").await;
        let context: Value = serde_json::from_str(&context).expect("a context");
        let id = context["connectionId"].as_str().expect("an id").to_owned();
        (socket, id)
    }

    /// A request to the management API, signed by `key`: the whole answer.
    async fn manage(&self, method: &str, id: &str, body: &[u8], key: Option<&str>) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        let authorization = key.map_or_else(String::new, |key| {
            let scope = "20250101/us-east-1/execute-api/aws4_request";
            format!("Authorization: AWS4-HMAC-SHA256 Credential={key}/{scope}, Signature=0\r\n")
        });
        let id = id.replace('=', "%3D");
        let head = format!(
            "{method} /live/@connections/{id} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             {authorization}Content-Length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.expect("it reads");
        // It may refuse a body before it has read it all.
        let _ = stream.write_all(body).await;
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer).await;
        String::from_utf8_lossy(&answer).into_owned()
    }

    async fn send(&self, id: &str, body: &[u8]) -> u16 {
        status_of(&self.manage("POST", id, body, Some(ACCESS_KEY)).await)
    }

    /// What `$disconnect` was told of a connection.
    async fn disconnected(&self, id: &str) -> Value {
        self.noted(id).await
    }

    /// What a function was told, once it has noted it.
    async fn noted(&self, name: &str) -> Value {
        let told = async {
            loop {
                if let Some(context) = read_json(&self.folder.join(name)) {
                    return context;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        soon(told).await
    }

    async fn stop(self) {
        self.lambda.stop().await;
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn read_json(file: &Path) -> Option<Value> {
    serde_json::from_slice(&std::fs::read(file).ok()?).ok()
}

fn status_of(answer: &str) -> u16 {
    let status = answer.split(' ').nth(1).unwrap_or_default();
    status.parse().unwrap_or_else(|_| panic!("{answer:?}"))
}

async fn soon<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, work).await.expect("in time")
}

async fn say_to(socket: &mut ClientSocket, text: &str) {
    socket.send(Message::text(text)).await.expect("it reads");
}

/// The next text on a socket.
async fn hear(socket: &mut ClientSocket) -> String {
    loop {
        let frame = soon(socket.next()).await.expect("open").expect("a frame");
        if let Message::Text(text) = frame {
            return text.to_string();
        }
    }
}

async fn ask(socket: &mut ClientSocket, text: &str) -> String {
    say_to(socket, text).await;
    hear(socket).await
}

/// The code with which the other side ends a connection.
async fn closed(socket: &mut ClientSocket) -> Option<u16> {
    while let Some(Ok(frame)) = soon(socket.next()).await {
        if let Message::Close(frame) = frame {
            return frame.map(|frame| frame.code.into());
        }
    }
    None
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_with_a_ticket_connects_and_functions_learn_who_it_is() {
    let api = Api::start().await;
    for target in ["/live?ticket=alice", "/live/?ticket=alice"] {
        let mut socket = api.connect(target).await.expect("allowed");
        let context = ask(&mut socket, "context").await;
        let context: Value = serde_json::from_str(&context).expect("a context");
        assert_eq!(
            context["authorizer"],
            json!({"principalId": "alice", "user_id": "7", "level": "3"})
        );
        assert_eq!(
            context["domainName"],
            json!(format!("localhost:{}", api.address.port()))
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_may_not_connect_learns_it_from_the_status() {
    let api = Api::start().await;
    for (target, status, message) in [
        ("/live", 401, "Unauthorized"),
        ("/live?ticket=", 401, "Unauthorized"),
        ("/live?ticket=unauthorized", 401, "Unauthorized"),
        ("/live?ticket=bad", 403, "Forbidden"),
        ("/live?ticket=broken", 500, "Internal server error"),
        ("/live?ticket=a&status=429", 429, "Too Many Requests"),
        ("/live?ticket=a&status=fail", 502, "Internal server error"),
        ("/live?ticket=a&status=101", 502, "Internal server error"),
        ("/other?ticket=a", 403, "Forbidden"),
        ("/?ticket=a", 403, "Forbidden"),
        ("/live/more?ticket=a", 403, "Forbidden"),
    ] {
        let (refused, body) = api.connect(target).await.expect_err(target);
        assert_eq!(
            (refused, &body["message"]),
            (status, &json!(message)),
            "{target}"
        );
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_are_answered_in_their_order_and_only_on_routes_that_answer() {
    let api = Api::start().await;
    let (mut socket, _) = api.alice().await;
    for text in ["slow", r#"{"type":"quiet"}"#, r#"{"type":"ping"}"#, "last"] {
        say_to(&mut socket, text).await;
    }
    assert_eq!(hear(&mut socket).await, "slow");
    assert_eq!(hear(&mut socket).await, r#"{"type":"ping"}"#);
    assert_eq!(hear(&mut socket).await, "last");
    // A client cannot pretend that it connects once more.
    let pretended = r#"{"type":"$connect"}"#;
    assert_eq!(ask(&mut socket, pretended).await, pretended);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_fails_is_an_error_for_the_client_and_not_the_end() {
    let api = Api::start().await;
    let (mut socket, id) = api.alice().await;
    for text in ["fail", r#"{"type":"quiet","then":"fail"}"#] {
        let answer: Value = serde_json::from_str(&ask(&mut socket, text).await).expect("JSON");
        assert_eq!(answer["message"], "Internal server error");
        assert_eq!(answer["connectionId"], json!(id));
        assert!(answer["requestId"].is_string());
    }
    assert_eq!(ask(&mut socket, "still here").await, "still here");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_ping_is_answered_while_a_function_works() {
    let api = Api::start().await;
    let (mut socket, _) = api.alice().await;
    say_to(&mut socket, "slow").await;
    let ping = Message::Ping("are you there".into());
    socket.send(ping).await.expect("it reads");
    let frame = soon(socket.next()).await.expect("open").expect("a frame");
    assert_eq!(frame, Message::Pong("are you there".into()));
    assert_eq!(hear(&mut socket).await, "slow");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_sends_to_a_connection_looks_at_it_and_ends_it() {
    let api = Api::start().await;
    let (mut socket, id) = api.alice().await;
    assert_eq!(api.send(&id, b"news").await, 200);
    assert_eq!(hear(&mut socket).await, "news");
    assert_eq!(api.send(&id, b"not \xff UTF-8").await, 200);
    assert_eq!(hear(&mut socket).await, "not \u{fffd} UTF-8");

    let seen = api.manage("GET", &id, b"", Some(ACCESS_KEY)).await;
    assert_eq!(status_of(&seen), 200);
    for field in ["connectedAt", "lastActiveAt", "\"sourceIp\":\"127.0.0.1\""] {
        assert!(seen.contains(field), "{field} is not in {seen}");
    }

    let ended = api.manage("DELETE", &id, b"", Some(ACCESS_KEY)).await;
    assert_eq!(status_of(&ended), 204);
    assert_eq!(closed(&mut socket).await, Some(1000));
    let told = api.disconnected(&id).await;
    assert_eq!(told["disconnectStatusCode"], 1000);
    assert_eq!(told["disconnectReason"], "Connection Closed Normally");
    assert_eq!(told["authorizer"]["user_id"], "7");

    for method in ["POST", "GET", "DELETE"] {
        let gone = api.manage(method, &id, b"", Some(ACCESS_KEY)).await;
        assert_eq!(status_of(&gone), 410);
        assert!(gone.contains("x-amzn-errortype: GoneException"), "{gone}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_sent_before_the_end_still_arrives() {
    let api = Api::start().await;
    let (mut socket, id) = api.alice().await;
    let connection = api.gateway.connections.get(&id).expect("it is open");
    for number in 0..50 {
        assert_eq!(connection.send(number.to_string()), Ok(()));
    }
    connection.end(End::new(1000, "enough"));
    for number in 0..50 {
        assert_eq!(hear(&mut socket).await, number.to_string());
    }
    assert_eq!(closed(&mut socket).await, Some(1000));
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_is_of_no_use_to_somebody_without_the_access_key() {
    let api = Api::start().await;
    let (mut socket, id) = api.alice().await;
    for key in [None, Some("somebody"), Some("localhost")] {
        for method in ["POST", "GET", "DELETE"] {
            let answer = api.manage(method, &id, b"spam", key).await;
            assert_eq!(status_of(&answer), 403, "{answer}");
        }
    }
    assert_eq!(ask(&mut socket, "only mine").await, "only mine");
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_to_a_client_has_at_most_128_kb() {
    let api = Api::start().await;
    let (mut socket, id) = api.alice().await;
    let long = vec![b'x'; MAX_MESSAGE_BYTES];
    assert_eq!(api.send(&id, &long).await, 200);
    assert_eq!(hear(&mut socket).await.len(), MAX_MESSAGE_BYTES);
    let longer = vec![b'x'; MAX_MESSAGE_BYTES + 1];
    let answer = api.manage("POST", &id, &longer, Some(ACCESS_KEY)).await;
    assert_eq!(status_of(&answer), 413);
    assert!(
        answer.contains("x-amzn-errortype: PayloadTooLargeException"),
        "{answer}"
    );
    api.stop().await;
}

/// A message in frames of this size.
fn in_frames(bytes: usize, frame_bytes: usize) -> Vec<Frame> {
    let text = vec![b'x'; bytes];
    let count = bytes.div_ceil(frame_bytes);
    let frames = text.chunks(frame_bytes).enumerate();
    frames
        .map(|(index, part)| {
            let code = if index == 0 {
                Data::Text
            } else {
                Data::Continue
            };
            Frame::message(part.to_vec(), OpCode::Data(code), index + 1 == count)
        })
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_sends_at_most_32_kb_in_a_frame_and_128_kb_in_a_message() {
    let api = Api::start().await;
    let (mut socket, _) = api.alice().await;
    for frame in in_frames(MAX_MESSAGE_BYTES, MAX_FRAME_BYTES) {
        socket.send(Message::Frame(frame)).await.expect("it reads");
    }
    assert_eq!(hear(&mut socket).await.len(), MAX_MESSAGE_BYTES);

    for (bytes, frame_bytes) in [
        (MAX_FRAME_BYTES + 1, MAX_MESSAGE_BYTES),
        // More than the system keeps on the way: the client is still at it when it is refused.
        (64 * MAX_MESSAGE_BYTES, 64 * MAX_MESSAGE_BYTES),
        (MAX_MESSAGE_BYTES + 1, MAX_FRAME_BYTES),
    ] {
        let (mut socket, id) = api.alice().await;
        for frame in in_frames(bytes, frame_bytes) {
            socket.send(Message::Frame(frame)).await.expect("it reads");
        }
        assert_eq!(closed(&mut socket).await, Some(1009), "{bytes} bytes");
        let told = api.disconnected(&id).await;
        assert_eq!(told["disconnectStatusCode"], 1009);
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn disconnect_is_told_how_a_client_went() {
    let api = Api::start().await;
    let (mut socket, id) = api.alice().await;
    let frame = CloseFrame {
        code: CloseCode::Library(4001),
        reason: "enough".into(),
    };
    socket.close(Some(frame)).await.expect("it reads");
    let told = api.disconnected(&id).await;
    assert_eq!(told["disconnectStatusCode"], 4001);
    assert_eq!(told["disconnectReason"], "enough");

    let (mut socket, id) = api.alice().await;
    socket.close(None).await.expect("it reads");
    assert_eq!(api.disconnected(&id).await["disconnectStatusCode"], 1005);

    let (socket, id) = api.alice().await;
    drop(socket);
    assert_eq!(api.disconnected(&id).await["disconnectStatusCode"], 1006);
    for method in ["POST", "GET"] {
        let answer = api.manage(method, &id, b"hello?", Some(ACCESS_KEY)).await;
        assert_eq!(status_of(&answer), 410, "{answer}");
    }
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_while_connect_works_is_disconnected_too() {
    let api = Api::start().await;
    let connecting = api.connect("/live?ticket=a&status=slow");
    let id = tokio::select! {
        _ = connecting => panic!("it was faster than its sleep"),
        context = api.noted("connecting") => context["connectionId"].clone(),
    };
    let id = id.as_str().expect("an id");
    assert_eq!(api.disconnected(id).await["disconnectStatusCode"], 1006);
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_ends_when_nothing_is_said_and_when_its_time_is_over() {
    let short = Duration::from_millis(300);
    for (idle, lifetime) in [(short, PATIENCE), (PATIENCE, short)] {
        let api = Api::start_with(Limits { idle, lifetime }).await;
        let mut socket = api.connect("/live?ticket=a").await.expect("allowed");
        assert_eq!(closed(&mut socket).await, Some(1001));
        api.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_cut_off_and_holds_up_nobody() {
    let api = Api::start().await;
    let (_deaf, deaf_id) = api.alice().await;
    let (mut alice, alice_id) = api.alice().await;
    let long = vec![b'x'; MAX_MESSAGE_BYTES];
    let mut sent = 0;
    while api.send(&deaf_id, &long).await == 200 {
        sent += 1;
        assert!(sent < 1_000, "128 MB wait for one client");
    }
    assert_eq!(api.send(&alice_id, b"news").await, 200);
    assert_eq!(hear(&mut alice).await, "news");
    assert_eq!(
        api.disconnected(&deaf_id).await["disconnectStatusCode"],
        1008
    );
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_connections_at_once_are_all_served() {
    crate::net::allow_many_connections();
    let api = Api::start().await;
    let mut sockets = vec![];
    for _ in 0..10 {
        let hundred = (0..100).map(|_| api.alice());
        sockets.extend(futures_util::future::join_all(hundred).await);
    }
    let sent = sockets.iter().map(|(_, id)| api.send(id, id.as_bytes()));
    for status in futures_util::future::join_all(sent).await {
        assert_eq!(status, 200);
    }
    for (socket, id) in &mut sockets {
        assert_eq!(hear(socket).await, *id);
    }
    api.stop().await;
}
