import pytest

from memex.embedder import cores


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """A file system of control groups on a machine of 16 cores."""
    monkeypatch.setattr(cores, "affinity", lambda: 16)

    def write(membership, files):
        for name, text in {"membership": membership, **files}.items():
            file = tmp_path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return cores.usable_cores(tmp_path, tmp_path / "membership")

    return write


@pytest.mark.parametrize(
    ("limit", "expected"),
    [("max 100000", 16), ("200000 100000", 2), ("350000 100000", 3), ("50000 100000", 1), ("9900000 100000", 16)],
)
def test_version_2(tree, limit, expected):
    assert tree("0::/a/b\n", {"a/b/cpu.max": limit + "\n"}) == expected


def test_the_tightest_of_all_groups_above_counts(tree):
    assert tree("0::/a/b\n", {"a/b/cpu.max": "800000 100000\n", "a/cpu.max": "300000 100000\n"}) == 3


def test_a_container_that_sees_only_its_own_group(tree):
    assert tree("0::/kubepods/pod1\n", {"cpu.max": "400000 100000\n"}) == 4


def test_a_group_may_have_a_name_in_any_script(tree):
    assert tree("0::/größe\n", {"größe/cpu.max": "300000 100000\n"}) == 3


def test_a_path_out_of_the_mounted_tree_is_harmless(tree):
    assert tree("0::/../../other\n", {"cpu.max": "500000 100000\n"}) == 5


@pytest.mark.parametrize(("quota", "expected"), [("-1", 16), ("250000", 2)])
def test_version_1(tree, quota, expected):
    files = {"cpu,cpuacct/x/cpu.cfs_quota_us": f"{quota}\n", "cpu,cpuacct/x/cpu.cfs_period_us": "100000\n"}
    assert tree("5:memory:/x\n4:cpu,cpuacct:/x\n", files) == expected


def test_without_control_groups_the_scheduler_decides(tmp_path, monkeypatch):
    monkeypatch.setattr(cores, "affinity", lambda: 3)
    assert cores.usable_cores(tmp_path, tmp_path / "absent") == 3


def test_this_machine_has_at_least_one():
    assert 1 <= cores.usable_cores() <= cores.affinity()
