//! Names that someone may have meant.

/// Sorts so that the names most like `wanted` come first; equally distant ones keep their order.
pub(crate) fn nearest_first<T>(wanted: &str, items: &mut [T], name: impl Fn(&T) -> &str) {
    items.sort_by_cached_key(|item| strsim::levenshtein(wanted, name(item)));
}
