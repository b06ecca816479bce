//! The services of etcd's API that the operator uses, and a put for those who keep a ledger. The rest is not implemented, and says so.

use std::{convert::Infallible, time::Duration};

use etcd_client::proto as pb;
use hyper::{Request, Response};
use semver::Version;
use tokio::{sync::futures::Notified, time::Instant};
use tonic::{Code, Status, body::Body, service::Routes};
use tower_service::Service as _;

use super::{dispatch::Addressee, lock};
use crate::model::{Alarm, AlarmKind, Endpoint, Entry, Etcd, List, Refusal, Value};

type Answer<T> = Result<tonic::Response<T>, Status>;
/// No service of ours streams.
type NoStream<T> = tokio_stream::Empty<Result<T, Status>>;

const NOSPACE: i32 = 1;
const CORRUPT: i32 = 2;
const GET: i32 = 0;
const ACTIVATE: i32 = 1;

/// How long to wait between two looks at whether a majority is there, when nobody tells.
const LOOK: Duration = Duration::from_millis(100);

/// Answers a request of gRPC.
pub(super) async fn answer(addressee: Addressee, request: Request<Body>) -> Response<Body> {
    let mut routes = Routes::new(pb::PbKvServer::new(addressee.clone()))
        .add_service(pb::PbClusterServer::new(addressee.clone()))
        .add_service(pb::PbMaintenanceServer::new(addressee));
    let answered: Result<_, Infallible> = routes.call(request).await;
    let Ok(response) = answered;
    response
}

fn code(refusal: Refusal, version: Option<Version>) -> Code {
    match refusal {
        // Changed with 3.6.
        Refusal::NotForLearner if version.is_some_and(|version| version.minor < 6) => Code::Unavailable,
        Refusal::DeadlineExceeded => Code::DeadlineExceeded,
        Refusal::Unhealthy
        | Refusal::Stopped
        | Refusal::TimedOut
        | Refusal::NoLeader
        | Refusal::Never
        | Refusal::Unreachable => Code::Unavailable,
        // etcd has a code for this one, and does not use it.
        Refusal::NotEnoughStarted => Code::Unknown,
        Refusal::LearnerNotReady
        | Refusal::NotLearner
        | Refusal::TooManyLearners
        | Refusal::IdExists
        | Refusal::PeerUrlExists
        | Refusal::NotLeader
        | Refusal::BadTransferee
        | Refusal::NotForLearner => Code::FailedPrecondition,
        Refusal::MemberNotFound => Code::NotFound,
        Refusal::BadUrls => Code::InvalidArgument,
        Refusal::Corrupt => Code::DataLoss,
    }
}

impl Addressee {
    fn code(&self, refusal: Refusal) -> Code {
        let etcd = lock(&self.shared.etcd);
        code(refusal, etcd.running.get(&self.pod).map(|running| running.process.version.clone()))
    }

    async fn look_again(changed: Notified<'_>) {
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }

    /// Asks the model until it has an answer, or etcd would give up.
    async fn ask<T>(
        &self,
        mut question: impl FnMut(&mut Etcd, Endpoint) -> Result<T, Refusal>,
    ) -> Result<(pb::PbResponseHeader, T), Status> {
        let deadline = Instant::now() + self.shared.settings.request_timeout;
        loop {
            let changed = self.shared.changed.notified();
            let asked = self.shared.ask(&self.pod, |etcd, at| {
                let answer = question(etcd, at)?;
                Ok((header(etcd, at), answer))
            });
            match asked.and_then(|answer| answer) {
                Ok(answer) => return Ok(answer),
                // It may still be done while the client waits.
                Err(Refusal::Never) => Self::look_again(changed).await,
                Err(Refusal::TimedOut | Refusal::NoLeader | Refusal::DeadlineExceeded)
                    if Instant::now() < deadline =>
                {
                    Self::look_again(changed).await;
                }
                Err(refusal) => return Err(Status::new(self.code(refusal), refusal.to_string())),
            }
        }
    }
}

fn header(etcd: &Etcd, at: Endpoint) -> pb::PbResponseHeader {
    let cluster = etcd.clusters.get(&at.cluster);
    pb::PbResponseHeader {
        cluster_id: at.cluster,
        member_id: at.id,
        revision: cluster.map_or(0, |cluster| cluster.revision),
        raft_term: cluster.map_or(0, |cluster| cluster.term),
    }
}

