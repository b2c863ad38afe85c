import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { cgroupMemory, cpuQuota } from '../../src/machine/doctor/cgroup.ts';
import { disk } from '../../src/machine/doctor/disk.ts';
import { examine } from '../../src/machine/doctor/doctor.ts';
import type { Finding, Sources } from '../../src/machine/doctor/finding.ts';
import { gpu, gpuUsers } from '../../src/machine/doctor/gpu.ts';
import { growingMemory, hugePages, memlock, pageCache, swap } from '../../src/machine/doctor/memory.ts';
import { governor, numa, otherLoad } from '../../src/machine/doctor/processors.ts';
import { thisMachine } from '../../src/machine/doctor/this-machine.ts';
import { buildTool, cmake, compiler, debianPackages, nvcc } from '../../src/machine/doctor/tools.ts';
import { type FakeMachine, MEMINFO, machine } from './machines.ts';

function line(look: (sources: Sources) => Finding, fake: FakeMachine): string {
  const { state, value, remedy } = look(machine(fake));
  return `${state}: ${value}${remedy === null ? '' : ` | ${remedy}`}`;
}

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

describe('memory', () => {
  const thp = '/sys/kernel/mm/transparent_hugepage/enabled';
  it('huge pages', () => {
    expect([
      line(hugePages, {}),
      line(hugePages, { files: { [thp]: 'always [madvise] never\n', '/proc/meminfo': MEMINFO } }),
      line(hugePages, { files: { [thp]: 'always madvise [never]\n', '/proc/meminfo': MEMINFO } }),
      line(hugePages, {
        files: { [thp]: 'always madvise [never]\n', '/proc/meminfo': 'HugePages_Total:     512\n' },
      }),
    ]).toMatchInlineSnapshot(`
      [
        "unknown: /sys/kernel/mm/transparent_hugepage/enabled cannot be read",
        "ok: transparent: madvise; reserved: 0",
        "warn: transparent: never; reserved: 0 | echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
        "ok: transparent: never; reserved: 512",
      ]
    `);
  });
  it('memlock', () => {
    const limits = (value: string): FakeMachine => ({
      files: {
        '/proc/meminfo': MEMINFO,
        '/proc/self/status': 'CapEff:\t0000000000000000\n',
        '/proc/self/limits': `Limit   Soft Limit  Hard Limit  Units\nMax locked memory         ${value}              ${value}              bytes\n`,
      },
    });
    expect([
      line(memlock, {}),
      line(memlock, limits('8388608')),
      line(memlock, limits('unlimited')),
      line(memlock, limits(String(12 * 1024 ** 3))),
      line(memlock, { files: { '/proc/self/status': 'CapEff:\t000001ffffffffff\n' } }),
    ]).toMatchInlineSnapshot(`
      [
        "unknown: /proc/self/limits cannot be read",
        "warn: 8.0 MiB: a bigger arena cannot be pinned | sudo prlimit --pid $$ --memlock=unlimited",
        "ok: unlimited",
        "ok: 12.0 GiB",
        "ok: not limited (CAP_IPC_LOCK)",
      ]
    `);
  });
  it('swap', () => {
    const files = (total: number, free: number, swappiness: string): FakeMachine => ({
      files: {
        '/proc/meminfo': `SwapTotal: ${total} kB\nSwapFree: ${free} kB\n`,
        '/proc/sys/vm/swappiness': `${swappiness}\n`,
      },
    });
    expect([
      line(swap, {}),
      line(swap, files(0, 0, '60')),
      line(swap, files(4194304, 4194304, '1')),
      line(swap, files(4194304, 2097152, '60')),
    ]).toMatchInlineSnapshot(`
      [
        "unknown: /proc/meminfo cannot be read",
        "ok: none (swappiness 60)",
        "ok: 0.0 GiB of 4.0 GiB in use, swappiness 1",
        "warn: 2.0 GiB of 4.0 GiB in use, swappiness 60 | sudo swapoff -a",
      ]
    `);
  });
  it('memory that grows as it is used', () => {
    const meminfo = { '/proc/meminfo': MEMINFO };
    expect([
      line(growingMemory, {}),
      line(growingMemory, { files: meminfo }),
      line(growingMemory, { files: { ...meminfo, '/sys/bus/virtio/drivers/virtio_balloon/virtio3/x': '' } }),
      line(growingMemory, { files: { ...meminfo, '/sys/bus/virtio/drivers/virtio_balloon/bind': '' } }),
      line(growingMemory, {
        files: {
          ...meminfo,
          '/sys/devices/system/memory/memory7/state': 'offline\n',
          '/sys/devices/system/memory/memory8/state': 'online\n',
        },
      }),
      line(growingMemory, { files: { ...meminfo, '/sys/module/vmw_balloon/refcnt': '1' } }),
    ]).toMatchInlineSnapshot(`
      [
        "unknown: /proc/meminfo cannot be read",
        "ok: 16.0 GiB, fixed",
        "warn: 16.0 GiB now; may grow or shrink as it is used (virtio balloon): touch it before measuring | stress-ng --vm 1 --vm-bytes 80% --vm-populate --vm-ops 1",
        "ok: 16.0 GiB, fixed",
        "warn: 16.0 GiB now; may grow or shrink as it is used (1 memory blocks offline): touch it before measuring | stress-ng --vm 1 --vm-bytes 80% --vm-populate --vm-ops 1",
        "warn: 16.0 GiB now; may grow or shrink as it is used (VMware balloon): touch it before measuring | stress-ng --vm 1 --vm-bytes 80% --vm-populate --vm-ops 1",
      ]
    `);
  });
  it('page-cache policy', () => {
    const damon = '/sys/kernel/mm/damon/admin/kdamonds/1';
    const scheme = (state: string, action: string): FakeMachine => ({
      files: { [`${damon}/state`]: `${state}\n`, [`${damon}/contexts/0/schemes/0/action`]: `${action}\n` },
    });
    expect([
      line(pageCache, {}),
      line(pageCache, { files: { '/proc/sys/vm/zone_reclaim_mode': '0\n' } }),
      line(pageCache, scheme('on', 'pageout')),
      line(pageCache, scheme('off', 'pageout')),
      line(pageCache, scheme('on', 'stat')),
      line(pageCache, { files: { '/sys/module/damon_reclaim/parameters/enabled': 'Y\n' } }),
      line(pageCache, {
        files: {
          '/sys/module/damon_reclaim/parameters/enabled': 'N\n',
          '/proc/sys/vm/zone_reclaim_mode': '1\n',
        },
      }),
    ]).toMatchInlineSnapshot(`
      [
        "unknown: /sys/kernel/mm cannot be read",
        "ok: no eviction scheme is on",
        "warn: pages are evicted with memory free (DAMON scheme: pageout): keep models in a locked arena | echo off | sudo tee /sys/kernel/mm/damon/admin/kdamonds/1/state",
        "ok: no eviction scheme is on",
        "ok: no eviction scheme is on",
        "warn: pages are evicted with memory free (damon_reclaim): keep models in a locked arena | echo N | sudo tee /sys/module/damon_reclaim/parameters/enabled",
        "warn: pages are evicted with memory free (zone_reclaim_mode 1): keep models in a locked arena | sudo sysctl vm.zone_reclaim_mode=0",
      ]
    `);
  });
});

