"""The page behind each problem's ``type``: what it means, and what the caller does about it."""

import html
from collections.abc import Mapping
from dataclasses import dataclass

from app.api.problems import kinds, status_of
from app.errors import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a problem means, and what to do about it."""

    means: str
    do: str


PAGES: Mapping[str, Page] = {
    "bad-request": Page(
        means="The request breaks a rule of HTTP itself, so it could not be understood.",
        do="Compare it with the description at /openapi.json; the detail says what was wrong.",
    ),
    "token-in-query": Page(
        means="A token stood in the address. Addresses are kept in logs, histories and proxies, "
        "so the coordinator refuses it there, even beside a valid header.",
        do="Send it as “Authorization: Bearer …”, and revoke the one that stood in the address: "
        "others may have seen it.",
    ),
    "unauthenticated": Page(
        means="The call carried no token, or one that is unknown, expired or revoked. Which of "
        "these it was is not said to somebody who has no valid token.",
        do="Send “Authorization: Bearer …” with a valid token; an operator makes one with "
        "“fleet token create” or POST /tokens.",
    ),
    "forbidden": Page(
        means="The token is valid, but its role may not make this call, or it is bound to "
        "another factory than the one the call touches.",
        do="Use a token of a role that the description of the call names. A factory acts for "
        "itself only, and reports only on its own leases.",
    ),
    "not-found": Page(
        means="There is nothing under that address: no such path, or no job, factory or other "
        "thing of that id. Finished jobs are removed after the retention time.",
        do="Check the id. For a factory: register it first, with PUT /factories/{id}.",
    ),
    "method-not-allowed": Page(
        means="The path exists, but not with this method.",
        do="Use one of those that the header Allow names.",
    ),
    "conflict": Page(
        means="The call is well-formed, but the present state does not allow it.",
        do="Read the thing anew and decide again; repeating the same call will not help.",
    ),
    "stale-fence": Page(
        means="The fence in the call is closed: the job was settled, leased again, revoked "
        "(timeout, cancel, an edit), or its lock went to another job. Nothing was changed.",
        do="Stop working on that job and throw its result away; somebody else has it, or nobody "
        "needs it any more. Claim the next one.",
    ),
    "impossible-transition": Page(
        means="The state of the job or workflow does not allow this: a finished job cannot be "
        "held, a leased one cannot be edited, only a dead or cancelled one can be retried; a "
        "workflow is reviewed only under review.",
        do="Read it and see its state. To stop a leased job, cancel it.",
    ),
    "lost-race": Page(
        means="Something else changed the row first, as often as this call was willing to try.",
        do="Repeat the call; it changed nothing.",
    ),
    "claim-key-spent": Page(
        means="A claim with this Idempotency-Key was answered before, and none of its leases is "
        "current any more.",
        do="Claim with a new key; use one key for one claim and its repeats only.",
    ),
    "idempotency-key-reused": Page(
        means="This Idempotency-Key came with another request before. Keys are remembered for 24 "
        "hours, per token and call.",
        do="Use a new key for each new request, and the same key only to repeat the same one.",
    ),
    "factory-busy": Page(
        means="The factory still holds leases, so it cannot be removed.",
        do="Drain it, wait until seats_used is 0, then remove it.",
    ),
    "version-mismatch": Page(
        means="If-Match names another version than the present one: it was changed since you "
        "read it. current_version, if given, is the present one.",
        do="Read it again, look whether your change still makes sense, and send it with the new "
        "ETag.",
    ),
    "payload-too-large": Page(
        means="The body is larger than 1 MiB, which is the most this service takes.",
        do="Put large things elsewhere and send their address; split a batch.",
    ),
    "unsupported-media-type": Page(
        means="The body says that it is something other than JSON.",
        do="Send “Content-Type: application/json”.",
    ),
    "invalid-request": Page(
        means="The body or a parameter is not what the call takes: not JSON, an unknown field, "
        "a wrong type, a number out of bounds, a NUL, or facts that contradict each other.",
        do="errors names each field and what is wrong with it; the bounds are in /openapi.json.",
    ),
    "dependency-cycle": Page(
        means="The jobs would wait for each other for ever. cycle names the ring.",
        do="Remove one of the dependencies in the ring. Nothing was stored.",
    ),
    "unknown-dependency": Page(
        means="A job depends on one that does not exist, or that was removed after its retention "
        "time.",
        do="Submit the parent first, or both in one POST /jobs/batch. Nothing was stored.",
    ),
    "version-required": Page(
        means="The call changes a row that others may change too, so it must say which version "
        "it means.",
        do='Read the row and send its ETag as If-Match, such as: If-Match: "7".',
    ),
    "internal-error": Page(
        means="The coordinator ran into a mistake of its own. It is in its log; the answer does "
        "not repeat it.",
        do="Tell the people who run it, with the time. Repeating the call may or may not help.",
    ),
    "unavailable": Page(
        means="The coordinator cannot answer now: the database cannot be reached, too many "
        "requests wait for it, or the service is shutting down.",
        do="Repeat the call after the seconds in Retry-After; calls with an Idempotency-Key or a "
        "fence can be repeated safely.",
    ),
}


def page_of(slug: str) -> str | None:
    """Write the page of a problem as HTML; None if there is no such problem."""
    kind = next((each for each in kinds() if each.slug == slug), None)
    return None if kind is None else _html(kind, PAGES[slug])


def _html(kind: type[Refusal], page: Page) -> str:
    title = html.escape(kind.title)
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>\n'
        f"<h1>{title}</h1>\n"
        f"<p><code>/problems/{kind.slug}</code>, status {status_of(kind)}</p>\n"
        f"<h2>What it means</h2>\n<p>{html.escape(page.means)}</p>\n"
        f"<h2>What to do</h2>\n<p>{html.escape(page.do)}</p>\n</html>\n"
    )
