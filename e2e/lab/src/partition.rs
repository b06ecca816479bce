//! Cuts the traffic between two groups of addresses, and nothing else. A cable cuts a whole node; this cuts what is
//! between two pods, or between a pod and the API server.

use std::net::Ipv4Addr;

use anyhow::Result;

use crate::command::run;
use crate::node::Node;

/// Marks our rules, so that all of them can be found again.
const MARK: &str = "ballast-lab-partition";
/// Packets of pods pass `FORWARD`, those of a node's own daemons the other two.
const CHAINS: [&str; 3] = ["FORWARD", "INPUT", "OUTPUT"];

/// Traffic that does not pass, in both directions. It passes again after [`Partition::heal`].
#[derive(Debug)]
#[must_use = "a partition that nobody heals stays"]
pub struct Partition(Vec<Node>);

impl Partition {
    /// Drops what goes between an address of `left` and one of `right`. Both ends drop it, so that it does not matter on
    /// which nodes they are.
    pub(crate) fn cut(nodes: Vec<Node>, left: &[Ipv4Addr], right: &[Ipv4Addr]) -> Result<Self> {
        let partition = Self(nodes);
        if let Err(error) = partition.drop_between(left, right) {
            partition.heal()?;
            return Err(error);
        }
        Ok(partition)
    }

    /// Lets everything pass again, also what another partition of these nodes holds back.
    pub fn heal(&self) -> Result<()> {
        self.0.iter().try_for_each(heal)
    }

    fn drop_between(&self, left: &[Ipv4Addr], right: &[Ipv4Addr]) -> Result<()> {
        let pairs = left.iter().flat_map(|left| right.iter().map(move |right| (left, right)));
        for (from, to) in pairs.flat_map(|(left, right)| [(left, right), (right, left)]) {
            let (from, to) = (from.to_string(), to.to_string());
            let rule = ["-s", &from, "-d", &to, "-m", "comment", "--comment", MARK, "-j", "DROP"];
            for node in &self.0 {
                for chain in CHAINS {
                    iptables(node, ["-I", chain].into_iter().chain(rule))?;
                }
            }
        }
        Ok(())
    }
}

/// Removes all rules of partitions from a node, also those of a command that died.
pub(crate) fn heal(node: &Node) -> Result<()> {
    for chain in CHAINS {
        for rule in ours(&iptables(node, ["-S", chain])?) {
            iptables(node, ["-D"].into_iter().chain(rule.iter().map(String::as_str)))?;
        }
    }
    Ok(())
}

/// The arguments of our rules in the output of `iptables -S`, without the `-A`.
fn ours(listing: &str) -> Vec<Vec<String>> {
    listing
        .lines()
        .filter(|line| line.contains(MARK))
        .filter_map(|line| line.strip_prefix("-A "))
        .map(|rule| rule.split_whitespace().map(|word| word.trim_matches('"').to_owned()).collect())
        .collect()
}

fn iptables<'a>(node: &Node, arguments: impl IntoIterator<Item = &'a str>) -> Result<String> {
    let namespace = format!("--net=/run/netns/{}", node.namespace());
    // kube-proxy changes the same tables: wait for its lock.
    let wait = ["iptables", "-w", "5"].map(str::to_owned);
    run("nsenter", [namespace].into_iter().chain(wait).chain(arguments.into_iter().map(str::to_owned)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_rules_are_found_again() {
        let listing = "-P FORWARD ACCEPT\n\
            -A FORWARD -m conntrack --ctstate NEW -j KUBE-PROXY-FIREWALL\n\
            -A FORWARD -s 10.244.1.2/32 -d 10.244.2.3/32 -m comment --comment ballast-lab-partition -j DROP\n";
        let rule = ["FORWARD", "-s", "10.244.1.2/32", "-d", "10.244.2.3/32", "-m", "comment"];
        let found = ours(listing);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0][..7], rule);
        assert_eq!(found[0][7..], ["--comment", MARK, "-j", "DROP"]);
    }
}
