"""The stream: encoding, pipes, recordings and replays."""
