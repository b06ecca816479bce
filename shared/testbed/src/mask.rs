//! Names and texts without what differs from run to run: uids, hashes, member ids, addresses, times. Pure.

/// How many digits make a hexadecimal word a generated one.
const GENERATED: usize = 8;

/// Replaces generated words by `*`, and this namespace by `<namespace>`.
///
/// A generated word has eight or more hexadecimal digits (no word of ours has so many letters up to f), or is the hash
/// of a revision: hashes, ids and, since the dashes of a uid stand between words, the first part of a uid; the shorter
/// words behind it go with it. So are the numbers of a pod's address. A text that is a time is `<time>` as a whole.
pub fn text(text: &str, namespace: &str) -> String {
    if text.parse::<jiff::Timestamp>().is_ok() {
        return "<time>".to_owned();
    }
    let text = mask_addresses(text);
    let text = if namespace.is_empty() { text } else { replace_word(&text, namespace) };
    let mut masked = String::with_capacity(text.len());
    let mut after_uid = 0;
    for word in words(&text) {
        let uid_part = after_uid > 0 && (hexadecimal(word) || word == "-");
        if uid_part {
            after_uid -= 1;
            continue;
        }
        after_uid = 0;
        if generated(word) {
            masked.push('*');
            after_uid = if uid_follows(&text, word) { 8 } else { 0 };
        } else {
            masked.push_str(word);
        }
    }
    masked
}

/// Words of letters and digits, and what stands between them, one by one.
fn words(text: &str) -> Vec<&str> {
    let mut words = vec![];
    let mut begin = 0;
    let mut inside = false;
    for (at, character) in text.char_indices() {
        let word = character.is_ascii_alphanumeric();
        if at > begin && (!word || !inside) {
            words.push(&text[begin..at]);
            begin = at;
        }
        inside = word;
    }
    if begin < text.len() {
        words.push(&text[begin..]);
    }
    words
}

/// Replaces IPv4 addresses.
fn mask_addresses(text: &str) -> String {
    let words = words(text);
    let number = |word: Option<&&str>| word.is_some_and(|word| word.parse::<u8>().is_ok());
    let mut masked = String::with_capacity(text.len());
    let mut at = 0;
    while at < words.len() {
        let dots = [1, 3, 5].iter().all(|dot| words.get(at + dot) == Some(&"."));
        let four = [0, 2, 4, 6].iter().all(|part| number(words.get(at + part)));
        let fifth = words.get(at + 7) == Some(&".") && number(words.get(at + 8));
        if dots && four && !fifth {
            masked.push_str("<address>");
            at += 7;
        } else {
            masked.push_str(words[at]);
            at += 1;
        }
    }
    masked
}

fn hexadecimal(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

fn generated(word: &str) -> bool {
    word.len() >= GENERATED && hexadecimal(word) || revision(word)
}

/// Whether this may be the hash in the name of a `ControllerRevision`: a number of 32 bits whose digits Kubernetes has
/// replaced by characters that spell no words (`SafeEncodeString`).
fn revision(word: &str) -> bool {
    let digit = word.bytes().any(|byte| byte.is_ascii_digit());
    digit
        && (6..=10).contains(&word.len())
        && word.bytes().all(|byte| b"bcdfghjklmnpqrstvwxz2456789".contains(&byte))
}

/// Whether `word`, a part of `text`, is the first of a uid: 8-4-4-4-12 digits.
fn uid_follows(text: &str, word: &str) -> bool {
    let at = word.as_ptr() as usize - text.as_ptr() as usize;
    let Some(uid) = text.get(at..at + 36) else { return false };
    let lengths: Vec<usize> = uid.split('-').map(str::len).collect();
    lengths == [8, 4, 4, 4, 12] && uid.split('-').all(hexadecimal)
}

/// Replaces `name` where it is not part of a longer name.
fn replace_word(text: &str, name: &str) -> String {
    let mut replaced = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(name) {
        let (before, from) = rest.split_at(at);
        let after = &from[name.len()..];
        let joined = |character: char| character.is_ascii_alphanumeric() || character == '-';
        replaced.push_str(before);
        if before.ends_with(joined) || after.starts_with(joined) {
            replaced.push_str(name);
        } else {
            replaced.push_str("<namespace>");
        }
        rest = after;
    }
    replaced.push_str(rest);
    replaced
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("data-my-0-0a1b2c3d-88f6bfd230e012c8", "data-my-0-*-*")]
    #[case("my-0-87bdc8f", "my-0-*")]
    #[case("my-0-6bd9f7x44t", "my-0-*")]
    #[case("etcd-3 runs for 45 s", "etcd-3 runs for 45 s")]
    #[case("0a1b2c3d-1111-2222-3333-444455556666", "*")]
    #[case("x-0a1b2c3d-1111-2222-3333-444455556666-bootstrap", "x-*-bootstrap")]
    #[case("my-config-0123456789abcdef", "my-config-*")]
    #[case("my-0.my-nodes.t-3.svc", "my-0.my-nodes.<namespace>.svc")]
    #[case("not-t-3, nor t-31", "not-t-3, nor t-31")]
    #[case("defaced and decade stay, deadbeef does not", "defaced and decade stay, * does not")]
    #[case("pvc-ffcdfffc-4149-4521-b127-0a1b2c3d4e5f", "pvc-*")]
    #[case("http://127.4.0.17:2379", "http://<address>:2379")]
    #[case("etcd 3.6.16 at 10.96.0.1", "etcd 3.6.16 at <address>")]
    #[case("2026-11-30T10:00:00Z", "<time>")]
    #[case("grüße 12345678 ä", "grüße * ä")]
    fn generated_parts_are_masked(#[case] from: &str, #[case] to: &str) {
        assert_eq!(text(from, "t-3"), to);
    }
}
