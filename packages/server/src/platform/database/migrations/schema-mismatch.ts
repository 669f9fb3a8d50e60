// Refuses a database of another commit: before the first release the baseline migration changes without a new number.
import type { Settings } from '../../settings/settings.ts';

/** The migrations of the database do not match this version. A restart does not help. */
export class SchemaMismatchError extends Error {
  override name = 'SchemaMismatchError';
  /** Set if even the baseline differs from that of this commit. */
  readonly database: string | undefined;

  constructor(message: string, { database, cause }: { database?: string; cause?: unknown } = {}) {
    super(message, { cause });
    this.database = database;
  }
}

/** Adds how to remove a database of another commit. Other errors are returned unchanged. */
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
          `replace it with: DROP DATABASE ${name}; CREATE DATABASE ${name}; and delete database-timeline.json in ${dataDir}`,
        ];
  return new SchemaMismatchError(
    `${subject} was created by another commit of Switchyard and cannot be upgraded before the first release; ${removal}`,
    { cause: error },
  );
}
