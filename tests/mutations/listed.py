"""Named faults of the layer, each as a replacement of its source. A proof that lets one of them live proves too little."""

from __future__ import annotations

from tests.mutations.frame import Mutation

OPEN_UPDATE = (
    'del update["ConditionExpression"];'
    ' del update["ExpressionAttributeValues"][":mine"], update["ExpressionAttributeValues"][":in_progress"];'
)
BARE = '{name: action[name] for name in ("TableName", "Item")}'


def _one(name: str, file: str, old: str, new: str, finder: str | None = None) -> Mutation:
    return Mutation(name, file, [(old, new)], finder)


PROMISES, BATCH, LANES = "tests/idem/test_batch_promises.py", "tests/idem/test_batch.py", "tests/idem/test_lanes.py"
RECORDER, DECORATOR = "tests/idem/test_recorder.py", "tests/idem/test_decorator_promises.py"
PLANS, HOSTILE = "tests/idem/test_consumer_plans.py", "tests/idem/test_batch_hostile.py"
RECORD, FAULTS = "tests/idem/test_record.py", "tests/idem/test_consumer_faults.py"

CLAIMING = [
    _one(
        "claim without its condition",
        "dynamo/store.py",
        "            action = self._actions.put(claimed_record(claim), over)\n",
        f"            action = self._actions.put(claimed_record(claim), over); action = action if over else {BARE}\n",
    ),
    _one(
        "guard without its condition",
        "dynamo/store.py",
        '            actions = transaction({"Put": self._actions.put(record, over)}, writes)\n',
        f'            action = self._actions.put(record, over); actions = transaction({{"Put": {BARE}}}, writes)\n',
    ),
    _one(
        "takeover of whatever is there now",
        "dynamo/actions.py",
        "        else:\n            action |= {\n",
        "        else:\n            return action\n            action |= {\n",
    ),
    _one(
        "takeover keeps the attempt", "record.py", "attempt=found.attempt + 1, starts", "attempt=found.attempt, starts"
    ),
    _one(
        "own claim not recognised after a lost answer",
        "record.py",
        "    if found.claim_token == wanted.token and found.status is Status.IN_PROGRESS:\n",
        "    if False:\n",
    ),
    _one("the same token for every attempt", "flow.py", "token=self.token(),", 'token=f"{key}",'),
    _one(
        "an unavailable table is permission",
        "batch.py",
        "        if isinstance(answer, Claim):\n            return Claimed(waiting=one",
        "        if isinstance(answer, IdemError):\n"
        '            answer = __import__("idem.record").record.first_claim(self._request(one), 0)\n'
        "        if isinstance(answer, Claim):\n            return Claimed(waiting=one",
    ),
]
DECIDING = [
    _one(
        "expiry ignored",
        "record.py",
        "    if found.expires_at is None:\n",
        "    if True:\n",
    ),
    _one(
        "expiry in seconds compared with milliseconds",
        "record.py",
        "max(found.expires_at * 1000, lease_until)",
        "max(found.expires_at, lease_until)",
    ),
    _one(
        "lease in seconds",
        "flow.py",
        "        lease_until = ends_at + self._lease_margin_ms\n",
        "        lease_until = (ends_at + self._lease_margin_ms) // 1000\n",
    ),
    _one(
        "skew margin dropped",
        "record.py",
        "(found.lease_until or 0) + wanted.skew_margin_ms",
        "(found.lease_until or 0)",
    ),
    _one(
        "mismatch looked at after success",
        "record.py",
        "    if differs(found.request_hash, wanted.request_hash):\n",
        "    if found.status is not Status.SUCCEEDED and differs(found.request_hash, wanted.request_hash):\n",
        BATCH,
    ),
    _one(
        "permanent failures reclaimed",
        "record.py",
        "            reclaimable = found.failure is not None and found.failure.reclaimable\n",
        "            reclaimable = True\n",
    ),
    _one(
        "attempts limit ignored",
        "record.py",
        "    starts_left = wanted.starts_max is None or",
        "    starts_left = True or",
    ),
    _one(
        "held work taken over",
        "record.py",
        "            if wanted.hold_lapsed and found.starts > 0 and not found.unstarted:\n",
        "            if False:\n",
        RECORD,
    ),
    _one(
        "work that never started is held",
        "record.py",
        "            if wanted.hold_lapsed and found.starts > 0 and not found.unstarted:\n",
        "            if wanted.hold_lapsed:\n",
        HOSTILE,
    ),
    _one(
        "the start of an earlier attempt holds one that never started",
        "record.py",
        " and found.starts > 0 and not found.unstarted",
        " and found.starts > 0",
        "tests/idem/test_batch_hostile_processes.py",
    ),
    Mutation(
        "what is taken to be recorded is not under way at once",
        "recorder.py",
        [
            ("            self._under_way += 1  # before", "            self._under_way += 0  # before"),
            (
                "            self._under_way -= not items\n        if items:\n",
                "        if items:\n            self._under_way += 1\n",
            ),
        ],
        "tests/idem/test_batch_hostile_values.py",
    ),
    _one(
        "a lane that breaks takes the loop from the others",
        "lanes.py",
        "return_exceptions=True",
        "return_exceptions=False",
        "tests/idem/test_batch_hostile_lanes.py",
    ),
    _one(
        "a plan is told by the time alone",
        "batch.py",
        "            if self._plans and not self._is_over():\n",
        "            if not self._is_over():\n",
        "tests/idem/test_batch_hostile_values.py",
    ),
    _one(
        "twins look at the nearest one only",
        "batch.py",
        "found, index = found or ending, self._twins[index]",
        "found, index = found or ending, None",
        "tests/idem/test_batch_hostile_values.py",
    ),
    _one(
        "with held work the claim is taken for a start",
        "record.py",
        "        return self.starts_max is not None or self.hold_lapsed\n",
        "        return self.starts_max is not None\n",
        HOSTILE,
    ),
    _one(
        "a start of work that would be held is not counted",
        "flow.py",
        "        counts = policy.starts_max is not None or policy.lapsed is Lapsed.HOLD",
        "        counts = policy.starts_max is not None",
        FAULTS,
    ),
    _one(
        "the time of the delivery is ignored",
        "record.py",
        "    asked_at = now_ms if wanted.asked_at is None else min(wanted.asked_at, now_ms)\n",
        "    asked_at = now_ms\n",
        PROMISES,
    ),
]
RECORDING = [
    _one(
        "complete without its condition",
        "dynamo/store.py",
        '        self._record("complete", claim',
        f'        {OPEN_UPDATE} self._record("complete", claim',
    ),
    _one(
        "fail without its condition",
        "dynamo/store.py",
        '        self._record("fail", claim',
        f'        {OPEN_UPDATE} self._record("fail", claim',
    ),
    _one(
        "release without its condition",
        "dynamo/store.py",
        "        delete = self._actions.delete(claim)\n",
        '        delete = self._actions.delete(claim); delete = {name: delete[name] for name in ("TableName", "Key")}\n',
    ),
    Mutation(
        "fence without the token",
        "dynamo/actions.py",
        [
            ('"claimToken = :mine AND #status = :in_progress"', '"#status = :in_progress"'),
            ('{":mine": {"S": claim.token}, ":in_progress"', '{":in_progress"'),
        ],
    ),
    Mutation(
        "fence without the status",
        "dynamo/actions.py",
        [
            ('"claimToken = :mine AND #status = :in_progress"', '"claimToken = :mine"'),
            ('"ExpressionAttributeNames": {"#status": "status"},', '"ExpressionAttributeNames": {},'),
            (', ":in_progress": {"S": Status.IN_PROGRESS.value}}', "}"),
        ],
    ),
    Mutation(
        "batched outcomes without the token",
        "dynamo/statements.py",
        [('(*key, "claimToken", "status")', '(*key, "status")'), ('{"S": claim.token}, ', "")],
    ),
    _one(
        "own outcome not recognised after a lost answer",
        "dynamo/store.py",
        "        if not _is(found, claim, status):\n",
        "        if True:\n",
    ),
    _one(
        "own commit not recognised after a lost answer",
        "dynamo/store.py",
        "            self._unless_mine(claim, Status.SUCCEEDED, refused)\n",
        "            raise ClaimLost(claim.key, None)\n",
    ),
    _one(
        "own guard taken for a rival's",
        "flow.py",
        "        if isinstance(answer, Succeeded) and answer.record.claim_token == wanted.token:\n",
        "        if False:\n",
    ),
    _one(
        "a lost recording is not sent again",
        "dynamo/store.py",
        "        if refused := self._sender.send(verb, self._client.update_item, update, claim.deadline, insist=True):",
        "        if refused := self._sender.send(verb, self._client.update_item, update, claim.deadline):",
    ),
    _one(
        "the record is not first in its transaction",
        "dynamo/transactions.py",
        "[record_action, *(_readable(index, write) for index, write in enumerate(writes))]",
        "[*(_readable(index, write) for index, write in enumerate(writes)), record_action]",
    ),
    _one(
        "a write that the caller's condition refused is sent again",
        "dynamo/store.py",
        "                    raise WriteRefused(key, index, item)\n",
        '                    attempt.failed("Refused", f"{index} {item}")\n',
    ),
    _one(
        "a conflict of a transaction is a duplicate",
        "dynamo/transactions.py",
        '        if code == "ConditionalCheckFailed":\n',
        '        if code in {"ConditionalCheckFailed", "TransactionConflict"}:\n',
    ),
    _one(
        "a conflict of a single write is a duplicate",
        "dynamo/sender.py",
        '                if _code(error) == "ConditionalCheckFailedException":\n',
        '                if _code(error) in {"ConditionalCheckFailedException", *CONFLICTS}:\n',
    ),
    _one("the result is not stored", "dynamo/actions.py", " | result_attributes(result)", ""),
]
ANSWERING = [
    _one(
        "what is not recorded is acknowledged",
        "flow.py",
        "            return Overtaken(error) if isinstance(error, ClaimLost) else Unavailable(error, ran=True)\n",
        "            return ended.outcome\n",
    ),
    _one(
        "a duplicate in flight is acknowledged",
        "sources/sqs.py",
        "        undone = [ending for ending in endings if not isinstance(ending.outcome, Done)]\n",
        "        undone = [ending for ending in endings if not isinstance(ending.outcome, Done | Busy)]\n",
    ),
]
STARTING = [
    _one(
        "the lease is not looked at before a start",
        "flow.py",
        "        return self.clock.now_ms() > self.latest_start(claim)\n",
        "        return False\n",
        PROMISES,
    ),
    _one(
        "the reserve is ignored",
        "flow.py",
        "self._lease_margin_ms - self.reserve_ms",
        "self._lease_margin_ms",
        PROMISES,
    ),
    _one(
        "time is looked at before a start is counted, and not after",
        "flow.py",
        " if self.is_late(begun) else begun\n",
        " if False else begun\n",
        PROMISES,
    ),
    _one(
        "a start that was counted too late stays counted",
        "flow.py",
        "self.given_back(begun, TOO_LATE, begun=True)",
        "self.given_back(begun, TOO_LATE)",
        PROMISES,
    ),
    _one(
        "a plan starts however little time is left",
        "batch.py",
        "            if self._plans and not self._is_over():\n",
        "            if self._plans:\n",
        PLANS,
    ),
    _one("the reserve is ignored for plans", "batch.py", "ends_at - flow.reserve_ms", "ends_at", PLANS),
    _one(
        "a claim that is too late is not given back",
        "flow.py",
        "            return Unready(TOO_LATE, self.given_back(claim, TOO_LATE))\n",
        "            return Unready(TOO_LATE, None)\n",
        BATCH,
    ),
    _one(
        "what a group's stop keeps from starting is not given back",
        "batch.py",
        "            self._give_back(step, self._flow.given_back(step.claim, reason, begun=begun), reason)\n",
        "            self._give_back(step, None, reason)\n",
        BATCH,
    ),
    _one(
        "a start that could not be counted is not taken back",
        "flow.py",
        'self.given_back(claim, NotStarted("its start was not counted"))',
        "None",
        PROMISES,
    ),
    _one(
        "a call gives no claim back that it could not start on",
        "flow.py",
        "    if unready.given_back is not None:\n",
        "    if False:\n",
        HOSTILE,
    ),
    _one(
        "a claim inside of the work that is held uses up a start",
        "flow.py",
        "        if issubclass(type(error), NotNow):",
        "        if False:",
        HOSTILE,
    ),
    _one(
        "a start stays counted when its claim is given back",
        "flow.py",
        "starts=max(0, claim.starts - 1)",
        "starts=claim.starts",
        PROMISES,
    ),
    _one(
        "a later claim that is given back leaves no number",
        "flow.py",
        "        if claim.attempt == 1:\n",
        "        if True:\n",
        BATCH,
    ),
    _one(
        "with a limit the claim counts a start, too",
        "record.py",
        "starts=starts if wanted.counts_starts else starts + 1,",
        "starts=starts + 1,",
        PROMISES,
    ),
    _one(
        "a late call runs all the same",
        "decorator.py",
        "        claim = self._flow.ready(answer)\n",
        "        claim = answer\n",
        DECORATOR,
    ),
    _one(
        "the starts of a coroutine function are not counted",
        "decorator.py",
        "            claim = await in_thread(threads, partial(self._flow.ready, answer))\n",
        "            claim = answer\n",
        DECORATOR,
    ),
    Mutation(
        "a late call of a coroutine function runs all the same",
        "decorator.py",
        [
            (
                "            claim = await in_thread(threads, partial(self._flow.ready, answer))\n",
                "            claim = answer\n",
            ),
            ("        if self._flow.is_late(claim):  #", "        if False:  #"),
        ],
        DECORATOR,
    ),
    _one(
        "a loop that was blocked starts a function late",
        "decorator.py",
        "        if self._flow.is_late(claim):  #",
        "        if False:  #",
        DECORATOR,
    ),
    _one(
        "a function that its loop kept from starting uses up a start",
        "decorator.py",
        "begun=self._flow.counts_starts",
        "begun=False",
        DECORATOR,
    ),
    _one(
        "a loop that was blocked starts a coroutine late",
        "lanes.py",
        "        if now_ms() > wanted.latest_start:\n",
        "        if False:\n",
        LANES,
    ),
    _one(
        "the second claim of work that is also once is not made ready",
        "wrappers/also_once.py",
        "flow.ready(answer) if isinstance(answer, Claim) else answer",
        "answer",
        HOSTILE,
    ),
    _one(
        "the end of the process stops no other lane",
        "batch.py",
        "                    self._stopping = True ",
        "                    self._stopping = False ",
        PROMISES,
    ),
]
LIVING = [
    _one(
        "the record of work in progress lives from its claim",
        "flow.py",
        "            expires_at=self.expires_at(lease_until),\n",
        "            expires_at=self.expires_at(),\n",
        PROMISES,
    ),
    _one(
        "a record in progress expires before its lease",
        "record.py",
        "max(found.expires_at * 1000, lease_until)",
        "found.expires_at * 1000",
        RECORD,
    ),
    _one(
        "an expired record in progress gives its number away",
        "record.py",
        "        number = found.attempt + 1 if found.status is Status.IN_PROGRESS else 1\n",
        "        number = 1\n",
        RECORD,
    ),
    _one(
        "a plan that is rejected is claimed for the life of a success",
        "flow.py",
        "        done_at_once = replace(",
        "        done_at_once = wanted = replace(",
        PLANS,
    ),
    _one(
        "the record of a plan lives from its start",
        "flow.py",
        "done_at_once = replace(wanted, expires_at=self.expires_at())",
        "done_at_once = replace(wanted, expires_at=self.expires_at(wanted.asked_at))",
        PROMISES,
    ),
]
TOGETHER = [
    _one(
        "the timer is not armed",
        "recorder.py",
        "            self._call_off = self._clock.later(max(0, self._due - self._clock.now_ms()), self._on_time)\n",
        "            pass\n",
        RECORDER,
    ),
    _one(
        "record_within is ignored",
        "recorder.py",
        "min(self._within_ms, max(0, item.due_by - now_ms))",
        "max(0, item.due_by - now_ms)",
        RECORDER,
    ),
    _one(
        "a lease that ends soon hurries no recording",
        "recorder.py",
        "min(self._within_ms, max(0, item.due_by - now_ms))",
        "self._within_ms",
        RECORDER,
    ),
    _one(
        "without patience outcomes wait all the same",
        "recorder.py",
        "        if self._within_ms <= 0 and item.ran:\n",
        "        if False:\n",
        RECORDER,
    ),
    _one(
        "what a timer could not record is not told",
        "recorder.py",
        "            self._failure = failure\n",
        "            del failure\n",
        RECORDER,
    ),
    _one(
        "nothing is recorded when an exception leaves",
        "consumer.py",
        "                batch.close()\n            raise\n",
        "                pass\n            raise\n",
        PROMISES,
    ),
    _one(
        "an error of the last recording hides the exception that leaves",
        "consumer.py",
        "            with suppress(BaseException):  #",
        "            if True:  #",
        PROMISES,
    ),
    _one(
        "nothing is recorded before what may kill the process",
        "batch.py",
        "        if suspect or step.waiting.twin is not None:\n",
        "        if step.waiting.twin is not None:\n",
        BATCH,
    ),
    _one(
        "a later attempt is no suspect",
        "batch.py",
        " or (isinstance(step, Claimed) and step.claim.attempt > 1)\n",
        "\n",
        BATCH,
    ),
    _one(
        "a group waits for the recordings of all others",
        "batch.py",
        "            self._recorder.catch_up(lambda: self.endings[before] is not None)\n",
        "            self._recorder.catch_up()\n",
        HOSTILE,
    ),
    _one(
        "a group does not wait for its own recording",
        "batch.py",
        "            self._recorder.catch_up(lambda: self.endings[before] is not None)\n",
        "            self._recorder.flush_if_due()\n",
        BATCH,
    ),
    _one(
        "a twin does not wait for what its first one gives back",
        "batch.py",
        "        self._recorder.catch_up()\n        began",
        "        began",
        HOSTILE,
    ),
    _one(
        "nobody waits for what others are recording",
        "recorder.py",
        "        while self._under_way and not enough():\n",
        "        while False:\n",
        RECORDER,
    ),
    _one(
        "what an interrupted recording held is lost",
        "recorder.py",
        "                self._kept += items\n",
        "                pass\n",
        HOSTILE,
    ),
    _one(
        "closing stops at what an earlier recording raised",
        "recorder.py",
        "        failure, self._failure = self._failure, None\n",
        "        failure = self._failure\n",
        RECORDER,
    ),
    _one(
        "an outcome may be due behind its deadline",
        "progress.py",
        "self.claimed.claim.deadline - REPEATS_MS",
        "self.claimed.claim.deadline + REPEATS_MS",
        HOSTILE,
    ),
    _one(
        "an outcome may be due at its deadline",
        "progress.py",
        "self.claimed.claim.deadline - REPEATS_MS",
        "self.claimed.claim.deadline",
        HOSTILE,
    ),
    Mutation(
        "no timer runs while a start is counted",
        "batch.py",
        [
            ("                self._recorder.starting()\n", ""),
            (
                "                    self._recorder.ended()\n                    continue\n",
                "                    continue\n                self._recorder.starting()\n",
            ),
        ],
        HOSTILE,
    ),
    _one(
        "held keys are looked at again without end",
        "batch.py",
        "        in_time = self._is_patient() or self._clock.now_ms() - began <= LOOKS_MS\n",
        "        in_time = True\n",
        HOSTILE,
    ),
    _one(
        "when patience is over no key is looked at again",
        "batch.py",
        "        in_time = self._is_patient() or self._clock.now_ms() - began <= LOOKS_MS\n",
        "        in_time = self._is_patient()\n",
        BATCH,
    ),
    _one(
        "a plan asks as of its end",
        "batch.py",
        "        wanted = self._request(one, met)\n",
        "        wanted = self._request(one)\n",
        PROMISES,
    ),
    _one(
        "waiting for an attempt in flight comes before other work",
        "batch.py",
        "        if isinstance(answer, Held) and self._patient_until is None:\n",
        "        if isinstance(answer, Held):\n"
        "            answer = self._flow.wait(self._request(one), answer)\n"
        "        if isinstance(answer, Held) and self._patient_until is None:\n",
        PROMISES,
    ),
    _one(
        "each key that is held is waited for by itself",
        "batch.py",
        "        if isinstance(answer, Held) and self._patient_until is None:\n",
        "        if isinstance(answer, Held):\n",
        PROMISES,
    ),
    _one(
        "a group that has stopped goes on",
        "batch.py",
        "        return ending is not None and not isinstance(ending.outcome, Done)\n",
        "        return False\n",
        BATCH,
    ),
    _one(
        "groups stop each other",
        "progress.py",
        "else last.get(arrival.group))\n",
        "else max(last.values(), default=None))\n",
        BATCH,
    ),
    _one(
        "a twin shares what its first one's group kept back",
        "batch.py",
        "        return earlier is not None and not isinstance(earlier.outcome, NotStarted)\n",
        "        return earlier is not None\n",
        PROMISES,
    ),
    _one(
        "each twin asks for itself",
        "consumer.py",
        "            twin = last.get((key, checked))\n",
        "            twin = None\n",
        BATCH,
    ),
]
ENDING = [
    _one(
        "SystemExit of a work leaves",
        "errors.py",
        "PROCESS_ENDS = (KeyboardInterrupt, Crash)\n",
        "PROCESS_ENDS = (KeyboardInterrupt, SystemExit, Crash)\n",
        PROMISES,
    ),
    _one(
        "a note that an error does not take breaks the batch",
        "flow.py",
        "    with suppress(Exception):\n        error.add_note(text)\n",
        "    error.add_note(text)\n",
        PROMISES,
    ),
    _one(
        "a cancellation of the work's own cancels the invocation",
        "lanes.py",
        "Raised(asyncio.CancelledError()) if work.cancelled() else work.result()",
        "work.result()",
        PROMISES,
    ),
    _one(
        "a work has no task of its own",
        "lanes.py",
        "                work = asyncio.ensure_future(called(wanted))\n                cancelled = await waited(lane, work)\n",
        "                work, cancelled = asyncio.Future[CallEnd](), None\n"
        "                work.set_result(await called(wanted))\n",
        HOSTILE,
    ),
    _one(
        "a cancellation of the invocation is how a work ended",
        "lanes.py",
        "                work.cancel()\n                lane.throw(error)\n            return error\n",
        "                work.cancel()\n                await asyncio.wait([work])\n",
        LANES,
    ),
    _one(
        "a work goes on when its invocation is cancelled",
        "lanes.py",
        "                work.cancel()\n",
        "",
        LANES,
    ),
    _one(
        "the store is asked in the loop's own threads",
        "lanes.py",
        "run_in_executor(threads, contextvars",
        "run_in_executor(None, contextvars",
        HOSTILE,
    ),
    _one(
        "what plain work puts into its context stays there",
        "lanes.py",
        "Returned(contextvars.copy_context().run(call, wanted))",
        "Returned(call(wanted))",
        HOSTILE,
    ),
    _one(
        "lanes that wait start although another one was interrupted",
        "lanes.py",
        "            pool.shutdown(cancel_futures=True)\n",
        "",
        LANES,
    ),
    _one(
        "a step in a thread is left behind when its waiting is cancelled",
        "lanes.py",
        "            cancelled = error\n",
        "            raise error\n",
        LANES,
    ),
    _one(
        "a call that is cancelled while it claims keeps its claim",
        "decorator.py",
        "            await in_thread(threads, give_back)\n",
        "",
        DECORATOR,
    ),
    _one(
        "a call whose work is cancelled is not recorded",
        "decorator.py",
        "                call.outcome = await in_thread(recording, partial(self._flow.record, self._flow.raised(claim, error)))\n",
        "                del error\n",
        DECORATOR,
    ),
    _one(
        "writes inside another value are its result",
        "flow.py",
        "islice(inside, ITEMS_SEEN if levels else 0)",
        "islice(inside, 0)",
        PROMISES,
    ),
    _one(
        "writes are looked for one level deep",
        "flow.py",
        "_mistake_inside(one, levels - 1)",
        "_mistake_inside(one, 0)",
        HOSTILE,
    ),
    _one(
        "the result of a Commit is not looked through",
        "flow.py",
        "        return _mistake_inside(value.result, LEVELS_SEEN)\n",
        "        return None\n",
        HOSTILE,
    ),
    _one(
        "what a plan returns is not looked through",
        "flow.py",
        "        if mistake := mistake_in(commit):\n",
        "        if mistake := None:\n",
        PLANS,
    ),
    _one(
        "what runs only when it is asked to is a result",
        "flow.py",
        "(inspect.isasyncgen(value) or _is_lazy(value) or ",
        "(inspect.isasyncgen(value) or ",
        PROMISES,
    ),
    _one(
        "a future of a thread pool is a result",
        "flow.py",
        "(of_pool or inspect.isawaitable(value))",
        "inspect.isawaitable(value)",
        HOSTILE,
    ),
    _one(
        "a value that cannot be looked at breaks the batch",
        "flow.py",
        "        except BaseException as error:  # noqa: BLE001 - a value that",
        "        except ArithmeticError as error:  # noqa: BLE001 - a value that",
        HOSTILE,
    ),
    _one(
        "writes that exit end the process",
        "flow.py",
        "    except BaseException as error:  # noqa: BLE001 - as above",
        "    except Exception as error:  # noqa: BLE001 - as above",
        HOSTILE,
    ),
    _one(
        "a classify that exits ends the process",
        "flow.py",
        "        except BaseException as fault:",
        "        except Exception as fault:",
        HOSTILE,
    ),
    _one(
        "a rule that exits ends the process",
        "consumer.py",
        "    except BaseException as error:\n        said",
        "    except Exception as error:\n        said",
        HOSTILE,
    ),
    _one(
        "an observer that exits ends the process",
        "log.py",
        "    except BaseException as error:  # noqa: BLE001 - an observer of the user's own\n",
        "    except Exception as error:\n",
        HOSTILE,
    ),
    _one(
        "an error of one recording that no store may raise leaves",
        "store.py",
        "    except Exception as error:  # noqa: BLE001 - a store of the user's own, or",
        "    except ArithmeticError as error:  # noqa: BLE001 - a store of the user's own, or",
        HOSTILE,
    ),
    _one(
        "an error of recordings together that no store may raise leaves",
        "flow.py",
        "            except Exception as error:  # noqa: BLE001 - of a store of the user's own\n                errors",
        "            except IdemError as error:\n                errors",
        HOSTILE,
    ),
    _one(
        "an error of claims together that no store may raise leaves",
        "batch.py",
        "        except Exception as error:  # noqa: BLE001 - of a store of the user's own\n            return [error",
        "        except IdemError as error:\n            return [error",
        HOSTILE,
    ),
    _one(
        "an error of a start that no store may raise leaves",
        "flow.py",
        "        except Exception as error:  # noqa: BLE001 - of a store of the user's own\n            unknown",
        "        except IdemError as error:\n            unknown",
        HOSTILE,
    ),
    _one(
        "a call that waits for an attempt keeps a thread busy",
        "decorator.py",
        "                await self._flow.clock.pause_ms(answer)\n",
        "                await in_thread(threads, partial(self._flow.clock.sleep_ms, answer))\n",
        HOSTILE,
    ),
    _one(
        "a time far away ends the thread of all alarms",
        "clock.py",
        "min(seconds, FAR_SECONDS)",
        "seconds",
        HOSTILE,
    ),
]
ONE_KEY = [*CLAIMING, *DECIDING, *RECORDING, *ANSWERING]
WHOLE_INVOCATIONS = [*STARTING, *LIVING, *TOGETHER, *ENDING]
MUTATIONS = [*ONE_KEY, *WHOLE_INVOCATIONS]
