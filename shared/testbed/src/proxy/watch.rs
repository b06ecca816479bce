//! A watch as it passes the proxy: whole lines, each delivered as soon as it is there.

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt};
use serde_json::Value;

/// What becomes of one event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Deliver,
    Hide,
    /// It is delivered, and then the watch ends: 410.
    DeliverAndEnd,
}

/// Kind and name of the object of an event; `None` for bookmarks and errors, which are about no object.
pub(crate) fn subject(line: &[u8]) -> Option<(String, String)> {
    let event: Value = serde_json::from_slice(line).ok()?;
    if !matches!(event["type"].as_str(), Some("ADDED" | "MODIFIED" | "DELETED")) {
        return None;
    }
    let text = |pointer| Some(event.pointer(pointer)?.as_str()?.to_owned());
    Some((text("/object/kind")?, text("/object/metadata/name")?))
}

/// The event that ends a watch whose history the server has forgotten.
pub(crate) fn gone() -> Bytes {
    let event = serde_json::json!({"type": "ERROR", "object": {
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": "too old resource version: 1 (2)", "reason": "Expired", "code": 410}});
    Bytes::from(format!("{event}\n"))
}

/// Lines out of chunks.
#[derive(Debug, Default)]
struct Lines {
    rest: BytesMut,
}

impl Lines {
    /// The lines that are whole now, with their ends.
    fn push(&mut self, chunk: &[u8]) -> Vec<Bytes> {
        self.rest.extend_from_slice(chunk);
        let mut lines = vec![];
        while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
            lines.push(self.rest.split_to(end + 1).freeze());
        }
        lines
    }
}

/// The events of a watch, judged one by one.
pub(crate) fn filtered<E: Send + 'static>(
    chunks: impl Stream<Item = Result<Bytes, E>> + Send + Unpin + 'static,
    judge: impl FnMut(&[u8]) -> Verdict + Send + 'static,
) -> impl Stream<Item = Result<Bytes, E>> + Send {
    let state = (chunks, Lines::default(), judge, false);
    futures::stream::unfold(state, |(mut chunks, mut lines, mut judge, ended)| async move {
        if ended {
            return None;
        }
        loop {
            let chunk = match chunks.next().await? {
                Ok(chunk) => chunk,
                Err(error) => return Some((Err(error), (chunks, lines, judge, true))),
            };
            let mut out = BytesMut::new();
            let mut end = false;
            for line in lines.push(&chunk) {
                match judge(&line) {
                    Verdict::Deliver => out.extend_from_slice(&line),
                    Verdict::Hide => {}
                    Verdict::DeliverAndEnd => {
                        out.extend_from_slice(&line);
                        out.extend_from_slice(&gone());
                        end = true;
                        break;
                    }
                }
            }
            if !out.is_empty() || end {
                return Some((Ok(out.freeze()), (chunks, lines, judge, end)));
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn passed(chunks: &[&str], judge: impl FnMut(&[u8]) -> Verdict + Send + 'static) -> Vec<String> {
        let chunks: Vec<Result<Bytes, ()>> =
            chunks.iter().map(|chunk| Ok(Bytes::from((*chunk).to_owned()))).collect();
        let out = filtered(futures::stream::iter(chunks), judge);
        out.map(|chunk| String::from_utf8_lossy(&chunk.unwrap_or_default()).into_owned()).collect().await
    }

    #[tokio::test]
    async fn lines_pass_as_soon_as_they_are_whole() {
        let out = passed(&["{\"a\"", ":1}\n{\"b\":2}\n{", "}\n"], |_| Verdict::Deliver).await;
        assert_eq!(out, ["{\"a\":1}\n{\"b\":2}\n", "{}\n"]);
    }

    #[tokio::test]
    async fn a_hidden_line_leaves_no_trace() {
        let out =
            passed(&["1\n2\n3\n"], |line| if line == b"2\n" { Verdict::Hide } else { Verdict::Deliver })
                .await;
        assert_eq!(out, ["1\n3\n"]);
    }

    #[tokio::test]
    async fn an_ended_watch_says_so_and_gives_nothing_more() {
        let out = passed(&["1\n2\n", "3\n"], |_| Verdict::DeliverAndEnd).await;
        assert_eq!(out.len(), 1);
        assert!(out[0].starts_with("1\n") && out[0].contains("410") && !out[0].contains("2\n3"), "{out:?}");
    }

    #[test]
    fn bookmarks_are_about_no_object() {
        let event = |kind: &str| {
            format!(
                "{{\"type\":\"{kind}\",\"object\":{{\"kind\":\"Pod\",\"metadata\":{{\"name\":\"p\"}}}}}}\n"
            )
        };
        assert_eq!(subject(event("MODIFIED").as_bytes()), Some(("Pod".into(), "p".into())));
        assert_eq!(subject(event("BOOKMARK").as_bytes()), None);
        assert_eq!(subject(b"no json"), None);
    }
}
