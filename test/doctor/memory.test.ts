import { describe, expect, it } from 'vitest';
import { cgroupMemory, cpuQuota } from '../../src/machine/doctor/cgroup.ts';
import { growingMemory, hugePages, memlock, pageCache, swap } from '../../src/machine/doctor/memory.ts';
import { type FakeMachine, line, MEMINFO } from './machines.ts';

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
