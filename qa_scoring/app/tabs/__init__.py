"""One file per tab of the page; each has ``add``, which builds the tab and registers its actions."""
