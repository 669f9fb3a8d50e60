// Names the jobs of the vault: one of the platform, and one of each organisation.
import { hash } from 'node:crypto';

/** Every day: keys of age are replaced, and a round is ordered for each organisation. */
export const upkeepKind = 'vault-upkeep';
/** Over the cards of one organisation. */
export const roundKind = 'vault-round';

/** One job of each owner, however often it is asked for: its id follows from the owner's. */
export function jobIdOf(kind: string, organizationId: string): string {
  const digest = hash('sha256', `${kind} ${organizationId}`);
  const parts = [digest.slice(0, 8), digest.slice(8, 12), digest.slice(13, 16)];
  return `${parts[0]}-${parts[1]}-8${parts[2]}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}
