from tests.servers import postgres

__all__ = ["postgres"]
