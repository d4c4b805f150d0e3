"""Who is who: names, passwords, DNs, failures and who may act for whom. Nothing here waits."""
