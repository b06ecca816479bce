//! How etcd says no, in its own words (`api/v3rpc/rpctypes/error.go`).

/// A refusal, or a request that stays without an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Members have not been connected for long enough, or too few are.
    #[error("etcdserver: unhealthy cluster")]
    Unhealthy,
    /// Too few members have ever started.
    #[error("etcdserver: re-configuration failed due to not enough started members")]
    NotEnoughStarted,
    /// The learner is behind.
    #[error("etcdserver: can only promote a learner member which is in sync with leader")]
    LearnerNotReady,
    /// It votes already.
    #[error("etcdserver: can only promote a learner member")]
    NotLearner,
    /// There is a learner already.
    #[error("etcdserver: too many learner members in cluster")]
    TooManyLearners,
    /// There is a member with this id already: the same URL was added in the same second.
    #[error("etcdserver: member ID already exist")]
    IdExists,
    /// There is a member with this URL already.
    #[error("etcdserver: Peer URLs already exists")]
    PeerUrlExists,
    /// That is no URL.
    #[error("etcdserver: given member URLs are invalid")]
    BadUrls,
    /// There is no such member.
    #[error("etcdserver: member not found")]
    MemberNotFound,
    /// Only the leader does this.
    #[error("etcdserver: not leader")]
    NotLeader,
    /// Nobody leads: said after etcd's own limit.
    #[error("etcdserver: no leader")]
    NoLeader,
    /// That member cannot lead.
    #[error("etcdserver: bad leader transferee")]
    BadTransferee,
    /// A learner does not do this.
    #[error("etcdserver: rpc not supported for learner")]
    NotForLearner,
    /// Data is corrupt, so nothing is written.
    #[error("etcdserver: corrupt cluster")]
    Corrupt,
    /// The member has been removed and is about to end.
    #[error("etcdserver: server stopped")]
    Stopped,
    /// No majority answered a read in time: said after etcd's own limit.
    #[error("etcdserver: request timed out")]
    TimedOut,
    /// No majority took a write in time: said after etcd's own limit.
    #[error("context deadline exceeded")]
    DeadlineExceeded,
    /// Nothing comes for as long as the client waits.
    #[error("no answer")]
    Never,
    /// Nothing runs there.
    #[error("connection refused")]
    Unreachable,
}
