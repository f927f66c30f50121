"""The data sets of the paper: from a folder, from scikit-learn, or from OpenML."""

from __future__ import annotations

import contextlib
import difflib
import gzip
import hashlib
import importlib
import io
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

FOLDER_VARIABLE = "LAZYFOREST_DATA"
LABEL = "class"


@dataclass(frozen=True)
class Dataset:
    """A table with its labels.

    Attributes
    ----------
    name : str
    X : pandas or Polars data frame
        Numbers, and text for categories; gaps are missing values.
    y : array of str
    real : bool
        False for a stand-in.
    note : str
        Where the rows come from and what differs from the paper.
    """

    name: str
    X: Any
    y: NDArray[np.str_]
    real: bool
    note: str


class Source(NamedTuple):
    sha256: str
    classes: dict[str, int]  # rows of each class
    missing: int  # empty cells
    note: str
    advice: str  # where else to get it
    real: bool = True


SOURCES = {
    "breast": Source(
        "2036d8b8fed69e8977e1a00fb409f7e22cb982b71cb6305a7366946683bd6d77",
        {"benign": 357, "malignant": 212},
        0,
        "UCI Breast Cancer Wisconsin (Diagnostic), as it comes with scikit-learn.",
        "It comes with scikit-learn.",
    ),
    "adult": Source(
        "91212e2da37eb66c99e283a011986419b4e338cfbb06c95148ade551ca3893e3",
        {"<=50K": 24720, ">50K": 7841},
        4262,
        "UCI Adult, the training file (adult.data) alone.",
        "It is adult.data of UCI's Adult, with a header and '?' made empty.",
    ),
    "gamma": Source(
        "1209f64a3ef705bc72765d9d37c907b5f2d7a28ab7ae3b45469de766804be18f",
        {"g": 12332, "h": 6688},
        0,
        "UCI MAGIC Gamma Telescope. Rows are grouped by class.",
        "It is magic04.data of UCI's MAGIC Gamma Telescope, with a header.",
    ),
    "all": Source(
        "8dcab1ff6f48b1a626288220723f823a3910b77102b46417c2fa92c0d35db579",
        {"B": 95, "T": 33},
        0,
        "Acute lymphoblastic leukemia, 12,625 gene expressions, B cells against T cells; the paper counts one row "
        "more. Rows are grouped by class.",
        "It is the Bioconductor package ALL: one row per sample, the class is the first letter of BT.",
    ),
    "c2u": Source(
        "40d8c2792cc0ef99e8c6ddad595a130415d54a66f2d4c8a77283cbdf1dff6c2f",
        {"edited": 444, "unedited": 444},
        127,
        "C-to-U editing in plant mitochondria, one species (Arabidopsis thaliana) of the paper's three: results do "
        "not compare with the paper's C2U. Rows are grouped by class.",
        "It is the Arabidopsis file of Cummings and Myers 2004 (BMC Bioinformatics 5:132), additional files.",
    ),
    "c2u_standin": Source(
        "1e8b864c1e3d2591337125e743716949da80305b1ff6c5130ad34a30c4c2df99",
        {"edited": 1365, "unedited": 1365},
        0,
        "A stand-in for the paper's C2U, of about its size: sites of three species from Deepred-Mt (Edera et al.). "
        "Results do not compare with the paper's C2U.",
        "It is drawn from training-data.tsv.gz of Deepred-Mt.",
        real=False,
    ),
}

# Each file of OpenML has more than the paper used: the name, the version, and which rows are wanted.
# Adult there is adult.test and then adult.data; the counts of SOURCES tell if that ever changes.
OPENML = {
    "adult": ("adult", 2, slice(-32561, None)),
    "gamma": ("MagicTelescope", 1, slice(None)),
}


def names() -> tuple[str, ...]:
    """The names that ``load`` knows."""
    return tuple(SOURCES)


