//! Who may connect.

use super::{
    Arrives::{At, Count, Nowhere},
    Base::{One, Rich},
    Change,
    Refused::{ApiServer, Operator},
    Wrong, change, wrong,
};

const POLICY: &str = "NetworkPolicy";
const FIRST: &str = "/spec/ingress/0/from/0";

/// The list of peers has no names to merge it by: a patch gives it as a whole.
pub const CHANGES: &[Change] = &[
    change("spec.networkPolicy.enabled", One, "networkPolicy: {enabled: false}", Count(POLICY, 0)),
    change("spec.networkPolicy.enabled", Rich, "networkPolicy: {enabled: false}", Count(POLICY, 0)),
    change("spec.networkPolicy.enabled", One, "networkPolicy: {enabled: true}", Nowhere),
    change(
        "spec.networkPolicy.clientsFrom[].podSelector.matchLabels.*",
        One,
        "networkPolicy: {clientsFrom: [{podSelector: {matchLabels: {x: z}}}]}",
        At(POLICY, FIRST, "podSelector: {matchLabels: {x: z}}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].podSelector.matchLabels.*",
        Rich,
        "networkPolicy: {clientsFrom: [{podSelector: {}}]}",
        At(POLICY, FIRST, "podSelector: {}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].podSelector.matchLabels.*",
        Rich,
        "networkPolicy: {clientsFrom: ~}",
        At(POLICY, "/spec/ingress/0/from", "~"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].podSelector.matchExpressions[].key",
        One,
        "networkPolicy: {clientsFrom: [{podSelector: {matchExpressions: [{key: role, operator: Exists}]}}]}",
        At(POLICY, FIRST, "podSelector: {matchExpressions: [{key: role, operator: Exists}]}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].podSelector.matchExpressions[].operator",
        Rich,
        "networkPolicy: {clientsFrom: [{podSelector: {matchExpressions: [{key: c, operator: NotIn, values: [d]}]}}]}",
        At(POLICY, FIRST, "podSelector: {matchExpressions: [{key: c, operator: NotIn, values: [d]}]}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].podSelector.matchExpressions[].values[]",
        Rich,
        "networkPolicy: {clientsFrom: [{podSelector: {matchExpressions: [{key: c, operator: In, values: [e]}]}}]}",
        At(POLICY, FIRST, "podSelector: {matchExpressions: [{key: c, operator: In, values: [e]}]}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].namespaceSelector.matchLabels.*",
        One,
        "networkPolicy: {clientsFrom: [{namespaceSelector: {matchLabels: {x: z}}}]}",
        At(POLICY, FIRST, "namespaceSelector: {matchLabels: {x: z}}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].namespaceSelector.matchExpressions[].key",
        One,
        "networkPolicy: {clientsFrom: [{namespaceSelector: {matchExpressions: [{key: role, operator: DoesNotExist}]}}]}",
        At(POLICY, FIRST, "namespaceSelector: {matchExpressions: [{key: role, operator: DoesNotExist}]}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].namespaceSelector.matchExpressions[].operator",
        Rich,
        "networkPolicy: {clientsFrom: [{namespaceSelector: {matchExpressions: [{key: c, operator: Exists}]}}]}",
        At(POLICY, FIRST, "namespaceSelector: {matchExpressions: [{key: c, operator: Exists}]}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].namespaceSelector.matchExpressions[].values[]",
        Rich,
        "networkPolicy: {clientsFrom: [{namespaceSelector: {matchExpressions: [{key: c, operator: In, values: [e]}]}}]}",
        At(POLICY, FIRST, "namespaceSelector: {matchExpressions: [{key: c, operator: In, values: [e]}]}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].ipBlock.cidr",
        One,
        "networkPolicy: {clientsFrom: [{ipBlock: {cidr: 2001:db8::/32}}]}",
        At(POLICY, FIRST, "ipBlock: {cidr: '2001:db8::/32'}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].ipBlock.except[]",
        Rich,
        "networkPolicy: {clientsFrom: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.2.0.0/16, 10.3.0.0/16]}}]}",
        At(POLICY, FIRST, "ipBlock: {cidr: 10.0.0.0/8, except: [10.2.0.0/16, 10.3.0.0/16]}"),
    ),
    change(
        "spec.networkPolicy.clientsFrom[].ipBlock.except[]",
        Rich,
        "networkPolicy: {clientsFrom: [{ipBlock: {cidr: 10.0.0.0/8}}]}",
        At(POLICY, FIRST, "ipBlock: {cidr: 10.0.0.0/8}"),
    ),
];

const FROM: &str = "spec.networkPolicy.clientsFrom";

pub const WRONGS: &[Wrong] = &[
    wrong(
        "spec.networkPolicy.enabled",
        One,
        "networkPolicy: {enabled: maybe}",
        ApiServer("spec.networkPolicy.enabled"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].podSelector.matchLabels.*",
        One,
        "networkPolicy: {clientsFrom: [{podSelector: {matchLabels: {'a b': c}}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].podSelector.matchLabels[a b]"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].podSelector.matchLabels.*",
        Rich,
        "networkPolicy: {clientsFrom: [{podSelector: {}}, {}]}",
        Operator("spec.networkPolicy.clientsFrom[1]"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].podSelector.matchLabels.*",
        One,
        "networkPolicy: {clientsFrom: [{podSelector: {}, ipBlock: {cidr: 10.0.0.0/8}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].ipBlock"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].podSelector.matchExpressions[].key",
        One,
        "networkPolicy: {clientsFrom: [{podSelector: {matchExpressions: [{key: 'a b', operator: Exists}]}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].podSelector.matchExpressions[0].key"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].podSelector.matchExpressions[].key",
        One,
        "networkPolicy: {clientsFrom: [{podSelector: {matchExpressions: [{operator: Exists}]}}]}",
        ApiServer(FROM),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].podSelector.matchExpressions[].operator",
        Rich,
        "networkPolicy: {clientsFrom: [{podSelector: {matchExpressions: [{key: a, operator: Is}]}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].podSelector.matchExpressions[0].operator"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].podSelector.matchExpressions[].values[]",
        One,
        "networkPolicy: {clientsFrom: [{podSelector: {matchExpressions: [{key: a, operator: In}]}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].podSelector.matchExpressions[0].values"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].namespaceSelector.matchLabels.*",
        One,
        "networkPolicy: {clientsFrom: [{namespaceSelector: {matchLabels: {a: 'b c'}}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].namespaceSelector.matchLabels[a]"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].namespaceSelector.matchExpressions[].key",
        One,
        "networkPolicy: {clientsFrom: [{namespaceSelector: {matchExpressions: [{key: '', operator: Exists}]}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].namespaceSelector.matchExpressions[0].key"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].namespaceSelector.matchExpressions[].operator",
        One,
        "networkPolicy: {clientsFrom: [{namespaceSelector: {matchExpressions: [{key: a, operator: ''}]}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].namespaceSelector.matchExpressions[0].operator"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].namespaceSelector.matchExpressions[].values[]",
        One,
        "networkPolicy: {clientsFrom: [{namespaceSelector: {matchExpressions: [{key: a, operator: Exists, values: [b]}]}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].namespaceSelector.matchExpressions[0].values"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].ipBlock.cidr",
        One,
        "networkPolicy: {clientsFrom: [{ipBlock: {cidr: 10.0.0.0/33}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].ipBlock.cidr"),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].ipBlock.cidr",
        One,
        "networkPolicy: {clientsFrom: [{ipBlock: {}}]}",
        ApiServer(FROM),
    ),
    wrong(
        "spec.networkPolicy.clientsFrom[].ipBlock.except[]",
        Rich,
        "networkPolicy: {clientsFrom: [{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/16]}}]}",
        Operator("spec.networkPolicy.clientsFrom[0].ipBlock.except[0]"),
    ),
];
