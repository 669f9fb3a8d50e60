// Parts of requests that several attacks send.
import type { Call } from '../../packages/server/test/support/https-client.ts';
import type { Chance } from '../../packages/server/test/support/seeded-random.ts';

export const formBody = (fields: Record<string, string>): Call => ({
  raw: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
});

/** The seed of the run determines it. */
export const newSerial = ({ chance }: { readonly chance: Chance }): string =>
  String(60_000_000 + chance.below(30_000_000));
