from .contract import End as End
from .contract import Storage as Storage
from .contract import open_storage as open_storage
