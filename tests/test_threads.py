"""Threads that share work: the order of answers, mistakes, and nobody left waiting."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from lazyforest import LazyForestClassifier, runner, threads
from lazyforest.engine.lane_layout import deal_rows
from lazyforest.engine.layout import public
from lazyforest.engine.meeting import meet, new_signals


@pytest.fixture(autouse=True)
def _no_idle_threads(monkeypatch):
    monkeypatch.setattr(threads, "idle", {})


def test_answers_come_in_order_and_threads_are_used_again():
    assert threads.share(lambda k: k * k, 3) == [0, 1, 4]
    pool = threads.idle[3][0]
    assert threads.work_together(lambda k, ready: (ready(), k)[1], 3) == [0, 1, 2]
    assert threads.idle == {3: [pool]}


def test_two_who_ask_at_once_have_threads_of_their_own():
    with threads.threads(2) as one, threads.threads(2) as other:
        assert one is not other
    assert len(threads.idle[2]) == 2


def test_a_mistake_of_one_member_is_told_and_the_others_do_not_wait():
    def work(member, ready):
        if member == 1:
            raise MemoryError("no room")
        ready()

    with pytest.raises(MemoryError, match="no room"):
        threads.work_together(work, 3)


def test_a_thread_that_cannot_be_started(monkeypatch):
    started = []

    class Full(ThreadPoolExecutor):
        def submit(self, work, *given):
            if started:
                raise RuntimeError("can't start new thread")
            started.append(super().submit(work, *given))
            return started[0]

    monkeypatch.setattr(threads, "ThreadPoolExecutor", Full)
    with pytest.raises(RuntimeError, match="can't start"):
        threads.work_together(lambda _, ready: ready(), 2)
    assert isinstance(started[0].exception(timeout=10), threads.Missing)
    assert not threads.idle[2]


def test_a_team_that_is_interrupted(monkeypatch):
    """Those who have passed the gate come to their end; who waits before it is sent home."""
    ended = []

    def interrupted(_):
        time.sleep(0.1)
        raise KeyboardInterrupt

    def work(member, ready):
        ready()
        time.sleep(0.3)
        ended.append(member)

    monkeypatch.setattr(threads, "wait", interrupted)
    pool = ThreadPoolExecutor(2)
    threads.idle[2] = [pool]
    with pytest.raises(KeyboardInterrupt):
        threads.work_together(work, 2)
    assert sorted(ended) == [0, 1]
    assert not threads.idle[2], "threads that were interrupted are not used again"


def test_a_gate_that_has_opened_stays_open():
    gate = threads.Gate(1)
    gate.wait()
    gate.lock()
    assert not gate.locked
    closed = threads.Gate(2)
    closed.lock()
    with pytest.raises(threads.Missing):
        closed.wait()


def meet_often(signals, members, me, seen, wrong):
    for turn in range(50):
        seen[me] = turn
        meet(signals, members)
        for k in range(members):
            wrong[me] += seen[k] != turn
        meet(signals, members)


@pytest.mark.parametrize("members", [1, 2, 3])
@pytest.mark.parametrize("function", [meet_often, public(meet_often)], ids=["Python", "kernel"])
def test_members_meet(function, members):
    signals, seen, wrong = new_signals(), np.full(members, -1), np.zeros(members, dtype=np.int64)
    threads.share(lambda me: function(signals, members, me, seen, wrong), members)
    assert not wrong.any()


@pytest.mark.parametrize("members", [1, 2, 5])
@pytest.mark.parametrize("n", [1, 255, 256, 2560, 3000])
def test_rows_are_dealt_out(n, members):
    rows, first = deal_rows(n, members)
    assert sorted(rows) == list(range(n))
    assert len(first) == members + 1
    assert (first[0], first[-1]) == (0, n)
    shares = np.diff(first)
    assert shares.max() - shares.min() <= 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_process_starts_threads_of_its_own():
    script = """
import os, warnings
import numpy as np
from lazyforest import LazyForestClassifier
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(2000, 3))
model = LazyForestClassifier(40, random_state=0, n_jobs=2).fit(X, X[:, 0] > 0)
before = model.predict_proba(X[:1])
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(model.predict_proba(X[:1]), before) else 1)
print(os.waitpid(child, 0)[1])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert done.stdout == "0\n", done.stderr


@pytest.mark.parametrize("jobs", [2, 3, 7])
def test_sorted_rows_and_many_threads(jobs):
    """A team may be larger than there are processors, and rows may all be one member's."""
    X = np.sort(np.random.default_rng(1).normal(size=(3000, 2)), axis=0)
    y = (X[:, 0] * 3).astype(int) % 2
    one = LazyForestClassifier(50, random_state=0).fit(X, y).explore(X[:1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lazyforest.runner.cores", lambda: jobs)
        several = LazyForestClassifier(50, random_state=0, n_jobs=jobs).fit(X, y).explore(X[:1])
    assert (several.votes == one.votes).all()
    assert (several.nodes_explored, several.rows_scanned, several.stack_words) == (
        one.nodes_explored,
        one.rows_scanned,
        one.stack_words,
    )


@pytest.mark.parametrize(
    ("trees", "jobs", "lanes", "expected"),
    [(100, 2, 16, (1, 2)), (100, 8, 32, (2, 4)), (17, 9, 128, (2, 4)), (100, 4, 128, (4, 1))],
)
def test_threads_are_all_in_use(trees, jobs, lanes, expected, monkeypatch):
    """In teams, as large as lanes allow, or in several at once."""
    asked = []

    def call_all(shared, calls, teams):
        asked.append((calls[0][2], teams))
        return original(shared, calls, 1)

    original = runner.call_all
    monkeypatch.setattr(runner, "call_all", call_all)
    monkeypatch.setattr(runner, "cores", lambda: jobs)
    monkeypatch.setattr(runner, "count_lanes", lambda *_: lanes)
    X = np.random.default_rng(2).normal(size=(1100, 2))
    LazyForestClassifier(trees, random_state=0, n_jobs=jobs).fit(X, X[:, 0] > X[:, 1]).predict(X[:1])
    assert asked == [expected]
