//! The ordered requests of each intent: the model of the operator's `act`, one to one.

use std::collections::BTreeMap;

use ballast_core::{
    bootstrap::Record,
    build::config_map,
    guard::{Ticket, TicketKind},
    object::{Object, ObjectRef},
};
use ballast_etcd_core::{
    build::{self, Place},
    intent::Intent,
    observed::{Listed, Member, Observed},
    peer_url,
    validate::{Desired, Storage},
};
use ballast_etcd_simulated::model::{Endpoint, List, Refusal};
use serde_json::json;

use crate::{operator::Stop, probe::listed, simulation::Simulation};

impl Simulation {
    pub fn act(&mut self, desired: &Desired, observed: &Observed, intent: &Intent) -> Result<(), Stop> {
        match intent {
            Intent::Bootstrap { ordinal, claim, zone } => {
                self.bootstrap(desired, observed, &place(*ordinal, claim.as_ref(), zone.as_ref()))
            }
            Intent::Adopt { from, claims } => self.adopt(desired, observed, from, claims),
            Intent::ConfirmStarted { cluster_id } => self.confirm_started(desired, observed, *cluster_id),
            Intent::RevokeTicket { ticket, .. } => self.delete(ticket),
            Intent::AddMember { ordinal, zone, .. } => {
                self.add(desired, observed, place(*ordinal, None, zone.as_ref()))
            }
            Intent::Promote { member, id } => {
                let to = voter(observed, None)?;
                self.request(format!("promote {member}"), |sim| {
                    sim.watch_promote(member);
                    sim.etcd.member_promote(to, *id).map(drop).map_err(from_etcd)
                })
            }
            Intent::MoveLeader { from, to, to_id, .. } => {
                let at = observed.members.iter().find(|member| member.name == *from);
                let at = endpoint(at.ok_or_else(|| Stop::Waiting("gone".to_owned()))?)?;
                self.request(format!("move leader from {from} to {to}"), |sim| {
                    sim.etcd.move_leader(at, *to_id).map_err(from_etcd)
                })
            }
            Intent::RemoveMember { member, id, .. } => {
                let to = voter(observed, Some(member))?;
                self.request(format!("remove {member} ({id:x})"), |sim| {
                    sim.watch_leave(member);
                    gone_is_done(sim.etcd.member_remove(to, *id))
                })
            }
            Intent::Update { ordinal, pod, .. } => self.update(desired, observed, *ordinal, pod.as_deref()),
            Intent::Restart { member, pod, .. } => self.delete_pod(member, pod, None),
            Intent::CleanUp { object, .. } => self.delete(object),
            Intent::DisarmAlarm { id } => {
                let to = voter(observed, None)?;
                self.request(format!("disarm {id:x}"), |sim| {
                    sim.etcd.disarm(to, *id).map(drop).map_err(from_etcd)
                })
            }
            Intent::ForceDeletePod { member, pod } => self.delete_pod(member, pod, Some(0)),
        }
    }

    fn claim(&mut self, desired: &Desired, observed: &Observed, place: &Place) -> Result<String, Stop> {
        if matches!(desired.storage, Storage::Ephemeral { .. }) {
            return Ok("ephemeral".to_owned());
        }
        let claim = Object::from(build::claim(desired, place).unwrap());
        let mut claims = observed.members.iter().flat_map(|member| &member.claims);
        match claims.find(|have| have.reference.name == claim.name()) {
            Some(have) if have.deleting => Err(Stop::Waiting("the claim is being deleted".to_owned())),
            Some(have) => Ok(have.reference.uid.clone()),
            None => Ok(self.create(&claim)?.0),
        }
    }

    fn add(&mut self, desired: &Desired, observed: &Observed, mut place: Place) -> Result<(), Stop> {
        let name = desired.member(place.ordinal);
        let url = peer_url(&desired.cluster.host(&name));
        let member = observed.members.iter().find(|member| member.ordinal == place.ordinal);
        let list = match member.and_then(|member| member.listed.as_ref()) {
            Some(_) => observed.answers.list.clone().unwrap_or_default(),
            None => {
                let to = voter(observed, None)?;
                self.request(format!("add {name}"), |sim| {
                    sim.etcd.member_add(to, &url).map(|(_, list)| listed(&list)).map_err(from_etcd)
                })?
            }
        };
        let id = list.iter().find(|listed| listed.peer_urls.contains(&url)).unwrap().id;
        if matches!(desired.storage, Storage::Volume { .. }) {
            place.claim = Some(build::claim_name(desired, &name, Some(id)));
        }
        let place = &place;
        let claim_uid = self.claim(desired, observed, place)?;
        if member.is_none_or(|member| member.ticket.is_none()) {
            let append = build::initial_cluster(&entries(&list, &name, &url), "existing");
            self.issue(desired, place, TicketKind::Join, claim_uid, append)?;
        }
        self.apply(&build::stateful_set(desired, place).into())
    }

    fn issue(
        &mut self,
        desired: &Desired,
        place: &Place,
        kind: TicketKind,
        claim_uid: String,
        append: String,
    ) -> Result<(), Stop> {
        let member = desired.member(place.ordinal);
        let ticket = Ticket {
            kind,
            cluster_uid: desired.cluster.labels.uid.clone(),
            member: member.clone(),
            claim: place.claim.clone().unwrap_or_else(|| "ephemeral".to_owned()),
            claim_uid,
            append: BTreeMap::from([(build::CONFIG_FILE.to_owned(), append)]),
        };
        self.create(&config_map::ticket(&desired.cluster, &member, &ticket).into())?;
        Ok(())
    }

