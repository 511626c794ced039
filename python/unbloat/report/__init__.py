"""What people look at: tables, figures, pages."""