describe('control groups', () => {
  it('memory limit of version 2, the smallest on the way up', () => {
    const files = {
      '/proc/meminfo': MEMINFO,
      '/proc/self/cgroup': '0::/user.slice/job\n',
      '/sys/fs/cgroup/user.slice/job/memory.max': 'max\n',
      '/sys/fs/cgroup/user.slice/memory.max': '4294967296\n',
    };
    expect(line(cgroupMemory, { files })).toMatchInlineSnapshot(
      `"warn: the cgroup allows 4.0 GiB of 16.0 GiB; a bigger engine is killed | echo max | sudo tee /sys/fs/cgroup/user.slice/memory.max"`,
    );
    expect(
      line(cgroupMemory, { files: { ...files, '/sys/fs/cgroup/user.slice/memory.max': 'max\n' } }),
    ).toMatchInlineSnapshot(`"ok: none below 16.0 GiB"`);
  });
  it('memory limit of version 1, where a huge number is none', () => {
    const files = { '/proc/meminfo': MEMINFO, '/proc/self/cgroup': '5:cpu,cpuacct:/\n4:memory:/docker/ab\n' };
    const limit = '/sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes';
    expect(line(cgroupMemory, { files: { ...files, [limit]: '2147483648\n' } })).toMatchInlineSnapshot(
      `"warn: the cgroup allows 2.0 GiB of 16.0 GiB; a bigger engine is killed | echo -1 | sudo tee /sys/fs/cgroup/memory/docker/ab/memory.limit_in_bytes"`,
    );
    expect(
      line(cgroupMemory, { files: { ...files, [limit]: '9223372036854771712\n' } }),
    ).toMatchInlineSnapshot(`"ok: none below 16.0 GiB"`);
    expect(line(cgroupMemory, {})).toMatchInlineSnapshot(
      `"unknown: /proc/self/cgroup or /proc/meminfo cannot be read"`,
    );
  });
  it('CPU quota', () => {
    const own = { '/proc/self/cgroup': '0::/\n' };
    expect([
      line(cpuQuota, {}),
      line(cpuQuota, { files: { ...own, '/sys/fs/cgroup/cpu.max': 'max 100000\n' } }),
      line(cpuQuota, { files: { ...own, '/sys/fs/cgroup/cpu.max': '150000 100000\n' } }),
      line(cpuQuota, {
        files: {
          '/proc/self/cgroup': '5:cpu,cpuacct:/d\n',
          '/sys/fs/cgroup/cpu/d/cpu.cfs_quota_us': '200000\n',
          '/sys/fs/cgroup/cpu/d/cpu.cfs_period_us': '100000\n',
        },
      }),
      line(cpuQuota, {
        files: {
          '/proc/self/cgroup': '5:cpu,cpuacct:/d\n',
          '/sys/fs/cgroup/cpu/d/cpu.cfs_quota_us': '-1\n',
          '/sys/fs/cgroup/cpu/d/cpu.cfs_period_us': '100000\n',
        },
      }),
    ]).toMatchInlineSnapshot(`
      [
        "unknown: /proc/self/cgroup cannot be read",
        "ok: none",
        "warn: 1.5 of 8 cores: an engine is stopped when it has used them up | echo max | sudo tee /sys/fs/cgroup/cpu.max",
        "warn: 2.0 of 8 cores: an engine is stopped when it has used them up | echo -1 | sudo tee /sys/fs/cgroup/cpu/d/cpu.cfs_quota_us",
        "ok: none",
      ]
    `);
  });
});

