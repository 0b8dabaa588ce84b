//! Steps that more than one function takes.

pub mod edges;
pub mod fan_out;
pub mod home_timeline;
pub mod pull;
