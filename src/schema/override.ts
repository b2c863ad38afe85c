// What an arm may have other than its protocol: another build, engine, model or sampling. Each is named wherever the arm is.

import { z } from 'zod';
import type { Sampling } from '../core/records/plan.ts';

const LAYOUTS = ['ours', 'a', 'b'] as const;
const VALUES = ['normal', 'grid', 'random'] as const;
const BUNDLED = ['mini'] as const;
const FORMS = ['few-bit', 'teacher'] as const;

export interface SynthModel {
  readonly config: string;
  readonly seed: number;
  readonly expertFormat?: string;
  readonly denseFormat?: string;
  readonly engramFormat?: string;
  /** The first so many alone. */
  readonly layers?: number;
  readonly engramRows?: number;
  /** Routers want this share of the experts for that share of the lookups. */
  readonly hotExperts?: number;
  readonly hotLookups?: number;
  readonly values?: (typeof VALUES)[number];
  /** False: the memory is not asked whether a file on a tmpfs has room, for machines where it grows as it is used. */
  readonly checkMemory?: boolean;
  /** Whose names and keys the file has: ours, or those of family a or b. */
  readonly layout?: (typeof LAYOUTS)[number];
}

/** What comes with Rota: `few-bit`, its experts fitted to a few bits each, unless the weights are wanted as they were trained. */
export interface BundledModel {
  readonly bundled: (typeof BUNDLED)[number];
  readonly form?: (typeof FORMS)[number];
}

export type ProtocolModel = { readonly path: string } | { readonly synth: SynthModel } | BundledModel;

/** A program that lies somewhere, relative to the protocol file; or one that is built from a commit of this repository. */
export type OtherBuild = { readonly binary: string } | { readonly ref: string };

export interface ArmOverride {
  readonly engine?: string;
  readonly model?: ProtocolModel;
  readonly build?: OtherBuild;
  readonly sampling?: Partial<Sampling>;
}

/** The key of an arm that is no knob. */
export const OVERRIDE = 'override';

const text = z.string().min(1);
const seed = z.int().min(0);
const count = z.int().min(1);
const share = z.number().min(0).max(1);

const synth = z.strictObject({
  config: text,
  seed,
  expertFormat: text.exactOptional(),
  denseFormat: text.exactOptional(),
  engramFormat: text.exactOptional(),
  layers: count.exactOptional(),
  engramRows: count.exactOptional(),
  hotExperts: share.exactOptional(),
  hotLookups: share.exactOptional(),
  values: z.enum(VALUES).exactOptional(),
  checkMemory: z.boolean().exactOptional(),
  layout: z.enum(LAYOUTS).exactOptional(),
});

const bundled = z.strictObject({ bundled: z.enum(BUNDLED), form: z.enum(FORMS).exactOptional() });

export const modelShape = z.union([text.transform((path) => ({ path })), z.strictObject({ synth }), bundled]);

const temperature = z.number().min(0).max(100);
const topP = z.number().positive().max(1);

export const samplingShape = z.strictObject({
  temperature: temperature.default(0),
  topP: topP.default(1),
  seed: seed.default(1),
});

const build = z
  .strictObject({ binary: text.exactOptional(), ref: text.exactOptional() })
  .transform((given, context) => {
    const { binary, ref } = given;
    if (binary !== undefined && ref === undefined) return { binary };
    if (ref !== undefined && binary === undefined) return { ref };
    context.addIssue({
      code: 'custom',
      message: 'needs binary (a path) or ref (a commit, branch or tag), and not both',
    });
    return z.NEVER;
  });

export const overrideShape = z
  .strictObject({
    engine: text.exactOptional(),
    model: modelShape.exactOptional(),
    build: build.exactOptional(),
    sampling: z
      .strictObject({
        temperature: temperature.exactOptional(),
        topP: topP.exactOptional(),
        seed: seed.exactOptional(),
      })
      .exactOptional(),
  })
  .refine((override) => Object.keys(override).length > 0, {
    message: 'overrides nothing: engine, model, build or sampling',
    // A misspelt key is told by its own name.
    when: ({ issues }) => issues.length === 0,
  });
