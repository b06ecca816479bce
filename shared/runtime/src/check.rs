//! `check`: asks another instance whether it is ready; for `helm test`, in images without a shell.

use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

use clap::Args;

/// How long one request may take, and how long to wait before the next.
const REQUEST: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_secs(1);

/// Arguments of `check`.
#[derive(Args, Clone, Debug)]
pub(crate) struct CheckArgs {
    /// Address to ask, for instance `http://etcd-operator.ballast-system.svc:8080/readyz`.
    #[arg(long)]
    url: String,
    /// Seconds to go on asking before giving up.
    #[arg(long, default_value_t = 30)]
    patience: u64,
}

/// Asks until the answer is a success.
pub(crate) fn main(args: &CheckArgs) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("check: {error}");
            return ExitCode::FAILURE;
        }
    };
    match runtime.block_on(ask(&args.url, Duration::from_secs(args.patience))) {
        Ok(()) => {
            println!("{} is ready", args.url);
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("check: {} is not ready: {why}", args.url);
            ExitCode::FAILURE
        }
    }
}

async fn ask(url: &str, patience: Duration) -> Result<(), String> {
    let begun = Instant::now();
    let client = reqwest::Client::builder().timeout(REQUEST).build().map_err(|error| error.to_string())?;
    loop {
        let last = match client.get(url).send().await {
            Ok(answer) if answer.status().is_success() => return Ok(()),
            Ok(answer) => {
                let status = answer.status();
                format!("{status}: {}", answer.text().await.unwrap_or_default().trim())
            }
            Err(error) => error.to_string(),
        };
        if begun.elapsed() >= patience {
            return Err(last);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use std::{
        net::SocketAddr,
        sync::atomic::{AtomicU32, Ordering},
    };

    use axum::{Router, http::StatusCode, routing::get};

    use super::*;

    async fn server(ready_after: u32) -> std::io::Result<SocketAddr> {
        static ASKED: AtomicU32 = AtomicU32::new(0);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let router = Router::new().route(
            "/readyz",
            get(async move || {
                let ready = ASKED.fetch_add(1, Ordering::SeqCst) >= ready_after;
                if ready { (StatusCode::OK, "ok") } else { (StatusCode::SERVICE_UNAVAILABLE, "not yet") }
            }),
        );
        tokio::spawn(async move { axum::serve(listener, router).await });
        Ok(address)
    }

    #[tokio::test]
    async fn asks_until_it_is_ready_and_gives_up_in_the_end() -> std::io::Result<()> {
        let address = server(2).await?;
        let url = format!("http://{address}/readyz");
        let first = ask(&url, Duration::ZERO).await;
        assert!(first.as_ref().is_err_and(|why| why.contains("503") && why.contains("not yet")), "{first:?}");
        assert_eq!(ask(&url, Duration::from_secs(20)).await, Ok(()));
        assert!(ask("http://127.0.0.1:1/readyz", Duration::ZERO).await.is_err());
        Ok(())
    }
}
