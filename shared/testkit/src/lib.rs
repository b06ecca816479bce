//! Test support of the Ballast operators: simulated world, golden files. Development only.
