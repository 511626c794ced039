//! The page that says which Linux the simulator's TCP is.

/// One constant names the version, and the page is about that version.
#[test]
fn the_page_of_departures_is_about_the_version_that_is_modelled() {
    let page = include_str!("../../../../docs/agreement/departures.md");
    assert!(page.contains(&format!("that of **Linux {}**", unbloat_engine::LINUX)));
    assert!(page.contains(&format!("## Where the simulator departs from Linux {}\n", unbloat_engine::LINUX)));
}
