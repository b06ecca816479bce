//! Pods of StatefulSets, run by the fake kubelets.

use anyhow::{Context, Result};
use ballast_core::guard::Refusal;
use ballast_testbed::wait::{Seen, until};
use ballast_testbed::{Start, kubelet};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{ConfigMap, ContainerStatus, PersistentVolume, PersistentVolumeClaim, Pod};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use crate::{APPLICATION, DEADLINE, bed};

/// A member `m` in a namespace of its own, as an operator would make it.
struct Member {
    namespace: String,
    command: Vec<String>,
}

impl Member {
    async fn new(about: &str) -> Result<Self> {
        let command = ["/ballast/bin/ballast-guard", "run", "--cluster-uid", "c-uid", "--member", "m"];
        let more = ["--claim", "data", "--volume", "/data", "--data-dir", "/data/d", "--evidence", "x"];
        let files = ["--ticket-dir", "/ticket", "--scratch", "/s", "--config", "/s/a.conf.base=/s/a.conf"];
        let command = command.iter().chain(&more).chain(&files).chain(&["--", "/bin/app"]);
        let command = command.map(|word| (*word).to_owned()).collect();
        Ok(Self { namespace: bed().namespace(about).await?, command })
    }

    fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    {
        Api::namespaced(bed().client().clone(), &self.namespace)
    }

    async fn make<K>(&self, object: Value) -> Result<K>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
    {
        Ok(self.api::<K>().create(&PostParams::default(), &serde_json::from_value(object)?).await?)
    }

    async fn config(&self) -> Result<ConfigMap> {
        let text = "name = ${BALLAST_MEMBER}\nhost = ${BALLAST_HOST}\nzone = ${BALLAST_ZONE}";
        self.make(json!({"metadata": {"name": "config"}, "data": {"a.conf": text}})).await
    }

    async fn claim(&self) -> Result<String> {
        let claim: PersistentVolumeClaim = self
            .make(json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}))
            .await?;
        claim.uid().context("a claim has a uid")
    }

    async fn ticket(&self, claim_uid: &str) -> Result<ConfigMap> {
        let ticket = json!({"kind": "Bootstrap", "clusterUid": "c-uid", "member": "m", "claim": "data",
            "claimUid": claim_uid, "append": {"a.conf": "first = yes\n"}});
        self.make(json!({"metadata": {"name": "ticket"}, "data": {"ticket.json": ticket.to_string()}})).await
    }

    async fn set(&self) -> Result<StatefulSet> {
        let secure = json!({"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}});
        let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [
                {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["b"]}]}]}}});
        self.make(json!({"metadata": {"name": "m"}, "spec": {
            "replicas": 1, "serviceName": "none", "selector": {"matchLabels": {"app": "m"}},
            "podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"},
            "template": {"metadata": {"labels": {"app": "m"}}, "spec": {
                "affinity": affinity,
                "securityContext": {"runAsNonRoot": true, "runAsUser": 1000,
                    "seccompProfile": {"type": "RuntimeDefault"}},
                "initContainers": [{"name": "prepare", "image": "init:1", "args": ["prepare", "--host=m-0.nodes"],
                    "securityContext": secure}],
                "containers": [{"name": "app", "image": "app:1", "command": self.command, "securityContext": secure}],
                "volumes": [
                    {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                    {"name": "config", "configMap": {"name": "config"}},
                    {"name": "ticket", "configMap": {"name": "ticket", "optional": true}}],
            }}}}))
        .await
    }

    /// Everything, until the pod is ready.
    async fn ready(about: &str) -> Result<(Self, String, Pod)> {
        let member = Self::new(about).await?;
        member.config().await?;
        let claim = member.claim().await?;
        member.ticket(&claim).await?;
        member.set().await?;
        let pod = member.pod("a ready pod", |pod| holds(pod, "Ready")).await?;
        Ok((member, claim, pod))
    }

    async fn pod(&self, what: &str, accept: impl Fn(&Pod) -> bool) -> Result<Pod> {
        let pods = self.api::<Pod>();
        let accept = &accept;
        let look = || {
            let pods = pods.clone();
            async move {
                Ok(match pods.get_opt("m-0").await? {
                    Some(pod) if accept(&pod) => Seen::Met(pod),
                    other => Seen::NotYet(format!("{:?}", other.and_then(|pod| pod.status))),
                })
            }
        };
        until(DEADLINE, what, look).await
    }
}

fn holds(pod: &Pod, type_: &str) -> bool {
    let conditions = pod.status.as_ref().and_then(|status| status.conditions.as_deref()).unwrap_or_default();
    conditions.iter().any(|condition| condition.type_ == type_ && condition.status == "True")
}

fn main_container(pod: &Pod) -> Option<&ContainerStatus> {
    pod.status.as_ref()?.container_statuses.as_ref()?.first()
}

fn waits_for(pod: &Pod) -> Option<&str> {
    main_container(pod)?.state.as_ref()?.waiting.as_ref()?.reason.as_deref()
}

fn refusal(pod: &Pod) -> Option<Refusal> {
    let ended = main_container(pod)?.last_state.as_ref()?.terminated.as_ref()?;
    Refusal::from_termination(ended.exit_code, ended.message.as_deref()?)
}

