//! What Linux knows of a process: memory and processor time.

use std::{fs, time::Duration};

use anyhow::{Context, Result};

/// Unit of processor times in `/proc`: `USER_HZ` is 100 on every architecture that we run on.
const TICK: Duration = Duration::from_millis(10);

/// Memory of a process, in KiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Resident: what the process holds, and those pages of its program and libraries that are in memory.
    pub resident: u64,
    /// The most that was ever resident.
    pub peak: u64,
    /// The part of [`Self::resident`] that is its own: heap and stacks.
    pub own: u64,
}

/// The memory of a process now.
pub fn memory(pid: u32) -> Result<Memory> {
    let file = format!("/proc/{pid}/status");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    parse_status(&text).with_context(|| format!("{file} does not say how much memory there is"))
}

/// The processor time of a process so far, in user and kernel mode, of all its threads.
pub fn processor(pid: u32) -> Result<Duration> {
    let file = format!("/proc/{pid}/stat");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    parse_stat(&text).with_context(|| format!("{file} does not say how much time was used"))
}

fn parse_status(text: &str) -> Option<Memory> {
    let kib = |field: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
        line.trim().strip_suffix(" kB")?.trim().parse().ok()
    };
    Some(Memory { resident: kib("VmRSS")?, peak: kib("VmHWM")?, own: kib("RssAnon")? })
}

fn parse_stat(text: &str) -> Option<Duration> {
    // The name of the program may hold spaces and parentheses; what follows the last one is numbers.
    let (_, fields) = text.rsplit_once(')')?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    // proc(5) counts from 1 and the state is field 3: utime is 14, stime 15.
    let ticks = |index: usize| fields.get(index)?.parse::<u32>().ok();
    Some(TICK * (ticks(11)? + ticks(12)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_by_name() {
        let text = "Name:\toperator\nVmPeak:\t  900 kB\nVmHWM:\t   120 kB\nVmRSS:\t   100 kB\nRssAnon:\t      60 kB\n";
        assert_eq!(parse_status(text), Some(Memory { resident: 100, peak: 120, own: 60 }));
        assert_eq!(parse_status("Name:\tgone\n"), None);
    }

    #[test]
    fn processor_time_is_user_and_kernel_time_whatever_the_program_is_called() {
        let text = "7 (a) b (c)) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 5 0 100 1000 10 18446744073709551615";
        assert_eq!(parse_stat(text), Some(Duration::from_secs(3)));
        assert_eq!(parse_stat("7 (a) S 1"), None);
    }

    #[test]
    fn this_process_can_be_measured() -> Result<()> {
        let own = std::process::id();
        let memory = memory(own)?;
        assert!(memory.resident > 0 && memory.peak >= memory.resident && memory.own < memory.resident);
        processor(own)?;
        Ok(())
    }
}
