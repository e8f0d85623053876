"""Groups made by chance, most of them in health: nobody may be woken by those, and by the others for their reason."""
