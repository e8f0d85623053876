import time

import pytest

from spark_jobs.ingest.fastjson import MAX_DEPTH, FastjsonError, parse
from spark_jobs.ingest.references import ObjectKeyMap

QUEUE = {"brokerName": "broker-a", "queueId": 1, "topic": "T"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":[1,-2.5,true,null,"x\\u00e9"]}', {"a": [1, -2.5, True, None, "xé"]}),
        (' {"a" : {0 : "x" , -1:[ ] } , "b":[{ 1:{ } } , 2]}\n', {"a": {0: "x", -1: []}, "b": [{1: {}}, 2]}),
        ('{0:"127.0.0.1:10911"}', {0: "127.0.0.1:10911"}),
        ('{"TopicTest@G":{0:250,1:250},"%RETRY%G@G":{0:0}}', {"TopicTest@G": {0: 250, 1: 250}, "%RETRY%G@G": {0: 0}}),
        ('{"a":1,"a":2}', {"a": 2}),
        ('{0:1,"a":3,0:2}', {0: 2, "a": 3}),
        ("9223372036854775807", 2**63 - 1),
        ('{0:-9223372036854775808,"b":9007199254740993}', {0: -(2**63), "b": 9007199254740993}),
        ('"{{\\"not\\":[structure"', '{{"not":[structure'),
        ("{}", {}),
    ],
)
def test_a_value_is_read(text: str, value: object) -> None:
    assert parse(text) == value


def entries(value: object) -> list[list[object]]:
    assert isinstance(value, ObjectKeyMap)
    return value.entries


def test_objects_as_keys_keep_order_and_repetition() -> None:
    key = '{"brokerName":"broker-a","queueId":1,"topic":"T"}'
    body = parse(f'{{"consumeTps":1.5,"offsetTable":{{{key}:{{"o":1}}, {{"x":{{0:1}}}}:2,{key}:{{"o":3}}}},"z":[1]}}')

    assert isinstance(body, dict)
    assert (body["consumeTps"], body["z"]) == (1.5, [1])
    assert entries(body["offsetTable"]) == [[QUEUE, {"o": 1}], [{"x": {0: 1}}, 2], [QUEUE, {"o": 3}]]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("   ", 3),
        ("{", 1),
        ('{"a":1', 6),
        ('{"a" 1}', 5),
        ('{"a":1 "b":2}', 7),
        ('{"a":1,}', 7),
        ("[1,2", 4),
        ("[1,]", 3),
        ("[1 2]", 3),
        ('{{"a":1}:2', 10),
        ('{{"a":1} 2}', 9),
        ('{{"a":1}:}', 9),
        ('{"a":1} x', 8),
        ('{"a":1}{', 7),
        ('"abc', 0),
        ('["a\nb"]', 1),
        ('{0:"\\x"}', 3),
        ("{0:NaN}", 3),
        ("[Infinity]", 1),
        ("[-Infinity]", 1),
        ("[1e999]", 1),
        ("9223372036854775808", 0),
        ("[1,-9223372036854775809]", 3),
        ("[1" + "0" * 5000 + "]", 1),
        ("{1.5:1}", 1),
        ("{null:1}", 1),
        ("{[1]:1}", 1),
        ("{true:1}", 1),
        ("nul", 0),
        ("01", 1),
        ("[" * (MAX_DEPTH + 1), MAX_DEPTH),
        ("[" * 1_000_000, MAX_DEPTH),
        ('{"a":' * 1_000_000, 5 * MAX_DEPTH),
        ("{" * 1_000_000, MAX_DEPTH),
        ('[{0:"a"},' * 1_000_000, 9 * (MAX_DEPTH - 1) + 1),
    ],
)
def test_anything_else_is_one_error_with_its_position(text: str, position: int) -> None:
    with pytest.raises(FastjsonError) as raised:
        parse(text)
    assert raised.value.position == position
    assert str(raised.value).endswith(f"at character {position}")


def test_a_lone_surrogate_is_read_as_it_stands() -> None:
    assert parse('{0:"\\ud800"}') == {0: "\ud800"}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":{"b":[{"c":1}]},"d":{"$ref":"$.a.b[0]"}}', {"a": {"b": [{"c": 1}]}, "d": {"c": 1}}),
        ('{"%RETRY%g":[7],"x":{"$ref":"$.\\\\%RETRY\\\\%g"}}', {"%RETRY%g": [7], "x": [7]}),
        ('{"m":{0:[1],1:{"$ref":"$.m[0]"}}}', {"m": {0: [1], 1: [1]}}),
    ],
)
def test_a_reference_is_what_it_names(text: str, value: object) -> None:
    assert parse(text) == value


