"""Which refresh next: rules that order waiting refreshes and give them tracks ([Golab11])."""
