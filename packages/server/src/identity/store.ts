// The SQL of user domains, applications and signing keys.
import { type RoleName, roleNamed } from '@switchyard/contract';
import { type Kysely, sql } from 'kysely';
import { type Database, isoTime } from '../platform/index.ts';
import { permissionsOf } from './permissions.ts';
import type {
  Application,
  ApplicationType,
  EntityType,
  SealedKey,
  SecurityFlow,
  SigningAlgorithm,
  Status,
  UserDomain,
} from './types.ts';

/** Rotation makes two keys at a time: this many are years of them, not a working set. */
const keysPerRealmMax = 32;

export type IdentityStore = ReturnType<typeof createIdentityStore>;

type DomainRow = { user_domain_id: string; organization_id: string; status: Status };
type KeyRow = {
  key_id: string;
  algorithm: SigningAlgorithm;
  private_sealed: Buffer;
  active_from: Date;
  retire_at: Date | null;
};
type ApplicationRow = {
  organization_id: string;
  client_id: string;
  service_account_id: string;
  name: string;
  description: string | null;
  type: ApplicationType;
  entity_type: EntityType;
  entity_id: string;
  store_id: string | null;
  roles: string[];
  security_flows: SecurityFlow[];
  redirect_uris: string[];
  web_origins: string[];
  access_token_seconds: number | null;
  secret_hash: Buffer | null;
  status: Status;
};

function domainOf(row: DomainRow): UserDomain {
  return {
    userDomainId: row.user_domain_id,
    organizationId: row.organization_id,
    status: row.status,
  };
}

function keyOf(row: KeyRow): SealedKey {
  return {
    keyId: row.key_id,
    algorithm: row.algorithm,
    privateSealed: row.private_sealed,
    activeFrom: row.active_from.getTime(),
    ...(row.retire_at === null ? {} : { retireAt: row.retire_at.getTime() }),
  };
}

function applicationOf(row: ApplicationRow): Application {
  const roles = row.roles.map(roleNamed).filter((role): role is RoleName => role !== undefined);
  return {
    organizationId: row.organization_id,
    clientId: row.client_id,
    serviceAccountId: row.service_account_id,
    name: row.name,
    type: row.type,
    entityType: row.entity_type,
    entityId: row.entity_id,
    roles,
    permissions: permissionsOf(roles),
    securityFlows: row.security_flows,
    redirectUris: row.redirect_uris,
    webOrigins: row.web_origins,
    status: row.status,
    description: row.description ?? undefined,
    storeId: row.store_id ?? undefined,
    accessTokenSeconds: row.access_token_seconds ?? undefined,
    secretHash: row.secret_hash ?? undefined,
  };
}

