from .contract import End as End
from .contract import Storage as Storage
from .open import open_storage as open_storage
