from .model import Report as Report
from .sources import report_on as report_on
from .write import save as save
from .write import write_report as write_report
