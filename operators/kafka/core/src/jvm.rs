//! Flags of the Java virtual machine that users may give, and why not others.
//!
//! A command line of the JVM can run programs, load code and write anywhere, and whoever may edit the resource need not be allowed to do that. So
//! only two shapes are let through: switches and plain values of `-XX:`, without the names that do such things, and a few `-D` properties.
//! The values can hold no path, address or list. Names: `java -XX:+PrintFlagsFinal` of JDK 17 and 25.

/// Longest flag, in bytes.
const LONGEST: usize = 128;

/// Most flags of a pool.
pub const MOST: usize = 32;

/// System properties that change nothing but how the JVM behaves. All others may read files, load classes or reach out.
const PROPERTIES: &[&str] = &[
    "java.net.preferIPv4Stack",
    "java.net.preferIPv6Addresses",
    "jdk.nio.maxCachedBufferSize",
    "jdk.tls.ephemeralDHKeySize",
    "jdk.tls.rejectClientInitiatedRenegotiation",
    "sun.net.inetaddr.negative.ttl",
    "sun.net.inetaddr.ttl",
    "user.country",
    "user.language",
    "user.timezone",
];

const HEAP: &str = "use spec.nodePools[].jvm.heap";

/// Names of `-XX:` flags that are refused, and why.
const REFUSED: &[(&str, &str)] = &[
    ("OnError", "it would run a program"),
    ("OnOutOfMemoryError", "it would run a program"),
    ("Flags", "it would read a file"),
    ("ErrorHandlerTest", "it would end the node"),
    ("ExitOnOutOfMemoryError", "the operator sets it, so that a node without memory is restarted"),
    ("CrashOnOutOfMemoryError", "the operator has the node end without a core dump"),
    ("CreateCoredumpOnCrash", "it would write a dump"),
    ("ShowMessageBoxOnError", "a node that fails would wait for a person"),
    ("ManagementServer", "it would open a port"),
    ("UnlockDiagnosticVMOptions", "it lets through flags that write files or end the node"),
    ("AllocateHeapAt", "it would use a file"),
    ("AllocateOldGenAt", "it would use a file"),
    ("InitialHeapSize", HEAP),
    ("MaxHeapSize", HEAP),
    ("MinHeapSize", HEAP),
    ("MaxRAM", HEAP),
];

/// Parts of names that are refused, and why: so the flags of newer versions are, too.
const REFUSED_PARTS: &[(&str, &str)] = &[
    ("File", "it would read or write a file"),
    ("Path", "it would read or write a file"),
    ("Dump", "it would write a dump"),
    ("FlightRecord", "it would write a recording"),
    ("LogVMOutput", "it would write a file"),
    ("LogCompilation", "it would write a file"),
    ("Archive", "it would read or write a file"),
    ("SharedClassList", "it would read or write a file"),
    ("AOT", "it would read or write a file"),
    ("CRaC", "it would read or write a file"),
    ("PerfDataSave", "it would write a file"),
    ("CompileCommand", "it would read a file"),
    ("CompilerDirectives", "it would read a file"),
    ("JVMCI", "it would load code"),
    ("Graal", "it would load code"),
    ("Agent", "it would load code"),
    ("Attach", "it would let others load code"),
    ("BytecodeVerification", "it would let broken code run"),
    ("RAMPercentage", HEAP),
    ("RAMFraction", HEAP),
];

/// Beginnings of other flags that people try, and what to do instead.
const INSTEAD: &[(&str, &str)] = &[
    ("-Xmx", HEAP),
    ("-Xms", HEAP),
    ("-javaagent", "it would load code"),
    ("-agentlib", "it would load code"),
    ("-agentpath", "it would load code"),
    ("-Xrun", "it would load code"),
    ("-Xbootclasspath", "it would load code"),
    ("-cp", "it would load code"),
    ("-classpath", "it would load code"),
    ("--class-path", "it would load code"),
    ("--module-path", "it would load code"),
    ("--patch-module", "it would load code"),
    ("-jar", "it would run another program"),
    ("@", "it would read a file"),
    ("-Xlog", "it could write files"),
    ("-Xdebug", "it would let others in"),
];

/// Whether users may give this flag; the error says why not.
pub fn check(flag: &str) -> Result<(), String> {
    if flag.len() > LONGEST {
        return Err(format!("may have at most {LONGEST} bytes, has {}", flag.len()));
    }
    if let Some((begin, why)) = INSTEAD.iter().find(|(begin, _)| flag.starts_with(begin)) {
        return Err(format!("{begin} is refused: {why}"));
    }
    if let Some(rest) = flag.strip_prefix("-XX:") {
        let name =
            switch(rest).or_else(|| rest.split_once('=').filter(|(_, value)| plain(value)).map(|it| it.0));
        return match name.filter(|name| is_name(name)) {
            Some(name) => allowed(name),
            None => Err(format!(
                "{flag:?} must be -XX:+Name, -XX:-Name or -XX:Name=value, with letters, digits, \".\", \"_\" and \"-\" only"
            )),
        };
    }
    if let Some((name, value)) = flag.strip_prefix("-D").and_then(|rest| rest.split_once('=')) {
        return match (PROPERTIES.contains(&name), value_of_property(value)) {
            (true, true) => Ok(()),
            (true, false) => Err(format!(
                "the value of {name} may have letters, digits and \".\", \"_\", \"-\", \"+\", \"/\" only, and no \"..\""
            )),
            (false, _) => Err(format!(
                "-D{name:?} is refused, since properties read files, load classes or reach out: only {} may be given",
                PROPERTIES.join(", ")
            )),
        };
    }
    Err(format!(
        "{flag:?} is refused: only -XX: flags and -Dname=value may be given, each as an item of its own"
    ))
}

