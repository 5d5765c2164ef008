from .study import Pull as Pull
from .study import Study as Study
