//! Short measurements for a schema.