fn member(id: u64, entry: &Entry) -> pb::PbMember {
    pb::PbMember {
        id,
        name: entry.name.clone(),
        peer_ur_ls: vec![entry.url.clone()],
        client_ur_ls: Some(entry.client_url.clone()).filter(|url| !url.is_empty()).into_iter().collect(),
        is_learner: entry.learner,
    }
}

fn members(list: &List) -> Vec<pb::PbMember> {
    list.iter().map(|(id, entry)| member(*id, entry)).collect()
}

fn pair(key: Vec<u8>, value: Value) -> pb::PbKeyValue {
    pb::PbKeyValue {
        key,
        create_revision: value.created,
        mod_revision: value.modified,
        version: value.version,
        value: value.value,
        lease: 0,
    }
}

fn alarm(alarm: Alarm) -> pb::PbAlarmMember {
    let AlarmKind::Corrupt = alarm.kind;
    pb::PbAlarmMember { member_id: alarm.id, alarm: CORRUPT }
}

fn unimplemented<T>() -> Answer<T> {
    Err(Status::unimplemented("the simulated etcd does not do this"))
}

#[tonic::async_trait]
impl pb::PbKvService for Addressee {
    type RangeStreamStream = NoStream<pb::PbRangeStreamResponse>;

    async fn range(&self, request: tonic::Request<pb::PbRangeRequest>) -> Answer<pb::PbRangeResponse> {
        let request = request.into_inner();
        if !request.range_end.is_empty() || request.revision != 0 {
            return Err(Status::unimplemented("the simulated etcd reads one key, at the newest revision"));
        }
        let (header, value) = self.ask(|etcd, at| etcd.read(at, &request.key, !request.serializable)).await?;
        let kvs: Vec<_> = value.map(|value| pair(request.key, value)).into_iter().collect();
        let count = i64::from(!kvs.is_empty());
        Ok(tonic::Response::new(pb::PbRangeResponse { header: Some(header), kvs, more: false, count }))
    }

    async fn range_stream(&self, _: tonic::Request<pb::PbRangeRequest>) -> Answer<Self::RangeStreamStream> {
        unimplemented()
    }

    async fn put(&self, request: tonic::Request<pb::PbPutRequest>) -> Answer<pb::PbPutResponse> {
        let request = request.into_inner();
        let (header, _) = self.ask(|etcd, at| etcd.put(at, &request.key, &request.value)).await?;
        Ok(tonic::Response::new(pb::PbPutResponse { header: Some(header), prev_kv: None }))
    }

    async fn delete_range(&self, _: tonic::Request<pb::PbDeleteRequest>) -> Answer<pb::PbDeleteResponse> {
        unimplemented()
    }

    async fn txn(&self, _: tonic::Request<pb::PbTxnRequest>) -> Answer<pb::PbTxnResponse> {
        unimplemented()
    }

    async fn compact(&self, _: tonic::Request<pb::PbCompactionRequest>) -> Answer<pb::PbCompactionResponse> {
        unimplemented()
    }
}

#[tonic::async_trait]
impl pb::PbClusterService for Addressee {
    async fn member_add(
        &self,
        request: tonic::Request<pb::PbMemberAddRequest>,
    ) -> Answer<pb::PbMemberAddResponse> {
        let request = request.into_inner();
        let [url] = request.peer_ur_ls.as_slice() else {
            return Err(Status::unimplemented("the simulated etcd gives a member one URL"));
        };
        if !request.is_learner {
            return Err(Status::unimplemented("the simulated etcd adds learners only"));
        }
        let (header, (id, list)) = self.ask(|etcd, at| etcd.member_add(at, url)).await?;
        Ok(tonic::Response::new(pb::PbMemberAddResponse {
            header: Some(header),
            member: list.get(&id).map(|entry| member(id, entry)),
            members: members(&list),
        }))
    }

    async fn member_remove(
        &self,
        request: tonic::Request<pb::PbMemberRemoveRequest>,
    ) -> Answer<pb::PbMemberRemoveResponse> {
        let id = request.into_inner().id;
        let (header, list) = self.ask(|etcd, at| etcd.member_remove(at, id)).await?;
        Ok(tonic::Response::new(pb::PbMemberRemoveResponse { header: Some(header), members: members(&list) }))
    }

