//! The testbed tested: a real API server, no operator of ours.

#![allow(clippy::unwrap_used, clippy::panic)]

mod census;
mod operator;
mod pods;
mod program;
mod proxy;
mod types;
mod watches;

use std::sync::{Arc, LazyLock, OnceLock};
use std::time::Duration;

use ballast_testbed::Testbed;

use program::Echo;

/// Generous: many tests share two cores.
const DEADLINE: Duration = Duration::from_mins(1);

static APPLICATION: LazyLock<Arc<Echo>> = LazyLock::new(Arc::default);

/// One control plane for all tests of this binary.
fn bed() -> &'static Testbed {
    static BED: OnceLock<Testbed> = OnceLock::new();
    BED.get_or_init(|| {
        Testbed::start(APPLICATION.clone(), &[types::thing()])
            .unwrap_or_else(|error| panic!("no testbed: {error:#}"))
    })
}
