// Runs SQL statements in the same way within a transaction and without one.
import { CompiledQuery, type Kysely } from 'kysely';
import { createStatementRunner, type Database, type Row } from '../../platform/index.ts';

export type StatementRunner = (text: string, values: readonly unknown[]) => Promise<Row[]>;

export const runOnDatabase =
  (database: Database): StatementRunner =>
  (text, values) =>
    database.query(text, values);

export const runInTransaction =
  (trx: Kysely<unknown>): StatementRunner =>
  async (text, values) =>
    (await trx.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows;

export const createPreparedRunner = (database: Database): StatementRunner =>
  createStatementRunner(database, 'catalog');
