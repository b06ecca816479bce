#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::Cursor;

use kafka_protocol::messages::{DescribeClusterRequest, DescribeClusterResponse};
use rstest::rstest;

use super::{
    super::{fake::framed, route::BROKERS},
    *,
};

const VERSION: i16 = 2;

fn answer(id: i32) -> Bytes {
    framed(&DescribeClusterResponse::default().with_cluster_id("abc".to_owned().into()), VERSION, id)
        .split_off(PREFIX)
}

#[test]
fn a_request_says_how_long_it_is_and_who_asks() {
    let request = DescribeClusterRequest::default().with_endpoint_type(BROKERS);
    let frame = encode(&request, VERSION, 7, "me", MAX_FRAME).unwrap();
    let length = u32::from_be_bytes(frame[..4].try_into().unwrap());
    assert_eq!(usize::try_from(length).unwrap(), frame.len() - 4);
    // Key 60, version 2, number 7, "me", no tags.
    assert_eq!(&frame[4..17], [0, 60, 0, 2, 0, 0, 0, 7, 0, 2, b'm', b'e', 0]);
}

#[test]
fn a_request_that_is_too_large_is_not_sent() {
    let request = DescribeClusterRequest::default();
    let fits = encode(&request, VERSION, 1, "me", MAX_FRAME).unwrap().len() - 4;
    assert!(encode(&request, VERSION, 1, "me", fits).is_ok());
    let Err(Cause::Frame(size)) = encode(&request, VERSION, 1, "me", fits - 1) else { panic!("sent") };
    assert_eq!(usize::try_from(size).unwrap(), fits);
}

#[test]
fn a_version_that_lacks_a_field_is_told() {
    let request = DescribeClusterRequest::default().with_include_fenced_brokers(true);
    assert!(matches!(encode(&request, 0, 1, "me", MAX_FRAME), Err(Cause::Unwritable(_))));
}

#[test]
fn an_answer_is_read() {
    let read = decode::<DescribeClusterRequest>(answer(7), VERSION, 7).unwrap();
    assert_eq!(read.cluster_id.as_str(), "abc");
    assert_eq!(leading_code::<DescribeClusterRequest>(answer(7), VERSION, 7).unwrap(), 0);
}

#[rstest]
#[case::of_another_request(answer(8), "an answer to request 8, not 7")]
#[case::longer([answer(7), Bytes::from_static(&[1, 2])].concat().into(), "2 bytes more than the answer has")]
#[case::shorter(answer(7).slice(..20), "")]
#[case::empty(Bytes::new(), "")]
fn a_wrong_answer_is_unparsable(#[case] frame: Bytes, #[case] text: &str) {
    let error = decode::<DescribeClusterRequest>(frame, VERSION, 7).unwrap_err();
    let Cause::Unparsable(why) = error else { panic!("{error}") };
    assert!(why.contains(text), "{why}");
}

#[rstest]
#[case::whole(&[0, 0, 0, 2, 5, 6], Ok(&[5, 6][..]))]
#[case::too_large(&[0, 0, 0, 9], Err(Cause::Frame(9)))]
#[case::negative(&[0xff, 0xff, 0xff, 0xff], Err(Cause::Frame(-1)))]
#[case::cut(&[0, 0, 0, 5, 1, 2], Err(Cause::Disconnected("after 2 of 5 bytes".to_owned())))]
#[tokio::test]
async fn frames_are_bounded(#[case] bytes: &[u8], #[case] expected: Result<&[u8], Cause>) {
    let frame = read(&mut Cursor::new(bytes), 8).await;
    assert_eq!(frame.as_ref().map(AsRef::as_ref), expected.as_ref().map(|bytes| *bytes));
}

#[tokio::test]
async fn nothing_at_all_is_a_disconnect() {
    assert!(matches!(read(&mut Cursor::new([0_u8, 0]), 8).await, Err(Cause::Disconnected(_))));
}
