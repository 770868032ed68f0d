"""Models with evidence: moment equations and likelihoods."""
