// Resumes a migration after a crash: "already exists" means that the killed process applied the statement.
import type { Queries } from '../database.ts';
import { sqlState } from '../database-errors.ts';

/** A table, a column, another object, a function. */
export const alreadyExistsStates = new Set(['42P07', '42701', '42710', '42723']);
const uniqueViolation = '23505';
/** An index or a constraint, a column, a table. */
const alreadyGoneStates = new Set(['42704', '42703', '42P01']);

/** A statement includes the comments before it. */
const leadingComments = String.raw`^(?:\s|--[^\n]*\n)*`;
const dropPattern = new RegExp(
  String.raw`${leadingComments}(?:DROP|ALTER\s+TABLE\s+\S+\s+DROP)\s`,
  'i',
);
const insertPattern = new RegExp(String.raw`${leadingComments}INSERT\s`, 'i');
const indexPattern = new RegExp(
  String.raw`${leadingComments}CREATE\s+(?:UNIQUE\s+)?INDEX\s+(CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?([\w."]+)`,
  'i',
);

/** True if the statement failed because it was applied before. */
export function isAlreadyApplied(statement: string, error: unknown): boolean {
  const code = sqlState(error);
  if (alreadyExistsStates.has(code)) return true;
  if (dropPattern.test(statement)) return alreadyGoneStates.has(code);
  // A unique index over duplicate rows fails with the same state, but was not created.
  return code === uniqueViolation && insertPattern.test(statement);
}

const findInvalidIndexText =
  'SELECT indexrelid FROM pg_index WHERE indexrelid = to_regclass($1) AND NOT indisvalid';

/** An interrupted CREATE INDEX CONCURRENTLY leaves an invalid index: drop it, so that it is created again. */
export async function dropInvalidIndex(queries: Queries, statement: string): Promise<void> {
  const [, concurrently = '', name] = indexPattern.exec(statement) ?? [];
  if (name === undefined) return;
  const invalidIndexes = await queries.query(findInvalidIndexText, [name]);
  if (invalidIndexes.length > 0) await queries.query(`DROP INDEX ${concurrently}IF EXISTS ${name}`);
}
