"""The command line: parses arguments, calls the library, prints. Nothing else imports it."""
