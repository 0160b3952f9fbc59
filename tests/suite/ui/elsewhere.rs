//! Stands for a module in a file of its own.
