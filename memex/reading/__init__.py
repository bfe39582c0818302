"""From plain JSON to the structs of the model: read leniently, with every fault named. All surfaces read alike."""
