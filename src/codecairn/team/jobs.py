"""Jobs: one row a repository that is to be fetched, indexed and published.

    job   `asked` is when somebody asked for it, `due` when it may be taken, `worker` and `lease` who has it and until
          when, `again` whether something was pushed while it ran, `deaths` how many workers were lost with it,
          `failures` how often it ended in an error

A worker takes the row that is due longest with FOR UPDATE SKIP LOCKED and renews its lease while it works. A lease that
ends unrenewed is a death; at the third the repository is quarantined with its reason and the row goes. An error that
was reported is none: the job waits, twice as long each time, and is tried again. A worker that lost its lease may
still be running: `check_lease` in the transaction that publishes refuses what it brings.
"""

from __future__ import annotations

from typing import NamedTuple

from codecairn.errors import Cancelled
from codecairn.team.database import Connected, Database

CHANGED = "cairn_jobs"
LEASE_S = 30.0
MOST_DEATHS = 3
_LONGEST_WAIT_S = 3600
TABLES = """
CREATE TABLE job (
    repository bigint PRIMARY KEY REFERENCES repository ON DELETE CASCADE, asked timestamptz NOT NULL DEFAULT now(),
    due timestamptz NOT NULL DEFAULT now(), worker text, lease timestamptz, again boolean NOT NULL DEFAULT false,
    deaths integer NOT NULL DEFAULT 0, failures integer NOT NULL DEFAULT 0, reason text NOT NULL DEFAULT ''
);
CREATE INDEX job_due ON job (due);
"""


class Job(NamedTuple):
    repository: int
    worker: str
    deaths: int
    waited_s: float = 0.0
    """Since somebody asked for it."""


class Jobs:
    def __init__(self, database: Database, lease_s: float = LEASE_S) -> None:
        self._database = database
        self._lease_s = lease_s

    @property
    def renew_every_s(self) -> float:
        return self._lease_s / 4

    def ask(self, repository: int) -> None:
        """A repository is to be looked at now; one that is being looked at is to be looked at again."""
        self._database.execute(
            "INSERT INTO job (repository) VALUES (%s) ON CONFLICT (repository) DO UPDATE "
            "SET due = now(), again = job.worker IS NOT NULL",
            repository,
        )
        self._database.notify(CHANGED)

    def ask_stale(self, older_than_s: float) -> int:
        """Polling: ask for every repository that was not looked at for so long."""
        asked = self._database.execute(
            "INSERT INTO job (repository) SELECT id FROM repository WHERE state <> 'quarantined' "
            "AND (looked_at IS NULL OR looked_at < now() - make_interval(secs => %s)) ON CONFLICT DO NOTHING",
            older_than_s,
        )
        if asked:
            self._database.notify(CHANGED)
        return asked

    def take(self, worker: str) -> Job | None:
        """The job that is due longest and that nobody has, or whose worker's lease has ended. One whose last lease ends
        amid this is quarantined by the next call."""
        self._quarantine()
        rows = self._database.rows(
            "UPDATE job SET deaths = deaths + (worker IS NOT NULL)::int, worker = %s, again = false, "
            "lease = now() + make_interval(secs => %s) WHERE repository = ("
            "SELECT repository FROM job WHERE due <= now() AND (worker IS NULL OR lease < now() AND deaths < %s) "
            "ORDER BY due FOR UPDATE SKIP LOCKED LIMIT 1) "
            "RETURNING repository, worker, deaths, extract(epoch FROM now() - asked)::float8",
            worker, self._lease_s, MOST_DEATHS - 1,
        )  # fmt: skip
        return Job(*rows[0]) if rows else None

    def _quarantine(self) -> None:
        self._database.execute(
            "WITH dead AS (DELETE FROM job WHERE worker IS NOT NULL AND lease < now() AND deaths >= %s RETURNING *) "
            "UPDATE repository SET state = 'quarantined', reason = 'workers were lost while they indexed it: ' || "
            "(dead.deaths + 1) || ' times, the last one was ' || dead.worker FROM dead WHERE id = dead.repository",
            MOST_DEATHS - 1,
        )

    def renew(self, job: Job) -> bool:
        """Keep a job for another while; False where it is another's by now."""
        return self._database.execute(
            "UPDATE job SET lease = now() + make_interval(secs => %s) WHERE repository = %s AND worker = %s",
            self._lease_s, job.repository, job.worker,
        ) > 0  # fmt: skip

    def finish(self, job: Job) -> None:
        """It ended well: the row goes, or is due again where something was pushed meanwhile."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE repository SET looked_at = now() WHERE id = %s", (job.repository,))
            connection.execute(
                "UPDATE job SET worker = NULL, lease = NULL, deaths = 0, failures = 0, reason = '', again = false, "
                "asked = due, due = now() WHERE repository = %s AND worker = %s AND again",
                (job.repository, job.worker),
            )
            connection.execute("DELETE FROM job WHERE repository = %s AND worker = %s", (job.repository, job.worker))

    def fail(self, job: Job, reason: str) -> None:
        """It ended in an error, and is tried again later."""
        self._database.execute(
            "UPDATE job SET worker = NULL, lease = NULL, failures = failures + 1, reason = %s, "
            "due = now() + make_interval(secs => least(%s, 2 ^ least(failures, 20))) "
            "WHERE repository = %s AND worker = %s",
            reason, _LONGEST_WAIT_S, job.repository, job.worker,
        )  # fmt: skip

    def depth(self) -> int:
        ((count,),) = self._database.rows("SELECT count(*) FROM job WHERE due <= now()")
        return int(count)


def check_lease(connection: Connected, job: Job) -> None:
    """Raise unless the job is still this worker's; it stays so until the transaction ends."""
    row = connection.execute(
        "SELECT 1 FROM job WHERE repository = %s AND worker = %s FOR UPDATE", (job.repository, job.worker)
    ).fetchone()
    if row is None:
        raise Cancelled("Another worker has taken the job")
