import pytest

from benchspec.engine.model.errors import ParseError, SpecError, UnitError
from benchspec.engine.model.spec import Json, Role
from benchspec.engine.planning import powershell
from benchspec.workloads.diskspd import workload as diskspd
from tests.workloads.planned import experiment, surroundings
from tests.workloads.tool_goldens import DATA, completed


def argv(parameters: dict[str, Json]) -> tuple[str, ...]:
    return (
        diskspd.commands(experiment("diskspd", parameters), surroundings(workdir="C:\\w"))
        .clients[0]
        .argv
    )


def test_random_writes_of_the_encrypted_disk() -> None:
    parameters: dict[str, Json] = {
        "path": "X:\\_diskSpd_test\\testfile.dat",
        "file_size": "1024 MiB",
        "block_size": "8 KiB",
        "write_ratio": "100 %",
        "outstanding": 64,
        "warmup": "30 s",
        "duration": "90 s",
    }
    expected = (
        "diskspd.exe -c1G -b8K -r -w100 -o64 -t1 -W30 -d90 -C0 -Sh -L -Rxml"
        " X:\\_diskSpd_test\\testfile.dat"
    )
    assert argv(parameters) == tuple(expected.split())
    assert diskspd.duration_s(parameters) == 120


def test_defaults_read_a_file_in_the_work_directory() -> None:
    assert (
        " ".join(argv({}))
        == "diskspd.exe -b64K -r -w0 -o2 -t1 -W5 -d10 -C0 -Sh -L -Rxml C:\\w/client\\diskspd.dat"
    )


def test_options() -> None:
    sequential: dict[str, Json] = {
        "block_size": "2 MiB",
        "random": False,
        "latency": False,
        "threads": 8,
    }
    command = argv({**sequential, "cache": "hardware", "random_data": True, "cooldown": "1 min"})
    assert {"-b2M", "-Su", "-Zr", "-t8", "-C60"} <= set(command)
    assert not {"-r", "-L", "-Sh"} & set(command)
    assert not any(word.startswith("-S") for word in argv({"cache": "all"}))
    assert "-b1000" in argv({"block_size": "1000 B"})


@pytest.mark.parametrize("path", ["\\\\server\\share\\f.dat", "/mnt/f.dat", "D:\\f.dat"])
def test_absolute_paths_stay(path: str) -> None:
    assert argv({"path": path})[-1] == path


def test_fractions_that_diskspd_cannot_take_are_refused() -> None:
    with pytest.raises(UnitError, match="whole percent"):
        argv({"write_ratio": "0.5 %"})
    with pytest.raises(UnitError, match="whole seconds"):
        argv({"duration": "500 ms"})
    assert "-w29" in argv({"write_ratio": "29 %"})


def test_role_and_tool() -> None:
    commands = diskspd.commands(experiment("diskspd", {}, {Role.CLIENT: (3,)}), surroundings())
    assert (commands.clients[0].cpus, commands.servers, commands.files) == ((3,), (), ())
    assert diskspd.primary({}) == "iops"
    assert diskspd.tools({})[0].executable == "diskspd.exe"


def test_one_run_has_one_output() -> None:
    with pytest.raises(ParseError, match="found 2 diskspd outputs"):
        diskspd.parse([completed(b"")] * 2, {})


def test_deeply_nested_document_is_refused() -> None:
    with pytest.raises(ParseError):
        diskspd.parse([completed(b"<Results>" + b"<a>" * 100_000)], {})


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE x SYSTEM "file:///etc/passwd">',
        "<!doctype x>",
        "<!ENTITY a 'b'>",
        "<! DOCTYPE x>",
    ],
)
def test_document_types_are_refused_wherever_they_are(declaration: str) -> None:
    good = (DATA / "diskspd" / "xml-mixed.xml").read_text()
    for text in (
        declaration + good,
        good.replace("<System>", f"{declaration}<System>"),
        good + declaration,
    ):
        with pytest.raises(ParseError, match="document type"):
            diskspd.parse([completed(text.encode())], {})


def test_powershell_hands_arguments_over_unchanged() -> None:
    assert (
        powershell.call(["diskspd.exe", "-b8K", "C:\\my files\\it's.dat"])
        == "& 'diskspd.exe' '-b8K' 'C:\\my files\\it''s.dat'"
    )
    assert (
        powershell.call(["x", "$env:PATH; `whoami` $(calc) | & @(1)"])
        == "& 'x' '$env:PATH; `whoami` $(calc) | & @(1)'"
    )
    assert (
        powershell.call(["x", "\u2018a\u2019\u201a\u201b"])
        == "& 'x' '\u2018\u2018a\u2019\u2019\u201a\u201a\u201b\u201b'"
    )
    assert powershell.call(["x", "C:\\dir\\"]) == "& 'x' 'C:\\dir\\'"


@pytest.mark.parametrize("argument", ["", 'a"b', "a\nb", "a\0b", "C:\\my dir\\"])
def test_powershell_refuses_what_it_would_mangle(argument: str) -> None:
    with pytest.raises(SpecError, match="PowerShell cannot hand"):
        powershell.call(["x", argument])


def test_a_total_that_is_no_number_is_refused() -> None:
    report = (DATA / "diskspd" / "mixed-2.2.txt").read_text()
    with pytest.raises(ParseError, match=r"found 'N/A' for I/O per s"):
        diskspd.parse([completed(report.replace("     400.00 |", "        N/A |").encode())], {})
