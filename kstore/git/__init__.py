"""Git: the only room that imports dulwich, and that late, because half of all commands never need it."""