describe('processors', () => {
  it('NUMA', () => {
    const two = {
      '/sys/devices/system/node/node0/cpulist': '0-15\n',
      '/sys/devices/system/node/node1/cpulist': '16-31\n',
    };
    expect([
      line(numa, {}),
      line(numa, { files: { '/sys/devices/system/node/node0/cpulist': '0-1\n' } }),
      line(numa, { files: two }),
      line(numa, { files: { ...two, '/proc/sys/kernel/numa_balancing': '1\n' } }),
    ]).toMatchInlineSnapshot(`
      [
        "unknown: /sys/devices/system/node cannot be read",
        "ok: 1 node",
        "ok: 2 nodes (node0: CPUs 0-15; node1: CPUs 16-31)",
        "warn: 2 nodes (node0: CPUs 0-15; node1: CPUs 16-31); automatic balancing moves pages while it is measured | sudo sysctl kernel.numa_balancing=0",
      ]
    `);
  });
  it('governor', () => {
    const path = (cpu: number): string => `/sys/devices/system/cpu/cpu${cpu}/cpufreq/scaling_governor`;
    expect([
      line(governor, {}),
      line(governor, { files: { '/sys/devices/system/cpu/cpu0/online': '1\n' } }),
      line(governor, { files: { [path(0)]: 'performance\n', [path(1)]: 'performance\n' } }),
      line(governor, { files: { [path(0)]: 'performance\n', [path(1)]: 'powersave\n' } }),
    ]).toMatchInlineSnapshot(`
      [
        "unknown: /sys/devices/system/cpu cannot be read",
        "waived: no cpufreq: the firmware or the hypervisor decides",
        "ok: performance",
        "warn: performance, powersave | sudo cpupower frequency-set -g performance",
      ]
    `);
  });
  it('other load', () => {
    expect([
      line(otherLoad, {}),
      line(otherLoad, { files: { '/proc/loadavg': '0.40 0.2 0.1 1/200 1234\n' } }),
      line(otherLoad, { files: { '/proc/loadavg': '3.51 0.2 0.1 1/200 1234\n' } }),
    ]).toMatchInlineSnapshot(`
      [
        "unknown: /proc/loadavg cannot be read",
        "ok: load average 0.40 on 8 cores",
        "warn: load average 3.51 on 8 cores: something else is running | ps -eo pid,pcpu,args --sort=-pcpu | head",
      ]
    `);
  });
});

