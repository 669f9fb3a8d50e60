// Refuses a database of another commit: before the first release the baseline migration changes in place.
import type { Settings } from './settings.ts';

/** The first recorded migration is not the baseline of this commit. */
export class SchemaMismatchError extends Error {
  readonly database: string;

  constructor(applied: string, database: string) {
    super(`the database ${database} begins with ${applied} of another commit`);
    this.database = database;
  }
}

/** Adds how to remove the database to a schema mismatch; other errors stay as they are. */
export function explainSchemaMismatch(
  error: unknown,
  { databaseUrl, dataDir }: Pick<Settings, 'databaseUrl' | 'dataDir'>,
): unknown {
  if (!(error instanceof SchemaMismatchError)) return error;
  const name = `"${error.database}"`;
  const [subject, removal] =
    databaseUrl === undefined
      ? [`The data directory ${dataDir}`, `remove it with: rm -r '${dataDir}'`]
      : [
          `The database ${name} of SWITCHYARD_DATABASE_URL`,
          `replace it with: DROP DATABASE ${name}; CREATE DATABASE ${name};`,
        ];
  return new Error(
    `${subject} was created by another commit of Switchyard and cannot be upgraded before the first release; ${removal}`,
    { cause: error },
  );
}
