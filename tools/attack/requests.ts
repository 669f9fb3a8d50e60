// Parts of requests that several attacks send.
import type { RequestOptions } from '../../packages/server/test/support/https-client.ts';
import type { SeededRandom } from '../../packages/server/test/support/seeded-random.ts';

export const formBody = (fields: Record<string, string>): RequestOptions => ({
  raw: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
});

/** The seed of the run determines it. */
export const newSerial = ({ random }: { readonly random: SeededRandom }): string =>
  String(60_000_000 + random.below(30_000_000));
