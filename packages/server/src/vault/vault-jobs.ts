// Names the jobs of the vault: one for the platform, and one for each organisation.
import { hash } from 'node:crypto';

/** Each day: replaces old keys, and orders a round for each organisation. */
export const maintenanceJobKind = 'vault-upkeep';
/** A round over the cards of one organisation. */
export const reEncryptionJobKind = 'vault-round';

/** Each owner has one job at most, because the job identifier follows from the owner's. */
export function vaultJobId(kind: string, organizationId: string): string {
  const digest = hash('sha256', `${kind} ${organizationId}`);
  const parts = [digest.slice(0, 8), digest.slice(8, 12), digest.slice(13, 16)];
  return `${parts[0]}-${parts[1]}-8${parts[2]}-8${digest.slice(17, 20)}-${digest.slice(20, 32)}`;
}