#[test]
fn a_pod_starts_with_its_ticket_where_it_belongs() -> Result<()> {
    bed().block_on(async {
        let (member, claim, pod) = Member::ready("start").await?;
        assert_eq!(pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()), Some("n2"), "zone b");
        let (process, how) = APPLICATION.started(&pod.uid().unwrap()).context("it runs")?;
        assert!(matches!(how, Start::Ticket(_)));
        assert_eq!((process.member.as_str(), process.namespace.as_str()), ("m", member.namespace.as_str()));
        assert_eq!(process.config["a.conf"], "name = m\nhost = m-0.nodes\nzone = b\nfirst = yes\n");
        assert_eq!(
            (process.disk.as_str(), process.command.as_slice()),
            (claim.as_str(), &["/bin/app".to_owned()][..])
        );
        assert_eq!(
            pod.status.as_ref().and_then(|status| status.pod_ip.clone()),
            Some(process.address.clone())
        );
        // Whoever reads the address can be reached there.
        std::net::TcpListener::bind((process.address.as_str(), 2379))
            .context("the address is this machine")?;
        let init =
            pod.status.iter().flat_map(|status| status.init_container_statuses.iter().flatten()).next();
        let done = init.and_then(|init| init.state.as_ref()?.terminated.as_ref());
        assert_eq!(done.map(|done| done.exit_code), Some(0));
        let bound = member.api::<PersistentVolumeClaim>().get("data").await?;
        assert_eq!(bound.status.and_then(|status| status.phase).as_deref(), Some("Bound"));
        Ok(())
    })
}

#[test]
fn a_pod_that_is_deleted_returns_on_its_data_without_a_ticket() -> Result<()> {
    bed().block_on(async {
        let (member, _, first) = Member::ready("again").await?;
        member.api::<ConfigMap>().delete("ticket", &DeleteParams::default()).await?;
        member.api::<Pod>().delete("m-0", &DeleteParams::default()).await?;
        let new = |pod: &Pod| pod.uid() != first.uid() && holds(pod, "Ready");
        let second = member.pod("the second pod", new).await?;
        assert!(APPLICATION.started(&first.uid().unwrap()).is_none(), "the first has been stopped");
        let (process, how) = APPLICATION.started(&second.uid().unwrap()).context("it runs")?;
        assert_eq!(how, Start::DataPresent);
        assert!(!process.config["a.conf"].contains("first"));
        let address = |pod: &Pod| pod.status.as_ref().and_then(|status| status.pod_ip.clone());
        assert_ne!(address(&first), address(&second));
        assert_eq!(
            second.spec.unwrap().node_name,
            first.spec.unwrap().node_name,
            "the volume keeps it there"
        );
        Ok(())
    })
}

#[test]
fn a_container_on_a_wiped_disk_is_refused_as_the_guard_does() -> Result<()> {
    bed().block_on(async {
        let (member, claim, pod) = Member::ready("wiped").await?;
        bed().kubelets().wipe(&claim);
        bed().kubelets().kill_container(&pod.uid().unwrap());
        // The ticket is still there, but it was used in this pod.
        let refused = member.pod("a refusal", |pod| refusal(pod).is_some()).await?;
        assert!(matches!(refusal(&refused), Some(Refusal::DataLost(why)) if why.contains("already used")));
        assert_eq!(waits_for(&refused), Some("CrashLoopBackOff"));
        assert!(!holds(&refused, "Ready") && main_container(&refused).unwrap().restart_count > 0);
        member.api::<ConfigMap>().delete("ticket", &DeleteParams::default()).await?;
        member.api::<Pod>().delete("m-0", &DeleteParams::default()).await?;
        let new =
            |pod: &Pod| matches!(refusal(pod), Some(Refusal::DataLost(why)) if why.contains("no ticket"));
        member.pod("a refusal without a ticket", new).await?;
        Ok(())
    })
}

#[test]
fn a_program_that_ends_or_is_not_ready_shows_in_the_status() -> Result<()> {
    bed().block_on(async {
        let (member, _, pod) = Member::ready("ends").await?;
        let uid = pod.uid().unwrap();
        APPLICATION.end(&uid);
        let again = |pod: &Pod| {
            holds(pod, "Ready") && main_container(pod).is_some_and(|main| main.restart_count == 1)
        };
        let pod = member.pod("a restart", again).await?;
        let ended = main_container(&pod).and_then(|main| main.last_state.as_ref()?.terminated.as_ref());
        assert_eq!(ended.map(|ended| ended.exit_code), Some(1));
        APPLICATION.unready(&uid);
        let unready = member.pod("a pod that is not ready", |pod| !holds(pod, "Ready")).await?;
        assert!(!main_container(&unready).unwrap().ready && waits_for(&unready).is_none());
        Ok(())
    })
}

