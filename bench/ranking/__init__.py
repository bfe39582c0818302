"""One large space of real texts, ranked by the native index and by everything else that could."""
