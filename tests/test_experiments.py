import json

import pytest
from experiments.__main__ import main
from experiments.setting import DataFolderError


def test_oil_map_quick(data_folder, tmp_path, capsys):
    target = tmp_path / "oil.json"
    main(["oil-map", "--quick", "--seeds", "1", "--data", str(data_folder), "--json", str(target),
          "--results", str(tmp_path)])  # fmt: skip
    content = json.loads(target.read_text())
    measures = {row["measure"] for row in content["rows"]}
    assert content["experiment"] == "oil-map"
    assert measures == {"nn-errors", "dimensions-kept", "imputation-RMSE-30", "imputation-RMSE-60"}
    errors = {row["method"]: row for row in content["rows"] if row["measure"] == "nn-errors"}
    assert errors["Bayesian GP-LVM"]["value"] < errors["PCA"]["value"]
    assert errors["Bayesian GP-LVM"]["published"] == 1
    assert (tmp_path / "oil-map.png").stat().st_size > 10_000
    assert "Bayesian GP-LVM" in capsys.readouterr().out


def test_missing_data_folder_is_said_plainly(monkeypatch, tmp_path):
    monkeypatch.delenv("MANYVIEWS_DATA", raising=False)
    with pytest.raises(DataFolderError, match="--data"):
        main(["oil-map", "--quick"])
    with pytest.raises(DataFolderError, match=r"oil\.npz"):
        main(["oil-map", "--quick", "--data", str(tmp_path)])
