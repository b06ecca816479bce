//! What must happen when things change and break, one file per subject.

mod create;
