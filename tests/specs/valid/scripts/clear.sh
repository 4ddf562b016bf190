# a file that steps of the specs name
