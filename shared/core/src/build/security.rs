//! Security contexts that satisfy Pod Security *restricted*.

use k8s_openapi::api::core::v1::{Capabilities, PodSecurityContext, SeccompProfile, SecurityContext};

/// For the pod: everything runs as this numeric user, which also owns the volumes.
pub fn pod(user_id: i64) -> PodSecurityContext {
    PodSecurityContext {
        run_as_non_root: Some(true),
        run_as_user: Some(user_id),
        run_as_group: Some(user_id),
        fs_group: Some(user_id),
        fs_group_change_policy: Some("OnRootMismatch".to_owned()),
        seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
        ..PodSecurityContext::default()
    }
}

/// For a container of ours: no privileges, no capabilities, and a root file system that cannot be written.
pub fn container() -> SecurityContext {
    SecurityContext { read_only_root_filesystem: Some(true), ..sidecar() }
}

/// For a user's container: what Pod Security demands and nothing else.
pub fn sidecar() -> SecurityContext {
    SecurityContext {
        allow_privilege_escalation: Some(false),
        capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), add: None }),
        ..SecurityContext::default()
    }
}
