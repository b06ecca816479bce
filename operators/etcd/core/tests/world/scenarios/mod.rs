//! What must happen when things change and break, one file per subject.

mod create;
mod faults;
mod identity;
mod levers;
mod loss;
mod nodes;
mod rollout;
