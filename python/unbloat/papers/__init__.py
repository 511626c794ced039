"""Papers: what they print, read and judged against what their scenarios give."""