    fn bootstrap(&mut self, desired: &Desired, observed: &Observed, place: &Place) -> Result<(), Stop> {
        let member = desired.member(place.ordinal);
        let claim = place.claim.clone().unwrap_or_else(|| "ephemeral".to_owned());
        let found = observed.record.as_ref().ok().and_then(Option::as_ref);
        let (granted, version) = match found {
            Some(found) => (matches!(found.record, Record::Granted { .. }), found.resource_version.clone()),
            None => {
                let record = Record::Preparing { member: member.clone(), claim: claim.clone() };
                (false, self.create(&record_map(desired, &record, None))?.1)
            }
        };
        let claim_uid = self.claim(desired, observed, place)?;
        if !granted {
            let record = Record::Granted { member: member.clone(), claim, claim_uid: claim_uid.clone() };
            self.replace(&record_map(desired, &record, Some(&version)))?;
        }
        let seed = observed.members.iter().find(|seed| seed.ordinal == place.ordinal);
        if seed.is_none_or(|seed| seed.ticket.is_none()) {
            let list = [(member.clone(), peer_url(&desired.cluster.host(&member)))];
            let append = build::initial_cluster(&list, "new");
            self.issue(desired, place, TicketKind::Bootstrap, claim_uid, append)?;
        }
        self.apply(&build::stateful_set(desired, place).into())
    }

    fn confirm_started(
        &mut self,
        desired: &Desired,
        observed: &Observed,
        cluster_id: u64,
    ) -> Result<(), Stop> {
        for ticket in observed.members.iter().filter_map(|member| member.ticket.as_ref()) {
            self.delete(&ticket.reference)?;
        }
        let Some(found) = observed.record.as_ref().ok().and_then(Option::as_ref) else {
            return Err(Stop::Waiting("the bootstrap record is gone".to_owned()));
        };
        let record = Record::Started { cluster_id: format!("{cluster_id:x}") };
        self.replace(&record_map(desired, &record, Some(&found.resource_version)))
    }

    fn adopt(
        &mut self,
        desired: &Desired,
        observed: &Observed,
        from: &str,
        claims: &[(ObjectRef, String)],
    ) -> Result<(), Stop> {
        if observed.record.as_ref().ok().and_then(Option::as_ref).is_none() {
            self.create(&record_map(desired, &Record::Adopted { from_uid: from.to_owned() }, None))?;
        }
        let owned = matches!(desired.storage, Storage::Volume { owned: true, .. });
        let patch = json!({
            "labels": {ballast_core::label::CLUSTER_UID: desired.cluster.labels.uid},
            "annotations": {build::ADOPTED_FROM: from},
            "ownerReferences": if owned { json!([desired.cluster.owner]) } else { json!([]) },
        });
        for (claim, version) in claims {
            self.request(format!("take over {}", claim.name), |sim| {
                let result = sim.world.patch_metadata(claim, version, &patch);
                result.map_err(|rejected| Stop::Refused(format!("{rejected:?}")))
            })?;
        }
        Ok(())
    }

    fn update(
        &mut self,
        desired: &Desired,
        observed: &Observed,
        ordinal: u32,
        pod: Option<&str>,
    ) -> Result<(), Stop> {
        let member = observed.members.iter().find(|member| member.ordinal == ordinal);
        let member = member.ok_or_else(|| Stop::Waiting("the member is gone".to_owned()))?;
        let claim = member.stateful_set.as_ref().and_then(|set| set.claim.clone());
        let adopted_from = claim.as_deref().and_then(|claim| build::adopted_from(&observed.children, claim));
        let place = Place { ordinal, zone: build::zone(&observed.children, member), claim, adopted_from };
        self.apply(&build::stateful_set(desired, &place).into())?;
        match pod {
            Some(uid) => self.delete_pod(&member.name, uid, None),
            None => Ok(()),
        }
    }
}

fn place(ordinal: u32, claim: Option<&String>, zone: Option<&String>) -> Place {
    Place { ordinal, claim: claim.cloned(), zone: zone.cloned(), adopted_from: None }
}

fn record_map(desired: &Desired, record: &Record, version: Option<&str>) -> Object {
    let mut map = config_map::bootstrap(&desired.cluster, record);
    map.metadata.resource_version = version.map(str::to_owned);
    map.into()
}

/// etcd's refusals are for later; a real failure is one too, for the next pass.
fn from_etcd(refusal: Refusal) -> Stop {
    Stop::Waiting(refusal.to_string())
}

/// That a member is gone already is what was wanted.
fn gone_is_done(result: Result<List, Refusal>) -> Result<(), Stop> {
    match result {
        Ok(_) | Err(Refusal::MemberNotFound) => Ok(()),
        Err(refusal) => Err(from_etcd(refusal)),
    }
}

fn voter(observed: &Observed, except: Option<&str>) -> Result<Endpoint, Stop> {
    let serving =
        || observed.voters().filter(|member| member.serves() && Some(member.name.as_str()) != except);
    let chosen = serving().find(|member| member.leads()).or_else(|| serving().next());
    endpoint(chosen.ok_or_else(|| Stop::Waiting("no voter serves now".to_owned()))?)
}

fn endpoint(member: &Member) -> Result<Endpoint, Stop> {
    let answer = member.answer().ok_or_else(|| Stop::Waiting("it does not answer".to_owned()))?;
    Ok(Endpoint { cluster: answer.cluster_id, id: answer.id })
}

fn entries(list: &[Listed], name: &str, url: &str) -> Vec<(String, String)> {
    list.iter()
        .flat_map(|listed| {
            listed.peer_urls.iter().map(|peer| {
                let own = peer == url || listed.name.is_empty();
                (if own { name.to_owned() } else { listed.name.clone() }, peer.clone())
            })
        })
        .collect()
}
