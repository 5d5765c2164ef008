from .contract import Storage as Storage
from .open import open_storage as open_storage
