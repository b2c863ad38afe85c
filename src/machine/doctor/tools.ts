// What is needed to build: compiler, cmake, ninja, nvcc and Debian's packages. Owns their least versions.
import type { Finding, Sources } from './finding.ts';

// biome-ignore lint/suspicious/noTemplateCurlyInString: dpkg's own template
const DPKG_FORMAT = '${Package} ${Status}\\n';
const PACKAGES = ['g++', 'cmake', 'ninja-build', 'doctest-dev', 'nlohmann-json3-dev'];
const NVCC = ['nvcc', '/usr/local/cuda/bin/nvcc'];
const MIN_GXX = 11;
const MIN_CMAKE: readonly [number, number] = [3, 22];

export function compiler(sources: Sources): Finding {
  const remedy = apt(['g++']);
  for (const name of ['c++', 'g++', 'clang++']) {
    const out = sources.run([name, '--version']);
    if (out === null || out.code !== 0) continue;
    const line = firstLine(out.stdout);
    const major = Number(/(\d+)\.\d+(\.\d+)?/.exec(line)?.[1] ?? 0);
    const isOld = !line.includes('clang') && major < MIN_GXX;
    const value = isOld ? `${line}: C++20 needs ${MIN_GXX} or newer` : line;
    return { name: 'compiler', state: isOld ? 'warn' : 'ok', value, remedy: isOld ? remedy : null };
  }
  return { name: 'compiler', state: 'missing', value: 'no C++ compiler', remedy };
}

export function cmake(sources: Sources): Finding {
  const remedy = apt(['cmake']);
  const out = sources.run(['cmake', '--version']);
  const match = /version (\d+)\.(\d+)(\.\d+)?/.exec(out?.stdout ?? '');
  if (match === null) return { name: 'cmake', state: 'missing', value: 'not found', remedy };
  const [major, minor] = [Number(match[1]), Number(match[2])];
  const isNew = major > MIN_CMAKE[0] || (major === MIN_CMAKE[0] && minor >= MIN_CMAKE[1]);
  const version = match[0].replace('version ', '');
  if (isNew) return { name: 'cmake', state: 'ok', value: version, remedy: null };
  return {
    name: 'cmake',
    state: 'missing',
    value: `${version} is older than ${MIN_CMAKE.join('.')}`,
    remedy,
  };
}

export function buildTool(sources: Sources): Finding {
  const ninja = sources.run(['ninja', '--version']);
  if (ninja?.code === 0) return { name: 'ninja', state: 'ok', value: firstLine(ninja.stdout), remedy: null };
  const remedy = apt(['ninja-build']);
  if (sources.run(['make', '--version'])?.code === 0) {
    return { name: 'ninja', state: 'waived', value: 'not found; make does the work', remedy };
  }
  return { name: 'ninja', state: 'missing', value: 'neither ninja nor make', remedy };
}

export function nvcc(sources: Sources): Finding {
  for (const program of NVCC) {
    const out = sources.run([program, '--version']);
    const release = /release ([\d.]+)/.exec(out?.stdout ?? '')?.[1];
    if (release !== undefined) return { name: 'nvcc', state: 'ok', value: release, remedy: null };
  }
  return {
    name: 'nvcc',
    state: 'waived',
    value: 'not found: engines are built for the host device only',
    remedy: null,
  };
}

export function debianPackages(sources: Sources): Finding {
  const name = 'packages';
  const out = sources.run(['dpkg-query', '-W', '-f', DPKG_FORMAT, ...PACKAGES]);
  if (out === null) return { name, state: 'waived', value: 'not a Debian system', remedy: null };
  const installed = new Set(
    out.stdout.split('\n').flatMap((line) => (line.endsWith(' installed') ? [line.split(' ')[0]] : [])),
  );
  const missing = PACKAGES.filter((item) => !installed.has(item));
  if (missing.length === 0) return { name, state: 'ok', value: PACKAGES.join(', '), remedy: null };
  return { name, state: 'missing', value: missing.join(', '), remedy: apt(missing) };
}

function apt(packages: readonly string[]): string {
  return `sudo apt-get install -y --no-install-recommends ${packages.join(' ')}`;
}

function firstLine(text: string): string {
  return text.split('\n')[0]?.trim() ?? '';
}
