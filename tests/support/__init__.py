"""Helpers that several test folders share: browsers, servers, forks, storages, snapshots and naive twins."""
