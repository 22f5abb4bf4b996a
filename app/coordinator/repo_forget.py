"""What may be done in a repo, forgotten: a candidate, a pull request, an issue."""

from app.coordinator.repo_book import RepoBook, in_book
from app.coordinator.repo_reads import found
from app.repo import CandidateId, RepoId
from app.store.retrying import settled
from app.store.session import Database


async def remove_candidate(db: Database, repo_id: RepoId, id_: CandidateId) -> None:
    """Forget a candidate; a focus of the repo that was its is cleared.

    Raises:
        NotFound: there is no such candidate.
        LostRace: others kept changing it.
    """

    def act(book: RepoBook) -> None:
        found(book.candidates.get(id_), "candidate", id_)
        book.drop_candidate(id_)

    await settled(db, lambda conn: in_book(conn, repo_id, act))


async def remove_pull(db: Database, repo_id: RepoId, number: int) -> None:
    """Forget a pull request.

    Raises:
        NotFound: there is no such pull request.
        LostRace: others kept changing it.
    """

    def act(book: RepoBook) -> None:
        found(book.pulls.pop(number, None), "pull request", number)

    await settled(db, lambda conn: in_book(conn, repo_id, act))


async def remove_issue(db: Database, repo_id: RepoId, number: int) -> None:
    """Forget an issue.

    Raises:
        NotFound: there is no such issue.
        LostRace: others kept changing it.
    """

    def act(book: RepoBook) -> None:
        found(book.issues.pop(number, None), "issue", number)

    await settled(db, lambda conn: in_book(conn, repo_id, act))
