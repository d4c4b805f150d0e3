"""Places against the plainest way to say what lies in what."""

from hypothesis import given
from hypothesis import strategies as some

from pipeline.copy.path_usage import FolderPath, PathUsage

names = some.lists(some.sampled_from("ab"), min_size=1, max_size=3)
locations = some.builds(
    lambda root, parts: root + "/".join(parts),
    some.sampled_from(["hdfs://x/", "hdfs://x:1/", "hdfs://x:2/", "file:/", "/"]),
    names,
)
uses = some.lists(some.tuples(locations, some.booleans()), max_size=6)


def lies_in(inner: FolderPath, outer: FolderPath) -> bool:
    same = inner.may_share_system(outer)
    return same and "/".join((*inner.parts, "")).startswith("/".join((*outer.parts, "")))


@given(left=some.sets(locations, min_size=1, max_size=6), seen=uses)
def test_a_directory_is_in_use_if_it_contains_or_is_in_a_used_one(
    left: set[str], seen: list[tuple[str, bool]]
) -> None:
    usage = PathUsage({each: FolderPath.of(each) for each in left})
    for location, tree in seen:
        usage.add("it", [location], tree=tree)
    expected = {
        each
        for each in left
        for location, tree in seen
        if lies_in(FolderPath.of(location), FolderPath.of(each))
        or (tree and lies_in(FolderPath.of(each), FolderPath.of(location)))
    }
    assert set(usage.reasons()) == expected


def test_one_file_system_under_several_names() -> None:
    same = [
        ("s3a://Bucket/k", "s3://bucket/k"),
        ("file:///a/b", "file:/a//b/"),
        ("hdfs://me@NN:8020/a", "hdfs://nn/a"),
        ("/a", "abfs://x/a"),
    ]
    for one, other in same:
        assert FolderPath.of(one).may_share_system(FolderPath.of(other)), one
        assert FolderPath.of(one).parts == FolderPath.of(other).parts
    assert FolderPath.of("webhdfs://a:1/x").may_share_system(FolderPath.of("hdfs://a.example:2/x"))
    assert not FolderPath.of("hdfs://a:1/x").may_share_system(FolderPath.of("hdfs://b:1/x"))
    assert not FolderPath.of("hdfs://a/x").may_share_system(FolderPath.of("file:/x"))