def load(name: str, folder: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set of the paper.

    Looked for in this order: ``<name>.csv.gz`` in ``folder``, or in the folder that the environment variable
    ``LAZYFOREST_DATA`` names, or in ``../shared/datasets`` beside a source checkout; then scikit-learn (breast)
    or OpenML (adult, gamma: a download).

    Parameters
    ----------
    name : {"breast", "adult", "gamma", "all", "c2u", "c2u_standin"}
    folder : path, optional
        Where the files are: gzip CSV, a header, the label in the column ``class``, empty fields for gaps.

    Returns
    -------
    Dataset
        ``X`` is a pandas data frame, or a Polars one where pandas is not installed.
    """
    source = find_source(name)
    place = find_folder(folder)
    path = place / f"{name}.csv.gz" if place else None
    if path and path.is_file():
        X, y = read_csv(check_bytes(path, source.sha256))
    elif name == "breast":
        X, y = from_sklearn()
    elif name in OPENML:
        X, y = from_openml(name, explain_absence(name, path))
    else:
        raise FileNotFoundError(explain_absence(name, path))
    return Dataset(name, X, y, source.real, source.note)


def find_source(name: str) -> Source:
    if name in SOURCES:
        return SOURCES[name]
    near = difflib.get_close_matches(str(name).lower(), SOURCES, n=1, cutoff=0.4)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"The name of a data set must be one of {', '.join(SOURCES)}. Got {name!r} instead.{hint}")


def find_folder(folder: str | os.PathLike[str] | None) -> Path | None:
    """The folder asked for, or the one beside a source checkout if there is one."""
    asked = folder if folder is not None else os.environ.get(FOLDER_VARIABLE) or None
    if asked is not None:
        if not Path(asked).is_dir():
            raise NotADirectoryError(
                f"The folder of the data sets does not exist: {asked}. Check 'folder' or the "
                f"environment variable {FOLDER_VARIABLE}."
            )
        return Path(asked)
    root = Path(__file__).resolve().parents[2]
    beside = root.parent / "shared" / "datasets"
    return beside if (root / "pyproject.toml").is_file() and beside.is_dir() else None


def check_bytes(path: Path, expected: str) -> bytes:
    content = path.read_bytes()
    found = hashlib.sha256(content).hexdigest()
    if found != expected:
        raise ValueError(
            f"{path} is not the file that was expected: its sha256 must be {expected}. Got {found}. "
            "Fetch it again, or move it away to use another source."
        )
    return content


def frame_library() -> Any:
    """pandas, or Polars where pandas is not installed."""
    for library in ("pandas", "polars"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(library)
    raise ImportError("Loading a data set needs pandas or Polars. Use: pip install pandas")


def read_csv(content: bytes) -> tuple[Any, NDArray[np.str_]]:
    text = io.BytesIO(gzip.decompress(content))
    library = frame_library()
    if library.__name__ == "pandas":
        frame = library.read_csv(text, keep_default_na=False, na_values=[""], low_memory=False)
    else:
        frame = library.read_csv(text, null_values=[""], infer_schema_length=None)
    features = [column for column in frame.columns if column != LABEL]
    return frame[features], np.asarray(frame[LABEL], dtype=np.str_)


def from_sklearn() -> tuple[Any, NDArray[np.str_]]:
    from sklearn.datasets import load_breast_cancer

    bunch = load_breast_cancer()
    columns = [column.replace(" ", "_") for column in bunch.feature_names]
    X = frame_library().DataFrame(dict(zip(columns, bunch.data.T, strict=True)))
    return X, np.asarray(bunch.target_names[bunch.target])


def from_openml(name: str, absence: str) -> tuple[Any, NDArray[np.str_]]:
    """The rows of the paper out of OpenML's, made alike to the file: plain column names, text for categories."""
    from sklearn.datasets import fetch_openml

    title, version, rows = OPENML[name]
    try:
        bunch = fetch_openml(title, version=version, as_frame=True, parser="auto")
    except ImportError as error:
        raise ImportError("A download from OpenML needs pandas. Use: pip install pandas") from error
    except (OSError, ValueError) as error:
        raise FileNotFoundError(f"{absence} OpenML could not give it either: {error}") from error
    X = bunch.data.iloc[rows].reset_index(drop=True)
    X = X.rename(columns=lambda column: column.rstrip(":")).drop(columns="ID", errors="ignore")
    text = X.select_dtypes(["category", "object", "string"]).columns
    X[text] = X[text].astype(object).astype("str").where(X[text].notna())
    y = np.asarray(bunch.target.iloc[rows], dtype=np.str_)
    check_counts(name, X, y)
    return X, y


def check_counts(name: str, X: Any, y: NDArray[np.str_]) -> None:
    source = SOURCES[name]
    classes, rows = np.unique(y, return_counts=True)
    found = dict(zip(classes.tolist(), rows.tolist(), strict=True))
    missing = int(X.isna().to_numpy().sum())
    if (found, missing) != (source.classes, source.missing):
        raise ValueError(
            f"{name} from OpenML is not the table that was expected: {source.classes} with "
            f"{source.missing} empty cells. Got {found} with {missing}. Give the file in 'folder'."
        )


def explain_absence(name: str, path: Path | None) -> str:
    place = f"{path} does not exist" if path else "no folder was given"
    return (
        f"The data set {name!r} is not here: {place}. {SOURCES[name].advice} Put it as {name}.csv.gz into a folder "
        f"and pass that as 'folder' or in the environment variable {FOLDER_VARIABLE}."
    )
