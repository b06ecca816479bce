//! What goes wrong between a client and a member. What goes wrong with a member itself (it hangs, it is cut off from the others,
//! it lags) belongs to the model: [`super::Server::edit`].

use std::{collections::BTreeMap, time::Duration};

use ballast_core::hash;

/// What a client asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Request {
    /// `KV.Range`.
    Range,
    /// `KV.Put`.
    Put,
    /// `Cluster.MemberAdd`.
    MemberAdd,
    /// `Cluster.MemberRemove`.
    MemberRemove,
    /// `Cluster.MemberPromote`.
    MemberPromote,
    /// `Cluster.MemberList`.
    MemberList,
    /// `Maintenance.Status`.
    Status,
    /// `Maintenance.Alarm`.
    Alarm,
    /// `Maintenance.MoveLeader`.
    MoveLeader,
    /// `Maintenance.HashKV`.
    HashKv,
    /// `GET /version`.
    Version,
    /// Anything else.
    Other,
}

impl Request {
    /// From the path of the request.
    pub fn of(path: &str) -> Self {
        match path.rsplit('/').next().unwrap_or_default() {
            "Range" => Self::Range,
            "Put" => Self::Put,
            "MemberAdd" => Self::MemberAdd,
            "MemberRemove" => Self::MemberRemove,
            "MemberPromote" => Self::MemberPromote,
            "MemberList" => Self::MemberList,
            "Status" => Self::Status,
            "Alarm" => Self::Alarm,
            "MoveLeader" => Self::MoveLeader,
            "HashKV" => Self::HashKv,
            "version" => Self::Version,
            _ => Self::Other,
        }
    }
}

/// A fault that a request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The connection is reset; the request has no effect.
    Refuse,
    /// There is never an answer; the request has no effect.
    Silence,
    /// The request has its effect, then the connection is reset.
    ResetAfter,
    /// The request has its effect at once, and the answer comes after this time.
    AnswerLate(Duration),
    /// The request has its effect after this time, even if the client has given up; the answer comes then.
    ApplyLate(Duration),
}

/// Which requests meet which fault.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Only those to this member.
    pub member: Option<String>,
    /// Only those of this kind.
    pub request: Option<Request>,
    /// The fault.
    pub fault: Fault,
    /// Only so many of them; without it, all.
    pub times: Option<u32>,
}

impl Rule {
    /// All requests meet this fault.
    pub fn all(fault: Fault) -> Self {
        Self { member: None, request: None, fault, times: None }
    }

    /// Only those to this member; to all members of a namespace if it ends with a slash.
    #[must_use]
    pub fn to(self, member: &str) -> Self {
        Self { member: Some(member.to_owned()), ..self }
    }

    /// Only those of this kind.
    #[must_use]
    pub fn on(self, request: Request) -> Self {
        Self { request: Some(request), ..self }
    }

    /// Only so many of them.
    #[must_use]
    pub fn times(self, times: u32) -> Self {
        Self { times: Some(times), ..self }
    }

    fn matches(&self, member: &str, request: Request) -> bool {
        self.times != Some(0)
            && self
                .member
                .as_deref()
                .is_none_or(|only| only == member || only.ends_with('/') && member.starts_with(only))
            && self.request.is_none_or(|only| only == request)
    }
}

/// Random faults. The n-th request of a kind to a member meets the same one in every run with the same seed, whatever other members
/// are asked meanwhile.
#[derive(Clone, Debug)]
pub struct Mix {
    /// Where the randomness comes from.
    pub seed: u64,
    /// How many of a thousand requests meet a fault.
    pub per_mille: u64,
    /// The faults, each as likely as the others.
    pub faults: Vec<Fault>,
}

impl Mix {
    fn draw(&self, member: &str, request: Request, number: u64) -> Option<Fault> {
        let text = format!("{} {member} {request:?} {number}", self.seed);
        let drawn = u64::from_str_radix(&hash::text_hash(&text), 16).ok()?;
        if drawn % 1000 >= self.per_mille {
            return None;
        }
        let count = u64::try_from(self.faults.len()).ok().filter(|count| *count > 0)?;
        self.faults.get(usize::try_from(drawn / 1000 % count).ok()?).copied()
    }
}

/// The faults in force, and those that were met.
#[derive(Debug, Default)]
pub(super) struct Faults {
    pub(super) rules: Vec<Rule>,
    mix: Option<Mix>,
    /// How many requests of a kind a member has got since the mix began.
    counts: BTreeMap<(String, Request), u64>,
    pub(super) met: Vec<(String, Request, Fault)>,
}

impl Faults {
    pub(super) fn mix(&mut self, mix: Option<Mix>) {
        self.mix = mix;
        self.counts.clear();
    }

    /// The fault that this request meets.
    pub(super) fn next(&mut self, member: &str, request: Request) -> Option<Fault> {
        let fault = self.rule(member, request).or_else(|| self.random(member, request))?;
        self.met.push((member.to_owned(), request, fault));
        Some(fault)
    }

    fn rule(&mut self, member: &str, request: Request) -> Option<Fault> {
        let rule = self.rules.iter_mut().find(|rule| rule.matches(member, request))?;
        rule.times = rule.times.map(|times| times - 1);
        Some(rule.fault)
    }

    fn random(&mut self, member: &str, request: Request) -> Option<Fault> {
        let mix = self.mix.as_ref()?;
        let number = self.counts.entry((member.to_owned(), request)).or_default();
        *number += 1;
        mix.draw(member, request, *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64, members: &[&str]) -> Vec<Option<Fault>> {
        let mut faults = Faults::default();
        faults.mix(Some(Mix { seed, per_mille: 300, faults: vec![Fault::Refuse, Fault::Silence] }));
        let mut of_a = vec![];
        for _ in 0..200 {
            for member in members {
                let fault = faults.next(member, Request::Status);
                if *member == "a" {
                    of_a.push(fault);
                }
            }
        }
        of_a
    }

    #[test]
    fn a_mix_repeats_itself_and_does_not_depend_on_who_else_is_asked() {
        let alone = drawn(1, &["a"]);
        assert_eq!(alone, drawn(1, &["b", "a", "c"]));
        assert_ne!(alone, drawn(2, &["a"]));
        let faults = alone.iter().flatten().count();
        assert!((30..90).contains(&faults), "{faults} of 200 at 300 per mille");
    }

    #[test]
    fn a_rule_holds_for_its_member_its_request_and_its_number_of_times() {
        let mut faults = Faults::default();
        faults.rules.push(Rule::all(Fault::Refuse).to("a").on(Request::Put).times(1));
        assert_eq!(faults.next("b", Request::Put), None);
        assert_eq!(faults.next("a", Request::Range), None);
        assert_eq!(faults.next("a", Request::Put), Some(Fault::Refuse));
        assert_eq!(faults.next("a", Request::Put), None);
        assert_eq!(faults.met.len(), 1);
    }
}
