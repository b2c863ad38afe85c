// Which native programs a set-up builds. Owns the list; builds nothing.

/**
 * What `rota run` on the bundled engine may start, for any of its knobs: the engine, what writes models, what measures ceilings, and
 * the programs that knobs put in front of it. Tests need every target.
 */
export const DEMO_TARGETS = ['rota-strata', 'rota-model', 'rota-probe', 'rota-throttle'];
