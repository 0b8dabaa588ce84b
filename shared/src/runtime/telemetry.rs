//! Logs: to standard output, which Lambda hands to CloudWatch. JSON where Lambda is told so, by level as it is told.

/// Call once, first thing in `main`.
pub fn init() {
    lambda_runtime::tracing::init_default_subscriber();
}
