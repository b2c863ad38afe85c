// Looks at the machine once and says what would spoil a measurement. Owns the list of questions and their order.
import { cgroupMemory, cpuQuota } from './cgroup.ts';
import { disk } from './disk.ts';
import { environment } from './environment.ts';
import type { Finding, Sources } from './finding.ts';
import { gpu, gpuUsers } from './gpu.ts';
import { growingMemory, hugePages, memlock, pageCache, swap } from './memory.ts';
import { governor, numa, otherLoad } from './processors.ts';
import { buildTool, cmake, compiler, debianPackages, nvcc } from './tools.ts';

export interface Places {
  readonly models: string;
  readonly results: string;
  /** Variables of the environment that set a knob, each with the knob it sets; null where the engines cannot be read. */
  readonly inherited: readonly string[] | null;
}

export function examine(sources: Sources, places: Places): readonly Finding[] {
  return [
    compiler(sources),
    cmake(sources),
    buildTool(sources),
    debianPackages(sources),
    nvcc(sources),
    gpu(sources),
    gpuUsers(sources),
    cgroupMemory(sources),
    growingMemory(sources),
    hugePages(sources),
    memlock(sources),
    swap(sources),
    pageCache(sources),
    numa(sources),
    governor(sources),
    cpuQuota(sources),
    otherLoad(sources),
    environment(places.inherited),
    disk(sources, 'models', places.models),
    disk(sources, 'results', places.results),
  ];
}
