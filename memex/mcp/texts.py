"""What tools say: sentences for the model, word for word those that clients of the reference parse."""

from memex.errors import Problem
from memex.model import Count, Listing, Memory, MemoryType, SearchResult

TYPES = ", ".join(MemoryType)


def stored(memory: Memory) -> str:
    """After a write."""
    return f"Stored memory {memory.id} (type={memory.memory_type}, importance={memory.importance})"


def found(agent_id: str, user_id: str, result: SearchResult) -> str:
    """The hits, best first, or that there is none."""
    if not result.results:
        return nothing(agent_id, user_id, result.query)
    head = f'Found {result.total} {memories(result.total)} (query: "{result.query}"):'
    return "\n".join([head, *(hit(place, memory) for place, memory in enumerate(result.results, 1))])


def nothing(agent_id: str, user_id: str, query: str) -> str:
    """There is no memory at all, of that kind or time."""
    return f"No memories found for agent '{agent_id}' / user '{user_id}' matching '{query}'."


def listed(agent_id: str, user_id: str, page: Listing) -> str:
    """A page of a list, and how to get the next one."""
    if not page.total:
        return f"No memories found for agent '{agent_id}' / user '{user_id}'."
    head = f"{len(page.memories)} of {page.total} {memories(page.total)}, the newest first:"
    more = [f'\nThere are more: call again with cursor "{page.next_cursor}".'] if page.next_cursor else []
    return "\n".join([head, *(dated(place, memory) for place, memory in enumerate(page.memories, 1)), *more])


def dated(place: int, memory: Memory) -> str:
    """One of a list, after a blank line."""
    return f"\n{place}. [{memory.memory_type}] created={memory.created_at}  id={memory.id}\n   {memory.content}"


def hit(place: int, memory: Memory) -> str:
    """One of them, after a blank line."""
    return f"\n{place}. [{memory.memory_type}] score={memory.score:.4f}  id={memory.id}\n   {memory.content}"


def deleted(memory_id: str) -> str:
    """After a delete; the id as it was given."""
    return f"Deleted memory {memory_id}."


def not_found(memory_id: str, agent_id: str) -> str:
    """There is no such memory for this agent."""
    return f"Memory {memory_id} not found or does not belong to agent '{agent_id}'."


def shown(memory: Memory) -> str:
    """One memory by itself."""
    facts = f"[{memory.memory_type}] created={memory.created_at} importance={memory.importance} state={memory.state}"
    return f"{facts}  id={memory.id}\n   {memory.content}"


def updated(memory: Memory) -> str:
    """After a change, or where nothing was to be changed."""
    return f"Updated memory {memory.id} (version={memory.version})."


def counted(count: Count) -> str:
    """How many there are."""
    return f"Agent '{count.agent_id}' / User '{count.user_id}' has {count.count} stored {memories(count.count)}."


def memories(number: int) -> str:
    """The noun."""
    return "memory" if number == 1 else "memories"


def faults(problems: tuple[Problem, ...]) -> str:
    """What is wrong with the arguments, a line each, so that a model can call again rightly."""
    return "\n".join(map(fault, problems))


def fault(problem: Problem) -> str:
    """One of them; the two that clients of the reference know in its words."""
    place = problem.loc[1:]
    if place == ("memory_type",):
        return f"Invalid memory_type '{problem.input}'. Must be one of: {TYPES}."
    if place == ("memory_id",) and problem.type != "missing":
        return f"Invalid memory_id '{problem.input}'. Must be a valid UUID."
    return f"{'.'.join(map(str, place)) or 'arguments'}: {problem.msg}"
