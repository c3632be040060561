"""wheel.py DIR NAME VERSION SCRIPTS...: writes a wheel whose scripts print the name, the version and the arguments."""
import sys
import zipfile

folder, name, version, *scripts = sys.argv[1:]
module = name.replace("-", "_")
info = f"{module}-{version}.dist-info"
code = f"import os, sys\ndef main():\n    print('{name} {version}', *sys.argv[1:], os.environ.get('PIP_NO_INDEX', 'clean'))\n"
entry_points = "[console_scripts]\n" + "".join(f"{script} = {module}:main\n" for script in scripts)
files = {
    f"{module}.py": code,
    f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
    f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{info}/entry_points.txt": entry_points,
}
files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
with zipfile.ZipFile(f"{folder}/{module}-{version}-py3-none-any.whl", "w") as wheel:
    for path, content in files.items():
        wheel.writestr(path, content)
