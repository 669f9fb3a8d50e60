// One way to send statements, within a transaction or alone.
import { hash } from 'node:crypto';
import { CompiledQuery, type Kysely } from 'kysely';
import type { Database, Row } from '../platform/index.ts';

export type Run = (text: string, values: readonly unknown[]) => Promise<Row[]>;

export const runOn =
  (database: Database): Run =>
  (text, values) =>
    database.query(text, values);

export const runIn =
  (trx: Kysely<unknown>): Run =>
  async (text, values) =>
    (await trx.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows;

const nameChars = 32;

/** For texts that never change: what is costlier to plan than to do is planned once a connection. */
export function runPrepared(database: Database): Run {
  const names = new Map<string, string>();
  return (text, values) => {
    const name = names.get(text) ?? `catalog_${hash('sha256', text, 'hex').slice(0, nameChars)}`;
    names.set(text, name);
    return database.prepared({ name, text }, values);
  };
}
