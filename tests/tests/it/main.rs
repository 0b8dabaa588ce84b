//! Roost from the outside: every test talks to a running system, by default to a local cloud that runs the real function
//! binaries. `cargo build --workspace && cargo test -p roost-tests`; see the library for other targets.

mod audit;
mod blocks;
mod catching_up;
mod celebrities;
mod cluster;
mod contract;
mod counts;
mod deletion;
mod deployment;
mod events;
mod explanations;
mod failovers;
mod fan_out;
mod faults;
mod flush;
mod frozen_sandboxes;
mod house;
mod interleavings;
mod isolated_stack;
mod jobs;
mod limits;
mod logs;
mod long_walk;
mod lost_answers;
mod mutes;
mod polling;
mod reactions;
mod redelivery;
mod redis_outages;
mod slow_tables;
mod stampede;
mod stores;
mod timeline;
mod unfollows;
mod wide_readers;