/// Flags of a pool that choose a collector: the JVM starts with one only.
pub fn collectors(flags: &[String]) -> impl Iterator<Item = &str> {
    let names = flags.iter().filter_map(|flag| flag.strip_prefix("-XX:+"));
    names.filter(|name| COLLECTORS.contains(name))
}

const COLLECTORS: &[&str] =
    &["UseG1GC", "UseZGC", "UseParallelGC", "UseSerialGC", "UseShenandoahGC", "UseEpsilonGC"];

fn switch(rest: &str) -> Option<&str> {
    rest.strip_prefix(['+', '-'])
}

fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric())
}

fn plain(value: &str) -> bool {
    !value.is_empty()
        && value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
        && !value.contains("..")
}

/// A time zone has a slash in it (`Europe/Berlin`).
fn value_of_property(value: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '/');
    !value.is_empty() && !value.starts_with('/') && !value.contains("..") && value.chars().all(allowed)
}

fn allowed(name: &str) -> Result<(), String> {
    let exact = REFUSED.iter().find(|(refused, _)| *refused == name);
    let part = REFUSED_PARTS.iter().find(|(part, _)| name.contains(part));
    match exact.or(part) {
        Some((_, why)) => Err(format!("-XX: {name} is refused: {why}")),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("-XX:+UseZGC")]
    #[case("-XX:-UseG1GC")]
    #[case("-XX:MaxGCPauseMillis=50")]
    #[case("-XX:G1HeapRegionSize=16m")]
    #[case("-XX:+UnlockExperimentalVMOptions")]
    #[case("-XX:NativeMemoryTracking=summary")]
    #[case("-XX:+AlwaysPreTouch")]
    #[case("-Djava.net.preferIPv4Stack=true")]
    #[case("-Duser.timezone=Europe/Berlin")]
    fn accepts(#[case] flag: &str) {
        check(flag).unwrap();
    }

    #[rstest]
    #[case("-Xmx4g", "jvm.heap")]
    #[case("-Xms4g", "jvm.heap")]
    #[case("-XX:MaxHeapSize=4g", "jvm.heap")]
    #[case("-XX:MaxRAMPercentage=90", "jvm.heap")]
    #[case("-javaagent:/tmp/a.jar", "load code")]
    #[case("-agentlib:jdwp=transport=dt_socket", "load code")]
    #[case("-agentpath:/tmp/a.so", "load code")]
    #[case("-cp", "load code")]
    #[case("-jar", "another program")]
    #[case("@/tmp/arguments", "read a file")]
    #[case("-Xlog:gc:file=/tmp/gc", "write files")]
    #[case("-XX:OnOutOfMemoryError=reboot", "run a program")]
    #[case("-XX:OnError=reboot", "run a program")]
    #[case("-XX:Flags=hotspotrc", "read a file")]
    #[case("-XX:VMOptionsFile=options", "file")]
    #[case("-XX:+ReadVMOptionsFile", "file")]
    #[case("-XX:HeapDumpPath=heap", "file")]
    #[case("-XX:+HeapDumpOnOutOfMemoryError", "dump")]
    #[case("-XX:+HeapDumpBeforeFullGC", "dump")]
    #[case("-XX:StartFlightRecording=maxage", "recording")]
    #[case("-XX:+ManagementServer", "open a port")]
    #[case("-XX:+EnableDynamicAgentLoading", "load code")]
    #[case("-XX:-DisableAttachMechanism", "load code")]
    #[case("-XX:+EnableJVMCI", "load code")]
    #[case("-XX:-BytecodeVerificationRemote", "broken code")]
    #[case("-XX:+UnlockDiagnosticVMOptions", "lets through")]
    #[case("-XX:-ExitOnOutOfMemoryError", "the operator sets it")]
    #[case("-XX:ErrorHandlerTest=1", "end the node")]
    #[case("-XX:SharedArchiveFile=a", "file")]
    #[case("-XX:AllocateHeapAt=here", "use a file")]
    #[case("-XX:ParallelGCThreads=/etc/passwd", "must be")]
    #[case("-XX:ParallelGCThreads=$(SECRET)", "must be")]
    #[case("-XX:+UseZGC -javaagent:a", "must be")]
    #[case("-XX:+UseZGC\n-javaagent:a", "must be")]
    #[case("-XX:", "must be")]
    #[case("-Djavax.net.ssl.trustStore=x", "only java.net")]
    #[case("-Djava.security.properties=x", "only java.net")]
    #[case("-Dlog4j2.configurationFile=x", "only java.net")]
    #[case("-Dcom.sun.management.jmxremote.port=1", "only java.net")]
    #[case("-Duser.timezone=/etc/passwd", "the value of")]
    #[case("-Duser.timezone=a/../../x", "the value of")]
    #[case("-Duser.timezone=a b", "the value of")]
    #[case("--add-opens=java.base/java.lang=ALL-UNNAMED", "only -XX:")]
    #[case("kafka.Kafka", "only -XX:")]
    #[case("", "only -XX:")]
    fn refuses(#[case] flag: &str, #[case] part: &str) {
        let message = check(flag).unwrap_err();
        assert!(message.contains(part), "{message}");
    }

    #[test]
    fn a_flag_that_is_too_long_is_refused() {
        assert!(check(&format!("-XX:+{}", "A".repeat(LONGEST))).unwrap_err().contains("at most 128"));
    }
}
