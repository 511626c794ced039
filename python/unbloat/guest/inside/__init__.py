"""What runs inside the guest. The modules here import nothing of this package but each other and the core."""
