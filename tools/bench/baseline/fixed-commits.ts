// The two durable commits of the fixed line and of the bare server, on tables of their own. Figures of
// different versions of the platform are compared through this file, so it must stay as it is.
import { randomUUID } from 'node:crypto';
import type pg from 'pg';

const intentBytes = 600;
const eventBytes = 200;
const intentBody = 'i'.repeat(intentBytes);
const eventBody = 'e'.repeat(eventBytes);

/** For sessions that use the tables: a commit returns after its log is on the disk. */
export const durableOptions = '-c synchronous_commit=on';

const createTables = `
  CREATE TABLE IF NOT EXISTS fixed_intents (
    transaction_id uuid PRIMARY KEY,
    client_transaction_id uuid NOT NULL UNIQUE,
    state text NOT NULL,
    body text NOT NULL
  );
  CREATE TABLE IF NOT EXISTS fixed_events (
    transaction_id uuid NOT NULL,
    sequence integer NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (transaction_id, sequence)
  );
  CREATE TABLE IF NOT EXISTS fixed_outbox (
    position bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    transaction_id uuid NOT NULL,
    sequence integer NOT NULL
  )`;
const emptyTables = 'TRUNCATE fixed_intents, fixed_events, fixed_outbox';

const insertIntent = {
  name: 'fixed-intent',
  text: `INSERT INTO fixed_intents (transaction_id, client_transaction_id, state, body)
    VALUES ($1, $2, 'Received', $3)`,
};
/** One statement is one transaction, in one round trip. */
const recordOutcome = {
  name: 'fixed-outcome',
  text: `WITH updated AS (
      UPDATE fixed_intents SET state = $2 WHERE transaction_id = $1 RETURNING transaction_id),
    event AS (
      INSERT INTO fixed_events (transaction_id, sequence, body)
      SELECT transaction_id, 2, $3 FROM updated RETURNING transaction_id, sequence)
    INSERT INTO fixed_outbox (transaction_id, sequence)
    SELECT transaction_id, sequence FROM event`,
};

export async function createFixedTables(pool: pg.Pool): Promise<void> {
  await pool.query(createTables);
}

export async function emptyFixedTables(pool: pg.Pool): Promise<void> {
  await pool.query(emptyTables);
}

async function writeOneRow(
  pool: pg.Pool,
  statement: { name: string; text: string },
  values: string[],
): Promise<void> {
  const { rowCount } = await pool.query({ ...statement, values });
  if (rowCount !== 1) throw new Error(`${statement.name} wrote ${rowCount} rows, not 1`);
}

/** The first commit; returns the identifier of the transaction. */
export async function commitIntent(pool: pg.Pool, clientTransactionId: string): Promise<string> {
  const transactionId = randomUUID();
  await writeOneRow(pool, insertIntent, [transactionId, clientTransactionId, intentBody]);
  return transactionId;
}

/** The second commit: the state of the transaction, an event and a row of the outbox. */
export async function commitOutcome(
  pool: pg.Pool,
  transactionId: string,
  state: string,
): Promise<void> {
  await writeOneRow(pool, recordOutcome, [transactionId, state, eventBody]);
}
