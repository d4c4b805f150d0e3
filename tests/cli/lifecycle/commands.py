"""Runs a command of the lifecycle."""

import argparse

from cli.lifecycle import entity, instance, lifecycle

MODULES = {"entity": entity, "instance": instance, "lifecycle": lifecycle}


def causeway(*words: str) -> int:
    module = MODULES[words[0]]
    parser = argparse.ArgumentParser()
    module.configure(parser)
    return module.run(parser.parse_args(words[1:]))
