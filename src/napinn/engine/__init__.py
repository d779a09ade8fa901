"""Many jobs, few machines: run each once, keep every result, lose nothing to a crash.

    outcomes = run_jobs(jobs, Path("study"))

A job is data: the dotted name of a function and a payload of JSON values. It is done in another process, here
(`local`) or on a Dask cluster (`cluster`); either posts events, and only the calling process writes, one folder a job
(`store`). So a worker may die at any instant without harm, and a study that was killed goes on where it stopped.
"""

from napinn.engine.jobs import Job as Job
from napinn.engine.jobs import Outcome as Outcome
from napinn.engine.jobs import Status as Status
from napinn.engine.run import run_jobs as run_jobs
from napinn.engine.tally import StudySnapshot as StudySnapshot
