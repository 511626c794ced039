//! The Python binding.
