// Decides whether the platform distributes its tables by Citus.
import type { Queries } from '../queries.ts';

/** `auto`: Citus if the database has the extension. */
export type DatabaseEngine = 'auto' | 'postgresql' | 'citus';

const extensionText = "SELECT 1 FROM pg_extension WHERE extname = 'citus'";

/** @throws Error if Citus is demanded and the database does not have the extension */
export async function usesCitus(
  queries: Pick<Queries, 'query'>,
  engine: DatabaseEngine = 'auto',
): Promise<boolean> {
  if (engine === 'postgresql') return false;
  const hasExtension = (await queries.query(extensionText)).length > 0;
  if (engine === 'citus' && !hasExtension)
    throw new Error(
      'SWITCHYARD_DATABASE_ENGINE is citus, and the database has no extension citus: run CREATE EXTENSION citus and add the workers',
    );
  return hasExtension;
}
