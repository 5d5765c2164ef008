"""What happened, as records: an arm set aside, bounds refuted, a budget over, failures, alarms, rows left out.

A notice has a kind and fields, and is stored, passed on and compared as such. It becomes a sentence in one place,
`frontguard.words.notices`, and nothing reads sentences back. It may know nothing. Where to start:

- `record`: what every notice has;
- `measurements`, `studies`, `logs`, `runs`: by what they are found in.

A new kind is a class there, a line in `AnyNotice`, and a sentence.
"""

from frontguard.notices.logs import (
    ArmsWithoutRows,
    InClusters,
    IndependentArms,
    InPairs,
    RowsLeftOut,
    RowsWithoutArm,
    TooFewClusters,
    TooFewPulls,
    UnderWay,
    UnfinishedLine,
)
from frontguard.notices.measurements import (
    ContaminationRefuted,
    ExactDiffers,
    LooksClustered,
    LooksDirtier,
    NotPositive,
    OfObjective,
    OutOfBounds,
    RowsDiffer,
    SpreadRefuted,
    TakenAsRate,
)
from frontguard.notices.record import (
    Notice,
    Reasons,
    plain,
)
from frontguard.notices.runs import (
    AllFailed,
    CleaningUp,
    StepFailed,
    Stopping,
    StorageTrouble,
    WaitingForWorkers,
    WorkerLeftOut,
)
from frontguard.notices.studies import (
    Alarm,
    BudgetOver,
    ClustersUsedUp,
    CostsUnknown,
    DriftAlarm,
    FailuresAlarm,
    NotCounted,
    Polished,
    SetAside,
    SpreadAlarm,
)

__all__ = [
    "Alarm",
    "AllFailed",
    "AnyNotice",
    "ArmsWithoutRows",
    "BudgetOver",
    "CleaningUp",
    "ClustersUsedUp",
    "ContaminationRefuted",
    "CostsUnknown",
    "DriftAlarm",
    "ExactDiffers",
    "FailuresAlarm",
    "InClusters",
    "InPairs",
    "IndependentArms",
    "LooksClustered",
    "LooksDirtier",
    "NotCounted",
    "NotPositive",
    "Notice",
    "OfObjective",
    "OutOfBounds",
    "Polished",
    "Reasons",
    "RowsDiffer",
    "RowsLeftOut",
    "RowsWithoutArm",
    "SetAside",
    "SpreadAlarm",
    "SpreadRefuted",
    "StepFailed",
    "Stopping",
    "StorageTrouble",
    "TakenAsRate",
    "TooFewClusters",
    "TooFewPulls",
    "UnderWay",
    "UnfinishedLine",
    "WaitingForWorkers",
    "WorkerLeftOut",
    "plain",
]

AnyNotice = (
    SpreadRefuted
    | ContaminationRefuted
    | NotPositive
    | OutOfBounds
    | ExactDiffers
    | TakenAsRate
    | SetAside
    | BudgetOver
    | CostsUnknown
    | Polished
    | NotCounted
    | ClustersUsedUp
    | FailuresAlarm
    | DriftAlarm
    | SpreadAlarm
    | LooksDirtier
    | RowsDiffer
    | LooksClustered
    | TooFewPulls
    | InClusters
    | InPairs
    | IndependentArms
    | TooFewClusters
    | RowsWithoutArm
    | RowsLeftOut
    | ArmsWithoutRows
    | UnfinishedLine
    | UnderWay
    | AllFailed
    | Stopping
    | WaitingForWorkers
    | WorkerLeftOut
    | StorageTrouble
    | StepFailed
    | CleaningUp
)
"""Every kind of notice, told apart by its `kind`: for those who read records back."""
