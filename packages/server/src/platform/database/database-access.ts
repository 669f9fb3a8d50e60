// Explains to the operator why the platform cannot use its database at the start.
import { ProblemError } from '@switchyard/contract';
import { parseDatabaseUrl } from '../settings/database-url.ts';
import { SettingsError } from '../settings/settings.ts';
import type { Queries } from './database.ts';
import { sqlState } from './database-errors.ts';

/** The user is refused, or has no right to connect. */
const refusedStates = new Set(['28000', '42501']);
/** Wrong password or missing database. Both can be temporary: a password is replaced, or a database is restored. */
const temporaryStates = new Set(['28P01', '3D000']);

/**
 * Opens a first connection. Messages name the host, and never the password.
 *
 * @param databaseUrl undefined for the embedded database
 * @throws SettingsError if PostgreSQL refuses the user; Error for a fault that can end without a change of the settings
 */
export async function requireDatabaseAccess(
  database: Queries,
  databaseUrl: string | undefined,
): Promise<void> {
  try {
    await database.query('SELECT 1');
  } catch (error) {
    throw databaseUrl === undefined ? error : explainDatabaseFault(error, databaseUrl);
  }
}

function explainDatabaseFault(error: unknown, databaseUrl: string): Error {
  const isUnavailable = error instanceof ProblemError;
  const cause = isUnavailable ? error.cause : error;
  const reason = describeCause(cause);
  const hosts = parseDatabaseUrl(databaseUrl).hosts.map(describeHost).join(', ');
  const refusal = `SWITCHYARD_DATABASE_URL is refused by PostgreSQL at ${hosts}: ${reason}. Check the user, the password and the name of the database`;
  const state = sqlState(cause);
  if (refusedStates.has(state)) return new SettingsError([refusal]);
  if (temporaryStates.has(state)) return new Error(refusal, { cause: error });
  const message = isUnavailable
    ? `The database at ${hosts} is not available: ${reason}. Start PostgreSQL there, or correct SWITCHYARD_DATABASE_URL.`
    : `The platform cannot connect to the database at ${hosts}: ${reason}. Check SWITCHYARD_DATABASE_URL.`;
  return new Error(message, { cause: error });
}

/** A name with several addresses fails with one error for each of them. */
function describeCause(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '')
    return cause.errors.map(describeCause).join('; ');
  return cause instanceof Error ? cause.message : String(cause);
}

function describeHost({ host, port }: { host: string; port: number }): string {
  if (host.startsWith('/')) return host;
  return `${host.includes(':') ? `[${host}]` : host || 'localhost'}:${port}`;
}
