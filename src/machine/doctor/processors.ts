// Processors: NUMA nodes, clock governor, and what else is running. Owns what disturbs a measurement there.
import type { Finding, Sources } from './finding.ts';

const NODES = '/sys/devices/system/node';
const CPUS = '/sys/devices/system/cpu';
/** Above this share of the cores a waiting line of others is not noise any more. */
const BUSY_SHARE = 0.25;

export function numa(sources: Sources): Finding {
  const name = 'NUMA';
  const nodes = sources.list(NODES).filter((item) => /^node\d+$/.test(item));
  if (nodes.length === 0) return { name, state: 'unknown', value: `${NODES} cannot be read`, remedy: null };
  if (nodes.length === 1) return { name, state: 'ok', value: '1 node', remedy: null };
  const lists = nodes.map(
    (node) => `${node}: CPUs ${sources.readText(`${NODES}/${node}/cpulist`)?.trim() ?? 'n/a'}`,
  );
  const value = `${nodes.length} nodes (${lists.join('; ')})`;
  if (sources.readText('/proc/sys/kernel/numa_balancing')?.trim() === '1') {
    const note = 'automatic balancing moves pages while it is measured';
    return { name, state: 'warn', value: `${value}; ${note}`, remedy: 'sudo sysctl kernel.numa_balancing=0' };
  }
  return { name, state: 'ok', value, remedy: null };
}

export function governor(sources: Sources): Finding {
  const name = 'governor';
  const cpus = sources.list(CPUS).filter((item) => /^cpu\d+$/.test(item));
  if (cpus.length === 0) return { name, state: 'unknown', value: `${CPUS} cannot be read`, remedy: null };
  const governors = cpus.flatMap(
    (cpu) => sources.readText(`${CPUS}/${cpu}/cpufreq/scaling_governor`)?.trim() ?? [],
  );
  if (governors.length === 0) {
    return {
      name,
      state: 'waived',
      value: 'no cpufreq: the firmware or the hypervisor decides',
      remedy: null,
    };
  }
  const kinds = [...new Set(governors)].sort();
  const isSteady = kinds.length === 1 && kinds[0] === 'performance';
  const remedy = isSteady ? null : 'sudo cpupower frequency-set -g performance';
  return { name, state: isSteady ? 'ok' : 'warn', value: kinds.join(', '), remedy };
}

export function otherLoad(sources: Sources): Finding {
  const name = 'other load';
  const text = sources.readText('/proc/loadavg');
  const load = Number(text?.split(' ')[0]);
  if (text === null || !Number.isFinite(load)) {
    return { name, state: 'unknown', value: '/proc/loadavg cannot be read', remedy: null };
  }
  const value = `load average ${load.toFixed(2)} on ${sources.cores} cores`;
  if (load <= BUSY_SHARE * sources.cores) return { name, state: 'ok', value, remedy: null };
  const note = 'something else is running';
  return {
    name,
    state: 'warn',
    value: `${value}: ${note}`,
    remedy: 'ps -eo pid,pcpu,args --sort=-pcpu | head',
  };
}
