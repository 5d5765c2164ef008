from . import plot as plot
from .errors import BadInput as BadInput
from .limits import Limit as Limit
from .logs.analyze import analyze as analyze
from .logs.sides import gate as gate
from .measure.identify import identify as identify
from .objectives import Objective as Objective
from .planning.cost import plan as plan
from .policies.auer import AuerA1 as AuerA1
from .policies.auer import AuerA1M as AuerA1M
from .policies.certified import Certified as Certified
from .policies.rpsi import RPSI as RPSI
from .question import Question as Question
from .reports.write import write_report as write_report
from .results import Answer as Answer
from .simulation.engine import simulate as simulate
from .studies.measurement import Measurement as Measurement
from .studies.study import Study as Study
from .theory.spread import Gaussian as Gaussian
from .theory.spread import Subgaussian as Subgaussian
from .theory.threats import EvenHanded as EvenHanded
from .theory.threats import Malicious as Malicious
from .theory.threats import Oblivious as Oblivious
from .theory.threats import Prescient as Prescient
from .theory.threats import Share as Share
from .theory.threats import Threat as Threat

__version__: str
