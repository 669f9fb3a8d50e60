// How the room asks the database: one statement, inside a transaction or not.
import { CompiledQuery, type Kysely } from 'kysely';

export type RunQuery = <Of extends object>(
  text: string,
  values: readonly unknown[],
) => Promise<Of[]>;

/** @example const run = runIn(trx); */
export const runIn =
  (trx: Kysely<unknown>): RunQuery =>
  async <Of extends object>(text: string, values: readonly unknown[]) =>
    (await trx.executeQuery<Of>(CompiledQuery.raw(text, [...values]))).rows;

/** For what a place in a key is that nothing stands in. */
export const nil = '00000000-0000-0000-0000-000000000000';
