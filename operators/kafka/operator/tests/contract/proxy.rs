//! A way to a node that breaks in the middle of an answer.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::{JoinHandle, JoinSet},
};

/// Passes everything on until it is told to cut.
pub struct Proxy {
    pub address: String,
    /// How many answers pass before one is cut in the middle; each connection ends with it.
    whole: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Proxy {
    pub async fn start(to: String) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let whole = Arc::new(AtomicUsize::new(usize::MAX));
        let left = Arc::clone(&whole);
        let task = tokio::spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (to, left) = (to.clone(), Arc::clone(&left));
                open.spawn(async move {
                    // Whatever goes wrong ends both connections.
                    let _ = pass(client, &to, &left).await;
                });
            }
        });
        Self { address, whole, task }
    }

    /// Cuts the answer after this many.
    pub fn cut_after(&self, answers: usize) {
        self.whole.store(answers, Ordering::SeqCst);
    }

    pub fn mend(&self) {
        self.cut_after(usize::MAX);
    }
}

async fn frame(from: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let length = from.read_u32().await?;
    let mut frame = vec![0; usize::try_from(length).unwrap()];
    from.read_exact(&mut frame).await?;
    Ok([&length.to_be_bytes()[..], &frame].concat())
}

/// One request there, one answer back.
async fn pass(mut client: TcpStream, to: &str, left: &AtomicUsize) -> std::io::Result<()> {
    let mut server = TcpStream::connect(to).await?;
    loop {
        server.write_all(&frame(&mut client).await?).await?;
        let answer = frame(&mut server).await?;
        let cut = left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
            Some(if left == usize::MAX { left } else { left.saturating_sub(1) })
        });
        match cut.unwrap() {
            0 => return client.write_all(&answer[..answer.len() / 2]).await,
            _ => client.write_all(&answer).await?,
        }
    }
}
