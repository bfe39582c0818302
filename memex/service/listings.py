"""Listing memories, page by page."""

from memex.model import Listing, ListQuery, Scope, Space
from memex.service import cursors
from memex.service.questions import micros
from memex.store import Lists, Narrowed, Paging


class Listings:
    """One page is one statement, so its total is of the same moment."""

    def __init__(self, lists: Lists) -> None:
        """`lists` is the store's."""
        self._lists = lists

    async def page(self, scope: Scope, query: ListQuery) -> Listing:
        """The page that the query's cursor points to. Raises Invalid, Unavailable and StoreFault.

        The order is by what never changes of a memory, so what is there all the time is listed once.
        """
        space, after = Space(scope.tenant_id, query.user_id), cursors.read(query)
        paging = Paging(after, query.limit, query.include_archived)
        page = await self._lists.page(space, scope, narrowed(query), paging)
        following = page.next and cursors.written(query, page.next)
        return Listing(memories=page.memories, total=page.total, next_cursor=following)


def narrowed(query: ListQuery) -> Narrowed:
    """The conditions, as the store takes them."""
    return Narrowed(
        types=None if query.types is None else tuple(query.types),
        created_after=micros(query.created_after),
        created_before=micros(query.created_before),
        tags_any=None if query.tags_any is None else tuple(query.tags_any),
        tags_all=None if query.tags_all is None else tuple(query.tags_all),
        session_id=query.session_id,
        source=query.source,
    )
