"""Settings: from the environment, by assignment, defaults of the machine."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

import lucid_nb as lnb
from lucid_nb import config
from lucid_nb.errors import ConfigError

BAD = [("num_threads", "0"), ("num_threads", "two"), ("num_threads", "1.5"), ("num_threads", "-1"), ("fusion", "maybe"),
       ("deterministic", "2"), ("memory_pool_mb", "-1"), ("conv_view_limit_mb", "64MB"), ("vector_width", "100"),
       ("cuda_conv_cache_size", "x"), ("tf32", "ja"), ("winograd", "-"), ("check_nan", "nan")]


def run(program, **variables):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LUCID_NB_")}
    return subprocess.run([sys.executable, "-c", program], env=environment | variables, capture_output=True, text=True,
                          timeout=60)


@pytest.fixture(autouse=True)
def restore(monkeypatch):
    for name in set(dir(config)) - {"conv_view_limit_mb"}:
        if getattr(config, name) is not None:
            monkeypatch.setattr(config, name, getattr(config, name))


@pytest.mark.parametrize("name, text", BAD)
def test_bad_variable_names_itself_value_and_allowed(name, text, monkeypatch):
    monkeypatch.setenv(f"LUCID_NB_{name.upper()}", text)
    with pytest.raises(ConfigError, match="must be") as caught:
        config.from_environment(name)
    assert f"LUCID_NB_{name.upper()}" in str(caught.value) and repr(text) in str(caught.value)


@pytest.mark.parametrize("name, text, value", [
    ("num_threads", " 3 ", 3), ("fusion", "OFF", False), ("tf32", "yes", True), ("conv_view_limit_mb", "-1", -1),
    ("conv_view_limit_mb", "0", 0), ("vector_width", "256", 256), ("vector_width", "AUTO", "auto"),
    ("cache_dir", "/tmp/x", Path("/tmp/x")), ("memory_pool_mb", "0", 0), ("fusion", "", "auto"),
    ("fusion", "Auto", "auto"), ("fusion_threshold", "100", 100)])
def test_variable_is_read(name, text, value, monkeypatch):
    monkeypatch.setenv(f"LUCID_NB_{name.upper()}", text)
    assert config.from_environment(name) == value


def test_import_with_a_bad_variable_raises():
    done = run("import lucid_nb.config", LUCID_NB_NUM_THREADS="many")
    assert done.returncode != 0 and "ConfigError" in done.stderr and "LUCID_NB_NUM_THREADS" in done.stderr


def test_import_reads_variables_once():
    program = ("import os; from lucid_nb import config\n"
               "os.environ['LUCID_NB_NUM_THREADS'] = '5'; print(config.num_threads)")
    assert run(program, LUCID_NB_NUM_THREADS="7").stdout.strip() == "7"


@pytest.mark.parametrize("name, bad, good", [
    ("num_threads", 0, 2), ("num_threads", True, 2), ("num_threads", 2.0, 1), ("fusion", 3, False),
    ("cache_dir", 5, Path("/a")), ("cache_dir", "", Path("/b")), ("memory_pool_mb", None, 10),
    ("vector_width", 64, 128), ("tf32", None, True)])
def test_assignment_is_checked(name, bad, good):
    before = getattr(config, name)
    with pytest.raises(ConfigError, match=f"config.{name} is .*must be"):
        setattr(config, name, bad)
    assert getattr(config, name) == before
    setattr(config, name, good)
    assert getattr(config, name) == good


def test_relative_cache_dir_survives_chdir(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config.cache_dir = "kernels"
    monkeypatch.chdir("/")
    assert config.cache_dir == tmp_path / "kernels"


@pytest.mark.parametrize("kind", [ConfigError, AttributeError])
def test_unknown_and_fixed_names_are_refused(kind):
    with pytest.raises(kind, match=r"no setting 'threads'.*num_threads"):
        config.threads = 2
    with pytest.raises(kind, match=r"no setting 'threads'.*num_threads"):
        _ = config.threads
    with pytest.raises(kind, match="LUCID_NB_CONV_VIEW_LIMIT_MB before import"):
        config.conv_view_limit_mb = 64


def test_dir_lists_the_settings():
    assert set(dir(config)) >= {"num_threads", "cache_dir", "deterministic", "check_nan", "fusion",
                                "conv_view_limit_mb", "tf32", "cuda_libraries", "cuda_conv_cache_size",
                                "memory_pool_mb", "winograd"}


@pytest.mark.parametrize("gigabytes, view, pool", [
    (1, 64, 64), (16, 256, 1024), (8, 128, 512), (256, 1024, 1024), (None, 256, 256)])
def test_memory_defaults_follow_the_machine(gigabytes, view, pool, monkeypatch):
    def sysconf(name):
        if gigabytes is None:
            raise ValueError(name)
        return 4096 if name == "SC_PAGE_SIZE" else gigabytes << 18
    monkeypatch.setattr(os, "sysconf", sysconf, raising=False)
    assert config.conv_view_limit_default() == view
    assert config.memory_pool_default() == pool


@pytest.mark.parametrize("files, membership, cpus", [
    ({"cpu.max": "150000 100000"}, "0::/", 1.5),
    ({"cpu.max": "max 100000", "a/cpu.max": "200000 100000", "a/b/cpu.max": "max 100000"}, "0::/a/b", 2.0),
    ({"cpu.max": "300000 100000"}, "0::/not/here", 3.0),
    ({"cpu/cpu.cfs_quota_us": "50000", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu,cpuacct:/\n3:memory:/", 0.5),
    ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "4:cpu,cpuacct:/", None),
    ({"cpu.max": "junk"}, "0::/", None), ({}, "0::/", None), ({}, "garbage", None)])
def test_cgroup_quota_is_read(files, membership, cpus, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    (tmp_path / "membership").write_text(membership + "\n")
    assert config.cgroup_cpus(tmp_path, tmp_path / "membership") == cpus


def test_cgroup_is_absent_where_there_is_none(tmp_path):
    assert config.cgroup_cpus(tmp_path, tmp_path / "nothing") is None


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity masks on this system")
def test_threads_follow_the_affinity_mask():
    one = sorted(os.sched_getaffinity(0))[0]
    program = f"import os; os.sched_setaffinity(0, [{one}]); from lucid_nb import config; print(config.num_threads)"
    assert run(program).stdout.strip() == "1"


def test_without_a_home_there_is_no_cache_folder():
    program = ("import os\n"
               "def no_home(path): return path\n"
               "os.path.expanduser = no_home\n"
               "from lucid_nb import config; print(config.cache_dir)")
    assert run(program, HOME="", XDG_CACHE_HOME="").stdout.strip() == "None"


def test_the_package_refuses_what_is_fixed_before_import():
    before = lnb.CONV_VIEW_LIMIT_MB
    with pytest.raises(AttributeError, match=r"read-only here\. Set LUCID_NB_CONV_VIEW_LIMIT_MB before import"):
        lnb.CONV_VIEW_LIMIT_MB = 5
    assert before == lnb.CONV_VIEW_LIMIT_MB and lnb.config is config
    program = "import lucid_nb as lnb\nlnb.mine = 3\nprint(lnb.mine, lnb.config.winograd)"
    assert run(program).stdout.split() == ["3", "False"]


def test_settings_cannot_be_deleted():
    with pytest.raises(AttributeError, match=r"config: num_threads cannot be deleted\. Assign a value"):
        del lnb.config.num_threads
    assert config.num_threads >= 1
