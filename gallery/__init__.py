"""Screenshots of every picture, report and page, on seeded data: `python -m gallery`, see docs/gallery.md."""
