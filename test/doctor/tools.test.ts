import { describe, expect, it } from 'vitest';
import { gpu, gpuUsers } from '../../src/machine/doctor/gpu.ts';
import { buildTool, cmake, compiler, debianPackages, nvcc } from '../../src/machine/doctor/tools.ts';
import { type FakeMachine, line } from './machines.ts';

describe('tools', () => {
  it('compiler', () => {
    expect([
      line(compiler, {}),
      line(compiler, { programs: { 'c++': { stdout: 'c++ (Debian 12.2.0-14) 12.2.0\nCopyright' } } }),
      line(compiler, { programs: { 'g++': { stdout: 'g++ (Ubuntu 9.4.0) 9.4.0\n' } } }),
      line(compiler, {
        programs: { 'c++': { code: 1 }, 'clang++': { stdout: 'Debian clang version 14.0.6\n' } },
      }),
    ]).toMatchInlineSnapshot(`
      [
        "missing: no C++ compiler | sudo apt-get install -y --no-install-recommends g++",
        "ok: c++ (Debian 12.2.0-14) 12.2.0",
        "warn: g++ (Ubuntu 9.4.0) 9.4.0: C++20 needs 11 or newer | sudo apt-get install -y --no-install-recommends g++",
        "ok: Debian clang version 14.0.6",
      ]
    `);
  });
  it('cmake', () => {
    expect([
      line(cmake, {}),
      line(cmake, { programs: { cmake: { stdout: 'cmake version 3.22.1\n' } } }),
      line(cmake, { programs: { cmake: { stdout: 'cmake version 4.0.3\n' } } }),
      line(cmake, { programs: { cmake: { stdout: 'cmake version 3.16.3\n' } } }),
    ]).toMatchInlineSnapshot(`
      [
        "missing: not found | sudo apt-get install -y --no-install-recommends cmake",
        "ok: 3.22.1",
        "ok: 4.0.3",
        "missing: 3.16.3 is older than 3.22 | sudo apt-get install -y --no-install-recommends cmake",
      ]
    `);
  });
  it('ninja or make', () => {
    expect([
      line(buildTool, {}),
      line(buildTool, { programs: { make: { stdout: 'GNU Make 4.3' } } }),
      line(buildTool, { programs: { ninja: { stdout: '1.11.1\n' } } }),
    ]).toMatchInlineSnapshot(`
      [
        "missing: neither ninja nor make | sudo apt-get install -y --no-install-recommends ninja-build",
        "waived: not found; make does the work | sudo apt-get install -y --no-install-recommends ninja-build",
        "ok: 1.11.1",
      ]
    `);
  });
  it('nvcc', () => {
    expect([
      line(nvcc, {}),
      line(nvcc, {
        programs: {
          '/usr/local/cuda/bin/nvcc': { stdout: 'Cuda compilation tools, release 13.0, V13.0.88' },
        },
      }),
    ]).toMatchInlineSnapshot(`
      [
        "waived: not found: engines are built for the host device only",
        "ok: 13.0",
      ]
    `);
  });
  it('Debian packages', () => {
    const stdout =
      'g++ install ok installed\ncmake deinstall ok config-files\nninja-build install ok installed\n';
    expect([
      line(debianPackages, {}),
      line(debianPackages, { programs: { 'dpkg-query': { code: 1, stdout } } }),
    ]).toMatchInlineSnapshot(`
      [
        "waived: not a Debian system",
        "missing: cmake, doctest-dev, nlohmann-json3-dev | sudo apt-get install -y --no-install-recommends cmake doctest-dev nlohmann-json3-dev",
      ]
    `);
  });
});

describe('GPU', () => {
  const query = (stdout: string, code = 0): FakeMachine => ({ programs: { 'nvidia-smi': { stdout, code } } });
  it('cards', () => {
    expect([
      line(gpu, {}),
      line(gpu, query('0, NVIDIA H200, 580.126.20, 143771, Enabled\n')),
      line(
        gpu,
        query('0, NVIDIA H200, 580.126.20, [N/A], Disabled\n1, NVIDIA H200, 580.126.20, 143771, Enabled\n'),
      ),
      line(gpu, query('No devices were found\n', 6)),
      line(gpu, query('Failed to initialize NVML: Driver/library version mismatch\n', 18)),
    ]).toMatchInlineSnapshot(`
      [
        "waived: no nvidia-smi: the host device only",
        "ok: 0: NVIDIA H200, 140.4 GiB, driver 580.126.20",
        "warn: 0: NVIDIA H200, memory n/a, driver 580.126.20; 1: NVIDIA H200, 140.4 GiB, driver 580.126.20; persistence mode is off: the driver may unload between runs | sudo nvidia-smi -pm 1",
        "warn: nvidia-smi: No devices were found | nvidia-smi",
        "warn: nvidia-smi: Failed to initialize NVML: Driver/library version mismatch | nvidia-smi",
      ]
    `);
  });
  it('users', () => {
    expect([
      line(gpuUsers, {}),
      line(gpuUsers, query('\n')),
      line(gpuUsers, query('4711, /usr/bin/python3, 1024\n12, vllm, [N/A]\n')),
      line(gpuUsers, query('', 9)),
    ]).toMatchInlineSnapshot(`
      [
        "waived: no nvidia-smi",
        "ok: none",
        "warn: 4711, /usr/bin/python3, 1024; 12, vllm, [N/A] | ps -fp 4711 12",
        "unknown: nvidia-smi: exit 9",
      ]
    `);
  });
});
