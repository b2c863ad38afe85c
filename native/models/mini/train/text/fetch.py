"""Brings the pinned packages to a cache folder and opens them. Owns downloads, digests and archive formats; knows no text.

A source names a package of npm or Debian by exact version and SHA-256; what lies under pool/updates is of Debian's security
archive. Debian's mirrors drop a file when a newer version
replaces it; snapshot.debian.org then still has it under the SHA-1 of its bytes, which the source names too."""
import hashlib
import io
import os
import tarfile
import urllib.error
import urllib.request


def urls(source):
    if source["from"] == "npm":
        name, version = source["package"], source["version"]
        return [f"https://registry.npmjs.org/{name}/-/{name.split('/')[-1]}-{version}.tgz"]
    archive = "debian-security" if source["pool"].startswith("pool/updates/") else "debian"
    return [f"https://deb.debian.org/{archive}/{source['pool']}", "https://snapshot.debian.org/file/" + source["sha1"]]


def fetch(source, cache):
    """Bytes of the package. Raises SystemExit with one line when it cannot be had or is another file."""
    path = os.path.join(cache, source["sha256"])
    if not os.path.exists(path):
        data = download(source)
        os.makedirs(cache, exist_ok=True)
        with open(path + ".partial", "wb") as file:
            file.write(data)
        os.replace(path + ".partial", path)
    with open(path, "rb") as file:
        data = file.read()
    found = hashlib.sha256(data).hexdigest()
    if found != source["sha256"]:
        raise SystemExit(f"{source['package']} {source['version']}: sha256 is {found}, expected {source['sha256']}: remove {path}")
    return data


def download(source):
    tried = []
    for url in urls(source):
        try:
            with urllib.request.urlopen(url, timeout=300) as answer:
                return answer.read()
        except (urllib.error.URLError, OSError) as error:
            tried.append(f"{url}: {error}")
    raise SystemExit("cannot fetch " + "; ".join(tried))


def deb_payload(data):
    """The data.tar.* member of a .deb, which is an ar archive."""
    if not data.startswith(b"!<arch>\n"):
        raise SystemExit("not a Debian package")
    at = 8
    while at + 60 <= len(data):
        name, size = data[at : at + 16].decode().strip().rstrip("/"), int(data[at + 48 : at + 58])
        if name.startswith("data.tar"):
            return data[at + 60 : at + 60 + size]
        at += 60 + size + size % 2
    raise SystemExit("a Debian package without data.tar")


def members(source, data, wanted):
    """(path, bytes) of the regular files that `wanted` (path -> bool) chooses, sorted by path, so that no archive's order
    matters. Read in the archive's order: going back in a compressed one means beginning anew."""
    payload = deb_payload(data) if source["from"] == "debian" else data
    found = {}
    with tarfile.open(fileobj=io.BytesIO(payload)) as tar:
        for member in tar:
            name = member.name.removeprefix("./")
            if member.isfile() and wanted(name):
                found[name] = tar.extractfile(member).read()
    return sorted(found.items())
