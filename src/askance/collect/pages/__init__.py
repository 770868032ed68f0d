"""Pages for people: what respondents see."""
