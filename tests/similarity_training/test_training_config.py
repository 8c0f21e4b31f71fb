"""Configurations of a run: what is refused, and that what is written is what was read."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from qa_scoring.cli.similarity import command
from qa_scoring.errors import InputError
from qa_scoring.similarity.training_config import (
    JudgedAnswers,
    ScoredPairs,
    SemEval2013,
    Synthetic,
    TrainingConfig,
    config_facts,
    config_text,
    read_config,
)
from tests.conftest import REPOSITORY

SOURCE = '[[sources]]\nkind = "scored-pairs"\npath = "pairs.csv"\n'


def test_the_recipe() -> None:
    config = read_config(REPOSITORY / "configs" / "sas-en.toml")
    assert (config.name, config.seed, config.layers, config.epochs) == ("qa-scoring-sas-en-2", 0, (4, 6), 1)
    assert [type(source) for source in config.sources] == [ScoredPairs, JudgedAnswers, SemEval2013, Synthetic]
    assert config.base is None


def test_what_is_written_is_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_text('name = "a.b-1"\nbase = "base \\"x\\" ü"\nweight_decay = 3\n' + SOURCE)
    config = read_config(path)
    assert config.base == str(tmp_path / 'base "x" ü')
    assert isinstance(config.weight_decay, float)
    again = tmp_path / "again.toml"
    again.write_text(config_text(config), encoding="utf-8")
    assert read_config(again) == config
    assert "base" not in config_facts(TrainingConfig(name="x"))


BAD = {
    "not TOML": ("name = ", "is not valid TOML"),
    "no sources": ('name = "x"', r"sources: expected one \[\[sources\]\] table or more; got None"),
    "sources a string": ('name = "x"\nsources = "pairs.csv"', r"sources: expected one \[\[sources\]\] table or more"),
    "sources no tables": ('name = "x"\nsources = [1]', "source 0: expected a table; got 1"),
    "unknown key": ('name = "x"\nlearnig_rate = 1\n' + SOURCE, "unknown key 'learnig_rate'; the keys are name, seed, "),
    "no name": (SOURCE, "the key 'name' is lacking; expected a name of letters"),
    "a path as name": ('name = "../x"\n' + SOURCE, r"name: expected a name of letters, .*got '\.\./x'"),
    "rank 0": ('name = "x"\nrank = 0\n' + SOURCE, "rank: expected an integer of at least 1; got 0"),
    "rank true": ('name = "x"\nrank = true\n' + SOURCE, "rank: expected an integer of at least 1; got True"),
    "seed -1": ('name = "x"\nseed = -1\n' + SOURCE, "seed: expected an integer of at least 0; got -1"),
    "holdout 1": ('name = "x"\nholdout = 1\n' + SOURCE, "holdout: expected a number of at least 0 and below 1; got 1"),
    "rate nan": ('name = "x"\nlearning_rate = nan\n' + SOURCE, "learning_rate: expected a number above 0; got nan"),
    "length 4": ('name = "x"\nmax_length = 4\n' + SOURCE, "max_length: expected an integer of at least 8; got 4"),
    "epochs a string": ('name = "x"\nepochs = "2"\n' + SOURCE, "epochs: expected an integer of at least 1; got '2'"),
    "layers a number": ('name = "x"\nlayers = 2\n' + SOURCE, "layers: expected a list of layer numbers; got 2"),
    "unknown kind": ('name = "x"\n[[sources]]\nkind = "csv"', "source 0, kind: expected one of scored-pairs, .*'csv'"),
    "no path": ('name = "x"\n[[sources]]\nkind = "scored-pairs"', "source 0: the key 'path' is lacking"),
    "absolute path": (
        'name = "x"\n[[sources]]\nkind = "scored-pairs"\npath = "/pairs.csv"',
        "source 0, path: expected a path inside the data folder; got '/pairs.csv'",
    ),
    "path outside": (
        'name = "x"\n[[sources]]\nkind = "scored-pairs"\npath = "../pairs.csv"',
        "source 0, path: expected a path inside the data folder",
    ),
    "the dev split": (
        'name = "x"\n[[sources]]\nkind = "scored-pairs"\npath = "sts/stsb-en-dev.csv"',
        "source 0, path: 'sts/stsb-en-dev.csv' is for measuring, not for training",
    ),
    "the test split": (
        'name = "x"\n[[sources]]\nkind = "scored-pairs"\npath = "sts/stsb-en-test.csv"',
        "is for measuring, not for training",
    ),
    "labels of SAS": (
        'name = "x"\n[[sources]]\nkind = "scored-pairs"\npath = "sas/SQuAD_SAS.csv"',
        "is for measuring, not for training",
    ),
    "label 2": (
        f'name = "x"\n{SOURCE}\n[[sources]]\nkind = "semeval2013"\npath = "a.zip"\ncorrect = 2',
        "source 1, correct: expected a label from 0 to 1; got 2",
    ),
    "unit": (
        'name = "x"\n[[sources]]\nkind = "semeval2013"\npath = "a.zip"\nheld_out_by = "row"',
        "held_out_by: expected 'question' or 'answer'; got 'row'",
    ),
    "systems a string": (
        'name = "x"\n[[sources]]\nkind = "judged-answers"\npath = "a.jsonl"\nshort_systems = "fid"',
        "short_systems: expected a list of names; got 'fid'",
    ),
    "key of another kind": (
        'name = "x"\n[[sources]]\nkind = "synthetic"\ncount = 1\npath = "a.csv"',
        "source 0: unknown key 'path'; the keys are count",
    ),
    "count 0": ('name = "x"\n[[sources]]\nkind = "synthetic"\ncount = 0', "count: expected an integer of at least 1"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_configurations(case: str, tmp_path: Path) -> None:
    content, message = BAD[case]
    path = tmp_path / "bad.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        read_config(path)
    assert str(path) in str(caught.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_config(tmp_path / "no.toml")
    with pytest.raises(InputError, match="cannot be read"):
        read_config(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'name = "\xe9"')
    with pytest.raises(InputError, match="is not valid TOML"):
        read_config(tmp_path / "latin.toml")


def test_the_command_says_what_is_wrong_before_anything_is_made(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('name = "x"\n' + SOURCE)
    done = CliRunner().invoke(command, ["train", str(path), "--out", str(tmp_path / "out")])
    assert isinstance(done.exception, InputError)
    assert "pairs.csv: there is no such file" in str(done.exception)
    assert not (tmp_path / "out").exists()