export function createIdentityStore(database: Database) {
  const insertKeys = async (
    trx: Kysely<unknown>,
    organizationId: string,
    keys: readonly SealedKey[],
    at: number,
  ): Promise<void> => {
    for (const key of keys) {
      await sql`INSERT INTO realm_keys
          (organization_id, key_id, algorithm, private_sealed, created_at, active_from)
        VALUES (${organizationId}, ${key.keyId}, ${key.algorithm}, ${key.privateSealed},
          ${isoTime(at)}, ${isoTime(key.activeFrom)})`.execute(trx);
    }
  };

  return {
    async findDomain(userDomainId: string): Promise<UserDomain | undefined> {
      const [row] = await database.query<DomainRow>(
        'SELECT user_domain_id, organization_id, status FROM user_domains WHERE user_domain_id = $1',
        [userDomainId],
      );
      return row === undefined ? undefined : domainOf(row);
    },

    /** False where the name or the organisation has a domain already: then nothing was written. */
    async insertDomain(
      domain: UserDomain,
      keys: readonly SealedKey[],
      at: number,
    ): Promise<boolean> {
      return database.transaction(async (trx) => {
        const made = await sql`INSERT INTO user_domains
            (user_domain_id, organization_id, status, created_at)
          VALUES (${domain.userDomainId}, ${domain.organizationId}, ${domain.status}, ${isoTime(at)})
          ON CONFLICT DO NOTHING RETURNING user_domain_id`.execute(trx);
        if (made.rows.length === 0) return false;
        await insertKeys(trx, domain.organizationId, keys, at);
        return true;
      });
    },

    async listKeys(organizationId: string, at: number): Promise<SealedKey[]> {
      const rows = await database.query<KeyRow>(
        `SELECT key_id, algorithm, private_sealed, active_from, retire_at FROM realm_keys
         WHERE organization_id = $1 AND (retire_at IS NULL OR retire_at > $2)
         ORDER BY active_from DESC, key_id LIMIT ${keysPerRealmMax}`,
        [organizationId, isoTime(at)],
      );
      return rows.map(keyOf);
    },

    /** The new keys come in and every key that had no end gets one, or neither happens. */
    async replaceKeys(
      organizationId: string,
      keys: readonly SealedKey[],
      at: number,
      retireOthersAt: number,
    ): Promise<void> {
      await database.transaction(async (trx) => {
        await sql`UPDATE realm_keys SET retire_at = ${isoTime(retireOthersAt)}
          WHERE organization_id = ${organizationId} AND retire_at IS NULL`.execute(trx);
        await insertKeys(trx, organizationId, keys, at);
      });
    },

    async findApplication(
      organizationId: string,
      clientId: string,
    ): Promise<Application | undefined> {
      const [row] = await database.query<ApplicationRow>(
        `SELECT organization_id, client_id, service_account_id, name, description, type,
           entity_type, entity_id, store_id, roles, security_flows, redirect_uris, web_origins,
           access_token_seconds, secret_hash, status
         FROM applications WHERE organization_id = $1 AND client_id = $2`,
        [organizationId, clientId],
      );
      return row === undefined ? undefined : applicationOf(row);
    },

    /** False where the client id is taken within the organisation. */
    async insertApplication(application: Application, at: number): Promise<boolean> {
      const made = await database.query(
        `INSERT INTO applications (organization_id, client_id, service_account_id, name,
           description, type, entity_type, entity_id, store_id, roles, services, security_flows,
           redirect_uris, web_origins, callback_error, access_token_seconds, secret_hash,
           secret_changed_at, status, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '[]', $11, $12, $13, 'Rfc6749', $14,
           $15, $16, $17, $16, $16)
         ON CONFLICT (organization_id, client_id) DO NOTHING RETURNING client_id`,
        [
          application.organizationId,
          application.clientId,
          application.serviceAccountId,
          application.name,
          application.description ?? null,
          application.type,
          application.entityType,
          application.entityId,
          application.storeId ?? null,
          JSON.stringify(application.roles),
          JSON.stringify(application.securityFlows),
          JSON.stringify(application.redirectUris),
          JSON.stringify(application.webOrigins),
          application.accessTokenSeconds ?? null,
          application.secretHash ?? null,
          isoTime(at),
          application.status,
        ],
      );
      return made.length > 0;
    },

    /** False where there is no such confidential application. */
    async replaceSecret(
      organizationId: string,
      clientId: string,
      secretHash: Buffer,
      at: number,
    ): Promise<boolean> {
      const changed = await database.query(
        `UPDATE applications SET secret_hash = $3, secret_changed_at = $4, updated_at = $4
         WHERE organization_id = $1 AND client_id = $2 AND secret_hash IS NOT NULL
         RETURNING client_id`,
        [organizationId, clientId, secretHash, isoTime(at)],
      );
      return changed.length > 0;
    },

    async setApplicationStatus(
      organizationId: string,
      clientId: string,
      status: Status,
      at: number,
    ): Promise<boolean> {
      const changed = await database.query(
        `UPDATE applications SET status = $3, updated_at = $4
         WHERE organization_id = $1 AND client_id = $2 RETURNING client_id`,
        [organizationId, clientId, status, isoTime(at)],
      );
      return changed.length > 0;
    },
  };
}