#[test]
fn nothing_starts_on_a_full_disk_until_there_is_room() -> Result<()> {
    bed().block_on(async {
        let (member, claim, pod) = Member::ready("full").await?;
        bed().kubelets().fill(&claim, true);
        bed().kubelets().kill_container(&pod.uid().unwrap());
        let full = |pod: &Pod| {
            let ended = main_container(pod).and_then(|main| main.last_state.as_ref()?.terminated.as_ref());
            ended.is_some_and(|ended| {
                ended.message.as_deref().is_some_and(|why| why.contains("no space left"))
            })
        };
        member.pod("a failure", full).await?;
        bed().kubelets().fill(&claim, false);
        member.pod("a ready pod", |pod| holds(pod, "Ready")).await?;
        Ok(())
    })
}

#[test]
fn a_program_that_fails_to_start_says_why() -> Result<()> {
    bed().block_on(async {
        let mut member = Member::new("fails").await?;
        member.command.push("--fail".into());
        member.config().await?;
        let claim = member.claim().await?;
        member.ticket(&claim).await?;
        member.set().await?;
        let pod = member.pod("a failure", |pod| waits_for(pod) == Some("CrashLoopBackOff")).await?;
        let ended =
            main_container(&pod).and_then(|main| main.last_state.as_ref()?.terminated.clone()).unwrap();
        assert_eq!((ended.exit_code, ended.message.as_deref()), (1, Some("told to fail")));
        Ok(())
    })
}

#[test]
fn what_is_missing_is_waited_for() -> Result<()> {
    bed().block_on(async {
        let member = Member::new("missing").await?;
        member.set().await?;
        let unschedulable = |pod: &Pod| {
            let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
            conditions
                .filter(|condition| condition.type_ == "PodScheduled" && condition.status == "False")
                .any(|condition| {
                    condition.message.as_ref().is_some_and(|why| why.contains("\"data\" not found"))
                })
        };
        member.pod("a pod without its claim", unschedulable).await?;
        let claim = member.claim().await?;
        member.ticket(&claim).await?;
        let creating = |pod: &Pod| {
            holds(pod, "PodScheduled")
                && !holds(pod, "Initialized")
                && waits_for(pod) == Some("PodInitializing")
        };
        member.pod("a pod without its configuration", creating).await?;
        bed().kubelets().break_image(&member.namespace, "app:1", true);
        member.config().await?;
        member.pod("a pod without its image", |pod| waits_for(pod) == Some("ImagePullBackOff")).await?;
        bed().kubelets().break_image(&member.namespace, "app:1", false);
        member.pod("a ready pod", |pod| holds(pod, "Ready")).await?;
        Ok(())
    })
}

#[test]
fn a_claim_grows_and_its_disk_goes_with_it() -> Result<()> {
    bed().block_on(async {
        let (member, uid, _) = Member::ready("claims").await?;
        let claims = member.api::<PersistentVolumeClaim>();
        let more = json!({"spec": {"resources": {"requests": {"storage": "3Gi"}}}});
        claims.patch("data", &PatchParams::default(), &Patch::Merge(more)).await?;
        let grown = || async {
            let claim = claims.get("data").await?;
            let has = claim.status.and_then(|status| status.capacity?.get("storage").cloned());
            Ok(has.filter(|has| has.0 == "3Gi"))
        };
        until(DEADLINE, "the new size", grown).await?;
        // A claim that a pod uses stays until the pod has gone.
        claims.delete("data", &DeleteParams::default()).await?;
        assert!(claims.get("data").await?.metadata.deletion_timestamp.is_some());
        assert!(bed().kubelets().disks().contains_key(&uid));
        member.api::<StatefulSet>().delete("m", &DeleteParams::default()).await?;
        let volumes = Api::<PersistentVolume>::all(bed().client().clone());
        let gone = || async {
            let there = (claims.get_opt("data").await?, volumes.get_opt(&format!("pvc-{uid}")).await?);
            let told = APPLICATION.removed(&uid) && !bed().kubelets().disks().contains_key(&uid);
            Ok((there.0.is_none() && there.1.is_none() && told).then_some(()))
        };
        until(DEADLINE, "the end of claim, volume and disk", gone).await?;
        Ok(())
    })
}

#[test]
fn a_discarded_namespace_takes_its_pods_along() -> Result<()> {
    bed().block_on(async {
        let (member, claim, pod) = Member::ready("discard").await?;
        bed().discard(&member.namespace).await?;
        let uid = pod.uid().unwrap();
        let gone = || async {
            let ended = APPLICATION.started(&uid).is_none() && APPLICATION.removed(&claim);
            Ok((ended && bed().kubelets().processes(&member.namespace).is_empty()).then_some(()))
        };
        until(DEADLINE, "the end of the namespace", gone).await
    })
}

#[test]
fn pods_below_the_restricted_standard_are_refused() -> Result<()> {
    bed().block_on(async {
        let member = Member::new("rights").await?;
        let pod = json!({"metadata": {"name": "x"}, "spec": {"containers": [{"name": "x", "image": "x"}]}});
        let refused = member.make::<Pod>(pod).await.expect_err("it is not restricted");
        assert!(format!("{refused:#}").contains("restricted"), "{refused:#}");
        assert_eq!(kubelet::STORAGE_CLASS, "testbed");
        Ok(())
    })
}
