import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { disk } from '../../src/machine/doctor/disk.ts';
import { examine } from '../../src/machine/doctor/doctor.ts';
import { environment } from '../../src/machine/doctor/environment.ts';
import type { Finding, Sources } from '../../src/machine/doctor/finding.ts';
import { governor, numa, otherLoad } from '../../src/machine/doctor/processors.ts';
import { thisMachine } from '../../src/machine/doctor/this-machine.ts';
import { line, machine } from './machines.ts';

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

describe('environment', () => {
  it('names the variables that would set a knob', () => {
    expect([
      environment(null),
      environment([]),
      environment(['STRATA_A', 'STRATA_B']),
    ]).toMatchInlineSnapshot(`
      [
        {
          "name": "environment",
          "remedy": "rota engines",
          "state": "unknown",
          "value": "the descriptors cannot be read",
        },
        {
          "name": "environment",
          "remedy": null,
          "state": "ok",
          "value": "no variable sets a knob",
        },
        {
          "name": "environment",
          "remedy": "unset STRATA_A STRATA_B",
          "state": "warn",
          "value": "STRATA_A, STRATA_B would set knobs: kept from the engines, only an arm sets them",
        },
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
      inherited: null,
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
        "environment": "unknown",
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
    const findings = examine(thisMachine, {
      models: `${tmpdir()}/not/there/yet`,
      results: tmpdir(),
      inherited: ['STRATA_X'],
    });
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
