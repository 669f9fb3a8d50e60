// Runs SQL statements in the same way within a transaction and without one.
import { CompiledQuery, type Kysely } from 'kysely';
import { createStatementRunner, type Database, type Row } from '../../platform/index.ts';

export type Run = (text: string, values: readonly unknown[]) => Promise<Row[]>;

export const runOn =
  (database: Database): Run =>
  (text, values) =>
    database.query(text, values);

export const runIn =
  (trx: Kysely<unknown>): Run =>
  async (text, values) =>
    (await trx.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows;

export const runPrepared = (database: Database): Run => createStatementRunner(database, 'catalog');
