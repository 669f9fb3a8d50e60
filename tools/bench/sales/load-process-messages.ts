// What the bench and its load generator say to each other.

import type { StepResult } from './fixed-rate-load.ts';
import type { Target } from './https-connections.ts';
import type { SellingDevice } from './request-text.ts';

/** `holds` are sales that are captured later. */
export type LoadKind = 'sales' | 'holds' | 'reads';

export type ToLoad =
  | {
      type: 'open';
      target: Target;
      authority: string;
      connections: number;
      cards: number;
      seed: number;
    }
  | { type: 'tills'; tills: SellingDevice[] }
  | { type: 'step'; kind: LoadKind; ratePerSecond: number; seconds: number };

export type FromLoad =
  | { type: 'ready' }
  | { type: 'window'; at: 'begin' | 'end'; answered: number }
  | { type: 'result'; result: StepResult }
  | { type: 'fault'; text: string };
