// Client secrets of devices, each valid with one certificate only.
import { throwProblem } from '@switchyard/contract';
import { type Clock, type Database, type Ids, isoTime } from '../../platform/index.ts';
import type { RecordChange } from '../infrastructure/audit-port.ts';
import { hashSecret } from '../infrastructure/secret-hash.ts';
import type { AuthenticatedDevice } from './authenticated-device.ts';

/** The previous secret stays valid for this time: another call of the device may still use it. */
const overlapMs = 600_000;

type Deps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly recordChange: RecordChange;
};
type CertificateKey = Pick<AuthenticatedDevice, 'organizationId' | 'thumbprint'>;
type LocatedCertificate = CertificateKey & Pick<AuthenticatedDevice, 'location'>;

export type DeviceSecrets = ReturnType<typeof createDeviceSecrets>;

export function createDeviceSecrets({ database, clock, ids, recordChange }: Deps) {
  return {
    /** After concurrent calls, the last two secrets are valid, as after sequential calls. */
    async issue(
      { organizationId, thumbprint, location }: LocatedCertificate,
      clientId: string,
    ): Promise<string> {
      const secret = ids.secret();
      const now = clock.now();
      const isIssued = await database.transaction(async (trx) => {
        // Locks the row of the certificate, and checks that it is not revoked.
        const locked = await trx.query(
          `SELECT thumbprint FROM device_certificates
          WHERE organization_id = $1 AND thumbprint = $2 AND revoked_at IS NULL FOR UPDATE`,
          [organizationId, thumbprint],
        );
        if (locked.length === 0) return false;
        // Rows with an expiry are older than the previous secret; another client id belongs to a
        // former merchant.
        await trx.query(
          `DELETE FROM device_secrets WHERE organization_id = $1 AND thumbprint = $2
            AND (client_id <> $3 OR expires_at IS NOT NULL)`,
          [organizationId, thumbprint, clientId],
        );
        await trx.query(
          `UPDATE device_secrets SET expires_at = $1
          WHERE organization_id = $2 AND thumbprint = $3
            AND client_id = $4 AND expires_at IS NULL`,
          [isoTime(now + overlapMs), organizationId, thumbprint, clientId],
        );
        await trx.query(
          `INSERT INTO device_secrets
            (organization_id, client_id, secret_hash, thumbprint, created_at)
          VALUES ($1, $2, $3, $4, $5)`,
          [organizationId, clientId, hashSecret(secret), thumbprint, isoTime(now)],
        );
        const { merchantId } = location;
        await recordChange(trx, {
          organizationId,
          action: 'deviceCertificate.secretMade',
          entity: { type: 'deviceCertificate', id: thumbprint, merchantId },
          after: { clientId },
        });
        return true;
      });
      return isIssued
        ? secret
        : throwProblem(
            'certificate_revoked',
            'The client certificate was revoked. Request a new one for the device.',
          );
    },

    async verify({ organizationId, thumbprint }: CertificateKey, clientId: string, secret: string) {
      // The secret has 256 random bits, so the timing of an index look-up reveals nothing useful.
      const rows = await database.query(
        `SELECT thumbprint FROM device_secrets
         WHERE organization_id = $1 AND client_id = $2 AND secret_hash = $3 AND thumbprint = $4
           AND (expires_at IS NULL OR expires_at > $5)`,
        [organizationId, clientId, hashSecret(secret), thumbprint, isoTime(clock.now())],
      );
      return rows.length > 0;
    },
  };
}