    async fn member_update(
        &self,
        _: tonic::Request<pb::PbMemberUpdateRequest>,
    ) -> Answer<pb::PbMemberUpdateResponse> {
        unimplemented()
    }

    async fn member_list(
        &self,
        request: tonic::Request<pb::PbMemberListRequest>,
    ) -> Answer<pb::PbMemberListResponse> {
        let linearizable = request.into_inner().linearizable;
        let (header, list) = self.ask(|etcd, at| etcd.list(at, linearizable)).await?;
        Ok(tonic::Response::new(pb::PbMemberListResponse { header: Some(header), members: members(&list) }))
    }

    async fn member_promote(
        &self,
        request: tonic::Request<pb::PbMemberPromoteRequest>,
    ) -> Answer<pb::PbMemberPromoteResponse> {
        let id = request.into_inner().id;
        let (header, list) = self.ask(|etcd, at| etcd.member_promote(at, id)).await?;
        Ok(tonic::Response::new(pb::PbMemberPromoteResponse {
            header: Some(header),
            members: members(&list),
        }))
    }
}

#[tonic::async_trait]
impl pb::PbMaintenanceService for Addressee {
    type SnapshotStream = NoStream<pb::PbSnapshotResponse>;

    async fn alarm(&self, request: tonic::Request<pb::PbAlarmRequest>) -> Answer<pb::PbAlarmResponse> {
        let request = request.into_inner();
        if request.alarm == NOSPACE {
            return Err(Status::unimplemented("the simulated etcd knows no alarm but CORRUPT"));
        }
        let (header, alarms) = self
            .ask(|etcd, at| match request.action {
                GET => etcd.alarms(at),
                ACTIVATE => etcd
                    .alarm(at, request.member_id)
                    .map(|()| vec![Alarm { id: request.member_id, kind: AlarmKind::Corrupt }]),
                _ => etcd.disarm(at, request.member_id),
            })
            .await?;
        let alarms = alarms.into_iter().map(alarm).collect();
        Ok(tonic::Response::new(pb::PbAlarmResponse { header: Some(header), alarms }))
    }

    async fn status(&self, _: tonic::Request<pb::PbStatusRequest>) -> Answer<pb::PbStatusResponse> {
        let (header, status) = self.ask(|etcd, at| etcd.status(at)).await?;
        Ok(tonic::Response::new(pb::PbStatusResponse {
            header: Some(header),
            version: status.version.to_string(),
            db_size: status.db_size,
            leader: status.leader,
            raft_index: status.raft_index,
            raft_term: status.term,
            raft_applied_index: status.applied_index,
            errors: status.errors,
            db_size_in_use: status.db_size,
            is_learner: status.learner,
            ..pb::PbStatusResponse::default()
        }))
    }

    async fn defragment(
        &self,
        _: tonic::Request<pb::PbDefragmentRequest>,
    ) -> Answer<pb::PbDefragmentResponse> {
        unimplemented()
    }

    async fn hash(&self, _: tonic::Request<pb::PbHashRequest>) -> Answer<pb::PbHashResponse> {
        unimplemented()
    }

    async fn hash_kv(&self, request: tonic::Request<pb::PbHashKvRequest>) -> Answer<pb::PbHashKvResponse> {
        if request.into_inner().revision != 0 {
            return Err(Status::unimplemented("the simulated etcd hashes the newest revision"));
        }
        let (header, (hash, revision)) = self.ask(|etcd, at| etcd.hash_kv(at)).await?;
        Ok(tonic::Response::new(pb::PbHashKvResponse {
            header: Some(header),
            hash,
            compact_revision: -1,
            hash_revision: revision,
        }))
    }

    async fn snapshot(&self, _: tonic::Request<pb::PbSnapshotRequest>) -> Answer<Self::SnapshotStream> {
        unimplemented()
    }

    async fn move_leader(
        &self,
        request: tonic::Request<pb::PbMoveLeaderRequest>,
    ) -> Answer<pb::PbMoveLeaderResponse> {
        let to = request.into_inner().target_id;
        self.ask(|etcd, at| etcd.move_leader(at, to)).await?;
        Ok(tonic::Response::new(pb::PbMoveLeaderResponse { header: None }))
    }

    async fn downgrade(&self, _: tonic::Request<pb::PbDowngradeRequest>) -> Answer<pb::PbDowngradeResponse> {
        unimplemented()
    }
}
