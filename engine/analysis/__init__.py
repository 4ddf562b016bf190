"""From trials to summaries, intervals and verdicts. Pure; the session is the unit of analysis."""
