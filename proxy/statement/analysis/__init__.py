"""Where statements are analysed: in the event loop, or in processes of their own."""
