"""Many jobs, few machines: run each once, keep every result, lose nothing to a crash.

    outcomes = run_jobs(jobs, Path("study"))

A job is data: the dotted name of a function and a payload of JSON values. It is done in another process, here
(`local`) or on a Dask cluster (`cluster`); either posts events, and only the calling process writes, one folder a job
(`store`). So a worker may die at any instant without harm, and a killed study continues where it stopped.
"""

from napinn.studies.jobs.job import Job as Job
from napinn.studies.jobs.job import JobOutcome as JobOutcome
from napinn.studies.jobs.job import Status as Status
from napinn.studies.jobs.run import run_jobs as run_jobs
from napinn.studies.jobs.tally import StudySnapshot as StudySnapshot