describe('disk', () => {
  const mountinfo =
    '1 0 8:1 / / rw - ext4 /dev/sda rw\n2 1 0:5 / /work rw - tmpfs tmpfs rw\n3 1 0:6 / /workshop rw - xfs x rw\n';
  const look = (sources: Sources): Finding => disk(sources, 'models', '/work/models');
  it('says what the folder lies on', () => {
    const files = { '/proc/self/mountinfo': mountinfo };
    expect([
      line(look, { files }),
      line(look, { files, directIo: 'refused' }),
      line(look, { files, directIo: 'unknown' }),
      line(look, { files, freeBytes: 1024 ** 3 }),
      line(look, { freeBytes: null }),
    ]).toMatchInlineSnapshot(`
      [
        "ok: /work/models: 100.0 GiB free, tmpfs, O_DIRECT works",
        "warn: /work/models: 100.0 GiB free, tmpfs, O_DIRECT refused: the file tier would go through the page cache | findmnt -t ext4,xfs,btrfs",
        "unknown: /work/models: 100.0 GiB free, tmpfs, O_DIRECT unknown",
        "warn: /work/models: 1.0 GiB free, tmpfs, O_DIRECT works | du -xh --max-depth=2 /work/models | sort -h | tail",
        "unknown: /work/models cannot be looked at",
      ]
    `);
  });
});

describe('the whole examination', () => {
  it('asks every question of a machine that answers nothing, and calls no silence good', () => {
    const findings = examine(machine({ freeBytes: null, directIo: 'unknown' }), {
      models: '/m',
      results: '/r',
    });
    const states = Object.fromEntries(findings.map((finding) => [finding.name, finding.state]));
    expect(Object.values(states)).not.toContain('ok');
    expect(states).toMatchInlineSnapshot(`
      {
        "CPU quota": "unknown",
        "GPU": "waived",
        "GPU users": "waived",
        "NUMA": "unknown",
        "cmake": "missing",
        "compiler": "missing",
        "disk: models": "unknown",
        "disk: results": "unknown",
        "governor": "unknown",
        "huge pages": "unknown",
        "memlock": "unknown",
        "memory growth": "unknown",
        "memory limit": "unknown",
        "ninja": "missing",
        "nvcc": "waived",
        "other load": "unknown",
        "packages": "waived",
        "page cache": "unknown",
        "swap": "unknown",
      }
    `);
  });

  it('gives each bad finding of this machine a remedy of one line', () => {
    const findings = examine(thisMachine, { models: `${tmpdir()}/not/there/yet`, results: tmpdir() });
    expect(new Set(findings.map((finding) => finding.name)).size).toBe(findings.length);
    for (const finding of findings) {
      expect(finding.value).not.toBe('');
      expect(finding.value).not.toContain('\n');
      expect(finding.remedy ?? '').not.toContain('\n');
      if (finding.state === 'missing' || finding.state === 'warn') expect(finding.remedy).toMatch(/\w/);
    }
    expect(findings.find((finding) => finding.name === 'disk: results')?.state).not.toBe('unknown');
  });
});
