/** What a recipe is made of: who acts in the demo, and what they do. */

import type { Api } from '../http/api-client.ts';
import { membersOf } from '../http/problem-details.ts';
import type { Clock } from '../runtime/clock.ts';
import { fail } from '../runtime/command-error.ts';
import type { DemoTerminal } from './demo-device-session.ts';

/** Of the demo: one application sells, the other arranges the house, and a terminal of the first takes QR payments. */
export type Actors = {
  readonly merchant: Api;
  readonly acquirer: Api;
  readonly terminal: () => Promise<DemoTerminal>;
  readonly clock: Clock;
};

export type Recipe = {
  /** For the help. */
  readonly does: string;
  /** Whatever names the thing that it happened to. */
  run(actors: Actors): Promise<string>;
};

/** Makes something, and tells the member of the answer that names it. */
export async function made(api: Api, path: string, body: unknown, name: string): Promise<string> {
  const answer = await api.call('POST', path, { body });
  const id = membersOf(answer.body)[name];
  return typeof id === 'string' ? id : fail('fault', `${path} did not answer with a ${name}.`);
}
