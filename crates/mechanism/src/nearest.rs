//! Names that someone may have meant.

/// Sorts so that the names most like `wanted` come first; equally distant ones keep their order.
pub(crate) fn nearest_first<T>(wanted: &str, items: &mut [T], name: impl Fn(&T) -> &str) {
    items.sort_by_cached_key(|item| distance(wanted, name(item)));
}

/// How many letters have to be put in, taken out or changed (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let changed = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}
