// Refuses a database of another commit: before the first release the baseline migration changes in place.
import type { Settings } from '../../settings/settings.ts';

/** The migrations of the database are not those of this version: a restart changes nothing. */
export class SchemaMismatchError extends Error {
  override name = 'SchemaMismatchError';
  /** Where not even the baseline is that of this commit. */
  readonly database: string | undefined;

  constructor(message: string, { database, cause }: { database?: string; cause?: unknown } = {}) {
    super(message, { cause });
    this.database = database;
  }
}

/** Adds how to remove the database of another commit; other errors stay as they are. */
export function explainSchemaMismatch(
  error: unknown,
  { databaseUrl, dataDir }: Pick<Settings, 'databaseUrl' | 'dataDir'>,
): unknown {
  if (!(error instanceof SchemaMismatchError) || error.database === undefined) return error;
  const name = `"${error.database}"`;
  const [subject, removal] =
    databaseUrl === undefined
      ? [`The data directory ${dataDir}`, `remove it with: rm -r '${dataDir}'`]
      : [
          `The database ${name} of SWITCHYARD_DATABASE_URL`,
          `replace it with: DROP DATABASE ${name}; CREATE DATABASE ${name};`,
        ];
  return new SchemaMismatchError(
    `${subject} was created by another commit of Switchyard and cannot be upgraded before the first release; ${removal}`,
    { cause: error },
  );
}
