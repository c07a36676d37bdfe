"""What a pack remembers about its owner, as files a person can read and edit."""
