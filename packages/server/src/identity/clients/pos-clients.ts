// The applications of points of sale: provisioning makes, changes and removes them with its own rows.
import { refuse } from '@switchyard/contract';
import type { Kysely } from 'kysely';
import type { Clock, Ids } from '../../platform/index.ts';
import { hashSecret } from '../infrastructure/secret-hash.ts';
import type { Status } from '../realms-and-keys/realm.ts';
import type { Application } from './application.ts';
import type { RecordApplicationChange } from './application-audit.ts';
import { changeApplication, insertApplication, removeApplication } from './application-sql.ts';
import { type Applications, buildApplication } from './applications.ts';

/** A point of sale, as its application needs to know it. */
export type PosClient = {
  readonly organizationId: string;
  /** `pos-` and the identifier of the point of sale. */
  readonly clientId: string;
  readonly merchantId: string;
  readonly storeId: string;
  readonly name: string;
  readonly status: Status;
};

type PosClientKey = Pick<PosClient, 'organizationId' | 'clientId'>;

/** Such a name is given by the platform alone, and what bears it is changed by its point of sale. */
export const isPosClientId = (clientId: string): boolean =>
  /^pos-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(clientId);

/** The record of the point of sale, in the same transaction, tells of its application as well. */
const recordedWithPointOfSale: RecordApplicationChange = async () => {};

export type PosClients = ReturnType<typeof createPosClients>;

type Deps = {
  readonly applications: Pick<Applications, 'invalidate'>;
  readonly clock: Clock;
  readonly ids: Ids;
};

/** @example const tills = createTills({ applications, clock, ids }); */
export function createPosClients({ applications, clock, ids }: Deps) {
  async function change(
    trx: Kysely<unknown>,
    key: PosClientKey,
    update: (current: Application) => Application,
  ): Promise<void> {
    const changed = await changeApplication(trx, key, clock.now(), update, recordedWithPointOfSale);
    if (changed === undefined) throw new Error(`the point of sale ${key.clientId} lost its client`);
  }

  return {
    /** It can do what a till does, in its own store, and its secret is kept as a hash. */
    async create(trx: Kysely<unknown>, posClient: PosClient, clientSecret: string): Promise<void> {
      const { merchantId, ...members } = posClient;
      if (!isPosClientId(posClient.clientId))
        throw new Error(`${posClient.clientId} names no till`);
      const application = buildApplication(
        {
          ...members,
          entityType: 'merchant',
          entityId: merchantId,
          merchantId,
          roles: ['PointOfSaleTerminal'],
          securityFlows: ['ClientCredentials'],
        },
        ids,
      );
      const withSecret = { ...application, secretHash: hashSecret(clientSecret) };
      const inserted = await insertApplication(
        trx,
        withSecret,
        clock.now(),
        recordedWithPointOfSale,
      );
      if (inserted === undefined) refuse('already_exists', 'This client id is taken.');
    },

    change: (trx: Kysely<unknown>, { name, status, ...key }: PosClient): Promise<void> =>
      change(trx, key, (current) => ({ ...current, name, status })),

    renewSecret: (trx: Kysely<unknown>, key: PosClientKey, clientSecret: string): Promise<void> =>
      change(trx, key, (current) => ({ ...current, secretHash: hashSecret(clientSecret) })),

    async remove(trx: Kysely<unknown>, key: PosClientKey): Promise<void> {
      await removeApplication(trx, key, clock.now(), () => {}, recordedWithPointOfSale);
    },

    /** Once it is committed: this process sees it at once, others within seconds. */
    changed: ({ organizationId, clientId }: PosClientKey): void =>
      applications.invalidate(organizationId, clientId),
  };
}
