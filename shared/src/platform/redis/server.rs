//! Where a server is, and what it wants to know before it answers.

use std::io;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::select_ok;
use redis::io::tcp::socket2::{SockRef, TcpKeepalive};
use redis::{Cmd, ConnectionAddr, ErrorKind, IntoConnectionInfo, RedisError, RedisResult, cmd};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, lookup_host};
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

// The kernel finds out about a dead connection by itself, too, while the sandbox is awake.
const KEEPALIVE_AFTER: Duration = Duration::from_secs(15);
const KEEPALIVE_EVERY: Duration = Duration::from_secs(5);
const KEEPALIVE_ATTEMPTS: u32 = 3;
#[cfg(target_os = "linux")]
const USER_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Clone)]
pub(super) struct Server {
    pub(super) host: String,
    port: u16,
    login: Arc<Login>,
}

/// What all servers of a deployment have in common.
struct Login {
    tls: Option<Tls>,
    username: Option<String>,
    password: Option<String>,
    database: i64,
}

/// Made with the first connection, because it takes a moment.
type Tls = LazyLock<Result<TlsConnector, String>, Box<dyn FnOnce() -> Made + Send>>;
type Made = Result<TlsConnector, String>;

/// What a connection reads and writes.
pub(super) trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Server {
    /// `ca_cert` is the authority that must have signed the server's certificate; `None` for the public ones.
    pub(super) fn new(url: &str, ca_cert: Option<Vec<u8>>) -> RedisResult<Self> {
        let info = url.into_connection_info()?;
        let (host, port, uses_tls) = match info.addr() {
            ConnectionAddr::Tcp(host, port) => (host, port, false),
            ConnectionAddr::TcpTls { host, port, .. } => (host, port, true),
            _ => return Err(refused("it is not reached by TCP")),
        };
        let tls = uses_tls.then(|| {
            let make: Box<dyn FnOnce() -> Made + Send> = Box::new(|| connector(ca_cert));
            LazyLock::new(make)
        });
        let settings = info.redis_settings();
        Ok(Self {
            host: host.clone(),
            port: *port,
            login: Arc::new(Login {
                tls,
                username: settings.username().map(str::to_owned),
                password: settings.password().map(str::to_owned),
                database: settings.db(),
            }),
        })
    }

    /// Another server of the same deployment, at `host:port`.
    pub(super) fn beside(&self, address: &str) -> Self {
        let (host, port) = address.rsplit_once(':').unwrap_or((address, ""));
        Self {
            host: host.to_owned(),
            port: port.parse().unwrap_or(6379),
            login: Arc::clone(&self.login),
        }
    }

    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    pub(super) fn uses_tls(&self) -> bool {
        self.login.tls.is_some()
    }

    /// What to say before anything else.
    pub(super) fn greeting(&self) -> Vec<Cmd> {
        let mut greeting = Vec::new();
        if let Some(password) = &self.login.password {
            let username = self.login.username.as_ref();
            greeting.push(cmd("AUTH").arg(username).arg(password).take());
        }
        if self.login.database != 0 {
            greeting.push(cmd("SELECT").arg(self.login.database).take());
        }
        greeting
    }

    pub(super) async fn connect(&self) -> RedisResult<Box<dyn Stream>> {
        // A name may stand for several addresses, some of them dead: the first that answers counts.
        let addresses = lookup_host((self.host.as_str(), self.port)).await?;
        let connecting: Vec<_> = addresses
            .map(|address| TcpStream::connect(address).boxed())
            .collect();
        if connecting.is_empty() {
            return Err(refused("its name stands for no address"));
        }
        let (socket, _) = select_ok(connecting).await?;
        prepare(&socket)?;
        let Some(tls) = &self.login.tls else {
            return Ok(Box::new(socket));
        };
        let connector = tls.as_ref().map_err(|problem| refused(problem))?;
        let name = ServerName::try_from(self.host.clone());
        let name = name.map_err(|_| refused("its name cannot be on a certificate"))?;
        Ok(Box::new(connector.connect(name, socket).await?))
    }
}

fn prepare(socket: &TcpStream) -> io::Result<()> {
    socket.set_nodelay(true)?;
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_AFTER)
        .with_interval(KEEPALIVE_EVERY)
        .with_retries(KEEPALIVE_ATTEMPTS);
    let socket = SockRef::from(socket);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    Ok(())
}

fn connector(ca_cert: Option<Vec<u8>>) -> Made {
    let mut roots = RootCertStore::empty();
    match ca_cert {
        None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Some(pem) => {
            for certificate in CertificateDer::pem_slice_iter(&pem) {
                let certificate = certificate.map_err(|error| error.to_string())?;
                roots.add(certificate).map_err(|error| error.to_string())?;
            }
        }
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config =
        ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    let config = config.with_root_certificates(roots).with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn refused(problem: &str) -> RedisError {
    let kind = ErrorKind::InvalidClientConfig;
    RedisError::from((kind, "cannot connect", problem.to_owned()))
}
