// Good files from which each test makes its bad one.

export const DESCRIPTOR = `# An engine for tests.
name: strata
summary: Experts in three tiers
bundled: true
build: {preset: host, targets: [rota-strata]}
binary: bin/rota-strata
command: ["{binary}", --model, "{model}"]
transport: stdio
dialect: rota
stop: {graceS: 3}
tokenIds: true
counting: {file: disjoint, unit: lookup}
knobs:
  slots: {type: size, flag: --slots, effect: exact, summary: Bytes of device slots}
  threads: {type: int, flag: --threads, min: 1, max: 64, default: 2, effect: exact, summary: Worker threads}
  kv-quant: {type: bool, flag: --kv-quant, default: true, effect: lossy, summary: Round the KV cache}
  kernel: {type: enum, env: ROTA_KERNEL, values: [avx2, portable], effect: rounding, summary: Which kernels}
  pin: {type: bool, switch: --pin, effect: exact, summary: Pin the threads}
  bind: {type: int, prefix: [numactl, --membind, "{value}"], effect: exact, summary: Memory of one node}
`;

export const PROTOCOL = `name: small
engine: strata
model: {synth: {config: mini-s, seed: 1}}
baseline: base
common: {slots: 25%}
arms:
  base:
  wide: {threads: 2}
blocks: 2
seed: 3
warmup: {floorTokens: 64, floorPromptsPerClass: 1}
workloads:
  - class: prose
    prompts: prose.yaml
    perBlock: 2
    maxNew: 32
`;

export const PROMPTS = `prompts:
  - text: one
  - text: two
  - text: three
  - text: four
warmup:
  - text: warm
`;
