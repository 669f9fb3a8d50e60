// Runs one statement in an open database transaction.
import { CompiledQuery, type Kysely } from 'kysely';

export async function queryRows<Row>(
  trx: Kysely<unknown>,
  text: string,
  values: readonly unknown[],
): Promise<Row[]> {
  return (await trx.executeQuery<Row>(CompiledQuery.raw(text, [...values]))).rows;
}