def test_a_reference_may_stand_for_a_key() -> None:
    body = parse('{"q":{"queueId":1},"t":{{"$ref":"$.q"}:{"a":{"$ref":".."}}}}')
    assert isinstance(body, dict)
    (entry,) = entries(body["t"])
    assert entry[0] == {"queueId": 1}
    assert isinstance(entry[1], dict)
    assert entry[1]["a"] is body["t"]


def test_references_to_what_encloses_them_make_circles() -> None:
    body = parse('{"a":{"root":{"$ref":"$"},"self":{"$ref":"@"},"up":{"$ref":".."}}}')
    assert isinstance(body, dict)
    assert body["a"]["root"] is body
    assert body["a"]["self"] is body["a"]
    assert body["a"]["up"] is body


@pytest.mark.parametrize(
    "text",
    [
        '{"a":{"$ref":"$.b"}}',
        '{"a":[1],"b":{"$ref":"$.a[1]"}}',
        '{"b":{"$ref":"$.c"},"c":{"$ref":"$.b"}}',
        '{"b":{"$ref":"a"},"a":1}',
        '{"b":{"$ref":"$a"},"a":1}',
        '{"b":{"$ref":1}}',
        '{"b":{"$ref":"$","x":1}}',
        '{"a":{"$ref":"..","b":1}}',
        '{"$ref":"$"}',
        '{"t":{{"a":1}:2},"b":{"$ref":"$.t.x"}}',
        '[{"$ref":"$.x\\ud800"}]',
        '{"a":"text","b":{"$ref":"$.a"}}',
    ],
)
def test_a_reference_to_nothing_is_an_error(text: str) -> None:
    with pytest.raises(FastjsonError, match=r"\$ref|reference"):
        parse(text)


def test_references_do_not_make_a_megabyte_a_gigabyte() -> None:
    """Where 16,384 characters are allowed, 10 of 1,600 fit and 11 do not; in a long text, as many as it has."""
    short = '[{"a":"%s"}' % ("x" * 1598) + ',{"$ref":"$[0]"}' * 10 + "]"
    assert parse(short) == [{"a": "x" * 1598}] * 11
    long = '[{"a":"%s"}' % ("x" * 1_000_000) + ',{"$ref":"$[0]"}' * 1_000 + "]"
    with pytest.raises(FastjsonError, match=r"\$ref stands for has more than 1016010 characters"):
        parse(long)
    with pytest.raises(FastjsonError, match=r"\$ref stands for has more than 16384 characters"):
        parse(short[:-1] + ',{"$ref":"$[0]"}]')


@pytest.mark.parametrize("around", [0, 400])
def test_how_deep_a_text_may_be_does_not_depend_on_who_asks(around: int) -> None:
    """Not on the C scanner's limit either, which is about 1000 here, less what called it."""

    def called(times: int, depth: int) -> object:
        return called(times - 1, depth) if times else parse("[" * depth + "]" * depth)

    called(around, MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 700, 900, 2000):
        with pytest.raises(FastjsonError, match=f"more than {MAX_DEPTH} levels at character {MAX_DEPTH}"):
            called(around, depth)
    with pytest.raises(FastjsonError, match="more than 100 levels"):
        parse('{{"a":' + "[" * 99 + "]" * 99 + '}:1,{"a":' + "[" * 300 + "]" * 300 + "}:1}")


@pytest.mark.parametrize(
    ("unit", "size"),
    [
        ('{"brokerName":"b","queueId":1,"topic":"t"}:{"brokerOffset":1,"consumerOffset":0}', 10_000_000),
        ('"k":{"a":1,0:1}', 2_000_000),
        ('"k":[[{"a":1}],[{0:1}]]', 2_000_000),
    ],
    ids=["object keys", "a key of its own in every entry", "deep in every entry"],
)
def test_time_is_linear_in_a_long_text(unit: str, size: int) -> None:
    text = '{{"a":1}:0,' + ",".join([unit] * (size // len(unit))) + "}"
    start = time.perf_counter()
    assert len(entries(parse(text))) == size // len(unit) + 1
    assert time.perf_counter() - start < 20
