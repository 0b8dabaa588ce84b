//! One connection from its opening to its end. Reading, handling and writing go on side by side, so that a slow function
//! holds up neither what is sent to the client nor the answers to its pings.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{SinkExt, Stream, StreamExt};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

use super::connections::{Connection, End};
use super::{MAX_FRAME_BYTES, MAX_MESSAGE_BYTES, WebSocketGateway};

type Socket = WebSocketStream<TokioIo<Upgraded>>;

/// Messages of one client that wait for their turn. If there are more, the client has to wait.
const INBOX_MESSAGES: usize = 16;
/// Per connection, and there may be thousands: most messages are short.
const BUFFER_BYTES: usize = 4 * 1024;
/// How long the client may take to say goodbye.
const GOODBYE: Duration = Duration::from_secs(2);

/// Who ended a connection.
#[derive(Debug)]
enum Ended {
    ByClient(End),
    ByGateway(End),
    /// Nobody did: the client is out of reach.
    Lost,
}

/// Runs a connection. When this returns, the socket is closed and no message is being handled.
pub(super) async fn run(
    gateway: &Arc<WebSocketGateway>,
    connection: &Arc<Connection>,
    mut outbox: mpsc::Receiver<Utf8Bytes>,
    upgrade: OnUpgrade,
) -> End {
    let Ok(upgraded) = upgrade.await else {
        gateway.connections.remove(&connection.id);
        return lost();
    };
    let config = WebSocketConfig::default()
        .read_buffer_size(BUFFER_BYTES)
        .write_buffer_size(BUFFER_BYTES)
        .max_frame_size(Some(MAX_FRAME_BYTES))
        .max_message_size(Some(MAX_MESSAGE_BYTES));
    let io = TokioIo::new(upgraded);
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Server, Some(config)).await;
    let (inbox, messages) = mpsc::channel(INBOX_MESSAGES);
    let handling = tokio::spawn(handle(
        Arc::clone(gateway),
        Arc::clone(connection),
        messages,
    ));
    let ended = converse(gateway, connection, &mut socket, inbox, &mut outbox).await;
    gateway.connections.remove(&connection.id);
    let end = say_goodbye(socket, outbox, ended).await;
    // It ends: nothing comes into the inbox any more. If it panicked, the terminal has been told.
    let _ = handling.await;
    end
}

/// Until somebody ends the connection.
async fn converse(
    gateway: &WebSocketGateway,
    connection: &Connection,
    socket: &mut Socket,
    inbox: mpsc::Sender<Utf8Bytes>,
    outbox: &mut mpsc::Receiver<Utf8Bytes>,
) -> Ended {
    let (mut sink, mut stream) = socket.split();
    let writing = async {
        while let Some(text) = outbox.recv().await {
            if sink.send(Message::Text(text)).await.is_err() {
                break;
            }
            connection.note_activity();
        }
        Ended::Lost
    };
    let going_away = || Ended::ByGateway(End::new(1001, "Going away"));
    tokio::select! {
        ended = read(connection, &mut stream, inbox) => ended,
        ended = writing => ended,
        end = connection.ending() => Ended::ByGateway(end),
        () = connection.idle_for(gateway.limits.idle) => going_away(),
        () = tokio::time::sleep(gateway.limits.lifetime) => going_away(),
    }
}

/// Passes messages on until the client ends the connection or breaks a rule. Pings are answered by the reading itself.
async fn read(
    connection: &Connection,
    stream: &mut (impl Stream<Item = Result<Message, Error>> + Unpin),
    inbox: mpsc::Sender<Utf8Bytes>,
) -> Ended {
    while let Some(frame) = stream.next().await {
        connection.note_activity();
        let text = match frame {
            Ok(Message::Text(text)) => text,
            Ok(Message::Binary(bytes)) => match Utf8Bytes::try_from(bytes) {
                Ok(text) => text,
                Err(_) => return refused(1007, "Invalid payload data"),
            },
            Ok(Message::Close(frame)) => return Ended::ByClient(reason_of(frame)),
            Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_)) => continue,
            Err(Error::Capacity(_)) => return refused(1009, "Message too big"),
            Err(Error::Utf8(_)) => return refused(1007, "Invalid payload data"),
            Err(Error::Protocol(ProtocolError::ResetWithoutClosingHandshake)) => {
                return Ended::Lost;
            }
            Err(Error::Protocol(_)) => return refused(1002, "Protocol error"),
            Err(_) => return Ended::Lost,
        };
        if inbox.send(text).await.is_err() {
            break;
        }
    }
    Ended::Lost
}

/// Handles the client's messages in their order, one at a time.
async fn handle(
    gateway: Arc<WebSocketGateway>,
    connection: Arc<Connection>,
    mut messages: mpsc::Receiver<Utf8Bytes>,
) {
    while let Some(text) = messages.recv().await {
        gateway.message(&connection, &text).await;
    }
}

/// Sends what is left, says why the connection ends, and waits for the client's answer, but not for long.
async fn say_goodbye(
    mut socket: Socket,
    mut outbox: mpsc::Receiver<Utf8Bytes>,
    ended: Ended,
) -> End {
    let end = match ended {
        Ended::Lost => return lost(),
        Ended::ByClient(end) => {
            // The answer to the client's goodbye waits to be sent.
            let _ = tokio::time::timeout(GOODBYE, socket.close(None)).await;
            return end;
        }
        Ended::ByGateway(end) => end,
    };
    let frame = CloseFrame {
        code: end.code.into(),
        reason: end.reason.as_str().into(),
    };
    let goodbye = async {
        while let Ok(text) = outbox.try_recv() {
            socket.feed(Message::Text(text)).await?;
        }
        socket.close(Some(frame)).await?;
        while let Some(Ok(_)) = socket.next().await {}
        // A socket that is closed with bytes unread is reset, and then the client never learns why. After a message that
        // is too big, the rest of it is on its way.
        let io = socket.get_mut();
        io.shutdown().await?;
        tokio::io::copy(io, &mut tokio::io::sink()).await?;
        Ok::<(), Error>(())
    };
    let _ = tokio::time::timeout(GOODBYE, goodbye).await;
    end
}

fn refused(code: u16, reason: &str) -> Ended {
    Ended::ByGateway(End::new(code, reason))
}

fn lost() -> End {
    End::new(1006, "Connection Closed Abnormally")
}

/// What the client said when it ended the connection.
fn reason_of(frame: Option<CloseFrame>) -> End {
    match frame {
        Some(frame) => End::new(frame.code.into(), &frame.reason),
        None => End::new(1005, "Client-side close frame status not set"),
    }
}
