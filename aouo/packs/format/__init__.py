"""What the files of a pack say: manifest, skills, menus, translations, tools."""
