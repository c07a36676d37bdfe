"""What a pack remembers about a tenant, as files a person can read and edit."""
