//! Refusals: how the guard tells the operator and people why a container does not start.

use std::fmt;

/// The longest message. The kubelet keeps the *last* 4096 bytes of a longer one, which would cut off the reason.
const MAX_BYTES: usize = 2048;

/// Why the application was not started. The text says what was found, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no data and no permission to start without (exit code 78).
    DataLost(String),
    /// The volume belongs to another cluster or member, or nobody knows to whom (77).
    ForeignVolume(String),
    /// The volume, its marker or its data could not be read or written (76).
    VolumeUnreadable(String),
    /// The ticket is needed and cannot be read or does not fit the pod (75).
    TicketInvalid(String),
    /// Scratch directory, configuration files or gate could not be read or written (74). Trying again may help.
    SetupFailed(String),
    /// The application could not be executed (70).
    ExecFailed(String),
    /// The command line is wrong (64).
    Usage(String),
}

impl Refusal {
    /// The exit code of the container.
    pub fn exit_code(&self) -> u8 {
        self.parts().0
    }

    /// The reason, as it stands before the colon in the message. Fit for a condition's reason.
    pub fn reason(&self) -> &'static str {
        self.parts().1
    }

    /// The text after the reason.
    pub fn detail(&self) -> &str {
        self.parts().2
    }

    /// The termination message: one line, `Reason: detail`.
    pub fn message(&self) -> String {
        let (_, reason, detail) = self.parts();
        let mut line = format!("{reason}: {detail}").replace(char::is_control, " ");
        line.truncate(line.floor_char_boundary(MAX_BYTES));
        line
    }

    /// Reads a container's exit code and termination message back. `None` unless both agree: applications use some of
    /// the codes too (Elasticsearch exits with 78).
    pub fn from_termination(exit_code: i32, message: &str) -> Option<Self> {
        let (reason, detail) = message.trim_end().split_once(": ")?;
        Self::ALL
            .iter()
            .map(|make| make(detail.to_owned()))
            .find(|refusal| i32::from(refusal.exit_code()) == exit_code && refusal.reason() == reason)
    }

    const ALL: [fn(String) -> Self; 7] = [
        Self::DataLost,
        Self::ForeignVolume,
        Self::VolumeUnreadable,
        Self::TicketInvalid,
        Self::SetupFailed,
        Self::ExecFailed,
        Self::Usage,
    ];

    fn parts(&self) -> (u8, &'static str, &str) {
        match self {
            Self::DataLost(detail) => (78, "DataLost", detail),
            Self::ForeignVolume(detail) => (77, "ForeignVolume", detail),
            Self::VolumeUnreadable(detail) => (76, "VolumeUnreadable", detail),
            Self::TicketInvalid(detail) => (75, "TicketInvalid", detail),
            Self::SetupFailed(detail) => (74, "SetupFailed", detail),
            Self::ExecFailed(detail) => (70, "ExecFailed", detail),
            Self::Usage(detail) => (64, "Usage", detail),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic)]
    use rstest::rstest;

    use super::*;

    #[test]
    fn every_refusal_is_read_back() {
        let mut codes = Vec::new();
        for make in Refusal::ALL {
            let refusal = make("the volume of my-1: odd: text".into());
            let code = i32::from(refusal.exit_code());
            assert_eq!(Refusal::from_termination(code, &refusal.message()), Some(refusal.clone()));
            assert_eq!(Refusal::from_termination(code, &format!("{refusal}\n")), Some(refusal));
            codes.push(code);
        }
        assert_eq!(codes, [78, 77, 76, 75, 74, 70, 64]);
    }

    #[rstest]
    #[case(78, "ForeignVolume: x")]
    #[case(77, "DataLost: x")]
    #[case(1, "DataLost: x")]
    #[case(78, "ERROR: bootstrap checks failed")]
    #[case(78, "log line\nDataLost: x")]
    #[case(78, "DataLost")]
    #[case(78, "")]
    #[case(-1, "")]
    fn code_and_reason_must_agree(#[case] code: i32, #[case] message: &str) {
        assert_eq!(Refusal::from_termination(code, message), None);
    }

    #[test]
    fn messages_are_one_short_line() {
        let message = Refusal::DataLost(format!("a\nb\u{7}{}", "ü".repeat(4000))).message();
        assert!(message.starts_with("DataLost: a b "));
        assert!(message.len() <= MAX_BYTES);
    }
}
