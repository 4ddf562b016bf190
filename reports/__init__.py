"""Reports: from a finished run to rows, figures, sentences and pages."""
