// The arrows between the rooms of src/, for dependency-cruiser: cli -> run, serve, report -> engines, machine, model,
// results, schema -> core. A room may import beside itself, never upwards; core imports nothing of the project.
const LAYERS = [
  ['cli'],
  ['run', 'serve', 'report'],
  ['engines', 'machine', 'model', 'results', 'schema'],
  ['core'],
];

const upwards = LAYERS.flatMap((rooms, layer) => {
  const above = LAYERS.slice(0, layer).flat();
  if (above.length === 0) return [];
  return [
    {
      name: `${rooms.join('-')}-upwards`,
      severity: 'error',
      comment: `${rooms.join(', ')} must not know ${above.join(', ')}`,
      from: { path: `^src/(${rooms.join('|')})/` },
      to: { path: `^src/(${above.join('|')})/` },
    },
  ];
});

module.exports = {
  forbidden: [
    ...upwards,
    {
      name: 'unknown-room',
      severity: 'error',
      comment: 'a new room needs its place in the layers',
      from: {},
      to: { path: '^src/', pathNot: `^src/(${LAYERS.flat().join('|')})/` },
    },
    {
      name: 'core-is-pure',
      severity: 'error',
      comment: 'core has no clock, no random source and no node: import',
      from: { path: '^src/core/' },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'no-cycle',
      severity: 'error',
      from: {},
      to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } },
    },
    { name: 'no-tests', severity: 'error', from: { path: '^(src|bin)/' }, to: { path: '^test/' } },
    { name: 'resolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      extensions: ['.ts', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'types'],
    },
  },
};
