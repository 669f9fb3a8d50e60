// The OAuth clients of points of sale; provisioning changes them together with its own rows.
import { throwProblem } from '@switchyard/contract';
import type { Clock, Ids, Queries } from '../../platform/index.ts';
import { hashSecret } from '../infrastructure/secret-hash.ts';
import type { Status } from '../realms-and-keys/realm-types.ts';
import type { RecordApplicationChange } from './application-audit.ts';
import type { Application } from './application-record.ts';
import { changeApplication, insertApplication, removeApplication } from './application-sql.ts';
import { type Applications, buildApplication } from './applications.ts';

/** The facts about a point of sale that its client needs. */
export type PosClient = {
  readonly organizationId: string;
  /** `pos-` and the id of the point of sale. */
  readonly clientId: string;
  readonly merchantId: string;
  readonly storeId: string;
  readonly name: string;
  readonly status: Status;
};

type PosClientKey = Pick<PosClient, 'organizationId' | 'clientId'>;

/** Only the platform assigns such client ids; the client is changed through its point of sale. */
export const isPosClientId = (clientId: string): boolean =>
  /^pos-[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(clientId);

/** The audit record of the point of sale, in the same transaction, covers its client. */
const recordedWithPointOfSale: RecordApplicationChange = async () => {};

export type PosClients = ReturnType<typeof createPosClients>;

type Deps = {
  readonly applications: Pick<Applications, 'invalidate'>;
  readonly clock: Clock;
  readonly ids: Ids;
};

/** @example const posClients = createPosClients({ applications, clock, ids }); */
export function createPosClients({ applications, clock, ids }: Deps) {
  async function change(
    trx: Queries,
    key: PosClientKey,
    update: (current: Application) => Application,
  ): Promise<void> {
    const changed = await changeApplication(trx, key, clock.now(), update, recordedWithPointOfSale);
    if (changed === undefined)
      throw new Error(`the point of sale ${key.clientId} has no OAuth client`);
  }

  return {
    /**
     * Creates the client with the role PointOfSaleTerminal for its store, and stores the hash of
     * its secret.
     */
    async create(trx: Queries, posClient: PosClient, clientSecret: string): Promise<void> {
      const { merchantId, ...members } = posClient;
      if (!isPosClientId(posClient.clientId))
        throw new Error(`${posClient.clientId} is not the client id of a point of sale`);
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
      if (inserted === undefined)
        throwProblem(
          'already_exists',
          'The organisation has or had an application with this client id. Use another one.',
        );
    },

    change: (trx: Queries, { name, status, ...key }: PosClient): Promise<void> =>
      change(trx, key, (current) => ({ ...current, name, status })),

    rotateSecret: (trx: Queries, key: PosClientKey, clientSecret: string): Promise<void> =>
      change(trx, key, (current) => ({ ...current, secretHash: hashSecret(clientSecret) })),

    async remove(trx: Queries, key: PosClientKey): Promise<void> {
      await removeApplication(trx, key, clock.now(), () => {}, recordedWithPointOfSale);
    },

    /** Call after the commit: this process sees the change at once, others within seconds. */
    invalidate: ({ organizationId, clientId }: PosClientKey): void =>
      applications.invalidate(organizationId, clientId),
  };
}
