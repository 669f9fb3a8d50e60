// Runs one SQL statement for reports, inside a transaction or outside.
import { CompiledQuery, type Kysely } from 'kysely';

export type RunQuery = <Of extends object>(
  text: string,
  values: readonly unknown[],
) => Promise<Of[]>;

/** @example const run = runInTransaction(trx); */
export const runInTransaction =
  (trx: Kysely<unknown>): RunQuery =>
  async <Of extends object>(text: string, values: readonly unknown[]) =>
    (await trx.executeQuery<Of>(CompiledQuery.raw(text, [...values]))).rows;

/** The value of a key column without an identifier. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';
