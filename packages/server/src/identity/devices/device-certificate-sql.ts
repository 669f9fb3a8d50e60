// The SQL of device certificates and of the certificate authority.
import { type Database, isoTime, type Queries, toRecords } from '../../platform/index.ts';
import type { RegisteredCertificate, RevocationReason, StoredCertificate } from './types.ts';

type SealedAuthority = { readonly certificate: string; readonly privateSealed: Buffer };
const columns = `organization_id, thumbprint, physical_device_id, serial_number,
  certificate_serial, certificate, not_before, not_after, created_at, revoked_at,
  revocation_reason`;

const findRegisteredText = `SELECT c.*, t.method AS claim_method
  FROM device_certificate_owners o
  JOIN device_certificates c ON c.organization_id = o.organization_id
    AND c.thumbprint = o.thumbprint
  LEFT JOIN terminal_claims t ON t.organization_id = c.organization_id
    AND t.physical_device_id = c.physical_device_id
  WHERE o.thumbprint = $1
  ORDER BY t.method IS NULL, c.created_at LIMIT 1`;

/** Runs as the last statement of the same transaction. */
type RecordChange = (trx: Queries) => Promise<void>;

export type DeviceCertificateStore = ReturnType<typeof createDeviceCertificateStore>;

/** The list cursor: the last certificate of the previous page. */
export type CertificateCursor = { readonly createdAt: number; readonly thumbprint: string };

export function createDeviceCertificateStore(database: Database) {
  async function findAuthority(authorityId: string): Promise<SealedAuthority | undefined> {
    const rows = await database.query(
      'SELECT certificate, private_sealed FROM device_authorities WHERE authority_id = $1',
      [authorityId],
    );
    return toRecords<SealedAuthority>(rows)[0];
  }

  async function find(
    organizationId: string,
    thumbprint: string,
  ): Promise<StoredCertificate | undefined> {
    const rows = await database.query(
      `SELECT ${columns} FROM device_certificates
       WHERE organization_id = $1 AND thumbprint = $2`,
      [organizationId, thumbprint],
    );
    return toRecords<StoredCertificate>(rows)[0];
  }

  return {
    findAuthority,
    find,

    /** The thumbprints of certificates that are neither revoked nor expired. */
    async findActive(
      organizationIds: readonly string[],
      thumbprints: readonly string[],
      now: number,
    ): Promise<string[]> {
      const rows = await database.query<{ thumbprint: string }>(
        `SELECT c.thumbprint FROM device_certificates c
         JOIN unnest($1::uuid[], $2::text[]) AS requested (organization_id, thumbprint)
           ON c.organization_id = requested.organization_id AND c.thumbprint = requested.thumbprint
         WHERE c.revoked_at IS NULL AND c.not_after > $3`,
        [organizationIds, thumbprints, isoTime(now)],
      );
      return rows.map(({ thumbprint }) => thumbprint);
    },

    /**
     * If several processes start at the same time, the first insert wins and all use that
     * authority.
     */
    async insertAuthority(authorityId: string, newCertificate: SealedAuthority, now: number) {
      await database.query(
        `INSERT INTO device_authorities (authority_id, certificate, private_sealed, created_at)
         VALUES ($1, $2, $3, $4) ON CONFLICT (authority_id) DO NOTHING`,
        [authorityId, newCertificate.certificate, newCertificate.privateSealed, isoTime(now)],
      );
      return (await findAuthority(authorityId)) ?? newCertificate;
    },

    /**
     * If several organisations registered the certificate: the one that claimed the terminal, else
     * the oldest.
     */
    async findRegistered(thumbprint: string): Promise<RegisteredCertificate | undefined> {
      const rows = await database.query(findRegisteredText, [thumbprint]);
      return toRecords<RegisteredCertificate>(rows)[0];
    },

    async findOrganization(userDomainId: string): Promise<string | undefined> {
      const [row] = await database.query<{ organization_id: string }>(
        'SELECT organization_id FROM user_domains WHERE user_domain_id = $1',
        [userDomainId],
      );
      return row?.organization_id;
    },

    async findUserDomain(organizationId: string): Promise<string | undefined> {
      const [row] = await database.query<{ user_domain_id: string }>(
        'SELECT user_domain_id FROM user_domains WHERE organization_id = $1',
        [organizationId],
      );
      return row?.user_domain_id;
    },

    /** False if the organisation has registered this certificate already. */
    async insert(newCertificate: StoredCertificate, recordChange: RecordChange): Promise<boolean> {
      const { organizationId, thumbprint } = newCertificate;
      return database.transaction(async (trx) => {
        const owned = await trx.query(
          `INSERT INTO device_certificate_owners (thumbprint, organization_id) VALUES ($1, $2)
          ON CONFLICT (thumbprint, organization_id) DO NOTHING RETURNING thumbprint`,
          [thumbprint, organizationId],
        );
        if (owned.length === 0) return false;
        await trx.query(
          `INSERT INTO device_certificates (organization_id, thumbprint,
            physical_device_id, serial_number, certificate_serial, certificate, not_before,
            not_after, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
          [
            organizationId,
            thumbprint,
            newCertificate.physicalDeviceId,
            newCertificate.serialNumber,
            newCertificate.certificateSerial,
            newCertificate.certificate,
            isoTime(newCertificate.notBefore),
            isoTime(newCertificate.notAfter),
            isoTime(newCertificate.createdAt),
          ],
        );
        await recordChange(trx);
        return true;
      });
    },

    async countActive(organizationId: string, physicalDeviceId: string, now: number) {
      const [row] = await database.query<{ active: number }>(
        `SELECT count(*) AS active FROM device_certificates
         WHERE organization_id = $1 AND physical_device_id = $2 AND revoked_at IS NULL
           AND not_after > $3`,
        [organizationId, physicalDeviceId, isoTime(now)],
      );
      return Number(row?.active);
    },

    async list(
      organizationId: string,
      physicalDeviceId: string,
      limit: number,
      after: CertificateCursor | undefined,
    ): Promise<StoredCertificate[]> {
      const rows = await database.query(
        `SELECT ${columns} FROM device_certificates
         WHERE organization_id = $1 AND physical_device_id = $2
           AND (created_at, thumbprint) > ($4::timestamptz, $5)
         ORDER BY created_at, thumbprint LIMIT $3`,
        [
          organizationId,
          physicalDeviceId,
          limit,
          after === undefined ? '-infinity' : isoTime(after.createdAt),
          after?.thumbprint ?? '',
        ],
      );
      return toRecords(rows);
    },

    /** A second revocation changes nothing. Also deletes the secrets bound to the certificate. */
    async revoke(
      organizationId: string,
      thumbprint: string,
      reason: RevocationReason,
      now: number,
      recordChange: (trx: Queries, revoked: StoredCertificate) => Promise<void>,
    ): Promise<void> {
      await database.transaction(async (trx) => {
        const rows = await trx.query(
          `WITH deleted AS ( DELETE FROM device_secrets
            WHERE organization_id = $1 AND thumbprint = $2 ) UPDATE device_certificates
          SET revoked_at = $3, revocation_reason = $4
          WHERE organization_id = $1 AND thumbprint = $2 AND revoked_at IS NULL
          RETURNING ${columns}`,
          [organizationId, thumbprint, isoTime(now), reason],
        );
        const [revoked] = toRecords<StoredCertificate>(rows);
        if (revoked !== undefined) await recordChange(trx, revoked);
      });
    },
  };
}
