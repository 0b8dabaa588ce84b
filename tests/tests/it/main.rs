//! Roost from the outside: every test talks to a running system, by default to a local cloud that runs the real function
//! binaries. `cargo build --workspace && cargo test -p roost-tests`; see the library for other targets.

mod audit;
mod celebrities;
mod cluster;
mod contract;
mod counts;
mod dashboard;
mod deletion;
mod deployment;
mod events;
mod fan_out;
mod faults;
mod flush;
mod freeze;
mod interleavings;
mod limits;
mod logs;
mod long_walk;
mod never_lies;
mod polling;
mod quiet;
mod redelivery;
mod stampede;
mod stores;
mod timeline;
