"""One target under the fuzzer: python -m tests.fuzz.one TARGET [libFuzzer's options and folders]"""

import logging
import sys

import atheris

with atheris.instrument_imports(include=["proxy", "metastore", "dialect", "conf", "jwt"]):
    from tests.fuzz.targets import TARGETS


def main() -> None:
    logging.disable()  # of each input that is not to its liking a reader warns
    name, *options = sys.argv[1:]
    # To merge corpora, the fuzzer starts itself again by these words.
    atheris.Setup([f"{sys.executable} -m tests.fuzz.one {name}", *options], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
